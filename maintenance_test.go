package allswell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"pgregory.net/rapid"
)

const (
	scheduled  = allswell.MaintenanceScheduled
	inProgress = allswell.MaintenanceInProgress
	verifying  = allswell.MaintenanceVerifying
	completed  = allswell.MaintenanceCompleted
)

// planned returns a maintenance from 2 h to 3 h after the epoch, planned at the epoch, without a
// reminder.
func planned(change ...func(*allswell.NewMaintenance)) allswell.Maintenance {
	n := newMaintenance()
	for _, ch := range change {
		ch(&n)
	}
	return n.Plan("page_1", "mnt_1", "upd_1", epoch)
}

func newMaintenance() allswell.NewMaintenance {
	return allswell.NewMaintenance{Title: "Disks", ScheduledFor: at(2 * time.Hour), ScheduledUntil: at(3 * time.Hour), RemindBefore: new(time.Duration)}
}

// inState returns a planned maintenance that was changed to a state at one instant.
func inState(s allswell.MaintenanceState, now time.Time) allswell.Maintenance {
	m := planned()
	for _, step := range map[allswell.MaintenanceState][]allswell.MaintenanceState{
		inProgress: {inProgress}, verifying: {inProgress, verifying}, completed: {inProgress, completed}}[s] {
		m.Apply(allswell.MaintenanceChange{State: &step}, now)
	}
	return m
}

// TestMaintenanceTransitions tries every change from one state to another.
func TestMaintenanceTransitions(t *testing.T) {
	const rejected = allswell.MaintenanceTransition(-1)
	for from, to := range map[allswell.MaintenanceState]map[allswell.MaintenanceState]allswell.MaintenanceTransition{
		scheduled:  {scheduled: allswell.TransitionNone, inProgress: allswell.TransitionBegin, verifying: rejected, completed: rejected, "over": rejected, "": rejected},
		inProgress: {scheduled: rejected, inProgress: allswell.TransitionNone, verifying: allswell.TransitionNone, completed: allswell.TransitionEnd, "over": rejected, "": rejected},
		verifying:  {scheduled: rejected, inProgress: allswell.TransitionNone, verifying: allswell.TransitionNone, completed: allswell.TransitionEnd, "over": rejected, "": rejected},
		completed:  {scheduled: rejected, inProgress: rejected, verifying: rejected, completed: allswell.TransitionNone, "over": rejected, "": rejected},
	} {
		for to, want := range to {
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				m := inState(from, t1)
				before := m
				err := allswell.MaintenanceChange{State: &to}.Validate(m, t2)
				if want == rejected {
					checkFields(t, err, "state")
					return
				}
				checkFields(t, err)
				equal(t, "transition", m.Apply(allswell.MaintenanceChange{State: &to}, t2), want)
				equal(t, "state", m.State, to)
				equal(t, "running", m.Running(), to == inProgress || to == verifying)
				if from == to {
					equal(t, "unchanged", m, before)
					return
				}
				equal(t, "updated at", m.UpdatedAt, t2)
				if want == allswell.TransitionBegin {
					equal(t, "begun at", m.BegunAt, t2)
				} else {
					equal(t, "begun at", m.BegunAt, before.BegunAt)
				}
				if want == allswell.TransitionEnd {
					equal(t, "ended at", m.EndedAt, t2)
				} else {
					equal(t, "ended at", m.EndedAt, before.EndedAt)
				}
			})
		}
	}
}

