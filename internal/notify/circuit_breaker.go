package notify

import "time"

// When a destination is in trouble so many times in a row, it is left alone for
// a while and then tried with one message.
const (
	breakAfter  = 5
	maxBreakers = 10_000
)

// breakers remember which destinations are in trouble. They are one
// goroutine's.
type breakers struct {
	hosts       map[string]*breaker
	perHost     int           // messages on their way to one destination at a time
	first, most time.Duration // the pauses double from the one to the other
}

func newBreakers(perHost int, first, most time.Duration) breakers {
	return breakers{make(map[string]*breaker), perHost, first, most}
}

type breaker struct {
	failures int       // in a row
	until    time.Time // left alone until then
	pause    time.Duration
}

// note notes whether a message to host found it in trouble.
func (b *breakers) note(host string, unreachable bool, now time.Time) {
	if !unreachable {
		delete(b.hosts, host)
		return
	}
	h := b.hosts[host]
	if h == nil {
		if len(b.hosts) >= maxBreakers {
			clear(b.hosts) // too many fail for this to help any of them
		}
		h = &breaker{pause: b.first}
		b.hosts[host] = h
	}
	h.failures++
	if h.failures >= breakAfter && !now.Before(h.until) {
		h.until = now.Add(h.pause)
		h.pause = min(2*h.pause, b.most)
	}
}

// fill adds to busy, which counts the messages on their way to each
// destination, the places that failing destinations do not get.
func (b *breakers) fill(busy map[string]int, now time.Time) {
	for host, h := range b.hosts {
		switch {
		case now.Before(h.until):
			busy[host] = b.perHost
		case h.failures >= breakAfter:
			busy[host] += b.perHost - 1 // one to see whether it is back
		}
	}
}
