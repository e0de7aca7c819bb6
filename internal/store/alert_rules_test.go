package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestTargetOfQuietHours checks that whom quiet hours notify is checked, kept and shown like the other targets of a
// rule.
func TestTargetOfQuietHours(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone, night := w.channel("phone"), w.channel("night")
		foreign := must(w.AlertChannels().Create(w.ctx, w.otherWorkspace(), "", resource.Channel.From(night)))(w)
		r := alert.Rule{
			Name: "rule", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}, Target: to(phone),
		}
		r.QuietHours = &alert.QuietHours{Zone: "UTC", From: 22 * 60, Until: 7 * 60}
		for _, target := range []alert.Target{
			{ChannelIDs: []string{"chn_x"}}, to(night, foreign), {OnCallIDs: []string{"onc_x"}},
		} {
			r.QuietHours.Target = target
			_, err := w.AlertRules().Create(w.ctx, w.ws, "", resource.AlertRule.From(r))
			w.refused(err, "quiet_hours")
		}
		r.QuietHours.Target = to(night)
		made := must(w.AlertRules().Create(w.ctx, w.ws, "", resource.AlertRule.From(r)))(w)
		if !strings.HasSuffix(made.Summary, "from 22:00 to 07:00 (UTC), notify night instead.") {
			t.Errorf("summary: %q", made.Summary)
		}
		w.refused(w.AlertChannels().Delete(w.ctx, w.ws, "", night.ID, kernel.Precondition{}), "id")
		must(w.AlertChannels().Get(w.ctx, w.ws, "", night.ID))(w)
		must(w.AlertRules().Change(w.ctx, w.ws, "", made.ID, func(r *alert.Rule) error {
			r.QuietHours.Target = alert.Target{}
			return nil
		}, kernel.Precondition{}))(w)
		w.ok(w.AlertChannels().Delete(w.ctx, w.ws, "", night.ID, kernel.Precondition{}))
	})
}

// TestOverridesOfFormerParticipants checks that only an override which the schedule already had may name somebody who
// is no participant.
func TestOverridesOfFormerParticipants(t *testing.T) {
	inWorlds(t, func(w *world) {
		now := w.clock.now()
		past := alert.Override{
			ID: "ovr_00000000000000000000", Participant: "Eve\n\u202e", StartsAt: now.Add(-2 * time.Hour),
			EndsAt: now.Add(-time.Hour),
		}
		ids := []string{w.channel("phone").ID}
		o := alert.OnCall{
			Name: "Ops", Zone: "UTC", HandOverDay: "mon", StartsOn: now,
			Participants: []alert.Participant{{Name: "Ann", ChannelIDs: ids}, {Name: "Bob", ChannelIDs: ids}},
		}
		o.Overrides = []alert.Override{past}
		_, err := w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(o))
		w.refused(err, "overrides")
		o.Overrides = []alert.Override{{Participant: "Bob", StartsAt: past.StartsAt, EndsAt: now.Add(time.Hour)}}
		o = must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(o)))(w)
		w.clock.move(time.Hour)
		change := func(change func(*alert.OnCall)) error {
			_, err := w.OnCallSchedules().Change(w.ctx, w.ws, "", o.ID, func(o *alert.OnCall) error {
				change(o)
				return nil
			}, kernel.Precondition{})
			return err
		}
		w.refused(change(func(o *alert.OnCall) { o.Overrides = append(o.Overrides, past) }), "overrides")
		w.ok(change(func(o *alert.OnCall) { o.Participants = o.Participants[:1] }))
		past.ID = o.Overrides[0].ID
		w.refused(change(func(o *alert.OnCall) { o.Overrides = []alert.Override{past} }), "overrides")
		got := must(w.OnCallSchedules().Get(w.ctx, w.ws, "", o.ID))(w)
		if len(got.Overrides) != 1 || got.Overrides[0].Participant != "Bob" || len(got.Participants) != 1 {
			t.Errorf("schedule without its former participant: %+v", got)
		}
	})
}

// TestTargetsOfRulesAreNotDeletedMeanwhile deletes a channel and an on-call schedule on a replica while another one
// saves a rule that names them: they stay.
func TestTargetsOfRulesAreNotDeletedMeanwhile(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone, chat := w.channel("phone"), w.channel("chat")
		schedule := func(name string) alert.OnCall {
			return must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(alert.OnCall{
				Name: name, Zone: "UTC", HandOverDay: "mon", StartsOn: began,
			})))(w)
		}
		night, day := schedule("Night"), schedule("Day")
		create := func(name string, target alert.Target) func(*store.Store) error {
			return func(s *store.Store) error {
				_, err := s.AlertRules().Create(w.ctx, w.ws, "", resource.AlertRule.From(alert.Rule{
					Name: name, Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}, Target: target,
				}))
				return err
			}
		}
		deleteSchedule := func(o alert.OnCall) func(*store.Store) error {
			return func(s *store.Store) error {
				return s.OnCallSchedules().Delete(w.ctx, w.ws, "", o.ID, kernel.Precondition{})
			}
		}
		w.refused(w.overlap(create("A", to(phone)), func(s *store.Store) error {
			return s.AlertChannels().Delete(w.ctx, w.ws, "", phone.ID, kernel.Precondition{})
		}), "id")
		w.refused(w.overlap(create("B", alert.Target{OnCallIDs: []string{night.ID}}), deleteSchedule(night)), "id")
		r := w.rule(to(chat))
		w.refused(w.overlap(func(s *store.Store) error {
			_, err := s.AlertRules().Change(w.ctx, w.ws, "", r.ID, func(r *alert.Rule) error {
				r.OnCallIDs = []string{day.ID}
				return nil
			}, kernel.Precondition{})
			return err
		}, deleteSchedule(day)), "id")
	})
}
