package cli

import (
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// TestMonitorTexts compares what is said of monitors that wait for pings, and of checks, which wait for none.
func TestMonitorTexts(t *testing.T) {
	const due = `"next_check_at": "2026-11-26T04:00:00.000Z"`
	for _, c := range []struct{ args, data, want string }{
		{"monitor resume|mon_1", `{"name": "Backup", ` + due + `}`,
			"Resumed the monitor Backup. Next ping expected by 2026-11-26 04:00:00 +00:00.\n"},
		{"monitor resume|mon_1", `{"name": "Backup"}`, "Resumed the monitor Backup. Waiting for the first ping.\n"},
		{"monitor resume|mon_1", `{"name": "Shop", "type": "http", ` + due + `}`,
			"Resumed the monitor Shop. Next check 2026-11-26 04:00:00 +00:00.\n"},
		{"monitor list",
			`[{"id": "mon_1", "name": "Backup", "slug": "backup", "state": "up", "enabled": true, "schedule": ` +
				`{"kind": "interval", "interval": 60}}]`,
			"MONITOR  STATE    SCHEDULE  LAST PING  PAGE  NAME\nmon_1    waiting  1m        never      -     Backup\n"},
		{"monitor list|--wide",
			`[{"id": "mon_1", "name": "Backup", "slug": "backup", "state": "up", "enabled": true, "schedule": ` +
				`{"kind": "interval", "interval": 60}}]`,
			"MONITOR  STATE    SCHEDULE  LAST PING  PAGE  NAME    SLUG\nmon_1    waiting  1m        never      -     " +
				"Backup  backup\n"},
		{"monitor list",
			`[{"id": "mon_1", "name": "Backup", "slug": "backup", "state": "up", "condition": "late", "enabled": ` +
				`true, "last_ping_at": "2026-11-26T04:00:00.000Z", "schedule": {"kind": "interval", "interval": 60}}]`,
			"MONITOR  STATE  SCHEDULE  LAST PING                   PAGE  NAME\nmon_1    late   1m        2026-11-26 " +
				"04:00:00 +00:00  -     Backup\n"},
		{"monitor outages|mon_1",
			`[{"silent_since": "2026-11-26T04:00:00.000Z", "started_at": "2026-11-26T04:00:00.000Z", "reason": ` +
				`"failed"}, {"silent_since": "2026-11-26T03:00:00.000Z", "started_at": "2026-11-26T04:00:00.000Z", ` +
				`"reason": "silent"}]`,
			"LAST PING                   DOWN                        ENDED  WHY      INCIDENT\nnever                 " +
				"      2026-11-26 04:00:00 +00:00  -      failure  -\n2026-11-26 03:00:00 +00:00  2026-11-26 " +
				"04:00:00 +00:00  -      no ping  -\n"},
		{"monitor outages|mon_1",
			`[{"silent_since": "2026-11-26T04:00:00.000Z", "started_at": "2026-11-26T04:00:00.000Z", "reason": ` +
				`"check_failed"}]`,
			"DOWN                        ENDED  WHY            INCIDENT\n2026-11-26 04:00:00 +00:00  -      checks " +
				"failed  -\n"},
		{"monitor explain|mon_1",
			`{"state": "up", "as_of": "2026-11-26T04:00:00.000Z", "check": {"unknown_since": "2026-11-26T03:00:00.000Z", "late": true, "status": "ok", "gaps": [
			{"from": "2026-11-26T03:00:00.000Z", "to": null, "cause": "late_checks"}, {"from": "2026-11-25T03:00:00.000Z", "to": "2026-11-25T04:00:00.000Z", "cause": "late_checks"},
			{"from": "2026-11-24T03:00:00.000Z", "to": "2026-11-24T04:00:00.000Z", "cause": "unknown_results"}, {"from": "2026-11-23T03:00:00.000Z", "to": "2026-11-23T04:00:00.000Z", "cause": null}]}}`,
			"The last check succeeded.\n" +
				"Not checked since 2026-11-26 03:00:00 +00:00, when a check was due: checks are late, and the state " +
				"is unknown until the next result.\n" +
				"No data from 2026-11-25 03:00:00 +00:00 to 2026-11-25 04:00:00 +00:00: the checks were late.\n" +
				"No data from 2026-11-24 03:00:00 +00:00 to 2026-11-24 04:00:00 +00:00: the server's own network did " +
				"not work, or it was not allowed to connect to the target.\n" +
				"No data from 2026-11-23 03:00:00 +00:00 to 2026-11-23 04:00:00 +00:00.\n"},
	} {
		status, stdout, stderr := against(t, answer(200, "", "", `{"data": `+c.data+`, "meta": {"total": 1}}`),
			expand(c.args)...)
		if status != console.ExitDone || stdout != c.want {
			t.Errorf("%s: status %d %s\ngot\n%swant\n%s", c.args, status, stderr, stdout, c.want)
		}
	}
}
