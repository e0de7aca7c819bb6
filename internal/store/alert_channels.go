package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store/database"
)

var channelTable = newTable("alert_channels", resource.Channel,
	column[alert.Channel]{name: "workspace_id", at: func(c *alert.Channel) any { return &c.WorkspaceID }, fixed: true},
	// saveConfig changes these three.
	column[alert.Channel]{name: "config", at: func(c *alert.Channel) any { return rawJSON{&c.Config} }, fixed: true},
	column[alert.Channel]{name: "secrets", at: func(c *alert.Channel) any {
		return &c.Sealed
	}, fixed: true, null: true},
	column[alert.Channel]{name: "secret_fields", at: func(c *alert.Channel) any {
		return &c.SecretFields
	}, fixed: true},
	column[alert.Channel]{name: "secret_versions", at: func(c *alert.Channel) any {
		return versionsOf{&c.SecretVersions}
	}},
	column[alert.Channel]{name: "address", at: func(c *alert.Channel) any { return written{nullIfEmpty(c.Address())} }},
	column[alert.Channel]{name: "template_error", at: func(c *alert.Channel) any {
		return &c.Health.TemplateError
	}, null: true},
	column[alert.Channel]{name: "attempted_at", at: func(c *alert.Channel) any {
		return &c.Health.AttemptedAt
	}, read: true},
	column[alert.Channel]{name: "taken_at", at: func(c *alert.Channel) any { return &c.Health.AcceptedAt }, read: true},
	column[alert.Channel]{name: "failing_since_at", at: func(c *alert.Channel) any {
		return &c.Health.FailingSince
	}, read: true},
	column[alert.Channel]{name: "failures", at: func(c *alert.Channel) any { return &c.Health.Failures }, read: true},
	column[alert.Channel]{name: "reason", at: func(c *alert.Channel) any {
		return &c.Health.Reason
	}, null: true, read: true},
	column[alert.Channel]{name: "due_at", at: func(c *alert.Channel) any { return &c.Health.NextAt }, read: true},
	column[alert.Channel]{name: "tested_at", at: func(c *alert.Channel) any { return &c.Health.TestedAt }, read: true},
	column[alert.Channel]{
		name: "EXISTS (SELECT 1 FROM channel_addresses o WHERE o.workspace_id = alert_channels.workspace_id AND " +
			"o.address = alert_channels.address)",
		at: func(c *alert.Channel) any { return &c.AddressConfirmed }, read: true,
	},
	column[alert.Channel]{
		name: "(SELECT workspaces.name FROM workspaces WHERE workspaces.id = alert_channels.workspace_id)",
		at:   func(c *alert.Channel) any { return &c.WorkspaceName }, read: true,
	})

var alertChannels = collection[alert.Channel]{
	table:  channelTable,
	prefix: alert.PrefixChannel, order: `ORDER BY created_at, id`, parent: channelParent(),
	resolve: (*tx).resolveFallback, allow: (*tx).allowChannel, prepare: (*tx).prepareChannel,
	describe: (*session).completeChannels, saved: (*tx).channelSaved, lockDeletion: (*tx).lockFallbackOf,
	end: (*tx).removeChannel,
}

// presentChannels are the channels that were not deleted, as a table.
const presentChannels = `(SELECT * FROM alert_channels WHERE deleted_at IS NULL) AS alert_channels`

// AlertChannels returns the channels of workspaces, with their secrets, except secrets that cannot be opened: see
// alert.Channel.HasSecrets. Lists begin with the oldest. What waits for a channel that is deleted is not sent; the
// history of alerts keeps its name and type. Channels whose fallback it was have none afterwards. A channel that a
// rule, an on-call schedule or the setting ALLSWELL_SMS_CHANNEL names cannot be deleted.
func (s *Store) AlertChannels() Collection[alert.Channel] {
	c := Collection[alert.Channel]{s: s, collection: alertChannels}
	c.table = s.channels()
	return c
}

// channels returns the table of channels, which opens their secrets.
func (s *Store) channels() *table[alert.Channel] {
	opened := *channelTable
	opened.scanned = s.openChannel
	return &opened
}

