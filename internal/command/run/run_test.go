package run_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
	"github.com/allswell/allswell/test/syncbuffer"
)

const apiToken = "run-test-token-0123456789abcdefghij"

// world is a server with a monitor, and the binary.
type world struct {
	*testing.T
	exe    string
	server *binary.Server
	api    *binary.Client
	id     string // of the monitor, whose slug is nightly
	ping   string // its ping URL
}

// newWorld starts a server.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, exe: binary.Build(t)}
	w.server = binary.NewServer(t, w.exe, "ALLSWELL_DATABASE=sqlite:"+binary.Database(t),
		"ALLSWELL_BOOTSTRAP_TOKEN="+apiToken,
		"ALLSWELL_PING_RATE_LIMIT=0", "ALLSWELL_LOG_LEVEL=warn")
	w.server.Start()
	w.api = binary.NewClient(w.server.URL, apiToken)
	var made binary.Data[struct {
		ID   string `json:"id"`
		Ping string `json:"ping_url"`
	}]
	w.api.Must(t, "POST", "/api/v1/monitors", map[string]any{"name": "Nightly", "interval": 3600}, &made)
	w.id, w.ping = made.Data.ID, made.Data.Ping
	return w
}

// signal is a signal of the API.
type signal struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	ExitCode *int     `json:"exit_code"`
	RunID    string   `json:"run_id"`
	Duration *float64 `json:"duration"`
}

// signals returns the signals of the monitor, oldest first, as "start fail(3)", and the output of the last one.
func (w *world) signals() (list string, all []signal, output string) {
	w.Helper()
	var got struct{ Data []signal }
	w.api.Must(w, "GET", "/api/v1/monitors/"+w.id+"/pings", nil, &got)
	var words []string
	for i := range got.Data {
		s := got.Data[len(got.Data)-1-i]
		all = append(all, s)
		word := s.Kind
		if s.ExitCode != nil {
			word += fmt.Sprintf("(%d)", *s.ExitCode)
		}
		words = append(words, word)
	}
	if len(all) > 0 {
		var body binary.Data[struct{ Body string }]
		w.api.Must(w, "GET", "/api/v1/monitors/"+w.id+"/pings/"+all[len(all)-1].ID+"/body", nil, &body)
		output = body.Data.Body
	}
	return strings.Join(words, " "), all, output
}

