package fair

import "time"

const (
	// BreakAfter is the number of consecutive failures after which a target is paused. After the pause, one message
	// tests it.
	BreakAfter = 5

	// maxBreakers is the maximum number of failing targets that are tracked.
	maxBreakers = 10_000
)

// breakers are the circuit breakers of targets. They are not safe for concurrent use.
type breakers struct {
	minPause, maxPause time.Duration
	count              int
	failing            map[string]map[string]*breaker // by workspace and host
}

func newBreakers(minPause, maxPause time.Duration) *breakers {
	return &breakers{minPause: minPause, maxPause: maxPause, failing: make(map[string]map[string]*breaker)}
}

// breaker is the state of one failing target.
type breaker struct {
	failures int       // consecutive failures
	until    time.Time // end of the current pause
	pause    time.Duration
}

// note records whether an attempt found a target unreachable.
func (b *breakers) note(t Target, unreachable bool, now time.Time) {
	hosts := b.failing[t.Workspace]
	if !unreachable {
		if hosts[t.Host] != nil {
			b.count--
		}
		if delete(hosts, t.Host); len(hosts) == 0 {
			delete(b.failing, t.Workspace)
		}
		return
	}
	h := hosts[t.Host]
	if h == nil {
		if b.count >= maxBreakers {
			b.forgetOne()
		}
		if b.failing[t.Workspace] == nil {
			b.failing[t.Workspace] = make(map[string]*breaker)
		}
		h = &breaker{pause: b.minPause}
		b.failing[t.Workspace][t.Host] = h
		b.count++
	}
	h.failures++
	if h.failures >= BreakAfter && !now.Before(h.until) {
		h.until = now.Add(h.pause)
		h.pause = min(2*h.pause, b.maxPause)
	}
}

// forgetOne forgets a target of the workspace that has most failing ones.
func (b *breakers) forgetOne() {
	var most string
	for workspace, hosts := range b.failing {
		if len(hosts) > len(b.failing[most]) {
			most = workspace
		}
	}
	for host := range b.failing[most] {
		b.note(Target{Workspace: most, Host: host}, false, time.Time{})
		return
	}
}

// isFailing reports whether the last attempt found a target unreachable.
func (b *breakers) isFailing(t Target) bool { return b.failing[t.Workspace][t.Host] != nil }

// max returns how many messages a target may be sent at a time; -1: there is no limit.
func (b *breakers) max(t Target, now time.Time) int {
	h := b.failing[t.Workspace][t.Host]
	switch {
	case h == nil || h.failures < BreakAfter:
		return -1
	case now.Before(h.until):
		return 0
	}
	return 1 // one message tests it
}
