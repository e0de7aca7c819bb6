package monitor_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"pgregory.net/rapid"
)

// jobRun is a run of a job, as it really was.
type jobRun struct {
	id       string // "": the job sends none
	from, to time.Time
	fails    bool
	dies     bool // it sends no end
}

// jobSignal is a signal that a job sends, at its first attempt.
type jobSignal struct {
	at  time.Time
	run *jobRun
	end bool
}

// jobs is a monitor with everything outside it: the runs of its job, and the times at which the service is down.
type jobs struct {
	monitor  monitor.Monitor
	period   time.Duration
	runs     []jobRun
	down     []schedule.ListeningGap
	recorded []schedule.ListeningGap
	planned  []plannedMaintenance
	since    time.Time // the first ping
	until    time.Time

	sequential     bool // a run begins when its start is delivered, as in a shell script
	unacknowledged bool // a signal that arrives just before the service goes down is recorded, and repeated

	// What the service knows.
	open    []monitor.Run
	starts  []time.Time // that are not doubtful
	log     []string    // outages and warnings
	arrived []string    // signals
}

func (j *jobs) note(now time.Time, format string, args ...any) {
	j.log = append(j.log, fmt.Sprintf("%v ", now.Sub(j.since))+fmt.Sprintf(format, args...))
}

// gaps returns the recorded gaps at an instant. A gap is recorded when it ends.
func (j *jobs) gaps(now time.Time) (out []schedule.ListeningGap) {
	for i, gap := range j.recorded {
		if !j.down[i].To.After(now) {
			out = append(out, gap)
		}
	}
	return out
}

// start, finish and check do what the store does with a start, the end of a run and a tick.
func (j *jobs) start(now time.Time, id string) {
	m := &j.monitor
	s := monitor.RunStart{At: now, RunID: id, Open: j.open, Gaps: j.gaps(now)}
	if n := len(j.starts) - m.MaxPerInterval; m.MaxPerInterval > 0 && n >= 0 {
		s.Nth = j.starts[n]
	}
	verdict := m.EvaluateStart(s)
	replaced := j.take(id)
	failed, violates := m.Down(verdict)
	if failed.Condition == monitor.ConditionNoOverlap {
		for i := range j.open {
			j.open[i].Violated = true
		}
	}
	j.open = append(j.open, monitor.Run{
		ID: id, StartedAt: now, DueAt: now.Add(m.RunLimit()), Doubtful: s.Doubtful(), Ambiguous: s.Ambiguous(),
		Violated: violates || s.Doubtful() && replaced.Violated,
	})
	if !s.Doubtful() {
		j.starts = append(j.starts, now)
	}
	j.violated(now, verdict)
}

// take removes and returns an open run.
func (j *jobs) take(id string) (r monitor.Run) {
	i := slices.IndexFunc(j.open, func(r monitor.Run) bool { return r.ID == id })
	if i < 0 {
		return r
	}
	r = j.open[i]
	j.open = slices.Delete(slices.Clone(j.open), i, i+1)
	return r
}

func (j *jobs) violated(now time.Time, v monitor.Verdict) {
	if failed, down := j.monitor.Down(v); down && j.monitor.RecordFailure(now) {
		j.note(now, "down %s", failed.Condition)
	}
	for _, warning := range j.monitor.Warn(v) {
		j.note(now, "warn %s", warning.Condition)
	}
}

func (j *jobs) finish(now time.Time, id string, success bool) {
	m, run := &j.monitor, j.take(id)
	verdict := m.EvaluateEnd(run, now, monitor.RunEnd(success))
	_, failed := m.Down(verdict)
	if success && !failed && (m.State == monitor.MonitorUp || run.Recovers()) && m.RecordPing(now) {
		j.note(now, "up")
	}
	if !success && m.RecordFailure(now) {
		j.note(now, "down failed")
	}
	j.violated(now, verdict)
}

