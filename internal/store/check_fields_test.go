package store_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
)

// fill gives every field of a struct a value of its own, from n on.
func fill(v reflect.Value, n int) {
	for i := range v.NumField() {
		n++
		switch f := v.Field(i); f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(began.Add(time.Duration(n) * time.Second).UTC()))
		case time.Duration:
			f.SetInt(int64(n) * int64(time.Millisecond))
		case monitor.CheckStatus:
			f.SetString(string(monitor.CheckFailed))
		case bool:
			f.SetBool(true)
		case int64:
			f.SetInt(1)
		case string:
			f.SetString(fmt.Sprint("text ", n))
		default:
			fill(f, 10*n)
		}
	}
}

// TestEveryFieldOfAResultIsKept records a result with a value in every field, and others that have each field alone
// empty.
func TestEveryFieldOfAResultIsKept(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop", func(n *monitor.MonitorConfig) { n.FailureThreshold = 50 })
		var full monitor.CheckResult
		fill(reflect.ValueOf(&full).Elem(), 0)
		full.MonitorID = m.ID
		all := []monitor.CheckResult{full}
		for i := range reflect.TypeFor[monitor.CheckResult]().NumField() {
			r := full
			switch f := reflect.ValueOf(&r).Elem().Field(i); reflect.TypeFor[monitor.CheckResult]().Field(i).Name {
			case "MonitorID", "Version", "StartedAt", "DueAt", "Status":
				continue
			default:
				f.SetZero()
			}
			all = append(all, r)
		}
		for _, status := range []monitor.CheckStatus{monitor.CheckOK, monitor.CheckSlow, monitor.CheckUnknown} {
			r := full
			r.Status = status
			all = append(all, r)
		}
		for i := range all {
			all[i].StartedAt = w.clock.now().UTC().Add(-time.Duration(i/2) * time.Second) // two begin together
			all[i].DueAt = w.clock.now().UTC().Add(-time.Duration(i) * time.Minute)
		}
		w.ok(w.RecordCheckResults(w.ctx, all))
		kept, total, err := w.CheckResults(w.ctx, w.ws, m.ID, firstHundred)
		w.ok(err)
		if total != len(all) {
			w.Fatalf("%d results, want %d", total, len(all))
		}
		for i, want := range all {
			want.Version, want.Replica = 0, ""
			got := kept[i]
			got.StartedAt, got.DueAt, got.CertificateExpiresAt = got.StartedAt.UTC(), got.DueAt.UTC(),
				got.CertificateExpiresAt.UTC()
			if want.CertificateExpiresAt.IsZero() {
				got.CertificateExpiresAt = want.CertificateExpiresAt
			}
			if got != want {
				w.Errorf("result %d: %+v\nwant %+v", i, got, want)
			}
		}
	})
}

// TestWhichResultsAreRecorded checks how many results are recorded in one go, of which monitors, and for how long they
// are kept.
func TestWhichResultsAreRecorded(t *testing.T) {
	inWorlds(t, func(w *world) {
		m, paused, deleted := w.newCheck("shop"), w.newCheck("paused"), w.newCheck("deleted")
		of := func(m monitor.Monitor, version int64) monitor.CheckResult {
			r := w.resultOf(store.ClaimedCheck{MonitorID: m.ID, Version: version, DueAt: w.clock.now()},
				monitor.CheckFailed)
			r.Reason = m.Slug
			return r
		}
		kept := func() string { w.Helper(); return w.value(`SELECT count(*) FROM check_results`) }
		w.ok(w.RecordCheckResults(w.ctx, nil))
		err := w.RecordCheckResults(w.ctx, slices.Repeat([]monitor.CheckResult{of(m, 1)}, store.MaxCheckResults+1))
		if err == nil || kept() != "0" {
			w.Errorf("more results than are recorded at once: %v; %s are kept", err, kept())
		}
		must(w.ChangeMonitor(w.ctx, w.ws, paused.ID, monitor.Pause(time.Time{})))(w)
		version := must(w.version(paused))(w)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, deleted.ID))
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{
			of(m, 0), of(m, 2), of(paused, version), of(paused, 1), of(deleted, 1),
		}))
		if got := w.monitorNow(m); kept() != "0" || got.CheckState.Status != "" || got.ConsecutiveFailures != 0 {
			w.Errorf("%s results are kept: %+v", kept(), got)
		}
		w.ok(w.RecordCheckResults(w.ctx, slices.Repeat([]monitor.CheckResult{of(m, 1)}, store.MaxCheckResults)))
		if got := kept(); got != fmt.Sprint(store.MaxCheckResults) {
			w.Errorf("%s results are kept of as many as are recorded at once", got)
		}
		w.clock.move(time.Millisecond)
		w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{of(m, 1)}))
		w.clock.move(monitor.CheckResultRetention - time.Millisecond)
		w.ok(w.Prune(w.ctx))
		if got := kept(); got != "1" {
			w.Errorf("%s results are younger than a day", got)
		}
	})
}

