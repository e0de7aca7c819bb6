package monitor_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
	"pgregory.net/rapid"
)

// checkedMonitor returns a monitor that is checked every minute, goes down after two failures and up after two good
// results.
func checkedMonitor(change ...func(*monitor.Monitor)) monitor.Monitor {
	m := monitor.Monitor{
		ID: "mon_x",
		MonitorConfig: monitor.MonitorConfig{
			Type: "http", Enabled: true, Interval: time.Minute, FailureThreshold: 2,
			Check: monitor.CheckSpec{Timeout: 10 * time.Second, RecoveryThreshold: 2, ConfirmFrom: 1},
		},
		MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
	}
	for _, f := range change {
		f(&m)
	}
	return m
}

// How monitors of checkResults differ from others.
func confirmed(m *monitor.Monitor)  { m.Check.ConfirmFrom = 2 }
func parentDown(m *monitor.Monitor) { m.ParentDown = true }
func maintained(m *monitor.Monitor) { m.SuppressedUntil = domaintest.At(time.Hour) }

// checkResults are the results of checks, a letter each, and what the monitor is after each: o ok, s slow, f failed, u
// unknown, and in capitals from another replica in another location; | begins a round, as a claim does.
var checkResults = []struct {
	results string
	want    string
	change  func(*monitor.Monitor)
}{
	{"|o|f|o|f|f|f|o|o", "up failing up failing down down down up", nil},
	{"|f|f|o|f|o|o", "failing down down down down up", nil},
	{"|s|s|s|o|o", "up slow slow slow up", nil},
	{"|s|s|o|s|o|o", "up slow slow slow slow up", nil}, // a slow result interrupts the good ones
	{"|s|o|s|o", "up up up up", nil},
	{"|s|s|f|f|s|s|o", "up slow failing down down slow slow", nil},
	{"|s|f|s|s", "up failing up slow", nil},
	{"|s|s|f|f|o|o", "up slow failing down down up", nil}, // the outage ended the slowness
	{"|o|f|u|u|f", "up failing failing failing down", nil},
	{"|u|u|u", "unknown unknown unknown", nil},
	{"|o|u|o|s|s|u|o", "up unknown up up slow unknown slow", nil},

	// Several locations confirm.
	{"|f|f|f", "up up up", confirmed},
	{"|fF|fF", "up failing failing down", confirmed},
	{"|fO|fF|fO", "up up up failing failing up", confirmed},
	{"|ff|ff", "up up up up", confirmed},
	{"|fU|fU", "up failing failing down", confirmed}, // the other one cannot say
	{"|uU|uF|uF", "unknown unknown unknown failing failing down", confirmed},
	{"|fF|f|f", "failing failing down down", nil}, // a round counts once

	{"|f|f|f|o", "suppressed suppressed suppressed up", parentDown},
	{"|s|s|s|o", "up up up up", parentDown}, // what is above may be why it is slow
	{"|o|f|f|f|s|s", "up up up up up up", maintained},
}

// TestCheckRule applies results, and compares what the monitor is after each.
func TestCheckRule(t *testing.T) {
	for _, c := range checkResults {
		m := checkedMonitor()
		if c.change != nil {
			c.change(&m)
		}
		view := monitor.CheckView{
			Now: domaintest.At(0), Threshold: 3, Replicas: map[string]string{"a": "here", "b": "there"},
		}
		var got []string
		for _, letter := range c.results {
			if letter == '|' {
				m.CheckState.Round = monitor.CheckRound{}
				continue
			}
			r := monitor.CheckResult{
				Replica: "a", Location: "here", StartedAt: view.Now, Status: map[rune]monitor.CheckStatus{
					'o': monitor.CheckOK, 's': monitor.CheckSlow, 'f': monitor.CheckFailed, 'u': monitor.CheckUnknown,
				}[letter|0x20],
			}
			if letter < 'a' {
				r.Replica, r.Location = "b", "there"
			}
			m.ApplyCheckResult(r, view)
			got = append(got, string(m.DisplayState()))
			view.Now = view.Now.Add(time.Minute)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("effects of the results %s: %s, want %s", c.results, got, c.want)
		}
	}
}

