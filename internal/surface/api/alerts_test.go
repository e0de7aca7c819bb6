package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// sink is a service that takes every message, except below /refuse.
var sink = sync.OnceValue(func() string {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})).URL
})

// buildAlerts adds what alerts are about to a world.
func (c *client) buildAlerts(w *world) {
	c.t.Helper()
	channel := func(name string) string {
		return c.post("/api/v1/channels", map[string]any{
			"type": "webhook", "name": name + w.slug, "url": sink() + "/" + w.slug,
		}).is(201).id()
	}
	w.channel, w.usedChannel = channel("Spare "), channel("Ops ")
	w.rule = c.post("/api/v1/alert-rules", map[string]any{
		"name": "Down " + w.slug, "channel_ids": []string{w.usedChannel},
	}).is(201).id()
	w.silence = c.post("/api/v1/silences", map[string]any{
		"tags": []string{"none"}, "ends_at": w.now.Add(time.Hour),
	}).is(201).id()
	w.onCall = c.post("/api/v1/on-call", map[string]any{
		"name":         "Team " + w.slug,
		"participants": []any{map[string]any{"name": "Ada", "channel_ids": []string{w.usedChannel}}},
	}).is(201).id()
	failing := c.post("/api/v1/monitors", map[string]any{
		"name": "Failing", "interval": 60, "page": w.slug, "auto_incidents": "off",
	}).is(201).id()
	c.signal(failing, store.NewSignal{Kind: "fail"})
	c.advanceAlerts()
	w.alert = c.get("/api/v1/alerts?monitor=" + failing).is(200).rows()[0]["id"].(string)
	c.delete("/api/v1/monitors/" + failing).is(204)
	c.advanceAlerts()
}

// advanceAlerts asks all rules that are due.
func (c *client) advanceAlerts() {
	c.t.Helper()
	for more := true; more; {
		var err error
		if more, _, err = c.store.AdvanceAlerts(context.Background()); err != nil {
			c.t.Fatal(err)
		}
	}
}

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// postHook creates the webhook Ops with a secret, and returns the response and the path of the channel.
func (c *client) postHook(url string) (answer, string) {
	c.t.Helper()
	made := c.post("/api/v1/channels", map[string]any{
		"type": "webhook", "name": "Ops", "url": url, "secret": hookSecret,
	}).is(201)
	return made, "/api/v1/channels/" + made.id()
}

func TestChannels(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		url := sink() + "/hook"
		made, _ := c.postHook(url)
		host := strings.TrimPrefix(sink(), "http://")
		made.has(map[string]any{
			"url_host": host, "secrets": []any{"secret", "url"}, "enabled": true, "max_per_minute": 10.0,
			"fallback_id": nil, "used_by": []any{},
		})
		if strings.Contains(string(made.body), hookSecret) || strings.Contains(string(made.body), "/hook") {
			t.Error("a secret is shown")
		}
		if byName := c.get("/api/v1/channels/Ops").is(200); byName.id() != made.id() {
			t.Errorf("by name: %s", byName.body)
		}
	})
}

func TestInvalidChannelIsRefused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		url := sink() + "/hook"
		made, path := c.postHook(url)
		c.post("/api/v1/channels", map[string]any{"type": "webhook", "name": "Ops", "url": url}).complains("name")
		c.post("/api/v1/channels", map[string]any{
			"type": "webhook", "name": "x", "url": "ftp://x", "topic": "x",
		}).complains("url", "topic")
		c.post("/api/v1/channels", map[string]any{"type": "webhook", "name": "x"}).complains("url")
		c.patch(path, map[string]any{"fallback_id": made.id()}).complains("fallback_id")
		c.patch(path, map[string]any{"type": "slack"}).complains("type")
		c.patch(path, map[string]any{"type": "webhook"}).is(200)
		// would be found only by its id
		for _, name := range []string{"test", "new", ".", "..", "chn_x", "two\nlines", "\ufffe"} {
			c.patch(path, map[string]any{"name": name}).complains("name")
		}
		for _, name := range []string{"test", "new", ".", ".."} {
			c.post("/api/v1/alert-rules", map[string]any{
				"name": name, "channel_ids": []string{made.id()},
			}).complains("name")
		}
	})
}

