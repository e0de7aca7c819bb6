package workspace

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func TestPingLoad(t *testing.T) {
	var r rate
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if r.now() != (load{}) {
		t.Error("a load without samples")
	}
	for i := range 100 {
		total, busy := 0.0, time.Duration(0)
		if i > 60 { // five pings per second, a quarter of the time
			total, busy = float64(i-60)*10, time.Duration(i-60)*frame.WatchInterval/4
		}
		r.observe(start.Add(time.Duration(i)*frame.WatchInterval), total, busy)
	}
	want := load{PerSecond: 5, Busy: 0.25, CanTake: 20}
	if got := r.now(); got != want {
		t.Errorf("the load: %+v, want %+v", got, want)
	}
	if got := r.peak(); got != want {
		t.Errorf("the peak is %+v, want %+v", got, want)
	}
	r.observe(start.Add(3*time.Hour), 195, 10*time.Second)
	if got := r.peak(); got.PerSecond > 1 || got.CanTake != 0 || len(r.peaks) != 1 {
		t.Errorf("hours later, the peak is %+v of %d minutes", got, len(r.peaks))
	}
	if len(r.samples) != rateSamples {
		t.Errorf("%d samples", len(r.samples))
	}
	for busy, text := range map[float64]string{0: "0.0 %", 0.0004: "less than 0.1 %", 0.256: "25.6 %"} {
		if got := (load{Busy: busy}).BusyPercent(); got != text {
			t.Errorf("the share in percent: %v is %q", busy, got)
		}
	}
}
