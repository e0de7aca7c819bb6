package monitor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"pgregory.net/rapid"
)

// retries are the times of all attempts of `curl --retry 5`, relative to the first.
var retries = []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second}

// world is everything outside the monitor: when the job pings, when the service cannot receive
// pings or rejects them, and when it checks the monitor.
type world struct {
	interval, period time.Duration
	grace            time.Duration // how much later than an interval pings may come
	threshold        int
	pings            []time.Time             // first attempt of each ping
	down             []schedule.ListeningGap // the service receives nothing from From until before To
	recorded         []schedule.ListeningGap // down as the service records it: from the last liveness record before
	rejecting        []schedule.ListeningGap // pings are rejected, and their tokens are known
	planned          []plannedMaintenance    // of the monitor's component
	until            time.Time
}

func inside(gaps []schedule.ListeningGap, t time.Time) bool {
	return slices.ContainsFunc(gaps, func(w schedule.ListeningGap) bool { return !t.Before(w.From) && t.Before(w.To) })
}

// arrivals returns the times at which pings reach the service, rejected or not, in order.
func (w world) arrivals() (out []time.Time) {
	for _, ping := range w.pings {
		for _, pause := range retries {
			try := ping.Add(pause)
			if inside(w.down, try) {
				continue
			}
			out = append(out, try)
			if !inside(w.rejecting, try) {
				break
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// gaps returns the recorded gaps at a tick. A gap is recorded when it ends.
func (w world) gaps(now, lastPing time.Time) (out []schedule.ListeningGap) {
	for i, h := range w.recorded {
		if w.down[i].To.After(now) {
			break
		}
		if h.From.Before(lastPing) && h.To.After(lastPing) {
			h.From = lastPing // recording a ping writes a liveness record
		}
		out = append(out, h)
	}
	return out
}

// step is a tick and its result.
type step struct {
	tick    monitor.Tick
	result  monitor.TickResult
	monitor monitor.Monitor
}

// run simulates a monitor that was last pinged at the epoch. It calls after for every tick until
// after returns false.
func (w world) run(after func(step) bool) {
	m := monitor.Monitor{
		MonitorConfig: monitor.MonitorConfig{Enabled: true, Interval: w.interval, Grace: w.grace},
		MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
	}
	m.RecordPing(domaintest.Epoch)
	arrivals := w.arrivals()
	var last time.Time
	for instant := domaintest.Epoch.Truncate(w.period).Add(
		w.period,
	); !instant.After(w.until); instant = instant.Add(w.period) {
		for len(arrivals) > 0 && !arrivals[0].After(instant) {
			if inside(w.rejecting, arrivals[0]) {
				m.RejectedAt = arrivals[0]
			} else {
				m.RecordPing(arrivals[0])
			}
			arrivals = arrivals[1:]
		}
		if inside(w.down, instant) {
			continue // a service that receives no pings runs no ticks
		}
		w.applyMaintenance(&m, last, instant)
		last = instant
		tick := monitor.Tick{
			Instant: instant, AsOf: instant, Period: w.period, Threshold: w.threshold,
			Gaps: w.gaps(instant, m.LastPingAt),
		}
		if !after(step{tick, m.ApplyTick(tick), m}) {
			return
		}
	}
}

// drawSettings draws an interval, a period and a threshold with which restarts must not raise an
// alarm: I + (K-1)·T ≥ 60 s.
func drawSettings(t *rapid.T) (w world) {
	w.period = rapid.SampledFrom([]time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}).Draw(t, "T")
	w.threshold = rapid.IntRange(1, 6).Draw(t, "K")
	w.interval = time.Duration(rapid.OneOf(rapid.Int64Range(1, 120), rapid.Int64Range(60, 4000)).Draw(t,
		"I s")) * time.Second
	w.interval = max(w.interval, time.Minute-time.Duration(w.threshold-1)*w.period)
	w.until = domaintest.At(15*w.interval + 10*time.Minute)
	return w
}

// drawDowntime draws a mixture of restarts, crash loops and long outages of the service. After one
// in which a ping may have been lost with all its retries, the next begins only after the job had
// time for another ping: the cap does not tolerate two lost pings in a row.
func (w *world) drawDowntime(t *rapid.T) {
	ms := func(lo, hi time.Duration, name string) time.Duration {
		return time.Duration(rapid.Int64Range(lo.Milliseconds(), hi.Milliseconds()).Draw(t,
			name+" ms")) * time.Millisecond
	}
	now := domaintest.Epoch
	for now.Before(w.until) && len(w.down) < 40 {
		var stretch []schedule.ListeningGap
		now = now.Add(ms(0, 2*w.interval, "up"))
		switch rapid.SampledFrom([]string{"restart", "outage", "crash loop"}).Draw(t, "kind") {
		case "restart":
			stretch = []schedule.ListeningGap{{From: now, To: now.Add(ms(time.Millisecond, 29*time.Second, "restart"))}}
		case "outage":
			stretch = []schedule.ListeningGap{
				{From: now, To: now.Add(ms(schedule.LongGap, 3*w.interval+5*time.Minute, "outage"))},
			}
		case "crash loop":
			for range rapid.IntRange(2, 4).Draw(t, "restarts") {
				end := now.Add(ms(time.Millisecond, 29*time.Second, "restart"))
				stretch = append(stretch, schedule.ListeningGap{From: now, To: end})
				now = end.Add(ms(time.Millisecond, 25*time.Second, "pause"))
			}
		}
		for _, gap := range stretch {
			w.down = append(w.down, gap)
			from := gap.From.Add(-ms(0, 5*time.Second, "since the last liveness record"))
			if n := len(w.recorded); n > 0 && from.Before(w.recorded[n-1].To) {
				from = w.recorded[n-1].To
			}
			w.recorded = append(w.recorded, schedule.ListeningGap{From: from, To: gap.To})
			now = gap.To
		}
		now = now.Add(w.interval + w.grace + 66*time.Second)
	}
}

// drawPings draws the pings of a running job: at least one per interval, either with a steady
// rhythm or with pauses of more than half an interval. Each ping is up to late later than that.
func (w *world) drawPings(t *rapid.T, late time.Duration) {
	shortest := w.interval/2 + time.Millisecond
	steady := rapid.Bool().Draw(t, "steady")
	if steady {
		shortest = max(w.interval/10, time.Second)
	}
	pause := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(shortest.Milliseconds(), w.interval.Milliseconds()).Draw(t,
			"pause ms")) * time.Millisecond
	})
	rhythm := pause.Draw(t, "rhythm")
	for planned := domaintest.Epoch.Add(rhythm); planned.Before(w.until); planned = planned.Add(rhythm) {
		ping := planned
		if late > 0 {
			ping = ping.Add(time.Duration(rapid.Int64Range(0, late.Milliseconds()).Draw(t,
				"late ms")) * time.Millisecond)
		}
		w.pings = append(w.pings, ping)
		if !steady {
			rhythm = pause.Draw(t, "pause")
		}
	}
}