func TestFailuresBelowAParentCountAnewAfterIt(t *testing.T) {
	m := checkedMonitor(func(m *monitor.Monitor) { m.ParentDown, m.FailureThreshold = true, 3 })
	view := monitor.CheckView{Now: domaintest.At(0), Threshold: 3}
	fail := func() monitor.CheckEffect {
		m.CheckState.Round = monitor.CheckRound{}
		return m.ApplyCheckResult(monitor.CheckResult{Status: monitor.CheckFailed}, view)
	}
	for range 5 {
		if e := fail(); e.WentDown {
			t.Fatal("down below a parent that is down")
		}
	}
	if m.ConsecutiveFailures != 5 {
		t.Errorf("%d failures are counted", m.ConsecutiveFailures)
	}
	m.CheckState.Round = monitor.CheckRound{}
	m.ApplyCheckResult(monitor.CheckResult{Status: monitor.CheckOK}, view)
	if m.ConsecutiveFailures != 0 || m.FailuresSuppressed {
		t.Errorf("after a good result: %+v", m)
	}
	fail()
	m.ParentDown = false
	if fail(); m.ConsecutiveFailures != 1 || fail().WentDown || !fail().WentDown {
		t.Errorf("after the parent: %+v", m)
	}
	job := monitor.Monitor{
		MonitorConfig:  monitor.MonitorConfig{Enabled: true, Interval: time.Minute},
		MonitorStatus:  monitor.MonitorStatus{State: monitor.MonitorUp},
		MonitorDerived: monitor.MonitorDerived{ParentDown: true},
	}
	job.RecordPing(domaintest.At(0))
	for i := range 10 {
		instant := domaintest.At(time.Duration(i+2) * time.Minute)
		job.ParentDown = i < 5
		result := job.ApplyTick(monitor.Tick{Instant: instant, AsOf: instant, Period: time.Minute, Threshold: 3})
		if (result == monitor.TickWentDown) != (i == 7) {
			t.Errorf("tick %d: %v, %d failures", i, result, job.ConsecutiveFailures)
		}
	}
	job = monitor.Monitor{
		MonitorConfig:  monitor.MonitorConfig{Enabled: true},
		MonitorStatus:  monitor.MonitorStatus{State: monitor.MonitorUp},
		MonitorDerived: monitor.MonitorDerived{ParentDown: true},
	}
	if job.RecordFailure(domaintest.At(0)) {
		t.Error("a job failed below a parent that is down")
	}
}

func TestRechecks(t *testing.T) {
	view := monitor.CheckView{
		Now: domaintest.At(0), Threshold: 3, Replicas: map[string]string{"a": "here", "b": "there"},
	}
	failed := monitor.CheckResult{Status: monitor.CheckFailed, Replica: "a", Location: "here"}
	for _, c := range []struct {
		name    string
		monitor monitor.Monitor
		result  monitor.CheckResult
		after   time.Duration // 0: no earlier than regularly
		retry   bool
	}{
		{"a failure", checkedMonitor(), failed, 15 * time.Second, false},
		{"a short interval", checkedMonitor(func(m *monitor.Monitor) {
			m.Interval = 10 * time.Second
		}), failed, 5 * time.Second, false},
		{"the failure that is the last", checkedMonitor(func(m *monitor.Monitor) {
			m.FailureThreshold = 1
		}), failed, 0, false},
		{"a failure while it is down", checkedMonitor(func(m *monitor.Monitor) {
			m.State = monitor.MonitorDown
		}), failed, 0, false},
		{"a good result that does not recover", checkedMonitor(func(m *monitor.Monitor) {
			m.State = monitor.MonitorDown
		}), monitor.CheckResult{Status: monitor.CheckOK}, 15 * time.Second, false},
		{"a good result", checkedMonitor(), monitor.CheckResult{Status: monitor.CheckOK}, 0, false},
		{"a failure to confirm", checkedMonitor(func(m *monitor.Monitor) { m.Check.ConfirmFrom = 2 }), failed, 0, true},
		{"an unknown result", checkedMonitor(), monitor.CheckResult{Status: monitor.CheckUnknown, Replica: "a"}, 0,
			true},
		{"an unknown result of the last one", checkedMonitor(func(m *monitor.Monitor) {
			m.CheckState.Round.Unknown = []string{"b"}
		}),
			monitor.CheckResult{Status: monitor.CheckUnknown, Replica: "a"}, 0, false},
	} {
		e := c.monitor.ApplyCheckResult(c.result, view)
		after := time.Duration(0)
		if !e.RecheckBy.IsZero() {
			after = e.RecheckBy.Sub(view.Now)
		}
		if after != c.after || e.Retry != c.retry {
			t.Errorf("%s: checked again after %v, retried %v", c.name, after, e.Retry)
		}
	}
}

