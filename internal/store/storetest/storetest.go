// Package storetest runs tests on a store of each engine.
package storetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
)

// Full is the environment variable that, set to 1, makes the short form of the tests the full one. .ci/run sets it.
const Full = "ALLSWELL_TEST_FULL"

var withoutPostgreSQL bool

// OneEngine makes Run, RunWith and Each leave PostgreSQL out in this test process, unless Full is set. It is for
// packages whose tests run statements with parameters that the tests of the store do not combine. It must be called
// before testing.M.Run.
func OneEngine() { withoutPostgreSQL = os.Getenv(Full) != "1" }

// OnlySQLite is OneEngine even if Full is set. It is for packages whose tests run only statements that the tests of the
// store also run on PostgreSQL. Their tests of several replicas still call PostgreSQL.
func OnlySQLite() { withoutPostgreSQL = true }

// Run runs f once per engine, each time on a fresh database with the default options.
func Run(t *testing.T, f func(t *testing.T, s *store.Store)) {
	RunWith(t, func(*testing.T) store.Options { return store.Options{} }, f)
}

// RunWith is Run with options, which it gets for each engine. Without SecretKeys, stores on PostgreSQL have one key, as
// stores on SQLite make one.
func RunWith(t *testing.T, options func(*testing.T) store.Options, f func(t *testing.T, s *store.Store)) {
	t.Helper()
	Each(t, func(t *testing.T, dsn string) {
		f(t, Open(t, dsn, WithKey(t, dsn, options(t))))
	})
}

// WithKey returns the options with a key of secrets, if they need one: stores on SQLite make theirs.
func WithKey(t testing.TB, dsn string, o store.Options) store.Options {
	t.Helper()
	if o.SecretKeys == nil && strings.HasPrefix(dsn, "postgres:") {
		keys, err := secret.New(strings.Repeat("k", secret.MinLength))
		if err != nil {
			t.Fatal(err)
		}
		o.SecretKeys = keys
	}
	return o
}

// Each runs f once per engine with the address of a fresh database, for tests
// that open it themselves. It has the current schema and no rows.
func Each(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	each(t, func(*testing.T) {}, f)
}

// EachParallel is Each in parallel with other tests. A test that waits for its turn has no database yet.
func EachParallel(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	each(t, (*testing.T).Parallel, f)
}

func each(t *testing.T, begin func(*testing.T), f func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		begin(t)
		f(t, SQLite(t))
	})
	if withoutPostgreSQL {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		begin(t)
		f(t, PostgreSQL(t))
	})
}

// EachEmpty is Each with databases that have no schema, for tests of migrations.
func EachEmpty(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, "sqlite:"+filepath.Join(TempDir(t), "allswell.db")) })
	t.Run("postgres", func(t *testing.T) { f(t, EmptyPostgreSQL(t)) })
}

// SQLite returns the address of a fresh SQLite file with the current schema.
func SQLite(t testing.TB) string {
	t.Helper()
	path := filepath.Join(TempDir(t), "allswell.db")
	if err := prepareFile(path); err != nil {
		t.Fatalf("creating a SQLite file: %v", err)
	}
	return "sqlite:" + path
}

// TempDir is t.TempDir in memory, if there is room. Benchmarks use t.TempDir.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(memoryFolder(), "allswell-sqlite-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Open opens a store and closes it at the end of the test. It creates a SQLite file that does not exist.
func Open(t testing.TB, dsn string, o store.Options) *store.Store {
	t.Helper()
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		if err := prepareFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatalf("creating a SQLite file: %v", err)
		}
	}
	o.Connections = lend(t, dsn)
	s, err := store.Open(context.Background(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Workspace creates an admin token in the workspace with the name, and the workspace if
// it does not exist. It returns the actor of requests with the token, and its secret.
func Workspace(t testing.TB, s *store.Store, name string) (actor kernel.Actor, secret string) {
	t.Helper()
	issued, err := s.IssueTokenFor(context.Background(), name, newAdminToken)
	if err != nil {
		t.Fatal(err)
	}
	return issued.Actor(""), issued.Secret
}

var newAdminToken = account.NewToken{Name: "test", Scope: kernel.ScopeAdmin}
