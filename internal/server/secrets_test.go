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
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestKeyFileOfSecrets checks that a start warns of a key file that is missing, or that all users can read.
func TestKeyFileOfSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of files say nothing there")
	}
	database := storetest.SQLite(t)
	beside := filepath.Join(filepath.Dir(strings.TrimPrefix(database, "sqlite:")), "allswell.key")
	set := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(set, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(file string) string {
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
	wants := func(what, log string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(log, part) {
				t.Errorf("%s: the log does not contain %q:\n%s", what, part, log)
			}
		}
	}
	s := storetest.Open(t, database, store.Options{})
	actor, _ := storetest.Workspace(t, s, account.DefaultWorkspace)
	if _, err := s.CreateMonitor(
		t.Context(), actor,
		monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Shop", Type: "http", Interval: time.Minute, Check: monitor.CheckSpec{
				Config:  json.RawMessage(`{"url":"https://shop.example/"}`),
				Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`)}},
		}),
	); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const readable = "all users can read the file with the key"
	if log := start(""); strings.Contains(log, "level=WARN") {
		t.Errorf("with a new key: %s", log)
	}
	for path, file := range map[string]string{beside: "", set: set} {
		if err := os.Chmod(path, 0o604); err != nil {
			t.Fatal(err)
		}
		wants("a key that all can read", start(file), readable, "file="+path)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if log := start(file); strings.Contains(log, readable) {
			t.Errorf("a key that its group can read: %s", log)
		}
	}
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	const missing = "the file with the key of the secrets is missing"
	wants("without the key", start(""), "secrets cannot be decrypted", missing, "file="+beside)

	// A new key would encrypt what the key that is put back cannot decrypt.
	s = storetest.Open(t, database, store.Options{})
	if _, err := s.AlertChannels().Create(
		t.Context(), actor, "",
		resource.Channel.From(
			alert.Channel{
				Type: "ntfy", Name: "phone", MaxPerMinute: 1, Config: json.RawMessage(`{"topic":"late-secret"}`),
			},
		),
	); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wants("without the key, a topic in the clear", start(""), missing,
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
	if _, err := s.AlertChannels().Create(
		t.Context(), actor, "",
		resource.Channel.From(
			alert.Channel{
				Type: "ntfy", Name: "phone", MaxPerMinute: 1, Config: json.RawMessage(`{"topic":"late-secret"}`),
			},
		),
	); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	started, _ := newServerOn(t, database, Settings{})
	if found, err := started.store.CheckSecrets(t.Context()); err != nil || found.Owners != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if err := started.store.Close(); err != nil {
		t.Fatal(err)
	}
}
