package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allswell/allswell/client"
)

// TestSizeOfSpool checks that no entry makes the spool larger than its limit, and that what is removed leaves nothing.
func TestSizeOfSpool(t *testing.T) {
	s := spool{filepath.Join(t.TempDir(), "spool"), "nightly"}
	if err := os.WriteFile(s.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(s.path, maxSpool-10); err != nil {
		t.Fatal(err)
	}
	if err := s.add(entry{RunID: "x"}); err == nil {
		t.Error("an entry makes the spool too large")
	}
	if info, err := os.Stat(s.path); err != nil || info.Size() != maxSpool-10 {
		t.Errorf("the full spool: %v, %v", info, err)
	}
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2", "3"} {
		if err := s.add(entry{RunID: id}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.remove(map[string]bool{"1": true, "3": true}); err != nil {
		t.Fatal(err)
	}
	entries, err := s.entries()
	after, statErr := os.Stat(s.path)
	if err != nil || statErr != nil || len(entries) != 1 || entries[0].RunID != "2" || 3*after.Size() != before.Size() {
		t.Errorf("%+v, %v: %d bytes of %d, %v", entries, err, after.Size(), before.Size(), statErr)
	}
}

// TestWarningsHideTheToken checks every text about the spool for the ping token.
func TestWarningsHideTheToken(t *testing.T) {
	const token = "0123456789abcdef"
	refused := &client.Error{Status: 404, Message: "https://allswell.example.com/ping/" + token + " is refused"}
	for _, lost := range []int{0, 2} {
		r := newReporter(&target{token: token}, "")
		r.lost, r.refused = lost, refused
		close(r.begun)
		text := r.warning()
		if !strings.Contains(text, "spool") || !strings.Contains(text, "is refused") || strings.Contains(text, token) {
			t.Errorf("%d are lost: %q", lost, text)
		}
	}
	masked := (&target{token: token}).masked(errors.Join(refused, refused))
	if text := masked.Error(); strings.Contains(text, token) {
		t.Errorf("the warning has the token: %q", text)
	}
}

// TestMemoryOfTail checks that much output takes little memory.
func TestMemoryOfTail(t *testing.T) {
	out := tail{limit: 1000}
	for range 10_000 {
		out.Write([]byte(strings.Repeat("a", 100)))
		if len(out.kept) > 2*out.limit {
			t.Fatalf("%d bytes are kept for a limit of %d", len(out.kept), out.limit)
		}
	}
}
