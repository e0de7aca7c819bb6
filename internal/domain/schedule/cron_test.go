package schedule_test

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

// TestCronErrors checks what is said of expressions that are not valid.
func TestCronErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"":                                      "required",
		"* * * *":                               "has 4",
		"0 0 2 * * * *":                         "has 7",
		"60 2 * * *":                            `minute must be 0–59, not 60`,
		"0 24 * * *":                            `hour must be 0–23, not 24`,
		"0 2 0 * *":                             `day of the month must be 1–31, not 0`,
		"0 2 * 13 *":                            `month must be 1–12, not 13`,
		"0 2 * * 8":                             `day of the week must be 0–7, not 8`,
		"0 2 * mon *":                           `month must be 1–12, not "mon"`,
		"0 2 * anf *":                           "month",
		"5-1 * * * *":                           `the range "5-1" ends before it begins`,
		"0 22-2 * * *":                          "give two, 22-23,0-2",
		"0 0 * * FRI-MON":                       "give two, FRI-6,0-MON",
		"*/0 * * * *":                           `the step "0" is not a number from 1 on`,
		"*/ * * * *":                            `the step "" is not a number`,
		"1,,2 * * * *":                          `must be 0–59, not ""`,
		"+1 * * * *":                            "minute",
		"-1 * * * *":                            "minute",
		"1- * * * *":                            "minute",
		"*-5 * * * *":                           "minute",
		"? 0 * * *":                             "minute",
		"0 2 L-3 * *":                           "day of the month",
		"0 2 * * 1#6":                           "day of the week",
		"0 0 2 * * 1#6":                         "day of the week",
		"0\n2 * * *":                            "line 1: it must have five fields",
		"TZ=UTC 0 2 * * *":                      "second",
		"TZ=UTC 2 * * *":                        "minute",
		"@every 5m":                             "the macros are",
		"@reboot":                               "the macros are",
		"@HOURLY":                               "the macros are",
		"0 2 30 2 *":                            "never matches",
		"0 2 31 4,6,9,11 *":                     "never matches",
		"* * * * * " + strings.Repeat(" ", 255): "longer than 255",
	} {
		n := monitor.MonitorConfig{Name: "x", Cron: schedule.Cron{Expression: expression, TimeZone: "UTC"}}
		bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(n)).(*kernel.ValidationError)
		if bad == nil || len(bad.Messages()) != 1 ||
			!strings.Contains(strings.Join(bad.Messages()["schedule.expression"], ""), want) {
			t.Errorf("problems of the expression %q: %v, want %q", expression, bad, want)
		}
	}
	for _, zone := range []string{
		"", "Local", "localtime", "Mars/Olympus", "../etc/passwd", "europe/berlin ", "UTC+1",
	} {
		n := monitor.MonitorConfig{Name: "x", Cron: schedule.Cron{Expression: "0 2 * * *", TimeZone: zone}}
		bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(n)).(*kernel.ValidationError)
		if bad == nil || len(bad.Messages()) != 1 || len(bad.Messages()["schedule.time_zone"]) != 1 {
			t.Errorf("zone %q: %v", zone, bad)
		}
	}
}

// TestCronNeverMatches checks that schedules whose times are always skipped are refused, in bounded time.
func TestCronNeverMatches(t *testing.T) {
	for _, c := range []schedule.Cron{
		{Expression: "*/30 2 25-31 3 */7", TimeZone: "Europe/Berlin"},
		schedule.NewCalendar("Sun *-03~7/1 02:30", "Europe/Berlin"),
		schedule.NewCalendar("*-02-30", ""),
	} {
		bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Cron: c,
		})).(*kernel.ValidationError)
		if bad == nil || !strings.Contains(strings.Join(bad.Messages()["schedule.expression"], ""), "never matches") {
			t.Errorf("problems of %v: %v, want that it never matches", c, bad)
		}
		if got := c.Next(domaintest.Epoch); !got.IsZero() {
			t.Errorf("Next of %v = %v, want none", c, got)
		}
	}
}

