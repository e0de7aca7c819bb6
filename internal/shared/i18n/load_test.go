package i18n

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/text/feature/plural"
)

// places returns the placeholders of all forms of a message.
func (m *message) places() []string {
	var names []string
	for _, form := range m.forms {
		names = append(names, form.names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// meanings returns, for each plural form of the language, how many of the first thousand whole numbers
// have it.
func (l *Language) meanings() map[plural.Form]int {
	found := map[plural.Form]int{plural.Other: 1000}
	for n := range 1000 {
		found[l.pluralFormOf(n)]++
	}
	found[l.pluralFormOf(1_000_000)] += 1000
	return found
}

// flaws returns the errors in the messages of l, compared with English.
func flaws(en, l *Language) (found []string) {
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
			wrong(key, "its placeholders are %v, and in English %v", got, want)
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
		found = append(found, where+": a message must not contain markup")
	}
	if text != strings.TrimSpace(text) || strings.Contains(text, "  ") {
		found = append(found, where+": it has surplus spaces")
	}
	return found
}

func TestLanguagesAreComplete(t *testing.T) {
	var tags []string
	for _, l := range All() {
		tags = append(tags, l.Tag)
		for _, flaw := range flaws(All()[0], l) {
			t.Error(flaw)
		}
	}
	files, err := filepath.Glob("languages/*")
	if err != nil || len(files) != len(tags) {
		t.Errorf("%d files make %d languages (%v)", len(files), len(tags), err)
	}
	if tags[0] != "en" {
		t.Errorf("the languages are %v, but English should be the first", tags)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range twice(t, data) {
			t.Errorf("%s: the key %s occurs twice", file, key)
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

// mutant returns German with some messages replaced.
func mutant(t *testing.T, messages map[string]string) *Language {
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
	const key = "bars.days"
	for raw, want := range map[string]string{
		``:                       "it is missing",
		`"{n} Komponenten"`:      "needs plural forms",
		`{"other": "{n} Teile"}`: "form 2 is missing",
		`{"one": "{n} Teil", "other": "{n} Teile", "few": "{n} Teile"}`: "no plural form 4",
		`{"one": "{n} Teil", "other": "Teile"}`:                         "lacks {n}",
		`{"one": "{n} Teil", "other": "{m} Teile"}`:                     "its placeholders are",
		`{"one": "{n} Teil", "other": "{n} <b>Teile</b>"}`:              "markup",
		`{"one": "{n} Teil", "other": "{n} Teile "}`:                    "spaces",
	} {
		found := strings.Join(flaws(All()[0], mutant(t, map[string]string{key: raw})), "\n")
		if !strings.Contains(found, want) {
			t.Errorf("%s: found %q, want %q", raw, found, want)
		}
	}
	ok := mutant(t, map[string]string{key: `{"one": "ein Teil", "other": "{n} Teile"}`})
	if found := flaws(All()[0], ok); found != nil {
		t.Errorf("a form for a single number does not need {n}, but: %v", found)
	}
	if found := flaws(All()[0], mutant(t, map[string]string{"page.new": `"Neu"`})); len(found) != 1 {
		t.Errorf("a message that English lacks: %v", found)
	}
	got := twice(t, []byte(`{"a": {"b": "b", "c": ["b", "b"], "b": 1}, "b": 2}`))
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("twice there: %v", got)
	}
}

// TestChoose uses qaa, which is reserved for private use, as a language that is not available.
func TestChoose(t *testing.T) {
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
		{"", "qaa-FR, qaa;q=0.9", "de", "de"},
		{"", "qaa-FR, de;q=0.1", "en", "de"},
		{"", "qab, de;q=0.9", "", "de"},
		{"", "*", "ar", "ar"},
		{"", "qaa, *;q=0.5", "ar", "ar"},
		{"", "xx, q, de", "", "de"},           // malformed items are ignored
		{"", "en-GB;q=x, de;q=0.5", "", "de"}, // malformed weights too
		{"", "", "de-CH", "de"},
		{"", "", "qaa", "en"},
		{"", strings.Repeat("qaa,", 63) + "de", "", "en"},  // beyond the limit of items
		{"", strings.Repeat("f", 300) + ",de", "ar", "ar"}, // beyond the limit of bytes
		{"", strings.Repeat(",", maxPreferences-1) + "de", "", "de"},
		{"", strings.Repeat(",", maxPreferences) + "de", "", "en"},
	} {
		for range 2 { // parsed, then cached
			if got := Choose(c.query, c.accept, c.fallback); got.Tag != c.want {
				t.Errorf("Choose(%.60q, %.60q, %q) = %s, want %s", c.query, c.accept, c.fallback, got.Tag, c.want)
			}
		}
	}
}

func TestCachedFieldsAreLimited(t *testing.T) {
	s := mustLoadLanguages(languageFiles)
	for i := range 3 * maxRemembered {
		s.choose("", fmt.Sprintf("de;q=0.%d", i), "")
		if len(s.remembered) > maxRemembered {
			t.Fatalf("%d fields are cached", len(s.remembered))
		}
	}
	s.choose("", "de, "+strings.Repeat("qaa, ", 10_000), "")
	for field := range s.remembered {
		if len(field) > maxAccept {
			t.Errorf("a field of %d bytes is cached", len(field))
		}
	}
}

func FuzzChoose(f *testing.F) {
	f.Add("de", "de-AT,de;q=0.9,en;q=0.8", "ar")
	f.Add("x-private", "*;q=0.5, en-a-bbb-x-a-ccc;q=1.0", "i-klingon")
	f.Add("zh-min-nan", ";;q=,,-;q=NaN,de;q=1e9", "de-1996-u-co-phonebk-t-en")
	f.Fuzz(func(t *testing.T, query, accept, fallback string) {
		got := Choose(query, accept, fallback)
		if !slices.Contains(All(), got) {
			t.Fatalf("%v is not available", got)
		}
		if again := Choose(query, accept, fallback); again != got {
			t.Fatalf("Choose = %s, and then %s", got.Tag, again.Tag)
		}
		if n := len(preferences(accept)); n > maxPreferences {
			t.Fatalf("%d languages are parsed", n)
		}
	})
}

// file returns en.json with some members changed. nil removes a member.
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
	months := strings.Fields("stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października " +
		"listopada grudnia")
	alone := strings.Fields("styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad " +
		"grudzień")
	set, err := loadLanguages(fstest.MapFS{
		"languages/en.json": {Data: file(t, nil)},
		"languages/pl.json": {Data: file(t, map[string]any{
			"name": "Polski", "locale": nil, "months": months, "months_alone": alone,
			"messages": map[string]any{
				"bars.days": map[string]string{
					"one": "{n} dzień", "few": "{n} dni", "many": "{n} dni", "other": "{n} dnia",
				},
			},
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	pl := set.choose("", "pl-PL, en;q=0.5", "")
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	if pl.Tag != "pl" || pl.Locale != "pl" || pl.DateYear(at) != "2 stycznia 2026" || pl.Month(at) != "styczeń 2026" ||
		pl.T("bars.days", "n", 22) != "22 dni" {
		t.Errorf("the added language %s, locale %s: %q, %q, %q", pl.Tag, pl.Locale, pl.DateYear(at), pl.Month(at),
			pl.T("bars.days", "n", 22))
	}
	if set.all[0].Tag != "en" || set.choose("", "de", "") != set.all[0] {
		t.Error("English should be the first language and the fallback")
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
		"must be given":                {"name": nil},
		"dir must be":                  {"dir": "up"},
		"7 weekdays":                   {"weekdays": []string{"Monday"}},
		"unknown field":                {"colour": "red"},
		"0 formats, want":              {"formats": nil},
		"unknown format":               formats("dusk", "{day}"),
		"placeholders [day]":           formats("date", "{day}"),
		"neither a text nor":           message(5),
		"unknown plural form \"lots\"": message(map[string]string{"lots": "x"}),
		"form other is missing":        message(map[string]string{"one": "x"}),
		"empty text":                   message(""),
		"in \"{n\"":                    message("{n"),
		"in \"n}\"":                    message("n}"),
		"in \"{ n}\"":                  message("{ n}"),
		"in \"a {n} b }\"":             message("a {n} b }"),
		"in \"{other} }\"":             message(map[string]string{"other": "{other} }"}),
	} {
		_, err := parseLanguage("en", file(t, members))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error of a bad language file: %v, want %q", err, want)
		}
	}
	for _, tag := range []string{"", "DE", "de_DE", "xx", "notalanguage"} {
		if _, err := parseLanguage(tag, file(t, nil)); err == nil {
			t.Errorf("%q is accepted as a file name", tag)
		}
	}
	for _, files := range []fstest.MapFS{
		{}, {"languages/de.json": {Data: file(t, nil)}}, {"languages/en.json": {Data: []byte("{")}},
	} {
		if _, err := loadLanguages(files); err == nil {
			t.Errorf("%v are accepted as languages", files)
		}
	}
}
