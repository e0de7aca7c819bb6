package statuspage_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"pgregory.net/rapid"
)

const (
	scheduled  = statuspage.MaintenanceScheduled
	inProgress = statuspage.MaintenanceInProgress
	verifying  = statuspage.MaintenanceVerifying
	completed  = statuspage.MaintenanceCompleted
)

// planned returns a maintenance from 2 h to 3 h after the epoch, planned at the epoch, without a reminder.
func planned(change ...func(*statuspage.Maintenance)) statuspage.Maintenance {
	m := statuspage.Maintenance{
		ID: "mnt_1", PageID: "page_1", Title: "Disks", State: scheduled, ScheduledFor: domaintest.At(2 * time.Hour),
		ScheduledUntil: domaintest.At(3 * time.Hour),
		CreatedAt:      domaintest.Epoch, UpdatedAt: domaintest.Epoch,
	}
	for _, ch := range change {
		ch(&m)
	}
	m.Plan("upd_1", domaintest.Epoch)
	return m
}

func hourAt(h float64) time.Time { return domaintest.At(time.Duration(h * float64(time.Hour))) }

type transitions = []statuspage.MaintenanceTransition

type advanceStep struct {
	at   float64 // hours after the epoch
	want transitions
	next float64 // time of the next transition; 0: none
}

// Short names for advances.
const (
	remind, begin = statuspage.TransitionRemind, statuspage.TransitionBegin
	end, missed   = statuspage.TransitionEnd, statuspage.TransitionMissed
	dayBefore     = statuspage.DefaultRemindBefore
)

// advances are the transitions of a maintenance, planned at the epoch, from 48 h to 50 h.
var advances = map[string]struct {
	remind time.Duration
	steps  []advanceStep
}{
	"on time": {dayBefore, []advanceStep{
		{0, nil, 24}, {23.999, nil, 24}, {24, transitions{remind}, 48}, {30, nil, 48},
		{48, transitions{begin}, 50}, {49, nil, 50},
		{50, transitions{end}, 0}, {51, nil, 0},
	}},
	"no reminder": {0, []advanceStep{
		{0, nil, 48}, {30, nil, 48}, {48.001, transitions{begin}, 50},
		{50.5, transitions{end}, 0},
	}},
	"a late reminder": {dayBefore, []advanceStep{
		{47.999, transitions{remind}, 48},
		{48, transitions{begin}, 50},
	}},
	"too late to remind": {dayBefore, []advanceStep{
		{48, transitions{begin}, 50}, {50, transitions{end}, 0},
	}},
	"down at the beginning": {dayBefore, []advanceStep{
		{49.999, transitions{begin}, 50},
		{50, transitions{end}, 0},
	}},
	"down throughout": {dayBefore, []advanceStep{{50, transitions{missed}, 0}, {60, nil, 0}}},
	"down for a long time": {dayBefore, []advanceStep{
		{24, transitions{remind}, 48},
		{500, transitions{missed}, 0},
	}},
	"down at the end": {dayBefore, []advanceStep{
		{48, transitions{begin}, 50}, {77, transitions{end}, 0},
	}},
	"a clock that goes back": {dayBefore, []advanceStep{
		{48, transitions{begin}, 50}, {40, nil, 50},
		{50, transitions{end}, 0}, {49, nil, 0},
	}},
}

