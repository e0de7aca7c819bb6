package i18n

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

func TestPeriod(t *testing.T) {
	at := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, time.UTC)
	}
	for _, c := range []struct {
		language, zone, want string
		from, until          time.Time
	}{
		{"en", "UTC", "1 Mar 2026, 10:00–12:30 UTC", at(3, 1, 10, 0), at(3, 1, 12, 30)},
		{"en", "UTC", "1 Mar 2026, 22:00 – 2 Mar 2026, 00:00 UTC", at(3, 1, 22, 0), at(3, 2, 0, 0)},
		{"en", "America/New_York", "1 Mar 2026, 17:00–19:00 EST", at(3, 1, 22, 0), at(3, 2, 0, 0)},
		{"en", "Europe/Berlin", "29 Mar 2026, 01:30 CET – 03:30 CEST", at(3, 29, 0, 30), at(3, 29, 1, 30)},
		{"en", "Europe/Berlin", "20 Mar 2026, 09:00 CET – 10 Apr 2026, 10:00 CEST", at(3, 20, 8, 0), at(4, 10, 8, 0)},
		{"en", "America/Sao_Paulo", "1 Mar 2026, 07:00–09:00 UTC-03:00", at(3, 1, 10, 0), at(3, 1, 12, 0)},
		{"en", "Asia/Kathmandu", "1 Mar 2026, 15:45–17:45 UTC+05:45", at(3, 1, 10, 0), at(3, 1, 12, 0)},
		{"de", "Europe/Berlin", "1. März 2026, 11:00–13:30 MEZ", at(3, 1, 10, 0), at(3, 1, 12, 30)},
		{"de", "Europe/Berlin", "29. März 2026, 01:30 MEZ – 03:30 MESZ", at(3, 29, 0, 30), at(3, 29, 1, 30)},
		{"ar", "UTC", "من 1 مارس 2026، 10:00 إلى 12:30 UTC", at(3, 1, 10, 0), at(3, 1, 12, 30)},
	} {
		zone := statuspage.Page{TimeZone: c.zone}.Location()
		if got := languageOf(t, c.language).Period(c.from.In(zone), c.until.In(zone)); got != c.want {
			t.Errorf("Period in %s, %s = %s, want %s", c.language, c.zone, got, c.want)
		}
	}
}
