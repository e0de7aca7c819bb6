package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store"
)

// runs lets time pass while the service runs, as its liveness records say, but claims no check.
func (w *world) runs(d time.Duration) {
	w.Helper()
	w.clock.move(d)
	w.run(`UPDATE liveness SET seen_at = $1`, w.clock.now().UnixMilli())
	w.recordLiveness()
}

// marks fails unless a tick marks as many checks.
func (w *world) marks(when string, want int) {
	w.Helper()
	if n, err := w.TickChecks(w.ctx); err != nil || n != want {
		w.Errorf("%s: %d checks are marked, %v, not %d", when, n, err, want)
	}
}

// explained returns the explanation of a monitor as text.
func (w *world) explained(m monitor.Monitor) string {
	w.Helper()
	e := must(w.MonitorDetail(w.ctx, w.ws, m.ID))(w).Explanation
	clock := func(t time.Time) string { return t.Format(time.TimeOnly) }
	return strings.Join(e.Sentences(clock, clock), " ")
}

// unknownTime returns how much of today is unknown on the page of the world's component.
func (w *world) unknownTime() time.Duration {
	w.Helper()
	summary := must(w.LoadPage(w.ctx, "acme"))(w).Summarize(w.clock.now())
	return summary.Histories[w.component.ID].Last(1).In(kernel.StatusUnknown)
}

// copyCheck makes n monitors with the same check.
func (w *world) copyCheck(m monitor.Monitor, n int) {
	w.Helper()
	tokens := must(store.FillMonitors(w.ctx, w.Store, w.ws.WorkspaceID, "acme", n, m.Interval))(w)
	w.run(`DELETE FROM last_pings WHERE token <> $1`, w.monitor.Token)
	w.run(`UPDATE monitors SET type = 'http' WHERE token <> $1 AND type = 'heartbeat'`, w.monitor.Token)
	const columns = `workspace_id, version, timeout_ms, recovery_threshold, confirm_from, config, secret_fields, ` +
		`due_at, awaited_since_at, late_at`
	w.run(`INSERT INTO checks (monitor_id, `+columns+`) SELECT m.id, `+
		strings.ReplaceAll("c."+columns, ", ", ", c.")+` FROM monitors m
		JOIN checks c ON c.monitor_id = $1 WHERE m.type = 'http' AND NOT EXISTS (SELECT 1 FROM checks
		WHERE monitor_id = m.id)`, m.ID)
	if n != len(tokens) {
		w.Fatalf("%d copies", len(tokens))
	}
}

// TestLateChecks checks from when a check without results is late, what says so, and what ends it.
func TestLateChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		w.check(monitor.CheckOK)
		last := w.clock.now()
		w.runs(3 * time.Minute)
		w.marks("two intervals after it was due", 0)
		version := must(w.LoadPage(w.ctx, "acme"))(w).Page.Version
		w.runs(time.Millisecond)
		w.marks("later", 1)
		w.marks("again", 0)
		w.runs(10 * time.Minute)
		m = w.monitorNow(m)
		if m.DisplayState() != monitor.MonitorLate || m.State != monitor.MonitorUp ||
			!m.CheckState.UnknownSince.Equal(last.Add(time.Minute)) {
			t.Errorf("late: %s, %+v", m.DisplayState(), m)
		}
		page := must(w.LoadPage(w.ctx, "acme"))(w)
		if page.Page.Version <= version {
			t.Error("pages in memory do not change")
		}
		w.tellsLateChecks(m, last.Add(time.Minute))
		w.check(monitor.CheckOK)
		m = w.monitorNow(m)
		if m.DisplayState() != monitor.MonitorUp || !m.CheckState.UnknownSince.IsZero() || !m.Healthy() {
			t.Errorf("after a result: %+v", m)
		}
		w.runs(3 * time.Minute)
		if got := w.unknownTime(); got != 12*time.Minute+time.Millisecond {
			t.Errorf("afterwards unknown for %v", got)
		}
		w.marks("the end, without events of gaps", 0)
		gaps := must(w.ExplainMonitor(w.ctx, w.ws, m.ID))(w).LastCheckingGaps()
		if len(gaps) != 1 || gaps[0].Open || gaps[0].Cause != monitor.GapLateChecks {
			t.Errorf("explained gaps: %+v", gaps)
		}
		w.runs(time.Millisecond)
		w.marks("again after three intervals", 1)
		got := w.rows(`SELECT kind FROM monitor_events ORDER BY created_at`)
		if !slices.Equal(got, []string{"checks.late", "checks.late_ended", "checks.late"}) {
			t.Errorf("events: %v", got)
		}
	})
}

