package faults

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // reads the database beside the server

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// answerOf sends a request on its own connection.
func answerOf(t *testing.T, method, address string) (status int, h http.Header, body string) {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

// awaitAnswers returns when a server that waits for its database responds.
func awaitAnswers(t *testing.T, s *binary.Server) {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-tick.C {
		if res, err := client.Get(s.URL + "/healthz"); err == nil {
			res.Body.Close()
			return
		}
		select {
		case <-s.Gone():
			t.Fatalf("the server ended:\n%s", s.Log())
		default:
		}
	}
	t.Fatal("the server does not answer")
}

// startingAnswers are what a server answers while it waits for its database. PING: the path of a ping.
var startingAnswers = []struct {
	method, path string
	status       int
	retry, says  string
}{
	{"POST", "PING", 503, "7",
		`^{"message":"The service cannot do this right now\. Please try again\."}$`},
	{"GET", "PING", 503, "7", `^{"message":"The service cannot`},
	{"GET", "/api/v1/heartbeat/short", 404, "", `^{"message":"Not found\."}$`},
	{"GET", "/api/v1/pages", 503, "5",
		`^{"message":"The service cannot do this right now\. Please try again\.","code":"busy"}`},
	{"GET", "/status/acme", 503, "5", `^The service is starting\. Please try again\.\n$`},
	{"GET", "/", 503, "5", `^The service is starting`},
	{"GET", "/metrics", 503, "5", `^{"message":"The service cannot`},
	{"GET", "/healthz", 200, "", `^ok\n$`},
	{"GET", "/readyz", 503, "", `^not ready: the service is starting, and waits for the database\n$`},
}

// TestStartWaitsForDatabase starts a server without its PostgreSQL. Until the database is back,
// the server responds with 503, and the pings that it rejects do not count as silence.
func TestStartWaitsForDatabase(t *testing.T) {
	t.Parallel()
	exe := binary.Build(t)
	cluster := storetest.NewCluster(t)
	database := cluster.Database(t)
	server := binary.NewServer(t, exe, "ALLSWELL_DATABASE="+database, "ALLSWELL_BOOTSTRAP_TOKEN="+apiToken,
		"ALLSWELL_CHECK_INTERVAL=1s", "ALLSWELL_FAILURE_THRESHOLD=1", "ALLSWELL_METRICS_LISTEN=127.0.0.1:0")
	api := binary.NewClient(server.URL, apiToken)
	server.Start()
	api.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	var monitor binary.Data[struct{ ID, Token string }]
	api.Must(t, "POST", "/api/v1/monitors", params{"name": "Job", "page": "acme", "interval": 30}, &monitor)
	pingURL := server.URL + "/api/v1/heartbeat/" + monitor.Data.Token
	if status, _, _ := answerOf(t, "POST", pingURL); status != http.StatusOK {
		t.Fatalf("the first ping is answered %d", status)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	age(t, db)
	cluster.Stop(storetest.Fast)

	server.Launch()
	awaitAnswers(t, server)
	for _, c := range startingAnswers {
		path := strings.Replace(c.path, "PING", strings.TrimPrefix(pingURL, server.URL), 1)
		status, h, body := answerOf(t, c.method, server.URL+path)
		if status != c.status || h.Get("Retry-After") != c.retry || !regexp.MustCompile(c.says).MatchString(body) {
			t.Errorf("%s %s is answered %d, Retry-After %q, %q; want %d, %q, %s", c.method, c.path, status,
				h.Get("Retry-After"), body, c.status, c.retry, c.says)
		}
	}
	if status, _, _ := answerOf(t, "GET", pingURL); status != http.StatusServiceUnavailable {
		t.Errorf("a ping while the database is away is answered %d", status)
	}
	rejected := time.Now()

	cluster.Start()
	server.AwaitReady()
	if status, _, _ := answerOf(t, "POST", pingURL); status != http.StatusOK {
		t.Errorf("a ping after the database is back is answered %d", status)
	}
	inGap(t, db, rejected)
	if n := len(binary.All[struct{}](t, api, "/api/v1/pages/acme/incidents")); n != 0 {
		t.Errorf("%d incidents of a job that pinged all the time", n)
	}
	if err := server.Stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	logsOneWait(t, server.Log())
}

// age makes the database of a job, which is pinged every 30 s, 40 s older: it seems to have stopped 5 s before the next
// ping was due.
func age(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, statement := range []string{
		`UPDATE liveness SET seen_at = seen_at - 40000`,
		`UPDATE last_pings SET pinged_at = pinged_at - 65000`,
		`UPDATE monitors SET last_ping_at = last_ping_at - 65000, next_check_at = next_check_at - 65000`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

// logsOneWait checks that a log reports that the database is unavailable, and its end.
func logsOneWait(t *testing.T, log string) {
	t.Helper()
	if n := strings.Count(log, "the database is unavailable"); n < 1 || n > 3 { // gone, starting up, read-only
		t.Errorf("%d lines say that the database is unavailable", n)
	}
	if n := strings.Count(log, "the database is available"); n != 1 {
		t.Errorf("%d lines say that the database is available", n)
	}
}

// TestFirstStartWaitsForDatabase is the same with an empty database. The first token is printed
// when the database is back.
func TestFirstStartWaitsForDatabase(t *testing.T) {
	t.Parallel()
	exe := binary.Build(t)
	cluster := storetest.NewCluster(t)
	server := binary.NewServer(t, exe, "ALLSWELL_DATABASE="+cluster.Database(t))
	cluster.Stop(storetest.Fast)
	server.Launch()
	awaitAnswers(t, server)
	if strings.Contains(server.Log(), "admin token") {
		t.Error("a token was printed before there was a database")
	}
	cluster.Start()
	server.AwaitReady()
	secret := regexp.MustCompile(`(?m)^  (aw_\w+)$`).FindStringSubmatch(server.Log())
	if secret == nil {
		t.Fatal("no token is printed")
	}
	binary.NewClient(server.URL, secret[1]).Must(t, "GET", "/api/v1/pages", nil, nil)

	// A server that waits for its database can be stopped.
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	cluster.Stop(storetest.Fast)
	server.Launch()
	awaitAnswers(t, server)
	if err := server.Stop(); err != nil {
		t.Errorf("asked to stop while it waited, it exited with %v", err)
	}
}

// TestPermanentErrorEndsStart checks that an error that waiting cannot resolve ends a start immediately, with one
// sentence.
func TestPermanentErrorEndsStart(t *testing.T) {
	t.Parallel()
	exe := binary.Build(t)
	cluster := storetest.NewCluster(t)
	database := cluster.Database(t)
	with := func(change func(u *url.URL, q url.Values)) string {
		u, err := url.Parse(database)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		change(u, q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	newer := cluster.Database(t)
	first := binary.NewServer(t, exe, "ALLSWELL_DATABASE="+newer)
	first.Start()
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", newer)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ database, says string }{
		"unknown role": {with(func(_ *url.URL, q url.Values) {
			q.Set("user", "nobody")
		}), `^allswell: the database cannot be opened: .*role "nobody" does not exist`},
		"unknown database": {with(func(u *url.URL, _ url.Values) {
			u.Path = "/nothing"
		}), `^allswell: the database cannot be opened: .*database "nothing" does not exist`},
		"newer schema": {newer, `^allswell: the database is of version 9999, .*: use a newer allswell`},
	} {
		server := binary.NewServer(t, exe, "ALLSWELL_DATABASE="+c.database, "ALLSWELL_LOG_LEVEL=warn")
		server.Launch()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		select {
		case <-server.Gone():
		case <-ctx.Done():
			t.Errorf("%s: the server goes on", name)
		}
		cancel()
		if log := server.Log(); !regexp.MustCompile(c.says).MatchString(log) || strings.Count(log, "\n") != 1 {
			t.Errorf("%s: it says %q, want one line %s", name, log, c.says)
		}
	}
}

// inGap checks that the only listening gap that is stored contains a time.
func inGap(t *testing.T, db *sql.DB, rejected time.Time) {
	t.Helper()
	var from, to int64
	if err := db.QueryRow(`SELECT from_at, to_at FROM listening_gaps`).Scan(&from, &to); err != nil {
		t.Fatalf("no listening gap is stored: %v", err)
	}
	if at := rejected.UnixMilli(); at <= from || at >= to {
		t.Errorf("the listening gap is from %d to %d, and lacks the ping that was rejected at %d", from, to, at)
	}
}
