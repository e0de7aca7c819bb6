package timeinput

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]int64{
		"30s": 30, "300s": 300, "1d": 86400, "2d": 172800, "1d12h": 129600, "1w": 604800, "1w2d3h4m5s": 788645, "0": 0,
		"52w": 31449600, "-5m": -300,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != time.Duration(want)*time.Second {
			t.Errorf("UnmarshalText(%s) = %s, %v; want %d s", text, time.Duration(d), err, want)
		}
	}
	for _, text := range []string{
		"", "d", "1.5d", "1d-5m", "1d+5m", "2d1w", "1.5s", "500ms", "999999w", "9999999d", "tomorrow", "1d 12h", "300",
		"05",
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %s", text, time.Duration(d))
		}
	}
}

// TestMoments parses moments on Sunday 2026-11-22 at 23:30 UTC, when it is already Monday in Berlin.
func TestMoments(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-11-24 22:00":           "2026-11-24T22:00:00+01:00",
		"2026-11-24T22:00":           "2026-11-24T22:00:00+01:00",
		" 2026-11-24   22:00:05 ":    "2026-11-24T22:00:05+01:00",
		"2026-07-24 22:00":           "2026-07-24T22:00:00+02:00",
		"2026-11-24":                 "2026-11-24T00:00:00+01:00",
		"2026-11-24T22:00:00Z":       "2026-11-24T22:00:00Z",
		"2026-11-24T22:00:00.5Z":     "2026-11-24T22:00:00Z",
		"2026-11-24t22:00z":          "2026-11-24T22:00:00Z",
		"2026-11-24T22:00:00-05:00":  "2026-11-24T22:00:00-05:00",
		"2026-11-24 22:00:00 +05:30": "2026-11-24T22:00:00+05:30",
		"2026-11-24 22:00 Z":         "2026-11-24T22:00:00Z",
		"today 22:00":                "2026-11-23T22:00:00+01:00",
		"yesterday 22:00":            "2026-11-22T22:00:00+01:00",
		"tomorrow 22:00":             "2026-11-24T22:00:00+01:00",
		"Tomorrow at 6:05":           "2026-11-24T06:05:00+01:00",
		"mon 22:00":                  "2026-11-23T22:00:00+01:00",
		"Monday 00:10":               "2026-11-30T00:10:00+01:00",
		"sunday 00:10":               "2026-11-29T00:10:00+01:00",
		"2026-10-25 03:00":           "2026-10-25T03:00:00+01:00",
		"2026-10-25 01:59":           "2026-10-25T01:59:00+02:00",
		"2026-03-29 03:00":           "2026-03-29T03:00:00+02:00",
	} {
		var m Moment
		if err := m.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("UnmarshalText(%q): %v", text, err)
			continue
		}
		if got, err := m.In(berlin, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("the moment %q is %s, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
		if offset := strings.ContainsAny(text, "zZ+") || strings.Contains(text, "-05:00"); m.NeedsZone() == offset {
			t.Errorf("%q: NeedsZone is %t", text, m.NeedsZone())
		}
	}
	for _, text := range []string{
		"", "tomorrow", "22:00", "today 25:00", "2026-13-01 00:00", "2026-11-24 22", "morgen 22:00", "1764000000",
		"2026-11-24 22:00 CET",
	} {
		var m Moment
		if err := m.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %v", text, m)
		}
	}
}

// TestClockChanges checks that times that the clocks skip or repeat are refused.
func TestClockChanges(t *testing.T) {
	for _, c := range []struct{ zone, text, want string }{
		{"Europe/Berlin", "2026-03-29 02:30",
			`"2026-03-29 02:30" does not exist in the time zone Europe/Berlin, where the clocks go forward then`},
		{"Europe/Berlin", "2026-10-25 02:30",
			`"2026-10-25 02:30" happens twice in the time zone Europe/Berlin, where the clocks go back then: give ` +
				`2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00`},
		{"Australia/Lord_Howe", "2026-04-05 01:45",
			`"2026-04-05 01:45" happens twice in the time zone Australia/Lord_Howe, where the clocks go back then: ` +
				`give 2026-04-05T01:45:00+11:00 or 2026-04-05T01:45:00+10:30`},
		{"Australia/Lord_Howe", "2026-10-04 02:15",
			`"2026-10-04 02:15" does not exist in the time zone Australia/Lord_Howe, where the clocks go forward then`},
		{"Pacific/Apia", "2011-12-30 12:00",
			`"2011-12-30 12:00" does not exist in the time zone Pacific/Apia, where the clocks go forward then`},
		{"Europe/Berlin", "2026-10-25 03:00", ""},
		{"Australia/Lord_Howe", "2026-04-05 01:15", ""},
		{"Australia/Lord_Howe", "2026-04-05 02:00", ""},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		var m Moment
		if err := m.UnmarshalText([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		got, err := m.In(zone, time.Now())
		if c.want == "" && (err != nil || got.Format("2006-01-02 15:04") != c.text) ||
			c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("the moment %s in %s is %v, %v", c.text, c.zone, got, err)
		}
	}
}
