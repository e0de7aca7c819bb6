package certificates

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/caddyserver/certmagic"
)

const (
	// handshakeTimeout is how long a handshake waits for a certificate that has to be loaded or obtained. A server
	// closes the connection after 10 seconds.
	handshakeTimeout = 9 * time.Second

	// obtainTimeout is how long loading or obtaining a certificate may take. It goes on when the handshake has ended.
	obtainTimeout = 3 * time.Minute

	// loadPause is how long the result of loading or obtaining a certificate is kept if it failed.
	loadPause = 10 * time.Second

	// maxCached is the maximum number of certificates in memory. Others are in the database.
	maxCached = 1000

	// A replica begins at most maxOrders orders for pages' domains in any ordersWindow. Certificate authorities have
	// such limits, too, for all names of an account together (Let's Encrypt: 300). Names of one workspace get half, so
	// that its failing domains do not use up the limit.
	maxOrders    = 200
	ordersWindow = 3 * time.Hour

	// cleanInterval is how often expired certificates and old failures are deleted, and expiredGrace for how long they
	// are kept.
	cleanInterval = 24 * time.Hour
	expiredGrace  = 30 * 24 * time.Hour
)

// ManagerConfig is the configuration of a Manager.
type ManagerConfig struct {
	Store *store.Store

	// Host is the host name of the base URL. Its certificate is obtained when Run begins.
	Host string

	// Owner returns the id of the workspace to which a name other than Host belongs; "": the installation. The name is
	// in lower case. If found is false, no certificate is obtained for it. Owner is called for each handshake.
	Owner func(ctx context.Context, name string) (workspaceID string, found bool)

	Email     string         // of the account with the certificate authority; "": none
	Directory string         // URL of the ACME directory; "": Let's Encrypt
	Roots     *x509.CertPool // that the directory's certificate is checked with; nil: the system's

	TLSPort, HTTPPort int // that this server listens on; HTTPPort is 0 if it does not answer HTTP challenges

	Logger *slog.Logger

	renewalWindow float64 // part of a certificate's lifetime in which it is renewed; 0: the last third
}

// Manager obtains certificates from a certificate authority, renews them, and keeps them in the database.
type Manager struct {
	host    string
	owner   func(context.Context, string) (string, bool)
	log     *slog.Logger
	storage *storage
	cache   *certmagic.Cache
	// renewing renews the certificate of the base URL in the background; onDemand obtains and renews the others, and
	// loads all, during handshakes.
	renewing, onDemand *certmagic.Config
	issuer             *certmagic.ACMEIssuer
	orders, ordersOf   *limit.Limiter // of all, and by workspace

	running context.Context // ends when the manager stops
	stop    context.CancelFunc

	mu    sync.Mutex
	loads map[string]*load // by name
}

// load is the loading or obtaining of one certificate, which handshakes wait for.
type load struct {
	done        chan struct{}
	certificate *tls.Certificate // set before done is closed, like err
	err         error
}

// NewManager returns a Manager. It obtains nothing until Run is called or a handshake begins.
func NewManager(c ManagerConfig) *Manager {
	m := &Manager{
		host: c.Host, owner: c.Owner, log: c.Logger,
		orders: limit.New(maxOrders, ordersWindow), ordersOf: limit.New(maxOrders/2, ordersWindow),
		loads: make(map[string]*load),
	}
	m.running, m.stop = context.WithCancel(context.Background())
	m.storage = &storage{store: c.Store, log: c.Logger, closed: m.running, held: make(map[string]*heldLock)}
	logger := newLogger(c.Logger)
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		Capacity: maxCached, Logger: logger,
		GetConfigForCert: func(certificate certmagic.Certificate) (*certmagic.Config, error) {
			if len(certificate.Names) > 0 && certificate.Names[0] == m.host {
				return m.renewing, nil
			}
			return m.onDemand, nil
		},
	})
	settings := certmagic.Config{
		Storage: m.storage, Logger: logger, DisableStorageCheck: true, DefaultServerName: c.Host, OnEvent: m.observe,
		RenewalWindowRatio: c.renewalWindow, DisableARI: c.renewalWindow > 0,
	}
	m.renewing = certmagic.New(m.cache, settings)
	settings.OnEvent = m.observeOnDemand
	settings.OnDemand = &certmagic.OnDemandConfig{DecisionFunc: m.decide}
	m.onDemand = certmagic.New(m.cache, settings)
	for _, config := range []*certmagic.Config{m.renewing, m.onDemand} {
		m.issuer = certmagic.NewACMEIssuer(config, certmagic.ACMEIssuer{
			CA: cmp.Or(c.Directory, certmagic.LetsEncryptProductionCA), Email: c.Email, Agreed: true,
			TrustedRoots: c.Roots, Logger: logger, DisableHTTPChallenge: c.HTTPPort == 0, AltHTTPPort: c.HTTPPort,
			AltTLSALPNPort: c.TLSPort,
		})
		config.Issuers = []certmagic.Issuer{m.issuer}
	}
	return m
}

