package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/allswell/allswell/client"
)

func TestTail(t *testing.T) {
	for _, c := range []struct {
		limit int
		parts []string
		want  string
	}{
		{5, []string{"abc"}, "abc"},
		{5, []string{"abcde"}, "abcde"},
		{5, []string{"abcdef"}, "bcdef"},
		{5, []string{strings.Repeat("x", 100), "abcde"}, "abcde"},
		{5, strings.Split("a b c d e f g h i j k l m", " "), "ijklm"},
		{4, []string{"äöü"}, "öü"},
		{3, []string{"äöü"}, "ü"},
		{0, []string{"abc"}, ""},
	} {
		out := tail{limit: c.limit}
		for _, part := range c.parts {
			fmt.Fprint(&out, part)
		}
		if got := string(out.bytes()); got != c.want {
			t.Errorf("a tail of at most %d of %q: %q, want %q", c.limit, c.parts, got, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "500": 500, "500B": 500, "10kB": 10_000, "10k": 10_000, "100kB": 100_000,
	} {
		var got size
		if err := got.UnmarshalText([]byte(text)); err != nil || int(got) != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "kB", "-1", "101kB", "100001", "1.5kB", "1 kB", "99999999999999999999"} {
		if err := new(size).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestSpool adds entries from many runs concurrently, and sends them.
func TestSpool(t *testing.T) {
	s := spool{filepath.Join(t.TempDir(), "spool"), "nightly"}
	var adding sync.WaitGroup
	for i := range 20 {
		adding.Go(func() {
			err := s.add(entry{RunID: fmt.Sprint(i), Kind: client.SignalFail, Output: []byte("output\n")})
			if err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	sent := make(map[string]bool)
	lost, refused, _ := s.flush(func(e entry) error {
		switch {
		case len(sent) == 5:
			return errors.New("the server is down")
		case e.RunID == "7":
			return &client.Error{Status: 404} // the monitor is deleted
		}
		sent[e.RunID] = true
		s.add(entry{RunID: "new " + e.RunID, Kind: client.SignalFail}) // another run ends meanwhile
		return nil
	})
	if lost > 1 || (lost == 1) != (refused != nil) {
		t.Errorf("%d are lost, %v", lost, refused)
	}
	left := make(map[string]bool)
	entries, err := s.entries()
	for _, e := range entries {
		left[e.RunID] = true
		if sent[e.RunID] {
			t.Errorf("%s was sent, and is left", e.RunID)
		}
	}
	if err != nil || len(sent) != 5 || len(left) != len(entries) || len(entries) < 19 {
		t.Errorf("%d sent, %d left, %v", len(sent), len(entries), err)
	}
	if err := os.WriteFile(s.path, []byte("damaged\n{\"run_id\":\"1\"}\n{\"run"), 0o600); err != nil {
		t.Fatal(err)
	}
	if entries, err := s.entries(); err != nil || len(entries) != 1 {
		t.Errorf("of a damaged file: %v, %v", entries, err)
	}
	if err := s.add(entry{RunID: "2"}); err != nil {
		t.Error(err)
	}
	if entries, err := s.entries(); err != nil || len(entries) != 2 || entries[1].RunID != "2" {
		t.Errorf("after an entry that was not written to its end: %v, %v", entries, err)
	}
	if err := os.Truncate(s.path, maxSpool); err != nil {
		t.Fatal(err)
	}
	if err := s.add(entry{RunID: "x"}); err == nil {
		t.Error("a full spool grows")
	}
}

// TestSpoolOfTwoMonitors checks that a run reports only the ends of its own monitor's runs.
func TestSpoolOfTwoMonitors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	a, err := newTarget("https://status.example.com", "", "", "token-of-the-monitor-a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := newTarget("https://status.example.com/", "", "", "token-of-the-monitor-b")
	if err != nil {
		t.Fatal(err)
	}
	ofA, ofB := newReporter(a, path).spool, newReporter(b, path).spool
	for _, id := range []string{"1", "2"} {
		if err := ofA.add(entry{RunID: id, Kind: client.SignalFail}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ofB.add(entry{RunID: "3", Kind: client.SignalFail}); err != nil {
		t.Fatal(err)
	}
	sent := func(s spool) (ids string) {
		s.flush(func(e entry) error { ids += e.RunID; return nil })
		return ids
	}
	if got := [3]string{sent(ofB), sent(ofA), sent(ofA)}; got != [3]string{"3", "12", ""} {
		t.Errorf("sent: %q", got)
	}
	if saved, err := os.ReadFile(path); err != nil || len(saved) > 0 {
		t.Errorf("left: %s, %v", saved, err)
	}
}

// TestSignalEndsTheWaitForOutput checks that a signal ends the wait for the output of processes that outlive the
// command, and a closed standard output does not.
func TestSignalEndsTheWaitForOutput(t *testing.T) {
	var got tail
	got.limit = 100
	o, err := newOutput(&got)
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := syscall.Dup(int(o.write.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(orphan)
	o.copy()
	signals := make(chan os.Signal, 2)
	signals <- syscall.SIGPIPE
	signals <- syscall.SIGTERM
	awaitOutput(signals, o)
	if len(signals) > 0 {
		t.Error("the signals were not awaited")
	}
	<-o.ended // nothing is copied any more
}
