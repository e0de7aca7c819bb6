package i18n

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"golang.org/x/text/feature/plural"
	"pgregory.net/rapid"
)

// languageOf returns an available language.
func languageOf(t testing.TB, tag string) *Language {
	t.Helper()
	for _, l := range All() {
		if l.Tag == tag {
			return l
		}
	}
	t.Fatalf("there is no language %q", tag)
	return nil
}

func TestLabelsMatchTheDomain(t *testing.T) {
	en := languageOf(t, "en")
	for _, l := range All() {
		var words [][2]string // translated, and of the domain
		for _, s := range kernel.Statuses {
			words = append(words, [2]string{l.Status(s), s.Label()}, [2]string{l.Banner(s), kernel.Banner(s)})
		}
		for _, s := range statuspage.IncidentStates {
			words = append(words, [2]string{l.State(s), s.Label()})
		}
		for _, i := range kernel.Impacts {
			words = append(words, [2]string{l.Impact(i), i.Label()})
		}
		for _, s := range statuspage.MaintenanceStates {
			words = append(words, [2]string{l.MaintenanceState(s), s.Label()})
		}
		for _, w := range words {
			if l == en && w[0] != w[1] {
				t.Errorf("the label of the domain is %q, but the message %q", w[1], w[0])
			}
			if strings.Contains(w[0], ".") { // the key
				t.Errorf("%s has no translation of %q", l.Tag, w[1])
			}
		}
	}
}

func TestDates(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	kathmandu, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	winter := time.Date(2026, 1, 2, 14, 4, 59, 0, time.UTC)
	leap := time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		tag                                            string
		at                                             time.Time
		date, dateYear, month, moment, dayClock, clock string
	}{
		{"en", winter.In(berlin), "Friday, 2 January", "2 January 2026", "January 2026", "2 Jan 2026, 15:04 CET",
			"2 Jan, 15:04", "15:04"},
		{"de", winter.In(berlin), "Freitag, 2. Januar", "2. Januar 2026", "Januar 2026", "2. Jan. 2026, 15:04 MEZ",
			"2. Jan., 15:04", "15:04"},
		{"ar", winter.In(berlin), "الجمعة، 2 يناير", "2 يناير 2026", "يناير 2026", "2 يناير 2026، 15:04 CET",
			"2 يناير، 15:04", "15:04"},
		{"en", leap, "Tuesday, 29 February", "29 February 2028", "February 2028", "29 Feb 2028, 00:00 UTC",
			"29 Feb, 00:00", "00:00"},
		{"de", leap, "Dienstag, 29. Februar", "29. Februar 2028", "Februar 2028", "29. Feb. 2028, 00:00 UTC",
			"29. Feb., 00:00", "00:00"},
		{"ar", leap, "الثلاثاء، 29 فبراير", "29 فبراير 2028", "فبراير 2028", "29 فبراير 2028، 00:00 UTC",
			"29 فبراير، 00:00", "00:00"},
		{"de", winter.AddDate(0, 6, 0).In(berlin), "Donnerstag, 2. Juli", "2. Juli 2026", "Juli 2026",
			"2. Juli 2026, 16:04 MESZ", "2. Juli, 16:04", "16:04"},
		{"en", winter.AddDate(0, 11, 0).In(kathmandu), "Wednesday, 2 December", "2 December 2026", "December 2026",
			"2 Dec 2026, 19:49 UTC+05:45", "2 Dec, 19:49", "19:49"},
		{"ar", winter.AddDate(0, 11, 0).In(kathmandu), "الأربعاء، 2 ديسمبر", "2 ديسمبر 2026", "ديسمبر 2026",
			"2 ديسمبر 2026، 19:49 UTC+05:45", "2 ديسمبر، 19:49", "19:49"},
	} {
		l := languageOf(t, c.tag)
		for _, got := range [][2]string{
			{l.Date(c.at), c.date}, {l.DateYear(c.at), c.dateYear}, {l.Month(c.at), c.month},
			{l.Moment(c.at), c.moment}, {l.DayClock(c.at), c.dayClock}, {l.Clock(c.at), c.clock},
		} {
			if got[0] != got[1] {
				t.Errorf("date in %s: %q, want %q", c.tag, got[0], got[1])
			}
		}
	}
}

