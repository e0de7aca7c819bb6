package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// newCheck creates a monitor whose target is checked every minute, and goes down after two failures.
func (w *world) newCheck(name string, change ...func(*allswell.NewMonitor)) allswell.Monitor {
	w.Helper()
	n := allswell.NewMonitor{
		Type: "http", Name: name, Interval: time.Minute, Page: "acme", ComponentID: w.component.ID, FailureThreshold: 2,
		Check: allswell.CheckSpec{Config: json.RawMessage(`{"url":"https://example.com"}`)},
	}
	for _, f := range change {
		f(&n)
	}
	return must(w.CreateMonitor(w.ctx, w.ws, n))(w)
}

// claimChecks claims the checks that are due for a replica.
func (w *world) claimChecks(replica, location string) []store.ClaimedCheck {
	w.Helper()
	claimed, _, err := w.ClaimChecks(w.ctx, store.CheckClaim{Replica: replica, Location: location, Limit: 100})
	w.ok(err)
	return claimed
}

// resultOf is the result of a claimed check.
func (w *world) resultOf(c store.ClaimedCheck, status allswell.CheckStatus) allswell.CheckResult {
	r := allswell.CheckResult{
		MonitorID: c.MonitorID, Version: c.Version, Replica: "a", DueAt: c.DueAt, StartedAt: w.clock.now(), Status: status,
		Phases: allswell.CheckPhases{DNS: 1500 * time.Microsecond, Total: 30 * time.Millisecond},
	}
	if status == allswell.CheckFailed {
		r.Reason, r.Answered, r.Body = "status 502, expected 200-299", true, "bad gateway"
	}
	return r
}

// check lets time pass until the only check is due, claims it and records a result with the status.
func (w *world) check(statuses ...allswell.CheckStatus) {
	w.Helper()
	for _, status := range statuses {
		_, next, err := w.ClaimChecks(w.ctx, store.CheckClaim{Replica: "nobody", Location: "nowhere"})
		w.ok(err)
		if next.After(w.clock.now()) {
			w.pass(next.Sub(w.clock.now()))
		} else {
			w.recordLiveness()
		}
		claimed := w.claimChecks("a", "")
		if len(claimed) != 1 {
			w.Fatalf("%d checks are due at %s", len(claimed), w.clock.now())
		}
		w.ok(w.RecordCheckResults(w.ctx, []allswell.CheckResult{w.resultOf(claimed[0], status)}))
	}
}

func TestChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		if m.Token != "" || m.Type != "http" || m.Check.Timeout != 10*time.Second || m.Check.RecoveryThreshold != 1 || m.Condition() != allswell.MonitorWaiting ||
			!m.NextCheckAt.Equal(w.clock.now()) {
			t.Errorf("created: %+v", m)
		}
		w.check(allswell.CheckOK)
		if m = w.monitorNow(m); m.Condition() != allswell.MonitorUp || !m.NextCheckAt.Equal(allswell.NextCheck(m.ID, time.Minute, w.clock.now())) {
			t.Errorf("after a good result: %+v", m)
		}
		w.check(allswell.CheckOK, allswell.CheckFailed)
		if m = w.monitorNow(m); m.Condition() != allswell.MonitorFailing || m.ConsecutiveFailures != 1 || m.NextCheckAt.After(w.clock.now().Add(15*time.Second)) {
			t.Errorf("after a failure: %+v", m)
		}
		w.shows(allswell.StatusOperational)
		w.check(allswell.CheckFailed)
		if m = w.monitorNow(m); m.Condition() != allswell.MonitorDown || m.CheckState.Reason != "status 502, expected 200-299" {
			t.Errorf("after two failures: %+v", m)
		}
		w.shows(allswell.StatusPartialOutage)
		notes, _, err := w.IncidentNotes(w.ctx, w.ws, w.incident().ID, firstHundred)
		w.ok(err)
		if len(notes) != 1 || notes[0].Output != "status 502, expected 200-299" {
			t.Errorf("notes: %+v", notes)
		}
		down := w.clock.now()
		w.check(allswell.CheckFailed, allswell.CheckOK)
		lasted := allswell.FormatDuration(w.clock.now().Sub(down))
		w.shows(allswell.StatusOperational)
		w.expectEvents(
			"Backups: operational > partial_outage (outage)",
			"created: shop is down, major, investigating (outage): Automatic checks of this service fail.",
			"Backups: partial_outage > operational (outage)",
			"resolved: shop is down, major, resolved (outage): Automatic checks of this service succeed again, after "+lasted+".")
		results, total, err := w.CheckResults(w.ctx, w.ws, m.Slug, firstHundred)
		w.ok(err)
		if total != 6 || results[0].Status != allswell.CheckOK || results[1].Body != "bad gateway" || results[5].Phases.DNS != 1500*time.Microsecond {
			t.Errorf("%d results: %+v", total, results)
		}
		w.clock.move(25 * time.Hour)
		w.ok(w.Prune(w.ctx))
		if n := w.value(`SELECT count(*) FROM check_results`); n != "0" {
			t.Errorf("%s results are kept", n)
		}
	})
}