func (j *jobs) check(now time.Time) {
	m := &j.monitor
	tick := monitor.Tick{Instant: now, AsOf: now, Period: j.period, Threshold: 3, Gaps: j.gaps(now)}
	for i := range j.open {
		if j.open[i].DueAt.IsZero() {
			continue
		}
		switch r := j.open[i]; m.CheckRun(r, tick) {
		case monitor.RunOverdue:
			j.open[i].DueAt = time.Time{}
			j.violated(now, m.EvaluateOverdue(r))
		case monitor.RunUnknown:
			j.open[i].DueAt = time.Time{}
		}
	}
	if m.ApplyTick(tick) == monitor.TickWentDown {
		j.note(now, "down silent")
	}
}

// signals returns the signals with all their attempts that reach the service, in the order of their arrival. The end of
// a run is first sent when the start was delivered.
func (j *jobs) signals() (all []jobSignal) {
	deliver := func(s jobSignal) (delivered time.Time) {
		for _, pause := range retries {
			try := s
			try.at = s.at.Add(pause)
			delivered = try.at
			if inside(j.down, try.at) {
				continue
			}
			all = append(all, try)
			dies := slices.ContainsFunc(j.down, func(gap schedule.ListeningGap) bool {
				return try.at.Before(gap.From) && try.at.Add(100*time.Millisecond).After(gap.From)
			})
			if !j.unacknowledged || !dies {
				break
			}
		}
		return delivered
	}
	for i := range j.runs {
		r := &j.runs[i]
		delivered := deliver(jobSignal{r.from, r, false})
		if !r.dies {
			end := kernel.Later(r.to, delivered.Add(time.Millisecond))
			if j.sequential {
				end = delivered.Add(r.to.Sub(r.from))
			}
			deliver(jobSignal{end, r, true})
		}
	}
	slices.SortStableFunc(all, func(a, b jobSignal) int { return cmp.Or(a.at.Compare(b.at)) })
	return all
}

// simulate runs the service. The monitor was pinged at j.since.
func (j *jobs) simulate() {
	j.monitor.Enabled, j.monitor.State = true, monitor.MonitorUp
	j.monitor.RecordPing(j.since)
	w := world{down: j.down, planned: j.planned}
	signals := j.signals()
	last := j.since
	for instant := j.since.Truncate(j.period).Add(j.period); !instant.After(j.until); instant = instant.Add(j.period) {
		for len(signals) > 0 && !signals[0].at.After(instant) {
			s := signals[0]
			signals = signals[1:]
			w.applyMaintenance(&j.monitor, last, s.at)
			last = kernel.Later(last, s.at)
			j.arrived = append(j.arrived, fmt.Sprintf("%v %v %s", s.at.Sub(j.since), s.end, s.run.id))
			if s.end {
				j.finish(s.at, s.run.id, !s.run.fails)
			} else {
				j.start(s.at, s.run.id)
			}
		}
		if inside(j.down, instant) {
			continue
		}
		w.applyMaintenance(&j.monitor, last, instant)
		last = kernel.Later(last, instant)
		j.check(instant)
	}
}

// String describes the jobs with times after the first ping.
func (j *jobs) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s grace %v, max %v, %+v, T=%v, from %v\n", j.monitor.ScheduleWords(), j.monitor.Grace,
		j.monitor.MaxRuntime, j.monitor.RunConditions, j.period, j.since)
	for i, gap := range j.recorded {
		fmt.Fprintf(&out, "gap %v (down %v) to %v\n", gap.From.Sub(j.since), j.down[i].From.Sub(j.since),
			gap.To.Sub(j.since))
	}
	for _, p := range j.planned {
		fmt.Fprintf(&out, "maintenance %v to %v\n", p.from.Sub(j.since), p.end.Sub(j.since))
	}
	for _, r := range j.runs {
		fmt.Fprintf(&out, "run %q %v to %v fails %v dies %v\n", r.id, r.from.Sub(j.since), r.to.Sub(j.since), r.fails,
			r.dies)
	}
	return out.String() + strings.Join(j.arrived, "\n") + "\n" + strings.Join(j.log, "\n")
}

// clockChanges are instants shortly before the clocks of a zone change.
var clockChanges = map[string][]time.Time{
	"UTC": {domaintest.Epoch},
	"Europe/Berlin": {time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)},
	"America/New_York": {time.Date(2026, 3, 8, 4, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC)},
	"Australia/Lord_Howe": {time.Date(2026, 4, 4, 13, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 3, 13, 0, 0, 0, time.UTC)},
}

