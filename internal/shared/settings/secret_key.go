package settings

import (
	"fmt"

	"github.com/allswell/allswell/internal/shared/secret"
)

// SecretKeySetting is the setting of all commands that seal or open secrets.
type SecretKeySetting struct {
	SecretKey string `env:"ALLSWELL_SECRET_KEY" secret:"" placeholder:"SECRET" help:"Key that encrypts the secrets of checks and channels, and the addresses of subscribed chats and browsers, 32 or more characters. While you replace it, several keys, separated by commas: the first encrypts, and all decrypt. Empty: the key in ALLSWELL_SECRET_KEY_FILE, or with SQLite in the file allswell.key beside the database."`

	SecretKeyFile string `env:"ALLSWELL_SECRET_KEY_FILE" placeholder:"PATH" help:"File with this key, or with several, one per line."`
}

// ParseSecretKey returns the keys; nil if none is set. Errors are recorded in p.
func (s *SecretKeySetting) ParseSecretKey(p *Parser) *secret.Keys {
	key := Parse(p, &s.SecretKey, func(value string) (*secret.Keys, error) {
		if value == "" {
			return nil, nil
		}
		k, err := secret.New(value)
		if err != nil {
			return nil,
				fmt.Errorf("empty, or from 1 to %d keys, separated by commas, of %d characters or more each",
					secret.MaxKeys, secret.MinLength)
		}
		return k, nil
	})
	file := Parse(p, &s.SecretKeyFile, func(path string) (*secret.Keys, error) {
		if path == "" {
			return nil, nil
		}
		k, err := secret.Read(path)
		if err != nil || k == nil {
			return nil,
				fmt.Errorf("a file that can be read, with from 1 to %d keys, one per line, of %d characters or more "+
					"each", secret.MaxKeys, secret.MinLength)
		}
		return k, nil
	})
	if key != nil && file != nil {
		p.Refuse(&s.SecretKeyFile, "empty if ALLSWELL_SECRET_KEY is set")
	}
	if key == nil {
		return file
	}
	return key
}

// KeyedDatabaseSetting is the setting of the commands that open the database and its secrets.
type KeyedDatabaseSetting struct {
	DatabaseSetting  `embed:""`
	SecretKeySetting `embed:""`
}

// Keys returns the keys of the secrets; nil if none is set. The error is an *Error.
func (s KeyedDatabaseSetting) Keys() (*secret.Keys, error) {
	p := NewParser(&s)
	key := s.ParseSecretKey(p)
	return key, p.Err()
}
