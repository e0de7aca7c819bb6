package api

import (
	"fmt"
	"os"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if _, err := newDocument(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	storetest.OneEngine()
	os.Exit(m.Run())
}
