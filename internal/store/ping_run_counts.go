package store

import (
	"context"
	"sync/atomic"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/database"
)

// runCounts counts what this store has committed since it was opened. The maps do not change.
type runCounts struct {
	signals     map[monitor.SignalKind]*atomic.Int64
	warnings    map[monitor.Condition]*atomic.Int64
	runsOverdue *atomic.Int64
}

func newRunCounts() runCounts {
	counts := runCounts{
		make(map[monitor.SignalKind]*atomic.Int64), make(map[monitor.Condition]*atomic.Int64), new(atomic.Int64),
	}
	for _, kind := range monitor.SignalKinds {
		counts.signals[kind] = new(atomic.Int64)
	}
	for _, condition := range monitor.WarningConditions {
		counts.warnings[condition] = new(atomic.Int64)
	}
	return counts
}

// SignalsRecorded returns how many signals of a kind this store has recorded.
func (s *Store) SignalsRecorded(kind monitor.SignalKind) int64 { return s.counts.signals[kind].Load() }

// WarningsAdded returns how many warnings of a condition this store has added.
func (s *Store) WarningsAdded(c monitor.Condition) int64 { return s.counts.warnings[c].Load() }

// RunsOverdue returns how many runs the checks of this store have found overdue.
func (s *Store) RunsOverdue() int64 { return s.counts.runsOverdue.Load() }

// MonitorsRunning returns how many monitors have a run that has begun and whose end is still expected.
func (s *Store) MonitorsRunning(ctx context.Context) (int, error) {
	n, err := read(ctx, s, func(c *session) (int64, error) {
		return database.One(c.Session, database.ScanInt, `SELECT count(*) FROM monitors WHERE run_due_at IS NOT NULL`)
	})
	return int(n), err
}
