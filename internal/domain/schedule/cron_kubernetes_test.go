package schedule_test

import (
	"slices"
	"strconv"
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

func kubernetes(expression, zone string) schedule.Cron {
	return schedule.Cron{Expression: expression, TimeZone: zone, Kubernetes: true}
}

// TestKubernetesErrors checks which expressions are refused, and what is said of them.
func TestKubernetesErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"":                                      "required",
		"* * * *":                               "has 4",
		"0 0 2 * * *":                           "has 6",
		"60 2 * * *":                            `minute must be 0–59, not 60`,
		"0 0 * * 7":                             `day of the week must be 0–6, not 7`,
		"0 0 * * 5-7":                           `must be 0–6, not 7`,
		"0 0 L * *":                             `day of the month must be 1–31, not "L"`,
		"0 0 * * mon#2":                         `must be 0–6, not "mon#2"`,
		"0 0 * * 5L":                            "day of the week",
		"5-1 * * * *":                           `the range "5-1" ends before it begins`,
		"*/0 * * * *":                           `the step "0" is not a number from 1 on`,
		"*//2 * * * *":                          `the step "/2"`,
		"5--5 * * * *":                          `must be 0–59, not "-5"`,
		", * * * *":                             `minute: "," has no value`,
		"TZ=UTC 0 2 * * *":                      "give time_zone",
		"CRON_TZ=UTC 0 2 * * *":                 "give time_zone",
		"@every 5m":                             "give an interval",
		"@reboot":                               "the macros are",
		"@Daily":                                "the macros are",
		"0 2 30 2 *":                            "never matches",
		strings.Repeat("* ", 5):                 "",
		strings.Repeat("0,", 127) + "0 * * * *": "longer than 255",
	} {
		bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Cron: kubernetes(expression, "UTC"),
		})).(*kernel.ValidationError)
		switch {
		case want == "" && bad != nil:
			t.Errorf("problems of the expression %q: %v, want none", expression, bad)
		case want != "" &&
			(bad == nil || len(bad.Messages()) != 1 ||
				!strings.Contains(strings.Join(bad.Messages()["schedule.expression"], ""), want)):
			t.Errorf("problems of the expression %q: %v, want %q", expression, bad, want)
		}
	}
	calendar := schedule.NewCalendar("daily", "")
	calendar.Kubernetes = true
	bad, _ := domaintest.MonitorRefusal(
		monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Cron: calendar}),
	).(*kernel.ValidationError)
	if bad == nil || len(bad.Messages()["schedule.kubernetes"]) != 1 {
		t.Errorf("a calendar: %v", bad)
	}
}

