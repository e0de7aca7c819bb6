package alert

import (
	"testing"
	"time"
)

// TestEndOfFlapping checks that the first message of a flapping monitor is sent after the end of its alert, and that no
// later step is.
func TestEndOfFlapping(t *testing.T) {
	opened := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	later := opened.Add(time.Hour)
	for _, r := range []Rule{
		{Enabled: true, Target: channels(1), Escalation: []Step{{time.Hour, channels(1)}}},
		{Enabled: true, Target: channels(1), Repeat: time.Hour},
	} {
		open := Alert{ID: "alt_1", OpenedAt: opened, Subject: Subject{Event: MonitorDown}}
		over := open
		over.ResolvedAt = opened.Add(time.Minute)
		got := r.Advance(r.Begin(over, later), over, time.Time{}, later)
		if got.Kind != NoticeOpened || !got.Next.DueAt.IsZero() {
			t.Errorf("the first message after the end: %+v", got)
		}
		first := r.Advance(r.Begin(open, later), open, time.Time{}, later)
		over.ResolvedAt = later.Add(time.Minute)
		got = r.Advance(first.Next, over, time.Time{}, first.Next.DueAt)
		if first.Next.DueAt.IsZero() || got.Kind != "" || !got.Next.DueAt.IsZero() {
			t.Errorf("a later step after the end: %+v", got)
		}
	}
}

// TestNobodyIsNotifiedAnyMore checks what ends the steps of a rule: somebody acknowledges the alert, or disables the
// rule.
func TestNobodyIsNotifiedAnyMore(t *testing.T) {
	opened := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for what, change := range map[string]func(*Rule, *Alert){
		"":             func(*Rule, *Alert) {},
		"acknowledged": func(_ *Rule, a *Alert) { a.AcknowledgedAt = opened },
		"disabled":     func(r *Rule, _ *Alert) { r.Enabled = false },
	} {
		r := Rule{Enabled: true, Target: channels(1), Escalation: []Step{{time.Hour, channels(1)}}}
		a := Alert{ID: "alt_1", OpenedAt: opened, Subject: Subject{Event: MonitorDown}}
		change(&r, &a)
		for step := range 2 {
			got := r.Advance(Progress{DueAt: opened, Step: step}, a, time.Time{}, opened)
			if (got.Kind == "") != (what != "") || what != "" && !got.Next.DueAt.IsZero() {
				t.Errorf("Advance after the change %q, step %d: %+v", what, step, got)
			}
		}
	}
}

// TestStepsOfAnEndedAlert checks what a rule does that is asked late about an alert which has ended meanwhile: its
// first message is sent if the alert lasted until then, and no later step is.
func TestStepsOfAnEndedAlert(t *testing.T) {
	opened := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	due := opened.Add(time.Hour)
	for _, r := range []Rule{
		{Enabled: true, Target: channels(1), Escalation: []Step{{time.Hour, channels(1)}}},
		{Enabled: true, Target: channels(1), Repeat: time.Hour},
	} {
		for step := range 2 {
			for _, ended := range []time.Duration{-time.Second, 0, time.Second} {
				a := Alert{
					ID: "alt_1", OpenedAt: opened, ResolvedAt: due.Add(ended), Subject: Subject{Event: MonitorDown},
				}
				want := NoticeKind("")
				if step == 0 && ended >= 0 {
					want = NoticeOpened
				}
				got := r.Advance(Progress{DueAt: due, Step: step}, a, time.Time{}, due.Add(time.Minute))
				if got.Kind != want || !got.Next.DueAt.IsZero() {
					t.Errorf("step %d of an alert that ended %v after it was due: %+v, want %q", step, ended, got, want)
				}
			}
		}
	}
}
