package api

import (
	"encoding/base64"
	"net/netip"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/pinghistory"
)

// failedRun records a run of a job that fails after a second and a half, and returns the id of its end.
func (c *client) failedRun(monitorID, output string) string {
	c.t.Helper()
	const run = "0191a1b2-0000-7000-8000-000000000001"
	c.signal(monitorID, store.NewSignal{
		Kind: monitor.SignalStart, RunID: run, Address: "192.0.2.1", UserAgent: "curl",
	})
	c.clock.Advance(1500 * time.Millisecond)
	code := 3
	return c.signal(monitorID, store.NewSignal{
		Kind: monitor.SignalFail, ExitCode: &code, RunID: run, Output: store.PackOutput([]byte(output)),
		OutputSize: len(output), OutputCut: true, Excerpt: output,
	})
}

func TestPings(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		pings := "/api/v1/monitors/" + w.monitor + "/pings"
		c.failedRun(w.monitor, "disk full")
		first := c.get(pings + "?limit=2").is(200)
		rows := first.rows()
		if len(rows) != 2 {
			t.Fatalf("%d pings, want 2: %v", len(rows), rows)
		}
		keys(t, rows[0], "id", "received_at", "kind", "exit_code", "duration", "run_id", "address", "user_agent",
			"body_size", "body_cut")
		r := rows[0]
		if r["kind"] != "fail" || r["exit_code"] != 3.0 || r["duration"] != 1.5 ||
			r["body_size"] != 9.0 || r["body_cut"] != true || r["address"] != nil {
			t.Errorf("the ping is %v", r)
		}
		r = rows[1]
		if r["kind"] != "start" || r["exit_code"] != nil || r["duration"] != nil ||
			r["address"] != "192.0.2.1" || r["user_agent"] != "curl" || r["run_id"] == nil {
			t.Errorf("the ping is %v", r)
		}
		cursor := first.object()["meta"].(map[string]any)["next_cursor"].(string)
		older := c.get(pings + "?kind=log&limit=2&cursor=" + cursor).is(200).rows()
		if len(older) != 1 || older[0]["id"] != w.signal {
			t.Errorf("after the cursor: %v, want the signal %s", older, w.signal)
		}
		if rows := c.get(pings + "?kind=fail").is(200).rows(); len(rows) != 1 {
			t.Errorf("failures: %v", rows)
		}
		c.get(pings+"?kind=pong&limit=0&cursor=x").complains("kind", "limit", "cursor")
	})
}

func TestOutputs(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		m := c.post("/api/v1/monitors", map[string]any{"name": "Backup", "interval": 60, "page": "acme"}).is(201).id()
		pings := "/api/v1/monitors/" + m + "/pings"
		text, binary := c.failedRun(m, "disk full"), c.failedRun(m, "\xff\x00")
		c.get(pings + "/" + text + "/body").is(200).has(map[string]any{
			"id": text, "encoding": "utf-8", "body": "disk full", "cut": true,
		})
		c.get(pings + "/" + binary + "/body").is(200).has(map[string]any{
			"encoding": "base64", "body": base64.StdEncoding.EncodeToString([]byte("\xff\x00")), "cut": true,
		})
		c.get(pings + "/sig_0000000000000000000a/body").is(404)
	})
}

func TestOutputIsNotedInTheIncident(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.failedRun(w.monitor, "disk full")
		incident := c.get("/api/v1/monitors/" + w.monitor).is(200).has(map[string]any{
			"state": "down",
		}).data()["incident_id"].(string)
		notes := c.get("/api/v1/incidents/" + incident + "/notes").is(200).rows()
		if len(notes) != 1 || notes[0]["exit_code"] != 3.0 || notes[0]["output"] != "disk full" {
			t.Errorf("notes: %v", notes)
		}
		if rows := c.get("/api/v1/monitors/" + w.monitor + "/outages").is(200).rows(); rows[0]["reason"] != "failed" {
			t.Errorf("the outages: %v", rows)
		}
		if rows := c.get("/api/v1/incidents/" + w.incident + "/notes").is(200).rows(); len(rows) != 0 {
			t.Errorf("notes of another incident: %v", rows)
		}
	})
}

func TestPlainPings(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		pings := "/api/v1/monitors/" + w.monitor + "/pings"
		token := c.get("/api/v1/monitors/" + w.monitor).is(200).data()["token"].(string)
		from := store.PingOrigins{
			Clients: []pinghistory.Client{{Address: netip.MustParseAddr("2001:db8::1"), UserAgent: "wget"}},
			Pings:   make([]store.PingOrigin, 2),
		}
		_, err := c.store.RecordPings(t.Context(), []string{token}, store.LivenessRecord{Replica: "test", First: true},
			from)
		if err != nil {
			t.Fatal(err)
		}
		plain := c.get(pings + "?kind=ping").is(200).rows()
		if len(plain) != 2 || plain[0]["id"] == plain[1]["id"] || plain[0]["address"] != "2001:db8::1" ||
			plain[0]["user_agent"] != "wget" || plain[0]["body_size"] != 0.0 {
			t.Errorf("plain pings: %v", plain)
		}
		c.get(pings + "/" + plain[0]["id"].(string) + "/body").is(404)
	})
}
