package schedule_test

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
)

var updateCalendar = flag.Bool("update-calendar", false,
	"write the answers of systemd-analyze to testdata/calendar.txt")

const (
	calendarTable = "testdata/calendar.txt"
	calendarBase  = "2027-12-28 12:34:56"
)

// systemdTimes returns what systemd-analyze says of expressions: the next four times after calendarBase, "never", or
// "invalid".
func systemdTimes(t *testing.T, expressions []string) map[string]string {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("ALLSWELL_TEST_REQUIRE_SAMPLES") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	said := map[string]string{}
	for _, expression := range expressions {
		said[expression] = "invalid"
	}
	for part := range slices.Chunk(expressions, 200) {
		cmd := exec.CommandContext(t.Context(), program,
			append([]string{"calendar", "--iterations=4", "--base-time=" + calendarBase, "--"}, part...)...)
		cmd.Env = append(os.Environ(), "TZ=UTC", "SYSTEMD_PAGER=", "LC_ALL=C.UTF-8")
		var errors strings.Builder
		cmd.Stderr = &errors
		out, _ := cmd.Output() // its status is 1 if one of them is invalid
		expression, original, times := "", false, []string(nil)
		for line := range strings.Lines(string(out)) {
			label, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case label == "Original form":
				expression, original, times = value, true, nil
			case label == "Normalized form": // alone, if there is no difference
				if !original {
					expression, times = value, nil
				}
				original = false
			case value == "never":
				said[expression] = "never"
			case label == "Next elapse" || strings.HasPrefix(label, "Iter"):
				at, err := time.Parse("Mon 2006-01-02 15:04:05 MST", value)
				if err != nil {
					t.Fatalf("systemd-analyze of %q: %v", expression, err)
				}
				times = append(times, at.Format(time.RFC3339))
				said[expression] = strings.Join(times, " ")
			}
		}
		for line := range strings.Lines(errors.String()) {
			// EDEADLK around changes of clocks
			if rest, found := strings.CutPrefix(line, "Failed to determine next elapse for '"); found {
				expression, _, _ := strings.Cut(rest, "'")
				delete(said, expression)
			}
		}
	}
	return said
}

// calendarTimes returns the same, as we say it.
func calendarTimes(expression string) string {
	cron := schedule.NewCalendar(expression, "")
	if bad := domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Cron: cron})); bad != nil {
		if strings.Contains(bad.Error(), "never matches") {
			return "never"
		}
		return "invalid"
	}
	at, err := time.Parse(time.DateTime, calendarBase)
	if err != nil {
		return err.Error()
	}
	var times []string
	for range 4 {
		at = cron.Next(at)
		times = append(times, at.Format(time.RFC3339))
	}
	return strings.Join(times, " ")
}

// calendarExamples are from systemd.time(7), or are chosen.
var calendarExamples = []string{
	"minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "yearly", "annually", "Daily",
	"weekly Europe/Berlin",
	"Sat,Thu,Mon..Wed,Sat..Sun", "Mon,Sun *-*-* 2,1:23", "Wed *-1", "Wed..Wed,Wed *-1", "Wed, 17:48",
	"Wed..Sat,Tue *-10-15 1:2:3",
	"*-*-7 0:0:0", "10-15", "monday *-12-* 17:00", "Mon,Fri *-*-3,1,2 *:30:45", "12,14,13,12:20,10,30",
	"12..14:10,20,30",
	"mon,fri *-1/2-1,3 *:30:45", "03-05 08:05", "08:05", "05:40:23", "Sat,Sun 12-05 08:05:40", "Sat,Sun 08:05:40",
	"*-*-* 00:00 Asia/Tokyo",
	"*:2/3", "*-*-* *:*:0/20", "*-02~03", "Mon *-05~07/1", "Sun *-*~7/1 04:00", "*-*~1", "*-*~1..3", "*-*~28/5",
	"*-*~3,1 12:00", "*~*",
	"Mon..Fri 08..18:00/15", "*-*-01..07 02:30 Europe/Berlin", "*-*-31", "*-2-29", "Mon *-2-29", "*-2-30",
	"*-2-31,30 5:00", "*-4,6-31",
	"*-*-* 02:30:00 America/New_York", "Fri 18:00 utc", "*-*-1/10", "*:50..59/4", "0/6:15", "*-3/3~1", "Mon-Fri 9:00",
	"5..5:00", "*-*-* *:0/29", "*:30/30",
	"*-*-* 23:59:59", "Mon..Sun", "*-11-5..12/3",

	"", "*", "10", "2-", "-2", "*-*", "30 2 * * *", "Mon..", "..Mon", "Fri..Mon", "Mon,,Tue", ",Mon", "Mon Tue",
	"Mondays", "mo", "Mon..Tue..Wed",
	"*-13-01", "*-0-1", "*-1-0", "*-1-32", "24:00", "12:60", "12:00:60", "12:00:", "12", ":30", "*:*/5", "*:1..9/70",
	"*-*~5..9/70", "*/2:00", "*:0/0", "*:0/60", "*:40/20", "*:20..10",
	"*:0..10/15", "5..5/1:00", "*~29", "*~0", "~1", "*~", "*-*~1/2", "*-*~1/0", "1~2-3", "*-1-1-1", "1:2:3:4", "*:1,",
	"*:,1", "*:*,1", "*:1 *:2", "8:00 Mon",
	"*-*-* *-*-*", "daily daily", "daily 10:00", "@daily", "reboot", "Mon 10:00 Mars/Olympus", "*:-1", "*:+1", "*:1x",
	"*:0x1",
}

