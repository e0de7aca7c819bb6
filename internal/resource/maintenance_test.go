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

// TestMaintenanceInvariants checks rules that hold after any sequence of changes and transitions: a
// maintenance never goes back, its next transition is in the future, and each happens once.
func TestMaintenanceInvariants(t *testing.T) {
	order := func(m maintenance) int {
		return map[statuspage.MaintenanceState]int{scheduled: 0, inProgress: 1, verifying: 1, completed: 2}[m.State]
	}
	rapid.Check(t, func(t *rapid.T) {
		duration := func(name string, least, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(least.Milliseconds(), most.Milliseconds()).Draw(t,
				name+" ms")) * time.Millisecond
		}
		reminder := rapid.SampledFrom([]time.Duration{
			0, time.Hour, statuspage.DefaultRemindBefore, statuspage.MaxRemindBefore,
		})
		now := epoch
		var m maintenance
		if err := resource.PlanMaintenance(&m, func(m *maintenance) error {
			m.Title, m.ScheduledFor = "Disks", now.Add(duration("ahead", -time.Hour, 30*24*time.Hour))
			m.ScheduledUntil = m.ScheduledFor.Add(duration("length", time.Hour+time.Second, 48*time.Hour))
			m.RemindBefore = reminder.Draw(t, "reminder")
			return nil
		}, now); err != nil {
			t.Fatal(err)
		}
		begun, ended := 0, 0
		seen := func(transition statuspage.MaintenanceTransition, before maintenance) {
			switch transition {
			case statuspage.TransitionBegin:
				begun++
			case statuspage.TransitionEnd:
				ended++
			case statuspage.TransitionMissed:
				begun++
				ended++
			}
			if order(m) < order(before) || m.Running() != (begun > ended) || begun > 1 || ended > 1 {
				t.Fatalf("transition %d from %+v to %+v", transition, before, m)
			}
			if m.BegunAt.IsZero() == (begun == 1) || m.EndedAt.IsZero() == (ended == 1) ||
				ended == 1 && m.EndedAt.Before(m.BegunAt) {
				t.Fatalf("begun %d and ended %d times: %+v", begun, ended, m)
			}
		}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			now = now.Add(duration("later", 0, 10*24*time.Hour))
			if rapid.Bool().Draw(t, "a person") {
				var ch maintenance
				if rapid.Bool().Draw(t, "another state") {
					ch.State = rapid.SampledFrom(statuspage.MaintenanceStates).Draw(t, "state")
				}
				if rapid.Bool().Draw(t, "another reminder") {
					ch.RemindBefore = reminder.Draw(t, "remind")
				}
				if rapid.Bool().Draw(t, "move") {
					ch.ScheduledFor = now.Add(duration("from", -time.Hour, 20*24*time.Hour))
				}
				if rapid.Bool().Draw(t, "extend") {
					ch.ScheduledUntil = now.Add(duration("until", -time.Hour, 20*24*time.Hour))
				}
				changed := m
				if resource.ChangeMaintenance(&changed, resource.Maintenance.From(ch), now) != nil {
					continue // rejected
				}
				before := m
				m = changed
				seen(m.TransitionFrom(before), before)
			}
			for count := 0; ; count++ {
				before := m
				transition := m.Advance(now)
				seen(transition, before)
				if transition == statuspage.TransitionNone {
					if next := m.NextTransitionAt(); !next.IsZero() && !next.After(now) {
						t.Fatalf("nothing happens at %v, and the next transition is at %v: %++v", now, next, m)
					}
					break
				}
				if transition == statuspage.TransitionRemind &&
					(m.RemindBefore == 0 || !now.Before(m.ScheduledFor) || m.State != scheduled ||
						!m.RemindedAt.Equal(now)) {
					t.Fatalf("reminded at %v: %+v", now, m)
				}
				if count > 3 {
					t.Fatalf("too many transitions: %+v", m)
				}
			}
			if next := m.NextTransitionAt(); next.IsZero() != (m.State == completed) {
				t.Fatalf("next transition %v of %+v", next, m)
			}
		}
	})
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