// Checks of many monitors are spread evenly, and each is due once in an interval.
func TestNextCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(10, 86400).Draw(t, "interval s")) * time.Second
		now := domaintest.At(time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(t, "now ms")) * time.Millisecond)
		id := fmt.Sprintf("mon_%d", rapid.Int().Draw(t, "id"))
		next := monitor.NextCheck(id, interval, now)
		if !next.After(now) || next.Sub(now) > interval {
			t.Fatalf("NextCheck after %v = %v", now, next)
		}
		if again := monitor.NextCheck(id, interval, next); again.Sub(next) != interval {
			t.Fatalf("NextCheck after the check at %v = %v", next, again)
		}
	})
	var buckets [10]int
	for i := range 1000 {
		buckets[monitor.CheckPhase(fmt.Sprintf("mon_%d", i), time.Minute)/(6*time.Second)]++
	}
	if slices.Min(buckets[:]) < 60 || slices.Max(buckets[:]) > 140 {
		t.Errorf("1000 checks a minute are spread like %v", buckets)
	}
}

func TestCheckChange(t *testing.T) {
	m := checkedMonitor(func(m *monitor.Monitor) {
		m.ConsecutiveFailures = 1
		m.CheckState.SlowSince = domaintest.At(0)
		m.Check.Config, m.Check.SecretFields = json.RawMessage(`{"url":"a"}`), []string{"password"}
	})
	for name, c := range map[string]struct {
		change  monitor.MonitorChange
		restart bool
		fields  string
	}{
		"nothing": {func(c *monitor.MonitorConfig) error {
			c.Check.Config = json.RawMessage(`{"url":"a"}`)
			return nil
		}, false, "[password]"},
		"another threshold": {func(c *monitor.MonitorConfig) error {
			c.Check.RecoveryThreshold = 3
			return nil
		}, false, "[password]"},
		"another target": {func(c *monitor.MonitorConfig) error {
			c.Check.Config = json.RawMessage(`{"url":"b"}`)
			return nil
		}, true, "[password]"},
		"another secret": {func(c *monitor.MonitorConfig) error {
			domaintest.SetSecrets(c, map[string]json.RawMessage{
				"password": json.RawMessage("null"), "token": json.RawMessage(`"x"`),
			})
			return nil
		},
			true, "[token]"},
		"paused": {monitor.Pause(time.Time{}), true, "[password]"},
	} {
		got := m
		resource.ChangeMonitor(&got, c.change, domaintest.At(0))
		restarted := got.ConsecutiveFailures == 0 && got.CheckState.SlowSince.IsZero()
		if restarted != c.restart || fmt.Sprint(got.Check.SecretFields) != c.fields {
			t.Errorf("%s: the changed monitor is %+v", name, got)
		}
	}
	var bad *kernel.ValidationError
	if err := resource.ChangeMonitor(&m, func(c *monitor.MonitorConfig) error {
		c.Reschedule(10*time.Second, schedule.Cron{})
		return nil
	}, domaintest.At(0)); !errors.As(err, &bad) || !bad.Has("timeout") {
		t.Errorf("an interval as short as the timeout: %v", err)
	}
}

// sizedSpec is a check whose configuration has this size together with its secret.
func sizedSpec(size int) monitor.CheckSpec {
	rest := size - len(`{"url":"a"}`) - len("secret") - len(`""`)
	return monitor.CheckSpec{Config: json.RawMessage(`{"url":"a"}`), Secrets: map[string]json.RawMessage{
		"secret": json.RawMessage(`"` + strings.Repeat("x", rest) + `"`),
	}}
}

