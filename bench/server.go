package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// process is a server that is measured.
type process struct {
	cmd   *exec.Cmd
	base  string // http://127.0.0.1:port
	token string // of the API
}

// freePort returns a port that is probably free.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// launch starts a command and waits until the response at path is 200, at most a minute.
func (b *bench) launch(cmd *exec.Cmd, port, path string) (*process, error) {
	p := &process{cmd: cmd, base: "http://127.0.0.1:" + port, token: benchToken}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		res, err := http.Get(p.base + path)
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return p, nil
		}
	}
	p.stop()
	return nil, errors.New(cmd.Path + " did not answer within a minute")
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Wait()
}

// allswell starts the service on a SQLite database, without an access log.
func (b *bench) allswell(database string, env ...string) (*process, error) {
	return b.serve(os.Stderr, database, append([]string{"ALLSWELL_LOG_LEVEL=warn"}, env...)...)
}

// serve starts the service on a SQLite database.
func (b *bench) serve(log *os.File, database string, env ...string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, b.binary, "serve")
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "ALLSWELL_LISTEN=127.0.0.1:"+port, "ALLSWELL_DATABASE=sqlite:"+database,
		"ALLSWELL_PING_RATE_LIMIT=0", "ALLSWELL_API_RATE_LIMIT=0", "ALLSWELL_BOOTSTRAP_TOKEN="+benchToken)
	cmd.Env = append(cmd.Env, env...)
	return b.launch(cmd, port, "/readyz")
}

const benchToken = "bench-bench-bench-bench-bench-bench"

// filled creates a database with the given number of monitors and returns its path and their ping tokens.
func (b *bench) filled(f storetest.Fill) (string, []string, error) {
	dir, err := os.MkdirTemp(b.dir, "db")
	if err != nil {
		return "", nil, err
	}
	f.Path = filepath.Join(dir, "bench.db")
	s, err := store.Open(b.ctx, "sqlite:"+f.Path, store.Options{})
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	tokens, err := f.Monitors(b.ctx)
	return f.Path, tokens, err
}

// resident returns the resident memory of a process in megabytes. It includes the resident part of the program file.
func (p *process) resident() (float64, error) { return p.memory("VmRSS") }

// private returns the resident memory of a process in megabytes that no file backs.
func (p *process) private() (float64, error) { return p.memory("RssAnon") }

// memory returns a field of the status of a process in megabytes.
func (p *process) memory(field string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0, errors.New("no " + field)
	}
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	return kb / 1000, err
}

// wrk generates load and returns the requests per second and the 99th percentile of the
// latency. A status other than 2xx is an error.
func (b *bench) wrk(connections int, url string, args ...string) (perSecond float64, p99 time.Duration, err error) {
	return wrk(b.ctx, connections, url, args...)
}

func wrk(
	ctx context.Context, connections int, url string, args ...string,
) (perSecond float64, p99 time.Duration, err error) {
	args = append([]string{
		"-t2", "-c" + strconv.Itoa(connections), fmt.Sprintf("-d%ds", int(span.Seconds())), "--latency", "--timeout",
		"10s",
	}, args...)
	out, err := exec.CommandContext(ctx, "wrk", append(args, url)...).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 2 && words[0] == "Requests/sec:":
			perSecond, err = strconv.ParseFloat(words[1], 64)
		case len(words) == 2 && words[0] == "99%":
			p99, err = time.ParseDuration(words[1])
		case strings.Contains(lines.Text(), "Non-2xx"), strings.Contains(lines.Text(), "Socket errors"):
			return 0, 0, fmt.Errorf("not every request succeeded:\n%s", out)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return perSecond, p99, nil
}