// drawJobs draws a schedule and a job that runs at its times, every run for as long as it may and must take.
func drawJobs(t *rapid.T) (j jobs) {
	ms := func(lo, hi time.Duration, name string) time.Duration {
		return time.Duration(rapid.Int64Range(lo.Milliseconds(), hi.Milliseconds()).Draw(t,
			name+" ms")) * time.Millisecond
	}
	j.period = rapid.SampledFrom([]time.Duration{10 * time.Second, time.Minute}).Draw(t, "T")
	zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).Draw(t,
		"zone")
	j.since = rapid.SampledFrom(clockChanges[zone]).Draw(t, "since").Add(-ms(0, 2*time.Hour, "before the change"))
	next := func(at time.Time) time.Time { return at.Add(j.monitor.Interval) }
	if rapid.Bool().Draw(t, "cron") {
		cron := schedule.Cron{
			Expression: rapid.SampledFrom([]string{
				"*/5 * * * *", "*/10 * * * *", "30 2 * * *", "15 * * * *", "0 1,2,3 * * *", "*/20 0-4 * * *",
			}).Draw(t, "cron"),
			TimeZone: zone,
		}
		j.monitor.Cron, j.monitor.Interval = cron, cron.Longest()
		next = cron.Next
	} else {
		j.monitor.Interval = ms(10*time.Minute, 2*time.Hour, "I").Truncate(time.Second)
	}
	j.monitor.Grace = 15 * time.Minute
	j.sequential = rapid.Bool().Draw(t, "sequential")
	j.monitor.MinRuntime = 10 * time.Second
	withIDs := rapid.Bool().Draw(t, "ids")
	late := func() time.Duration { return ms(0, 5*time.Second, "late") }
	due := j.since
	for n := range 8 {
		due = next(due)
		r := jobRun{from: due.Add(late())}
		if n > 0 && rapid.IntRange(0, 3).Draw(t, "clock ahead") == 0 && !j.monitor.Cron.IsZero() {
			r.from = due.Add(-time.Second)
		}
		r.to = r.from.Add(ms(j.monitor.MinRuntime, 4*time.Minute, "takes"))
		if rapid.Bool().Draw(t, "until the next") {
			r.to = next(due).Add(-1500 * time.Millisecond)
			if longest := r.from.Add(9 * time.Minute); r.to.After(longest) {
				r.to = longest
			}
		}
		if withIDs {
			r.id = fmt.Sprint("run", n)
		}
		j.runs = append(j.runs, r)
	}
	j.until = due.Add(10 * time.Minute)
	return j
}

// drawConditions sets all conditions, so that the job of drawJobs satisfies them.
func (j *jobs) drawConditions(t *rapid.T) {
	m := &j.monitor
	action := rapid.SampledFrom(monitor.ConditionActions)
	m.RunConditions = monitor.RunConditions{
		MinRuntime: m.MinRuntime, MaxPerInterval: 1, NoOverlap: true,
		MaxRuntimeAction: action.Draw(t, "max"), MinRuntimeAction: action.Draw(t, "min"),
		MaxPerIntervalAction: action.Draw(t, "often"), NoOverlapAction: action.Draw(t, "overlap"),
	}
	// longer than some intervals
	m.MaxRuntime = rapid.SampledFrom([]time.Duration{10 * time.Minute, 3 * time.Hour}).Draw(t, "max runtime")
}

// drawRestarts draws downtimes of the service, as world.drawDowntime does, with more time between two of them than
// between two due times.
func (j *jobs) drawRestarts(t *rapid.T) {
	w := world{interval: j.monitor.Interval, grace: j.monitor.Grace, until: j.until}
	w.drawDowntime(t)
	shift := j.since.Sub(domaintest.Epoch)
	for i := range w.down {
		down, recorded := w.down[i], w.recorded[i]
		j.down = append(j.down, schedule.ListeningGap{From: down.From.Add(shift), To: down.To.Add(shift)})
		j.recorded = append(j.recorded, schedule.ListeningGap{
			From: recorded.From.Add(shift), To: recorded.To.Add(shift),
		})
	}
	j.unacknowledged = rapid.Bool().Draw(t, "unacknowledged")
}

