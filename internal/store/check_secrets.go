package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/secret"
)

// secretKeyFile is the name of the file with the key of secrets beside a SQLite database, unless a key is set.
const secretKeyFile = "allswell.key"

// secretKeys are the keys with which secrets are sealed. Keys in a file are read when they are needed, and again when
// the file was changed.
type secretKeys struct {
	path string // of the file beside a SQLite database; "": the keys are set, or there are none
	mu   sync.Mutex
	keys *secret.Keys // nil: not read
	read fs.FileInfo  // of the file when it was read
}

func newSecretKeys(dsn string, given *secret.Keys) *secretKeys {
	k := &secretKeys{keys: given}
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok && given == nil {
		k.path = filepath.Join(filepath.Dir(path), secretKeyFile)
	}
	return k
}

// forOpening returns the keys, and nil if there are none. While the file cannot be read, because somebody edits it, it
// returns the keys that the file had.
func (k *secretKeys) forOpening() (*secret.Keys, error) {
	keys, err := k.load()
	if keys != nil || errors.Is(err, fs.ErrNotExist) {
		return keys, nil
	}
	return nil, err
}

// current returns the keys as they are now, and nil if there are none.
func (k *secretKeys) current() (*secret.Keys, error) {
	keys, err := k.load()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return keys, nil
	}
	return nil, err
}

// load returns the keys. The error is fs.ErrNotExist if there is no file. With an error, it returns the keys that the
// file had, or nil.
func (k *secretKeys) load() (*secret.Keys, error) {
	if k.path == "" {
		return k.keys, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.path)
	if err != nil {
		return k.keys, err
	}
	if k.keys != nil && os.SameFile(info, k.read) && info.ModTime().Equal(k.read.ModTime()) &&
		info.Size() == k.read.Size() {
		return k.keys, nil
	}
	keys, err := secret.Read(k.path)
	if err != nil || keys == nil {
		return k.keys, err
	}
	k.keys, k.read = keys, info
	return keys, nil
}

// keysForSealing returns the keys, and makes one if the database is SQLite. Without one, or if the file with it
// was removed or cannot be read, the error is a *kernel.ValidationError for the fields. What is sealed is written in
// the same transaction: so the file is created and replaced by one process at a time.
func (t *tx) keysForSealing(fields iter.Seq[string]) (*secret.Keys, error) {
	k := t.s.secretKeys
	keys, err := k.load()
	switch {
	case err == nil && keys != nil:
		return keys, nil
	case err != nil && (keys != nil || !errors.Is(err, fs.ErrNotExist)):
		t.s.log.Error("a secret cannot be saved, because the file with the key cannot be read: put your copy of it "+
			"back, or, without one, restart the service, which makes a new key, and give all secrets again",
			"file", k.path, "error", err)
		return nil,
			cannotEncrypt(fields,
				"the file with the server's key of secrets is missing or cannot be read: the log of the server says "+
					"what to do")
	case k.path == "":
		return nil,
			cannotEncrypt(fields,
				"the server has no key to encrypt it: set ALLSWELL_SECRET_KEY or ALLSWELL_SECRET_KEY_FILE")
	}
	found, err := t.findSecrets(nil)
	if err != nil {
		return nil, err
	}
	if _, err := secret.Create(k.path); errors.Is(err, fs.ErrExist) {
		return k.load() // somebody has put it back
	} else if err != nil {
		return nil, fmt.Errorf("creating the key of the secrets: %w", err)
	}
	t.s.log.Info("created the key of the secrets: keep a copy of it elsewhere, because no backup contains it",
		"file", k.path)
	if found.Unreadable > 0 {
		t.s.log.Warn("there was no key, so a new one was created, but earlier secrets need the old one: add your "+
			"copy of it to the file as another line, or give these secrets again",
			"file", k.path, "count", found.Unreadable, "of", found.Named)
	}
	return k.load()
}

// cannotEncrypt returns a *kernel.ValidationError for fields that cannot be encrypted.
func cannotEncrypt(fields iter.Seq[string], why string) error {
	var bad kernel.ValidationError
	for field := range fields {
		bad.Add(field, "cannot be saved, because %s", why)
	}
	return bad.Err()
}

// sealSecrets returns the stored form of the secrets of a monitor or an alert channel: nil for none.
func (t *tx) sealSecrets(monitorID string, secrets map[string]json.RawMessage) (any, error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	keys, err := t.keysForSealing(maps.Keys(secrets))
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(secrets)
	if err != nil {
		return nil, err
	}
	return keys.Seal(plain, monitorID), nil
}

// openSecrets returns what sealSecrets sealed. The error is secret.ErrNoKey if the key is missing or another one, and
// secret.ErrDamaged if what was sealed has been changed.
func (s *Store) openSecrets(monitorID string, sealed []byte) (secrets map[string]json.RawMessage, err error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	keys, err := s.secretKeys.forOpening()
	if err != nil {
		return nil, err
	}
	plain, err := keys.Open(sealed, monitorID)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(plain, &secrets); err != nil {
		return nil, fmt.Errorf("%w: %w", secret.ErrDamaged, err)
	}
	return secrets, nil
}
