package certificates

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/pebble"
)

// awaitTimeout is how long a test waits at most, on a machine that is busy with other tests.
const awaitTimeout = time.Minute

// fixture is a Manager behind real listeners, and a certificate authority.
type fixture struct {
	*testing.T
	*Manager
	acme *pebble.Server
	// the host of the base URL; no other fixture has it, because certmagic has state of the process for each name
	name    string
	store   *store.Store
	address string       // of the TLS listener
	ports   [2]int       // HTTP and TLS
	allowed atomic.Value // string: the other name that is allowed
	serving atomic.Pointer[Manager]
}

func newFixture(t *testing.T, s *store.Store) *fixture {
	t.Helper()
	w := &fixture{T: t, store: s, name: strings.ToLower(rand.Text()[:8]) + ".example.com"}
	w.allowed.Store("")
	plain, encrypted := w.listen(), w.listen()
	w.address = encrypted.Addr().String()
	w.ports = [2]int{plain.Addr().(*net.TCPAddr).Port, encrypted.Addr().(*net.TCPAddr).Port}
	w.acme = pebble.Start(t, w.ports[0], w.ports[1])
	w.Manager = w.manager(0)
	get := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return w.serving.Load().GetCertificate(hello)
	}
	servers := []*http.Server{
		{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !w.serving.Load().HandleChallenge(rw, r) {
				http.NotFound(rw, r)
			}
		})},
		{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			io.WriteString(rw, r.Proto)
		}), TLSConfig: TLSConfig(get, ChallengeProtocol)},
	}
	for _, server := range servers {
		server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
		t.Cleanup(func() { server.Close() })
	}
	go servers[0].Serve(plain)
	go servers[1].ServeTLS(encrypted, "", "")
	return w
}

func (w *fixture) listen() net.Listener {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { l.Close() })
	return l
}

// output is the output of a test until it ends. certmagic does not wait for what it does in the background.
type output struct {
	mu sync.Mutex
	to io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}

func (w *fixture) output() io.Writer {
	o := &output{to: w.Output()}
	w.Cleanup(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.to = io.Discard
	})
	return o
}

// manager returns a manager, which handles the handshakes from now on, like a server that was started again.
func (w *fixture) manager(renewalWindow float64) *Manager {
	m := NewManager(ManagerConfig{
		Store: w.store, Host: w.name, Directory: w.acme.Directory, Roots: w.acme.CA, HTTPPort: w.ports[0],
		TLSPort: w.ports[1],
		Owner: func(_ context.Context, name string) (string, bool) {
			workspace, _, _ := strings.Cut(name, ".")
			return workspace, name == w.allowed.Load()
		},
		Logger:        slog.New(slog.NewTextHandler(w.output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		renewalWindow: renewalWindow,
	})
	w.serving.Store(m)
	return m
}

// run runs a manager until the test ends, or the returned function is called.
func (w *fixture) run(m *Manager) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	w.Cleanup(stop)
	return stop
}

// handshake connects with a name and returns the certificate.
func (w *fixture) handshake(name string) (*x509.Certificate, error) {
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: awaitTimeout}, Config: &tls.Config{ServerName: name, RootCAs: w.acme.Roots},
	}
	conn, err := dialer.Dial("tcp", w.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// await repeats handshakes until there is a certificate that is not old.
func (w *fixture) await(name string, old *x509.Certificate) *x509.Certificate {
	w.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(awaitTimeout); ; <-ticker.C {
		certificate, err := w.handshake(name)
		if err == nil && (old == nil || !certificate.Equal(old)) {
			return certificate
		}
		if time.Now().After(end) {
			w.Fatalf("%s: no new certificate: %v", name, err)
		}
	}
}

// TestCertificateOfTheBaseURL checks that the certificate is obtained at the start, found again by the next start,
// renewed, and kept while the certificate authority does not answer.
func TestCertificateOfTheBaseURL(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		w := newFixture(t, s)
		stop := w.run(w.Manager)
		first := w.await(w.name, nil)
		if n := w.acme.Orders(); n != 1 {
			t.Errorf("%d orders", n)
		}
		stop()

		stop = w.run(w.manager(0)) // another start
		if again := w.await(w.name, nil); !again.Equal(first) || w.acme.Orders() != 1 {
			t.Errorf("another start uses %s, not %s, after %d orders", again.SerialNumber, first.SerialNumber,
				w.acme.Orders())
		}
		stop()

		stop = w.run(w.manager(1)) // every certificate is due for renewal
		second := w.await(w.name, first)
		stop()

		w.acme.Stop()
		dead := w.manager(1)
		w.run(dead)
		if err := dead.cache.RenewManagedCertificates(t.Context()); err != nil {
			t.Error(err)
		}
		if kept := w.await(w.name, nil); kept.NotAfter.Before(second.NotAfter) {
			t.Errorf("while the certificate authority does not answer, the certificate is %s", kept.SerialNumber)
		}
	})
}

