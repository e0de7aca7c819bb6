package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/allswell/allswell/internal/store"
)

// Running the migrations takes longer than most tests, so they run once for each process
// and engine, and tests get copies of the result.

// preparedFile returns the content of a SQLite file with the current schema.
var preparedFile = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "allswell-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "prepared.db")
	if _, _, err := store.Migrate(context.Background(), "sqlite:"+path, nil); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// prepareFile creates a SQLite file with the current schema. The error is fs.ErrExist if the file exists.
func prepareFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	content, err := preparedFile()
	if err == nil {
		_, err = f.Write(content)
	}
	return errors.Join(err, f.Close())
}

// preparedDatabase creates a database with the current schema in the shared cluster and describes it.
var preparedDatabase = sync.OnceValues(func() (pristine, error) {
	const name = "prepared"
	if err := sharedCluster.create(name, "template0"); err != nil {
		return pristine{}, err
	}
	if _, _, err := store.Migrate(context.Background(), sharedCluster.Address(name), nil); err != nil {
		return pristine{}, err
	}
	return inspect(context.Background(), name)
})