// version returns the version of a check's configuration.
func (w *world) version(m monitor.Monitor) (n int64, err error) {
	_, err = fmt.Sscan(w.value(`SELECT version FROM checks WHERE monitor_id = $1`, m.ID), &n)
	return n, err
}

// claimedCheckChange is a change of a monitor while one of its checks is claimed.
type claimedCheckChange struct {
	change monitor.MonitorChange
	again  bool // whether another check is due immediately
}

func claimedCheckChanges(parentID string) map[string]claimedCheckChange {
	return map[string]claimedCheckChange{
		"interval": {func(c *monitor.MonitorConfig) error {
			c.Reschedule(2*time.Minute, schedule.Cron{})
			return nil
		}, true},
		"timeout": {func(c *monitor.MonitorConfig) error {
			c.Check.Timeout = 7 * time.Second
			return nil
		}, true},
		"slow_after": {func(c *monitor.MonitorConfig) error {
			c.Check.SlowAfter = 3 * time.Second
			return nil
		}, true},
		"recovery_threshold": {func(c *monitor.MonitorConfig) error {
			c.Check.RecoveryThreshold = 4
			return nil
		}, true},
		"confirm_from": {func(c *monitor.MonitorConfig) error { c.Check.ConfirmFrom = 2; return nil }, true},
		"config": {func(c *monitor.MonitorConfig) error {
			c.Check.Config = json.RawMessage(`{"url":"https://example.org"}`)
			return nil
		}, true},
		"secrets": {func(c *monitor.MonitorConfig) error {
			setSecrets(c, map[string]json.RawMessage{"password": json.RawMessage(`"new"`)})
			return nil
		}, true},
		"another secret": {func(c *monitor.MonitorConfig) error {
			setSecrets(c, map[string]json.RawMessage{"bearer_token": json.RawMessage(`"t"`)})
			return nil
		}, true},
		"without the secret": {func(c *monitor.MonitorConfig) error {
			setSecrets(c, map[string]json.RawMessage{"password": json.RawMessage(`null`)})
			return nil
		}, true},
		"the same secret": {func(c *monitor.MonitorConfig) error {
			setSecrets(c, map[string]json.RawMessage{"password": json.RawMessage(` "old" `)})
			return nil
		}, false},
		"the same interval": {func(c *monitor.MonitorConfig) error {
			c.Reschedule(time.Minute, schedule.Cron{})
			return nil
		}, false},
		"name":              {func(c *monitor.MonitorConfig) error { c.Name = "another"; return nil }, false},
		"failure_threshold": {func(c *monitor.MonitorConfig) error { c.FailureThreshold = 9; return nil }, false},
		"parent":            {func(c *monitor.MonitorConfig) error { c.ParentID = parentID; return nil }, false},
		"component":         {func(c *monitor.MonitorConfig) error { c.ComponentID = ""; return nil }, false},
		"tags": {func(c *monitor.MonitorConfig) error {
			c.Tags = append(slices.Clone(c.Tags), []string{"a"}...)
			return nil
		}, false},
		"paused": {monitor.Pause(time.Time{}), true},
	}
}

