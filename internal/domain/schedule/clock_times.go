package schedule

import (
	"math/bits"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// maxClockChange is the smallest change of a zone's clock that is not treated like the beginning or end of summer time.
const maxClockChange = 3 * time.Hour

// horizon is how many years are searched for the next time of a schedule. 29 February falls on the same day of the week
// after at most 40 years.
const horizon = 41

// clockTimes are the times of a clock that match an expression. Each value is a bit.
type clockTimes struct {
	seconds, minutes, hours, days, months, weekdays uint64
	lastDays                                        uint64 // of the month in place of days: 1 is the last one
	special                                         specialDays
	eitherDay                                       bool // days or weekdays have to match, not both
	change                                          changeRule
}

// specialDays are the days of cron expressions that depend on the month. They match beside days and weekdays.
type specialDays struct {
	last        bool      // the last day of the month
	lastWorkday bool      // the last day of the month from Monday to Friday
	weekdays    [7]uint64 // by day of the week: 1 to 5 is the first to the fifth one of the month, and 0 the last one
}

// onDay reports whether a day of the month, and whether a day of the week, matches.
func (s specialDays) onDay(t time.Time) (day, weekday bool) {
	end := time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC)
	workday := end.Day()
	switch end.Weekday() {
	case time.Saturday:
		workday--
	case time.Sunday:
		workday -= 2
	}
	week := s.weekdays[t.Weekday()]
	day = s.last && t.Day() == end.Day() || s.lastWorkday && t.Day() == workday
	return day, week>>((t.Day()+6)/7)&1 == 1 || week&1 == 1 && t.Day()+7 > end.Day()
}

// changeRule decides how times are treated when the clock of the zone changes.
type changeRule int

const (
	changeMakesUp  changeRule = iota // skipped times fire right after the change, repeated times the first time
	changeDecides                    // times fire whenever the clock shows them
	changeSkips                      // skipped times do not fire, repeated times fire the first time
	changeAsRobfig                   // see nextAsRobfig
)

// next returns the first time after an instant at which the clock of a zone matches, or zero if there is none.
func (c clockTimes) next(after time.Time, zone *time.Location) time.Time {
	if c.change == changeAsRobfig {
		if found := c.nextAsRobfig(after, zone); found.IsZero() || found.After(after) {
			return found
		}
		c.change = changeDecides // robfig/cron goes back where a clock goes back by two hours
	}
	last := after.AddDate(horizon, 0, 0)
	for at := after.Add(time.Nanosecond); at.Before(last); {
		at = at.In(zone)
		start, end := at.ZoneBounds() // between them the clock runs evenly
		offset, search := zoneOffset(at), at
		if c.change != changeDecides && !start.IsZero() {
			before := zoneOffset(start.Add(-time.Nanosecond).In(zone))
			switch change := offset - before; {
			case c.change == changeMakesUp && change.Abs() >= maxClockChange:
			case c.change == changeMakesUp && change > 0 && at.Equal(start): // the clock skips the times in between
				skipped := c.from(start.UTC().Add(before))
				if !skipped.IsZero() && skipped.Before(start.UTC().Add(offset)) {
					return start.UTC()
				}
			case change < 0: // until then it repeats times
				search = kernel.Later(at, start.Add(-change))
			}
		}
		found := c.from(search.UTC().Add(offset))
		if found.IsZero() {
			break
		}
		match := found.Add(-offset)
		if end.IsZero() || match.Before(end) {
			return match
		}
		at = end
		if c.change != changeDecides || zoneOffset(end.In(zone)) >= offset {
			// The clock matches no earlier time, and no offset differs by two days. A clock that goes back may match
			// again.
			at = kernel.Later(end, match.AddDate(0, 0, -2))
		}
	}
	return time.Time{}
}

