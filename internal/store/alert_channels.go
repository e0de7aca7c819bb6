package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/rights"
)

const channelColumns = `id, workspace_id, type, name, enabled, config, secrets, secret_fields, secret_versions, max_per_minute, fallback_id, test_weekly,
	title_template, text_template, attempted_at, taken_at, failing_since_at, failures, reason, template_error, due_at, tested_at, created_at, updated_at,
	EXISTS (SELECT 1 FROM channel_addresses o WHERE o.workspace_id = alert_channels.workspace_id AND o.address = alert_channels.address),
	(SELECT workspaces.name FROM workspaces WHERE workspaces.id = alert_channels.workspace_id)`

// presentChannels are the channels that were not deleted, as a table.
const presentChannels = `(SELECT * FROM alert_channels WHERE deleted_at IS NULL) AS channels`

// scanChannel reads a channel. It opens the secrets only to see whether that works, and for URLHost.
func (s *Store) scanChannel(row database.Row) (c alert.Channel, err error) {
	var config string
	var sealed []byte
	err = row.Scan(&c.ID, &c.WorkspaceID, &c.Type, &c.Name, &c.Enabled, &config, &sealed, listOf[string]{&c.SecretFields}, versionsOf{&c.SecretVersions}, &c.MaxPerMinute, text{&c.FallbackID}, &c.TestWeekly, &c.TitleTemplate, &c.TextTemplate,
		instant{&c.Health.AttemptedAt}, instant{&c.Health.TakenAt}, instant{&c.Health.FailingSince}, &c.Health.Failures, text{&c.Health.Reason}, text{&c.Health.TemplateError}, instant{&c.Health.NextAt}, instant{&c.Health.TestedAt},
		instant{&c.CreatedAt}, instant{&c.UpdatedAt}, &c.AddressConfirmed, &c.WorkspaceName)
	if err != nil {
		return c, err
	}
	secrets, unreadable := s.openChannel(&c, config, sealed)
	c.Health.SecretsUnreadable, c.URLHost = unreadable != nil, alert.URLHost(secrets)
	return c, nil
}

