package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// initialise creates the data directory with a process that has the attributes. initdb takes longer than most tests, so
// its result is kept in the user's cache directory, and unpacked. All clusters have the same system identifier.
func (c *Cluster) initialise(attr *syscall.SysProcAttr) error {
	version, err := c.command("initdb", "--version").Output()
	if err != nil {
		return fmt.Errorf("initdb --version: %w", err)
	}
	args := []string{
		"--username=" + superuser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions",
	}
	cache, err := os.UserCacheDir()
	if err != nil { // there is no home directory
		return c.initdb(attr, args)
	}
	path := filepath.Join(cache, "allswell-test",
		fmt.Sprintf("initdb-%x.tar", sha256.Sum256(fmt.Appendf(version, "%q", args))))
	archive, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := c.initdb(attr, args); err != nil {
			return err
		}
		return c.keep(path)
	}
	if err != nil {
		return err
	}
	defer archive.Close()
	unpack := exec.Command("tar", "-C", c.dir, "-xpf", "-")
	unpack.Stdin, unpack.SysProcAttr = archive, attr
	if out, err := unpack.CombinedOutput(); err != nil {
		return fmt.Errorf("unpacking %s: %w\n%s", path, err, out)
	}
	return nil
}

func (c *Cluster) initdb(attr *syscall.SysProcAttr, args []string) error {
	initdb := c.command("initdb", append(args, "--pgdata="+c.data())...)
	initdb.SysProcAttr = attr
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// keep writes the new data directory to an archive. Another process may do the same.
func (c *Cluster) keep(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	pack := exec.Command("tar", "-C", c.dir, "-cf", "-", filepath.Base(c.data()))
	pack.Stdout = f
	if err := errors.Join(pack.Run(), f.Close()); err != nil {
		return fmt.Errorf("packing the data directory: %w", err)
	}
	return os.Rename(f.Name(), path)
}
