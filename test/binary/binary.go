// Package binary builds allswell and runs it, for black-box tests.
package binary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/test/freeport"
	"github.com/allswell/allswell/test/subprocess"
)

// readyTimeout is the maximum time until a server is ready, on a machine that is busy with other tests.
const readyTimeout = 30 * time.Second

// Build returns the path of the binary, which exists until the test ends. It is built once per process.
func Build(t testing.TB) string {
	t.Helper()
	path, err := BuildIn(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildIn puts the binary into a folder and returns its path. It is built once per process; a copy takes a tenth of a
// second of processor time, half as long as starting a server.
func BuildIn(folder string) (path string, err error) {
	f, err := built()
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "allswell")
	// Another process writes the copy: a file that this one has open for writing can
	// leak into a child for a moment, and could then not be run.
	cp := exec.Command("cp", "/dev/fd/3", path)
	cp.ExtraFiles = []*os.File{f}
	if out, err := cp.CombinedOutput(); err != nil {
		return "", fmt.Errorf("copying the binary: %w\n%s", err, out)
	}
	return path, os.Chmod(path, 0o755)
}

// built builds the binary and returns it as an open file without a name, so that nothing remains of it when the process
// ends.
var built = sync.OnceValues(func() (f *os.File, err error) {
	dir, err := os.MkdirTemp("", "allswell-binary-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "allswell")
	// go run caches what it links, unlike go build.
	cmd := exec.Command("go", "run", "-exec", "cp", "github.com/allswell/allswell/cmd/allswell", path)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the binary: %w\n%s", err, out)
	}
	return os.Open(path)
})

// Database returns the path of a fresh SQLite database with the current schema. Unlike a database of storetest.SQLite,
// it is on disk, where kills interrupt writes, and its tests need not link the store.
func Database(t testing.TB) string {
	t.Helper()
	content, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "allswell.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// migrated returns a database that `allswell migrate` created, which takes longer than most starts of a server.
var migrated = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "allswell-database-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	exe, err := BuildIn(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, "migrate")
	cmd.Dir, cmd.Env = dir, []string{"ALLSWELL_DATABASE=sqlite:allswell.db"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("creating a database: %w\n%s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "allswell.db"))
})

// A Server is one `allswell serve`, with the given environment and nothing else of the test's. It can be killed and
// started again.
type Server struct {
	URL string // without a slash at the end

	t       testing.TB
	exe     string
	command string
	env     []string
	logFile string
	files   int // maximum number of open files; 0: the limit of the test
	process *subprocess.Process
	ready   http.Client
}

// NewServer prepares a server on a free loopback port, without starting it. env is its environment besides the address,
// such as "ALLSWELL_DATABASE=…". Its output, which Log returns, is logged if the test fails.
func NewServer(t testing.TB, exe string, env ...string) *Server {
	t.Helper()
	return newServer(t, exe, "serve", env)
}

// NewDemo prepares an `allswell demo`.
func NewDemo(t testing.TB, exe string) *Server {
	t.Helper()
	return newServer(t, exe, "demo", nil)
}

func newServer(t testing.TB, exe, command string, env []string) *Server {
	t.Helper()
	address := freeport.Address(t)
	s := &Server{
		URL:     "http://" + address,
		t:       t,
		exe:     exe,
		command: command,
		env:     append([]string{"PATH=" + os.Getenv("PATH"), "ALLSWELL_LISTEN=" + address}, env...),
		logFile: filepath.Join(t.TempDir(), "log"),
		// Each request uses a new connection: a connection to a killed server says nothing about the next one.
		ready: http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	t.Cleanup(func() {
		if s.process != nil {
			s.Kill()
		}
		if t.Failed() {
			t.Logf("what the server said, first its faults, then its last lines:\n%s", digest(s.Log()))
		}
	})
	return s
}

// LimitFiles sets how many files, including connections, the server may have open from its next start on.
func (s *Server) LimitFiles(n int) { s.files = n }

// Setenv sets an environment variable from the next start on.
func (s *Server) Setenv(name, value string) { s.env = append(s.env, name+"="+value) }

// Start starts the server, waits until it is ready and returns the duration.
func (s *Server) Start() time.Duration {
	s.t.Helper()
	began := time.Now()
	s.Launch()
	s.AwaitReady()
	return time.Since(began)
}

// Launch starts the server without waiting for it.
func (s *Server) Launch() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatal("the server is running already")
	}
	log, err := os.OpenFile(s.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(s.exe, s.command)
	if s.files > 0 {
		cmd = exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, s.files), s.exe, s.command)
	}
	cmd.Dir = filepath.Dir(s.logFile)
	cmd.Env = s.env
	cmd.Stdout, cmd.Stderr = log, log
	if s.process, err = subprocess.Start(cmd, "KILL", ""); err != nil {
		s.t.Fatal(err)
	}
}

// AwaitReady returns when /readyz answers 200.
func (s *Server) AwaitReady() {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(readyTimeout)
	for last := "never asked"; ; {
		res, err := s.ready.Get(s.URL + "/readyz")
		if err == nil {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 1000)) // only for the message
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
			last = fmt.Sprintf("%s %s", res.Status, body)
		} else {
			last = err.Error()
		}
		select {
		case <-s.process.Gone():
			s.t.Fatalf("the server ended instead of getting ready: %v", s.process.Wait())
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server is not ready after %v: %s", readyTimeout, last)
		}
	}
}

// Command runs another command of the binary beside the server, with the same settings, and returns all that it wrote.
func (s *Server) Command(args ...string) (output string, err error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), readyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.exe, args...)
	cmd.Dir, cmd.Env = filepath.Dir(s.logFile), s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Kill kills the server with SIGKILL.
func (s *Server) Kill() {
	s.t.Helper()
	s.end(syscall.SIGKILL)
}

// Stop ends the server with SIGTERM, as a supervisor does. The error is nil if the exit status is 0.
func (s *Server) Stop() error {
	s.t.Helper()
	return s.end(syscall.SIGTERM)
}

func (s *Server) end(sig syscall.Signal) error {
	s.t.Helper()
	p := s.process
	if err := p.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	select {
	case <-p.Gone():
	case <-ctx.Done():
		s.t.Fatalf("the server is still there %v after %v", readyTimeout, sig)
	}
	s.process = nil
	return p.Wait()
}

// Pid returns the process id of the server that was started last.
func (s *Server) Pid() int { return s.process.Pid() }

// Gone is closed when the server that was started last has ended.
func (s *Server) Gone() <-chan struct{} { return s.process.Gone() }

// FirstAddress returns the first address that the server has printed, waiting for it.
func (s *Server) FirstAddress() string {
	s.t.Helper()
	address := regexp.MustCompile(`https?://\S+`)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); <-tick.C {
		if found := address.FindString(s.Log()); found != "" {
			return found
		}
	}
	s.t.Fatalf("no address was printed within %v", readyTimeout)
	return ""
}

// Log returns the output of the server, of all its starts.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logFile)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// digest returns the first lines of a log that are errors or warnings, and its last lines.
func digest(log string) string {
	const most = 20
	lines := strings.Split(log, "\n")
	var faults []string
	for _, line := range lines {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") ||
			strings.Contains(line, "panic") {
			faults = append(faults, line)
		}
	}
	faults = faults[:min(most, len(faults))]
	return strings.Join(append(faults, lines[max(0, len(lines)-most):]...), "\n")
}
