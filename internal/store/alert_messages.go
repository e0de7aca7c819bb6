package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store/database"
)

// maxNotices is the maximum number of notices in one message; the others are in the next message.
const maxNotices = 5000

// The states of messages that are not tried again; the others are being sent.
const (
	messageSent   = "sent"
	messageFailed = "failed"
)

// maxDueChannels is the maximum number of due channels that one claim looks at.
const maxDueChannels = 2000

// MessageClaim says which messages a replica can send.
type MessageClaim struct {
	Limit   int      // channels
	Follows []string // the types of channels that keep an object for each thread: see alert.Compose

	// Plan decides which channels are claimed. nil: all that are due are.
	Plan *fair.Plan
	Host func(DueChannel) string // the server of a channel; needed with a plan
}

// DueChannel is a channel for which something waits.
type DueChannel struct {
	ID, WorkspaceID string
	UpdatedAt       time.Time // of the configuration

	load func() (alert.Channel, error)
}

// Channel loads the channel with its secrets, except for secrets that cannot be opened.
func (d DueChannel) Channel() (alert.Channel, error) { return d.load() }

// ClaimedMessage is a message that only the replica which claimed its channel may send, until the lease ends.
type ClaimedMessage struct {
	alert.Message
	Channel      alert.Channel // with its secrets
	Since        time.Time     // when it was composed
	FencingToken int64
	LeaseUntil   time.Time
}

// ClaimMessages claims channels for which something waits, and returns a message for each, durably. After a crash the
// same message is claimed again when the lease has ended. Workspaces take turns, and channels that the plan does not
// admit stay due. next is when another channel will be due, by Clock; zero: none will.
func (s *Store) ClaimMessages(
	ctx context.Context, c MessageClaim,
) (claimed []ClaimedMessage, next time.Time, err error) {
	chosen, err := read(ctx, s, func(x *session) (chosen []DueChannel, err error) {
		if next, err = x.nextChannel(); err != nil {
			return nil, err
		}
		return x.chooseChannels(c)
	})
	if err != nil || len(chosen) == 0 {
		return nil, next, err
	}
	claimed, err = write(ctx, s, func(t *tx) (claimed []ClaimedMessage, err error) {
		t.skipBeforeReturn = true
		for _, d := range chosen {
			// A channel that was changed meanwhile may have another host.
			ids, err := t.ids(`SELECT id FROM alert_channels WHERE id = $1 AND updated_at = $2
					AND due_at <= $3 AND (lease_until_at IS NULL OR lease_until_at <= $3) FOR UPDATE SKIP LOCKED`,
				d.ID, millis(d.UpdatedAt), millis(t.Now))
			if err == nil && len(ids) > 0 {
				claimed, err = t.claimChannel(claimed, d.ID, c.Follows)
			}
			if err != nil {
				return nil, err
			}
		}
		next, err = t.nextChannel()
		return claimed, err
	})
	return claimed, next, err
}

// chooseChannels returns the due channels that the plan admits, the first of each workspace before the second of any.
func (c *session) chooseChannels(claim MessageClaim) (chosen []DueChannel, err error) {
	due, err := database.Query(c.Session, func(row database.Row) (d DueChannel, err error) {
		err = row.Scan(&d.ID, &d.WorkspaceID, instant{&d.UpdatedAt})
		return
	}, `SELECT id, workspace_id, updated_at FROM (SELECT id, workspace_id, updated_at, due_at,
			row_number() OVER (PARTITION BY workspace_id ORDER BY due_at, id) AS turn
			FROM alert_channels WHERE due_at <= $1 AND (lease_until_at IS NULL OR lease_until_at <= $1)) AS due
		ORDER BY turn, due_at, id LIMIT $2`, millis(c.Now), maxDueChannels)
	for _, d := range due {
		if len(chosen) == claim.Limit {
			break
		}
		if claim.Plan.Full(d.WorkspaceID) {
			continue
		}
		if claim.Plan != nil {
			d.load = func() (alert.Channel, error) { return c.channelByID(d.ID) }
			to := fair.Target{Workspace: d.WorkspaceID, Host: claim.Host(d)}
			if !claim.Plan.Admits(to) {
				continue
			}
			claim.Plan.Add(to)
		}
		chosen = append(chosen, d)
	}
	return chosen, err
}

