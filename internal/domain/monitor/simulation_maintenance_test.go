package monitor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"pgregory.net/rapid"
)

// plannedMaintenance is a maintenance of the monitor's component, as announced and as carried out.
type plannedMaintenance struct {
	from, until time.Time
	changed     time.Time // when its end is changed; zero: never
	end         time.Time // its actual end
}

// applyMaintenance applies to the monitor what happened to its maintenances between two instants,
// step by step. While the service is down, steps wait until it is back.
func (w world) applyMaintenance(m *monitor.Monitor, last, now time.Time) {
	applied := func(t time.Time) time.Time { // when the service applies what happens at t
		for _, d := range w.down {
			if !t.Before(d.From) && t.Before(d.To) {
				return d.To
			}
		}
		return t
	}
	var steps []time.Time
	for _, p := range w.planned {
		steps = append(steps, applied(p.from), applied(p.changed), applied(p.end))
	}
	slices.SortFunc(steps, time.Time.Compare)
	for _, step := range steps {
		if !step.After(last) || step.After(now) {
			continue
		}
		var until time.Time
		for _, p := range w.planned {
			if step.Before(applied(p.from)) || !step.Before(applied(p.end)) {
				continue // it has not begun, or is over
			}
			end := p.until
			if !p.changed.IsZero() && !step.Before(applied(p.changed)) {
				end = p.end
			}
			if end.After(until) {
				until = end
			}
		}
		m.Suppress(until, step)
	}
}

// drawPlanned draws maintenances, which may overlap. Some end early and some are extended.
func (w *world) drawPlanned(t *rapid.T) {
	span := func(name string, least, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(least.Milliseconds(), most.Milliseconds()).Draw(t,
			name+" ms")) * time.Millisecond
	}
	for range rapid.IntRange(1, 4).Draw(t, "maintenances") {
		from := domaintest.Epoch.Add(span("from", 0, w.until.Sub(domaintest.Epoch)))
		p := plannedMaintenance{from: from, until: from.Add(span("length", time.Minute, 6*w.interval+5*time.Minute))}
		p.end = p.until
		switch rapid.SampledFrom([]string{"in time", "early", "extended"}).Draw(t, "it ends") {
		case "early":
			p.changed = p.from.Add(span("after", time.Millisecond, p.until.Sub(p.from)))
			p.end = p.changed
		case "extended":
			p.changed = p.from.Add(span("after", 0, p.until.Sub(p.from)-time.Millisecond))
			p.end = p.until.Add(span("longer", 0, 3*w.interval))
		}
		w.planned = append(w.planned, p)
	}
}

// pauseJob removes the pings during maintenance, and adds pings from within an interval after the end
// of each maintenance.
func (w *world) pauseJob(t *rapid.T) {
	during := func(ping time.Time) bool {
		return slices.ContainsFunc(w.planned, func(p plannedMaintenance) bool {
			return !ping.Before(p.from) && ping.Before(p.end)
		})
	}
	for _, p := range w.planned {
		back := p.end.Add(time.Duration(rapid.Int64Range(0, w.interval.Milliseconds()).Draw(t,
			"back ms")) * time.Millisecond)
		for next := back; next.Before(w.until); next = next.Add(w.interval) {
			w.pings = append(w.pings, next)
		}
	}
	w.pings = slices.DeleteFunc(w.pings, during)
	slices.SortFunc(w.pings, time.Time.Compare)
}

// TestJobThatPausesForMaintenanceIsNeverMarkedDown checks a job that pauses during planned
// maintenance and pings again within an interval of its end.
func TestJobThatPausesForMaintenanceIsNeverMarkedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.drawPings(t, 0)
		w.drawPlanned(t)
		w.pauseJob(t)
		w.mustStayUp(t)
	})
}

