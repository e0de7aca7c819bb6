package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/store"
)

// TestSilenceEndsWhileItHoldsAnAlert ends a silence on a replica while another one holds an alert back because of it: the alert is sent at
// once, not when the silence would have ended.
func TestSilenceEndsWhileItHoldsAnAlert(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		v := must(w.CreateSilence(w.ctx, w.ws, alert.Silence{EndsAt: w.clock.now().Add(24 * time.Hour), Comment: "work"}))(w)
		w.goDown(job)
		w.ok(w.overlap(func(s *store.Store) error {
			_, _, err := s.AdvanceAlerts(w.ctx)
			return err
		}, func(s *store.Store) error { return s.EndSilence(w.ctx, w.ws, v.ID, allswell.Precondition{}) }))
		if lines := w.notified(10*time.Second, taken); len(lines) != 1 || !strings.Contains(lines[0], "phone: Nightly backup is down") {
			t.Errorf("after the silence: %q", lines)
		}
	})
}
