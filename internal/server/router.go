package server

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/connlimit"
	"github.com/allswell/allswell/internal/ping"
	"github.com/allswell/allswell/internal/web"
)

// face is a part of the HTTP surface, as far as logs and metrics tell them
// apart.
type face string

const (
	faceHeartbeat face = "heartbeat"
	faceAPI       face = "api"
	facePage      face = "page"
	faceService   face = "service" // health, readiness, metrics
)

// front is the one mux, with what every face needs and none owns: request ids,
// security headers, the access log and metrics. It expects the client's true
// address in Request.RemoteAddr.
type front struct {
	heartbeat, api, page   http.Handler
	health, ready, metrics http.Handler

	log      *slog.Logger
	observed *metrics
	ids      requestIDs
	conns    *connlimit.Limiter
}

// route picks the handler. It is written by hand because http.ServeMux would
// answer odd paths by itself, with a redirect, where the faces have answers of
// their own.
func (f *front) route(path string) (face, http.Handler) {
	switch {
	case strings.HasPrefix(path, ping.Path):
		return faceHeartbeat, f.heartbeat
	case strings.HasPrefix(path, "/api/v2/"): // of the page whose own domain it is
		return facePage, f.page
	case strings.HasPrefix(path, "/api/"), path == "/api":
		return faceAPI, f.api
	case path == "/healthz":
		return faceService, f.health
	case path == "/readyz":
		return faceService, f.ready
	case path == "/metrics":
		return faceService, f.metrics
	}
	return facePage, f.page
}

// The values of header fields that many answers share. They are put into
// http.Header as they are, and are not changed.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	denyFrames = []string{"DENY"}

	closeConnection = []string{"close"}
	noContent       = []string{string(web.PolicyAPI)}
)

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	face, handler := f.route(r.URL.Path)
	id := f.ids.next()
	h := w.Header()
	h["X-Request-Id"] = []string{id}
	h["X-Content-Type-Options"] = nosniff
	if f.conns.CloseAfterAnswer() {
		h["Connection"] = closeConnection
	}
	if face == faceAPI || face == faceService { // a page has its own; a ping's few bytes need none
		h["Referrer-Policy"] = noReferrer
		h["X-Frame-Options"] = denyFrames
		h["Content-Security-Policy"] = noContent
	}
	rec := recorders.Get().(*recorder)
	rec.ResponseWriter, rec.status, rec.written = w, 0, 0
	defer func() {
		f.note(face, r, rec, id, time.Since(began))
		rec.ResponseWriter = nil
		recorders.Put(rec)
	}()
	if !urgent(face, r.URL.Path) {
		if why := f.conns.Begin(r.Context()); why != connlimit.Admitted {
			refuseRequest(rec, r, why)
			return
		}
		defer f.conns.End(r.Context())
	}
	handler.ServeHTTP(rec, r)
}

// urgent reports whether a request may take one of the connections that are kept
// for pings. Supervisors and load balancers must not take the service for dead
// because many look at its pages.
func urgent(f face, path string) bool {
	return f == faceHeartbeat || f == faceService && path != "/metrics"
}

// note counts an answer and writes its line in the access log: pings and
// probes at debug, everything else at info. No header, query or body is ever in
// it, and no token that is part of the path.
func (f *front) note(face face, r *http.Request, rec *recorder, id string, took time.Duration) {
	status := rec.status
	if status == 0 {
		status = http.StatusOK // net/http writes it when the handler wrote nothing
	}
	f.observed.answered(face, status, took)
	level := slog.LevelInfo
	if face == faceHeartbeat || face == faceService {
		level = slog.LevelDebug
	}
	if !f.log.Enabled(r.Context(), level) {
		return
	}
	client := r.RemoteAddr
	if addr := clientaddr.Of(r); addr.IsValid() {
		client = addr.String()
	}
	f.log.LogAttrs(r.Context(), level, "request",
		slog.String("method", loggedMethod(r.Method)), slog.String("path", loggedPath(r.URL.Path)),
		slog.Int("status", status), slog.Int64("bytes", rec.written), slog.Duration("took", took.Round(time.Microsecond)),
		slog.String("client", client), slog.String("id", id))
}

// loggedMethod shortens what is no method.
func loggedMethod(method string) string { return method[:min(len(method), 16)] }

