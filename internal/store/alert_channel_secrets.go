package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// openChannel opens the secrets of a channel that was read, and sets the fields that depend on them. A secret that the
// configuration has in the clear becomes one of Secrets and SecretFields: see alert.LateSecrets. If the other secrets
// cannot be opened, Health.SecretsUnreadable is set instead of an error, so that one channel does not stop the others.
func (s *Store) openChannel(c *alert.Channel) {
	shown, plain := alert.SplitConfig(c.Type, c.Config)
	c.Config = shown
	for field := range plain {
		c.SecretFields = append(c.SecretFields, field)
	}
	slices.Sort(c.SecretFields)
	c.SecretFields = slices.Compact(c.SecretFields)
	secrets, err := s.openSecrets(c.ID, c.Sealed)
	c.Sealed, c.Health.SecretsUnreadable = nil, err != nil
	if c.Secrets = plain; len(secrets) > 0 {
		c.Secrets = secrets
		maps.Copy(c.Secrets, plain)
	}
	c.URLHost = alert.URLHost(c.Secrets)
}

// checkSecrets completes the names of the secrets of a channel that is saved. It returns a *kernel.ValidationError for
// secrets that could not be opened and are not given again.
func (t *tx) checkSecrets(c *alert.Channel) error {
	var bad kernel.ValidationError
	for _, field := range c.SecretFields {
		if c.Secrets[field] == nil {
			bad.Add(field, "The secrets of the channel cannot be opened: give the %s again.", kernel.Name(field))
		}
	}
	c.SecretFields, c.URLHost = slices.Sorted(maps.Keys(c.Secrets)), alert.URLHost(c.Secrets)
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
// missing, and what a new key encrypts is lost when that file is put back. Several replicas may call it concurrently.
// When an error is returned, some are encrypted, and calling it again continues.
func (s *Store) SealChannels(ctx context.Context) (left ChannelsLeft, err error) {
	var conditions []string
	for _, kind := range slices.Sorted(maps.Keys(alert.LateSecrets)) {
		conditions = append(conditions,
			`type = '`+kind+`' AND replace(config, '"`+alert.LateSecrets[kind]+`":', '') <> config`)
	}
	plain := `FROM alert_channels WHERE (` + strings.Join(conditions, ` OR `) + `)`
	for step := (sealStep{}); ; {
		if found, err := s.exists(ctx, `SELECT 1 `+plain+` AND id > $1`, step.last); err != nil || !found {
			return left, err
		}
		if step, err = write(ctx, s, func(t *tx) (sealStep, error) {
			t.skipBeforeReturn = true
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
		switch {
		case err == nil && c.Health.SecretsUnreadable:
			step.left.Unreadable++
		case err == nil:
			err = t.saveConfig(c)
		}
		if err != nil {
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
	var noKey *kernel.ValidationError
	if errors.As(err, &noKey) {
		return false, nil
	}
	return err == nil, err
}
