package failover

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
	_ "github.com/jackc/pgx/v5/stdlib" // reads the database beside the replicas
)

const (
	replicaPort  = "8080"
	replicaToken = "replica-test-token-0123456789abcdef"
	targetHosts  = 5
	confirmed    = 4 // monitors of the last target
	monitors     = targetHosts - 1 + confirmed
	// Intervals are shorter than the API permits, so that the test is short. Several locations have to check within one
	// interval of a failure that is confirmed.
	shortInterval = time.Second
	longInterval  = 4 * time.Second
	// noticed bounds how long anything may take that the replicas do, on a busy machine.
	noticed = 45 * time.Second
)

// site is three replicas, each on its own machine and location, and targets on hosts of their own. The database is
// reached through a socket that all machines share, so no network separates it from them.
type site struct {
	t        *testing.T
	replicas []*machine // at the locations one, two and three
	db       *sql.DB
	api      *binary.Client
	receiver *receiver
	mails    *atomic.Int64 // connections to the mail server
	targets  []*http.Server
}

// TestChecksOfReplicaThatIsCutOff cuts one of three replicas off from all targets, but not from the database: that
// alarms nobody, the others check in its place, and a target that fails is still found.
func TestChecksOfReplicaThatIsCutOff(t *testing.T) {
	require(t)
	began := time.Now()
	lap := func(what string) { t.Logf("%s after %v", what, time.Since(began).Round(time.Second)) }
	s := newSite(t)
	lap("three replicas run")
	s.createMonitors()
	s.await("not every location has a good result of three targets",
		`SELECT count(*) = 3 FROM (SELECT location FROM check_results WHERE status = 'ok' GROUP BY location
			HAVING count(DISTINCT monitor_id) >= 3) AS l`)

	lap("all locations check")

	cut := s.cutOff()
	s.isCalm()
	lap("one was cut off")
	s.fails(1, cut)
	lap("a target failed and worked again")

	s.replicas[0].uncut()
	healed := s.now()
	s.await("the replica that was cut off does not check again",
		fmt.Sprintf(`SELECT EXISTS (SELECT FROM check_results WHERE location = 'one' AND status = 'ok'
			AND started_at > %d)`, healed))
	s.await("a checking gap goes on", noGap)
	lap("one is back")
	s.cutAllOff()
	lap("all were cut off")
	s.confirms()
	lap("a target could not be reached from one location, and then from none")
	await(t, noticed, func() error {
		if s.mails.Load() == 0 || s.receiver.count("incident.created", nameOf(1)+" is down") == 0 {
			return errors.New("the failed target was not reported by mail and webhook")
		}
		return nil
	})
	lap(fmt.Sprintf("%d results", len(s.column(`SELECT location FROM check_results`))))
}

// newSite starts the replicas.
func newSite(t *testing.T) *site {
	newBridge(t, testAddress)
	database := storetest.NewCluster(t).Database(t)
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := &site{t: t, db: db, receiver: newReceiver(t)}
	mail := s.newMailServer()
	exe := binary.Build(t)
	for i, location := range []string{"one", "two", "three"} {
		m := newMachine(t, location, fmt.Sprintf("10.0.0.%d", 11+i), "127.0.0.1 localhost\n")
		m.start("allswell", "root", []string{
			"ALLSWELL_DATABASE=" + database, "ALLSWELL_LISTEN=" + net.JoinHostPort(m.address, replicaPort),
			"ALLSWELL_LOCATION=" + location,
			"ALLSWELL_BOOTSTRAP_TOKEN=" + replicaToken, "ALLSWELL_API_RATE_LIMIT=0", "ALLSWELL_LOG_LEVEL=warn",
			"ALLSWELL_SMTP_URL=smtp://" + mail, "ALLSWELL_MAIL_FROM=status@example.com",
			"ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on",
		}, exe, "serve")
		s.replicas = append(s.replicas, m)
	}
	for _, m := range s.replicas {
		client := binary.NewClient("http://"+net.JoinHostPort(m.address, replicaPort), replicaToken)
		await(t, time.Minute, func() error {
			status, err := client.Do(t.Context(), "GET", "/readyz", nil, nil)
			if err != nil || status != http.StatusOK {
				return fmt.Errorf("%s is not ready: %d, %w", m.name, status, err)
			}
			return nil
		})
		s.api = client // in the end the client of a replica that is not cut off
	}
	return s
}

