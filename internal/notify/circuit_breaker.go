package notify

import "time"

const (
	// breakAfter is the number of consecutive failures after which a destination is
	// paused. After the pause, one message tests it.
	breakAfter = 5

	// maxBreakers is the maximum number of failing destinations that are tracked.
	maxBreakers = 10_000
)

// breakers are the circuit breakers of the destinations of one channel. They are not
// safe for concurrent use.
type breakers struct {
	channel
	hosts map[string]*breaker // failing destinations
}

func newBreakers(c channel) breakers { return breakers{c, make(map[string]*breaker)} }

// breaker is the state of one failing destination.
type breaker struct {
	failures int       // consecutive failures
	until    time.Time // end of the current pause
	pause    time.Duration
}

// note records whether an attempt found the destination unreachable.
func (b *breakers) note(host string, unreachable bool, now time.Time) {
	if !unreachable {
		delete(b.hosts, host)
		return
	}
	h := b.hosts[host]
	if h == nil {
		if len(b.hosts) >= maxBreakers {
			clear(b.hosts) // limits the memory; with so many failures, the hosts are not the cause
		}
		h = &breaker{pause: b.minPause}
		b.hosts[host] = h
	}
	h.failures++
	if h.failures >= breakAfter && !now.Before(h.until) {
		h.until = now.Add(h.pause)
		h.pause = min(2*h.pause, b.maxPause)
	}
}

// failing reports whether the last attempt found the destination unreachable.
func (b *breakers) failing(host string) bool { return b.hosts[host] != nil }

// block adds to inFlight, the number of messages being sent to each destination, the
// number that failing destinations must not get.
func (b *breakers) block(inFlight map[string]int, now time.Time) {
	for host, h := range b.hosts {
		switch {
		case now.Before(h.until):
			inFlight[host] = b.perHost
		case h.failures >= breakAfter:
			inFlight[host] += b.perHost - 1 // allow one test message
		}
	}
}
