package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/go-cmp/cmp"
)

// checksModel has monitors that are checked as the rules of the domain say, without a database.
type checksModel struct {
	*world
	random   *rand.Rand
	monitors []*modelCheck
	running  []store.ClaimedCheck
	replicas map[string]string // running replicas, with their locations
	recorded int               // results
	seen     map[string]int    // what has happened
}

// modelCheck is a monitor with what the store keeps beside it.
type modelCheck struct {
	monitor.Monitor
	retry   bool // other replicas are asked
	outages int
	version int64
	since   time.Time // when the wait for the next result began
}

// create adds a monitor with drawn settings.
func (m *checksModel) create() {
	m.Helper()
	n := m.newCheck(fmt.Sprintf("target %d", len(m.monitors)), func(n *monitor.MonitorConfig) {
		n.FailureThreshold = 1 + m.random.IntN(3)
		n.Interval = time.Duration(20+m.random.IntN(60)) * time.Second
		n.Check.RecoveryThreshold, n.Check.ConfirmFrom = 1+m.random.IntN(3), 1+m.random.IntN(2)
		switch len(m.monitors) {
		case 0:
			n.FailureThreshold, n.Check.RecoveryThreshold, n.Check.ConfirmFrom = 1, 3, 1
		case 1:
		default: // most are below the first one
			n.ParentID = m.monitors[m.random.IntN(2)*m.random.IntN(len(m.monitors))].ID
		}
	})
	m.monitors = append(m.monitors, &modelCheck{Monitor: n, version: 1, since: m.clock.now()})
}

func (m *checksModel) of(id string) *modelCheck {
	return m.monitors[slices.IndexFunc(m.monitors, func(c *modelCheck) bool { return c.ID == id })]
}

// parentDown computes ParentDown.
func (m *checksModel) parentDown(c *modelCheck) bool {
	for id := c.ParentID; id != ""; {
		p := m.of(id)
		if p.State == monitor.MonitorDown {
			return true
		}
		id = p.ParentID
	}
	return false
}

// depth is how many monitors are above one.
func (m *checksModel) depth(id string) (n int) {
	for id = m.of(id).ParentID; id != ""; id = m.of(id).ParentID {
		n++
	}
	return n
}

// claimSome claims checks for one of the replicas, and compares which they are.
func (m *checksModel) claimSome() {
	m.Helper()
	names := keys(m.replicas)
	slices.Sort(names)
	replica := names[m.random.IntN(len(names))]
	now := m.clock.now()
	var want []string
	for _, c := range m.monitors {
		round := c.CheckState.Round
		switch {
		case !c.Enabled:
		case !c.NextCheckAt.After(now):
			want = append(want, c.Name)
			c.NextCheckAt, c.CheckState.Round, c.retry = monitor.NextCheck(c.ID, c.Interval, now), monitor.CheckRound{},
				false
		case c.retry && !slices.Contains(round.Failed, m.replicas[replica]) && !slices.Contains(round.Unknown, replica):
			want = append(want, c.Name+" again")
			c.retry = false
			m.seen["retry"]++
		}
	}
	var got []string
	for _, c := range m.claimChecks(replica, m.replicas[replica]) {
		name := m.of(c.MonitorID).Name
		if c.DueAt.After(now) || c.Version != m.of(c.MonitorID).version {
			m.Fatalf("%s is claimed early, or in version %d: %+v", name, m.of(c.MonitorID).version, c)
		}
		if slices.Contains(want, name+" again") {
			name += " again"
		}
		got = append(got, name)
		c.WorkspaceID = replica // for the result
		m.running = append(m.running, c)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		m.Fatalf("claimed at %s by %s (-want +got):\n%s", now, replica, diff)
	}
}

// recordSome records some of the checks that run, with drawn results.
func (m *checksModel) recordSome() {
	m.Helper()
	now := m.clock.now()
	var results []monitor.CheckResult
	view := monitor.CheckView{Now: now, Threshold: monitor.DefaultFailureThreshold, Replicas: m.replicas}
	for len(m.running) > 0 && m.random.IntN(4) > 0 {
		c := m.running[0]
		m.running = m.running[1:]
		if m.random.IntN(20) == 0 {
			continue // the replica has crashed
		}
		r := m.resultOf(c, []monitor.CheckStatus{
			monitor.CheckOK, monitor.CheckOK, monitor.CheckOK, monitor.CheckSlow, monitor.CheckSlow,
			monitor.CheckFailed, monitor.CheckFailed, monitor.CheckFailed, monitor.CheckUnknown,
		}[m.random.IntN(9)])
		r.Replica, r.Location = c.WorkspaceID, m.replicas[c.WorkspaceID]
		if r.Status == monitor.CheckOK && m.random.IntN(8) == 0 {
			r.Warning, r.Reason = true, "certificate expires in 3 days"
		}
		results = append(results, r)
	}
	parentsFirst := slices.Clone(results)
	slices.SortStableFunc(parentsFirst, func(a, b monitor.CheckResult) int {
		return m.depth(a.MonitorID) - m.depth(b.MonitorID)
	})
	for _, r := range parentsFirst {
		c := m.of(r.MonitorID)
		if r.Version != c.version || !c.Enabled {
			m.seen["dropped"]++
			continue
		}
		m.recorded++
		c.since = kernel.Later(c.since, r.StartedAt)
		c.ParentDown = m.parentDown(c)
		e := c.ApplyCheckResult(r, view)
		c.Warn(e.Verdict)
		c.retry = e.Retry
		if !e.RecheckBy.IsZero() && e.RecheckBy.Before(c.NextCheckAt) {
			c.NextCheckAt = e.RecheckBy
		}
		if e.WentDown {
			c.outages++
			m.seen["outage"]++
		}
		if e.Recovered {
			m.seen["recovery"]++
		}
		m.seen[string(c.DisplayState())]++
	}
	m.ok(m.RecordCheckResults(m.ctx, results))
}

