package store

import (
	"context"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/database"
)

// ResumePaused enables the monitors whose pause is over, in transactions of at most tickBatch, and returns how many
// there are. Each begins a new wait when it is resumed, so that a service that was not running meanwhile raises no
// alarm. Any number of replicas may run it.
func (s *Store) ResumePaused(ctx context.Context) (resumed int, err error) {
	for {
		ids, err := read(ctx, s, func(c *session) ([]string, error) {
			return database.Query(c.Session, database.ScanString, `SELECT id FROM monitors
				WHERE paused_until_at IS NOT NULL AND paused_until_at <= $1 ORDER BY paused_until_at, id
				LIMIT $2`, millis(c.Now), tickBatch)
		})
		if err != nil || len(ids) == 0 {
			return resumed, err
		}
		n, err := write(ctx, s, func(t *tx) (int, error) {
			t.skipBeforeReturn = true
			return t.resumePaused(ids)
		})
		if resumed += n; err != nil || len(ids) < tickBatch {
			return resumed, err
		}
	}
}

// resumePaused enables the monitors among ids whose pause is over, and returns how many there are.
func (t *tx) resumePaused(ids []string) (resumed int, err error) {
	monitors, err := t.monitors(`WHERE id IN EACH($1) ORDER BY id FOR UPDATE`, list(ids))
	for _, m := range monitors {
		if err != nil {
			break
		}
		if m.PauseIsOver(t.Now) {
			resumed++
			err = t.resume(m)
		}
	}
	return resumed, err
}

// resume enables a locked monitor, as a change by a person does.
func (t *tx) resume(m monitor.Monitor) error {
	before := m
	if err := resource.ChangeMonitor(&m, monitor.Resume(), t.Now); err != nil {
		return err
	}
	m.UpdatedAt = kernel.Later(t.Now, m.UpdatedAt)
	m, err := t.filledMonitor(m, nil)
	if err == nil {
		err = t.saveMonitor(m)
	}
	if err == nil {
		err = t.saveHealthy(m)
	}
	if err == nil {
		err = t.changeCheck(before, &m)
	}
	if !m.IsCheck() {
		t.addEffect(effectPingToken, m.Token)
	}
	t.logAfter("monitor is resumed", "monitor", m.ID, m.Name)
	return err
}
