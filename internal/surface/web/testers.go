package web

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/limit"
)

// Limits of tests of a configuration. Tests of checks and tests of channels are counted separately.
const (
	MaxTestTimeout     = 30 * time.Second // less than a response may take
	maxTestsPerMinute  = 30               // of a workspace, on each replica
	maxConcurrentTests = 32               // of each replica; a workspace gets at most maxWorkspaceTests
	maxWorkspaceTests  = 8
)

// testLimits limit tests.
type testLimits struct {
	now  func() time.Time
	rate *limit.Limiter // by workspace
	pool *fair.Pool
}

// newTestLimits returns the limits. now is their clock; nil: time.Now.
func newTestLimits(now func() time.Time) testLimits {
	if now == nil {
		now = time.Now
	}
	return testLimits{now, limit.New(maxTestsPerMinute, time.Minute), fair.NewPool(maxConcurrentTests, 0)}
}

// begin begins a test, which lasts until end is called. The error is a *TooMany above the limit of the workspace, and
// kernel.ErrBusy while too many tests run.
func (l testLimits) begin(workspaceID string) (end func(), err error) {
	now := l.now()
	if v := l.rate.Take(workspaceID, now); !v.Allowed {
		return nil, &TooMany{Now: now, Reset: v.Reset, Limit: v.Limit}
	}
	end, ok := l.pool.TryAcquire(fair.Workspace(workspaceID).AtMost(maxWorkspaceTests))
	if !ok {
		return nil, kernel.ErrBusy
	}
	return end, nil
}

// CheckTester runs checks of configurations that are not saved yet. All surfaces share one CheckTester, and its limits.
type CheckTester struct {
	run func(
		ctx context.Context, workspaceID string, kind monitor.MonitorType, spec monitor.CheckSpec,
	) (monitor.CheckResult, error)
	limits testLimits
}

// NewCheckTester returns a CheckTester that checks with run, which gets the workspace, the type and a valid check with
// its secrets. now is the clock of the limit; nil: time.Now.
func NewCheckTester(
	run func(
		ctx context.Context, workspaceID string, kind monitor.MonitorType, spec monitor.CheckSpec,
	) (monitor.CheckResult, error),
	now func() time.Time,
) *CheckTester {
	return &CheckTester{run, newTestLimits(now)}
}

// Test checks once, with at most the timeout of spec and MaxTestTimeout. A failed check is a result, not an error. The
// error is a *TooMany above the limit of the workspace, and kernel.ErrBusy while too many tests run.
func (t *CheckTester) Test(
	ctx context.Context, workspaceID string, kind monitor.MonitorType, spec monitor.CheckSpec,
) (monitor.CheckResult, error) {
	end, err := t.limits.begin(workspaceID)
	if err != nil {
		return monitor.CheckResult{}, err
	}
	defer end()
	spec = spec.WithDefaults(monitor.DefaultCheckInterval)
	spec.Timeout = min(spec.Timeout, MaxTestTimeout)
	return t.run(ctx, workspaceID, kind, spec)
}

// ChannelTester sends test messages to alert channels that are not saved yet. All surfaces share one ChannelTester, and
// its limits.
type ChannelTester struct {
	send   func(ctx context.Context, c alert.Channel, by string) audience.SendOutcome
	limits testLimits
}

// NewChannelTester returns a ChannelTester that sends with send. send gets a valid channel with its secrets, and the
// name of the person who requested the test. now is the clock of the limit; nil: time.Now.
func NewChannelTester(
	send func(ctx context.Context, c alert.Channel, by string) audience.SendOutcome, now func() time.Time,
) *ChannelTester {
	return &ChannelTester{send, newTestLimits(now)}
}

// Test sends one message, within MaxTestTimeout. A rejected message is a result, not an error. The error is a *TooMany
// above the limit of the workspace, and kernel.ErrBusy while too many tests run.
func (t *ChannelTester) Test(ctx context.Context, actor kernel.Actor, c alert.Channel) (audience.SendOutcome, error) {
	end, err := t.limits.begin(actor.WorkspaceID)
	if err != nil {
		return audience.SendOutcome{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, MaxTestTimeout)
	defer cancel()
	return t.send(ctx, c, actor.Name), nil
}
