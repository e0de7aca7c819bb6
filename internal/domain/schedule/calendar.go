package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// NewCalendar returns the schedule of an expression of systemd's OnCalendar, such as "Mon..Fri 08..18:00/15" or "*-*-01
// 02:30:00 Europe/Berlin", or of several with a newline between them. A zone at the end of all expressions becomes the
// zone of the schedule, unless another one is given; without any it is UTC.
//
// An expression is a shorthand (minutely, hourly, daily, weekly, monthly, quarterly, semiannually or yearly), or days
// of the week, a date and a time; each of the three may be left out. Days of the week are a list of names and ranges. A
// date is year-month-day or month-day, and the year is *; ~ before the day counts from the last day of the month. A
// time is hour:minute:second or hour:minute. A component is * or a list of numbers and ranges (8..18), with repetitions
// after a slash. All of it has to match.
//
// When the clock of the zone changes, skipped times do not fire, and repeated times fire once, the first time, as with
// systemd.
func NewCalendar(expression, zone string) Cron {
	lines := scheduleLines(expression)
	if len(lines) <= MaxScheduleLines { // zones are read from files
		zone = cutZones(lines, zone)
	}
	return Cron{Expression: strings.Join(lines, "\n"), TimeZone: cmp.Or(zone, "UTC"), Calendar: true}
}

// EndsInZone reports whether a line of a calendar ends in a zone. NewCalendar removes it.
func (c Cron) EndsInZone() bool {
	lines := scheduleLines(c.Expression)
	return c.Calendar && slices.ContainsFunc(lines[:min(len(lines), MaxScheduleLines)], func(line string) bool {
		zone, _ := calendarZone(line)
		return zone != ""
	})
}

// cutZones removes the zone of the schedule from the ends of expressions, and returns it. The zone is the given one; if
// that is "", the zone that all expressions have, or else UTC.
func cutZones(lines []string, zone string) string {
	if zone == "" && len(lines) > 0 {
		zone, _ = calendarZone(lines[0])
		for _, line := range lines[1:] {
			if own, _ := calendarZone(line); own != zone {
				zone = "UTC" // of lines without one
				break
			}
		}
	}
	for i, line := range lines {
		if own, at := calendarZone(line); own != "" && own == zone {
			lines[i] = strings.TrimRight(line[:at], " ")
		}
	}
	return zone
}

// calendarZone returns the zone at the end of an expression, and where it begins there; "" if there is none.
func calendarZone(expression string) (zone string, at int) {
	at = strings.LastIndexByte(expression, ' ') + 1
	zone = expression[at:]
	if strings.EqualFold(zone, "UTC") {
		zone = "UTC"
	}
	if !kernel.ValidZone(zone) {
		return "", 0
	}
	return zone, at
}

// calendarShorthands are expressions that have names.
var calendarShorthands = map[string]string{
	"minutely": "*-*-* *:*", "hourly": "*-*-* *:00", "daily": "*-*-*", "weekly": "Mon", "monthly": "*-*-01",
	"yearly": "*-01-01", "annually": "*-01-01", "anually": "*-01-01", "quarterly": "*-01,04,07,10-01",
	"semiannually": "*-01,07-01", "semi-annually": "*-01,07-01", "biannually": "*-01,07-01",
	"bi-annually": "*-01,07-01",
}

// parseCalendar parses an expression. The error describes the mistake.
func parseCalendar(expression string) (clockTimes, error) {
	if len(expression) > MaxCronLength {
		return clockTimes{}, fmt.Errorf("it may not be longer than %d bytes", MaxCronLength)
	}
	return parseCalendarTimes(expression)
}

// explainZone returns the error of a line of a calendar that could not be parsed. If cutZones has left a zone at its
// end, the error is about the zone. It reads files.
func explainZone(line string, lines []string, err error) error {
	zone, _ := calendarZone(line)
	if zone == "" {
		return err
	}
	for _, other := range lines[:min(len(lines), MaxScheduleLines)] {
		if own, _ := calendarZone(other); own != zone {
			return fmt.Errorf("its zone %s is not on every line: give all lines the same zone", zone)
		}
	}
	return fmt.Errorf("its zone %s differs from time_zone: give one of them", zone)
}

// parseCalendarTimes parses an expression without a zone.
func parseCalendarTimes(expression string) (c clockTimes, err error) {
	if long, ok := calendarShorthands[strings.ToLower(expression)]; ok {
		expression = long
	}
	parts := strings.FieldsFunc(expression, func(r rune) bool { return r == ' ' })
	next := func(is func(part string) bool) (part string) {
		if len(parts) > 0 && is(parts[0]) {
			part, parts = parts[0], parts[1:]
		}
		return part
	}
	weekdays := next(func(part string) bool { return part[0]|' ' >= 'a' && part[0]|' ' <= 'z' })
	date := next(func(part string) bool { return strings.ContainsAny(part, "-~") })
	clock := next(func(part string) bool { return strings.Contains(part, ":") })
	if len(parts) > 0 {
		return c,
			fmt.Errorf("%q is neither a shorthand, such as daily, nor days of the week, a date and a time, such as "+
				"Mon..Fri *-*-01 02:30", parts[0])
	}
	c.change = changeSkips
	if c.weekdays, err = parseWeekdays(cmp.Or(weekdays, "Mon..Sun")); err == nil {
		err = c.parseDate(cmp.Or(date, "*-*-*"))
	}
	if err == nil {
		err = c.parseClock(cmp.Or(clock, "00:00:00"))
	}
	return c, err
}

