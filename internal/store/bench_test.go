package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// BenchmarkRecordPings measures a durable batch of 128 pings to different monitors, of 10,000,
// on SQLite.
func BenchmarkRecordPings(b *testing.B) {
	s := storetest.Open(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"), store.Options{})
	ws, _ := storetest.Workspace(b, s, "default")
	must(s.CreatePage(b.Context(), ws, allswell.NewPage{Name: "Bench", Slug: "bench"}))(b)
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
				must(s.RecordPings(b.Context(), batch, store.LivenessRecord{Replica: "a"}))(b)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "µs/ping")
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N*size), "cpu-µs/ping")
		})
	}
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