// mustStayUp fails if the monitor goes down.
func (w world) mustStayUp(t rapid.TB) {
	w.run(func(s step) bool {
		if s.result == monitor.TickWentDown {
			t.Fatalf("a running job was marked down at %v; last ping recorded at %v, rejected at %v\n%v",
				s.tick.Instant.Sub(domaintest.Epoch), s.monitor.LastPingAt.Sub(domaintest.Epoch),
				s.monitor.RejectedAt.Sub(domaintest.Epoch), w)
		}
		return true
	})
}

// String describes a world with times after the epoch.
func (w world) String() string {
	text := fmt.Sprintf("I=%v G=%v T=%v K=%d", w.interval, w.grace, w.period, w.threshold)
	for _, h := range w.recorded {
		text += fmt.Sprintf("\nhole %v to %v", h.From.Sub(domaintest.Epoch), h.To.Sub(domaintest.Epoch))
	}
	for _, h := range w.rejecting {
		text += fmt.Sprintf("\nrejecting %v to %v", h.From.Sub(domaintest.Epoch), h.To.Sub(domaintest.Epoch))
	}
	for _, p := range w.planned {
		text += fmt.Sprintf("\nmaintenance from %v until %v, ended at %v", p.from.Sub(domaintest.Epoch),
			p.until.Sub(domaintest.Epoch), p.end.Sub(domaintest.Epoch))
	}
	for _, p := range w.pings {
		text += fmt.Sprintf("\nping %v", p.Sub(domaintest.Epoch))
	}
	return text
}

func TestRunningJobIsNeverMarkedDownBecauseOfGaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.drawDowntime(t)
		w.drawPings(t, 0)
		w.mustStayUp(t)
	})
}

// TestLateJobIsNeverMarkedDownBecauseOfGaps checks a job whose pings are up to the grace late.
func TestLateJobIsNeverMarkedDownBecauseOfGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.grace = time.Duration(rapid.Int64Range(1, 2*w.interval.Milliseconds()).Draw(t, "G ms")) * time.Millisecond
		w.drawDowntime(t)
		w.drawPings(t, w.grace)
		w.mustStayUp(t)
	})
}

// TestPunctualJobIsNeverMarkedDownBecauseOfGaps checks a job whose rhythm is the interval
// itself, so that each ping is a little late. Listening gaps must not make it go down if
// the threshold tolerates that without gaps.
func TestPunctualJobIsNeverMarkedDownBecauseOfGaps(t *testing.T) {
	t.Parallel()
	const lateness = 10 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		// Without gaps the threshold alone must tolerate a late ping.
		w.threshold = max(w.threshold, 1+int((lateness+w.period-1)/w.period))
		w.interval = max(w.interval, time.Minute)
		w.until = domaintest.At(15*w.interval + 10*time.Minute)
		w.drawDowntime(t)
		w.drawPings(t, lateness)
		w.mustStayUp(t)
	})
}