// A check that is claimed is claimed once, and a replica that stops loses only that one.
func TestClaimsOfChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		claimed := w.claimChecks("a", "")
		if len(claimed) != 1 || claimed[0].MonitorID != m.ID || claimed[0].Type != "http" || claimed[0].Interval != time.Minute || string(claimed[0].Spec.Config) == "" {
			t.Fatalf("claimed %+v", claimed)
		}
		if again := w.claimChecks("b", ""); len(again) != 0 {
			t.Errorf("claimed again: %+v", again)
		}
		w.clock.move(10 * time.Minute) // late ones are not made up
		if got := len(w.claimChecks("b", "")) + len(w.claimChecks("a", "")); got != 1 {
			t.Errorf("%d checks are due after ten minutes", got)
		}
		paused := must(w.ChangeMonitor(w.ctx, w.ws, m.ID, allswell.Pause(time.Time{})))(w)
		w.clock.move(time.Hour)
		if got := w.claimChecks("a", ""); len(got) != 0 || !paused.NextCheckAt.IsZero() {
			t.Errorf("a paused monitor is checked: %+v", got)
		}
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, allswell.Resume()))(w)
		claimed = w.claimChecks("a", "")
		if len(claimed) != 1 {
			t.Fatalf("%d claimed after resuming", len(claimed))
		}
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, allswell.MonitorChange{Check: allswell.CheckChange{Config: json.RawMessage(`{"url":"https://example.org"}`)}}))(w)
		w.ok(w.RecordCheckResults(w.ctx, []allswell.CheckResult{w.resultOf(claimed[0], allswell.CheckFailed)}))
		if got := w.monitorNow(m); got.ConsecutiveFailures != 0 || got.Condition() != allswell.MonitorWaiting {
			t.Errorf("the result of an old configuration counts: %+v", got)
		}
		w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID))
		if got := w.claimChecks("a", ""); len(got) != 0 {
			t.Errorf("a deleted monitor is checked: %+v", got)
		}
		w.ok(w.RecordCheckResults(w.ctx, []allswell.CheckResult{w.resultOf(claimed[0], allswell.CheckFailed)}))
	})
}

func TestInvalidChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		before := w.dump()
		fields := func(err error) map[string][]string {
			t.Helper()
			var bad *allswell.ValidationError
			if !errors.As(err, &bad) {
				t.Fatalf("error %v", err)
			}
			return bad.Fields
		}
		_, err := w.CreateMonitor(w.ctx, w.ws, allswell.NewMonitor{Type: "http", Name: "x", Interval: 5 * time.Second, MaxRuntime: time.Minute, Token: "0123456789abcdef",
			Check: allswell.CheckSpec{Timeout: time.Minute, SlowAfter: time.Hour, RecoveryThreshold: 1000, ConfirmFrom: 100}})
		for _, field := range []string{"interval", "timeout", "slow_after", "recovery_threshold", "confirm_from", "max_runtime", "token"} {
			if fields(err)[field] == nil {
				t.Errorf("%s is valid: %v", field, err)
			}
		}
		for field, ch := range map[string]allswell.MonitorChange{
			"type": {Type: "tcp"}, "timeout": {Interval: new(10 * time.Second)}, "max_runtime": {MaxRuntime: new(time.Minute)}, "cron": {Cron: &allswell.Cron{Expression: "* * * * *", TimeZone: "UTC"}},
		} {
			if _, err := w.ChangeMonitor(w.ctx, w.ws, m.ID, ch); fields(err)[field] == nil {
				t.Errorf("%s is valid: %v", field, err)
			}
		}
		if _, err := w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, allswell.MonitorChange{Check: allswell.CheckChange{Timeout: new(time.Second)}}); fields(err)["type"] == nil {
			t.Errorf("a heartbeat has a timeout: %v", err)
		}
		if _, err := w.RotateMonitor(w.ctx, w.ws, m.ID); fields(err)["type"] == nil {
			t.Errorf("a check has a token: %v", err)
		}
		if w.dump() != before {
			t.Error("something was changed")
		}
		if got := w.ping("check_" + m.ID); got[0] != store.PingUnknown {
			t.Errorf("a ping of a check: %v", got)
		}
	})
}
