package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// newCheck creates a monitor whose target is checked every minute, and goes down after two failures.
func (w *world) newCheck(name string, change ...func(*monitor.MonitorConfig)) monitor.Monitor {
	w.Helper()
	n := monitor.MonitorConfig{
		Type: "http", Name: name, Interval: time.Minute, PageSlug: "acme", ComponentID: w.component.ID,
		FailureThreshold: 2,
		Check:            monitor.CheckSpec{Config: json.RawMessage(`{"url":"https://example.com"}`)},
	}
	for _, f := range change {
		f(&n)
	}
	return must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(n)))(w)
}

// claimChecks claims the checks that are due for a replica.
func (w *world) claimChecks(replica, location string) []store.ClaimedCheck {
	w.Helper()
	claimed, _, err := w.ClaimChecks(w.ctx, store.CheckClaim{Replica: replica, Location: location, Limit: 100})
	w.ok(err)
	return claimed
}

// resultOf is the result of a claimed check.
func (w *world) resultOf(c store.ClaimedCheck, status monitor.CheckStatus) monitor.CheckResult {
	r := monitor.CheckResult{
		MonitorID: c.MonitorID, Version: c.Version, Replica: "a", DueAt: c.DueAt, StartedAt: w.clock.now(),
		Status: status,
		Phases: monitor.CheckPhases{DNS: 1500 * time.Microsecond, Total: 30 * time.Millisecond},
	}
	if status == monitor.CheckFailed {
		r.Reason, r.Answered, r.Body = "HTTP 502 (expected 200–299)", true, "bad gateway"
	}
	return r
}

// check lets time pass until the only check is due, claims it and records a result with the status.
func (w *world) check(statuses ...monitor.CheckStatus) {
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
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(claimed[0], status)}))
	}
}

func TestChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		if m.Token != "" || m.Type != "http" || m.Check.Timeout != 10*time.Second || m.Check.RecoveryThreshold != 1 ||
			m.DisplayState() != monitor.MonitorWaiting ||
			!m.NextCheckAt.Equal(w.clock.now()) {
			t.Errorf("created: %+v", m)
		}
		w.check(monitor.CheckOK)
		m = w.monitorNow(m)
		if m.DisplayState() != monitor.MonitorUp ||
			!m.NextCheckAt.Equal(monitor.NextCheck(m.ID, time.Minute, w.clock.now())) {
			t.Errorf("after a good result: %+v", m)
		}
		w.check(monitor.CheckOK, monitor.CheckFailed)
		m = w.monitorNow(m)
		if m.DisplayState() != monitor.MonitorFailing || m.ConsecutiveFailures != 1 ||
			m.NextCheckAt.After(w.clock.now().Add(15*time.Second)) {
			t.Errorf("after a failure: %+v", m)
		}
		w.shows(kernel.StatusOperational)
		w.check(monitor.CheckFailed)
		m = w.monitorNow(m)
		if m.DisplayState() != monitor.MonitorDown || m.CheckState.Reason != "HTTP 502 (expected 200–299)" {
			t.Errorf("after two failures: %+v", m)
		}
		w.shows(kernel.StatusPartialOutage)
		notes, _, err := w.IncidentNotes(w.ctx, w.ws, w.incident().ID, firstHundred)
		w.ok(err)
		if len(notes) != 1 || notes[0].Output != "HTTP 502 (expected 200–299)" {
			t.Errorf("notes: %+v", notes)
		}
		down := w.clock.now()
		w.check(monitor.CheckFailed, monitor.CheckOK)
		lasted := kernel.FormatDuration(w.clock.now().Sub(down))
		w.shows(kernel.StatusOperational)
		w.expectEvents(
			"Backups: operational > partial_outage (outage)",
			"created: shop is down, major, investigating (outage): Automated checks are failing.",
			"Backups: partial_outage > operational (outage)",
			"resolved: shop is down, major, resolved (outage): Automated checks are passing again after "+
				lasted+".")
		results, total, err := w.CheckResults(w.ctx, w.ws, m.Slug, firstHundred)
		w.ok(err)
		if total != 6 || results[0].Status != monitor.CheckOK || results[1].Body != "bad gateway" ||
			results[5].Phases.DNS != 1500*time.Microsecond {
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
		if len(claimed) != 1 || claimed[0].MonitorID != m.ID || claimed[0].Type != "http" ||
			claimed[0].Interval != time.Minute || string(claimed[0].Spec.Config) == "" {
			t.Fatalf("claimed %+v", claimed)
		}
		if again := w.claimChecks("b", ""); len(again) != 0 {
			t.Errorf("claimed again: %+v", again)
		}
		w.clock.move(10 * time.Minute) // late ones are not made up
		if got := len(w.claimChecks("b", "")) + len(w.claimChecks("a", "")); got != 1 {
			t.Errorf("%d checks are due after ten minutes", got)
		}
		paused := must(w.ChangeMonitor(w.ctx, w.ws, m.ID, monitor.Pause(time.Time{})))(w)
		w.clock.move(time.Hour)
		if got := w.claimChecks("a", ""); len(got) != 0 || !paused.NextCheckAt.IsZero() {
			t.Errorf("a paused monitor is checked: %+v", got)
		}
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, monitor.Resume()))(w)
		claimed = w.claimChecks("a", "")
		if len(claimed) != 1 {
			t.Fatalf("%d claimed after resuming", len(claimed))
		}
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Check.Config = json.RawMessage(`{"url":"https://example.org"}`)
			return nil
		}))(w)
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(claimed[0], monitor.CheckFailed)}))
		if got := w.monitorNow(m); got.ConsecutiveFailures != 0 || got.DisplayState() != monitor.MonitorWaiting {
			t.Errorf("the result of an old configuration counts: %+v", got)
		}
		w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID))
		if got := w.claimChecks("a", ""); len(got) != 0 {
			t.Errorf("a deleted monitor is checked: %+v", got)
		}
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(claimed[0], monitor.CheckFailed)}))
	})
}

