package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseKubernetes parses an expression of cron as Kubernetes does, whose parser is version 3 of github.com/robfig/cron.
// It accepts what that does, except for @every, zones and fields without a value. The error describes the mistake.
//
// Unlike in cron, the days of the week are from 0 to 6, ? is *, and there are neither seconds nor L, LW and #. If the
// day of the month and the day of the week are both limited, also by a step as in */5, one of them has to match.
func parseKubernetes(expression string) (c clockTimes, err error) {
	switch macro, isMacro := cronMacros[expression]; {
	case len(expression) > MaxCronLength:
		return c, fmt.Errorf("it may not be longer than %d bytes", MaxCronLength)
	case isMacro:
		expression = macro
	case strings.HasPrefix(expression, "@every"):
		return c, fmt.Errorf("@every has no times: give an interval")
	case strings.HasPrefix(expression, "@"):
		return c, fmt.Errorf("the macros are @yearly, @monthly, @weekly, @daily and @hourly")
	case strings.HasPrefix(expression, "TZ=") || strings.HasPrefix(expression, "CRON_TZ="):
		return c, fmt.Errorf("it may not have a zone: give time_zone")
	}
	texts := strings.Fields(expression)
	if len(texts) != len(cronFields)-1 {
		return c, fmt.Errorf("it must have five fields, minute, hour, day of the month, month and day of the week, "+
			"and has %d", len(texts))
	}
	c.seconds, c.change = 1, changeAsRobfig
	var stars [5]bool
	for i, into := range []*uint64{&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays} {
		field := cronFields[i+1]
		field.max = field.last()
		if *into, stars[i], err = field.parseAsRobfig(texts[i]); err != nil {
			return c, inPart(field.name, err)
		}
	}
	c.eitherDay = !stars[2] && !stars[4]
	return c, nil
}

// parseAsRobfig returns the values of a list, and whether it has a * or ? without a step.
func (f cronField) parseAsRobfig(list string) (values uint64, star bool, err error) {
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			continue
		}
		from, to, step := f.min, f.max, 1
		span, stepText, stepped := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(span, "-")
		whole := first == "*" || first == "?"
		if !whole {
			if from, err = f.valueBy(strconv.Atoi, first); err != nil {
				return 0, false, err
			}
			switch {
			case isRange:
				if to, err = f.valueBy(strconv.Atoi, last); err != nil {
					return 0, false, err
				}
			case !stepped:
				to = from
			}
		}
		if to < from {
			return 0, false, fmt.Errorf("the range %q ends before it begins", span)
		}
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, false, fmt.Errorf("the step %q is not a number from 1 on", stepText)
			}
		}
		star = star || whole && step == 1
		for step = min(step, f.max+1); from <= to; from += step {
			values |= 1 << from
		}
	}
	if values == 0 {
		return 0, false, fmt.Errorf("%q has no value", list)
	}
	return values, star, nil
}

// nextAsRobfig returns what next does as robfig/cron computes it: it advances the month, the day, the hour and the
// minute, one after the other, until each matches, and begins again when one of them wraps around. On most changes of a
// clock, that finds the times that the clock shows: skipped times never, and repeated times twice.
//
// But where a clock skips midnight, it misses that day or takes it for the day before; where a clock changes by a part
// of an hour, it misses minutes. Kubernetes starts no job then, so these times must not be due.
func (c clockTimes) nextAsRobfig(after time.Time, zone *time.Location) time.Time {
	t := after.In(zone).Add(time.Second - time.Duration(after.Nanosecond()))
	advanced := false
	begin := func(start time.Time) { // before the first step, what is smaller begins anew
		if !advanced {
			advanced, t = true, start
		}
	}
again:
	for last := t.Year() + horizon; t.Year() <= last; {
		for c.months>>t.Month()&1 == 0 {
			begin(time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, zone))
			if t = t.AddDate(0, 1, 0); t.Month() == time.January {
				continue again
			}
		}
		for !c.onDay(t) {
			begin(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone))
			t = t.AddDate(0, 0, 1)
			hours := -t.Hour() // back to midnight, or on to it
			if t.Hour() > 12 {
				hours += 24
			}
			if t = t.Add(time.Duration(hours) * time.Hour); t.Day() == 1 {
				continue again
			}
		}
		for c.hours>>t.Hour()&1 == 0 {
			begin(time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), 0, 0, 0, zone))
			if t = t.Add(time.Hour); t.Hour() == 0 {
				continue again
			}
		}
		for c.minutes>>t.Minute()&1 == 0 {
			begin(t.Truncate(time.Minute))
			if t = t.Add(time.Minute); t.Minute() == 0 {
				continue again
			}
		}
		if t.Second() == 0 {
			return t.UTC()
		}
		advanced, t = true, t.Add(time.Duration(60-t.Second())*time.Second)
	}
	return time.Time{}
}
