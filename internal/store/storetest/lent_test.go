package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/allswell/allswell/internal/store"
)

// openLent opens a database that was lent as a store does, and closes it when the test ends.
func openLent(t *testing.T, address string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(lend(t, address))
	t.Cleanup(func() { db.Close() })
	return db
}

// run runs statements.
func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
	}
}

// texts returns the rows of a query of one column.
func texts(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text.String)
	}
	return out
}

const allTables = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name`

// contents describes all rows of a database, and what its session has.
func contents(t *testing.T, db *sql.DB) string {
	t.Helper()
	var out strings.Builder
	for _, table := range texts(t, db, allTables) {
		fmt.Fprintln(&out, table, texts(t, db, `SELECT json_agg(t)::text FROM `+table+` t`))
	}
	fmt.Fprintln(&out,
		texts(t, db,
			`SELECT name || '=' || setting FROM pg_settings WHERE source IN ('session', 'client') ORDER BY name`))
	fmt.Fprintln(&out, texts(t, db, `SELECT pg_listening_channels()`),
		texts(t, db, `SELECT objid::text FROM pg_locks WHERE locktype = 'advisory'`),
		texts(t, db, `SELECT name FROM pg_cursors WHERE is_holdable`))
	return out.String()
}

// fillEveryTable returns statements that insert a row into every table.
func fillEveryTable(t *testing.T, db *sql.DB) []string {
	t.Helper()
	statements := []string{`SET session_replication_role = replica`} // without foreign keys
	for _, table := range texts(t, db, allTables) {
		if table == "goose_db_version" || table == "page_changes" { // which may have one row
			continue
		}
		statements = append(statements,
			texts(t, db, fmt.Sprintf(`SELECT format('INSERT INTO %%I (%%s) VALUES (%%s)', table_name,
				string_agg(quote_ident(column_name), ', '),
				string_agg(CASE data_type WHEN 'text' THEN '''7''' WHEN 'boolean' THEN 'TRUE' WHEN 'bytea' THEN '''7'''
				ELSE '7' END, ', '))
			FROM information_schema.columns WHERE table_schema = 'public' AND table_name = '%s'
			GROUP BY table_name`, table))...)
	}
	return statements
}

// TestLentDatabaseIsAsNew leaves rows in every table, and whatever else a session can leave, to the next test.
func TestLentDatabaseIsAsNew(t *testing.T) {
	var first, before string
	t.Run("leaves something", func(t *testing.T) {
		first = PostgreSQL(t)
		db := openLent(t, first)
		before = contents(t, db)
		run(t, db, fillEveryTable(t, db)...)
		run(t, db, `DELETE FROM mutexes WHERE name <> '7'`, `UPDATE page_changes SET changes = 5`, `LISTEN left_over`,
			`SET work_mem = '1MB'`,
			`SELECT pg_advisory_lock(7)`, `DECLARE left_over CURSOR WITH HOLD FOR SELECT 1`)
		after := contents(t, db)
		if strings.Contains(after, "[]") || strings.Count(after, "7") < 2*len(texts(t, db, allTables)) {
			t.Fatalf("it left nothing:\n%s", after)
		}
	})
	t.Run("finds nothing", func(t *testing.T) {
		second := PostgreSQL(t)
		db := openLent(t, second)
		if after := contents(t, db); second != first || after != before {
			t.Errorf("%s after %s:\n%s\nwant:\n%s", second, first, after, before)
		}
	})
}

// failed is a test that has failed.
type failed struct{ testing.TB }

func (failed) Failed() bool { return true }

// TestDatabaseThatCannotBeLentAgain checks that a database is dropped if more than its rows may have changed.
func TestDatabaseThatCannotBeLentAgain(t *testing.T) {
	statement := func(text string) func(*testing.T, string, *sql.DB) {
		return func(t *testing.T, _ string, db *sql.DB) { run(t, db, text) }
	}
	for name, leave := range map[string]func(t *testing.T, address string, db *sql.DB){
		"a table":       statement(`CREATE TABLE left_over (id BIGINT)`),
		"a column":      statement(`ALTER TABLE pages ADD COLUMN left_over BIGINT`),
		"a default":     statement(`ALTER TABLE pages ALTER COLUMN name SET DEFAULT 'x'`),
		"an option":     statement(`ALTER TABLE pages SET (fillfactor = 50)`),
		"no index":      statement(`DROP INDEX monitors_due`),
		"no constraint": statement(`ALTER TABLE mutexes DROP CONSTRAINT turns_pkey`),
		"a function":    statement(`CREATE FUNCTION left_over() RETURNS BIGINT LANGUAGE SQL AS 'SELECT 1'`),
		"a schema":      statement(`CREATE SCHEMA left_over`),
		"a setting": statement(
			`DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET work_mem = ''1MB'''; END $$`,
		),
		"statistics":      statement(`ANALYZE mutexes`),
		"another version": statement(`UPDATE goose_db_version SET is_applied = TRUE`),
		"many rows": statement(
			`INSERT INTO mutexes SELECT repeat('x', 100) || n FROM generate_series(1, 50000) n; DELETE FROM mutexes`,
		),
		"a session": func(t *testing.T, address string, _ *sql.DB) {
			if _, err := pgx.Connect(context.Background(), address); err != nil {
				t.Fatal(err)
			}
		},
		"a connection in use": func(t *testing.T, _ string, db *sql.DB) {
			if _, err := db.Conn(context.Background()); err != nil {
				t.Fatal(err)
			}
		},
		"no connections": func(_ *testing.T, address string, _ *sql.DB) { lent[address].connections.Retire() },
		"a failure": func(t *testing.T, address string, db *sql.DB) {
			run(t, db, `SELECT 1`)
			l := lent[address]
			t.Cleanup(func() { db.Close(); l.giveBack(failed{t}) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			var address string
			t.Run("leaves it", func(t *testing.T) {
				address = PostgreSQL(t)
				leave(t, address, openLent(t, address))
			})
			if conn, err := pgx.Connect(t.Context(), address); err == nil {
				conn.Close(t.Context())
				t.Error("the database was kept")
			}
		})
	}
}

// TestClosedStoreIsClosed: a store that a test has closed cannot write into the database of the next one.
func TestClosedStoreIsClosed(t *testing.T) {
	s := Open(t, PostgreSQL(t), store.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if now, err := s.Clock(t.Context()); err == nil {
		t.Errorf("the clock reads %v", now)
	}
}