// TestAdvance checks single cases. Times are hours after the epoch. The maintenance is planned at the
// epoch, from 48 h to 50 h.
func TestAdvance(t *testing.T) {
	hour := func(h float64) time.Time { return at(time.Duration(h * float64(time.Hour))) }
	type step struct {
		at   float64
		want []allswell.MaintenanceTransition
		next float64 // time of the next transition; 0: none
	}
	const (
		remind, begin = allswell.TransitionRemind, allswell.TransitionBegin
		end, missed   = allswell.TransitionEnd, allswell.TransitionMissed
	)
	for name, c := range map[string]struct {
		remind *time.Duration
		steps  []step
	}{
		"on time":                {nil, []step{{0, nil, 24}, {23.999, nil, 24}, {24, []allswell.MaintenanceTransition{remind}, 48}, {30, nil, 48}, {48, []allswell.MaintenanceTransition{begin}, 50}, {49, nil, 50}, {50, []allswell.MaintenanceTransition{end}, 0}, {51, nil, 0}}},
		"no reminder":            {ptr(time.Duration(0)), []step{{0, nil, 48}, {30, nil, 48}, {48.001, []allswell.MaintenanceTransition{begin}, 50}, {50.5, []allswell.MaintenanceTransition{end}, 0}}},
		"a late reminder":        {nil, []step{{47.999, []allswell.MaintenanceTransition{remind}, 48}, {48, []allswell.MaintenanceTransition{begin}, 50}}},
		"too late to remind":     {nil, []step{{48, []allswell.MaintenanceTransition{begin}, 50}, {50, []allswell.MaintenanceTransition{end}, 0}}},
		"down at the beginning":  {nil, []step{{49.999, []allswell.MaintenanceTransition{begin}, 50}, {50, []allswell.MaintenanceTransition{end}, 0}}},
		"down throughout":        {nil, []step{{50, []allswell.MaintenanceTransition{missed}, 0}, {60, nil, 0}}},
		"down for a long time":   {nil, []step{{24, []allswell.MaintenanceTransition{remind}, 48}, {500, []allswell.MaintenanceTransition{missed}, 0}}},
		"down at the end":        {nil, []step{{48, []allswell.MaintenanceTransition{begin}, 50}, {77, []allswell.MaintenanceTransition{end}, 0}}},
		"a clock that goes back": {nil, []step{{48, []allswell.MaintenanceTransition{begin}, 50}, {40, nil, 50}, {50, []allswell.MaintenanceTransition{end}, 0}, {49, nil, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := planned(func(n *allswell.NewMaintenance) {
				n.ScheduledFor, n.ScheduledUntil, n.RemindBefore = hour(48), hour(50), c.remind
			})
			for _, step := range c.steps {
				var got []allswell.MaintenanceTransition
				for transition := m.Advance(hour(step.at)); transition != allswell.TransitionNone; transition = m.Advance(hour(step.at)) {
					got = append(got, transition)
					switch transition {
					case begin:
						equal(t, "begun", m.BegunAt, hour(step.at))
					case end:
						equal(t, "ended", m.EndedAt, hour(step.at))
					case missed:
						equal(t, "begun, as planned", m.BegunAt, hour(48))
						equal(t, "ended, as planned", m.EndedAt, hour(50))
					}
					if transition != remind {
						equal(t, "updated", m.UpdatedAt, hour(step.at))
					}
				}
				if !slices.Equal(got, step.want) {
					t.Fatalf("at %v: transitions %v, want %v", step.at, got, step.want)
				}
				want := time.Time{}
				if step.next > 0 {
					want = hour(step.next)
				}
				equal(t, fmt.Sprint("the next transition after ", step.at), m.NextTransitionAt(), want)
			}
		})
	}
}

// TestMaintenanceInvariants checks rules that hold after any sequence of changes and transitions: a
// maintenance never goes back, its next transition is in the future, and each happens once.
func TestMaintenanceInvariants(t *testing.T) {
	order := func(m allswell.Maintenance) int {
		return map[allswell.MaintenanceState]int{scheduled: 0, inProgress: 1, verifying: 1, completed: 2}[m.State]
	}
	rapid.Check(t, func(t *rapid.T) {
		duration := func(name string, least, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(least.Milliseconds(), most.Milliseconds()).Draw(t, name+" ms")) * time.Millisecond
		}
		reminder := rapid.SampledFrom([]time.Duration{0, time.Hour, allswell.DefaultRemindBefore, allswell.MaxRemindBefore})
		now := epoch
		n := newMaintenance()
		n.ScheduledFor = now.Add(duration("ahead", -time.Hour, 30*24*time.Hour))
		n.ScheduledUntil = n.ScheduledFor.Add(duration("length", time.Hour+time.Second, 48*time.Hour))
		n.RemindBefore = rapid.Ptr(reminder, true).Draw(t, "reminder")
		if err := n.Validate(now); err != nil {
			t.Fatal(err)
		}
		m := n.Plan("page_1", "mnt_1", "upd_1", now)
		begun, ended := 0, 0
		seen := func(transition allswell.MaintenanceTransition, before allswell.Maintenance) {
			switch transition {
			case allswell.TransitionBegin:
				begun++
			case allswell.TransitionEnd:
				ended++
			case allswell.TransitionMissed:
				begun++
				ended++
			}
			if order(m) < order(before) || m.Running() != (begun > ended) || begun > 1 || ended > 1 {
				t.Fatalf("transition %d from %+v to %+v", transition, before, m)
			}
			if m.BegunAt.IsZero() == (begun == 1) || m.EndedAt.IsZero() == (ended == 1) || ended == 1 && m.EndedAt.Before(m.BegunAt) {
				t.Fatalf("begun %d and ended %d times: %+v", begun, ended, m)
			}
		}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			now = now.Add(duration("later", 0, 10*24*time.Hour))
			if rapid.Bool().Draw(t, "a person") {
				ch := allswell.MaintenanceChange{State: rapid.Ptr(rapid.SampledFrom(allswell.MaintenanceStates), true).Draw(t, "state"),
					RemindBefore: rapid.Ptr(reminder, true).Draw(t, "remind")}
				if rapid.Bool().Draw(t, "move") {
					ch.ScheduledFor = ptr(now.Add(duration("from", -time.Hour, 20*24*time.Hour)))
				}
				if rapid.Bool().Draw(t, "extend") {
					ch.ScheduledUntil = ptr(now.Add(duration("until", -time.Hour, 20*24*time.Hour)))
				}
				if ch.Validate(m, now) != nil {
					continue // rejected, so never applied
				}
				before := m
				seen(m.Apply(ch, now), before)
			}
			for count := 0; ; count++ {
				before := m
				transition := m.Advance(now)
				seen(transition, before)
				if transition == allswell.TransitionNone {
					if next := m.NextTransitionAt(); !next.IsZero() && !next.After(now) {
						t.Fatalf("nothing happens at %v, and the next transition is at %v: %++v", now, next, m)
					}
					break
				}
				if transition == allswell.TransitionRemind && (m.RemindBefore == 0 || !now.Before(m.ScheduledFor) || m.State != scheduled || !m.RemindedAt.Equal(now)) {
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
	plan := func(now time.Time) allswell.Maintenance {
		n := newMaintenance()
		n.ScheduledFor, n.ScheduledUntil, n.RemindBefore = day(10), day(10.5), nil
		return n.Plan("page_1", "mnt_1", "upd_1", now)
	}
	change := func(m *allswell.Maintenance, now time.Time, ch allswell.MaintenanceChange) {
		t.Helper()
		checkFields(t, ch.Validate(*m, now))
		m.Apply(ch, now)
	}
	m := plan(day(0))
	equal(t, "a day before", m.NextTransitionAt(), day(9))
	m = plan(day(9))
	equal(t, "planned at the last moment: no reminder", m.NextTransitionAt(), day(10))
	equal(t, "the reminder is skipped", m.RemindedAt, day(9))
	m = plan(day(9.5))
	change(&m, day(9.6), allswell.MaintenanceChange{ScheduledFor: ptr(day(12)), ScheduledUntil: ptr(day(12.5))})
	equal(t, "moved to a later time: a reminder", m.NextTransitionAt(), day(11))
	equal(t, "reminded", m.Advance(day(11)), allswell.TransitionRemind)
	change(&m, day(11.1), allswell.MaintenanceChange{Title: ptr("Other"), ScheduledUntil: ptr(day(12.6)), RemindBefore: ptr(24 * time.Hour)})
	equal(t, "another end: no second reminder", m.NextTransitionAt(), day(12))
	change(&m, day(11.2), allswell.MaintenanceChange{ScheduledFor: ptr(day(12.1))})
	equal(t, "moved by less than the time of the reminder: no second reminder", m.NextTransitionAt(), day(12.1))
	change(&m, day(11.3), allswell.MaintenanceChange{RemindBefore: ptr(time.Hour)})
	equal(t, "another reminder", m.NextTransitionAt(), day(12.1).Add(-time.Hour))
	change(&m, day(11.4), allswell.MaintenanceChange{RemindBefore: new(time.Duration)})
	equal(t, "none", m.NextTransitionAt(), day(12.1))
	change(&m, day(11.5), allswell.MaintenanceChange{ScheduledFor: ptr(day(12.2))})
	equal(t, "no reminder, wherever it moves", m.NextTransitionAt(), day(12.2))
}

func TestNewMaintenanceIsChecked(t *testing.T) {
	many := make([]string, allswell.MaxAffectedComponents+1)
	for i := range many {
		many[i] = fmt.Sprint("comp_", i)
	}
	for name, c := range map[string]struct {
		change func(n *allswell.NewMaintenance)
		bad    []string
	}{
		"valid":                       {func(*allswell.NewMaintenance) {}, nil},
		"no title":                    {func(n *allswell.NewMaintenance) { n.Title = " " }, []string{"title"}},
		"a long title":                {func(n *allswell.NewMaintenance) { n.Title = strings.Repeat("ü", allswell.MaxTitleLength+1) }, []string{"title"}},
		"a blank message":             {func(n *allswell.NewMaintenance) { n.Message = ptr("\n") }, []string{"message"}},
		"no times":                    {func(n *allswell.NewMaintenance) { n.ScheduledFor, n.ScheduledUntil = time.Time{}, time.Time{} }, []string{"scheduled_for", "scheduled_until"}},
		"no beginning":                {func(n *allswell.NewMaintenance) { n.ScheduledFor = time.Time{} }, []string{"scheduled_for"}},
		"no end":                      {func(n *allswell.NewMaintenance) { n.ScheduledUntil = time.Time{} }, []string{"scheduled_until"}},
		"an end before the beginning": {func(n *allswell.NewMaintenance) { n.ScheduledUntil = at(time.Hour) }, []string{"scheduled_until"}},
		"a minute":                    {func(n *allswell.NewMaintenance) { n.ScheduledUntil = n.ScheduledFor.Add(time.Minute) }, nil},
		"less than a minute":          {func(n *allswell.NewMaintenance) { n.ScheduledUntil = n.ScheduledFor.Add(time.Minute - 1) }, []string{"scheduled_until"}},
		"31 days":                     {func(n *allswell.NewMaintenance) { n.ScheduledUntil = n.ScheduledFor.Add(allswell.MaxMaintenanceLength) }, nil},
		"longer": {func(n *allswell.NewMaintenance) {
			n.ScheduledUntil = n.ScheduledFor.Add(allswell.MaxMaintenanceLength + 1)
		}, []string{"scheduled_until"}},
		"begun already": {func(n *allswell.NewMaintenance) { n.ScheduledFor = at(-time.Hour) }, nil},
		"over already":  {func(n *allswell.NewMaintenance) { n.ScheduledFor, n.ScheduledUntil = at(-time.Hour), at(0) }, []string{"scheduled_until"}},
		"two years ahead": {func(n *allswell.NewMaintenance) {
			n.ScheduledFor, n.ScheduledUntil = at(allswell.MaxMaintenanceLead), at(allswell.MaxMaintenanceLead+time.Hour)
		}, nil},
		"further ahead": {func(n *allswell.NewMaintenance) {
			n.ScheduledFor, n.ScheduledUntil = at(allswell.MaxMaintenanceLead+1), at(allswell.MaxMaintenanceLead+time.Hour)
		}, []string{"scheduled_for"}},
		"the longest reminder":        {func(n *allswell.NewMaintenance) { n.RemindBefore = ptr(allswell.MaxRemindBefore) }, nil},
		"a reminder too early":        {func(n *allswell.NewMaintenance) { n.RemindBefore = ptr(allswell.MaxRemindBefore + time.Second) }, []string{"remind_before"}},
		"a reminder of half a second": {func(n *allswell.NewMaintenance) { n.RemindBefore = ptr(500 * time.Millisecond) }, []string{"remind_before"}},
		"a negative reminder":         {func(n *allswell.NewMaintenance) { n.RemindBefore = ptr(-time.Second) }, []string{"remind_before"}},
		"500 components":              {func(n *allswell.NewMaintenance) { n.Components = many[1:] }, nil},
		"501":                         {func(n *allswell.NewMaintenance) { n.Components = many }, []string{"components"}},
		"one twice":                   {func(n *allswell.NewMaintenance) { n.Components = []string{"a", "b", "a"} }, []string{"components"}},
		"everything": {func(n *allswell.NewMaintenance) {
			*n = allswell.NewMaintenance{Components: []string{"a", "a"}, Message: ptr(""), RemindBefore: ptr(time.Duration(-1))}
		}, []string{"title", "message", "scheduled_for", "scheduled_until", "components", "remind_before"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newMaintenance()
			c.change(&n)
			checkFields(t, n.Validate(epoch), c.bad...)
		})
	}
}

func TestMaintenanceChangeIsChecked(t *testing.T) {
	type change = allswell.MaintenanceChange
	now := at(2*time.Hour + time.Minute)
	for name, c := range map[string]struct {
		ch  change
		bad map[allswell.MaintenanceState][]string // by state; verifying is like in progress
	}{
		"nothing":                   {change{}, nil},
		"a title":                   {change{Title: ptr("x")}, nil},
		"no title":                  {change{Title: ptr("")}, map[allswell.MaintenanceState][]string{scheduled: {"title"}, inProgress: {"title"}, completed: {"title"}}},
		"components":                {change{Components: &[]string{"a"}}, map[allswell.MaintenanceState][]string{completed: {"components"}}},
		"one twice":                 {change{Components: &[]string{"a", "a"}}, map[allswell.MaintenanceState][]string{scheduled: {"components"}, inProgress: {"components"}, completed: {"components"}}},
		"another time":              {change{ScheduledFor: ptr(at(4 * time.Hour)), ScheduledUntil: ptr(at(5 * time.Hour))}, map[allswell.MaintenanceState][]string{inProgress: {"scheduled_for"}, completed: {"scheduled_for", "scheduled_until"}}},
		"a later end":               {change{ScheduledUntil: ptr(at(5 * time.Hour))}, map[allswell.MaintenanceState][]string{completed: {"scheduled_until"}}},
		"an end shortly after now":  {change{ScheduledUntil: ptr(now.Add(1))}, map[allswell.MaintenanceState][]string{completed: {"scheduled_until"}}},
		"an end now":                {change{ScheduledUntil: ptr(now)}, map[allswell.MaintenanceState][]string{scheduled: {"scheduled_until"}, inProgress: {"scheduled_until"}, completed: {"scheduled_until"}}},
		"an end too late":           {change{ScheduledUntil: ptr(at(2*time.Hour + allswell.MaxMaintenanceLength + 1))}, map[allswell.MaintenanceState][]string{scheduled: {"scheduled_until"}, inProgress: {"scheduled_until"}, completed: {"scheduled_until"}}},
		"a beginning after the end": {change{ScheduledFor: ptr(at(4 * time.Hour))}, map[allswell.MaintenanceState][]string{scheduled: {"scheduled_until"}, inProgress: {"scheduled_for"}, completed: {"scheduled_for"}}},
		"an invalid reminder":       {change{RemindBefore: ptr(time.Duration(1))}, map[allswell.MaintenanceState][]string{scheduled: {"remind_before"}, inProgress: {"remind_before"}, completed: {"remind_before"}}},
		"two invalid fields":        {change{Title: ptr(" "), State: ptr(allswell.MaintenanceState("x"))}, map[allswell.MaintenanceState][]string{scheduled: {"state", "title"}, inProgress: {"state", "title"}, completed: {"state", "title"}}},
		"ended, and moved":          {change{State: ptr(completed), ScheduledUntil: ptr(at(5 * time.Hour))}, map[allswell.MaintenanceState][]string{scheduled: {"state"}, completed: {"scheduled_until"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []allswell.MaintenanceState{scheduled, inProgress, completed} {
				checkFields(t, c.ch.Validate(inState(s, at(2*time.Hour)), now), c.bad[s]...)
			}
			checkFields(t, c.ch.Validate(inState(verifying, at(2*time.Hour)), now), c.bad[inProgress]...)
		})
	}
}

// TestBeginningEarlyMoves checks that a maintenance that people begin early begins now, and keeps its
// length unless they give a new end. It is planned from 2 h to 3 h.
func TestBeginningEarlyMoves(t *testing.T) {
	begin := inProgress
	for name, c := range map[string]struct {
		now         time.Duration
		ch          allswell.MaintenanceChange
		from, until time.Duration
		bad         string
	}{
		"an hour early":           {time.Hour, allswell.MaintenanceChange{}, time.Hour, 2 * time.Hour, ""},
		"with another end":        {time.Hour, allswell.MaintenanceChange{ScheduledUntil: ptr(at(90 * time.Minute))}, time.Hour, 90 * time.Minute, ""},
		"with the planned end":    {time.Hour, allswell.MaintenanceChange{ScheduledUntil: ptr(at(3 * time.Hour))}, time.Hour, 3 * time.Hour, ""},
		"an end too soon":         {time.Hour, allswell.MaintenanceChange{ScheduledUntil: ptr(at(time.Hour + time.Second))}, 0, 0, "scheduled_until"},
		"an end too late":         {time.Hour, allswell.MaintenanceChange{ScheduledUntil: ptr(at(33 * 24 * time.Hour))}, 0, 0, "scheduled_until"},
		"with another beginning":  {time.Hour, allswell.MaintenanceChange{ScheduledFor: ptr(at(150 * time.Minute))}, time.Hour, 90 * time.Minute, ""},
		"on time":                 {150 * time.Minute, allswell.MaintenanceChange{}, 2 * time.Hour, 3 * time.Hour, ""},
		"a beginning in the past": {time.Hour, allswell.MaintenanceChange{ScheduledFor: ptr(at(0))}, 0, 3 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := planned()
			c.ch.State = &begin
			err := c.ch.Validate(m, at(c.now))
			if c.bad != "" {
				checkFields(t, err, c.bad)
				return
			}
			checkFields(t, err)
			equal(t, "transition", m.Apply(c.ch, at(c.now)), allswell.TransitionBegin)
			equal(t, "from", m.ScheduledFor, at(c.from))
			equal(t, "until", m.ScheduledUntil, at(c.until))
			equal(t, "begun", m.BegunAt, at(c.now))
			equal(t, "next", m.NextTransitionAt(), at(c.until))
		})
	}
}

// TestMaintenanceUpdates checks that each update has the state in which it was written.
func TestMaintenanceUpdates(t *testing.T) {
	m := planned(func(n *allswell.NewMaintenance) { n.Message = ptr("We replace disks.") })
	equal(t, "the first", m.Updates, []allswell.MaintenanceUpdate{{ID: "upd_1", MaintenanceID: "mnt_1", Number: 1, Message: "We replace disks.", State: scheduled, CreatedAt: epoch}})
	m.Apply(allswell.MaintenanceChange{State: ptr(inProgress)}, t1)
	u := m.AddUpdate("upd_2", "Begun.", 2, t2)
	equal(t, "the second", u, allswell.MaintenanceUpdate{ID: "upd_2", MaintenanceID: "mnt_1", Number: 2, Message: "Begun.", State: inProgress, CreatedAt: t2})
	equal(t, "updated at", m.UpdatedAt, t2)
	equal(t, "updates", len(m.Updates), 2)
	for transition, announced := range map[allswell.MaintenanceTransition]bool{allswell.TransitionNone: false, allswell.TransitionRemind: false, allswell.TransitionBegin: true, allswell.TransitionEnd: true, allswell.TransitionMissed: true} {
		if got := transition.Message() != ""; got != announced {
			t.Errorf("transition %d has the message %q", transition, transition.Message())
		}
	}
	for _, s := range allswell.MaintenanceStates {
		if s.Label() == "" || !s.Valid() {
			t.Errorf("state %q", s)
		}
	}
}

// TestMaintenanceEvents checks that an event describes the maintenance at its time.
func TestMaintenanceEvents(t *testing.T) {
	m := planned()
	m.Components = []allswell.ComponentName{{ID: "comp_1", Name: "API"}, {ID: "comp_2", Name: "Web"}}
	auto := allswell.SystemMessage{Kind: allswell.SystemMessageMaintenanceBegun}
	equal(t, "event", allswell.NewMaintenanceEvent(allswell.EventMaintenanceScheduled, m, &allswell.MaintenanceUpdate{ID: "upd_1", Message: "m", System: auto}), allswell.Event{
		Kind: "maintenance.scheduled", PageID: "page_1", MaintenanceID: "mnt_1", UpdateID: "upd_1", Components: []string{"comp_1", "comp_2"},
		Data: allswell.EventData{Title: "Disks", Message: "m", System: auto, Maintenance: &allswell.MaintenanceData{
			State: scheduled, ScheduledFor: at(2 * time.Hour), ScheduledUntil: at(3 * time.Hour), Components: m.Components}},
	})
	m.Components = nil
	if e := allswell.NewMaintenanceEvent(allswell.EventMaintenanceBegun, m, nil); len(e.Components) > 0 || e.UpdateID != "" {
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
		return at(seconds(s))
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
			m := allswell.Monitor{MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorUp, ConsecutiveFailures: 2, SuppressedUntil: instant(c.before)}}
			want := instant(c.want)
			if c.want == 0.0001 {
				want = epoch
			}
			changed := m.Suppress(instant(c.until), epoch)
			equal(t, "suppressed until", m.SuppressedUntil, want)
			equal(t, "changed", changed, !want.Equal(instant(c.before)))
			equal(t, "count", m.ConsecutiveFailures == 0, changed)
		})
	}
	down := allswell.Monitor{MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorDown, ConsecutiveFailures: 3}}
	down.Suppress(at(time.Minute), epoch)
	equal(t, "a monitor that is down stays down", down, allswell.Monitor{MonitorStatus: allswell.MonitorStatus{State: allswell.MonitorDown, ConsecutiveFailures: 3, SuppressedUntil: at(time.Minute)}})
}

