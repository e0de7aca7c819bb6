package store_test

import (
	"os"
	"testing"

	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(4) // more would be too many for the timeouts of transactions
	os.Exit(m.Run())
}
