// Package https tests servers that speak HTTPS themselves, with certificates of Pebble.
package https

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
	"github.com/allswell/allswell/test/freeport"
	"github.com/allswell/allswell/test/pebble"
)

const (
	host  = "status.example.com"
	token = "a-bootstrap-token-of-the-tests-of-https"

	// awaitTimeout is how long a test waits at most, on a machine that is busy with other tests.
	awaitTimeout = time.Minute
)

// site is a server and a client for it, which connects to the server whatever the name.
type site struct {
	*testing.T
	*binary.Server
	plain  string // address of its HTTP listener
	client *http.Client
}

// newSite prepares a server that obtains certificates.
func newSite(t *testing.T, exe, database string, acme *pebble.Server, tlsPort, httpPort int) *site {
	t.Helper()
	address := "127.0.0.1:" + strconv.Itoa(tlsPort)
	w := &site{T: t, plain: "127.0.0.1:" + strconv.Itoa(httpPort)}
	w.Server = binary.NewServer(t, exe, "ALLSWELL_DATABASE="+database, "ALLSWELL_LISTEN="+address,
		"ALLSWELL_REDIRECT_LISTEN="+w.plain,
		"ALLSWELL_TLS=auto", "ALLSWELL_BASE_URL=https://"+host, "ALLSWELL_BOOTSTRAP_TOKEN="+token,
		"ALLSWELL_ACME_DIRECTORY="+acme.Directory, "ALLSWELL_ACME_CA="+acme.CAFile)
	dial := func(ctx context.Context, network, to string) (net.Conn, error) {
		target := address
		if strings.HasSuffix(to, ":80") {
			target = w.plain
		}
		return new(net.Dialer).DialContext(ctx, network, target)
	}
	transport := &http.Transport{
		DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: acme.Roots}, ForceAttemptHTTP2: true,
	}
	w.client = &http.Client{
		Timeout: 20 * time.Second, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(transport.CloseIdleConnections)
	return w
}

// response is an answer with its body.
type response struct {
	*http.Response
	body string
}

