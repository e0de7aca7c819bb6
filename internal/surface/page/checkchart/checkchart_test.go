package checkchart_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/surface/page/checkchart"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// period is a period, of five minutes, with good results of the given times and a number of failures.
func period(index, failures int, times ...time.Duration) checkstats.Period {
	p := checkstats.Period{StartsAt: start.Add(time.Duration(index) * 5 * time.Minute)}
	for _, d := range times {
		p.Add(monitor.CheckOK, d)
	}
	for range failures {
		p.Add(monitor.CheckFailed, 0)
	}
	return p
}

func TestChart(t *testing.T) {
	unknown := checkstats.Period{StartsAt: start.Add(50 * time.Minute)}
	unknown.Add(monitor.CheckUnknown, 0)
	c := checkchart.New(start, start.Add(time.Hour), 5*time.Minute, []checkstats.Period{
		period(0, 0, 100*time.Millisecond), period(1, 1, 150*time.Millisecond), period(2, 4),
		period(6, 0, 50*time.Millisecond, 60*time.Millisecond), unknown,
	})
	if c.Top != 200*time.Millisecond {
		t.Errorf("the scale ends at %v, want 200ms", c.Top)
	}
	for name, line := range map[string]string{"p50": c.P50, "p95": c.P95, "p99": c.P99, "band": c.Band} {
		if n := strings.Count(line, "M"); n != 2 {
			t.Errorf("%s has %d parts, want 2, because a gap is not bridged: %s", name, n, line)
		}
	}
	if !strings.HasPrefix(c.P50, "M0.0 80") || strings.Contains(c.P50, "NaN") {
		t.Errorf("p50 is %s; 100 ms is in the middle", c.P50)
	}
	if len(c.Failures) != 2 || c.Failures[0].Height >= c.Failures[1].Height ||
		c.Failures[1].Height != checkchart.FailureHeight {
		t.Errorf("failures %+v: want two, the first lower than the second, which is all", c.Failures)
	}
	if len(c.Unknown) != 1 || c.Unknown[0].X != 600 {
		t.Errorf("unknown %+v: want one at 600", c.Unknown)
	}
	if c.Total.Count != 9 || c.Total.Failures != 5 || c.Total.Max != 150*time.Millisecond {
		t.Errorf("total %+v", c.Total)
	}
}

// TestShapes checks every coordinate: of a run, which there and back bounds an area, and of a single period.
func TestShapes(t *testing.T) {
	c := checkchart.New(start, start.Add(time.Hour), 5*time.Minute, []checkstats.Period{
		period(0, 0, 100*time.Millisecond), period(1, 0, 50*time.Millisecond), period(11, 0, 200*time.Millisecond),
	})
	const there = "M0.0 80.0 L30.0 80.0 L90.0 120.0 L120.0 120.0"
	const single = "660.0 0.0 L690.0 0.0 L720.0 0.0"
	for name, line := range map[string]struct{ got, want string }{
		"p50": {c.P50, there + "M" + single}, "p95": {c.P95, there + "M" + single},
		"p99":  {c.P99, there + "M" + single},
		"band": {c.Band, there + "L120.0 120.0 L90.0 120.0 L30.0 80.0 L0.0 80.0Z" + "M" + single + "L" + single + "Z"},
	} {
		if line.got != line.want {
			t.Errorf("the line: %s is %s, want %s", name, line.got, line.want)
		}
	}
	if c.Top != 200*time.Millisecond || c.Half() != 100*time.Millisecond || c.Mid() != checkchart.Height/2 {
		t.Errorf("the scale ends at %v, its middle is %v at %d", c.Top, c.Half(), c.Mid())
	}
	for i, p := range c.Newest() {
		if p.StartsAt != c.Periods[len(c.Periods)-1-i].StartsAt {
			t.Errorf("period %d of the newest is that of %v", i, p.StartsAt)
		}
	}
	if c := checkchart.New(start, start.Add(time.Hour), 5*time.Minute, nil); c.Top != time.Millisecond {
		t.Errorf("the scale without times ends at %v", c.Top)
	}
}

func TestShade(t *testing.T) {
	c := checkchart.New(start, start.Add(time.Hour), 5*time.Minute, nil)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	c.Shade([]schedule.ListeningGap{
		{From: at(-20), To: at(-10)}, {From: at(-10), To: at(15)}, {From: at(30), To: at(30)},
		{From: at(45), To: at(70)},
		{From: at(60), To: at(70)},
	})
	want := []checkchart.Bar{
		{0, 0, 180, checkchart.Height}, {360, 0, 1, checkchart.Height}, {540, 0, 180, checkchart.Height},
	}
	if !slices.Equal(c.Gaps, want) {
		t.Errorf("gaps %v, want %v", c.Gaps, want)
	}
}

func TestEmptyChart(t *testing.T) {
	c := checkchart.New(start, start.Add(time.Hour), 5*time.Minute, nil)
	if c.P50 != "" || c.Failures != nil || c.Total.Count != 0 || c.Top <= 0 {
		t.Errorf("the empty chart: %+v", c)
	}
}