// TestSecretOfChannelStaysWithItsServer changes the URL of a webhook: only the same server keeps the secret.
func TestSecretOfChannelStaysWithItsServer(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		url := sink() + "/hook"
		_, path := c.postHook(url)
		host := strings.TrimPrefix(sink(), "http://")
		c.patch(path, map[string]any{"url": url + "/2", "max_per_minute": 5}).is(200).has(map[string]any{
			"secrets": []any{"secret", "url"}, "max_per_minute": 5.0, "url_host": host,
		})
		c.patch(path, map[string]any{"url": "https://other.example"}).complains("secret")
		c.patch(path, map[string]any{"url": "https://other.example", "secret": nil}).is(200).has(map[string]any{
			"secrets": []any{"url"}, "url_host": "other.example",
		})
	})
}

func TestChannelIsTested(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		url := sink() + "/hook"
		_, path := c.postHook(url)
		c.post(path+"/test", nil).is(200).has(map[string]any{"taken": true, "reason": nil})
		c.patch(path, map[string]any{"url": sink() + "/refuse"}).is(200)
		if a := c.post(path+"/test", nil).is(200).data(); a["taken"] != false || a["reason"] == nil {
			t.Errorf("a refused test: %v", a)
		}
		c.post("/api/v1/channels/test", map[string]any{"type": "webhook", "url": url}).is(200).has(map[string]any{
			"taken": true,
		})
		c.post("/api/v1/channels/test", map[string]any{"type": "webhook"}).complains("url")
	})
}

// TestChannelInUseStays checks that a channel names its rules, which have to be deleted before it.
func TestChannelInUseStays(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		made, path := c.postHook(sink() + "/hook")
		rule := c.post("/api/v1/alert-rules", map[string]any{
			"name": "Down", "channel_ids": []string{made.id()},
		}).is(201).has(map[string]any{"summary": "When a monitor is down, notify Ops."}).id()
		c.get(path).is(200).has(map[string]any{
			"used_by": []any{map[string]any{"kind": "rule", "id": rule, "name": "Down"}},
		})
		summary := map[string]any{"summary": "When a monitor tagged prod is down, notify Ops."}
		c.patch("/api/v1/alert-rules/"+rule, map[string]any{"tags": []string{"prod"}}).is(200).has(summary)
		c.get("/api/v1/alert-rules/" + rule).is(200).has(summary)
		if listed := c.get("/api/v1/alert-rules").is(200).rows(); listed[0]["summary"] != summary["summary"] {
			t.Errorf("the list has the summary %v", listed[0]["summary"])
		}
		c.delete(path).complains("id")
		c.delete("/api/v1/alert-rules/" + rule).is(204)
		c.delete(path).is(204)
		c.get(path).is(404)
	})
}

// TestTopicsAndURLsOfChannelsAreSecret looks for them in answers and in the audit log, and moves them to another
// server.
func TestTopicsAndURLsOfChannelsAreSecret(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const late = "x7Hq2-late-secret"
		for kind, fields := range map[string]map[string]any{
			"ntfy":    {"server_url": "https://ntfy.example.com", "topic": late},
			"sms":     {"to": "+4915112345678", "url": "https://sms.example.com/" + late + "?text={text}"},
			"webhook": {"url": "https://ops.example.com/" + late},
		} {
			fields["type"], fields["name"] = kind, kind
			path := "/api/v1/channels/" + c.post("/api/v1/channels", fields).is(201).id()
			c.patch(path, map[string]any{"enabled": false}).is(200)
			field := alert.LateSecrets[kind]
			for _, shown := range []string{path, "/api/v1/channels", "/api/v1/audit"} {
				body := string(c.get(shown).is(200).body)
				if strings.Contains(body, late) || !strings.Contains(body, `"`+field+`"`) {
					t.Errorf("the late secret in %s of %s: %s", shown, kind, body)
				}
			}
			c.patch(path, map[string]any{field: nil}).complains(field)
			switch kind {
			case "ntfy":
				c.patch(path, map[string]any{"server_url": "https://other.example.com"}).complains(field)
				c.patch(path, map[string]any{"server_url": "https://other.example.com", "topic": "other"}).is(200)
			case "sms":
				c.patch(path, map[string]any{"to": "+4915112345679"}).complains(field)
			}
		}
	})
}

// TestChannelWithoutTheKey checks that no test is sent to a channel whose secrets cannot be decrypted.
func TestChannelWithoutTheKey(t *testing.T) {
	dsn, clk := storetest.SQLite(t), newClock()
	open := func() *client {
		return newClient(t, storetest.Open(t, dsn, store.Options{Clock: clk.Now}), clk, Config{})
	}
	c := open()
	path := "/api/v1/channels/" +
		c.post("/api/v1/channels", map[string]any{
			"type": "webhook", "name": "Ops", "url": sink() + "/hook",
		}).is(201).id()
	c.post(path+"/test", nil).is(200).has(map[string]any{"taken": true})
	if err := c.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(strings.TrimPrefix(dsn, "sqlite:")), "allswell.key")); err != nil {
		t.Fatal(err)
	}
	c = open()
	c.post(path+"/test", nil).complains("url")
	health := c.get(path).is(200).data()["health"].(map[string]any)
	if health["secrets_unreadable"] != true || health["reason"] != nil {
		t.Errorf("the health of a channel without its key: %v", health)
	}
}