// tellsLateChecks checks that the explanation, the overviews, the gaps and the uptime say that the only check of the
// workspace is late, 12 minutes after it was due.
func (w *world) tellsLateChecks(m monitor.Monitor, due time.Time) {
	w.Helper()
	got, want := w.explained(m),
		"Not checked since "+due.Format(time.TimeOnly)+
			", when a check was due: checks are late, and the state is unknown until the next result."
	if got != want {
		w.Errorf("explained: %s", got)
	}
	if o := must(w.Overview(w.ctx, w.ws))(w); o.LateChecks != 1 || !o.LateSince.Equal(due) {
		w.Errorf("the overview has %d late checks since %s", o.LateChecks, o.LateSince)
	}
	if o := must(w.Overview(w.ctx, kernel.Actor{WorkspaceID: "ws_other"}))(w); o.LateChecks != 0 {
		w.Errorf("the overview of another workspace has %d late checks", o.LateChecks)
	}
	if got := w.unknownTime(); got != 12*time.Minute+time.Millisecond {
		w.Errorf("unknown for %v", got)
	}
	gaps := must(w.ExplainMonitor(w.ctx, w.ws, m.ID))(w).LastCheckingGaps()
	if len(gaps) != 1 || !gaps[0].Open || gaps[0].Cause != monitor.GapLateChecks {
		w.Errorf("explained gaps: %+v", gaps)
	}
	day := must(w.MonitorDetail(w.ctx, w.ws, m.ID))(w).Uptimes[0]
	unknown := day.In(kernel.StatusUnknown)
	if unknown != 12*time.Minute+time.Millisecond || day.In(kernel.StatusMajorOutage) != 0 {
		w.Errorf("the uptime has %v of unknown time", unknown)
	}
}

// TestClaimsOfADeadReplicaAreLate: a claim is no result, however often a replica claims.
func TestClaimsOfADeadReplicaAreLate(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		w.check(monitor.CheckOK, monitor.CheckOK)
		last := w.clock.now()
		for range 6 { // every half a minute
			w.marks("before", 0)
			w.runs(30 * time.Second)
			w.claimChecks("dead", "")
		}
		w.marks("three intervals after the last result", 0)
		w.runs(time.Millisecond)
		w.marks("later", 1)
		if got := w.monitorNow(m).CheckState.UnknownSince; !got.Equal(last.Add(time.Minute)) {
			t.Errorf("unknown since %v", got)
		}
		w.claimChecks("dead", "")
		w.marks("claimed again", 0)
	})
}

// TestResultsAreNotLate: checks with results are not late, whatever they say.
func TestResultsAreNotLate(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.newCheck("shop")
		for _, status := range []monitor.CheckStatus{
			"ok", "ok", "ok", "ok", "failed", "failed", "failed", "unknown", "unknown", "unknown", "unknown", "slow",
			"ok", "ok",
		} {
			w.check(status)
			w.marks(string(status), 0)
		}
	})
}

// TestLateChecksOfMonitorsThatAreDown: late is unknown, as with a network that does not work, and does not end the
// outage.
func TestLateChecksOfMonitorsThatAreDown(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		w.check(monitor.CheckFailed, monitor.CheckFailed)
		w.runs(time.Hour)
		w.marks("down", 1)
		m = w.monitorNow(m)
		if m.State != monitor.MonitorDown || m.DisplayState() != monitor.MonitorDown || !m.CheckState.Late {
			t.Errorf("late: %+v", m)
		}
		got := w.explained(m)
		if !strings.Contains(got, "Down since") || !strings.Contains(got, "Not checked since") {
			t.Errorf("explained: %s", got)
		}
		w.shows(kernel.StatusPartialOutage)
		if got := w.unknownTime(); got != 59*time.Minute {
			t.Errorf("unknown for %v", got)
		}
		w.check(monitor.CheckUnknown) // of a replica without network
		if m = w.monitorNow(m); m.CheckState.Late || !m.CheckState.UnknownSince.Equal(w.clock.now()) {
			t.Errorf("after an unknown result: %+v", m.CheckState)
		}
		w.runs(time.Minute)
		w.check(monitor.CheckOK)
		if m = w.monitorNow(m); m.State != monitor.MonitorUp || !m.CheckState.UnknownSince.IsZero() {
			t.Errorf("after a good result: %+v", m)
		}
		gaps := w.rows(`SELECT to_at - from_at, cause FROM checking_gaps ORDER BY from_at`)
		if !slices.Equal(gaps, []string{"3540000|late_checks", "60000|unknown_results"}) {
			t.Errorf("gaps: %v", gaps)
		}
		// of the unknown result
		if n := w.value(`SELECT count(*) FROM monitor_events WHERE kind = 'service.gap'`); n != "1" {
			t.Errorf("%s events of gaps", n)
		}
	})
}