// A replica claims no more checks than it has room for, even if some of them could not be decided by another replica.
func TestLimitOfClaims(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.recordLiveness()
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "b"}))
		undecided := w.newCheck("undecided")
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{
			w.resultOf(w.claimChecks("a", "")[0], monitor.CheckUnknown),
		}))
		due := w.newCheck("due")
		for _, want := range []string{undecided.ID, due.ID} {
			claimed, _, err := w.ClaimChecks(w.ctx, store.CheckClaim{Replica: "b", Limit: 1})
			if err != nil || len(claimed) != 1 || claimed[0].MonitorID != want {
				t.Fatalf("claimed %+v, %v, want %s", claimed, err, want)
			}
		}
	})
}

func TestInvalidChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		before := w.dump()
		fields := func(err error) map[string][]string {
			t.Helper()
			var bad *kernel.ValidationError
			if !errors.As(err, &bad) {
				t.Fatalf("error %v", err)
			}
			return bad.Messages()
		}
		_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Type: "http", Name: "x", Interval: 5 * time.Second, MaxRuntime: time.Minute, Token: "0123456789abcdef",
			Check: monitor.CheckSpec{
				Timeout: time.Hour, SlowAfter: 2 * time.Hour, RecoveryThreshold: 1000, ConfirmFrom: 100,
			},
		}))
		for _, field := range []string{
			"interval", "timeout", "slow_after", "recovery_threshold", "confirm_from", "max_runtime", "token",
		} {
			if fields(err)[field] == nil {
				t.Errorf("%s is valid: %v", field, err)
			}
		}
		for field, ch := range map[string]monitor.MonitorChange{
			"type":        func(c *monitor.MonitorConfig) error { c.Type = "tcp"; return nil },
			"timeout":     func(c *monitor.MonitorConfig) error { c.Interval = 10 * time.Second; return nil },
			"max_runtime": func(c *monitor.MonitorConfig) error { c.MaxRuntime = time.Minute; return nil },
			"schedule": func(c *monitor.MonitorConfig) error {
				c.Reschedule(0, schedule.Cron{Expression: "* * * * *", TimeZone: "UTC"})
				return nil
			},
		} {
			if _, err := w.ChangeMonitor(w.ctx, w.ws, m.ID, ch); fields(err)[field] == nil {
				t.Errorf("%s is valid: %v", field, err)
			}
		}
		if _, err := w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Check.Timeout = time.Second
			return nil
		}); fields(err)["timeout"] == nil {
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

func TestSlowChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Shop"})))(w)
		m := w.newCheck("shop")
		w.check(monitor.CheckOK, monitor.CheckSlow, monitor.CheckSlow)
		w.shows(kernel.StatusDegraded)
		if got := w.monitorNow(m); got.DisplayState() != monitor.MonitorSlow || len(w.incidents()) != 0 {
			t.Errorf("slow: %+v", got)
		}
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = other.ID
			return nil
		}))(w)
		w.shows(kernel.StatusOperational)
		w.shows(kernel.StatusDegraded, other)
		w.check(monitor.CheckOK)
		w.shows(kernel.StatusOperational, other)
		w.check(monitor.CheckSlow, monitor.CheckSlow)
		w.shows(kernel.StatusDegraded, other)
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, monitor.Pause(time.Time{})))(w)
		w.shows(kernel.StatusOperational, other)
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, monitor.Resume()))(w)
		w.check(monitor.CheckSlow, monitor.CheckSlow)
		w.shows(kernel.StatusDegraded, other)
		w.check(monitor.CheckFailed, monitor.CheckFailed)
		w.shows(kernel.StatusPartialOutage, other)
		if n := w.value(`SELECT count(*) FROM causes WHERE source = $1`, m.ID); n != "0" {
			t.Errorf("%s causes of slowness beside the outage", n)
		}
		w.check(monitor.CheckOK, monitor.CheckSlow, monitor.CheckSlow)
		w.shows(kernel.StatusDegraded, other)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID))
		w.shows(kernel.StatusOperational, other)
	})
}