// TestWhatAChangeDoesToAClaim changes each field of a check, and others. A check that was claimed before counts only if
// its target is checked as before; otherwise another one is due immediately, with the new configuration.
func TestWhatAChangeDoesToAClaim(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		parent := w.newCheck("parent")
		for name, c := range claimedCheckChanges(parent.ID) {
			m := w.newCheck("shop", func(n *monitor.MonitorConfig) {
				n.FailureThreshold, n.Check.Secrets = 5, map[string]json.RawMessage{
					"password": json.RawMessage(`"old"`),
				}
			})
			first := w.claimOf(m)
			if first == nil || first.Version != 1 || first.WorkspaceID != w.ws.WorkspaceID || first.Retry ||
				first.SecretsMissing || !first.DueAt.Equal(w.clock.now()) ||
				string(first.Spec.Secrets["password"]) != `"old"` {
				w.Fatalf("%s: claimed %+v", name, first)
			}
			w.ok(w.SaveCheckHosts(w.ctx, []store.CheckHost{{ClaimedCheck: *first, Host: "example.com"}}))
			changed := must(w.ChangeMonitor(w.ctx, w.ws, m.ID, c.change))(w)
			second := w.claimOf(m) // at the same instant, because the next check may be due soon after the first
			if again := second != nil || !changed.Enabled; again != c.again {
				w.Errorf("%s: due again %v, want %v", name, again, c.again)
			}
			if second != nil {
				expectSpec(w, name, second, changed)
				after := monitor.MonitorConfig{Check: m.Check}
				w.ok(c.change(&after))
				expectSecrets(w, name, second, after.Check, changed.Check)
			}
			w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(*first, monitor.CheckFailed)}))
			if got := w.monitorNow(m); (got.ConsecutiveFailures == 0) != c.again {
				w.Errorf("%s: %d failures of the check that was claimed before", name, got.ConsecutiveFailures)
			}
			w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID))
		}
	})
}

// claimOf claims what is due, and returns the check of a monitor, or nil.
func (w *world) claimOf(m monitor.Monitor) *store.ClaimedCheck {
	w.Helper()
	for _, c := range w.claimChecks("a", "") {
		if c.MonitorID == m.ID {
			return &c
		}
	}
	return nil
}

// expectSpec checks that a claim has the configuration of a monitor after its first change.
func expectSpec(t testing.TB, name string, claim *store.ClaimedCheck, changed monitor.Monitor) {
	t.Helper()
	spec, want := claim.Spec, changed.Check
	spec.Secrets = nil
	if !reflect.DeepEqual(spec, want) || claim.Interval != changed.Interval || claim.Host != "" ||
		claim.Version != 2 {
		t.Errorf("%s: claimed %+v of %q, version %d, want %+v", name, spec, claim.Host, claim.Version, want)
	}
}

// expectSecrets checks that a claim has the secrets of after, and the names of the secrets of changed.
func expectSecrets(t testing.TB, name string, claim *store.ClaimedCheck, after, changed monitor.CheckSpec) {
	t.Helper()
	var fields []string
	for field, value := range after.Secrets {
		if string(claim.Spec.Secrets[field]) != string(value) {
			t.Errorf("%s: the secret %s is %s", name, field, claim.Spec.Secrets[field])
		}
	}
	for field := range claim.Spec.Secrets {
		fields = append(fields, field)
	}
	if slices.Sort(fields); strings.Join(fields, " ") != strings.Join(changed.SecretFields, " ") {
		t.Errorf("%s: secrets %v of %v", name, fields, changed.SecretFields)
	}
}

// TestLengthOfCheckingGaps checks which times without a result that counts are kept, with their cause.
func TestLengthOfCheckingGaps(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		record := func(status monitor.CheckStatus) {
			w.Helper()
			w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{
				w.resultOf(store.ClaimedCheck{MonitorID: m.ID, Version: 1, DueAt: w.clock.now()}, status),
			}))
		}
		record(monitor.CheckOK)
		var want []string
		for _, c := range []struct {
			length time.Duration
			end    monitor.CheckStatus
			kept   bool
		}{
			{schedule.LongGap - time.Millisecond, monitor.CheckOK, false}, {schedule.LongGap, monitor.CheckOK, true},
			{schedule.LongGap, monitor.CheckFailed, true},
			{schedule.LongGap - time.Millisecond, monitor.CheckFailed, false}, {time.Hour, monitor.CheckSlow, true},
		} {
			w.clock.move(time.Minute)
			record(monitor.CheckUnknown)
			from := w.clock.now()
			w.clock.move(c.length / 2)
			record(monitor.CheckUnknown)
			w.clock.set(from.Add(c.length))
			record(c.end)
			if c.kept {
				want = append(want, fmt.Sprintf("%d|%d|unknown_results", from.UnixMilli(), w.clock.now().UnixMilli()))
			}
			if got := w.monitorNow(m); !got.CheckState.UnknownSince.IsZero() {
				w.Errorf("%v, ended by %s: unknown since %v", c.length, c.end, got.CheckState.UnknownSince)
			}
		}
		if got := w.rows(`SELECT from_at, to_at, cause FROM checking_gaps ORDER BY from_at`); !slices.Equal(got, want) {
			w.Errorf("gaps %q, want %q", got, want)
		}
	})
}
