package allswell

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ScheduleKind says how the due times of a monitor's pings are given.
type ScheduleKind string

// The kinds of schedules.
const (
	ScheduleInterval ScheduleKind = "interval" // within an interval after the last ping
	ScheduleCron     ScheduleKind = "cron"     // at the times of a Cron
)

// ScheduleKinds lists all kinds.
var ScheduleKinds = []ScheduleKind{ScheduleInterval, ScheduleCron}

// MaxCronLength is the maximum length of a cron expression, in characters.
const MaxCronLength = 255

// maxClockChange is the size of a change of a zone's clock from which on it is not treated like the beginning or end of
// summer time.
const maxClockChange = 3 * time.Hour

// cronHorizon is how many years are searched for the next time of an expression. 29 February falls on the same day of
// the week after at most 40 years.
const cronHorizon = 41

// Cron is a schedule of the times at which the clock of a zone matches an expression, as cron runs jobs. The zero Cron
// is no schedule.
//
// The expression has five fields: minute, hour, day of the month, month (1 to 12 or jan to dec) and day of the week (0 to
// 7 or sun to sat, 0 and 7 are Sunday). A field is a list of *, numbers and ranges, with steps after a slash; a number
// with a step begins a range to the end. If neither the third nor the fifth field begins with *, one of them has to
// match. Macros are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.
//
// If the minute or the hour begins with *, the clock decides when it changes: times that are skipped have no
// firing, and times that are repeated have two. Other times fire once: right after a change that skips them, or the first
// time. Changes of three hours or more are not treated in this way.
type Cron struct {
	Expression string
	TimeZone   string // IANA name, such as Europe/Berlin
}

// IsZero reports whether c is no schedule.
func (c Cron) IsZero() bool { return c == Cron{} }

// String returns the expression and, unless it is UTC, the zone: "0 2 * * * (Europe/Berlin)".
func (c Cron) String() string {
	if c.TimeZone == "UTC" {
		return c.Expression
	}
	return c.Expression + " (" + c.TimeZone + ")"
}

// validate adds an error to bad for the expression and for the zone if they are not valid, or if the expression never
// matches.
func (c Cron) validate(bad *ValidationError) {
	times, err := parseCron(c.Expression)
	switch {
	case c.Expression == "":
		bad.Add("schedule.expression", "The expression field is required.")
	case err != nil:
		bad.Add("schedule.expression", "The expression is wrong: %s.", err)
	case times.from(cronEpoch).IsZero():
		bad.Add("schedule.expression", "The expression never matches: there is no such day.")
	}
	if _, ok := cronZone(c.TimeZone); !ok {
		bad.Add("schedule.time_zone", "The time_zone must be the name of a zone, such as Europe/Berlin.")
	}
}

// Next returns the first time after an instant, in UTC. It is zero if the expression is not valid or never matches. An
// unknown zone is UTC.
func (c Cron) Next(after time.Time) time.Time {
	times, err := parseCron(c.Expression)
	if err != nil {
		return time.Time{}
	}
	zone, _ := cronZone(c.TimeZone)
	return times.next(after, zone)
}

// Zone returns the zone of the schedule; an unknown one is UTC.
func (c Cron) Zone() *time.Location {
	zone, _ := cronZone(c.TimeZone)
	return zone
}

// cronZones are the zones that were loaded, by name. There are only as many as the zone database has.
var cronZones sync.Map

// cronZone returns a zone. ok is false, and the zone UTC, if there is none with this name.
func cronZone(name string) (zone *time.Location, ok bool) {
	if known, ok := cronZones.Load(name); ok {
		return known.(*time.Location), true
	}
	switch name {
	case "", "Local", "localtime", "posixrules": // these differ between hosts
		return time.UTC, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, false
	}
	cronZones.Store(name, zone)
	return zone, true
}

// cronField is a field of an expression. Its values are the bits of a number.
type cronField struct {
	name     string
	min, max int
	names    string // three letters each, of the values from min on
}

var cronFields = [5]cronField{
	{"minute", 0, 59, ""}, {"hour", 0, 23, ""}, {"day of the month", 1, 31, ""},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"}, {"day of the week", 0, 7, "sunmontuewedthufrisat"},
}

var cronMacros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// cronTimes are the times of day that match an expression.
type cronTimes struct {
	minutes, hours, days, months, weekdays uint64
	bothDays                               bool // days and weekdays have to match, not one of them
	wildcard                               bool // the minute or the hour begins with *
}