func TestChecksDuringMaintenance(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		w.check(monitor.CheckOK, monitor.CheckFailed)
		must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "m", ScheduledFor: w.clock.now(), ScheduledUntil: w.clock.now().Add(time.Hour),
			Components: statuspage.ComponentRefs(w.component.ID),
		})))(w)
		must(w.AdvanceMaintenances(w.ctx))(w)
		w.check(monitor.CheckFailed, monitor.CheckFailed, monitor.CheckSlow, monitor.CheckSlow, monitor.CheckFailed)
		got := w.monitorNow(m)
		if got.State != monitor.MonitorUp || got.ConsecutiveFailures != 0 || len(w.incidents()) != 0 {
			t.Errorf("during the maintenance: %+v", got)
		}
		w.clock.move(time.Hour)
		must(w.AdvanceMaintenances(w.ctx))(w)
		w.recordLiveness()
		w.check(monitor.CheckFailed)
		if got := w.monitorNow(m); got.ConsecutiveFailures != 1 {
			t.Errorf("after the maintenance: %+v", got)
		}
		w.check(monitor.CheckFailed)
		w.shows(kernel.StatusPartialOutage)
	})
}

// A parent and the monitors below it that fail and recover in one transaction have one incident, whatever the order of
// the results.
func TestParentsFailTogether(t *testing.T) {
	inWorlds(t, func(w *world) {
		once := func(parent string) func(*monitor.MonitorConfig) {
			return func(n *monitor.MonitorConfig) { n.FailureThreshold, n.ParentID = 1, parent }
		}
		router := w.newCheck("router", once(""))
		rack := w.newCheck("rack", once(router.ID), func(n *monitor.MonitorConfig) { n.FailureThreshold = 9 })
		server := w.newCheck("server", once(rack.ID))
		results := func(status monitor.CheckStatus, monitors ...monitor.Monitor) {
			t.Helper()
			var all []monitor.CheckResult
			for _, m := range monitors {
				all = append(all,
					w.resultOf(store.ClaimedCheck{MonitorID: m.ID, Version: 1, DueAt: w.clock.now()}, status))
			}
			w.ok(w.RecordCheckResults(w.ctx, all))
			w.pass(time.Second)
		}
		elsewhere := w.newCheck("other", once(router.ID), func(n *monitor.MonitorConfig) {
			n.PageSlug, n.ComponentID = "", ""
		})
		results(monitor.CheckFailed, server, router, elsewhere) // the rack between them has no result
		if got := w.monitorNow(server); got.DisplayState() != monitor.MonitorSuppressed {
			t.Errorf("the server, which fails together with the router: %+v", got)
		}
		if all := w.incidents(); len(all) != 1 || all[0].Title != "router is down" {
			t.Errorf("incidents: %+v", all)
		}
		notes, _, err := w.IncidentNotes(w.ctx, w.ws, w.incident().ID, firstHundred)
		w.ok(err)
		if !slices.ContainsFunc(notes, func(n monitor.IncidentNote) bool {
			return strings.HasPrefix(n.Output, "server fails, too.")
		}) {
			t.Errorf("the notes do not name the server: %+v", notes)
		}
		// A token that is limited to the page sees the notes, but not monitors elsewhere.
		outputs := fmt.Sprint(notes)
		if strings.Contains(outputs, "other") ||
			!strings.Contains(outputs, "A monitor that does not belong to this page fails, too.") {
			t.Errorf("the notes do not hide the name of a monitor elsewhere: %s", outputs)
		}
		results(monitor.CheckOK, server, rack, router, elsewhere)
		for _, m := range []monitor.Monitor{router, rack, server} {
			if got := w.monitorNow(m); got.DisplayState() != monitor.MonitorUp {
				t.Errorf("after the recovery: %+v", got)
			}
		}
		w.shows(kernel.StatusOperational)
	})
}