// nextChannel returns when the next channel that is not due yet will be; zero: never.
func (c *session) nextChannel() (time.Time, error) {
	return database.One(c.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT min(CASE WHEN lease_until_at > due_at THEN lease_until_at ELSE due_at END) FROM alert_channels
		WHERE due_at IS NOT NULL AND (due_at > $1 OR lease_until_at > $1)`, millis(c.Now))
}

// claimChannel claims a locked channel, and appends its message. There is none if all alerts in it have been deleted.
func (t *tx) claimChannel(claimed []ClaimedMessage, id string, follows []string) ([]ClaimedMessage, error) {
	ch, err := t.channelByID(id)
	if err != nil {
		return claimed, err
	}
	m, since, err := t.openMessage(ch, slices.Contains(follows, ch.Type))
	if errors.Is(err, kernel.ErrNotFound) {
		return claimed, t.planChannel(id)
	}
	if err != nil {
		return claimed, err
	}
	c := ClaimedMessage{Message: m, Channel: ch, Since: since, LeaseUntil: t.Now.Add(alert.LeaseDuration)}
	c.FencingToken, err = database.One(t.Session, database.ScanInt, `UPDATE alert_channels
			SET lease_until_at = $2, fencing_token = fencing_token + 1 WHERE id = $1 RETURNING fencing_token`,
		id, millis(c.LeaseUntil))
	t.MarkChanged()
	return append(claimed, c), err
}

// openMessage returns the message of a channel that is being sent and when it was composed, and composes one if there
// is none. It returns kernel.ErrNotFound if there are no notices to send.
func (t *tx) openMessage(ch alert.Channel, follows bool) (m alert.Message, since time.Time, err error) {
	row, err := database.One(t.Session, scanMessage,
		`SELECT `+messageColumns+` FROM alert_messages WHERE channel_id = $1 AND state = 'sending'`, ch.ID)
	if errors.Is(err, kernel.ErrNotFound) {
		row, err = t.composeMessage(ch, follows)
	}
	if err != nil {
		return m, since, err
	}
	m, err = t.message(row)
	return m, row.createdAt, err
}

// messageRow is a row of alert_messages.
type messageRow struct {
	id, channelID, threadID string
	first                   bool
	attempts                int
	createdAt               time.Time
}

const messageColumns = `id, channel_id, thread_id, first, attempts, created_at`

func scanMessage(row database.Row) (m messageRow, err error) {
	err = row.Scan(&m.id, &m.channelID, text{&m.threadID}, &m.first, &m.attempts, instant{&m.createdAt})
	return
}

const noticeColumns = `n.id, n.alert_id, n.channel_id, n.kind, n.created_at, r.thread_id`

func scanNotice(row database.Row) (n alert.Notice, err error) {
	err = row.Scan(&n.ID, &n.AlertID, &n.ChannelID, &n.Kind, instant{&n.CreatedAt}, text{&n.ThreadID})
	return
}

// composeMessage makes a message of the notices that wait for a locked channel.
func (t *tx) composeMessage(ch alert.Channel, follows bool) (m messageRow, err error) {
	waiting, err := database.Query(t.Session, scanNotice, `SELECT `+noticeColumns+` FROM alert_notices n
		LEFT JOIN alert_recipients r ON r.alert_id = n.alert_id AND r.channel_id = n.channel_id
		WHERE n.channel_id = $1 AND n.message_id IS NULL ORDER BY n.created_at, n.id LIMIT $2`, ch.ID, maxNotices)
	if err != nil {
		return m, err
	}
	chosen, thread, own := alert.Compose(waiting, follows)
	if len(chosen) == 0 {
		return m, kernel.ErrNotFound
	}
	m = messageRow{kernel.NewID(alert.PrefixMessage, t.Now), ch.ID, thread, own && thread == "", 0, t.Now}
	var ids, alerts []string
	for _, n := range chosen {
		ids, alerts = append(ids, n.ID), append(alerts, n.AlertID)
	}
	if m.first {
		m.threadID = kernel.NewID(alert.PrefixThread, t.Now)
		_, err = t.Exec(`INSERT INTO alert_threads (id, channel_id, secret_key, created_at) VALUES ($1, $2, $3, $4)`,
			m.threadID, ch.ID, rand.Text(), millis(t.Now))
		if err != nil {
			return m, err
		}
		_, err = t.Exec(`UPDATE alert_recipients SET thread_id = $3 WHERE channel_id = $1 AND alert_id IN EACH($2)`,
			ch.ID, list(alerts), m.threadID)
		if err != nil {
			return m, err
		}
	}
	_, err = t.Exec(`INSERT INTO alert_messages (id, channel_id, thread_id, first, state, attempts, created_at)
			VALUES ($1, $2, $3, $4, 'sending', 0, $5)`,
		m.id, ch.ID, nullIfEmpty(m.threadID), m.first, millis(m.createdAt))
	if err != nil {
		return m, err
	}
	_, err = t.Exec(`UPDATE alert_notices SET message_id = $2 WHERE id IN EACH($1)`, list(ids), m.id)
	return m, err
}

// message loads the contents of a message.
func (c *session) message(row messageRow) (m alert.Message, err error) {
	m = alert.Message{ID: row.id, ChannelID: row.channelID, At: c.Now}
	notices, err := database.Query(c.Session, scanNotice, `SELECT `+noticeColumns+` FROM alert_notices n
		LEFT JOIN alert_recipients r ON r.alert_id = n.alert_id AND r.channel_id = n.channel_id WHERE n.message_id = $1
		ORDER BY n.created_at, n.id`, row.id)
	if err != nil {
		return m, err
	}
	var ids []string
	for _, n := range notices {
		ids = append(ids, n.AlertID)
	}
	alerts, err := c.alertsByID(ids)
	if err != nil {
		return m, err
	}
	m.Items = alert.NewItems(notices, alerts)
	if row.threadID == "" || len(m.Items) == 0 {
		return m, nil
	}
	thread, err := database.One(c.Session, func(r database.Row) (h alert.Thread, err error) {
		err = r.Scan(&h.ID, &h.Key, text{&h.Reference}, &h.Open, &h.Known)
		return
	}, `SELECT h.id, h.secret_key, h.reference, count(CASE WHEN a.resolved_at IS NULL
		AND a.acknowledged_at IS NULL THEN 1 END),
			count(CASE WHEN a.resolved_at IS NULL AND a.acknowledged_at IS NOT NULL THEN 1 END)
		FROM alert_threads h LEFT JOIN alert_recipients r ON r.thread_id = h.id LEFT JOIN alerts a ON a.id = r.alert_id
		WHERE h.id = $1 GROUP BY h.id, h.secret_key, h.reference`, row.threadID)
	if err != nil {
		return m, err
	}
	if thread.First = row.first; !thread.First {
		thread.Alerts, err = database.Query(c.Session, scanAlert, `SELECT `+alertColumns+` FROM alerts
				WHERE id IN (SELECT alert_id FROM alert_recipients WHERE thread_id = $1)
			ORDER BY opened_at, id LIMIT $2`, thread.ID, maxNotices)
	}
	m.Thread = &thread
	return m, err
}

// MessageResult is the outcome of one attempt to send a claimed message.
type MessageResult struct {
	ClaimedMessage
	Outcome   audience.SendOutcome
	Reference string  // what the service calls the message, if it begins a thread
	Jitter    float64 // from 0 to 1: see alert.RetryAt

	TemplateError string // see alert.Health
}

// SaveMessageResult saves the outcome of an attempt, and plans when the channel is used next. It does nothing if
// another replica has claimed the channel meanwhile.
func (s *Store) SaveMessageResult(ctx context.Context, r MessageResult) error {
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		ch, err := t.lockClaimedChannel(r)
		if errors.Is(err, kernel.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		message, err := database.One(t.Session, scanMessage,
			`SELECT `+messageColumns+` FROM alert_messages WHERE id = $1`, r.ID)
		if err != nil {
			return err
		}
		switch r.Outcome.Result {
		case audience.SendNotAttempted:
		case audience.SendAccepted:
			err = t.messageSent(&ch, message, r)
		default:
			err = t.messageFailed(&ch, message, r)
		}
		if err != nil {
			return err
		}
		if r.Outcome.Result != audience.SendNotAttempted {
			ch.Health.TemplateError = r.TemplateError
		}
		if err := t.saveHealth(ch); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE alert_channels SET lease_until_at = NULL WHERE id = $1`, ch.ID); err != nil {
			return err
		}
		t.signal(effectAlertsPending)
		return t.planAfter(ch, r)
	})
}

