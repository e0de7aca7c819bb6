package web

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// TestTestsEndBeforeTheirResponse runs tests of checks with every kind of timeout: a response may not take longer.
func TestTestsEndBeforeTheirResponse(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, MaxTestTimeout: MaxTestTimeout, MaxTestTimeout + time.Second: MaxTestTimeout,
		monitor.MaxCheckTimeout: MaxTestTimeout,
	} {
		var got time.Duration
		tester := NewCheckTester(func(
			_ context.Context, _ string, _ monitor.MonitorType, spec monitor.CheckSpec,
		) (monitor.CheckResult, error) {
			got = spec.Timeout
			return monitor.CheckResult{}, nil
		}, nil)
		_, err := tester.Test(t.Context(), "w", "http", monitor.CheckSpec{Timeout: timeout})
		if err != nil || got != want {
			t.Errorf("a check with a timeout of %v is tested for %v, %v", timeout, got, err)
		}
	}
}

// TestTestsAreShared checks that tests of one workspace, and of several, leave places to another one.
func TestTestsAreShared(t *testing.T) {
	now := time.Now()
	l := newTestLimits(func() time.Time { return now })
	begin := func(workspace string) (n int) {
		for range 2 * maxConcurrentTests {
			now = now.Add(time.Minute) // past the limit of the rate
			if _, err := l.begin(workspace); errors.Is(err, kernel.ErrBusy) {
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
