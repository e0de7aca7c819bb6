package cli

import (
	"testing"

	"github.com/allswell/allswell/internal/console"
)

// TestMonitorTexts compares what is said of monitors that wait for pings, and of checks, which wait for none.
func TestMonitorTexts(t *testing.T) {
	const due = `"next_check_at": "2026-11-26T04:00:00.000Z"`
	for _, c := range []struct{ args, data, want string }{
		{"monitor resume|mon_1", `{"name": "Backup", ` + due + `}`, "Resumed the monitor Backup. The next ping is due by 2026-11-26 04:00:00 +00:00.\n"},
		{"monitor resume|mon_1", `{"name": "Backup"}`, "Resumed the monitor Backup. It waits for its first ping.\n"},
		{"monitor resume|mon_1", `{"name": "Shop", "type": "http", ` + due + `}`, "Resumed the monitor Shop. The next check is at 2026-11-26 04:00:00 +00:00.\n"},
		{"monitor list", `[{"id": "mon_1", "name": "Backup", "slug": "backup", "state": "up", "enabled": true, "schedule": {"kind": "interval", "interval": 60}}]`,
			"MONITOR  STATE    SCHEDULE  LAST PING  PAGE  NAME\nmon_1    waiting  1m        never      -     Backup\n"},
		{"monitor list|--wide", `[{"id": "mon_1", "name": "Backup", "slug": "backup", "state": "up", "enabled": true, "schedule": {"kind": "interval", "interval": 60}}]`,
			"MONITOR  STATE    SCHEDULE  LAST PING  PAGE  NAME    SLUG\nmon_1    waiting  1m        never      -     Backup  backup\n"},
	} {
		status, stdout, stderr := against(t, answer(200, "", "", `{"data": `+c.data+`, "meta": {"total": 1}}`), expand(c.args)...)
		if status != console.ExitDone || stdout != c.want {
			t.Errorf("%s: status %d %s\ngot\n%swant\n%s", c.args, status, stderr, stdout, c.want)
		}
	}
}
