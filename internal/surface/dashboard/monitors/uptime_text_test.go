package monitors

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store"
)

// TestUptimeOfPartOfAPeriod checks that the uptime of little time does not look like the uptime of a whole period.
func TestUptimeOfPartOfAPeriod(t *testing.T) {
	now := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		period, age, gap time.Duration
		want             string
	}{
		{24 * time.Hour, 0, 0, "unknown"},
		{24 * time.Hour, 12 * time.Minute, 0, "–"},
		{24 * time.Hour, 5*time.Hour + 10*time.Minute, 0, "100 % (5 h known)"},
		{24 * time.Hour, 24 * time.Hour, 0, "100 %"},
		{24 * time.Hour, 23*time.Hour + 30*time.Minute, 0, "100 %"},
		{30 * 24 * time.Hour, 76 * time.Hour, 0, "100 % (3 d known)"},
		{30 * 24 * time.Hour, 30 * 24 * time.Hour, 48 * time.Hour, "100 % (28 d known)"},
	} {
		gap := schedule.ListeningGap{From: now.Add(-c.gap), To: now}
		u := store.MonitorUptime{
			Period:          c.period,
			StatusDurations: monitor.MonitorDurations(nil, []schedule.ListeningGap{gap}, now.Add(-c.age), now),
		}
		if got := monitorUptime(u); got != c.want {
			t.Errorf("of %s in %s without %s: %q, want %q", c.age, c.period, c.gap, got, c.want)
		}
		note := (monitorScreen{
			MonitorDetail: store.MonitorDetail{Uptimes: []store.MonitorUptime{u}},
		}).UptimeNote()
		if (note != "") != (c.want == "–") {
			t.Errorf("of %s in %s the note is %q", c.age, c.period, note)
		}
	}
}
