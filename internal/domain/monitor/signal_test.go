package monitor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// TestParseSignal checks what the last segment of a ping URL means.
func TestParseSignal(t *testing.T) {
	const none = -1
	for segment, want := range map[string]struct {
		kind monitor.SignalKind
		code int
	}{
		"start": {monitor.SignalStart, none}, "success": {monitor.SignalSuccess, none},
		"fail": {monitor.SignalFail, none}, "log": {monitor.SignalLog, none},
		"0": {monitor.SignalSuccess, 0}, "1": {monitor.SignalFail, 1}, "9": {monitor.SignalFail, 9},
		"10": {monitor.SignalFail, 10}, "255": {monitor.SignalFail, 255},
	} {
		kind, code, ok := monitor.ParseSignal(segment)
		if !ok || kind != want.kind || (code == nil) != (want.code == none) || code != nil && *code != want.code {
			t.Errorf("ParseSignal(%q) = %q, %v, %v", segment, kind, code, ok)
		}
	}
	for _, segment := range []string{
		"", "ping", "Start", "FAIL", "fail ", "00", "01", "+1", "-1", "256", "1000", "0x1", "1.0", "１", "1_0",
	} {
		if kind, code, ok := monitor.ParseSignal(segment); ok || kind != "" || code != nil {
			t.Errorf("ParseSignal(%q) = %q, %v, %v; want none", segment, kind, code, ok)
		}
	}
}

// TestRunLimit checks how long a run may take, by what is set.
func TestRunLimit(t *testing.T) {
	for _, c := range []struct{ runtime, grace, want time.Duration }{
		{0, 0, time.Hour}, {0, time.Second, time.Second}, {0, 2 * time.Hour, 2 * time.Hour},
		{time.Second, 0, time.Second}, {2 * time.Hour, time.Minute, 2 * time.Hour},
		{time.Second, time.Minute, time.Second},
	} {
		got := (monitor.Monitor{
			MonitorConfig: monitor.MonitorConfig{Interval: time.Hour, MaxRuntime: c.runtime, Grace: c.grace},
		}).RunLimit()
		if got != c.want {
			t.Errorf("runtime %v, grace %v: %v, want %v", c.runtime, c.grace, got, c.want)
		}
	}
}

// TestCheckRunAroundItsEnd checks a run that must end within ten minutes.
func TestCheckRunAroundItsEnd(t *testing.T) {
	const (
		due     = 10 * time.Minute
		onTime  = monitor.RunOnTime
		unknown = monitor.RunUnknown
		overdue = monitor.RunOverdue
	)
	up := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{Enabled: true, Interval: time.Hour},
		MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
	}
	change := func(f func(*monitor.Monitor)) monitor.Monitor { m := up; f(&m); return m }
	gap := func(from, length time.Duration) []schedule.ListeningGap {
		return []schedule.ListeningGap{{From: domaintest.At(from), To: domaintest.At(from + length)}}
	}
	for name, c := range map[string]struct {
		m    monitor.Monitor
		gaps []schedule.ListeningGap
		asOf time.Duration
		want monitor.RunResult
	}{
		"at its end":     {up, nil, due, onTime},
		"a moment later": {up, nil, due + 1, overdue},
		"disabled, at its end": {change(func(m *monitor.Monitor) {
			m.Enabled = false
		}), nil, due, onTime},
		"disabled": {change(func(m *monitor.Monitor) {
			m.Enabled = false
		}), nil, due + 1, unknown},
		"a maintenance ended when it began": {change(func(m *monitor.Monitor) {
			m.SuppressedUntil = domaintest.At(0)
		}), nil, due + 1, overdue},
		"a maintenance ended after it began": {change(func(m *monitor.Monitor) {
			m.SuppressedUntil = domaintest.At(1)
		}), nil, due + 1, unknown},
		"a long gap":                             {up, gap(time.Minute, schedule.LongGap), due + 1, unknown},
		"a long gap before it":                   {up, gap(-schedule.LongGap, schedule.LongGap), due + 1, overdue},
		"a long gap that ends after it began":    {up, gap(1-schedule.LongGap, schedule.LongGap), due + 1, unknown},
		"a long gap when a punctual end arrives": {up, gap(due+10*time.Second, schedule.LongGap), 2 * due, unknown},
		"a long gap after that": {up, gap(due+10*time.Second+1, schedule.LongGap), 2 * due,
			overdue},
		"a short gap, in the time for repetitions": {up, gap(due-10*time.Second, schedule.LongGap-1),
			due + 20*time.Second, onTime},
		"a short gap, after the time for them": {up, gap(due-10*time.Second, schedule.LongGap-1),
			due + 2*time.Minute, overdue},
		"a ping was rejected, within a time from it": {change(func(m *monitor.Monitor) {
			m.RejectedAt = domaintest.At(time.Minute)
		}), nil, due + time.Minute, onTime},
		"a ping was rejected, after that": {change(func(m *monitor.Monitor) {
			m.RejectedAt = domaintest.At(time.Minute)
		}), nil, due + time.Minute + 1, overdue},
	} {
		run := monitor.Run{StartedAt: domaintest.At(0), DueAt: domaintest.At(due)}
		if got := c.m.CheckRun(run, monitor.Tick{AsOf: domaintest.At(c.asOf), Gaps: c.gaps}); got != c.want {
			t.Errorf("%s: CheckRun = %d, want %d", name, got, c.want)
		}
	}
}

