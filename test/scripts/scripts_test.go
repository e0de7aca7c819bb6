// Package scripts runs scripts of commands, as a user types them, with the built binary. The scripts of testdata and
// testdata/demo use SQLite, and create its file or copy $MIGRATED; the scripts of testdata/both run on both engines,
// with a database that has the current schema: they are about the database, or go through the whole. The tests of the
// store run all statements of the others on both. In addition to testscript's commands they have
//
//	serve NAME [FLAG…]     start `allswell serve` on a free port and wait until it serves;
//	                       sets ALLSWELL_URL; its output is in NAME.out and NAME.err
//	terminate NAME         send SIGTERM: it has to exit with 0 within 10 seconds
//	http METHOD URL [TOKEN] print status, headers and body of an answer
//	eventually PATTERN CMD… run a command until its output matches, at most for 20 seconds
//	sink NAME              receive POST requests at SINK_URL, and append their bodies to NAME.log
//	hang                   open a connection to ALLSWELL_URL and send half a request, with ALLSWELL_TOKEN
package scripts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
	"github.com/allswell/allswell/test/subprocess"
)

// The times that a script waits at most, on a machine that is busy with other
// tests. A stop has the time that is promised.
const (
	startTimeout    = 30 * time.Second
	stopTimeout     = 10 * time.Second
	eventualTimeout = 20 * time.Second
)

func TestScripts(t *testing.T) {
	t.Parallel()
	exe := binary.Build(t)
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		database := binary.Database(t)
		migrated, err := os.ReadFile(database)
		if err != nil {
			t.Fatal(err)
		}
		one := params(exe, "testdata", nil, "sqlite:allswell.db")
		setup := one.Setup
		one.Setup = func(env *testscript.Env) error {
			env.Setenv("MIGRATED", database)
			return setup(env)
		}
		testscript.Run(t, one)
		both := params(exe, "testdata/both", nil, "sqlite:allswell.db")
		both.Setup = func(env *testscript.Env) error {
			return errors.Join(setup(env), os.WriteFile(filepath.Join(env.WorkDir, "allswell.db"), migrated, 0o600))
		}
		testscript.Run(t, both)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		files, err := filepath.Glob("testdata/both/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				t.Parallel()
				testscript.Run(t, params(exe, "", []string{file}, storetest.PostgreSQL(t)))
			})
		}
	})
}

// TestDemo is a test of its own, so that it begins first: the demo tells a story that takes its time.
func TestDemo(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(binary.Build(t), "testdata/demo", nil, "sqlite:allswell.db"))
}

func params(exe, dir string, files []string, database string) testscript.Params {
	return testscript.Params{
		Dir: dir, Files: files, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(exe)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("ALLSWELL_DATABASE", database)
			env.Setenv("ALLSWELL_LISTEN", "127.0.0.1:0") // the default port may be in use
			env.Setenv("TZ", "UTC")
			env.Values["servers"] = make(map[string]*subprocess.Process)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "terminate": terminate, "http": request, "eventually": eventually, "hang": hang,
			"sink": sink,
		},
	}
}

// usage ends a script that uses a command wrongly.
func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

var servingLine = regexp.MustCompile(`(?m)msg=serving .*\burl=(\S+)`)