// checkLimits are values on both sides of each limit.
var checkLimits = []struct {
	field    string
	interval time.Duration
	spec     monitor.CheckSpec
	ok       bool
}{
	{"interval", monitor.MinCheckInterval - time.Second, monitor.CheckSpec{Timeout: time.Second}, false},
	{"interval", monitor.MinCheckInterval, monitor.CheckSpec{}, true},
	{"interval", monitor.MaxCheckInterval, monitor.CheckSpec{}, true},
	{"interval", monitor.MaxCheckInterval + time.Second, monitor.CheckSpec{}, false},
	{"interval", time.Minute + time.Millisecond, monitor.CheckSpec{}, false},
	{"interval", 5 * time.Second, monitor.CheckSpec{Timeout: 10 * time.Second}, false},
	{"timeout", time.Minute, monitor.CheckSpec{Timeout: -time.Second}, false},
	{"timeout", time.Minute, monitor.CheckSpec{Timeout: 1500 * time.Millisecond}, false},
	{"slow_after", time.Minute, monitor.CheckSpec{Timeout: 2 * time.Second, SlowAfter: -time.Millisecond}, false},
	{"slow_after", time.Minute, monitor.CheckSpec{Timeout: 2 * time.Second, SlowAfter: 1500 * time.Microsecond},
		false},
	{"timeout", time.Minute, monitor.CheckSpec{Timeout: 999 * time.Millisecond}, false},
	{"timeout", time.Minute, monitor.CheckSpec{Timeout: time.Second}, true},
	{"timeout", time.Minute, monitor.CheckSpec{Timeout: 59 * time.Second}, true},
	{"timeout", time.Minute, monitor.CheckSpec{Timeout: time.Minute}, false},
	{"timeout", time.Hour, monitor.CheckSpec{Timeout: monitor.MaxCheckTimeout}, true},
	{"timeout", time.Hour, monitor.CheckSpec{Timeout: monitor.MaxCheckTimeout + time.Second}, false},
	{"slow_after", time.Minute, monitor.CheckSpec{Timeout: 2 * time.Second, SlowAfter: time.Microsecond}, false},
	{"slow_after", time.Minute, monitor.CheckSpec{Timeout: 2 * time.Second, SlowAfter: time.Millisecond}, true},
	{"slow_after", time.Minute, monitor.CheckSpec{Timeout: 2 * time.Second, SlowAfter: 1999 * time.Millisecond},
		true},
	{"slow_after", time.Minute, monitor.CheckSpec{Timeout: 2 * time.Second, SlowAfter: 2 * time.Second}, false},
	{"recovery_threshold", time.Minute, monitor.CheckSpec{RecoveryThreshold: -1}, false},
	{"recovery_threshold", time.Minute, monitor.CheckSpec{RecoveryThreshold: 1}, true},
	{"recovery_threshold", time.Minute, monitor.CheckSpec{RecoveryThreshold: monitor.MaxRecoveryThreshold}, true},
	{"recovery_threshold", time.Minute, monitor.CheckSpec{RecoveryThreshold: monitor.MaxRecoveryThreshold + 1},
		false},
	{"confirm_from", time.Minute, monitor.CheckSpec{ConfirmFrom: -1}, false},
	{"confirm_from", time.Minute, monitor.CheckSpec{ConfirmFrom: 1}, true},
	{"confirm_from", time.Minute, monitor.CheckSpec{ConfirmFrom: monitor.MaxConfirmFrom}, true},
	{"confirm_from", time.Minute, monitor.CheckSpec{ConfirmFrom: monitor.MaxConfirmFrom + 1}, false},
	{"type", time.Minute, sizedSpec(monitor.MaxCheckConfig), true},
	{"type", time.Minute, sizedSpec(monitor.MaxCheckConfig + 1), false},
}

