package store

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/database"
)

// CheckEnvironment describes the installation to replicas that run checks.
type CheckEnvironment struct {
	Clock           time.Time // the database's
	SingleWorkspace bool      // there is no second one
	SingleReplica   bool      // no other replica is alive
}

// CheckEnvironment returns the CheckEnvironment of the installation.
func (s *Store) CheckEnvironment(ctx context.Context) (CheckEnvironment, error) {
	return read(ctx, s, func(c *session) (x CheckEnvironment, err error) {
		x.Clock = c.Now
		workspaces, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM (SELECT id FROM workspaces LIMIT 2) AS few`)
		if err != nil {
			return x, err
		}
		replicas, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM liveness WHERE seen_at > $1`, millis(c.Now.Add(-livenessTimeout)))
		x.SingleWorkspace, x.SingleReplica = workspaces < 2, replicas < 2
		return x, err
	})
}
