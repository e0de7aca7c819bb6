package storetest

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/allswell/allswell/test/subprocess"
)

// RequirePostgreSQL is the environment variable that, set to 1, makes a test
// fail instead of skip where PostgreSQL is not installed.
const RequirePostgreSQL = "ALLSWELL_TEST_REQUIRE_POSTGRES"

// startTimeout bounds how long a server may take to start, crash recovery
// included, and stopTimeout how long it may take to stop.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second
)

// PostgreSQL returns the address (postgres://…) of a database with the current schema and no rows, which no other test
// uses until this one ends. Call it after t.Parallel: a test that waits for its turn would keep a database and its
// connections. The first call starts a cluster for all databases of the test process; it ends with the process, even if
// that is killed. It is fast and not durable (fsync is off); tests of crashes need NewCluster.
//
// If PostgreSQL is not installed, the test is skipped, or fails if ALLSWELL_TEST_REQUIRE_POSTGRES=1.
func PostgreSQL(t testing.TB) string {
	t.Helper()
	shared(t)
	l, err := borrow()
	if err != nil {
		t.Fatalf("preparing a PostgreSQL database: %v", err)
	}
	t.Cleanup(func() { l.giveBack(t) })
	return l.address()
}

// EmptyPostgreSQL is PostgreSQL with a database that has no schema, for tests of migrations.
func EmptyPostgreSQL(t testing.TB) string {
	t.Helper()
	return shared(t).Database(t)
}

var (
	sharedOnce    sync.Once
	sharedCluster *Cluster
	errShared     error
)

// shared returns the cluster of this process.
func shared(t testing.TB) *Cluster {
	t.Helper()
	bin := binaries(t)
	sharedOnce.Do(func() {
		sharedCluster, errShared = makeCluster(bin)
		if errShared == nil {
			errShared = sharedCluster.start()
		}
	})
	if errShared != nil {
		t.Fatalf("starting the PostgreSQL cluster of the tests: %v", errShared)
	}
	return sharedCluster
}

// A Cluster is a PostgreSQL server with its own data directory, which listens on a Unix socket in a private directory.
// Its methods, except Database, are not safe for concurrent use.
type Cluster struct {
	t        testing.TB // nil for the shared one
	bin      string     // the directory of initdb and postgres
	dir      string
	settings []string
	server   *subprocess.Process // nil while stopped

	connMu sync.Mutex
	conn   *pgx.Conn // used by exec; nil if there is none
}

// NewCluster starts a cluster for this test only and stops it when the test ends. settings have the form of
// postgresql.conf, "name=value", and override the fast ones: tests that kill the server need "fsync=on" and
// "full_page_writes=on". It skips or fails the test like PostgreSQL.
func NewCluster(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := makeCluster(binaries(t), settings...)
	if err != nil {
		t.Fatalf("making a PostgreSQL cluster: %v", err)
	}
	c.t = t
	t.Cleanup(c.remove)
	c.Start()
	return c
}

// remove stops the server, if it runs, and deletes its directory.
func (c *Cluster) remove() {
	if c.server != nil {
		c.Resume() // a paused process ignores signals
		c.Stop(Immediate)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		c.t.Errorf("removing the PostgreSQL cluster: %v", err)
	}
}

// Address returns the address of the named database, whether it exists or not.
func (c *Cluster) Address(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		Path:     "/" + database,
		RawQuery: url.Values{"host": {c.dir}, "user": {superuser}}.Encode(),
	}
	return u.String()
}

// Database creates an empty database and returns its address. The database is dropped
// when the test ends, unless the server is stopped by then.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	return c.clone(t, "template0")
}

// clone is Database with a copy of another database, to which there must be no connections.
func (c *Cluster) clone(t testing.TB, template string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	if err := c.create(name, template); err != nil {
		t.Fatalf("creating a database: %v", err)
	}
	t.Cleanup(func() {
		if c.server == nil {
			return
		}
		if err := c.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("dropping a database: %v", err)
		}
	})
	return c.Address(name)
}

