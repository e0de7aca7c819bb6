//go:build unix

package secret

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and the permissions of another one, so that root can replace a file of another user.
func keepOwner(f *os.File, like fs.FileInfo) error {
	if of, ok := like.Sys().(*syscall.Stat_t); ok {
		if err := f.Chown(int(of.Uid), int(of.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(like.Mode().Perm())
}