// robfigCases are the cases of robfig/cron's own tests, without the cases about seconds. "!" means any other time.
var robfigCases = []struct{ after, expression, zone, want string }{
	// TestActivation: a second before the time
	{"2012-07-09T14:59:59Z", "0/15 * * * *", "UTC", "2012-07-09T15:00:00Z"},
	{"2012-07-09T15:44:59Z", "0/15 * * * *", "UTC", "2012-07-09T15:45:00Z"},
	{"2012-07-09T15:39:59Z", "0/15 * * * *", "UTC", "!2012-07-09T15:40:00Z"},
	{"2012-07-09T15:04:59Z", "5/15 * * * *", "UTC", "2012-07-09T15:05:00Z"},
	{"2012-07-09T15:19:59Z", "5/15 * * * *", "UTC", "2012-07-09T15:20:00Z"},
	{"2012-07-09T15:49:59Z", "5/15 * * * *", "UTC", "2012-07-09T15:50:00Z"},
	{"2012-07-15T14:59:59Z", "0/15 * * Jul *", "UTC", "2012-07-15T15:00:00Z"},
	{"2012-07-15T14:59:59Z", "0/15 * * Jun *", "UTC", "!2012-07-15T15:00:00Z"},
	{"2012-07-15T08:29:59Z", "30 08 ? Jul Sun", "UTC", "2012-07-15T08:30:00Z"},
	{"2012-07-15T08:29:59Z", "30 08 15 Jul ?", "UTC", "2012-07-15T08:30:00Z"},
	{"2012-07-16T08:29:59Z", "30 08 ? Jul Sun", "UTC", "!2012-07-16T08:30:00Z"},
	{"2012-07-16T08:29:59Z", "30 08 15 Jul ?", "UTC", "!2012-07-16T08:30:00Z"},
	{"2012-07-09T14:59:59Z", "@hourly", "UTC", "2012-07-09T15:00:00Z"},
	{"2012-07-09T15:03:59Z", "@hourly", "UTC", "!2012-07-09T15:04:00Z"},
	{"2012-07-09T14:59:59Z", "@daily", "UTC", "!2012-07-09T15:00:00Z"},
	{"2012-07-08T23:59:59Z", "@daily", "UTC", "2012-07-09T00:00:00Z"},
	{"2012-07-08T23:59:59Z", "@weekly", "UTC", "!2012-07-09T00:00:00Z"},
	{"2012-07-07T23:59:59Z", "@weekly", "UTC", "2012-07-08T00:00:00Z"},
	{"2012-07-08T00:59:59Z", "@weekly", "UTC", "!2012-07-08T01:00:00Z"},
	{"2012-07-07T23:59:59Z", "@monthly", "UTC", "!2012-07-08T00:00:00Z"},
	{"2012-06-30T23:59:59Z", "@monthly", "UTC", "2012-07-01T00:00:00Z"},
	{"2012-07-14T23:59:59Z", "* * 1,15 * Sun", "UTC", "2012-07-15T00:00:00Z"},
	{"2012-06-14T23:59:59Z", "* * 1,15 * Sun", "UTC", "2012-06-15T00:00:00Z"},
	{"2012-07-31T23:59:59Z", "* * 1,15 * Sun", "UTC", "2012-08-01T00:00:00Z"},
	{"2012-07-14T23:59:59Z", "* * */10 * Sun", "UTC", "2012-07-15T00:00:00Z"},
	{"2012-07-14T23:59:59Z", "* * * * Mon", "UTC", "!2012-07-15T00:00:00Z"},
	{"2012-07-08T23:59:59Z", "* * 1,15 * *", "UTC", "!2012-07-09T00:00:00Z"},
	{"2012-07-14T23:59:59Z", "* * 1,15 * *", "UTC", "2012-07-15T00:00:00Z"},
	{"2012-07-14T23:59:59Z", "* * */2 * Sun", "UTC", "2012-07-15T00:00:00Z"},

	// TestNext
	{"2012-07-09T14:45:00Z", "0/15 * * * *", "UTC", "2012-07-09T15:00:00Z"},
	{"2012-07-09T14:59:00Z", "0/15 * * * *", "UTC", "2012-07-09T15:00:00Z"},
	{"2012-07-09T14:59:59Z", "0/15 * * * *", "UTC", "2012-07-09T15:00:00Z"},
	{"2012-07-09T15:45:00Z", "20-35/15 * * * *", "UTC", "2012-07-09T16:20:00Z"},
	{"2012-07-09T23:46:00Z", "*/15 * * * *", "UTC", "2012-07-10T00:00:00Z"},
	{"2012-07-09T23:45:00Z", "20-35/15 * * * *", "UTC", "2012-07-10T00:20:00Z"},
	{"2012-07-09T23:35:00Z", "0 0 9 Apr-Oct ?", "UTC", "2012-08-09T00:00:00Z"},
	{"2012-07-09T23:35:00Z", "0 0 */5 Apr,Aug,Oct Mon", "UTC", "2012-08-01T00:00:00Z"},
	{"2012-07-09T23:35:00Z", "0 0 */5 Oct Mon", "UTC", "2012-10-01T00:00:00Z"},
	{"2012-07-09T23:35:00Z", "0 0 * Feb Mon", "UTC", "2013-02-04T00:00:00Z"},
	{"2012-07-09T23:35:00Z", "0 0 * Feb Mon/2", "UTC", "2013-02-01T00:00:00Z"},
	{"2012-12-31T23:59:45Z", "* * * * *", "UTC", "2013-01-01T00:00:00Z"},
	{"2012-07-09T23:35:00Z", "0 0 29 Feb ?", "UTC", "2016-02-29T00:00:00Z"},
	{"2012-03-11T00:00:00-05:00", "30 2 11 Mar ?", "America/New_York", "2013-03-11T02:30:00-04:00"},
	{"2012-03-11T00:00:00-05:00", "0 * * * ?", "America/New_York", "2012-03-11T01:00:00-05:00"},
	{"2012-03-11T01:00:00-05:00", "0 * * * ?", "America/New_York", "2012-03-11T03:00:00-04:00"},
	{"2012-03-11T03:00:00-04:00", "0 * * * ?", "America/New_York", "2012-03-11T04:00:00-04:00"},
	{"2012-03-11T04:00:00-04:00", "0 * * * ?", "America/New_York", "2012-03-11T05:00:00-04:00"},
	{"2012-03-11T00:00:00-05:00", "0 1 * * ?", "America/New_York", "2012-03-11T01:00:00-05:00"},
	{"2012-03-11T01:00:00-05:00", "0 1 * * ?", "America/New_York", "2012-03-12T01:00:00-04:00"},
	{"2012-03-11T00:00:00-05:00", "0 2 * * ?", "America/New_York", "2012-03-12T02:00:00-04:00"},
	{"2012-11-04T00:00:00-04:00", "30 2 04 Nov ?", "America/New_York", "2012-11-04T02:30:00-05:00"},
	{"2012-11-04T01:45:00-04:00", "30 1 04 Nov ?", "America/New_York", "2012-11-04T01:30:00-05:00"},
	{"2012-11-04T00:00:00-04:00", "0 * * * ?", "America/New_York", "2012-11-04T01:00:00-04:00"},
	{"2012-11-04T01:00:00-04:00", "0 * * * ?", "America/New_York", "2012-11-04T01:00:00-05:00"},
	{"2012-11-04T01:00:00-05:00", "0 * * * ?", "America/New_York", "2012-11-04T02:00:00-05:00"},
	{"2012-11-04T00:00:00-04:00", "0 1 * * ?", "America/New_York", "2012-11-04T01:00:00-04:00"},
	{"2012-11-04T01:00:00-04:00", "0 1 * * ?", "America/New_York", "2012-11-04T01:00:00-05:00"},
	{"2012-11-04T01:00:00-05:00", "0 1 * * ?", "America/New_York", "2012-11-05T01:00:00-05:00"},
	{"2012-11-04T00:00:00-04:00", "0 2 * * ?", "America/New_York", "2012-11-04T02:00:00-05:00"},
	{"2012-11-04T02:00:00-05:00", "0 2 * * ?", "America/New_York", "2012-11-05T02:00:00-05:00"},
	{"2012-11-04T00:00:00-04:00", "0 3 * * ?", "America/New_York", "2012-11-04T03:00:00-05:00"},
	{"2012-11-04T03:00:00-05:00", "0 3 * * ?", "America/New_York", "2012-11-05T03:00:00-05:00"},
	{"2012-11-04T00:00:00-04:00", "0 3 3 * ?", "America/New_York", "2012-12-03T03:00:00-05:00"},
	{"2018-10-17T05:00:00-04:00", "0 9 10 * ?", "America/Sao_Paulo", "2018-11-10T06:00:00-05:00"},
	{"2018-02-14T05:00:00-05:00", "0 9 22 * ?", "America/Sao_Paulo", "2018-02-22T07:00:00-05:00"},
	{"2016-01-03T13:09:03+05:30", "14 14 * * *", "Asia/Kolkata", "2016-01-03T14:14:00+05:30"},
	{"2016-01-03T04:09:03+05:30", "14 14 * * ?", "Asia/Kolkata", "2016-01-03T14:14:00+05:30"},
	{"2016-01-03T14:09:03+05:30", "14 14 * * *", "Asia/Kolkata", "2016-01-03T14:14:00+05:30"},
	{"2016-01-03T14:00:00+05:30", "14 14 * * ?", "Asia/Kolkata", "2016-01-03T14:14:00+05:30"},
}

