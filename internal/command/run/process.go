package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// forwarded are the signals that are forwarded to the command.
var forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

const (
	killAfter = 10 * time.Second // between SIGTERM and SIGKILL, after the timeout

	// outputDelay is how long output is copied after the end of the command, from processes that outlive it.
	outputDelay = 10 * time.Second
)

// process is a command to run.
type process struct {
	args     []string
	in       io.Reader
	out, err io.Writer
	timeout  time.Duration // 0: none
}

// result is the outcome of a process.
type result struct {
	status   int
	timedOut bool
	message  string // a message of this program about the end; "": none
}

// run runs the command, and forwards signals to it.
func (p process) run(signals <-chan os.Signal) result {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	out, err := newOutput(p.out)
	if err != nil {
		return notRunnable(err)
	}
	errs, err := newOutput(p.err)
	if err != nil {
		out.discard()
		return notRunnable(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.in, out.write, errs.write, outputDelay
	stdin, isFile := p.in.(*os.File)
	terminal := isFile && term.IsTerminal(int(stdin.Fd()))
	if !terminal {
		separate(cmd)
	}
	if err := cmd.Start(); err != nil {
		out.discard()
		errs.discard()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return result{status: exitNotFound, message: fmt.Sprintf("%s: command not found", p.args[0])}
		}
		return notRunnable(err)
	}
	out.copy()
	errs.copy()
	done := make(chan struct{})
	go func() {
		cmd.Wait() // the state has the result
		close(done)
	}()
	timedOut := p.supervise(cmd, signals, done, terminal)
	awaitOutput(signals, out, errs)
	status := cmd.ProcessState.ExitCode()
	if status < 0 {
		status = exitSignal + signalOf(cmd.ProcessState)
	}
	if timedOut {
		return result{exitTimeout, true, fmt.Sprintf("the command was ended after %v", p.timeout)}
	}
	return result{status: status}
}

func notRunnable(err error) result {
	return result{status: exitNotRunnable, message: fmt.Sprintf("the command cannot be run: %v", err)}
}

// output is a pipe from the command, and from what it has started, to a writer.
type output struct {
	to          io.Writer
	read, write *os.File
	ended       chan struct{} // closed when nobody writes to the pipe any more
}

func newOutput(to io.Writer) (o output, err error) {
	o = output{to: to, ended: make(chan struct{})}
	o.read, o.write, err = os.Pipe()
	return o, err
}

// copy copies in the background. The command has the other end of the pipe.
func (o output) copy() {
	o.write.Close()
	go func() {
		defer close(o.ended)
		io.Copy(o.to, o.read) // ends with an error when awaitOutput gives up
	}()
}

func (o output) discard() {
	o.read.Close()
	o.write.Close()
}

// awaitOutput waits for the output of processes that outlive the command: for outputDelay, or until a signal.
func awaitOutput(signals <-chan os.Signal, outputs ...output) {
	late := time.NewTimer(outputDelay)
	defer late.Stop()
	for _, o := range outputs {
		defer o.read.Close()
	}
	for len(outputs) > 0 {
		select {
		case <-outputs[0].ended:
			outputs = outputs[1:]
		case s := <-signals:
			if s != syscall.SIGPIPE {
				return
			}
		case <-late.C:
			return
		}
	}
}

// supervise waits until the command has ended. Meanwhile it forwards signals, and terminates the command after the
// timeout. It reports whether the timeout has passed. terminal means that the command shares the terminal, which sends
// it SIGINT and SIGQUIT itself.
func (p process) supervise(
	cmd *exec.Cmd, signals <-chan os.Signal, done <-chan struct{}, terminal bool,
) (timedOut bool) {
	var expired, kill <-chan time.Time
	if p.timeout > 0 {
		timer := time.NewTimer(p.timeout)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		select {
		case <-done:
			return timedOut
		case s := <-signals:
			if s != syscall.SIGPIPE && !(terminal && (s == syscall.SIGINT || s == syscall.SIGQUIT)) {
				cmd.Process.Signal(s) // fails only if it has ended
			}
		case <-expired:
			timedOut, expired = true, nil
			terminate(cmd, !terminal)
			timer := time.NewTimer(killAfter)
			defer timer.Stop()
			kill = timer.C
		case <-kill:
			killAll(cmd, !terminal)
			kill = nil
		}
	}
}

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte
	cut   bool // there was more
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = t.cut || len(t.kept)+len(p) > t.limit
	t.kept = append(t.kept, p[max(0, len(p)-t.limit):]...)
	if len(t.kept) > 2*t.limit {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
	}
	return len(p), nil
}

// note adds a line about the command.
func (t *tail) note(message string) { fmt.Fprintf(t, "\nallswell: %s\n", message) }

// bytes returns what is kept. It begins with a whole character if the output is UTF-8.
func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept[max(0, len(t.kept)-t.limit):]
	for i := 0; t.cut && i < utf8.UTFMax-1 && len(kept) > 0 && !utf8.RuneStart(kept[0]); i++ {
		kept = kept[1:]
	}
	return append([]byte(nil), kept...)
}

// lenient hides errors of a writer, so that the command does not notice that nobody reads its output.
type lenient struct{ w io.Writer }

func (l lenient) Write(p []byte) (int, error) {
	l.w.Write(p)
	return len(p), nil
}
