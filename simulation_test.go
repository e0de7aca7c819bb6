package allswell_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"pgregory.net/rapid"
)

// retries are the instants, after the first, at which `curl --retry 5` tries.
var retries = []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second}

// world is what happens outside a monitor: when the job pings, when we cannot
// hear, when we refuse, when we check.
type world struct {
	interval, period time.Duration
	threshold        int
	pings            []time.Time             // when the job first tries each ping
	deaf             []allswell.ListeningGap // nothing is heard from From until before To
	ledger           []allswell.ListeningGap // deaf as we know of it: from the last beat before
	refusing         []allswell.ListeningGap // pings are refused, and known by their token
	planned          []maintained            // maintenance of the monitor's component
	until            time.Time
}

func inside(windows []allswell.ListeningGap, t time.Time) bool {
	return slices.ContainsFunc(windows, func(w allswell.ListeningGap) bool { return !t.Before(w.From) && t.Before(w.To) })
}

// arrivals are the instants at which pings reach us, refused or not, in order.
func (w world) arrivals() (out []time.Time) {
	for _, ping := range w.pings {
		for _, pause := range retries {
			try := ping.Add(pause)
			if inside(w.deaf, try) {
				continue
			}
			out = append(out, try)
			if !inside(w.refusing, try) {
				break
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// holes is the ledger as a tick finds it: a hole is stored when it ends.
func (w world) holes(now, lastHeard time.Time) (out []allswell.ListeningGap) {
	for i, h := range w.ledger {
		if w.deaf[i].To.After(now) {
			break
		}
		if h.From.Before(lastHeard) && h.To.After(lastHeard) {
			h.From = lastHeard // a recorded ping is a beat
		}
		out = append(out, h)
	}
	return out
}

// step is a tick that was run, and what it found.
type step struct {
	tick    allswell.Tick
	verdict allswell.CheckResult
	monitor allswell.Monitor
}

// run lives through the world with a monitor that was last heard at the epoch,
// and calls after behind every tick until that returns false.
func (w world) run(after func(step) bool) {
	m := allswell.Monitor{Enabled: true, State: allswell.MonitorUp, Interval: w.interval}
	m.RecordPing(epoch)
	arrivals := w.arrivals()
	var heeded time.Time
	for instant := epoch.Truncate(w.period).Add(w.period); !instant.After(w.until); instant = instant.Add(w.period) {
		for len(arrivals) > 0 && !arrivals[0].After(instant) {
			if inside(w.refusing, arrivals[0]) {
				m.RejectedAt = arrivals[0]
			} else {
				m.RecordPing(arrivals[0])
			}
			arrivals = arrivals[1:]
		}
		if inside(w.deaf, instant) {
			continue // whatever stops pings stops us from judging
		}
		w.heed(&m, heeded, instant)
		heeded = instant
		tick := allswell.Tick{Instant: instant, AsOf: instant, Period: w.period, Threshold: w.threshold, Gaps: w.holes(instant, m.LastPingAt)}
		if !after(step{tick, m.Check(tick), m}) {
			return
		}
	}
}

// drawSettings draws interval, period and threshold for which a restart of
// ours must not alarm: I + (K-1)·T ≥ 60 s.
func drawSettings(t *rapid.T) (w world) {
	w.period = rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}).Draw(t, "T")
	w.threshold = rapid.IntRange(1, 6).Draw(t, "K")
	w.interval = time.Duration(rapid.OneOf(rapid.Int64Range(1, 120), rapid.Int64Range(60, 4000)).Draw(t, "I s")) * time.Second
	w.interval = max(w.interval, time.Minute-time.Duration(w.threshold-1)*w.period)
	w.until = at(15*w.interval + 10*time.Minute)
	return w
}

// drawDeafness draws any mixture of restarts, flapping and long absences. After
// one that may have swallowed a whole ping, retries and all, the next comes
// when the job had its turn: more than that the cap forbids to forgive.
func (w *world) drawDeafness(t *rapid.T) {
	ms := func(lo, hi time.Duration, name string) time.Duration {
		return time.Duration(rapid.Int64Range(lo.Milliseconds(), hi.Milliseconds()).Draw(t, name+" ms")) * time.Millisecond
	}
	now := epoch
	for now.Before(w.until) && len(w.deaf) < 40 {
		var stretch []allswell.ListeningGap
		now = now.Add(ms(0, 2*w.interval, "calm"))
		switch rapid.SampledFrom([]string{"restart", "absence", "flapping"}).Draw(t, "kind") {
		case "restart":
			stretch = []allswell.ListeningGap{{From: now, To: now.Add(ms(time.Millisecond, 29*time.Second, "restart"))}}
		case "absence":
			stretch = []allswell.ListeningGap{{From: now, To: now.Add(ms(allswell.LongGap, 3*w.interval+5*time.Minute, "absence"))}}
		case "flapping":
			for range rapid.IntRange(2, 4).Draw(t, "restarts") {
				end := now.Add(ms(time.Millisecond, 29*time.Second, "restart"))
				stretch = append(stretch, allswell.ListeningGap{From: now, To: end})
				now = end.Add(ms(time.Millisecond, 25*time.Second, "gap"))
			}
		}
		for _, hole := range stretch {
			w.deaf = append(w.deaf, hole)
			known := hole.From.Add(-ms(0, 5*time.Second, "since the last beat"))
			if n := len(w.ledger); n > 0 && known.Before(w.ledger[n-1].To) {
				known = w.ledger[n-1].To
			}
			w.ledger = append(w.ledger, allswell.ListeningGap{From: known, To: hole.To})
			now = hole.To
		}
		now = now.Add(w.interval + 66*time.Second)
	}
}

// drawPings lets the job live: a ping at least once per interval, either with a
// steady rhythm or with pauses of more than half an interval, each up to late
// later than that.
func (w *world) drawPings(t *rapid.T, late time.Duration) {
	shortest := w.interval/2 + time.Millisecond
	steady := rapid.Bool().Draw(t, "steady")
	if steady {
		shortest = max(w.interval/10, time.Second)
	}
	pause := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(shortest.Milliseconds(), w.interval.Milliseconds()).Draw(t, "pause ms")) * time.Millisecond
	})
	rhythm := pause.Draw(t, "rhythm")
	for planned := epoch.Add(rhythm); planned.Before(w.until); planned = planned.Add(rhythm) {
		ping := planned
		if late > 0 {
			ping = ping.Add(time.Duration(rapid.Int64Range(0, late.Milliseconds()).Draw(t, "late ms")) * time.Millisecond)
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
		if s.verdict == allswell.CheckWentDown {
			t.Fatalf("a living job was marked down at %v; last heard at %v, refused at %v\n%v",
				s.tick.Instant.Sub(epoch), s.monitor.LastPingAt.Sub(epoch), s.monitor.RejectedAt.Sub(epoch), w)
		}
		return true
	})
}

