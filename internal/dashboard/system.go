package dashboard

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/store"
)

// Process is what the screen of the system shows of the serving process.
type Process struct {
	Version, Revision string
	Go, Platform      string
	Database          string // without user and password
	Replica           string
	StartedAt         time.Time
	Settings          []Setting
	RecordedPings     func() float64 // since the start; nil: not counted
}

// Setting is a setting of the serving process.
type Setting struct {
	Name, Value string // Value is "" for nothing; of a secret, it only says that there is one
	Source      string // "default" or where it was set
}

// systemScreen is what the template system shows.
type systemScreen struct {
	Process
	store.System
	Pings     float64 // per second, in the last minute
	PeakPings float64 // the highest value of Pings in the last hour

	Backup backupCard
}

// showSystem shows the installation: its version, database, replicas, listening gaps and settings.
func (v *visit) showSystem() error {
	state, err := v.store.System(v.r.Context())
	if err != nil {
		return err
	}
	slices.Reverse(state.Gaps) // newest first
	s := systemScreen{Process: v.process, System: state}
	if s.Backup, err = v.newBackupCard(); err != nil {
		return err
	}
	s.Pings, s.PeakPings = v.pings.perSecond(), v.pings.peak()
	return v.show(http.StatusOK, "system", "System", s)
}

// rateSamples is the number of samples from which a rate is computed: those of a minute.
const rateSamples = int(time.Minute/watchInterval) + 1

// rate computes a rate per second from samples of a counter.
type rate struct {
	mu      sync.Mutex
	samples []rateSample // oldest first
	peaks   []ratePeak   // of the minutes of the last hour, oldest first
}

// ratePeak is the highest rate of a minute.
type ratePeak struct {
	minute    time.Time
	perSecond float64
}

type rateSample struct {
	at    time.Time
	total float64
}

func (r *rate) observe(at time.Time, total float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == rateSamples {
		r.samples = append(r.samples[:0], r.samples[1:]...)
	}
	r.samples = append(r.samples, rateSample{at, total})
	minute, now := at.Truncate(time.Minute), r.current()
	if n := len(r.peaks); n > 0 && r.peaks[n-1].minute.Equal(minute) {
		r.peaks[n-1].perSecond = max(r.peaks[n-1].perSecond, now)
		return
	}
	r.peaks = append(slices.DeleteFunc(r.peaks, func(p ratePeak) bool { return minute.Sub(p.minute) >= time.Hour }), ratePeak{minute, now})
}

// peak returns the highest rate of the last hour.
func (r *rate) peak() (highest float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.peaks {
		highest = max(highest, p.perSecond)
	}
	return highest
}

// perSecond returns the rate between the oldest and the newest sample.
func (r *rate) perSecond() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current()
}

// current is perSecond for callers that hold the lock.
func (r *rate) current() float64 {
	if len(r.samples) < 2 {
		return 0
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	passed := last.at.Sub(first.at).Seconds()
	if passed <= 0 {
		return 0
	}
	return (last.total - first.total) / passed
}
