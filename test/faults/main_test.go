package faults

import (
	"os"
	"testing"

	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(8) // the longest wait until what a killed server was sending may be sent again
	os.Exit(m.Run())
}
