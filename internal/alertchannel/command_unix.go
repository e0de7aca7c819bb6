//go:build unix

package alertchannel

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program the first of a process group. The whole group is killed when its time is over.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