func TestParents(t *testing.T) {
	inWorlds(t, func(w *world) {
		router := w.newCheck("router", func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
		server := w.newCheck("server", func(n *monitor.MonitorConfig) { n.ParentID, n.ComponentID = "router", "" })
		job := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "job", Interval: time.Minute, FailureThreshold: 1, PageSlug: "acme", ParentID: server.ID,
		})))(w)
		for ref, parent := range map[string]string{router.ID: job.ID, server.ID: server.ID, job.ID: "nowhere"} {
			_, err := w.ChangeMonitor(w.ctx, w.ws, ref, func(c *monitor.MonitorConfig) error {
				c.ParentID = parent
				return nil
			})
			if !errors.Is(refused(err, "parent_id"), kernel.ErrNotFound) {
				t.Errorf("%s below %s: %v", ref, parent, err)
			}
		}
		w.pinged(job)
		w.failsUncounted(router)
		w.failsUncounted(server)
		w.failsUncounted(server)
		w.failsUncounted(server)
		w.pass(3 * time.Minute)
		w.send(store.NewSignal{Token: job.Token, Kind: monitor.SignalFail})
		got := w.monitorNow(server)
		if got.DisplayState() != monitor.MonitorSuppressed || got.ConsecutiveFailures != 3 || !got.ParentDown {
			t.Errorf("below the router: %+v", got)
		}
		got = w.monitorNow(job)
		if got.State != monitor.MonitorUp || got.ConsecutiveFailures == 0 || !got.FailuresSuppressed {
			t.Errorf("below the server below the router: %+v", got)
		}
		if all := w.incidents(); len(all) != 1 || all[0].Title != "router is down" {
			t.Errorf("incidents: %+v", all)
		}
		notes := strings.Join(w.outputsOfNotes(), "\n")
		const want = "job fails, too. Its alerts are suppressed while this monitor is down.\n" +
			"server fails, too. Its alerts are suppressed while this monitor is down.\ntimeout"
		if notes != want {
			t.Errorf("notes: %s", notes)
		}
		w.ok(w.DeleteMonitor(w.ctx, w.ws, router.ID))
		if got := w.monitorNow(server); got.ParentID != "" || got.DisplayState() != monitor.MonitorFailing {
			t.Errorf("without its parent: %+v", got)
		}
		w.failsUncounted(server)
		if got := w.monitorNow(server); got.ConsecutiveFailures != 1 || got.State != monitor.MonitorUp {
			t.Errorf("failures are not counted from zero: %+v", got)
		}
		w.failsUncounted(server)
		if got := w.monitorNow(server); got.State != monitor.MonitorDown {
			t.Errorf("up after two failures: %+v", got)
		}
	})
}

// failsUncounted records a failed check, and forgets that it was counted.
func (w *world) failsUncounted(m monitor.Monitor) {
	w.Helper()
	version := must(strconv.ParseInt(w.value(`SELECT version FROM checks WHERE monitor_id = $1`, m.ID), 10, 64))(w)
	w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{
		{
			MonitorID: m.ID, Version: version, Replica: "a", StartedAt: w.clock.now(), DueAt: w.clock.now(),
			Status: monitor.CheckFailed, Reason: "timeout",
		},
	}))
	w.run(`UPDATE checks SET counted = $1`, false)
}

