package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// webTarget returns the URL of a server that responds with a status and a text.
func webTarget(t testing.TB, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestChecksAreConfigured creates and changes a monitor whose target is checked.
func TestChecksAreConfigured(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/pages/acme", map[string]any{"name": "Acme"}).is(201)
		made := c.post("/api/v1/monitors", map[string]any{
			"name": "Shop", "page": "acme", "type": "http", "url": "https://shop.example.com/", "method": "HEAD",
			"expected_statuses": []string{"200-204", "301"},
			"headers":           map[string]string{"X-Token": "a"}, "interval": 30, "timeout": 7, "slow_after": 0.8,
			"recovery_threshold": 2, "confirm_from": 3,
		}).is(201).has(map[string]any{
			"type": "http", "url": "https://shop.example.com/", "method": "HEAD", "interval": 30.0, "timeout": 7.0,
			"slow_after":         0.8,
			"recovery_threshold": 2.0, "confirm_from": 3.0, "token": nil, "ping_url": nil, "schedule": nil,
			"grace": nil, "last_ping_at": nil,
			"max_runtime": nil, "publish_output": nil, "no_overlap": nil, "parent_id": nil, "condition": "waiting",
		})
		target := "/api/v1/monitors/" + made.id()
		if diff := cmp.Diff(map[string]any{"X-Token": "a"}, made.data()["headers"]); diff != "" {
			t.Error(diff)
		}

		c.patch(target, map[string]any{"method": "GET", "slow_after": nil}).is(200).
			has(map[string]any{"method": "GET", "slow_after": nil, "url": "https://shop.example.com/", "timeout": 7.0})
		c.patch(target, map[string]any{"interval": 60}).is(200).has(map[string]any{"interval": 60.0, "method": "GET"})
		c.patch(target, map[string]any{"method": nil, "expected_statuses": nil}).is(200).has(map[string]any{
			"url": "https://shop.example.com/",
		})
	})
}

// TestChecksAreReplaced sends a PUT with what GET shows, and one with little else than the URL.
func TestChecksAreReplaced(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := "/api/v1/monitors/" + c.post("/api/v1/monitors", map[string]any{
			"name": "Shop", "type": "http", "url": "https://shop.example.com/", "method": "HEAD", "interval": 30,
			"headers": map[string]string{"X-Token": "a"}, "timeout": 7, "recovery_threshold": 2,
		}).is(201).id()
		// What GET shows is edited and sent back.
		body := c.get(target).is(200).data()
		body["name"] = "Web shop"
		again := c.put("/api/v1/monitors/shop", body).is(200)
		if diff := cmp.Diff(withoutTimes(body), withoutTimes(again.data())); diff != "" {
			t.Errorf("a PUT of what GET shows (-sent +got):\n%s", diff)
		}
		// What a PUT does not have gets its default.
		c.put("/api/v1/monitors/shop", map[string]any{
			"name": "Shop", "type": "http", "url": "http://localhost/",
		}).is(200).
			has(map[string]any{
				"interval": 60.0, "timeout": 10.0, "recovery_threshold": 1.0, "url": "http://localhost/", "page": nil,
			})
	})
}

// TestTypesOfChecksStay checks that no request makes another type of a monitor.
func TestTypesOfChecksStay(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/monitors/port", map[string]any{
			"name": "Port", "type": "tcp", "host": "db.example.com", "port": 5432,
		}).is(201).has(map[string]any{"port": 5432.0})
		c.put("/api/v1/monitors/port", map[string]any{
			"name": "Port", "type": "http", "url": "http://localhost/",
		}).complains("type")
		c.put("/api/v1/monitors/port", map[string]any{"name": "Port", "interval": 60}).complains("type")
		c.patch("/api/v1/monitors/port", map[string]any{"type": "heartbeat"}).complains("type")
		c.patch("/api/v1/monitors/port", map[string]any{"type": "tcp", "port": 5433}).is(200).has(map[string]any{
			"port": 5433.0, "host": "db.example.com",
		})
	})
}