// TestNamesOfDates checks that the English names of days and months match the standard library, and that other
// languages have as many different ones.
func TestNamesOfDates(t *testing.T) {
	for _, l := range All() {
		dates, months, short := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for day := range 7 {
			dates[l.Date(time.Date(2026, 3, 1+day, 0, 0, 0, 0, time.UTC))] = true
		}
		for month := range 12 {
			at := time.Date(2026, time.Month(1+month), 5, 0, 0, 0, 0, time.UTC)
			months[l.Month(at)], short[l.DayClock(at)] = true, true
			if l.Tag == "en" &&
				(l.Month(at) != at.Format("January 2006") || l.Moment(at) != at.Format("2 Jan 2006, 15:04 MST") ||
					l.Date(at) != at.Format("Monday, 2 January")) {
				t.Errorf("Month, Moment and Date of %v: %q, %q, %q", at, l.Month(at), l.Moment(at), l.Date(at))
			}
		}
		if len(dates) != 7 || len(months) != 12 || len(short) != 12 {
			t.Errorf("%s: there are %d weekdays, %d months and %d short months", l.Tag, len(dates), len(months),
				len(short))
		}
	}
}

func TestDurations(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration][2]string{
		0:                             {"0 Sekunden", "0 ثانية"},
		-time.Hour:                    {"0 Sekunden", "0 ثانية"},
		time.Second:                   {"1 Sekunde", "ثانية واحدة"},
		2 * time.Second:               {"2 Sekunden", "ثانيتان"},
		3 * time.Second:               {"3 Sekunden", "3 ثوانٍ"},
		59*time.Second + 6e8:          {"1 Minute", "دقيقة واحدة"},
		14 * time.Minute:              {"14 Minuten", "14 دقيقة"},
		90 * time.Minute:              {"1 Stunde 30 Minuten", "ساعة واحدة و30 دقيقة"},
		2*time.Hour + 2*time.Minute:   {"2 Stunden 2 Minuten", "ساعتان ودقيقتان"},
		time.Hour + 3*time.Second:     {"1 Stunde", "ساعة واحدة"},
		10*time.Hour + 11*time.Minute: {"10 Stunden 11 Minuten", "10 ساعات و11 دقيقة"},
		2 * day:                       {"2 Tage", "يومان"},
		11*day + time.Hour:            {"11 Tage 1 Stunde", "11 يومًا وساعة واحدة"},
		100 * day:                     {"100 Tage", "100 يوم"},
		103 * day:                     {"103 Tage", "103 أيام"},
		2000 * day:                    {"2.000 Tage", "2,000 يوم"},
	} {
		if got := languageOf(t, "de").Duration(d); got != want[0] {
			t.Errorf("de: %v is %q, want %q", d, got, want[0])
		}
		if got := languageOf(t, "ar").Duration(d); got != want[1] {
			t.Errorf("ar: %v is %q, want %q", d, got, want[1])
		}
	}
	en := languageOf(t, "en")
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(-int64(time.Minute), int64(999*day)).Draw(t, "d"))
		d = d.Truncate(rapid.SampledFrom([]time.Duration{
			time.Nanosecond, time.Second, time.Minute, time.Hour, day,
		}).Draw(t, "to"))
		if got, want := en.Duration(d), kernel.FormatDuration(d); got != want {
			t.Fatalf("Duration(%v) = %q, want %q", d, got, want)
		}
	})
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{
		1: "100%", 1.5: "100%", 0: "0.00%", -1: "0.00%", 0.5: "50.00%", 0.9998: "99.98%", 0.99989: "99.98%",
		0.999: "99.90%", 0.99: "99.00%", 0.9999: "99.99%", 0.99995: "99.99%", 0.999999: "99.99%",
		math.Nextafter(1, 0): "99.99%", 0.29: "29.00%", 0.123456: "12.34%", 0.00001: "0.00%",
	} {
		if got := languageOf(t, "en").Percent(v, true); got != want {
			t.Errorf("Percent(%v) = %q, want %q", v, got, want)
		}
	}
	for tag, want := range map[string][2]string{
		"en": {"99.98%", "not known"}, "de": {"99,98\u00a0%", "nicht bekannt"},
		"ar": {"99.98\u200e%\u200e", "غير معروفة"},
	} {
		l := languageOf(t, tag)
		got := [2]string{l.Percent(0.99985, true), l.Percent(0.99985, false)}
		if got != want || l.Percent(math.NaN(), true) != want[1] {
			t.Errorf("percentages in %s: %q, want %q", tag, got, want)
		}
	}
	en := languageOf(t, "en")
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0, 1).Draw(t, "v")
		text := en.Percent(v, true)
		said, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || said > v*100+1e-8 || said < v*100-0.01-1e-8 || (text == "100%") != (v == 1) {
			t.Fatalf("Percent(%v) = %q", v, text)
		}
	})
}