// outputsOfNotes returns the outputs of the notes on the only incident, sorted.
func (w *world) outputsOfNotes() []string {
	w.Helper()
	notes, _, err := w.IncidentNotes(w.ctx, w.ws, w.incident().ID, firstHundred)
	w.ok(err)
	var outputs []string
	for _, n := range notes {
		outputs = append(outputs, n.Output)
	}
	slices.Sort(outputs)
	return outputs
}

// Certificates that expire soon warn once, until they are renewed.
func TestWarningsOfChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		warn := func(days string) {
			w.pass(time.Minute)
			r := w.resultOf(w.claimChecks("a", "")[0], monitor.CheckOK)
			if r.Warning = days != ""; r.Warning {
				r.Reason = "certificate expires in " + days + " days"
			}
			w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
		}
		warn("20")
		warn("19")
		if got := w.monitorNow(m); got.DisplayState() != monitor.MonitorUp || len(got.Warned) != 1 {
			t.Errorf("with a warning: %+v", got)
		}
		warn("")
		warn("")
		warn("5")
		all, _, err := w.Warnings(w.ctx, w.ws, m.ID, store.WarningFilter{}, 10)
		w.ok(err)
		if len(all) != 2 || all[1].Condition != monitor.ConditionCertificateExpiry ||
			all[1].Message != "certificate expires in 20 days" || all[1].EndedAt.IsZero() || !all[0].EndedAt.IsZero() {
			t.Errorf("warnings: %+v", all)
		}
		w.shows(kernel.StatusOperational)
	})
}

// Unknown results do not count, and are shown as such.
func TestCheckingGaps(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		w.check(monitor.CheckOK)
		w.pass(time.Hour)
		w.check(monitor.CheckUnknown)
		from := w.clock.now()
		w.check(monitor.CheckUnknown, monitor.CheckUnknown, monitor.CheckUnknown)
		got := w.monitorNow(m)
		if got.State != monitor.MonitorUp || got.ConsecutiveFailures != 0 || !got.CheckState.UnknownSince.Equal(from) {
			t.Errorf("unknown: %+v", got)
		}
		unknown := func() time.Duration {
			t.Helper()
			contents := must(w.LoadPage(w.ctx, "acme"))(w)
			component := statuspage.NewHistory(contents.Changes[w.component.ID],
				statuspage.MergeGaps(contents.Gaps, contents.CheckingGaps[w.component.ID]), w.clock.now(), time.UTC)
			days := must(w.MonitorDetail(w.ctx, w.ws, m.ID))(w).Uptimes
			if len(days) == 0 || days[0].In(kernel.StatusUnknown) != component.Last(2).In(kernel.StatusUnknown) {
				t.Errorf("the monitor was unknown for %v, its component for %v", days,
					component.Last(2).In(kernel.StatusUnknown))
			}
			return component.Last(2).In(kernel.StatusUnknown)
		}
		if got := unknown(); got != w.clock.now().Sub(from) {
			t.Errorf("unknown for %v until %v", got, w.clock.now().Sub(from))
		}
		version := `SELECT version FROM pages WHERE slug = 'acme'`
		before := w.value(version)
		w.check(monitor.CheckOK)
		if after := w.value(version); after == before {
			t.Errorf("the page is at version %s before and after its history has changed", after)
		}
		to := w.clock.now()
		gaps := must(w.ExplainMonitor(w.ctx, w.ws, m.ID))(w).LastCheckingGaps()
		if len(gaps) != 1 || gaps[0].Cause != monitor.GapUnknownResults {
			t.Errorf("explained gaps: %+v", gaps)
		}
		w.check(monitor.CheckOK, monitor.CheckOK)
		if got := unknown(); got != to.Sub(from) {
			t.Errorf("unknown for %v, later %v", to.Sub(from), got)
		}
		w.shows(kernel.StatusOperational)
	})
}

// claimedFirst returns the only check as it was claimed.
func (w *world) claimedFirst() store.ClaimedCheck {
	w.Helper()
	return store.ClaimedCheck{MonitorID: w.value(`SELECT monitor_id FROM checks`), Version: 1, DueAt: w.clock.now()}
}

