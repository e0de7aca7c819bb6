package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/secret"
)

// secretKeyFile is the name of the file with the key of secrets beside a SQLite database, unless a key is set.
const secretKeyFile = "allswell.key"

// secretKey is the key with which secrets are sealed. It is loaded when it is needed first.
type secretKey struct {
	path string // of the file; "": none
	mu   sync.Mutex
	key  *secret.Key // nil: not loaded
}

func newSecretKey(dsn string, given *secret.Key) *secretKey {
	k := &secretKey{key: given}
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		k.path = SecretKeyPath(path)
	}
	return k
}

// SecretKeyPath returns the file with the key of secrets of a SQLite database, if no key is set.
func SecretKeyPath(database string) string {
	return filepath.Join(filepath.Dir(database), secretKeyFile)
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

// forSealing returns the key, and makes one if the database is SQLite. Without one, the error is an *allswell.ValidationError.
func (k *secretKey) forSealing() (*secret.Key, error) {
	key, err := k.forOpening()
	if key != nil || err != nil {
		return key, err
	}
	if k.path == "" {
		var bad allswell.ValidationError
		bad.Add("type", "A secret cannot be saved: the server has no key for it. Set ALLSWELL_SECRET_KEY or ALLSWELL_SECRET_KEY_FILE.")
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
	key, err := s.secretKey.forSealing()
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
