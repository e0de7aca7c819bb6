package allswell

import (
	"math"
	"sort"
	"time"
)

// HistoryDays is how many days of a component's statuses are shown, today
// included.
const HistoryDays = 90

// StatusChange is a component's effective status from an instant on, until the
// next change. Kept one after the other, they are the component's history
// without a gap, from when the component was made.
type StatusChange struct {
	At     time.Time
	Status Status
}

// StatusDurations is how long something was in each status, aliases counted as
// what they stand for. Time of which nothing is known is in StatusUnknown; time
// before it existed is in none.
type StatusDurations [len(statusTable)]time.Duration

// DurationsOf returns the given durations.
func DurationsOf(durations map[Status]time.Duration) (d StatusDurations) {
	for s, t := range durations {
		d.count(s, t)
	}
	return d
}

// In returns the time in a status.
func (d StatusDurations) In(s Status) time.Duration { return d[statusIndex[s.Canonical()]] }

// Add adds other durations to d.
func (d *StatusDurations) Add(o StatusDurations) {
	for i, t := range o {
		d[i] += t
	}
}

// count adds a time in a status. Durations of 0 and less add nothing; a status
// that is not valid counts as StatusUnknown.
func (d *StatusDurations) count(s Status, t time.Duration) {
	if t <= 0 {
		return
	}
	if !s.Valid() {
		s = StatusUnknown
	}
	d[statusIndex[s.Canonical()]] += t
}

// Known returns the time of which the status is known.
func (d StatusDurations) Known() (sum time.Duration) {
	for _, t := range d {
		sum += t
	}
	return sum - d.In(StatusUnknown)
}

// Empty reports whether there is no time in any status.
func (d StatusDurations) Empty() bool { return d == StatusDurations{} }

// Uptime returns the share of the known time that was up, from 0 to 1: time in a
// status counts as down by its Downtime, and unknown time is left out. ok is false
// if nothing is known.
func (d StatusDurations) Uptime() (share float64, ok bool) {
	known := d.Known()
	if known <= 0 {
		return 0, false
	}
	var down float64
	for i, t := range d {
		down += statusTable[i].downtime * float64(t)
	}
	return 1 - down/float64(known), true
}

// Percent returns an uptime in percent, rounded down to decimals places, so
// that only a flawless record is 100.
func UptimePercent(share float64, decimals int) float64 {
	scale := math.Pow(10, float64(decimals))
	// The least fraction makes good what the division has lost: 0.9995 is
	// 99.95 and not 99.94.
	down := math.Floor(share*100*scale+1e-6) / scale
	if share < 1 && down >= 100 {
		down = 100 - 1/scale
	}
	return down
}

// Worst returns the worst status with any time in it. StatusUnknown is it only if
// there is nothing else; without any time it is "".
func (d StatusDurations) Worst() Status {
	for _, s := range RankedStatuses {
		if d.In(s) > 0 {
			return s
		}
	}
	return ""
}

// DayStatus is one calendar day, in the page's zone.
type DayStatus struct {
	Date time.Time // its midnight
	StatusDurations
}

// Record is the days of a component, of a group or of a page: HistoryDays of
// them, oldest first, the last one today. It is what all figures and bars are
// of.
type History []DayStatus

// Of returns the tally of the last n days together.
func (r History) Last(n int) StatusDurations {
	var t StatusDurations
	for _, d := range r[max(0, len(r)-n):] {
		t.Add(d.StatusDurations)
	}
	return t
}

// newRecord returns the empty record of the HistoryDays days up to now.
func newRecord(now time.Time, zone *time.Location) History {
	today := Midnight(now, zone)
	r := make(History, HistoryDays)
	for i := range r {
		r[i].Date = AddDays(today, i-HistoryDays+1)
	}
	return r
}

// HistoryStart returns the instant with which the record of now begins.
func HistoryStart(now time.Time, zone *time.Location) time.Time {
	return AddDays(Midnight(now, zone), 1-HistoryDays)
}

// NewHistory makes the record of one component from its changes, oldest first:
// those since HistoryStart, and the one in force then. Deaf windows, in order
// and without overlap, are unknown whatever was noted meanwhile: nobody could
// have heard (design section 7, point 3). A window shorter than LongGap is a
// quick restart and counts for nothing.
func NewHistory(changes []StatusChange, deaf []ListeningGap, now time.Time, zone *time.Location) History {
	r := newRecord(now, zone)
	for i, ch := range changes {
		end := now
		if i+1 < len(changes) {
			end = earlier(changes[i+1].At, now)
		}
		r.fill(ch.Status, ch.At, end, now, deaf)
	}
	return r
}

// fill counts a status from an instant to another, day by day, and the deaf
// time within as unknown.
func (r History) fill(s Status, from, to, now time.Time, deaf []ListeningGap) {
	first := sort.Search(len(r), func(i int) bool { return r.end(i, now).After(from) })
	for i := first; i < len(r) && r[i].Date.Before(to); i++ {
		begin, end := later(from, r[i].Date), earlier(to, r.end(i, now))
		unheard := gapTime(deaf, begin, end)
		r[i].count(s, end.Sub(begin)-unheard)
		r[i].count(StatusUnknown, unheard)
	}
}

// end returns when the i-th day of r is over; the last one is over now.
func (r History) end(i int, now time.Time) time.Time {
	if i == len(r)-1 {
		return now
	}
	return r[i+1].Date
}

// gapTime returns how much of a span fell into deaf windows.
func gapTime(deaf []ListeningGap, from, to time.Time) (sum time.Duration) {
	first := sort.Search(len(deaf), func(i int) bool { return deaf[i].To.After(from) })
	for _, w := range deaf[first:] {
		if !w.From.Before(to) {
			break
		}
		if w.Len() >= LongGap {
			sum += max(0, earlier(w.To, to).Sub(later(w.From, from)))
		}
	}
	return sum
}

// Together makes one record of several, day by day: of a group's components, or
// a page's. Each counts for as long as it was there.
func MergeHistories(records []History, now time.Time, zone *time.Location) History {
	sum := newRecord(now, zone)
	for _, r := range records {
		for i := range r {
			sum[i].Add(r[i].StatusDurations)
		}
	}
	return sum
}