// do sends a request. It returns an error if the connection fails.
func (w *site) do(method, url, body string) (response, error) {
	r, err := http.NewRequestWithContext(w.Context(), method, url, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	if strings.HasPrefix(url, "https:") {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := w.client.Do(r)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return response{res, string(text)}, err
}

// want sends a request that must be answered with a status.
func (w *site) want(status int, method, url, body string) response {
	w.Helper()
	res, err := w.do(method, url, body)
	if err != nil {
		w.Fatalf("%s %s: %v", method, url, err)
	}
	if res.StatusCode != status {
		w.Fatalf("%s %s: %s %s, want %d", method, url, res.Status, res.body, status)
	}
	return res
}

// await waits until the server is ready over HTTPS.
func (w *site) await() response {
	w.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(awaitTimeout); ; <-ticker.C {
		res, err := w.do("GET", "https://"+host+"/readyz", "")
		if err == nil && res.StatusCode == http.StatusOK {
			return res
		}
		if time.Now().After(end) {
			w.Fatalf("the server is not ready: %v %v", res, err)
		}
	}
}

// create sends a POST to the API and returns a field of the answer.
func (w *site) create(path, body, field string) string {
	w.Helper()
	res := w.want(http.StatusCreated, "POST", "https://"+host+"/api/v1"+path, body)
	var answer struct{ Data map[string]any }
	if err := json.NewDecoder(bytes.NewBufferString(res.body)).Decode(&answer); err != nil {
		w.Fatal(err)
	}
	return fmt.Sprint(answer.Data[field])
}

// TestHTTPS checks a server that obtains its certificates: for the base URL and for the domain of a page, not for
// others.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	p := []int{freeport.Port(t), freeport.Port(t)}
	acme := pebble.Start(t, p[1], p[0])
	w := newSite(t, binary.Build(t), storetest.SQLite(t), acme, p[0], p[1])
	w.Launch()
	ready := w.await()
	if ready.ProtoMajor != 2 || ready.TLS.Version != tls.VersionTLS13 ||
		ready.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s, TLS version %x, %v", ready.Proto, ready.TLS.Version, ready.Header)
	}

	expiry := strconv.FormatFloat(float64(ready.TLS.PeerCertificates[0].NotAfter.Unix()), 'g', -1, 64)
	metrics := w.want(http.StatusOK, "GET", "https://"+host+"/metrics", "").body
	if !strings.Contains(metrics, "\nallswell_certificate_expiry_timestamp_seconds "+expiry+"\n") {
		t.Errorf("the metrics do not contain the expiry of the certificate, %s:\n%s", expiry, metrics)
	}

	const domain = "page.example.org"
	w.getsDomain(acme, domain)
	w.answersOverHTTP(domain)

	w.refusesOldTLS(acme.Roots)

	// At its own domain, a private page is still served to requests with a token, also after the next start.
	w.want(http.StatusOK, "PATCH", "https://"+host+"/api/v1/pages/acme", `{"visibility": "private"}`)

	// The next start uses the same certificates, while the certificate authority does not answer.
	if err := w.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	acme.Stop()
	w.client.CloseIdleConnections()
	w.Launch()
	if again := w.await(); !again.TLS.PeerCertificates[0].Equal(ready.TLS.PeerCertificates[0]) {
		t.Error("the next start uses another certificate")
	}
	if page := w.want(http.StatusOK, "GET", "https://"+domain+"/", ""); !strings.Contains(page.body, "Acme") {
		t.Errorf("the private page's domain: %s", page.body)
	}
	history := w.want(http.StatusPermanentRedirect, "GET", "http://"+domain+"/history", "")
	if got := history.Header.Get("Location"); got != "https://"+domain+"/history" {
		t.Errorf("the private page's domain is redirected to %s", got)
	}
	if err := w.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// answersOverHTTP checks that pings are recorded over HTTP/2 and over HTTP. Other requests over HTTP are redirected or
// refused.
func (w *site) answersOverHTTP(domain string) {
	component := w.create("/pages/acme/components", `{"name": "Backups"}`, "id")
	ping := w.create("/monitors", `{"name": "Backup", "interval": 60, "page": "acme", "component_id": "`+component+`"}`,
		"ping_url")
	if !strings.HasPrefix(ping, "https://"+host+"/") {
		w.Errorf("the ping URL is %s", ping)
	}
	for _, url := range []string{ping, strings.Replace(ping, "https:", "http:", 1)} {
		if res := w.want(http.StatusOK, "POST", url, ""); res.body != `{"ok":true}` {
			w.Errorf("%s: %s", url, res.body)
		}
	}
	for from, to := range map[string]string{
		"http://" + host + "/status/acme?lang=de": "https://" + host + "/status/acme?lang=de",
		"http://" + domain + "/history":           "https://" + domain + "/history",
		"http://192.0.2.1/status/acme":            "https://" + host + "/status/acme",
	} {
		if got := w.want(http.StatusPermanentRedirect, "GET", from, "").Header.Get("Location"); got != to {
			w.Errorf("%s is redirected to %s, want %s", from, got, to)
		}
	}
	w.want(http.StatusForbidden, "GET", "http://"+host+"/api/v1/pages", "")
	w.want(http.StatusPermanentRedirect, "GET", "http://"+host+"/.well-known/acme-challenge/guess", "")
}

// refusesOldTLS checks that old versions of TLS, and ciphers without forward secrecy, are refused.
func (w *site) refusesOldTLS(roots *x509.CertPool) {
	for name, config := range map[string]*tls.Config{
		"TLS 1.1": {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"CBC":     {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}},
		"RSA":     {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
	} {
		config.ServerName, config.RootCAs = host, roots
		if conn, err := tls.Dial("tcp", strings.TrimPrefix(w.URL, "http://"), config); err == nil {
			conn.Close()
			w.Errorf("%s is accepted", name)
		}
	}
}

// TestReplicasShareCertificates starts two replicas together: they order one certificate for each name, whichever of
// them the certificate authority asks.
func TestReplicasShareCertificates(t *testing.T) {
	t.Parallel()
	exe, database := binary.Build(t), storetest.PostgreSQL(t)
	p := []int{freeport.Port(t), freeport.Port(t), freeport.Port(t), freeport.Port(t)}
	acme := pebble.Start(t, p[3], p[0]) // it asks one replica over TLS, and the other one over HTTP
	a, b := newSite(t, exe, database, acme, p[0], p[1]), newSite(t, exe, database, acme, p[2], p[3])
	a.Launch()
	b.Launch()
	if first, second := a.await(), b.await(); !first.TLS.PeerCertificates[0].Equal(second.TLS.PeerCertificates[0]) {
		t.Error("the replicas have different certificates")
	}
	a.create("/pages", `{"name": "Acme", "slug": "acme", "domain": "page.example.org"}`, "id")
	for _, w := range []*site{b, a} {
		w.want(http.StatusOK, "GET", "https://page.example.org/", "")
	}
	// one for each name; the first challenge fails if the other replica does not listen yet
	if n := acme.Issued(); n != 2 {
		t.Errorf("%d certificates were issued", n)
	}
}

// getsDomain refuses a name that is foreign, and obtains a certificate after the name has become the domain of a page.
func (w *site) getsDomain(acme *pebble.Server, domain string) {
	_, err := w.do("GET", "https://"+domain+"/", "")
	if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		w.Errorf("a foreign name: %v", err)
	}
	if n := acme.Orders(); n != 1 {
		w.Errorf("%d orders", n)
	}
	w.create("/pages", `{"name": "Acme", "slug": "acme"}`, "id")
	w.want(http.StatusOK, "PATCH", "https://"+host+"/api/v1/pages/acme", `{"domain": "`+domain+`"}`)
	if page := w.want(http.StatusOK, "GET", "https://"+domain+"/", ""); !strings.Contains(page.body, "Acme") {
		w.Errorf("the page's domain: %s", page.body)
	}
	if n := acme.Orders(); n != 2 {
		w.Errorf("%d orders with the page's domain", n)
	}
}
