package store_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

func TestFourReplicasMigrateOneFreshDatabase(t *testing.T) {
	t.Parallel()
	dsn := storetest.EmptyPostgreSQL(t)
	var opens []func()
	for range 4 {
		opens = append(opens, func() {
			s, err := store.Open(t.Context(), dsn, store.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { s.Close() })
			_, err = s.IssueTokenFor(t.Context(), "default", account.NewToken{Name: "x", Scope: kernel.ScopeRead})
			if err != nil {
				t.Error(err)
			}
		})
	}
	together(opens...)
	w := &world{T: t, ctx: t.Context(), Store: storetest.Open(t, dsn, store.Options{})}
	rows := w.rows(`SELECT version_id, count(*) FROM goose_db_version GROUP BY version_id HAVING count(*) > 1`)
	if len(rows) > 0 {
		t.Errorf("migrations that ran twice: %v", rows)
	}
}

func TestMigrateReturnsVersions(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		from, to, err := store.Migrate(t.Context(), dsn, nil)
		if err != nil || from != 0 || to < 1 {
			t.Fatalf("a fresh database: %d to %d, %v", from, to, err)
		}
		again, same, err := store.Migrate(t.Context(), dsn, nil)
		if err != nil || again != to || same != to {
			t.Errorf("again: %d to %d, %v", again, same, err)
		}
	})
}