func TestMonitorsAreFilteredByType(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/monitors/job", map[string]any{"name": "Job", "interval": 60}).is(201)
		c.put("/api/v1/monitors/shop", map[string]any{
			"name": "Shop", "type": "http", "url": "http://localhost/",
		}).is(201)
		c.put("/api/v1/monitors/port", map[string]any{
			"name": "Port", "type": "tcp", "host": "localhost", "port": 1,
		}).is(201)
		for kind, want := range map[string][]string{
			"": {"job", "port", "shop"}, "http": {"shop"}, "tcp": {"port"}, "heartbeat": {"job"},
		} {
			var got []string
			path := "/api/v1/monitors"
			if kind != "" {
				path += "?type=" + kind
			}
			for _, row := range c.get(path).is(200).rows() {
				got = append(got, row["slug"].(string))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("?type=%s (-want +got):\n%s", kind, diff)
			}
		}
		c.get("/api/v1/monitors?type=nonsense").complains("type")
	})
}

func withoutTimes(m map[string]any) map[string]any {
	m = maps.Clone(m)
	for _, key := range []string{"updated_at", "next_check_at"} {
		delete(m, key)
	}
	return m
}

// wrongFieldsOfHTTP are values that a monitor of the type http does not accept, by their field.
var wrongFieldsOfHTTP = map[string][]any{
	"type": {"nonsense", 1, ""}, "url": {nil, 1, "", "ftp://x", "http://"}, "method": {"EAT", 1},
	"expected_statuses": {"200", []any{1}, []string{"x"}, []string{"99"}},
	"interval":          {9, 86401, "60", 0}, "timeout": {0, 121, 1.5, 60, "1"},
	"slow_after": {0, -1, "1", 10, 11, 1e300, 0.0001}, "recovery_threshold": {0, 101, 1.5},
	"confirm_from": {0, 11},
	"parent_id":    {"nowhere", 1}, "headers": {[]string{"a"}, map[string]any{"a": 1}},
	// The rest are fields of other types.
	"host": {"localhost"}, "port": {1}, "grace": {60, 0}, "token": {"0123456789abcdef", ""},
	"schedule":    {map[string]any{"kind": "interval", "interval": 60}},
	"max_runtime": {60}, "publish_output": {true, false}, "no_overlap": {true, false},
	"max_runtime_action": {"warn"},
	"urll":               {"x"},
}

// TestChecksRefuse sends fields that are wrong, and fields of other types.
func TestChecksRefuse(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		port := c.post("/api/v1/monitors", map[string]any{
			"name": "Port", "type": "tcp", "host": "localhost", "port": 1,
		}).is(201).id()
		job := c.post("/api/v1/monitors", map[string]any{"name": "Job", "interval": 60}).is(201).id()
		c.unchanged(func() {
			for field, values := range wrongFieldsOfHTTP {
				for _, value := range values {
					body := map[string]any{"name": "x", "type": "http", "url": "http://localhost/"}
					body[field] = value
					a := c.post("/api/v1/monitors", body)
					if a.status == 201 {
						t.Errorf("%s: %v is accepted", field, value)
						continue
					}
					a.complains(field)
					if len(a.object()["errors"].(map[string]any)[field].([]any)) != 1 {
						t.Errorf("%s: %v has several errors: %s", field, value, a.body)
					}
				}
			}
			for _, field := range []string{
				"timeout", "slow_after", "recovery_threshold", "confirm_from", "port", "url",
			} {
				body := map[string]any{"name": "x", "interval": 60, field: 1}
				c.post("/api/v1/monitors", body).complains(field)
				c.patch("/api/v1/monitors/"+job, map[string]any{field: 1}).complains(field)
			}
			for _, field := range []string{"headers", "secret_headers", "expected_headers"} {
				twice := `"` + field + `":{"A":"1","A":"2"}`
				c.post("/api/v1/monitors",
					`{"name":"x","type":"http","url":"http://localhost/",`+twice+`}`).complains(field)
				c.put("/api/v1/monitors/x",
					`{"name":"x","type":"http","url":"http://localhost/",`+twice+`}`).complains(field)
			}
			c.patch("/api/v1/monitors/"+port, map[string]any{"url": "http://localhost/"}).complains("url")
			c.patch("/api/v1/monitors/"+port, map[string]any{"host": nil}).complains("host")
			c.patch("/api/v1/monitors/"+port, map[string]any{"port": 0}).complains("port")
			for field, values := range map[string][]any{
				"grace": {5, 0}, "publish_output": {true, false}, "no_overlap": {true, false}, "max_runtime": {60},
				"max_runtime_action": {"warn"},
				"schedule": {map[string]any{"kind": "interval", "interval": 90},
					map[string]any{"kind": "cron", "expression": "@hourly"}},
			} {
				for _, value := range values {
					c.patch("/api/v1/monitors/"+port, map[string]any{field: value}).complains(field)
				}
			}
			c.patch("/api/v1/monitors/"+port, map[string]any{"schedule": map[string]any{}}).complains("schedule")
			c.patch("/api/v1/monitors/"+port, map[string]any{"parent_id": port}).complains("parent_id")
			c.patch("/api/v1/monitors/nowhere", map[string]any{"port": 2}).is(404)
			c.do("PATCH", "/api/v1/monitors/"+port, map[string]any{"port": 2}, "If-Match", `"0"`).is(412)
		})
	})
}