// TestTemplatesOfChannels checks that templates are saved, shown, refused and removed.
func TestTemplatesOfChannels(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		plain := map[string]any{"type": "webhook", "name": "Ops", "url": sink()}
		made := c.post("/api/v1/channels", plain).is(201)
		made.has(map[string]any{"title_template": nil, "text_template": nil})
		path := "/api/v1/channels/" + made.id()
		c.patch(path, map[string]any{
			"title_template": "[{{.Severity}}] {{.Title}}", "text_template": "{{.Count}}",
		}).is(200).
			has(map[string]any{"title_template": "[{{.Severity}}] {{.Title}}", "text_template": "{{.Count}}"})
		c.patch(path, map[string]any{
			"title_template": "{{.Nothing}}", "text_template": "{{range 9}}a{{end}}",
		}).is(422).complains("title_template", "text_template")
		c.patch(path, map[string]any{"title_template": nil, "text_template": ""}).is(200).has(map[string]any{
			"title_template": nil, "text_template": nil,
		})
		plain["name"], plain["text_template"] = "Other", strings.Repeat("a", alert.MaxTextTemplate+1)
		c.post("/api/v1/channels", plain).is(422).complains("text_template")
	})
}

// TestFieldsOfChannels checks what every field of every type of channels must satisfy, so that all surfaces can show
// it.
func TestFieldsOfChannels(t *testing.T) {
	for _, shared := range alertchannel.Fields() {
		for _, owner := range shared.Of {
			f := owner.Field
			if f.Kind != shared.Kind {
				t.Errorf("%s.%s differs from that of %s", owner.Type, f.Name, shared.Of[0].Type)
			}
			if f.Label == "" || f.Help == "" || f.Name != strings.ToLower(f.Name) ||
				f.Required && !f.Secret && f.Example == "" {
				t.Errorf("%s.%s has no label, no help or capitals, or is required and has no example", owner.Type,
					f.Name)
			}
		}
	}
}

func TestAlertRules(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		path := "/api/v1/alert-rules/" + c.post("/api/v1/alert-rules", map[string]any{
			"name": "Night", "events": []string{"monitor.down", "monitor.slow"}, "pages": []string{"acme"},
			"channel_ids": []string{w.channel}, "on_call_ids": []string{w.onCall}, "delay": 60, "repeat": 600,
			"quiet_hours": map[string]any{"zone": "UTC", "from": "22:00", "until": "07:00"},
			"escalation":  []any{map[string]any{"after": 300, "channel_ids": []string{w.usedChannel}}},
		}).is(201).id()
		before := c.get(path).is(200)
		quiet := before.data()["quiet_hours"].(map[string]any)
		if quiet["from"] != "22:00" || quiet["until"] != "07:00" {
			t.Errorf("quiet hours %v", quiet)
		}
		c.patch(path, map[string]any{"quiet_hours": nil, "escalation": []any{}, "on_call_ids": []string{}}).is(200).
			has(map[string]any{
				"quiet_hours": nil, "escalation": []any{}, "on_call_ids": []any{}, "channel_ids": []any{w.channel},
				"delay": 60.0,
			})
		c.unchanged(func() {
			c.patch(path, map[string]any{"channel_ids": []string{}}).complains("channel_ids")
			c.patch(path, map[string]any{
				"quiet_hours": map[string]any{"zone": "UTC", "from": "25:00", "until": "07:00", "dys": 1},
			}).complains("quiet_hours.from", "quiet_hours.dys")
			c.patch(path, map[string]any{
				"quiet_hours": map[string]any{"zone": "Nowhere/x", "from": "21:00", "until": "07:00"},
			}).complains("quiet_hours")
			c.patch(path, map[string]any{
				"escalation": []any{map[string]any{"after": 1, "channel_ids": []string{w.channel}}},
			}).complains("escalation")
			c.patch(path, map[string]any{
				"escalation": []any{map[string]any{"channel_ids": "x"}},
			}).complains("escalation", "escalation.0.after", "escalation.0.channel_ids")
			c.patch(path, map[string]any{"repeat": 59}).complains("repeat")
			c.patch(path, map[string]any{"pages": []string{"nowhere"}}).complains("pages")
		})
	})
}

