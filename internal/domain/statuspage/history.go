package statuspage

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// HistoryDays is how many days a component's history shows, including today.
const HistoryDays = 90

// StatusChange is a change of a component's effective status. The stored changes of a component cover its whole life.
type StatusChange struct {
	At     time.Time
	Status kernel.Status
}

// StatusDurations is the time spent in each status. An alias counts as its canonical status. Time whose status is not
// known counts as StatusUnknown; time before the component existed does not count.
type StatusDurations [len(kernel.StatusTable)]time.Duration

// DurationsOf returns the given durations.
func DurationsOf(durations map[kernel.Status]time.Duration) (d StatusDurations) {
	for s, t := range durations {
		d.count(s, t)
	}
	return d
}

// In returns the time in a status.
func (d StatusDurations) In(s kernel.Status) time.Duration {
	return d[kernel.StatusIndex[s.Canonical()]]
}

// Add adds other durations to d.
func (d *StatusDurations) Add(o StatusDurations) {
	for i, t := range o {
		d[i] += t
	}
}

// count adds a time in a status. Durations of 0 and less add nothing; a status
// that is not valid counts as StatusUnknown.
func (d *StatusDurations) count(s kernel.Status, t time.Duration) {
	if t <= 0 {
		return
	}
	if !s.Valid() {
		s = kernel.StatusUnknown
	}
	d[kernel.StatusIndex[s.Canonical()]] += t
}

// Known returns the time whose status is known.
func (d StatusDurations) Known() (sum time.Duration) {
	for _, t := range d {
		sum += t
	}
	return sum - d.In(kernel.StatusUnknown)
}

// Empty reports whether there is no time in any status.
func (d StatusDurations) Empty() bool { return d == StatusDurations{} }

// Uptime returns the share of the known time that was up, from 0 to 1: time in a status counts as down by its Downtime,
// and unknown time is omitted. ok is false if nothing is known.
func (d StatusDurations) Uptime() (share float64, ok bool) {
	known := d.Known()
	if known <= 0 {
		return 0, false
	}
	var down float64
	for i, t := range d {
		down += kernel.StatusTable[i].Downtime * float64(t)
	}
	return 1 - down/float64(known), true
}

// UptimeDecimals is the number of decimals of uptimes in percent in texts. 100 is written without decimals.
const UptimeDecimals = 2

// UptimePercent returns share in percent, rounded down to the given number of decimals. It is 100 only if share is 1.
func UptimePercent(share float64, decimals int) float64 {
	scale := math.Pow(10, float64(decimals))
	// The small fraction compensates for floating-point errors: 0.9995 is 99.95, not 99.94.
	down := math.Floor(share*100*scale+1e-6) / scale
	if share < 1 && down >= 100 {
		down = 100 - 1/scale
	}
	return down
}

// Worst returns the worst status with any time in it. It returns StatusUnknown only if no
// other status has any, and "" if none has.
func (d StatusDurations) Worst() kernel.Status {
	for _, s := range kernel.RankedStatuses {
		if d.In(s) > 0 {
			return s
		}
	}
	return ""
}

// DayStatus is the time spent in each status on one calendar day of the page's zone.
type DayStatus struct {
	Date time.Time // midnight
	StatusDurations
}

// History is the last HistoryDays days of a component, a group or a page, oldest first. The last day is today.
type History []DayStatus

// Last returns the total of the last n days.
func (r History) Last(n int) StatusDurations {
	var t StatusDurations
	for _, d := range r[max(0, len(r)-n):] {
		t.Add(d.StatusDurations)
	}
	return t
}

// WithData returns the history without the days before the first one with data, which is the day on
// which the first component was created. It is empty if no day has data.
func (r History) WithData() History {
	for i, d := range r {
		if !d.Empty() {
			return r[i:]
		}
	}
	return nil
}

// newHistory returns an empty history.
func newHistory(now time.Time, zone *time.Location) History {
	today := Midnight(now, zone)
	r := make(History, HistoryDays)
	for i := range r {
		r[i].Date = AddDays(today, i-HistoryDays+1)
	}
	return r
}

// HistoryStart returns the beginning of the first day of a history at now.
func HistoryStart(now time.Time, zone *time.Location) time.Time {
	return AddDays(Midnight(now, zone), 1-HistoryDays)
}

// NewHistory computes the history of one component. changes are its status changes, oldest first: all since
// HistoryStart and the last one before it. gaps are the listening gaps, in order and without overlap; gaps of at least
// LongGap count as unknown.
func NewHistory(changes []StatusChange, gaps []schedule.ListeningGap, now time.Time, zone *time.Location) History {
	r := newHistory(now, zone)
	for i, ch := range changes {
		end := now
		if i+1 < len(changes) {
			end = kernel.Earlier(changes[i+1].At, now)
		}
		r.fill(ch.Status, ch.At, end, now, gaps)
	}
	return r
}

// fill adds a status from one instant to another, with listening gaps as unknown.
func (r History) fill(s kernel.Status, from, to, now time.Time, gaps []schedule.ListeningGap) {
	first := sort.Search(len(r), func(i int) bool { return r.end(i, now).After(from) })
	for i := first; i < len(r) && r[i].Date.Before(to); i++ {
		r[i].CountPeriod(s, kernel.Later(from, r[i].Date), kernel.Earlier(to, r.end(i, now)), gaps)
	}
}

// CountPeriod adds a period in a status, with long listening gaps as unknown.
func (d *StatusDurations) CountPeriod(s kernel.Status, from, to time.Time, gaps []schedule.ListeningGap) {
	unknown := gapTime(gaps, from, to)
	d.count(s, to.Sub(from)-unknown)
	d.count(kernel.StatusUnknown, unknown)
}

// MergeGaps returns the periods that are in any of the lists, in order and without overlap.
func MergeGaps(lists ...[]schedule.ListeningGap) (merged []schedule.ListeningGap) {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b schedule.ListeningGap) int { return a.From.Compare(b.From) })
	for _, gap := range all {
		if n := len(merged); n > 0 && !gap.From.After(merged[n-1].To) {
			merged[n-1].To = kernel.Later(merged[n-1].To, gap.To)
			continue
		}
		merged = append(merged, gap)
	}
	return merged
}

// end returns the end of day i; for today it is now.
func (r History) end(i int, now time.Time) time.Time {
	if i == len(r)-1 {
		return now
	}
	return r[i+1].Date
}

// gapTime returns how much of the time from from to to is in long listening gaps.
func gapTime(gaps []schedule.ListeningGap, from, to time.Time) (sum time.Duration) {
	first := sort.Search(len(gaps), func(i int) bool { return gaps[i].To.After(from) })
	for _, w := range gaps[first:] {
		if !w.From.Before(to) {
			break
		}
		if w.Len() >= schedule.LongGap {
			sum += max(0, kernel.Earlier(w.To, to).Sub(kernel.Later(w.From, from)))
		}
	}
	return sum
}

// MergeHistories returns the sum of the histories of several components.
func MergeHistories(records []History, now time.Time, zone *time.Location) History {
	sum := newHistory(now, zone)
	for _, r := range records {
		for i := range r {
			sum[i].Add(r[i].StatusDurations)
		}
	}
	return sum
}
