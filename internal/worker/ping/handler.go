// Package ping serves the ping endpoint. A ping joins the open batch (batch.go), one transaction of the store makes the
// batch durable, and then the ping is answered. The same goroutine and the same transactions write the liveness records
// (liveness.go), which prove that this replica could receive pings. Pings that are not recorded are handled in
// rejected.go if their token was read, and otherwise in lost_pings.go. docs/deadlines.md explains why that matters. All
// requests but plain pings to the token of a monitor are read in contact.go, and recorded in signal.go; they join the
// same batches.
package ping

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// Path is the path of a ping, without the token at its end.
const Path = "/api/v1/heartbeat/"

// rateWindow is the window of the rate limit per client address.
const rateWindow = time.Minute

// The body of a ping is ignored. Up to maxDrain bytes of it are read, for at most maxDrainTime, so that the client can
// reuse the connection. If there is more, the connection is closed after the answer.
const (
	maxDrain     = 1 << 20
	maxDrainTime = time.Second
)

// Config configures a Server.
type Config struct {
	Replica string       // name of this process, unique among the replicas
	Logger  *slog.Logger // nil: no log

	RateLimit int                      // pings per minute and client address; 0: no limit
	Exempt    func(*http.Request) bool // reports whether a ping is exempt from the limit; nil: none is
}

// Server answers pings. Request.RemoteAddr must be the address of the client, not of a reverse proxy.
type Server struct {
	limited bool
	limits  *limit.Addresses
	limit   []string                 // value of X-RateLimit-Limit
	tooMany *answer                  // to pings over the limit
	exempt  func(*http.Request) bool // nil: none
	outputs outputs                  // memory for the bodies of signals
	batcher *batcher

	provisioning   *fair.Pool // has a place for each monitor that is being created
	unacknowledged unacknowledgedStarts
}

// New returns a Server that answers 503 until Start. It needs no store for that, so it can answer while the database is
// unavailable. The pings that it rejects in the meantime are saved with the first liveness record.
func New(c Config) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{
		limited: c.RateLimit > 0,
		limits:  limit.NewAddresses(c.RateLimit, rateWindow),
		limit:   []string{strconv.Itoa(c.RateLimit)},
		tooMany: newAnswer(http.StatusTooManyRequests, fmt.Sprintf(
			`{"message":"Too many requests: at most %d pings a minute from one address. ALLSWELL_PING_EXEMPT exempts `+
				`networks."}`, c.RateLimit)),
		exempt:  c.Exempt,
		batcher: newBatcher(c.Replica, c.Logger),

		provisioning: fair.NewPool(maxProvisioning, waitingToProvision),
	}
}

// answer is a prepared response.
type answer struct {
	status int
	body   []byte
	length []string
}

func newAnswer(status int, body string) *answer {
	return &answer{status, []byte(body), []string{strconv.Itoa(len(body))}}
}

// All answers except the answer to pings over the limit, which names the limit.
var (
	recorded    = newAnswer(http.StatusOK, `{"ok":true}`)
	notFound    = newAnswer(http.StatusNotFound, `{"message":"Not found."}`)
	badMethod   = newAnswer(http.StatusMethodNotAllowed, `{"message":"Method not allowed."}`)
	unavailable = newAnswer(http.StatusServiceUnavailable,
		`{"message":"The service cannot do this right now. Please try again."}`)
)

// Values of header fields, shared by all responses and never modified. no-store keeps
// caches from answering a GET themselves.
var (
	jsonType   = []string{"application/json"}
	noStore    = []string{"no-store"}
	closed     = []string{"close"}
	allow      = []string{"GET, HEAD, POST"}
	none       = []string{"0"}
	retryAfter = []string{"7"} // seconds; curl --retry 5 then retries for more than 31 s
)

