package timeinput

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Moment is a point in time. If it is given without an offset, its zone is chosen later.
type Moment struct {
	text  string
	clock time.Time // as given; in UTC if there is no offset
	fixed bool      // clock has an offset
	day   string    // "yesterday", "today", "tomorrow" or three letters of a weekday; then clock has no date
}

// Layouts of moments, after a T between date and time is replaced by a space.
var (
	fixedLayouts = []string{
		"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 Z07:00", "2006-01-02 15:04Z07:00",
		"2006-01-02 15:04 Z07:00",
	}
	localLayouts = []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02"}
	clockLayouts = []string{"15:04:05", "15:04"}
)

var (
	dateAndTime = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[tT](\d)`)
	dayAndTime  = regexp.MustCompile(`^(yesterday|today|tomorrow|mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday) (?:at )?([0-9:]+)$`)
)

// UnmarshalText parses "2026-11-24 22:00", "2026-11-24T22:00:00+01:00", "2026-11-24", "tomorrow 22:00", "yesterday
// 22:00" or "fri 22:00".
func (m *Moment) UnmarshalText(text []byte) error {
	value := strings.Join(strings.Fields(string(text)), " ")
	value = dateAndTime.ReplaceAllString(value, "$1 $2")
	*m = Moment{text: string(text)}
	if t, ok := parseAny(fixedLayouts, strings.Replace(value, "z", "Z", 1)); ok {
		m.clock, m.fixed = t, true
		return nil
	}
	if t, ok := parseAny(localLayouts, value); ok {
		m.clock = t
		return nil
	}
	if found := dayAndTime.FindStringSubmatch(strings.ToLower(value)); found != nil {
		if t, ok := parseAny(clockLayouts, found[2]); ok {
			m.clock, m.day = t, found[1]
			if m.day != "yesterday" && m.day != "today" && m.day != "tomorrow" {
				m.day = m.day[:3]
			}
			return nil
		}
	}
	return errors.New(`must be a time such as "2026-11-24 22:00", "tomorrow 22:00", "friday 22:00" or ` +
		`2026-11-24T22:00:00+01:00`)
}

func parseAny(layouts []string, value string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, value); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// NeedsZone reports whether the moment was given without an offset.
func (m Moment) NeedsZone() bool { return !m.fixed }

// In returns the moment as a time. A moment without an offset is in the zone: "tomorrow" is the day after the day of
// now there, and a weekday is the next one on which the time is after now. It returns an error for a time that the
// clocks of the zone do not show, or show twice.
func (m Moment) In(zone *time.Location, now time.Time) (time.Time, error) {
	if m.fixed {
		return m.clock, nil
	}
	date := m.clock
	if m.day != "" {
		date = m.date(now.In(zone))
	}
	times := timesAt(date, m.clock, zone)
	switch len(times) {
	case 0:
		return time.Time{},
			fmt.Errorf("%q does not exist in the time zone %s, where the clocks go forward then", m.text, zone)
	case 1:
		return times[0], nil
	}
	return time.Time{},
		fmt.Errorf("%q happens twice in the time zone %s, where the clocks go back then: give %s or %s", m.text, zone,
			times[0].Format(time.RFC3339), times[1].Format(time.RFC3339))
}

// timesAt returns the times at which the clocks of the zone show the time of the clock on a date, the earliest first:
// none if they skip it, two if they repeat it.
func timesAt(date, clock time.Time, zone *time.Location) (times []time.Time) {
	local := at(date, clock, time.UTC)
	for _, days := range []int{-1, 0, 1} {
		_, offset := at(date, clock, zone).AddDate(0, 0, days).Zone()
		t := local.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, actual := t.Zone(); actual == offset && !slices.ContainsFunc(times, t.Equal) {
			times = append(times, t)
		}
	}
	return times
}

// date returns the date of a moment whose day is given by a word.
func (m Moment) date(now time.Time) time.Time {
	switch m.day {
	case "yesterday":
		return now.AddDate(0, 0, -1)
	case "today":
		return now
	case "tomorrow":
		return now.AddDate(0, 0, 1)
	}
	for days := 0; ; days++ {
		date := now.AddDate(0, 0, days)
		if strings.EqualFold(date.Format("Mon"), m.day) && at(date, m.clock, now.Location()).After(now) {
			return date
		}
	}
}

// at returns the time of the clock on a date.
func at(date, clock time.Time, zone *time.Location) time.Time {
	return time.Date(date.Year(), date.Month(), date.Day(), clock.Hour(), clock.Minute(), clock.Second(),
		clock.Nanosecond(), zone)
}