// TestLimitsOfChecks checks the limits of a new check and of a change.
func TestLimitsOfChecks(t *testing.T) {
	for _, c := range checkLimits {
		spec := c.spec
		m := checkedMonitor()
		for way, err := range map[string]error{
			"a new check": domaintest.MonitorRefusal(
				monitor.MonitorOf(monitor.MonitorConfig{Type: "http", Name: "Shop", Interval: c.interval, Check: spec}),
			),
			"a change": resource.ChangeMonitor(&m, func(to *monitor.MonitorConfig) error {
				to.Check.Timeout, to.Check.SlowAfter, to.Check.Config, to.Interval = spec.Timeout, spec.SlowAfter,
					spec.Config, c.interval
				to.Check.RecoveryThreshold, to.Check.ConfirmFrom = cmp.Or(spec.RecoveryThreshold, 1),
					cmp.Or(spec.ConfirmFrom, 1)
				domaintest.SetSecrets(to, spec.Secrets)
				return nil
			}, domaintest.At(0)),
		} {
			var bad *kernel.ValidationError
			refused := errors.As(err, &bad)
			if refused == c.ok || refused && (len(bad.Messages()) != 1 || !bad.Has(c.field)) {
				t.Errorf("%s of %s, %s every %s: %v", c.field, way, spec.Timeout, c.interval, err)
			}
		}
	}
}

