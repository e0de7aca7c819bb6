package server

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/connlimit"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/web"
	"github.com/allswell/allswell/internal/worker/ping"
)

// surface is a part of the service, as logs and metrics distinguish them.
type surface string

const (
	surfaceHeartbeat surface = "heartbeat"
	surfaceAPI       surface = "api"
	surfacePage      surface = "page"
	surfaceDashboard surface = "dashboard"
	surfaceService   surface = "service" // health, readiness, metrics
)

// surfaces lists all surfaces.
var surfaces = []surface{surfaceHeartbeat, surfaceAPI, surfacePage, surfaceDashboard, surfaceService}

// router passes requests to the handler of their surface. For all surfaces, it adds request ids and security headers,
// limits connections, and writes the access log and metrics. It expects the client's address in Request.RemoteAddr.
type router struct {
	heartbeat, api, page       http.Handler
	dashboard                  http.Handler
	health, readiness, metrics http.Handler

	hosts       statuspage.Hosts // the installation's own
	accessLog   *accessLog
	observed    *metrics
	ids         requestIDs
	connections *connlimit.Limiter
}

// route returns the handler for a request. It does not use http.ServeMux, which redirects unclean paths instead of
// passing them on: each surface has its own answer to them.
func (rt *router) route(host, path string) (surface, http.Handler) {
	switch {
	case isPing(path):
		return surfaceHeartbeat, rt.heartbeat
	case strings.HasPrefix(path, "/api/v2/"): // Statuspage documents at a page's own domain
		return surfacePage, rt.page
	case strings.HasPrefix(path, "/api/"), path == "/api":
		return surfaceAPI, rt.api
	case path == "/healthz":
		return surfaceService, rt.health
	case path == "/readyz":
		return surfaceService, rt.readiness
	case path == "/metrics":
		return surfaceService, rt.metrics
	case (path == dashboard.Path || strings.HasPrefix(path, dashboard.Path+"/")) && rt.hosts.ServesInstallation(host):
		return surfaceDashboard, rt.dashboard
	}
	return surfacePage, rt.page
}

// isPing reports whether a path belongs to pings and signals.
func isPing(path string) bool {
	return slices.ContainsFunc(ping.Prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// Values of headers. They are shared by all responses and never modified.
var (
	nosniff         = []string{"nosniff"}
	noReferrer      = []string{"no-referrer"}
	denyFrames      = []string{"DENY"}
	closeConnection = []string{"close"}
	noResources     = []string{string(web.PolicyAPI)}
)

func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	surface, handler := rt.route(r.Host, r.URL.Path)
	id := rt.ids.next()
	h := w.Header()
	h["X-Request-Id"] = []string{id}
	h["X-Content-Type-Options"] = nosniff
	if rt.connections.CloseAfterAnswer() {
		h["Connection"] = closeConnection
	}
	// pages set their own; responses to pings are too short to need any
	if surface == surfaceAPI || surface == surfaceService {
		h["Referrer-Policy"] = noReferrer
		h["X-Frame-Options"] = denyFrames
		h["Content-Security-Policy"] = noResources
	}
	rec := responseRecorders.Get().(*responseRecorder)
	rec.ResponseWriter, rec.status, rec.written = w, 0, 0
	defer func() {
		streamed := r.ProtoMajor > 1 && rec.Header().Get("Content-Type") == "text/event-stream"
		rt.observe(answered{surface, r, rec.statusCode(), rec.written, id, began, time.Since(began), streamed})
		rec.ResponseWriter = nil
		responseRecorders.Put(rec)
	}()
	if !isUrgent(surface, r.URL.Path) {
		if reason := rt.connections.Begin(r.Context()); reason != connlimit.Admitted {
			refuseRequest(rec, r, reason)
			return
		}
		defer rt.connections.End(r.Context())
	}
	handler.ServeHTTP(rec, r)
}

// isUrgent reports whether a request may use the connections that are reserved for pings. Health checks may use them
// too: otherwise many visitors could make a supervisor restart the server.
func isUrgent(s surface, path string) bool {
	return s == surfaceHeartbeat || s == surfaceService && path != "/metrics"
}

// requestIDs generates request ids that are unique across restarts and replicas. They are random, so that they do
// not reveal the number of requests.
type requestIDs struct {
	count atomic.Uint64 // ids generated
}

const requestIDLength = 20 // characters of 5 bits each

func (ids *requestIDs) next() string {
	ids.count.Add(1)
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

// responseRecorder is a ResponseWriter that records the status and the length of the body.
type responseRecorder struct {
	http.ResponseWriter
	status  int // 0 before the first write
	written int64
}

// responseRecorders are reused, because each ping needs one.
var responseRecorders = sync.Pool{New: func() any { return new(responseRecorder) }}

// statusCode returns the status of the response.
func (rec *responseRecorder) statusCode() int {
	if rec.status == 0 {
		return http.StatusOK // net/http sends it if the handler writes nothing
	}
	return rec.status
}

// WriteHeader closes the connection after refusing a request, so that refused clients do not hold connections.
func (rec *responseRecorder) WriteHeader(status int) {
	if rec.status == 0 && status >= http.StatusOK {
		rec.status = status
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		rec.ResponseWriter.Header()["Connection"] = closeConnection
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *responseRecorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(p)
	rec.written += int64(n)
	return n, err
}

// Unwrap is used by http.ResponseController.
func (rec *responseRecorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
