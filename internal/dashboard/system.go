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
	Pings float64 // per second, in the last minute
}

// showSystem shows the installation: its version, database, replicas, listening gaps and settings.
func (v *visit) showSystem() error {
	state, err := v.store.System(v.r.Context())
	if err != nil {
		return err
	}
	slices.Reverse(state.Gaps) // newest first
	return v.show(http.StatusOK, "system", "System", systemScreen{Process: v.process, System: state, Pings: v.pings.perSecond()})
}

// rateSamples is the number of samples from which a rate is computed: those of a minute.
const rateSamples = int(time.Minute/watchInterval) + 1

// rate computes a rate per second from samples of a counter.
type rate struct {
	mu      sync.Mutex
	samples []rateSample // oldest first
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
}

// perSecond returns the rate between the oldest and the newest sample.
func (r *rate) perSecond() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
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
