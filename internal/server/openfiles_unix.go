//go:build unix

package server

import "syscall"

// openFilesLimit returns how many files, including connections, the process may have open; 0 if unknown.
func openFilesLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) // signed on some systems
}