// TestJobThatSatisfiesItsConditionsRaisesNothing checks jobs with all conditions, while the service restarts, loses
// signals, and is down for long: neither a warning nor an outage.
func TestJobThatSatisfiesItsConditionsRaisesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		j := drawJobs(t)
		j.drawConditions(t)
		if rapid.IntRange(0, 4).Draw(t, "faults") > 0 {
			j.until = j.since.Add(min(j.until.Sub(j.since), 40*time.Hour))
			j.drawRestarts(t)
		}
		j.simulate()
		if len(j.log) > 0 {
			t.Fatalf("a job that does what it should raised something: %v", &j)
		}
	})
}

// TestRunsDuringMaintenanceRaiseNothing checks runs that violate everything while the component is under maintenance.
func TestRunsDuringMaintenanceRaiseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		j := drawJobs(t)
		j.drawConditions(t)
		j.planned = []plannedMaintenance{
			{from: j.since.Add(time.Millisecond), until: j.until.Add(time.Hour), end: j.until.Add(time.Hour)},
		}
		drawViolations(t, &j)
		j.simulate()
		if len(j.log) > 0 {
			t.Fatalf("something was raised during maintenance: %v", &j)
		}
	})
}

// drawViolations makes some runs too short, and adds others that overlap, are too many, fail or die.
func drawViolations(t *rapid.T, j *jobs) {
	for i := range j.runs {
		r := &j.runs[i]
		switch rapid.IntRange(0, 7).Draw(t, "violation") {
		case 0:
			r.to = r.from.Add(time.Duration(rapid.Int64Range(1, j.monitor.MinRuntime.Milliseconds()-1).Draw(t,
				"short ms")) * time.Millisecond)
		case 1:
			extra := *r
			extra.from = r.from.Add(time.Duration(rapid.Int64Range(1, r.to.Sub(r.from).Milliseconds()).Draw(t,
				"extra ms")) * time.Millisecond)
			extra.to = extra.from.Add(time.Minute)
			if extra.id != "" {
				extra.id += "'"
			}
			j.runs = append(j.runs, extra)
		case 2:
			r.dies = true
		case 3:
			r.fails = true
		case 4:
			r.to = r.from.Add(j.monitor.MaxRuntime +
				time.Duration(rapid.Int64Range(1, 600_000).Draw(t, "long ms"))*time.Millisecond)
		}
	}
	slices.SortStableFunc(j.runs, func(a, b jobRun) int { return a.from.Compare(b.from) })
}

// expected returns what the conditions of a monitor without faults say, computed from all signals together: for each
// condition, the instants at which it was violated and satisfied. Warnings and outages follow from these.
func (j *jobs) expected() (violated map[monitor.Condition][]time.Time) {
	violated = make(map[monitor.Condition][]time.Time)
	m := j.monitor
	signals := j.signals()
	var begun []time.Time
	last := make(map[string]time.Time) // start of the run with an id that has not ended
	ambiguous := false                 // the last one without an id
	for _, s := range signals {
		if s.at.After(j.until.Truncate(j.period)) {
			break // after the last check the simulation is over
		}
		if !s.end {
			for _, from := range last {
				if s.at.Sub(from) <= m.MaxRuntime && !slices.Contains(violated[monitor.ConditionNoOverlap], s.at) {
					violated[monitor.ConditionNoOverlap] = append(violated[monitor.ConditionNoOverlap], s.at)
				}
			}
			same := 0
			for _, other := range begun {
				if j.sameInterval(other, s.at) {
					same++
				}
			}
			if same >= m.MaxPerInterval {
				violated[monitor.ConditionMaxPerInterval] = append(violated[monitor.ConditionMaxPerInterval], s.at)
			}
			begun = append(begun, s.at)
			_, replaces := last[s.run.id]
			ambiguous = replaces && s.run.id == ""
			last[s.run.id] = s.at
			continue
		}
		from, ok := last[s.run.id]
		if ok && !s.run.fails && (s.run.id != "" || !ambiguous) && s.at.Before(from.Add(m.MinRuntime)) {
			violated[monitor.ConditionMinRuntime] = append(violated[monitor.ConditionMinRuntime], s.at)
		}
		delete(last, s.run.id)
	}
	return violated
}