// TestSizeOfChecks checks that the secrets of a check are part of its size.
func TestSizeOfChecks(t *testing.T) {
	for size, tooLarge := range map[int]bool{monitor.MaxCheckConfig / 2: false, monitor.MaxCheckConfig: true} {
		n := monitor.MonitorConfig{Type: "http", Name: "Shop", Interval: time.Minute, Check: monitor.CheckSpec{
			Config:  json.RawMessage(`{"url":"a"}`),
			Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"` + strings.Repeat("x", size) + `"`)},
		}}
		var bad *kernel.ValidationError
		err := domaintest.MonitorRefusal(monitor.MonitorOf(n))
		if errors.As(err, &bad) != tooLarge || tooLarge && !bad.Has("type") {
			t.Errorf("a secret of %d bytes: %v", size, err)
		}
	}
}

// explained is when monitors are explained.
var explained = time.Date(2026, 3, 14, 2, 0, 0, 0, time.UTC)

// checkSentences are what is said of a check, and what the monitor is then.
var checkSentences = map[string]func(*monitor.Monitor){
	"Waiting for the first check. The monitor won't alert until then. Next check 02:01:00.": func(
		m *monitor.Monitor,
	) {
		m.CheckState.Status = ""
	},
	"The last check succeeded. Next check 02:01:00.": func(*monitor.Monitor) {},
	"The last check failed. The monitor goes down after 2 consecutive failures. Last failure: HTTP 502. Next " +
		"check 02:01:00.": func(m *monitor.Monitor) {
		m.ConsecutiveFailures, m.CheckState.Status, m.CheckState.Reason = 1, monitor.CheckFailed, "HTTP 502"
	},
	"Slow since 01:00:00. 2 consecutive fast results end this. Next check 02:01:00.": func(m *monitor.Monitor) {
		m.CheckState.SlowSince = explained.Add(-time.Hour)
	},
	"Unknown since 01:00:00: the server's own network does not work, or it is not allowed to connect to the " +
		"target. These checks do not count. Next check 02:01:00.": func(
		m *monitor.Monitor,
	) {
		m.CheckState.UnknownSince = explained.Add(-time.Hour)
	},
	"Not checked since 01:00:00, when a check was due: checks are late, and the state is unknown until the next " +
		"result.": func(m *monitor.Monitor) {
		m.CheckState.MarkLate(explained.Add(-time.Hour))
		m.NextCheckAt = explained.Add(-2 * time.Minute)
	},
	"The last check succeeded. Next check overdue since 01:59:00.": func(m *monitor.Monitor) {
		m.NextCheckAt = explained.Add(-time.Minute)
	},
	"Slow results: 2 of 2 that make the monitor slow. Next check 02:01:00.": func(
		m *monitor.Monitor,
	) {
		m.CheckState.Status, m.CheckState.Slow = monitor.CheckSlow, 2
	},
	"The last check succeeded. Failures do not count until 03:00:00: the component is under maintenance. " +
		"Next check 02:01:00. Warning: The certificate expires soon.": func(m *monitor.Monitor) {
		m.SuppressedUntil, m.Warned = explained.Add(time.Hour), []monitor.Condition{monitor.ConditionCertificateExpiry}
	},
	"Paused until someone resumes it. The target is not checked.": func(m *monitor.Monitor) {
		m.Enabled = false
	},
	"The last 2 checks failed while a parent monitor is down, so this monitor has no outage of its own. Failures " +
		"count from zero when the parent is up. Next check 02:01:00.": func(m *monitor.Monitor) {
		m.ConsecutiveFailures, m.FailuresSuppressed, m.ParentDown = 2, true, true
	},
	"Down since 01:30:00 because checks failed. 2 consecutive good results end the outage. Last failure: HTTP " +
		"502. Next check 02:01:00.": func(m *monitor.Monitor) {
		m.State = monitor.MonitorDown
		m.CheckState.Status, m.CheckState.Reason = monitor.CheckFailed, "HTTP 502"
	},
	"Down since 01:30:00 because checks failed. 2 consecutive good results end the outage. The last check " +
		"succeeded. The incident was taken over, so the recovery does not resolve it. Next check 02:01:00.": func(
		m *monitor.Monitor,
	) {
		m.State, m.CheckState.Good, m.CheckState.Reason = monitor.MonitorDown, 1, "soon"
	},
	"Down since 01:30:00 because checks failed. The next good result ends the outage. Next check 02:01:00.": func(
		m *monitor.Monitor,
	) {
		m.State, m.Check.RecoveryThreshold = monitor.MonitorDown, 1
	},
	"Slow since 01:00:00. The next fast result ends this. Next check 02:01:00.": func(m *monitor.Monitor) {
		m.CheckState.SlowSince, m.Check.RecoveryThreshold = explained.Add(-time.Hour), 1
	},
	"The last check failed, but did not count. Next check 02:01:00.": func(m *monitor.Monitor) {
		m.CheckState.Status = monitor.CheckFailed
	},
	"Unknown since 01:00:00: the server's own network does not work, or it is not allowed to connect to the " +
		"target. These checks do not count.": func(m *monitor.Monitor) {
		m.CheckState.Status, m.CheckState.UnknownSince, m.NextCheckAt = "", explained.Add(-time.Hour), time.Time{}
	},
	"Slow results: 1 of 2 that make the monitor slow.": func(m *monitor.Monitor) {
		m.CheckState.Status, m.CheckState.Slow = monitor.CheckSlow, 1
		m.NextCheckAt, m.SuppressedUntil = time.Time{}, explained
	},
}

func TestCheckSentences(t *testing.T) {
	now := explained
	for want, change := range checkSentences {
		m := checkedMonitor(func(m *monitor.Monitor) {
			m.CheckState.Status, m.NextCheckAt = monitor.CheckOK, now.Add(time.Minute)
		}, change)
		e := m.Explain(monitor.Tick{AsOf: now, Threshold: 3})
		e.DownSince, e.TakenOver = now.Add(-30*time.Minute), m.CheckState.Good == 1 // is said only of an outage
		if got := strings.Join(e.Sentences(clockTime, clockTime), " "); got != want {
			t.Errorf("Sentences:\ngot  %s\nwant %s", got, want)
		}
	}
}

// TestUnknownIsExplained checks that an unknown monitor says why, as its last result does.
func TestUnknownIsExplained(t *testing.T) {
	m := checkedMonitor(func(m *monitor.Monitor) {
		m.CheckState.Status, m.CheckState.UnknownSince = "", time.Unix(60, 0)
	})
	e := m.Explain(monitor.Tick{AsOf: time.Unix(120, 0), Threshold: 3})
	e.UnknownReason = "it is this service"
	got := strings.Join(e.Sentences(clockTime, clockTime), " ")
	want := "Unknown since 00:01:00: it is this service. These checks do not count."
	if e.State != monitor.MonitorUnknown || got != want {
		t.Errorf("explanation of the state %s: %s", e.State, got)
	}
}

// TestLateKeepsTheUnknownTime checks that a check which was unknown before it became late is unknown since then.
func TestLateKeepsTheUnknownTime(t *testing.T) {
	late := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before := late.Add(-time.Hour)
	for _, c := range []struct{ unknown, want time.Time }{{time.Time{}, late}, {before, before}} {
		s := monitor.CheckState{UnknownSince: c.unknown}
		if s.MarkLate(late); !s.Late || !s.UnknownSince.Equal(c.want) {
			t.Errorf("unknown since %v, it is late: %t, and unknown since %v", c.unknown, s.Late, s.UnknownSince)
		}
	}
}

// TestLastCheckingGaps checks which gaps are shown.
func TestLastCheckingGaps(t *testing.T) {
	var e monitor.Explanation
	minute := func(n int) time.Time { return domaintest.At(time.Duration(n) * time.Minute) }
	for i := range monitor.MaxShownGaps + 2 {
		e.CheckingGaps = append(e.CheckingGaps, monitor.CheckingGap{
			ListeningGap: schedule.ListeningGap{From: minute(2 * i), To: minute(2*i + 1)},
		})
	}
	last := len(e.CheckingGaps) - 1
	shown := e.LastCheckingGaps()
	if len(shown) != monitor.MaxShownGaps {
		t.Fatalf("%d gaps are shown", len(shown))
	}
	for i, gap := range shown {
		if gap != e.CheckingGaps[last-i] {
			t.Errorf("the gap %d is %+v", i, gap)
		}
	}
}

// TestEverySettingOfAChecksEntityTag checks that each setting of a check is part of its entity tag, so that a change of
// an outdated version is refused, and of its entry in the audit log.
func TestEverySettingOfAChecksEntityTag(t *testing.T) {
	before := checkedMonitor()
	before.Check.Config = json.RawMessage(`{"url":"https://example.com"}`)
	seen := map[string]string{kernel.EntityTag(resource.Monitor.Audited(before)): "none"}
	for what, ch := range map[string]monitor.MonitorChange{
		"interval":   func(c *monitor.MonitorConfig) error { c.Interval = 2 * time.Minute; return nil },
		"timeout":    func(c *monitor.MonitorConfig) error { c.Check.Timeout = 9 * time.Second; return nil },
		"slow_after": func(c *monitor.MonitorConfig) error { c.Check.SlowAfter = time.Second; return nil },
		"another slow_after": func(c *monitor.MonitorConfig) error {
			c.Check.SlowAfter = 1500 * time.Millisecond
			return nil
		},
		"recovery_threshold": func(c *monitor.MonitorConfig) error { c.Check.RecoveryThreshold = 3; return nil },
		"confirm_from":       func(c *monitor.MonitorConfig) error { c.Check.ConfirmFrom = 2; return nil },
		"the type's fields": func(c *monitor.MonitorConfig) error {
			c.Check.Config = json.RawMessage(`{"url":"https://example.org"}`)
			return nil
		},
		"a secret": func(c *monitor.MonitorConfig) error {
			domaintest.SetSecrets(c, map[string]json.RawMessage{"password": json.RawMessage(`"x"`)})
			return nil
		},
		"failure_threshold": func(c *monitor.MonitorConfig) error {
			c.FailureThreshold = 5
			return nil
		}, "enabled": monitor.Pause(time.Time{}),
	} {
		m := before
		domaintest.ChangeMonitor(t, &m, ch, domaintest.At(0))
		tag := kernel.EntityTag(resource.Monitor.Audited(m))
		if other, ok := seen[tag]; ok {
			t.Errorf("changes of %s and of %s lead to the same entity tag", what, other)
		}
		seen[tag] = what
	}
}

// TestCausesOfGapsHaveWords checks that each cause is named, and none where it is not known.
func TestCausesOfGapsHaveWords(t *testing.T) {
	for _, cause := range append(monitor.GapCauses, "") {
		got := (monitor.CheckingGap{Cause: cause}).Text()
		if (got == "") != (cause == "") || strings.Contains(got, "late") != (cause == monitor.GapLateChecks) {
			t.Errorf("Text of the cause %s = %q", cause, got)
		}
	}
}
