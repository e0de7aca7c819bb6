package notify

import (
	"os"
	"testing"

	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(4)
	os.Exit(m.Run())
}
