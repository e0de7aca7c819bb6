package store_test

import (
	"fmt"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// TestBatchesOfResults: results of a monitor have the same effect whether they are saved together or one after another.
func TestBatchesOfResults(t *testing.T) {
	inWorlds(t, func(w *world) {
		const good, slow, failed, unknown, warning = "ok", "slow", "failed", "unknown", "warning"
		for i, statuses := range [][]string{
			{failed, good}, {failed, good, good}, {good, failed}, {slow, good}, {unknown, good}, {warning, good},
			{good, warning}, {failed, failed, good}, {slow, slow, good, good},
		} {
			states := make(map[bool]string)
			for _, together := range []bool{false, true} {
				m := w.newCheck(fmt.Sprintf("check %d %t", i, together), func(n *monitor.MonitorConfig) {
					n.Check.RecoveryThreshold = 2
				})
				w.record(m, monitor.CheckOK, 0, 0) // so that it is healthy
				var results []monitor.CheckResult
				for _, status := range statuses {
					r := w.resultOf(store.ClaimedCheck{MonitorID: m.ID, Version: 1, DueAt: w.clock.now()},
						monitor.CheckStatus(status))
					if status == warning {
						r.Status, r.Warning, r.Reason = monitor.CheckOK, true, "the certificate expires in 3 days"
					}
					results = append(results, r)
				}
				if together {
					w.ok(w.RecordCheckResults(w.ctx, results))
				} else {
					for _, r := range results {
						w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
					}
				}
				now := w.monitorNow(m)
				states[together] = fmt.Sprintf("%s, %d failures, warned %v, %+v", now.DisplayState(),
					now.ConsecutiveFailures, now.Warned, now.CheckState)
			}
			if states[true] != states[false] {
				t.Errorf("%v, together: %s\none by one: %s", statuses, states[true], states[false])
			}
		}
	})
}

// TestRetriesThatAreGivenBack: a replica without a place for a retry gives it back. It is then a retry of the same
// round, which only replicas run that have not taken part in it.
func TestRetriesThatAreGivenBack(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop", func(n *monitor.MonitorConfig) { n.Check.ConfirmFrom = 2 })
		for replica, location := range map[string]string{"a": "here", "b": "there"} {
			w.run(`DELETE FROM liveness WHERE replica = $1`, replica)
			w.run(`INSERT INTO liveness (replica, seen_at, backlog_ms, location) VALUES ($1, $2, 0, $3)`, replica,
				w.clock.now().UnixMilli(), location)
		}
		only := func(replica, location string) store.ClaimedCheck {
			w.Helper()
			claimed := w.claimChecks(replica, location)
			if len(claimed) != 1 {
				w.Fatalf("%s claims %d checks", replica, len(claimed))
			}
			return claimed[0]
		}
		fail := func(c store.ClaimedCheck, replica, location string) {
			r := w.resultOf(c, monitor.CheckFailed)
			r.Replica, r.Location = replica, location
			w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
		}
		fail(only("a", "here"), "a", "here")
		given := only("b", "there")
		if left := w.claimChecks("b", "there"); !given.Retry || len(left) != 0 {
			t.Fatalf("a retry %t, and %d more", given.Retry, len(left))
		}
		w.ok(w.SaveCheckHosts(w.ctx, []store.CheckHost{{ClaimedCheck: given, Host: "example.com", Returned: true}}))
		if again := w.claimChecks("a", "here"); len(again) != 0 {
			t.Errorf("the location that found the failure checks again: %+v", again)
		}
		again := only("b", "there")
		if !again.Retry || again.Host != "example.com" {
			t.Errorf("claimed again: %+v", again)
		}
		if fail(again, "b", "there"); w.monitorNow(m).ConsecutiveFailures != 1 {
			t.Errorf("both locations found a failure: %+v", w.monitorNow(m))
		}
	})
}
