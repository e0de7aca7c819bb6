package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestPostgreSQLGivesEachCallADatabaseOfItsOwn(t *testing.T) {
	first, second := EmptyPostgreSQL(t), PostgreSQL(t)
	for _, address := range []string{first, second} {
		conn := connect(t, address)
		if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (id BIGINT PRIMARY KEY)"); err != nil {
			t.Errorf("the same table in each: %v", err)
		}
		var encoding, zone, collation string
		err := conn.QueryRow(t.Context(),
			`SELECT current_setting('server_encoding'), current_setting('timezone'), datcollate
			FROM pg_database WHERE datname = current_database()`).Scan(&encoding, &zone, &collation)
		if err != nil {
			t.Fatal(err)
		}
		if encoding != "UTF8" || zone != "UTC" || collation != "C" {
			t.Errorf("encoding %s, time zone %s, collation %s; want UTF8, UTC, C", encoding, zone, collation)
		}
	}
}

func TestPostgreSQLDropsTheDatabaseWhenTheTestEnds(t *testing.T) {
	var address string
	t.Run("a test", func(t *testing.T) { address = PostgreSQL(t) })
	if conn, err := pgx.Connect(t.Context(), address); err == nil {
		conn.Close(t.Context())
		t.Error("the database outlived its test")
	}
}

func TestClusterKeepsWhatWasCommittedOverAKill(t *testing.T) {
	c := NewCluster(t, "fsync=on", "full_page_writes=on")
	address := c.Database(t)
	conn := connect(t, address)
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept (id BIGINT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	ends := []func(){c.Kill, func() { c.Stop(Immediate) }, func() { c.Stop(Fast) }}
	for i, end := range ends {
		if _, err := conn.Exec(t.Context(), "INSERT INTO kept VALUES ($1)", i); err != nil {
			t.Fatal(err)
		}
		end()
		if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
			t.Error("the stopped server answered")
		}
		c.Start()
		conn = connect(t, address)
	}
	var rows int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&rows); err != nil || rows != len(ends) {
		t.Errorf("%d rows, %v; want %d", rows, err, len(ends))
	}
}

func TestPausedClusterAnswersAfterResume(t *testing.T) {
	c := NewCluster(t)
	conn := connect(t, c.Database(t))
	c.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("the paused server answered: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	c.Resume()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// heldCluster is a cluster that another process has started.
type heldCluster struct {
	pid int
	dir string
}

// TestNoServerOutlivesItsTestProcess kills a process that has started clusters, which is this test binary again.
func TestNoServerOutlivesItsTestProcess(t *testing.T) {
	t.Parallel()
	const role = "STORETEST_HOLD_A_CLUSTER"
	if os.Getenv(role) == "1" {
		PostgreSQL(t)
		own := NewCluster(t)
		for _, c := range []*Cluster{sharedCluster, own} {
			fmt.Printf("cluster %d %s\n", c.server.Pid(), c.dir)
		}
		select {} // until killed
	}
	binaries(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), role+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended already, unless the test failed early
	clusters := readClusters(t, out)
	for _, h := range clusters {
		if !runsIn(h.pid, h.dir) {
			t.Fatalf("no server with pid %d runs in %s", h.pid, h.dir)
		}
	}

	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // "signal: killed"

	deadline := time.Now().Add(10 * time.Second)
	for _, h := range clusters {
		for _, err := os.Stat(h.dir); !errors.Is(err, fs.ErrNotExist); _, err = os.Stat(h.dir) {
			if time.Now().After(deadline) {
				t.Fatalf("10 s after its process was killed, %s is still there (server running: %v)", h.dir,
					runsIn(h.pid, h.dir))
			}
			time.Sleep(10 * time.Millisecond)
		}
		if runsIn(h.pid, h.dir) {
			t.Errorf("a server is still running in %s", h.dir)
		}
	}
}

// readClusters reads which clusters the other process has started.
func readClusters(t *testing.T, out io.Reader) (clusters []heldCluster) {
	t.Helper()
	for scan := bufio.NewScanner(out); len(clusters) < 2 && scan.Scan(); {
		var h heldCluster
		if _, err := fmt.Sscanf(scan.Text(), "cluster %d %s", &h.pid, &h.dir); err == nil {
			clusters = append(clusters, h)
		}
	}
	if len(clusters) != 2 {
		t.Fatal("the process did not start its clusters")
	}
	return clusters
}

// runsIn reports whether the process runs the server of the directory. A zombie does not.
func runsIn(pid int, dir string) bool {
	args, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(args), filepath.Join(dir, "data"))
}
