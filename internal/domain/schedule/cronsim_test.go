package schedule_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// cronsimCase is a line of testdata/cronsim.jsonl.
type cronsimCase struct {
	Test, Op, Expr, Start, TZ, Result string
	Rev                               bool
}

// TestCronAsCronsim runs all cases of cronsim's own tests, which follow Debian's cron.
func TestCronAsCronsim(t *testing.T) {
	f, err := os.Open("testdata/cronsim.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	for s := bufio.NewScanner(f); s.Scan(); cases++ {
		var c cronsimCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatalf("decoding the case %s: %v", s.Text(), err)
		}
		if c.TZ == "None" {
			c.TZ = ""
		}
		cron := schedule.NewCron(schedule.ScheduleCron, c.Expr, cmp.Or(c.TZ, "UTC"))
		refusal := func() error {
			return domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Cron: cron}))
		}
		switch c.Op {
		case "ok":
			bad := refusal()
			never := strings.Contains(c.Test, "no_matches")
			if (bad != nil) != never || never && !strings.Contains(bad.Error(), "never matches") {
				t.Errorf("%s: problems of the expression %q: %v", c.Test, c.Expr, bad)
			}
		case "init":
			if refusal() == nil {
				t.Errorf("%s: %q is accepted", c.Test, c.Expr)
			}
		case "next":
			if c.Result == "" { // StopIteration
				if got := cron.Next(cronsimTime(t, c.Start, cron.Zone())); !got.IsZero() {
					t.Errorf("%s: %q matches at %v", c.Test, c.Expr, got)
				}
				continue
			}
			start, want := cronsimTime(t, c.Start, cron.Zone()), cronsimTime(t, c.Result, cron.Zone())
			if got := cron.Next(start); !c.Rev && !got.Equal(want) {
				t.Errorf("%s: Next of %q in %s after %s = %s, want %s", c.Test, c.Expr, c.TZ, c.Start,
					got.In(cron.Zone()).Format(time.RFC3339), c.Result)
			}
			if got := cron.Next(want); c.Rev && (cron.Next(want.Add(-time.Second)) != want.UTC() || got.Before(start)) {
				t.Errorf("%s: %q in %s before %s: %s is followed by %s", c.Test, c.Expr, c.TZ, c.Start, c.Result,
					got.In(cron.Zone()).Format(time.RFC3339))
			}
		default:
			t.Fatalf("%s: the kind of case is unknown", s.Text())
		}
	}
	if cases != 1908 {
		t.Errorf("%d cases of cronsim, want 1908", cases)
	}
}

func cronsimTime(t *testing.T, text string, zone *time.Location) time.Time {
	t.Helper()
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at
		}
	}
	t.Fatalf("the time %q has no known layout", text)
	return time.Time{}
}

// TestSpecialCronDays checks what cronsim's cases have not.
func TestSpecialCronDays(t *testing.T) {
	for _, c := range []struct{ expression, after, want string }{
		{"0 0 LW * *", "2026-11-01T00:00:00Z", "2026-11-30T00:00:00Z"},
		{"0 0 LW * *", "2027-01-01T00:00:00Z", "2027-01-29T00:00:00Z"}, // the 31st is a Sunday
		{"0 0 LW * *", "2027-07-01T00:00:00Z", "2027-07-30T00:00:00Z"}, // the 31st is a Saturday
		{"0 0 l,15 2 *", "2028-02-15T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 0 * * MON#2", "2026-11-10T00:00:00Z", "2026-12-14T00:00:00Z"},
		{"0 0 * * mon#1,fri#1", "2026-12-04T00:00:00Z", "2026-12-07T00:00:00Z"},
		{"0 0 * * 3#5", "2026-11-01T00:00:00Z", "2026-12-30T00:00:00Z"},
		{"0 0 * * 0#1", "2026-11-02T00:00:00Z", "2026-12-06T00:00:00Z"},
		{"0 0 * * 5L,1", "2026-11-24T00:00:00Z", "2026-11-27T00:00:00Z"},
		{"0 0 1 * 5L", "2026-11-24T00:00:00Z", "2026-11-27T00:00:00Z"}, // either
		{"0 0 L * fri", "2026-11-27T00:00:00Z", "2026-11-30T00:00:00Z"},
		{"0 0 L * */1", "2026-11-27T00:00:00Z", "2026-11-30T00:00:00Z"},
		{"30 0 0 * * 5L", "2026-11-27T00:00:00Z", "2026-11-27T00:00:30Z"},
	} {
		got := (schedule.Cron{Expression: c.expression, TimeZone: "UTC"}).Next(instant(t, c.after))
		if !got.Equal(instant(t, c.want)) {
			t.Errorf("Next of %s after %s = %s, want %s", c.expression, c.after, got.Format(time.RFC3339), c.want)
		}
	}
	for _, expression := range strings.Split(
		"0 0 L-3 * *|0 0 15W * *|0 0 W * *|0 0 LW/0 * *|0 0 L/ * *|0 0 * * L|0 0 * * friL|0 0 * * 8L|0 0 * * 1#|0 0 "+
			"* * #1|0 0 * * 1#2#3|0 L * * *|L 0 * * *|0 0 * L *|0 0 L,, * *|0 0 1-L * *",
		"|",
	) {
		bad := domaintest.MonitorRefusal(
			monitor.MonitorOf(
				monitor.MonitorConfig{Name: "x", Cron: schedule.Cron{Expression: expression, TimeZone: "UTC"}},
			),
		)
		if bad == nil {
			t.Errorf("%s is accepted", expression)
		}
	}
}
