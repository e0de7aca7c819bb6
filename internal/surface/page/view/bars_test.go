package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"pgregory.net/rapid"
)

// barsNow is an instant whose last 90 days include a clock change.
var barsNow = time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// historyOf returns 90 operational days, except for the given durations by how many
// days ago the day was.
func historyOf(now time.Time, zone *time.Location, but map[int]statuspage.StatusDurations) statuspage.History {
	begin := []statuspage.StatusChange{{At: statuspage.HistoryStart(now, zone), Status: kernel.StatusOperational}}
	r := statuspage.NewHistory(begin, nil, now, zone)
	for ago, t := range but {
		r[len(r)-1-ago].StatusDurations = t
	}
	return r
}

// dayCases are days of every kind, with their English texts.
var dayCases = []struct {
	tally               statuspage.StatusDurations
	class, text, uptime string
}{
	{statuspage.DurationsOf(times{kernel.StatusOperational: 24 * time.Hour}), "", "Operational", "100%"},
	{statuspage.DurationsOf(times{kernel.StatusMaintenance: 2 * time.Hour, kernel.StatusOperational: 22 * time.Hour}),
		"w", "Under Maintenance, 2 hours", "100%"},
	{statuspage.DurationsOf(times{kernel.StatusDegraded: 90 * time.Minute, kernel.StatusOperational: 20 * time.Hour}),
		"d", "Degraded, 1 hour 30 minutes", "100%"},
	{statuspage.DurationsOf(times{kernel.StatusPartialOutage: 24 * time.Hour}), "p", "Partial Outage, 1 day", "70.00%"},
	{statuspage.DurationsOf(times{
		kernel.StatusMajorOutage: 14*time.Minute + 24*time.Second,
		kernel.StatusOperational: 24*time.Hour - 14*time.Minute - 24*time.Second,
	}), "m", "Major Outage, 14 minutes", "99.00%"},
	{statuspage.DurationsOf(times{
		kernel.StatusMajorOutage: time.Millisecond, kernel.StatusOperational: 24 * time.Hour,
	}), "m", "Major Outage, 1 second", "99.99%"},
	{statuspage.DurationsOf(times{
		kernel.StatusMajorOutage: 6 * time.Hour, kernel.StatusPartialOutage: time.Hour,
		kernel.StatusDegraded: time.Hour, kernel.StatusMaintenance: time.Hour,
		kernel.StatusOperational: 15 * time.Hour,
	}), "m",
		"Major Outage, 6 hours · Partial Outage, 1 hour · Degraded, 1 hour · Under Maintenance, 1 hour", "73.75%"},
	{statuspage.DurationsOf(times{kernel.StatusOperational: 22 * time.Hour, kernel.StatusUnknown: 2 * time.Hour}), "x",
		"Operational · Not known for 2 hours", "100%"},
	{statuspage.DurationsOf(times{
		kernel.StatusMajorOutage: 12 * time.Hour, kernel.StatusOperational: 10 * time.Hour,
		kernel.StatusUnknown: 2 * time.Hour,
	}), "m x", "Major Outage, 12 hours · Not known for 2 hours", "45.45%"},
	{statuspage.DurationsOf(times{kernel.StatusUnknown: 24 * time.Hour}), "u", "Not known", "not known"},
	{statuspage.StatusDurations{}, "n", "No data yet", ""},
}

func TestBars(t *testing.T) {
	en := i18ntest.Language(t, "en")
	but := map[int]statuspage.StatusDurations{}
	for i, c := range dayCases {
		but[2*i] = c.tally // with a calm day between each two
	}
	v := viewBars(en, "Checkout", historyOf(barsNow, time.UTC, but))
	p := htmltest.Parse(t, executeBars(t, en, v))
	bars := p.All(".bars")[0].Children()
	if len(bars) != statuspage.HistoryDays {
		t.Fatalf("there are %d bars", len(bars))
	}
	rows := p.All(".days tbody tr")
	// The label has no uptime, because the visible span depends on the width.
	got := p.One(t, ".days caption")
	if got != p.All(".bars")[0].Attr("aria-label") || got != "Checkout: status day by day" {
		t.Errorf("the label is %q", got)
	}
	if got := p.All(".bars")[0].Attr("data-day"); got != "2026-11-21" {
		t.Errorf("the date of the last bar is %q", got)
	}
	if got := rows[0].Text(); got != "20 Nov – 21 NovOperational100%" {
		t.Errorf("the first row reads %q", got)
	}
	for i, c := range dayCases[1:] {
		ago := 2 * (i + 1)
		if got := bars[len(bars)-1-ago]; got.Attr("class") != c.class && (c.class != "n" || got.Data != "b") {
			t.Errorf("%+v is the bar %s with the class %q, want %q", c.tally, got.Data, got.Attr("class"), c.class)
		}
		row := rows[1+2*i]
		date := barsNow.AddDate(0, 0, -ago).Format("2 Jan")
		got, want := row.Texts("td"), []string{c.text, c.uptime}
		if !slices.Equal(got, want) || row.One(t, "th") != date || row.Attr("class") != c.class {
			t.Errorf("%s reads %q, want %q", row.One(t, "th"), got, want)
		}
	}
}

