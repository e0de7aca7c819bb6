package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/web"
)

// MaxStreams is how many event streams may be open over all pages, unless Config
// says otherwise.
const MaxStreams = 20_000

// The limits of event streams, by which open pages hear that they have changed.
const (
	maxStreamsPerAddress = 100  // an IPv6 network of 64 bits counts as one address
	streamRefusal        = "60" // seconds until one who was refused may ask again

	changeGap      = 500 * time.Millisecond // between two messages of one page
	recheck        = 30 * time.Second       // how often a page is looked at though nobody says that it changed
	recheckFailed  = time.Second            // after it could not be made
	keepAlive      = 25 * time.Second       // between signs of life on a quiet stream; proxies give up after 60 s
	streamDeadline = 10 * time.Second       // for each write
	streamLife     = time.Hour              // then the client connects anew; up to a quarter more or less
	reconnectAfter = 3 * time.Second        // what clients are told to wait; up to twice that
)

var typeEvents = []string{"text/event-stream"}

// hub is who has which page open. A viewer is no queue: a change is a state
// that replaces the one before, so one who is slow learns the latest.
type hub struct {
	now  func() time.Time // the clock of look's until
	most int              // streams

	// look returns the tag of a page as a request gets it now, and until when it
	// lasts (zero: no end). allswell.ErrNotFound says that the page is gone.
	look func(ctx context.Context, e *entry) (tag string, until time.Time, err error)

	mu        sync.Mutex
	ended     bool
	open      int
	addresses map[netip.Addr]int // streams of each
	crowds    map[*entry]*crowd  // of the pages that somebody has open
}

// crowd is the streams of one page.
type crowd struct {
	stop    context.CancelFunc // ends its herald
	news    atomic.Pointer[bulletin]
	streams map[*stream]struct{} // under the hub's mutex
}

// bulletin is a state of a page, and how viewers are told of it.
type bulletin struct {
	tag     string
	message []byte
	gone    bool // the page was deleted, or has another address
}

// stream is one open page. A goroutine of its own waits on the connection, and
// nothing else is kept: with the goroutines and buffers of net/http it would be
// seven times as large (decision 0026).
type stream struct {
	conn    net.Conn
	address netip.Addr
	ends    time.Time
	seen    *bulletin // the last that was looked at
	told    string    // the tag that the client knows of
	one     [1]byte
}

// longAgo as a deadline wakes who reads.
var longAgo = time.Unix(1, 0)

func newHub(now func() time.Time, most int, look func(context.Context, *entry) (string, time.Time, error)) *hub {
	if most <= 0 {
		most = MaxStreams
	}
	return &hub{now: now, most: most, look: look, addresses: make(map[netip.Addr]int), crowds: make(map[*entry]*crowd)}
}

// changed says that a page may have changed. It never waits.
func (e *entry) changed() {
	select {
	case e.poke <- struct{}{}:
	default: // it is known already
	}
}

// latest returns what the viewers of a page were told last; nil: nothing.
func (h *hub) latest(e *entry) *bulletin {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.crowds[e]; c != nil {
		return c.news.Load()
	}
	return nil
}

// admit takes a place for a stream, to be given back by leave. Otherwise it
// returns the status that says why there is none.
func (h *hub) admit(address netip.Addr) (status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended || h.open >= h.most:
		return http.StatusServiceUnavailable
	case h.addresses[address] >= maxStreamsPerAddress:
		return http.StatusTooManyRequests
	}
	h.open++
	h.addresses[address]++
	return http.StatusOK
}

// leave gives the place of a stream back.
func (h *hub) leave(address netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	if h.addresses[address]--; h.addresses[address] == 0 {
		delete(h.addresses, address)
	}
}

// serve tells a stream that has a place of all that happens to its page, until
// one of both ends.
func (h *hub) serve(e *entry, st *stream) {
	defer h.leave(st.address)
	defer st.conn.Close()
	if c := h.join(e, st); c != nil {
		st.follow(c)
		h.part(e, c, st)
	}
}

// join returns the crowd of a page with the stream in it, or nil after the end.
func (h *hub) join(e *entry, st *stream) *crowd {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil
	}
	c := h.crowds[e]
	if c == nil {
		ctx, stop := context.WithCancel(context.Background())
		c = &crowd{stop: stop, streams: make(map[*stream]struct{})}
		h.crowds[e] = c
		go h.herald(ctx, e, c)
	}
	c.streams[st] = struct{}{}
	return c
}

