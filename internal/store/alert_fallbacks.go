package store

import (
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/store/database"
)

// checkFallback returns a *kernel.ValidationError if the fallbacks of a channel lead back to one of them. The
// transaction has the mutex of alerts.
func (c *session) checkFallback(ch alert.Channel) error {
	ids, names := []string{ch.ID}, []string{ch.Name}
	for next := ch.FallbackID; next != ""; {
		fallback, err := c.channelByID(next)
		if err != nil {
			return err
		}
		names = append(names, fallback.Name)
		switch i := slices.Index(ids, next); {
		case i == 0:
			return withField(nil, "fallback_id", "The fallback leads back to this channel: %s.",
				strings.Join(names, ", "))
		case i > 0:
			return withField(nil, "fallback_id", "The fallbacks lead back to the same channel: %s. Change them first.",
				strings.Join(names[i:], ", "))
		}
		ids, next = append(ids, next), fallback.FallbackID
	}
	return nil
}

// notifyFallback leaves the notices of a message for the fallback of its channel. If an alert has ended since a notice
// that it is open, the fallback is also notified of the end.
func (t *tx) notifyFallback(ch alert.Channel, m messageRow) error {
	if ch.FallbackID == "" {
		return nil
	}
	notices, err := database.Query(t.Session, func(row database.Row) (n newNotice, err error) {
		n.channelID, n.fallbackFor = ch.FallbackID, ch.ID
		err = row.Scan(&n.alertID, &n.ruleID, &n.kind, instant{&n.decidedAt})
		return
	}, `SELECT alert_id, coalesce(rule_id, ''), kind, coalesce(decided_at, created_at) FROM alert_notices
		WHERE message_id = $1 ORDER BY created_at, id`, m.id)
	if err != nil {
		return err
	}
	var ids []string
	for _, n := range notices {
		ids = append(ids, n.alertID)
	}
	alerts, err := t.alertsByID(ids)
	if err != nil {
		return err
	}
	for _, n := range notices {
		if a := alerts[n.alertID]; a.State() == alert.Resolved && a.Event.Lasts() && !n.closes() {
			n.kind = alert.NoticeResolved
			notices = append(notices, n)
		}
	}
	return t.addNotices(notices)
}

// closes reports whether a notice only says that an alert has ended, or was acknowledged.
func (n newNotice) closes() bool {
	return n.kind == alert.NoticeResolved || n.kind == alert.NoticeAcknowledged
}

// wasNotified is the condition of a recipient r of an alert that a notice waits for it, or that it accepted one.
const wasNotified = `(EXISTS (SELECT 1 FROM alert_notices n LEFT JOIN alert_messages m ON m.id = n.message_id
		WHERE n.alert_id = r.alert_id AND n.channel_id = r.channel_id AND coalesce(m.state, '') <> 'failed')
	OR NOT EXISTS (SELECT 1 FROM alert_notices n WHERE n.alert_id = r.alert_id AND n.channel_id = r.channel_id))`

// isNew reports whether a notice says something new to its channel: each notice reaches each channel at most once,
// whatever fallbacks there are, and an alert ends once, and is acknowledged once. A fallback is notified of that only
// if it was notified of the alert.
func (c *session) isNew(n newNotice) (bool, error) {
	earlier, err := c.ids(`SELECT id FROM alert_notices WHERE alert_id = $1 AND channel_id = $2 AND kind = $3
			AND ($4 OR coalesce(decided_at, created_at) = $5) LIMIT 1`,
		n.alertID, n.channelID, string(n.kind), n.closes(), millis(n.decidedAt))
	if err != nil || len(earlier) > 0 || n.fallbackFor == "" || !n.closes() {
		return err == nil && len(earlier) == 0, err
	}
	notified, err := c.ids(`SELECT r.channel_id FROM alert_recipients r WHERE r.alert_id = $1 AND r.channel_id = $2
		AND `+wasNotified, n.alertID, n.channelID)
	return len(notified) > 0, err
}
