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

	"github.com/allswell/allswell/internal/domain/audience"
)

// TestCommand runs real programs.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "alert")
	write := func(script string) {
		t.Helper()
		if err := os.WriteFile(program, []byte("#!/bin/sh\ncd "+dir+"\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sender := NewSender(Config{Command: program})
	defer sender.Close()
	channel := newChannel(t, "command", `{"arguments":["ops","$(touch no)"]}`, "")
	t.Setenv("ALLSWELL_SECRET_KEY", "hunter2")
	for title, m := range messages("") {
		write("cat >input; env >env; printf '%s\\n' \"$@\" >args; echo output")
		if r := sender.Send(t.Context(), channel, m); r.Result != audience.SendAccepted || r.Reason != "" {
			t.Fatalf("%s: %+v", title, r)
		}
		var got webhookMessage
		if err := json.Unmarshal(read(t, dir, "input"), &got); err != nil || got.ID != m.ID ||
			got.Headline != m.Headline() {
			t.Errorf("%s: %v %+v", title, err, got)
		}
	}
	if args := string(read(t, dir, "args")); args != "ops\n$(touch no)\n" {
		t.Errorf("the arguments are %q", args)
	}
	if env := string(read(t, dir, "env")); strings.Contains(env, "hunter2") {
		t.Error("the program gets the environment of the service")
	}
	m := messages("")["one"]
	for script, want := range map[string]Result{
		"echo secret; exit 1": failed(audience.SendFailed, "The program failed with the exit status 1."),
		"exit 100":            failed(audience.SendRejected, "The program refused the message (exit status 100)."),
		"exit 0":              sent(""), // without reading the message
	} {
		write(script)
		if r := sender.Send(t.Context(), channel, m); r != want {
			t.Errorf("%s: %+v", script, r)
		}
	}

	// A program that does not end is killed with what it has started.
	write("sleep 600 & echo $! >child.tmp; mv child.tmp child; wait")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan Result)
	go func() { done <- sender.Send(ctx, channel, m) }()
	for _, err := os.Stat(filepath.Join(dir, "child")); err != nil; _, err = os.Stat(filepath.Join(dir, "child")) {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if r := <-done; r.Result != audience.SendNotAttempted {
		t.Errorf("%+v", r)
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
	if r := sender.Send(ctx, channel, m); r.Result != audience.SendFailed ||
		!strings.Contains(r.Reason, "did not end") {
		t.Errorf("%+v", r)
	}

	sender.Command = filepath.Join(dir, "missing")
	if r := sender.Send(t.Context(), channel, m); r.Result != audience.SendFailed || strings.Contains(r.Reason, dir) ||
		r.Detail == "" {
		t.Errorf("a program that is missing: %+v", r)
	}
	sender.Command = ""
	if r := sender.Send(t.Context(), channel, m); r.Result != audience.SendFailed ||
		!strings.Contains(r.Reason, "ALLSWELL_ALERT_COMMAND") {
		t.Errorf("no program is allowed: %+v", r)
	}
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