// TestKubernetesAsRobfig runs the cases of robfig/cron's own tests.
func TestKubernetesAsRobfig(t *testing.T) {
	for _, c := range robfigCases {
		want, isOther := strings.CutPrefix(c.want, "!")
		if got := kubernetes(c.expression, c.zone).Next(instant(t, c.after)); got.Equal(instant(t, want)) == isOther {
			t.Errorf("Next of %s in %s after %s = %s, want %s", c.expression, c.zone, c.after, got.Format(time.RFC3339),
				c.want)
		}
	}
	for _, expression := range []string{
		"xyz", "60 0 * * *", "0 60 * * *", "0 0 * * XYZ", "15/0 * * * *", "jan-x * * * *", "*/-12 * * * *",
		"5 j * * *", "0 0 30 Feb ?", "0 0 31 Apr ?",
	} {
		if domaintest.MonitorRefusal(
			monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Cron: kubernetes(expression, "UTC")}),
		) == nil {
			t.Errorf("%s is accepted", expression)
		}
	}
}

// TestKubernetesNext checks times that are read in another way than by cron.
func TestKubernetesNext(t *testing.T) {
	checkNext(t, kubernetes, []nextTime{
		{"spring, a skipped time", "30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", "2027-03-29T00:30:00Z"},
		{"autumn, the first of two", "30 2 * * *", "Europe/Berlin", "2027-10-30T12:00:00Z", "2027-10-31T00:30:00Z"},
		{"autumn, the second of two", "30 2 * * *", "Europe/Berlin", "2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"},
		{"either day, with a step: a Monday", "0 0 */5 * mon", "UTC", "2026-11-21T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"either day, with a step: the 26th", "0 0 */5 * mon", "UTC", "2026-11-23T00:00:00Z", "2026-11-26T00:00:00Z"},
		{"both days, with a step of 1", "0 0 */1 * mon", "UTC", "2026-11-21T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"both days, with * in a list", "0 0 1,* * mon", "UTC", "2026-11-24T00:00:00Z", "2026-11-30T00:00:00Z"},
		{"29 February, over eight years", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"a skipped midnight: the whole Sunday is missed", "0 12 * * sun", "Asia/Beirut", "2026-03-28T12:00:00Z",
			"2026-04-05T09:00:00Z"},
		{"a skipped half hour: the day is missed", "0 5 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			"2026-10-04T18:00:00Z"},
		{"a clock that goes back by two hours", "0 2 * * *", "Antarctica/Troll", "2026-10-25T01:15:00Z",
			"2026-10-25T02:00:00Z"},
	})
}

func TestKubernetesLongest(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"* * * * *": time.Minute, "30 2 * * *": 47 * time.Hour, "0 6 * * 1-5": 73 * time.Hour,
		"0 0 1 * mon": 7*24*time.Hour + time.Hour, "0 0 29 2 ?": 1461 * 24 * time.Hour,
	} {
		if got := kubernetes(expression, "Europe/Berlin").Longest(); got != want {
			t.Errorf("Longest of %s = %v, want %v", expression, got, want)
		}
	}
}

// drawKubernetes draws an expression, which may be wrong.
func drawKubernetes(t *rapid.T) string {
	numbers := rapid.SampledFrom([]string{
		"0", "1", "2", "3", "5", "05", "+4", "6", "7", "12", "13", "23", "24", "29", "30", "31", "59", "60", "jan",
		"Oct", "mon", "SUN", "*", "?", "", "L", "-1",
	})
	fields := make([]string, rapid.SampledFrom([]int{5, 5, 5, 5, 5, 5, 5, 4, 6}).Draw(t, "fields"))
	for i := range fields {
		if rapid.IntRange(0, 9).Draw(t, "star") < 4 {
			fields[i] = "*"
			continue
		}
		parts := make([]string, rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "parts"))
		for j := range parts {
			// Most are valid: a value of this field, a range of it, and a step.
			limits := [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}, {0, 6}}[i]
			value := func() string {
				if rapid.IntRange(0, 19).Draw(t, "any") == 0 {
					return numbers.Draw(t, "number")
				}
				return strconv.Itoa(rapid.IntRange(limits[0], limits[1]).Draw(t, "value"))
			}
			switch parts[j] = value(); rapid.IntRange(0, 5).Draw(t, "form") {
			case 0:
				parts[j] += "-" + value()
			case 1:
				parts[j] = "*"
			}
			if rapid.IntRange(0, 4).Draw(t, "stepped") == 0 {
				parts[j] += "/" +
					rapid.SampledFrom([]string{
						"1", "2", "5", "7", "15", "40", "0", "x", "+3", "2/2", "9223372036854775807",
					}).Draw(t, "step")
			}
		}
		fields[i] = strings.Join(parts, ",")
	}
	return strings.Join(fields, " ")
}

