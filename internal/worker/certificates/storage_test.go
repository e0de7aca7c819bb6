package certificates

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// newStorage returns the storage of a replica.
func newStorage(t *testing.T, s *store.Store) *storage {
	return &storage{store: s, log: slog.New(slog.DiscardHandler), closed: t.Context(), held: make(map[string]*heldLock)}
}

// TestStorage checks what certmagic finds in the storage, by files and by folders.
func TestStorage(t *testing.T) {
	t.Parallel()
	s := newStorage(t, storetest.Open(t, storetest.SQLite(t), store.Options{}))
	ctx := t.Context()
	for _, key := range []string{"a/one/x.crt", "a/one/x.key", "a/two/x.crt", "a/x.json", "ab/x.json", "failures/x"} {
		if err := s.Store(ctx, key, []byte("of "+key)); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]struct{ exists, file bool }{
		"a/one/x.crt": {true, true}, "a/one": {true, false}, "a": {true, false}, "a/x.json": {true, true}, "a/x": {},
		"a/on": {}, "b": {}, "x.json": {},
	} {
		info, err := s.Stat(ctx, key)
		if (err == nil) != want.exists || err != nil && !errors.Is(err, fs.ErrNotExist) ||
			s.Exists(ctx, key) != want.exists || info.Key != key && err == nil ||
			info.IsTerminal != want.file || (info.Size > 0) != want.file ||
			want.file && (info.Size != int64(len("of "+key)) || info.Modified.IsZero()) {
			t.Errorf("%s: %+v, %v", key, info, err)
		}
		content, err := s.Load(ctx, key)
		if want.file && string(content) != "of "+key || (err == nil) != want.file ||
			err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has %q, %v", key, content, err)
		}
	}
	for folder, want := range map[string][2]string{ // recursive or not
		"":      {"a/one/x.crt a/one/x.key a/two/x.crt a/x.json ab/x.json failures/x", "a ab failures"},
		"a":     {"a/one/x.crt a/one/x.key a/two/x.crt a/x.json", "a/one a/two a/x.json"},
		"/a/":   {"a/one/x.crt a/one/x.key a/two/x.crt a/x.json", "a/one a/two a/x.json"},
		"a/one": {"a/one/x.crt a/one/x.key", "a/one/x.crt a/one/x.key"}, "b": {}, "a/x": {},
	} {
		for i, recursive := range []bool{true, false} {
			paths, err := s.List(ctx, folder, recursive)
			if strings.Join(paths, " ") != want[i] || (want[i] == "") != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q, recursive %v: %q, %v", folder, recursive, paths, err)
			}
		}
	}
	if err := s.Delete(ctx, "a/one"); err != nil {
		t.Fatal(err)
	}
	paths, err := s.List(ctx, "", true)
	if err != nil || !slices.Equal(paths, []string{"a/two/x.crt", "a/x.json", "ab/x.json", "failures/x"}) {
		t.Errorf("after deleting a/one: %q, %v", paths, err)
	}
}

