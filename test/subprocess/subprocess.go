// Package subprocess runs programs that end with the test process, even if it panics, times out or is killed.
package subprocess

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// script runs "$@" with a watcher beside it. The watcher reads descriptor 3, a pipe whose other end only the test
// process holds. When that process ends, the kernel closes the pipe; the watcher then ends "$@", kills it if it is
// still running after a second, and removes the folder. A line in the pipe means that "$@" has ended by itself, and
// that its process id may have been reused.
const script = `
signal=$1 folder=$2
shift 2
(
	{
		if read -r _; then exit 0; fi
		kill -s "$signal" $$
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			if kill -0 $$; then sleep 0.1; fi
		done
		kill -s KILL $$
		if [ -n "$folder" ]; then rm -rf "$folder"; fi
	} <&3 >/dev/null 2>&1 3<&- &
)
exec "$@" 3<&-
`

// Process is a program that ends with the test process.
type Process struct {
	cmd  *exec.Cmd
	gone chan struct{}
	err  error // how it ended, once gone is closed
}

// Start starts cmd, which must not use ExtraFiles and whose output must not be the test's own, because go test waits
// until all processes have closed it. cmd runs in its own session, so that a Ctrl-C for the test does not reach it.
// When the test process ends, cmd gets the signal, given by its name ("TERM", "QUIT"), and is killed if it is still
// running a second later; then folder is removed, unless it is "".
func Start(cmd *exec.Cmd, signal, folder string) (*Process, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	held, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	cmd.Args = slices.Concat([]string{"sh", "-c", script, "sh", signal, folder, cmd.Path}, cmd.Args[1:])
	cmd.Path = "/bin/sh"
	cmd.ExtraFiles = []*os.File{held}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, end.Close())
	}
	p := &Process{cmd: cmd, gone: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		// The watcher may be gone too, for instance killed together with cmd.
		_, _ = end.WriteString("ended\n")
		_ = end.Close()
		close(p.gone)
	}()
	return p, nil
}

// Pid returns the process id of the program itself, not of a shell around it.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends sig. If the process has ended, it returns nil.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Wait waits until the process ends and returns what exec.Cmd.Wait returned.
func (p *Process) Wait() error {
	<-p.gone
	return p.err
}
