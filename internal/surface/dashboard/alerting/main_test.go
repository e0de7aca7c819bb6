package alerting_test

import (
	"os"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.OneEngine()
	os.Exit(m.Run())
}
