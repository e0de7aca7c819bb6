package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store"
)

// runModel is a monitor with its runs, warnings and outages as the rules of the domain say, without a database.
type runModel struct {
	*world
	random *rand.Rand

	monitor           monitor.Monitor
	open              []monitor.Run
	starts            []time.Time // that are not doubtful
	warned, outages   []modelSpan
	operations        []string
	gaps              []schedule.ListeningGap
	warnings, changes int // of all monitors
}

// modelSpan is a warning or an outage.
type modelSpan struct {
	what        string // the condition or the reason
	from, until time.Time
}

func (s modelSpan) String() string {
	until := ""
	if !s.until.IsZero() {
		until = s.until.Format(" to 15:04:05.000")
	}
	return s.what + s.from.Format(" 15:04:05.000") + until
}

// loadGaps loads the listening gaps of the database.
func (m *runModel) loadGaps() {
	m.Helper()
	m.gaps = nil
	for _, from := range m.rows(`SELECT from_at FROM listening_gaps ORDER BY from_at`) {
		at := must(strconv.ParseInt(from, 10, 64))(m)
		to := must(strconv.ParseInt(m.value(`SELECT to_at FROM listening_gaps WHERE from_at = $1`, at), 10, 64))(m)
		m.gaps = append(m.gaps, schedule.ListeningGap{From: time.UnixMilli(at).UTC(), To: time.UnixMilli(to).UTC()})
	}
}

// take removes and returns the open run with an id.
func (m *runModel) take(id string) (r monitor.Run) {
	if i := slices.IndexFunc(m.open, func(r monitor.Run) bool { return r.ID == id }); i >= 0 {
		r = m.open[i]
		m.open = slices.Delete(m.open, i, i+1)
	}
	return r
}

func (m *runModel) start(n store.NewSignal) {
	now := m.clock.now()
	s := monitor.RunStart{At: now, RunID: n.RunID, Repeated: n.Repeated, Open: m.open, Gaps: m.gaps}
	if nth := len(m.starts) - m.monitor.MaxPerInterval; m.monitor.MaxPerInterval > 0 && nth >= 0 {
		s.Nth = m.starts[nth]
	}
	verdict, doubtful, ambiguous := m.monitor.EvaluateStart(s), s.Doubtful(), s.Ambiguous()
	failed, violates := m.monitor.Down(verdict)
	replaced := m.take(n.RunID)
	for i := range m.open {
		m.open[i].Violated = m.open[i].Violated || failed.Condition == monitor.ConditionNoOverlap
	}
	m.open = append(m.open, monitor.Run{
		ID: n.RunID, StartedAt: now, DueAt: now.Add(m.monitor.RunLimit()), Doubtful: doubtful, Ambiguous: ambiguous,
		Violated: violates || doubtful && replaced.Violated,
	})
	if !doubtful {
		m.starts = append(m.starts, now)
	}
	m.apply(verdict)
}

func (m *runModel) finish(runID string, success bool) {
	now, run := m.clock.now(), m.take(runID)
	verdict := m.monitor.EvaluateEnd(run, now, monitor.RunEnd(success))
	_, failed := m.monitor.Down(verdict)
	switch {
	case !success && m.monitor.RecordFailure(now):
		m.outages = append(m.outages, modelSpan{what: string(monitor.OutageFailed), from: now})
	case success && !failed && (m.monitor.State == monitor.MonitorUp || run.Recovers()):
		if m.monitor.RecordPing(now) {
			m.outages[len(m.outages)-1].until = now
		}
	}
	m.apply(verdict)
}

// apply applies a verdict.
func (m *runModel) apply(v monitor.Verdict) {
	now := m.clock.now()
	if failed, down := m.monitor.Down(v); down && m.monitor.RecordFailure(now) {
		m.outages = append(m.outages, modelSpan{what: string(failed.Condition.Reason()), from: now})
	}
	added := m.monitor.Warn(v)
	for i := range m.warned {
		if w := &m.warned[i]; w.until.IsZero() && !slices.Contains(m.monitor.Warned, monitor.Condition(w.what)) {
			w.until = now
		}
	}
	for _, violation := range added {
		m.warned = append(m.warned, modelSpan{what: string(violation.Condition), from: now})
	}
}

func (m *runModel) check() {
	tick := monitor.Tick{Instant: m.clock.now(), AsOf: m.clock.now(), Period: time.Minute, Threshold: 3, Gaps: m.gaps}
	for i := range m.open {
		r := m.open[i]
		if r.DueAt.IsZero() {
			continue
		}
		switch m.monitor.CheckRun(r, tick) {
		case monitor.RunOverdue:
			m.open[i].DueAt = time.Time{}
			m.apply(m.monitor.EvaluateOverdue(r))
		case monitor.RunUnknown:
			m.open[i].DueAt = time.Time{}
		case monitor.RunOnTime:
		}
	}
	if m.monitor.ApplyTick(tick) == monitor.TickWentDown {
		m.outages = append(m.outages, modelSpan{what: string(monitor.OutageSilent), from: tick.Instant})
	}
}

// create begins with another monitor with drawn conditions.
func (m *runModel) create() {
	m.Helper()
	action := func() monitor.ConditionAction { return monitor.ConditionActions[m.random.IntN(2)] }
	n := monitor.MonitorConfig{
		Name: "job", Interval: 3 * time.Minute, MaxRuntime: time.Duration(20+m.random.IntN(60)) * time.Second,
	}
	n.RunConditions = monitor.RunConditions{
		MinRuntime: time.Duration(m.random.IntN(2)*15) * time.Second, MaxPerInterval: m.random.IntN(6),
		NoOverlap:        m.random.IntN(3) > 0,
		MaxRuntimeAction: action(), MinRuntimeAction: action(), MaxPerIntervalAction: action(),
		NoOverlapAction: action(),
	}
	m.monitor = must(m.CreateMonitor(m.ctx, m.ws, monitor.MonitorOf(n)))(m)
	m.open, m.starts, m.warned, m.outages = nil, nil, nil, nil
	m.operations = []string{fmt.Sprintf("max %v, %+v", m.monitor.MaxRuntime, m.monitor.RunConditions)}
}

