//go:build unix

package alertchannel

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
)

// newProgram returns a sender that runs a program, a channel with arguments for it, and the directory of the program.
func newProgram(t *testing.T) (sender *Sender, channel alert.Channel, dir string) {
	t.Helper()
	dir = t.TempDir()
	sender = NewSender(Config{Command: filepath.Join(dir, "alert")})
	t.Cleanup(sender.Close)
	return sender, newChannel(t, "command", `{"arguments":["ops","$(touch no)"]}`, ""), dir
}

// writeProgram writes the program of newProgram as a script that runs in its directory.
func writeProgram(t *testing.T, dir, script string) {
	t.Helper()
	text := "#!/bin/sh\ncd " + dir + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, "alert"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestCommand runs real programs.
func TestCommand(t *testing.T) {
	sender, channel, dir := newProgram(t)
	t.Setenv("ALLSWELL_SECRET_KEY", "hunter2")
	for title, m := range messages("") {
		writeProgram(t, dir, "cat >input; env >env; printf '%s\\n' \"$@\" >args; echo output")
		if r := sender.Send(t.Context(), channel, m); r.Result != audience.SendAccepted || r.Reason != "" {
			t.Fatalf("%s: %+v", title, r)
		}
		var got webhookMessage
		err := json.Unmarshal(read(t, dir, "input"), &got)
		if err != nil || got.ID != m.ID || got.Headline != m.Headline() {
			t.Errorf("%s: %v %+v", title, err, got)
		}
	}
	if args := string(read(t, dir, "args")); args != "ops\n$(touch no)\n" {
		t.Errorf("the arguments are %q", args)
	}
	if env := string(read(t, dir, "env")); strings.Contains(env, "hunter2") {
		t.Error("the program gets the environment of the service")
	}
}

func TestExitStatusOfCommand(t *testing.T) {
	sender, channel, dir := newProgram(t)
	m := messages("")["one"]
	for script, want := range map[string]Result{
		"echo secret; exit 1": failed(audience.SendFailed, "The program failed with the exit status 1."),
		"exit 100":            failed(audience.SendRejected, "The program refused the message (exit status 100)."),
		"exit 0":              sent(""), // without reading the message
	} {
		writeProgram(t, dir, script)
		if r := sender.Send(t.Context(), channel, m); r != want {
			t.Errorf("%s: %+v", script, r)
		}
	}

}

// TestEndlessCommand checks that a program that does not end is killed with what it has started.
func TestEndlessCommand(t *testing.T) {
	sender, channel, dir := newProgram(t)
	m := messages("")["one"]
	writeProgram(t, dir, "sleep 600 & echo $! >child.tmp; mv child.tmp child; wait")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan Result)
	go func() { done <- sender.Send(ctx, channel, m) }()
	for _, err := os.Stat(filepath.Join(dir, "child")); err != nil; _, err = os.Stat(filepath.Join(dir, "child")) {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if r := <-done; r.Result != audience.SendNotAttempted {
		t.Errorf("an attempt that is cancelled: %+v", r)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(read(t, dir, "child"))))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); alive(child); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the process %d still runs", child)
		}
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := sender.Send(ctx, channel, m)
	if r.Result != audience.SendFailed || !strings.Contains(r.Reason, "did not end") {
		t.Errorf("an attempt that takes too long: %+v", r)
	}

}

func TestMissingCommand(t *testing.T) {
	sender, channel, dir := newProgram(t)
	m := messages("")["one"]
	sender.Command = filepath.Join(dir, "missing")
	r := sender.Send(t.Context(), channel, m)
	if r.Result != audience.SendFailed || strings.Contains(r.Reason, dir) || r.Detail == "" {
		t.Errorf("a program that is missing: %+v", r)
	}
	sender.Command = ""
	r = sender.Send(t.Context(), channel, m)
	if r.Result != audience.SendFailed || !strings.Contains(r.Reason, "ALLSWELL_ALERT_COMMAND") {
		t.Errorf("no program is allowed: %+v", r)
	}
}

func TestCommandTakesNoOptions(t *testing.T) {
	typ, _ := TypeOf("command")
	if _, _, err := typ.Read(map[string]json.RawMessage{"arguments": json.RawMessage(`["--config=x"]`)}); err == nil {
		t.Error("an option was accepted")
	}
}

// alive reports whether a process runs: not as a zombie that nobody has waited for.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(state, "Z")
	}
	return !os.IsNotExist(err) && syscall.Kill(pid, 0) == nil
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
