package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// BenchmarkRecordPings measures a durable batch of 128 pings to different monitors, of 10,000,
// on SQLite.
func BenchmarkRecordPings(b *testing.B) {
	s := storetest.Open(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"), store.Options{})
	ws, _ := storetest.Workspace(b, s, "default")
	must(s.CreatePage(b.Context(), ws, resource.Page.From(statuspage.Page{Name: "Bench", Slug: "bench"})))(b)
	tokens := must(store.FillMonitors(b.Context(), s, ws.WorkspaceID, "bench", 10_000, 5*time.Minute))(b)
	for _, size := range []int{32, 128, 256, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			batch := make([]string, size)
			before := cpu()
			for b.Loop() {
				start := rand.IntN(len(tokens))
				for i := range batch {
					batch[i] = tokens[(start+i*7919)%len(tokens)]
				}
				must(s.RecordPings(b.Context(), batch, store.LivenessRecord{Replica: "a"}, store.PingOrigins{}))(b)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "µs/ping")
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N*size), "cpu-µs/ping")
		})
	}
}

// BenchmarkChecks claims and records pages of checks, of 2,000 healthy monitors, on SQLite.
func BenchmarkChecks(b *testing.B) {
	now := newClock()
	s := storetest.Open(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"), store.Options{Clock: now.now})
	ws, _ := storetest.Workspace(b, s, "default")
	for i := range 2000 {
		must(s.CreateMonitor(b.Context(), ws, monitor.MonitorOf(monitor.MonitorConfig{
			Type: "http", Name: "x", Slug: fmt.Sprintf("x-%d", i), Interval: time.Minute,
		})))(b)
	}
	var claiming, recording, checks time.Duration
	run := func() {
		before := cpu()
		claimed, next, err := s.ClaimChecks(b.Context(), store.CheckClaim{Replica: "a", Limit: store.MaxCheckResults})
		if err != nil {
			b.Fatal(err)
		}
		if next.After(now.now()) {
			now.move(time.Second)
		}
		claiming += cpu() - before
		results := make([]monitor.CheckResult, len(claimed))
		for i, c := range claimed {
			results[i] = monitor.CheckResult{
				MonitorID: c.MonitorID, Version: c.Version, Replica: "a", DueAt: c.DueAt, StartedAt: now.now(),
				Status: monitor.CheckOK,
			}
		}
		before = cpu()
		if err := s.RecordCheckResults(b.Context(), results); err != nil {
			b.Fatal(err)
		}
		recording += cpu() - before
		checks += time.Duration(len(claimed))
	}
	for range 200 {
		run() // the first result of each
	}
	claiming, recording, checks = 0, 0, 0
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(claiming.Microseconds())/float64(checks), "cpu-µs/claim")
	b.ReportMetric(float64(recording.Microseconds())/float64(checks), "cpu-µs/result")
}

// cpu returns the processor time that this process has used, which a busy
// machine disturbs less than the clock.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHistoryOfPings reads the history of one monitor, of 100,000 and of a million with a day of pings each, on
// SQLite.
//
//	go test -run '^$' -bench HistoryOfPings -benchtime 500x -timeout 30m ./internal/store
func BenchmarkHistoryOfPings(b *testing.B) {
	for _, monitors := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(monitors), func(b *testing.B) {
			if monitors > 100_000 && testing.Short() {
				b.Skip("the history of a million monitors takes minutes to make")
			}
			path := filepath.Join(b.TempDir(), "bench.db")
			s := storetest.Open(b, "sqlite:"+path, store.Options{})
			now := time.Now()
			tokens := must(storetest.Fill{
				Path: path, Count: monitors, Interval: time.Hour, Now: now.Add(-48 * time.Hour),
			}.Monitors(b.Context()))(b)
			ws, _ := storetest.Workspace(b, s, "bench")
			size, pings, err := store.FillPings(b.Context(), s, tokens, now)
			if err != nil {
				b.Fatal(err)
			}
			for range 128 {
				must(s.RecordPings(b.Context(), tokens[:128], store.LivenessRecord{Replica: "a"},
					store.PingOrigins{}))(b)
			}
			ids := must(store.SomeMonitors(b.Context(), s, 1000))(b)
			var took []time.Duration
			for b.Loop() {
				id := ids[rand.IntN(len(ids))]
				began := time.Now()
				list, _, err := s.Signals(b.Context(), ws, id, store.SignalFilter{}, 100)
				if took = append(took, time.Since(began)); err != nil || len(list) != 100 {
					b.Fatalf("%d signals, %v", len(list), err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(size)/float64(pings), "B/ping")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
