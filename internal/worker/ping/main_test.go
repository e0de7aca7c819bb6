package ping

import (
	"os"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(12) // the slowest wait for timeouts
	storetest.OneEngine()
	os.Exit(m.Run())
}
