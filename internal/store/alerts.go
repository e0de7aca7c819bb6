package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// AlertFilter limits a list of alerts. Zero fields do not limit it.
type AlertFilter struct {
	State   alert.State
	Event   alert.Event
	Monitor string // id or slug
}

// Alerts lists the alerts of a workspace, beginning with the alert that began last.
func (s *Store) Alerts(
	ctx context.Context, actor kernel.Actor, f AlertFilter, r Pagination,
) ([]alert.Alert, int, error) {
	from, args := f.from(actor)
	return listQuery[alert.Alert]{
		scan: scanAlert, columns: alertColumns,
		from: from, args: args, order: `ORDER BY opened_at DESC, id DESC`,
	}.load(ctx, s, r)
}

// from returns the FROM clause of the alerts that match the filter and that an actor may see.
func (f AlertFilter) from(actor kernel.Actor) (from string, args []any) {
	from, args = alertsOf(actor)
	switch f.State {
	case alert.Open:
		from += ` AND resolved_at IS NULL AND acknowledged_at IS NULL`
	case alert.Acknowledged:
		from += ` AND resolved_at IS NULL AND acknowledged_at IS NOT NULL`
	case alert.Resolved:
		from += ` AND resolved_at IS NOT NULL`
	}
	if f.Event != "" {
		from, args = withCondition(from, args, `event = $%d`, string(f.Event))
	}
	if f.Monitor != "" {
		from, args = withCondition(from, args, `(monitor_id = $%[1]d OR monitor_id IN (SELECT id FROM monitors
				WHERE slug = $%[1]d AND workspace_id = alerts.workspace_id))`, f.Monitor)
	}
	return from, args
}

// alertsOf returns the FROM clause of the alerts that an actor may see. An actor who is limited to pages sees the
// alerts of these pages.
func alertsOf(actor kernel.Actor) (from string, args []any) {
	r := accessOf(actor)
	if r.limited {
		return `FROM alerts WHERE ` + r.on(`page_id`, 1), []any{r.arg}
	}
	return `FROM alerts WHERE workspace_id = $1`, []any{r.arg}
}

// AlertNotice is a notice of an alert with its outcome.
type AlertNotice struct {
	Kind        alert.NoticeKind
	ChannelID   string
	ChannelName string
	ChannelType string
	Deleted     bool   // the channel was deleted since
	RuleName    string // the rule that sent it; "": none, or it was deleted
	FallbackFor string // the name of the channel that did not accept it; "": none
	At          time.Time
	SentAt      time.Time // zero: the channel has not accepted it
	Failed      bool      // it is not tried again
	Reason      string    // why it was not accepted; "": it was, or was not tried yet
}

// AlertHold is a time in which a rule held an alert back.
type AlertHold struct {
	RuleID    string
	RuleName  string // "": it was deleted
	Reason    alert.HoldReason
	At, Until time.Time
	Over      bool // the rule does not hold the alert back any more
}

// endHolds sets which of the holds of an alert are over, and when they ended if that was earlier than planned.
func (d *AlertDetail) endHolds(now time.Time) {
	for i := range d.Holds {
		h := &d.Holds[i]
		ends := []time.Time{d.AcknowledgedAt}
		if d.Event.Lasts() && h.Reason != alert.HeldByFlapping { // others are sent although the alert has ended
			ends = append(ends, d.ResolvedAt)
		}
		h.Over = !h.Until.After(now) || !slices.ContainsFunc(d.Plans, func(p AlertPlan) bool {
			return p.RuleID == h.RuleID && p.Held == h.Reason
		})
		for _, end := range ends {
			if !end.IsZero() && end.Before(h.Until) {
				h.Until = kernel.Later(end, h.At)
			}
		}
	}
}

// AlertDetail is an alert with its history.
type AlertDetail struct {
	alert.Alert
	Notices []AlertNotice // the oldest first
	Holds   []AlertHold   // the oldest first
	Plans   []AlertPlan   // by DueAt
}

// maxShownNotices is how many notices of an alert are shown, and how many times in which it was held back.
const maxShownNotices = 500

// MaxPlanSteps is how many of a rule's next steps are shown.
const MaxPlanSteps = 5

