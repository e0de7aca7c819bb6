package notify

import (
	"os"
	"testing"

	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(8) // most of them wait
	os.Exit(m.Run())
}
