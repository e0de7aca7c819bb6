package storetest

import "syscall"

// memoryFolder returns a folder in memory for the files of databases, or "", the folder of temporary files, if there is
// no room. Creating and dropping PostgreSQL databases takes ten times as long on most disks, and SQLite uses a third
// more processor time there. The files of tests need not survive a crash.
func memoryFolder() string {
	const (
		memory = "/dev/shm"
		room   = 2 << 30 // by default Docker has 64 MB, which is not enough
	)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	if err := syscall.Access(memory, 2|1); err != nil { // write and enter
		return ""
	}
	return memory
}