// lockClaimedChannel locks and loads the channel of a claimed message, if it is still claimed.
func (t *tx) lockClaimedChannel(r MessageResult) (alert.Channel, error) {
	_, err := database.One(t.Session, database.ScanString, `SELECT id FROM alert_channels
			WHERE id = $1 AND fencing_token = $2 FOR UPDATE`, r.Channel.ID, r.FencingToken)
	if err != nil {
		return alert.Channel{}, err
	}
	return t.channelByID(r.Channel.ID)
}

// messageSent records that a message was accepted.
func (t *tx) messageSent(ch *alert.Channel, m messageRow, r MessageResult) error {
	ch.Health = alert.Health{AttemptedAt: t.Now, AcceptedAt: t.Now}
	if m.first && r.Reference != "" {
		_, err := t.Exec(`UPDATE alert_threads SET reference = $2 WHERE id = $1`, m.threadID, r.Reference)
		if err != nil {
			return err
		}
	}
	return t.finishMessage(m, messageSent, "")
}

// messageFailed records that a channel did not accept a message. The message is lost if trying again is of no use, or
// if it is older than alert.MessageLifetime. The fallback of the channel is notified of lost messages, and of all
// messages once the channel has failed alert.FallbackAfter times in a row.
func (t *tx) messageFailed(ch *alert.Channel, m messageRow, r MessageResult) error {
	h := &ch.Health
	h.AttemptedAt, h.Reason = t.Now, cmp.Or(r.Outcome.Reason, channelRefused)
	h.Failures++
	if h.FailingSince.IsZero() {
		h.FailingSince = t.Now
	}
	lost := r.Outcome.Result == audience.SendRejected || r.Outcome.Result == audience.SendUndeliverable ||
		r.Outcome.Result == audience.SendGone ||
		!t.Now.Before(m.createdAt.Add(alert.MessageLifetime))
	var err error
	if lost {
		err = t.finishMessage(m, messageFailed, h.Reason)
	} else {
		_, err = t.Exec(`UPDATE alert_messages SET attempts = attempts + 1, reason = $2 WHERE id = $1`, m.id, h.Reason)
	}
	if err != nil {
		return err
	}
	if !lost && h.Failures < alert.FallbackAfter {
		return nil
	}
	if err := t.notifyFallback(*ch, m); err != nil {
		return err
	}
	return t.channelFailed(*ch)
}