// Run obtains the certificate of the base URL, renews certificates and deletes what has expired until ctx ends. After
// that the Manager must not be used.
func (m *Manager) Run(ctx context.Context) {
	defer m.cache.Stop()
	defer m.stop()
	if err := m.renewing.ManageAsync(ctx, []string{m.host}); err != nil {
		m.log.Error("obtaining the certificate of the base URL failed", "host", m.host, "error", err)
	}
	ticker := time.NewTicker(cleanInterval)
	defer ticker.Stop()
	for {
		if err := m.clean(ctx, time.Now()); err != nil && ctx.Err() == nil {
			m.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "deleting expired certificates failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// clean deletes certificates that expired more than expiredGrace ago, and the failures of names whose last order failed
// before that.
func (m *Manager) clean(ctx context.Context, now time.Time) error {
	return errors.Join(
		certmagic.CleanStorage(ctx, m.storage, certmagic.CleanStorageOptions{
			Logger: newLogger(m.log), Interval: cleanInterval / 2, OCSPStaples: true, ExpiredCerts: true,
			ExpiredCertGracePeriod: expiredGrace,
		}),
		m.deleteFailures(ctx, now.Add(-expiredGrace)),
	)
}

// GetCertificate returns the certificate for a handshake, for tls.Config. It returns nil and no error for names that
// are not allowed, and errUnavailable if the certificate is not obtained within handshakeTimeout.
func (m *Manager) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := cmp.Or(statuspage.HostName(hello.ServerName), m.host)
	ctx := hello.Context()
	switch {
	case !m.serves(ctx, name):
		m.log.Debug("handshake refused: no certificate is obtained for this name", "name", name)
		return nil, nil
	case isChallenge(hello) || m.isCached(name):
		return m.onDemand.GetCertificateWithContext(ctx, hello)
	}
	l := m.load(name, hello)
	timeout := time.NewTimer(handshakeTimeout)
	defer timeout.Stop()
	select {
	case <-l.done:
		return l.certificate, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, errUnavailable
	}
}

// isChallenge reports whether a handshake is a validation by the certificate authority.
func isChallenge(hello *tls.ClientHelloInfo) bool {
	return len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == ChallengeProtocol
}

// isCached reports whether a valid certificate is in memory.
func (m *Manager) isCached(name string) bool {
	for _, certificate := range m.cache.AllMatchingCertificates(name) {
		if !certificate.Expired() {
			return true
		}
	}
	return false
}

// Expiry returns when the certificate of the base URL expires; the zero time if there is none yet.
func (m *Manager) Expiry() (latest time.Time) {
	for _, certificate := range m.cache.AllMatchingCertificates(m.host) {
		if certificate.Leaf != nil && certificate.Leaf.NotAfter.After(latest) {
			latest = certificate.Leaf.NotAfter
		}
	}
	return latest
}

// load begins to load or obtain the certificate for a name, or returns the attempt that has begun already. The attempt
// goes on when the handshake has ended.
func (m *Manager) load(name string, hello *tls.ClientHelloInfo) *load {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.loads[name]; l != nil {
		return l
	}
	l := &load{done: make(chan struct{})}
	m.loads[name] = l
	go func() {
		ctx, cancel := context.WithTimeout(m.running, obtainTimeout)
		defer cancel()
		l.certificate, l.err = m.onDemand.GetCertificateWithContext(ctx, hello)
		if l.err != nil {
			l.certificate = nil
			m.log.Debug("handshake failed: there is no certificate", "name", name, "error", l.err)
		}
		close(l.done)
		remove := func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.loads, name)
		}
		if l.err == nil {
			remove()
		} else {
			time.AfterFunc(loadPause, remove)
		}
	}()
	return l
}

// HandleChallenge answers a request of the certificate authority on the HTTP port, and returns true. It returns false
// for all other requests.
func (m *Manager) HandleChallenge(w http.ResponseWriter, r *http.Request) bool {
	name := statuspage.HostName(r.Host)
	return certmagic.LooksLikeHTTPChallenge(r) && !strings.HasPrefix(name, "[") &&
		m.serves(r.Context(), name) && m.issuer.HandleHTTPChallenge(w, r)
}
