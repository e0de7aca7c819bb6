// Package server is the serving process: settings, wiring, router and middleware, access log, metrics, health checks,
// and a graceful start and stop.
package server

import (
	"cmp"
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

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/buildinfo"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/connlimit"
	"github.com/allswell/allswell/internal/shared/hostname"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/api"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/page"
	"github.com/allswell/allswell/internal/surface/web"
	"github.com/allswell/allswell/internal/worker/alerter"
	"github.com/allswell/allswell/internal/worker/checker"
	"github.com/allswell/allswell/internal/worker/domains"
	"github.com/allswell/allswell/internal/worker/notify"
	"github.com/allswell/allswell/internal/worker/ping"
	"github.com/allswell/allswell/internal/worker/scheduler"
)

// Limits of an HTTP connection.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second // for the whole request
	writeTimeout      = 60 * time.Second // from the end of the request's headers to the end of the response
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// Server is everything that runs in one process: the store, the HTTP handlers, and the background work.
type Server struct {
	cfg     Config
	log     *slog.Logger
	replica string // unique among the processes that share the database

	store        *store.Store
	pings        *ping.Server
	scheduler    *scheduler.Scheduler
	limits       *limit.Tokens // of requests with tokens
	site         *page.Site
	dashboard    *dashboard.Dashboard
	checker      *checker.Checker
	notify       *notify.Notifier
	alerts       *alerter.Alerter
	domains      *domains.Checker
	tests        *web.CheckTester
	channelTests *web.ChannelTester
	metrics      *metrics
	router       *router

	listener         net.Listener
	metricsListener  net.Listener // nil without ALLSWELL_METRICS_LISTEN
	redirectListener net.Listener // nil without TLS
	tls              *tlsServer   // nil without TLS
	connections      *connlimit.Limiter
	limited          []*connlimit.Listener // the listeners, with their connections limited
	servers          []*http.Server        // one for each of limited

	acceptOnce  sync.Once   // see acceptRequests
	acceptTimer *time.Timer // accepts requests if the start takes long
	failures    chan error  // each ends Run

	// These answer 503 until the start is complete.
	apiHandler, pageHandler, dashboardHandler, metricsHandler *replaceableHandler

	wired    atomic.Bool // everything that needs the store exists
	open     atomic.Bool // requests reach the handlers
	stopping atomic.Bool
}

