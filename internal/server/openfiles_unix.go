//go:build unix

package server

import "syscall"

// openFiles returns how many files, connections among them, the process may
// have open; 0 if that is not known.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) // signed on some systems
}
