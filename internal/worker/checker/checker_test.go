package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"golang.org/x/net/dns/dnsmessage"
)

// site is a web server under several names, which resolve to it in the network of the tests.
type site struct {
	*httptest.Server
	down     atomic.Bool // it answers 503
	requests atomic.Int64
}

func newSite(t *testing.T) *site {
	s := new(site)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) port() string {
	u, _ := url.Parse(s.URL)
	return u.Port()
}

// names is a DNS server whose names are all at 127.0.0.1, until it is cut off.
type names struct {
	cut atomic.Bool
	*net.Resolver
}

func newNames(t *testing.T) *names {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	n := new(names)
	n.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	go func() {
		for packet := make([]byte, 1500); ; {
			size, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			if answer := n.answer(packet[:size]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return n
}

func (n *names) answer(packet []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	if n.cut.Load() {
		m.RCode = dnsmessage.RCodeServerFailure
	} else if q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	answer, _ := m.Pack()
	return answer
}

// newChecker returns a checker of a replica, which is alive.
func newChecker(t *testing.T, s *store.Store, replica string, n *names, change ...func(*Config)) *Checker {
	t.Helper()
	if err := s.RecordLiveness(t.Context(), store.LivenessRecord{Replica: replica}); err != nil {
		t.Fatal(err)
	}
	c := Config{Store: s, Replica: replica, Logger: slog.New(slog.DiscardHandler)}
	if n != nil {
		c.Resolver = n.Resolver
	}
	for _, f := range change {
		f(&c)
	}
	return New(c)
}

// create creates a monitor that checks a URL.
func create(t *testing.T, s *store.Store, actor kernel.Actor, name, target string) monitor.Monitor {
	t.Helper()
	typ, _ := check.TypeOf("http")
	config, secrets, err := typ.Read(map[string]json.RawMessage{"url": json.RawMessage(`"` + target + `"`)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.CreateMonitor(t.Context(), actor, monitor.MonitorOf(monitor.MonitorConfig{
		Type: "http", Name: name, Interval: time.Minute, FailureThreshold: 1,
		Check: monitor.CheckSpec{Config: config, Secrets: secrets, Timeout: 5 * time.Second},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRun checks that due checks run once, and that their results are recorded.
func TestRun(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		actor, _ := storetest.Workspace(t, s, "acme")
		web := newSite(t)
		good := create(t, s, actor, "good", web.URL)
		bad := create(t, s, actor, "bad", "http://127.0.0.1:1/")
		var late atomic.Int64
		c := newChecker(t, s, "a", nil, func(c *Config) {
			c.Location = "here"
			c.Observe = func(_ monitor.CheckStatus, by time.Duration) { late.Add(1) }
		})
		other := newChecker(t, s, "b", nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{}, 2)
		for _, c := range []*Checker{c, other} {
			go func() { c.Run(ctx); ended <- struct{}{} }()
		}
		result := awaitResult(t, s, actor, good)
		if result.Status != monitor.CheckOK || result.Phases.Total <= 0 || !result.Answered {
			t.Errorf("result %+v", result)
		}
		result = awaitResult(t, s, actor, bad)
		if result.Status != monitor.CheckFailed || result.Reason != "connection refused by 127.0.0.1:1" {
			t.Errorf("result %+v", result)
		}
		if m, err := s.Monitor(t.Context(), actor, bad.ID); err != nil || m.State != monitor.MonitorDown {
			t.Errorf("monitor %+v, %v", m, err)
		}
		stop()
		<-ended
		<-ended
		results, _, err := s.CheckResults(t.Context(), actor, good.ID, store.Pagination{Page: 1, PerPage: 50})
		due := make(map[time.Time]bool) // the first regular check can be due soon after the check at the beginning
		for _, r := range results {
			due[r.DueAt] = true
		}
		if n := web.requests.Load(); err != nil || int(n) != len(due) {
			t.Errorf("%d checks at %d due times, %v", n, len(due), err)
		}
	})
}

// awaitResult waits for the first result of a monitor.
func awaitResult(t *testing.T, s *store.Store, actor kernel.Actor, m monitor.Monitor) monitor.CheckResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		results, _, err := s.CheckResults(ctx, actor, m.ID, store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(results) > 0 {
			return results[0]
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("no result")
		}
	}
}

// claimed returns a check of a URL, as the store gives it.
func claimed(t *testing.T, target string) (store.ClaimedCheck, check.Probe) {
	t.Helper()
	c := store.ClaimedCheck{
		Type: "http", Interval: time.Minute,
		Spec: monitor.CheckSpec{Timeout: 5 * time.Second, Config: json.RawMessage(fmt.Sprintf(`{"url": %q}`, target))},
	}
	p, reason := probeOf(c)
	if reason != "" {
		t.Fatalf("probeOf: %s", reason)
	}
	return c, p
}

// TestCutOff checks that a replica without a network finds nothing failing.
func TestCutOff(t *testing.T) {
	web, dns := newSite(t), newNames(t)
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	c := newChecker(t, s, "a", dns, func(c *Config) { c.Private = PrivateOn })
	status := func(host string) monitor.CheckStatus {
		t.Helper()
		claim, p := claimed(t, "http://"+host+":"+web.port())
		return c.check(t.Context(), claim, p).Status
	}
	expect := func(host string, expected monitor.CheckStatus) {
		t.Helper()
		if got := status(host); got != expected {
			t.Errorf("%s: %s, expected %s", host, got, expected)
		}
	}
	for _, host := range []string{"a.test", "b.test"} {
		expect(host, monitor.CheckOK)
	}
	web.down.Store(true)
	expect("a.test", monitor.CheckFailed) // it answered
	web.down.Store(false)
	expect("a.test", monitor.CheckOK)
	dns.cut.Store(true)
	expect("a.test", monitor.CheckUnknown) // b.test is not reachable, either
	expect("b.test", monitor.CheckUnknown)
	expect("a.test", monitor.CheckUnknown)
	web.down.Store(true)
	expect("127.0.0.1", monitor.CheckFailed) // it answered, although no other host can be reached
	web.down.Store(false)
	dns.cut.Store(false)
	expect("b.test", monitor.CheckOK)
	c.verdicts.back = time.Now().Add(-backAge)
	claim, p := claimed(t, "http://a.test:1/") // refuses connections, while b.test answers
	r := c.check(t.Context(), claim, p)
	if r.Status != monitor.CheckFailed || r.Reason != "connection refused by 127.0.0.1:1" {
		t.Errorf("result %+v", r)
	}
	alone := newChecker(t, s, "b", dns, func(c *Config) { c.Private = PrivateOn })
	if r := alone.check(t.Context(), claim, p); r.Status != monitor.CheckFailed {
		t.Errorf("a replica that never reached another host: %+v", r)
	}
	port := check.Target{Host: "127.0.0.1", Port: 1}
	canary := newChecker(t, s, "c", dns, func(c *Config) { c.Private, c.Canaries = PrivateOn, []check.Target{port} })
	if r := canary.check(t.Context(), claim, p); r.Status != monitor.CheckUnknown {
		t.Errorf("a replica that does not reach its canary: %+v", r)
	}
}

// TestCutOffDuringCheck checks that the loss of the network while a check runs is not the target's failure, although
// another host answered after the check began.
func TestCutOffDuringCheck(t *testing.T) {
	web, dns := newSite(t), newNames(t)
	port, err := strconv.Atoi(web.port())
	if err != nil {
		t.Fatal(err)
	}
	other := check.Target{Host: "b.test", Port: port}
	for name, canaries := range map[string][]check.Target{"other hosts": nil, "canaries": {other}} {
		for _, lost := range []bool{true, false} {
			dns.cut.Store(lost)
			now, n := time.Now(), &check.Network{Resolver: dns.Resolver}
			v := verdicts{
				canaries: canaries, trusted: n, reachability: newReachability(), canaryUp: now.Add(-2 * answerAge),
			}
			v.reachability.note(reachable{other, n, "ws_1"}, true, time.Minute, now.Add(-2*answerAge))
			if got := v.counts(t.Context(), target("a.test"), now.Add(-time.Second), time.Minute); got == lost {
				t.Errorf("%s, network lost: %v, counts: %v", name, lost, got)
			}
		}
	}
}

// TestBackDuringCheck checks that a failure does not count if the network came back while the check ran.
func TestBackDuringCheck(t *testing.T) {
	web, dns := newSite(t), newNames(t)
	port, err := strconv.Atoi(web.port())
	if err != nil {
		t.Fatal(err)
	}
	other := check.Target{Host: "b.test", Port: port}
	for name, canaries := range map[string][]check.Target{"other hosts": nil, "canaries": {other}} {
		now, n := time.Now(), &check.Network{Resolver: dns.Resolver}
		v := verdicts{
			canaries: canaries, trusted: n, reachability: newReachability(), cutOff: now.Add(-2 * time.Second),
			canaryUp: now.Add(-time.Hour),
		}
		v.reachability.note(reachable{other, n, "ws_1"}, true, time.Minute, now.Add(-time.Minute))
		if v.counts(t.Context(), target("a.test"), now.Add(-time.Second), time.Minute) {
			t.Errorf("%s: a check that began while the network was lost counts", name)
		}
		if v.counts(t.Context(), target("a.test"), time.Now(), time.Minute) {
			t.Errorf("%s: a check that began when the network was just back counts", name)
		}
		v.back = time.Now().Add(-backAge)
		if !v.counts(t.Context(), target("a.test"), time.Now(), time.Minute) {
			t.Errorf("%s: a check that began later does not count", name)
		}
	}
	// The loss of most hosts is known before a try of others has ended.
	now, n := time.Now(), &check.Network{Resolver: dns.Resolver}
	v := verdicts{trusted: n, reachability: newReachability()}
	for _, host := range []check.Target{target("c.test"), target("d.test"), target("e.test"), other} {
		v.reachability.note(reachable{host, n, "ws_1"}, true, time.Minute, now.Add(-time.Minute))
		v.reachability.note(reachable{host, n, "ws_1"}, host == other, time.Minute, now.Add(-time.Second))
	}
	if v.counts(t.Context(), target("c.test"), now.Add(-2*time.Second), time.Minute) {
		t.Error("the loss of three of four hosts counts")
	}
	v.note(reachable{other, n, "ws_1"}, true, time.Minute)
	if v.counts(t.Context(), target("a.test"), now.Add(-2*time.Second), time.Minute) {
		t.Error("a check that began before hosts were lost and one came back counts")
	}
}

// TestThreeReplicas checks that one of three replicas raises nothing when it has no network.
func TestThreeReplicas(t *testing.T) {
	dsn := storetest.PostgreSQL(t)
	s := storetest.Open(t, dsn, store.Options{})
	actor, _ := storetest.Workspace(t, s, "acme")
	web, works, cut := newSite(t), newNames(t), newNames(t)
	first := []monitor.Monitor{
		create(t, s, actor, "a", "http://a.test:"+web.port()), create(t, s, actor, "b", "http://b.test:"+web.port()),
	}
	checkers := []*Checker{newChecker(t, s, "cut", cut), newChecker(t, s, "x", works), newChecker(t, s, "y", works)}
	for _, c := range checkers {
		if err := c.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, host := range []string{"a.test", "b.test"} { // which it reached before
		claim, p := claimed(t, "http://"+host+":"+web.port())
		claim.WorkspaceID = actor.WorkspaceID
		if r := checkers[0].check(t.Context(), claim, p); r.Status != monitor.CheckOK {
			t.Fatalf("result %+v", r)
		}
	}
	cut.cut.Store(true)
	if got := fmt.Sprint(runOnce(t, s, checkers[0])); got != "[unknown unknown]" {
		t.Errorf("the replica without a network: %s", got)
	}
	if got := fmt.Sprint(runOnce(t, s, checkers[0])); got != "[]" {
		t.Errorf("it is asked again: %s", got)
	}
	if got := fmt.Sprint(runOnce(t, s, checkers[1])); got != "[ok ok]" {
		t.Errorf("another replica: %s", got)
	}
	if got := runOnce(t, s, checkers[2]); len(got) != 0 {
		t.Errorf("a third replica repeats what is known: %v", got)
	}
	for _, m := range first {
		m, err := s.Monitor(t.Context(), actor, m.ID)
		if err != nil || m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 {
			t.Errorf("monitor %+v, %v", m, err)
		}
	}
}

// runOnce claims the checks that are due, runs them, and records the results.
func runOnce(t *testing.T, s *store.Store, c *Checker) (statuses []monitor.CheckStatus) {
	t.Helper()
	all, _, err := s.ClaimChecks(t.Context(), store.CheckClaim{Replica: c.Replica, Location: c.Location, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var results []monitor.CheckResult
	for _, claim := range all {
		p, reason := probeOf(claim)
		if reason != "" {
			t.Fatalf("probeOf: %s", reason)
		}
		r := c.check(t.Context(), claim, p)
		results, statuses = append(results, r), append(statuses, r.Status)
	}
	if err := s.RecordCheckResults(t.Context(), results); err != nil {
		t.Fatal(err)
	}
	return statuses
}

// TestOnce checks tests of configurations.
func TestOnce(t *testing.T) {
	web := newSite(t)
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	actor, _ := storetest.Workspace(t, s, "first")
	listener := netip.MustParseAddrPort(strings.TrimPrefix(web.URL, "http://"))
	for _, c := range []struct {
		name, config string
		change       func(*Config)
		status       monitor.CheckStatus
		reason       string
	}{
		{"good", fmt.Sprintf(`{"url": %q}`, web.URL), func(*Config) {}, monitor.CheckOK, ""},
		{"bad", fmt.Sprintf(`{"url": %q, "expected_statuses": ["500"]}`, web.URL), func(*Config) {},
			monitor.CheckFailed, "HTTP 200 (expected 500)"},
		{"private", fmt.Sprintf(`{"url": %q}`, web.URL), func(c *Config) {
			c.Private = PrivateOff
		}, monitor.CheckUnknown, "checks may not connect to 127.0.0.1: it is this machine (ALLSWELL_CHECK_PRIVATE)"},
		{"self", fmt.Sprintf(`{"url": %q}`, web.URL), func(c *Config) {
			c.Listeners = []netip.AddrPort{listener}
		}, monitor.CheckUnknown, "checks may not connect to 127.0.0.1: it is this service (ALLSWELL_CHECK_SELF)"},
		{"self on all addresses", fmt.Sprintf(`{"url": %q}`, web.URL), func(c *Config) {
			c.Listeners = []netip.AddrPort{netip.AddrPortFrom(netip.IPv6Unspecified(), listener.Port())}
		}, monitor.CheckUnknown, "checks may not connect to 127.0.0.1: it is this service (ALLSWELL_CHECK_SELF)"},
		{"self while private addresses are forbidden", fmt.Sprintf(`{"url": %q}`, web.URL), func(c *Config) {
			c.Private, c.Listeners = PrivateOff, []netip.AddrPort{listener}
		}, monitor.CheckUnknown, "checks may not connect to 127.0.0.1: it is this machine (ALLSWELL_CHECK_PRIVATE)"},
		{"a name of this machine while private addresses are forbidden", `{"url": "http://localhost:1/"}`,
			func(c *Config) {
				c.Private = PrivateOff
			}, monitor.CheckFailed, "the name localhost has no address"},
		{"self permitted", fmt.Sprintf(`{"url": %q}`, web.URL), func(c *Config) {
			c.Listeners, c.Self = []netip.AddrPort{listener}, true
		}, monitor.CheckOK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := newChecker(t, s, "a", nil, c.change).Once(t.Context(), actor.WorkspaceID, "http",
				monitor.CheckSpec{Config: json.RawMessage(c.config)})
			if err != nil || r.Status != c.status || r.Reason != c.reason {
				t.Errorf("result %+v, %v", r, err)
			}
		})
	}
	var bad *kernel.ValidationError
	_, err := newChecker(t, s, "a", nil).Once(t.Context(), actor.WorkspaceID, "http",
		monitor.CheckSpec{Config: json.RawMessage(`{"url": "x"}`)})
	if !errors.As(err, &bad) || len(bad.Messages()["url"]) != 1 {
		t.Errorf("error %v", err)
	}
}

const (
	isThisMachine = "checks may not connect to 127.0.0.1: it is this machine (ALLSWELL_CHECK_PRIVATE)"
	isThisService = "checks may not connect to 127.0.0.1: it is this service (ALLSWELL_CHECK_SELF)"
	noAddress     = "the name localhost has no address"
)

// privateCases say which checks reach this machine by its address and by its name.
var privateCases = []struct {
	mode                PrivateMode
	self                bool // the target is this process
	second              bool // the check is of the second workspace
	byAddress, byName   monitor.CheckStatus
	whyAddress, whyName string // ADDRESS: of the target
}{
	{PrivateAuto, false, false, monitor.CheckOK, monitor.CheckOK, "", ""},
	{PrivateAuto, false, true, monitor.CheckUnknown, monitor.CheckFailed, isThisMachine, noAddress},
	{PrivateOn, false, false, monitor.CheckOK, monitor.CheckOK, "", ""},
	{PrivateOn, false, true, monitor.CheckOK, monitor.CheckOK, "", ""},
	{PrivateOff, false, false, monitor.CheckUnknown, monitor.CheckFailed, isThisMachine, noAddress},
	{PrivateOff, false, true, monitor.CheckUnknown, monitor.CheckFailed, isThisMachine, noAddress},
	{PrivateAuto, true, false, monitor.CheckUnknown, monitor.CheckUnknown, isThisService, isThisService},
	{PrivateAuto, true, true, monitor.CheckUnknown, monitor.CheckFailed, isThisMachine, noAddress},
	{PrivateOn, true, true, monitor.CheckFailed, monitor.CheckFailed,
		"connection refused by ADDRESS", "connection refused by ADDRESS"},
	{PrivateOff, true, false, monitor.CheckUnknown, monitor.CheckFailed, isThisMachine, noAddress},
}

// TestPrivateAddressesOfWorkspaces checks whose checks reach private addresses and this process, in tests and at their
// due time.
func TestPrivateAddressesOfWorkspaces(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		web := newSite(t)
		own, err := netip.ParseAddrPort(strings.TrimPrefix(web.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		first, _ := storetest.Workspace(t, s, "first")
		running := newChecker(t, s, "a", nil)
		r, err := running.Once(t.Context(), first.WorkspaceID, "http", urlSpec(web.URL))
		if err != nil || r.Status != monitor.CheckOK {
			t.Errorf("one workspace: %+v, %v", r, err)
		}
		for created := time.Now().UnixMilli(); time.Now().UnixMilli() <= created; { // until the next is created later
			runtime.Gosched()
		}
		second, _ := storetest.Workspace(t, s, "second")
		byName := strings.Replace(web.URL, "127.0.0.1", "localhost", 1)
		for _, c := range privateCases {
			actor := map[bool]kernel.Actor{false: first, true: second}[c.second]
			checker := newChecker(t, s, "a", nil, func(n *Config) {
				if n.Private = c.mode; c.self {
					n.Listeners = []netip.AddrPort{own}
				}
			})
			for target, want := range map[string]struct {
				status monitor.CheckStatus
				reason string
			}{web.URL: {c.byAddress, c.whyAddress}, byName: {c.byName, c.whyName}} {
				spec := urlSpec(target)
				spec.Config = json.RawMessage(fmt.Sprintf(`{"url": %q, "ip_version": "4"}`, target))
				want.reason = strings.NewReplacer("has no address", "has no IPv4 address", "ADDRESS", own.String()).
					Replace(want.reason)
				r, err := checker.Once(t.Context(), actor.WorkspaceID, "http", spec)
				if err != nil || r.Status != want.status || r.Reason != want.reason {
					t.Errorf("%+v, %s: a test says %s %q, %v", c, target, r.Status, r.Reason, err)
				}
				r = checkSpec(t, checker, actor, spec)
				if r.Status != want.status || r.Reason != want.reason {
					t.Errorf("%+v, %s: a check says %s %q", c, target, r.Status, r.Reason)
				}
			}
		}
		r, err = running.Once(t.Context(), first.WorkspaceID, "http", urlSpec(web.URL))
		if err != nil || r.Status != monitor.CheckOK {
			t.Errorf("the first workspace, after there was a second one: %+v, %v", r, err)
		}
		if r := running.first.Reaches(t.Context(), check.Target{Host: "127.0.0.1", Port: int(own.Port())}); !r {
			t.Error("a host of the first workspace is not tried")
		}
		if r := running.others.Reaches(t.Context(), check.Target{Host: "127.0.0.1", Port: int(own.Port())}); r {
			t.Error("a host of another workspace is tried inside")
		}
	})
}

func urlSpec(target string) monitor.CheckSpec {
	return monitor.CheckSpec{Config: json.RawMessage(fmt.Sprintf(`{"url": %q}`, target))}
}

// TestPostgreSQL checks a real server.
func TestPostgreSQL(t *testing.T) {
	u, err := url.Parse(storetest.EmptyPostgreSQL(t))
	if err != nil {
		t.Fatal(err)
	}
	port := forward(t, filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"))
	fields := map[string]json.RawMessage{
		"host": json.RawMessage(`"127.0.0.1"`), "port": json.RawMessage(fmt.Sprint(port)),
	}
	run := func(more map[string]string) check.Outcome {
		t.Helper()
		all := map[string]json.RawMessage{}
		for name, value := range fields {
			all[name] = value
		}
		for name, value := range more {
			all[name] = json.RawMessage(value)
		}
		typ, _ := check.TypeOf("postgres")
		config, secrets, err := typ.Read(all)
		if err != nil {
			t.Fatal(err)
		}
		p, err := typ.Probe(config, secrets)
		if err != nil {
			t.Fatal(err)
		}
		return check.Run(t.Context(), new(check.Network), p, time.Minute)
	}
	if o := run(nil); o.Failure != "" || !o.Answered {
		t.Errorf("outcome %+v", o)
	}
	o := run(map[string]string{"username": `"` + u.Query().Get("user") + `"`, "database": `"nothing"`})
	if o.Failure != `the server refused: database "nothing" does not exist` {
		t.Errorf("outcome %+v", o)
	}
	if o := run(map[string]string{"tls": "true"}); o.Failure != "the server does not offer TLS" {
		t.Errorf("outcome %+v", o)
	}
}

// forward accepts connections to a port of the loopback interface for a server that only listens on a socket in a
// folder.
func forward(t *testing.T, socket string) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", socket)
			if err != nil {
				from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); to.Close() }()
			go func() { _, _ = io.Copy(from, to); from.Close() }()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// broken is a probe that panics.
type broken struct{ check.Probe }

func (broken) Target() check.Target { return check.Target{Host: "broken.test", Port: 1} }

// TestPanicsAreUnknown: a bug of a probe says nothing about the target.
func TestPanicsAreUnknown(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	r := newChecker(t, s, "a", nil).check(t.Context(),
		store.ClaimedCheck{Interval: time.Minute, Spec: monitor.CheckSpec{Timeout: time.Second}}, broken{})
	if r.Status != monitor.CheckUnknown || r.Reason != "the check failed inside Allswell" {
		t.Errorf("result %+v", r)
	}
}

// checkSpec runs a check as it is run at its due time.
func checkSpec(t *testing.T, c *Checker, actor kernel.Actor, spec monitor.CheckSpec) monitor.CheckResult {
	t.Helper()
	typ, _ := check.TypeOf("http")
	p, err := typ.Probe(spec.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec.Timeout = 5 * time.Second
	claim := store.ClaimedCheck{WorkspaceID: actor.WorkspaceID, Type: "http", Interval: time.Minute, Spec: spec}
	return c.check(t.Context(), claim, p)
}
