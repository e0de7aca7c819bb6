package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/secret"
)

// secretKeyFile is the name of the file with the key of secrets beside a SQLite database, unless a key is set.
const secretKeyFile = "allswell.key"

// secretKey is the key with which secrets are sealed. It is loaded when it is needed first.
type secretKey struct {
	path     string // of the file; "": none
	fromFile bool   // no key is set
	mu       sync.Mutex
	key      *secret.Key // nil: not loaded
}

func newSecretKey(dsn string, given *secret.Key) *secretKey {
	k := &secretKey{key: given}
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok && given == nil {
		k.path, k.fromFile = filepath.Join(filepath.Dir(path), secretKeyFile), true
	}
	return k
}

// forOpening returns the key, and nil if there is none.
func (k *secretKey) forOpening() (*secret.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	if k.key == nil && k.path != "" {
		k.key, err = secret.Read(k.path)
	}
	return k.key, err
}

// forSealing returns the key, and makes one if the database is SQLite. Without one, the error is an
// *allswell.ValidationError for the fields.
func (k *secretKey) forSealing(fields iter.Seq[string]) (*secret.Key, error) {
	key, err := k.forOpening()
	if key != nil || err != nil {
		return key, err
	}
	if k.path == "" {
		var bad allswell.ValidationError
		for field := range fields {
			bad.Add(field, "The %s cannot be saved, because the server has no key to encrypt it: set ALLSWELL_SECRET_KEY or ALLSWELL_SECRET_KEY_FILE.", field)
		}
		return nil, bad.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err = secret.Create(k.path)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		key, err = secret.Read(k.path)
	}
	k.key = key
	return key, err
}

// sealSecrets returns the stored form of the secrets of a monitor: nil for none.
func (s *Store) sealSecrets(monitorID string, secrets map[string]json.RawMessage) (any, error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	key, err := s.secretKey.forSealing(maps.Keys(secrets))
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(secrets)
	if err != nil {
		return nil, err
	}
	return key.Seal(plain, monitorID), nil
}

// openSecrets returns what sealSecrets sealed. If the key is missing or another one, the error is secret.ErrNoKey.
func (s *Store) openSecrets(monitorID string, sealed []byte) (secrets map[string]json.RawMessage, err error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	key, err := s.secretKey.forOpening()
	if err != nil {
		return nil, err
	}
	plain, err := key.Open(sealed, monitorID)
	if err != nil {
		return nil, err
	}
	return secrets, json.Unmarshal(plain, &secrets)
}

// SecretsFound says how many monitors have secrets, and which of them cannot be opened.
type SecretsFound struct {
	Monitors   int
	Unreadable []string // slugs, in order
	KeyFile    string   // the file beside the database with the key, if that is used; "": none
}

// CheckSecrets finds the monitors whose secrets were sealed with another key than this store has.
func (s *Store) CheckSecrets(ctx context.Context) (found SecretsFound, err error) {
	key, err := s.secretKey.forOpening()
	if err != nil {
		return found, err
	}
	if s.secretKey.fromFile {
		found.KeyFile = s.secretKey.path
	}
	return read(ctx, s, func(c *session) (SecretsFound, error) {
		_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
			var slug string
			var sealed []byte
			if err = row.Scan(&slug, &sealed); err != nil {
				return
			}
			found.Monitors++
			if key == nil || !key.Sealed(sealed) {
				found.Unreadable = append(found.Unreadable, slug)
			}
			return
		}, `SELECT m.slug, c.secrets FROM checks c JOIN monitors m ON m.id = c.monitor_id WHERE c.secrets IS NOT NULL ORDER BY m.slug, m.id`)
		return found, err
	})
}

// SecretsIn is Store.CheckSecrets of a database that may be in use, as OpenBeside opens it.
func SecretsIn(ctx context.Context, dsn string, key *secret.Key) (SecretsFound, error) {
	s, err := OpenBeside(ctx, dsn, Options{SecretKey: key})
	if err != nil {
		return SecretsFound{}, err
	}
	found, err := s.CheckSecrets(ctx)
	return found, errors.Join(err, s.Close())
}