// TestAlertForecast asks who would be notified in the middle of a night.
func TestAlertForecast(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.delete("/api/v1/alert-rules/" + w.rule).is(204)
		c.post("/api/v1/alert-rules", map[string]any{
			"name": "Night", "channel_ids": []string{w.channel}, "delay": 60,
			"quiet_hours": map[string]any{"zone": "UTC", "from": "22:00", "until": "07:00"},
			"escalation":  []any{map[string]any{"after": 300, "on_call_ids": []string{w.onCall}}},
		}).is(201)
		c.clock.Advance(time.Second)
		c.post("/api/v1/alert-rules", map[string]any{
			"name": "Tagged", "channel_ids": []string{w.channel}, "tags": []string{"database"},
		}).is(201)
		rules := c.post("/api/v1/alert-rules/test", map[string]any{
			"event": "monitor.down", "monitor": w.monitor, "at": "2030-01-05T23:00:00Z",
		}).is(200).data()["rules"].([]any)
		lines := forecastLines(rules)
		want := []string{
			"Night: 2030-01-05T23:01:00.000Z quiet_hours", "Night: 2030-01-06T07:00:00.000Z opened Spare acme",
			"Night: 2030-01-06T07:05:00.000Z escalated Ops acme (Ada)",
			"Tagged: differs in tags: The rule covers the tag database; the monitor has no tag.",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("the forecast is\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		tagged := c.post("/api/v1/alert-rules/test", map[string]any{
			"event": "monitor.down", "tags": []string{"database"},
		}).is(200).data()["rules"].([]any)
		rule := tagged[len(tagged)-1].(map[string]any)
		if rule["matches"] != true || rule["reason"] != nil || rule["repeat"] != nil {
			t.Errorf("of a tag that is given: %v", rule)
		}
		c.post("/api/v1/alert-rules", map[string]any{
			"name": "Again", "channel_ids": []string{w.channel}, "events": []string{"monitor.down", "service.gap"},
			"repeat": 300,
		}).is(201)
		for event, want := range map[string]any{
			"monitor.down": map[string]any{"every": 300.0, "times": 100.0}, "service.gap": nil,
		} {
			rules := c.post("/api/v1/alert-rules/test", map[string]any{"event": event}).is(200).data()["rules"].([]any)
			i := slices.IndexFunc(rules, func(r any) bool { return r.(map[string]any)["name"] == "Again" })
			if got := rules[i].(map[string]any)["repeat"]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the repetition is %v, want %v", event, got, want)
			}
		}
		c.post("/api/v1/alert-rules/test", map[string]any{
			"event": "monitor.down", "monitor": "nowhere", "page": "nowhere",
		}).complains("monitor", "page")
	})
}

