package alert

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// refused returns the messages about a field.
func refused(t *testing.T, err error, field string) (messages []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*kernel.ValidationError](err)
	if !ok {
		t.Fatalf("the error is %v, not a *ValidationError", err)
	}
	if len(invalid.Messages()) != 1 {
		t.Errorf("about other fields than %s: %v", field, invalid)
	}
	return invalid.Messages()[field]
}

// checkRefusal compares the messages about a field with one that is expected; "": none.
func checkRefusal(t *testing.T, what string, err error, field, want string) {
	t.Helper()
	got := refused(t, err, field)
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
		t.Errorf("%s: %q, want %q about %s", what, got, want, field)
	}
}

// problemsOf returns what is wrong with the participants and overrides of a schedule.
func problemsOf(o OnCall, now time.Time, before []Override) error {
	var bad kernel.ValidationError
	o.Check(&bad, now, before)
	return bad.Err()
}

// TestRefusedNames gives every object of the area names that it must refuse, and some that it accepts.
func TestRefusedNames(t *testing.T) {
	validate := map[string]func(name string) error{
		PrefixChannel: func(name string) error {
			var bad kernel.ValidationError
			kernel.CheckLine(&bad, "name", name, kernel.MaxNameLength)
			CheckReserved(&bad, name, PrefixChannel)
			return bad.Err()
		},
	}
	long := strings.Repeat("é", kernel.MaxNameLength)
	for prefix, err := range validate {
		for name, want := range map[string]string{
			"Ops": "", long: "", "": "name", long + "é": "name", "two\nlines": "name",
			"test": "reserve this word", "new": "reserve this word", ".": "a URL cannot contain",
			"..":         "a URL cannot contain",
			prefix + "1": "must not begin with", "tests": "", "...": "", prefix[:3]: "",
		} {
			checkRefusal(t, prefix+" named "+name, err(name), "name", want)
		}
	}
}

// TestRefusedOnCall checks zone, day, names of participants, and each rule for overrides that are new, unchanged or
// moved.
func TestRefusedOnCall(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	override := func(id, name string, from, until time.Duration) []Override {
		return []Override{{ID: id, Participant: name, StartsAt: now.Add(from), EndsAt: now.Add(until)}}
	}
	far := now.AddDate(MaxOverrideYearsAhead, 0, 0).Sub(now)
	before := append(append(override("old", "Bob", -2*time.Hour, -time.Hour),
		override("far", "Ann", far+time.Hour, far+2*time.Hour)...),
		override("long", "Ann", 0, MaxOverrideLength+time.Hour)...)
	for _, c := range []struct {
		field, want string
		change      func(*OnCall)
		overrides   []Override
	}{
		{"participants", "unique name", func(o *OnCall) { o.Participants[0].Name = "" }, nil},
		{"participants", "unique name", func(o *OnCall) {
			o.Participants[0].Name = strings.Repeat("é", kernel.MaxNameLength+1)
		}, nil},
		{"participants", "", func(o *OnCall) {
			o.Participants[0].Name = strings.Repeat("é", kernel.MaxNameLength)
		}, nil},
		{"overrides", "", nil, override("", "ann", 0, time.Second)},
		{"overrides", `"Zoe" is none`, nil, override("", "Zoe", 0, time.Hour)},
		{"overrides", "have a start", nil, []Override{{Participant: "Ann", EndsAt: now.Add(time.Hour)}}},
		{"overrides", "end after it", nil, override("", "Ann", time.Hour, time.Hour)},
		{"overrides", "end in the future", nil, override("", "Ann", -time.Hour, 0)},
		{"overrides", "", nil, override("", "Ann", 0, MaxOverrideLength)},
		{"overrides", "at most 366 days", nil, override("", "Ann", 0, MaxOverrideLength+1)},
		{"overrides", "", nil, override("", "Ann", far, far+time.Hour)},
		{"overrides", "at most 5 years", nil, override("", "Ann", far+1, far+time.Hour)},
		{"overrides", "", nil, before},
		{"overrides", `"Eve" is none`, nil, override("old", "Eve", -2*time.Hour, -time.Hour)},
		{"overrides", `"Bob" has an override until 2026-11-21 09:00 +00:00`, nil,
			override("old", "Bob", -2*time.Hour, time.Hour)},
		{"overrides", "at most 5 years", nil, override("far", "Ann", far+time.Hour, far+3*time.Hour)},
		{"overrides", "at most 5 years", nil, override("far", "Ann", far+time.Minute, far+2*time.Hour)},
		{"overrides", "at most 366 days", nil, override("long", "Ann", time.Minute, MaxOverrideLength+time.Hour)},
		{"overrides", "at most 366 days", nil, override("long", "Ann", 0, MaxOverrideLength+time.Minute)},
	} {
		o := OnCall{
			Name: "Ops", Zone: "UTC", HandOverDay: "mon", Participants: []Participant{{"Ann", channels(1).ChannelIDs}},
			Overrides: c.overrides,
		}
		if c.change != nil {
			c.change(&o)
		}
		checkRefusal(t, fmt.Sprintf("a schedule %+v", c.overrides), problemsOf(o, now, before), c.field, c.want)
	}
}