// pass lets time pass as world.pass does, and checks the model at the same instants.
func (m *runModel) pass(d time.Duration) {
	m.Helper()
	for end := m.clock.now().Add(d); m.clock.now().Before(end); {
		m.clock.set(m.clock.now().Truncate(store.LivenessInterval).Add(store.LivenessInterval))
		m.recordLiveness()
		if now := m.clock.now(); now.Truncate(time.Minute).Equal(now) {
			m.tick()
			m.loadGaps()
			m.check()
		}
	}
	m.clock.move(time.Duration(m.random.IntN(4000)) * time.Millisecond)
}

// operate does one thing to the store and to the model.
func (m *runModel) operate() {
	m.Helper()
	note := func(format string, args ...any) {
		m.operations = append(m.operations, m.clock.now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
	switch m.random.IntN(20) {
	case 0:
		m.absent(time.Duration(1+m.random.IntN(100_000)) * time.Millisecond)
		note("absent")
		return
	case 1, 2:
		m.pass(time.Duration(m.random.IntN(300)) * time.Second)
		return
	case 3, 4:
		m.loadGaps()
		m.world.pinged(m.monitor)
		m.finish("", true)
		note("ping")
		return
	}
	ids := []string{"", aRun, otherRun}
	signals := make([]store.NewSignal, 1+m.random.IntN(5)/4)
	for i := range signals {
		kinds := []monitor.SignalKind{
			monitor.SignalStart, monitor.SignalStart, monitor.SignalStart, monitor.SignalSuccess,
			monitor.SignalSuccess, monitor.SignalSuccess,
			monitor.SignalSuccess, monitor.SignalFail, monitor.SignalLog,
		}
		signals[i] = signalOf(kinds[m.random.IntN(len(kinds))], ids[m.random.IntN(len(ids))])
		signals[i].Token, signals[i].Repeated = m.monitor.Token, m.random.IntN(10) == 0
	}
	m.loadGaps()
	m.send(signals...)
	for _, n := range signals {
		note("%s %.36s repeated=%v", n.Kind, n.RunID, n.Repeated)
		switch n.Kind {
		case monitor.SignalStart:
			m.start(n)
		case monitor.SignalSuccess, monitor.SignalFail:
			m.finish(n.RunID, n.Kind == monitor.SignalSuccess)
		}
	}
}

// compare compares the monitor, its warnings and its outages with the store's.
func (m *runModel) compare() {
	m.Helper()
	got := m.monitorNow(m.monitor)
	var due time.Time
	for _, r := range m.open {
		if !r.DueAt.IsZero() && (due.IsZero() || r.DueAt.Before(due)) {
			due = r.DueAt
		}
	}
	state := func(m monitor.Monitor) string {
		return fmt.Sprint(m.State, m.ConsecutiveFailures, m.LastPingAt, slices.Sorted(slices.Values(m.Warned)),
			m.RunDueAt)
	}
	want := m.monitor
	want.RunDueAt = due
	var warned, outages []modelSpan
	warnings, _, err := m.Warnings(m.ctx, m.ws, m.monitor.ID, store.WarningFilter{}, monitor.MaxWarnings)
	m.ok(err)
	for _, w := range slices.Backward(warnings) {
		warned = append(warned, modelSpan{string(w.Condition), w.WarnedAt, w.EndedAt})
	}
	ended, _, err := m.Outages(m.ctx, m.ws, m.monitor.ID, firstHundred)
	m.ok(err)
	for _, o := range slices.Backward(ended) {
		outages = append(outages, modelSpan{string(o.Reason), o.StartedAt, o.EndedAt})
	}
	if state(got) != state(want) || !sameSpans(warned, m.warned) || !sameSpans(outages, m.outages) {
		m.Fatalf("the store has %s\nwarnings %v\noutages %v\nwant %s\nwarnings %v\noutages %v\n%s", state(got), warned,
			outages,
			state(want), m.warned, m.outages, strings.Join(m.operations, "\n"))
	}
}

// sameSpans compares without the order of what began at the same time.
func sameSpans(a, b []modelSpan) bool {
	text := func(all []modelSpan) (lines []string) {
		for _, s := range all {
			lines = append(lines, s.from.UTC().String()+s.String())
		}
		return slices.Sorted(slices.Values(lines))
	}
	return slices.Equal(text(a), text(b))
}

// TestRunsAreTheModel compares monitors with drawn conditions, after random signals, pings, ticks and restarts, with
// what the pure rules say: their states, warnings and outages.
func TestRunsAreTheModel(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		m := &runModel{world: w, random: rand.New(rand.NewPCG(seed, 0))}
		w.recordLiveness()
		for range w.rounds(8) {
			m.create()
			for range 40 {
				m.pass(time.Duration(m.random.IntN(40)) * time.Second)
				m.operate()
				m.compare()
			}
			m.warnings, m.changes = m.warnings+len(m.warned), m.changes+len(m.outages)
		}
		if (m.warnings == 0 || m.changes == 0) && isSQLite(w.Store) {
			t.Errorf("%d warnings and %d outages: the test compares nothing", m.warnings, m.changes)
		}
		t.Logf("%d warnings, %d outages", m.warnings, m.changes)
	})
}
