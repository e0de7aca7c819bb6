package resource_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type maintenance = statuspage.Maintenance

const (
	scheduled  = statuspage.MaintenanceScheduled
	inProgress = statuspage.MaintenanceInProgress
	verifying  = statuspage.MaintenanceVerifying
	completed  = statuspage.MaintenanceCompleted
)

var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// at returns the instant that long after the epoch.
func at(d time.Duration) time.Time { return epoch.Add(d) }

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// checkFields fails unless an error is about these fields.
func checkFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	var got []string
	if bad := new(kernel.ValidationError); errors.As(err, &bad) {
		got = slices.Collect(maps.Keys(bad.Messages()))
	} else if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(fields)
	if !slices.Equal(got, fields) {
		t.Errorf("fields %v, want %v: %v", got, fields, err)
	}
}

// planned returns a maintenance from 2 h to 3 h after the epoch, planned at the epoch, without a reminder.
func planned() (m maintenance) {
	if err := resource.PlanMaintenance(&m, disks, epoch); err != nil {
		panic(err)
	}
	return m
}

func disks(m *maintenance) error {
	m.ID, m.Title, m.RemindBefore = "mnt_1", "Disks", 0
	m.ScheduledFor, m.ScheduledUntil = at(2*time.Hour), at(3*time.Hour)
	return nil
}

// to is the change that brings a maintenance to a state.
func to(state statuspage.MaintenanceState) field.Change[maintenance] {
	return func(m *maintenance) error { m.State = state; return nil }
}

// inState returns a planned maintenance that was changed to a state at one instant.
func inState(s statuspage.MaintenanceState, now time.Time) maintenance {
	m := planned()
	for _, step := range map[statuspage.MaintenanceState][]statuspage.MaintenanceState{
		inProgress: {inProgress}, verifying: {inProgress, verifying}, completed: {inProgress, completed}}[s] {
		if err := resource.ChangeMaintenance(&m, to(step), now); err != nil {
			panic(err)
		}
	}
	return m
}

// TestMaintenanceTransitions tries every change from one state to another.
func TestMaintenanceTransitions(t *testing.T) {
	const rejected = statuspage.MaintenanceTransition(-1)
	type row = map[statuspage.MaintenanceState]statuspage.MaintenanceTransition
	for from, row := range map[statuspage.MaintenanceState]row{
		scheduled: {
			scheduled: statuspage.TransitionNone, inProgress: statuspage.TransitionBegin, verifying: rejected,
			completed: rejected, "over": rejected,
		},
		inProgress: {
			scheduled: rejected, inProgress: statuspage.TransitionNone, verifying: statuspage.TransitionNone,
			completed: statuspage.TransitionEnd, "over": rejected,
		},
		verifying: {
			scheduled: rejected, inProgress: statuspage.TransitionNone, verifying: statuspage.TransitionNone,
			completed: statuspage.TransitionEnd, "over": rejected,
		},
		completed: {
			scheduled: rejected, inProgress: rejected, verifying: rejected, completed: statuspage.TransitionNone,
			"over": rejected,
		},
	} {
		for state, want := range row {
			t.Run(fmt.Sprintf("%s to %s", from, state), func(t *testing.T) {
				t2 := at(2 * time.Minute)
				m := inState(from, at(time.Minute))
				before := m
				err := resource.ChangeMaintenance(&m, to(state), t2)
				if want == rejected {
					checkFields(t, err, "state")
					return
				}
				checkFields(t, err)
				equal(t, "transition", m.TransitionFrom(before), want)
				equal(t, "state", m.State, state)
				equal(t, "running", m.Running(), state == inProgress || state == verifying)
				if from == state {
					equal(t, "unchanged", m, before)
					return
				}
				equal(t, "updated at", m.UpdatedAt, t2)
				if want == statuspage.TransitionBegin {
					equal(t, "begun at", m.BegunAt, t2)
				} else {
					equal(t, "begun at", m.BegunAt, before.BegunAt)
				}
				if want == statuspage.TransitionEnd {
					equal(t, "ended at", m.EndedAt, t2)
				} else {
					equal(t, "ended at", m.EndedAt, before.EndedAt)
				}
			})
		}
	}
}