// create creates a database.
func (c *Cluster) create(name, template string) error {
	version, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if err != nil {
		return err
	}
	sql := "CREATE DATABASE " + name + " TEMPLATE " + template
	if n, err := strconv.Atoi(strings.TrimSpace(string(version))); err == nil && n >= 15 {
		sql += " STRATEGY FILE_COPY" // quicker without fsync; before 15 it is the only one
	}
	return c.exec(sql)
}

// Start starts a stopped server and returns when it answers.
func (c *Cluster) Start() {
	c.t.Helper()
	if c.server != nil {
		c.t.Fatal("Start: the PostgreSQL server is running")
	}
	if err := c.start(); err != nil {
		c.t.Fatalf("starting PostgreSQL: %v", err)
	}
}

// A StopMode is a way to shut down a server, as for pg_ctl.
type StopMode syscall.Signal

// Smart waits until clients disconnect, Fast disconnects them, and Immediate does not
// write a checkpoint, so that the next start has to recover.
const (
	Smart     = StopMode(syscall.SIGTERM)
	Fast      = StopMode(syscall.SIGINT)
	Immediate = StopMode(syscall.SIGQUIT)
)

// Stop shuts down the server and returns when it has ended.
func (c *Cluster) Stop(mode StopMode) {
	c.t.Helper()
	c.end(syscall.Signal(mode))
}

// Kill kills all processes of the server (SIGKILL) and returns when the first one has
// ended; Start waits for the others.
func (c *Cluster) Kill() {
	c.t.Helper()
	if c.server != nil {
		// The first process is stopped first, so that it cannot start others meanwhile.
		main := c.server.Pid()
		c.signal(syscall.SIGSTOP, main)
		c.signal(syscall.SIGKILL, c.children(main)...)
	}
	c.end(syscall.SIGKILL)
}

func (c *Cluster) end(sig syscall.Signal) {
	c.t.Helper()
	if c.server == nil {
		c.t.Fatal("the PostgreSQL server is not running")
	}
	s := c.server
	if err := s.Signal(sig); err != nil {
		c.t.Fatalf("sending %v to PostgreSQL: %v", sig, err)
	}
	select {
	case <-s.Gone():
	case <-time.After(stopTimeout):
		c.t.Fatalf("PostgreSQL is still running %v after %v", stopTimeout, sig)
	}
	c.server = nil
}

// Pause stops all processes of the server (SIGSTOP). It neither answers nor closes connections until Resume.
func (c *Cluster) Pause() {
	c.t.Helper()
	// The first process goes first, so that it cannot start others meanwhile.
	main := c.server.Pid()
	c.signal(syscall.SIGSTOP, main)
	c.signal(syscall.SIGSTOP, c.children(main)...)
}

// Resume continues a paused server.
func (c *Cluster) Resume() {
	c.t.Helper()
	main := c.server.Pid()
	c.signal(syscall.SIGCONT, c.children(main)...)
	c.signal(syscall.SIGCONT, main)
}

func (c *Cluster) signal(sig syscall.Signal, pids ...int) {
	c.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			c.t.Fatalf("sending %v to PostgreSQL: %v", sig, err)
		}
	}
}

