package store

import (
	"context"
	"os"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store/database"
)

// SystemPeriod is the maximum age of the listening gaps of a System, counted from their end.
const SystemPeriod = 30 * 24 * time.Hour

// replicaPeriod is how long after its last liveness record a replica is listed.
const replicaPeriod = time.Hour

// System is the state of the installation, which is the same for all workspaces.
type System struct {
	AsOf     time.Time // by the database's clock
	Replicas []Replica // seen in the last hour, the latest first
	Gaps     []schedule.ListeningGap
}

// Replica is a serving process with its last liveness record.
type Replica struct {
	Name   string
	SeenAt time.Time
}

// System returns the state of the installation.
func (s *Store) System(ctx context.Context) (System, error) {
	return read(ctx, s, func(c *session) (System, error) {
		replicas, err := database.Query(c.Session, func(row database.Row) (r Replica, err error) {
			err = row.Scan(&r.Name, instant{&r.SeenAt})
			return
		}, `SELECT replica, seen_at FROM liveness WHERE seen_at > $1 ORDER BY seen_at DESC, replica`,
			millis(c.Now.Add(-replicaPeriod)))
		if err != nil {
			return System{}, err
		}
		gaps, err := c.gaps(c.Now.Add(-SystemPeriod))
		return System{c.Now, replicas, gaps}, err
	})
}

// MayBackUp reports whether a user may download the whole database, because they are an owner of every workspace.
func (s *Store) MayBackUp(ctx context.Context, actor kernel.Actor) (bool, error) {
	return read(ctx, s, func(c *session) (bool, error) {
		others, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM workspaces w
			WHERE NOT EXISTS (SELECT 1 FROM members m WHERE m.workspace_id = w.id AND m.user_id = $1 AND m.role = $2)`,
			actor.ID, string(kernel.RoleOwner))
		return others == 0, err
	})
}

// OpenBackup makes a consistent copy of the SQLite database and returns it, opened, until remove is called. It has the
// data of all workspaces; see MayBackUp. It has no saved responses, which contain secrets. The caller makes one at a
// time. The audit entry is written before the copy.
func (s *Store) OpenBackup(ctx context.Context, actor kernel.Actor) (f *os.File, remove func(), err error) {
	if err := writeOnlyAs(ctx, s, actor, func(t *tx) error {
		return t.audit(actor, kernel.AuditExport, kernel.Database{}, kernel.Database{})
	}); err != nil {
		return nil, nil, err
	}
	return s.db.OpenBackup(ctx, `DELETE FROM idempotency_keys`)
}
