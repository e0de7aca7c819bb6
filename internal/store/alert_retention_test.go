package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestAlertsArePruned checks that an alert is kept while it is open, and for a time after its end, however old it is.
func TestAlertsArePruned(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")))
		open, brief, long := w.quick("open", w.component, ""), w.quick("brief", w.component, ""),
			w.quick("long", w.component, "")
		w.goDown(open, brief, long)
		w.pinged(brief)
		w.advanceAlerts()
		w.clock.move(24 * time.Hour)
		w.pinged(long)
		w.advanceAlerts()
		kept := func() (names []string) {
			all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{}, firstHundred)
			w.ok(err)
			for _, a := range all {
				names = append(names, a.Name+" "+string(a.State()))
			}
			return names
		}
		w.clock.move(alert.Retention - 24*time.Hour - time.Second)
		w.ok(w.Prune(w.ctx))
		w.expect("before the end of the retention", kept(), "open open", "brief resolved", "long resolved")
		w.clock.move(time.Second)
		w.ok(w.Prune(w.ctx))
		w.expect("at its end", kept(), "open open", "long resolved")
		w.clock.move(24 * time.Hour)
		w.ok(w.Prune(w.ctx))
		w.expect("a day later", kept(), "open open")
	})
}

// TestSilencesArePruned checks that a silence is kept until it ends, and for a time after that, however long ago it
// began.
func TestSilencesArePruned(t *testing.T) {
	inWorlds(t, func(w *world) {
		long := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
			EndsAt: w.clock.now().Add(alert.Retention + 24*time.Hour),
		})))(w)
		kept := func(what string, want int) {
			t.Helper()
			w.ok(w.Prune(w.ctx))
			all, _, err := w.Silences().List(w.ctx, w.ws, "", store.Filter{}, firstHundred)
			w.ok(err)
			if len(all) != want {
				t.Errorf("%s: %d silences, want %d", what, len(all), want)
			}
		}
		w.clock.move(alert.Retention + time.Hour)
		kept("before its end", 1)
		w.clock.set(long.EndsAt.Add(alert.Retention - time.Second))
		kept("before the end of the retention", 1)
		w.clock.move(time.Second)
		kept("at its end", 0)
	})
}