// parseCron parses an expression. The error says which field is wrong.
func parseCron(expression string) (c cronTimes, err error) {
	if len(expression) > MaxCronLength {
		return c, fmt.Errorf("it may not be longer than %d characters", MaxCronLength)
	}
	if strings.HasPrefix(expression, "@") {
		fields, ok := cronMacros[expression]
		if !ok {
			return c, fmt.Errorf("the macros are @yearly, @monthly, @weekly, @daily and @hourly")
		}
		expression = fields
	}
	fields := strings.FieldsFunc(expression, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(fields) != len(cronFields) {
		return c, fmt.Errorf("it must have five fields, minute, hour, day of the month, month and day of the week, and has %d", len(fields))
	}
	for i, into := range []*uint64{&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays} {
		if *into, err = cronFields[i].parse(fields[i]); err != nil {
			return c, fmt.Errorf("in field %d, the %s, %w", i+1, cronFields[i].name, err)
		}
	}
	c.weekdays |= c.weekdays >> 7 // 7 is Sunday, as 0
	star := func(i int) bool { return fields[i][0] == '*' }
	c.bothDays, c.wildcard = star(2) || star(4), star(0) || star(1)
	return c, nil
}

// parse returns the values of a field.
func (f cronField) parse(text string) (values uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, step := f.min, f.max, 1
		span, stepText, stepped := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(span, "-")
		if span != "*" {
			if from, err = f.value(first); err != nil {
				return 0, err
			}
			switch {
			case isRange:
				if to, err = f.value(last); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
		}
		if to < from {
			return 0, fmt.Errorf("the range %q ends before it begins", span)
		}
		if stepped {
			if step, err = digits(stepText); err != nil || step < 1 {
				return 0, fmt.Errorf("the step %q is not a number from 1 on", stepText)
			}
		}
		for n := from; n <= to; n += step {
			values |= 1 << n
		}
	}
	return values, nil
}

// value returns the value of a number or a name.
func (f cronField) value(text string) (int, error) {
	if at := strings.Index(f.names, strings.ToLower(text)); len(text) == 3 && at >= 0 && at%3 == 0 {
		return f.min + at/3, nil
	}
	n, err := digits(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%q is not from %d to %d", text, f.min, f.max)
	}
	return n, nil
}

// digits parses a number of one to three digits.
func digits(text string) (int, error) {
	if len(text) > 3 || strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(text)
}

// next returns the first time after an instant at which the clock of a zone matches, or zero if there is none.
func (c cronTimes) next(after time.Time, zone *time.Location) time.Time {
	for at := after.Add(time.Nanosecond); ; {
		at = at.In(zone)
		start, end := at.ZoneBounds() // between them the clock runs evenly
		offset, search := zoneOffset(at), at
		if !c.wildcard && !start.IsZero() {
			before := zoneOffset(start.Add(-time.Nanosecond).In(zone))
			switch change := offset - before; {
			case change.Abs() >= maxClockChange:
			case change > 0 && at.Equal(start): // the clock skips the times in between
				if skipped := c.from(start.UTC().Add(before)); !skipped.IsZero() && skipped.Before(start.UTC().Add(offset)) {
					return start.UTC()
				}
			case change < 0: // until then it repeats times
				search = Later(at, start.Add(-change))
			}
		}
		found := c.from(search.UTC().Add(offset))
		if found.IsZero() {
			return time.Time{}
		}
		match := found.Add(-offset)
		if end.IsZero() || match.Before(end) {
			return match
		}
		// The clock matches no earlier time, and no offset differs by two days.
		at = Later(end, match.AddDate(0, 0, -2))
	}
}

func zoneOffset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// from returns the first matching time that a clock shows from t on, which is its time as if it were UTC, or zero if
// there is none in cronHorizon years.
func (c cronTimes) from(t time.Time) time.Time {
	if whole := t.Truncate(time.Minute); whole.Before(t) {
		t = whole.Add(time.Minute)
	}
	for last := t.Year() + cronHorizon; t.Year() <= last; {
		year, month, day := t.Date()
		switch {
		case c.months>>month&1 == 0:
			t = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case c.onDay(t):
			if hour, minute, ok := c.timeOfDay(t.Hour(), t.Minute()); ok {
				return time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
			}
		}
		t = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// onDay reports whether a day in a matching month matches.
func (c cronTimes) onDay(t time.Time) bool {
	day, weekday := c.days>>t.Day()&1 == 1, c.weekdays>>t.Weekday()&1 == 1
	if c.bothDays {
		return day && weekday
	}
	return day || weekday
}

// timeOfDay returns the first matching time of a day that is not before a time.
func (c cronTimes) timeOfDay(hour, minute int) (int, int, bool) {
	if later := c.minutes >> minute; c.hours>>hour&1 == 1 && later != 0 {
		return hour, minute + bits.TrailingZeros64(later), true
	}
	later := c.hours >> (hour + 1)
	return hour + 1 + bits.TrailingZeros64(later), bits.TrailingZeros64(c.minutes), later != 0
}

// cronEpoch is where Longest begins. It is fixed, so that the same schedule always has the same interval.
var cronEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// cronYears is for how many years Longest looks.
const cronYears = 10

// Longest returns the longest distance between two times that follow each other in the ten years from 2026 on, or, of
// rarer times, between the first two. It is 0 if the expression is not valid.
func (c Cron) Longest() (longest time.Duration) {
	times, err := parseCron(c.Expression)
	if err != nil {
		return 0
	}
	zone := c.Zone()
	longest = times.longestWithinDay()
	at := times.next(cronEpoch, zone)
	for found, end := 0, cronEpoch.AddDate(cronYears, 0, 0); !at.IsZero() && (found < 2 || at.Before(end)); found++ {
		next := times.next(at, zone)
		longest = max(longest, next.Sub(at))
		at = Later(next, times.lastOfDay(next.In(zone)))
	}
	return longest
}

// longestWithinDay returns the longest distance between two times of a day on which the clock does not change.
func (c cronTimes) longestWithinDay() (longest time.Duration) {
	hour, minute, _ := c.timeOfDay(0, 0)
	for {
		h, m, ok := c.timeOfDay(hour, minute+1)
		if !ok {
			return longest
		}
		longest = max(longest, time.Duration((h-hour)*60+m-minute)*time.Minute)
		hour, minute = h, m
	}
}

// lastOfDay returns the last time of a matching day, in the zone of t, or zero if the clock changes on that day.
func (c cronTimes) lastOfDay(t time.Time) time.Time {
	year, month, day := t.Date()
	start, end := t.ZoneBounds()
	if from := time.Date(year, month, day, 0, 0, 0, 0, t.Location()); from.Before(start) && !start.IsZero() {
		return time.Time{}
	}
	if to := time.Date(year, month, day+1, 0, 0, 0, 0, t.Location()); to.After(end) && !end.IsZero() {
		return time.Time{}
	}
	return time.Date(year, month, day, bits.Len64(c.hours)-1, bits.Len64(c.minutes)-1, 0, 0, t.Location())
}
