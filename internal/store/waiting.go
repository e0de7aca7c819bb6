package store

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/store/database"
)

// Waiting has, for each kind of work, how long the oldest has been overdue, on all replicas; 0: none is overdue.
type Waiting struct {
	Checks time.Duration
	// events for subscribers that have no messages yet; a receiver that does not answer is not our delay
	Deliveries time.Duration
	Alerts     time.Duration // messages to channels, and events and rules that nobody has looked at
}

// Waiting returns how long work has been overdue. These times grow while the work is not done, but not while it is
// repeated because a receiver does not answer.
func (s *Store) Waiting(ctx context.Context) (w Waiting, err error) {
	return read(ctx, s, func(c *session) (w Waiting, err error) {
		for _, kind := range []struct {
			age  *time.Duration
			text string
		}{
			{&w.Checks, `SELECT min(due_at) FROM checks WHERE due_at IS NOT NULL`},
			{&w.Deliveries,
				`SELECT min(CASE WHEN fan_out_progress_at > created_at THEN fan_out_progress_at ELSE created_at END)
					FROM events WHERE fanned_out_at IS NULL`},
			{&w.Alerts,
				`SELECT min(at) FROM (SELECT min(CASE WHEN lease_until_at > due_at THEN lease_until_at ELSE due_at
					END) AS at FROM alert_channels WHERE due_at IS NOT NULL
				UNION ALL SELECT min(due_at) FROM alert_progress WHERE due_at IS NOT NULL
				UNION ALL SELECT min(created_at) FROM monitor_events WHERE routed_at IS NULL) AS open`},
		} {
			due, err := database.One(c.Session, func(row database.Row) (at time.Time, err error) {
				err = row.Scan(instant{&at})
				return
			}, kind.text)
			if err != nil {
				return w, err
			}
			if !due.IsZero() {
				*kind.age = max(0, c.Now.Sub(due))
			}
		}
		return w, nil
	})
}