// TestRestartsDuringMaintenanceRaiseNothing checks a job that pauses for maintenance
// while the service restarts.
func TestRestartsDuringMaintenanceRaiseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		from := time.Duration(rapid.Int64Range(0, 2*w.interval.Milliseconds()).Draw(t, "from ms")) * time.Millisecond
		length := time.Duration(rapid.Int64Range(time.Minute.Milliseconds(), 5*w.interval.Milliseconds()+60_000).Draw(t,
			"length ms")) * time.Millisecond
		p := plannedMaintenance{
			from: domaintest.At(from), until: domaintest.At(from + length), end: domaintest.At(from + length),
		}
		w.planned = []plannedMaintenance{p}
		for ping := domaintest.Epoch.Add(w.interval); ping.Before(p.from); ping = ping.Add(w.interval) {
			w.pings = append(w.pings, ping)
		}
		for ping := p.end.Add(w.interval); ping.Before(w.until); ping = ping.Add(w.interval) {
			w.pings = append(w.pings, ping)
		}
		// Restarts during the maintenance. The last one may continue past its end.
		for now := p.from.Add(time.Second); now.Before(p.end) && len(w.down) < 10; {
			length := time.Duration(rapid.Int64Range(1, 29_000).Draw(t, "restart ms")) * time.Millisecond
			w.down = append(w.down, schedule.ListeningGap{From: now, To: now.Add(length)})
			now = now.Add(length + w.interval/3 + time.Second)
		}
		w.recorded = w.down
		w.mustStayUp(t)
	})
}

// TestSilenceAfterMaintenanceIsAnOutage checks that a monitor goes down neither during
// maintenance nor within an interval of its end, and that continued silence is an outage
// in the usual time.
func TestSilenceAfterMaintenanceIsAnOutage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.drawPlanned(t)
		last := domaintest.Epoch // last ping; then the job is dead
		if rapid.Bool().Draw(t, "pings before") {
			last = domaintest.Epoch.Add(time.Duration(rapid.Int64Range(0, w.interval.Milliseconds()).Draw(t,
				"last ping ms")) * time.Millisecond)
			w.pings = []time.Time{last}
		}
		since := last
		deadline := last.Add(w.interval) // unless another maintenance begins before
		slices.SortFunc(w.planned, func(a, b plannedMaintenance) int { return a.from.Compare(b.from) })
		for _, p := range w.planned {
			if p.end.After(since) && p.from.Before(deadline) {
				since = p.end
				deadline = since.Add(w.interval)
			}
		}
		w.until = since.Add(20 * w.interval).Add(20 * time.Minute)
		var down time.Time
		w.run(func(s step) bool {
			if s.result == monitor.TickWentDown {
				down = s.tick.Instant
			}
			return down.IsZero()
		})
		if down.IsZero() {
			t.Fatalf("never down: %v", w)
		}
		for _, p := range w.planned {
			if !down.Before(p.from) && down.Before(p.end.Add(w.interval)) && p.end.After(last) {
				t.Fatalf("down at %v, within an interval after a maintenance: %v", down.Sub(domaintest.Epoch), w)
			}
		}
		if least := deadline.Add(time.Duration(w.threshold-1) * w.period); !down.After(least) {
			t.Fatalf("down at %v, before %d checks after the deadline at %v: %v", down.Sub(domaintest.Epoch),
				w.threshold, deadline.Sub(domaintest.Epoch), w)
		}
	})
}

// maintenanceOf is a maintenance between two seconds.
func maintenanceOf(from, until float64) plannedMaintenance {
	return plannedMaintenance{
		from: domaintest.At(domaintest.Seconds(from)), until: domaintest.At(domaintest.Seconds(until)),
		end: domaintest.At(domaintest.Seconds(until)),
	}
}

// changedAt gives a maintenance another end at a second.
func changedAt(p plannedMaintenance, when, end float64) plannedMaintenance {
	p.changed, p.end = domaintest.At(domaintest.Seconds(when)), domaintest.At(domaintest.Seconds(end))
	return p
}

