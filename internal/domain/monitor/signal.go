package monitor

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// SignalKind is the kind of a report by a job.
type SignalKind string

// The kinds of signals.
const (
	SignalStart   SignalKind = "start"   // a run has begun
	SignalSuccess SignalKind = "success" // a run has succeeded: a ping
	SignalFail    SignalKind = "fail"    // a run has failed: the monitor is down immediately
	SignalLog     SignalKind = "log"     // for the history only
)

// SignalKinds lists all kinds.
var SignalKinds = []SignalKind{SignalStart, SignalSuccess, SignalFail, SignalLog}

// SignalPing is the kind of a plain ping in the history.
const SignalPing SignalKind = "ping"

// HistoryKinds lists all kinds that are in the history.
var HistoryKinds = append([]SignalKind{SignalPing}, SignalKinds...)

// Limits of signals.
const (
	MaxSignals         = 1000                // newest signals and plain pings that are kept of each monitor
	SignalRetention    = 90 * 24 * time.Hour // for which they are kept by default
	MaxOutput          = 100_000             // bytes that are kept of the body of a signal, from its end
	MaxOutputExcerpt   = 1000                // characters of an output in a note or an update, from its end
	MaxUserAgentLength = 200                 // characters
	MaxExitCode        = 255
	MaxRuntime         = MaxInterval
)

// Signal is a signal that a job sent to a ping URL, or a plain ping in the history.
type Signal struct {
	ID         string
	MonitorID  string
	Number     int64 // of the monitor's signals, from 1; 0: a plain ping
	ReceivedAt time.Time
	Kind       SignalKind
	ExitCode   *int           // nil: not given
	RunID      string         // a UUID in lower case; "": none
	Duration   *time.Duration // of the run that it ended; nil: it ended none
	Address    string         // of the client; "": unknown
	UserAgent  string
	OutputSize int    // bytes that are kept of its body
	OutputCut  bool   // the body was longer
	Output     []byte // what is kept of the body, if requested
}

// ParseSignal parses the last segment of a ping URL: the name of a kind, or an exit code from 0 to 255, where 0 is a
// success and any other code a failure. ok is false for anything else.
func ParseSignal(segment string) (kind SignalKind, exitCode *int, ok bool) {
	if slices.Contains(SignalKinds, SignalKind(segment)) {
		return SignalKind(segment), nil, true
	}
	code, err := strconv.ParseUint(segment, 10, 8)
	if err != nil || strconv.FormatUint(code, 10) != segment {
		return "", nil, false
	}
	kind = SignalFail
	if code == 0 {
		kind = SignalSuccess
	}
	n := int(code)
	return kind, &n, true
}

// Run is a run of a job that has begun and not ended.
type Run struct {
	ID               string    // "": none was given
	StartedAt, DueAt time.Time // DueAt zero: the end is no longer expected
	Doubtful         bool      // see RunStart.Doubtful
	Ambiguous        bool      // see RunStart.Ambiguous
	Violated         bool      // its start has violated a condition with ActionDown
}

// RunLimit returns how long a run may take: MaxRuntime, or by default the grace or, without one, the interval.
func (m MonitorConfig) RunLimit() time.Duration {
	if m.MaxRuntime > 0 {
		return m.MaxRuntime
	}
	if m.Grace > 0 {
		return m.Grace
	}
	return m.Interval
}

// RunResult is the result of checking a run.
type RunResult int

// The results of the check of a run.
const (
	RunOnTime  RunResult = iota // it may still end in time
	RunUnknown                  // its end may have been missed, or does not matter: it is no longer expected
	RunOverdue                  // it did not end in time
)

// CheckRun returns whether a run is overdue at a tick. A listening gap of at least LongGap may have lost the end of the
// run, so the result is then RunUnknown. It is also RunUnknown if the run began before the end of a maintenance of the
// monitor's component, and for a disabled monitor. Shorter gaps extend the time, as they extend PingWait.Deadline.
func (m Monitor) CheckRun(r Run, t Tick) RunResult {
	if !r.DueAt.Before(t.AsOf) {
		return RunOnTime
	}
	if !m.Enabled || m.SuppressedUntil.After(r.StartedAt) {
		return RunUnknown
	}
	for _, gap := range schedule.JoinGaps(t.Gaps, r.StartedAt) {
		if gap.Len() >= schedule.LongGap && !gap.From.After(r.DueAt.Add(schedule.PingDelay)) {
			return RunUnknown
		}
	}
	wait := schedule.PingWait{Since: r.StartedAt, Interval: r.DueAt.Sub(r.StartedAt), RejectedAt: m.RejectedAt}
	if !wait.Deadline(t.Gaps).Before(t.AsOf) {
		return RunOnTime
	}
	return RunOverdue
}

