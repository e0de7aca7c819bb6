package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/worker/certificates"
	"github.com/allswell/allswell/internal/worker/ping"
)

// hsts makes browsers use HTTPS only, for 180 days. It does not include subdomains, which may belong to other servers.
var hsts = []string{"max-age=15552000"}

// tlsServer is the part of a server that speaks TLS itself. See docs/decisions/0060-https-without-another-program.md.
type tlsServer struct {
	base  *url.URL
	roots *x509.CertPool // nil: the system's

	files   *certificates.Files   // nil with certificates by ACME
	manager *certificates.Manager // nil with files; set before ready is closed
	ready   chan struct{}         // closed when certificates are available
}

// prepareTLS reads the files that the settings name. Without TLS it does nothing.
func (s *Server) prepareTLS() (err error) {
	if !s.cfg.TLS.Enabled() {
		return nil
	}
	t := &tlsServer{ready: make(chan struct{})}
	if t.base, err = url.Parse(s.cfg.BaseURL); err != nil {
		return err
	}
	if s.cfg.TLS.CertFile != "" {
		if t.files, err = certificates.LoadFiles(s.cfg.TLS.CertFile, s.cfg.TLS.KeyFile, s.log); err != nil {
			return fmt.Errorf("ALLSWELL_TLS_CERT, ALLSWELL_TLS_KEY: %w", err)
		}
		close(t.ready)
	}
	if s.cfg.TLS.ACMECA != "" {
		pem, err := os.ReadFile(s.cfg.TLS.ACMECA)
		if err != nil {
			return fmt.Errorf("ALLSWELL_ACME_CA: %w", err)
		}
		if t.roots = x509.NewCertPool(); !t.roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ALLSWELL_ACME_CA: %s contains no certificate in PEM", s.cfg.TLS.ACMECA)
		}
	}
	s.tls = t
	return nil
}

// addTLSServers adds the HTTPS server, and the HTTP server that redirects to it.
func (s *Server) addTLSServers(h http.Handler) {
	server := s.addHTTPServer(s.connections.ListenTLS(s.listener), strictTransport(h), s.connections)
	server.ErrorLog = log.New(handshakeErrors{s.log}, "", 0)
	if s.tls.files != nil {
		server.TLSConfig = certificates.TLSConfig(s.tls.files.GetCertificate)
	} else {
		server.TLSConfig = certificates.TLSConfig(s.tls.getCertificate, certificates.ChallengeProtocol)
	}
	if s.redirectListener != nil {
		s.addHTTPServer(s.connections.Listen(s.redirectListener), s.redirectHandler(h), s.connections)
	}
}

// strictTransport adds the header of HTTP Strict Transport Security.
func strictTransport(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Strict-Transport-Security"] = hsts
		h.ServeHTTP(w, r)
	})
}

// handshakeErrors writes errors of http.Server to the log. Failed handshakes are debug messages, because anybody can
// cause them.
type handshakeErrors struct{ log *slog.Logger }

func (l handshakeErrors) Write(p []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(p, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, strings.TrimSpace(string(p)))
	return len(p), nil
}

// wireTLS creates the manager of ACME certificates, for which handshakes wait, and registers the metric of the
// certificate's expiry.
func (s *Server) wireTLS() {
	if s.tls == nil {
		return
	}
	if s.tls.files == nil {
		s.tls.manager = certificates.NewManager(certificates.ManagerConfig{
			Store: s.store, Host: statuspage.HostName(s.tls.base.Host), Owner: s.ownerOf,
			Email: s.cfg.TLS.Email, Directory: s.cfg.TLS.ACMEDirectory, Roots: s.tls.roots,
			TLSPort: portOf(s.listener), HTTPPort: portOf(s.redirectListener), Logger: s.log,
		})
		close(s.tls.ready)
	}
	s.metrics.registerGauge("allswell_certificate_expiry_timestamp_seconds",
		"When the certificate of the base URL expires; 0: there is none yet. Only with TLS.",
		func() float64 { return timeGauge(s.tls.expiry()) })
}

// expiry returns when the certificate of the base URL expires; the zero time if there is none yet.
func (t *tlsServer) expiry() time.Time {
	if t.files != nil {
		return t.files.Expiry()
	}
	return t.manager.Expiry()
}

// ownerOf returns the workspace whose page has name as its verified domain; "" for a name of the installation.
func (s *Server) ownerOf(ctx context.Context, name string) (workspaceID string, found bool) {
	if s.store.Hosts().Contains(name) {
		return "", true
	}
	return s.site.WorkspaceOf(ctx, name)
}

// portOf returns the port of a listener, 0 for nil.
func portOf(l net.Listener) int {
	if l == nil {
		return 0
	}
	return l.Addr().(*net.TCPAddr).Port
}

// run keeps the certificates up to date until ctx ends.
func (t *tlsServer) run(ctx context.Context) {
	if t.files != nil {
		t.files.Run(ctx)
	} else {
		t.manager.Run(ctx)
	}
}

// getCertificate returns the certificate for a handshake. During the start it waits.
func (t *tlsServer) getCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	select {
	case <-t.ready:
		return t.manager.GetCertificate(hello)
	case <-hello.Context().Done():
		return nil, hello.Context().Err()
	}
}

// redirectHandler answers requests over plain HTTP. It answers challenges of the certificate authority, passes pings to
// h, because a job would take a redirect for success, refuses API requests, whose tokens must not be sent unencrypted,
// and redirects all others.
func (s *Server) redirectHandler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, ping.Path):
			h.ServeHTTP(w, r)
		case s.tls.handlesChallenge(w, r):
		case strings.HasPrefix(r.URL.Path, "/api/v1/"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"message":"The API is only served over HTTPS, at %s."}`, s.cfg.BaseURL)
		default:
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, s.httpsURL(r), http.StatusPermanentRedirect)
		}
	})
}

// handlesChallenge answers a request of the certificate authority, and returns false for all others.
func (t *tlsServer) handlesChallenge(w http.ResponseWriter, r *http.Request) bool {
	select {
	case <-t.ready:
		return t.manager != nil && t.manager.HandleChallenge(w, r)
	default:
		return false
	}
}

// httpsURL returns the HTTPS URL of a request: at the page's domain, or else at the base URL.
func (s *Server) httpsURL(r *http.Request) string {
	to := *s.tls.base
	if name := statuspage.HostName(r.Host); s.wired.Load() {
		if _, found := s.site.WorkspaceOf(r.Context(), name); found {
			to.Host = name
		}
	}
	to.Path, to.RawPath, to.RawQuery = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
	return to.String()
}