// agreesWithRobfig fails if an expression is not read as robfig/cron reads it.
func agreesWithRobfig(t interface{ Fatalf(string, ...any) }, expression, zone string, at time.Time) {
	tested := kubernetes(expression, zone)
	bad, _ := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{
		Name: "x", Cron: tested,
	})).(*kernel.ValidationError)
	other, err := cron.ParseStandard("CRON_TZ=" + zone + " " + expression)
	if _, isTimes := other.(*cron.SpecSchedule); bad != nil || err != nil || !isTimes {
		// Expressions that never match are refused, too.
		if bad == nil ||
			err == nil && isTimes && !other.Next(at).IsZero() &&
				!strings.HasPrefix(strings.TrimLeft(expression, " "), "@") {
			t.Fatalf("%q in %s: %v, robfig/cron says %v", expression, zone, bad, err)
		}
		return
	}
	want := other.Next(at)
	if want.IsZero() || !want.After(at) { // it looks five years ahead, and goes back at times
		return
	}
	if got := tested.Next(at); !got.Equal(want) {
		t.Fatalf("%q in %s after %v: %v, robfig/cron says %v", expression, zone, at, got.In(want.Location()), want)
	}
}

// TestKubernetesAgreesWithRobfig compares random expressions in all zones with robfig/cron, mostly around changes of
// the clock.
func TestKubernetesAgreesWithRobfig(t *testing.T) {
	t.Parallel()
	zones := slices.DeleteFunc(zoneNames(t), func(name string) bool { return !kernel.ValidZone(name) })
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(append(someZones, zones...)).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		at := time.UnixMilli(rapid.Int64Range(0, 2_200_000_000_000).Draw(t, "at")).In(zone)
		if _, end := at.ZoneBounds(); !end.IsZero() && rapid.IntRange(0, 3).Draw(t, "near a change") > 0 {
			at = end.Add(time.Duration(rapid.Int64Range(-100_000, 10_000).Draw(t, "seconds")) * time.Second)
		}
		agreesWithRobfig(t, drawKubernetes(t), name, at)
	})
}

