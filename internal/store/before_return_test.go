package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestBeforeAnswer: it is called once for each change that somebody waits for, with
// the pages that changed, when the change can be read; and not for pings, periodic
// checks and maintenance that begins by itself.
func TestBeforeAnswer(t *testing.T) {
	inWorlds(t, func(w *world) {
		var calls [][]string
		changes := 0
		w.OnPageChange(func(string) { changes++ })
		w.BeforeReturn(func(_ context.Context, pageIDs []string) {
			calls = append(calls, pageIDs)
			must(w.LoadPage(w.ctx, "acme"))(w) // the writer is free: nothing hangs
			must(w.RecordPings(w.ctx, []string{w.monitor.Token}, store.LivenessRecord{Replica: "a"},
				store.PingOrigins{}))(w)
		})
		job := w.quick("Job", w.component, kernel.StatusMajorOutage)
		before := changes
		calls = nil

		w.goDown(job)
		if err := w.tryPing(job); err != nil {
			w.Fatal(err)
		}
		if changes-before < 2 || len(calls) > 0 {
			w.Errorf("an outage changed the page %d times, and was waited for %d times", changes-before, len(calls))
		}

		must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "Move", ScheduledFor: w.clock.now().Add(time.Minute), ScheduledUntil: w.clock.now().Add(time.Hour),
		})))(w)
		if len(calls) != 1 || !slices.Equal(calls[0], []string{w.page.ID}) {
			w.Errorf("planning maintenance: %v", calls)
		}
		w.clock.move(2 * time.Minute)
		must(w.AdvanceMaintenances(w.ctx))(w)
		if len(calls) != 1 {
			w.Errorf("maintenance that begins is waited for: %v", calls[1:])
		}
		must(w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusDegraded),
			kernel.Precondition{}))(w)
		if len(calls) != 2 {
			w.Errorf("a change of a status: %v", calls)
		}
	})
}
