package faults

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	_ "modernc.org/sqlite" // reads the file beside the server

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// killsVariable is the environment variable with the number of kills for each engine.
const killsVariable = "ALLSWELL_KILLS"

const defaultKills = 1 // .ci/run sets more

func kills(t *testing.T) int {
	value := os.Getenv(killsVariable)
	if value == "" {
		return defaultKills
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s is not a number of kills", killsVariable, value)
	}
	return n
}

// TestKilledServerLosesNothing kills the server with SIGKILL at random moments while it receives
// pings and incident updates. After each restart it checks that everything that was acknowledged
// is stored exactly once, that outages are complete, and that jobs that ping have no outage.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	n := kills(t)
	exe := binary.Build(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := binary.Database(t)
		killRepeatedly(t, newEnvironment(t, exe, "sqlite:"+path), n, func() { checkIntegrity(t, path) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster := storetest.NewCluster(t, "fsync=on", "full_page_writes=on")
		killRepeatedly(t, newEnvironment(t, exe, cluster.Database(t)), n, func() {})
	})
}

func killRepeatedly(t *testing.T, w *environment, kills int, checkDatabase func()) {
	w.server.Start()
	w.createMonitors()
	var restarts []time.Duration
	for n := range kills {
		load := w.beginLoad(n)
		load.awaitProgress(10) // on a busy machine, the first requests take longer than the pause
		// The pause is random, so that kills come at different moments.
		<-time.After(rand.N(300 * time.Millisecond))
		w.server.Kill()
		load.end()

		restarts = append(restarts, w.server.Start())
		checkDatabase()
		w.checkRound(load)
		if t.Failed() {
			t.Fatalf("after kill number %d of %d", n+1, kills)
		}
	}
	w.checkEnd()
	checkDatabase()
	slices.Sort(restarts)
	t.Logf("%d kills: %s; from start to ready %v (median), %v (maximum)",
		kills, w.counts(), restarts[len(restarts)/2].Round(time.Millisecond),
		restarts[len(restarts)-1].Round(time.Millisecond))
}

// checkIntegrity runs SQLite's integrity check on the file while the server uses it.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_query_only=1&_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, check := range []string{"PRAGMA integrity_check", "PRAGMA foreign_key_check"} {
		rows, err := db.QueryContext(t.Context(), check)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			found := make([]sql.NullString, len(columns))
			into := make([]any, len(columns))
			for i := range found {
				into[i] = &found[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			if found[0].String != "ok" {
				t.Errorf("%s: %v", check, found)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledDatabaseLosesNothing kills, stops and pauses PostgreSQL while the server runs, and
// checks the same.
func TestKilledDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	cluster := storetest.NewCluster(t, "fsync=on", "full_page_writes=on")
	w := newEnvironment(t, binary.Build(t), cluster.Database(t))
	w.server.Start()
	w.createMonitors()
	faults := []struct {
		name           string
		inject, repair func()
	}{
		{"crashed", cluster.Kill, cluster.Start},
		{"stopped at once", func() { cluster.Stop(storetest.Immediate) }, cluster.Start},
		{"paused", cluster.Pause, cluster.Resume},
	}
	for n, fault := range faults {
		load := w.beginLoad(n)
		<-time.After(20*time.Millisecond + rand.N(300*time.Millisecond))
		fault.inject()
		<-time.After(300 * time.Millisecond) // requests fail meanwhile
		fault.repair()
		load.awaitProgress(load.progress.Load() + 100)
		load.end()
		w.server.AwaitReady()
		w.checkRound(load)
		if t.Failed() {
			t.Fatalf("after the database was %s", fault.name)
		}
	}
	w.checkEnd()
	t.Logf("%d faults of the database: %s", len(faults), w.counts())
}
