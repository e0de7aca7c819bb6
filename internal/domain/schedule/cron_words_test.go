package schedule_test

import (
	"testing"

	"github.com/allswell/allswell/internal/domain/schedule"
)

func TestCronWords(t *testing.T) {
	for expression, want := range map[string]string{
		"0 6 1 * *":             "06:00 on the 1st of each month",
		"5 16 2 * *":            "16:05 on the 2nd of each month",
		"0 0 13 * *":            "00:00 on the 13th of each month",
		"0 0 23 * *":            "00:00 on the 23rd of each month",
		"30 2 * * *":            "02:30 every day",
		"0 6 * * 1":             "06:00 on Mondays",
		"0 6 * * 7":             "06:00 on Sundays",
		"0 6 * * SUN":           "06:00 on Sundays",
		"0 6 * * mon-fri":       "06:00 Monday to Friday",
		"0 6 * * 1-5":           "06:00 Monday to Friday",
		"* * * * *":             "every minute",
		"*/1 * * * *":           "every minute",
		"*/15 * * * *":          "every 15 min",
		"0 * * * *":             "every hour",
		"5 * * * *":             "every hour at :05",
		"*/7 * * * *":           "*/7 * * * *",
		"0 6,18 * * *":          "0 6,18 * * *",
		"0 6 1 * 1":             "0 6 1 * 1",
		"0 6 * * 1,3":           "0 6 * * 1,3",
		"0 6 * * 1-":            "0 6 * * 1-",
		"0 6 * 1 *":             "0 6 * 1 *",
		"@daily":                "@daily",
		"0 6 1 * *\n0 6 15 * *": "0 6 1 * * and 0 6 15 * *",
		"0 6 * * *\n0 18 * * *": "0 6 * * * and 0 18 * * *",
		"0 6 */2 * *":           "0 6 */2 * *",
		"0 6 0 * *":             "0 6 0 * *",
		"60 6 * * *":            "60 6 * * *",
		"0 +6 * * *":            "0 +6 * * *",
	} {
		if got := (schedule.Cron{Expression: expression, TimeZone: "UTC"}).Words(); got != want {
			t.Errorf("%q: %s, want %s", expression, got, want)
		}
	}
	abroad := schedule.Cron{Expression: "0 6 * * *", TimeZone: "Europe/Berlin", Kubernetes: true}
	if got, want := abroad.Words(), "06:00 every day (Europe/Berlin, as in Kubernetes)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	timer := schedule.Cron{Expression: "Mon..Fri 06:00", TimeZone: "UTC", Calendar: true}
	if got := timer.Words(); got != timer.Expression {
		t.Error(got)
	}
}
