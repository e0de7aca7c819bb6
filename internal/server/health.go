package server

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/api"
	"github.com/allswell/allswell/internal/buildinfo"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/limit"
	"github.com/allswell/allswell/internal/web"
)

// say answers a GET or HEAD in plain text.
func say(answer func(*http.Request) (status int, text string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		status, text := http.StatusMethodNotAllowed, "method not allowed\n"
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			status, text = answer(r)
		} else {
			h.Set("Allow", "GET, HEAD")
		}
		w.WriteHeader(status)
		io.WriteString(w, text) // net/http leaves it out for HEAD
	})
}

// healthHandler says that the process lives. A supervisor that kills on other
// answers must not kill because the database is away.
func healthHandler() http.Handler {
	return say(func(*http.Request) (int, string) { return http.StatusOK, "ok\n" })
}

// readyHandler says whether this replica does its work: pings can be recorded
// and monitors are checked.
func (s *Server) readyHandler() http.Handler {
	return say(func(*http.Request) (int, string) {
		if why := s.notReady(); why != "" {
			return http.StatusServiceUnavailable, "not ready: " + why + "\n"
		}
		return http.StatusOK, "ready\n"
	})
}

// Ready reports whether pings can be recorded and monitors are checked.
func (s *Server) Ready() bool { return s.notReady() == "" }

// notReady says in words why this replica is not ready, or "".
func (s *Server) notReady() string {
	switch {
	case !s.wired.Load():
		return "the service is starting, and waits for the database"
	case s.stopping.Load():
		return "the service is stopping"
	case !s.pings.Ready():
		return "pings cannot be recorded"
	case s.scheduler.Stalled():
		return "the periodic checks have stalled"
	}
	return ""
}

// registerFigures adds to the metrics what the service knows about itself.
func (s *Server) registerFigures() {
	m := s.observed
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	v := buildinfo.Read()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "allswell_build_info", Help: "Which build this is; always 1.",
		ConstLabels: prometheus.Labels{"version": v.Version, "revision": v.Revision, "go": v.Go},
	})
	info.Set(1)
	m.registry.MustRegister(info)
	m.gauge("allswell_ready", "1 while pings can be recorded and monitors are checked, as /readyz says.", func() float64 {
		if s.notReady() != "" {
			return 0
		}
		return 1
	})
	m.gauge("allswell_ping_backlog_seconds", "Age of the oldest ping that was received and is not recorded yet.", func() float64 {
		return s.pings.Backlog().Seconds()
	})
}

// registerStoreFigures adds to the metrics what there is when the database has
// been opened.
func (s *Server) registerStoreFigures() {
	m := s.observed
	m.gauge("allswell_last_tick_timestamp_seconds", "When the last periodic check of all monitors ended.", func() float64 {
		return unixSeconds(s.scheduler.LastTick())
	})
	m.gauge("allswell_page_streams", "Open pages that are told of changes.", func() float64 {
		return float64(s.site.Streams())
	})
	m.gauge("allswell_database_last_contact_timestamp_seconds", "When the database last answered; 0: never.", func() float64 {
		return unixSeconds(s.store.LastContact())
	})
}

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// openMetrics serves the metrics to everyone who asks.
func (s *Server) openMetrics() http.Handler {
	return promhttp.HandlerFor(s.observed.registry, promhttp.HandlerOpts{
		Registry: s.observed.registry, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
}

// metricsHandler serves the metrics to clients that have a token. Clients without
// one may try as often as at the API.
func (s *Server) metricsHandler() http.Handler {
	open := s.openMetrics()
	tries := limit.NewAddresses(api.FailedAuthLimit, time.Minute)
	return web.Handle(s.log, func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return &web.MethodNotAllowed{Allow: []string{http.MethodGet, http.MethodHead}}
		}
		secret, ok := web.Bearer(r)
		err := allswell.ErrUnauthenticated
		var token allswell.Token
		if ok {
			token, err = s.store.Authenticate(r.Context(), secret)
		}
		if errors.Is(err, allswell.ErrUnauthenticated) && s.cfg.APIRateLimit > 0 {
			now := time.Now()
			if v := tries.Take(clientaddr.Of(r), now); !v.Allowed {
				return &web.TooMany{Now: now, Reset: v.Reset}
			}
		}
		if err != nil {
			return err
		}
		if !token.Scope.Allows(allswell.ScopeRead) {
			return &web.Forbidden{Has: token.Scope, Needs: allswell.ScopeRead}
		}
		open.ServeHTTP(w, r)
		return nil
	})
}
