package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/secret"
)

func withSecrets(secrets map[string]json.RawMessage) func(*allswell.NewMonitor) {
	return func(n *allswell.NewMonitor) { n.Check.Secrets = secrets }
}

func TestSecretsOfChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		key := must(secret.New(strings.Repeat("k", secret.MinLength)))(w)
		w.SetSecretKey(key)
		m := w.newCheck("shop", withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`), "token": json.RawMessage(`"tok"`)}))
		if m.Check.Secrets != nil || strings.Join(m.Check.SecretFields, " ") != "password token" {
			t.Errorf("created: %+v", m.Check)
		}
		if strings.Contains(w.dump(), "hunter2") {
			t.Error("the secret is stored as it is")
		}
		spec := w.claimChecks("a", "")[0].Spec
		if string(spec.Secrets["password"]) != `"hunter2"` || string(spec.Secrets["token"]) != `"tok"` {
			t.Errorf("claimed: %+v", spec.Secrets)
		}
		entries := func() int {
			all, _, err := w.AuditLog(w.ctx, w.ws, allswell.AuditFilter{ObjectID: m.ID}, "", 100)
			w.ok(err)
			return len(all)
		}
		before := entries()
		change := func(secrets string) allswell.Monitor {
			t.Helper()
			var fields map[string]json.RawMessage
			w.ok(json.Unmarshal([]byte(secrets), &fields))
			return must(w.ChangeMonitor(w.ctx, w.ws, m.ID, allswell.MonitorChange{Check: allswell.CheckChange{Secrets: fields}}))(w)
		}
		same := change(`{"password": "hunter2"}`)
		if !same.UpdatedAt.Equal(m.UpdatedAt) || entries() != before {
			t.Errorf("the same secret is a change: %+v", same)
		}
		w.clock.move(time.Second)
		changed := change(`{"password": "hunter3", "token": null}`)
		if strings.Join(changed.Check.SecretFields, " ") != "password" || entries() == before {
			t.Errorf("changed: %+v", changed.Check)
		}
		if spec := w.claimChecks("a", "")[0].Spec; string(spec.Secrets["password"]) != `"hunter3"` || spec.Secrets["token"] != nil {
			t.Errorf("claimed: %+v", spec.Secrets)
		}
		if found := must(w.CheckSecrets(w.ctx))(w); found.Monitors != 1 || len(found.Unreadable) != 0 {
			t.Errorf("found: %+v", found)
		}

		// With another key, the check says so, and its secrets can be given again.
		w.SetSecretKey(must(secret.New(strings.Repeat("o", secret.MinLength)))(w))
		if found := must(w.CheckSecrets(w.ctx))(w); len(found.Unreadable) != 1 || found.Unreadable[0] != "shop" {
			t.Errorf("found: %+v", found)
		}
		w.clock.move(time.Hour)
		if c := w.claimChecks("a", "")[0]; !c.SecretsMissing || len(c.Spec.Secrets) != 0 {
			t.Errorf("claimed with another key: %+v", c)
		}
		if _, err := w.ChangeMonitor(w.ctx, w.ws, m.ID, allswell.MonitorChange{Check: allswell.CheckChange{Secrets: map[string]json.RawMessage{"token": json.RawMessage(`"x"`)}}}); !errors.Is(refused(err, "password"), allswell.ErrNotFound) {
			t.Errorf("a secret beside one that cannot be opened: %v", err)
		}
		change(`{"password": "again"}`)
		if spec := w.claimChecks("a", "")[0].Spec; string(spec.Secrets["password"]) != `"again"` {
			t.Errorf("claimed: %+v", spec.Secrets)
		}
	})
}

// Without a key that is set, SQLite has a file beside the database, and PostgreSQL refuses secrets.
func TestKeyOfSecrets(t *testing.T) {
	inWorlds(t, func(w *world) {
		n := withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`)})
		if !isSQLite(w.Store) {
			_, err := w.CreateMonitor(w.ctx, w.ws, allswell.NewMonitor{Type: "http", Name: "x", Check: allswell.CheckSpec{Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"x"`)}}})
			if !errors.Is(refused(err, "password"), allswell.ErrNotFound) || !strings.Contains(err.Error(), "ALLSWELL_SECRET_KEY") {
				t.Errorf("a secret without a key: %v", err)
			}
			return
		}
		path := filepath.Join(filepath.Dir(strings.TrimPrefix(w.dsn, "sqlite:")), "allswell.key")
		w.newCheck("plain")
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a key that nobody needs: %v", err)
		}
		m := w.newCheck("shop", n)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key: %v, %v", info, err)
		}
		w.ok(w.Store.Close())
		w.Store = w.replica()
		found := must(w.CheckSecrets(w.ctx))(w)
		if found.Monitors != 1 || len(found.Unreadable) != 0 || found.KeyFile != path {
			t.Errorf("after a restart: %+v", found)
		}
		for _, c := range w.claimChecks("a", "") {
			if c.MonitorID == m.ID && string(c.Spec.Secrets["password"]) != `"hunter2"` {
				t.Errorf("claimed after a restart: %+v", c)
			}
		}
	})
}