// TestSuppressedDeadline checks that the end of a maintenance counts as a sign of life.
func TestSuppressedDeadline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait, gaps := drawWait(t), drawGaps(t)
		plain := wait.Deadline(gaps)
		wait.SuppressedUntil = at(time.Duration(rapid.Int64Range(-100_000, 5_000_000).Draw(t, "suppressed ms")) * time.Millisecond)
		due := wait.Deadline(gaps)
		if due.Before(plain) {
			t.Fatalf("suppressed until %v, the deadline is %v; without, it is %v", wait.SuppressedUntil, due, plain)
		}
		if wait.Cron.IsZero() && due.Before(wait.SuppressedUntil.Add(wait.Interval)) && wait.SuppressedUntil.After(wait.Since) {
			t.Fatalf("due %v, before a fresh interval from %v", due, wait.SuppressedUntil)
		}
		fresh := allswell.PingWait{Since: wait.SuppressedUntil, Interval: wait.Interval, Cron: wait.Cron, Grace: wait.Grace}.Deadline(gaps)
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
		later.SuppressedUntil = wait.SuppressedUntil.Add(time.Duration(rapid.Int64Range(0, 100_000).Draw(t, "extended ms")) * time.Millisecond)
		if got := later.Deadline(nil); got.Before(wait.Deadline(nil)) {
			t.Fatalf("a longer maintenance makes the deadline earlier: %v after %v", got, wait.Deadline(nil))
		}
	})
	undisturbed := allswell.PingWait{Since: epoch, Interval: time.Hour, SuppressedUntil: at(10 * time.Hour)}
	equal(t, "without faults, one interval after its end", undisturbed.Deadline(nil), at(11*time.Hour))
}