// Alert returns an alert of a workspace with its history.
func (s *Store) Alert(ctx context.Context, actor kernel.Actor, id string) (AlertDetail, error) {
	return read(ctx, s, func(c *session) (d AlertDetail, err error) {
		from, args := alertsOf(actor)
		from, args = withCondition(from, args, `id = $%d`, id)
		if d.Alert, err = database.One(c.Session, scanAlert, `SELECT `+alertColumns+` `+from, args...); err != nil {
			return d, err
		}
		if d.Notices, err = database.Query(c.Session, func(row database.Row) (t AlertNotice, err error) {
			var state string
			err = row.Scan(&t.Kind, &t.ChannelID, &t.ChannelName, &t.ChannelType, &t.Deleted, text{&t.RuleName},
				instant{&t.At}, text{&state}, instant{&t.SentAt}, text{&t.Reason}, text{&t.FallbackFor})
			if t.Failed = state == messageFailed; state != messageSent {
				t.SentAt = time.Time{}
			}
			return
		}, `SELECT n.kind, n.channel_id, c.name, c.type, c.deleted_at IS NOT NULL, r.name, n.created_at, m.state,
				m.finished_at, m.reason, f.name FROM alert_notices n JOIN alert_channels c ON c.id = n.channel_id
				LEFT JOIN alert_channels f ON f.id = n.fallback_for LEFT JOIN alert_rules r ON r.id = n.rule_id
				LEFT JOIN alert_messages m ON m.id = n.message_id
				WHERE n.alert_id = $1 ORDER BY n.created_at, n.id LIMIT $2`, id, maxShownNotices); err != nil {
			return d, err
		}
		if d.Holds, err = database.Query(c.Session, func(row database.Row) (h AlertHold, err error) {
			err = row.Scan(&h.RuleID, text{&h.RuleName}, &h.Reason, instant{&h.At}, instant{&h.Until})
			return
		}, `SELECT h.rule_id, r.name, h.reason, h.held_at, h.until_at FROM alert_holds h
				LEFT JOIN alert_rules r ON r.id = h.rule_id WHERE h.alert_id = $1 ORDER BY h.held_at, h.rule_id
				LIMIT $2`,
			id, maxShownNotices); err != nil {
			return d, err
		}
		plans, err := c.alertPlans(d.WorkspaceID, []alert.Alert{d.Alert}, MaxPlanSteps)
		d.Plans = plans[d.ID]
		d.endHolds(c.Now)
		return d, err
	})
}

// AcknowledgeAlert records that somebody acknowledges an alert: it is not repeated or escalated any more, and everybody
// who was notified of the alert is notified of that. Pages do not change. An alert that was acknowledged before, or has
// ended, is not changed.
func (s *Store) AcknowledgeAlert(
	ctx context.Context, actor kernel.Actor, id string, save ...SaveResponse[alert.Alert],
) (alert.Alert, error) {
	return writeAs(ctx, s, actor, func(t *tx) (alert.Alert, error) {
		if err := t.lockMutex(mutexAlerts); err != nil {
			return alert.Alert{}, err
		}
		from, args := alertsOf(actor)
		from, args = withCondition(from, args, `id = $%d`, id)
		before, err := database.One(t.Session, scanAlert, `SELECT `+alertColumns+` `+from, args...)
		if err != nil {
			return before, err
		}
		return t.acknowledge(actor, before)
	}, save...)
}

// acknowledge records that somebody acknowledges an alert, unless it was acknowledged before or has ended.
func (t *tx) acknowledge(actor kernel.Actor, before alert.Alert) (alert.Alert, error) {
	if before.State() != alert.Open {
		return before, nil
	}
	a := before
	a.AcknowledgedAt, a.AcknowledgedBy = t.Now, actor.DisplayName()
	_, err := t.Exec(`UPDATE alerts SET acknowledged_at = $2, acknowledged_by = $3 WHERE id = $1`,
		a.ID, millis(a.AcknowledgedAt), a.AcknowledgedBy)
	if err != nil {
		return a, err
	}
	if err := t.audit(actor, kernel.AuditAcknowledge, before, a); err != nil {
		return a, err
	}
	if _, err := t.Exec(`UPDATE alert_progress SET due_at = NULL, held = NULL WHERE alert_id = $1`, a.ID); err != nil {
		return a, err
	}
	notices, err := t.noticesToRecipients([]string{a.ID}, alert.NoticeAcknowledged)
	if err != nil {
		return a, err
	}
	return a, t.addNotices(notices)
}

// AlertThread are the alerts of a conversation with a channel, which anyone who knows its key may see and acknowledge.
type AlertThread struct {
	ChannelName string
	workspaceID string
	Alerts      []alert.Alert // beginning with the alert that began last
	Total       int
}

