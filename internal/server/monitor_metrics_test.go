package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// newMonitorMetrics starts a server with the monitors shop, which has some check results, and backup. It returns the id
// of the shop, and a function that asks for metrics.
func newMonitorMetrics(t *testing.T) (shopID string, ask func(query string, want int) string) {
	t.Helper()
	s, ctx := newTestServer(t), t.Context()
	secret := account.NewTokenSecret()
	if first, err := s.store.CreateFirstToken(ctx, secret); err != nil || !first {
		t.Fatal(first, err)
	}
	token, err := s.store.Authenticate(ctx, secret)
	if err != nil {
		t.Fatal(err)
	}
	create := func(n monitor.MonitorChange) monitor.Monitor {
		t.Helper()
		m, err := s.store.CreateMonitor(ctx, token.Actor(""), n)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	shop := create(monitor.MonitorOf(monitor.MonitorConfig{
		Type: "http", Name: "Shop", Interval: time.Minute,
		Check: monitor.CheckSpec{Config: json.RawMessage(`{"url":"https://example.com"}`)},
	}))
	create(monitor.MonitorOf(monitor.MonitorConfig{Name: "Backup", Interval: time.Minute}))
	now, err := s.store.Clock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	at := now.Truncate(metricsStep).Add(-time.Second) // in the last complete period
	var results []monitor.CheckResult
	for i, status := range []monitor.CheckStatus{monitor.CheckOK, monitor.CheckOK, monitor.CheckFailed} {
		results = append(results, monitor.CheckResult{
			MonitorID: shop.ID, Version: 1, Replica: "a", DueAt: at, StartedAt: at, Status: status,
			Phases: monitor.CheckPhases{Total: time.Duration(i+1) * 100 * time.Millisecond},
		})
	}
	if err := s.store.RecordCheckResults(ctx, results); err != nil {
		t.Fatal(err)
	}
	h := s.authenticatedMetrics()
	return shop.ID, func(query string, want int) string {
		t.Helper()
		r := httptest.NewRequest("GET", "/metrics?"+query, nil)
		r.RemoteAddr = "192.0.2.1:1"
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Fatalf("%s is answered %d %s", query, w.Code, w.Body)
		}
		return w.Body.String()
	}
}

// TestMonitorMetrics reads the metrics of monitors as Prometheus does.
func TestMonitorMetrics(t *testing.T) {
	t.Parallel()
	shop, ask := newMonitorMetrics(t)
	text := ask("monitor="+shop+"&monitor=backup&monitor=shop", http.StatusOK)
	for _, line := range []string{
		`allswell_monitor_up{monitor="shop",name="Shop",type="http"} 1`,
		`allswell_monitor_up{monitor="backup",name="Backup",type="heartbeat"} 1`,
		`allswell_monitor_consecutive_failures{monitor="shop",name="Shop",type="http"} 1`,
		`allswell_monitor_check_results{monitor="shop",name="Shop",status="ok",type="http"} 2`,
		`allswell_monitor_check_results{monitor="shop",name="Shop",status="failed",type="http"} 1`,
		`allswell_monitor_check_seconds{monitor="shop",name="Shop",type="http",quantile="1"} 0.2`,
		`allswell_monitor_check_seconds_count{monitor="shop",name="Shop",type="http"} 2`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
	ask("monitor=nobody", http.StatusNotFound)
	many := make(url.Values)
	for i := range maxMonitorsOfMetrics + 1 {
		many.Add("monitor", fmt.Sprint(i))
	}
	ask(many.Encode(), http.StatusUnprocessableEntity)
}
