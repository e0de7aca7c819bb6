package connlimit

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// newTLSServer is newTestServer with TLS and HTTP/2, and a client that trusts it.
func newTLSServer(t *testing.T, c Config) (*testServer, *http.Client) {
	t.Helper()
	issued := httptest.NewUnstartedServer(nil) // for its certificate
	issued.EnableHTTP2 = true
	issued.StartTLS()
	t.Cleanup(issued.Close)
	w := &testServer{T: t, holding: make(chan struct{}, 1000), hold: make(chan struct{}), served: make(chan error, 1)}
	w.Limiter = New(c)
	inner, err := Socket(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = inner.Addr().String()
	w.listener = w.ListenTLS(inner)
	w.server = &http.Server{
		Handler: http.HandlerFunc(w.answer), ConnState: w.ConnState, ConnContext: w.ConnContext,
		TLSConfig: &tls.Config{Certificates: issued.TLS.Certificates},
	}
	go func() { w.served <- w.server.ServeTLS(w.listener, "", "") }()
	t.Cleanup(func() { w.server.Close() })
	return w, issued.Client()
}

// TestHTTP2RequestsAreCounted checks that several requests on one connection are counted, and that none is left when
// they have ended.
func TestHTTP2RequestsAreCounted(t *testing.T) {
	w, client := newTLSServer(t, Config{Max: 64, PerAddress: 32})
	get := func(path string) string {
		res, err := client.Get("https://" + w.addr + path)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer res.Body.Close()
		if res.ProtoMajor != 2 {
			t.Errorf("GET %s uses %s, want HTTP/2", path, res.Proto)
		}
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
	get("/") // opens the connection
	most := int(w.maxAddressBusy())
	var held sync.WaitGroup
	for range most {
		held.Go(func() { get("/hold") })
	}
	for range most {
		<-w.holding
	}
	if open, busy := w.Open(), w.busy.Load(); open != 1 || int(busy) != most {
		t.Errorf("%d connections, %d busy requests; want 1 and %d", open, busy, most)
	}
	if got := get("/"); got != "address_busy\n" {
		t.Errorf("one more: %q", got)
	}
	if got := get("/ping"); got != "ok" {
		t.Errorf("a ping: %q", got)
	}
	close(w.hold)
	held.Wait()
	if busy := w.busy.Load(); busy != 0 {
		t.Errorf("%d requests are still counted", busy)
	}
	if got := get("/"); got != "ok" {
		t.Errorf("afterwards: %q", got)
	}
	if err := w.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEncryptedConnectionsAreClosedWithoutAnAnswer checks that nothing is written to a client that expects TLS.
func TestEncryptedConnectionsAreClosedWithoutAnAnswer(t *testing.T) {
	w, _ := newTLSServer(t, Config{Max: 64, PerAddress: 1})
	first, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	first.Write([]byte{22}) // the first byte of a handshake
	for w.Phases()["reading"] == 0 {
		time.Sleep(time.Millisecond)
	}
	second, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	first.SetReadDeadline(time.Now().Add(10 * time.Second))
	if got, err := io.ReadAll(first); len(got) > 0 || err != nil {
		t.Errorf("the connection that made room got %q, %v", got, err)
	}
}