// maintenanceLife is a maintenance that is changed at random, and how often it began and ended.
type maintenanceLife struct {
	*rapid.T
	now          time.Time
	m            maintenance
	begun, ended int
}

// TestMaintenanceInvariants checks rules that hold after any sequence of changes and transitions: a maintenance never
// goes back, its next transition is in the future, and each happens once.
func TestMaintenanceInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &maintenanceLife{T: t, now: epoch}
		l.plan()
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			l.now = l.now.Add(l.duration("later", 0, 10*24*time.Hour))
			if rapid.Bool().Draw(t, "a person") && !l.change() {
				continue
			}
			l.advance()
			if next := l.m.NextTransitionAt(); next.IsZero() != (l.m.State == completed) {
				t.Fatalf("next transition %v of %+v", next, l.m)
			}
		}
	})
}

func (l *maintenanceLife) duration(name string, least, most time.Duration) time.Duration {
	ms := rapid.Int64Range(least.Milliseconds(), most.Milliseconds()).Draw(l.T, name+" ms")
	return time.Duration(ms) * time.Millisecond
}

func (l *maintenanceLife) reminder(name string) time.Duration {
	return rapid.SampledFrom([]time.Duration{
		0, time.Hour, statuspage.DefaultRemindBefore, statuspage.MaxRemindBefore,
	}).Draw(l.T, name)
}

func (l *maintenanceLife) plan() {
	err := resource.PlanMaintenance(&l.m, func(m *maintenance) error {
		m.Title, m.ScheduledFor = "Disks", l.now.Add(l.duration("ahead", -time.Hour, 30*24*time.Hour))
		m.ScheduledUntil = m.ScheduledFor.Add(l.duration("length", time.Hour+time.Second, 48*time.Hour))
		m.RemindBefore = l.reminder("reminder")
		return nil
	}, l.now)
	if err != nil {
		l.Fatal(err)
	}
}

// change makes a random change as a person does. It returns false if the change is rejected.
func (l *maintenanceLife) change() bool {
	var ch maintenance
	if rapid.Bool().Draw(l.T, "another state") {
		ch.State = rapid.SampledFrom(statuspage.MaintenanceStates).Draw(l.T, "state")
	}
	if rapid.Bool().Draw(l.T, "another reminder") {
		ch.RemindBefore = l.reminder("remind")
	}
	if rapid.Bool().Draw(l.T, "move") {
		ch.ScheduledFor = l.now.Add(l.duration("from", -time.Hour, 20*24*time.Hour))
	}
	if rapid.Bool().Draw(l.T, "extend") {
		ch.ScheduledUntil = l.now.Add(l.duration("until", -time.Hour, 20*24*time.Hour))
	}
	changed := l.m
	if resource.ChangeMaintenance(&changed, resource.Maintenance.From(ch), l.now) != nil {
		return false
	}
	before := l.m
	l.m = changed
	l.seen(l.m.TransitionFrom(before), before)
	return true
}

// advance makes the transitions that are due.
func (l *maintenanceLife) advance() {
	for count := 0; ; count++ {
		before := l.m
		transition := l.m.Advance(l.now)
		l.seen(transition, before)
		if transition == statuspage.TransitionNone {
			if next := l.m.NextTransitionAt(); !next.IsZero() && !next.After(l.now) {
				l.Fatalf("nothing happens at %v, and the next transition is at %v: %++v", l.now, next, l.m)
			}
			return
		}
		if transition == statuspage.TransitionRemind &&
			(l.m.RemindBefore == 0 || !l.now.Before(l.m.ScheduledFor) || l.m.State != scheduled ||
				!l.m.RemindedAt.Equal(l.now)) {
			l.Fatalf("reminded at %v: %+v", l.now, l.m)
		}
		if count > 3 {
			l.Fatalf("too many transitions: %+v", l.m)
		}
	}
}

