package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	templateparse "text/template/parse"
	"time"

	"golang.org/x/text/feature/plural"
	"pgregory.net/rapid"

	"github.com/allswell/allswell"
)

// languageOf returns one of our languages.
func languageOf(t testing.TB, tag string) *lang {
	t.Helper()
	for _, l := range languages() {
		if l.Tag == tag {
			return l
		}
	}
	t.Fatalf("there is no language %q", tag)
	return nil
}

// places returns the places of all forms of a message.
func (m *message) places() []string {
	var names []string
	for _, form := range m.forms {
		names = append(names, form.names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// meanings returns, for each plural form that whole numbers of the language
// have, how many of the first thousand have it.
func (l *lang) meanings() map[plural.Form]int {
	found := map[plural.Form]int{plural.Other: 1000}
	for n := range 1000 {
		found[l.formOf(n)]++
	}
	found[l.formOf(1_000_000)] += 1000
	return found
}

// flaws returns what is wrong with the messages of l, measured by English.
func flaws(en, l *lang) (found []string) {
	wrong := func(key, format string, args ...any) {
		found = append(found, l.Tag+": "+key+": "+fmt.Sprintf(format, args...))
	}
	for key := range l.messages {
		if en.messages[key] == nil {
			wrong(key, "English has no such message")
		}
	}
	demanded := l.meanings()
	for key, english := range en.messages {
		m := l.messages[key]
		if m == nil {
			wrong(key, "it is missing")
			continue
		}
		if got, want := m.places(), english.places(); !slices.Equal(got, want) {
			wrong(key, "its places are %v, and in English %v", got, want)
		}
		if english.plural && !m.plural {
			wrong(key, "it needs plural forms")
		}
		for form, p := range m.forms {
			meant := demanded[plural.Form(form)]
			switch {
			case m.plural && meant > 0 && p == nil:
				wrong(key, "the plural form %d is missing", form)
			case m.plural && meant == 0 && p != nil:
				wrong(key, "the language has no plural form %d", form)
			}
			for _, name := range m.places() {
				isCount := name == "n" || name == "count"
				if p != nil && !slices.Contains(p.names(), name) && !(isCount && meant == 1) {
					wrong(key, "the plural form %d lacks {%s}", form, name)
				}
			}
			found = append(found, textFlaws(l.Tag+": "+key, p)...)
		}
	}
	slices.Sort(found)
	return found
}

func textFlaws(where string, p pattern) (found []string) {
	text := ""
	for _, piece := range p {
		text += piece.text + piece.name
	}
	if strings.ContainsAny(text, "<>&") {
		found = append(found, where+": no markup belongs into a message")
	}
	if text != strings.TrimSpace(text) || strings.Contains(text, "  ") {
		found = append(found, where+": it has stray spaces")
	}
	return found
}

func TestLanguagesAreComplete(t *testing.T) {
	var tags []string
	for _, l := range languages() {
		tags = append(tags, l.Tag)
		for _, flaw := range flaws(languages()[0], l) {
			t.Error(flaw)
		}
	}
	files, err := filepath.Glob("languages/*")
	if err != nil || len(files) != len(tags) {
		t.Errorf("%d files make %d languages (%v)", len(files), len(tags), err)
	}
	if tags[0] != "en" {
		t.Errorf("the languages are %v, and English is to be the first", tags)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range twice(t, data) {
			t.Errorf("%s: the key %s is there twice", file, key)
		}
	}
}

// twice returns the keys that an object of a JSON text has more than once.
func twice(t *testing.T, data []byte) (found []string) {
	dec := json.NewDecoder(bytes.NewReader(data))
	type level struct {
		object bool
		seen   map[string]bool
		values int // of an object: keys and values
	}
	var open []*level
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 {
			top := open[len(open)-1]
			if key, isText := token.(string); isText && top.object && top.values%2 == 0 {
				if top.seen[key] {
					found = append(found, key)
				}
				top.seen[key] = true
			}
			top.values++
		}
		if delim, opens := token.(json.Delim); opens {
			open = append(open, &level{object: delim == '{', seen: map[string]bool{}})
		}
	}
}

// mutant returns German with some messages in the place of its own.
func mutant(t *testing.T, messages map[string]string) *lang {
	t.Helper()
	l := *languageOf(t, "de")
	l.messages = maps.Clone(l.messages)
	for key, raw := range messages {
		if raw == "" {
			delete(l.messages, key)
			continue
		}
		m, err := parseMessage(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		l.messages[key] = m
	}
	return &l
}

func TestFlawsAreFound(t *testing.T) {
	const key = "components.count"
	for raw, want := range map[string]string{
		``:                       "it is missing",
		`"{n} Komponenten"`:      "needs plural forms",
		`{"other": "{n} Teile"}`: "form 2 is missing",
		`{"one": "{n} Teil", "other": "{n} Teile", "few": "{n} Teile"}`: "no plural form 4",
		`{"one": "{n} Teil", "other": "Teile"}`:                         "lacks {n}",
		`{"one": "{n} Teil", "other": "{m} Teile"}`:                     "its places are",
		`{"one": "{n} Teil", "other": "{n} <b>Teile</b>"}`:              "markup",
		`{"one": "{n} Teil", "other": "{n} Teile "}`:                    "spaces",
	} {
		found := strings.Join(flaws(languages()[0], mutant(t, map[string]string{key: raw})), "\n")
		if !strings.Contains(found, want) {
			t.Errorf("%s: found %q, want %q", raw, found, want)
		}
	}
	ok := mutant(t, map[string]string{key: `{"one": "ein Teil", "other": "{n} Teile"}`})
	if found := flaws(languages()[0], ok); found != nil {
		t.Errorf("a form for one number need not name it, but: %v", found)
	}
	if found := flaws(languages()[0], mutant(t, map[string]string{"page.new": `"Neu"`})); len(found) != 1 {
		t.Errorf("a message that English lacks: %v", found)
	}
	if got := twice(t, []byte(`{"a": {"b": "b", "c": ["b", "b"], "b": 1}, "b": 2}`)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("twice there: %v", got)
	}
}

func TestWordsOfTheDomain(t *testing.T) {
	en := languageOf(t, "en")
	for _, l := range languages() {
		var words [][2]string // ours, and the domain's
		for _, s := range allswell.Statuses {
			words = append(words, [2]string{l.Status(s), s.Label()}, [2]string{l.Banner(s), allswell.Banner(s)})
		}
		for _, s := range allswell.States {
			words = append(words, [2]string{l.State(s), s.Label()})
		}
		for _, i := range allswell.Impacts {
			words = append(words, [2]string{l.Impact(i), i.Label()})
		}
		for _, s := range allswell.MaintenanceStates {
			words = append(words, [2]string{l.MaintenanceState(s), s.Label()})
		}
		for _, w := range words {
			if l == en && w[0] != w[1] {
				t.Errorf("the domain says %q, and the page %q", w[1], w[0])
			}
			if len(leftovers(w[0])) > 0 {
				t.Errorf("%s has no word for %q", l.Tag, w[1])
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
		{"en", winter.In(berlin), "Friday, 2 January", "2 January 2026", "January 2026", "2 Jan 2026, 15:04 CET", "2 Jan, 15:04", "15:04"},
		{"de", winter.In(berlin), "Freitag, 2. Januar", "2. Januar 2026", "Januar 2026", "2. Jan. 2026, 15:04 MEZ", "2. Jan., 15:04", "15:04"},
		{"ar", winter.In(berlin), "الجمعة، 2 يناير", "2 يناير 2026", "يناير 2026", "2 يناير 2026، 15:04 CET", "2 يناير، 15:04", "15:04"},
		{"en", leap, "Tuesday, 29 February", "29 February 2028", "February 2028", "29 Feb 2028, 00:00 UTC", "29 Feb, 00:00", "00:00"},
		{"de", leap, "Dienstag, 29. Februar", "29. Februar 2028", "Februar 2028", "29. Feb. 2028, 00:00 UTC", "29. Feb., 00:00", "00:00"},
		{"ar", leap, "الثلاثاء، 29 فبراير", "29 فبراير 2028", "فبراير 2028", "29 فبراير 2028، 00:00 UTC", "29 فبراير، 00:00", "00:00"},
		{"de", winter.AddDate(0, 6, 0).In(berlin), "Donnerstag, 2. Juli", "2. Juli 2026", "Juli 2026", "2. Juli 2026, 16:04 MESZ", "2. Juli, 16:04", "16:04"},
		{"en", winter.AddDate(0, 11, 0).In(kathmandu), "Wednesday, 2 December", "2 December 2026", "December 2026", "2 Dec 2026, 19:49 UTC+05:45", "2 Dec, 19:49", "19:49"},
		{"ar", winter.AddDate(0, 11, 0).In(kathmandu), "الأربعاء، 2 ديسمبر", "2 ديسمبر 2026", "ديسمبر 2026", "2 ديسمبر 2026، 19:49 UTC+05:45", "2 ديسمبر، 19:49", "19:49"},
	} {
		l := languageOf(t, c.tag)
		for _, got := range [][2]string{
			{l.Date(c.at), c.date}, {l.DateYear(c.at), c.dateYear}, {l.Month(c.at), c.month},
			{l.Moment(c.at), c.moment}, {l.DayClock(c.at), c.dayClock}, {l.Clock(c.at), c.clock},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %q, want %q", c.tag, got[0], got[1])
			}
		}
	}
}

// TestNamesOfDates holds the names of English to those of the standard library,
// and those of the others to be as many and all different.
func TestNamesOfDates(t *testing.T) {
	for _, l := range languages() {
		dates, months, short := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for day := range 7 {
			dates[l.Date(time.Date(2026, 3, 1+day, 0, 0, 0, 0, time.UTC))] = true
		}
		for month := range 12 {
			at := time.Date(2026, time.Month(1+month), 5, 0, 0, 0, 0, time.UTC)
			months[l.Month(at)], short[l.DayClock(at)] = true, true
			if l.Tag == "en" && (l.Month(at) != at.Format("January 2006") || l.Moment(at) != at.Format("2 Jan 2006, 15:04 MST") || l.Date(at) != at.Format("Monday, 2 January")) {
				t.Errorf("%v: %q, %q, %q", at, l.Month(at), l.Moment(at), l.Date(at))
			}
		}
		if len(dates) != 7 || len(months) != 12 || len(short) != 12 {
			t.Errorf("%s: there are %d weekdays, %d months and %d short months", l.Tag, len(dates), len(months), len(short))
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
		d = d.Truncate(rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Second, time.Minute, time.Hour, day}).Draw(t, "to"))
		if got, want := en.Duration(d), allswell.SpeakDuration(d); got != want {
			t.Fatalf("%v is %q, want %q", d, got, want)
		}
	})
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{
		1: "100%", 1.5: "100%", 0: "0%", -1: "0%", 0.5: "50%", 0.9998: "99.98%", 0.99989: "99.98%",
		0.999: "99.9%", 0.99: "99%", 0.9999: "99.99%", 0.99995: "99.995%", 0.999999: "99.999%",
		math.Nextafter(1, 0): "99.999%", 0.29: "29%", 0.123456: "12.34%", 0.00001: "0%",
	} {
		if got := languageOf(t, "en").Percent(v, true); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	for tag, want := range map[string][2]string{
		"en": {"99.98%", "not known"}, "de": {"99,98\u00a0%", "nicht bekannt"}, "ar": {"99.98\u200e%\u200e", "غير معروفة"},
	} {
		l := languageOf(t, tag)
		if got := [2]string{l.Percent(0.99985, true), l.Percent(0.99985, false)}; got != want || l.Percent(math.NaN(), true) != want[1] {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
	en := languageOf(t, "en")
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0, 1).Draw(t, "v")
		text := en.Percent(v, true)
		said, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || said > v*100+1e-8 || said < v*100-0.01-1e-8 || (text == "100%") != (v == 1) {
			t.Fatalf("%v is %q", v, text)
		}
	})
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -5: "-5", -1000: "-1,000", math.MinInt: "-9,223,372,036,854,775,808"} {
		if got := languageOf(t, "en").Number(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if got := languageOf(t, "de").Number(12345); got != "12.345" {
		t.Errorf("12345 is %q in German", got)
	}
}

func TestPluralForms(t *testing.T) {
	for tag, want := range map[string]map[int]plural.Form{
		"en": {0: plural.Other, 1: plural.One, 2: plural.Other, 21: plural.Other, -1: plural.One, math.MinInt: plural.Other},
		"de": {0: plural.Other, 1: plural.One, 2: plural.Other, 101: plural.Other},
		"ar": {
			0: plural.Zero, 1: plural.One, 2: plural.Two, 3: plural.Few, 10: plural.Few, 11: plural.Many, 99: plural.Many,
			100: plural.Other, 101: plural.Other, 102: plural.Other, 103: plural.Few, 110: plural.Few, 111: plural.Many, 1000: plural.Other, 1_000_003: plural.Few,
		},
	} {
		for n, form := range want {
			if got := languageOf(t, tag).formOf(n); got != form {
				t.Errorf("%s: %d has the form %d, want %d", tag, n, got, form)
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
		{en.T("bars.day", "date", "Monday"), "Monday: {text}"},
		{en.T("bars.day", "date", "Monday", "text"), "Monday: {text}"},
		// What runs the other way is kept apart.
		{en.T("page.title", "title", "A<b", "page", "الحالة (1)"), "A<b – \u2068الحالة (1)\u2069"},
		{ar.T("feeds.calendar_title", "name", "Example (EU)"), "الصيانة المخطط لها في \u2068Example (EU)\u2069"},
		{ar.T("feeds.calendar_title", "name", "المثال"), "الصيانة المخطط لها في المثال"},
		// Elements are put in, all else is escaped.
		{string(en.HTML("incident.since", "time", template.HTML("<time>x</time>"))), "since <time>x</time>"},
		{string(en.HTML("page.title", "title", `"<b>&`, "page", 1000)), "&#34;&lt;b&gt;&amp; – 1,000"},
		{string(en.HTML("<b>")), "&lt;b&gt;"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

func TestChooseLang(t *testing.T) {
	for _, c := range []struct{ query, accept, fallback, want string }{
		{"", "", "", "en"},
		{"de", "ar", "en", "de"},
		{"DE-at", "ar", "", "de"},
		{"xx", "ar", "de", "ar"},
		{"../../etc", "ar", "de", "ar"},
		{strings.Repeat("de-", 1000), "ar", "de", "ar"},
		{"", "de-AT,de;q=0.9,en;q=0.8", "", "de"},
		{"", "en;q=0.3, ar-EG;q=0.7, de;q=0.5", "", "ar"},
		{"", "de;q=0, en;q=0.1", "de", "en"},
		{"", "fr-FR, fr;q=0.9", "de", "de"},
		{"", "fr-FR, de;q=0.1", "en", "de"},
		{"", "cy, de;q=0.9", "", "de"},
		{"", "*", "ar", "ar"},
		{"", "fr, *;q=0.5", "ar", "ar"},
		{"", "xx, q, de", "", "de"},           // what nobody can read spoils nothing
		{"", "en-GB;q=x, de;q=0.5", "", "de"}, // nor does this
		{"", "", "de-CH", "de"},
		{"", "", "fr", "en"},
		{"", strings.Repeat("fr,", 84) + "de", "", "en"},   // beyond what is read
		{"", strings.Repeat("f", 300) + ",de", "ar", "ar"}, // and so is all of this
		{"", strings.Repeat(",", maxWishes-1) + "de", "", "de"},
		{"", strings.Repeat(",", maxWishes) + "de", "", "en"},
	} {
		for range 2 { // read, and remembered
			if got := chooseLang(c.query, c.accept, c.fallback); got.Tag != c.want {
				t.Errorf("%.60q, %.60q, %q: %s, want %s", c.query, c.accept, c.fallback, got.Tag, c.want)
			}
		}
	}
}

func TestFewFieldsAreRemembered(t *testing.T) {
	s := mustLoadLanguages(languageFiles)
	for i := range 3 * maxRemembered {
		s.choose("", fmt.Sprintf("de;q=0.%d", i), "")
		if len(s.remembered) > maxRemembered {
			t.Fatalf("%d fields are remembered", len(s.remembered))
		}
	}
	s.choose("", "de, "+strings.Repeat("fr, ", 10_000), "")
	for field := range s.remembered {
		if len(field) > maxAccept {
			t.Errorf("a field of %d bytes is remembered", len(field))
		}
	}
}

func FuzzChooseLang(f *testing.F) {
	f.Add("de", "de-AT,de;q=0.9,en;q=0.8", "ar")
	f.Add("x-private", "*;q=0.5, en-a-bbb-x-a-ccc;q=1.0", "i-klingon")
	f.Add("zh-min-nan", ";;q=,,-;q=NaN,de;q=1e9", "de-1996-u-co-phonebk-t-en")
	f.Fuzz(func(t *testing.T, query, accept, fallback string) {
		got := chooseLang(query, accept, fallback)
		if !slices.Contains(languages(), got) {
			t.Fatalf("%v is none of ours", got)
		}
		if again := chooseLang(query, accept, fallback); again != got {
			t.Fatalf("%s, and then %s", got.Tag, again.Tag)
		}
		if n := len(wishes(accept)); n > maxWishes {
			t.Fatalf("%d languages are looked at", n)
		}
	})
}

// file returns en.json with some of its members changed; nil takes one out.
func file(t *testing.T, members map[string]any) []byte {
	t.Helper()
	data, err := languageFiles.ReadFile("languages/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for name, value := range members {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	data, err = json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAnotherLanguageIsOneFile(t *testing.T) {
	months := strings.Fields("stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia")
	alone := strings.Fields("styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień")
	set, err := loadLanguages(fstest.MapFS{
		"languages/en.json": {Data: file(t, nil)},
		"languages/pl.json": {Data: file(t, map[string]any{
			"name": "Polski", "locale": nil, "months": months, "months_alone": alone,
			"messages": map[string]any{"bars.days": map[string]string{"one": "{n} dzień", "few": "{n} dni", "many": "{n} dni", "other": "{n} dnia"}},
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	pl := set.choose("", "pl-PL, en;q=0.5", "")
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	if pl.Tag != "pl" || pl.Locale != "pl" || pl.DateYear(at) != "2 stycznia 2026" || pl.Month(at) != "styczeń 2026" || pl.T("bars.days", "n", 22) != "22 dni" {
		t.Errorf("%s, %s: %q, %q, %q", pl.Tag, pl.Locale, pl.DateYear(at), pl.Month(at), pl.T("bars.days", "n", 22))
	}
	if set.all[0].Tag != "en" || set.choose("", "de", "") != set.all[0] {
		t.Error("English is to be the first, and what is left")
	}
}

func TestBadLanguageFiles(t *testing.T) {
	formats := func(name, text string) map[string]any {
		all := map[string]string{}
		for name, p := range languageOf(t, "en").formats {
			all[name] = p.fill(func(name string) string { return "{" + name + "}" })
		}
		all[name] = text
		return map[string]any{"formats": all}
	}
	message := func(v any) map[string]any {
		return map[string]any{"messages": map[string]any{"page.skip": v}}
	}
	for want, members := range map[string]map[string]any{
		"must be given":              {"name": nil},
		"dir must be":                {"dir": "up"},
		"7 weekdays":                 {"weekdays": []string{"Monday"}},
		"unknown field":              {"colour": "red"},
		"there are 0 formats":        {"formats": nil},
		"no such format":             formats("dusk", "{day}"),
		"its places are [day]":       formats("date", "{day}"),
		"neither a text nor":         message(5),
		"no plural form \"lots\"":    message(map[string]string{"lots": "x"}),
		"form other is missing":      message(map[string]string{"one": "x"}),
		"it is empty":                message(""),
		"\"{n\" name no place":       message("{n"),
		"\"n}\" name no place":       message("n}"),
		"\"{ n}\" name no place":     message("{ n}"),
		"\"a {n} b }\" name no pla":  message("a {n} b }"),
		"\"{other} }\" name no plac": message(map[string]string{"other": "{other} }"}),
	} {
		_, err := parseLanguage("en", file(t, members))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	for _, tag := range []string{"", "DE", "de_DE", "xx", "notalanguage"} {
		if _, err := parseLanguage(tag, file(t, nil)); err == nil {
			t.Errorf("%q is a name of a file", tag)
		}
	}
	for _, files := range []fstest.MapFS{{}, {"languages/de.json": {Data: file(t, nil)}}, {"languages/en.json": {Data: []byte("{")}}} {
		if _, err := loadLanguages(files); err == nil {
			t.Errorf("%v make languages", files)
		}
	}
}

// leftovers returns what looks like a key without a message, or like a place
// that was not filled. Rendered pages are to be free of both.
func leftovers(text string) []string {
	areas := map[string]bool{}
	for key := range tongues.all[0].messages {
		area, _, _ := strings.Cut(key, ".")
		areas[regexp.QuoteMeta(area)] = true
	}
	form := regexp.MustCompile(`\b(` + strings.Join(slices.Sorted(maps.Keys(areas)), "|") + `)\.[a-z_]+(\.[a-z_]+)*\b|\{[a-z_]+\}`)
	return form.FindAllString(text, -1)
}

func TestLeftovers(t *testing.T) {
	en := languageOf(t, "en")
	text := en.T("status.no_such") + " and " + en.T("bars.day", "date", "Monday") + ", " + en.T("page.skip") + ". Status. error.not_found.heading"
	if got, want := leftovers(text), []string{"status.no_such", "{text}", "error.not_found.heading"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// use is a call of T or HTML with a key that is written out.
type use struct {
	where, key string
	names      []string // of the values that are given, as far as they are written out
	open       bool     // there may be further ones
}

// templateUses finds the calls in a template: {{t "key"}}, {{$.L.T "key" "n" 3}},
// {{.L.HTML "key"}}, also inside of other calls.
func templateUses(t *testing.T, name, text string) (uses []use) {
	t.Helper()
	trees := map[string]*templateparse.Tree{}
	tree := templateparse.New(name)
	tree.Mode = templateparse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		t.Fatal(err)
	}
	var walk func(templateparse.Node)
	branch := func(b templateparse.BranchNode) {
		walk(b.Pipe)
		walk(b.List)
		if b.ElseList != nil {
			walk(b.ElseList)
		}
	}
	walk = func(n templateparse.Node) {
		switch n := n.(type) {
		case *templateparse.ListNode:
			for _, n := range n.Nodes {
				walk(n)
			}
		case *templateparse.ActionNode:
			walk(n.Pipe)
		case *templateparse.TemplateNode:
			if n.Pipe != nil {
				walk(n.Pipe)
			}
		case *templateparse.IfNode:
			branch(n.BranchNode)
		case *templateparse.RangeNode:
			branch(n.BranchNode)
		case *templateparse.WithNode:
			branch(n.BranchNode)
		case *templateparse.PipeNode:
			for _, c := range n.Cmds {
				walk(c)
			}
		case *templateparse.CommandNode:
			for _, arg := range n.Args {
				walk(arg)
			}
			if u, ok := commandUse(n); ok {
				u.where = name
				uses = append(uses, u)
			}
		}
	}
	for _, tree := range trees {
		walk(tree.Root)
	}
	return uses
}

func commandUse(c *templateparse.CommandNode) (u use, ok bool) {
	var path []string
	switch n := c.Args[0].(type) {
	case *templateparse.IdentifierNode:
		path = []string{n.Ident}
	case *templateparse.FieldNode:
		path = n.Ident
	case *templateparse.VariableNode:
		path = n.Ident[1:]
	case *templateparse.ChainNode:
		path = n.Field
	}
	if len(path) == 0 || !slices.Contains([]string{"t", "T", "HTML"}, path[len(path)-1]) || len(c.Args) < 2 {
		return u, false
	}
	key, ok := c.Args[1].(*templateparse.StringNode)
	if !ok {
		return u, false
	}
	u.key = key.Text
	for i := 2; i < len(c.Args); i += 2 {
		if name, ok := c.Args[i].(*templateparse.StringNode); ok {
			u.names = append(u.names, name.Text)
		} else {
			u.open = true
		}
	}
	return u, true
}

// goUses finds the calls in a Go file: l.T("key", "n", n) and l.HTML("key").
func goUses(t *testing.T, name string, source any) (uses []use) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		packages[path[strings.LastIndexByte(path, '/')+1:]] = true
	}
	literal := func(e ast.Expr) (string, bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(lit.Value)
		return text, err == nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "T" && sel.Sel.Name != "HTML" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && packages[x.Name] {
			return true // template.HTML
		}
		u := use{where: set.Position(call.Pos()).String(), open: call.Ellipsis.IsValid()}
		if u.key, ok = literal(call.Args[0]); !ok {
			return true
		}
		for i := 1; i < len(call.Args); i += 2 {
			if name, ok := literal(call.Args[i]); ok {
				u.names = append(u.names, name)
			} else {
				u.open = true
			}
		}
		uses = append(uses, u)
		return true
	})
	return uses
}

// flaw returns what is wrong with a use, or "".
func (u use) flaw() string {
	m := tongues.all[0].messages[u.key]
	if m == nil {
		return fmt.Sprintf("%s: en.json has no message %q", u.where, u.key)
	}
	places := m.places()
	if given := slices.Sorted(slices.Values(u.names)); !u.open && !slices.Equal(given, places) {
		return fmt.Sprintf("%s: the places of %q are %v, and %v are given", u.where, u.key, places, given)
	}
	return ""
}

func TestEveryKeyInTemplates(t *testing.T) {
	var uses []use
	files, _ := filepath.Glob("templates/*.html")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		uses = append(uses, templateUses(t, file, string(text))...)
	}
	sources, _ := filepath.Glob("*.go")
	for _, file := range sources {
		if !strings.HasSuffix(file, "_test.go") {
			uses = append(uses, goUses(t, file, nil)...)
		}
	}
	for _, u := range uses {
		if flaw := u.flaw(); flaw != "" {
			t.Error(flaw)
		}
	}
	if len(uses) == 0 {
		t.Error("no message is used, which cannot be")
	}
}

func TestUsesAreFound(t *testing.T) {
	const tmpl = `{{define "a"}}{{if $.L.T "k.if"}}{{t "k.then"}}{{else}}{{.L.T "k.else" "n" 1 "total" .N}}{{end}}{{end}}` +
		`{{range .X}}<a title="{{$.Frame.L.T "k.range" "n" (len .)}}">{{end}}{{with $l := .L}}{{$l.HTML "k.with" "time" (html .)}}{{end}}` +
		`{{template "a" (t "k.call")}}{{print (t "k.inner" .Name .Value) | html}}{{t .Key}}{{(index .Ls 0).T "k.chain"}}{{label "k.other"}}`
	want := map[string]string{
		"k.if": "", "k.then": "", "k.else": "n total", "k.range": "n", "k.with": "time", "k.call": "", "k.inner": "?", "k.chain": "",
	}
	const source = `package p
import "html/template"
var a = l.T("k.go", "n", 1, "total", f(x.y.T("k.deep")))
var b = template.HTML("<b>") + l.HTML("k.html", args...) + l.T(key)
`
	wantGo := map[string]string{"k.go": "n total", "k.deep": "", "k.html": "?"}
	got := func(uses []use) map[string]string {
		found := map[string]string{}
		for _, u := range uses {
			found[u.key] = strings.Join(u.names, " ")
			if u.open {
				found[u.key] += "?"
			}
		}
		return found
	}
	if g := got(templateUses(t, "x.html", tmpl)); !maps.Equal(g, want) {
		t.Errorf("in the template: %v, want %v", g, want)
	}
	if g := got(goUses(t, "x.go", source)); !maps.Equal(g, wantGo) {
		t.Errorf("in the source: %v, want %v", g, wantGo)
	}
	for _, u := range []use{{key: "no.such"}, {key: "bars.days"}, {key: "page.skip", names: []string{"n"}}} {
		if u.flaw() == "" {
			t.Errorf("nothing is wrong with %+v", u)
		}
	}
	for _, u := range []use{{key: "page.skip"}, {key: "bars.days", names: []string{"n"}}, {key: "bars.days", open: true}} {
		if flaw := u.flaw(); flaw != "" {
			t.Error(flaw)
		}
	}
}