// TestHostsOfOldConfigurations checks that only the host of the present configuration is saved.
func TestHostsOfOldConfigurations(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		old := w.claimChecks("a", "")
		must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Check.Config = json.RawMessage(`{"url":"https://example.org"}`)
			return nil
		}))(w)
		save := func(claimed []store.ClaimedCheck, host string) (saved string) {
			w.Helper()
			w.ok(w.SaveCheckHosts(w.ctx, []store.CheckHost{{ClaimedCheck: claimed[0], Host: host}}))
			return w.value(`SELECT coalesce(host, 'none') FROM checks`)
		}
		if got := save(old, "example.com"); got == "example.com" {
			t.Errorf("the host of the old configuration is saved")
		}
		w.pass(time.Minute)
		if got := save(w.claimChecks("a", ""), "example.org"); got != "example.org" {
			t.Errorf("the host is %s", got)
		}
	})
}

// TestConfirmationByReplicasThatRun checks that a failure waits for the confirmation of another location only while a
// replica there runs.
func TestConfirmationByReplicasThatRun(t *testing.T) {
	inWorlds(t, func(w *world) {
		for silent, state := range map[time.Duration]monitor.MonitorState{
			2 * store.LivenessInterval: monitor.MonitorUp, 4 * store.LivenessInterval: monitor.MonitorDown,
		} {
			m := w.newCheck(silent.String(), func(n *monitor.MonitorConfig) {
				n.FailureThreshold, n.Check.ConfirmFrom = 1, 2
			})
			record := func(status monitor.CheckStatus) {
				w.Helper()
				for _, c := range w.claimChecks("a", "one") {
					r := w.resultOf(c, status)
					r.Location = "one"
					w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
				}
			}
			record(monitor.CheckOK)
			w.pass(time.Minute)
			w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a"}))
			w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "b"}))
			w.run(`UPDATE liveness SET location = CASE replica WHEN 'a' THEN 'one' ELSE 'two' END`)
			w.clock.set(w.clock.now().Add(silent))
			w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a"}))
			w.run(`UPDATE liveness SET location = 'one' WHERE replica = 'a'`)
			record(monitor.CheckFailed)
			if got := w.monitorNow(m); got.State != state {
				t.Errorf("the other replica has been silent for %v: the monitor is %s, not %s", silent, got.State,
					state)
			}
			w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID, kernel.Precondition{}))
		}
	})
}

// A result that cannot be recorded does not keep the others from it.
func TestResultsAreRecordedAlone(t *testing.T) {
	inWorlds(t, func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.newCheck(name, func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
		}
		var results []monitor.CheckResult
		for _, c := range w.claimChecks("a", "") {
			results = append(results, w.resultOf(c, monitor.CheckFailed))
		}
		begun := 0 // outages
		w.SetFault(func(when, statement string) error {
			if when == "before" && strings.HasPrefix(statement, "INSERT INTO outages") {
				if begun++; begun == 1 || begun == 3 { // first with all results, then with this one alone
					return errFault
				}
			}
			return nil
		})
		err := w.RecordCheckResults(w.ctx, results)
		w.SetFault(nil)
		part := new(store.ResultsError)
		if !errors.As(err, &part) || part.Done != 3 || part.Dropped != 1 || !errors.Is(err, errFault) {
			t.Errorf("recorded: %v", err)
		}
		down, kept := w.value(`SELECT count(*) FROM outages`), w.value(`SELECT count(*) FROM check_results`)
		if down != "2" || kept != "2" {
			t.Errorf("%s outages and %s results", down, kept)
		}
	})
}

// TestUnconfirmedResultsAreNotRepeated: when results are recorded one by one, a result whose commit was not confirmed
// counts as done, so that the caller, which records the others, does not record it twice.
func TestUnconfirmedResultsAreNotRepeated(t *testing.T) {
	inWorlds(t, func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.newCheck(name, func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
		}
		var results []monitor.CheckResult
		for _, c := range w.claimChecks("a", "") {
			results = append(results, w.resultOf(c, monitor.CheckFailed))
		}
		begun := 0 // outages
		w.SetFault(func(when, statement string) error {
			if when == "before" && strings.HasPrefix(statement, "INSERT INTO outages") {
				if begun++; begun == 1 { // in the transaction of all
					return errFault
				}
			}
			if when == "after" && statement == "COMMIT" && begun == 3 { // of the second result alone
				return kernel.ErrUnknownOutcome
			}
			return nil
		})
		err := w.RecordCheckResults(w.ctx, results)
		w.SetFault(nil)
		part := new(store.ResultsError)
		if !errors.As(err, &part) || part.Done != 2 || part.Dropped != 1 || !errors.Is(err, kernel.ErrUnknownOutcome) {
			w.Fatalf("recorded: %v", err)
		}
		w.ok(w.RecordCheckResults(w.ctx, results[part.Done:]))
		down, kept := w.value(`SELECT count(*) FROM outages`), w.value(`SELECT count(*) FROM check_results`)
		if down != "3" || kept != "3" {
			w.Errorf("%s outages and %s results", down, kept)
		}
	})
}

