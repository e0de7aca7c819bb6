package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/allswell/allswell/internal/buildinfo"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/settings"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/api"
	"github.com/allswell/allswell/internal/connlimit"
	"github.com/allswell/allswell/internal/domains"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/notify"
	"github.com/allswell/allswell/internal/page"
	"github.com/allswell/allswell/internal/ping"
	"github.com/allswell/allswell/internal/scheduler"
	"github.com/allswell/allswell/internal/store"
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
	drainTimeout  = 4 * time.Second        // for requests under way, of which
	acceptTimeout = time.Second            // for connections that are established and not accepted yet
	giveUpTimeout = 500 * time.Millisecond // for answers to pings that wait for a commit, after that
	closeTimeout  = 3 * time.Second        // for the open batch and the last beat
	endTimeout    = time.Second            // for what goes on by itself
)

// service is all that runs in one process: the store, what answers, and what
// goes on by itself.
type Server struct {
	cfg       Config
	log       *slog.Logger
	replica   string
	store     *store.Store
	pings     *ping.Server
	scheduler *scheduler.Scheduler
	site      *page.Site
	notify    *notify.Notifier
	domains   *domains.Checker
	observed  *metrics
	faces     *front
	conns     *connlimit.Limiter

	listener, metricsListener net.Listener
	limited, metricsLimited   *connlimit.Listener // of the two
	servers                   []*http.Server
	serving                   sync.Once   // see serve
	slow                      *time.Timer // serves when a start takes long
	failed                    chan error  // what ends run before its context does
	api, pages, tokenMetrics  *gate
	wired, stopping           atomic.Bool
}

// New opens the addresses and the database and wires everything up. While
// the database is away it waits for it, until ctx ends: see await. If all goes
// well nobody is answered before run; connections that are opened before then
// wait.
func New(ctx context.Context, cfg Config, log *slog.Logger) (*Server, error) {
	s := &Server{cfg: cfg, log: log, observed: newMetrics(), failed: make(chan error, 4)}
	if err := s.listenAll(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.prepare()
	s.slow = time.AfterFunc(startGrace, s.serve)
	if err := s.open(ctx); err != nil {
		if ctx.Err() != nil { // asked to stop: whoever is being answered gets the answer
			err = errors.Join(err, s.stop())
		}
		s.Close()
		return nil, err
	}
	s.wire()
	return s, nil
}

// listenAll opens the addresses.
func (s *Server) listenAll(ctx context.Context) (err error) {
	if s.listener, err = listen(ctx, "ALLSWELL_LISTEN", s.cfg.Listen); err != nil {
		return err
	}
	if s.cfg.MetricsListen != "" {
		if s.metricsListener, err = listen(ctx, "ALLSWELL_METRICS_LISTEN", s.cfg.MetricsListen); err != nil {
			return err
		}
	}
	return nil
}

// open opens the database.
func (s *Server) open(ctx context.Context) error {
	err := s.await(ctx, func(ctx context.Context) (err error) {
		s.store, err = store.Open(ctx, s.cfg.Database, store.Options{
			Logger: s.log, FailureThreshold: s.cfg.FailureThreshold, CheckInterval: s.cfg.CheckInterval, Hosts: s.cfg.Hosts,
		})
		return err
	})
	if err == nil {
		err = s.await(ctx, s.warnOfDisabledDomains)
	}
	if err != nil || s.cfg.BootstrapToken == "" {
		return err
	}
	var done store.BootstrapResult
	err = s.await(ctx, func(ctx context.Context) (err error) {
		done, err = s.store.Bootstrap(ctx, s.cfg.BootstrapToken)
		return err
	})
	if err != nil {
		return fmt.Errorf("ALLSWELL_BOOTSTRAP_TOKEN could not be made a token: %w", err)
	}
	if len(done.Revoked) > 0 {
		s.log.Info("ALLSWELL_BOOTSTRAP_TOKEN has a new value: the earlier bootstrap token is revoked", "revoked", done.Revoked)
	}
	if !done.Active {
		s.log.Warn("ALLSWELL_BOOTSTRAP_TOKEN is a token that was revoked: it is refused")
	}
	return nil
}

// prepare makes everything that can answer without a store.
func (s *Server) prepare() {
	s.replica = replicaName()
	clients := clientaddr.NewResolver(clientaddr.Config{
		Header: s.cfg.ClientIPHeader, Trusted: s.cfg.TrustedProxies, Exempt: s.cfg.PingExempt,
	})
	s.pings = ping.New(ping.Config{Replica: s.replica, Logger: s.log, RateLimit: s.cfg.PingRateLimit, Exempt: clients.Exempt})
	s.api, s.pages, s.tokenMetrics = newGate(s.startingAPI()), newGate(startingPage()), newGate(s.startingAPI())
	most, perAddress := s.cfg.connectionLimits(openFiles(), s.log)
	s.conns = connlimit.New(connlimit.Config{
		Max: most, PerAddress: perAddress, Trusted: s.cfg.TrustedProxies, Lost: s.pings.NoteLost, Logger: s.log,
	})
	s.limited = s.conns.Listen(s.listener)
	s.registerFigures()
	s.observed.registerConnections(s.conns, s.pings.Shedding)
	s.faces = &front{
		heartbeat: s.pings,
		api:       s.api,
		page:      s.pages,
		health:    healthHandler(),
		ready:     s.readyHandler(),
		metrics:   s.tokenMetrics,
		log:       s.log,
		observed:  s.observed,
		conns:     s.conns,
	}
	s.servers = []*http.Server{s.server(clients.Middleware(s.faces), s.conns)}
	if s.metricsListener != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", s.openMetrics())
		conns := connlimit.New(connlimit.Config{Max: metricsConnections, PerAddress: metricsConnections, Logger: s.log})
		s.metricsLimited = conns.Listen(s.metricsListener)
		s.servers = append(s.servers, s.server(mux, conns))
	}
}

