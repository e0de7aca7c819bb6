package faults

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	_ "modernc.org/sqlite" // looks into the file beside the server

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// killsVariable is the environment variable that says how often each engine's
// server is killed.
const killsVariable = "ALLSWELL_KILLS"

const defaultKills = 4

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

// TestKilledServerLosesNothing kills the server with SIGKILL at random moments
// while pings and incident updates come in, and checks after each restart that
// everything it acknowledged is there exactly once, that no going down or
// coming back is half done, and that no living job was reported.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	n := kills(t)
	exe := binary.Build(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "allswell.db")
		killAgainAndAgain(t, newEnvironment(t, exe, "sqlite:"+path), n, func() { checkIntegrity(t, path) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster := storetest.NewCluster(t, "fsync=on", "full_page_writes=on")
		killAgainAndAgain(t, newEnvironment(t, exe, cluster.Database(t)), n, func() {})
	})
}

func killAgainAndAgain(t *testing.T, w *environment, kills int, checkDatabase func()) {
	w.server.Start()
	w.settle()
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
	t.Logf("%d kills: %s; from start to ready %v in the middle, %v at worst",
		kills, w.counts(), restarts[len(restarts)/2].Round(time.Millisecond), restarts[len(restarts)-1].Round(time.Millisecond))
}

// checkIntegrity has SQLite look through the whole file while it is served.
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

// TestKilledDatabaseLosesNothing does the same to PostgreSQL under a server
// that stays: crashed, shut down without a checkpoint, and stopped where it
// stands.
func TestKilledDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	cluster := storetest.NewCluster(t, "fsync=on", "full_page_writes=on")
	w := newEnvironment(t, binary.Build(t), cluster.Database(t))
	w.server.Start()
	w.settle()
	blows := []struct {
		name         string
		strike, mend func()
	}{
		{"crashed", cluster.Kill, cluster.Start},
		{"stopped at once", func() { cluster.Stop(storetest.Immediate) }, cluster.Start},
		{"paused", cluster.Pause, cluster.Resume},
	}
	for n, blow := range blows {
		load := w.beginLoad(n)
		<-time.After(20*time.Millisecond + rand.N(300*time.Millisecond))
		blow.strike()
		<-time.After(300 * time.Millisecond) // so that requests meet the dead database too
		blow.mend()
		load.awaitProgress(100)
		load.end()
		w.server.AwaitReady()
		w.checkRound(load)
		if t.Failed() {
			t.Fatalf("after the database was %s", blow.name)
		}
	}
	w.checkEnd()
	t.Logf("%d blows to the database: %s", len(blows), w.counts())
}
