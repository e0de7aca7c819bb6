package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check"
)

func target(host string) check.Target { return check.Target{Host: host, Port: 443} }

// TestMassLoss checks when lost hosts are rather this replica's network.
func TestMassLoss(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name       string
		well, lost int
		apart      time.Duration // between two losses
		within     time.Duration
		mass       bool
	}{
		{"one of one", 1, 1, 0, time.Minute, false},
		{"both", 2, 2, 0, time.Minute, false},
		{"all three", 3, 3, 0, time.Minute, true},
		{"three of five", 5, 3, 10 * time.Second, time.Minute, true},
		{"three of six", 6, 3, 0, time.Minute, false},
		{"one after another", 5, 3, 40 * time.Second, time.Minute, false},
		{"hours apart, checked once a day", 3, 3, time.Hour, 24 * time.Hour, false},
		{"within a short interval", 3, 3, 4 * time.Second, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReachability()
			for i := range c.well {
				r.note(reachable{target(fmt.Sprint("host", i)), nil, "ws_1"}, true, time.Minute, start)
			}
			now := start.Add(time.Hour)
			for i := range c.lost {
				now = now.Add(c.apart)
				r.note(reachable{target(fmt.Sprint("host", i)), nil, "ws_1"}, false, time.Minute, now)
			}
			r.note(reachable{target("never well"), nil, "ws_1"}, false, time.Minute, now)
			if got := r.massLoss(now, c.within); got != c.mass {
				t.Errorf("mass loss: %v", got)
			}
		})
	}
}

// TestMassLossOfWorkspaces checks that the hosts of one workspace do not decide whether the hosts of others are
// unreachable.
func TestMassLossOfWorkspaces(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(workspace string, host, port int) reachable {
		return reachable{check.Target{Host: fmt.Sprint("host", host), Port: port}, nil, workspace}
	}
	type hosts struct{ well, lost int }
	for _, c := range []struct {
		name string
		of   map[string]hosts
		port int // of the lost hosts; hosts that work have 443
		mass bool
	}{
		{"one loses many", map[string]hosts{"a": {100, 100}, "b": {3, 1}}, 443, false},
		{"both lose most", map[string]hosts{"a": {100, 60}, "b": {3, 2}}, 443, true},
		{"one of three loses many", map[string]hosts{"a": {100, 100}, "b": {3, 1}, "c": {3, 0}}, 443, false},
		{"two of three lose most", map[string]hosts{"a": {10, 10}, "b": {3, 2}, "c": {3, 0}}, 443, true},
		{"most workspaces, few of all hosts", map[string]hosts{"a": {100, 0}, "b": {3, 2}, "c": {3, 2}}, 443, false},
		{"another port of a host that works", map[string]hosts{"a": {3, 3}}, 8080, false},
	} {
		r, now := newReachability(), start.Add(time.Hour)
		for workspace, n := range c.of {
			for i := range n.well {
				r.note(at(workspace, i, 443), true, time.Minute, start)
			}
			for i := range n.lost {
				r.note(at(workspace, i, c.port), false, time.Minute, now)
			}
		}
		if got := r.massLoss(now, time.Minute); got != c.mass {
			t.Errorf("%s: mass loss: %v", c.name, got)
		}
	}
	// Many ports of one host are one host.
	r := newReachability()
	for port := range massHosts {
		r.note(at("a", 0, 1+port), true, time.Minute, start)
		r.note(at("a", 0, 1+port), false, time.Minute, start)
	}
	if r.massLoss(start, time.Minute) {
		t.Error("the loss of one host is a loss of most")
	}
}

// TestOthersOfWorkspaces checks that hosts of one workspace neither are the only ones that are tried, nor displace the
// hosts of others.
func TestOthersOfWorkspaces(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newReachability()
	r.note(reachable{target("quiet"), nil, "small"}, true, time.Hour, now)
	for i := range maxHosts {
		r.note(reachable{target(fmt.Sprint("host", i)), nil, "large"}, true, time.Minute, now.Add(time.Minute))
	}
	others := r.others(target("x"), now.Add(time.Minute), false)
	if hosts := []string{others[0].Host, others[1].Host}; !slices.Contains(hosts, "quiet") || len(others) != maxOthers {
		t.Errorf("%v are tried first, of %d", hosts, len(others))
	}
}