// New opens the addresses and the database, and prepares everything for Run. It waits while the database is
// unavailable, until ctx ends. Requests that arrive before Run wait, or get 503 if the start takes long.
func New(ctx context.Context, cfg Config, log *slog.Logger) (*Server, error) {
	s := &Server{cfg: cfg, log: log, replica: newReplicaName(), metrics: newMetrics(), failures: make(chan error, 4)}
	if err := s.openListeners(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.prepareTLS(); err != nil {
		s.Close()
		return nil, err
	}
	s.prepareHTTP()
	s.acceptTimer = time.AfterFunc(startGrace, s.acceptRequests)
	if err := s.openDatabase(ctx); err != nil {
		if ctx.Err() != nil { // stopping: requests in progress are still answered
			err = errors.Join(err, s.stop())
		}
		s.Close()
		return nil, err
	}
	s.wire()
	return s, nil
}

func (s *Server) openListeners(ctx context.Context) (err error) {
	if s.listener, err = listen(ctx, "ALLSWELL_LISTEN", s.cfg.Listen); err != nil {
		return err
	}
	if s.cfg.TLS.RedirectListen != "" {
		if s.redirectListener, err = listen(ctx, "ALLSWELL_REDIRECT_LISTEN", s.cfg.TLS.RedirectListen); err != nil {
			return fmt.Errorf("%w (with TLS; off: do not listen for HTTP)", err)
		}
	}
	if s.cfg.MetricsListen != "" {
		s.metricsListener, err = listen(ctx, "ALLSWELL_METRICS_LISTEN", s.cfg.MetricsListen)
	}
	return err
}

// listen opens an address. env is the name of its setting, for the error.
func listen(ctx context.Context, env, address string) (net.Listener, error) {
	l, err := connlimit.Socket(ctx, address)
	if err == nil {
		return l, nil
	}
	reason := err
	var system *os.SyscallError
	var lookup *net.DNSError
	switch { // without the address, which the message already contains
	case errors.As(err, &system):
		reason = system.Err
	case errors.As(err, &lookup):
		reason = fmt.Errorf("looking up its name: %s", lookup.Err)
	}
	return nil, fmt.Errorf("%s: listening on %s: %w", env, address, reason)
}

// openDatabase opens the database and creates the bootstrap token.
func (s *Server) openDatabase(ctx context.Context) error {
	err := s.retryDatabase(ctx, func(ctx context.Context) (err error) {
		s.store, err = store.Open(ctx, s.cfg.Database, store.Options{
			Logger: s.log, Location: s.cfg.Checks.Location, FailureThreshold: s.cfg.FailureThreshold,
			CheckInterval: s.cfg.CheckInterval, Hosts: s.cfg.Hosts, AuditRetention: s.cfg.AuditRetention,
			PingRetention: cmp.Or(s.cfg.PingRetention, -1), SecretKeys: s.cfg.SecretKeys, SMS: s.cfg.SMS,
			NoCommands: s.cfg.AlertCommand == "", MaxMonitors: s.cfg.MaxMonitors, MaxChannels: s.cfg.MaxChannels,
		})
		return err
	})
	if err == nil {
		err = s.retryDatabase(ctx, s.warnOfDisabledDomains)
	}
	if err == nil {
		err = s.retryDatabase(ctx, s.warnOfSecrets)
	}
	if err == nil {
		err = s.retryDatabase(ctx, s.sealChannels)
	}
	if err == nil {
		err = s.retryDatabase(ctx, s.warnOfSMS)
	}
	if err != nil || s.cfg.BootstrapToken == "" {
		return err
	}
	var result store.BootstrapResult
	err = s.retryDatabase(ctx, func(ctx context.Context) (err error) {
		result, err = s.store.Bootstrap(ctx, s.cfg.BootstrapToken)
		return err
	})
	if err != nil {
		return fmt.Errorf("creating the token of ALLSWELL_BOOTSTRAP_TOKEN: %w", err)
	}
	if len(result.Revoked) > 0 {
		s.log.Info("ALLSWELL_BOOTSTRAP_TOKEN has a new value: the earlier bootstrap token is revoked",
			"revoked", result.Revoked)
	}
	if !result.Active {
		s.log.Warn("ALLSWELL_BOOTSTRAP_TOKEN is a token that was revoked: requests with it are refused")
	}
	return nil
}

// maxNamedPages is the maximum number of pages that a warning names.
const maxNamedPages = 20

// warnOfDisabledDomains logs the pages whose domains the settings do not allow.
func (s *Server) warnOfDisabledDomains(ctx context.Context) error {
	pages, all, err := s.store.DisabledDomains(ctx, maxNamedPages)
	for _, p := range pages {
		s.log.Warn("page is not served at its domain: ALLSWELL_BASE_URL is not set, or the domain is a name of the "+
			"installation itself",
			"page", p.Slug, "domain", p.Domain)
	}
	if more := all - len(pages); more > 0 {
		s.log.Warn("further pages are not served at their domains", "count", more)
	}
	return err
}

// sealChannels encrypts secrets of channels that earlier versions saved unencrypted.
func (s *Server) sealChannels(ctx context.Context) error {
	left, err := s.store.SealChannels(ctx)
	if left.NoKey > 0 {
		s.log.Warn("topics and URLs of channels are not encrypted, because the key of the secrets is missing: put it "+
			"back, or set ALLSWELL_SECRET_KEY if there was none, and restart",
			"channels", left.NoKey)
	}
	if left.Unreadable > 0 {
		s.log.Warn("topics and URLs of channels are not encrypted, because other secrets of these channels cannot be "+
			"decrypted: put their key back and restart, or give these secrets again",
			"channels", left.Unreadable)
	}
	return err
}

// secretsTimeout is how long a start waits for the count of secrets, which reads all subscribers with one.
const secretsTimeout = 5 * time.Second

// warnOfSecrets warns if secrets cannot be decrypted, if some are encrypted with an earlier key, or if all users can
// read the key file.
func (s *Server) warnOfSecrets(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, secretsTimeout)
	defer cancel()
	found, err := s.store.CheckSecrets(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		s.log.Warn("it is unknown whether all secrets can be decrypted: counting them takes too long",
			"timeout", secretsTimeout)
		return nil
	}
	if found.Unreadable > 0 {
		s.log.Warn("secrets cannot be decrypted, because their key is missing or has changed: these monitors are not "+
			"checked, and these channels and subscribers are not notified",
			"count", found.Unreadable, "of", found.Named)
		if _, err := os.Stat(found.KeyFile); found.KeyFile != "" && errors.Is(err, os.ErrNotExist) {
			s.log.Warn("the file with the key of the secrets is missing: put your copy of it back before anyone "+
				"saves a secret, which creates a new key", "file", found.KeyFile)
		}
	}
	for _, file := range []string{found.KeyFile, s.cfg.SecretKeyFile} {
		if secret.ReadableByAll(file) {
			s.log.Warn("all users can read the file with the key of the secrets", "file", file)
		}
	}
	if found.Earlier > 0 {
		s.log.Info("secrets are encrypted with an earlier key, which is still needed: `allswell secret rotate` "+
			"encrypts them with the first key", "count", found.Earlier)
	}
	return err
}

