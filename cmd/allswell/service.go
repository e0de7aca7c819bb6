package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/api"
	"github.com/allswell/allswell/internal/notify"
	"github.com/allswell/allswell/internal/page"
	"github.com/allswell/allswell/internal/ping"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/watch"
)

// The limits of a connection.
const (
	headerTimeout  = 10 * time.Second // for the request's line and headers
	requestTimeout = 30 * time.Second // for all of the request
	answerTimeout  = 60 * time.Second // from the end of the headers to the end of the answer
	idleTimeout    = 2 * time.Minute  // between requests
	maxHeader      = 32 << 10         // bytes
)

// A graceful stop takes at most the sum of these.
const (
	drainTimeout = 5 * time.Second // for requests under way
	closeTimeout = 3 * time.Second // for the open batch and the last beat
	endTimeout   = time.Second     // for what goes on by itself
)

// service is all that runs in one process: the store, what answers, and what
// goes on by itself.
type service struct {
	config
	log      *slog.Logger
	store    *store.Store
	pings    *ping.Server
	watch    *watch.Watch
	site     *page.Site
	notify   *notify.Notifier
	observed *metrics
	faces    *front

	listener, metricsListener net.Listener
	servers                   []*http.Server
	fast                      *fastPath
	stopping                  atomic.Bool
}

// newService opens the addresses and the database and wires everything up.
// Nobody is answered before run; connections that are opened before then wait.
func newService(ctx context.Context, cfg config, log *slog.Logger) (*service, error) {
	s := &service{config: cfg, log: log, observed: newMetrics()}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	s.wire()
	return s, nil
}

func (s *service) open(ctx context.Context) (err error) {
	if s.listener, err = listen(ctx, "ALLSWELL_LISTEN", s.listen); err != nil {
		return err
	}
	if s.metricsListen != "" {
		if s.metricsListener, err = listen(ctx, "ALLSWELL_METRICS_LISTEN", s.metricsListen); err != nil {
			return err
		}
	}
	s.store, err = store.Open(ctx, s.database, store.Options{
		Logger: s.log, FailureThreshold: s.failureThreshold, CheckInterval: s.checkInterval,
	})
	if err != nil {
		return err
	}
	if s.bootstrapToken != "" {
		if err := s.store.Bootstrap(ctx, s.bootstrapToken); err != nil {
			return fmt.Errorf("ALLSWELL_BOOTSTRAP_TOKEN could not be made a token: %w", err)
		}
	}
	return nil
}

// wire makes everything that works on the store.
func (s *service) wire() {
	replica := replicaName()
	s.pings = ping.New(ping.Config{
		Store: s.store, Replica: replica, Logger: s.log,
		RateLimit: s.pingRateLimit, Exempt: s.pingExempt,
	})
	s.watch = watch.New(watch.Config{
		Store: s.store, Period: s.checkInterval, Backlog: s.pings.Backlog, Replica: replica, Logger: s.log,
	})
	s.site = page.New(page.Config{
		Store: s.store, Logger: s.log, BaseURL: s.publicURL(), Mail: s.smtpURL != nil, Streams: maxStreams(openFiles()),
	})
	s.notify = notify.New(s.notifyConfig())
	s.registerFigures()
	s.faces = &front{
		heartbeat: s.pings,
		api: api.New(api.Config{
			Store: s.store, BaseURL: s.baseURL, Languages: page.Languages(), RateLimit: s.apiRateLimit, Logger: s.log,
		}),
		page:     s.site.Handler(),
		health:   healthHandler(),
		ready:    s.readyHandler(),
		metrics:  s.tokenMetrics(),
		log:      s.log,
		observed: s.observed,
		ids:      newRequestIDs(),
	}
	s.fast = &fastPath{handler: clientAddress(s.trustedProxies, s.faces)}
	s.servers = []*http.Server{s.server(s.fast.handler)}
	s.servers[0].RegisterOnShutdown(s.site.EndStreams)
	if s.metricsListener != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", s.openMetrics())
		s.servers = append(s.servers, s.server(mux))
	}
}

