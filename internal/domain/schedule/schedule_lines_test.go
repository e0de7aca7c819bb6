package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"pgregory.net/rapid"
)

func lines(line string, n int) string { return strings.TrimSuffix(strings.Repeat(line+"\n", n), "\n") }

// scheduleLines are schedules of several lines, and what is wrong with them.
var scheduleLines = []struct {
	kind             schedule.ScheduleKind
	expression, want string
}{
	{schedule.ScheduleCalendar, lines("daily", schedule.MaxScheduleLines), ""},
	{schedule.ScheduleCalendar, lines("daily", schedule.MaxScheduleLines+1),
		"line 11: a schedule has at most 10 lines"},
	{schedule.ScheduleCalendar, lines("daily", 100_000), "line 11: a schedule has at most 10 lines"},
	{schedule.ScheduleCron, lines("@daily", schedule.MaxScheduleLines), ""},
	{schedule.ScheduleCron, lines("@daily", schedule.MaxScheduleLines+1),
		"line 11: a schedule has at most 10 lines"},
	{schedule.ScheduleCalendar, "Mon 06:00\nTue 25:00\nWed",
		`invalid: line 2: hour must be 0–23, not 25`},
	{schedule.ScheduleCron, "0 6 * * *\n0 7 * *", "line 2: it must have five fields"},
	{schedule.ScheduleCalendar, "daily\n" + strings.Repeat(" ", 300) + "weekly", ""},
	{schedule.ScheduleCalendar, "daily\n10:00" + strings.Repeat(",1", 125), ""},
	{schedule.ScheduleCalendar, "daily\n10:00" + strings.Repeat(",1", 126),
		"line 2: it may not be longer than 255"},
	{schedule.ScheduleCalendar, "daily\n*-02-30", "line 2: it never matches"},
	{schedule.ScheduleCron, "@daily\n0 2 30 2 *", "line 2: it never matches"},
	{schedule.ScheduleCalendar, "Mon 06:00 Europe/Berlin\nTue 07:00 Asia/Tokyo",
		"line 1: its zone Europe/Berlin is not on every line"},
	{schedule.ScheduleCalendar, "Mon 06:00 UTC\nTue 07:00 Asia/Tokyo",
		"line 2: its zone Asia/Tokyo is not on every line"},
	{schedule.ScheduleCalendar, "Mon 06:00\nTue 07:00 Asia/Tokyo",
		"line 2: its zone Asia/Tokyo is not on every line"},
	{schedule.ScheduleCalendar, "\n \r\n", "required"},
}

// TestScheduleLinesErrors checks the limits of schedules with several lines, and that an error names its line.
func TestScheduleLinesErrors(t *testing.T) {
	for _, c := range scheduleLines {
		bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Cron: schedule.NewCron(c.kind, c.expression, ""),
		})).(*kernel.ValidationError)
		switch {
		case c.want == "" && bad != nil:
			t.Errorf("problems of the lines %.40q: %v, want none", c.expression, bad)
		case c.want != "" &&
			(bad == nil || len(bad.Messages()) != 1 ||
				!strings.Contains(strings.Join(bad.Messages()["schedule.expression"], ""), c.want)):
			t.Errorf("problems of the lines %.40q: %v, want %q", c.expression, bad, c.want)
		}
	}
}

func TestZonesOfScheduleLines(t *testing.T) {
	for expression, want := range map[string]string{
		"Mon 06:00 Europe/Berlin":                          "invalid: its zone Europe/Berlin differs from time_zone",
		"Mon 06:00 Europe/Berlin\nTue 07:00 Europe/Berlin": "line 1: its zone Europe/Berlin differs from time_zone",
		"Mon 06:00 Europe/Berlin\nTue 07:00 Asia/Tokyo":    "line 2: its zone Asia/Tokyo is not on every line",
	} {
		zone := "UTC"
		if strings.Contains(expression, "Tokyo") {
			zone = "Europe/Berlin"
		}
		bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Cron: schedule.NewCalendar(expression, zone),
		})).(*kernel.ValidationError)
		if bad == nil || !strings.Contains(bad.Error(), want) {
			t.Errorf("problems of %q in %s: %v, want %q", expression, zone, bad, want)
		}
	}
}