// TestMigrationsAfterVersion22: migration 23 was 19 before, and was skipped in databases of version 22.
func TestMigrationsAfterVersion22(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		if err := store.MigrateTo(t.Context(), dsn, 16); err != nil {
			t.Fatal(err)
		}
		certificates := must(os.ReadFile("migrations/0022_certificates.sql"))(t)
		execRaw(t, dsn, string(certificates))
		execRaw(t, dsn, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (22, TRUE)`)
		w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn}
		w.Store = w.replica()
		must(w.PageList(w.ctx, 10))(t)
		if got := w.rows(`SELECT hidden FROM components UNION SELECT home FROM pages`); len(got) != 0 {
			t.Errorf("rows %q", got)
		}
	})
}

// TestSkippedMigrationIsRefused: a migration that landed after one of a higher version is not in databases of that
// version.
func TestSkippedMigrationIsRefused(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.run(`DELETE FROM goose_db_version WHERE version_id = 5`)
		w.Store.Close()
		defer func() { w.Store = w.replica() }()
		_, err := store.Open(w.ctx, w.dsn, store.Options{})
		_, beside := store.OpenBeside(w.ctx, w.dsn, store.Options{})
		_, _, migrate := store.Migrate(w.ctx, w.dsn, nil)
		for name, err := range map[string]error{"Open": err, "OpenBeside": beside, "Migrate": migrate} {
			if err == nil || !strings.Contains(err.Error(), "lacks migration 5") {
				w.Errorf("%s: %v", name, err)
			}
		}
		// so that the world can be looked at
		execRaw(w.T, w.dsn, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (5, TRUE)`)
	})
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.run(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, TRUE)`)
		w.Store.Close()
		defer func() { w.Store = w.replica() }()
		const want = "the database is of version 999, but this allswell only knows versions up to "
		_, err := store.Open(w.ctx, w.dsn, store.Options{})
		_, beside := store.OpenBeside(w.ctx, w.dsn, store.Options{})
		_, _, migrate := store.Migrate(w.ctx, w.dsn, nil)
		for name, err := range map[string]error{"Open": err, "OpenBeside": beside, "Migrate": migrate} {
			if err == nil || !strings.HasPrefix(err.Error(), want) ||
				!strings.HasSuffix(err.Error(), ": use a newer allswell") {
				w.Errorf("%s: %v", name, err)
			}
		}
		execRaw(w.T, w.dsn, `DELETE FROM goose_db_version WHERE version_id = 999`) // so that the world can be looked at
	})
}

// execRaw executes a statement on a database that no store has open.
func execRaw(t *testing.T, dsn, statement string) {
	t.Helper()
	driver, address := "pgx", dsn
	if path, isFile := strings.CutPrefix(dsn, "sqlite:"); isFile {
		driver, address = "sqlite", path
	}
	db, err := sqlOpen(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func TestCommandsDoNotMigrate(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		refused := func(want string) {
			t.Helper()
			s, err := store.OpenBeside(t.Context(), dsn, store.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("OpenBeside: %v, want %q", err, want)
				if err == nil {
					s.Close()
				}
			}
		}
		if path, isFile := strings.CutPrefix(dsn, "sqlite:"); isFile {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		refused("the database is empty")
		if from, _, err := store.Migrate(t.Context(), dsn, nil); err != nil || from != 0 {
			t.Fatalf("the refused command changed the database: version %d, %v", from, err)
		}
		execRaw(t, dsn, `DELETE FROM goose_db_version WHERE version_id > 1`)
		refused("the database is of version 1, but this allswell needs version ")
	})
}

// TestUnknownRole checks that the error is PostgreSQL's only answer, and not the error of the attempt with TLS before.
func TestUnknownRole(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		u, err := url.Parse(dsn)
		if err != nil || u.Scheme == "sqlite" {
			return
		}
		u.User = url.User("nobody-of-this-name")
		parameters := u.Query()
		parameters.Set("user", u.User.Username()) // wins over the user before the host
		parameters.Set("sslmode", "prefer")
		u.RawQuery = parameters.Encode()
		_, err = store.Open(t.Context(), u.String(), store.Options{})
		if err == nil || !strings.Contains(err.Error(), "nobody-of-this-name") || strings.Contains(err.Error(), "TLS") {
			t.Errorf("error %q", err)
		}
	})
}

func TestServedFileIsNotOpenedTwice(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "allswell.db"), "")
	backup := filepath.Join(t.TempDir(), "backup.db")
	w.ok(store.Backup(w.ctx, w.dsn, backup, nil))
	inUse := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "is in use by another allswell: stop that one first") {
			t.Errorf("%s of a served file: %v", what, err)
		}
	}
	_, err := store.Open(w.ctx, w.dsn, store.Options{})
	inUse("Open", err)
	_, _, err = store.Migrate(w.ctx, w.dsn, nil)
	inUse("Migrate", err)
	_, err = store.Restore(w.ctx, w.dsn, backup, nil)
	inUse("Restore", err)

	beside, err := store.OpenBeside(w.ctx, w.dsn, store.Options{Clock: w.clock.now})
	w.ok(err)
	must(beside.IssueToken(w.ctx, w.ws, account.NewToken{Name: "beside", Scope: kernel.ScopeRead}))(t)
	if n := len(tokensIn(w, w.ws)); n != 2 {
		t.Errorf("%d tokens, want the one issued beside too", n)
	}
	w.ok(beside.Close())
	w.pinged() // still served

	w.ok(w.Store.Close())
	w.Store = w.replica()
	w.consistent()
}

func TestFileIsPrivate(t *testing.T) {
	for _, name := range []string{"plain.db", "with space.db", "a?b#c%20d&e=f.db", "'quoted\".db", "ünïcode.db"} {
		dir := t.TempDir()
		w := newWorld(t, "sqlite:"+filepath.Join(dir, name), "")
		w.pinged()
		entries := must(os.ReadDir(dir))(t)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), name) {
				t.Errorf("%s: there is a file %s", name, e.Name())
			}
			// an empty one
			if info := must(e.Info())(t); info.Mode().Perm() != 0o600 && !strings.Contains(e.Name(), ".lock") {
				t.Errorf("%s has mode %o", e.Name(), info.Mode().Perm())
			}
		}
		if len(entries) < 2 {
			t.Errorf("%s: files %v", name, entries)
		}
	}
}

func TestInvalidAddresses(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dsn := range []string{
		"", "allswell.db", "sqlite:", "mysql://localhost/x", "sqlite:" + filepath.Join(t.TempDir(), "missing", "x.db"),
		"sqlite:" + t.TempDir(), "sqlite:" + garbage, "postgres://secret:secret@[::bad",
		"postgres://u:secret@127.0.0.1:1/x?connect_timeout=1",
		"postgres://u:secret@host:port/x",
	} {
		s, err := store.Open(t.Context(), dsn, store.Options{})
		if err == nil {
			s.Close()
			t.Errorf("%q was opened", dsn)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error reveals the password: %v", err)
		}
	}
}

// TestEverySessionSettingIsSet asks each connection for its settings, also a connection that replaces a lost one.
func TestEverySessionSettingIsSet(t *testing.T) {
	inWorlds(t, func(w *world) {
		writer, reader := w.Pools()
		ask := func(of string, want map[string]string) {
			w.Helper()
			for text, want := range want {
				var got string
				err := map[string]interface{ QueryRow(string, ...any) row }{
					"writer": pool{writer}, "reader": pool{reader},
				}[of].QueryRow(text).Scan(&got)
				if err != nil || got != want {
					w.Errorf("%s: %s: %s, %v; want %s", of, text, got, err, want)
				}
			}
		}
		if !isSQLite(w.Store) {
			w.run(`ALTER DATABASE ` + w.value(`SELECT current_database()`) + ` SET synchronous_commit = off`)
			w.run(`ALTER DATABASE ` + w.value(`SELECT current_database()`) + ` SET jit = on`)
			writer, _ = w.replica().Pools() // whose connections are new
			ask("writer", map[string]string{`SHOW synchronous_commit`: "on", `SHOW application_name`: "allswell",
				`SHOW lock_timeout`: "4s", `SHOW idle_in_transaction_session_timeout`: "5s",
				`SHOW client_min_messages`: "warning", `SHOW jit`: "off"})
			return
		}
		for range 2 {
			ask("writer", map[string]string{
				`PRAGMA journal_mode`: "wal", `PRAGMA synchronous`: "2", `PRAGMA foreign_keys`: "1",
				`PRAGMA query_only`: "0", `PRAGMA busy_timeout`: "5000",
			})
			ask("reader", map[string]string{`PRAGMA query_only`: "1", `PRAGMA busy_timeout`: "5000"})
			if _, err := reader.Exec(`DELETE FROM monitors`); err == nil {
				w.Error("a reader may write")
			}
			writer.SetMaxIdleConns(0)
			reader.SetMaxIdleConns(0)
		}
		if n := writer.Stats().MaxOpenConnections; n != 1 {
			w.Errorf("%d connections may write", n)
		}
	})
}

// TestPostgreSQLClockIsUsed lets a store without a clock of its own read
// the database's.
func TestPostgreSQLClockIsUsed(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		before := time.Now().Add(-time.Second)
		now := must(s.Clock(t.Context()))(t)
		if now.Before(before) || now.After(time.Now().Add(time.Second)) || now.Location() != time.UTC ||
			now.Nanosecond()%1e6 != 0 {
			t.Errorf("the clock reads %v", now)
		}
		ws, _ := storetest.Workspace(t, s, "default")
		p := must(s.CreatePage(t.Context(), ws, resource.Page.From(statuspage.Page{Name: "x", Slug: "x"})))(t)
		if p.CreatedAt.Before(now) {
			t.Errorf("created at %v, before %v", p.CreatedAt, now)
		}
	})
}

// columns lists what both engines call "table.column type".
func columns(w *world) []string {
	if isSQLite(w.Store) {
		return w.rows(`SELECT m.name || '.' || p.name || ' ' || lower(p.type)
			FROM sqlite_schema m, pragma_table_info(m.name) p
			WHERE m.type = 'table' AND m.name <> 'goose_db_version' AND m.name <> 'sqlite_sequence'`)
	}
	return w.rows(`SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name <> 'goose_db_version'`)
}

func TestColumnsHaveTypesThatBothSpellAlike(t *testing.T) {
	t.Parallel()
	var seen [][]string
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, "")
		found := columns(w)
		for _, c := range found {
			name, kind, _ := strings.Cut(c, " ")
			if !slices.Contains([]string{"text", "bigint", "boolean", "bytea", "double precision"}, kind) {
				t.Errorf("%s is a %s", name, kind)
			}
			if (strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "_ms")) && kind != "bigint" {
				t.Errorf("%s is a %s, want milliseconds", name, kind)
			}
		}
		slices.Sort(found)
		seen = append(seen, found)
		if len(found) < 50 {
			t.Errorf("only %d columns were found", len(found))
		}
	})
	if len(seen) == 2 && fmt.Sprint(seen[0]) != fmt.Sprint(seen[1]) {
		t.Errorf("the engines differ:\n%v\n%v", seen[0], seen[1])
	}
}

// TestSlugsOfExistingObjects checks the slugs that migration 14 makes from names.
func TestSlugsOfExistingObjects(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		if err := store.MigrateTo(t.Context(), dsn, 13); err != nil {
			t.Fatal(err)
		}
		driver, address := "pgx", dsn
		if path, isFile := strings.CutPrefix(dsn, "sqlite:"); isFile {
			driver, address = "sqlite", path
		}
		db := must(sqlOpen(driver, address))(t)
		defer db.Close()
		run := func(statement string, args ...any) {
			t.Helper()
			if _, err := db.Exec(statement, args...); err != nil {
				t.Fatal(err)
			}
		}
		run(`INSERT INTO workspaces (id, name, created_at) VALUES ('ws_1', 'one', 1), ('ws_2', 'two', 1)`)
		run(`INSERT INTO pages (id, workspace_id, slug, name, version, created_at, updated_at)
			VALUES ('page_1', 'ws_1', 'one', 'One', 1, 1, 1), ('page_2', 'ws_2', 'two', 'Two', 1, 1, 1)`)
		names := []string{
			"Job", "Job", "Job 2", "Job", "Zürich", "日本", "日本", strings.Repeat("x", 70), strings.Repeat("x", 70),
		}
		want := []string{
			"job", "job-2", "job-2-2", "job-3", "zurich", "monitor", "monitor-2", strings.Repeat("x", 63),
			strings.Repeat("x", 61) + "-2",
		}
		for n := 1; n <= 1200; n++ { // several statements
			names, want = append(names, "Bulk"), append(want, fmt.Sprintf("bulk-%d", n))
		}
		want[len(want)-1200] = "bulk"
		for _, workspace := range []string{"1", "2"} {
			for i, name := range names {
				run(`INSERT INTO monitors (id, workspace_id, page_id, name, token, interval_ms, enabled,
					failure_threshold, down_status, state, consecutive_failures, created_at, updated_at)
					VALUES ($1, $2, $3, $4, $1, 1000, TRUE, 0, 'major_outage', 'up', 0, $5, 1)`,
					fmt.Sprintf("mon_%s_%d", workspace, i), "ws_"+workspace, "page_"+workspace, name, i)
			}
		}
		if _, _, err := store.Migrate(t.Context(), dsn, nil); err != nil {
			t.Fatal(err)
		}
		for _, workspace := range []string{"ws_1", "ws_2"} {
			rows := must(db.Query(`SELECT slug FROM monitors WHERE workspace_id = $1 ORDER BY created_at`,
				workspace))(t)
			defer rows.Close()
			for i := 0; rows.Next(); i++ {
				var slug string
				if err := rows.Scan(&slug); err != nil {
					t.Fatal(err)
				}
				if slug != want[i] {
					t.Errorf("%s: monitor %d, %q, has the slug %q, want %q", workspace, i, names[i], slug, want[i])
				}
			}
		}
	})
}
