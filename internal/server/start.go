package server

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
	"github.com/allswell/allswell/internal/surface/web"
)

const (
	// startGrace is the time after which a start that is not complete answers requests with 503. Until then
	// connections wait: most starts are faster, and then no client has to try again.
	startGrace = time.Second

	// The pause after a failed attempt to use the database doubles from firstPause to lastPause. Each is shortened at
	// random by up to a half, so that replicas do not retry all together.
	firstPause = 250 * time.Millisecond
	lastPause  = 5 * time.Second

	// startRetryAfter is the Retry-After header of responses during the start, in seconds.
	startRetryAfter = "5"

	// maxReasons is the maximum number of different reasons that are logged while waiting for the database.
	maxReasons = 10
)

// retryDatabase runs f until it succeeds. While f fails because the database is unavailable, requests are answered with
// 503, and each reason is logged once. Any other error of f is returned immediately, and so is ctx.Err() when ctx ends.
func (s *Server) retryDatabase(ctx context.Context, f func(context.Context) error) error {
	began := time.Now()
	reasons := make(map[string]bool)
	for attempt, pause := 1, firstPause; ; attempt++ {
		err := f(ctx)
		switch {
		case err == nil:
			if attempt > 1 {
				s.log.Info("the database is available", "after", time.Since(began).Round(time.Millisecond),
					"attempts", attempt)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !database.IsTemporary(s.cfg.Database, err):
			return err
		}
		s.acceptRequests()
		if reason := err.Error(); !reasons[reason] && len(reasons) < maxReasons {
			reasons[reason] = true
			s.log.Warn("the database is unavailable: retrying", "error", reason)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.failures:
			return err
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, lastPause)
	}
}

// replaceableHandler passes requests to a handler that can be replaced while requests arrive.
type replaceableHandler struct {
	handler atomic.Pointer[http.Handler]
}

func newReplaceableHandler(h http.Handler) *replaceableHandler {
	r := new(replaceableHandler)
	r.replace(h)
	return r
}

func (r *replaceableHandler) replace(h http.Handler) { r.handler.Store(&h) }

func (r *replaceableHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	(*r.handler.Load()).ServeHTTP(w, req)
}

// startingAPI answers during the start as the API does while the database is unavailable.
func (s *Server) startingAPI() http.Handler {
	return web.Handle(s.log, func(http.ResponseWriter, *http.Request) error { return kernel.ErrBusy })
}

// startingPage answers during the start, when no page can be shown.
func startingPage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", startRetryAfter)
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "The service is starting. Please try again.", http.StatusServiceUnavailable)
	})
}