func TestCronJobHasOneSchedule(t *testing.T) {
	cron := schedule.NewCron(schedule.ScheduleCron, "@daily\n@weekly", "")
	cron.Kubernetes = true
	job := monitor.MonitorConfig{Name: "x", Cron: cron}
	err := domaintest.MonitorRefusal(monitor.MonitorOf(job))
	if err == nil || !strings.Contains(err.Error(), "a CronJob has one schedule") {
		t.Errorf("a CronJob with two schedules: %v", err)
	}
}

// TestScheduleLines checks how lines and their zones are read.
func TestScheduleLines(t *testing.T) {
	for _, c := range []struct{ expression, zone, want string }{
		{" Mon 06:00 \r\n\r\n\tTue 07:00\n", "", "Mon 06:00 and Tue 07:00"},
		{"Mon 06:00 Europe/Berlin\nTue 07:00 Europe/Berlin", "", "Mon 06:00 and Tue 07:00 (Europe/Berlin)"},
		{"Mon 06:00\nTue 07:00 Europe/Berlin", "Europe/Berlin", "Mon 06:00 and Tue 07:00 (Europe/Berlin)"},
		{"Mon 06:00\nTue 07:00 utc", "", "Mon 06:00 and Tue 07:00"},
	} {
		cron := schedule.NewCalendar(c.expression, c.zone)
		err := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Cron: cron}))
		if err != nil || cron.String() != c.want {
			t.Errorf("NewCron(%q, %q) = %v, error %v", c.expression, c.zone, cron, err)
		}
	}
	timer := schedule.NewCalendar("Mon..Fri 06:30\nSat 08:00\n*-*-01 04:00", "Europe/Berlin")
	at := instant(t, "2026-11-27T05:30:00Z") // a Friday
	for _, want := range []string{
		"2026-11-28T07:00:00Z", "2026-11-30T05:30:00Z", "2026-12-01T03:00:00Z", "2026-12-01T05:30:00Z",
	} {
		if at = timer.Next(at); !at.Equal(instant(t, want)) {
			t.Errorf("Next = %v, want %s", at, want)
		}
	}
}

func TestScheduleLinesLongest(t *testing.T) {
	for _, c := range []struct {
		kind       schedule.ScheduleKind
		expression string
		want       time.Duration
	}{
		{schedule.ScheduleCalendar, "Mon..Fri 06:00\nSat,Sun 08:00", 26 * time.Hour},
		{schedule.ScheduleCalendar, "02:00\n14:00", 23 * time.Hour},
		{schedule.ScheduleCalendar, "Mon..Fri,Sun *:00\nSat 00:00\nSat 23:00", 23 * time.Hour}, // within a day
		{schedule.ScheduleCalendar, "*:*:*\ndaily", time.Hour + time.Second},
		{schedule.ScheduleCalendar, "*:0/10\n*:5/10", time.Hour + 5*time.Minute},
		{schedule.ScheduleCalendar, "*-02-29\n*-02-28", 365 * 24 * time.Hour},
		{schedule.ScheduleCron, "*/5 8-17 * * *\n*/20 * * * *", 20 * time.Minute},
		{schedule.ScheduleCron, "0 6 * * 1-5\n0 6 * * 6,0", 25 * time.Hour},
	} {
		if got := schedule.NewCron(c.kind, c.expression, "Europe/Berlin").Longest(); got != c.want {
			t.Errorf("Longest of %q = %v, want %v", c.expression, got, c.want)
		}
	}
}

// TestScheduleLinesNext checks that the next time is the earliest of all lines, and that the distance is at most the
// longest one.
func TestScheduleLinesNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, zones := schedule.ScheduleCron, []string{rapid.SampledFrom(someZones).Draw(t, "zone of all")}
		draw := drawCron
		if rapid.Bool().Draw(t, "calendar") {
			kind, draw = schedule.ScheduleCalendar, drawCalendar
		}
		var lines []string
		at, want := drawTime(t), time.Time{}
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			line := draw(t, zones)
			lines = append(lines, line.Expression)
			if next := line.Next(at); want.IsZero() || next.Before(want) {
				want = next
			}
		}
		cron := schedule.NewCron(kind, strings.Join(lines, "\n"), zones[0])
		if got := cron.Next(at); !got.Equal(want) {
			t.Fatalf("Next of %v after %v = %v, want %v", cron, at, got, want)
		}
		if at.After(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)) {
			if distance, longest := cron.Next(want).Sub(want), cron.Longest(); distance > longest {
				t.Fatalf("%v: %v from %v to the next time, the longest is %v", cron, distance, want, longest)
			}
		}
	})
}