func zoneOffset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// from returns the first matching time that a clock shows from t on, which is its time as if it were UTC, or zero if
// there is none until the horizon.
func (c clockTimes) from(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		t = whole.Add(time.Second)
	}
	for last := t.Year() + horizon; t.Year() <= last; {
		year, month, day := t.Date()
		switch {
		case c.months>>month&1 == 0:
			t = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case c.onDay(t):
			if hour, minute, second, ok := c.timeOfDay(t.Clock()); ok {
				return time.Date(year, month, day, hour, minute, second, 0, time.UTC)
			}
		}
		t = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// onDay reports whether a day in a matching month matches.
func (c clockTimes) onDay(t time.Time) bool {
	day, weekday := c.days>>t.Day()&1 == 1, c.weekdays>>t.Weekday()&1 == 1
	if c.lastDays != 0 {
		length := time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		day = c.lastDays>>(length-t.Day()+1)&1 == 1
	}
	if c.special != (specialDays{}) {
		specialDay, specialWeekday := c.special.onDay(t)
		day, weekday = day || specialDay, weekday || specialWeekday
	}
	if c.eitherDay {
		return day || weekday
	}
	return day && weekday
}

// timeOfDay returns the first matching time of a day that is not before a time.
func (c clockTimes) timeOfDay(hour, minute, second int) (h, m, s int, ok bool) {
	first := bits.TrailingZeros64
	if c.hours>>hour&1 == 1 {
		if later := c.seconds >> second; c.minutes>>minute&1 == 1 && later != 0 {
			return hour, minute, second + first(later), true
		}
		if later := c.minutes >> (minute + 1); later != 0 {
			return hour, minute + 1 + first(later), first(c.seconds), true
		}
	}
	later := c.hours >> (hour + 1)
	return hour + 1 + first(later), first(c.minutes), first(c.seconds), later != 0
}

// longestFrom is where Cron.Longest begins. It is fixed, so that the same schedule always has the same interval.
var longestFrom = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// longestYears is for how many years Cron.Longest looks.
const longestYears = 10

// longest returns the result of Cron.Longest.
func (c clockTimes) longest(zone *time.Location) time.Duration {
	longest := c.longestWithinDay()
	at := c.next(longestFrom, zone)
	for found, end := 0, longestFrom.AddDate(longestYears, 0, 0); !at.IsZero() &&
		(found < 2 || at.Before(end)); found++ {
		next := c.next(at, zone)
		if next.IsZero() {
			break
		}
		longest = max(longest, next.Sub(at))
		at = kernel.Later(c.lastOfHour(next.In(zone)), c.lastOfDay(next.In(zone)))
	}
	return longest
}

// longestWithinDay returns the longest distance between two times of a day on which the clock does not change.
func (c clockTimes) longestWithinDay() (longest time.Duration) {
	hour, minute, second, _ := c.timeOfDay(0, 0, 0)
	for {
		h, m, s, ok := c.timeOfDay(hour, minute, second+1)
		if !ok {
			return longest
		}
		longest = max(longest, time.Duration((h-hour)*3600+(m-minute)*60+s-second)*time.Second)
		hour, minute, second = h, m, s
	}
}

// lastOfHour returns the last matching time in the hour of t, or t if there is none after it or the clock changes
// before. t is a matching time, or right after a change of the clock that skipped one.
func (c clockTimes) lastOfHour(t time.Time) time.Time {
	minutes, seconds := bits.Len64(c.minutes)-1-t.Minute(), bits.Len64(c.seconds)-1-t.Second()
	last := t.Add(time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second)
	if _, end := t.ZoneBounds(); last.Before(t) || !end.IsZero() && !last.Before(end) {
		return t
	}
	return last
}

// lastOfDay returns the last time of a matching day, in the zone of t, or zero if the clock changes on that day.
func (c clockTimes) lastOfDay(t time.Time) time.Time {
	if clockChangesOn(t) {
		return time.Time{}
	}
	year, month, day := t.Date()
	last := func(values uint64) int { return bits.Len64(values) - 1 }
	return time.Date(year, month, day, last(c.hours), last(c.minutes), last(c.seconds), 0, t.Location())
}

// clockChangesOn reports whether the clock of the zone of t changes on that day.
func clockChangesOn(t time.Time) bool {
	year, month, day := t.Date()
	start, end := t.ZoneBounds()
	from, to := time.Date(year, month, day, 0, 0, 0, 0, t.Location()),
		time.Date(year, month, day+1, 0, 0, 0, 0, t.Location())
	return !start.IsZero() && from.Before(start) || !end.IsZero() && to.After(end)
}
