package certificates

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/caddyserver/certmagic"
)

const (
	// lease is how long a lock lasts if the process that holds it ends without releasing it.
	lease = 30 * time.Second

	// lockInterval is how often a replica tries to take a lock that another one holds.
	lockInterval = time.Second
)

// storage is a certmagic.Storage in the database, which all replicas share.
type storage struct {
	store  *store.Store
	log    *slog.Logger
	closed context.Context // ends when locks are no longer to be renewed

	mu   sync.Mutex
	held map[string]*heldLock // by name
}

// String is what a logger prints. Without it, the logger would read fields that other goroutines are changing.
func (*storage) String() string { return "database" }

// heldLock is a lock of this process.
type heldLock struct {
	holder  string
	release func() // ends its renewal, and waits for one in progress, which would take the lock again
}

var _ certmagic.Storage = (*storage)(nil)

// Store implements certmagic.Storage.
func (s *storage) Store(ctx context.Context, key string, value []byte) error {
	return s.store.SaveCertificateFile(ctx, key, value)
}

// Load implements certmagic.Storage.
func (s *storage) Load(ctx context.Context, key string) ([]byte, error) {
	f, err := s.store.CertificateFile(ctx, key)
	return f.Content, notExist(err)
}

// notExist returns the error that certmagic expects.
func notExist(err error) error {
	if errors.Is(err, kernel.ErrNotFound) {
		return fs.ErrNotExist
	}
	return err
}

// Delete implements certmagic.Storage.
func (s *storage) Delete(ctx context.Context, key string) error {
	return s.store.DeleteCertificateFiles(ctx, key)
}

// Exists implements certmagic.Storage.
func (s *storage) Exists(ctx context.Context, key string) bool {
	_, err := s.Stat(ctx, key)
	return err == nil
}

// List implements certmagic.Storage.
func (s *storage) List(ctx context.Context, folder string, recursive bool) ([]string, error) {
	folder = strings.Trim(folder, "/")
	paths, err := s.store.CertificatePaths(ctx, folder)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fs.ErrNotExist
	}
	if !recursive {
		prefix := ""
		if folder != "" {
			prefix = folder + "/"
		}
		for i, path := range paths {
			name, _, _ := strings.Cut(path[len(prefix):], "/")
			paths[i] = prefix + name
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Stat implements certmagic.Storage.
func (s *storage) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	f, err := s.store.CertificateFile(ctx, key)
	if err == nil {
		return certmagic.KeyInfo{Key: key, Modified: f.ModifiedAt, Size: int64(len(f.Content)), IsTerminal: true}, nil
	}
	if !errors.Is(err, kernel.ErrNotFound) {
		return certmagic.KeyInfo{}, err
	}
	paths, err := s.store.CertificatePaths(ctx, key)
	if err == nil && len(paths) == 0 {
		err = fs.ErrNotExist
	}
	return certmagic.KeyInfo{Key: key}, err
}

// Lock implements certmagic.Storage. While the database is unavailable it waits.
func (s *storage) Lock(ctx context.Context, name string) error {
	holder := rand.Text()
	for {
		locked, err := s.store.LockCertificate(ctx, name, holder, lease)
		if locked && ctx.Err() == nil {
			break
		}
		if err != nil && !errors.Is(err, kernel.ErrBusy) && !errors.Is(err, kernel.ErrUnknownOutcome) ||
			ctx.Err() != nil {
			s.giveUp(ctx, name, holder)
			return cmp.Or(ctx.Err(), err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lockInterval):
		}
	}
	renewal, stop := context.WithCancel(s.closed)
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(renewal, name, holder) })
	s.mu.Lock()
	s.held[name] = &heldLock{holder, func() { stop(); renewing.Wait() }}
	s.mu.Unlock()
	return nil
}

// giveUp releases a lock that may have been taken although LockCertificate failed, because ctx ended meanwhile.
func (s *storage) giveUp(ctx context.Context, name, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockInterval)
	defer cancel()
	if err := s.store.UnlockCertificate(ctx, name, holder); err != nil {
		s.log.Debug("releasing the lock of a certificate failed", "lock", name, "error", err)
	}
}

// renew renews the lease of a lock until ctx ends.
func (s *storage) renew(ctx context.Context, name, holder string) {
	ticker := time.NewTicker(lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		locked, err := s.store.LockCertificate(ctx, name, holder, lease)
		if ctx.Err() == nil && (err != nil || !locked) {
			s.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "renewing the lock of a certificate failed", "lock",
				name, "error", err)
		}
	}
}

// Unlock implements certmagic.Storage.
func (s *storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	lock := s.held[name]
	delete(s.held, name)
	s.mu.Unlock()
	if lock == nil {
		return nil
	}
	lock.release()
	return s.store.UnlockCertificate(ctx, name, lock.holder)
}
