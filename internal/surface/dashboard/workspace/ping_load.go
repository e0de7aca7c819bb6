package workspace

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// rateSamples is the number of samples from which a load is computed: the samples of a minute.
const rateSamples = int(time.Minute/frame.WatchInterval) + 1

// minBusyShare is the share of a minute that the ping writer must be busy for CanTake to be computed.
const minBusyShare = 0.1

// load is the load that pings cause in a period.
type load struct {
	PerSecond float64 // pings
	Busy      float64 // the share of the time, up to 1, that their transactions took

	// CanTake is the number of recorded pings per second of their transactions, measured while the transactions took
	// the largest share of the time. Because transactions are shared under more load, it is a lower bound of the
	// capacity. 0: there was too little load to measure it.
	CanTake float64
}

// BusyPercent returns Busy as a percentage.
func (l load) BusyPercent() string {
	if l.Busy > 0 && l.Busy < 0.001 {
		return "less than 0.1 %"
	}
	return strconv.FormatFloat(100*l.Busy, 'f', 1, 64) + " %"
}

// rate computes the load from samples of counters.
type rate struct {
	mu      sync.Mutex
	samples []rateSample // oldest first
	peaks   []ratePeak   // of the minutes of the last hour, oldest first
}

// ratePeak is the highest load of a minute.
type ratePeak struct {
	minute time.Time
	load
}

type rateSample struct {
	at    time.Time
	total float64
	busy  time.Duration
}

func (r *rate) observe(at time.Time, total float64, busy time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == rateSamples {
		r.samples = append(r.samples[:0], r.samples[1:]...)
	}
	r.samples = append(r.samples, rateSample{at, total, busy})
	minute, now := at.Truncate(time.Minute), r.current()
	if n := len(r.peaks); n > 0 && r.peaks[n-1].minute.Equal(minute) {
		r.peaks[n-1].load = r.peaks[n-1].load.max(now)
		return
	}
	r.peaks = append(slices.DeleteFunc(r.peaks, func(p ratePeak) bool {
		return minute.Sub(p.minute) >= time.Hour
	}), ratePeak{minute, now})
}

// max returns the higher PerSecond and the higher Busy of two loads, and CanTake of the load with the higher Busy.
func (l load) max(other load) load {
	if other.Busy > l.Busy {
		l.Busy, l.CanTake = other.Busy, other.CanTake
	}
	l.PerSecond = max(l.PerSecond, other.PerSecond)
	return l
}

// peak returns the highest values of the last hour.
func (r *rate) peak() (highest load) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.peaks {
		highest = highest.max(p.load)
	}
	return highest
}

// now returns the load between the oldest and the newest sample.
func (r *rate) now() load {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current()
}

// current is now for callers that hold the lock.
func (r *rate) current() (l load) {
	if len(r.samples) < 2 {
		return l
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	passed, busy, pings := last.at.Sub(first.at).Seconds(), (last.busy - first.busy).Seconds(), last.total-first.total
	if passed <= 0 {
		return l
	}
	l.PerSecond, l.Busy = pings/passed, min(busy/passed, 1)
	if len(r.samples) == rateSamples && l.Busy >= minBusyShare {
		l.CanTake = pings / busy
	}
	return l
}
