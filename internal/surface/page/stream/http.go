package stream

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/shared/fair"
)

// retryAfter is the Retry-After header of rejections, in seconds.
const retryAfter = "60"

// Serve answers with the stream of a topic: a "change" event with the tag of each new state, and "alive" events at the
// beginning and while there are no changes. A client can send the tag of its state as Last-Event-ID or ?have=. If it
// differs from the present tag, the first event is a change event.
//
// Streams are shared fairly by their keys, such as the client's address and the workspace. If the topic has no tag,
// Serve returns the error of its state and writes nothing. It answers all other requests itself: with 429 if there are
// too many streams of a key, or 503 if there are too many in total, in both cases before it asks for the state. Over
// HTTP/2 it returns when the stream ends, otherwise immediately.
func (b *Broadcaster) Serve(w http.ResponseWriter, r *http.Request, t *Topic, keys ...fair.Key) error {
	sub := &subscriber{keys: keys, ends: time.Now().Add(lifetime*3/4 + rand.N(lifetime/2))}
	if r.Method != http.MethodHead {
		if status := b.admit(sub); status != http.StatusOK {
			refuse(w, status)
			return nil
		}
	}
	sub.seen = b.latest(t) // before the state: a later message is newer than the state
	tag, _, err := t.state(r.Context())
	if tag == "" {
		b.release(sub)
		return err
	}
	sub.tag = tag
	if r.Method == http.MethodHead {
		setHeader(w.Header())
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
			b.release(sub)
		}
		return nil
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil { // the client polls instead
		b.release(sub)
		refuse(w, http.StatusServiceUnavailable)
		return nil
	}
	sub.conn = conn
	if buffered.Reader.Buffered() > 0 || !sub.write(append(responseHead(w.Header()), firstEvent(have, tag)...)) {
		conn.Close()
		b.release(sub)
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