// TestAddressesThatAreNeverChecked checks that no request makes a monitor of an address that no check connects to.
func TestAddressesThatAreNeverChecked(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.put("/api/v1/monitors/shop", map[string]any{
			"name": "Shop", "type": "http", "url": "http://localhost/",
		}).is(201)
		const bad = "http://169.254.169.254/latest/meta-data/"
		body := map[string]any{"name": "Other", "type": "http", "url": bad}
		c.post("/api/v1/monitors", body).complains("url")
		c.put("/api/v1/monitors/other", body).complains("url")
		c.put("/api/v1/monitors/shop", body).complains("url")
		c.patch("/api/v1/monitors/shop", map[string]any{"url": bad}).complains("url")
		c.post("/api/v1/monitors/test", map[string]any{"type": "http", "url": bad}).complains("url")
		c.post("/api/v1/monitors/test", map[string]any{"type": "tcp", "host": "0.0.0.0", "port": 80}).complains("host")
		c.get("/api/v1/monitors/shop").is(200).has(map[string]any{"name": "Shop", "url": "http://localhost/"})
	})
}

// TestSecretsOfChecks checks that no response shows a secret, and which requests keep it.
func TestSecretsOfChecks(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const target = "/api/v1/monitors/shop"
		body := map[string]any{
			"name": "Shop", "type": "http", "url": "http://localhost/", "username": "me", "password": "hunter2",
		}
		made := c.put(target, body).is(201)
		secrets := func(want ...any) {
			t.Helper()
			got := c.get(target).is(200)
			if strings.Contains(string(got.body), "hunter") || strings.Contains(string(got.body), "swordfish") {
				t.Errorf("the secret is shown: %s", got.body)
			}
			if diff := cmp.Diff(append([]any{}, want...), got.data()["secrets"]); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
		}
		if strings.Contains(string(made.body), "hunter2") {
			t.Errorf("the response shows the secret: %s", made.body)
		}
		secrets("password")
		c.patch(target, map[string]any{"interval": 120}).is(200)
		secrets("password")
		delete(body, "password")
		c.put(target, body).is(200)
		secrets("password")
		c.patch(target, map[string]any{"password": "swordfish"}).is(200)
		secrets("password")
		elsewhere := map[string]any{"url": "http://evil.example.com/"}
		c.patch(target, elsewhere).complains("password")
		body["url"] = elsewhere["url"]
		c.put(target, body).complains("password")
		body["url"] = "http://localhost/another"
		c.put(target, body).is(200)
		secrets("password")
		same := c.get(target).is(200).data()["updated_at"]
		again := c.patch(target, map[string]any{"password": "swordfish", "bearer_token": nil}).is(
			200,
		).data()["updated_at"]
		if again != same {
			t.Error("the same secret again is a change")
		}
		body["password"] = nil
		delete(body, "username")
		c.put(target, body).is(200)
		secrets()
		log := c.get("/api/v1/audit").is(200)
		if strings.Contains(string(log.body), "hunter2") || strings.Contains(string(log.body), "swordfish") {
			t.Errorf("the audit log has a secret: %s", log.body)
		}
	})
}

