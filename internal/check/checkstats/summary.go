// Package checkstats sums up the results of checks: how many there were, how many failed, and how long the good ones
// took. Summaries of shorter periods can be merged into summaries of longer ones. It knows neither the database nor
// monitors.
package checkstats

import (
	"math"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// accuracy is the relative error of percentiles.
const accuracy = 0.02

// indexMapping maps durations in microseconds to the bins of sketches. Encoded sketches do not repeat it, so that
// changing the accuracy needs another version of the encoding.
var indexMapping = func() mapping.IndexMapping {
	m, err := mapping.NewLogarithmicMapping(accuracy)
	if err != nil {
		panic(err)
	}
	return m
}()

func newSketch() *ddsketch.DDSketch {
	return ddsketch.NewDDSketchFromStoreProvider(indexMapping, func() store.Store { return store.NewSparseStore() })
}

// Period is a period with its summary.
type Period struct {
	StartsAt time.Time
	Summary
}

// Summary sums up the results of a period.
type Summary struct {
	Count    int // of all results but the unknown ones
	Slow     int
	Failures int
	Unknown  int // results that say nothing about the target
	Min, Max time.Duration
	sum      time.Duration      // of the results that are timed
	timed    *ddsketch.DDSketch // nil: none
}

// Add adds a result. Only good results are timed: the duration of a failure often is the timeout.
func (s *Summary) Add(status monitor.CheckStatus, total time.Duration) {
	switch status {
	case monitor.CheckUnknown:
		s.Unknown++
		return
	case monitor.CheckFailed:
		s.Count++
		s.Failures++
		return
	case monitor.CheckSlow:
		s.Slow++
	case monitor.CheckOK:
	}
	s.Count++
	total = max(total.Truncate(time.Microsecond), time.Microsecond)
	if s.timed == nil {
		s.timed, s.Min = newSketch(), total
	}
	s.Min, s.Max, s.sum = min(s.Min, total), max(s.Max, total), s.sum+total
	if err := s.timed.Add(float64(total.Microseconds())); err != nil {
		panic(err) // only for values that no duration has
	}
}

// Merge adds the results of another summary.
func (s *Summary) Merge(o *Summary) {
	s.Count, s.Slow, s.Failures, s.Unknown = s.Count+o.Count, s.Slow+o.Slow, s.Failures+o.Failures, s.Unknown+o.Unknown
	if o.timed == nil {
		return
	}
	if s.timed == nil {
		s.timed, s.Min = newSketch(), o.Min
	}
	s.Min, s.Max, s.sum = min(s.Min, o.Min), max(s.Max, o.Max), s.sum+o.sum
	if err := s.timed.MergeWith(o.timed); err != nil {
		panic(err) // only for sketches with different mappings
	}
}

// Timed returns the number of good results.
func (s *Summary) Timed() int { return s.Count - s.Failures }

// Mean returns the mean time of good results; 0: there were none.
func (s *Summary) Mean() time.Duration {
	if n := s.Timed(); n > 0 {
		return s.sum / time.Duration(n)
	}
	return 0
}

// Quantile returns the time within which at least a share of the good results came, with a relative error of 2 %; 0:
// there were none. share is from 0 to 1.
func (s *Summary) Quantile(share float64) time.Duration {
	if s.timed == nil {
		return 0
	}
	// The sketch returns the result with the index share * (n-1), rounded down: of two, the faster one would be the
	// 99th percentile. Half an index more keeps clear of rounding errors.
	n := float64(s.Timed())
	index := max(math.Ceil(share*n)-1, 0)
	v, err := s.timed.GetValueAtQuantile(min((index+0.5)/max(n-1, 1), 1))
	if err != nil {
		return 0 // only for an empty sketch
	}
	return min(max(time.Duration(v)*time.Microsecond, s.Min), s.Max)
}

// P50, P95 and P99 are the quantiles that are shown to people.
func (s *Summary) P50() time.Duration { return s.Quantile(0.50) }
func (s *Summary) P95() time.Duration { return s.Quantile(0.95) }
func (s *Summary) P99() time.Duration { return s.Quantile(0.99) }

// Uptime returns the share of good results, from 0 to 1. ok is false if all results were unknown, or there were none.
func (s *Summary) Uptime() (share float64, ok bool) {
	if s.Count == 0 {
		return 0, false
	}
	return float64(s.Timed()) / float64(s.Count), true
}
