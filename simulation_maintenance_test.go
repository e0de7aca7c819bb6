package allswell_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"pgregory.net/rapid"
)

// maintained is one planned maintenance of the monitor's component, as it is
// announced and as it goes.
type maintained struct {
	from, until time.Time
	said        time.Time // when a human says that it ends at another time; zero: never
	end         time.Time // when it ends: until, or what was said
}

// heed tells the monitor what of the maintenance has come about from one instant
// to another, step by step, each at its own time or, if we were away then, when we
// are back.
func (w world) heed(m *allswell.Monitor, last, now time.Time) {
	known := func(t time.Time) time.Time { // when we get to know of what happens at t
		for _, d := range w.deaf {
			if !t.Before(d.From) && t.Before(d.To) {
				return d.To
			}
		}
		return t
	}
	var steps []time.Time
	for _, p := range w.planned {
		steps = append(steps, known(p.from), known(p.said), known(p.end))
	}
	slices.SortFunc(steps, time.Time.Compare)
	for _, step := range steps {
		if !step.After(last) || step.After(now) {
			continue
		}
		var until time.Time
		for _, p := range w.planned {
			if step.Before(known(p.from)) || !step.Before(known(p.end)) {
				continue // it has not begun, or is over
			}
			end := p.until
			if !p.said.IsZero() && !step.Before(known(p.said)) {
				end = p.end
			}
			if end.After(until) {
				until = end
			}
		}
		m.Suppress(until, step)
	}
}

// drawPlanned draws maintenances, one after the other or overlapping, of which
// some end early and some are extended.
func (w *world) drawPlanned(t *rapid.T) {
	span := func(name string, least, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(least.Milliseconds(), most.Milliseconds()).Draw(t, name+" ms")) * time.Millisecond
	}
	for range rapid.IntRange(1, 4).Draw(t, "maintenances") {
		from := epoch.Add(span("from", 0, w.until.Sub(epoch)))
		p := maintained{from: from, until: from.Add(span("length", time.Minute, 6*w.interval+5*time.Minute))}
		p.end = p.until
		switch rapid.SampledFrom([]string{"in time", "early", "extended"}).Draw(t, "it ends") {
		case "early":
			p.said = p.from.Add(span("after", time.Millisecond, p.until.Sub(p.from)))
			p.end = p.said
		case "extended":
			p.said = p.from.Add(span("after", 0, p.until.Sub(p.from)-time.Millisecond))
			p.end = p.until.Add(span("longer", 0, 3*w.interval))
		}
		w.planned = append(w.planned, p)
	}
}

// paused takes away the pings of a job that pauses during maintenance, and lets
// it ping within an interval of the end of each.
func (w *world) paused(t *rapid.T) {
	during := func(ping time.Time) bool {
		return slices.ContainsFunc(w.planned, func(p maintained) bool { return !ping.Before(p.from) && ping.Before(p.end) })
	}
	for _, p := range w.planned {
		back := p.end.Add(time.Duration(rapid.Int64Range(0, w.interval.Milliseconds()).Draw(t, "back ms")) * time.Millisecond)
		for next := back; next.Before(w.until); next = next.Add(w.interval) {
			w.pings = append(w.pings, next)
		}
	}
	w.pings = slices.DeleteFunc(w.pings, during)
	slices.SortFunc(w.pings, time.Time.Compare)
}

// TestJobThatPausesForMaintenanceIsNeverMarkedDown checks that a job that pauses during
// planned maintenance, and is back within an interval of its end, is not marked down,
// also if the service restarts meanwhile.
func TestJobThatPausesForMaintenanceIsNeverMarkedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		w.drawPings(t, 0)
		w.drawPlanned(t)
		w.paused(t)
		w.mustStayUp(t)
	})
}