// channelParent is the workspace, with the channels that were not deleted.
func channelParent() parent[alert.Channel] {
	p := workspaceParent(presentChannels, alert.PrefixChannel, rights.ChannelRead, rights.ChannelChange,
		func(c *alert.Channel) *string {
			return &c.WorkspaceID
		})
	find, lock := p.find, p.lock
	p.find = func(actor kernel.Actor, in, ref string) (string, []any, error) {
		where, args, err := find(actor, in, ref)
		return strings.Replace(where, `WHERE `, `WHERE deleted_at IS NULL AND `, 1), args, err
	}
	p.lock = func(t *tx, actor kernel.Actor, v *alert.Channel, id string) error {
		err := lock(t, actor, v, id)
		if err == nil { // messages that are being sent change its health
			_, err = t.ids(`SELECT id FROM alert_channels WHERE id = $1 FOR UPDATE`, id)
		}
		return err
	}
	return p
}

// completeChannels sets what uses channels of one workspace, and whether they lack their program.
func (c *session) completeChannels(channels []alert.Channel) error {
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

// channelByID returns a channel, with its secrets as AlertChannels has them.
func (c *session) channelByID(id string) (alert.Channel, error) {
	channels := c.s.channels()
	return database.One(c.Session, channels.scan,
		`SELECT `+channels.selected+` FROM alert_channels WHERE id = $1 AND deleted_at IS NULL`, id)
}

// resolveFallback replaces the slug of the fallback of a channel by its id.
func (t *tx) resolveFallback(_ kernel.Actor, _, c *alert.Channel) error {
	if c.FallbackID == "" {
		return nil
	}
	ids, missing, err := t.idsOf(presentChannels, c.WorkspaceID, []string{c.FallbackID}, nil)
	switch {
	case err != nil:
		return err
	case missing != "":
		c.FallbackID = ""
		return withField(nil, "fallback_id", "must be the id of another channel")
	}
	c.FallbackID = ids[0]
	return nil
}

// allowChannel checks what a channel is about to become with others and with the settings.
func (t *tx) allowChannel(actor kernel.Actor, before, c *alert.Channel) error {
	var was alert.Channel
	var kind, fallback, limit error
	if before != nil {
		was = *before
	} else {
		limit = t.checkCount(presentChannels, actor.WorkspaceID, "channels", t.s.maxChannels)
		if c.Type == alert.CommandType && t.s.noCommands {
			kind = withField(nil, "type",
				"Channels of the type command need the setting ALLSWELL_ALERT_COMMAND of the server, which names the "+
					"program.")
		}
	}
	if c.FallbackID != was.FallbackID && c.FallbackID != "" {
		fallback = t.checkFallback(*c)
	}
	return kernel.JoinInvalid(kind, t.checkSecrets(c), t.checkRename(was, *c), fallback, limit)
}

// prepareChannel seals the secrets of a new channel. A new address is asked whether it may be sent alerts.
func (t *tx) prepareChannel(before, c *alert.Channel) (err error) {
	var was alert.Channel
	if before != nil {
		was = *before
	}
	if c.Templates != was.Templates {
		c.Health.TemplateError = ""
	}
	if c.Address() != was.Address() {
		c.AddressConfirmed, err = t.askForAddress(*c)
	}
	if err == nil && before == nil {
		var sealed any
		sealed, err = t.sealSecrets(c.ID, c.Secrets)
		c.Sealed, _ = sealed.([]byte)
	}
	return err
}

// channelSaved saves what else a change of a channel has changed, and plans what waits for it.
func (t *tx) channelSaved(before *alert.Channel, c alert.Channel) error {
	if before == nil {
		return nil
	}
	// A change of other fields needs no key.
	if string(c.Config) != string(before.Config) || !maps.EqualFunc(c.Secrets, before.Secrets, slices.Equal) {
		if err := t.saveConfig(c); err != nil {
			return err
		}
	}
	t.signal(effectAlertsPending)
	return t.planChannel(c.ID)
}

// checkNameOfSMS returns a *kernel.ValidationError if the new name of a channel would stop SMS, because the settings
// name a channel of another workspace by it. The mutex of the alerts must be held, so that two workspaces cannot take
// the name concurrently.
func (t *tx) checkNameOfSMS(c alert.Channel) error {
	if c.Name != t.s.sms.Channel {
		return nil
	}
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) FROM alert_channels
			WHERE name = $1 AND workspace_id <> $2 AND deleted_at IS NULL`, c.Name, c.WorkspaceID)
	if err == nil && n > 0 {
		err = withField(nil, "name",
			"ALLSWELL_SMS_CHANNEL has this name, which a channel of another workspace has. Choose another one.")
	}
	return err
}

// checkRename returns a *kernel.ValidationError if a new name of a channel would stop SMS, because the settings have
// the old one, or a channel of another workspace has the new one.
func (t *tx) checkRename(before, c alert.Channel) error {
	if c.Name == before.Name {
		return nil
	}
	if before.ID == "" || t.s.sms.Channel != before.Name {
		return t.checkNameOfSMS(c)
	}
	gateway, err := t.smsChannel()
	if err == nil && gateway.Channel.ID == before.ID {
		err = withField(nil, "name", "ALLSWELL_SMS_CHANNEL has the present name of the channel. Set it to %s first.",
			before.ID)
	}
	return err
}

// lockChannels locks channels in the order of their ids, and returns the enabled ones by their ids, each with its
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

// idOrName returns the column that a reference to an object names.
func idOrName(ref, prefix string) string {
	if strings.HasPrefix(ref, prefix) {
		return "id"
	}
	return "name"
}

// idsOf returns the ids of objects of a workspace in a table, given their ids or slugs: each once, sorted, so that
// their order in the request is no change. missing is the first that does not exist, unless its id is stored already;
// "": there is none.
func (c *session) idsOf(table, workspaceID string, refs, stored []string) (ids []string, missing string, err error) {
	found := make(map[string]string) // ids by ids and slugs
	for _, id := range stored {
		found[id] = id
	}
	if !slices.ContainsFunc(refs, func(ref string) bool { return found[ref] == "" }) {
		return distinct(refs), "", nil
	}
	_, err = database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var id, slug string
		err = row.Scan(&id, text{&slug})
		found[id], found[slug] = id, id
		return
	}, `SELECT id, slug FROM `+table+` WHERE workspace_id = $1 AND (id IN EACH($2) OR slug IN EACH($2))`, workspaceID,
		list(refs))
	for _, ref := range refs {
		id, ok := found[ref]
		if !ok && missing == "" {
			missing = ref
		}
		ids = append(ids, id)
	}
	return distinct(ids), missing, err
}

func distinct(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// checkCount returns a *kernel.ValidationError if a workspace cannot have another object in a table. what is their
// name in the plural.
func (c *session) checkCount(table, workspaceID, what string, limit int64) error {
	n, err := database.One(c.Session, database.ScanInt,
		`SELECT count(*) FROM (SELECT 1 FROM `+table+` WHERE workspace_id = $1 LIMIT $2) AS first`, workspaceID, limit)
	if err != nil || n < limit {
		return err
	}
	var bad kernel.ValidationError
	bad.Add("name", "A workspace can have no more than %d %s.", limit, what)
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

// ChannelMessages returns the last messages of a channel, at most limit, the newest first. ref is the id, the slug or
// the name of the channel.
func (s *Store) ChannelMessages(
	ctx context.Context, actor kernel.Actor, ref string, limit int,
) ([]ChannelMessage, error) {
	return read(ctx, s, func(c *session) ([]ChannelMessage, error) {
		ch, err := alertChannels.one(c, actor, "", ref)
		if err != nil {
			return nil, err
		}
		messages, err := database.Query(c.Session, func(row database.Row) (m ChannelMessage, err error) {
			var state string
			err = row.Scan(&m.ID, &state, &m.Attempts, text{&m.Reason}, instant{&m.CreatedAt}, instant{&m.FinishedAt},
				&m.Notices, text{(*string)(&m.Kind)}, text{&m.AlertID})
			m.Failed = state == messageFailed
			return
		}, `SELECT m.id, m.state, m.attempts, m.reason, m.created_at, m.finished_at, (SELECT count(*)
			FROM alert_notices WHERE message_id = m.id), n.kind, n.alert_id
			FROM alert_messages m LEFT JOIN alert_notices n ON n.id = (SELECT id FROM alert_notices
			WHERE message_id = m.id ORDER BY created_at, id LIMIT 1)
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
