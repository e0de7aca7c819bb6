package domains

import (
	"os"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.OnlySQLite()
	os.Exit(m.Run())
}