// AlertChannels lists the channels of a workspace, the oldest first.
func (s *Store) AlertChannels(ctx context.Context, actor allswell.Actor, r Pagination) ([]alert.Channel, int, error) {
	if err := rights.ChannelRead.CheckLimit(actor); err != nil {
		return nil, 0, err
	}
	return listQuery[alert.Channel]{
		scan: s.scanChannel, fill: (*session).completeChannels, columns: channelColumns,
		from: `FROM alert_channels WHERE workspace_id = $1 AND deleted_at IS NULL`, args: []any{actor.WorkspaceID}, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
}

// AlertChannel returns a channel of a workspace, given its id or name.
func (s *Store) AlertChannel(ctx context.Context, actor allswell.Actor, ref string) (alert.Channel, error) {
	return read(ctx, s, func(c *session) (alert.Channel, error) { return c.alertChannel(actor, ref) })
}

// AlertChannelWithSecrets returns a channel as AlertChannel does, with its secrets, or without those that cannot be
// opened: see alert.Channel.HasSecrets.
func (s *Store) AlertChannelWithSecrets(ctx context.Context, actor allswell.Actor, ref string) (alert.Channel, error) {
	return read(ctx, s, func(c *session) (alert.Channel, error) {
		ch, err := c.alertChannel(actor, ref)
		if err == nil {
			ch.Secrets, _, err = c.readableSecrets(ch.ID)
		}
		return ch, err
	})
}

func (c *session) alertChannel(actor allswell.Actor, ref string) (alert.Channel, error) {
	if err := rights.ChannelRead.CheckLimit(actor); err != nil {
		return alert.Channel{}, err
	}
	ch, err := database.One(c.Session, c.s.scanChannel, `SELECT `+channelColumns+` FROM alert_channels
			WHERE workspace_id = $1 AND deleted_at IS NULL AND `+idOrName(ref, alert.PrefixChannel)+` = $2`,
		actor.WorkspaceID, ref)
	if err != nil {
		return ch, err
	}
	return c.completeChannel(ch)
}

// completeChannel returns a channel with the fields that are not in its row: see completeChannels.
func (c *session) completeChannel(ch alert.Channel) (alert.Channel, error) {
	one := []alert.Channel{ch}
	err := c.completeChannels(one)
	return one[0], err
}

// completeChannels sets what uses channels of one workspace, and whether they lack their program.
func (c *session) completeChannels(channels []alert.Channel) error {
	if len(channels) == 0 {
		return nil
	}
	gateway, err := c.smsChannel()
	if err != nil {
		return err
	}
	if err := c.setUses(channels, gateway.Channel.ID); err != nil {
		return err
	}
	for i := range channels {
		ch := &channels[i]
		ch.Health.CommandMissing = ch.Type == alert.CommandType && c.s.noCommands
	}
	return nil
}

// idOrName returns the column that a reference to an object names.
func idOrName(ref, prefix string) string {
	if strings.HasPrefix(ref, prefix) {
		return "id"
	}
	return "name"
}

func (c *session) channelByID(id string) (alert.Channel, error) {
	return database.One(c.Session, c.s.scanChannel, `SELECT `+channelColumns+` FROM alert_channels WHERE id = $1 AND deleted_at IS NULL`, id)
}

// CreateAlertChannel creates a channel with its secrets.
func (s *Store) CreateAlertChannel(ctx context.Context, actor allswell.Actor, c alert.Channel, save ...SaveResponse[alert.Channel]) (alert.Channel, error) {
	c, err := writeAs(ctx, s, actor, func(t *tx) (alert.Channel, error) {
		if err := rights.ChannelChange.CheckLimit(actor); err != nil {
			return c, err
		}
		c.ID, c.WorkspaceID, c.CreatedAt, c.UpdatedAt = allswell.NewID(alert.PrefixChannel, t.Now), actor.WorkspaceID, t.Now, t.Now
		c.SecretFields, c.URLHost = slices.Sorted(maps.Keys(c.Secrets)), alert.URLHost(c.Secrets)
		if err := t.lockMutex(mutexAlerts); err != nil { // so that the fallback is not deleted meanwhile; for checkNameOfSMS
			return c, err
		}
		if err := t.validateChannel(actor, c); err != nil {
			return c, err
		}
		if c.Type == alert.CommandType && s.noCommands {
			return c, withField(nil, "type", "Channels of the type command need the setting ALLSWELL_ALERT_COMMAND of the server, which names the program.")
		}
		if err := t.checkFallback(c); err != nil {
			return c, err
		}
		if err := t.checkNameOfSMS(c); err != nil {
			return c, err
		}
		if err := t.checkCount(presentChannels, actor.WorkspaceID, "channels", t.s.maxChannels); err != nil {
			return c, err
		}
		confirmed, err := t.askForAddress(c)
		if err != nil {
			return c, err
		}
		c.AddressConfirmed = confirmed
		sealed, err := t.sealSecrets(c.ID, c.Secrets)
		if err != nil {
			return c, err
		}
		if _, err = t.Exec(`INSERT INTO alert_channels (id, workspace_id, type, name, enabled, config, secrets, secret_fields,
				max_per_minute, fallback_id, test_weekly, created_at, updated_at, title_template, text_template, address)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15)`, c.ID, c.WorkspaceID, c.Type, c.Name, c.Enabled, string(c.Config), sealed,
			listText(c.SecretFields), c.MaxPerMinute, nullIfEmpty(c.FallbackID), c.TestWeekly, millis(t.Now), c.TitleTemplate, c.TextTemplate, nullIfEmpty(c.Address())); err != nil {
			return c, err
		}
		if err := t.audit(actor, allswell.AuditCreate, nil, c); err != nil {
			return c, err
		}
		return t.completeChannel(c)
	}, save...)
	return c, s.nameTaken(err, "channel")
}

// ChangeAlertChannel changes a channel, given its id or name, with a function that gets the channel as it is. Of the
// secrets that the function leaves, those that are null are removed, and those that are not given are kept. The error
// is allswell.ErrPreconditionFailed if the channel does not meet all conditions.
func (s *Store) ChangeAlertChannel(ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition, change func(*alert.Channel) error) (alert.Channel, error) {
	c, err := writeAs(ctx, s, actor, func(t *tx) (alert.Channel, error) {
		if err := t.lockMutex(mutexAlerts); err != nil { // so that two changes cannot make a cycle of fallbacks; for checkRename
			return alert.Channel{}, err
		}
		before, err := t.lockAlertChannel(actor, id, p)
		if err != nil {
			return before, err
		}
		c := before
		kept, err := t.channelSecrets(c.ID)
		if err != nil && !isUnreadable(err) { // what cannot be opened must be given again
			return c, err
		}
		if err := change(&c); err != nil {
			return c, err
		}
		given := c.Secrets
		c.UpdatedAt = t.Now
		if c.Templates != before.Templates {
			c.Health.TemplateError = ""
		}
		if err := t.keepSecrets(&c, kept); err != nil {
			return c, err
		}
		if err := t.validateChannel(actor, c); err != nil {
			return c, err
		}
		if err := t.checkRename(before, c.Name); err != nil {
			return c, err
		}
		if c.FallbackID != before.FallbackID {
			if err := t.checkFallback(c); err != nil {
				return c, err
			}
		}
		if c.Address() != before.Address() {
			if c.AddressConfirmed, err = t.askForAddress(c); err != nil {
				return c, err
			}
		}
		// A change of other fields needs no key.
		if len(given) > 0 || string(c.Config) != string(before.Config) {
			if err := t.saveConfig(c); err != nil {
				return c, err
			}
		}
		if _, err = t.Exec(`UPDATE alert_channels SET name = $2, enabled = $3,
				max_per_minute = $4, fallback_id = $5, test_weekly = $6, updated_at = $7,
				title_template = $8, text_template = $9, template_error = $10, address = $11, secret_versions = $12 WHERE id = $1`,
			c.ID, c.Name, c.Enabled, c.MaxPerMinute, nullIfEmpty(c.FallbackID), c.TestWeekly, millis(t.Now),
			c.TitleTemplate, c.TextTemplate, nullIfEmpty(c.Health.TemplateError), nullIfEmpty(c.Address()), versionsText(c.SecretVersions)); err != nil {
			return c, err
		}
		if err := t.planChannel(c.ID); err != nil {
			return c, err
		}
		t.alertsPending = true
		if err := t.audit(actor, allswell.AuditUpdate, before, c); err != nil {
			return c, err
		}
		return t.completeChannel(c)
	})
	return c, s.nameTaken(err, "channel")
}

// checkNameOfSMS returns an *allswell.ValidationError if the new name of a channel would stop SMS, because the settings
// name a channel of another workspace by it. The mutex of the alerts must be held, so that two workspaces cannot take the
// name at once.
func (t *tx) checkNameOfSMS(c alert.Channel) error {
	if c.Name != t.s.sms.Channel {
		return nil
	}
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM alert_channels
			WHERE name = $1 AND workspace_id <> $2 AND deleted_at IS NULL`, c.Name, c.WorkspaceID)
	if err == nil && n > 0 {
		err = withField(nil, "name", "ALLSWELL_SMS_CHANNEL has this name, which a channel of another workspace has. Choose another one.")
	}
	return err
}

// checkRename returns an *allswell.ValidationError if a new name of a channel would stop SMS, because the settings have
// the old one, or a channel of another workspace has the new one.
func (t *tx) checkRename(before alert.Channel, name string) error {
	if name == before.Name {
		return nil
	}
	if t.s.sms.Channel != before.Name {
		return t.checkNameOfSMS(alert.Channel{WorkspaceID: before.WorkspaceID, Name: name})
	}
	gateway, err := t.smsChannel()
	if err == nil && gateway.Channel.ID == before.ID {
		err = withField(nil, "name", "ALLSWELL_SMS_CHANNEL has the present name of the channel. Set it to %s first.", before.ID)
	}
	return err
}

// lockAlertChannel loads and locks a channel, and checks that it meets all conditions.
func (t *tx) lockAlertChannel(actor allswell.Actor, ref string, p allswell.Precondition) (alert.Channel, error) {
	if err := rights.ChannelChange.CheckLimit(actor); err != nil {
		return alert.Channel{}, err
	}
	id, err := database.One(t.Session, database.ScanString, `SELECT id FROM alert_channels
			WHERE `+idOrName(ref, alert.PrefixChannel)+` = $1 AND workspace_id = $2 AND deleted_at IS NULL FOR UPDATE`,
		ref, actor.WorkspaceID)
	if err != nil {
		return alert.Channel{}, err
	}
	c, err := t.channelByID(id)
	if err != nil {
		return c, err
	}
	return c, p.Check(c)
}

// lockChannels locks channels in the order of their ids, and returns those that are enabled by their ids, each with its
// fallback if it has failed alert.FallbackAfter times in a row, and with "" otherwise.
func (t *tx) lockChannels(ids map[string]bool) (enabled map[string]string, err error) {
	enabled = make(map[string]string)
	_, err = database.Query(t.Session, func(row database.Row) (id string, err error) {
		var fallback string
		err = row.Scan(&id, &fallback)
		enabled[id] = fallback
		return
	}, `SELECT id, CASE WHEN failures >= $2 THEN coalesce(fallback_id, '') ELSE '' END FROM alert_channels
			WHERE id IN EACH($1) AND enabled ORDER BY id FOR UPDATE`,
		list(slices.Sorted(maps.Keys(ids))), alert.FallbackAfter)
	return enabled, err
}

// validateChannel returns an *allswell.ValidationError with every invalid field.
func (t *tx) validateChannel(actor allswell.Actor, c alert.Channel) error {
	err := c.Validate()
	if c.FallbackID == "" {
		return err
	}
	missing, findErr := t.missingFrom(presentChannels, actor.WorkspaceID, []string{c.FallbackID})
	if findErr != nil || len(missing) == 0 {
		return errors.Join(err, findErr)
	}
	return withField(err, "fallback_id", "must be the id of another channel")
}

// missingFrom returns the ids that no object of a workspace in a table has.
func (c *session) missingFrom(table, workspaceID string, ids []string) ([]string, error) {
	found, err := c.ids(`SELECT id FROM `+table+` WHERE workspace_id = $1 AND id IN EACH($2)`, workspaceID, list(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(found, id) }), err
}

// withField adds a problem of a field to the error of a validation, which may be nil.
func withField(err error, field, code string, args ...any) error {
	var bad *allswell.ValidationError
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	if bad == nil {
		bad = new(allswell.ValidationError)
	}
	bad.Add(field, code, args...)
	return bad
}

// checkCount returns an *allswell.ValidationError if a workspace cannot have another object in a table. what is their
// name in the plural.
func (c *session) checkCount(table, workspaceID, what string, limit int64) error {
	n, err := database.One(c.Session, database.ScanInt, `SELECT count(*) FROM (SELECT 1 FROM `+table+` WHERE workspace_id = $1 LIMIT $2) AS first`, workspaceID, limit)
	if err != nil || n < limit {
		return err
	}
	var bad allswell.ValidationError
	bad.Add("name", "A workspace can have no more than %d %s.", limit, what)
	return bad.Err()
}

// nameTaken explains that another object of a kind has a name.
func (s *Store) nameTaken(err error, kind string) error {
	if err == nil || !s.db.IsDuplicate(err) {
		return err
	}
	var bad allswell.ValidationError
	bad.Add("name", "Another %s has this name.", kind)
	return bad.Err()
}

// ChannelMessage is a message of a channel with its outcome.
type ChannelMessage struct {
	ID         string
	AlertID    string // the first alert in it; "": all were deleted
	Title      string // of that alert in the default words, as it was sent
	Kind       alert.NoticeKind
	Notices    int // in it
	Attempts   int
	CreatedAt  time.Time
	FinishedAt time.Time // zero: it is still tried
	Failed     bool      // it is not tried again
	Reason     string    // why the last attempt failed; "": none did
}

// ChannelMessages returns the last messages of a channel, given its id or name, the newest first.
func (s *Store) ChannelMessages(ctx context.Context, actor allswell.Actor, ref string, limit int) ([]ChannelMessage, error) {
	return read(ctx, s, func(c *session) ([]ChannelMessage, error) {
		ch, err := c.alertChannel(actor, ref)
		if err != nil {
			return nil, err
		}
		messages, err := database.Query(c.Session, func(row database.Row) (m ChannelMessage, err error) {
			var state string
			err = row.Scan(&m.ID, &state, &m.Attempts, text{&m.Reason}, instant{&m.CreatedAt}, instant{&m.FinishedAt}, &m.Notices, text{(*string)(&m.Kind)}, text{&m.AlertID})
			m.Failed = state == messageFailed
			return
		}, `SELECT m.id, m.state, m.attempts, m.reason, m.created_at, m.finished_at, (SELECT count(*) FROM alert_notices WHERE message_id = m.id), n.kind, n.alert_id
			FROM alert_messages m LEFT JOIN alert_notices n ON n.id = (SELECT id FROM alert_notices WHERE message_id = m.id ORDER BY created_at, id LIMIT 1)
			WHERE m.channel_id = $1 ORDER BY m.created_at DESC, m.id DESC LIMIT $2`, ch.ID, limit)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, m := range messages {
			ids = append(ids, m.AlertID)
		}
		alerts, err := c.alertsByID(ids)
		for i := range messages {
			if a, found := alerts[messages[i].AlertID]; found {
				messages[i].Title = messages[i].titleOf(a)
			}
		}
		return messages, err
	})
}

// titleOf returns the title of the message if a is its first alert.
func (m ChannelMessage) titleOf(a alert.Alert) string {
	if at := m.FinishedAt; !at.IsZero() && a.ResolvedAt.After(at) {
		a.ResolvedAt = time.Time{}
	}
	return alert.Item{Alert: a, Kinds: []alert.NoticeKind{m.Kind}}.Title(cmp.Or(m.FinishedAt, m.CreatedAt))
}

// More returns how many notices the message has besides the first one.
func (m ChannelMessage) More() int { return m.Notices - 1 }
