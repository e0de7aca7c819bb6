package checker

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/check"
)

// Limits of what is remembered about hosts.
const (
	maxHosts       = 10_000           // that are remembered
	maxOthers      = 5                // other targets that are tried
	otherAge       = 15 * time.Minute // for which a host that worked is tried, if no other replica can be asked
	minLossWindow  = 10 * time.Second
	maxLossWindow  = 5 * time.Minute // losses that are further apart are not one failure of a network
	massHosts      = 3               // hosts that must have become unreachable before it can be this replica's network
	evictedAtATime = maxHosts / 10

	// A host is forgotten when no check of it has ended for keptIntervals of its intervals plus keptTime, because its
	// monitors were deleted or changed. A shorter absence may mean that other replicas ran its checks.
	keptIntervals = 4
	keptTime      = time.Hour
	sweepInterval = time.Minute // between searches for such hosts
)

// reachability remembers which hosts this replica reaches, to distinguish an unreachable target from a broken network
// of its own. It reads no clock: times are arguments. It is not safe for concurrent use.
//
// No workspace decides alone for the others what is reachable: each has its own hosts, and one vote.
type reachability struct {
	hosts    map[service]*serviceState
	answered time.Time // when a host that is not loopback last answered
	by       string    // that host
	swept    time.Time
}

// service is a port of a host, as a workspace checks it. Its ports do not fail together: one that is closed says
// nothing about the host's other ones.
type service struct {
	workspace, host string
	port            int
}

// serviceState is the state of one service.
type serviceState struct {
	target reachable
	well   time.Time // when it last answered; zero: never
	lost   time.Time // when it became unreachable after it had answered; zero: it has not
	until  time.Time // when it is forgotten
}

func newReachability() *reachability { return &reachability{hosts: make(map[service]*serviceState)} }

// isLoopback reports whether a target is this machine itself, which no network separates from this replica.
func isLoopback(t check.Target) bool {
	addr, err := netip.ParseAddr(t.Host)
	return t.Host == "localhost" || err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified())
}

// note records that a target answered, or that it was unreachable, in a check with an interval; 0: it was tried without
// a check.
func (r *reachability) note(t reachable, answered bool, interval time.Duration, now time.Time) {
	if isLoopback(t.Target) || t.Host == "" { // a resolver of this machine may answer from its cache
		return
	}
	r.sweep(now)
	key := service{t.workspace, t.Host, t.Port}
	h := r.hosts[key]
	if h == nil {
		if !answered {
			return // it never worked, so its loss says nothing
		}
		if len(r.hosts) >= maxHosts {
			r.evict()
		}
		h = new(serviceState)
		r.hosts[key] = h
	}
	if until := now.Add(keptIntervals*interval + keptTime); interval > 0 && until.After(h.until) {
		h.until = until
	}
	if answered {
		h.target, h.well, h.lost = t, now, time.Time{}
		r.answered, r.by = now, t.Host
	} else if h.lost.IsZero() {
		h.lost = now
	}
}

// sweep forgets the hosts that are not checked any more.
func (r *reachability) sweep(now time.Time) {
	if now.Sub(r.swept) < sweepInterval {
		return
	}
	r.swept = now
	for key, h := range r.hosts {
		if now.After(h.until) {
			delete(r.hosts, key)
		}
	}
}

// evict forgets the hosts that answered least recently, of the workspaces that have most.
func (r *reachability) evict() {
	for _, h := range r.sorted()[maxHosts-evictedAtATime:] {
		delete(r.hosts, service{h.target.workspace, h.target.Host, h.target.Port})
	}
}

// sorted returns all hosts, taking turns among the workspaces, with each workspace's most recent answer first.
func (r *reachability) sorted() []*serviceState {
	byAge := slices.SortedFunc(maps.Values(r.hosts), func(a, b *serviceState) int { return b.well.Compare(a.well) })
	turn, turns := make(map[*serviceState]int, len(byAge)), make(map[string]int)
	for _, h := range byAge {
		turn[h] = turns[h.target.workspace]
		turns[h.target.workspace]++
	}
	slices.SortStableFunc(byAge, func(a, b *serviceState) int { return cmp.Compare(turn[a], turn[b]) })
	return byAge
}

// works reports whether a host other than t's has answered since an instant, which shows that the network works.
func (r *reachability) works(t check.Target, since time.Time) bool {
	return r.by != t.Host && !r.answered.Before(since) && !r.answered.IsZero()
}

// others returns up to maxOthers targets of other hosts that have a port, in the order of sorted. If single, there is
// no other replica, and hosts that have not answered for otherAge are omitted, so that an outage of all targets is not
// hidden forever.
func (r *reachability) others(t check.Target, now time.Time, single bool) (others []reachable) {
	for _, h := range r.sorted() {
		if len(others) == maxOthers {
			break
		}
		if h.target.Host != t.Host && h.target.Port != 0 && !(single && now.Sub(h.well) > otherAge) {
			others = append(others, h.target)
		}
	}
	return others
}

// massLoss reports whether at least massHosts hosts became unreachable within a time: most of the hosts that worked,
// and for most workspaces most of their hosts. The likely cause is then this replica's network.
func (r *reachability) massLoss(now time.Time, within time.Duration) bool {
	within = min(max(within, minLossWindow), maxLossWindow)
	type loss struct{ lost, all int }
	var total loss
	byWorkspace, hosts := make(map[string]loss), make(map[string]struct{})
	for key, h := range r.hosts {
		l := byWorkspace[key.workspace]
		switch {
		case h.lost.IsZero():
			l.all++
		case now.Sub(h.lost) <= within:
			l.lost++
			l.all++
			hosts[key.host] = struct{}{}
		}
		byWorkspace[key.workspace] = l
	}
	cut, voting := 0, 0
	for _, l := range byWorkspace {
		total.lost += l.lost
		total.all += l.all
		if l.all > 0 {
			voting++
		}
		if 2*l.lost > l.all {
			cut++
		}
	}
	return len(hosts) >= massHosts && 2*total.lost > total.all && 2*cut > voting
}
