package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

func withSecrets(secrets map[string]json.RawMessage) func(*monitor.MonitorConfig) {
	return func(n *monitor.MonitorConfig) { n.Check.Secrets = secrets }
}

func TestSecretsOfChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		m := w.newCheck("shop", withSecrets(map[string]json.RawMessage{
			"password": json.RawMessage(`"hunter2"`), "token": json.RawMessage(`"tok"`),
		}))
		if m.Check.Secrets != nil || strings.Join(m.Check.SecretFields, " ") != "password token" {
			t.Errorf("created: %+v", m.Check)
		}
		if strings.Contains(w.dump(), "hunter2") {
			t.Error("the secret is stored in the clear")
		}
		spec := w.claimChecks("a", "")[0].Spec
		if string(spec.Secrets["password"]) != `"hunter2"` || string(spec.Secrets["token"]) != `"tok"` {
			t.Errorf("claimed: %+v", spec.Secrets)
		}
		entries := func() int {
			all, _, err := w.AuditLog(w.ctx, w.ws, kernel.AuditFilter{ObjectID: m.ID}, "", 100)
			w.ok(err)
			return len(all)
		}
		before := entries()
		same := w.changeSecrets(m, `{"password": "hunter2"}`)
		if !same.UpdatedAt.Equal(m.UpdatedAt) || entries() != before {
			t.Errorf("the same secret is a change: %+v", same)
		}
		w.clock.move(time.Second)
		changed := w.changeSecrets(m, `{"password": "hunter3", "token": null}`)
		if strings.Join(changed.Check.SecretFields, " ") != "password" || entries() == before {
			t.Errorf("changed: %+v", changed.Check)
		}
		spec = w.claimChecks("a", "")[0].Spec
		if string(spec.Secrets["password"]) != `"hunter3"` || spec.Secrets["token"] != nil {
			t.Errorf("claimed: %+v", spec.Secrets)
		}
		if found := must(w.CheckSecrets(w.ctx))(w); found.Owners != 1 || found.Unreadable != 0 {
			t.Errorf("found: %+v", found)
		}
	})
}

