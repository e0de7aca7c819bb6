package alerter

import (
	"os"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(6)
	storetest.OnlySQLite()
	os.Exit(m.Run())
}