// String shows a world in instants after the epoch.
func (w world) String() string {
	text := fmt.Sprintf("I=%v T=%v K=%d", w.interval, w.period, w.threshold)
	for _, h := range w.ledger {
		text += fmt.Sprintf("\nhole %v to %v", h.From.Sub(epoch), h.To.Sub(epoch))
	}
	for _, h := range w.refusing {
		text += fmt.Sprintf("\nrefusing %v to %v", h.From.Sub(epoch), h.To.Sub(epoch))
	}
	for _, p := range w.planned {
		text += fmt.Sprintf("\nmaintenance from %v until %v, ended at %v", p.from.Sub(epoch), p.until.Sub(epoch), p.end.Sub(epoch))
	}
	for _, p := range w.pings {
		text += fmt.Sprintf("\nping %v", p.Sub(epoch))
	}
	return text
}

func TestLivingJobIsNeverMarkedDownThroughGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.drawDeafness(t)
		w.drawPings(t, 0)
		w.mustStayUp(t)
	})
}

// TestPunctualJobIsNeverMarkedDownThroughGaps checks a job whose rhythm is the interval
// itself, so that each ping is a little late. Listening gaps must not make it go down if
// the threshold tolerates that without gaps.
func TestPunctualJobIsNeverMarkedDownThroughGaps(t *testing.T) {
	const lateness = 10 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		// In calm the threshold alone forgives a late ping.
		w.threshold = max(w.threshold, 1+int((lateness+w.period-1)/w.period))
		w.interval = max(w.interval, time.Minute)
		w.until = at(15*w.interval + 10*time.Minute)
		w.drawDeafness(t)
		w.drawPings(t, lateness)
		w.mustStayUp(t)
	})
}

func TestRefusedJobIsNeverMarkedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.drawDeafness(t)
		w.drawPings(t, 0)
		for range rapid.IntRange(1, 3).Draw(t, "refusals") {
			from := at(time.Duration(rapid.Int64Range(0, int64(w.until.Sub(epoch))).Draw(t, "refusing from")))
			length := time.Duration(rapid.Int64Range(int64(time.Second), int64(10*w.interval)).Draw(t, "refusing for"))
			w.refusing = append(w.refusing, allswell.ListeningGap{From: from, To: from.Add(length)})
		}
		w.mustStayUp(t)
	})
}

// TestDeadJobIsMarkedDownByTheCap checks that silence counts from the cap on, however
// often and long the service is away: the K-th check after it marks a dead job down, and
// no check does before the interval is over.
func TestDeadJobIsMarkedDownByTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.ledger = drawHoles(t)
		w.deaf = w.ledger
		w.until = at(3*w.interval + deafness(w.deaf, epoch) + time.Duration(w.threshold+2)*w.period)
		late, down := 0, false
		w.run(func(s step) bool {
			silent := s.tick.AsOf.Sub(epoch)
			if silent > 2*w.interval+deafness(s.tick.Gaps, epoch) {
				late++
			}
			down = s.verdict == allswell.CheckWentDown
			if down && silent <= w.interval+time.Duration(w.threshold-1)*w.period {
				t.Fatalf("down after only %v of silence: %v", silent, w)
			}
			if !down && late >= w.threshold {
				t.Fatalf("up after %v of silence, %d checks behind the cap: %v", silent, late, w)
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
		w.pings = []time.Time{at(last)}
		bound := last + w.interval + time.Duration(w.threshold+1)*w.period
		var down time.Duration
		w.run(func(s step) bool {
			down = s.tick.Instant.Sub(epoch)
			return s.verdict != allswell.CheckWentDown
		})
		if down > bound {
			t.Fatalf("down at %v, promised by %v: %v", down, bound, w)
		}
		if earliest := last + w.interval; down <= earliest {
			t.Fatalf("down at %v, before %v: %v", down, earliest, w)
		}
	})
}

// TestFaultModel shows where the promise of no false alarm begins and ends, on
// a monitor of 1000 s, checked each minute, with a threshold of 3.
func TestFaultModel(t *testing.T) {
	every := func(pause float64) (pings []time.Time) {
		for s := pause; s < 10_000; s += pause {
			pings = append(pings, at(seconds(s)))
		}
		return pings
	}
	hour := allswell.ListeningGap{From: at(seconds(500)), To: at(seconds(4100))}
	for _, c := range []struct {
		name       string
		pings      []time.Time
		deaf       []allswell.ListeningGap
		unrecorded bool // the ledger knows nothing of it
		alarm      bool
	}{
		{"our absence of an hour", every(1000), []allswell.ListeningGap{hour}, false, false},
		{"our absence of an hour, if no ledger were kept", every(1000), []allswell.ListeningGap{hour}, true, true},
		{"a ping swallowed early, by a job of a steady rhythm", every(450), []allswell.ListeningGap{secs(440, 490)}, false, false},
		{"two pings in a row swallowed by one absence", every(900), []allswell.ListeningGap{secs(890, 1850)}, false, false},

		// The limits, each the price of a promise in the other direction.
		{"limit: a ping swallowed early, by a job that then pauses a whole interval",
			[]time.Time{at(seconds(200)), at(seconds(1200)), at(seconds(2200))}, []allswell.ListeningGap{secs(190, 240)}, false, true},
		{"limit: two pings in a row swallowed by two absences, which the cap does not forgive",
			every(1000), []allswell.ListeningGap{secs(990, 1040), secs(1990, 2040)}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world{interval: 1000 * time.Second, period: time.Minute, threshold: 3, pings: c.pings, deaf: c.deaf, until: at(seconds(9000))}
			if !c.unrecorded {
				w.ledger = c.deaf
			} else {
				w.ledger = make([]allswell.ListeningGap, len(c.deaf)) // holes of no length, long ago
			}
			alarm := false
			w.run(func(s step) bool {
				alarm = alarm || s.verdict == allswell.CheckWentDown
				return true
			})
			if alarm != c.alarm {
				t.Errorf("alarm: %v, want %v", alarm, c.alarm)
			}
		})
	}
}