// TestCalendarAsStored compares with the stored answers of systemd-analyze.
func TestCalendarAsStored(t *testing.T) {
	if *updateCalendar {
		said := systemdTimes(t, calendarExamples)
		var text strings.Builder
		fmt.Fprintf(&text,
			"# What systemd-analyze calendar --iterations=4 --base-time='%s' says of expressions, in UTC.\n",
			calendarBase)
		text.WriteString("# go test -run TestCalendarAsStored . -update-calendar writes it.\n")
		for _, expression := range calendarExamples {
			fmt.Fprintf(&text, "%s|%s\n", expression, said[expression])
		}
		if err := os.WriteFile(calendarTable, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(calendarTable)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		expression, want, found := strings.Cut(s.Text(), "|")
		if !found {
			continue
		}
		lines++
		if got := calendarTimes(expression); got != want {
			t.Errorf("times of %q:\ngot  %s\nwant %s", expression, got, want)
		}
	}
	if lines != len(calendarExamples) {
		t.Errorf("%d lines for %d examples", lines, len(calendarExamples))
	}
}

// calendarRandom makes random calendar expressions.
type calendarRandom struct{ *rand.Rand }

func (c calendarRandom) expression() string {
	var parts []string
	if c.IntN(3) == 0 {
		parts = append(parts, c.pick("Mon", "tue..Fri", "Sat,sunday", "Wed,Mon..Tue,", "Thursday-Sun"))
	}
	if c.IntN(2) == 0 {
		months := c.pick("*-", "") + c.optional(c.component(12, true, true))
		parts = append(parts,
			months+c.pick("-"+c.optional(c.component(31, true, false)), "~"+c.optional(c.component(28, false, false))))
	}
	if c.IntN(4) > 0 || len(parts) == 0 {
		parts = append(parts,
			c.optional(c.component(23, true, true))+":"+c.optional(c.component(59, true, true))+
				c.pick("", "", ":"+c.optional(c.component(59, true, true))))
	}
	if c.IntN(4) == 0 {
		parts = append(parts, c.pick("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"))
	}
	return strings.Join(parts, " ")
}

func (c calendarRandom) pick(all ...string) string { return all[c.IntN(len(all))] }

func (c calendarRandom) optional(part string) string { return c.pick(part, "*", part) }

// component returns a number up to most, a range or a repetition, or a list of them.
func (c calendarRandom) component(most int, lists, repeats bool) string {
	number := func() string { return fmt.Sprint(c.IntN(most + 1)) }
	var parts []string
	for i := 0; i == 0 || lists && i < 3 && c.IntN(2) == 0; i++ {
		part := number()
		switch kind := c.IntN(5); {
		case kind == 0:
			if last := number(); last != part {
				part += ".." + last
			}
		case kind == 1 && repeats:
			part += "/" + number()
		case kind == 2:
			part += ".." + number() + "/" + number()
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// TestCalendarAsSystemd compares random expressions with the program. It leaves out expressions for which systemd 252
// differs from systemd.time(7), which we follow:
//
//   - days of the month that repeat without an end: systemd carries days beyond the end of a month over to the next
//     month, and of days before the end (*-*~24/19) it leaves the first one of a month out, if it looks for times from
//     late in the month before;
//   - lists of days before the end of the month: it accepts a member only if it is at most 28, 25, 22 and so on;
//   - seconds from a value to the same one (*:*:16..16), which it refuses.
func TestCalendarAsSystemd(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := calendarRandom{rand.New(rand.NewPCG(seed, 0))}
	expressions := slices.Clone(calendarExamples)
	for range 400 {
		expressions = append(expressions, c.expression())
	}
	said := systemdTimes(t, expressions)
	valid := 0
	for expression, want := range said {
		if got := calendarTimes(expression); got != want {
			t.Errorf("times of %q:\ngot  %s\nwant %s", expression, got, want)
		}
		if want != "invalid" {
			valid++
		}
	}
	if valid < 100 {
		t.Errorf("only %d expressions were valid", valid)
	}
}