// TestAdvance checks single cases.
func TestAdvance(t *testing.T) {
	for name, c := range advances {
		t.Run(name, func(t *testing.T) {
			m := planned(func(m *statuspage.Maintenance) {
				m.ScheduledFor, m.ScheduledUntil, m.RemindBefore = hourAt(48), hourAt(50), c.remind
			})
			for _, step := range c.steps {
				var got []statuspage.MaintenanceTransition
				next := func() statuspage.MaintenanceTransition { return m.Advance(hourAt(step.at)) }
				for transition := next(); transition != statuspage.TransitionNone; transition = next() {
					got = append(got, transition)
					switch transition {
					case begin:
						domaintest.Equal(t, "begun", m.BegunAt, hourAt(step.at))
					case end:
						domaintest.Equal(t, "ended", m.EndedAt, hourAt(step.at))
					case missed:
						domaintest.Equal(t, "begun, as planned", m.BegunAt, hourAt(48))
						domaintest.Equal(t, "ended, as planned", m.EndedAt, hourAt(50))
					}
					if transition != remind {
						domaintest.Equal(t, "updated", m.UpdatedAt, hourAt(step.at))
					}
				}
				if !slices.Equal(got, step.want) {
					t.Fatalf("at %v: transitions %v, want %v", step.at, got, step.want)
				}
				want := time.Time{}
				if step.next > 0 {
					want = hourAt(step.next)
				}
				domaintest.Equal(t, fmt.Sprint("the next transition after ", step.at), m.NextTransitionAt(), want)
			}
		})
	}
}

// TestMaintenanceUpdates checks that each update has the state in which it was written.
func TestMaintenanceUpdates(t *testing.T) {
	m := planned(func(m *statuspage.Maintenance) { m.SetFirstMessage(new("We replace disks.")) })
	domaintest.Equal(t, "the first", m.Updates, []statuspage.MaintenanceUpdate{
		{
			ID: "upd_1", MaintenanceID: "mnt_1", Number: 1, Message: "We replace disks.", State: scheduled,
			CreatedAt: domaintest.Epoch,
		},
	})
	m.State = inProgress
	u := m.AddUpdate("upd_2", "Begun.", 2, domaintest.T2)
	domaintest.Equal(t, "the second", u, statuspage.MaintenanceUpdate{
		ID: "upd_2", MaintenanceID: "mnt_1", Number: 2, Message: "Begun.", State: inProgress, CreatedAt: domaintest.T2,
	})
	domaintest.Equal(t, "updated at", m.UpdatedAt, domaintest.T2)
	domaintest.Equal(t, "updates", len(m.Updates), 2)
	for transition, announced := range map[statuspage.MaintenanceTransition]bool{
		statuspage.TransitionNone: false, statuspage.TransitionRemind: false, statuspage.TransitionBegin: true,
		statuspage.TransitionEnd: true, statuspage.TransitionMissed: true,
	} {
		if got := transition.Message() != ""; got != announced {
			t.Errorf("transition %d has the message %q", transition, transition.Message())
		}
	}
	for _, s := range statuspage.MaintenanceStates {
		if s.Label() == "" || !s.Valid() {
			t.Errorf("state %q", s)
		}
	}
}

// TestMaintenanceEvents checks that an event describes the maintenance at its time.
func TestMaintenanceEvents(t *testing.T) {
	m := planned()
	m.Components = []statuspage.ComponentName{{ID: "comp_1", Name: "API"}, {ID: "comp_2", Name: "Web"}}
	auto := statuspage.SystemMessage{Kind: statuspage.SystemMessageMaintenanceBegun}
	domaintest.Equal(t, "event",
		audience.NewMaintenanceEvent(statuspage.EventMaintenanceScheduled, m, &statuspage.MaintenanceUpdate{
			ID: "upd_1", Message: "m", System: auto,
		}),
		audience.Event{
			Kind: "maintenance.scheduled", PageID: "page_1", MaintenanceID: "mnt_1", UpdateID: "upd_1",
			Components: []string{"comp_1", "comp_2"},
			Data: audience.EventData{Title: "Disks", Message: "m", System: auto, Maintenance: &audience.MaintenanceData{
				State: scheduled, ScheduledFor: domaintest.At(2 * time.Hour),
				ScheduledUntil: domaintest.At(3 * time.Hour), Components: m.Components}},
		})
	m.Components = nil
	e := audience.NewMaintenanceEvent(statuspage.EventMaintenanceBegun, m, nil)
	if len(e.Components) > 0 || e.UpdateID != "" {
		t.Errorf("an event for the whole page: %+v", e)
	}
}