func (h *hub) part(e *entry, c *crowd, st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(c.streams, st)
	if len(c.streams) == 0 {
		c.stop()
		if h.crowds[e] == c {
			delete(h.crowds, e)
		}
	}
}

// herald looks at a page whenever it may have changed, and tells its viewers
// once it has, so that whoever asks then gets the new one from memory. It
// returns when ctx ends or the page is gone.
func (h *hub) herald(ctx context.Context, e *entry, c *crowd) {
	for {
		tag, until, err := h.look(ctx, e)
		wait := recheck
		switch last := c.news.Load(); {
		case ctx.Err() != nil:
			return
		case errors.Is(err, allswell.ErrNotFound):
			h.tell(e, c, &bulletin{gone: true})
			return
		case err != nil:
			wait = recheckFailed
		case last == nil || last.tag != tag:
			h.tell(e, c, &bulletin{tag: tag, message: changeMessage(tag)})
		}
		if err == nil && !until.IsZero() {
			wait = min(wait, until.Sub(h.now()))
		}
		if !pause(ctx, changeGap, nil) || !pause(ctx, max(wait, recheckFailed)-changeGap, e.poke) {
			return
		}
	}
}

// pause waits until something comes from early, at most for d; false: ctx has
// ended.
func pause(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-early:
	case <-timer.C:
	}
	return true
}

// tell wakes all viewers. It waits for none of them: each writes by itself.
func (h *hub) tell(e *entry, c *crowd, n *bulletin) {
	c.news.Store(n)
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.gone && h.crowds[e] == c {
		delete(h.crowds, e) // who comes from now on belongs to another
	}
	for st := range c.streams {
		st.conn.SetReadDeadline(longAgo) // it fails on a closed one, which needs no waking
	}
}

// end ends all streams and takes no more.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, c := range h.crowds {
		c.stop()
		for st := range c.streams {
			st.conn.Close()
		}
	}
}

// follow writes news and signs of life until the page, the stream's time or the
// connection ends. It waits by reading, because that also tells when the client
// is gone: nothing may be sent by it.
func (st *stream) follow(c *crowd) {
	due := time.Now().Add(keepAlive) // the next sign of life
	for {
		// The deadline comes before the look: news after the look move it again.
		until := earlier(due, st.ends)
		st.conn.SetReadDeadline(until)
		if n := st.unseen(c); n != nil {
			if st.seen = n; n.gone {
				return
			}
			if n.tag != st.told {
				if st.told = n.tag; !st.write(n.message) {
					return
				}
				due = time.Now().Add(keepAlive)
			}
			continue
		}
		_, err := st.conn.Read(st.one[:])
		switch now := time.Now(); {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return
		case st.unseen(c) != nil, now.Before(until): // woken, maybe for news that it has just seen
		case !now.Before(st.ends), !st.write(aliveMessage):
			return
		default:
			due = now.Add(keepAlive)
		}
	}
}

