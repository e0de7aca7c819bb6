package monitor

import (
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// PingGap is the time between two pings of a monitor, from the pings that are kept: at most one per interval.
type PingGap struct {
	PingedAt time.Time     // the later ping
	Length   time.Duration // since the ping before it
}

// PingRhythm is how often a job pings.
type PingRhythm struct {
	Every    time.Duration // the median of the gaps
	Spread   time.Duration // four of five gaps differ from it by at most this
	AtLeast  bool          // the job may ping several times as often
	Interval time.Duration // the interval that this suggests, with room for delays
}

const (
	// rhythmGaps is how many of the last gaps count for a rhythm.
	rhythmGaps = 20
	// minRhythmGaps is how many gaps a rhythm needs at least.
	minRhythmGaps = 8
	// maxRhythmSpread limits the spread of a rhythm to this part of it: one tenth.
	maxRhythmSpread = 10
)

// Rhythm returns how often a job pings, from the gaps between the pings that were kept, oldest first. ok is false if
// there are too few gaps or they disagree. Only the last ping of each interval is kept, so a gap can be several times
// as long as the time between two pings; see PingRhythm.AtLeast.
func Rhythm(gaps []PingGap, interval time.Duration) (r PingRhythm, ok bool) {
	gaps = gaps[max(0, len(gaps)-rhythmGaps):]
	if len(gaps) < minRhythmGaps {
		return r, false
	}
	lengths := make([]time.Duration, len(gaps))
	for i, gap := range gaps {
		lengths[i] = gap.Length
	}
	r.Every = quantile(lengths, 0.5)
	for i := range lengths {
		lengths[i] = (lengths[i] - r.Every).Abs()
	}
	r.Spread = quantile(lengths, 0.8).Round(time.Second)
	if r.Every < MinInterval || r.Spread > r.Every/maxRhythmSpread {
		return PingRhythm{}, false
	}
	r.Interval = intervalWithRoom(r.Every, r.Spread)
	r.Every = r.Every.Round(time.Second)
	// If n > 1 pings fit into the interval, only the last of them is kept. It comes after more than n/(n+1) of the
	// interval, and so after more than two thirds.
	r.AtLeast = r.Every > interval*2/3 && r.Every <= interval
	return r, true
}

// quantile returns the q-quantile of values, for q from 0 to 1.
func quantile(values []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// intervalWithRoom returns an interval for pings every so often, with room for the delays of a job: 25 hours for a
// nightly one.
func intervalWithRoom(every, spread time.Duration) time.Duration {
	interval := every + max(every/24, 3*spread)
	step := time.Second
	switch {
	case interval >= 12*time.Hour:
		step = time.Hour
	case interval >= 10*time.Minute:
		step = time.Minute
	case interval >= time.Minute:
		step = 5 * time.Second
	}
	if rest := (interval - step/100).Truncate(step); rest < interval {
		interval = rest + step
	}
	return min(interval, MaxInterval)
}

// String returns the rhythm in English: "every 1 h 1 min ± 40 s".
func (r PingRhythm) String() string {
	text := kernel.EveryDuration(r.Every)
	if r.AtLeast {
		text = "at least " + text
	}
	if r.Spread >= time.Second {
		text += " ± " + kernel.CompactDuration(r.Spread)
	}
	return text
}

// Suggests reports whether an interval other than the current one fits the rhythm clearly better.
func (r PingRhythm) Suggests(current time.Duration) bool {
	return r.Interval != current && (current < r.Every+r.Spread || r.Interval < current*4/5)
}
