// Package checker runs the checks that are due. It claims them from the store, runs them with bounded concurrency,
// distinguishes failures of targets from failures of this replica's own network, and records the results in batches.
package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/failurelog"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
)

// Limits of the checker.
const (
	MaxConcurrency     = 10_000
	DefaultConcurrency = 200
	claimInterval      = 250 * time.Millisecond // between claims; each is a transaction
	fullClaimInterval  = 50 * time.Millisecond  // after a check has ended while due checks wait for a place
	claimLimit         = 200                    // checks of a claim
	cutOffClaimLimit   = 1                      // that run at a time while other replicas are likely to reach more
	idleInterval       = time.Second            // between queries while no check is due
	emptyInterval      = 3 * time.Second        // between queries while there are no checks
	surroundingsAge    = 15 * time.Second       // after which the surroundings are read again
	drainTimeout       = 500 * time.Millisecond // after which a stop cancels the checks that still run
)

// Config configures a Checker.
type Config struct {
	Store       *store.Store
	Replica     string // as in its liveness records
	Location    string // "": not set
	Concurrency int    // 0: DefaultConcurrency
	Canaries    []check.Target
	Private     PrivateMode
	Self        bool             // checks may reach this process
	Listeners   []netip.AddrPort // on which this process listens
	Resolver    *net.Resolver    // nil: the system's
	Hello       string           // the name of this machine in EHLO; "": its address
	Logger      *slog.Logger

	// Observe is called for each result, with how late its check began; nil: it is not.
	Observe func(status monitor.CheckStatus, late time.Duration)

	// ObserveDropped is called with the number of results that could not be saved; nil: it is not.
	ObserveDropped func(results int)
}

// Checker runs checks. It is safe for concurrent use.
type Checker struct {
	Config
	first    *check.Network // as the first workspace may use it
	others   *check.Network // as all others may
	verdicts *verdicts
	claims   failurelog.Log
	records  failurelog.Log
	results  chan monitor.CheckResult // that wait to be saved; it has a place for each check that is claimed

	mu          sync.Mutex
	offset      time.Duration // of the database's clock from this host's
	firstID     string        // of the first workspace; "": not known
	isOnlyFirst bool          // there is no other workspace
}

// New returns a Checker. It is idle until Run is called.
func New(c Config) *Checker {
	c.Concurrency = min(max(cmp.Or(c.Concurrency, DefaultConcurrency), 1), MaxConcurrency)
	first, others := newGuards(c)
	n := &check.Network{Rules: first.rules(), Resolver: c.Resolver, Hello: c.Hello}
	return &Checker{
		Config: c, first: n, others: n.With(others.rules()),
		results: make(chan monitor.CheckResult, maxResults+c.Concurrency),
		verdicts: &verdicts{
			canaries: c.Canaries, trusted: &check.Network{Resolver: c.Resolver}, reachability: newReachability(),
		},
		claims: failurelog.Log{
			Logger: c.Logger, Failing: "due checks cannot be read", Working: "due checks are read again",
		},
		records: failurelog.Log{
			Logger: c.Logger, Failing: "results of checks cannot be saved",
			Working: "results of checks are saved again",
		},
	}
}

// Run runs checks until ctx ends. When ctx has ended, checks have drainTimeout to end. It returns when their results
// are saved, or when an attempt to save the last batch has failed, which takes at most recordTimeout.
func (c *Checker) Run(ctx context.Context) {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r := &recorder{checker: c}
	var recording sync.WaitGroup
	recording.Go(func() { r.run(work) })
	d := newDispatcher(c, work)
	d.run(ctx)
	d.drain(stop)
	stop() // so that each batch is tried only once
	close(c.results)
	recording.Wait()
}

// Waiting returns how many results wait to be saved.
func (c *Checker) Waiting() int { return len(c.results) }

// networkOf returns the network as the checks of a workspace may use it.
func (c *Checker) networkOf(workspaceID string) *check.Network {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.firstID != "" && workspaceID == c.firstID {
		return c.first
	}
	return c.others
}

// isAlone reports whether there is only one workspace.
func (c *Checker) isAlone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isOnlyFirst
}

