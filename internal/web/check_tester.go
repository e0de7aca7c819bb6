package web

import (
	"context"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/limit"
)

// Limits of checks that people run to test a configuration.
const (
	MaxTestTimeout     = 30 * time.Second // less than a response may take
	maxTestsPerMinute  = 30               // of a workspace, on each replica
	maxConcurrentTests = 8                // of each replica
)

// CheckTester runs checks of configurations that people try. All surfaces share it, and its limits.
type CheckTester struct {
	run   func(context.Context, allswell.MonitorType, allswell.CheckSpec) (allswell.CheckResult, error)
	now   func() time.Time
	rate  *limit.Limiter // by workspace
	slots chan struct{}
}

// NewCheckTester returns a CheckTester that checks with run, which gets the type and a valid check with its secrets. now is the clock of the limit; nil: time.Now.
func NewCheckTester(run func(context.Context, allswell.MonitorType, allswell.CheckSpec) (allswell.CheckResult, error), now func() time.Time) *CheckTester {
	if now == nil {
		now = time.Now
	}
	return &CheckTester{run, now, limit.New(maxTestsPerMinute, time.Minute), make(chan struct{}, maxConcurrentTests)}
}

// Test checks once, within the timeout of spec and MaxTestTimeout. A check that fails is a result. The error is a *TooMany above the limit
// of the workspace, and allswell.ErrBusy while too many tests run.
func (t *CheckTester) Test(ctx context.Context, workspaceID string, kind allswell.MonitorType, spec allswell.CheckSpec) (allswell.CheckResult, error) {
	now := t.now()
	if v := t.rate.Take(workspaceID, now); !v.Allowed {
		return allswell.CheckResult{}, &TooMany{Now: now, Reset: v.Reset, Limit: v.Limit}
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	default:
		return allswell.CheckResult{}, allswell.ErrBusy
	}
	spec = spec.WithDefaults(allswell.DefaultCheckInterval)
	spec.Timeout = min(spec.Timeout, MaxTestTimeout)
	return t.run(ctx, kind, spec)
}