// TestChecksAreTested runs checks that are not saved.
func TestChecksAreTested(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		good, bad := webTarget(t, 200, "fine"), webTarget(t, 502, "<h1>Bad gateway</h1>")
		c.unchanged(func() {
			c.post(testPath, map[string]any{
				"type": "http", "url": good, "name": "ignored", "tags": []string{"x"}, "parent_id": "x",
			}).is(200).
				has(map[string]any{"status": "ok", "reason": nil, "body": nil, "location": "here"})
			failed := c.post(testPath, map[string]any{"type": "http", "url": bad}).is(200).has(map[string]any{
				"status": "failed", "body": "<h1>Bad gateway</h1>",
			})
			if reason, _ := failed.data()["reason"].(string); !strings.Contains(reason, "502") {
				t.Errorf("the reason is %q", reason)
			}
			phases := failed.data()["phases"].(map[string]any)
			if total, _ := phases["total"].(float64); total <= 0 || total > 30 || phases["tls"] != nil {
				t.Errorf("phases: %v", phases)
			}
			c.post(testPath, map[string]any{"type": "heartbeat", "interval": 60}).complains("type")
			c.post(testPath, map[string]any{"url": good}).complains("type")
			c.post(testPath, map[string]any{"type": "http"}).complains("url")
			c.post(testPath, map[string]any{"type": "http", "url": good, "nonsense": 1}).complains("nonsense")
		})
		id := c.post("/api/v1/monitors", map[string]any{"name": "x", "type": "http", "url": bad}).is(201).id()
		c.unchanged(func() {
			c.post("/api/v1/monitors/"+id+"/test", nil).is(200).has(map[string]any{"status": "failed"})
			for n := 0; c.post(testPath, map[string]any{"type": "http", "url": bad}).status == 200; n++ {
				if n == 100 {
					t.Fatal("no test is refused")
				}
			}
			c.post("/api/v1/monitors/"+id+"/test", nil).is(429)
		})
	})
}

// TestCheckResults lists the results of a monitor. Only actors who may change it see responses.
func TestCheckResults(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		id := c.post("/api/v1/monitors", map[string]any{
			"name": "x", "type": "tcp", "host": "localhost", "port": 1,
		}).is(201).id()
		claimed, _, err := c.store.ClaimChecks(t.Context(), store.CheckClaim{Replica: "r", Limit: 10})
		if err != nil || len(claimed) != 1 || claimed[0].MonitorID != id {
			t.Fatalf("claimed %v, %v", claimed, err)
		}
		at := c.clock.Now()
		results := []monitor.CheckResult{
			{MonitorID: id, StartedAt: at, Status: monitor.CheckOK},
			{
				MonitorID: id, StartedAt: at.Add(monitor.MinCheckInterval), Status: monitor.CheckFailed,
				Reason: "HTTP 502 (expected 200–299)", Body: "secret?", Answered: true,
			},
		}
		for i := range results {
			results[i].Version, results[i].DueAt, results[i].Replica = claimed[0].Version, claimed[0].DueAt, "r"
			results[i].Phases = monitor.CheckPhases{Total: 1_234_567, Connect: 1_000_000}
		}
		if err := c.store.RecordCheckResults(t.Context(), results); err != nil {
			t.Fatal(err)
		}
		path := "/api/v1/monitors/" + id + "/results"
		rows := c.get(path).is(200).rows()
		if len(rows) != 2 || rows[0]["status"] != "failed" || rows[0]["body"] != "secret?" ||
			rows[1]["status"] != "ok" || rows[0]["reason"] != "HTTP 502 (expected 200–299)" {
			t.Errorf("results: %v", rows)
		}
		phases := rows[0]["phases"].(map[string]any)
		if phases["connect"] != 0.001 || phases["total"] != 0.001234 || phases["dns"] != nil {
			t.Errorf("phases: %v", phases)
		}
		if rows := c.with(c.issue(kernel.ScopeRead)).get(path).is(200).rows(); rows[0]["body"] != nil {
			t.Errorf("a reader sees the response: %v", rows[0])
		}
		if n := len(c.get(path + "?per_page=1&page=2").is(200).rows()); n != 1 {
			t.Errorf("the second page has %d results", n)
		}
		job := c.post("/api/v1/monitors", map[string]any{"name": "Job", "interval": 60}).is(201).id()
		if n := len(c.get("/api/v1/monitors/" + job + "/results").is(200).rows()); n != 0 {
			t.Errorf("a heartbeat has %d results", n)
		}
	})
}

