package browser

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/allswell/allswell/test/binary"
)

// folder is what all tests of this process share. TestMain removes it.
var folder = sync.OnceValues(func() (string, error) {
	needsFolder.Store(true)
	return os.MkdirTemp("", "allswell-browser-")
})

// needsFolder is true once a test has asked for the folder.
var needsFolder atomic.Bool

// removeFolder removes the folder, if there is one.
func removeFolder() error {
	if !needsFolder.Load() {
		return nil
	}
	dir, err := folder()
	if err != nil {
		return nil // the test that asked for it has failed
	}
	return os.RemoveAll(dir)
}

var builtProgram = sync.OnceValues(func() (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	return binary.BuildIn(dir)
})

// program returns the path of allswell, one copy for all tests.
func program(t *testing.T) string {
	t.Helper()
	path, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
