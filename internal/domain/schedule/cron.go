package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// ScheduleKind says how the due times of a monitor's pings are given.
type ScheduleKind string

// The kinds of schedules.
const (
	ScheduleInterval ScheduleKind = "interval" // within an interval after the last ping
	ScheduleCron     ScheduleKind = "cron"     // at the times of an expression of cron
	ScheduleCalendar ScheduleKind = "calendar" // at the times of an expression of systemd's OnCalendar
)

// ScheduleKinds lists all kinds.
var ScheduleKinds = []ScheduleKind{ScheduleInterval, ScheduleCron, ScheduleCalendar}

// MaxCronLength is the maximum length of a line of an expression, in bytes.
const MaxCronLength = 255

// Cron is a schedule of the times at which the clock of a zone matches an expression, as cron or a systemd timer runs
// jobs. The zero Cron is no schedule.
//
// A cron expression has five fields: minute, hour, day of the month, month (1 to 12 or jan to dec) and day of the week
// (0 to 7 or sun to sat, 0 and 7 are Sunday). With six fields, the first one is the second. A field is a list of *,
// numbers and ranges, with steps after a slash; a number with a step begins a range to the end. The days of the month
// may also have L, the last day, and LW, the last day from Monday to Friday. The days of the week may also have 5L, the
// last Friday of the month, and mon#2, the second Monday. If neither the day of the month nor the day of the week
// begins with *, one of the two has to match; otherwise, both. Macros are @yearly, @annually, @monthly, @weekly,
// @daily, @midnight and @hourly.
//
// With six fields, or if the minute or the hour begins with *, skipped times do not fire when the clock changes, and
// repeated times fire twice. Other times fire once: right after a change that skips them, or the first time. This does
// not apply to changes of three hours or more.
//
// NewCalendar describes calendar expressions, and parseKubernetes what differs if Kubernetes is set.
type Cron struct {
	Expression string // one, or several with a newline between them, whose times are combined
	TimeZone   string // IANA name, such as Europe/Berlin
	Calendar   bool   // the expression is a systemd calendar expression
	Kubernetes bool   // the expression is read as Kubernetes reads the schedule of a CronJob; see parseKubernetes
}

// NewCron returns the schedule of an expression of a kind other than ScheduleInterval. The default zone is UTC or, for
// a calendar, the zone at the end of the expression.
func NewCron(kind ScheduleKind, expression, zone string) Cron {
	if kind == ScheduleCalendar {
		return NewCalendar(expression, zone)
	}
	return Cron{Expression: strings.Join(scheduleLines(expression), "\n"), TimeZone: cmp.Or(zone, "UTC")}
}

// IsZero reports whether c is no schedule.
func (c Cron) IsZero() bool { return c == Cron{} }

// Kind returns the kind of the schedule; ScheduleInterval if it is zero.
func (c Cron) Kind() ScheduleKind {
	switch {
	case c.IsZero():
		return ScheduleInterval
	case c.Calendar:
		return ScheduleCalendar
	default:
		return ScheduleCron
	}
}

// String returns the lines of the expression with "and" between them, and in parentheses the zone, unless it is UTC,
// and whether Kubernetes reads it: "0 2 * * * (Europe/Berlin, as in Kubernetes)".
func (c Cron) String() string {
	return c.Sentence() + c.notes()
}

// notes returns what is said after an expression, in brackets after a space: its zone, and that it is read as
// Kubernetes does; "": neither.
func (c Cron) notes() string {
	var notes []string
	if c.TimeZone != "UTC" {
		notes = append(notes, c.TimeZone)
	}
	if c.Kubernetes {
		notes = append(notes, "as in Kubernetes")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, ", ") + ")"
}

// Sentence returns the expressions as they are named in a sentence.
func (c Cron) Sentence() string { return strings.ReplaceAll(c.Expression, "\n", " and ") }

// Validate adds an error to bad for the expression and for the zone if they are not valid, or if the expression never
// matches.
func (c Cron) Validate(bad *kernel.ValidationError) {
	times, err := c.times()
	never := 0 // the line that never matches
	if err == nil && c.Expression != "" {
		never = times.neverMatches(c.Zone())
	}
	switch {
	case c.Expression == "":
		bad.Add("schedule.expression", kernel.Required)
	case err != nil:
		bad.Add("schedule.expression", "is invalid: %s", err)
	case never > 0 && len(times) > 1:
		bad.Add("schedule.expression", "is invalid: line %d: it never matches: there is no such time", never)
	case never > 0:
		bad.Add("schedule.expression", "never matches: there is no such time")
	}
	if c.Kubernetes && c.Calendar {
		bad.Add("schedule.kubernetes", "field needs a schedule of the kind cron")
	}
	if !kernel.ValidZone(c.TimeZone) {
		bad.Add("schedule.time_zone", "must be the name of a zone, such as Europe/Berlin")
	}
}

// Next returns the first time after an instant, in UTC. It is zero if the expression is not valid or does not match in
// the next 41 years. An unknown zone is UTC.
func (c Cron) Next(after time.Time) time.Time {
	times, err := c.times()
	if err != nil {
		return time.Time{}
	}
	return times.next(after, c.Zone())
}

// Longest returns the longest time between consecutive times in the ten years from 2026 on, or, if they are rarer,
// between the first two. It is 0 if the expression is not valid.
func (c Cron) Longest() time.Duration {
	times, err := c.times()
	if err != nil {
		return 0
	}
	return times.longest(c.Zone())
}