func serve(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "serve NAME [FLAG…]")
	name := args[0]
	create := func(suffix string) *os.File {
		f, err := os.Create(ts.MkAbs(name + suffix))
		ts.Check(err)
		return f
	}
	out, log := create(".out"), create(".err")
	defer out.Close()
	defer log.Close()
	exe, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0],
		"allswell"))
	ts.Check(err)
	cmd := exec.Command(exe, slices.Concat([]string{"serve", "--listen=127.0.0.1:0"}, args[1:])...)
	cmd.Dir = ts.MkAbs(".")
	for _, variable := range []string{
		"PATH", "HOME", "TMPDIR", "TZ", "ALLSWELL_DATABASE", "ALLSWELL_BOOTSTRAP_TOKEN", "ALLSWELL_CHECK_INTERVAL",
		"ALLSWELL_SECRET_KEY", "ALLSWELL_LOG_LEVEL",
	} {
		if value := ts.Getenv(variable); value != "" {
			cmd.Env = append(cmd.Env, variable+"="+value)
		}
	}
	cmd.Stdout, cmd.Stderr = out, log
	process, err := subprocess.Start(cmd, "KILL", "")
	ts.Check(err)
	ts.Value("servers").(map[string]*subprocess.Process)[name] = process
	ts.Defer(func() {
		process.Signal(syscall.SIGKILL)
		process.Wait()
	})
	var address string
	until(ts, startTimeout, process.Gone(), "the server serves", func() bool {
		found := servingLine.FindStringSubmatch(ts.ReadFile(name + ".err"))
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	ts.Setenv("ALLSWELL_URL", address)
}

// until polls, because what it waits for happens in another process.
func until(ts *testscript.TestScript, most time.Duration, gone <-chan struct{}, what string, is func() bool) {
	const every = 300 * time.Millisecond // a check may start a command, which takes 50 ms of a processor
	for deadline := time.Now().Add(most); !is(); <-time.After(every) {
		select {
		case <-gone:
			ts.Fatalf("the server ended before %s", what)
		default:
		}
		if time.Now().After(deadline) {
			ts.Fatalf("after %v it is not so that %s", most, what)
		}
	}
}

func terminate(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "terminate NAME")
	process := ts.Value("servers").(map[string]*subprocess.Process)[args[0]]
	if process == nil {
		ts.Fatalf("there is no server %s", args[0])
	}
	began := time.Now()
	ts.Check(process.Signal(syscall.SIGTERM))
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-process.Gone():
	case <-timer.C:
		ts.Fatalf("the server is still there %v after SIGTERM", stopTimeout)
	}
	if err := process.Wait(); err != nil {
		ts.Fatalf("after SIGTERM the server ended with: %v", err)
	}
	ts.Logf("stopped within %v", time.Since(began).Round(time.Millisecond))
}

func sink(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "sink NAME")
	log, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		mu.Lock()
		defer mu.Unlock()
		if _, writeErr := fmt.Fprintf(log, "%s\n", body); err != nil || writeErr != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	ts.Setenv("SINK_URL", server.URL)
	ts.Defer(func() {
		server.Close()
		log.Close()
	})
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 2 || len(args) == 3), "http METHOD URL [TOKEN]")
	address := args[1]
	if strings.HasPrefix(address, "/") {
		address = ts.Getenv("ALLSWELL_URL") + address
	}
	r, err := http.NewRequest(args[0], address, nil)
	ts.Check(err)
	if len(args) == 3 {
		r.Header.Set("Authorization", "Bearer "+args[2])
	}
	// Each on a connection of its own: a server that stops waits for none.
	client := http.Client{Timeout: startTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), response.Status)
	for name, values := range response.Header {
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", name, strings.Join(values, ", "))
	}
	fmt.Fprintf(ts.Stdout(), "\n%s", body)
}

func eventually(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) >= 2, "eventually PATTERN CMD…")
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	exe := args[1]
	if exe == "allswell" {
		exe = filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], exe)
	}
	var last []byte
	defer func() { ts.Logf("%s", last) }()
	until(ts, eventualTimeout, nil, fmt.Sprintf("%s says %s", strings.Join(args[1:], " "), args[0]), func() bool {
		cmd := exec.Command(exe, args[2:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = []string{
			"TZ=UTC", "ALLSWELL_URL=" + ts.Getenv("ALLSWELL_URL"), "ALLSWELL_TOKEN=" + ts.Getenv("ALLSWELL_TOKEN"),
		}
		last, err = cmd.CombinedOutput()
		return err == nil && pattern.Match(last)
	})
}

func hang(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 0, "hang")
	u, err := url.Parse(ts.Getenv("ALLSWELL_URL"))
	ts.Check(err)
	conn, err := net.DialTimeout("tcp", u.Host, startTimeout)
	ts.Check(err)
	ts.Defer(func() { conn.Close() })
	ts.Check(conn.SetDeadline(time.Now().Add(startTimeout)))
	_, err = fmt.Fprintf(conn,
		"POST /api/v1/pages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\n"+
			"Content-Length: 1000\r\n\r\n",
		ts.Getenv("ALLSWELL_TOKEN"))
	ts.Check(err)
	line, err := bufio.NewReader(conn).ReadString('\n') // it waits for the body
	ts.Check(err)
	if !strings.Contains(line, "100") {
		ts.Fatalf("instead of asking for the body it answers %q", line)
	}
	_, err = conn.Write([]byte("{"))
	ts.Check(err)
}
