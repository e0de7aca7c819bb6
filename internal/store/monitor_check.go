package store

import (
	"context"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// MonitorCheck returns a monitor as Monitor does, with the secrets of its check. If these cannot be decrypted, there
// are none, and Check.SecretFields says which there should be.
func (s *Store) MonitorCheck(ctx context.Context, actor kernel.Actor, ref string) (monitor.Monitor, error) {
	return read(ctx, s, func(c *session) (monitor.Monitor, error) {
		m, err := c.filledMonitor(c.monitorOf(actor, ref))
		if err == nil {
			err = c.loadSecrets(&m)
		}
		return m, err
	})
}

// maxFamily is the maximum number of children that MonitorFamily returns.
const maxFamily = 100

// MonitorFamily returns the parent of a monitor, and then its oldest children. Monitors that the actor cannot reach are
// left out.
func (s *Store) MonitorFamily(ctx context.Context, actor kernel.Actor, m monitor.Monitor) ([]monitor.Monitor, error) {
	return read(ctx, s, func(c *session) ([]monitor.Monitor, error) {
		r := accessOf(actor)
		family, err := c.monitors(`WHERE id = $1 AND `+r.objects(2), m.ParentID, r.arg)
		if err != nil {
			return nil, err
		}
		children, err := c.monitors(`WHERE parent_id = $1 AND `+r.objects(2)+` ORDER BY created_at, id LIMIT $3`, m.ID,
			r.arg, maxFamily)
		return append(family, children...), err
	})
}
