package store

import (
	"context"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// Retention times. A listening gap matters as long as a monitor may have been waiting since before it. A short one
// matters only for a job's retries, or together with others; a month is enough for both
// (docs/decisions/0013-gaps-and-deadlines.md).
const (
	gapRetention          = 2 * monitor.MaxInterval
	shortGapRetention     = 31 * 24 * time.Hour
	statusChangeRetention = 2 * statuspage.HistoryDays * 24 * time.Hour
	livenessRetention     = 24 * time.Hour
	deliveryLogRetention  = 30 * 24 * time.Hour
	monitorEventRetention = 30 * 24 * time.Hour
)

// retention says which rows are deleted, and how long after the time that the statement compares with $1.
type retention struct {
	statement string
	age       time.Duration
}

// retentions are the deletions that are small enough for one transaction.
var retentions = []retention{
	{`DELETE FROM idempotency_keys WHERE created_at <= $1`, IdempotencyLifetime},
	{`DELETE FROM status_changes WHERE changed_at <= $1 AND changed_at < (SELECT max(o.changed_at)
		FROM status_changes o
		WHERE o.component_id = status_changes.component_id AND o.changed_at <= $1)`, statusChangeRetention},
	{`DELETE FROM listening_gaps WHERE to_at <= $1`, gapRetention},
	{`DELETE FROM checking_gaps WHERE to_at <= $1`, statusChangeRetention},
	{`DELETE FROM listening_gaps WHERE to_at <= $1 AND to_at - from_at < 30000`, shortGapRetention},
	{`DELETE FROM liveness WHERE seen_at <= $1 AND seen_at < (SELECT max(seen_at) FROM liveness)`, livenessRetention},
	{`DELETE FROM subscribers WHERE created_at <= $1 AND confirmed_at IS NULL`, audience.UnconfirmedLifetime},
	{`DELETE FROM subscribers
		WHERE incident_id IN (SELECT id FROM incidents WHERE resolved AND resolved_at <= $1)`,
		2 * audience.DeliveryLifetime},
	{`DELETE FROM sessions WHERE last_used_at <= $1`, account.SessionIdleLimit},
	{`DELETE FROM sessions WHERE created_at <= $1`, account.SessionMaxAge},
	{`DELETE FROM sms_counts WHERE day_at <= $1`, smsCountsKept},
	{`DELETE FROM ping_keys WHERE ends_at <= $1`, 0},
	{`DELETE FROM address_confirmations WHERE asked_at <= $1`, alert.ConfirmationLifetime},
	{`DELETE FROM one_time_codes WHERE ends_at <= $1`, 0},
	{`DELETE FROM page_limits WHERE holder_id IN (SELECT id FROM invitations WHERE ends_at <= $1)`, 0},
	{`DELETE FROM invitations WHERE ends_at <= $1`, 0},
	{`UPDATE monitors SET old_token = NULL, old_token_until_at = NULL
		WHERE old_token IS NOT NULL AND old_token_until_at <= $1`, 0},
}

// Prune deletes old data, among others responses to idempotent requests, liveness records of replicas that are gone,
// old listening gaps, addresses that were never confirmed, events, signals and warnings of monitors, alerts that have
// ended, and the log of finished deliveries. It always keeps at least one liveness record.
func (s *Store) Prune(ctx context.Context) error {
	for _, r := range []retention{
		{`FROM deliveries WHERE created_at <= $1 AND page_id IN (SELECT id FROM pages)
			AND state NOT IN ('pending', 'sending')`, deliveryLogRetention},
		{`FROM monitor_events WHERE created_at <= $1`, monitorEventRetention},
		{`FROM signals WHERE received_at <= $1 AND due_at IS NULL`, s.SignalRetention()},
		{`FROM warnings WHERE warned_at <= $1`, monitor.WarningRetention},
	} {
		if err := s.deleteInSteps(ctx, r.statement, func(t *tx) any { return millis(t.Now.Add(-r.age)) }); err != nil {
			return err
		}
	}
	for _, prune := range []func(context.Context) error{
		s.pruneAlerts, s.pruneCheckResults, s.pruneCheckRollups, s.pruneAuditLog,
	} {
		if err := prune(ctx); err != nil {
			return err
		}
	}
	return writeOnly(ctx, s, func(t *tx) error {
		for _, r := range retentions {
			if _, err := t.Exec(r.statement, millis(t.Now.Add(-r.age))); err != nil {
				return err
			}
		}
		return nil
	})
}

// The number of rows that one transaction of a large deletion deletes, and the maximum number of such transactions.
const (
	stepRows = 1000
	maxSteps = 10_000
)

// deleteInSteps deletes rows that have an id in several short transactions, so that others
// do not wait long. from is the statement from FROM on, with one parameter.
func (s *Store) deleteInSteps(ctx context.Context, from string, arg func(*tx) any) error {
	for range maxSteps {
		n, err := write(ctx, s, func(t *tx) (int64, error) { return t.deleteStep(from, arg(t)) })
		if err != nil || n < stepRows {
			return err
		}
	}
	return nil
}

// deleteStep deletes at most stepRows of the rows of deleteInSteps, and returns how many.
func (t *tx) deleteStep(from string, arg any) (int64, error) {
	table, _, _ := strings.Cut(strings.TrimPrefix(from, "FROM "), " ")
	return t.Exec(`DELETE FROM `+table+` WHERE id IN (SELECT id `+from+` LIMIT $2)`, arg, stepRows)
}
