// Package scheduler runs the periodic work: the tick, which checks all monitors for
// overdue pings, the transitions of planned maintenance, and the deletion of old rows.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/shared/trigger"
	"github.com/allswell/allswell/internal/store"
)

const (
	// pruneInterval is the interval between two deletions of old rows.
	pruneInterval = time.Hour

	// minStallTimeout is the minimum time without a tick that counts as a stall.
	minStallTimeout = time.Minute

	// watchdogInterval is the interval between two checks for a stall.
	watchdogInterval = 5 * time.Second
)

// Config configures a Scheduler.
type Config struct {
	Store   *store.Store
	Period  time.Duration        // time between two ticks; the same on all replicas and in the store's options
	Backlog func() time.Duration // returns the age of the oldest ping received by this replica and not committed yet
	Replica string               // name of this process, unique among the replicas
	Logger  *slog.Logger

	// LosingPings reports whether this replica is losing pings. Meanwhile ticks are
	// skipped, which does not count as a stall. nil: never.
	LosingPings func() bool
}

// Scheduler runs ticks at multiples of Period, by the store's clock. Missed ticks are not made up for.
type Scheduler struct {
	Config
	ticked           atomic.Pointer[time.Time]
	maintenanceDue   trigger.Trigger // fired when the next maintenance transition may have changed
	pingMergeDue     trigger.Trigger // fired when there are many pings to merge
	stallTimeout     time.Duration   // time without a tick that counts as a stall
	watchdogInterval time.Duration   // field for tests

	// The following fields are used by the ticking goroutine only.
	skipReason string // why the last tick was skipped; "": it was not
	skipCount  int    // consecutive skipped ticks
}

// New returns a Scheduler. It is idle until Run is called.
func New(c Config) *Scheduler {
	s := &Scheduler{
		Config: c, maintenanceDue: trigger.New(), pingMergeDue: trigger.New(),
		stallTimeout: max(3*c.Period, minStallTimeout), watchdogInterval: watchdogInterval,
	}
	s.note(time.Now())
	c.Store.OnMaintenanceChange(s.maintenanceDue.Fire)
	c.Store.OnPingMergeDue(s.pingMergeDue.Fire)
	return s
}

func (s *Scheduler) note(at time.Time) { s.ticked.Store(&at) }

// LastTick returns when the last tick ended, by the clock of this host. Before the
// first tick it returns when the Scheduler was created.
func (s *Scheduler) LastTick() time.Time { return *s.ticked.Load() }

// Stalled reports whether no tick has ended for three periods, and for at least a minute.
func (s *Scheduler) Stalled() bool { return time.Since(s.LastTick()) > s.stallTimeout }

// ErrStalled is returned by Run when ticks have stalled although the database
// answers. The process is stuck, and a restart may help.
var ErrStalled = errors.New("ticks have stalled although the database answers")

// Run runs until ctx ends, and then returns nil. If ticks stall, it returns an error that wraps ErrStalled.
func (s *Scheduler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.runWatchdog(ctx, cancel)
	go s.prune(ctx)
	go s.runMaintenances(ctx)
	go s.runLateChecks(ctx)
	go s.runSteps(ctx, "merging the history of pings", s.Store.MergePings, s.pingMergeDue)
	go s.runSteps(ctx, "summing up the results of checks", s.Store.FoldCheckResults, nil)
	s.runTicks(ctx)
	if errors.Is(context.Cause(ctx), ErrStalled) {
		return fmt.Errorf("%w (last: %s)", ErrStalled, s.LastTick().UTC().Format(time.RFC3339))
	}
	return nil
}

// runWatchdog ends Run when ticks have stalled although the database answers.
func (s *Scheduler) runWatchdog(ctx context.Context, stop context.CancelCauseFunc) {
	d := stallDetector{timeout: s.stallTimeout, interval: s.watchdogInterval}
	for sleep(ctx, s.watchdogInterval) {
		_, err := s.Store.Clock(ctx)
		if d.stalled(time.Now(), s.LastTick(), err == nil) {
			stop(ErrStalled)
			return
		}
	}
}

// stallDetector tells a stall from an outage of the database and from a suspended process.
type stallDetector struct {
	timeout  time.Duration
	interval time.Duration // between two calls of stalled
	called   time.Time     // the last call of stalled
	healthy  time.Time     // since when every call found the database answering; zero: the last one did not
}