// RecordFailure applies a failure of the job: the monitor goes down, regardless of its threshold. It reports whether
// the monitor was up before. Planned maintenance of the component and a parent that is down suppress failures, as they
// suppress silence.
func (m *Monitor) RecordFailure(now time.Time) (wentDown bool) {
	if m.State == MonitorDown || m.SuppressedUntil.After(now) || m.ParentDown {
		return false
	}
	m.State = MonitorDown
	return true
}

// OutputText returns the last limit characters of an output as text, without control characters and escape sequences
// for colours. Bytes that are not UTF-8 become replacement characters.
func OutputText(output []byte, limit int) string {
	text := strings.ToValidUTF8(string(output), string(utf8.RuneError))
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []rune
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if n := escapeLength(rest); n > 0 {
			rest = rest[n:]
			continue
		}
		if rest = rest[size:]; r == '\n' || r == '\t' || !unicode.IsControl(r) {
			out = append(out, r)
		}
	}
	text = strings.TrimSpace(string(out))
	if out = []rune(text); len(out) > limit {
		text = string(out[len(out)-limit:])
	}
	return text
}

// escapeLength returns the length of the ECMA-48 control sequence, such as a colour, with which text begins; 0: none.
func escapeLength(text string) int {
	rest, ok := strings.CutPrefix(text, "\x1b[")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < 0x20 || r > 0x3f })
	if end < 0 || rest[end] < 0x40 || rest[end] > 0x7e {
		return 0
	}
	return len("\x1b[") + end + 1
}

// OutageReason is why an outage began.
type OutageReason string

// The reasons why a monitor goes down.
const (
	OutageSilent     OutageReason = "silent"      // pings are missing
	OutageFailed     OutageReason = "failed"      // the job reported a failure
	OutageRunOverdue OutageReason = "run_overdue" // a run of the job did not end in time

	OutageRunTooShort OutageReason = "run_too_short" // a run of the job violated ConditionMinRuntime
	OutageRunTooOften OutageReason = "run_too_often" // ConditionMaxPerInterval
	OutageRunOverlap  OutageReason = "run_overlap"   // ConditionNoOverlap

	OutageCheckFailed OutageReason = "check_failed" // the checks of the target failed
)

// OutageReasons lists all reasons.
var OutageReasons = []OutageReason{
	OutageSilent, OutageFailed, OutageRunOverdue, OutageRunTooShort, OutageRunTooOften, OutageRunOverlap,
	OutageCheckFailed,
}

// FailureIncident returns the incident of an outage that began for a reason other than silence, and its first update.
// output is what is published of the failed run; "": nothing.
func (m MonitorConfig) FailureIncident(
	reason OutageReason, output string,
) (statuspage.Incident, statuspage.IncidentUpdate) {
	auto := statuspage.SystemMessage{Kind: statuspage.SystemMessageFailed, Output: output}
	switch reason {
	case OutageRunOverdue:
		auto = statuspage.SystemMessage{Kind: statuspage.SystemMessageRunOverdue, Interval: m.RunLimit()}
	case OutageRunTooShort:
		auto = statuspage.SystemMessage{Kind: statuspage.SystemMessageRunTooShort, Interval: m.MinRuntime}
	case OutageRunTooOften:
		auto = statuspage.SystemMessage{Kind: statuspage.SystemMessageRunTooOften}
	case OutageRunOverlap:
		auto = statuspage.SystemMessage{Kind: statuspage.SystemMessageRunOverlap}
	case OutageCheckFailed:
		auto = statuspage.SystemMessage{Kind: statuspage.SystemMessageCheckFailed}
	}
	return m.newIncident(auto)
}

// EndMessage returns the update that resolves the incident of the outage.
func (o Outage) EndMessage(why OutageEndReason, now time.Time) statuspage.SystemMessage {
	if why == OutageEndedByCheck {
		return statuspage.SystemMessage{Kind: statuspage.SystemMessageCheckPassed, Lasted: now.Sub(o.StartedAt)}
	}
	if why == OutageEndedByPing && o.Reason != OutageSilent {
		return statuspage.SystemMessage{Kind: statuspage.SystemMessageSucceeded, Lasted: now.Sub(o.StartedAt)}
	}
	return why.SystemMessage(now.Sub(o.SilentSince))
}

// IncidentNote is the internal part of an incident, which only members and API tokens see: how a job failed.
type IncidentNote struct {
	ID         string
	IncidentID string
	ExitCode   *int   // nil: not given
	Output     string // the end of the output; "": none
	CreatedAt  time.Time
}
