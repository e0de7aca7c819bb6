//go:build !unix

package server

// openFilesLimit returns 0: the limit is unknown.
func openFilesLimit() uint64 { return 0 }