// seen counts a transition, and checks that it does not go back.
func (l *maintenanceLife) seen(transition statuspage.MaintenanceTransition, before maintenance) {
	switch transition {
	case statuspage.TransitionBegin:
		l.begun++
	case statuspage.TransitionEnd:
		l.ended++
	case statuspage.TransitionMissed:
		l.begun++
		l.ended++
	}
	order := map[statuspage.MaintenanceState]int{scheduled: 0, inProgress: 1, verifying: 1, completed: 2}
	if order[l.m.State] < order[before.State] || l.m.Running() != (l.begun > l.ended) || l.begun > 1 || l.ended > 1 {
		l.Fatalf("transition %d from %+v to %+v", transition, before, l.m)
	}
	if l.m.BegunAt.IsZero() == (l.begun == 1) || l.m.EndedAt.IsZero() == (l.ended == 1) ||
		l.ended == 1 && l.m.EndedAt.Before(l.m.BegunAt) {
		l.Fatalf("begun %d and ended %d times: %+v", l.begun, l.ended, l.m)
	}
}

// TestReminders checks that subscribers are reminded again only if the beginning changes.
func TestReminders(t *testing.T) {
	day := func(n float64) time.Time { return at(time.Duration(n * 24 * float64(time.Hour))) }
	plan := func(now time.Time) (m maintenance) {
		checkFields(t,
			resource.PlanMaintenance(&m,
				resource.Maintenance.From(maintenance{
					Title: "Disks", ScheduledFor: day(10), ScheduledUntil: day(10.5),
				}),
				now))
		return m
	}
	change := func(m *maintenance, now time.Time, ch maintenance) {
		t.Helper()
		checkFields(t, resource.ChangeMaintenance(m, resource.Maintenance.From(ch), now))
	}
	m := plan(day(0))
	equal(t, "a day before", m.NextTransitionAt(), day(9))
	m = plan(day(9))
	equal(t, "planned at the last moment: no reminder", m.NextTransitionAt(), day(10))
	equal(t, "the reminder is skipped", m.RemindedAt, day(9))
	m = plan(day(9.5))
	change(&m, day(9.6), maintenance{ScheduledFor: day(12), ScheduledUntil: day(12.5)})
	equal(t, "moved to a later time: a reminder", m.NextTransitionAt(), day(11))
	equal(t, "reminded", m.Advance(day(11)), statuspage.TransitionRemind)
	change(&m, day(11.1), maintenance{Title: "Other", ScheduledUntil: day(12.6), RemindBefore: 24 * time.Hour})
	equal(t, "another end: no second reminder", m.NextTransitionAt(), day(12))
	change(&m, day(11.2), maintenance{ScheduledFor: day(12.1)})
	equal(t, "moved by less than the time of the reminder: no second reminder", m.NextTransitionAt(), day(12.1))
	change(&m, day(11.3), maintenance{RemindBefore: time.Hour})
	equal(t, "another reminder", m.NextTransitionAt(), day(12.1).Add(-time.Hour))
	checkFields(t, resource.ChangeMaintenance(&m, func(m *maintenance) error {
		m.RemindBefore = 0
		return nil
	}, day(11.4)))
	equal(t, "none", m.NextTransitionAt(), day(12.1))
	change(&m, day(11.5), maintenance{ScheduledFor: day(12.2)})
	equal(t, "no reminder, wherever it moves", m.NextTransitionAt(), day(12.2))
}