// TestCronNext checks times around changes of the clock, and how days of the month and of the week combine.
func TestCronNext(t *testing.T) {
	cron := func(expression, zone string) schedule.Cron {
		return schedule.Cron{Expression: expression, TimeZone: zone}
	}
	checkNext(t, cron, []nextTime{
		{"each minute", "* * * * *", "UTC", "2026-11-23T10:00:00Z", "2026-11-23T10:01:00Z"},
		{"strictly after", "0 10 * * *", "UTC", "2026-11-23T10:00:00Z", "2026-11-24T10:00:00Z"},
		{"a nanosecond before", "0 10 * * *", "UTC", "2026-11-23T09:59:59.999999999Z", "2026-11-23T10:00:00Z"},
		{"in the zone", "0 2 * * *", "Europe/Berlin", "2026-11-23T10:00:00Z", "2026-11-24T01:00:00Z"},
		{"7 is Sunday", "0 0 * * 7", "UTC", "2026-11-23T10:00:00Z", "2026-11-29T00:00:00Z"},
		{"a range to 7", "0 0 * * 5-7", "UTC", "2026-11-28T10:00:00Z", "2026-11-29T00:00:00Z"},
		{"names", "0 0 * DEC mon-Tue", "UTC", "2026-11-23T10:00:00Z", "2026-12-01T00:00:00Z"},
		{"day of the month or of the week", "0 0 13 * fri", "UTC", "2026-11-23T10:00:00Z", "2026-11-27T00:00:00Z"},
		{"both days if one begins with *", "0 0 13 * */5", "UTC", "2026-11-23T10:00:00Z", "2026-12-13T00:00:00Z"},
		{"a number with a step", "10/20 * * * *", "UTC", "2026-11-23T10:31:00Z", "2026-11-23T10:50:00Z"},
		{"@weekly", "@weekly", "UTC", "2026-11-23T10:00:00Z", "2026-11-29T00:00:00Z"},
		{"29 February", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"29 February on a Sunday", "0 0 29 2 */7", "UTC", "2088-03-01T00:00:00Z", "2128-02-29T00:00:00Z"},

		{"spring, a skipped time", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"spring, the day after", "30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"spring, two skipped times are one", "0,30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z",
			"2026-03-30T00:00:00Z"},
		{"spring, a wildcard minute is skipped", "*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-30T00:00:00Z"},
		{"spring, wildcard hours", "30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"spring, half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"},
		{"autumn, a repeated time: the first", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:30:00Z"},
		{"autumn, a repeated time: not the second", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z",
			"2026-10-26T01:30:00Z"},
		{"autumn, wildcard hours run twice", "30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z",
			"2026-10-25T01:30:00Z"},
		{"autumn, rare times run twice, too", "*/30 2 * oct 0", "Europe/Berlin", "2026-10-25T00:30:00Z",
			"2026-10-25T01:00:00Z"},
		{"autumn, after the repeated hour", "0 3 * * *", "Europe/Berlin", "2026-10-25T00:59:59Z",
			"2026-10-25T02:00:00Z"},
		{"a skipped day is not made up", "0 2 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2012-12-29T12:00:00Z"},
	})
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// checkNext checks the first times of schedules after instants.
func checkNext(t *testing.T, schedule func(expression, zone string) schedule.Cron, cases []nextTime) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := schedule(c.expression, c.zone).Next(instant(t, c.after)); !got.Equal(instant(t, c.want)) {
				t.Errorf("Next after %s = %s, want %s", c.after, got.Format(time.RFC3339), c.want)
			}
		})
	}
}

// nextTime is the first time of a schedule after an instant.
type nextTime struct{ name, expression, zone, after, want string }