// TestSecretsWithAnotherKey opens the store with a key that does not open a secret. The secret can be given again.
func TestSecretsWithAnotherKey(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		m := w.newCheck("shop", withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`)}))
		w.SetSecretKeys(must(secret.New(strings.Repeat("o", secret.MinLength)))(w))
		if found := must(w.CheckSecrets(w.ctx))(w); found.Unreadable != 1 || found.Named[0] != "monitor shop" {
			t.Errorf("found: %+v", found)
		}
		w.clock.move(time.Hour)
		if c := w.claimChecks("a", "")[0]; !c.SecretsMissing || len(c.Spec.Secrets) != 0 {
			t.Errorf("claimed with another key: %+v", c)
		}
		_, err := w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			setSecrets(c, map[string]json.RawMessage{"token": json.RawMessage(`"x"`)})
			return nil
		})
		if !errors.Is(refused(err, "password"), kernel.ErrNotFound) {
			t.Errorf("a secret beside one that cannot be opened: %v", err)
		}
		w.changeSecrets(m, `{"password": "again"}`)
		if spec := w.claimChecks("a", "")[0].Spec; string(spec.Secrets["password"]) != `"again"` {
			t.Errorf("claimed: %+v", spec.Secrets)
		}
	})
}

// changeSecrets changes the secrets of a check to those of a JSON object.
func (w *world) changeSecrets(m monitor.Monitor, secrets string) monitor.Monitor {
	w.Helper()
	var fields map[string]json.RawMessage
	w.ok(json.Unmarshal([]byte(secrets), &fields))
	return must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
		setSecrets(c, fields)
		return nil
	}))(w)
}

// Without a key that is set, SQLite has a file beside the database, and PostgreSQL refuses secrets.
func TestKeyOfSecrets(t *testing.T) {
	inWorlds(t, func(w *world) {
		n := withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`)})
		if !isSQLite(w.Store) {
			_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Type: "http", Name: "x",
				Check: monitor.CheckSpec{Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"x"`)}},
			}))
			if !errors.Is(refused(err, "password"), kernel.ErrNotFound) ||
				!strings.Contains(err.Error(), "ALLSWELL_SECRET_KEY") {
				t.Errorf("a secret without a key: %v", err)
			}
			return
		}
		path := w.keyFile()
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
		if found.Owners != 1 || found.Unreadable != 0 || found.KeyFile != path {
			t.Errorf("after a restart: %+v", found)
		}
		for _, c := range w.claimChecks("a", "") {
			if c.MonitorID == m.ID && string(c.Spec.Secrets["password"]) != `"hunter2"` {
				t.Errorf("claimed after a restart: %+v", c)
			}
		}
	})
}

// keyFile returns the path of the file with the key of secrets that a store on SQLite makes.
func (w *world) keyFile() string {
	return filepath.Join(filepath.Dir(strings.TrimPrefix(w.dsn, "sqlite:")), "allswell.key")
}

// TestNewKeyBesideOldSecrets loses the file with the key: the log says that a new one was made, and which secrets it
// cannot open.
func TestNewKeyBesideOldSecrets(t *testing.T) {
	inWorlds(t, func(w *world) {
		if !isSQLite(w.Store) {
			return // no key is made
		}
		path := w.keyFile()
		password := withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`)})
		reopen := func() *bytes.Buffer {
			log := new(bytes.Buffer)
			w.ok(w.Store.Close())
			w.Store = storetest.Open(w.T, w.dsn, store.Options{
				Clock: w.clock.now, Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			return log
		}
		log := reopen()
		w.newCheck("first", password)
		if text := log.String(); strings.Count(text, "file="+path) != 1 || !strings.Contains(text, "keep a copy") {
			t.Errorf("with the first secret: %s", text)
		}
		old := must(os.ReadFile(path))(w)
		w.ok(os.Remove(path))
		log = reopen()
		w.newCheck("second", password)
		text := log.String()
		if !strings.Contains(text, "level=WARN") ||
			!strings.Contains(text, `count=1 of="[monitor first]"`) || !strings.Contains(text, "file="+path) {
			t.Errorf("with the first secret after the key was lost: %s", text)
		}
		made := must(os.ReadFile(path))(w)
		w.ok(os.WriteFile(path, append(made, old...), 0o600)) // as the log says
		if found := must(w.CheckSecrets(w.ctx))(w); found.Owners != 2 || found.Unreadable != 0 {
			t.Errorf("with both keys: %+v", found)
		}
	})
}

// TestRotateSecrets replaces a key: no secret is lost, also if an earlier key is removed afterwards.
func TestRotateSecrets(t *testing.T) {
	inWorlds(t, func(w *world) {
		text := func(c string) string { return strings.Repeat(c, secret.MinLength) }
		old, both := must(secret.New(text("o")))(w), must(secret.New(text("n")+","+text("o")))(w)
		w.SetSecretKeys(must(secret.New(text("l")))(w))
		w.newCheck("lost", withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"gone"`)}))
		w.SetSecretKeys(old)
		const monitors = 3
		for i := range monitors {
			w.newCheck(fmt.Sprint("shop", i), withSecrets(map[string]json.RawMessage{
				"password": json.RawMessage(fmt.Sprintf(`"hunter%d"`, i)),
			}))
		}
		w.newCheck("plain")
		w.SetSecretKeys(both)
		w.newCheck("new", withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"n"`)}))
		found := must(w.CheckSecrets(w.ctx))(w)
		if found.Owners != monitors+2 || found.Earlier != monitors ||
			found.Unreadable != 1 || !slices.Equal(found.Named, []string{"monitor lost"}) {
			t.Errorf("before: %+v", found)
		}
		if n := must(w.RotateSecrets(w.ctx))(w); n != monitors {
			t.Errorf("%d are sealed anew", n)
		}
		w.SetSecretKeys(must(secret.New(text("n")))(w))
		found = must(w.CheckSecrets(w.ctx))(w)
		if found.Earlier != 0 || found.Unreadable != 1 || !slices.Equal(found.Named, []string{"monitor lost"}) {
			t.Errorf("after: %+v", found)
		}
		for _, c := range w.claimChecks("a", "") {
			m := must(w.Monitor(w.ctx, w.ws, c.MonitorID))(w)
			want := ""
			if i, ok := strings.CutPrefix(m.Slug, "shop"); ok {
				want = `"hunter` + i + `"`
			} else if m.Slug == "new" {
				want = `"n"`
			}
			if string(c.Spec.Secrets["password"]) != want || c.SecretsMissing != (m.Slug == "lost") {
				t.Errorf("%s: claimed %s", m.Slug, c.Spec.Secrets)
			}
		}
		if n := must(w.RotateSecrets(w.ctx))(w); n != 0 {
			t.Errorf("again, %d are sealed anew", n)
		}
		w.SetSecretKeys(must(secret.New(text("l")))(w))
		if found := must(w.CheckSecrets(w.ctx))(w); found.Unreadable != monitors+1 {
			t.Errorf("what could not be opened was changed: %+v", found)
		}
	})
}