// refresh reads the clock of the database, and which workspaces and replicas there are.
func (c *Checker) refresh(ctx context.Context) error {
	x, err := c.Store.CheckEnvironment(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.offset, c.firstID, c.isOnlyFirst = time.Until(x.Clock), x.FirstWorkspace, x.SingleWorkspace
	c.mu.Unlock()
	c.verdicts.setSingle(x.SingleReplica)
	return nil
}

// now returns the time by the database's clock.
func (c *Checker) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// probeOf returns the probe of a check, or the reason why the check cannot run.
func probeOf(claimed store.ClaimedCheck) (p check.Probe, reason string) {
	if claimed.SecretsMissing {
		return nil, "the secrets of the check cannot be opened"
	}
	t, ok := check.TypeOf(claimed.Type)
	if !ok {
		return nil, "this version does not know the type " + string(claimed.Type)
	}
	p, err := t.Probe(claimed.Spec.Config, claimed.Spec.Secrets)
	if err != nil {
		return nil, notValid(err)
	}
	return p, ""
}

// maxNotValid is the maximum length of notValid in bytes.
const maxNotValid = 300

// notValid returns the reason why a check whose configuration is not valid any more cannot run.
func notValid(err error) string {
	reason := "the configuration of the check is not valid for this version: " + strings.TrimSuffix(err.Error(), ".")
	if len(reason) > maxNotValid {
		reason = strings.ToValidUTF8(reason[:maxNotValid], "") + "…"
	}
	return reason
}

// check runs a claimed check and returns its result. A failure is unknown if this replica's own network may have caused
// it.
func (c *Checker) check(ctx context.Context, claimed store.ClaimedCheck, p check.Probe) monitor.CheckResult {
	began, started := time.Now(), c.now()
	network := c.networkOf(claimed.WorkspaceID)
	o := c.probe(ctx, network, p, claimed.Spec.Timeout, fair.Workspace(claimed.WorkspaceID))
	answered := o.Answered && !o.Unknown
	if !o.Unknown && !o.NotAsked {
		c.verdicts.note(reachable{p.Target(), network, claimed.WorkspaceID}, answered, claimed.Interval)
	}
	if o.Failure != "" && !answered && !o.Unknown && !c.verdicts.counts(ctx, p.Target(), began, claimed.Interval) {
		o.Unknown = true
		o.Failure += "; this location could not reach other hosts, either"
	}
	r := resultOf(o, claimed.Spec)
	r.MonitorID, r.Version, r.DueAt, r.StartedAt = claimed.MonitorID, claimed.Version, claimed.DueAt, started
	r.Replica, r.Location = c.Replica, c.Location
	return r
}

// probe runs a probe. A panic is a bug of this program and not a failure of the target, so the outcome is then unknown.
func (c *Checker) probe(
	ctx context.Context, n *check.Network, p check.Probe, timeout time.Duration, keys ...fair.Key,
) (o check.Outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			c.Logger.Error("panic while checking", "host", p.Target().Host, "cause", fmt.Sprint(cause))
			o = check.Outcome{Failure: "the check failed inside Allswell", Unknown: true}
		}
	}()
	return check.Run(ctx, n, p, timeout, keys...)
}

// resultOf returns the result of an outcome, without the check's secrets. Its monitor, replica and times are not set.
func resultOf(o check.Outcome, spec monitor.CheckSpec) monitor.CheckResult {
	o = o.WithoutSecrets(spec)
	r := monitor.CheckResult{
		Status: monitor.CheckOK, Reason: o.Warning, Warning: o.Warning != "", Answered: o.Answered, Phases: o.Phases,
		CertificateExpiresAt: o.CertificateExpiresAt,
	}
	switch {
	case o.Failure != "":
		r.Status, r.Reason, r.Warning, r.Body = monitor.CheckFailed, o.Failure, false, o.Body
		if o.Unknown {
			r.Status = monitor.CheckUnknown
		}
	case spec.SlowAfter > 0 && o.Phases.Total > spec.SlowAfter:
		r.Status = monitor.CheckSlow
	}
	return r
}

// unknown returns the result of a check that did not run.
func (c *Checker) unknown(claimed store.ClaimedCheck, reason string) monitor.CheckResult {
	return monitor.CheckResult{
		MonitorID: claimed.MonitorID, Version: claimed.Version, DueAt: claimed.DueAt, StartedAt: c.now(),
		Replica: c.Replica, Location: c.Location, Status: monitor.CheckUnknown, Reason: reason,
	}
}

// Once runs a check of a workspace once, to test its configuration, and records nothing. The result has no monitor. A
// failure of the check is a result and not an error. Once returns a *kernel.ValidationError if the configuration is not
// valid, and the error of ctx if that was canceled. Callers limit the number and the duration of tests.
func (c *Checker) Once(
	ctx context.Context, workspaceID string, name monitor.MonitorType, spec monitor.CheckSpec,
) (monitor.CheckResult, error) {
	t, ok := check.TypeOf(name)
	if !ok {
		var bad kernel.ValidationError
		bad.Add("type", "must be one that the service can check")
		return monitor.CheckResult{}, &bad
	}
	p, err := t.Probe(spec.Config, spec.Secrets)
	if err != nil {
		return monitor.CheckResult{}, err
	}
	if c.networkOf(workspaceID) != c.first { // it may have become the first one
		if err := c.refresh(ctx); err != nil {
			return monitor.CheckResult{}, err
		}
	}
	started := c.now()
	o := c.probe(ctx, c.networkOf(workspaceID), p, cmp.Or(spec.Timeout, monitor.DefaultCheckTimeout),
		fair.Workspace(workspaceID))
	if errors.Is(ctx.Err(), context.Canceled) {
		return monitor.CheckResult{}, ctx.Err()
	}
	r := resultOf(o, spec)
	r.StartedAt, r.DueAt, r.Replica, r.Location = started, started, c.Replica, c.Location
	return r, nil
}