// TestRestartsDuringMaintenanceRaiseNothing checks a job that pauses for maintenance
// while the service restarts.
func TestRestartsDuringMaintenanceRaiseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawSettings(t)
		from := time.Duration(rapid.Int64Range(0, 2*w.interval.Milliseconds()).Draw(t, "from ms")) * time.Millisecond
		length := time.Duration(rapid.Int64Range(time.Minute.Milliseconds(), 5*w.interval.Milliseconds()+60_000).Draw(t, "length ms")) * time.Millisecond
		p := maintained{from: at(from), until: at(from + length), end: at(from + length)}
		w.planned = []maintained{p}
		for ping := epoch.Add(w.interval); ping.Before(p.from); ping = ping.Add(w.interval) {
			w.pings = append(w.pings, ping)
		}
		for ping := p.end.Add(w.interval); ping.Before(w.until); ping = ping.Add(w.interval) {
			w.pings = append(w.pings, ping)
		}
		// Restarts while it runs, one of them perhaps over its end.
		for now := p.from.Add(time.Second); now.Before(p.end) && len(w.deaf) < 10; {
			length := time.Duration(rapid.Int64Range(1, 29_000).Draw(t, "restart ms")) * time.Millisecond
			w.deaf = append(w.deaf, allswell.ListeningGap{From: now, To: now.Add(length)})
			now = now.Add(length + w.interval/3 + time.Second)
		}
		w.ledger = w.deaf
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
		last := epoch // of the pings; then the job is dead
		if rapid.Bool().Draw(t, "pings before") {
			last = epoch.Add(time.Duration(rapid.Int64Range(0, w.interval.Milliseconds()).Draw(t, "last ping ms")) * time.Millisecond)
			w.pings = []time.Time{last}
		}
		quiet := last
		covered := last.Add(w.interval) // when silence counts, as long as no other maintenance begins before
		slices.SortFunc(w.planned, func(a, b maintained) int { return a.from.Compare(b.from) })
		for _, p := range w.planned {
			if p.end.After(quiet) && p.from.Before(covered) {
				quiet = p.end
				covered = quiet.Add(w.interval)
			}
		}
		w.until = quiet.Add(20 * w.interval).Add(20 * time.Minute)
		var down time.Time
		w.run(func(s step) bool {
			if s.verdict == allswell.CheckWentDown {
				down = s.tick.Instant
			}
			return down.IsZero()
		})
		if down.IsZero() {
			t.Fatalf("never down: %v", w)
		}
		for _, p := range w.planned {
			if !down.Before(p.from) && down.Before(p.end.Add(w.interval)) && p.end.After(last) {
				t.Fatalf("down at %v, within an interval of a maintenance: %v", down.Sub(epoch), w)
			}
		}
		if least := covered.Add(time.Duration(w.threshold-1) * w.period); !down.After(least) {
			t.Fatalf("down at %v, before %d checks had found it silent, from %v on: %v", down.Sub(epoch), w.threshold, covered.Sub(epoch), w)
		}
	})
}

// TestMaintenanceModel shows single stories of a monitor of 1000 s, checked each
// minute, with a threshold of 3, and when it is marked down, in seconds; 0: never.
func TestMaintenanceModel(t *testing.T) {
	const never = 0
	maintenance := func(from, until float64) maintained {
		return maintained{from: at(seconds(from)), until: at(seconds(until)), end: at(seconds(until))}
	}
	said := func(p maintained, when, end float64) maintained {
		p.said, p.end = at(seconds(when)), at(seconds(end))
		return p
	}
	every := func(from, pause, to float64) (pings []time.Time) {
		for s := from; s <= to; s += pause {
			pings = append(pings, at(seconds(s)))
		}
		return pings
	}
	for name, c := range map[string]struct {
		pings   []time.Time
		planned []maintained
		down    float64
	}{
		"no maintenance":                    {every(900, 900, 1800), nil, 2940},
		"it pauses, and is back":            {slices.Concat(every(900, 900, 1800), every(5900, 900, 20_000)), []maintained{maintenance(2000, 5000)}, never},
		"it pauses, and never comes back":   {every(900, 900, 1800), []maintained{maintenance(2000, 5000)}, 6120 + 60},
		"it dies just before":               {every(900, 900, 1800), []maintained{maintenance(2700, 5000)}, 6180},
		"it was overdue when it began":      {every(900, 900, 1800), []maintained{maintenance(2900, 5000)}, 6180},
		"it was down already":               {every(900, 900, 1800), []maintained{maintenance(2941, 5000)}, 2940},
		"it pings on, and dies meanwhile":   {every(900, 900, 4500), []maintained{maintenance(2000, 5000)}, 6180},
		"it pings on, and dies after":       {every(900, 900, 5400), []maintained{maintenance(2000, 5000)}, 6540},
		"it ends early":                     {every(900, 900, 1800), []maintained{said(maintenance(2000, 9000), 5000, 5000)}, 6180},
		"it is extended":                    {slices.Concat(every(900, 900, 1800), every(7900, 900, 20_000)), []maintained{said(maintenance(2000, 5000), 4000, 7000)}, never},
		"it is extended, and the job dies":  {every(900, 900, 1800), []maintained{said(maintenance(2000, 5000), 4000, 7000)}, 8160},
		"two that overlap":                  {every(900, 900, 1800), []maintained{maintenance(2000, 5000), maintenance(4000, 7000)}, 8160},
		"a short one within a long one":     {every(900, 900, 1800), []maintained{maintenance(2000, 7000), maintenance(3000, 4000)}, 8160},
		"one after the other":               {every(900, 900, 1800), []maintained{maintenance(2000, 5000), maintenance(5500, 7000)}, 8160},
		"two with more than an interval":    {every(900, 900, 1800), []maintained{maintenance(2000, 5000), maintenance(6300, 7000)}, 6180},
		"one that was over before the ping": {every(900, 900, 1800), []maintained{maintenance(100, 800)}, 2940},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{interval: 1000 * time.Second, period: time.Minute, threshold: 3, pings: c.pings, planned: c.planned, until: at(seconds(20_000))}
			down := 0.0
			w.run(func(s step) bool {
				if s.verdict == allswell.CheckWentDown {
					down = s.tick.Instant.Sub(epoch).Seconds()
				}
				return down == 0
			})
			if down != c.down {
				t.Errorf("down at %v s, want %v", down, c.down)
			}
		})
	}
}
