package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

func TestCertificateFiles(t *testing.T) {
	inWorlds(t, func(w *world) {
		for _, path := range []string{"a/b/c", "a/b/d", "a/bc", "a/b", "é/x"} {
			if err := w.SaveCertificateFile(w.ctx, path, []byte("old")); err != nil {
				w.Fatal(err)
			}
		}
		before := must(w.CertificateFile(w.ctx, "a/b/c"))(w)
		w.clock.move(time.Minute)
		if err := w.SaveCertificateFile(w.ctx, "a/b/c", []byte("new\x00")); err != nil {
			w.Fatal(err)
		}
		f := must(w.CertificateFile(w.ctx, "a/b/c"))(w)
		if string(f.Content) != "new\x00" || f.ModifiedAt.Sub(before.ModifiedAt) < time.Minute {
			w.Errorf("%+v, before %+v", f, before)
		}
		for folder, want := range map[string][]string{
			"": {"a/b", "a/b/c", "a/b/d", "a/bc", "é/x"}, "a": {"a/b", "a/b/c", "a/b/d", "a/bc"},
			"a/b": {"a/b/c", "a/b/d"}, "é": {"é/x"}, "b": nil,
		} {
			got := must(w.CertificatePaths(w.ctx, folder))(w)
			if slices.Sort(got); !slices.Equal(got, want) {
				w.Errorf("below %q: %q, want %q", folder, got, want)
			}
		}
		for _, path := range []string{"a/b", "a/b", "nothing"} {
			if err := w.DeleteCertificateFiles(w.ctx, path); err != nil {
				w.Errorf("deleting %s: %v", path, err)
			}
		}
		if got := must(w.CertificatePaths(w.ctx, "a"))(w); !slices.Equal(got, []string{"a/bc"}) {
			w.Errorf("left: %q", got)
		}
		if _, err := w.CertificateFile(w.ctx, "a/b/c"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a deleted file: %v", err)
		}
	})
}

func TestCertificateLocks(t *testing.T) {
	inWorlds(t, func(w *world) {
		lock := func(holder string, want bool) {
			w.Helper()
			if got := must(w.LockCertificate(w.ctx, "x", holder, time.Minute))(w); got != want {
				w.Errorf("%s takes the lock: %v, want %v", holder, got, want)
			}
		}
		lock("a", true)
		lock("b", false)
		w.clock.move(40 * time.Second)
		lock("a", true) // renewed
		w.clock.move(40 * time.Second)
		lock("b", false)
		if err := w.UnlockCertificate(w.ctx, "x", "b"); err != nil {
			w.Error(err)
		}
		lock("b", false)
		w.clock.move(time.Minute)
		lock("b", true) // the lease is over
		lock("a", false)
		if err := w.UnlockCertificate(w.ctx, "x", "b"); err != nil {
			w.Error(err)
		}
		lock("a", true)
	})
}
