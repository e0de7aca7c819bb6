package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/shared/buildinfo"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/worker/notify"
)

// The phases of a graceful stop, which takes at most drainTimeout + giveUpTimeout + closeTimeout + backgroundTimeout.
const (
	drainTimeout = 4 * time.Second // for requests that are being handled
	// the part of drainTimeout for accepting connections that clients have already established
	acceptTimeout     = time.Second
	giveUpTimeout     = 500 * time.Millisecond // for answers to the pings that waited for a commit until drainTimeout
	closeTimeout      = 3 * time.Second        // for committing the last pings and the last liveness record
	backgroundTimeout = time.Second            // for background work
)

// Run answers requests and does the background work. When ctx ends, it stops gracefully and returns nil. It returns an
// error if the server has failed; starting it again may help.
func (s *Server) Run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	keepWork := context.AfterFunc(ctx, stopWork)
	err := s.retryDatabase(ctx, func(context.Context) error { return s.pings.Start(work, s.store) })
	keepWork()
	switch {
	case ctx.Err() != nil:
		err = s.stop()
		s.log.Info("stopped")
		return err
	case err != nil:
		return fmt.Errorf("starting to record pings: %w", err)
	}
	s.openHandlers()

	var background sync.WaitGroup
	background.Go(func() {
		if err := s.scheduler.Run(work); err != nil {
			s.failures <- err
		}
	})
	background.Go(func() { s.site.Run(work) })
	background.Go(func() { s.dashboard.Run(work) })
	background.Go(func() { s.domains.Run(work) })
	background.Go(func() { s.releaseMemoryWhenIdle(work) })
	background.Go(func() { adjustGCPercent(work) })
	if s.tls != nil {
		background.Go(func() { s.tls.run(work) })
	}
	sending, stopSending := context.WithCancel(ctx)
	defer stopSending()
	background.Go(func() { s.notify.Run(sending) })
	background.Go(func() { s.alerts.Run(sending) })
	if s.cfg.HeartbeatURL != "" {
		background.Go(func() { s.sendHeartbeats(sending) })
	}
	background.Go(func() { s.checker.Run(sending) })

	s.acceptRequests()
	if s.metricsListener != nil {
		s.log.Info("serving metrics", "address", s.metricsListener.Addr().String())
	}
	if s.redirectListener != nil {
		s.log.Info("redirecting HTTP to HTTPS, and accepting pings over HTTP: ALLSWELL_REDIRECT_LISTEN",
			"address", s.redirectListener.Addr().String())
	}
	s.log.Info("serving", "address", s.Addr().String(), "url", s.URL(),
		"database", settings.DatabaseName(s.cfg.Database), "version", buildinfo.Read().Version)
	select {
	case <-ctx.Done():
		s.log.Info("stopping")
	case err = <-s.failures:
		s.log.Error("stopping after a failure", "error", err)
	}

	began := time.Now()
	stopSending() // messages that are being sent end at the same time as requests
	stopErr := s.stop()
	stopWork()
	waitAtMost(&background, max(backgroundTimeout, notify.DrainTimeout+backgroundTimeout-time.Since(began)))
	s.log.Info("stopped")
	return errors.Join(err, stopErr)
}

// waitAtMost waits for a group, but not longer than timeout.
func waitAtMost(group *sync.WaitGroup, timeout time.Duration) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// acceptRequests starts the HTTP servers. Only the first call has an effect.
func (s *Server) acceptRequests() {
	s.acceptOnce.Do(func() {
		for i, server := range s.servers {
			go func() {
				if err := serveOn(server, s.limited[i]); !errors.Is(err, http.ErrServerClosed) && !s.stopping.Load() {
					s.failures <- fmt.Errorf("accepting requests: %w", err)
				}
			}()
		}
	})
}

// serveOn accepts requests, encrypted by TLS if the server has a configuration for that.
func serveOn(server *http.Server, l net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(l)
}

// stop accepts only the connections that clients have already established. It answers the requests on all open
// connections, commits and answers the pings that were received, and closes each connection after its answer.
func (s *Server) stop() error {
	s.stopping.Store(true)
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var draining sync.WaitGroup
	for _, l := range s.limited {
		draining.Go(func() { l.Drain(acceptTimeout) })
	}
	draining.Wait()
	if s.tls != nil && s.wired.Load() {
		s.site.EndStreams() // over HTTP/2 they are requests in progress
	}
	if s.connections.Settle(drain) != nil {
		s.pings.GiveUp() // pings that still wait for a commit get an answer now
	}
	giveUp, cancelGiveUp := context.WithTimeout(context.Background(), giveUpTimeout)
	defer cancelGiveUp()
	s.connections.Settle(giveUp) // connections that are still busy are closed below
	for _, server := range s.servers {
		if err := server.Shutdown(giveUp); err != nil {
			// idle connections of HTTP/2 take longer than giveUpTimeout
			if phases := s.connections.Phases(); phases["reading"]+phases["serving"] > 0 {
				s.log.Warn("requests were cut off because they took too long", "error", err)
			}
			server.Close()
		}
	}
	closing, cancelClosing := context.WithTimeout(context.Background(), closeTimeout)
	defer cancelClosing()
	if err := s.pings.Close(closing); err != nil {
		return fmt.Errorf("recording the last pings and liveness: %w", err)
	}
	return nil
}

// Close releases everything that New has acquired. It may be called more than once.
func (s *Server) Close() {
	if s.acceptTimer != nil {
		s.acceptTimer.Stop()
	}
	for _, server := range s.servers {
		server.Close()
	}
	for _, l := range []net.Listener{s.listener, s.redirectListener, s.metricsListener} {
		if l != nil {
			l.Close() // fails if the HTTP server has closed it
		}
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Warn("closing the database failed", "error", err)
		}
	}
	flushAccessLog(s.log)
}