// FuzzKubernetes checks that every expression is read as robfig/cron reads it.
func FuzzKubernetes(f *testing.F) {
	for _, seed := range []string{
		"0 2 * * *", "*/5 1-3,7 1,15 jan-mar sun", "@hourly", "0 0 29 2 *", "10/20 * * * mon-fri/2", "* * * * 7",
		"\x00", "0 2 ? * *", "1,,2 *-5 * * *", "0 0 */5 * mon",
	} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, expression string, seconds int64) {
		if len(expression) > schedule.MaxCronLength || strings.HasPrefix(expression, "TZ=") ||
			strings.HasPrefix(expression, "CRON_TZ=") {
			return
		}
		agreesWithRobfig(t, expression, "Europe/Berlin",
			domaintest.Epoch.Add(time.Duration(seconds%(20*365*86400))*time.Second))
	})
}

// TestKubernetesNextIncreases checks that times are after the instant, and within the longest distance.
func TestKubernetesNextIncreases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn, at := drawCron(t, someZones), drawTime(t)
		tested := kubernetes(strings.ReplaceAll(drawn.Expression, " 7", " 0"), drawn.TimeZone)
		next := tested.Next(at)
		if !next.After(at) {
			t.Fatalf("Next of %v after %v = %v", tested, at, next)
		}
		if at.After(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)) &&
			!slices.Contains(
				[]string{"Asia/Beirut", "America/Havana", "America/Asuncion", "Africa/Cairo", "Australia/Lord_Howe"},
				tested.TimeZone,
			) {
			if distance, longest := tested.Next(next).Sub(next), tested.Longest(); distance > longest {
				t.Fatalf("%v: %v from %v to the next time, the longest is %v", tested, distance, next, longest)
			}
		}
	})
}
