package alert

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// refused returns the messages about a field.
func refused(t *testing.T, err error, field string) (messages []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*allswell.ValidationError](err)
	if !ok {
		t.Fatalf("%v", err)
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

// TestRefusedNames gives every object of the area names that it must refuse, and some that it accepts.
func TestRefusedNames(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	validate := map[string]func(name string) error{
		PrefixChannel: func(name string) error { return Channel{Name: name, MaxPerMinute: 1}.Validate() },
		PrefixOnCall:  func(name string) error { return OnCall{Name: name, Zone: "UTC", HandOverDay: "mon"}.Validate(now, nil) },
	}
	long := strings.Repeat("é", allswell.MaxNameLength)
	for prefix, err := range validate {
		for name, want := range map[string]string{
			"Ops": "", long: "", "": "name", long + "é": "name", "two\nlines": "name",
			"test": "reserve this word", "new": "reserve this word", ".": "a URL cannot contain", "..": "a URL cannot contain",
			prefix + "1": "must not begin with", "tests": "", "...": "", prefix[:3]: "",
		} {
			if prefix == PrefixOnCall && want != "name" {
				want = "" // it is found by its slug
			}
			checkRefusal(t, prefix+" named "+name, err(name), "name", want)
		}
	}
}

// TestRefusedChannels checks the fields that channels of all types have.
func TestRefusedChannels(t *testing.T) {
	for _, c := range []struct {
		field, want string
		change      func(*Channel)
	}{
		{"max_per_minute", "from 1 to 300", func(c *Channel) { c.MaxPerMinute = 0 }},
		{"max_per_minute", "", func(c *Channel) { c.MaxPerMinute = HighestMaxPerMinute }},
		{"max_per_minute", "from 1 to 300", func(c *Channel) { c.MaxPerMinute = HighestMaxPerMinute + 1 }},
		{"fallback_id", "its own fallback", func(c *Channel) { c.FallbackID = c.ID }},
		{"fallback_id", "", func(c *Channel) { c.FallbackID = "chn_2" }},
		{"fallback_id", "", func(c *Channel) { c.ID = "" }}, // a new channel without a fallback
		{"title_template", "", func(c *Channel) { c.TitleTemplate = strings.Repeat("a", MaxTitleTemplate) }},
		{"title_template", "may not be longer", func(c *Channel) { c.TitleTemplate = strings.Repeat("a", MaxTitleTemplate+1) }},
		{"text_template", "may not be longer", func(c *Channel) { c.TextTemplate = strings.Repeat("a", MaxTextTemplate+1) }},
		{"text_template", "", func(c *Channel) { c.TextTemplate = strings.Repeat("a", MaxTextTemplate) }},
	} {
		channel := Channel{ID: "chn_1", Name: "Ops", MaxPerMinute: 1}
		c.change(&channel)
		checkRefusal(t, "a channel", channel.Validate(), c.field, c.want)
	}
}

// TestRefusedOnCall checks zone, day, names of participants, and each rule of overrides for those that are new, that stay
// as they were and that are moved.
func TestRefusedOnCall(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	override := func(id, name string, from, until time.Duration) []Override {
		return []Override{{ID: id, Participant: name, StartsAt: now.Add(from), EndsAt: now.Add(until)}}
	}
	far := now.AddDate(MaxOverrideYearsAhead, 0, 0).Sub(now)
	before := append(append(override("old", "Bob", -2*time.Hour, -time.Hour), override("far", "Ann", far+time.Hour, far+2*time.Hour)...),
		override("long", "Ann", 0, MaxOverrideLength+time.Hour)...)
	for _, c := range []struct {
		field, want string
		change      func(*OnCall)
		overrides   []Override
	}{
		{"zone", "name of a time zone", func(o *OnCall) { o.Zone = "Mars" }, nil},
		{"hand_over_day", "must be one of: mon, tue", func(o *OnCall) { o.HandOverDay = "monday" }, nil},
		{"participants", "unique name", func(o *OnCall) { o.Participants[0].Name = "" }, nil},
		{"participants", "unique name", func(o *OnCall) { o.Participants[0].Name = strings.Repeat("é", allswell.MaxNameLength+1) }, nil},
		{"participants", "", func(o *OnCall) { o.Participants[0].Name = strings.Repeat("é", allswell.MaxNameLength) }, nil},
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
		{"overrides", `"Bob" has an override until 2026-11-21 09:00 +00:00`, nil, override("old", "Bob", -2*time.Hour, time.Hour)},
		{"overrides", "at most 5 years", nil, override("far", "Ann", far+time.Hour, far+3*time.Hour)},
		{"overrides", "at most 5 years", nil, override("far", "Ann", far+time.Minute, far+2*time.Hour)},
		{"overrides", "at most 366 days", nil, override("long", "Ann", time.Minute, MaxOverrideLength+time.Hour)},
		{"overrides", "at most 366 days", nil, override("long", "Ann", 0, MaxOverrideLength+time.Minute)},
	} {
		o := OnCall{Name: "Ops", Zone: "UTC", HandOverDay: "mon", Participants: []Participant{{"Ann", channels(1).ChannelIDs}}, Overrides: c.overrides}
		if c.change != nil {
			c.change(&o)
		}
		checkRefusal(t, fmt.Sprintf("a schedule %+v", c.overrides), o.Validate(now, before), c.field, c.want)
	}
}
