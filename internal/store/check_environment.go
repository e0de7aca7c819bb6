package store

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/store/database"
)

// CheckEnvironment describes the installation to replicas that run checks.
type CheckEnvironment struct {
	Clock           time.Time // the database's
	FirstWorkspace  string    // the id of the oldest one, which is the operator's; "": there is none
	SingleWorkspace bool      // there is no second one
	SingleReplica   bool      // no other replica is alive
}

// CheckEnvironment returns the CheckEnvironment of the installation.
func (s *Store) CheckEnvironment(ctx context.Context) (CheckEnvironment, error) {
	return read(ctx, s, func(c *session) (x CheckEnvironment, err error) {
		x.Clock = c.Now
		workspaces, err := database.Query(c.Session, database.ScanString,
			`SELECT id FROM workspaces ORDER BY created_at, id LIMIT 2`)
		if err != nil {
			return x, err
		}
		if len(workspaces) > 0 {
			x.FirstWorkspace = workspaces[0]
		}
		replicas, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM liveness WHERE seen_at > $1`,
			millis(c.Now.Add(-livenessTimeout)))
		x.SingleWorkspace, x.SingleReplica = len(workspaces) < 2, replicas < 2
		return x, err
	})
}
