package ping

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// BenchmarkPings compares durable pings on SQLite with a net/http server that sends
// the same answer without a database. It alternates between both, over 256
// connections with one request at a time each. "of-bare" is the median ratio of the
// request rates. "cpu-of-bare" is the median ratio of the processor times, including
// the load generator; it is less noisy on a busy machine. "none" keeps no history of pings; "history" does, and merges
// it.
//
//	go test -run '^$' -bench Pings -benchtime 40000x ./internal/worker/ping
func BenchmarkPings(b *testing.B) {
	for _, monitors := range []int{10_000, 1_000_000} {
		b.Run(strconv.Itoa(monitors), func(b *testing.B) {
			if monitors > 10_000 && testing.Short() {
				b.Skip("a million monitors take half a minute to make")
			}
			for name, retention := range map[string]time.Duration{"history": 0, "none": -1} {
				b.Run(name, func(b *testing.B) { benchmarkPings(b, monitors, retention) })
			}
		})
	}
}

func benchmarkPings(b *testing.B, monitors int, retention time.Duration) {
	dsn := "sqlite:" + filepath.Join(b.TempDir(), "bench.db")
	s := storetest.Open(b, dsn, store.Options{PingRetention: retention})
	tokens := must(storetest.Fill{
		Path: storetest.Path(dsn), Count: monitors, Interval: time.Hour, Now: time.Now(),
	}.Monitors(b.Context()))(b)
	server := New(Config{Replica: "a"})
	if err := server.Start(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	defer server.Close(b.Context())

	var merges sync.WaitGroup
	defer merges.Wait()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	merges.Go(func() { mergeUntil(ctx, b, s) })

	body := []byte(okBody)
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/heartbeat/{token}", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = jsonType
		w.Write(body)
	})
	ours, bare := newLoad(b, server, tokens), newLoad(b, mux, tokens)

	const rounds = 7
	var speeds, costs []float64
	var spent, bareSpent, processor time.Duration
	for b.Loop() {
		b.StopTimer()
		for range rounds {
			const pings = 20_000
			bareTime, bareCPU := bare.run(b, pings)
			b.StartTimer()
			time, cpu := ours.run(b, pings)
			b.StopTimer()
			speeds = append(speeds, float64(bareTime)/float64(time))
			costs = append(costs, float64(bareCPU)/float64(cpu))
			spent, bareSpent, processor = spent+time/pings, bareSpent+bareTime/pings, processor+cpu/pings
		}
		b.StartTimer()
	}
	slices.Sort(speeds)
	slices.Sort(costs)
	b.ReportMetric(speeds[len(speeds)/2], "of-bare")
	b.ReportMetric(costs[len(costs)/2], "cpu-of-bare")
	b.ReportMetric(float64(processor.Microseconds())/float64(len(costs)), "cpu-µs/ping")
	b.ReportMetric(float64(time.Second)*float64(len(speeds))/float64(spent), "pings/s")
	b.ReportMetric(float64(time.Second)*float64(len(speeds))/float64(bareSpent), "bare/s")
}

// mergeUntil merges the history of pings as the scheduler does.
func mergeUntil(ctx context.Context, b *testing.B, s *store.Store) {
	for ctx.Err() == nil {
		began := time.Now()
		if _, err := s.MergePings(ctx); err != nil && ctx.Err() == nil {
			b.Error(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(50*time.Millisecond, 5*time.Since(began))):
		}
	}
}

// load is 256 connections to a server.
type load struct {
	conns    []net.Conn
	requests [][]byte
}

func newLoad(b *testing.B, h http.Handler, tokens []string) *load {
	server := httptest.NewServer(h)
	b.Cleanup(server.Close)
	l := new(load)
	for range 256 {
		conn := must(net.Dial("tcp", server.Listener.Addr().String()))(b)
		b.Cleanup(func() { conn.Close() })
		l.conns = append(l.conns, conn)
	}
	for _, token := range tokens {
		l.requests = append(l.requests, fmt.Appendf(nil, "POST %s%s HTTP/1.1\r\nHost: localhost\r\n\r\n", Path, token))
	}
	return l
}

// run sends the given number of pings and returns the elapsed time and the processor
// time of this process.
func (l *load) run(b *testing.B, pings int64) (took, cpu time.Duration) {
	var left atomic.Int64
	left.Store(pings)
	var wg sync.WaitGroup
	began, before := time.Now(), processorTime(b)
	for _, conn := range l.conns {
		wg.Go(func() {
			r := bufio.NewReader(conn)
			for left.Add(-1) >= 0 {
				conn.Write(l.requests[rand.IntN(len(l.requests))])
				if err := readOK(r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began), processorTime(b) - before
}

// readOK reads one answer. It must be a 200 with a Content-Length.
func readOK(r *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !strings.HasPrefix(string(line), "HTTP/1.1 200 ") {
			return fmt.Errorf("answered %q", line)
		}
		if len(line) == 2 {
			_, err := io.CopyN(io.Discard, r, int64(length))
			return err
		}
		if value, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
