//go:build unix

package run

import (
	"os"
	"os/exec"
	"syscall"
)

// separate makes the command the first of a process group, so that killAll reaches what it has started.
func separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the command to end, and all of its process group if it is separate: a shell does not pass SIGTERM on.
func terminate(cmd *exec.Cmd, separated bool) { send(cmd, separated, syscall.SIGTERM) }

// killAll kills the command, and all of its process group if it is separate.
func killAll(cmd *exec.Cmd, separated bool) { send(cmd, separated, syscall.SIGKILL) }

func send(cmd *exec.Cmd, separated bool, s syscall.Signal) {
	if separated {
		syscall.Kill(-cmd.Process.Pid, s)
		return
	}
	cmd.Process.Signal(s)
}

// signalOf returns the number of the signal that ended a process.
func signalOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return int(syscall.SIGKILL)
}

// lock waits until no other process has locked the file. Closing it unlocks it.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