func TestCronLongest(t *testing.T) {
	for _, c := range []struct {
		expression, zone string
		want             time.Duration
	}{
		{"* * * * *", "Europe/Berlin", time.Minute},
		{"*/5 * * * *", "UTC", 5 * time.Minute},
		{"0 2 * * *", "UTC", 24 * time.Hour},
		{"0 2 * * *", "Europe/Berlin", 25 * time.Hour},
		{"*/5 2 * * *", "Europe/Berlin", 46*time.Hour + 5*time.Minute}, // skipped in spring
		{"0 8-18 * * 1-5", "UTC", 62 * time.Hour},
		{"0 6,20 * * *", "UTC", 14 * time.Hour},
		{"@weekly", "UTC", 7 * 24 * time.Hour},
		{"@yearly", "UTC", 366 * 24 * time.Hour},
		{"0 0 29 2 */7", "UTC", 28 * 365.25 * 24 * time.Hour},
	} {
		if got := (schedule.Cron{Expression: c.expression, TimeZone: c.zone}).Longest(); got != c.want {
			t.Errorf("Longest of %s in %s = %v, want %v", c.expression, c.zone, got, c.want)
		}
	}
}

// drawCron draws an expression. Times of day are of one kind, wildcard or not.
func drawCron(t *rapid.T, zones []string) schedule.Cron {
	minute := rapid.SampledFrom([]string{"*", "*/7", "0", "30", "5,35", "10-40/15", "59"}).Draw(t, "minute")
	hour := rapid.SampledFrom([]string{"*", "*/3", "0", "1", "2", "3", "0-4", "1,2,23", "1-3"}).Draw(t, "hour")
	days := rapid.SampledFrom([]string{
		"* * *", "* * *", "1 * *", "* * 0", "*/2 * *", "13 * 5", "31 * *", "* 3,10 7", "28-31 3,10,11 *",
	}).Draw(t, "days")
	return schedule.Cron{
		Expression: minute + " " + hour + " " + days, TimeZone: rapid.SampledFrom(zones).Draw(t, "zone"),
	}
}

// drawCalendar draws an expression of OnCalendar.
func drawCalendar(t *rapid.T, zones []string) schedule.Cron {
	days := rapid.SampledFrom([]string{
		"", "", "Mon..Fri ", "Sun *-*~7/1 ", "*-*~1..3 ", "*-3,10-* ", "*-*-28..31 ", "*-2-29 ", "Fri *-*-13 ",
	}).Draw(t, "days")
	hour := rapid.SampledFrom([]string{"*", "0/3", "0", "1", "2", "3", "0..4", "1,2,23", "1..3"}).Draw(t, "hour")
	minute := rapid.SampledFrom([]string{
		"*", "0/7", "0", "30", "5,35", "10..40/15", "59", "30:15", "*:59", "0:1..3",
	}).Draw(t, "minute")
	return schedule.NewCalendar(days+hour+":"+minute, rapid.SampledFrom(zones).Draw(t, "zone"))
}

// someZones change their clocks by an hour, half an hour, two hours, around midnight, in winter, by three hours, or
// never.
var someZones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "America/Havana",
	"Asia/Beirut", "Africa/Casablanca",
	"Africa/Cairo", "Antarctica/Casey", "Europe/Dublin", "Asia/Kathmandu", "America/Asuncion", "Asia/Pyongyang",
}

func drawTime(t *rapid.T) time.Time {
	return domaintest.Epoch.Add(time.Duration(rapid.Int64Range(-5*365*24*3600_000, 5*365*24*3600_000).Draw(t,
		"ms")) * time.Millisecond)
}

// TestCronNextIncreases checks that there is no time between an instant and the next time, and that the distance is at
// most the longest one.
func TestCronNextIncreases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cron, at := drawCron(t, someZones), drawTime(t)
		if rapid.Bool().Draw(t, "calendar") {
			cron = drawCalendar(t, someZones)
		}
		next := cron.Next(at)
		if !next.After(at) {
			t.Fatalf("Next of %v after %v = %v", cron, at, next)
		}
		between := at.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(at))-1).Draw(t, "between")))
		if again := cron.Next(between); !again.Equal(next) {
			t.Fatalf("Next of %v after %v = %v, but after %v: %v", cron, at, next, between, again)
		}
		if at.After(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)) {
			if distance, longest := cron.Next(next).Sub(next), cron.Longest(); distance > longest {
				t.Fatalf("%v: %v from %v to the next time, the longest is %v", cron, distance, next, longest)
			}
		}
	})
}