// sameInterval reports whether two starts count together: there is no due time between them, give or take ten seconds.
func (j *jobs) sameInterval(a, b time.Time) bool {
	if j.monitor.Cron.IsZero() {
		return b.Sub(a) < j.monitor.Interval-10*time.Second
	}
	for due := j.monitor.Cron.Next(
		a.Add(10 * time.Second),
	); !due.After(b.Add(10 * time.Second)); due = j.monitor.Cron.Next(due) {
		return false
	}
	return true
}

// TestViolationsAreFoundAtOnce checks that without faults every violation is found when it happens, a run without an
// end at the first check after its limit, and nothing else.
func TestViolationsAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		j := drawJobs(t)
		j.drawConditions(t)
		drawViolations(t, &j)
		j.monitor.MaxRuntimeAction, j.monitor.MinRuntimeAction, j.monitor.MaxPerIntervalAction,
			j.monitor.NoOverlapAction =
			monitor.ActionWarn, monitor.ActionWarn, monitor.ActionWarn, monitor.ActionWarn
		want := j.expected()
		found := make(map[monitor.Condition][]time.Time) // first of each series of violations
		j.simulate()
		for _, line := range j.log {
			var after, what, c string
			fmt.Sscan(line, &after, &what, &c)
			d, _ := time.ParseDuration(after)
			if what == "warn" {
				found[monitor.Condition(c)] = append(found[monitor.Condition(c)], j.since.Add(d))
			}
		}
		for _, c := range []monitor.Condition{
			monitor.ConditionMinRuntime, monitor.ConditionMaxPerInterval, monitor.ConditionNoOverlap,
		} {
			if len(want[c]) > 0 && (len(found[c]) == 0 || !found[c][0].Equal(want[c][0])) {
				t.Fatalf("%s was violated at %v, found at %v: %v", c, want[c][0].Sub(j.since), found[c], &j)
			}
			for _, at := range found[c] {
				if !slices.ContainsFunc(want[c], at.Equal) {
					t.Fatalf("%s was not violated at %v: %v", c, at.Sub(j.since), &j)
				}
			}
		}
		for _, at := range found[monitor.ConditionMaxRuntime] {
			if !slices.ContainsFunc(j.runs, func(r jobRun) bool {
				late := at.Sub(r.from.Add(j.monitor.MaxRuntime))
				return (r.dies || r.to.Sub(r.from) > j.monitor.MaxRuntime) && late > 0 && late <= j.period
			}) {
				t.Fatalf("no run was overdue at %v: %v", at.Sub(j.since), &j)
			}
		}
	})
}

// TestRunWithoutEndIsFoundInTime checks the bound of max_runtime: a run that dies without faults after it is found at
// the first check after its limit, whatever the service did before.
func TestRunWithoutEndIsFoundInTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		j := drawJobs(t)
		j.drawConditions(t)
		j.monitor.MaxRuntime = 10 * time.Minute // before it is silent
		j.drawRestarts(t)
		dies := rapid.IntRange(0, len(j.runs)-1).Draw(t, "dies")
		r := &j.runs[dies]
		r.dies, r.id = true, "the dead one"
		j.runs = j.runs[:dies+1]
		limit := r.from.Add(j.monitor.MaxRuntime)
		j.until = limit.Add(j.period)
		for i := range j.down {
			if j.recorded[i].To.After(r.from.Add(-time.Minute)) {
				j.down, j.recorded = j.down[:i], j.recorded[:i]
				break
			}
		}
		j.simulate()
		if len(j.log) != 1 || !strings.HasSuffix(j.log[0], string(monitor.ConditionMaxRuntime)) {
			t.Fatalf("the run that has begun at %v is overdue at %v: %v", r.from.Sub(j.since), limit.Sub(j.since), &j)
		}
	})
}
