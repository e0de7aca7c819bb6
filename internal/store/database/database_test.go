package database_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
	"github.com/allswell/allswell/internal/store/storetest"
)

// schema has one table.
var schema = database.Schema{
	Files: fstest.MapFS{"migrations/0001_things.sql": {Data: []byte(`-- +goose Up
CREATE TABLE things (name TEXT PRIMARY KEY);
`)}},
	Tables: []string{"things"},
}

// eachEngine runs f with an open database of each engine.
func eachEngine(t *testing.T, f func(t *testing.T, db *database.DB, dsn string)) {
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		db, err := database.Open(t.Context(), dsn, schema, database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		f(t, db, dsn)
	})
}

func insert(ctx context.Context, db *database.DB, names ...string) error {
	_, err := database.Write(ctx, db, func(t *database.Tx) (struct{}, error) {
		for _, name := range names {
			if _, err := t.Exec(`INSERT INTO things (name) VALUES ($1)`, name); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

// names returns what is stored.
func names(t *testing.T, db *database.DB) []string {
	t.Helper()
	found, err := database.Write(t.Context(), db, func(x *database.Tx) ([]string, error) {
		return database.Query(&x.Session, database.ScanString,
			`SELECT name FROM things WHERE name IN EACH($1) ORDER BY name
				FOR UPDATE`, `["a","b","c"]`)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestWriteIsAllOrNothing commits one transaction, and fails one in its second statement.
func TestWriteIsAllOrNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database.DB, _ string) {
		if err := insert(t.Context(), db, "a", "b"); err != nil {
			t.Fatal(err)
		}
		err := insert(t.Context(), db, "c", "a")
		if !db.IsDuplicate(err) || errors.Is(err, kernel.ErrBusy) ||
			!strings.Contains(err.Error(), "INSERT INTO things") {
			t.Errorf("inserting a name twice: %v", err)
		}
		if got := names(t, db); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("stored: %v", got)
		}
		if time.Since(db.LastContact()) > time.Minute {
			t.Errorf("last contact: %v", db.LastContact())
		}
	})
}

// TestCancelledWriteIsBusy ends the context of a transaction before its commit.
func TestCancelledWriteIsBusy(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database.DB, _ string) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := database.Write(ctx, db, func(x *database.Tx) (int64, error) {
			defer cancel()
			return x.Exec(`INSERT INTO things (name) VALUES ('a')`)
		})
		if !errors.Is(err, kernel.ErrBusy) || errors.Is(err, kernel.ErrUnknownOutcome) {
			t.Errorf("error %v, want ErrBusy alone", err)
		}
		if got := names(t, db); len(got) != 0 {
			t.Errorf("stored: %v", got)
		}
	})
}

// TestOne finds one row and none.
func TestOne(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database.DB, _ string) {
		if err := insert(t.Context(), db, "a"); err != nil {
			t.Fatal(err)
		}
		find := func(name string) (string, error) {
			return database.Lookup(t.Context(), db, func(c *database.Session) (string, error) {
				return database.One(c, database.ScanString, `SELECT name FROM things WHERE name = $1`, name)
			})
		}
		if got, err := find("a"); got != "a" || err != nil {
			t.Errorf("a: %q, %v", got, err)
		}
		if _, err := find("b"); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("b: %v", err)
		}
	})
}

// TestMigrateOnce opens a database again, and one that a newer version has migrated.
func TestMigrateOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *database.DB, dsn string) {
		if err := insert(t.Context(), db, "a"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if from, to, err := database.Migrate(t.Context(), dsn, schema, nil); from != 1 || to != 1 || err != nil {
			t.Errorf("migrating again: %d to %d, %v", from, to, err)
		}
		newer := database.Schema{Files: fstest.MapFS{
			"migrations/0001_things.sql": schema.Files.(fstest.MapFS)["migrations/0001_things.sql"],
			"migrations/0002_more.sql":   {Data: []byte("-- +goose Up\nCREATE TABLE more (name TEXT);\n")},
		}}
		if from, to, err := database.Migrate(t.Context(), dsn, newer, nil); from != 1 || to != 2 || err != nil {
			t.Errorf("migrating to the next version: %d to %d, %v", from, to, err)
		}
		_, err := database.Open(t.Context(), dsn, schema, database.Options{})
		if err == nil || !strings.Contains(err.Error(), "use a newer allswell") {
			t.Errorf("opening a newer database: %v", err)
		}
	})
}