func (t *tx) finishMessage(m messageRow, state, reason string) error {
	_, err := t.Exec(`UPDATE alert_messages SET state = $2, attempts = attempts + 1, finished_at = $3, reason = $4
			WHERE id = $1`, m.id, state, millis(t.Now), nullIfEmpty(reason))
	return err
}

// channelFailed emits the event that a channel does not accept alerts, once while it fails.
func (t *tx) channelFailed(ch alert.Channel) error {
	h := ch.Health
	earlier, err := t.ids(
		`SELECT id FROM monitor_events WHERE kind = $1 AND outage_id = $2 AND created_at >= $3 LIMIT 1`,
		string(alert.ChannelFailed), ch.ID, millis(h.FailingSince),
	)
	if err != nil || len(earlier) > 0 {
		return err
	}
	return t.emitAlertEvent(alert.ChannelFailed, ch.WorkspaceID, "", ch.ID, monitor.MonitorEventData{
		Name: ch.Name, Detail: h.Reason,
	})
}

// planAfter plans when a channel is used next after an attempt.
func (t *tx) planAfter(ch alert.Channel, r MessageResult) error {
	err := t.planChannel(ch.ID)
	if err != nil || ch.Health.Failures == 0 || r.Outcome.Result == audience.SendNotAttempted {
		return err
	}
	retry := alert.RetryAt(ch.Health.Failures, r.Outcome.RetryAfter, r.Jitter, t.Now)
	_, err = t.Exec(`UPDATE alert_channels SET due_at = $2 WHERE id = $1 AND due_at < $2`, ch.ID, millis(retry))
	return err
}

