package faults

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// Monitors whose targets are checked while the server is killed.
const (
	flappingTargets = 9
	flapInterval    = 200 * time.Millisecond // shorter than the API permits, see shorten
	// of a third of the flapping monitors; the others are down after one failure
	patientThreshold  = 3
	monitorsPerRound  = 6  // that are checked once
	monitorsWithPast  = 60 // more than one step sums up
	pastHours         = 6
	maxKillsOfChecks  = 40                      // independently of killsVariable
	maxCheckKillDelay = 1500 * time.Millisecond // a claim, a check, and a batch of results fit into it
	maxTargetDelay    = 100 * time.Millisecond
	settleTimeout     = 90 * time.Second // a lost claim, and the summing up, on a busy machine
	pastPeriod        = 5 * time.Minute
)

// targets is a web server whose paths are the targets of monitors.
type targets struct {
	*httptest.Server

	mu       sync.Mutex
	down     map[string]bool // by path
	requests map[string]int
}

func newTargets(t *testing.T) *targets {
	s := &targets{down: make(map[string]bool), requests: make(map[string]int)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *targets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests[r.URL.Path]++
	down := s.down[r.URL.Path]
	s.mu.Unlock()
	select { // so that kills come while checks run
	case <-time.After(rand.N(maxTargetDelay)):
	case <-r.Context().Done():
	}
	if down {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (s *targets) setDown(path string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[path] = down
}

func (s *targets) requestsOf(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// checkedMonitor is a monitor whose target is a path of targets.
type checkedMonitor struct {
	id, path, component string
	threshold           int
	created             time.Time // before it was
}

func (m checkedMonitor) name() string { return "Target " + m.path }

// rowID orders the rows of a table of SQLite as they were inserted.
const rowID = "rowid"

// checkedSite is an environment with targets.
type checkedSite struct {
	*environment
	targets  *targets
	db       *sql.DB // beside the server
	position string  // orders check_results as they were recorded

	flapping, once, past []checkedMonitor
	interrupted          int // kills while results were summed up
}

// TestKilledServerCountsChecksOnce kills the server repeatedly with SIGKILL while it checks targets that fail and
// recover, and while it sums up results. No check runs twice for a due time, and what the results led to is what they
// say: failures in a row, outages, incidents and statistics.
func TestKilledServerCountsChecksOnce(t *testing.T) {
	t.Parallel()
	n := min(kills(t), maxKillsOfChecks)
	exe := binary.Build(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := binary.Database(t)
		killWhileChecking(t,
			newCheckedSite(t, exe, "sqlite:"+path, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"), n)
		checkIntegrity(t, path)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		database := storetest.NewCluster(t, "fsync=on", "full_page_writes=on").Database(t)
		killWhileChecking(t, newCheckedSite(t, exe, database, "pgx", database), n)
	})
}

func newCheckedSite(t *testing.T, exe, database, driver, dsn string, env ...string) *checkedSite {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(0) // SQLite recovers after a kill only if no process has the file open
	s := &checkedSite{
		environment: newEnvironment(t, exe, database, env...), targets: newTargets(t), db: db, position: rowID,
	}
	s.server.Start()
	s.api.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	if driver == "pgx" {
		s.position = "position"
		s.exec(`ALTER TABLE check_results ADD COLUMN position BIGSERIAL`)
	}
	return s
}

func (s *checkedSite) exec(statement string) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), statement); err != nil {
		s.t.Fatal(err)
	}
}

func killWhileChecking(t *testing.T, s *checkedSite, kills int) {
	for i := range flappingTargets {
		threshold := 1
		if i%3 == 0 {
			threshold = patientThreshold
		}
		s.flapping = append(s.flapping, s.create(fmt.Sprint("/flapping/", i), 10*time.Second, threshold))
	}
	s.shorten()
	s.createPast()
	s.sumUpAgain()
	for n := range kills {
		for _, m := range s.flapping {
			s.targets.setDown(m.path, rand.N(2) == 0)
		}
		for i := range monitorsPerRound {
			s.once = append(s.once, s.create(fmt.Sprintf("/once/%d/%d", n, i), 24*time.Hour, 1))
		}
		// The pause is random, so that kills come at different moments.
		<-time.After(rand.N(maxCheckKillDelay))
		if s.summedUp() {
			s.sumUpAgain()
		} else if n > 0 {
			s.interrupted++
		}
		s.server.Kill()
		s.server.Start()
		s.checkResults()
		if t.Failed() {
			t.Fatalf("after kill number %d of %d", n+1, kills)
		}
	}
	s.settle()
	s.checkOnce()
	s.checkStatistics()
	s.checkLog()
}

// create creates a monitor with its component. It is due immediately.
func (s *checkedSite) create(path string, interval time.Duration, threshold int) checkedMonitor {
	s.t.Helper()
	m := checkedMonitor{path: path, threshold: threshold, created: time.Now()}
	var component, made binary.Data[struct{ ID string }]
	s.api.Must(s.t, "POST", "/api/v1/pages/acme/components", params{"name": m.name()}, &component)
	m.component = component.Data.ID
	s.api.Must(s.t, "POST", "/api/v1/monitors",
		params{"name": m.name(), "page": "acme", "component_id": m.component, "type": "http",
			"url": s.targets.URL + path, "interval": int(interval / time.Second), "timeout": 5,
			"failure_threshold": threshold}, &made)
	m.id = made.Data.ID
	return m
}

// shorten makes the intervals of the flapping monitors so short that each round has several results of them.
func (s *checkedSite) shorten() {
	s.t.Helper()
	s.exec(fmt.Sprintf(`UPDATE monitors SET interval_ms = %d WHERE id IN (%s)`, flapInterval.Milliseconds(),
		idsOf(s.flapping)))
}

// idsOf returns the ids of monitors for a statement.
func idsOf(monitors []checkedMonitor) string {
	var ids []string
	for _, m := range monitors {
		ids = append(ids, "'"+m.id+"'")
	}
	return strings.Join(ids, ", ")
}

// checkedState is what the results of a monitor have led to.
type checkedState struct {
	state         string
	failures      int // in a row
	outages, open int
	incidents     int // of those outages
	unresolved    int
	causes        int // why its component does not work
}

// stateAfter returns what results, in order, lead to if each failure counts.
func stateAfter(results []string, threshold int) checkedState {
	c := checkedState{state: "up"}
	for _, status := range results {
		switch {
		case status != "failed":
			c.state, c.failures, c.open = "up", 0, 0
		case c.state == "up":
			if c.failures++; c.failures == threshold {
				c.state, c.open = "down", 1
				c.outages++
			}
		}
	}
	c.incidents, c.unresolved, c.causes = c.outages, c.open, c.open
	return c
}

// explains reports whether a state may be what the results lead to. If the threshold is 1, it must be just that.
// Otherwise two failures may have counted once if their checks were so close to one another that the second was claimed
// before the first was recorded. No failure may have counted twice, and no outage be incomplete.
func (c checkedState) explains(got checkedState, threshold int) bool {
	if threshold == 1 {
		return got == c
	}
	whole := got.incidents == got.outages && got.unresolved == got.open && got.causes == got.open &&
		(got.state == "down") == (got.open == 1)
	return whole && got.failures <= c.failures && got.outages <= c.outages && (c.state == "down" || got.state == "up")
}

// checkResults checks that no due time has two results, and that the states of the flapping monitors are those that
// their results lead to, one after the other.
func (s *checkedSite) checkResults() {
	s.t.Helper()
	// The server goes on meanwhile, so all is read from one snapshot. In SQLite each transaction is one.
	level := sql.LevelDefault
	if s.position != rowID {
		level = sql.LevelRepeatableRead
	}
	tx, err := s.db.BeginTx(s.t.Context(), &sql.TxOptions{ReadOnly: true, Isolation: level})
	if err != nil {
		s.t.Fatal(err)
	}
	defer tx.Rollback()
	for _, twice := range rowsOf[string](
		s.t, tx, `SELECT monitor_id FROM check_results GROUP BY monitor_id, due_at HAVING count(*) > 1`,
	) {
		s.t.Errorf("%s has two results of one due time", twice)
	}
	for _, m := range s.flapping {
		results := rowsOf[string](s.t, tx,
			fmt.Sprintf(`SELECT status FROM check_results WHERE monitor_id = '%s' ORDER BY %s`, m.id, s.position))
		if expected, got := stateAfter(results, m.threshold), s.stored(tx, m); !expected.explains(got, m.threshold) {
			s.t.Errorf("%s has the results %v, which lead to %+v, and it is %+v", m.name(), results, expected, got)
		}
		if n := s.targets.requestsOf(m.path); n < len(results) {
			s.t.Errorf("%s has %d results of %d requests", m.name(), len(results), n)
		}
	}
}

// stored reads the state of a monitor.
func (s *checkedSite) stored(tx *sql.Tx, m checkedMonitor) (got checkedState) {
	s.t.Helper()
	outages := fmt.Sprintf(`FROM outages WHERE monitor_id = '%s'`, m.id)
	err := tx.QueryRowContext(s.t.Context(), fmt.Sprintf(`SELECT state, consecutive_failures,
		(SELECT count(*) %[1]s), (SELECT count(*) %[1]s AND ended_at IS NULL), (SELECT count(*) FROM incidents
		WHERE outage_id IN (SELECT id %[1]s)),
		(SELECT count(*) FROM incidents WHERE NOT resolved AND title = '%[2]s is down'), (SELECT count(*) FROM causes
		WHERE component_id = m.component_id)
		FROM monitors m WHERE id = '%[3]s'`, outages, m.name(), m.id)).
		Scan(&got.state, &got.failures, &got.outages, &got.open, &got.incidents, &got.unresolved, &got.causes)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// querier is a database or a transaction.
type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// rowsOf returns the only column of all rows.
func rowsOf[T any](t *testing.T, from querier, query string) (all []T) {
	t.Helper()
	rows, err := from.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value T
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		all = append(all, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// await returns when done does, and fails the test if that takes longer than settleTimeout.
func (s *checkedSite) await(what string, done func() bool) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleTimeout); !done(); <-tick.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited %v for this: %s", settleTimeout, what)
		}
	}
}

// settle lets the targets of half of the flapping monitors fail, and then none, and checks their states, components and
// incidents.
func (s *checkedSite) settle() {
	s.t.Helper()
	for _, failing := range []int{len(s.flapping) / 2, 0} {
		for i, m := range s.flapping {
			s.targets.setDown(m.path, i < failing)
		}
		for i, m := range s.flapping {
			state, status, open := "up", "operational", 0
			if i < failing {
				state, status, open = "down", "major_outage", 1
			}
			s.await(m.name()+" is not "+state, func() bool { return s.state(&job{id: m.id}) == state })
			var component binary.Data[struct{ Status string }]
			s.api.Must(s.t, "GET", "/api/v1/pages/acme/components/"+m.component, nil, &component)
			if n := s.openIncidents(m); component.Data.Status != status || n != open {
				s.t.Errorf("%s is %s, its component %s, and %d of its incidents are open", m.name(), state,
					component.Data.Status, n)
			}
		}
		s.checkResults()
	}
}

func (s *checkedSite) openIncidents(m checkedMonitor) (n int) {
	s.t.Helper()
	var active binary.List[incidentState]
	s.api.Must(s.t, "GET", "/api/v1/pages/acme/incidents?resolved=false&per_page=100", nil, &active)
	for _, inc := range active.Data {
		if inc.Title == m.name()+" is down" {
			n++
		}
	}
	return n
}

// checkOnce checks that the monitors that are due once were claimed, and that the target of each had one request at
// most, and as many as it has results.
func (s *checkedSite) checkOnce() {
	s.t.Helper()
	var requests, results int
	for _, m := range s.once {
		s.await(m.name()+" is still due", func() bool {
			return len(rowsOf[int64](s.t, s.db,
				fmt.Sprintf(`SELECT due_at FROM checks WHERE monitor_id = '%s' AND due_at > %d`, m.id,
					time.Now().UnixMilli()))) == 1
		})
	}
	// What was claimed last has ended when a check that began later has a result.
	s.await("a new monitor has no result", s.hasResults(s.create("/last", 24*time.Hour, 1)))
	for _, m := range s.once {
		allowed := 1
		if monitor.NextCheck(m.id, 24*time.Hour, m.created).Before(time.Now()) { // a regular time came
			allowed = 2
		}
		sent := s.targets.requestsOf(m.path)
		recorded := len(rowsOf[int64](s.t, s.db,
			fmt.Sprintf(`SELECT due_at FROM check_results WHERE monitor_id = '%s'`, m.id)))
		if sent > allowed || recorded > sent {
			s.t.Errorf("%s was requested %d times and has %d results", m.name(), sent, recorded)
		}
		requests, results = requests+sent, results+recorded
	}
	s.t.Logf("%d monitors that were due once: %d requests, %d results; %d results of others; %d kills while results "+
		"were summed up",
		len(s.once), requests, results,
		len(rowsOf[int64](s.t, s.db, `SELECT due_at FROM check_results WHERE monitor_id IN (`+idsOf(s.flapping)+`)`)),
		s.interrupted)
}

func (s *checkedSite) hasResults(m checkedMonitor) func() bool {
	return func() bool {
		return len(rowsOf[int64](s.t, s.db,
			fmt.Sprintf(`SELECT due_at FROM check_results WHERE monitor_id = '%s'`, m.id))) > 0
	}
}
