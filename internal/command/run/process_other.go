//go:build !unix

package run

import (
	"os"
	"os/exec"
	"syscall"
)

// separate does nothing: there are no process groups.
func separate(*exec.Cmd) {}

// terminate asks the command to end.
func terminate(cmd *exec.Cmd, _ bool) { cmd.Process.Signal(syscall.SIGTERM) }

// killAll kills the command.
func killAll(cmd *exec.Cmd, _ bool) { cmd.Process.Kill() }

// signalOf returns the number of the signal that ended a process.
func signalOf(*os.ProcessState) int { return int(syscall.SIGKILL) }

// lock does nothing. Without locks, two runs that end at the same moment must not share a spool.
func lock(*os.File) error { return nil }