// unseen returns what the crowd was told last if the stream has not looked at it
// yet, or nil. A crowd that has just come together was told nothing.
func (st *stream) unseen(c *crowd) *bulletin {
	if n := c.news.Load(); n != st.seen {
		return n
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// aliveMessage keeps proxies from taking a quiet stream for a dead one, and pages
// too: their scripts see events, and no comments.
var aliveMessage = []byte("event: alive\ndata: 1\n\n")

func (st *stream) write(p []byte) bool {
	st.conn.SetWriteDeadline(time.Now().Add(streamDeadline)) // where it fails, so does the write
	_, err := st.conn.Write(p)
	return err == nil
}

func changeMessage(tag string) []byte {
	return fmt.Appendf(nil, "event: change\nid: %s\ndata: %s\n\n", tag, tag)
}

// greeting is what a stream begins with: when to come again, and the tag of the
// page as it is, which is news to a client that has another one, and to all others
// a sign of life. have is "" if the client has not said.
func greeting(have, tag string) []byte {
	retry := reconnectAfter + rand.N(reconnectAfter)
	head := fmt.Appendf(nil, "retry: %d\n", retry.Milliseconds())
	if have != "" && have != tag {
		return append(head, changeMessage(tag)...)
	}
	return append(fmt.Appendf(head, "id: %s\n", tag), aliveMessage...)
}

// serveEvents answers with a stream of server-sent events: "change" with the
// tag of the page whenever there is something new to see, and "alive" at first and
// whenever nothing else was said for a while. A client that says
// which tag it has, by Last-Event-ID or ?have=, is told at once if that is not
// the current one.
func (s *Site) serveEvents(w http.ResponseWriter, r *http.Request, v visit) {
	e := v.entry
	st := &stream{address: networkOf(clientaddr.Of(r)), ends: time.Now().Add(streamLife*3/4 + rand.N(streamLife/2))}
	st.seen = s.hub.latest(e) // before the look: who is told later is told of something newer
	told, _, err := s.look(r.Context(), e)
	if told == "" {
		s.failForAt(w, r, v, err)
		return
	}
	st.told = told
	h := w.Header()
	if r.Method == http.MethodHead {
		describeStream(h)
		return
	}
	status := s.hub.admit(st.address)
	if status != http.StatusOK {
		refuseStream(w, status)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2 with nothing before us: the client has to do without
		s.hub.leave(st.address)
		refuseStream(w, http.StatusServiceUnavailable)
		return
	}
	st.conn = conn
	have := r.Header.Get("Last-Event-Id")
	if have == "" {
		have = r.URL.Query().Get("have")
	}
	describeStream(h)
	if buffered.Reader.Buffered() > 0 || !st.write(append(streamHead(h), greeting(have, st.told)...)) {
		conn.Close()
		s.hub.leave(st.address)
		return
	}
	go s.hub.serve(e, st) // the request ends here, and with it all that net/http keeps for it
}

func describeStream(h http.Header) {
	h["Content-Type"] = typeEvents
	h["Cache-Control"] = []string{web.CacheNever}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would wait for more
}

// streamHead is the answer up to its body, which ends with the connection.
func streamHead(h http.Header) []byte {
	h["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	h["Connection"] = []string{"close"}
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	h.Write(&head) // a bytes.Buffer does not fail
	head.WriteString("\r\n")
	return head.Bytes()
}

func refuseStream(w http.ResponseWriter, status int) {
	w.Header()["Retry-After"] = []string{streamRefusal}
	w.Header()["Cache-Control"] = []string{web.CacheNever}
	http.Error(w, "Too many pages are open. This one will look for news every minute.", status)
}

// networkOf returns whom an address counts for: itself, or its network of 64
// bits.
func networkOf(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if network, err := addr.Prefix(64); err == nil { // too long for IPv4
		return network.Addr()
	}
	return addr
}

// look returns the tag of a page as serveStatus would answer it now, and until
// when it lasts. It is "" if there is an error and nothing old to show.
func (s *Site) look(ctx context.Context, e *entry) (tag string, until time.Time, err error) {
	now, err := s.lookUp(ctx, e.slug)
	if err == nil && now != e {
		err = allswell.ErrNotFound // deleted and made again
	}
	if err != nil {
		return "", time.Time{}, err
	}
	snap, err := e.summary.Get(ctx)
	if snap == nil {
		return "", time.Time{}, err
	}
	tag = snap.tag
	if _, late := s.late(); late {
		tag = lateTag(tag)
	}
	return tag, e.summary.Expires(), err
}

// tagOf returns the tag of a status page. It depends on nothing but what there
// is to see on it, the time of rendering and what moves by itself left out:
// replicas agree, and what is rendered again without a change has the same.
func tagOf(ctx context.Context, sc screen) (string, error) {
	sc.Frame.AsOf = moment{}
	if b, ok := sc.Body.(statusBody); ok {
		sc.Body = b.still()
	}
	html, err := render(ctx, sc)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(html)
	return hex.EncodeToString(sum[:8]), nil
}

// lateTag is the tag of a page with the line that updates are delayed.
func lateTag(tag string) string { return tag + "-late" }

// follow makes a part of a status page keep itself current in the browser. tag
// is its page's.
func (f *frame) follow(tag string) {
	home, _, _ := strings.Cut(f.Site.Home, "?")
	f.Events, f.Tag = strings.TrimSuffix(home, "/")+"/events", tag
}

// Streams returns how many event streams are open.
func (s *Site) Streams() int {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.hub.open
}

// EndStreams ends all event streams at once and refuses further ones. Clients
// come again after a few seconds.
func (s *Site) EndStreams() { s.hub.end() }