// ServeHTTP answers one ping, as documented in docs/api.md. 200 (201 and 202 too, on the paths of other services) means
// that the ping is durable, 503 that it may or may not be, and every other status that it is not recorded. Every
// request that is not exempt counts towards the rate limit, whatever its answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.URL.Path, Path)
	if !ok || strings.Contains(token, "/") {
		s.serveContact(w, r)
		return
	}
	now := time.Now()
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	a, slot := s.admit(h, r, token, now)
	if r.ContentLength != 0 {
		drain(w, r)
	}
	if a == nil {
		a = ownStyle.of(slot.wait(context.Background()))
	}
	respond(w, r, a)
}

// respond writes an answer.
func respond(w http.ResponseWriter, r *http.Request, a *answer) {
	h := w.Header()
	switch {
	case a.status == http.StatusServiceUnavailable:
		h["Retry-After"] = retryAfter
	case a.status == http.StatusTooManyRequests && h["Retry-After"] == nil:
		h["Retry-After"] = minute
	}
	h["Content-Length"] = a.length
	if a.status != http.StatusOK {
		w.WriteHeader(a.status)
	}
	if r.Method != http.MethodHead {
		w.Write(a.body) // fails only if the client has disconnected
	}
}

// admit returns the answer to a request that needs no store. Every other ping joins a batch; then the answer is nil.
func (s *Server) admit(h http.Header, r *http.Request, token string, now time.Time) (*answer, slot) {
	method := isMethod(r.Method)
	ok := method && kernel.IsPingToken(token)
	if s.limited && !s.allowed(h, r, now) {
		if ok {
			s.batcher.reject(token, now)
		}
		return s.tooMany, slot{}
	}
	if !method {
		h["Allow"] = allow
		return badMethod, slot{}
	}
	if !ok {
		return notFound, slot{}
	}
	p, ok := s.batcher.join(token, clientOf(r), now)
	if !ok {
		s.batcher.rejectUnqueued(token, now)
		return unavailable, p
	}
	return nil, p
}

// clientOf returns who sent a request, for the history.
func clientOf(r *http.Request) pinghistory.Client {
	return pinghistory.Client{Address: clientaddr.Of(r), UserAgent: r.UserAgent()}
}

func isMethod(method string) bool {
	return method == http.MethodPost || method == http.MethodGet || method == http.MethodHead
}

// allowed counts a request towards the rate limit, sets the rate limit headers, and
// reports whether the request is within the limit.
func (s *Server) allowed(h http.Header, r *http.Request, now time.Time) bool {
	if s.exempt != nil && s.exempt(r) {
		return true
	}
	v := s.limits.Take(clientaddr.Of(r), now)
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

// drain reads the body, up to maxDrain bytes and maxDrainTime. If the body is longer,
// slower or malformed, the connection is closed after the answer.
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

// Start writes the first liveness record to the store. From then on until Close, or until ctx ends, the server records
// pings. If the liveness record cannot be written, Start returns the error and may be called again.
func (s *Server) Start(ctx context.Context, to *store.Store) error { return s.batcher.start(ctx, to) }

// Ready reports whether pings can be recorded: the server has started, and the last commit is less than 15 s old.
func (s *Server) Ready() bool { return s.batcher.ready(time.Now()) }

// Backlog returns the age of the oldest ping that this server has received and not committed, including rejected pings
// that are not saved yet. It returns 0 if there is none.
func (s *Server) Backlog() time.Duration { return s.batcher.backlog(time.Now(), nil, true) }

// Busy returns how long transactions with pings and liveness records have taken since the start. One runs at a time, so
// in a second it grows by at most about a second; then pings wait.
func (s *Server) Busy() time.Duration { return time.Duration(s.batcher.busy.Load()) }

// GiveUp rejects further pings and answers all pending ones 503, for a stop that
// cannot wait for their commit. They may still be recorded.
func (s *Server) GiveUp() {
	s.batcher.stopAccepting()
	s.batcher.abandon()
}

// Close rejects further pings, commits and answers the pending ones, and writes a final liveness record with all
// rejected pings. It returns an error if that record is not committed before ctx ends.
func (s *Server) Close(ctx context.Context) error { return s.batcher.close(ctx) }