// reference returns the times in (from, to] at which classic cron runs the jobs of an expression, which is looked at in
// every minute: matches says whether a clock that shows a time, as if it were UTC, matches.
func reference(
	wildcard bool, matches func(time.Time) bool, zone *time.Location, from, to time.Time,
) (times []time.Time) {
	shown := func(t time.Time) time.Time {
		_, offset := t.In(zone).Zone()
		return t.UTC().Add(time.Duration(offset) * time.Second)
	}
	virtual := shown(from.Add(-4 * time.Hour)) // up to where fixed times have run
	for at := from.Add(-4*time.Hour + time.Minute); !at.After(to); at = at.Add(time.Minute) {
		clock, ran := shown(at), false
		change := clock.Sub(virtual) - time.Minute
		switch {
		case wildcard || change.Abs() >= 3*time.Hour+time.Minute:
			ran, virtual = matches(clock), clock
		case clock.After(virtual):
			if change.Abs() >= 3*time.Hour { // a large change: nothing is made up
				virtual = clock.Add(-time.Minute)
			}
			for virtual.Before(clock) {
				virtual = virtual.Add(time.Minute)
				ran = ran || matches(virtual)
			}
		case virtual.Sub(clock) >= 3*time.Hour-time.Minute && change <= -3*time.Hour:
			ran, virtual = matches(clock), clock
		}
		if ran && at.After(from) {
			times = append(times, at)
		}
	}
	return times
}

// calendarReference returns the times in (from, to] at which a clock that changes once, at an instant, matches, unless
// it has shown the same before.
func calendarReference(matches func(time.Time) bool, change, from, to time.Time) (times []time.Time) {
	_, before := change.Add(-time.Second).Zone()
	last := change.UTC().Add(time.Duration(before) * time.Second) // what the clock would show without the change
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		_, offset := at.Zone()
		clock := at.UTC().Add(time.Duration(offset) * time.Second)
		if matches(clock) && (at.Before(change) || !clock.Before(last)) {
			times = append(times, at)
		}
	}
	return times
}

// changes returns the instants from 2017 to 2026 at which the clock of a zone changes.
func changes(zone *time.Location) (all []time.Time) {
	for at := time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC).In(zone); ; {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.Year() > 2026 {
			return all
		}
		_, before := at.Zone()
		if _, after := end.Zone(); after != before {
			all = append(all, end)
		}
		at = end
	}
}

// TestCronAroundEveryChangeOfClocks compares Cron.Next with the references around every change of every zone in ten
// years. The expressions are matched by the parser of robfig/cron, in UTC.
func TestCronAroundEveryChangeOfClocks(t *testing.T) {
	t.Parallel()
	expressions := map[string]string{
		"30 2 * * *": "02:30", "15,45 0-4 * * *": "*-*-* 0..4:15,45", "0 0,1,3,23 * * *": "0,1,3,23:00:00",
		"*/20 * * * *": "*:0/20",
		"30 */2 * * *": "0/2:30", "*/30 2 * * *": "2:0/30",
	}
	minutes := map[string]*[24 * 60]bool{} // of each day that match
	for expression := range expressions {
		schedule, err := cron.ParseStandard(expression)
		if err != nil {
			t.Fatal(err)
		}
		minutes[expression] = new([24 * 60]bool)
		for i := range minutes[expression] {
			clock := domaintest.Epoch.Truncate(24 * time.Hour).Add(time.Duration(i) * time.Minute)
			minutes[expression][i] = schedule.Next(clock.Add(-time.Second)).Equal(clock)
		}
	}
	seen := map[string]bool{}
	for _, name := range zoneNames(t) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		all := changes(zone)
		key := ""
		for _, at := range all {
			key += at.UTC().Format(time.RFC3339) + at.Format("-0700")
		}
		if seen[key] || key == "" {
			continue
		}
		seen[key] = true
		for expression, calendar := range expressions {
			matches := func(clock time.Time) bool { return minutes[expression][clock.Hour()*60+clock.Minute()] }
			fields := strings.Fields(expression)
			wildcard := fields[0][0] == '*' || fields[1][0] == '*'
			for _, change := range all {
				from, to := change.Add(-3*time.Hour), change.Add(6*time.Hour)
				for tested, want := range map[schedule.Cron][]time.Time{
					{Expression: expression, TimeZone: name}: reference(wildcard, matches, zone, from, to),
					schedule.NewCalendar(calendar, name):     calendarReference(matches, change, from, to),
				} {
					var got []time.Time
					for at := tested.Next(from); !at.After(to); at = tested.Next(at) {
						got = append(got, at)
					}
					if !equalTimes(got, want) {
						t.Fatalf("times of %v around %v:\ngot  %v\nwant %v", tested, change, got, want)
					}
				}
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d zones change their clocks", len(seen))
	}
}

func equalTimes(a, b []time.Time) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

// zoneNames returns the names of all zones.
func zoneNames(t *testing.T) (names []string) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, f := range r.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	return names
}

