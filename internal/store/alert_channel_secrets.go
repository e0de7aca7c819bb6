package store

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/database"
)

// openChannel sets the configuration of a channel, whose id and type are set, from its columns, and returns its secrets.
// One that the configuration has in the clear becomes one of SecretFields: see alert.LateSecrets. The errors are those
// of openSecrets; with one, the secrets are those in the clear.
func (s *Store) openChannel(c *alert.Channel, config string, sealed []byte) (map[string]json.RawMessage, error) {
	shown, plain := alert.SplitConfig(c.Type, json.RawMessage(config))
	c.Config = shown
	for field := range plain {
		c.SecretFields = append(c.SecretFields, field)
	}
	slices.Sort(c.SecretFields)
	c.SecretFields = slices.Compact(c.SecretFields)
	secrets, err := s.openSecrets(c.ID, sealed)
	if err != nil || len(secrets) == 0 {
		return plain, err
	}
	maps.Copy(secrets, plain)
	return secrets, nil
}

// channelSecrets returns the secrets of a channel, and with an error those that openChannel returns with it.
func (c *session) channelSecrets(id string) (map[string]json.RawMessage, error) {
	var secrets map[string]json.RawMessage
	_, err := database.One(c.Session, func(row database.Row) (ch alert.Channel, err error) {
		var config string
		var sealed []byte
		if err = row.Scan(&ch.ID, &ch.Type, &config, &sealed); err == nil {
			secrets, err = c.s.openChannel(&ch, config, sealed)
		}
		return
	}, `SELECT id, type, config, secrets FROM alert_channels WHERE id = $1`, id)
	return secrets, err
}

// readableSecrets returns the secrets of a channel, or only those in the clear and true if the others cannot be opened,
// so that one channel does not stop the others.
func (c *session) readableSecrets(id string) (secrets map[string]json.RawMessage, missing bool, err error) {
	if secrets, err = c.channelSecrets(id); isUnreadable(err) {
		return secrets, true, nil
	}
	return secrets, false, err
}

// keepSecrets completes the secrets of a changed channel with those that it had, and counts those that were changed. One
// that could not be opened counts as changed if it is given.
func (t *tx) keepSecrets(c *alert.Channel, kept map[string]json.RawMessage) error {
	var bad allswell.ValidationError
	secrets := make(map[string]json.RawMessage)
	for _, field := range c.SecretFields {
		if _, given := c.Secrets[field]; given {
			continue
		}
		if kept[field] == nil {
			bad.Add(field, "The secrets of the channel cannot be opened: give the %s again.", allswell.Name(field))
		}
		secrets[field] = kept[field]
	}
	var changed []string
	for field, value := range c.Secrets {
		switch had := slices.Contains(c.SecretFields, field); {
		case !isNullJSON(value):
			secrets[field] = value
			if !had || !sameJSON(kept[field], value) {
				changed = append(changed, field)
			}
		case had:
			changed = append(changed, field)
		}
	}
	c.SecretVersions = c.SecretVersions.Changed(changed...)
	c.Secrets, c.SecretFields, c.URLHost = secrets, slices.Sorted(maps.Keys(secrets)), alert.URLHost(secrets)
	return bad.Err()
}

// saveConfig saves the configuration and the secrets of a channel.
func (t *tx) saveConfig(c alert.Channel) error {
	sealed, err := t.sealSecrets(c.ID, c.Secrets)
	if err == nil {
		_, err = t.Exec(`UPDATE alert_channels SET config = $2, secrets = $3, secret_fields = $4 WHERE id = $1`,
			c.ID, string(c.Config), sealed, listText(c.SecretFields))
	}
	return err
}

// ChannelsLeft says how many channels SealChannels has left as they are. They show nothing of the secret.
type ChannelsLeft struct {
	NoKey      int // there is no key
	Unreadable int // their other secrets cannot be opened, and nothing is sent to them
}

// SealChannels encrypts the secrets that channels have in the clear because they were saved when these fields were no
// secrets: see alert.LateSecrets. It makes a key only if nothing is encrypted yet: otherwise the file with the key is
// missing, and what a new key encrypts is lost when that file is put back. Several replicas may call it concurrently. When
// an error is returned, some are encrypted, and calling it again continues.
func (s *Store) SealChannels(ctx context.Context) (left ChannelsLeft, err error) {
	var conditions []string
	for _, kind := range slices.Sorted(maps.Keys(alert.LateSecrets)) {
		conditions = append(conditions, `type = '`+kind+`' AND replace(config, '"`+alert.LateSecrets[kind]+`":', '') <> config`)
	}
	plain := `FROM alert_channels WHERE (` + strings.Join(conditions, ` OR `) + `)`
	for step := (sealStep{}); ; {
		if found, err := s.exists(ctx, `SELECT 1 `+plain+` AND id > $1`, step.last); err != nil || !found {
			return left, err
		}
		if step, err = write(ctx, s, func(t *tx) (sealStep, error) {
			t.unattended = true
			return t.sealChannels(plain, step.last)
		}); err != nil {
			return left, err
		}
		left.NoKey += step.left.NoKey
		left.Unreadable += step.left.Unreadable
	}
}

// sealStep is one transaction of SealChannels.
type sealStep struct {
	last string // the last channel that was considered
	left ChannelsLeft
}

// sealChannels encrypts the secrets of the first channels after an id.
func (t *tx) sealChannels(plain, after string) (step sealStep, err error) {
	ids, err := t.ids(`SELECT id `+plain+` AND id > $1 ORDER BY id LIMIT $2 FOR UPDATE`, after, sealedStep)
	if err != nil || len(ids) == 0 {
		return sealStep{last: after}, err
	}
	step.last = ids[len(ids)-1]
	if can, err := t.canSealChannels(); !can || err != nil {
		step.left.NoKey = len(ids)
		return step, err
	}
	for _, id := range ids {
		c, err := t.channelByID(id)
		if err == nil {
			c.Secrets, err = t.channelSecrets(id)
		}
		if err == nil {
			err = t.saveConfig(c)
		}
		if isUnreadable(err) {
			step.left.Unreadable++
		} else if err != nil {
			return step, err
		}
	}
	return step, nil
}

// canSealChannels reports whether there is a key for SealChannels, and makes one if nothing is encrypted yet.
func (t *tx) canSealChannels() (bool, error) {
	keys, err := t.s.secretKeys.current()
	if err != nil {
		return false, err
	}
	if keys == nil {
		if found, err := t.findSecrets(nil); err != nil || found.Owners > 0 {
			return false, err
		}
	}
	_, err = t.keysForSealing(slices.Values([]string{"secrets"}))
	var noKey *allswell.ValidationError
	if errors.As(err, &noKey) {
		return false, nil
	}
	return err == nil, err
}
