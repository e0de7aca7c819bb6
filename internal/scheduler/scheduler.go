// Package scheduler does what time alone brings: the periodic check of all
// monitors, the beginning and the end of planned maintenance, and the deletion of
// what has passed its age.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/store"
)

const (
	// pruneInterval is how often old rows are deleted.
	pruneInterval = time.Hour

	// minStall is the least time without a tick that counts as a stall.
	minStall = time.Minute

	// guardInterval is how often the guard looks.
	guardInterval = 5 * time.Second
)

// Config is what a Scheduler needs.
type Config struct {
	Store   *store.Store
	Period  time.Duration        // T, the same on all replicas and as the store's
	Backlog func() time.Duration // age of the oldest ping received here and not yet committed
	Replica string
	Logger  *slog.Logger

	// Shedding reports whether pings are being lost here, which is why no liveness
	// is recorded: nothing is judged, and that is no stall. nil: never.
	Shedding func() bool
}

// Scheduler runs ticks at the nominal instants n·T of the store's clock. Ticks that
// could not be run are not made up.
type Scheduler struct {
	Config
	ticked   atomic.Pointer[time.Time]
	planned  chan struct{} // there may be another maintenance to wait for
	patience time.Duration // no tick for longer is a stall
	look     time.Duration // the guard's interval

	skipped string // why the last tick was skipped; "": it was not. Of the goroutine that ticks.
	skips   int    // ticks since that began
}

// New returns a Scheduler that does nothing before Run.
func New(c Config) *Scheduler {
	s := &Scheduler{Config: c, planned: make(chan struct{}, 1), patience: max(3*c.Period, minStall), look: guardInterval}
	s.note(time.Now())
	c.Store.OnMaintenanceChange(func() {
		select {
		case s.planned <- struct{}{}:
		default: // it is going to look anyway
		}
	})
	return s
}

func (s *Scheduler) note(at time.Time) { s.ticked.Store(&at) }

// LastTick returns when the last tick ended, by the host's clock; the Scheduler's
// own beginning before the first.
func (s *Scheduler) LastTick() time.Time { return *s.ticked.Load() }

// Stalled reports whether no tick has ended for max(3 T, 1 minute).
func (s *Scheduler) Stalled() bool { return time.Since(s.LastTick()) > s.patience }

// ErrStalled is returned by Run when ticks have stalled while the database
// answers: something in this process is stuck, and a new start may mend it.
var ErrStalled = errors.New("no periodic check has run for too long while the database answers")

// Run runs until ctx ends, and returns nil then, or until ticks stall.
func (s *Scheduler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.guard(ctx, cancel)
	go s.prune(ctx)
	go s.maintain(ctx)
	s.tickAll(ctx)
	if errors.Is(context.Cause(ctx), ErrStalled) {
		return fmt.Errorf("%w (last: %s)", ErrStalled, s.LastTick().UTC().Format(time.RFC3339))
	}
	return nil
}

// guard ends Run when ticks have stalled although the database answers.
func (s *Scheduler) guard(ctx context.Context, stop context.CancelCauseFunc) {
	v := vigil{patience: s.patience, interval: s.look}
	for sleep(ctx, s.look) {
		_, err := s.Store.Clock(ctx)
		if v.stalled(time.Now(), s.LastTick(), err == nil) {
			stop(ErrStalled)
			return
		}
	}
}

// vigil tells a stall from what only looks like one.
type vigil struct {
	patience time.Duration
	interval time.Duration // between two looks
	looked   time.Time
	since    time.Time // the database has answered every look since; zero: not the last one
}

// stalled reports, looking at now, whether no tick has ended for longer than
// the patience, although the database has answered all the while and this
// process was not itself held up (suspended, say): after that, ticks are given
// the same time again.
func (v *vigil) stalled(now, lastTick time.Time, answered bool) bool {
	heldUp := now.Sub(v.looked) > 3*v.interval // an answer may take its time, too
	v.looked = now
	switch {
	case !answered:
		v.since = time.Time{}
		return false
	case heldUp || v.since.IsZero():
		v.since = now
	}
	return now.Sub(v.since) > v.patience && now.Sub(lastTick) > v.patience
}

// tickAll runs one tick per nominal instant, beginning with the first one that
// lies ahead.
func (s *Scheduler) tickAll(ctx context.Context) {
	p := pace{period: s.Period}
	for {
		now, err := s.Store.Clock(ctx)
		wait := min(s.Period, guardInterval)
		if err != nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "the clock could not be read", "error", err)
		} else {
			var instant time.Time
			if instant, wait = p.next(now); !instant.IsZero() {
				s.Tick(ctx, instant) // it takes its time: look at the clock again
			}
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// pace says when to tick.
type pace struct {
	period time.Duration
	last   time.Time // the nominal instant of the last tick, or of the beginning
}

// next returns the nominal instant to tick now, or the zero Time and how long
// to wait before asking again. An instant that has passed while nobody asked is
// left out; after a step back of the clock, its instants come again.
func (p *pace) next(now time.Time) (instant time.Time, wait time.Duration) {
	current := now.Truncate(p.period)
	if !p.last.IsZero() && !current.Equal(p.last) {
		p.last = current
		return current, 0
	}
	p.last = current
	return time.Time{}, current.Add(p.period).Sub(now)
}

// Tick runs the tick of one nominal instant. A maintenance that has just begun
// comes first: silence within it must not be counted.
func (s *Scheduler) Tick(ctx context.Context, instant time.Time) {
	s.advance(ctx)
	if s.Shedding != nil && s.Shedding() {
		s.skip(instant, "pings are being lost")
		s.note(time.Now())
		return
	}
	began := time.Now()
	report, err := s.Store.Tick(ctx, instant, s.Replica, s.Backlog())
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelError), "a periodic check failed", "instant", instant, "error", err)
		}
		return
	case report.Skipped != "":
		s.skip(instant, report.Skipped)
		return
	case report.Overdue > 0:
		s.Logger.Info("periodic check", "instant", instant, "overdue", report.Overdue, "down", report.Down, "took", time.Since(began).Round(time.Millisecond))
	}
	s.resume(instant)
	s.note(time.Now())
}

// skip notes that a tick was skipped. It is logged only if the one before was not, or
// for another reason.
func (s *Scheduler) skip(instant time.Time, why string) {
	s.skips++
	if why != s.skipped {
		s.skipped = why
		s.Logger.Warn("a periodic check was skipped", "instant", instant, "why", why)
	}
}

// resume notes that a tick was not skipped, and logs it if the one before was.
func (s *Scheduler) resume(instant time.Time) {
	if s.skipped != "" {
		s.Logger.Info("periodic checks run again", "instant", instant, "skipped", s.skips)
		s.skipped, s.skips = "", 0
	}
}

// prune deletes old rows, now and once an hour.
func (s *Scheduler) prune(ctx context.Context) {
	for {
		if err := s.Store.Prune(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "old rows could not be deleted", "error", err)
		}
		if !sleep(ctx, pruneInterval) {
			return
		}
	}
}

// sleep waits for d, and returns false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
