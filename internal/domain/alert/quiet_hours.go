package alert

import (
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// QuietHours are a part of the day in which a rule notifies nobody, or other channels.
type QuietHours struct {
	Zone  string // IANA name, such as Europe/Berlin
	From  ClockTime
	Until ClockTime // of the next day if it is not later than From
	Days  []Weekday // on which they begin; empty: every day
	Target
}

// ClockTime is a time of day in minutes since midnight. Its text is like a clock's, such as 22:00.
type ClockTime int

// MarshalText returns the time as a clock shows it.
func (c ClockTime) MarshalText() ([]byte, error) {
	return []byte(c.String()), nil
}

// UnmarshalText reads the time as a clock shows it.
func (c *ClockTime) UnmarshalText(text []byte) error {
	t, err := time.Parse("15:04", string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time of day such as 22:00", text)
	}
	*c = ClockTime(t.Hour()*60 + t.Minute())
	return nil
}

// on returns the instant at which clocks of the zone show the time on a day. If a change of the clock skips or repeats
// the time, the result is the same as of time.Date: with the offset before or after the change, depending on the zone.
func (c ClockTime) on(year int, month time.Month, day int, zone *time.Location) time.Time {
	return time.Date(year, month, day, int(c)/60, int(c)%60, 0, 0, zone)
}

// Weekday is a day of the week: mon, tue, wed, thu, fri, sat or sun.
type Weekday string

// Weekdays lists all days, Monday first.
var Weekdays = []Weekday{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// Label returns the name of the day, such as "Monday".
func (d Weekday) Label() string { return time.Weekday((slices.Index(Weekdays, d) + 1) % 7).String() }

func weekdayOf(t time.Time) Weekday { return Weekdays[(int(t.Weekday())+6)%7] }

// EndAfter returns the end of the quiet hours that contain an instant. ok is false if none contain it.
func (q QuietHours) EndAfter(at time.Time) (end time.Time, ok bool) {
	zone, err := kernel.LoadZone(q.Zone)
	if err != nil {
		return time.Time{}, false // it was valid when it was saved
	}
	year, month, day := at.In(zone).Date()
	for d := -1; d <= 0; d++ { // quiet hours may have begun on the day before
		from := q.From.on(year, month, day+d, zone)
		last := day + d
		if q.Until <= q.From {
			last++
		}
		until := q.Until.on(year, month, last, zone)
		begins := time.Date(year, month, day+d, 12, 0, 0, 0, time.UTC) // only its day matters
		if (len(q.Days) == 0 || slices.Contains(q.Days, weekdayOf(begins))) && !at.Before(from) && at.Before(until) &&
			until.After(end) {
			end, ok = until, true
		}
	}
	return end, ok
}

// check adds every invalid field to bad.
func (q QuietHours) check(bad *kernel.ValidationError) {
	if !kernel.ValidZone(q.Zone) {
		bad.Add("quiet_hours", "The zone of the %s must be the name of a time zone, such as Europe/Berlin.",
			kernel.Name("quiet_hours"))
	}
	if q.From < 0 || q.From >= 24*60 || q.Until < 0 || q.Until >= 24*60 || q.From == q.Until {
		bad.Add("quiet_hours", "must have two different times of day, such as 22:00 and 07:00")
	}
	for _, d := range q.Days {
		if !slices.Contains(Weekdays, d) {
			bad.Add("quiet_hours", "Each of the days of the %s must be one of: %s.", kernel.Name("quiet_hours"),
				joined(Weekdays))
			break
		}
	}
}
