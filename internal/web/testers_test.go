package web

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// TestTestsAreShared checks that tests of one workspace, and of several, leave places to another one.
func TestTestsAreShared(t *testing.T) {
	now := time.Now()
	l := newTestLimits(func() time.Time { return now })
	begin := func(workspace string) (n int) {
		for range 2 * maxConcurrentTests {
			now = now.Add(time.Minute) // past the limit of the rate
			if _, err := l.begin(workspace); errors.Is(err, allswell.ErrBusy) {
				return n
			} else if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	for i := range 3 {
		if n := begin(fmt.Sprint(i)); n != maxWorkspaceTests && i < 2 {
			t.Errorf("workspace %d runs %d tests", i, n)
		}
	}
	if _, err := l.begin("another"); err != nil {
		t.Errorf("another workspace: %v", err)
	}
	end, err := l.begin("yet another")
	if err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := l.begin("yet another"); err != nil {
		t.Errorf("after a test has ended: %v", err)
	}
}