// TestRecordFailure checks which failures of a job take its monitor down.
func TestRecordFailure(t *testing.T) {
	for name, c := range map[string]struct {
		m    monitor.Monitor
		down bool // now
	}{
		"up": {monitor.Monitor{MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp}}, true},
		"up, with a threshold": {monitor.Monitor{
			MonitorConfig: monitor.MonitorConfig{FailureThreshold: 5},
			MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
		}, true},
		"down": {monitor.Monitor{MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorDown}},
			false},
		"in maintenance": {monitor.Monitor{
			MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp, SuppressedUntil: domaintest.At(1)},
		}, false},
		"when a maintenance ended": {monitor.Monitor{
			MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp, SuppressedUntil: domaintest.At(0)},
		}, true},
		"the parent is down": {monitor.Monitor{
			MonitorStatus:  monitor.MonitorStatus{State: monitor.MonitorUp},
			MonitorDerived: monitor.MonitorDerived{ParentDown: true},
		}, false},
	} {
		m := c.m
		went := m.RecordFailure(domaintest.At(0))
		if went != c.down || (m.State == monitor.MonitorDown) != (c.down || c.m.State == monitor.MonitorDown) {
			t.Errorf("%s: went down %v, %s", name, went, m.State)
		}
	}
}

// TestOutputText checks what is shown of the output of a job.
func TestOutputText(t *testing.T) {
	for output, want := range map[string]string{
		"":                                   "",
		" \n done \n":                        "done",
		"a\r\nb\tc\n\nd":                     "a\nb\tc\n\nd",
		"a\rb\x00c\x07d\x7fe\u0085f":         "abcdef",
		"a\xffb":                             "a\ufffdb",
		"\x1b[31mred\x1b[0m \x1b[1;4mbold":   "red bold",
		"\x1b[2Kone\x1b[~two\x1b[@three":     "onetwothree",
		"\x1b[ q\x1b[?25lshown":              "shown",
		"not ended \x1b[31":                  "not ended [31",
		"not one \x1b[3\nx":                  "not one [3\nx",
		"not one \x1b[3\x7fx":                "not one [3x",
		"not one \x1b]0;title":               "not one ]0;title",
		strings.Repeat("é", 20):              strings.Repeat("é", 20),
		"x" + strings.Repeat("é", 20):        strings.Repeat("é", 20),
		strings.Repeat("é", 19) + "yz":       strings.Repeat("é", 18) + "yz",
		"  " + strings.Repeat("é", 20) + " ": strings.Repeat("é", 20),
	} {
		if got := monitor.OutputText([]byte(output), 20); got != want {
			t.Errorf("OutputText(%q) = %q, want %q", output, got, want)
		}
	}
}

// TestMessagesOfOutages checks the messages of the incident of an outage, by why it began and why it ended.
func TestMessagesOfOutages(t *testing.T) {
	m := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{Name: "Backup", Interval: time.Hour, Grace: 5 * time.Minute},
	}
	m.MinRuntime = 7 * time.Minute
	const failed = "The job reported a failure."
	for _, c := range []struct {
		reason       monitor.OutageReason
		output       string
		begin, ended string // by the next ping
	}{
		{monitor.OutageFailed, "", failed, "The job is succeeding again after 20 minutes."},
		{monitor.OutageFailed, "disk full", failed + "\n\n```\ndisk full\n```",
			"The job is succeeding again after 20 minutes."},
		{monitor.OutageRunOverdue, "x", "A run of the job did not end within 5 minutes.",
			"The job is succeeding again after 20 minutes."},
		{monitor.OutageRunTooShort, "x", "A run of the job ended too early, in less than 7 minutes.",
			"The job is succeeding again after 20 minutes."},
		{monitor.OutageRunTooOften, "x", "The job runs more often than expected.",
			"The job is succeeding again after 20 minutes."},
		{monitor.OutageRunOverlap, "x", "A run of the job began before the previous one had ended.",
			"The job is succeeding again after 20 minutes."},
		{monitor.OutageCheckFailed, "x", "Automated checks are failing.",
			"The job is succeeding again after 20 minutes."},
		{monitor.OutageSilent, "", "", "The job is reporting again after 50 minutes."},
	} {
		_, n := m.FailureIncident(c.reason, c.output)
		if c.begin != "" && (n.Message != c.begin || n.System.Text() != c.begin) {
			t.Errorf("first update of an outage by %s: %q, want %q", c.reason, n.Message, c.begin)
		}
		o := monitor.Outage{
			Reason: c.reason, SilentSince: domaintest.At(-30 * time.Minute), StartedAt: domaintest.At(0),
		}
		for why, want := range map[monitor.OutageEndReason]string{
			monitor.OutageEndedByPing:    c.ended,
			monitor.OutageEndedByCheck:   "Automated checks are passing again after 20 minutes.",
			monitor.OutageEndedByDisable: "The monitor was disabled; this outage is no longer watched.",
			monitor.OutageEndedByDelete:  "The monitor was deleted; this outage is no longer watched.",
		} {
			if got := o.EndMessage(why, domaintest.At(20*time.Minute)).Text(); got != want {
				t.Errorf("EndMessage of an outage by %s, ended by %v = %q, want %q", c.reason, why, got, want)
			}
		}
	}
}
