package storetest

import (
	"context"
	"testing"

	"github.com/allswell/allswell/internal/store"
)

// TestPreparedDatabasesNeedNoMigration checks that databases of Each have the current
// schema.
func TestPreparedDatabasesNeedNoMigration(t *testing.T) {
	t.Parallel()
	migrate := func(t *testing.T, dsn string) (from, to int64) {
		t.Helper()
		from, to, err := store.Migrate(context.Background(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		return from, to
	}
	Each(t, func(t *testing.T, dsn string) {
		if from, to := migrate(t, dsn); from != to || to == 0 {
			t.Errorf("Each gives version %d of %d", from, to)
		}
	})
	EachEmpty(t, func(t *testing.T, dsn string) {
		if from, to := migrate(t, dsn); from != 0 || to == 0 {
			t.Errorf("EachEmpty gives version %d of %d", from, to)
		}
	})
}
