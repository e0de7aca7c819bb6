package checker

import (
	"net/netip"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/check"
)

// Limits of what is remembered of hosts.
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

// reach remembers which hosts this replica reaches, to distinguish an unreachable target from a broken network of its
// own. It reads no clock: times are arguments. It is not safe for concurrent use.
type reach struct {
	hosts    map[string]*hostReach
	answered time.Time // when a host that is not loopback last answered
	by       string    // that host
	swept    time.Time
}

// hostReach is the state of one host.
type hostReach struct {
	target reachable
	well   time.Time // when it last answered; zero: never
	lost   time.Time // when it became unreachable after it had answered; zero: it has not
	until  time.Time // when it is forgotten
}

func newReach() *reach { return &reach{hosts: make(map[string]*hostReach)} }

// isLoopback reports whether a target is this machine itself, which no network separates from this replica.
func isLoopback(t check.Target) bool {
	addr, err := netip.ParseAddr(t.Host)
	return t.Host == "localhost" || err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified())
}

// note records that a target answered, or that it was unreachable, in a check with an interval; 0: it was tried without
// a check.
func (r *reach) note(t reachable, answered bool, interval time.Duration, now time.Time) {
	if isLoopback(t.Target) || t.Host == "" { // a resolver of this machine may answer from its cache
		return
	}
	r.sweep(now)
	h := r.hosts[t.Host]
	if h == nil {
		if !answered {
			return // it never worked, so its loss says nothing
		}
		if len(r.hosts) >= maxHosts {
			r.evict()
		}
		h = new(hostReach)
		r.hosts[t.Host] = h
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
func (r *reach) sweep(now time.Time) {
	if now.Sub(r.swept) < sweepInterval {
		return
	}
	r.swept = now
	for host, h := range r.hosts {
		if now.After(h.until) {
			delete(r.hosts, host)
		}
	}
}

// evict forgets the hosts that answered least recently.
func (r *reach) evict() {
	for _, h := range r.sorted()[maxHosts-evictedAtATime:] {
		delete(r.hosts, h.target.Host)
	}
}

// sorted returns the hosts, the one that answered most recently first.
func (r *reach) sorted() []*hostReach {
	all := make([]*hostReach, 0, len(r.hosts))
	for _, h := range r.hosts {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *hostReach) int { return b.well.Compare(a.well) })
	return all
}

// works reports whether a host other than t's has answered since an instant, which shows that the network works.
func (r *reach) works(t check.Target, since time.Time) bool {
	return r.by != t.Host && !r.answered.Before(since) && !r.answered.IsZero()
}

// others returns up to maxOthers targets of other hosts that have a port, the one that answered most recently first. If
// single, there is no other replica, and hosts that have not answered for otherAge are left out, so that an outage of
// all targets is not hidden forever.
func (r *reach) others(t check.Target, now time.Time, single bool) (others []reachable) {
	for _, h := range r.sorted() {
		if len(others) == maxOthers || single && now.Sub(h.well) > otherAge {
			break
		}
		if h.target.Host != t.Host && h.target.Port != 0 {
			others = append(others, h.target)
		}
	}
	return others
}

// massLoss reports whether at least massHosts hosts, and most of those that worked, became unreachable within a time.
// The likely cause is then this replica's network.
func (r *reach) massLoss(now time.Time, within time.Duration) bool {
	within = min(max(within, minLossWindow), maxLossWindow)
	lost, all := 0, 0
	for _, h := range r.hosts {
		switch {
		case h.lost.IsZero():
			all++
		case now.Sub(h.lost) <= within:
			lost++
			all++
		}
	}
	return lost >= massHosts && 2*lost > all
}