// stalled reports whether no tick has ended for longer than the timeout. It returns false while the database does not
// answer, and for another timeout after the database has recovered or the process was suspended.
func (d *stallDetector) stalled(now, lastTick time.Time, answered bool) bool {
	suspended := now.Sub(d.called) > 3*d.interval // allow for slow answers of the database
	d.called = now
	switch {
	case !answered:
		d.healthy = time.Time{}
		return false
	case suspended || d.healthy.IsZero():
		d.healthy = now
	}
	return now.Sub(d.healthy) > d.timeout && now.Sub(lastTick) > d.timeout
}

// runTicks runs one tick per nominal instant until ctx ends, starting with the next instant.
func (s *Scheduler) runTicks(ctx context.Context) {
	t := timetable{period: s.Period}
	for {
		now, err := s.Store.Clock(ctx)
		wait := min(s.Period, watchdogInterval)
		if err != nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "reading the store's clock failed", "error", err)
		} else {
			var instant time.Time
			if instant, wait = t.next(now); !instant.IsZero() {
				s.Tick(ctx, instant) // takes time, so wait is 0 and the clock is read again
			}
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// timetable computes the nominal instants of ticks.
type timetable struct {
	period time.Duration
	last   time.Time // the nominal instant of the last tick, or of the first call of next
}

// next returns the nominal instant of a tick that is due at now. If none is due, it
// returns the zero Time and the time until the next one. It skips instants that
// passed between two calls, and repeats instants after the clock was set back.
func (t *timetable) next(now time.Time) (instant time.Time, wait time.Duration) {
	current := now.Truncate(t.period)
	if !t.last.IsZero() && !current.Equal(t.last) {
		t.last = current
		return current, 0
	}
	t.last = current
	return time.Time{}, current.Add(t.period).Sub(now)
}

// Tick runs the tick of one nominal instant. It first starts any maintenance that is due, because silence during a
// maintenance does not count, and ends pauses that are over. Errors are logged.
func (s *Scheduler) Tick(ctx context.Context, instant time.Time) {
	s.advanceMaintenances(ctx)
	if _, err := s.Store.ResumePaused(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "resuming paused monitors failed", "error", err)
	}
	if s.LosingPings != nil && s.LosingPings() {
		s.skip(instant, "pings are being lost")
		s.note(time.Now())
		return
	}
	began := time.Now()
	report, err := s.Store.Tick(ctx, instant, s.Replica, s.Backlog())
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelError), "tick failed", "instant", instant, "error", err)
		}
		return
	case report.Skipped != "":
		s.skip(instant, report.Skipped)
		return
	case report.Overdue > 0:
		s.Logger.Info("tick", "instant", instant, "overdue", report.Overdue, "down", report.Down,
			"took", time.Since(began).Round(time.Millisecond))
	}
	s.resume(instant)
	s.note(time.Now())
}

// skip notes a skipped tick. It logs the first of consecutive ticks that were skipped for the same reason.
func (s *Scheduler) skip(instant time.Time, reason string) {
	s.skipCount++
	if reason != s.skipReason {
		s.skipReason = reason
		s.Logger.Warn("tick skipped", "instant", instant, "reason", reason)
	}
}

// resume notes a tick that was not skipped, and logs it if the tick before was.
func (s *Scheduler) resume(instant time.Time) {
	if s.skipReason != "" {
		s.Logger.Info("ticks resumed", "instant", instant, "skipped", s.skipCount)
		s.skipReason, s.skipCount = "", 0
	}
}

// runLateChecks looks for late checks once per period. It does not delay the ticks, however many there are.
func (s *Scheduler) runLateChecks(ctx context.Context) {
	for sleep(ctx, s.Period) {
		late, err := s.Store.TickChecks(ctx)
		if err != nil && ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "looking for late checks failed", "error", err)
		}
		if late > 0 {
			s.Logger.Warn("checks are late: whether their targets work is unknown", "checks", late)
		}
	}
}

// prune deletes old rows immediately and then every hour.
func (s *Scheduler) prune(ctx context.Context) {
	for {
		if err := s.Store.Prune(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "deleting old rows failed", "error", err)
		}
		if !sleep(ctx, pruneInterval) {
			return
		}
	}
}

// sleep waits for d. It returns false if ctx ends first.
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
