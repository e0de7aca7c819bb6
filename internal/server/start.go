package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/connlimit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

const (
	// startGrace is how long a start may take before requests are answered with
	// 503. Until then connections wait: most starts take less, and then nobody
	// has to try again.
	startGrace = time.Second

	// The pause after a failed attempt to use the database doubles from
	// firstPause to lastPause. Each is shortened by up to a half, at random, so
	// that replicas do not come all at once.
	firstPause = 250 * time.Millisecond
	lastPause  = 5 * time.Second

	// startRetry is the Retry-After of what is answered meanwhile, in seconds.
	startRetry = "5"

	// maxReasons is how many different reasons one wait logs.
	maxReasons = 10
)

// await runs f until it succeeds, and is how a start uses the database. While f
// fails because the database is away, requests are answered with 503; each
// reason is logged once. Another error of f is returned at once, and so is the
// error of ctx when ctx ends.
func (s *Server) await(ctx context.Context, f func(context.Context) error) error {
	began := time.Now()
	reasons := make(map[string]bool)
	for attempt, pause := 1, firstPause; ; attempt++ {
		err := f(ctx)
		switch {
		case err == nil:
			if attempt > 1 {
				s.log.Info("the database can be used", "after", time.Since(began).Round(time.Millisecond), "attempts", attempt)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !store.IsTemporary(s.cfg.Database, err):
			return err
		}
		s.serve()
		if reason := err.Error(); !reasons[reason] && len(reasons) < maxReasons {
			reasons[reason] = true
			s.log.Warn("the database is away: trying again until it is back", "error", reason)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.failed:
			return err
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, lastPause)
	}
}

// serve begins to take requests, unless that is done.
func (s *Server) serve() {
	s.serving.Do(func() {
		for i, l := range []*connlimit.Listener{s.limited, s.metricsLimited} {
			if l == nil {
				continue
			}
			go func() {
				if err := s.servers[i].Serve(l); !errors.Is(err, http.ErrServerClosed) && !s.stopping.Load() {
					s.failed <- fmt.Errorf("requests can no longer be taken: %w", err)
				}
			}()
		}
	})
}

// gate is a handler that another one takes the place of when the service has
// started.
type gate struct {
	handler atomic.Pointer[http.Handler]
}

func newGate(closed http.Handler) *gate {
	g := new(gate)
	g.open(closed)
	return g
}

func (g *gate) open(h http.Handler) { g.handler.Store(&h) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*g.handler.Load()).ServeHTTP(w, r) }

// startingAPI answers while the service starts, as the API does when the
// database is away.
func (s *Server) startingAPI() http.Handler {
	return web.Handle(s.log, func(http.ResponseWriter, *http.Request) error { return allswell.ErrBusy })
}

// startingPage answers while the service starts: there is no page yet to show.
func startingPage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", startRetry)
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "The service is starting. Please try again.", http.StatusServiceUnavailable)
	})
}
