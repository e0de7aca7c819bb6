package faults

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// TestOutageIsLoggedOnce stops PostgreSQL while the server is under load. However many requests
// fail, one log entry reports the failure, and one its end.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	cluster := storetest.NewCluster(t)
	server := binary.NewServer(t, binary.Build(t), "ALLSWELL_DATABASE="+cluster.Database(t),
		"ALLSWELL_BOOTSTRAP_TOKEN="+apiToken,
		"ALLSWELL_CHECK_INTERVAL=1s", "ALLSWELL_PING_RATE_LIMIT=0", "ALLSWELL_API_RATE_LIMIT=0")
	api := binary.NewClient(server.URL, apiToken)
	server.Start()
	api.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	var monitor binary.Data[struct{ Token string }]
	api.Must(t, "POST", "/api/v1/monitors", params{"name": "Job", "page": "acme", "interval": 60}, &monitor)
	cluster.Stop(storetest.Fast)

	const rounds, failures = 4, 25
	var load sync.WaitGroup
	for range rounds {
		load.Go(func() {
			for n := 0; n < failures; {
				for _, c := range []struct{ method, path string }{
					{"POST", "/api/v1/heartbeat/" + monitor.Data.Token},
					{"POST", "/api/v1/pages/acme/incidents"},
					{"GET", "/status/acme/history"},
				} {
					status, err := api.Do(t.Context(), c.method, c.path, params{"title": "Slow"}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					if status == http.StatusServiceUnavailable {
						n++
					}
				}
			}
		})
	}
	load.Wait()
	cluster.Start()
	server.AwaitReady()
	const over = "the database can be used again"
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(server.Log(), over) &&
		time.Now().Before(deadline); <-tick.C {
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	checkOneOutage(t, server.Log(), over)
}

// checkOneOutage checks that a log reports one failure of the database, and its end.
func checkOneOutage(t *testing.T, log, over string) {
	t.Helper()
	var serious []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=WARN") && !strings.Contains(line, "ALLSWELL_") ||
			strings.Contains(line, "level=ERROR") {
			serious = append(serious, line)
		}
	}
	if len(serious) > 5 {
		t.Errorf("%d lines of one outage:\n%s", len(serious), strings.Join(serious[:min(len(serious), 20)], ""))
	}
	for _, want := range []string{`msg="the database cannot be used" database=`, over + `" after=`} {
		if n := strings.Count(log, want); n != 1 {
			t.Errorf("%d lines have %q, want 1", n, want)
		}
	}
}
