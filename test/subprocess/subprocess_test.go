package subprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestProcessEndsByItself(t *testing.T) {
	p, err := Start(exec.Command("sh", "-c", "exit 7"), "TERM", "")
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v, want status 7", err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a process that is gone: %v", err)
	}
}

func TestSignalsReachTheProgramItself(t *testing.T) {
	p, err := Start(exec.Command("sleep", "600"), "TERM", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("ended with %v, want the signal", err)
	}
}

func TestMissingProgram(t *testing.T) {
	if _, err := Start(exec.Command("no-such-program"), "TERM", ""); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("the error: %v, want %v", err, exec.ErrNotFound)
	}
}

// TestProgramThatIgnoresSIGTERMIsKilled kills a process, this test binary, that has started
// a program which ignores SIGTERM.
func TestProgramThatIgnoresSIGTERMIsKilled(t *testing.T) {
	const role = "LEASH_HOLD_IN"
	if folder := os.Getenv(role); folder != "" {
		// The shell itself is the program; what it runs ends with its sleep.
		p, err := Start(exec.Command("sh", "-c", `trap "" TERM; : >"$0/ready"; while :; do sleep 0.1; done`, folder),
			"TERM", folder)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("pid", p.Pid())
		select {} // until killed
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), role+"="+folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(out, "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
	await(t, "the program to begin", func() bool {
		_, err := os.Stat(filepath.Join(folder, "ready"))
		return err == nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // "signal: killed"
	await(t, "the folder to be removed", func() bool {
		_, err := os.Stat(folder)
		return errors.Is(err, fs.ErrNotExist)
	})
	args, err := exec.Command("ps", "-o", "args=", "-p", fmt.Sprint(pid)).Output()
	if err == nil && strings.Contains(string(args), folder) {
		t.Errorf("still running: %s", args)
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited 10 s for %s", what)
		}
	}
}