// wire makes everything that works on the store.
func (s *Server) wire() {
	s.scheduler = scheduler.New(scheduler.Config{
		Store: s.store, Period: s.cfg.CheckInterval, Backlog: s.pings.Backlog, Shedding: s.pings.Shedding, Replica: s.replica, Logger: s.log,
	})
	s.site = page.New(page.Config{
		Store: s.store, Logger: s.log, BaseURL: s.URL(), Mail: s.cfg.SMTPURL != nil, SignUps: s.cfg.SignUpLimit, Streams: maxStreams(s.conns.Max),
	})
	s.domains = domains.New(domains.Config{Store: s.store, Server: s.cfg.DNSServer, Logger: s.log})
	s.notify = notify.New(s.notifyConfig())
	s.servers[0].RegisterOnShutdown(s.site.EndStreams)
	s.registerStoreFigures()
	s.wired.Store(true)
}

// openGates lets requests reach what works on the store.
func (s *Server) openGates() {
	s.api.open(api.New(api.Config{
		Store: s.store, BaseURL: s.cfg.BaseURL, Languages: i18n.Tags(), RateLimit: s.cfg.APIRateLimit, Logger: s.log,
		VerifyDomain: s.domains.Verify,
	}))
	s.pages.open(s.site.Handler())
	s.tokenMetrics.open(s.metricsHandler())
}

func (s *Server) notifyConfig() notify.Config {
	c := notify.Config{
		Store: s.store, Logger: s.log, BaseURL: s.URL(), SMTP: s.cfg.SMTPURL, AllowPrivate: s.cfg.WebhookAllowPrivate,
		Deny:    s.cfg.WebhookDeny,
		Settled: s.observed.delivered,
	}
	if s.cfg.MailFrom != nil {
		c.From = *s.cfg.MailFrom
	}
	return c
}

func (s *Server) server(h http.Handler, conns *connlimit.Limiter) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         conns.ConnState,
		ConnContext:       conns.ConnContext,
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

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL returns the base URL that is shown to people: the configured one, or else one that works on this machine.
func (s *Server) URL() string {
	if s.cfg.BaseURL != "" {
		return s.cfg.BaseURL
	}
	address, _ := clientaddr.Parse(s.listener.Addr().String())
	host := address.Addr().String()
	if !address.IsValid() || address.Addr().IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(address.Port())))
}

// run answers requests and checks monitors until ctx ends, and then stops
// gracefully and returns nil; or until something fails that a new start may
// mend.
func (s *Server) Run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	stopsStart := context.AfterFunc(ctx, stopWork)
	err := s.await(ctx, func(context.Context) error { return s.pings.Start(work, s.store) })
	stopsStart()
	switch {
	case ctx.Err() != nil: // asked to stop meanwhile
		err = s.stop()
		s.log.Info("stopped")
		return err
	case err != nil:
		return fmt.Errorf("the service cannot record pings: %w", err)
	}
	s.openGates()
	var going sync.WaitGroup
	going.Go(func() {
		if err := s.scheduler.Run(work); err != nil {
			s.failed <- err
		}
	})
	going.Go(func() { s.site.Run(work) })
	going.Go(func() { s.rest(work) })
	going.Go(func() { s.domains.Run(work) })
	going.Go(func() { paceCollector(work) })
	telling, stopTelling := context.WithCancel(ctx)
	defer stopTelling()
	going.Go(func() { s.notify.Run(telling) })
	s.serve()
	if s.metricsListener != nil {
		s.log.Info("serving metrics", "address", s.metricsListener.Addr().String())
	}
	s.log.Info("serving", "address", s.listener.Addr().String(), "url", s.URL(),
		"database", settings.DatabaseName(s.cfg.Database), "version", buildinfo.Read().Version)
	select {
	case <-ctx.Done():
		s.log.Info("stopping")
	case err = <-s.failed:
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

// stop takes no more connections but those that are established, answers what
// comes on the open ones for a moment, lets requests under way end, and commits
// and answers the pings that were received. Every answer closes its connection.
func (s *Server) stop() error {
	s.stopping.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	s.limited.Drain(acceptTimeout)
	if s.conns.Settle(ctx) != nil {
		s.pings.GiveUp() // who waits for a commit that takes too long gets an answer
	}
	last, cancelLast := context.WithTimeout(context.Background(), giveUpTimeout)
	defer cancelLast()
	s.conns.Settle(last) // who is still there is cut off below
	for _, server := range s.servers {
		if err := server.Shutdown(last); err != nil {
			s.log.Warn("requests were cut off, because they took too long", "error", err)
			server.Close()
		}
	}
	ctx, cancel = context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.pings.Close(ctx); err != nil {
		return fmt.Errorf("the last pings or the last beat could not be recorded: %w", err)
	}
	return nil
}

// close gives back what New took.
func (s *Server) Close() {
	if s.slow != nil {
		s.slow.Stop()
	}
	for _, server := range s.servers {
		server.Close()
	}
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

// maxNamedPages is the maximum number of pages that a warning names.
const maxNamedPages = 20

// warnOfDisabledDomains logs the pages that have a domain that the settings do not allow.
func (s *Server) warnOfDisabledDomains(ctx context.Context) error {
	pages, all, err := s.store.DisabledDomains(ctx, maxNamedPages)
	for _, p := range pages {
		s.log.Warn("page is not served at its domain: ALLSWELL_BASE_URL is not set, or the domain is a name of the installation itself",
			"page", p.Slug, "domain", p.Domain)
	}
	if more := all - len(pages); more > 0 {
		s.log.Warn("more pages are not served at their domains", "count", more)
	}
	return err
}