func (c *Cluster) children(parent int) []int {
	c.t.Helper()
	list, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		c.t.Fatalf("listing processes: %v", err)
	}
	var pids []int
	for line := range strings.Lines(string(list)) {
		var pid, ppid int
		if _, err := fmt.Sscan(line, &pid, &ppid); err == nil && ppid == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// superuser is the role of the tests, independently of the system's user.
const superuser = "allswell"

// quick are the settings of a cluster whose data need not be durable.
var quick = []string{
	"fsync=off",
	"full_page_writes=off",
	"max_connections=200",
	"shared_buffers=64MB",
	"max_wal_size=128MB",
	"autovacuum=off",
	"dynamic_shared_memory_type=mmap", // in the data directory, so that a killed server leaves nothing behind
	"listen_addresses=",
	"unix_socket_permissions=0700",
	"jit=off",
	"timezone=UTC",
	"log_timezone=UTC",
	"lc_messages=C",
}

// makeCluster creates a data directory. It does not start a server.
func makeCluster(bin string, settings ...string) (_ *Cluster, err error) {
	dir, err := os.MkdirTemp(memoryFolder(), "allswell-postgresql-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	c := &Cluster{bin: bin, dir: dir, settings: append(slices.Clone(quick), settings...)}
	attr, err := c.attributes()
	if err != nil {
		return nil, err
	}
	return c, c.initialise(attr)
}

func (c *Cluster) data() string    { return filepath.Join(c.dir, "data") }
func (c *Cluster) logFile() string { return filepath.Join(c.dir, "log") }

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "LC_ALL=C", "TZ=UTC"}
	return cmd
}

// attributes returns the attributes of the server's processes. If this process runs as root, they run as another user,
// because PostgreSQL refuses root. That user must own the directory.
func (c *Cluster) attributes() (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, os.Chown(c.dir, int(uid), int(gid))
}

// start starts the server and returns when it answers. Processes of a killed server may
// prevent the start for a moment, so it is repeated.
func (c *Cluster) start() error {
	deadline := time.Now().Add(startTimeout)
	for {
		s, err := c.launch()
		if err != nil {
			return err
		}
		err = c.awaitAnswer(s, deadline)
		if err == nil {
			c.server = s
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w\n%s", errors.Join(err, s.Signal(os.Kill)), c.lastLogLines())
		}
	}
}

func (c *Cluster) launch() (*subprocess.Process, error) {
	attr, err := c.attributes()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := c.command("postgres", "-D", c.data(), "-k", c.dir)
	for _, s := range c.settings {
		cmd.Args = append(cmd.Args, "-c", s)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attr
	return subprocess.Start(cmd, "QUIT", c.dir)
}

// awaitAnswer returns nil when s takes connections, and an error when s has exited or the deadline is over.
func (c *Cluster) awaitAnswer(s *subprocess.Process, deadline time.Time) error {
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for {
		err := c.exec("SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-s.Gone():
			<-pause.C
			return errors.New("the server exited")
		case <-pause.C:
			if time.Now().After(deadline) {
				return fmt.Errorf("the server does not answer: %w", err)
			}
		}
	}
}

// exec runs a statement in the database postgres. The shared cluster keeps the
// connection, because connecting takes as long as most statements.
func (c *Cluster) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c.connMu.Lock()
	defer c.connMu.Unlock()
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := pgx.Connect(ctx, c.Address("postgres"))
		if err != nil {
			return err
		}
		c.conn = conn
	}
	_, err := c.conn.Exec(ctx, sql)
	if c.t != nil {
		err = errors.Join(err, c.conn.Close(ctx))
		c.conn = nil
	}
	return err
}

func (c *Cluster) lastLogLines() string {
	f, err := os.Open(c.logFile())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	var lines []string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		lines = append(lines, scan.Text())
		if len(lines) > 20 {
			lines = lines[1:]
		}
	}
	return strings.Join(lines, "\n")
}

// binaries returns the directory of PostgreSQL's programs: the directory of the first postgres on the PATH, or of the
// newest version in Debian's directories. If there is none, it skips or fails the test.
func binaries(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		if os.Getenv(RequirePostgreSQL) == "1" {
			t.Fatal("PostgreSQL is not installed, and " + RequirePostgreSQL + "=1 asks for it")
		}
		t.Skip("skipped: PostgreSQL is not installed (no postgres on the PATH or in /usr/lib/postgresql)")
	}
	version := func(path string) int {
		// A version that is not a number sorts first.
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest)
}