// command prepares allswell run.
func (w *world) command(env []string, args ...string) (cmd *exec.Cmd, out, errs *syncbuffer.Buffer) {
	cmd = exec.Command(w.exe, append([]string{"run"}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, errs = new(syncbuffer.Buffer), new(syncbuffer.Buffer)
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs
}

// run runs allswell run, and returns its exit status and what it wrote.
func (w *world) run(env []string, args ...string) (status int, out, errs string) {
	w.Helper()
	cmd, stdout, stderr := w.command(env, args...)
	if err := cmd.Run(); cmd.ProcessState == nil {
		w.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

// TestRunReports runs commands that end in different ways.
func TestRunReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bySlug := []string{"ALLSWELL_URL=" + w.server.URL, "ALLSWELL_TOKEN=" + apiToken}
	for _, c := range []struct {
		name    string
		env     []string
		args    []string
		status  int
		out     string
		signals string
		output  string // a part of what is sent
	}{
		{"a success", nil, []string{"--monitor", w.ping, "--", "echo", "--monitor", "x"}, 0, "--monitor x\n",
			"start success(0)", "--monitor x\n"},
		{"a failure", nil, []string{"--monitor=" + w.ping, "--", "sh", "-c", "echo out; echo err >&2; exit 3"}, 3,
			"out\n", "start fail(3)", "err\n"},
		{"by its slug", bySlug, []string{"--monitor", "nightly", "--", "true"}, 0, "", "start success(0)", ""},
		{"the end of the output", nil, []string{"--monitor", w.ping, "--tail", "5B", "--", "printf", "0123456789"}, 0,
			"0123456789", "start success(0)", "56789"},
		{"no output", nil, []string{"--monitor", w.ping, "--tail", "0", "--", "echo", "x"}, 0, "x\n",
			"start success(0)", ""},
		{"a command that does not exist", nil, []string{"--monitor", w.ping, "--", "/nowhere/at-all"}, 127, "",
			"start fail(127)", "command not found"},
		{"a file that is no program", nil, []string{"--monitor", w.ping, "--", os.DevNull}, 126, "", "start fail(126)",
			"permission denied"},
		{"a signal", nil, []string{"--monitor", w.ping, "--", "sh", "-c", "kill -9 $$"}, 137, "", "start fail(137)",
			""},
		{"the timeout", nil, []string{"--monitor", w.ping, "--timeout", "1s", "--", "sleep", "60"}, 124, "",
			"start fail", "was ended after 1s"},
		{"the timeout of a shell", nil,
			[]string{
				"--monitor", w.ping, "--timeout", "1s", "--", "sh", "-c",
				`sh -c "trap 'echo ended; exit' TERM; sleep 60 & wait"; true`,
			},
			124,
			"ended\n", "start fail", "was ended after 1s"},
		{"as a shell", []string{"ALLSWELL_MONITOR=" + w.ping}, []string{"-c", "echo $((1+1)); exit 4"}, 4, "2\n",
			"start fail(4)", "2\n"},
		{"as a shell without a monitor", nil, []string{"-c", "echo x; exit 5"}, 5, "x\n", "", ""},
	} {
		_, before, _ := w.signals()
		status, out, errs := w.run(c.env, c.args...)
		list, all, output := w.signals()
		all = all[len(before):]
		list = strings.Join(strings.Fields(list)[len(before):], " ")
		if status != c.status || out != c.out || list != c.signals ||
			!strings.Contains(output, c.output) && len(all) > 0 {
			t.Errorf("%s: status %d, out %q, signals %s, output %q; %s", c.name, status, out, list, output, errs)
		}
		if len(all) == 2 && (all[0].RunID == "" || all[0].RunID != all[1].RunID || all[1].Duration == nil) {
			t.Errorf("%s: the signals are not paired: %+v", c.name, all)
		}
	}
}

// TestRunAsLink runs the program by the name allswell-run, as cron runs a SHELL.
func TestRunAsLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "allswell-run")
	if err := os.Symlink(w.exe, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, "-c", "exit 6")
	cmd.Env = []string{"ALLSWELL_MONITOR=" + w.ping, "PATH=" + os.Getenv("PATH")}
	if cmd.Run(); cmd.ProcessState.ExitCode() != 6 {
		t.Errorf("run as a link: %v", cmd.ProcessState)
	}
	if list, _, _ := w.signals(); list != "start fail(6)" {
		t.Errorf("the signals of run as a link: %s", list)
	}
}

// TestRunForwardsSignals checks that the command gets the signals, and decides what they mean.
func TestRunForwardsSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		cmd, out, _ := w.command(nil, "--monitor", w.ping, "--", "sh", "-c",
			`trap 'kill $!; exit 42' TERM INT HUP QUIT; sleep 60 >/dev/null 2>&1 & echo ready; wait`)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the command runs", func() bool { return strings.Contains(out.String(), "ready") })
		cmd.Process.Signal(s)
		if cmd.Wait(); cmd.ProcessState.ExitCode() != 42 {
			t.Errorf("%v: %v", s, cmd.ProcessState)
		}
	}
}

// TestRunDoesNotDelayTheCommand checks that the command runs while the server does not answer.
func TestRunDoesNotDelayTheCommand(t *testing.T) {
	t.Parallel()
	w := &world{T: t, exe: binary.Build(t)}
	release := make(chan struct{})
	var mu sync.Mutex
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path[len("/api/v1/heartbeat/")+32:])
		mu.Unlock()
		<-release
		rw.Write([]byte(`{"ok":true}`))
	}))
	defer server.Close()
	cmd, out, _ := w.command(nil, "--monitor", server.URL+"/api/v1/heartbeat/"+strings.Repeat("a", 32), "--", "echo",
		"done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command has run", func() bool { return out.String() == "done\n" })
	close(release)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("run ended with %v", cmd.ProcessState)
	}
	if got := strings.Join(paths, " "); got != "/start /0" {
		t.Errorf("the requests: %s", got)
	}
}

