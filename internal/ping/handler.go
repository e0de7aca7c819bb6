// Package ping serves the ping endpoint. A ping joins the batch that gathers
// (batch.go), which one transaction of the store makes durable, and is answered
// after that. The same goroutine and the same transactions write the beat, by
// which the service notes that it could hear (liveness.go).
package ping

import (
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/limit"
	"github.com/allswell/allswell/internal/store"
)

// Path is what every ping's path has before the token.
const Path = "/api/v1/heartbeat/"

// rateWindow is the span in which pings of one address are counted (contract
// section 8).
const rateWindow = time.Minute

// A ping's body means nothing. This much of it is read, so that the client gets
// its answer and can use its connection again; after that the connection is
// closed behind the answer.
const (
	maxDrain     = 1 << 20
	maxDrainTime = time.Second
)

// Config is what a Server needs.
type Config struct {
	Replica string       // names this process among those that share the database
	Logger  *slog.Logger // nil: discard

	RateLimit int                      // pings per minute and address; 0: no limit
	Exempt    func(*http.Request) bool // whether a ping is not limited; nil: none
}

// Server answers pings. It expects the client's true address in
// Request.RemoteAddr.
type Server struct {
	limited bool
	limits  *limit.Addresses
	limit   []string                 // the value of X-RateLimit-Limit
	exempt  func(*http.Request) bool // nil: none
	batcher *batcher
}

// New returns a Server that answers 503 until Start. It needs no store for that,
// so it can answer while the database is away. The pings that it rejects
// meanwhile are saved, as all rejected pings are, with the first beat.
func New(c Config) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{
		limited: c.RateLimit > 0,
		limits:  limit.NewAddresses(c.RateLimit, rateWindow),
		limit:   []string{strconv.Itoa(c.RateLimit)},
		exempt:  c.Exempt,
		batcher: newBatcher(c.Replica, c.Logger),
	}
}

// answer is one that is written as it stands.
type answer struct {
	status int
	body   []byte
	length []string
}

func newAnswer(status int, body string) *answer {
	return &answer{status, []byte(body), []string{strconv.Itoa(len(body))}}
}

// All answers there are.
var (
	heard      = newAnswer(http.StatusOK, `{"ok":true}`)
	notFound   = newAnswer(http.StatusNotFound, `{"message":"Not found."}`)
	badMethod  = newAnswer(http.StatusMethodNotAllowed, `{"message":"Method not allowed."}`)
	tooMany    = newAnswer(http.StatusTooManyRequests, `{"message":"Too many requests."}`)
	notNow     = newAnswer(http.StatusServiceUnavailable, `{"message":"The service cannot do this right now. Please try again."}`)
	ofOutcomes = [...]*answer{store.PingFailed: notNow, store.PingRecorded: heard, store.PingUnknown: notFound}
)

// The values of header fields, put into http.Header as they are and never
// changed. A cache must not answer a GET in our place.
var (
	jsonType   = []string{"application/json"}
	noStore    = []string{"no-store"}
	closed     = []string{"close"}
	allow      = []string{"GET, HEAD, POST"}
	none       = []string{"0"}
	retryAfter = []string{"7"} // seconds; five retries then span more than the 31 s of the line that we print
)

// ServeHTTP answers one ping (contract section 4.5). 200 means that it is
// durable, 503 that it may not be, everything else that it is not. Every
// request counts for the rate limit, whatever becomes of it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	a, place := s.admit(h, r, now)
	if r.ContentLength != 0 {
		drain(w, r)
	}
	if a == nil {
		a = ofOutcomes[s.batcher.wait(place)]
	}
	if a == notNow {
		h["Retry-After"] = retryAfter
	}
	h["Content-Length"] = a.length
	if a.status != http.StatusOK {
		w.WriteHeader(a.status)
	}
	if r.Method != http.MethodHead {
		w.Write(a.body) // the client may have gone
	}
}

// admit decides what can be decided without the store, and gives every other
// ping a place in a batch.
func (s *Server) admit(h http.Header, r *http.Request, now time.Time) (*answer, place) {
	token, ok := strings.CutPrefix(r.URL.Path, Path)
	method := r.Method == http.MethodPost || r.Method == http.MethodGet || r.Method == http.MethodHead
	ok = ok && method && allswell.IsPingToken(token)
	if s.limited && !s.allowed(h, r, now) {
		if ok {
			s.batcher.refuse(token, now)
		}
		return tooMany, place{}
	}
	if !method {
		h["Allow"] = allow
		return badMethod, place{}
	}
	if !ok {
		return notFound, place{}
	}
	p, ok := s.batcher.join(token, now)
	if !ok {
		s.batcher.turnAway(token, now)
		return notNow, p
	}
	return nil, p
}

// allowed counts a request for its address and tells in the headers where that
// stands.
func (s *Server) allowed(h http.Header, r *http.Request, now time.Time) bool {
	if s.exempt != nil && s.exempt(r) {
		return true
	}
	v := s.limits.Take(limit.AddressOf(r.RemoteAddr), now)
	h["X-Ratelimit-Limit"] = s.limit
	if v.Remaining == 0 {
		h["X-Ratelimit-Remaining"] = none
	} else {
		h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(v.Remaining)}
	}
	if !v.Allowed {
		wait := math.Ceil(v.Reset.Sub(now).Seconds())
		h["Retry-After"] = []string{strconv.Itoa(max(1, int(wait)))}
		h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(v.Reset.Add(time.Second-1).Unix(), 10)}
	}
	return v.Allowed
}

// drain reads what there is of a body, within bounds. If more follows, or what
// follows cannot be told from the next request, the connection is closed behind
// the answer, and nothing more is waited for.
func drain(w http.ResponseWriter, r *http.Request) {
	conn := http.NewResponseController(w)
	bounded := conn.SetReadDeadline(time.Now().Add(maxDrainTime)) == nil
	if _, err := io.CopyN(io.Discard, r.Body, maxDrain+1); err != io.EOF {
		w.Header()["Connection"] = closed
		return
	}
	if bounded {
		conn.SetReadDeadline(time.Time{}) // net/http sets its own for the next request
	}
}

// Start commits the first beat to the store and opens the door: from its return
// until Close, or until ctx ends, pings are recorded. It returns an error if the
// first beat could not be committed, and may be called again then.
func (s *Server) Start(ctx context.Context, to *store.Store) error { return s.batcher.start(ctx, to) }

// Ready reports whether pings can be recorded: the first beat is committed, and
// the last commit is younger than 15 s.
func (s *Server) Ready() bool { return s.batcher.ready(time.Now()) }

// Backlog returns the age of the oldest ping that was received here and is not
// committed, a refused one that is not saved yet included; 0 if there is none.
func (s *Server) Backlog() time.Duration { return s.batcher.backlog(time.Now(), nil, true) }

// GiveUp refuses further pings and answers those that wait with 503, for a stop
// that cannot wait for their commit. They may be recorded all the same.
func (s *Server) GiveUp() {
	s.batcher.shut()
	s.batcher.giveUp()
}

// Close refuses further pings, commits and answers those that wait, and writes
// a last beat with all refusals. It returns an error if that beat is not
// committed by the time ctx ends.
func (s *Server) Close(ctx context.Context) error { return s.batcher.close(ctx) }