const (
	maxLoggedPath = 200
	minSecret     = 32 // characters in a row; ping tokens have that many, API tokens more
)

// loggedPath is what the log shows of a path: at most 200 bytes, and nothing
// that could be a token: not what follows /heartbeat/, and no 32 letters and
// digits in a row.
func loggedPath(path string) string {
	const heartbeat = "/heartbeat/"
	for i := 0; i+len(heartbeat) <= len(path); i++ {
		if strings.EqualFold(path[i:i+len(heartbeat)], heartbeat) {
			path = path[:i+len(heartbeat)] + "…"
			break
		}
	}
	var out strings.Builder
	for rest := path; rest != "" && out.Len() < maxLoggedPath; {
		run := strings.IndexFunc(rest, func(r rune) bool { return !isSecretRune(r) })
		switch {
		case run < 0:
			run = len(rest)
		case run == 0:
			run = strings.IndexFunc(rest, isSecretRune)
			if run < 0 {
				run = len(rest)
			}
			out.WriteString(rest[:run])
			rest = rest[run:]
			continue
		}
		if run >= minSecret {
			out.WriteString("…")
		} else {
			out.WriteString(rest[:run])
		}
		rest = rest[run:]
	}
	text := out.String()
	if len(text) > maxLoggedPath {
		// Cut before a character, never within one. Nothing is taken out of the
		// middle: that would join two short runs into a long one.
		cut := maxLoggedPath
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

func isSecretRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// requestIDs makes ids that are unique over restarts and replicas. They are
// random: two of them tell nothing about the number of requests in between.
type requestIDs struct {
	n atomic.Uint64 // ids made
}

const requestIDLength = 20 // characters of 5 bits each

func (ids *requestIDs) next() string {
	ids.n.Add(1)
	const alphabet = "0123456789abcdefghijklmnopqrstuv"
	var id [requestIDLength]byte
	var bits uint64
	for i := range id {
		if i%(requestIDLength/2) == 0 {
			bits = rand.Uint64()
		}
		id[i], bits = alphabet[bits%32], bits/32
	}
	return string(id[:])
}

// recorder remembers what a handler answered.
type recorder struct {
	http.ResponseWriter
	status  int
	written int64
}

// recorders are used again, because there is one for every ping.
var recorders = sync.Pool{New: func() any { return new(recorder) }}

func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 && status >= http.StatusOK {
		rec.status = status
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		// Whoever is refused does not keep a connection.
		rec.ResponseWriter.Header()["Connection"] = closeConnection
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(p)
	rec.written += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// metrics are what /metrics tells about requests. No label is an address, a
// path, a page or a monitor: their number is not bounded.
type metrics struct {
	registry *prometheus.Registry
	answers  *prometheus.CounterVec
	pinged   prometheus.Counter // that of answers which moves most
	took     map[face]prometheus.Observer
	attempts *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allswell_http_requests_total", Help: "Requests answered, by part of the service and status. Pings are face=\"heartbeat\".",
		}, []string{"face", "status"}),
		took: make(map[face]prometheus.Observer),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allswell_delivery_attempts_total", Help: "Messages to subscribers that were tried, by channel and what became of them.",
		}, []string{"channel", "result"}),
	}
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "allswell_http_request_seconds", Help: "Time from a request's arrival to its answer, by part of the service.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"face"})
	for _, f := range []face{faceHeartbeat, faceAPI, facePage, faceService} {
		m.took[f] = took.WithLabelValues(string(f))
	}
	m.pinged = m.answers.WithLabelValues(string(faceHeartbeat), strconv.Itoa(http.StatusOK))
	m.registry.MustRegister(m.answers, took, m.attempts)
	return m
}

func (m *metrics) answered(f face, status int, took time.Duration) {
	if f == faceHeartbeat && status == http.StatusOK {
		m.pinged.Inc()
	} else {
		m.answers.WithLabelValues(string(f), strconv.Itoa(status)).Inc()
	}
	m.took[f].Observe(took.Seconds())
}

// delivered counts an attempt to deliver something.
func (m *metrics) delivered(channel allswell.Channel, result allswell.SendResult) {
	m.attempts.WithLabelValues(string(channel), result.String()).Inc()
}

// gauge registers a figure that is read when it is asked for.
func (m *metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}