// TestChecksThatAreNotLate: what was just created, resumed or changed is not late, nor is what is paused.
func TestChecksThatAreNotLate(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		w.runs(3 * time.Minute)
		w.marks("new", 0)
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Reschedule(2*time.Minute, schedule.Cron{})
			return nil
		}))(w)
		w.runs(6 * time.Minute)
		w.marks("changed", 0)
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, monitor.Pause(w.clock.now().Add(time.Hour))))(w)
		w.runs(time.Hour)
		w.marks("paused", 0)
		if n := must(w.ResumePaused(w.ctx))(w); n != 1 {
			t.Fatalf("%d resumed", n)
		}
		w.runs(6 * time.Minute)
		w.marks("resumed", 0)
		w.runs(time.Millisecond)
		w.marks("late", 1)
		w.runs(time.Minute)
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, monitor.Pause(time.Time{})))(w)
		if got := w.monitorNow(m).CheckState; got.Late || !got.UnknownSince.IsZero() {
			t.Errorf("paused while late: %+v", got)
		}
		w.marks("paused while late", 0)
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, monitor.Resume()))(w)
		w.runs(7 * time.Minute)
		w.marks("resumed and late", 1)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID))
		w.runs(time.Millisecond)
		w.marks("deleted", 0)
		got := w.rows(`SELECT kind FROM monitor_events ORDER BY created_at`)
		if !slices.Equal(got, []string{"checks.late", "checks.late_ended", "checks.late", "checks.late_ended"}) {
			t.Errorf("events: %v", got)
		}
	})
}

// TestLateChecksOfADay: an interval of a day is counted from the last result, although the history forgets it before
// the check is late.
func TestLateChecksOfADay(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop", func(n *monitor.MonitorConfig) { n.Interval = 24 * time.Hour })
		w.check(monitor.CheckOK)
		w.runs(24 * time.Hour)
		w.check(monitor.CheckOK)
		w.runs(25 * time.Hour)
		w.ok(w.Prune(w.ctx))
		w.claimChecks("dead", "")
		w.runs(47 * time.Hour)
		w.marks("three days after the last result", 0)
		w.runs(time.Millisecond)
		w.marks("later", 1)
		if got := w.monitorNow(m); got.CheckState.Status != monitor.CheckOK {
			t.Errorf("late: %+v", got)
		}
	})
}

// TestLateChecksAfterAStop: the time in which the service was stopped does not count, and its gap has one event
// already.
func TestLateChecksAfterAStop(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")), func(r *alert.Rule) {
			r.Events = []alert.Event{alert.ServiceGap, alert.ChecksLate}
		})
		m := w.newCheck("shop")
		w.check(monitor.CheckOK)
		last := w.clock.now()
		w.runs(90 * time.Second)
		w.clock.move(12 * time.Hour)
		w.marks("before the first liveness record", 0)
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a", First: true}))
		w.marks("at the start", 0)
		lines := w.notified(3*time.Second, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "Receiving pings was interrupted") {
			t.Errorf("at the start: %q", lines)
		}
		w.runs(87 * time.Second)
		w.marks("two intervals that it ran", 0)
		w.runs(time.Millisecond)
		w.marks("still not checked", 1)
		if got := w.monitorNow(m).CheckState.UnknownSince; !got.Equal(last.Add(time.Minute)) {
			t.Errorf("unknown since %v", got)
		}
		lines = w.notified(3*time.Second, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "Checks are late") {
			t.Errorf("late: %q", lines)
		}
	})
}

// TestClocksOfLateChecks: a clock that was set back strands no check, and one that was set forward makes none late.
func TestClocksOfLateChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.newCheck("shop")
		w.check(monitor.CheckOK)
		w.clock.move(-time.Hour)
		w.recordLiveness()
		w.runs(3 * time.Minute)
		w.marks("set back", 0)
		w.runs(time.Millisecond)
		w.marks("set back, and late", 1)
		w.check(monitor.CheckOK)
		w.clock.move(time.Hour)
		w.marks("set forward", 0)
		w.recordLiveness()
		w.marks("set forward", 0)
		w.runs(time.Minute)
		w.marks("set forward", 0)
	})
}

