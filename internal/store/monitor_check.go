package store

import (
	"context"
	"errors"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/secret"
)

// MonitorCheck returns a monitor as Monitor does, with the secrets of its check. If these cannot be opened, because the key is another
// one, there are none, and Check.SecretFields says which there should be.
func (s *Store) MonitorCheck(ctx context.Context, actor allswell.Actor, ref string) (allswell.Monitor, error) {
	return read(ctx, s, func(c *session) (allswell.Monitor, error) {
		m, err := c.filledMonitor(c.monitorOf(actor, ref))
		if err != nil || len(m.Check.SecretFields) == 0 {
			return m, err
		}
		if m.Check.Secrets, err = c.secretsOf(m.ID); errors.Is(err, secret.ErrNoKey) {
			err = nil
		}
		return m, err
	})
}
