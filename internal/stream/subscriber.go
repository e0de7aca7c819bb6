package stream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"time"
)

const (
	aliveInterval  = 25 * time.Second // between messages on a quiet stream; proxies give up after 60 s
	writeTimeout   = 10 * time.Second
	lifetime       = time.Hour       // of a stream, up to a quarter more or less; the client reconnects
	reconnectDelay = 3 * time.Second // of clients, up to twice that
)

// inThePast as a read deadline wakes a subscriber that waits by reading.
var inThePast = time.Unix(1, 0)

// message is a state of a topic, and the event that announces it.
type message struct {
	tag  string
	body []byte
	gone bool // the topic is gone: the stream ends
}

// subscriber is one open stream. Its goroutine waits on the connection.
type subscriber struct {
	conn    net.Conn
	address netip.Addr // which it counts for; see networkOf
	ends    time.Time
	seen    *message // the last message it has looked at
	tag     string   // the state that the client knows
	buf     [1]byte
}

// send writes messages and alive events until the topic, the lifetime or the
// connection ends. It waits by reading, which also reports when the client has
// gone. The client must not send anything.
func (sub *subscriber) send(subs *subscribers) {
	aliveAt := time.Now().Add(aliveInterval)
	for {
		// The deadline is set before looking for a message: one that comes after that
		// moves the deadline again.
		deadline := aliveAt
		if sub.ends.Before(deadline) {
			deadline = sub.ends
		}
		sub.conn.SetReadDeadline(deadline)
		if m := sub.unseen(subs); m != nil {
			if sub.seen = m; m.gone {
				return
			}
			if m.tag != sub.tag {
				if sub.tag = m.tag; !sub.write(m.body) {
					return
				}
				aliveAt = time.Now().Add(aliveInterval)
			}
			continue
		}
		_, err := sub.conn.Read(sub.buf[:])
		switch now := time.Now(); {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return
		case sub.unseen(subs) != nil, now.Before(deadline): // woken, perhaps for a message it has just seen
		case !now.Before(sub.ends), !sub.write(aliveEvent):
			return
		default:
			aliveAt = now.Add(aliveInterval)
		}
	}
}

// unseen returns the latest message if the subscriber has not looked at it, or
// nil. New subscribers of a topic have no message yet.
func (sub *subscriber) unseen(subs *subscribers) *message {
	if m := subs.latest.Load(); m != sub.seen {
		return m
	}
	return nil
}

func (sub *subscriber) write(p []byte) bool {
	sub.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // if this fails, Write fails too
	_, err := sub.conn.Write(p)
	return err == nil
}

// aliveEvent keeps proxies and scripts from taking a quiet stream for a dead one.
// It is an event because scripts do not see comments.
var aliveEvent = []byte("event: alive\ndata: 1\n\n")

func changeEvent(tag string) []byte {
	return fmt.Appendf(nil, "event: change\nid: %s\ndata: %s\n\n", tag, tag)
}

// firstEvent sets the client's reconnection delay and tells it the present tag: by
// a change event if it has another one, and by an alive event otherwise. have is
// "" if the client has not said what it has.
func firstEvent(have, tag string) []byte {
	delay := reconnectDelay + rand.N(reconnectDelay)
	head := fmt.Appendf(nil, "retry: %d\n", delay.Milliseconds())
	if have != "" && have != tag {
		return append(head, changeEvent(tag)...)
	}
	return append(fmt.Appendf(head, "id: %s\n", tag), aliveEvent...)
}