// stepsToSunday matches a day of the week from which steps go to the end of the week: "fri/2".
var stepsToSunday = regexp.MustCompile(`(^|,)[^-,]+/`)

// FuzzCron checks that every expression is either refused or understood as robfig/cron understands it, in UTC.
func FuzzCron(f *testing.F) {
	for _, seed := range []string{
		"0 2 * * *", "*/5 1-3,7 1,15 jan-mar sun", "@hourly", "0 0 29 2 *", "10/20 * * * mon-fri/2", "20 0 1 * fri/2",
		"TZ=UTC", "* * * * 7", "00 02 * * 0-6", "\x00", "0 2 * * *  *", "30 0 2 1 jul fri", "0 2 L * *", "0 2 * * 5L",
	} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, expression string, seconds int64) {
		tested := schedule.Cron{Expression: expression, TimeZone: "UTC"}
		n := monitor.MonitorConfig{Name: "x", Cron: tested}
		if domaintest.MonitorRefusal(monitor.MonitorOf(n)) != nil {
			return
		}
		at := domaintest.Epoch.Add(time.Duration(seconds%(20*365*86400)) * time.Second)
		next := tested.Next(at)
		if !next.After(at) {
			t.Fatalf("Next of %q after %v = %v", expression, at, next)
		}
		fields, parse := strings.Fields(expression), cron.ParseStandard
		if len(fields) == 6 {
			fields, parse = fields[1:],
				cron.NewParser(cron.Second|cron.Minute|cron.Hour|cron.Dom|cron.Month|cron.Dow).Parse
		}
		if len(fields) == 5 &&
			(strings.HasPrefix(fields[2], "*") && fields[2] != "*" ||
				strings.HasPrefix(fields[4], "*") && fields[4] != "*" ||
				strings.Contains(fields[4], "7") || strings.Contains(fields[2], "*,") ||
				strings.Contains(expression, ",*") || strings.Contains(fields[4], "*") ||
				strings.ContainsAny(fields[2]+fields[4], "lL#")) {
			return // robfig/cron has no 7, no last days and no nth days of the week, and other rules of the stars
		}
		if len(fields) == 5 && stepsToSunday.MatchString(fields[4]) {
			return // steps from a day go to 7 here, as in cronie, and to 6 there
		}
		other, err := parse(expression)
		if err != nil {
			t.Fatalf("%q: robfig/cron says %v", expression, err)
		}
		if want := other.Next(at); !want.IsZero() && !want.Equal(next) { // it looks five years ahead
			t.Fatalf("%q after %v: %v, robfig/cron says %v", expression, at, next, want)
		}
	})
}

// TestLongestAfterSkippedTimes checks that the search goes on after a change of the clock by half an hour that skips a
// full hour.
func TestLongestAfterSkippedTimes(t *testing.T) {
	cron := schedule.Cron{Expression: "0 1,2,3 * * *", TimeZone: "Australia/Lord_Howe"}
	if got := cron.Longest(); got != 22*time.Hour {
		t.Errorf("Longest = %v, want 22h", got)
	}
}