// TestLateChecksAreOneAlert: members of a workspace get one message, however many checks are late and however many
// replicas look, and one at the end. Members of another workspace get none.
func TestLateChecksAreOneAlert(t *testing.T) {
	inWorlds(t, func(w *world) {
		const many = 1_100 // three transactions
		w.rule(to(w.channel("phone")), func(r *alert.Rule) {
			r.Events = []alert.Event{alert.ServiceGap, alert.ChecksLate}
		})
		w.newCheck("other", func(n *monitor.MonitorConfig) { n.Interval = time.Hour })
		shop := w.newCheck("shop")
		w.copyCheck(shop, many-1)
		other := w.Store
		if strings.HasPrefix(w.dsn, "postgres") {
			other = w.replica()
		}
		w.runs(4 * time.Minute)
		var both sync.WaitGroup
		var marked [2]int
		for i, s := range []*store.Store{w.Store, other} {
			both.Go(func() {
				n, err := s.TickChecks(w.ctx)
				if err != nil {
					t.Error(err)
				}
				marked[i] = n
			})
		}
		both.Wait()
		if marked[0]+marked[1] != many {
			t.Errorf("%v are marked", marked)
		}
		since := w.clock.now().Add(-3 * time.Minute).Format("2006-01-02 15:04:05 UTC")
		w.expect("begin", w.notified(3*time.Second, taken), "* phone: Checks are late / "+
			"1100 checks have no result, the first since "+since+": whether their targets work is unknown.")
		w.runs(time.Minute)
		w.marks("still late", 0)
		w.expect("still late", w.notified(3*time.Second, taken))
		for {
			claimed := w.claimChecks("a", "")
			if len(claimed) == 0 {
				break
			}
			w.marks("some are still late", 0)
			var results []monitor.CheckResult
			for _, c := range claimed {
				results = append(results, w.resultOf(c, monitor.CheckOK))
			}
			w.ok(w.RecordCheckResults(w.ctx, results))
		}
		w.runs(time.Millisecond)
		w.marks("on time", 0)
		lines := w.notified(3*time.Second, taken)
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "> phone: Checks are on time again after ") {
			t.Errorf("end: %q", lines)
		}
		got := w.rows(`SELECT kind, monitor_id FROM monitor_events ORDER BY created_at`)
		if !slices.Equal(got, []string{"checks.late|", "checks.late_ended|"}) {
			t.Errorf("events: %v", got)
		}
	})
}

// TestLateChecksWithoutARule: the next tick does not write the event again although no alert is open, and a replica
// that stopped before it wrote the event leaves that to the next tick.
func TestLateChecksWithoutARule(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.newCheck("shop")
		w.newCheck("other", func(n *monitor.MonitorConfig) { n.Interval = 2 * time.Minute })
		w.runs(4 * time.Minute)
		w.marks("the first", 1)
		w.advanceAlerts()
		w.run(`DELETE FROM alerts`)
		w.runs(4 * time.Minute)
		w.marks("the second", 1)
		w.runs(4 * time.Minute)
		w.marks("none", 0)
		if n := w.value(`SELECT count(*) FROM monitor_events`); n != "1" {
			t.Errorf("%s events", n)
		}
		w.run(`DELETE FROM monitor_events`)
		w.run(`DELETE FROM late_workspaces`) // as before the transaction of the event
		w.marks("none", 0)
		if n := w.value(`SELECT count(*) FROM monitor_events WHERE kind = 'checks.late'`); n != "1" {
			t.Errorf("%s events", n)
		}
	})
}

// TestLateChecksThatComeAndGo: a service that is too slow all day does not notify members all day.
func TestLateChecksThatComeAndGo(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Events = []alert.Event{alert.ChecksLate} })
		w.newCheck("shop")
		w.check(monitor.CheckOK)
		began, messages := w.clock.now(), 0
		for w.clock.now().Sub(began) < 2*time.Hour {
			w.runs(4 * time.Minute)
			w.marks("late", 1)
			messages += len(w.notified(10*time.Second, taken))
			w.check(monitor.CheckOK)
			w.marks("on time", 0)
			messages += len(w.notified(10*time.Second, taken))
		}
		if messages > 14 {
			t.Errorf("%d messages in two hours", messages)
		}
	})
}

// TestLateChecksOfOtherWorkspaces: the message of a workspace counts only its own late checks.
func TestLateChecksOfOtherWorkspaces(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Events = []alert.Event{alert.ChecksLate} })
		other := w.otherWorkspace()
		for range 2 {
			must(w.CreateMonitor(w.ctx, other, monitor.MonitorOf(monitor.MonitorConfig{
				Type: "http", Name: "theirs", Interval: time.Minute,
				Check: monitor.CheckSpec{Config: json.RawMessage(`{"url":"https://example.com"}`)},
			})))(w)
		}
		w.runs(time.Minute)
		w.newCheck("shop")
		w.runs(4 * time.Minute)
		w.marks("late", 3)
		since := w.clock.now().Add(-3 * time.Minute).Format("2006-01-02 15:04:05 UTC")
		w.expect("late", w.notified(3*time.Second, taken), "* phone: Checks are late / "+
			"One check has no result since "+since+": whether its target works is unknown.")
	})
}
