package server

import (
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestRunningMonitorsWithoutDatabase: the sample is left out if the database cannot be read.
func TestRunningMonitorsWithoutDatabase(t *testing.T) {
	s := storetest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"), store.Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(runningCollector{s})
	for _, want := range []int{1, 0} {
		found, err := registry.Gather()
		if err != nil || len(found) != want {
			t.Errorf("%v, %v, want %d samples", found, err, want)
		}
		s.Close()
	}
}