// TestMaintenanceSpan checks the rules about the time of a new maintenance, and that all errors are reported together.
func TestMaintenanceSpan(t *testing.T) {
	for name, c := range map[string]struct {
		change func(n *maintenance)
		bad    []string
	}{
		"valid": {func(*maintenance) {}, nil},
		"no times": {func(n *maintenance) {
			n.ScheduledFor, n.ScheduledUntil = time.Time{}, time.Time{}
		}, []string{"scheduled_for", "scheduled_until"}},
		"no beginning": {func(n *maintenance) {
			n.ScheduledFor = time.Time{}
		}, []string{"scheduled_for"}},
		"no end": {func(n *maintenance) {
			n.ScheduledUntil = time.Time{}
		}, []string{"scheduled_until"}},
		"an end before the beginning": {func(n *maintenance) {
			n.ScheduledUntil = at(time.Hour)
		}, []string{"scheduled_until"}},
		"a minute": {func(n *maintenance) { n.ScheduledUntil = n.ScheduledFor.Add(time.Minute) }, nil},
		"less than a minute": {func(n *maintenance) {
			n.ScheduledUntil = n.ScheduledFor.Add(time.Minute - 1)
		}, []string{"scheduled_until"}},
		"31 days": {func(n *maintenance) {
			n.ScheduledUntil = n.ScheduledFor.Add(statuspage.MaxMaintenanceLength)
		}, nil},
		"longer": {func(n *maintenance) {
			n.ScheduledUntil = n.ScheduledFor.Add(statuspage.MaxMaintenanceLength + 1)
		}, []string{"scheduled_until"}},
		"begun already": {func(n *maintenance) { n.ScheduledFor = at(-time.Hour) }, nil},
		"over already": {func(n *maintenance) {
			n.ScheduledFor, n.ScheduledUntil = at(-time.Hour), at(0)
		}, []string{"scheduled_until"}},
		"two years ahead": {func(n *maintenance) {
			n.ScheduledFor, n.ScheduledUntil = at(statuspage.MaxMaintenanceLead),
				at(statuspage.MaxMaintenanceLead+time.Hour)
		}, nil},
		"further ahead": {func(n *maintenance) {
			n.ScheduledFor, n.ScheduledUntil = at(statuspage.MaxMaintenanceLead+1),
				at(statuspage.MaxMaintenanceLead+time.Hour)
		}, []string{"scheduled_for"}},
		"everything": {func(n *maintenance) {
			*n = maintenance{
				Components: statuspage.ComponentRefs("a", "a"), Updates: []statuspage.MaintenanceUpdate{{}},
				RemindBefore: -1,
			}
		}, []string{"title", "message", "scheduled_for", "scheduled_until", "components", "remind_before"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkFields(t, resource.PlanMaintenance(new(maintenance), func(m *maintenance) error {
				err := disks(m)
				c.change(m)
				return err
			}, epoch), c.bad...)
		})
	}
}

