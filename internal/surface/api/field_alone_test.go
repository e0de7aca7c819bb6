package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// fieldsThatDiffer returns the names of the fields of two objects that differ, but for the time of the change.
func fieldsThatDiffer(a, b map[string]any) (names []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	delete(all, "updated_at")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x, _ := json.Marshal(a[name])
		y, _ := json.Marshal(b[name])
		if string(x) != string(y) {
			names = append(names, name)
		}
	}
	return names
}

// TestEachFieldIsChangedAlone changes one field of an object of alerts or jobs after the other: it becomes what is
// given, and no other field changes except fields that follow from it.
func TestEachFieldIsChangedAlone(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")

		for path, changes := range fieldChanges(c, w) {
			c.clock.Advance(time.Second)
			for _, name := range slices.Sorted(maps.Keys(changes)) {
				before := c.get(path).is(200).data()
				a := c.patch(path, map[string]any{name: changes[name]}).is(200)
				want := changes[name]
				if want == "" {
					want = nil
				}
				a.has(map[string]any{name: want})
				changed := slices.DeleteFunc(fieldsThatDiffer(before, a.data()), func(field string) bool {
					return slices.Contains(strings.Fields(follows[name]), field)
				})
				if !slices.Equal(changed, []string{name}) {
					t.Errorf("%s: %s has changed %v, want %[2]s alone", path, name, changed)
				}
				if diff := fieldsThatDiffer(a.data(), c.get(path).is(200).data()); diff != nil {
					t.Errorf("%s: after a change of %s, other values of %v are saved than shown", path, name, diff)
				}
			}
		}
	})
}

// fieldChanges returns values of fields of objects of alerts and jobs by the path of the object.
func fieldChanges(c *client, w world) map[string]map[string]any {
	type list = []any
	type object = map[string]any
	at := func(d time.Duration) string { return stamp(w.now.Add(d)) }
	target := func(channels, schedules list) object {
		return object{"channel_ids": channels, "on_call_ids": schedules}
	}
	page := c.get("/api/v1/pages/acme").is(200).data()["id"]
	step, quiet := target(list{w.usedChannel}, list{w.onCall}), target(list{}, list{w.onCall})
	step["after"] = 90.0
	maps.Copy(quiet, object{"zone": "Asia/Tokyo", "from": "23:15", "until": "06:45", "days": list{"sun"}})
	filter := object{
		"events": list{"monitor.slow"}, "pages": list{page}, "monitors": list{w.monitor}, "tags": list{"db"},
		"severities": list{"major"},
	}
	rule := object{
		"name": "New", "enabled": false, "channel_ids": list{w.channel}, "on_call_ids": list{w.onCall},
		"delay": 61.0, "repeat": 3601.0, "quiet_hours": quiet, "escalation": list{step},
	}
	maps.Copy(rule, filter)
	silence := object{"comment": "Why", "starts_at": at(time.Minute), "ends_at": at(3 * time.Hour)}
	maps.Copy(silence, filter)
	return map[string]map[string]any{
		"/api/v1/alert-rules/" + w.rule: rule, "/api/v1/silences/" + w.silence: silence,
		"/api/v1/on-call/" + w.onCall: {
			"name": "New", "zone": "Asia/Tokyo", "hand_over_day": "sun", "hand_over_at": "23:45",
			"starts_on": "2026-11-20",
			"participants": list{
				object{"name": "Ada", "channel_ids": list{w.usedChannel}},
				object{
					"name":        "Bob",
					"channel_ids": list{min(w.channel, w.usedChannel), max(w.channel, w.usedChannel)},
				},
			},
		},
		"/api/v1/channels/" + w.channel: {
			"name": "New", "enabled": false, "max_per_minute": 59.0, "fallback_id": w.usedChannel,
			"test_weekly": true, "title_template": "{{.Title}}", "text_template": "x",
		},
		"/api/v1/incident-templates/" + w.template: {
			"name": "New", "title": "New", "impact": "minor", "state": "monitoring", "message": "New", "page": "",
		},
		"/api/v1/monitors/" + w.monitor: {
			"name": "New", "enabled": false, "interval": 61.0, "grace": 59.0, "failure_threshold": 7.0,
			"down_status": "degraded", "auto_incidents": "draft", "tags": list{"db", "prod"}, "max_runtime": 61.0,
			"publish_output": true, "min_runtime": 2.0, "max_per_interval": 3.0, "no_overlap": true,
			"max_runtime_action": "warn", "min_runtime_action": "down", "max_per_interval_action": "down",
			"no_overlap_action": "down", "component_id": "", "paused_until": at(time.Hour),
		},
	}
}

// follows are the fields that may change with another one.
var follows = map[string]string{
	"name": "summary about used_by", "events": "summary about", "pages": "summary about", "monitors": "summary about",
	"tags": "summary about", "severities": "summary about",
	"enabled":      "state condition next_check_at paused_until consecutive_failures",
	"paused_until": "enabled state condition next_check_at",
	"channel_ids":  "summary", "on_call_ids": "summary", "delay": "summary", "repeat": "summary",
	"quiet_hours": "summary", "escalation": "summary",
	"zone": "next now", "hand_over_day": "next now", "hand_over_at": "next now", "starts_on": "next now",
	"participants": "next now",
	"interval":     "schedule next_check_at", "grace": "next_check_at",
	"failure_threshold": "effective_failure_threshold",
}