// TestRunWhileServerIsDown checks that the end goes to the spool if the server stays down, and that the next run sends
// it.
func TestRunWhileServerIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.server.Stop(); err != nil {
		t.Fatal(err)
	}
	spool := filepath.Join(t.TempDir(), "spool")
	cmd, out, errs := w.command(nil, "--monitor", w.ping, "--spool", spool, "--", "sh", "-c",
		"trap '' TERM; echo lost; exit 9")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { cmd.Wait(); close(gone) }()
	until(t, "the command has run", func() bool { return out.String() == "lost\n" })
	until(t, "a signal ends the wait for the report", func() bool {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-gone:
			return true
		default:
			return false
		}
	})
	saved, err := os.ReadFile(spool)
	if cmd.ProcessState.ExitCode() != 9 || err != nil || bytes.Count(saved, []byte("\n")) != 1 ||
		strings.Contains(errs.String(), w.ping) {
		t.Fatalf("%v, spool %s, %v, %s", cmd.ProcessState, saved, err, errs)
	}
	w.server.Start()
	if status, _, errs := w.run(nil, "--monitor", w.ping, "--spool", spool, "--", "true"); status != 0 {
		t.Error(status, errs)
	}
	list, all, _ := w.signals()
	if list != "fail(9) start success(0)" || all[0].RunID == "" || !bytes.Contains(saved, []byte(all[0].RunID)) {
		t.Errorf("signals: %s of the runs %+v, in the spool %s", list, all, saved)
	}
	var body binary.Data[struct{ Body string }]
	w.api.Must(t, "GET", "/api/v1/monitors/"+w.id+"/pings/"+all[0].ID+"/body", nil, &body)
	if !strings.HasPrefix(body.Data.Body, "lost\n\nallswell: this run ended at ") {
		t.Errorf("the output of a late report: %q", body.Data.Body)
	}
	if info, err := os.Stat(spool); err != nil || info.Size() != 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the spool: %v, %v", info, err)
	}
}

// TestRefusedEnds checks that ends which a wrong API token could not send stay in the spool until the token is right,
// that the ends of a deleted monitor are dropped, and that warnings say so.
func TestRefusedEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spool := filepath.Join(t.TempDir(), "spool")
	run := func(token string, lines int, says ...string) {
		t.Helper()
		status, _, errs := w.run([]string{"ALLSWELL_URL=" + w.server.URL, "ALLSWELL_TOKEN=" + token}, "--monitor",
			"nightly", "--spool", spool, "--", "sh", "-c", "exit 3")
		saved, _ := os.ReadFile(spool)
		if status != 3 || bytes.Count(saved, []byte("\n")) != lines || strings.Count(errs, "\n") != len(says) {
			t.Errorf("status %d, %d lines in the spool, want %d:\n%s", status, bytes.Count(saved, []byte("\n")), lines,
				errs)
		}
		for _, text := range says {
			if !strings.Contains(errs, text) {
				t.Errorf("%s\nis not said by:\n%s", text, errs)
			}
		}
	}
	const kept, stay, dropped, refused = "it is kept in the spool", "the ends of earlier runs stay in the spool: ",
		"the ends of 2 earlier runs are dropped from the spool: ", `the end of the command is not reported: there is ` +
			`no monitor "nightly" in the workspace of the API token: `
	wrong := strings.Repeat("wrong", 8)
	run(wrong, 1, kept)
	run(wrong, 2, stay, kept)
	run(apiToken, 0)
	if list, _, _ := w.signals(); list != "fail(3) fail(3) start fail(3)" {
		t.Errorf("signals: %s", list)
	}
	run(wrong, 1, kept)
	run(wrong, 2, stay, kept)
	w.api.Must(t, "DELETE", "/api/v1/monitors/"+w.id, nil, nil)
	run(apiToken, 0, dropped, refused)
}