// pingsEvery are pings between two seconds.
func pingsEvery(from, pause, to float64) (pings []time.Time) {
	for s := from; s <= to; s += pause {
		pings = append(pings, domaintest.At(domaintest.Seconds(s)))
	}
	return pings
}

// maintenanceModels say when a monitor is marked down, in seconds; 0: never.
var maintenanceModels = map[string]struct {
	pings   []time.Time
	planned []plannedMaintenance
	down    float64
}{
	"no maintenance": {pingsEvery(900, 900, 1800), nil, 2940},
	"it pauses and returns": {slices.Concat(pingsEvery(900, 900, 1800), pingsEvery(5900, 900, 20_000)),
		[]plannedMaintenance{maintenanceOf(2000, 5000)}, 0},
	"it pauses and never returns": {pingsEvery(900, 900, 1800), []plannedMaintenance{maintenanceOf(2000, 5000)},
		6120 + 60},
	"it dies just before it": {pingsEvery(900, 900, 1800), []plannedMaintenance{maintenanceOf(2700, 5000)},
		6180},
	"it was overdue at the beginning": {pingsEvery(900, 900, 1800), []plannedMaintenance{maintenanceOf(2900, 5000)},
		6180},
	"it was down already": {pingsEvery(900, 900, 1800), []plannedMaintenance{maintenanceOf(2941, 5000)},
		2940},
	"it continues, and dies during it": {pingsEvery(900, 900, 4500), []plannedMaintenance{maintenanceOf(2000, 5000)},
		6180},
	"it continues, and dies after it": {pingsEvery(900, 900, 5400), []plannedMaintenance{maintenanceOf(2000, 5000)},
		6540},
	"the end is earlier": {pingsEvery(900, 900, 1800),
		[]plannedMaintenance{changedAt(maintenanceOf(2000, 9000), 5000, 5000)}, 6180},
	"the end is later": {slices.Concat(pingsEvery(900, 900, 1800), pingsEvery(7900, 900, 20_000)),
		[]plannedMaintenance{changedAt(maintenanceOf(2000, 5000), 4000, 7000)}, 0},
	"the end is later, and the job dies": {pingsEvery(900, 900, 1800),
		[]plannedMaintenance{changedAt(maintenanceOf(2000, 5000), 4000, 7000)}, 8160},
	"two that overlap": {pingsEvery(900, 900, 1800),
		[]plannedMaintenance{maintenanceOf(2000, 5000), maintenanceOf(4000, 7000)}, 8160},
	"a short one within a long one": {pingsEvery(900, 900, 1800),
		[]plannedMaintenance{maintenanceOf(2000, 7000), maintenanceOf(3000, 4000)}, 8160},
	"one soon after another": {pingsEvery(900, 900, 1800),
		[]plannedMaintenance{maintenanceOf(2000, 5000), maintenanceOf(5500, 7000)}, 8160},
	"one long after another": {pingsEvery(900, 900, 1800),
		[]plannedMaintenance{maintenanceOf(2000, 5000), maintenanceOf(6300, 7000)}, 6180},
	"it ended before the last ping": {pingsEvery(900, 900, 1800), []plannedMaintenance{maintenanceOf(100, 800)}, 2940},
}

// TestMaintenanceModel simulates a monitor with an interval of 1000 s, checked every minute with a threshold of 3.
func TestMaintenanceModel(t *testing.T) {
	for name, c := range maintenanceModels {
		t.Run(name, func(t *testing.T) {
			w := world{
				interval: 1000 * time.Second, period: time.Minute, threshold: 3, pings: c.pings, planned: c.planned,
				until: domaintest.At(domaintest.Seconds(20_000)),
			}
			down := 0.0
			w.run(func(s step) bool {
				if s.result == monitor.TickWentDown {
					down = s.tick.Instant.Sub(domaintest.Epoch).Seconds()
				}
				return down == 0
			})
			if down != c.down {
				t.Errorf("down at %v s, want %v", down, c.down)
			}
		})
	}
}
