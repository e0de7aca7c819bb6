package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestUnheardAlerts follows a workspace until somebody is notified of its alerts, and until nobody is.
func TestUnheardAlerts(t *testing.T) {
	inWorlds(t, func(w *world) {
		unheard := func(when string, want bool) {
			w.Helper()
			if got := must(w.AlertStanding(w.ctx, w.ws))(w).Unheard; got != want {
				w.Errorf("%s: unheard %t, want %t", when, got, want)
			}
		}
		unheard("without a rule", true)
		phone := w.channel("phone")
		unheard("with a channel that no rule names", true)
		w.rule(to(phone))
		unheard("with a rule", false)
		w.run(`UPDATE alert_rules SET enabled = FALSE`)
		unheard("with a disabled rule", true)
		w.run(`UPDATE alert_rules SET enabled = TRUE`)
		w.run(`UPDATE alert_channels SET failing_since_at = 1`)
		unheard("with a channel that fails", true)
		w.run(`UPDATE alert_channels SET failing_since_at = NULL, enabled = FALSE`)
		unheard("with a disabled channel", true)
	})
}

// TestSilencesAreSeen creates a silence of one monitor and one of everything.
func TestSilencesAreSeen(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("job", w.component, "")
		silence := func(f alert.Filter, d time.Duration) {
			w.Helper()
			must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
				Filter: f, EndsAt: w.clock.now().Add(d),
			})))(w)
		}
		until := func() map[string]time.Duration {
			w.Helper()
			rest := make(map[string]time.Duration)
			for _, m := range must(w.MonitorList(w.ctx, w.ws, store.MonitorQuery{}, firstHundred))(w).Monitors {
				if !m.SilencedUntil.IsZero() {
					rest[m.Name] = m.SilencedUntil.Sub(w.clock.now())
				}
			}
			return rest
		}
		silence(alert.Filter{Monitors: []string{job.ID}}, time.Hour)
		w.clock.move(time.Millisecond)
		if got := until(); len(got) != 1 || got["job"] != time.Hour-time.Millisecond {
			w.Errorf("silenced monitors: %v, want the job", got)
		}
		if s := must(w.AlertStanding(w.ctx, w.ws))(w).Silence; s != nil {
			w.Errorf("a silence of one monitor holds back every alert: %+v", s)
		}
		silence(alert.Filter{}, 2*time.Hour)
		w.clock.move(time.Millisecond)
		if got := until(); len(got) != 2 {
			w.Errorf("silenced monitors: %v, want both", got)
		}
		if s := must(w.AlertStanding(w.ctx, w.ws))(w).Silence; s == nil || !s.MatchesAll() {
			w.Errorf("the silence of everything: %+v", s)
		}
		w.clock.move(2 * time.Hour)
		if got, s := until(), must(w.AlertStanding(w.ctx, w.ws))(w).Silence; len(got) != 0 || s != nil {
			w.Errorf("after the silences: %v, %+v", got, s)
		}
	})
}
