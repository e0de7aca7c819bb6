package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// TestCalendarErrors checks what is said of expressions that are not valid.
func TestCalendarErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"":                                  "required",
		"30 2 * * *":                        `"30" is neither a shorthand`,
		"daily 10:00":                       `day of the week: "daily" is not a name`,
		"Mon..":                             `"Mon.." is not a name`,
		"Fri..Mon 10:00":                    `the range "Fri..Mon" ends before it begins`,
		"10:00 Mon":                         `"Mon" is neither`,
		"*-13-01":                           `month must be 1–12, not 13`,
		"*-*-32":                            `day of the month must be 1–31, not 32`,
		"*-*~29":                            `day before the end of the month must be 1–28, not 29`,
		"2026-12-24 18:00":                  `the year "2026" is not *`,
		"24:00":                             `hour must be 0–23, not 24`,
		"*:60":                              `minute must be 0–59, not 60`,
		"12:00:00.5":                        `second: "00.5" is not a number`,
		"12:00:00:00":                       "is not hour:minute",
		"*:*/5":                             `minute: "*/5" is not a number`,
		"*:0/0":                             `the step "0" is not`,
		"*:40/20":                           `the step of "40/20" leads beyond the end`,
		"*:20..10":                          `the range "20..10" ends before it begins`,
		"*-02-30":                           "never matches",
		"10:00" + strings.Repeat(",1", 200): "longer than 255",
	} {
		bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Cron: schedule.NewCalendar(expression, ""),
		})).(*kernel.ValidationError)
		if bad == nil || len(bad.Messages()) != 1 ||
			!strings.Contains(strings.Join(bad.Messages()["schedule.expression"], ""), want) {
			t.Errorf("problems of the calendar %q: %v, want %q", expression, bad, want)
		}
	}
}

// TestCalendarZone checks which zone counts.
func TestCalendarZone(t *testing.T) {
	for _, c := range []struct{ expression, zone, want string }{
		{"Mon 10:00", "", "Mon 10:00"},
		{" Mon 10:00 utc ", "", "Mon 10:00"},
		{"Mon 10:00 Europe/Berlin", "", "Mon 10:00 (Europe/Berlin)"},
		{"daily Europe/Berlin", "Europe/Berlin", "daily (Europe/Berlin)"},
		{"daily", "Asia/Tokyo", "daily (Asia/Tokyo)"},
	} {
		cron := schedule.NewCalendar(c.expression, c.zone)
		err := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Cron: cron}))
		if err != nil || cron.String() != c.want || cron.Kind() != schedule.ScheduleCalendar {
			t.Errorf("NewCalendar(%q, %q) = %v, error %v", c.expression, c.zone, cron, err)
		}
	}
	disagrees := monitor.MonitorConfig{Name: "x", Cron: schedule.NewCalendar("Mon 10:00 Europe/Berlin", "UTC")}
	bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(disagrees)).(*kernel.ValidationError)
	if bad == nil || len(bad.Messages()["schedule.expression"]) != 1 {
		t.Errorf("problems of an expression with a wrong zone: %v", bad)
	}
	noZone := monitor.MonitorConfig{Name: "x", Cron: schedule.NewCalendar("Mon 10:00", "Mars/Olympus")}
	bad, _ = domaintest.MonitorRefusal(monitor.MonitorOf(noZone)).(*kernel.ValidationError)
	if bad == nil || len(bad.Messages()["schedule.time_zone"]) != 1 {
		t.Errorf("problems of a wrong zone: %v", bad)
	}
}

// TestCalendarNext checks times around changes of the clock.
func TestCalendarNext(t *testing.T) {
	checkNext(t, schedule.NewCalendar, []nextTime{
		{"strictly after", "10:00", "UTC", "2026-11-23T10:00:00Z", "2026-11-24T10:00:00Z"},
		{"seconds", "*:*:0/20", "UTC", "2026-11-23T10:00:20.001Z", "2026-11-23T10:00:40Z"},
		{"the last Friday of a month", "Fri *-*~7/1 18:00", "UTC", "2026-11-27T18:00:00Z", "2026-12-25T18:00:00Z"},
		{"both days", "Fri *-*-13", "UTC", "2026-11-23T10:00:00Z", "2027-08-13T00:00:00Z"},
		{"spring, a skipped time", "02:30", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		{"spring, each hour", "*:30", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"autumn, a repeated time: the first", "02:30", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:30:00Z"},
		{"autumn, a repeated time: not the second", "02:30", "Europe/Berlin", "2026-10-25T00:30:00Z",
			"2026-10-26T01:30:00Z"},
		{"autumn, each hour", "*:30", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"},
	})
}

func TestCalendarLongest(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"*:*:*": time.Hour + time.Second, "*:*:0,15": time.Hour + 45*time.Second, "daily": 25 * time.Hour,
		"02:30":              47 * time.Hour,
		"Mon..Fri 08..18:00": 63 * time.Hour, "*:30": 2 * time.Hour, "*-02-29": 1461 * 24 * time.Hour,
	} {
		if got := schedule.NewCalendar(expression, "Europe/Berlin").Longest(); got != want {
			t.Errorf("Longest of %s = %v, want %v", expression, got, want)
		}
	}
	// A zone whose clock changes four times a year.
	if got := schedule.NewCalendar("*:*:*", "Africa/El_Aaiun").Longest(); got != time.Hour+time.Second {
		t.Errorf("in a zone with many changes: %v", got)
	}
}

// FuzzCalendar checks that every expression is either refused or has increasing times.
func FuzzCalendar(f *testing.F) {
	for _, seed := range calendarExamples {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, expression string, seconds int64) {
		tested := schedule.NewCalendar(expression, "")
		n := monitor.MonitorConfig{Name: "x", Cron: tested}
		if domaintest.MonitorRefusal(monitor.MonitorOf(n)) != nil {
			return
		}
		if tested.Longest() < time.Second {
			t.Fatalf("%q: the longest distance is %v", expression, tested.Longest())
		}
		if again := schedule.NewCalendar(tested.Expression, tested.TimeZone); again != tested {
			t.Fatalf("NewCalendar(%q) is %v, and then %v", expression, tested, again)
		}
		at := domaintest.Epoch.Add(time.Duration(seconds%(20*365*86400)) * time.Second)
		if next := tested.Next(at); !next.After(at) {
			t.Fatalf("Next of %q after %v = %v", expression, at, next)
		}
	})
}
