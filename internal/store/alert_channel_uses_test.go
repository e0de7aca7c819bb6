package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestUsesOfChannels checks that a channel and the list of channels say what uses it, wherever a rule names it.
func TestUsesOfChannels(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone, other := w.channel("Phone"), w.channel("Other")
		uses := func(c alert.Channel) string {
			t.Helper()
			one := must(w.AlertChannels().Get(w.ctx, w.ws, "", c.ID))(w).UsedBy
			all, _, err := w.AlertChannels().List(w.ctx, w.ws, "", store.Filter{}, firstHundred)
			w.ok(err)
			if i := slices.IndexFunc(all, func(l alert.Channel) bool {
				return l.ID == c.ID
			}); !slices.Equal(all[i].UsedBy, one) {
				t.Errorf("the list has %v, the channel %v", all[i].UsedBy, one)
			}
			var words []string
			for _, u := range one {
				words = append(words, u.String())
			}
			return strings.Join(words, ", ")
		}
		if got := uses(phone); got != "" {
			t.Errorf("a new channel is used by %s", got)
		}
		w.channel("Boss", func(c *alert.Channel) { c.FallbackID = phone.ID })
		must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(alert.OnCall{
			Name: "Team", Zone: "UTC", HandOverDay: "mon", StartsOn: began,
			Participants: []alert.Participant{{Name: "Ann", ChannelIDs: []string{phone.ID}}},
		})))(w)
		w.rule(to(phone), func(r *alert.Rule) { r.Name = "Direct" })
		w.clock.move(time.Second)
		w.rule(to(other), func(r *alert.Rule) {
			r.Name, r.Delay = "Step", 0
			r.Escalation = []alert.Step{{After: alert.MinStepAfter, Target: to(phone)}}
		})
		w.clock.move(time.Second)
		w.rule(to(other), func(r *alert.Rule) {
			r.Name, r.QuietHours = "Quiet",
				&alert.QuietHours{Zone: "UTC", From: 22 * 60, Until: 7 * 60, Target: to(phone)}
		})
		w.SetSMS(store.SMSOptions{Channel: phone.ID})
		want := "subscribers' SMS, the rule Direct, the rule Step, the rule Quiet, on call for Team, fallback of Boss"
		if got := uses(phone); got != want {
			t.Errorf("uses of the channel:\ngot  %s\nwant %s", got, want)
		}
		if got := uses(other); got != "the rule Step, the rule Quiet" {
			t.Errorf("the other channel: %s", got)
		}
	})
}
