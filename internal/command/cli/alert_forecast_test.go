package cli

import (
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// TestForecastOutput compares what `alert rule test` prints: repetitions to the same channels are one line.
func TestForecastOutput(t *testing.T) {
	const forecast = `{"event": "monitor.down", "severity": "major", "at": "2026-11-26T00:00:00.000Z", "rules": [
		{"id": "rul_1", "name": "Databases", "matches": false, "differs": "tags", "reason": "The rule covers the tag db; the monitor has the tag web."},
		{"id": "rul_2", "name": "Ops", "matches": true, "repeat": {"every": 300, "times": 100}, "steps": [
			{"at": "2026-11-26T00:00:00.000Z", "kind": "opened", "channels": [
				{"id": "chn_1", "name": "Phone", "on_call": "Ada", "fallbacks": [{"id": "chn_2", "name": "Mail"}, {"id": "chn_3", "name": "Chat"}]}, {"id": "chn_4", "name": "SMS"}]},
			{"at": "2026-11-26T00:05:00.000Z", "kind": "repeated", "channels": [{"id": "chn_4", "name": "SMS"}]},
			{"at": "2026-11-26T00:10:00.000Z", "kind": "repeated", "channels": [{"id": "chn_4", "name": "SMS"}]},
			{"at": "2026-11-26T00:15:00.000Z", "kind": null, "held": "quiet_hours", "channels": []},
			{"at": "2026-11-26T01:00:00.000Z", "kind": "repeated", "channels": [{"id": "chn_4", "name": "SMS"}]},
			{"at": "2026-11-26T01:05:00.000Z", "kind": "repeated", "channels": [], "disabled": [{"id": "chn_5", "name": "Pager"}]}]},
		{"id": "rul_3", "name": "All", "matches": true, "steps": [{"at": "2026-11-26T00:00:00.000Z", "kind": "opened", "channels": [], "informed": [{"id": "chn_4", "name": "SMS"}]}]},
		{"id": "rul_4", "name": "Night", "matches": true, "steps": [{"at": "2026-11-26T00:00:00.000Z", "kind": "opened", "channels": []}]}]}`
	const want = `Databases: no one. The rule covers the tag db; the monitor has the tag web.
Ops:
  2026-11-26 00:00:00 +00:00  opened     Phone (Ada is on call; if Phone fails: Mail, then Chat), SMS
  2026-11-26 00:05:00 +00:00  repeated   SMS, then every 5m until acknowledged, up to 100 times
  2026-11-26 00:15:00 +00:00  -          no one, in quiet hours
  2026-11-26 01:00:00 +00:00  repeated   SMS, then every 5m until acknowledged, up to 100 times
  2026-11-26 01:05:00 +00:00  repeated   Pager (disabled, would not be notified), then every 5m until acknowledged, up to 100 times
All:
  2026-11-26 00:00:00 +00:00  opened     no one: all of its channels were notified by another rule
Night:
  2026-11-26 00:00:00 +00:00  opened     no one: no one is on call, or has a channel
`
	status, stdout, stderr := against(t, answer(200, "", "", `{"data": `+forecast+`}`), "alert", "rule", "test")
	if status != console.ExitDone || stdout != want {
		t.Errorf("status %d %s\ngot\n%swant\n%s", status, stderr, stdout, want)
	}
}