// TestRotateManySecrets replaces a key of more secrets than one transaction seals. The first one cannot be opened.
func TestRotateManySecrets(t *testing.T) {
	inWorlds(t, func(w *world) {
		text := func(c string) string { return strings.Repeat(c, secret.MinLength) }
		lost, old := must(secret.New(text("l")))(w), must(secret.New(text("o")))(w)
		const channels = 205
		var rows []string
		var args []any
		for i := range channels {
			id, keys := fmt.Sprintf("chn_%03d", i), lost
			if i >= 200 {
				keys = old
			}
			args = append(args, id, keys.Seal([]byte(`{}`), id))
			rows = append(rows,
				fmt.Sprintf("($%d, '%s', 'webhook', '%s', FALSE, '{}', $%d, '[]', 1, FALSE, 0, 0)", len(args)-1,
					w.ws.WorkspaceID, id, len(args)))
		}
		w.run(`INSERT INTO alert_channels (id, workspace_id, type, name, enabled, config, secrets, secret_fields,
			max_per_minute, test_weekly, created_at, updated_at)
			VALUES `+strings.Join(rows, ", "), args...)
		w.SetSecretKeys(must(secret.New(text("n") + "," + text("o")))(w))
		found := must(w.CheckSecrets(w.ctx))(w)
		if found.Owners != channels || found.Unreadable != 200 || found.Earlier != channels-200 ||
			len(found.Named) != store.MaxNamedSecrets || found.Named[0] != "channel chn_000" {
			t.Errorf("secrets with the new and the old key: %+v", found)
		}
		if n := must(w.RotateSecrets(w.ctx))(w); n != channels-200 {
			t.Errorf("%d are sealed anew, want %d", n, channels-200)
		}
	})
}

// TestKeyFileIsRemoved removes the file with the key while the service runs: secrets are not saved, and the error and
// the log say why.
func TestKeyFileIsRemoved(t *testing.T) {
	inWorlds(t, func(w *world) {
		if !isSQLite(w.Store) {
			return // there is no file
		}
		path := w.keyFile()
		log := new(bytes.Buffer)
		w.ok(w.Store.Close())
		w.Store = storetest.Open(w.T, w.dsn, store.Options{
			Clock: w.clock.now, Logger: slog.New(slog.NewTextHandler(log, nil)),
		})
		password := map[string]json.RawMessage{"password": json.RawMessage(`"hunter2"`)}
		w.newCheck("first", withSecrets(password))
		key := must(os.ReadFile(path))(w)
		save := func() error {
			_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Type: "http", Name: "second", Check: monitor.CheckSpec{Secrets: password},
			}))
			return err
		}
		for _, lose := range []func() error{func() error {
			return os.Remove(path)
		}, func() error { return os.WriteFile(path, nil, 0o600) }} {
			w.ok(lose())
			log.Reset()
			err := save()
			if !errors.Is(refused(err, "password"), kernel.ErrNotFound) ||
				!strings.Contains(err.Error(), "the log of the server says what to do") {
				t.Errorf("a secret without the file of the key: %v", err)
			}
			text := log.String()
			if !strings.Contains(text, "put your copy of it back") || !strings.Contains(text, "file="+path) {
				t.Errorf("the log: %s", text)
			}
		}
		w.ok(os.WriteFile(path, key, 0o600))
		if err := save(); errors.Is(refused(err, "password"), kernel.ErrNotFound) {
			t.Errorf("with the file: %v", err)
		}
	})
}

