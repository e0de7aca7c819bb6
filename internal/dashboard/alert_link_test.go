package dashboard

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/store"
)

// alertLink makes a job fail that a rule tells to a channel, and returns the link of the message.
func (v *visitor) alertLink() string {
	v.Helper()
	ctx, actor := v.Context(), v.actor()
	channel, err := v.store.CreateAlertChannel(ctx, actor, alert.Channel{Type: "webhook", Name: hostile, Enabled: true, Config: json.RawMessage(`{}`), MaxPerMinute: 10})
	if err != nil {
		v.Fatal(err)
	}
	if _, err = v.store.CreateAlertRule(ctx, actor, alert.Rule{
		Name: "rule", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}, Target: alert.Target{ChannelIDs: []string{channel.ID}},
	}); err != nil {
		v.Fatal(err)
	}
	m, err := v.store.CreateMonitor(ctx, actor, allswell.NewMonitor{Name: hostile, Interval: time.Minute})
	if err != nil {
		v.Fatal(err)
	}
	if _, err := v.store.RecordSignals(ctx, []store.NewSignal{{Kind: allswell.SignalFail, Token: m.Token}}); err != nil {
		v.Fatal(err)
	}
	for more := true; more; {
		if more, _, err = v.store.AdvanceAlerts(ctx); err != nil {
			v.Fatal(err)
		}
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		claimed, next, err := v.store.ClaimMessages(ctx, store.MessageClaim{Limit: 1})
		if err != nil {
			v.Fatal(err)
		}
		if len(claimed) > 0 {
			return alert.LinkPath + "?key=" + claimed[0].Thread.Key
		}
		<-time.After(time.Until(next)) // messages wait for others
	}
	v.Fatal("no message")
	return ""
}

// TestAlertLink checks that a link shows its alerts, and that only the button acknowledges them.
func TestAlertLink(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		link := owner.alertLink()
		key := strings.TrimPrefix(link, alert.LinkPath+"?key=")
		stranger := s.visitor()
		for range 2 { // programs that check links open them, too
			stranger.wants(stranger.get(link), http.StatusOK, "Do you look after it?", "&lt;script&gt;alert(1)&lt;/script&gt;", ">Acknowledge</button>", "Your name")
		}
		stranger.wants(stranger.post(alert.LinkPath, "key", key, "name", strings.Repeat("x", 300)), http.StatusUnprocessableEntity, "may not be longer")
		stranger.wants(stranger.post(alert.LinkPath, "key", key, "name", "Ann"), http.StatusSeeOther)
		shown := stranger.wants(stranger.get(link), http.StatusOK, "Nothing is left to acknowledge", "acknowledged by <bdi>Ann</bdi>")
		if strings.Contains(shown.body, ">Acknowledge</button>") {
			t.Error("it can be acknowledged again")
		}
		all, _, err := s.store.Alerts(t.Context(), owner.actor(), store.AlertFilter{State: alert.Acknowledged}, store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 || all[0].AcknowledgedBy != "Ann" {
			t.Errorf("%+v, %v", all, err)
		}
		stranger.wants(stranger.get(link+"x"), http.StatusNotFound, "This link is not valid any more")
	})
}

// TestOnCallCalendar checks that only the key shows the calendar of an on-call schedule.
func TestOnCallCalendar(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		o, err := s.store.CreateOnCall(t.Context(), owner.actor(), alert.OnCall{Name: "Ops", Zone: "UTC", HandOverDay: "mon", StartsOn: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		stranger := s.visitor()
		a := stranger.wants(stranger.get(alert.CalendarPath+"?key="+o.CalendarKey), http.StatusOK, "BEGIN:VCALENDAR\r\n")
		if kind := a.Header.Get("Content-Type"); kind != "text/calendar; charset=utf-8" {
			t.Error(kind)
		}
		stranger.wants(stranger.get(alert.CalendarPath+"?key=x"), http.StatusNotFound)
	})
}