// newMailServer counts connections. It accepts no mail.
func (s *site) newMailServer() (address string) {
	s.t.Helper()
	l, err := net.Listen("tcp", testAddress+":0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	s.mails = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mails.Add(1)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func addressOf(target int) string { return fmt.Sprintf("10.0.0.%d", 100+target) }
func nameOf(target int) string    { return fmt.Sprintf("Target %d", target) }

// serve lets a target answer until its server is closed.
func (s *site) serve(target int) *http.Server {
	s.t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(addressOf(target), "80"))
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = server.Serve(l) }()
	s.t.Cleanup(func() { _ = server.Close() })
	return server
}

// createMonitors creates a page with subscribers, and monitors of the targets. One failure makes them down; failures of
// the last target have to be found from two locations.
func (s *site) createMonitors() {
	s.t.Helper()
	s.api.Must(s.t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	for channel, target := range map[string]string{"email": "reader@example.com", "webhook": s.receiver.url} {
		s.api.Must(s.t, "POST", "/api/v1/pages/acme/subscribers",
			params{"channel": channel, "target": target, "confirmed": true}, nil)
	}
	add := func(name string, target, confirm int) {
		s.api.Must(s.t, "POST", "/api/v1/monitors",
			params{"name": name, "page": "acme", "type": "http", "url": "http://" + addressOf(target) + "/",
				"interval": 10, "timeout": 1, "failure_threshold": 1, "confirm_from": confirm}, nil)
	}
	for n := range targetHosts {
		run(s.t, "ip", "address", "add", addressOf(n)+"/24", "dev", bridge)
		s.targets = append(s.targets, s.serve(n))
		if n < targetHosts-1 {
			add(nameOf(n), n, 1)
		}
	}
	for n := range confirmed {
		add(fmt.Sprintf("Confirmed %d", n), targetHosts-1, 2)
	}
	_, err := s.db.ExecContext(s.t.Context(),
		`UPDATE monitors SET interval_ms = CASE WHEN name LIKE 'Confirmed%' THEN $1::bigint ELSE $2 END`,
		longInterval.Milliseconds(), shortInterval.Milliseconds())
	if err != nil {
		s.t.Fatal(err)
	}
}

// now returns the time by the database's clock, in milliseconds since 1970.
func (s *site) now() (ms int64) {
	s.t.Helper()
	err := s.db.QueryRowContext(s.t.Context(), `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint`).Scan(
		&ms,
	)
	if err != nil {
		s.t.Fatal(err)
	}
	return ms
}

// await returns when a condition of the database holds.
func (s *site) await(otherwise, condition string) {
	s.t.Helper()
	await(s.t, noticed, func() error {
		var holds bool
		if err := s.db.QueryRowContext(s.t.Context(), condition).Scan(&holds); err != nil {
			s.t.Fatal(err)
		}
		if !holds {
			return errors.New(otherwise)
		}
		return nil
	})
}

// column returns the only column of a query.
func (s *site) column(query string) (all []string) {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, value)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// cutOff cuts the first replica off, and returns when each monitor has a further result of others, and the replica has
// found that it reaches nothing. It returns since when.
func (s *site) cutOff() (since int64) {
	s.t.Helper()
	s.replicas[0].cut()
	since = s.now()
	s.await("the replica that is cut off has no unknown result",
		fmt.Sprintf(`SELECT count(*) >= 2 FROM check_results WHERE status = 'unknown' AND started_at > %d`, since))
	since = s.now()
	s.await("the other replicas do not check every target", fmt.Sprintf(`SELECT count(*) = %d FROM
		(SELECT monitor_id FROM check_results WHERE status = 'ok' AND location <> 'one' AND started_at > %d
		GROUP BY monitor_id) AS m`, monitors, since))
	return since
}

// isCalm checks that nothing has failed, nobody was notified, and only the replica that is cut off has unknown results.
func (s *site) isCalm() {
	s.t.Helper()
	failed := s.column(`SELECT location || ': ' || reason FROM check_results WHERE status = 'failed'`)
	if len(failed) > 0 {
		s.t.Errorf("checks failed: %q", failed)
	}
	from := s.column(`SELECT DISTINCT location FROM check_results WHERE status = 'unknown'`)
	if !slices.Equal(from, []string{"one"}) {
		s.t.Errorf("results are unknown at %q", from)
	}
	for _, table := range []string{"outages", "incidents", "deliveries"} {
		if n := s.column(`SELECT count(*)::text FROM ` + table); n[0] != "0" {
			s.t.Errorf("rows that no check may cause: %s %s", n[0], table)
		}
	}
	if down := s.column(`SELECT name FROM monitors WHERE state <> 'up' OR consecutive_failures > 0`); len(down) > 0 {
		s.t.Errorf("%q are not up", down)
	}
	if n := s.mails.Load(); n > 0 {
		s.t.Errorf("%d mails", n)
	}
}

// noGap is that no monitor has a checking gap now.
const noGap = `SELECT NOT EXISTS (SELECT FROM checks WHERE unknown_since_at IS NOT NULL)`

// cutAllOff cuts all replicas off, and checks that all monitors have a checking gap until one is back, and that nobody
// is alarmed.
func (s *site) cutAllOff() {
	s.t.Helper()
	since := s.now()
	for _, m := range s.replicas {
		m.cut()
	}
	s.await("not every monitor has a checking gap",
		`SELECT NOT EXISTS (SELECT FROM checks WHERE unknown_since_at IS NULL)`)
	s.await("not every replica has found that it reaches nothing", fmt.Sprintf(
		`SELECT count(DISTINCT location) = 3 FROM check_results WHERE status = 'unknown' AND started_at > %d`, since))
	// Shorter gaps are not stored. This one began earlier.
	_, err := s.db.ExecContext(s.t.Context(), `UPDATE checks SET unknown_since_at = unknown_since_at - $1`,
		schedule.LongGap.Milliseconds())
	if err != nil {
		s.t.Fatal(err)
	}
	s.replicas[0].uncut()
	s.await("a checking gap goes on", noGap)
	if n := s.column(`SELECT count(DISTINCT monitor_id)::text FROM checking_gaps`); n[0] != fmt.Sprint(monitors) {
		s.t.Errorf("%s monitors had a checking gap, expected %d", n[0], monitors)
	}
	failed := s.column(
		fmt.Sprintf(
			`SELECT location || ': ' || reason FROM check_results WHERE status = 'failed' AND started_at > %d`, since,
		),
	)
	if len(failed) > 0 {
		s.t.Errorf("checks failed: %q", failed)
	}
	s.incidents(nameOf(1) + " is down")
	for _, m := range s.replicas[1:] {
		m.uncut()
	}
}

// fails closes a target, and checks that the replicas that reach it find that, once.
func (s *site) fails(target int, since int64) {
	s.t.Helper()
	_ = s.targets[target].Close()
	s.await("a target that failed is up",
		fmt.Sprintf(`SELECT state = 'down' FROM monitors WHERE name = '%s'`, nameOf(target)))
	from := s.column(
		fmt.Sprintf(`SELECT DISTINCT location FROM check_results WHERE status = 'failed' AND started_at > %d`, since),
	)
	if slices.Contains(from, "one") {
		s.t.Errorf("the replica that is cut off found it, too: %q", from)
	}
	s.serve(target)
	s.await("a target that works again is down",
		fmt.Sprintf(`SELECT state = 'up' FROM monitors WHERE name = '%s'`, nameOf(target)))
	s.incidents(nameOf(target) + " is down")
}

// incidents checks which incidents there have been.
func (s *site) incidents(expected ...string) {
	s.t.Helper()
	if got := s.column(`SELECT title FROM incidents ORDER BY created_at`); !slices.Equal(got, expected) {
		s.t.Errorf("the incidents are %q, expected %q", got, expected)
	}
}

// unreach takes the route to the last target from a replica.
func (s *site) unreach(m *machine) {
	s.t.Helper()
	run(s.t, "nsenter", m.enter("ip", "route", "add", "unreachable", addressOf(targetHosts-1))...)
}

// confirms checks that a target that one of three locations cannot reach stays up, and one that none can reach is down.
func (s *site) confirms() {
	s.t.Helper()
	const results = `SELECT EXISTS (SELECT FROM check_results r JOIN monitors m ON m.id = monitor_id
		WHERE name LIKE 'Confirmed%%' AND r.status = '%s' AND %s AND r.started_at > %d)`
	since := s.now()
	s.unreach(s.replicas[0])
	s.await("location one does not find the target unreachable",
		fmt.Sprintf(results, "failed", "location = 'one'", since))
	s.await("no other location finds that it works", fmt.Sprintf(results, "ok", "location <> 'one'", s.now()))
	if down := s.column(`SELECT name FROM monitors WHERE state <> 'up'`); len(down) > 0 {
		s.t.Errorf("one location cannot reach a target, and %q are down", down)
	}
	s.incidents(nameOf(1) + " is down")
	for _, m := range s.replicas[1:] {
		s.unreach(m)
	}
	s.await("a target that no location can reach is up",
		`SELECT EXISTS (SELECT FROM monitors WHERE name LIKE 'Confirmed%' AND state = 'down')`)
}