// executeBars renders bars in a language.
func executeBars(t testing.TB, l *i18n.Language, v barsView) string {
	t.Helper()
	var out strings.Builder
	if err := templates()[l]().ExecuteTemplate(&out, "bars", v); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestDayOfClockChange checks that a day of 23 or 25 hours is one bar, with at most
// its own duration.
func TestDayOfClockChange(t *testing.T) {
	for _, c := range []struct {
		zone, day string
		lasted    string
	}{
		{"Europe/Berlin", "2026-03-29", "Major Outage, 23 hours"},
		{"Europe/Berlin", "2026-10-25", "Major Outage, 1 day 1 hour"},
		{"America/Santiago", "2026-09-06", "Major Outage, 23 hours"}, // it begins at 1:00
		{"Pacific/Apia", "2026-10-25", "Major Outage, 1 day"},
	} {
		zone := zoneOf(t, c.zone)
		date, err := time.ParseInLocation(time.DateOnly, c.day, zone)
		if err != nil {
			t.Fatal(err)
		}
		begin := statuspage.Midnight(date.Add(12*time.Hour), zone)
		now := begin.AddDate(0, 0, 10).Add(5 * time.Hour)
		r := statuspage.NewHistory([]statuspage.StatusChange{
			{At: begin.AddDate(0, -1, 0), Status: kernel.StatusOperational},
			{At: begin, Status: kernel.StatusMajorOutage},
			{At: statuspage.AddDays(begin, 1), Status: kernel.StatusOperational},
		}, nil, now, zone)
		v := viewBars(i18ntest.Language(t, "en"), "x", r)
		i := slices.IndexFunc(v.Rows, func(row barRow) bool { return row.Class == "m" })
		if i < 0 || v.Rows[i].Text != c.lasted || v.Rows[i].Date != begin.Format("2 Jan") ||
			strings.Count(string(v.Bars), "class=m") != 1 {
			t.Errorf("the day of the outage: %s in %s: %+v", c.day, c.zone, v.Rows)
		}
	}
}

func TestBarsInEveryLanguage(t *testing.T) {
	want := map[string][]string{
		"en": {"90 days ago", "17 Nov – 21 Nov", "Major Outage, 14 minutes · Not known for 2 hours", "99.27%"},
		"de": {"vor 90 Tagen", "17. Nov. – 21. Nov.", "Schwerer Ausfall, 14 Minuten · Nicht bekannt: 2 Stunden",
			"99,27\u00a0%"},
		"ar": {"قبل 90 يومًا", "17 نوفمبر – 21 نوفمبر", "دقيقة", "99.27"},
	}
	day := statuspage.DurationsOf(times{
		kernel.StatusMajorOutage: 14 * time.Minute, kernel.StatusOperational: 32 * time.Hour,
		kernel.StatusUnknown: 2 * time.Hour,
	})
	for _, l := range i18n.All() {
		r := historyOf(barsNow, zoneOf(t, "Europe/Berlin"), map[int]statuspage.StatusDurations{5: day})
		v := viewBars(l, hostile, r)
		v.Ends = true
		html := executeBars(t, l, v)
		if found := i18ntest.Leftovers(html); len(found) > 0 {
			t.Errorf("%s: %q", l.Tag, found)
		}
		p := htmltest.Parse(t, html)
		if len(p.All("script"))+len(p.All("img")) > 0 {
			t.Errorf("%s: not escaped", l.Tag)
		}
		for _, s := range want[l.Tag] {
			if !strings.Contains(p.RawText(), s) {
				t.Errorf("%s: %q is not in %q", l.Tag, s, p.Text())
			}
		}
		for _, item := range viewLegend(l) {
			if item.Label == "" || len(i18ntest.Leftovers(item.Label)) > 0 {
				t.Errorf("%s: the legend has %q", l.Tag, item)
			}
		}
	}
}

// TestDayTextOfComponent checks that the text of a day is about the component, not
// about incidents.
func TestDayTextOfComponent(t *testing.T) {
	whole := statuspage.DurationsOf(times{kernel.StatusOperational: 24 * time.Hour})
	partly := statuspage.DurationsOf(times{
		kernel.StatusOperational: 20 * time.Hour, kernel.StatusUnknown: 4 * time.Hour,
	})
	for _, l := range i18n.All() {
		if got := dayText(l, whole); got != l.Status(kernel.StatusOperational) {
			t.Errorf("%s: an operational day reads %q", l.Tag, got)
		}
		got := dayText(l, partly)
		if !strings.HasPrefix(got, l.Status(kernel.StatusOperational)) || strings.Contains(got, l.T("incidents.none")) {
			t.Errorf("%s: a day that is partly unknown reads %q", l.Tag, got)
		}
	}
}

// TestBarsWithoutData checks that a new component has no uptime, and one row for
// all days.
func TestBarsWithoutData(t *testing.T) {
	en := i18ntest.Language(t, "en")
	v := viewBars(en, "New", statuspage.NewHistory(nil, nil, barsNow, time.UTC))
	if len(v.Rows) != 1 || v.Rows[0] != (barRow{90, "24 Aug – 21 Nov", "n", "No data yet", ""}) {
		t.Errorf("rows: %+v", v.Rows)
	}
	for _, s := range v.Spans {
		if s.Uptime != "Uptime not known" {
			t.Errorf("uptime without data: %q", s.Uptime)
		}
	}
	if v := viewBars(en, "None", nil); v.Bars != "" || v.Rows != nil || v.Last != "" {
		t.Errorf("without days: %+v", v)
	}
}

// TestUptimeOfEachSpan checks that each uptime covers the days that are shown with it.
func TestUptimeOfEachSpan(t *testing.T) {
	en := i18ntest.Language(t, "en")
	full := statuspage.DurationsOf(times{kernel.StatusMajorOutage: 24 * time.Hour})
	r := historyOf(barsNow, time.UTC, map[int]statuspage.StatusDurations{30: full, 60: full})
	// today is over as well
	r[len(r)-1].StatusDurations = statuspage.DurationsOf(times{kernel.StatusOperational: 24 * time.Hour})
	var got []string
	for _, s := range viewSpans(en, r) {
		got = append(got, fmt.Sprintf("%d %s %s %s", s.Days, s.Ago, s.Uptime, s.Over))
	}
	want := []string{
		"90 90 days ago 97.77% uptime over 90 days", "60 60 days ago 98.33% uptime over 60 days",
		"30 30 days ago 100% uptime over 30 days",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the uptimes: %q, want %q", got, want)
	}
}

// TestFiguresOfYoungComponent checks that the page of a component says over which days its uptimes are.
func TestFiguresOfYoungComponent(t *testing.T) {
	en := i18ntest.Language(t, "en")
	for days, want := range map[int][]string{
		1: {"since 21 Nov"}, 7: {"7 days", "since 15 Nov"}, 40: {"7 days", "30 days", "since 13 Oct"},
		90: {"7 days", "30 days", "90 days"},
	} {
		begin := statuspage.AddDays(statuspage.Midnight(barsNow, time.UTC), 1-days)
		changes := []statuspage.StatusChange{
			{At: begin, Status: kernel.StatusMajorOutage},
			{At: begin.Add(time.Second), Status: kernel.StatusOperational},
		}
		var got []string
		for _, f := range viewFigures(en, statuspage.NewHistory(changes, nil, barsNow, time.UTC)) {
			got = append(got, f.Label)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d days: %q, want %q", days, got, want)
		}
	}
	if got := viewFigures(en, nil); len(got) != len(figureDays) || got[0].Uptime != "not known" {
		t.Errorf("without data: %v", got)
	}
}

// TestRowsCoverEveryDayOnce checks that the rows of the table have all days once,
// with the class and the text of each day.
func TestRowsCoverEveryDayOnce(t *testing.T) {
	en := i18ntest.Language(t, "en")
	zone := zoneOf(t, "Europe/Berlin")
	rapid.Check(t, func(rt *rapid.T) {
		r := statuspage.NewHistory(nil, nil, barsNow, zone)
		for i := range r {
			r[i].StatusDurations = rapid.SampledFrom(dayCases).Draw(rt, "tally").tally
			if i > 0 && rapid.Bool().Draw(rt, "same") {
				r[i].StatusDurations = r[i-1].StatusDurations
			}
		}
		rows, each := mergedRows(en, r), dailyRows(en, r)
		if len(each) != len(r) {
			rt.Fatalf("%d days have %d rows", len(r), len(each))
		}
		day := 0
		for i, row := range rows {
			for n := range row.Days {
				d := each[day]
				if d.Class != row.Class || d.Text != row.Text || d.Uptime != row.Uptime {
					rt.Fatalf("%s reads %+v, and the row %+v", d.Date, d, row)
				}
				if tally := r[len(r)-1-day].StatusDurations; barClass(tally) != row.Class {
					rt.Fatalf("%s has the bar %q and the row %q", d.Date, barClass(tally), row.Class)
				}
				first, last := n == row.Days-1, n == 0
				date := en.ShortDate(r[len(r)-1-day].Date)
				if first && !strings.HasPrefix(row.Date, date) || last && !strings.HasSuffix(row.Date, date) {
					rt.Fatalf("%s is in the row of %s", date, row.Date)
				}
				day++
			}
			if i > 0 && isPlain(row.Class) && rows[i-1].Class == row.Class {
				rt.Fatalf("two rows for the same: %+v, %+v", rows[i-1], row)
			}
		}
		if day != len(r) {
			rt.Fatalf("the rows are of %d days", day)
		}
	})
}

// times are durations by status.
type times = map[kernel.Status]time.Duration