// claimCheck claims the only check that is due, and returns a function that records a result of it.
func (c *client) claimCheck() (record func(location string, status monitor.CheckStatus)) {
	c.t.Helper()
	claimed, _, err := c.store.ClaimChecks(c.t.Context(), store.CheckClaim{Replica: "r", Limit: 10})
	if err != nil || len(claimed) != 1 {
		c.t.Fatalf("claimed %v, %v", claimed, err)
	}
	return func(location string, status monitor.CheckStatus) {
		c.t.Helper()
		r := monitor.CheckResult{
			MonitorID: claimed[0].MonitorID, Version: claimed[0].Version, Replica: "r", DueAt: claimed[0].DueAt,
			StartedAt: c.clock.Now(), Status: status, Location: location, Reason: "because", Body: "secret?",
		}
		if err := c.store.RecordCheckResults(c.t.Context(), []monitor.CheckResult{r}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestExplainedViews compares what explains a check: the last result of each location, and when no check could tell
// whether the target works.
func TestExplainedViews(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		id := c.post("/api/v1/monitors", map[string]any{
			"name": "x", "type": "tcp", "host": "localhost", "port": 1,
		}).is(201).id()
		path := "/api/v1/monitors/" + id + "/explain"
		check := func() map[string]any { return c.get(path).is(200).data()["check"].(map[string]any) }
		if got := check(); len(got["gaps"].([]any)) != 0 || len(got["views"].([]any)) != 0 {
			t.Errorf("before the first check: %v", got)
		}
		record := c.claimCheck()
		record("virginia", monitor.CheckFailed)
		from := c.clock.Now()
		record("frankfurt", monitor.CheckUnknown)
		c.clock.Advance(time.Second)
		gaps := check()["gaps"].([]any)
		if len(gaps) != 1 ||
			gaps[0].(map[string]any)["from"] != kernel.FormatTime(from) || gaps[0].(map[string]any)["to"] != nil ||
			gaps[0].(map[string]any)["cause"] != "unknown_results" {
			t.Errorf("an open gap: %v", gaps)
		}
		c.clock.Advance(time.Hour - time.Second)
		record("frankfurt", monitor.CheckFailed)
		got := check()
		gaps = got["gaps"].([]any)
		if len(gaps) != 1 || gaps[0].(map[string]any)["to"] != kernel.FormatTime(from.Add(time.Hour)) {
			t.Errorf("a gap that has ended: %v", gaps)
		}
		views := got["views"].([]any)
		if len(views) != 2 {
			t.Fatalf("views: %v", views)
		}
		for i, location := range []string{"frankfurt", "virginia"} {
			view := views[i].(map[string]any)
			if view["location"] != location || view["status"] != "failed" || view["body"] != "secret?" {
				t.Errorf("the view of %s: %v", location, view)
			}
		}
		c.clock.Advance(time.Hour)
		if err := c.store.RecordLiveness(t.Context(), store.LivenessRecord{Replica: "r"}); err != nil {
			t.Fatal(err)
		}
		if n, err := c.store.TickChecks(t.Context()); err != nil || n != 1 || got["late"] != false {
			t.Errorf("%d checks are late (%v), before: %v", n, err, got["late"])
		}
		late := check()
		gap := late["gaps"].([]any)[0].(map[string]any)
		if late["late"] != true || gap["cause"] != "late_checks" ||
			len(c.get("/api/v1/monitors?state=late").is(200).rows()) != 1 {
			t.Errorf("late: %v", late)
		}
		reader := c.with(c.issue(kernel.ScopeRead)).get(path).is(200).data()["check"].(map[string]any)
		if view := reader["views"].([]any)[0].(map[string]any); view["body"] != nil || view["reason"] != "because" {
			t.Errorf("a reader sees %v", view)
		}
		c.stranger().get(path).is(404)
	})
}

// TestParents gives monitors parents.
func TestParents(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		router := c.post("/api/v1/monitors", map[string]any{
			"name": "Router", "type": "tcp", "host": "localhost", "port": 1,
		}).is(201).id()
		shop := c.post("/api/v1/monitors", map[string]any{
			"name": "Shop", "interval": 60, "parent_id": "router",
		}).is(201).has(map[string]any{"parent_id": router}).id()
		c.patch("/api/v1/monitors/"+router, map[string]any{"parent_id": shop}).complains("parent_id")
		c.patch("/api/v1/monitors/"+shop, map[string]any{"parent_id": nil}).is(200).has(map[string]any{
			"parent_id": nil,
		})
		c.patch("/api/v1/monitors/"+router, map[string]any{"parent_id": shop}).is(200).has(map[string]any{
			"parent_id": shop,
		})
		c.patch("/api/v1/monitors/"+shop, map[string]any{"parent_id": router}).complains("parent_id")
		c.stranger().post("/api/v1/monitors", map[string]any{
			"name": "x", "interval": 60, "parent_id": router,
		}).complains("parent_id")
	})
}