// TestRunBySlug checks a ping URL with a ping key and a slug.
func TestRunBySlug(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.api.Must(t, "POST", "/api/v1/pages", map[string]any{"name": "Acme", "slug": "acme"}, nil)
	w.api.Must(t, "PATCH", "/api/v1/monitors/"+w.id, map[string]any{"page": "acme"}, nil)
	var key binary.Data[struct{ Key string }]
	w.api.Must(t, "PATCH", "/api/v1/pages/acme/ping-key", map[string]any{"access": "ping_only"}, &key)
	status, _, errs := w.run(nil, "--monitor", w.server.URL+"/api/v1/heartbeat/"+key.Data.Key+"/nightly", "--", "true")
	if status != 0 || errs != "" {
		t.Error(status, errs)
	}
	if list, _, _ := w.signals(); list != "start success(0)" {
		t.Errorf("signals: %s", list)
	}
}

// TestRunUntilServerComesBack starts the server while the command runs.
func TestRunUntilServerComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.server.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd, out, _ := w.command(nil, "--monitor", w.ping, "--", "sh", "-c", "echo ready; read line; exit 2")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the command runs", func() bool { return out.String() == "ready\n" })
	w.server.Start()
	until(t, "the start is reported", func() bool { list, _, _ := w.signals(); return list == "start" })
	fmt.Fprintln(stdin, "go on")
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("it does not end")
	}
	if list, _, _ := w.signals(); cmd.ProcessState.ExitCode() != 2 || list != "start fail(2)" {
		t.Errorf("after the server is back: %v, %s", cmd.ProcessState, list)
	}
}

// TestRunWithoutReader checks that the command does not notice that nobody reads its output.
func TestRunWithoutReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, closed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd, _, _ := w.command(nil, "--monitor", w.ping, "--", "sh", "-c",
		"i=0; while [ $i -lt 2000 ]; do echo 0123456789 || exit 1; i=$((i+1)); done; exit 8")
	cmd.Stdout = closed
	if cmd.Run(); cmd.ProcessState.ExitCode() != 8 {
		t.Errorf("run with a closed output ended with %v", cmd.ProcessState)
	}
	if list, _, _ := w.signals(); list != "start fail(8)" {
		t.Errorf("the signals with a closed output: %s", list)
	}
}

// TestWrongCommandLines checks that nothing runs if the command line is wrong.
func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	w := &world{T: t, exe: binary.Build(t)}
	token := "http://127.0.0.1:1/api/v1/heartbeat/" + strings.Repeat("a", 32)
	for says, args := range map[string][]string{
		"--monitor or ALLSWELL_MONITOR": {"--", "echo", "ran"},
		"needs an API token":            {"--monitor", "nightly", "--", "echo", "ran"},
		"must be a slug, or a ping URL": {"--monitor", "http://127.0.0.1:1/x", "--", "echo", "ran"},
		"after --":                      {"--monitor", token},
		"not both":                      {"--monitor", token, "-c", "echo ran", "--", "echo", "ran"},
		`unknown flag --timout, did you mean "--timeout"?`: {"--monitor", token, "--timout", "3s", "--", "echo", "ran"},
		"unknown flag --nothing-like-it":                   {"--monitor", token, "--nothing-like-it=1", "echo", "ran"},
		"unknown flag -x":                                  {"--monitor", token, "-x", "echo", "ran"},
		"from 0 to 100kB":                                  {"--monitor", token, "--tail", "1MB", "--", "echo", "ran"},
	} {
		if status, out, errs := w.run(nil, args...); status != 2 || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%v: status %d, %q, %q", args, status, out, errs)
		}
	}
}