// TestResultsOfACheckThatIsChangedMeanwhile: a result does not count if the check is changed after its version was
// read, and before it is locked.
func TestResultsOfACheckThatIsChangedMeanwhile(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop", func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
		r := w.resultOf(w.claimChecks("a", "")[0], monitor.CheckFailed)
		w.meanwhile("before", "SELECT id FROM monitors WHERE id IN", func(other *store.Store) {
			w.ok(second(other.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
				c.Check.Config = json.RawMessage(`{"url":"https://example.com/other"}`)
				return nil
			})))
		})
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
		if got := w.monitorNow(m); got.State != monitor.MonitorUp || got.CheckState.Status != "" {
			w.Errorf("the result counts: %+v", got)
		}
	})
}

// Visitors and subscribers do not learn why checks fail, nor what they connect to; monitor_events are for members.
func TestReasonsArePrivate(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.newCheck("shop", func(n *monitor.MonitorConfig) {
			n.FailureThreshold, n.PublishOutput = 1, false
			n.Check.Config = json.RawMessage(`{"url":"https://10.0.0.5"}`)
		})
		r := w.resultOf(w.claimChecks("a", "")[0], monitor.CheckFailed)
		r.Reason, r.Body = "connection refused by 10.0.0.5:443", "body of 10.0.0.5"
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
		public := []string{string(must(json.Marshal(must(w.LoadPage(w.ctx, "acme"))(w)))(w))}
		for _, table := range []string{"events", "incidents", "incident_updates"} {
			public = append(public, w.rows(`SELECT * FROM `+table)...)
		}
		for _, text := range public {
			if strings.Contains(text, "10.0.0.5") {
				t.Errorf("public: %s", text)
			}
		}
		if w.incident().Title != "shop is down" || !strings.Contains(w.dump(), "refused by 10.0.0.5") {
			t.Error("the incident is not there, or members do not see the reason")
		}
	})
}

// TestNotesOfSuppressedMonitorsAreLimited: the notes of an incident name a hundred monitors, however many fail below
// its own.
func TestNotesOfSuppressedMonitorsAreLimited(t *testing.T) {
	inWorlds(t, func(w *world) {
		router := w.newCheck("router", func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
		w.copyCheck(router, 110)
		w.run(`UPDATE monitors SET parent_id = $1 WHERE type = 'http' AND id <> $1`, router.ID)
		var results []monitor.CheckResult
		for _, id := range append(
			[]string{router.ID}, w.rows(`SELECT id FROM monitors WHERE parent_id = $1`, router.ID)...,
		) {
			results = append(results,
				w.resultOf(store.ClaimedCheck{MonitorID: id, Version: 1, DueAt: w.clock.now()}, monitor.CheckFailed))
		}
		for some := range slices.Chunk(results, 20) {
			w.ok(w.RecordCheckResults(w.ctx, some))
		}
		if got := w.value(`SELECT count(*) FROM monitors WHERE failures_suppressed`); got != "110" {
			w.Errorf("%s monitors are suppressed", got)
		}
		if got := w.value(`SELECT count(*) FROM incident_notes`); got != "100" {
			w.Errorf("%s notes", got)
		}
	})
}

// setSecrets gives secrets to a check. A null removes a secret.
func setSecrets(c *monitor.MonitorConfig, given map[string]json.RawMessage) {
	if c.Check.Secrets = maps.Clone(c.Check.Secrets); c.Check.Secrets == nil {
		c.Check.Secrets = make(map[string]json.RawMessage)
	}
	for field, value := range given {
		c.Check.SecretFields = slices.DeleteFunc(slices.Clone(c.Check.SecretFields), func(f string) bool {
			return f == field
		})
		if delete(c.Check.Secrets, field); strings.TrimSpace(string(value)) != "null" {
			c.Check.Secrets[field], c.Check.SecretFields = value, append(c.Check.SecretFields, field)
		}
	}
	c.Check.SecretFields = slices.Sorted(slices.Values(c.Check.SecretFields))
}