// planChannel sets when a locked channel is used next: when a message is to be repeated, or when the notices that wait
// are gathered; not before MaxPerMinute allows it, while it is failing not before the time that planAfter has set, and
// never if it is disabled or nothing waits.
func (t *tx) planChannel(id string) error {
	ch, err := t.channelByID(id)
	if err != nil {
		return err
	}
	type waits struct{ first, last time.Time }
	// Each subquery is one lookup in the index.
	waiting, err := database.One(t.Session, func(row database.Row) (w waits, err error) {
		err = row.Scan(instant{&w.first}, instant{&w.last})
		return
	}, `SELECT (SELECT min(created_at) FROM alert_notices WHERE channel_id = $1 AND message_id IS NULL),
		(SELECT max(created_at) FROM alert_notices WHERE channel_id = $1 AND message_id IS NULL)`, id)
	if err != nil {
		return err
	}
	sending, err := t.ids(`SELECT id FROM alert_messages WHERE channel_id = $1 AND state = 'sending' LIMIT 1`, id)
	if err != nil {
		return err
	}
	var due time.Time
	switch {
	case !ch.Enabled:
	case len(sending) > 0:
		due = t.Now
		if ch.Health.Failures > 0 {
			due = alert.RetryAt(ch.Health.Failures, 0, 0, ch.Health.AttemptedAt)
		}
	case !waiting.first.IsZero():
		due = alert.Gathered(waiting.first, waiting.last)
	}
	if !due.IsZero() {
		allowed, err := t.nextSendTime(ch)
		if err != nil {
			return err
		}
		due = kernel.Later(due, allowed)
		if ch.Health.Failures > 0 { // the service may have asked for the wait
			due = kernel.Later(due, ch.Health.NextAt)
		}
	}
	_, err = t.Exec(`UPDATE alert_channels SET due_at = $2 WHERE id = $1`, id, millis(due))
	return err
}

// nextSendTime returns when a channel may be sent the next message, so that no minute has more than it allows; zero:
// immediately.
func (c *session) nextSendTime(ch alert.Channel) (time.Time, error) {
	sent, err := database.One(c.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT finished_at FROM alert_messages WHERE channel_id = $1 AND state = 'sent' AND finished_at > $2
		ORDER BY finished_at DESC LIMIT 1 OFFSET $3`,
		ch.ID, millis(c.Now.Add(-time.Minute)), ch.MaxPerMinute-1)
	if errors.Is(err, kernel.ErrNotFound) {
		return time.Time{}, nil
	}
	return sent.Add(time.Minute), err
}