// maxStreams is how many event streams may be open where the process may have
// that many files open: three quarters, because the rest is for pings; 0 if
// there is no reason for fewer than usual.
func maxStreams(files uint64) int {
	if files == 0 || files > 1<<20 {
		return 0
	}
	return min(int(files)*3/4, page.MaxStreams)
}

func (s *service) notifyConfig() notify.Config {
	c := notify.Config{
		Store: s.store, Logger: s.log, BaseURL: s.publicURL(), SMTP: s.smtpURL, AllowPrivate: s.webhookAllowPrivate,
		Settled: s.observed.delivered,
	}
	if s.mailFrom != nil {
		c.From = *s.mailFrom
	}
	return c
}

func (s *service) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         noteState,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// replicaName names this process among those that share its database.
func replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "allswell"
	}
	return host + "-" + strings.ToLower(rand.Text()[:8])
}

// publicURL is the address that people are told: the one that is set, or else
// the one that works on this machine.
func (s *service) publicURL() string {
	if s.baseURL != "" {
		return s.baseURL
	}
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return "http://" + s.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// run answers requests and checks monitors until ctx ends, and then stops
// gracefully and returns nil; or until something fails that a new start may
// mend.
func (s *service) run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	if err := s.pings.Start(work); err != nil {
		return fmt.Errorf("the service cannot record pings: %w", err)
	}
	failed := make(chan error, 3)
	var going sync.WaitGroup
	going.Go(func() {
		if err := s.watch.Run(work); err != nil {
			failed <- err
		}
	})
	going.Go(func() { s.site.Run(work) })
	going.Go(func() { s.rest(work) })
	telling, stopTelling := context.WithCancel(ctx)
	defer stopTelling()
	going.Go(func() { s.notify.Run(telling) })
	listeners := []net.Listener{fastListener{s.listener, s.fast}}
	if s.metricsListener != nil {
		listeners = append(listeners, s.metricsListener)
	}
	for i, l := range listeners {
		go func() {
			if err := s.servers[i].Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("requests can no longer be taken: %w", err)
			}
		}()
	}
	if s.metricsListener != nil {
		s.log.Info("serving metrics", "address", s.metricsListener.Addr().String())
	}
	s.log.Info("serving", "address", s.listener.Addr().String(), "url", s.publicURL(),
		"database", databaseName(s.database), "version", readVersion().Version)
	var err error
	select {
	case <-ctx.Done():
		s.log.Info("stopping")
	case err = <-failed:
		s.log.Error("stopping, because of a failure", "error", err)
	}
	began := time.Now()
	stopTelling() // messages that are on their way end while requests do
	stopErr := s.stop()
	stopWork()
	waitAtMost(&going, max(endTimeout, notify.DrainTimeout+endTimeout-time.Since(began)))
	s.log.Info("stopped")
	return errors.Join(err, stopErr)
}

// waitAtMost waits until all have ended, but not longer than most.
func waitAtMost(going *sync.WaitGroup, most time.Duration) {
	ended := make(chan struct{})
	go func() {
		going.Wait()
		close(ended)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// stop takes no more requests, lets those under way end, and commits and
// answers the pings that were received.
func (s *service) stop() error {
	s.stopping.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			s.log.Warn("requests were cut off, because they took too long", "error", err)
			server.Close()
		}
	}
	if err := s.fast.drain(ctx); err != nil {
		s.log.Warn("pages were cut off, because they took too long", "error", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.pings.Close(ctx); err != nil {
		return fmt.Errorf("the last pings or the last beat could not be recorded: %w", err)
	}
	return nil
}

// close gives back what newService took.
func (s *service) close() {
	for _, l := range []net.Listener{s.listener, s.metricsListener} {
		if l != nil {
			l.Close() // it may be closed already
		}
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Warn("the database could not be closed properly", "error", err)
		}
	}
}