// AlertThread returns the first alert.MaxLines alerts of the thread with a key. It returns kernel.ErrNotFound if there
// is none.
func (s *Store) AlertThread(ctx context.Context, key string) (AlertThread, error) {
	return read(ctx, s, func(c *session) (AlertThread, error) { return c.alertThread(key, alert.MaxLines) })
}

func (c *session) alertThread(key string, limit int) (h AlertThread, err error) {
	thread := ""
	if _, err = database.One(c.Session, func(row database.Row) (none struct{}, err error) {
		err = row.Scan(&thread, &h.ChannelName, &h.workspaceID)
		return
	}, `SELECT h.id, c.name, c.workspace_id FROM alert_threads h JOIN alert_channels c ON c.id = h.channel_id
			WHERE h.secret_key = $1 AND c.deleted_at IS NULL`, key); err != nil {
		return h, err
	}
	const of = `FROM alerts WHERE id IN (SELECT alert_id FROM alert_recipients WHERE thread_id = $1)`
	total, err := database.One(c.Session, database.ScanInt, `SELECT count(*) `+of, thread)
	if err != nil {
		return h, err
	}
	h.Total = int(total)
	h.Alerts, err = database.Query(c.Session, scanAlert,
		`SELECT `+alertColumns+` `+of+` ORDER BY opened_at DESC, id DESC LIMIT $2`, thread, limit)
	return h, err
}

// ThreadChannel returns the channel of the thread with a key, with its secrets, or without them if they cannot be
// opened.
func (s *Store) ThreadChannel(ctx context.Context, key string) (alert.Channel, error) {
	return read(ctx, s, func(c *session) (ch alert.Channel, err error) {
		id, err := database.One(c.Session, database.ScanString,
			`SELECT channel_id FROM alert_threads WHERE secret_key = $1`, key)
		if err != nil {
			return ch, err
		}
		return c.channelByID(id)
	})
}

// AcknowledgeThread acknowledges all open alerts of the thread with a key, and returns how many there were. actor is
// who did it, in any workspace. A user who is not a member of the thread's workspace is recorded like anyone else with
// the link.
func (s *Store) AcknowledgeThread(ctx context.Context, key string, actor kernel.Actor) (count int, err error) {
	return write(ctx, s, func(t *tx) (int, error) {
		if err := t.lockMutex(mutexAlerts); err != nil {
			return 0, err
		}
		h, err := t.alertThread(key, maxNotices)
		if err != nil {
			return 0, err
		}
		if actor, err = t.threadActor(actor, h); err != nil {
			return 0, err
		}
		n := 0
		for _, a := range h.Alerts {
			if a.State() != alert.Open {
				continue
			}
			if _, err := t.acknowledge(actor, a); err != nil {
				return 0, err
			}
			n++
		}
		return n, nil
	})
}

// threadActor returns the actor in the workspace of a thread.
func (t *tx) threadActor(actor kernel.Actor, h AlertThread) (kernel.Actor, error) {
	if actor.Kind == kernel.ActorUser {
		n, err := database.One(t.Session, database.ScanInt,
			`SELECT count(*) FROM members WHERE user_id = $1 AND workspace_id = $2`, actor.ID, h.workspaceID)
		if err != nil {
			return actor, err
		}
		if n == 0 {
			actor = kernel.Actor{Kind: kernel.ActorLink, Name: actor.Name, Address: actor.Address}
		}
	}
	actor.WorkspaceID = h.workspaceID
	return actor, nil
}

// pruneAlerts deletes alerts that ended more than alert.Retention ago, silences and messages that are as old, and
// channels that were deleted before and that no alert names.
func (s *Store) pruneAlerts(ctx context.Context) error {
	before := func(t *tx) any { return millis(t.Now.Add(-alert.Retention)) }
	return errors.Join(
		s.deleteInSteps(ctx, `FROM alerts WHERE resolved_at <= $1`, before),
		s.deleteInSteps(ctx, `FROM silences WHERE ends_at <= $1`, before),
		s.deleteInSteps(ctx, `FROM alert_threads WHERE created_at <= $1
				AND NOT EXISTS (SELECT 1 FROM alert_recipients r WHERE r.thread_id = alert_threads.id)`, before),
		s.deleteInSteps(ctx, `FROM alert_messages WHERE finished_at <= $1`, before),
		s.deleteInSteps(ctx, `FROM alert_channels WHERE deleted_at <= $1
				AND NOT EXISTS (SELECT 1 FROM alert_recipients r WHERE r.channel_id = alert_channels.id)`, before),
	)
}
