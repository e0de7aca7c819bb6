package store

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
)

// lockFallbackOf locks the channels whose fallback is a channel that is deleted. A fallback is locked after its
// channels.
func (t *tx) lockFallbackOf(c alert.Channel) error {
	err := t.lockMutex(mutexAlerts) // so that no notice for the channel is added meanwhile
	if err == nil {
		_, err = t.ids(`SELECT id FROM alert_channels WHERE fallback_id = $1 ORDER BY id FOR UPDATE`, c.ID)
	}
	return err
}

// removeChannel deletes a channel with its settings and secrets, and keeps its row for the history of alerts.
func (t *tx) removeChannel(actor kernel.Actor, c alert.Channel) error {
	err := t.checkUnused(actor.WorkspaceID, c.ID)
	gateway, findErr := t.smsChannel()
	if findErr != nil {
		return findErr
	}
	if gateway.Channel.ID == c.ID {
		err = withField(err, "id", "ALLSWELL_SMS_CHANNEL names it.")
	}
	if err != nil {
		return err
	}
	if err := t.removeFallback(actor, c.ID); err != nil {
		return err
	}
	if err := t.abandonNotices(c.ID); err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE alert_channels SET deleted_at = $2, enabled = FALSE, test_weekly = FALSE, config = '{}',
			secrets = NULL, secret_fields = $3, title_template = '', text_template = '',
			fallback_id = NULL, due_at = NULL, lease_until_at = NULL, fencing_token = fencing_token + 1 WHERE id = $1`,
		c.ID, millis(t.Now), listText[string](nil))
	if err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditDelete, resource.Channel.Audited(c), nil)
}

// removeFallback removes a channel as the fallback of others, each with an entry in the audit log.
func (t *tx) removeFallback(actor kernel.Actor, id string) error {
	ids, err := t.ids(`UPDATE alert_channels SET fallback_id = NULL, updated_at = $2 WHERE fallback_id = $1
		RETURNING id`, id, millis(t.Now))
	if err != nil {
		return err
	}
	slices.Sort(ids)
	for _, changed := range ids {
		after, err := t.channelByID(changed)
		if err != nil {
			return err
		}
		before := after
		before.FallbackID = id
		err = t.audit(actor, kernel.AuditUpdate, resource.Channel.Audited(before), resource.Channel.Audited(after))
		if err != nil {
			return err
		}
	}
	return nil
}

// abandonNotices gives up the notices of a deleted channel, including those that are being sent.
func (t *tx) abandonNotices(channelID string) error {
	const reason = "The channel was deleted before it took the message."
	waiting, err := t.ids(`SELECT id FROM alert_notices WHERE channel_id = $1 AND message_id IS NULL LIMIT 1`,
		channelID)
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		message := kernel.NewID(alert.PrefixMessage, t.Now)
		_, err := t.Exec(`INSERT INTO alert_messages (id, channel_id, first, state, attempts, created_at)
				VALUES ($1, $2, FALSE, 'sending', 0, $3)`, message, channelID, millis(t.Now))
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE alert_notices SET message_id = $2 WHERE channel_id = $1 AND message_id IS NULL`,
			channelID, message)
		if err != nil {
			return err
		}
	}
	_, err = t.Exec(`UPDATE alert_messages SET state = 'failed', finished_at = $2, reason = $3
			WHERE channel_id = $1 AND state = 'sending'`, channelID, millis(t.Now), reason)
	return err
}
