package alert

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestOverrideWithoutParticipant checks what is said of an override whose participant is removed.
func TestOverrideWithoutParticipant(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	o := OnCall{
		Name: "Ops", Zone: "Europe/Berlin", HandOverDay: "mon",
		Participants: []Participant{{Name: "Ann", ChannelIDs: []string{"chn_1"}}},
		Overrides:    []Override{{ID: "ovr_1", Participant: "Bob", StartsAt: at, EndsAt: at.Add(time.Hour)}},
	}
	before := o.Overrides
	err := problemsOf(o, at, before)
	if err == nil ||
		!strings.Contains(err.Error(), `"Bob" has an override until 2026-11-21 10:00 +01:00; delete it first.`) {
		t.Errorf("removing a participant with an override: %v", err)
	}
	o.Overrides = []Override{{ID: "ovr_1", Participant: "Bob", StartsAt: at.Add(-time.Hour), EndsAt: at}}
	if err := problemsOf(o, at, before); err != nil {
		t.Errorf("of an override that has ended: %v", err)
	}
	for what, change := range map[string]func(*Override){
		"a new override":              func(v *Override) { v.ID = "" },
		"an id of no override":        func(v *Override) { v.ID = "ovr_2" },
		"a name that it did not have": func(v *Override) { v.Participant = "Eve" },
		"lines that it did not have":  func(v *Override) { v.Participant = "Bob\n\u202e" },
	} {
		v := o.Overrides[0]
		change(&v)
		changed := o
		changed.Overrides = []Override{v}
		err := problemsOf(changed, at, before)
		if err == nil || !strings.Contains(err.Error(), "must name a participant") {
			t.Errorf("an override of nobody, %s: %v", what, err)
		}
	}
}

// TestTimesOfOverrides checks which times overrides may have. Overrides that the schedule already has may keep theirs.
func TestTimesOfOverrides(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	o := OnCall{
		Name: "Ops", Zone: "UTC", HandOverDay: "mon",
		Participants: []Participant{{Name: "Ann", ChannelIDs: []string{"chn_1"}}},
	}
	override := func(starts, ends time.Time) Override {
		return Override{ID: "ovr_1", Participant: "Ann", StartsAt: starts, EndsAt: ends}
	}
	five := now.AddDate(5, 0, 0)
	for _, tt := range []struct {
		what  string
		given Override
		want  string
	}{
		{"ending now", override(now.Add(-time.Hour), now), "must end in the future"},
		{"ending soon", override(now.Add(-time.Hour), now.Add(time.Second)), ""},
		{"a year", override(now, now.Add(MaxOverrideLength)), ""},
		{"longer", override(now, now.Add(MaxOverrideLength+time.Second)), "at most 366 days"},
		{"in five years", override(five, five.Add(time.Hour)), ""},
		{"later", override(five.Add(time.Second), five.Add(time.Hour)), "at most 5 years ahead"},
	} {
		o.Overrides = []Override{tt.given}
		err := problemsOf(o, now, nil)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("problems of an override, %s: %v", tt.what, err)
		}
		if err := problemsOf(o, now, o.Overrides); err != nil {
			t.Errorf("problems of an unchanged override, %s: %v", tt.what, err)
		}
	}
	before := []Override{override(now.Add(-time.Hour), now.Add(time.Hour))}
	o.Overrides = []Override{override(before[0].StartsAt, now)}
	if err := problemsOf(o, now, before); err != nil {
		t.Errorf("ended early: %v", err)
	}
	o.Overrides = []Override{override(before[0].StartsAt, five)}
	if err := problemsOf(o, now, before); err == nil {
		t.Error("an override was made too long")
	}
}

// TestReplacedOverrides checks which parts of an override newer ones replace.
func TestReplacedOverrides(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 21, hour, 0, 0, 0, time.UTC) }
	override := func(name string, from, until int) Override {
		return Override{Participant: name, StartsAt: at(from), EndsAt: at(until)}
	}
	o := OnCall{Zone: "UTC", HandOverDay: "mon", Participants: []Participant{{Name: "Ann"}, {Name: "Bob"}}}
	for _, c := range []struct {
		newer []Override
		want  string
	}{
		{nil, ""},
		{[]Override{override("Bob", 1, 8), override("Bob", 18, 20)}, ""},
		{[]Override{override("Bob", 1, 20)}, "Bob 8-18"},
		{[]Override{override("Bob", 10, 12), override("Bob", 12, 14), override("Ann", 17, 20)}, "Bob 10-14 Ann 17-18"},
		{[]Override{override("Bob", 10, 12), override("Ann", 11, 13), override("Bob", 11, 13)}, "Bob 10-13"},
		{[]Override{override("gone", 1, 20)}, ""},
	} {
		o.Overrides = append([]Override{override("Bob", 1, 20), override("Ann", 8, 18)}, c.newer...)
		var got []string
		for _, part := range o.Replaced(1) {
			got = append(got, fmt.Sprintf("%s %d-%d", part.Participant.Name, part.StartsAt.Hour(), part.EndsAt.Hour()))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("override replaced by %v: %v, want %s", c.newer, got, c.want)
		}
	}
	o.Overrides = []Override{override("gone", 8, 18)}
	if turns := o.Turns(at(9), at(10)); len(turns) != 1 || turns[0].Override {
		t.Errorf("of somebody who is no participant: %v", turns)
	}
}

// TestFirstDay creates schedules at all hours of a week: the first participant is on call.
func TestFirstDay(t *testing.T) {
	for hour := range 7 * 24 {
		at := time.Date(2026, 11, 30, hour, 0, 0, 0, time.UTC) // a Monday
		o := OnCall{
			Zone: "Europe/Berlin", HandOverDay: "mon", HandOverAt: 9 * 60,
			Participants: []Participant{{Name: "Ada"}, {Name: "Bob"}},
		}
		o.StartsOn = o.FirstDay(at)
		local := at.In(o.Location())
		want := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
		if local.Weekday() == time.Monday && local.Hour() < 9 {
			want = want.AddDate(0, 0, -1)
		}
		if o.turn(at) != 0 || !o.StartsOn.Equal(want) {
			t.Errorf("at %s: participant %d, from %s", at, o.turn(at), o.StartsOn)
		}
	}
}