// calendarWeekdays are the names of days, in the order of ranges. Each may be shortened to three letters.
var calendarWeekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// parseWeekdays returns the days of a list, with Sunday as 0. A comma may follow the last one.
func parseWeekdays(text string) (days uint64, err error) {
	for part := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		first, last, isRange := strings.Cut(part, "..")
		if !isRange {
			first, last, isRange = strings.Cut(part, "-") // as older versions of systemd write it
		}
		from, to := weekdayOf(first), weekdayOf(last)
		if !isRange {
			to = from
		}
		switch {
		case from < 0 || to < 0:
			return 0,
				fmt.Errorf("day of the week: %q is not a name, such as Mon, or a range, such as Mon..Fri", part)
		case to < from:
			return 0,
				fmt.Errorf("day of the week: the range %q ends before it begins: a week begins on Monday", part)
		}
		for day := from; day <= to; day++ {
			days |= 1 << ((day + 1) % 7)
		}
	}
	return days, nil
}

// weekdayOf returns the index of a day, or -1.
func weekdayOf(name string) int {
	name = strings.ToLower(name)
	for i, day := range calendarWeekdays {
		if name == day || name == day[:3] {
			return i
		}
	}
	return -1
}

// calendarPart is a component of an expression, with its limits.
type calendarPart struct {
	name     string
	min, max int
}

// parseDate parses year-month-day or month-day.
func (c *clockTimes) parseDate(text string) (err error) {
	months, day, fromEnd := strings.Cut(text, "~")
	if !fromEnd {
		at := strings.LastIndexByte(text, '-')
		months, day = text[:at], text[at+1:]
	}
	year, month, hasYear := strings.Cut(months, "-")
	switch {
	case !hasYear:
		month = year
	case year != "*":
		return fmt.Errorf("the year %q is not *: a schedule has no end", year)
	}
	if c.months, err = (calendarPart{"month", 1, 12}).parse(month); err != nil {
		return err
	}
	if !fromEnd || day == "*" {
		c.days, err = (calendarPart{"day of the month", 1, 31}).parse(day)
		return err
	}
	c.lastDays, err = (calendarPart{"day before the end of the month", 1, 28}).parseBackwards(day)
	return err
}

// parseClock parses hour:minute:second or hour:minute.
func (c *clockTimes) parseClock(text string) (err error) {
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append(parts, "0")
	}
	if len(parts) != 3 {
		return fmt.Errorf("the time %q is not hour:minute or hour:minute:second", text)
	}
	if c.hours, err = (calendarPart{"hour", 0, 23}).parse(parts[0]); err != nil {
		return err
	}
	if c.minutes, err = (calendarPart{"minute", 0, 59}).parse(parts[1]); err != nil {
		return err
	}
	c.seconds, err = (calendarPart{"second", 0, 59}).parse(parts[2])
	return err
}

// parse returns the values of a component.
func (p calendarPart) parse(text string) (values uint64, err error) {
	return p.values(text, func(from, to, step int) (values uint64, repeats bool) {
		if to < 0 {
			to, repeats = p.max, from+step <= p.max
		}
		for n := from; n <= to; n += step {
			values |= 1 << n
		}
		return values, repeats
	})
}

// parseBackwards returns the values of a component that counts from the end. Repetitions go towards the end.
func (p calendarPart) parseBackwards(text string) (values uint64, err error) {
	return p.values(text, func(from, to, step int) (values uint64, repeats bool) {
		first, last := from, p.min
		if to < 0 {
			repeats = from-step >= p.min
		} else {
			first, last = to-(to-from)%step, from
		}
		for n := first; n >= last; n -= step {
			values |= 1 << n
		}
		return values, repeats
	})
}

// values parses a list. For each of its members it calls spread with the first value, the last value and the step, and
// joins the results. If to is -1, the values go on to the end, and repeats reports whether there is a second value.
func (p calendarPart) values(
	text string, spread func(from, to, step int) (values uint64, repeats bool),
) (values uint64, err error) {
	if text == "*" {
		values, _ = spread(p.min, p.max, 1)
		return values, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(span, "..")
		from, err := digits(first)
		to, step := from, 1
		if err == nil && isRange {
			to, err = digits(last)
		}
		if err == nil && stepped {
			step, err = digits(stepText)
		}
		switch {
		case err != nil:
			return 0,
				fmt.Errorf("%s: %q is not a number, a range, such as 8..18, or a repetition, such as 0/15",
					p.name, part)
		case from < p.min || max(from, to) > p.max:
			return 0, inPart(p.name, rangeError{span, p.min, p.max})
		case to < from:
			return 0, fmt.Errorf("%s: the range %q ends before it begins", p.name, span)
		case step < 1:
			return 0, fmt.Errorf("%s: the step %q is not a number from 1 on", p.name, stepText)
		}
		endless := stepped && !isRange
		if endless {
			to = -1
		}
		more, repeats := spread(from, to, step)
		if endless && !repeats {
			return 0, fmt.Errorf("%s: the step of %q leads beyond the end", p.name, part)
		}
		values |= more
	}
	return values, nil
}