// TestOtherNames checks that certificates are obtained during handshakes for allowed names only.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	w := newFixture(t, storetest.Open(t, storetest.SQLite(t), store.Options{}))
	w.run(w.Manager)
	w.await(w.name, nil)
	orders := w.acme.Orders()
	for _, name := range []string{"foreign.example.com", "x." + w.name, w.name + ".evil.example"} {
		if _, err := w.handshake(name); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := w.acme.Orders(); n != orders {
		t.Errorf("%d orders for foreign names", n-orders)
	}

	w.allowed.Store("page.example.org")
	page := w.await("page.example.org", nil)
	if again, err := w.handshake("page.example.org"); err != nil || !again.Equal(page) || w.acme.Orders() != orders+1 {
		t.Errorf("again: %v, %d orders", err, w.acme.Orders()-orders)
	}
	w.allowed.Store("") // the page has gone
	if _, err := w.handshake("page.example.org"); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("a page that has gone: %v", err)
	}
}

// TestFailedOrdersPause checks that a name whose validation fails is not ordered again immediately, not even by another
// replica.
func TestFailedOrdersPause(t *testing.T) {
	t.Parallel()
	w := newFixture(t, storetest.Open(t, storetest.SQLite(t), store.Options{}))
	if err := w.observeOnDemand(t.Context(), "cert_obtaining", map[string]any{"identifier": "a.example"}); err != nil {
		t.Error(err)
	}
	err := w.observeOnDemand(t.Context(), "cert_failed",
		map[string]any{"identifier": "a.example", "error": errors.New("no")})
	if err != nil {
		t.Error(err)
	}
	for _, m := range []*Manager{w.Manager, w.manager(0)} {
		err := m.observeOnDemand(t.Context(), "cert_obtaining", map[string]any{"identifier": "a.example"})
		if err == nil {
			t.Error("the name is ordered again at once")
		}
		err = m.observeOnDemand(t.Context(), "cert_obtaining", map[string]any{"identifier": "b.example"})
		if err != nil {
			t.Errorf("another name: %v", err)
		}
	}
	if err := w.observeOnDemand(t.Context(), "cert_obtained", map[string]any{"identifier": "a.example"}); err != nil {
		t.Error(err)
	}
	if f, err := w.failures(t.Context(), "a.example"); err != nil || f != (failures{}) {
		t.Errorf("after a success: %+v, %v", f, err)
	}
}

// TestPausesGrow checks how long a name pauses after each failed order in a row, and that the pauses begin anew after a
// certificate was obtained.
func TestPausesGrow(t *testing.T) {
	t.Parallel()
	w := newFixture(t, storetest.Open(t, storetest.SQLite(t), store.Options{}))
	for round := range 2 {
		for n := range len(pauses) + 2 {
			want := pauses[min(n, len(pauses)-1)]
			if n > 0 && n < len(pauses) && want <= pauses[n-1] {
				t.Errorf("pause %d, %s, is not longer than the one before it", n, want)
			}
			from := time.Now()
			w.countFailure(t.Context(), "a.example")
			to := time.Now()
			f, err := w.failures(t.Context(), "a.example")
			if err != nil || f.Count != n+1 || f.RetryAt.Before(from.Add(want).Round(0)) ||
				f.RetryAt.After(to.Add(want).Round(0)) {
				t.Errorf("round %d, failure %d: %+v, %v, expected a pause of %s", round, n, f, err, want)
			}
		}
		err := w.observeOnDemand(t.Context(), "cert_obtained", map[string]any{"identifier": "a.example"})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOrdersAreShared checks how many orders are made for the names of one workspace, and of all.
func TestOrdersAreShared(t *testing.T) {
	w := newFixture(t, storetest.Open(t, storetest.SQLite(t), store.Options{}))
	ordered := func(workspace string) (n int) {
		for w.observeOnDemand(
			t.Context(), "cert_obtaining", map[string]any{"identifier": fmt.Sprintf("%s.%d.example", workspace, n)},
		) == nil {
			n++
		}
		return n
	}
	if a, b, c := ordered("a"), ordered("b"), ordered("c"); a != maxOrders/2 || b != maxOrders/2 || c != 0 {
		t.Errorf("%d, %d and %d orders of three workspaces", a, b, c)
	}
}

// TestOldFailuresAreDeleted checks that the failures of a name that never gets a certificate are deleted, once they are
// old.
func TestOldFailuresAreDeleted(t *testing.T) {
	w := newFixture(t, storetest.Open(t, storetest.SQLite(t), store.Options{}))
	if err := w.clean(t.Context(), time.Now()); err != nil {
		t.Errorf("without failures: %v", err)
	}
	w.countFailure(t.Context(), "a.example")
	for _, c := range []struct {
		age  time.Duration
		left int
	}{{expiredGrace / 2, 1}, {2 * expiredGrace, 0}} {
		if err := w.clean(t.Context(), time.Now().Add(c.age)); err != nil {
			t.Error(err)
		}
		paths, err := w.store.CertificatePaths(t.Context(), failuresFolder)
		if err != nil || len(paths) != c.left {
			t.Errorf("after %s: %q, %v", c.age, paths, err)
		}
	}
}
