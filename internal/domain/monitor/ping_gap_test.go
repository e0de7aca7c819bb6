package monitor

import (
	"testing"
	"time"
)

// gapsOf returns gaps with the lengths.
func gapsOf(lengths ...time.Duration) (gaps []PingGap) {
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	for _, length := range lengths {
		at = at.Add(length)
		gaps = append(gaps, PingGap{at, length})
	}
	return gaps
}

// repeated returns gaps that differ from one length by the others in turn.
func repeated(count int, length time.Duration, by ...time.Duration) []PingGap {
	var all []time.Duration
	for i := range count {
		all = append(all, length+append(by, 0)[i%(len(by)+1)])
	}
	return gapsOf(all...)
}

func TestRhythm(t *testing.T) {
	for _, c := range []struct {
		name     string
		gaps     []PingGap
		interval time.Duration
		want     string // "": none
		suggests time.Duration
	}{
		{"too few", repeated(7, time.Hour), time.Hour, "", 0},
		{"slower than the interval", repeated(8, 61*time.Minute, -40*time.Second, 40*time.Second), time.Hour,
			"every 1 h 1 min ± 40 s", 64 * time.Minute},
		{"nightly", repeated(20, 24*time.Hour), 25 * time.Hour, "at least every day", 25 * time.Hour},
		{"half the interval", repeated(10, 13*time.Hour), 25 * time.Hour, "every 13 h", 14 * time.Hour},
		{"one outlier", append(repeated(10, time.Minute), gapsOf(time.Hour)...), 90 * time.Second, "every minute",
			65 * time.Second},
		{"the older ones do not count", append(repeated(30, time.Hour), repeated(20, time.Minute)...), time.Minute,
			"at least every minute", 65 * time.Second},
		{"in disorder",
			gapsOf(
				1, time.Hour, 2*time.Hour, 5*time.Minute, 7*time.Hour, time.Minute, 3*time.Hour, 9*time.Hour,
				time.Hour,
			),
			time.Hour, "", 0},
		{"too fast", repeated(10, time.Millisecond), time.Second, "", 0},
		{"a year", repeated(10, MaxInterval), MaxInterval, "at least every 365 d", MaxInterval},
	} {
		r, ok := Rhythm(c.gaps, c.interval)
		if ok != (c.want != "") || ok && (r.String() != c.want || r.Interval != c.suggests) {
			t.Errorf("%s: Rhythm = %q, interval %s, %v; want %q, %s", c.name, r, r.Interval, ok, c.want, c.suggests)
		}
	}
	r := PingRhythm{Every: 61 * time.Minute, Spread: 40 * time.Second, Interval: 64 * time.Minute}
	for current, want := range map[time.Duration]bool{
		time.Hour: true, 61 * time.Minute: true, 61*time.Minute + 40*time.Second - 1: true,
		61*time.Minute + 40*time.Second: false, 62 * time.Minute: false, 64 * time.Minute: false,
		80 * time.Minute: false, 2 * time.Hour: true,
	} {
		if r.Suggests(current) != want {
			t.Errorf("suggested for %s: %v", current, !want)
		}
	}
	if (PingRhythm{Every: MaxInterval, Spread: time.Second, Interval: MaxInterval}).Suggests(MaxInterval) {
		t.Error("the longest interval is suggested in place of itself")
	}
	for every, want := range map[time.Duration]time.Duration{ // a part of a step does not count
		41_505_600 * time.Millisecond: 12 * time.Hour, 41_506_560 * time.Millisecond: 13 * time.Hour,
		24 * time.Minute: 25 * time.Minute, 24 * time.Hour: 25 * time.Hour,
	} {
		if got := intervalWithRoom(every, 0); got != want {
			t.Errorf("pings every %v suggest %v, want %v", every, got, want)
		}
	}
}
