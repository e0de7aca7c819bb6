package ping

import (
	"os"
	"testing"

	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(12) // the slowest wait for timeouts
	os.Exit(m.Run())
}