func TestJobWithRejectedPingsIsNeverMarkedDown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.drawDowntime(t)
		w.drawPings(t, 0)
		for range rapid.IntRange(1, 3).Draw(t, "rejections") {
			from := domaintest.At(time.Duration(rapid.Int64Range(0, int64(w.until.Sub(domaintest.Epoch))).Draw(t,
				"rejecting from")))
			length := time.Duration(rapid.Int64Range(int64(time.Second), int64(10*w.interval)).Draw(t, "rejecting for"))
			w.rejecting = append(w.rejecting, schedule.ListeningGap{From: from, To: from.Add(length)})
		}
		w.mustStayUp(t)
	})
}

// TestDeadJobIsMarkedDownByTheCap checks that a dead job is marked down by the K-th check after the
// cap, however often and long the service is down, and never before its interval has passed.
func TestDeadJobIsMarkedDownByTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.recorded = domaintest.DrawGaps(t)
		w.down = w.recorded
		w.until = domaintest.At(3*w.interval + domaintest.TotalGap(w.down, domaintest.Epoch) +
			time.Duration(w.threshold+2)*w.period)
		late, down := 0, false
		w.run(func(s step) bool {
			silent := s.tick.AsOf.Sub(domaintest.Epoch)
			if silent > 2*w.interval+domaintest.TotalGap(s.tick.Gaps, domaintest.Epoch) {
				late++
			}
			down = s.result == monitor.TickWentDown
			if down && silent <= w.interval+time.Duration(w.threshold-1)*w.period {
				t.Fatalf("down after only %v of silence: %v", silent, w)
			}
			if !down && late >= w.threshold {
				t.Fatalf("up after %v of silence, %d checks after the cap: %v", silent, late, w)
			}
			return !down
		})
		if !down {
			t.Fatalf("never marked down: %v", w)
		}
	})
}

// TestDeadJobIsMarkedDownInTimeWithoutFaults checks that without faults a dead job is
// down at most I + K·T + T after its last ping (docs/deadlines.md).
func TestDeadJobIsMarkedDownInTimeWithoutFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		last := time.Duration(rapid.Int64Range(0, w.interval.Milliseconds()).Draw(t, "last ping ms")) * time.Millisecond
		w.pings = []time.Time{domaintest.At(last)}
		bound := last + w.interval + time.Duration(w.threshold+1)*w.period
		var down time.Duration
		w.run(func(s step) bool {
			down = s.tick.Instant.Sub(domaintest.Epoch)
			return s.result != monitor.TickWentDown
		})
		if down > bound {
			t.Fatalf("down at %v, the limit is %v: %v", down, bound, w)
		}
		if earliest := last + w.interval; down <= earliest {
			t.Fatalf("down at %v, before %v: %v", down, earliest, w)
		}
	})
}

// TestFaultModel shows the limits of the promise of no false alarms, for a monitor with an interval
// of 1000 s that is checked every minute with a threshold of 3.
func TestFaultModel(t *testing.T) {
	every := func(pause float64) (pings []time.Time) {
		for s := pause; s < 10_000; s += pause {
			pings = append(pings, domaintest.At(domaintest.Seconds(s)))
		}
		return pings
	}
	hour := schedule.ListeningGap{
		From: domaintest.At(domaintest.Seconds(500)), To: domaintest.At(domaintest.Seconds(4100)),
	}
	for _, c := range []struct {
		name       string
		pings      []time.Time
		down       []schedule.ListeningGap
		unrecorded bool // the service does not record its gaps
		alarm      bool
	}{
		{"the service is down for an hour", every(1000), []schedule.ListeningGap{hour}, false, false},
		{"the service is down for an hour and does not record it", every(1000), []schedule.ListeningGap{hour}, true,
			true},
		{"a job with a steady rhythm loses an early ping", every(450),
			[]schedule.ListeningGap{domaintest.Gap(440, 490)}, false, false},
		{"one gap loses two pings in a row", every(900), []schedule.ListeningGap{domaintest.Gap(890, 1850)}, false,
			false},

		// The limits. Each of them is the price of reporting real outages in time.
		{"limit: a job loses an early ping, and then pauses for a whole interval",
			[]time.Time{
				domaintest.At(domaintest.Seconds(200)), domaintest.At(domaintest.Seconds(1200)),
				domaintest.At(domaintest.Seconds(2200)),
			}, []schedule.ListeningGap{domaintest.Gap(190, 240)}, false, true},
		{"limit: two gaps lose two pings in a row, which the cap does not tolerate",
			every(1000), []schedule.ListeningGap{domaintest.Gap(990, 1040), domaintest.Gap(1990, 2040)}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world{
				interval: 1000 * time.Second, period: time.Minute, threshold: 3, pings: c.pings, down: c.down,
				until: domaintest.At(domaintest.Seconds(9000)),
			}
			if !c.unrecorded {
				w.recorded = c.down
			} else {
				w.recorded = make([]schedule.ListeningGap, len(c.down)) // empty gaps, long ago
			}
			alarm := false
			w.run(func(s step) bool {
				alarm = alarm || s.result == monitor.TickWentDown
				return true
			})
			if alarm != c.alarm {
				t.Errorf("alarm: %v, want %v", alarm, c.alarm)
			}
		})
	}
}
