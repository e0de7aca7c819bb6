package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const (
	adminToken = "attack-test-token-0123456789abcdef"

	// Each job pings every pingEvery, from pingAddresses in turn, so that no address exceeds
	// the limit of pings. It is reported when it has been silent for its interval and two
	// further checks.
	jobs          = 6
	pingEvery     = 300 * time.Millisecond
	pingAddresses = 5
	jobInterval   = 20 // seconds

	// maxMemory is the most resident memory that the server may have during any
	// attack, in bytes.
	maxMemory = 700 << 20
)

// setup says the contents of an environment.
type setup struct {
	exe   string
	seed  uint64
	files int // 0: no limit of its own
	long  bool
}

// environment is a server under attack, and the jobs that ping it meanwhile.
type environment struct {
	*testing.T
	*rand.Rand
	long   bool
	server *binary.Server
	api    *binary.Client

	stop    context.CancelFunc
	running sync.WaitGroup
	pings   atomic.Int64 // acknowledged
	tries   atomic.Int64 // not answered 200
	memory  atomic.Int64 // the largest resident set seen, in bytes
}

type params = map[string]any

func newEnvironment(t *testing.T, s setup) *environment {
	t.Helper()
	w := &environment{T: t, Rand: rand.New(rand.NewPCG(s.seed, 0)), long: s.long}
	exe := s.exe
	if s.files > 0 {
		exe = limited(t, exe, s.files)
	}
	w.server = binary.NewServer(t, exe,
		"ALLSWELL_DATABASE=sqlite:"+binary.Database(t), "ALLSWELL_BOOTSTRAP_TOKEN="+adminToken,
		"ALLSWELL_CHECK_INTERVAL=1s", "ALLSWELL_API_RATE_LIMIT=0", "ALLSWELL_LOG_LEVEL=warn")
	w.server.Start()
	w.api = binary.NewClient(w.server.URL, adminToken)
	w.api.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	t.Cleanup(func() { stop(); w.running.Wait() })
	for i := range jobs {
		token := w.monitor(fmt.Sprintf("job %d", i), jobInterval)
		w.running.Go(func() { w.job(ctx, token, i*pingAddresses) })
	}
	pid := w.server.Pid()
	w.running.Go(func() { w.watchMemory(ctx, pid) })
	w.await("a first ping of every job", func() bool { return w.pings.Load() >= jobs })
	return w
}

// limited returns a program that runs exe with a limit of open files, which it
// cannot raise.
func limited(t *testing.T, exe string, files int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limited")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec %s \"$@\"\n", files, exe)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// monitor makes a monitor and returns its ping token.
func (w *environment) monitor(name string, interval int) (token string) {
	w.Helper()
	var made binary.Data[struct{ Token string }]
	w.api.Must(w, "POST", "/api/v1/monitors", params{"name": name, "page": "acme", "interval": interval}, &made)
	return made.Data.Token
}

// size is a number of requests: small in a short campaign, large in a long one.
func (w *environment) size(small, large int) int {
	if w.long {
		return large
	}
	return small
}

// address returns a loopback address: another one for each network and number.
func address(network, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(network), byte(n >> 8), byte(n)})
}

func dialer(from netip.Addr) *net.Dialer {
	return &net.Dialer{Timeout: 5 * time.Second, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
}

// dial opens a connection from an address; nil if it is refused.
func (w *environment) dial(from netip.Addr) net.Conn {
	conn, err := dialer(from).Dial("tcp", strings.TrimPrefix(w.server.URL, "http://"))
	if err != nil {
		return nil
	}
	return conn
}

// client sends each request from an address on a connection of its own.
func client(from netip.Addr) *http.Client {
	return &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{
		DialContext: dialer(from).DialContext, DisableKeepAlives: true, DisableCompression: true,
	}}
}

// get returns the status and the size of an answer; 0 without one.
func get(c *http.Client, method, url string, headers ...string) (status, size int) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return 0, 0
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, 0
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return 0, int(n)
	}
	return res.StatusCode, int(n)
}

// job sends each ping on a connection of its own, as curl does, from the addresses of the
// network 10 that begin with the number first.
func (w *environment) job(ctx context.Context, token string, first int) {
	for n := 0; ctx.Err() == nil; n++ {
		c := client(address(10, first+n%pingAddresses))
		if status, _ := get(c, "POST", w.server.URL+"/api/v1/heartbeat/"+token); status == http.StatusOK {
			w.pings.Add(1)
		} else {
			w.tries.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pingEvery):
		}
	}
}

// isRefused reports whether nobody listens: what a client tries again.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// await waits until a condition holds.
func (w *environment) await(what string, holds func() bool) {
	w.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			w.Fatalf("not within a minute: %s", what)
		}
	}
}

// pingsGoOn waits until every job may have pinged twice since now.
func (w *environment) pingsGoOn(during string) {
	w.Helper()
	before := w.pings.Load()
	w.await("pings are acknowledged during "+during, func() bool { return w.pings.Load() >= before+2*jobs })
}

// during runs n times f on many goroutines; f is given the number of its turn.
func (w *environment) during(n, parallel int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

// watchMemory notes the largest resident set, where the system reports it.
func (w *environment) watchMemory(ctx context.Context, pid int) {
	if runtime.GOOS != "linux" {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
		if rss := resident(pid); rss > w.memory.Load() {
			w.memory.Store(rss)
		}
	}
}

// resident returns a process's resident memory in bytes, 0 if it is unknown.
func resident(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kilobytes, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kilobytes), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// finish holds the server to what has to be true after every attack.
func (w *environment) finish() {
	w.Helper()
	w.pingsGoOn("the end of the attack")
	w.stop()
	w.running.Wait()
	for _, page := range binary.All[struct{ Slug string }](w, w.api, "/api/v1/pages") { // an attack may have renamed it
		for _, i := range binary.All[struct{ Title string }](w, w.api, "/api/v1/pages/"+page.Slug+"/incidents") {
			if strings.HasSuffix(i.Title, " is down") {
				w.Errorf("a job that lives was reported: %s", i.Title)
			}
		}
	}
	if peak := w.memory.Load(); peak > maxMemory {
		w.Errorf("resident memory reached %d MB, more than %d", peak>>20, maxMemory>>20)
	}
	for line := range strings.Lines(w.server.Log()) {
		if strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") {
			w.Errorf("the server's log: %s", line)
		}
	}
	w.Logf("%d pings acknowledged, %d tries not; resident memory at most %d MB", w.pings.Load(), w.tries.Load(),
		w.memory.Load()>>20)
}
