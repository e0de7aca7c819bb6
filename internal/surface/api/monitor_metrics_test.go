package api

import (
	"context"
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// check creates a monitor that is checked, and records results that began now.
func (c *client) check(page, component string, statuses ...monitor.CheckStatus) monitor.Monitor {
	c.t.Helper()
	ctx := context.Background()
	token, err := c.store.Authenticate(ctx, c.token)
	if err != nil {
		c.t.Fatal(err)
	}
	m, err := c.store.CreateMonitor(ctx, token.Actor(""), monitor.MonitorOf(monitor.MonitorConfig{
		Type: "tcp", Name: "Database", Interval: time.Minute, PageSlug: page, ComponentID: component,
		Check: monitor.CheckSpec{Config: json.RawMessage(`{"host":"db.example.com","port":5432}`)},
	}))
	if err != nil {
		c.t.Fatal(err)
	}
	var results []monitor.CheckResult
	for i, status := range statuses {
		at := c.clock.Now().Add(time.Duration(i) * time.Second)
		results = append(results, monitor.CheckResult{
			MonitorID: m.ID, Version: 1, Replica: "a", DueAt: at, StartedAt: at, Status: status,
			Phases: monitor.CheckPhases{Total: time.Duration(i+1) * 10 * time.Millisecond},
		})
	}
	if err := c.store.RecordCheckResults(ctx, results); err != nil {
		c.t.Fatal(err)
	}
	return m
}

func TestMonitorMetrics(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		// all results are in one period
		c.clock.Advance(6*time.Minute - c.clock.Now().Sub(c.clock.Now().Truncate(5*time.Minute)))
		path := "/api/v1/monitors/" +
			c.check("acme", w.component, monitor.CheckOK, monitor.CheckSlow, monitor.CheckFailed,
				monitor.CheckUnknown).ID +
			"/metrics"
		c.clock.Advance(10 * time.Second)
		got := c.get(path).is(200).data()
		keys(t, got, "from", "to", "step", "summary", "periods")
		summary := got["summary"].(map[string]any)
		for key, want := range map[string]any{
			"count": 3.0, "slow": 1.0, "failures": 1.0, "unknown": 1.0, "uptime": 66.666, "min": 0.01, "mean": 0.015,
			"max": 0.02,
		} {
			if summary[key] != want {
				t.Errorf("the summary: %s is %v, want %v", key, summary[key], want)
			}
		}
		periods := got["periods"].([]any)
		if len(periods) != 1 || got["step"] != 300.0 ||
			periods[0].(map[string]any)["starts_at"] != stamp(c.clock.Now().Truncate(5*time.Minute)) {
			t.Errorf("the periods: %v", got)
		}
		empty := c.get(path + "?step=3600&from=2026-01-01T00:00:00Z&to=" +
			url.QueryEscape("2026-01-02T01:00:00+01:00")).is(200).data()
		if empty["from"] != "2026-01-01T00:00:00.000Z" || empty["to"] != "2026-01-02T00:00:00.000Z" ||
			len(empty["periods"].([]any)) != 0 {
			t.Errorf("the metrics of a time without checks: %v", empty)
		}
		if s := empty["summary"].(map[string]any); s["count"] != 0.0 || s["uptime"] != nil || s["p50"] != nil {
			t.Errorf("without results: %v", s)
		}
		s := c.get("/api/v1/monitors/" + w.monitor + "/metrics").is(200).data()["summary"].(map[string]any)
		if s["count"] != 0.0 {
			t.Errorf("of a heartbeat: %v", s)
		}
		c.get(path + "?step=301").complains("step")
		c.get(path+"?step=x&from=x&to=x").complains("step", "from", "to")
		c.get(path + "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").complains("to")
		c.get(path + "?from=2020-01-02T00:00:00Z").complains("step")
		c.stranger().get(path).is(404)
	})
}
