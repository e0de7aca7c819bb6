package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestFilesArePrivate: nobody but the owner may read what the store writes, or
// lock what it locks.
func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system has no such permissions")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "allswell.db")
	// The lock file of an earlier version.
	if err := os.WriteFile(path+".lock", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	private := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]bool)
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			found[entry.Name()] = true
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %s", entry.Name(), info.Mode())
			}
		}
		for _, name := range want {
			if !found[name] {
				t.Errorf("%s is not there", name)
			}
		}
	}
	s, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	must(s.Bootstrap(t.Context(), "bootstrap-token-of-thirty-two-characters"))(t)
	private("allswell.db", "allswell.db-wal", "allswell.db-shm", "allswell.db.lock")
	if _, err := store.Open(t.Context(), "sqlite:"+path, store.Options{}); err == nil {
		t.Error("a second store opens what is locked")
	}
	backup := filepath.Join(dir, "backup.db")
	if err := store.Backup(t.Context(), "sqlite:"+path, backup, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Restore(t.Context(), "sqlite:"+path, backup, nil); err != nil {
		t.Fatal(err)
	}
	storetest.Open(t, "sqlite:"+path, store.Options{})
	private("allswell.db", "allswell.db.lock", "backup.db")
}
