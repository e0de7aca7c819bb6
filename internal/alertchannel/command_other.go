//go:build !unix

package alertchannel

import "os/exec"

// ownGroup does nothing, because there are no process groups here.
func ownGroup(*exec.Cmd) {}