// tickChecks marks the checks that are late.
func (m *checksModel) tickChecks() {
	m.Helper()
	want, now := 0, m.clock.now()
	for _, c := range m.monitors {
		wait := schedule.CheckWait{Since: c.since, Interval: c.Interval}
		if c.Enabled && !c.CheckState.Late && wait.LateAt(nil).Before(now) {
			c.CheckState.MarkLate(wait.DueAt())
			want++
			m.seen["late"]++
		}
	}
	if n := must(m.TickChecks(m.ctx))(m); n != want {
		m.Fatalf("%d checks are late at %s, want %d", n, now, want)
	}
}

// change pauses, resumes or changes a monitor.
func (m *checksModel) change() {
	m.Helper()
	c := m.monitors[m.random.IntN(len(m.monitors))]
	config := json.RawMessage(fmt.Sprintf(`{"n":%d}`, m.random.IntN(3)))
	var ch monitor.MonitorChange = func(c *monitor.MonitorConfig) error {
		c.Check.Config = config
		return nil
	}
	switch {
	case m.random.IntN(2) == 0:
	case c.Enabled:
		ch = monitor.Pause(time.Time{})
	default:
		ch = monitor.Resume()
	}
	before := c.Monitor
	m.ok(resource.ChangeMonitor(&c.Monitor, ch, m.clock.now()))
	if c.Enabled != before.Enabled || string(c.Check.Config) != string(before.Check.Config) {
		c.version++
		c.retry, c.since = false, m.clock.now()
		if c.NextCheckAt = m.clock.now(); !c.Enabled {
			c.NextCheckAt = time.Time{}
		}
	}
	must(m.ChangeMonitor(m.ctx, m.ws, c.ID, ch))(m)
}

// state is what is compared.
func (m *checksModel) state(c monitor.Monitor, outages int, slow bool) string {
	c.CheckState.Reason = "" // of results
	return fmt.Sprintf("%s: %s, %d failures, suppressed %v below %v, next %s, warned %v, %+v, %d outages, slow %v",
		c.Name, c.DisplayState(), c.ConsecutiveFailures, c.FailuresSuppressed, c.ParentDown,
		c.NextCheckAt.Format("15:04:05.000"), c.Warned, c.CheckState, outages, slow)
}

// compare compares all monitors with the database.
func (m *checksModel) compare() {
	m.Helper()
	var want, got []string
	for _, c := range m.monitors {
		c.ParentDown = m.parentDown(c)
		want = append(want, m.state(c.Monitor, c.outages, !c.CheckState.SlowSince.IsZero()))
		now := m.monitorNow(c.Monitor)
		outages := must(strconv.Atoi(m.value(`SELECT count(*) FROM outages WHERE monitor_id = $1`, c.ID)))(m)
		slow := m.value(`SELECT count(*) FROM causes WHERE source = $1`, c.ID) == "1"
		got = append(got, m.state(now, outages, slow))
		open := m.value(`SELECT count(*) FROM outages WHERE monitor_id = $1 AND ended_at IS NULL`, c.ID)
		if (open == "1") != (now.State == monitor.MonitorDown) {
			m.Fatalf("%s: %s open outages: %+v", c.Name, open, now)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.Fatalf("(-Monitor.ApplyCheckResult +stored)\n%s", diff)
	}
	if n := m.value(`SELECT count(*) FROM check_results`); n != fmt.Sprint(m.recorded) {
		m.Fatalf("%s results are stored, want %d", n, m.recorded)
	}
}

// TestCheckResultsAreTheRule holds claims, results and changes to the pure functions, with several replicas.
func TestCheckResultsAreTheRule(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		m := &checksModel{world: w, random: rand.New(rand.NewPCG(seed, 0)), seen: make(map[string]int)}
		for range 6 {
			m.create()
		}
		for range w.rounds(200) {
			m.replicas = map[string]string{"a": "here", "b": "there", "c": "there"}
			if m.random.IntN(5) == 0 {
				delete(m.replicas, "b")
				delete(m.replicas, []string{"a", "c"}[m.random.IntN(2)])
			}
			w.run(`DELETE FROM liveness`)
			for replica, location := range m.replicas {
				w.run(`INSERT INTO liveness (replica, seen_at, backlog_ms, location) VALUES ($1, $2, 0, $3)`, replica,
					w.clock.now().UnixMilli(), location)
			}
			m.running = slices.DeleteFunc(m.running, func(c store.ClaimedCheck) bool {
				_, runs := m.replicas[c.WorkspaceID]
				return !runs
			})
			for range 3 {
				switch n := m.random.IntN(20); {
				case n == 0:
					m.change()
				case n < 4:
					m.tickChecks()
				case n < 11:
					m.claimSome()
				default:
					m.recordSome()
				}
			}
			m.compare()
			w.clock.move(time.Duration(m.random.IntN(20_000)) * time.Millisecond)
			if m.random.IntN(10) == 0 {
				w.clock.move(time.Duration(m.random.IntN(300)) * time.Second) // no replica has claimed any
			}
		}
		for _, what := range []string{"retry", "outage", "up", "late"} {
			if m.seen[what] == 0 && isSQLite(w.Store) {
				w.Errorf("%s never happened: %v", what, m.seen)
			}
		}
	})
}