// TestMaintenanceProgress checks what can be changed in each state.
func TestMaintenanceProgress(t *testing.T) {
	now := at(2*time.Hour + time.Minute)
	for name, c := range map[string]struct {
		ch  maintenance
		bad map[statuspage.MaintenanceState][]string // by state; verifying is like in progress
	}{
		"nothing": {maintenance{}, nil},
		"a title": {maintenance{Title: "x"}, nil},
		"components": {maintenance{Components: statuspage.ComponentRefs("a")},
			map[statuspage.MaintenanceState][]string{completed: {"components"}}},
		"another time": {maintenance{ScheduledFor: at(4 * time.Hour), ScheduledUntil: at(5 * time.Hour)},
			map[statuspage.MaintenanceState][]string{
				inProgress: {"scheduled_for"}, completed: {"scheduled_for", "scheduled_until"},
			}},
		"a later end": {maintenance{ScheduledUntil: at(5 * time.Hour)},
			map[statuspage.MaintenanceState][]string{completed: {"scheduled_until"}}},
		"an end shortly after now": {maintenance{ScheduledUntil: now.Add(1)},
			map[statuspage.MaintenanceState][]string{completed: {"scheduled_until"}}},
		"an end now": {maintenance{ScheduledUntil: now},
			map[statuspage.MaintenanceState][]string{
				scheduled: {"scheduled_until"}, inProgress: {"scheduled_until"}, completed: {"scheduled_until"},
			}},
		"an end too late": {maintenance{
			ScheduledUntil: at(2*time.Hour + statuspage.MaxMaintenanceLength + 1),
		}, map[statuspage.MaintenanceState][]string{
			scheduled: {"scheduled_until"}, inProgress: {"scheduled_until"}, completed: {"scheduled_until"},
		}},
		"a beginning after the end": {maintenance{ScheduledFor: at(4 * time.Hour)},
			map[statuspage.MaintenanceState][]string{
				scheduled: {"scheduled_until"}, inProgress: {"scheduled_for"}, completed: {"scheduled_for"},
			}},
		"two invalid fields": {maintenance{Title: " ", State: statuspage.MaintenanceState("x")},
			map[statuspage.MaintenanceState][]string{
				scheduled: {"state", "title"}, inProgress: {"state", "title"}, completed: {"state", "title"},
			}},
		"ended, and moved": {maintenance{State: completed, ScheduledUntil: at(5 * time.Hour)},
			map[statuspage.MaintenanceState][]string{scheduled: {"state"}, completed: {"scheduled_until"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []statuspage.MaintenanceState{scheduled, inProgress, completed} {
				m := inState(s, at(2*time.Hour))
				checkFields(t, resource.ChangeMaintenance(&m, resource.Maintenance.From(c.ch), now), c.bad[s]...)
			}
			m := inState(verifying, at(2*time.Hour))
			checkFields(t, resource.ChangeMaintenance(&m, resource.Maintenance.From(c.ch), now), c.bad[inProgress]...)
		})
	}
}

// TestBeginningEarlyMoves checks that a maintenance that people begin early begins now, and keeps its
// length unless they give a new end. It is planned from 2 h to 3 h.
func TestBeginningEarlyMoves(t *testing.T) {
	for name, c := range map[string]struct {
		now         time.Duration
		ch          maintenance
		from, until time.Duration
		bad         string
	}{
		"an hour early": {time.Hour, maintenance{}, time.Hour, 2 * time.Hour, ""},
		"with another end": {time.Hour, maintenance{ScheduledUntil: at(90 * time.Minute)}, time.Hour,
			90 * time.Minute, ""},
		"with the planned end": {time.Hour, maintenance{ScheduledUntil: at(3 * time.Hour)}, time.Hour, 3 * time.Hour,
			""},
		"an end too soon": {time.Hour, maintenance{ScheduledUntil: at(time.Hour + time.Second)}, 0, 0,
			"scheduled_until"},
		"an end too late": {time.Hour, maintenance{ScheduledUntil: at(33 * 24 * time.Hour)}, 0, 0,
			"scheduled_until"},
		"with another beginning": {time.Hour, maintenance{ScheduledFor: at(150 * time.Minute)}, time.Hour,
			90 * time.Minute, ""},
		"on time":                 {150 * time.Minute, maintenance{}, 2 * time.Hour, 3 * time.Hour, ""},
		"a beginning in the past": {time.Hour, maintenance{ScheduledFor: at(0)}, 0, 3 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := planned()
			before := m
			c.ch.State = inProgress
			err := resource.ChangeMaintenance(&m, resource.Maintenance.From(c.ch), at(c.now))
			if c.bad != "" {
				checkFields(t, err, c.bad)
				return
			}
			checkFields(t, err)
			equal(t, "transition", m.TransitionFrom(before), statuspage.TransitionBegin)
			equal(t, "from", m.ScheduledFor, at(c.from))
			equal(t, "until", m.ScheduledUntil, at(c.until))
			equal(t, "begun", m.BegunAt, at(c.now))
			equal(t, "next", m.NextTransitionAt(), at(c.until))
		})
	}
}