// prepareHTTP creates the HTTP servers and the handlers that work without the store. The other handlers answer 503
// until they are replaced.
func (s *Server) prepareHTTP() {
	clients := clientaddr.NewResolver(clientaddr.Config{
		Header: s.cfg.ClientIPHeader, Trusted: s.cfg.TrustedProxies, Exempt: s.cfg.PingExempt,
		OnlyTrusted: s.cfg.SignIn.proxyHeaders(), Logger: s.log,
	})
	s.pings = ping.New(ping.Config{
		Replica: s.replica, Logger: s.log, RateLimit: s.cfg.PingRateLimit, Exempt: clients.Exempt,
	})
	s.apiHandler = newReplaceableHandler(s.startingAPI())
	s.metricsHandler = newReplaceableHandler(s.startingAPI())
	s.pageHandler = newReplaceableHandler(startingPage())
	s.dashboardHandler = newReplaceableHandler(startingPage())
	total, perAddress := s.cfg.connectionLimits(openFilesLimit(), s.log)
	s.connections = connlimit.New(connlimit.Config{
		Max: total, PerAddress: perAddress, Trusted: s.cfg.TrustedProxies, Lost: s.pings.NoteLost, Logger: s.log,
	})
	s.registerMetrics()
	s.metrics.registerConnections(s.connections, s.pings.LosingPings)
	bodies := web.NewBodies()
	s.router = &router{
		heartbeat:   s.pings, // limits the bodies of signals itself
		api:         bodies.Handler(s.apiHandler),
		page:        bodies.Handler(s.pageHandler),
		dashboard:   bodies.Handler(s.dashboardHandler),
		hosts:       s.cfg.Hosts,
		health:      healthHandler(),
		readiness:   s.readinessHandler(),
		metrics:     s.metricsHandler,
		accessLog:   newAccessLog(s.cfg, s.log),
		observed:    s.metrics,
		connections: s.connections,
	}
	if s.tls == nil {
		s.addHTTPServer(s.connections.Listen(s.listener), clients.Middleware(s.router), s.connections)
	} else {
		s.addTLSServers(clients.Middleware(s.router))
	}
	if s.metricsListener != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", s.publicMetrics())
		limiter := connlimit.New(connlimit.Config{
			Max: metricsConnections, PerAddress: metricsConnections, Logger: s.log,
		})
		s.addHTTPServer(limiter.Listen(s.metricsListener), mux, limiter)
	}
}

// addHTTPServer adds and returns a server. It accepts requests once acceptRequests is called.
func (s *Server) addHTTPServer(l *connlimit.Listener, h http.Handler, connections *connlimit.Limiter) *http.Server {
	s.limited = append(s.limited, l)
	s.servers = append(s.servers, &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         connections.ConnState,
		ConnContext:       connections.ConnContext,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	})
	return s.servers[len(s.servers)-1]
}

// wire creates everything that needs the store.
func (s *Server) wire() {
	s.scheduler = scheduler.New(scheduler.Config{
		Store: s.store, Period: s.cfg.CheckInterval, Backlog: s.pings.Backlog, LosingPings: s.pings.LosingPings,
		Replica: s.replica, Logger: s.log,
	})
	s.checker = s.newChecker()
	s.limits = limit.NewTokens(s.cfg.APIRateLimit)
	s.site = page.New(page.Config{
		Store: s.store, Logger: s.log, BaseURL: s.URL(), Hosts: s.cfg.Hosts, Mail: s.cfg.SMTPURL != nil,
		SignUps: s.cfg.SignUpLimit, PageIndex: s.cfg.PageIndex, SecurityContact: s.cfg.SecurityContact,
		Streams: maxStreams(s.connections.Max), Limits: s.limits,
		SessionSecret: func(r *http.Request) string { return s.dashboard.SessionSecret(r) },
		SessionCounts: func(r *http.Request, in account.SignedIn) (bool, error) {
			return s.dashboard.SignIn.Counts(r, in)
		},
	})
	s.domains = domains.New(domains.Config{Store: s.store, Server: s.cfg.DNSServer, Logger: s.log})
	s.notify = notify.New(s.notifyConfig())
	sender := s.newAlertSender()
	s.channelTests = web.NewChannelTester(sender.Test, nil)
	s.alerts = alerter.New(alerter.Config{
		Store: s.store, Sender: sender, BaseURL: s.URL(), Logger: s.log, Sent: s.metrics.countAlert,
	})
	s.tests = web.NewCheckTester(s.checker.Once, nil)
	s.dashboard = dashboard.New(dashboard.Config{
		Store: s.store, Logger: s.log, BaseURL: s.URL(), VerifyDomain: s.domains.Verify,
		CheckTarget: s.notify.CheckTarget, Process: s.process(),
		Tests: s.tests, ChannelTests: s.channelTests, SendMail: s.accountMail(),
		SingleSignOn: s.cfg.SignIn.singleSignOn(s.URL()),
	})
	s.servers[0].RegisterOnShutdown(s.site.EndStreams)
	s.servers[0].RegisterOnShutdown(s.dashboard.EndStreams)
	s.registerStoreMetrics()
	s.wireTLS()
	s.wired.Store(true)
}