// Zone returns the zone of the schedule; an unknown one is UTC.
func (c Cron) Zone() *time.Location {
	zone, err := kernel.LoadZone(c.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// cronField is a field of an expression. Its values are the bits of a number.
type cronField struct {
	name     string
	min, max int
	names    string // three letters each, of the values from min on
}

var cronFields = [6]cronField{
	{"second", 0, 59, ""}, {"minute", 0, 59, ""}, {"hour", 0, 23, ""}, {"day of the month", 1, 31, ""},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"}, {"day of the week", 0, 7, "sunmontuewedthufrisat"},
}

var cronMacros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseCron parses an expression. The error says which field is wrong.
func parseCron(expression string) (c clockTimes, err error) {
	if len(expression) > MaxCronLength {
		return c, fmt.Errorf("it may not be longer than %d bytes", MaxCronLength)
	}
	if strings.HasPrefix(expression, "@") {
		fields, ok := cronMacros[expression]
		if !ok {
			return c, fmt.Errorf("the macros are @yearly, @monthly, @weekly, @daily and @hourly")
		}
		expression = fields
	}
	fields := strings.FieldsFunc(expression, func(r rune) bool { return r == ' ' || r == '\t' })
	seconds := len(fields) == len(cronFields)
	if !seconds {
		fields = append([]string{"0"}, fields...)
	}
	if len(fields) != len(cronFields) {
		return c, fmt.Errorf("it must have five fields, minute, hour, day of the month, month and day of the week, "+
			"or six with the second first, and has %d", len(fields)-1)
	}
	fields[3], fields[5] = c.special.cutDays(fields[3]), c.special.cutWeekdays(fields[5])
	for i, into := range []*uint64{&c.seconds, &c.minutes, &c.hours, &c.days, &c.months, &c.weekdays} {
		if fields[i] == "" && c.special != (specialDays{}) {
			continue // it had special days only
		}
		if *into, err = cronFields[i].parse(fields[i]); err != nil {
			return c, inPart(cronFields[i].name, err)
		}
	}
	c.weekdays |= c.weekdays >> 7 // 7 is Sunday, as 0
	star := func(i int) bool { return strings.HasPrefix(fields[i], "*") }
	c.eitherDay = !star(3) && !star(5)
	if seconds || star(1) || star(2) {
		c.change = changeDecides
	}
	return c, nil
}

// cutDays takes the special days of a month out of a list: L and LW.
func (s *specialDays) cutDays(list string) (rest string) {
	var others []string
	for part := range strings.SplitSeq(list, ",") {
		day, step, stepped := strings.Cut(strings.ToUpper(part), "/")
		n, err := digits(step)
		switch validStep := !stepped || err == nil && n > 0; {
		case day == "L" && validStep: // a step changes nothing
			s.last = true
		case day == "LW" && validStep:
			s.lastWorkday = true
		default:
			others = append(others, part)
		}
	}
	return strings.Join(others, ",")
}

// cutWeekdays takes the special days of the week out of a list: 5L, the last Friday of the month, and 1#2 or mon#2, the
// second Monday.
func (s *specialDays) cutWeekdays(list string) (rest string) {
	field := cronFields[len(cronFields)-1]
	var others []string
	for part := range strings.SplitSeq(list, ",") {
		day, nth, isNth := strings.Cut(part, "#")
		number, isLast := strings.CutSuffix(strings.ToUpper(part), "L")
		switch n, err := digits(nth); {
		case isNth && err == nil && n >= 1 && n <= 5:
			if weekday, err := field.value(day); err == nil {
				s.weekdays[weekday%7] |= 1 << n
				continue
			}
		case isLast && number != "" && strings.Trim(number, "0123456789") == "":
			if weekday, err := field.value(number); err == nil {
				s.weekdays[weekday%7] |= 1
				continue
			}
		}
		others = append(others, part)
	}
	return strings.Join(others, ",")
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
			return 0,
				fmt.Errorf("the range %q ends before it begins, so cron would not run the job: give two, %s-%d,%d-%s",
					span, first, f.last(), f.min, last)
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

// last returns the last value; 7 is Sunday, as 0.
func (f cronField) last() int {
	if f.max == 7 {
		return 6
	}
	return f.max
}

// value returns the value of a number or a name.
func (f cronField) value(text string) (int, error) { return f.valueBy(digits, text) }

// valueBy returns the value of a name, or of a number that number parses.
func (f cronField) valueBy(number func(text string) (int, error), text string) (int, error) {
	if at := strings.Index(f.names, strings.ToLower(text)); len(text) == 3 && at >= 0 && at%3 == 0 {
		return f.min + at/3, nil
	}
	n, err := number(text)
	if err != nil || n < f.min || n > f.max {
		return 0, rangeError{text, f.min, f.max}
	}
	return n, nil
}

// rangeError is the error of a value that a part of an expression cannot have: "must be 0–59, not 61".
type rangeError struct {
	text     string
	min, max int
}

func (e rangeError) Error() string {
	text := e.text
	if text == "" || strings.Trim(text, "0123456789") != "" {
		text = strconv.Quote(text)
	}
	return fmt.Sprintf("must be %d–%d, not %s", e.min, e.max, text)
}

// inPart returns an error with the name of the part of an expression that it is about.
func inPart(name string, err error) error {
	if _, ok := errors.AsType[rangeError](err); ok {
		return fmt.Errorf("%s %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// digits parses a number of one to three digits.
func digits(text string) (int, error) {
	if len(text) > 3 || strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(text)
}