// TestLocksOfReplicas checks that one replica at a time holds a lock, also in one process, and that one that gives up
// holds none.
func TestLocksOfReplicas(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.SQLite(t), store.Options{})
	a, b := newStorage(t, db), newStorage(t, db)
	tries := func(s *storage, name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return s.Lock(ctx, name)
	}
	works := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	works(a.Lock(t.Context(), "x"))
	for name, s := range map[string]*storage{"the same replica": a, "another replica": b} {
		if err := tries(s, "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s takes the lock: %v", name, err)
		}
	}
	works(b.Lock(t.Context(), "y")) // another lock
	works(b.Unlock(t.Context(), "x"))
	if err := tries(b, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a replica released the lock of another one: %v", err)
	}
	works(a.Unlock(t.Context(), "x"))
	works(a.Unlock(t.Context(), "x"))
	works(b.Lock(t.Context(), "x"))
	works(b.Unlock(t.Context(), "x"))
	works(b.Unlock(t.Context(), "y"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Lock(ended, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock after the end: %v", err)
	}
	works(b.Lock(t.Context(), "x"))
	works(b.Unlock(t.Context(), "x"))
}

// parent is a context that counts the contexts below it that have not ended.
type parent struct {
	context.Context
	below *atomic.Int64
}

// Done returns another channel than Context, so that the contexts below are not registered there.
func (parent) Done() <-chan struct{} { return make(chan struct{}) }

// AfterFunc is called for each context that begins, and what it returns when that one ends.
func (p parent) AfterFunc(func()) (stop func() bool) {
	p.below.Add(1)
	return func() bool {
		p.below.Add(-1)
		return true
	}
}

// TestRenewals checks that the lease of each lock that is held is renewed, and of no other: what is released is free
// for all replicas.
func TestRenewals(t *testing.T) {
	t.Parallel()
	var renewed atomic.Int64
	s := newStorage(t, storetest.Open(t, storetest.SQLite(t), store.Options{}))
	s.closed = parent{t.Context(), &renewed}
	expect := func(step string, err error, want int64) {
		t.Helper()
		if n := renewed.Load(); err != nil || n != want {
			t.Fatalf("%s: %d locks are renewed, expected %d; %v", step, n, want, err)
		}
	}
	expect("at first", nil, 0)
	expect("x is locked", s.Lock(t.Context(), "x"), 1)
	expect("y is locked", s.Lock(t.Context(), "y"), 2)
	expect("x is released", s.Unlock(t.Context(), "x"), 1)
	expect("x is released again", s.Unlock(t.Context(), "x"), 1)
	expect("z was not locked", s.Unlock(t.Context(), "z"), 1)
	expect("x is locked again", s.Lock(t.Context(), "x"), 2)
	expect("y is released", s.Unlock(t.Context(), "y"), 1)
	expect("x is released at last", s.Unlock(t.Context(), "x"), 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Lock(ended, "x"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	expect("a lock that was given up", nil, 0)
}

// TestWhoseOrdersPause checks which names get a certificate, and that a failed order of one delays no other.
func TestWhoseOrdersPause(t *testing.T) {
	t.Parallel()
	m := NewManager(ManagerConfig{
		Store: storetest.Open(t, storetest.SQLite(t), store.Options{}), Host: "base.example",
		Logger: slog.New(slog.DiscardHandler),
		Owner:  func(_ context.Context, name string) (string, bool) { return "ws_1", strings.HasSuffix(name, ".test") },
	})
	defer m.cache.Stop()
	for name, want := range map[string]bool{
		"base.example": true, "a.test": true, "www.base.example": false, "": false, "other.example": false,
	} {
		if got := m.decide(t.Context(), name) == nil; got != want || m.serves(t.Context(), name) != want {
			t.Errorf("%q gets a certificate: %v", name, got)
		}
	}
	order := func(name, event string) error {
		return m.observeOnDemand(t.Context(), event, map[string]any{"identifier": name})
	}
	if err := order("a.test", "cert_failed"); err != nil {
		t.Error(err)
	}
	for name, pauses := range map[string]bool{"a.test": true, "b.test": false} {
		if err := order(name, "cert_obtaining"); (err != nil) != pauses {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := order("a.test", "cert_obtained"); err != nil {
		t.Error(err)
	}
	if err := order("a.test", "cert_obtaining"); err != nil {
		t.Errorf("after a success: %v", err)
	}
}

// TestStorageInLogs checks that a log of the storage reads none of its fields, which others change meanwhile.
func TestStorageInLogs(t *testing.T) {
	var log strings.Builder
	newLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))).With(zap.Any("storage",
		&storage{})).Debug("cleaning")
	if !strings.Contains(log.String(), "storage=database") {
		t.Errorf("logged %q", log.String())
	}
}