// TestSuppress checks when a monitor's suppression ends, at the epoch, if the maintenance of its
// component runs until a time in seconds after it.
func TestSuppress(t *testing.T) {
	instant := func(s float64) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return domaintest.At(domaintest.Seconds(s))
	}
	for _, c := range []struct {
		name                string
		before, until, want float64 // seconds after the epoch; 0: none
	}{
		{"no maintenance", 0, 0, 0},
		{"one ended long ago", -500, 0, -500},
		{"one begins", 0, 60, 60},
		{"one begins after another", -500, 60, 60},
		{"it is extended", 60, 90, 90},
		{"it is cut short", 60, 30, 30},
		{"it ends on time", -1, 0, -1},
		{"it ends early", 60, 0, 0.0001}, // now
		{"one ends early while another is overdue", 60, -5, 0.0001},
		{"an overdue one is applied late", 0, -5, -5},
		{"an overdue one, after another", -2, -5, -2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := monitor.Monitor{
				MonitorStatus: monitor.MonitorStatus{
					State: monitor.MonitorUp, ConsecutiveFailures: 2, SuppressedUntil: instant(c.before),
				},
			}
			want := instant(c.want)
			if c.want == 0.0001 {
				want = domaintest.Epoch
			}
			changed := m.Suppress(instant(c.until), domaintest.Epoch)
			domaintest.Equal(t, "suppressed until", m.SuppressedUntil, want)
			domaintest.Equal(t, "changed", changed, !want.Equal(instant(c.before)))
			domaintest.Equal(t, "count", m.ConsecutiveFailures == 0, changed)
		})
	}
	down := monitor.Monitor{MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorDown, ConsecutiveFailures: 3}}
	down.Suppress(domaintest.At(time.Minute), domaintest.Epoch)
	domaintest.Equal(t, "a monitor that is down stays down", down, monitor.Monitor{
		MonitorStatus: monitor.MonitorStatus{
			State: monitor.MonitorDown, ConsecutiveFailures: 3, SuppressedUntil: domaintest.At(time.Minute),
		},
	})
}

// TestSuppressedDeadline checks that the end of a maintenance counts as a sign of life.
func TestSuppressedDeadline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, gaps := domaintest.DrawWait(t), domaintest.DrawGaps(t)
		plain := wait.Deadline(gaps)
		wait.SuppressedUntil = domaintest.At(time.Duration(rapid.Int64Range(-100_000, 5_000_000).Draw(t,
			"suppressed ms")) * time.Millisecond)
		due := wait.Deadline(gaps)
		if due.Before(plain) {
			t.Fatalf("suppressed until %v, the deadline is %v; without, it is %v", wait.SuppressedUntil, due, plain)
		}
		if wait.Cron.IsZero() && due.Before(wait.SuppressedUntil.Add(wait.Interval)) &&
			wait.SuppressedUntil.After(wait.Since) {
			t.Fatalf("due %v, before a fresh interval from %v", due, wait.SuppressedUntil)
		}
		fresh := schedule.PingWait{
			Since: wait.SuppressedUntil, Interval: wait.Interval, Cron: wait.Cron, Grace: wait.Grace,
		}.Deadline(gaps)
		if want := plain; wait.SuppressedUntil.After(wait.Since) {
			if fresh.After(want) {
				want = fresh
			}
			if !due.Equal(want) {
				t.Fatalf("due %v, want %v: the rule for any sign of life", due, want)
			}
		} else if !due.Equal(plain) {
			t.Fatalf("a maintenance that ended before the wait: due %v, want %v", due, plain)
		}
		later := wait
		later.SuppressedUntil = wait.SuppressedUntil.Add(time.Duration(rapid.Int64Range(0, 100_000).Draw(t,
			"extended ms")) * time.Millisecond)
		if got := later.Deadline(nil); got.Before(wait.Deadline(nil)) {
			t.Fatalf("a longer maintenance makes the deadline earlier: %v after %v", got, wait.Deadline(nil))
		}
	})
	undisturbed := schedule.PingWait{
		Since: domaintest.Epoch, Interval: time.Hour, SuppressedUntil: domaintest.At(10 * time.Hour),
	}
	domaintest.Equal(t, "without faults, one interval after its end", undisturbed.Deadline(nil),
		domaintest.At(11*time.Hour))
}