// testPath is the path that tests a monitor which does not exist.
const testPath = "/api/v1/monitors/test"

// TestObjectsWithTheSlugTest: POST to the path is a test, and everything else is about the object.
func TestObjectsWithTheSlugTest(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for path, of := range map[string]struct{ object, test map[string]any }{
			testPath: {map[string]any{"interval": 60},
				map[string]any{"type": "tcp", "host": "127.0.0.1", "port": openPort(t)}},
			"/api/v1/channels/test": {map[string]any{"type": "webhook", "url": sink()},
				map[string]any{"type": "webhook", "url": sink()}},
			"/api/v1/alert-rules/test": {map[string]any{"channel_ids": []string{w.channel}},
				map[string]any{"event": "monitor.down"}},
		} {
			c.get(path).is(404)
			of.object["name"] = "Test"
			made := c.post(strings.TrimSuffix(path, "/test"), of.object).is(201).has(map[string]any{"slug": "test"})
			c.get(path).is(200).has(map[string]any{"id": made.id()})
			c.patch(path, map[string]any{"name": "Other"}).is(200).has(map[string]any{"id": made.id(), "name": "Other"})
			c.post(path, of.test).is(200)
			of.object["slug"] = "test"
			c.put(path, of.object).is(200).has(map[string]any{"id": made.id(), "name": "Test"})
			c.delete(path).is(204)
			c.put(path, of.object).is(201)
			a := c.do("OPTIONS", path, nil).is(405)
			if !slices.Contains(strings.Split(a.header.Get("Allow"), ", "), "PUT") {
				t.Errorf("%s: Allow is %q", path, a.header.Get("Allow"))
			}
		}
	})
}

// TestEveryTypeIsConfigured creates a monitor of each type with the examples of its fields, and sends what GET shows
// back.
func TestEveryTypeIsConfigured(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		for _, body := range exampleChecks() {
			slug := fmt.Sprint(body["type"])
			target := "/api/v1/monitors/of-" + slug
			c.put(target, body).is(201).has(map[string]any{"type": slug})
			shown := c.get(target).is(200).data()
			again := c.put(target, shown).is(200).data()
			if diff := cmp.Diff(withoutTimes(shown), withoutTimes(again)); diff != "" {
				t.Errorf("%s: a PUT of what GET shows (-shown +got):\n%s", slug, diff)
			}
			raw, err := json.Marshal(shown)
			if err != nil || !json.Valid(raw) {
				t.Error(err)
			}
		}
	})
}

// TestUnreadableSecretsAreNotTested: a test of a monitor whose secrets cannot be opened asks for them, and does not
// reach the target without them.
func TestUnreadableSecretsAreNotTested(t *testing.T) {
	t.Parallel()
	dsn, clk := storetest.SQLite(t), newClock()
	c := newClient(t, storetest.Open(t, dsn, store.Options{Clock: clk.Now}), clk, Config{})
	var requests atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer target.Close()
	id := c.post("/api/v1/monitors", map[string]any{
		"name": "x", "type": "http", "url": target.URL, "username": "me", "password": "hunter2",
	}).is(201).id()
	c.post("/api/v1/monitors/"+id+"/test", nil).is(200)
	key := filepath.Join(filepath.Dir(storetest.Path(dsn)), "allswell.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("another key ", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.post("/api/v1/monitors/"+id+"/test", nil).complains("password")
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests reached the target", n)
	}
}

// TestChangesOfFieldsAtTheSameTime: of several changes of different fields of a check, none is lost.
func TestChangesOfFieldsAtTheSameTime(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const target = "/api/v1/monitors/shop"
		c.put(target, map[string]any{"name": "Shop", "type": "http", "url": "http://localhost/"}).is(201)
		for round := range 20 {
			fields := map[string]any{
				"body_contains": fmt.Sprint("a", round), "body_not_contains": fmt.Sprint("b", round),
				"body": fmt.Sprint("c", round),
			}
			var all sync.WaitGroup
			for name, value := range fields {
				all.Go(func() {
					if a := c.patch(target, map[string]any{name: value}); a.status != 200 {
						t.Errorf("%s = %d: %s", a.asked, a.status, a.body)
					}
				})
			}
			all.Wait()
			c.get(target).is(200).has(fields)
		}
	})
}