// accountMail returns a function that sends the mails of the dashboard, or nil if mail is off.
func (s *Server) accountMail() func(ctx context.Context, to, subject, text string) error {
	if s.cfg.SMTPURL == nil {
		return nil
	}
	return func(ctx context.Context, to, subject, text string) error {
		return s.notify.SendAccountMail(ctx, notify.AccountMail{To: to, Subject: subject, Text: text})
	}
}

// process returns what the dashboard shows of this process.
func (s *Server) process() dashboard.Process {
	build := buildinfo.Read()
	p := dashboard.Process{
		Version: build.Version, Revision: build.Revision, Go: build.Go, Platform: build.Platform, StartedAt: time.Now(),
		Database: settings.DatabaseName(s.cfg.Database), Replica: s.replica, RecordedPings: s.metrics.recordedPings,
		PingWriterBusy: s.pings.Busy,
	}
	for _, v := range s.cfg.Values {
		p.Settings = append(p.Settings, dashboard.Setting{Name: v.Env, Value: v.Text, Source: string(v.Source)})
	}
	return p
}

// openHandlers lets requests reach the handlers that need the store.
func (s *Server) openHandlers() {
	s.apiHandler.replace(api.New(api.Config{
		Store: s.store, BaseURL: s.cfg.BaseURL, Limits: s.limits, Logger: s.log,
		VerifyDomain: s.domains.Verify, CheckTarget: s.notify.CheckTarget, Tests: s.tests, ChannelTests: s.channelTests,
	}))
	s.pageHandler.replace(s.site.Handler())
	s.dashboardHandler.replace(s.dashboard.Handler())
	s.metricsHandler.replace(s.authenticatedMetrics())
	s.open.Store(true)
}

func (s *Server) notifyConfig() notify.Config {
	c := notify.Config{
		Store: s.store, Logger: s.log, BaseURL: s.URL(), SMTP: s.cfg.SMTPURL, Hello: s.hello(),
		AllowPrivate: s.cfg.WebhookAllowPrivate, Deny: s.cfg.WebhookDeny, Settled: s.metrics.countDelivery,
	}
	if s.cfg.MailFrom != nil {
		c.From = *s.cfg.MailFrom
	}
	return c
}

// hello returns the name of this machine for EHLO; "": the sender uses its address.
func (s *Server) hello() string {
	system, _ := os.Hostname() // "" after an error
	return hostname.Hello(s.cfg.MailHello, system)
}

// newAlertSender returns the sender of alerts. It has the restrictions of webhooks, and sends mail through the same
// mail server as notifications.
func (s *Server) newAlertSender() *alertchannel.Sender {
	c := alertchannel.Config{
		AllowPrivate: s.cfg.WebhookAllowPrivate, Denied: s.cfg.WebhookDeny, Command: s.cfg.AlertCommand,
	}
	if s.cfg.SMTPURL != nil {
		c.Mail = func(ctx context.Context, m alertchannel.Mail) audience.SendOutcome {
			return s.notify.SendAlertMail(ctx, notify.AlertMail{
				AccountMail: notify.AccountMail{To: m.To, Subject: m.Subject, Text: m.Text}, ID: m.ID,
				ThreadID: m.ThreadID,
			})
		}
	}
	return alertchannel.NewSender(c)
}

func newReplicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "allswell"
	}
	return host + "-" + strings.ToLower(rand.Text()[:8])
}

// Addr returns the address on which the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL returns the base URL for people: the configured one, or else a URL that works on this machine.
func (s *Server) URL() string {
	if s.cfg.BaseURL != "" {
		return s.cfg.BaseURL
	}
	return settings.LocalURL(s.listener.Addr().String())
}