func TestUptimePeriod(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	began := func(days int) statuspage.History {
		at := statuspage.AddDays(statuspage.Midnight(now, time.UTC), -days).Add(time.Hour)
		return statuspage.NewHistory([]statuspage.StatusChange{{At: at, Status: kernel.StatusOperational}}, nil, now,
			time.UTC)
	}
	for _, c := range []struct {
		language string
		history  statuspage.History
		days     int
		want     string
	}{
		{"en", began(0), 90, "since 22 Nov"}, {"en", began(4), 90, "since 18 Nov"},
		{"en", began(29), 30, "over 30 days"},
		{"en", began(29), 60, "since 24 Oct"}, {"en", began(200), 90, "over 90 days"}, {"en", nil, 90, ""},
		{"de", began(0), 90, "seit dem 22. Nov."}, {"ar", began(0), 90, "منذ 22 نوفمبر"},
	} {
		if got := languageOf(t, c.language).UptimePeriod(c.history, c.days); got != c.want {
			t.Errorf("UptimePeriod in %s = %q, want %q", c.language, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -5: "-5", -1000: "-1,000",
		math.MinInt: "-9,223,372,036,854,775,808",
	} {
		if got := languageOf(t, "en").Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
	if got := languageOf(t, "de").Number(12345); got != "12.345" {
		t.Errorf("12345 is %q in German", got)
	}
}

func TestPluralForms(t *testing.T) {
	for tag, want := range map[string]map[int]plural.Form{
		"en": {
			0: plural.Other, 1: plural.One, 2: plural.Other, 21: plural.Other, -1: plural.One,
			math.MinInt: plural.Other,
		},
		"de": {0: plural.Other, 1: plural.One, 2: plural.Other, 101: plural.Other},
		"ar": {
			0: plural.Zero, 1: plural.One, 2: plural.Two, 3: plural.Few, 10: plural.Few, 11: plural.Many,
			99:  plural.Many,
			100: plural.Other, 101: plural.Other, 102: plural.Other, 103: plural.Few, 110: plural.Few, 111: plural.Many,
			1000: plural.Other, 1_000_003: plural.Few,
		},
	} {
		for n, form := range want {
			if got := languageOf(t, tag).pluralFormOf(n); got != form {
				t.Errorf("pluralFormOf in %s of %d = %d, want %d", tag, n, got, form)
			}
		}
	}
}

func TestMessages(t *testing.T) {
	en, de, ar := languageOf(t, "en"), languageOf(t, "de"), languageOf(t, "ar")
	for _, c := range [][2]string{
		{en.T("page.skip"), "Skip to content"},
		{en.T("components.operational", "n", 3, "total", 1500), "3 of 1,500 components operational"},
		{de.T("components.operational", "total", 5, "n", 1), "1 von 5 Komponenten funktioniert"},
		{ar.T("components.operational", "n", 2, "total", 5), "مكوّنان يعملان من أصل 5"},
		{en.T("uptime.of", "percent", en.Percent(0.9998, true)), "99.98% uptime"},
		{en.T("no.such.key", "n", 1), "no.such.key"},
		{en.T("bars.lasted", "status", "Monday"), "Monday, {duration}"},
		{en.T("bars.lasted", "status", "Monday", "duration"), "Monday, {duration}"},
		// Text of the opposite direction is isolated.
		{en.T("page.title", "title", "A<b", "page", "الحالة (1)"), "A<b – \u2068الحالة (1)\u2069"},
		{ar.T("feeds.calendar_title", "name", "Example (EU)"), "الصيانة المخطط لها في \u2068Example (EU)\u2069"},
		{ar.T("feeds.calendar_title", "name", "المثال"), "الصيانة المخطط لها في المثال"},
		// Parts that are isolated already are not isolated again.
		{ar.T("mail.affected", "components", "\u2068API\u2069، \u2068Web\u2069"),
			"المكوّنات المتأثرة: \u2068API\u2069، \u2068Web\u2069"},
		{ar.Isolate("\u2068API\u2069 Web"), "\u2068\u2068API\u2069 Web\u2069"},
		// Elements are inserted, everything else is escaped.
		{string(en.HTML("incident.since", "time", template.HTML("<time>x</time>"))), "since <time>x</time>"},
		{string(en.HTML("page.title", "title", `"<b>&`, "page", 1000)), "&#34;&lt;b&gt;&amp; – 1,000"},
		{string(en.HTML("<b>")), "&lt;b&gt;"},
	} {
		if c[0] != c[1] {
			t.Errorf("message %q, want %q", c[0], c[1])
		}
	}
}
