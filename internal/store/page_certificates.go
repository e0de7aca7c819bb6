package store

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/store/database"
)

// CertificateFile is a file of package certificates. The replicas share them.
type CertificateFile struct {
	Path       string // components separated by "/"
	Content    []byte
	ModifiedAt time.Time
}

// SaveCertificateFile creates a file or replaces its content.
func (s *Store) SaveCertificateFile(ctx context.Context, path string, content []byte) error {
	return writeOnly(ctx, s, func(t *tx) error {
		_, err := t.Exec(`INSERT INTO certificate_files (path, content, modified_at) VALUES ($1, $2, $3)
			ON CONFLICT (path) DO UPDATE SET content = excluded.content, modified_at = excluded.modified_at`, path,
			content, millis(t.Now))
		return err
	})
}

// CertificateFile returns a file, or kernel.ErrNotFound.
func (s *Store) CertificateFile(ctx context.Context, path string) (CertificateFile, error) {
	return database.Lookup(ctx, s.db, func(c *database.Session) (CertificateFile, error) {
		return database.One(c, func(row database.Row) (f CertificateFile, err error) {
			err = row.Scan(&f.Path, &f.Content, instant{&f.ModifiedAt})
			return
		}, `SELECT path, content, modified_at FROM certificate_files WHERE path = $1`, path)
	})
}

// CertificatePaths returns the paths of the files below a folder, in no particular order. The folder "" has all files.
func (s *Store) CertificatePaths(ctx context.Context, folder string) ([]string, error) {
	return database.Lookup(ctx, s.db, func(c *database.Session) ([]string, error) {
		if folder == "" {
			return database.Query(c, database.ScanString, `SELECT path FROM certificate_files`)
		}
		folder += "/"
		return database.Query(c, database.ScanString,
			`SELECT path FROM certificate_files WHERE substr(path, 1, $2) = $1`, folder, utf8.RuneCountInString(folder))
	})
}

// DeleteCertificateFiles deletes the file with a path, or all files below the folder with the
// path. It returns nil if there is neither.
func (s *Store) DeleteCertificateFiles(ctx context.Context, path string) error {
	return writeOnly(ctx, s, func(t *tx) error {
		folder := path + "/"
		_, err := t.Exec(`DELETE FROM certificate_files WHERE path = $1 OR substr(path, 1, $3) = $2`, path, folder,
			utf8.RuneCountInString(folder))
		return err
	})
}

// LockCertificate takes the lock with a name for a holder, or renews its lease. It returns
// false, and changes nothing, while the lease of another holder lasts.
func (s *Store) LockCertificate(ctx context.Context, name, holder string, lease time.Duration) (bool, error) {
	n, err := write(ctx, s, func(t *tx) (int64, error) {
		return t.Exec(`INSERT INTO certificate_locks (name, holder, expires_at) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
			WHERE certificate_locks.holder = excluded.holder OR certificate_locks.expires_at <= $4`,
			name, holder, millis(t.Now.Add(lease)), millis(t.Now))
	})
	return n > 0, err
}

// UnlockCertificate releases the lock with a name, if the holder still has it.
func (s *Store) UnlockCertificate(ctx context.Context, name, holder string) error {
	return writeOnly(ctx, s, func(t *tx) error {
		_, err := t.Exec(`DELETE FROM certificate_locks WHERE name = $1 AND holder = $2`, name, holder)
		return err
	})
}
