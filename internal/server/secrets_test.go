package server

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// keyBeside returns the path of the key that belongs to a database.
func keyBeside(database string) string {
	return filepath.Join(filepath.Dir(strings.TrimPrefix(database, "sqlite:")), "allswell.key")
}

// startWithKey starts a server with a file of the key, and returns its log.
func startWithKey(t *testing.T, database, file string) string {
	t.Helper()
	s, log := newServerOn(t, database, Settings{SecretKeySetting: settings.SecretKeySetting{SecretKeyFile: file}})
	if err := s.warnOfSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	return log.String()
}

func logContains(t *testing.T, what, log string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(log, part) {
			t.Errorf("%s: the log does not contain %q:\n%s", what, part, log)
		}
	}
}

// createCheckWithPassword creates a monitor with a secret.
func createCheckWithPassword(t *testing.T, database string) kernel.Actor {
	t.Helper()
	s := storetest.Open(t, database, store.Options{})
	actor, _ := storetest.Workspace(t, s, account.DefaultWorkspace)
	shop := monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Shop", Type: "http", Interval: time.Minute, Check: monitor.CheckSpec{
			Config:  json.RawMessage(`{"url":"https://shop.example/"}`),
			Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`)},
		},
	})
	if _, err := s.CreateMonitor(t.Context(), actor, shop); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return actor
}

// TestKeyFileOfSecrets checks that a start warns of a key file that is missing, or that all users can read.
func TestKeyFileOfSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of files say nothing there")
	}
	database := storetest.SQLite(t)
	beside := keyBeside(database)
	set := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(set, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	createCheckWithPassword(t, database)
	const readable = "all users can read the file with the key"
	if log := startWithKey(t, database, ""); strings.Contains(log, "level=WARN") {
		t.Errorf("with a new key: %s", log)
	}
	for path, file := range map[string]string{beside: "", set: set} {
		if err := os.Chmod(path, 0o604); err != nil {
			t.Fatal(err)
		}
		logContains(t, "a key that all can read", startWithKey(t, database, file), readable, "file="+path)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if log := startWithKey(t, database, file); strings.Contains(log, readable) {
			t.Errorf("a key that its group can read: %s", log)
		}
	}
}

// TestMissingKeyFileOfSecrets checks what is logged without the key, and that a new one is not made: it would encrypt
// what the key that is put back cannot decrypt.
func TestMissingKeyFileOfSecrets(t *testing.T) {
	database := storetest.SQLite(t)
	beside := keyBeside(database)
	actor := createCheckWithPassword(t, database)
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	const missing = "the file with the key of the secrets is missing"
	logContains(t, "without the key", startWithKey(t, database, ""), "secrets cannot be decrypted", missing,
		"file="+beside)

	s := storetest.Open(t, database, store.Options{})
	phone := alert.Channel{
		Type: "ntfy", Name: "phone", MaxPerMinute: 1, Config: json.RawMessage(`{"topic":"late-secret"}`),
	}
	if _, err := s.AlertChannels().Create(t.Context(), actor, "", resource.Channel.From(phone)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	logContains(t, "without the key, a topic in the clear", startWithKey(t, database, ""), missing,
		"topics and URLs of channels are not encrypted, because the key")
	if _, err := os.Stat(beside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the start made a new key: %v", err)
	}
}

// TestStartEncryptsLateSecrets starts with a channel whose topic an earlier version saved in the clear.
func TestStartEncryptsLateSecrets(t *testing.T) {
	database := storetest.SQLite(t)
	s := storetest.Open(t, database, store.Options{})
	actor, _ := storetest.Workspace(t, s, account.DefaultWorkspace)
	_, err := s.AlertChannels().Create(
		t.Context(), actor, "",
		resource.Channel.From(
			alert.Channel{
				Type: "ntfy", Name: "phone", MaxPerMinute: 1, Config: json.RawMessage(`{"topic":"late-secret"}`),
			},
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	started, _ := newServerOn(t, database, Settings{})
	if found, err := started.store.CheckSecrets(t.Context()); err != nil || found.Owners != 1 {
		t.Errorf("the secrets after the start: %+v, %v", found, err)
	}
	if err := started.store.Close(); err != nil {
		t.Fatal(err)
	}
}