// forecastLines returns a line for each step of a forecast, and for each rule that does not match.
func forecastLines(rules []any) (lines []string) {
	for _, r := range rules {
		rule := r.(map[string]any)
		if rule["differs"] != nil {
			lines = append(lines,
				rule["name"].(string)+": differs in "+rule["differs"].(string)+": "+rule["reason"].(string))
		}
		for _, s := range rule["steps"].([]any) {
			step := s.(map[string]any)
			line := rule["name"].(string) + ": " + step["at"].(string)
			for _, key := range []string{"kind", "held"} {
				if text, ok := step[key].(string); ok {
					line += " " + text
				}
			}
			for _, ch := range step["channels"].([]any) {
				line += " " + ch.(map[string]any)["name"].(string)
				if who, ok := ch.(map[string]any)["on_call"].(string); ok {
					line += " (" + who + ")"
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// TestAlertsAndSilences follows an alert that is silenced, sent and acknowledged.
func TestAlertsAndSilences(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		monitor := c.post("/api/v1/monitors", map[string]any{
			"name": "Shop", "interval": 60, "page": "acme", "auto_incidents": "off",
		}).is(201).id()
		silence := "/api/v1/silences/" +
			c.post("/api/v1/silences", map[string]any{
				"monitors": []string{"shop"}, "comment": "Move", "ends_at": c.clock.Now().Add(time.Hour),
			}).is(201).
				has(map[string]any{"monitors": []any{monitor}, "created_by": "test"}).id()
		c.signal(monitor, store.NewSignal{Kind: "fail"})
		c.advanceAlerts()
		found := c.get("/api/v1/alerts?state=open&event=monitor.down&monitor=shop").is(200).rows()
		if len(found) != 1 || found[0]["title"] != "Shop is down" || found[0]["page"] != "acme" {
			t.Fatalf("alerts: %v", found)
		}
		path := "/api/v1/alerts/" + found[0]["id"].(string)
		plans := c.get(path).is(200).data()["plans"].([]any)
		if len(plans) != 1 || plans[0].(map[string]any)["held"] != "silence" {
			t.Errorf("plans while it is silenced: %v", plans)
		}
		c.patch(silence, map[string]any{"comment": "two\r\n\tlines"}).is(200).has(map[string]any{
			"comment": "two\n\tlines",
		})
		c.patch(silence, map[string]any{"comment": "\u202e"}).complains("comment")
		c.delete(silence).is(204)
		if rows := c.get("/api/v1/silences").is(200).rows(); slices.ContainsFunc(rows, func(r map[string]any) bool {
			return "/api/v1/silences/"+r["id"].(string) == silence
		}) {
			t.Error("a silence that has ended is listed")
		}
		if rows := c.get("/api/v1/silences?ended=true").is(200).rows(); len(rows) != 2 {
			t.Errorf("with those that have ended: %v", rows)
		}
		c.patch(silence, map[string]any{"comment": "x"}).complains("ends_at")
		c.advanceAlerts()
		notices := c.get(path).is(200).data()["notices"].([]any)
		if len(notices) != 1 || notices[0].(map[string]any)["channel_id"] != w.usedChannel ||
			notices[0].(map[string]any)["kind"] != string(alert.NoticeOpened) {
			t.Errorf("notices: %v", notices)
		}
		c.post(path+"/acknowledge", nil).is(200).has(map[string]any{"state": "acknowledged", "acknowledged_by": "test"})
		if rows := c.get("/api/v1/alerts?state=open").is(200).rows(); len(rows) != 0 {
			t.Errorf("open: %v", rows)
		}
		c.get("/api/v1/alerts?state=x&event=x").complains("state", "event")
	})
}

func TestOnCallSchedules(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		person := func(name string) map[string]any {
			return map[string]any{"name": name, "channel_ids": []string{w.channel}}
		}
		// On the day of the hand-over, the first week has not begun before it.
		inThisWeek := strings.ToLower(c.clock.Now().AddDate(0, 0, -3).Format("Mon"))
		made := c.post("/api/v1/on-call", map[string]any{
			"name": "Night shift", "zone": "Europe/Berlin", "hand_over_at": "08:00", "hand_over_day": inThisWeek,
			"participants": []any{person("Ada"), person("Bob")},
		}).is(201).has(map[string]any{"slug": "night-shift", "hand_over_at": "08:00", "now": "Ada"})
		if next := made.data()["next"].([]any); len(next) != 10 || next[1].(map[string]any)["participant"] != "Bob" {
			t.Errorf("next: %v", next)
		}
		path := "/api/v1/on-call/night-shift"
		override := map[string]any{
			"participant": "bob", "starts_at": c.clock.Now().Add(-time.Hour), "ends_at": c.clock.Now().Add(time.Hour),
		}
		changed := c.patch(path, map[string]any{"overrides": []any{override}}).is(200).has(map[string]any{"now": "Bob"})
		c.patch(path, map[string]any{"overrides": changed.data()["overrides"]}).is(200).has(map[string]any{
			"overrides": changed.data()["overrides"],
		})
		c.patch(path, map[string]any{
			"overrides": []any{
				map[string]any{
					"participant": "Eve", "starts_at": c.clock.Now(), "ends_at": c.clock.Now().Add(time.Hour),
				},
			},
		}).complains("overrides")
		c.patch(path, map[string]any{
			"overrides": []any{
				map[string]any{
					"participant": "Ada", "starts_at": c.clock.Now().Add(-time.Hour), "ends_at": c.clock.Now(),
				},
			},
		}).complains("overrides")
		alone := map[string]any{"participants": []any{person("Ada")}}
		c.patch(path, alone).complains("overrides")
		c.clock.Advance(time.Hour)
		// it has ended
		c.patch(path, alone).is(200).has(map[string]any{"overrides": changed.data()["overrides"], "now": "Ada"})
		c.patch(path, map[string]any{
			"hand_over_at": "8", "starts_on": "tomorrow", "zone": "x",
		}).complains("hand_over_at", "starts_on", "zone")
		c.post("/api/v1/on-call", map[string]any{"name": "x", "slug": "night-shift"}).complains("slug")
		c.delete("/api/v1/channels/" + w.channel).complains("id")
		c.delete(path).is(204)
	})
}