// TestRotateKeyFile replaces the key beside a SQLite database in another process: the service uses the new key
// immediately.
func TestRotateKeyFile(t *testing.T) {
	inWorlds(t, func(w *world) {
		if !isSQLite(w.Store) {
			return // there is no file
		}
		path := w.keyFile()
		beside := must(store.OpenBeside(w.ctx, w.dsn, store.Options{}))(w)
		defer beside.Close()
		if n := must(beside.RotateSecrets(w.ctx))(w); n != 0 {
			t.Errorf("without secrets, %d are sealed anew", n)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a key that nobody needs: %v", err)
		}
		w.newCheck("shop", withPassword("hunter2"))
		before := must(os.ReadFile(path))(w)
		if n := must(beside.RotateSecrets(w.ctx))(w); n != 1 {
			t.Errorf("%d are sealed anew", n)
		}
		w.newCheck("later", withPassword("hunter3"))
		after := must(os.ReadFile(path))(w)
		first, rest, _ := strings.Cut(string(after), "\n")
		if rest != string(before) {
			t.Errorf("the earlier key is gone")
		}
		w.ok(os.WriteFile(path, []byte(first+"\n"), 0o600))
		found := must(w.CheckSecrets(w.ctx))(w)
		if found.Owners != 2 || found.Earlier != 0 || found.Unreadable != 0 || found.KeyFile != path {
			t.Errorf("with the new key alone: %+v", found)
		}
		for _, c := range w.claimChecks("a", "") {
			if !strings.HasPrefix(string(c.Spec.Secrets["password"]), `"hunter`) {
				t.Errorf("claimed: %+v", c)
			}
		}
	})
}

// TestBrokenKeyFile removes and empties the key file beside a SQLite database. The file is neither replaced nor
// ignored: nothing is sealed with a key that is not kept.
func TestBrokenKeyFile(t *testing.T) {
	inWorlds(t, func(w *world) {
		if !isSQLite(w.Store) {
			return // there is no file
		}
		path := w.keyFile()
		w.newCheck("shop", withPassword("hunter2"))
		for _, broken := range []func() error{func() error {
			return os.Remove(path)
		}, func() error { return os.WriteFile(path, nil, 0o600) }} {
			w.ok(broken())
			_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Type: "http", Name: "x", Interval: time.Minute,
				Check: monitor.CheckSpec{Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"x"`)}},
			}))
			if err == nil || refused(err, "password") == nil {
				t.Errorf("a secret without its key: %v", err)
			}
			w.clock.move(time.Hour)
			for _, c := range w.claimChecks("a", "") {
				if !strings.HasPrefix(string(c.Spec.Secrets["password"]), `"hunter`) {
					t.Errorf("claimed while the file is edited: %+v", c)
				}
			}
		}
	})
}

func withPassword(value string) func(*monitor.MonitorConfig) {
	return withSecrets(map[string]json.RawMessage{"password": json.RawMessage(`"` + value + `"`)})
}

// TestSealedColumns checks that each column of bytes is known to RotateSecrets, or known to have nothing sealed.
func TestSealedColumns(t *testing.T) {
	others := "tokens.hash, answers.request_hash, answers.body, page_images.body, certificate_files.content, " +
		"sessions.hash, one_time_codes.hash, " +
		"invitations.hash, recovery_codes.hash, passkeys.credential_id, passkeys.public_key, signals.output, " +
		"ping_blocks.data, ping_chunks.data, check_rollups.data, " +
		"address_confirmations.hash"
	migrations, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(migrations) == 0 {
		t.Fatalf("%d migrations, %v", len(migrations), err)
	}
	table, column := regexp.MustCompile(`^(?:CREATE|ALTER) TABLE (\w+)`), regexp.MustCompile(`(\w+)\s+BYTEA`)
	known := strings.Join(store.SealedColumns(), ", ") + ", " + others
	for _, path := range migrations {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in := ""
		for line := range strings.Lines(string(text)) {
			if m := table.FindStringSubmatch(line); m != nil {
				in = m[1]
			}
			if m := column.FindStringSubmatch(line); m != nil && !strings.Contains(known+",", in+"."+m[1]+",") {
				t.Errorf("%s.%s is not in sealedColumns: if nothing in it is sealed, list it here", in, m[1])
			}
		}
	}
}