// TestOthers checks which hosts are tried when one is unreachable.
func TestOthers(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newReachability()
	if others := r.others(target("a"), now, true); len(others) != 0 {
		t.Errorf("others %v", others)
	}
	for i := range 10 {
		r.note(reachable{target(fmt.Sprint("host", i)), nil, "ws_1"}, true, time.Minute,
			now.Add(time.Duration(i)*time.Minute))
	}
	r.note(reachable{check.Target{Host: "pinged"}, nil, "ws_1"}, true, time.Minute, now.Add(time.Hour))
	r.note(reachable{target("localhost"), nil, "ws_1"}, true, time.Minute, now.Add(time.Hour))
	r.note(reachable{target("127.0.0.1"), nil, "ws_1"}, true, time.Minute, now.Add(time.Hour))
	now = now.Add(9 * time.Minute)
	others := r.others(target("host9"), now, true)
	if len(others) != maxOthers || others[0].Host != "host8" || others[4].Host != "host4" {
		t.Errorf("others %v", others)
	}
	now = now.Add(otherAge - time.Minute)
	if others = r.others(target("host9"), now, true); len(others) != 1 {
		t.Errorf("after a while, others %v", others)
	}
	if others = r.others(target("host9"), now.Add(240*time.Hour), false); len(others) != maxOthers {
		t.Errorf("with other replicas, others %v", others)
	}
	if r.works(target("pinged"), now.Add(-time.Hour)) || !r.works(target("host1"), now.Add(-time.Hour)) {
		t.Error("the answer of another host shows that the network works, and no host's own")
	}
}

// TestReachIsBounded checks that hosts are forgotten.
func TestReachIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newReachability()
	for i := range maxHosts + 1 {
		r.note(reachable{target(fmt.Sprint("host", i)), nil, "ws_1"}, true, time.Minute,
			now.Add(time.Duration(i)*time.Millisecond))
	}
	if len(r.hosts) != maxHosts-evictedAtATime+1 || r.hosts[service{"ws_1", "host0", 443}] != nil ||
		r.hosts[service{"ws_1", fmt.Sprint("host", maxHosts), 443}] == nil {
		t.Errorf("%d hosts", len(r.hosts))
	}
}

// TestReachForgets checks that hosts are forgotten that are not checked any more: they would be tried, or counted as
// hosts that work.
func TestReachForgets(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newReachability()
	r.note(reachable{target("deleted"), nil, "ws_1"}, true, time.Minute, now)
	r.note(reachable{target("daily"), nil, "ws_1"}, true, 24*time.Hour, now)
	r.note(reachable{target("failing"), nil, "ws_1"}, true, time.Minute, now)
	left := func(at time.Duration) string {
		r.note(reachable{target("failing"), nil, "ws_1"}, false, time.Minute, now.Add(at))
		var hosts []string
		for key := range r.hosts {
			hosts = append(hosts, key.host)
		}
		slices.Sort(hosts)
		return strings.Join(hosts, " ")
	}
	if got := left(time.Hour); got != "daily deleted failing" {
		t.Errorf("after an hour: %s", got)
	}
	r.note(reachable{target("deleted"), nil, "ws_1"}, true, 0, now.Add(time.Hour)) // tried, which is no check
	if got := left(time.Hour + 5*time.Minute); got != "daily failing" {
		t.Errorf("after four intervals and an hour: %s", got)
	}
	if got := left(97*time.Hour + time.Minute); got != "" {
		t.Errorf("after four days: %s", got)
	}
}

// TestCutOffReplica checks when a replica leaves checks to others.
func TestCutOffReplica(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name     string
		single   bool
		cutOff   time.Duration // before now, when it reached nothing
		answered time.Duration // before now, when a host answered
		canary   time.Duration
		want     bool
	}{
		{"it reaches nothing", false, 10 * time.Second, time.Minute, time.Hour, true},
		{"there is no other replica", true, 10 * time.Second, time.Minute, time.Hour, false},
		{"a host has answered since", false, 10 * time.Second, time.Second, time.Hour, false},
		{"a canary has answered since", false, 10 * time.Second, time.Minute, time.Second, false},
		{"long ago", false, 2 * time.Minute, time.Hour, time.Hour, false},
	} {
		v := &verdicts{
			reachability: newReachability(), single: c.single, cutOff: now.Add(-c.cutOff),
			canaryUp: now.Add(-c.canary),
		}
		v.reachability.note(reachable{target("a"), nil, "ws_1"}, true, time.Minute, now.Add(-c.answered))
		if got := v.isCutOff(now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestHostsThatStayDown: hosts that were lost longer ago than the window are no mass loss, however often checks find
// them unreachable: otherwise an outage of most targets would stay unknown.
func TestHostsThatStayDown(t *testing.T) {
	r, now := newReachability(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	note := func(answered bool) {
		for i := range massHosts {
			r.note(reachable{target(fmt.Sprint("host", i)), nil, "ws_1"}, answered, time.Minute, now)
		}
	}
	note(true)
	for minute := range 10 {
		note(false)
		if got := r.massLoss(now, time.Minute); got != (minute <= 1) {
			t.Errorf("%d minutes after the loss: %t", minute, got)
		}
		now = now.Add(time.Minute)
	}
}
