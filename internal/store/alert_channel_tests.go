package store

import (
	"cmp"
	"context"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
)

// TakeChannelTests returns the channels whose weekly test is due, at most limit, for the caller to test.
// Workspaces take turns. Each channel is returned once; a test that a crash prevents is made a week later.
func (s *Store) TakeChannelTests(ctx context.Context, limit int) ([]alert.Channel, error) {
	const due = `FROM alert_channels WHERE test_weekly AND enabled AND (tested_at IS NULL OR tested_at <= $1)`
	now, err := s.Clock(ctx)
	if err != nil {
		return nil, err
	}
	if found, err := s.exists(ctx, `SELECT 1 `+due, millis(now.Add(-alert.TestInterval))); err != nil || !found {
		return nil, err
	}
	return write(ctx, s, func(t *tx) (channels []alert.Channel, err error) {
		t.skipBeforeReturn = true
		before := millis(t.Now.Add(-alert.TestInterval))
		ids, err := t.ids(`SELECT id `+due+
			` AND id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY workspace_id ORDER BY id) AS turn `+
			due+`) AS tests
			ORDER BY turn, id LIMIT $2) ORDER BY id FOR UPDATE SKIP LOCKED`, before, limit)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			c, err := t.channelByID(id)
			if err != nil {
				return nil, err
			}
			channels = append(channels, c)
		}
		_, err = t.Exec(`UPDATE alert_channels SET tested_at = $2 WHERE id IN EACH($1)`, list(ids), millis(t.Now))
		return channels, err
	})
}

// RecordWeeklyTest records the outcome of a weekly test of a channel: what Health shows, and the event that the channel
// fails. It does nothing if the channel was deleted.
func (s *Store) RecordWeeklyTest(ctx context.Context, id string, o audience.SendOutcome) error {
	return s.recordTest(ctx, id, o, true)
}

// RecordRequestedTest records the outcome of a test of a channel that somebody requested: what Health shows. The
// channel is not failing because it did not accept the test, so that nobody is notified, and its fallback is not used.
// It does nothing if the test was not sent, or the channel was deleted.
func (s *Store) RecordRequestedTest(ctx context.Context, id string, o audience.SendOutcome) error {
	if o.Result == audience.SendNotAttempted {
		return nil
	}
	return s.recordTest(ctx, id, o, false)
}

func (s *Store) recordTest(ctx context.Context, id string, o audience.SendOutcome, weekly bool) error {
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		found, err := t.ids(`SELECT id FROM alert_channels WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`, id)
		if err != nil || len(found) == 0 {
			return err
		}
		ch, err := t.channelByID(id)
		if err != nil {
			return err
		}
		if o.Result == audience.SendAccepted {
			ch.Health = alert.Health{AttemptedAt: t.Now, AcceptedAt: t.Now, TemplateError: ch.Health.TemplateError}
			if err := t.saveHealth(ch); err != nil {
				return err
			}
			return t.planChannel(ch.ID) // what waits because it was failing need not wait for its next attempt
		}
		ch.Health.AttemptedAt, ch.Health.Reason = t.Now, cmp.Or(o.Reason, channelRefused)
		if weekly && ch.Health.FailingSince.IsZero() {
			ch.Health.FailingSince = t.Now
		}
		if err := t.saveHealth(ch); err != nil || !weekly {
			return err
		}
		return t.channelFailed(ch)
	})
}

// channelRefused is the reason of an attempt without one.
const channelRefused = "The channel did not accept the message."

// saveHealth saves what the last attempts to use a locked channel have shown.
func (t *tx) saveHealth(ch alert.Channel) error {
	h := ch.Health
	_, err := t.Exec(`UPDATE alert_channels SET attempted_at = $2, taken_at = coalesce($3, taken_at),
		failing_since_at = $4,
			failures = $5, reason = $6, template_error = $7 WHERE id = $1`,
		ch.ID, millis(h.AttemptedAt), millis(h.AcceptedAt), millis(h.FailingSince), h.Failures, nullIfEmpty(h.Reason),
		nullIfEmpty(h.TemplateError))
	return err
}
