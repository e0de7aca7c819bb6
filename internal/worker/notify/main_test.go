package notify

import (
	"os"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(8) // most of them wait
	storetest.OnlySQLite()
	os.Exit(m.Run())
}
