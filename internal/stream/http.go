package stream

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"time"
)

// retryAfter is when a refused client may ask again, in seconds.
const retryAfter = "60"

// Serve answers with the stream of a topic: a "change" event with the tag of each new
// state, and "alive" events at the beginning and while there are no changes. A client
// can send the tag of its state as Last-Event-ID or ?have=. If it differs from the
// present tag, the first event is a change event.
//
// address is the address of the client. If the topic has no tag, Serve returns the
// error of its state and writes nothing. It answers all other requests itself, with
// 429 or 503 if there are too many subscribers. Over HTTP/2 it returns when the stream ends,
// otherwise at once.
func (b *Broadcaster) Serve(w http.ResponseWriter, r *http.Request, t *Topic, address netip.Addr) error {
	sub := &subscriber{address: networkOf(address), ends: time.Now().Add(lifetime*3/4 + rand.N(lifetime/2))}
	sub.seen = b.latest(t) // before the state: a later message is newer than the state
	tag, _, err := t.state(r.Context())
	if tag == "" {
		return err
	}
	sub.tag = tag
	if r.Method == http.MethodHead {
		setHeader(w.Header())
		return nil
	}
	if status := b.admit(sub.address); status != http.StatusOK {
		refuse(w, status)
		return nil
	}
	have := r.Header.Get("Last-Event-Id")
	if have == "" {
		have = r.URL.Query().Get("have")
	}
	setHeader(w.Header())
	if r.ProtoMajor > 1 {
		conn := newResponseConn(w, r)
		if sub.conn = conn; conn.begin() && sub.write(firstEvent(have, tag)) {
			b.run(t, sub)
		} else {
			b.release(sub.address)
		}
		return nil
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil { // the client polls instead
		b.release(sub.address)
		refuse(w, http.StatusServiceUnavailable)
		return nil
	}
	sub.conn = conn
	if buffered.Reader.Buffered() > 0 || !sub.write(append(responseHead(w.Header()), firstEvent(have, tag)...)) {
		conn.Close()
		b.release(sub.address)
		return nil
	}
	go b.run(t, sub) // the request ends here, which frees the memory of net/http
	return nil
}

func setHeader(h http.Header) {
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would buffer
}

// responseHead is the response up to its body, which ends with the connection.
func responseHead(h http.Header) []byte {
	h["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	h["Connection"] = []string{"close"}
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	h.Write(&head) // a bytes.Buffer does not fail
	head.WriteString("\r\n")
	return head.Bytes()
}

func refuse(w http.ResponseWriter, status int) {
	w.Header()["Retry-After"] = []string{retryAfter}
	w.Header()["Cache-Control"] = []string{"no-store"}
	http.Error(w, "Too many event streams are open. Please try again in a minute.", status)
}

// networkOf returns the key under which an address is counted: the address, or its
// IPv6 /64 network.
func networkOf(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if network, err := addr.Prefix(64); err == nil { // too long for IPv4
		return network.Addr()
	}
	return addr
}
