package dashboard

import (
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// TestUptimeOfYoungMonitors checks that the uptime of little time does not look like that of a whole period.
func TestUptimeOfYoungMonitors(t *testing.T) {
	now := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		period, age time.Duration
		want        string
	}{
		{24 * time.Hour, 0, "unknown"},
		{24 * time.Hour, 12 * time.Minute, "–"},
		{24 * time.Hour, 5*time.Hour + 10*time.Minute, "100 % of 5 hours"},
		{24 * time.Hour, 24 * time.Hour, "100 %"},
		{24 * time.Hour, 23*time.Hour + 30*time.Minute, "100 %"},
		{30 * 24 * time.Hour, 76 * time.Hour, "100 % of 3 days"},
	} {
		u := store.MonitorUptime{Period: c.period, StatusDurations: allswell.MonitorDurations(nil, nil, now.Add(-c.age), now)}
		if got := uptimeText(u); got != c.want {
			t.Errorf("of %s in %s: %q, want %q", c.age, c.period, got, c.want)
		}
	}
}
