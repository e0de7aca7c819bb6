package scripts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const connectionsToken = "bootstrap-token-of-thirty-two-characters"

// monitored is a server with a page and a monitor.
func monitored(
	t *testing.T, interval int, env ...string,
) (server *binary.Server, api *binary.Client, pingURL func() string) {
	t.Helper()
	server = binary.NewServer(t, binary.Build(t), append([]string{
		"ALLSWELL_DATABASE=sqlite:" + binary.Database(t), "ALLSWELL_BOOTSTRAP_TOKEN=" + connectionsToken,
		"ALLSWELL_PING_RATE_LIMIT=0", "ALLSWELL_API_RATE_LIMIT=0"}, env...)...)
	api = binary.NewClient(server.URL, connectionsToken)
	api.HTTP.Transport = &http.Transport{DisableKeepAlives: true}
	return server, api, sync.OnceValue(func() string {
		var made binary.Data[struct {
			PingURL string `json:"ping_url"`
		}]
		api.Must(t, "POST", "/api/v1/pages", map[string]any{"name": "Acme", "slug": "acme"}, nil)
		api.Must(t, "POST", "/api/v1/monitors", map[string]any{"name": "Job", "page": "acme", "interval": interval},
			&made)
		return made.Data.PingURL
	})
}

// oneShot pings on a connection of its own, as curl does, from an address.
func oneShot(ctx context.Context, from, url string) (status int, err error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: d.DialContext}
	req, err := http.NewRequestWithContext(ctx, "POST", url, nil)
	if err != nil {
		return 0, err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// TestIdleConnectionsDoNotStopPings: with 256 open files, 240 connections that
// say nothing, and as many that say little, keep no ping out, and nothing is
// taken for silence that was none.
func TestIdleConnectionsDoNotStopPings(t *testing.T) {
	t.Parallel()
	server, api, pingURL := monitored(t, 1, "ALLSWELL_CHECK_INTERVAL=1s", "ALLSWELL_FAILURE_THRESHOLD=30")
	server.LimitFiles(256)
	server.Start()
	url := pingURL()
	address := strings.TrimPrefix(server.URL, "http://")
	open := func(from, say string) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
		c, err := d.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, say) // it may be closed already
	}
	for _, flood := range []struct{ name, from, say string }{
		{"idle, one address", "127.0.0.1", ""},
		{"idle, many addresses", "127.0.2.%d", ""},
		{"half a header, many addresses", "127.0.3.%d", "GET / HTTP/1.1\r\nHo"},
		{"answered once and kept", "127.0.4.%d", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		for i := range 240 {
			from := flood.from
			if strings.Contains(from, "%") {
				from = fmt.Sprintf(from, 1+i%200)
			}
			open(from, flood.say)
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			status, err := oneShot(ctx, "127.0.0.1", url)
			cancel()
			if err != nil || status != http.StatusOK {
				t.Fatalf("%s: a ping was answered %d, %v", flood.name, status, err)
			}
		}
	}
	if found := binary.All[struct{ Title string }](t, api, "/api/v1/pages/acme/incidents"); len(found) > 0 {
		t.Errorf("false alarms: %v", found)
	}
	if !strings.Contains(server.Log(), "few files may be open") {
		t.Error("the start does not warn of 256 open files")
	}
}

// restarts is how often TestStopResetsNoConnection stops the server.
func restarts() int {
	if n, err := strconv.Atoi(os.Getenv("ALLSWELL_TEST_RESTARTS")); err == nil {
		return n
	}
	return 3
}

// closingClients ping, each ping on a connection of its own, until a connection is refused.
type closingClients struct {
	*testing.T
	all               int
	answered, refused atomic.Int64
	enough            chan struct{} // closed when there are ten answers for each client
}

func (c *closingClients) ping(address, path string) {
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			if !errors.Is(err, syscall.ECONNREFUSED) {
				c.Errorf("connecting: %v", err)
			}
			c.refused.Add(1)
			return
		}
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", path)
		var res *http.Response
		if err == nil {
			res, err = http.ReadResponse(bufio.NewReader(conn), nil)
		}
		conn.Close()
		if err != nil {
			c.Errorf("a ping was not answered: %v", err)
			return
		}
		if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable {
			c.Errorf("a ping was answered %s", res.Status)
		}
		if c.answered.Add(1) == 10*int64(c.all) {
			close(c.enough)
		}
	}
}

// TestStopResetsNoConnection checks that every client that pings once on its own connection
// while the server stops either gets a response or is refused the connection, which makes curl
// try again. ALLSWELL_TEST_RESTARTS is the number of stops.
func TestStopResetsNoConnection(t *testing.T) {
	t.Parallel()
	const clients = 60
	server, _, pingURL := monitored(t, 3600)
	server.Start()
	url := pingURL()
	address := strings.TrimPrefix(server.URL, "http://")
	for round := range restarts() {
		if round > 0 {
			server.Start()
		}
		c := &closingClients{T: t, all: clients, enough: make(chan struct{})}
		var running sync.WaitGroup
		for range clients {
			running.Go(func() { c.ping(address, strings.TrimPrefix(url, server.URL)) })
		}
		select {
		case <-c.enough:
		case <-time.After(time.Minute):
			t.Fatal("pings are not answered")
		}
		if err := server.Stop(); err != nil {
			t.Errorf("after SIGTERM the server ended with: %v", err)
		}
		running.Wait()
		if c.refused.Load() != clients {
			t.Errorf("stop %d: %d of %d clients ended with a refused connection", round+1, c.refused.Load(), clients)
		}
	}
}
