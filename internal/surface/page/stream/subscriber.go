package stream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/allswell/allswell/internal/shared/fair"
)

const (
	aliveInterval  = 25 * time.Second // between messages on an idle stream; proxies give up after 60 s
	writeTimeout   = 10 * time.Second
	lifetime       = time.Hour       // of a stream, up to a quarter more or less; the client reconnects
	reconnectDelay = 3 * time.Second // of clients, up to twice that
)

// inThePast is a read deadline that wakes a subscriber from its read.
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
	keys    []fair.Key
	counted bool // guarded by the broadcaster's mutex
	ends    time.Time
	seen    *message // the last message it has handled
	tag     string   // the state that the client has
	buf     [1]byte
}

// send writes messages and alive events until the topic, the lifetime or the connection ends. It waits in a read, which
// also detects that the client has disconnected. The client must not send anything.
func (sub *subscriber) send(subs *subscribers) {
	aliveAt := time.Now().Add(aliveInterval)
	for {
		// The deadline is set before looking for a message: a later message moves the deadline again.
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
		case sub.unseen(subs) != nil, now.Before(deadline): // woken, perhaps for a message that it has already handled
		case !now.Before(sub.ends), !sub.write(aliveEvent):
			return
		default:
			aliveAt = now.Add(aliveInterval)
		}
	}
}

// unseen returns the latest message if the subscriber has not handled it, and nil
// otherwise. A topic without changes since its first subscriber has no message.
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

// aliveEvent shows proxies and scripts that an idle stream is alive. It is an event
// because scripts do not see comments.
var aliveEvent = []byte("event: alive\ndata: 1\n\n")

func changeEvent(tag string) []byte {
	return fmt.Appendf(nil, "event: change\nid: %s\ndata: %s\n\n", tag, tag)
}

// firstEvent returns the first event of a stream, which sets the client's reconnection
// delay. It is a change event if the client has another tag than the present one, and
// an alive event otherwise. have is "" if the client did not send a tag.
func firstEvent(have, tag string) []byte {
	delay := reconnectDelay + rand.N(reconnectDelay)
	head := fmt.Appendf(nil, "retry: %d\n", delay.Milliseconds())
	if have != "" && have != tag {
		return append(head, changeEvent(tag)...)
	}
	return append(fmt.Appendf(head, "id: %s\n", tag), aliveEvent...)
}
