package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxScheduleLines is how many expressions a schedule may have, one per line.
const MaxScheduleLines = 10

// scheduleLines returns the lines of an expression without spaces around them, and without empty ones.
func scheduleLines(expression string) (lines []string) {
	for line := range strings.FieldsFuncSeq(expression, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.Trim(line, " \t"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// clockLines are the times that match one of the lines of a schedule.
type clockLines []clockTimes

// times parses the lines of the expression. The error describes the mistake, with the number of its line if there are
// several.
func (c Cron) times() (clockLines, error) {
	parse := parseCron
	switch {
	case c.Calendar:
		parse = parseCalendar
	case c.Kubernetes:
		parse = parseKubernetes
	}
	lines := strings.Split(c.Expression, "\n")
	if c.Kubernetes && len(lines) > 1 {
		return nil, fmt.Errorf("line 2: a CronJob has one schedule")
	}
	var all clockLines
	for i, line := range lines {
		if i == MaxScheduleLines {
			return nil, fmt.Errorf("line %d: a schedule has at most %d lines", i+1, MaxScheduleLines)
		}
		times, err := parse(line)
		if err != nil && c.Calendar {
			err = explainZone(line, lines, err)
		}
		if err != nil && len(lines) > 1 {
			err = fmt.Errorf("line %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, times)
	}
	return all, nil
}

// next returns the first time of all lines after an instant at which the clock of a zone matches, or zero if there is
// none.
func (all clockLines) next(after time.Time, zone *time.Location) (next time.Time) {
	for _, c := range all {
		if at := c.next(after, zone); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// neverMatches returns the number of the first line that has no times, from 1 on, or 0 if all have.
func (all clockLines) neverMatches(zone *time.Location) int {
	for i, c := range all {
		if c.next(longestFrom, zone).IsZero() {
			return i + 1
		}
	}
	return 0
}

// longest returns the result of Cron.Longest.
func (all clockLines) longest(zone *time.Location) (longest time.Duration) {
	if len(all) == 1 {
		return all[0].longest(zone)
	}
	days := make(map[int]*dayTimes)
	at := all.next(longestFrom, zone)
	for found, end := 0, longestFrom.AddDate(longestYears, 0, 0); !at.IsZero() &&
		(found < 2 || at.Before(end)); found++ {
		next := all.next(at, zone)
		if next.IsZero() {
			break
		}
		longest = max(longest, next.Sub(at))
		next = next.In(zone)
		lines := all.on(next)
		day := days[lines]
		if day == nil {
			day = all.timesOf(lines)
			days[lines] = day
			longest = max(longest, day.longest)
		}
		at = kernel.Later(next, day.lastFrom(next))
	}
	return longest
}

// on returns the lines that match a day, as bits.
func (all clockLines) on(t time.Time) (lines int) {
	for i, c := range all {
		if c.months>>t.Month()&1 == 1 && c.onDay(t) {
			lines |= 1 << i
		}
	}
	return lines
}

// dayTimes are the times of a day on which the clock does not change.
type dayTimes struct {
	minutes [24 * 60]uint64 // the seconds of each
	longest time.Duration   // between two times
}

// timesOf returns the times of a day that some lines match.
func (all clockLines) timesOf(lines int) *dayTimes {
	var day dayTimes
	last := -1
	for minute := range day.minutes {
		for i, c := range all {
			if lines>>i&1 == 1 && c.hours>>(minute/60)&1 == 1 && c.minutes>>(minute%60)&1 == 1 {
				day.minutes[minute] |= c.seconds
			}
		}
		for seconds := day.minutes[minute]; seconds != 0; seconds &= seconds - 1 {
			second := minute*60 + bits.TrailingZeros64(seconds)
			if last >= 0 {
				day.longest = max(day.longest, time.Duration(second-last)*time.Second)
			}
			last = second
		}
	}
	return &day
}

// lastFrom returns the last of the times on the day of t, or in its hour if the clock changes on that day. It is zero
// if there is none, or the clock changes in that hour.
func (d *dayTimes) lastFrom(t time.Time) time.Time {
	year, month, date := t.Date()
	to := len(d.minutes)
	if clockChangesOn(t) {
		to = (t.Hour() + 1) * 60
	}
	for minute := to - 1; minute >= 0; minute-- {
		if d.minutes[minute] == 0 {
			continue
		}
		second := bits.Len64(d.minutes[minute]) - 1
		if to == len(d.minutes) {
			return time.Date(year, month, date, minute/60, minute%60, second, 0, t.Location())
		}
		// In an hour that is repeated, time.Date would return only the first one.
		last := t.Add(time.Duration(minute-t.Hour()*60-t.Minute())*time.Minute +
			time.Duration(second-t.Second())*time.Second)
		if _, end := t.ZoneBounds(); !end.IsZero() && !last.Before(end) {
			return time.Time{}
		}
		return last
	}
	return time.Time{}
}
