package i18n

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed languages
var languageFiles embed.FS

// builtin returns the set of the embedded languages, one for each file. They are read when first used: most commands
// need none, and neither does a server without visitors.
var builtin = sync.OnceValue(func() *languageSet { return mustLoadLanguages(languageFiles) })

// languageFile is the content of languages/TAG.json.
type languageFile struct {
	Name        string                     `json:"name"`
	Dir         string                     `json:"dir"`
	Locale      string                     `json:"locale"` // default: the tag
	Weekdays    []string                   `json:"weekdays"`
	Months      []string                   `json:"months"`
	MonthsAlone []string                   `json:"months_alone"` // default: Months
	MonthsShort []string                   `json:"months_short"`
	Zones       map[string]string          `json:"zones"`
	Separator   string                     `json:"separator"`
	Decimal     string                     `json:"decimal"`
	Group       string                     `json:"group"`
	Formats     map[string]string          `json:"formats"`
	Messages    map[string]json.RawMessage `json:"messages"`
}

func mustLoadLanguages(files fs.FS) *languageSet {
	s, err := loadLanguages(files)
	if err != nil {
		panic(err) // the files are embedded and tested
	}
	return s
}

// loadLanguages reads languages/*.json of files.
func loadLanguages(files fs.FS) (*languageSet, error) {
	names, err := fs.Glob(files, "languages/*.json")
	if err != nil {
		return nil, err
	}
	s := &languageSet{remembered: make(map[string]*Language)}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		l, err := parseLanguage(strings.TrimSuffix(path.Base(name), ".json"), data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.all = append(s.all, l)
	}
	slices.SortFunc(s.all, func(a, b *Language) int { return strings.Compare(a.Name, b.Name) })
	en := slices.IndexFunc(s.all, func(l *Language) bool { return l.Tag == "en" })
	if en < 0 {
		return nil, errors.New("languages/en.json is missing")
	}
	english := s.all[en]
	s.all = slices.Insert(slices.Delete(s.all, en, en+1), 0, english)
	s.prepare()
	return s, nil
}

// prepare makes a set ready to choose from.
func (s *languageSet) prepare() {
	var tags []language.Tag
	for _, l := range s.all {
		tags = append(tags, l.tag)
	}
	s.matcher, s.remembered = language.NewMatcher(tags), make(map[string]*Language)
}

// formatPlaceholders are the formats that each language has, with the placeholders of each.
var formatPlaceholders = map[string][]string{
	"date":           {"weekday", "day", "month"},
	"date_year":      {"day", "month", "year"},
	"day":            {"day", "mon"},
	"days_in_month":  {"first", "last"},
	"month":          {"month", "year"},
	"moment":         {"day", "mon", "year", "clock", "zone"},
	"day_clock":      {"day", "mon", "clock"},
	"day_year_clock": {"day", "mon", "year", "clock"},
	"period":         {"from", "to"},
	"period_in_day":  {"from", "to"},
	"clock_zone":     {"clock", "zone"},
	"clock":          {"hour", "minute"},
	"percent":        {"n"},
	"two_units":      {"large", "small"},
}

// parseLanguage parses one file. It does not check that all messages exist; a test does.
func parseLanguage(tag string, data []byte) (*Language, error) {
	var f languageFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	parsed, err := language.Parse(tag)
	if err != nil || parsed.String() != tag {
		return nil, fmt.Errorf("the file name is not a canonical language tag: %q", tag)
	}
	if f.Locale == "" {
		f.Locale = tag
	}
	if f.MonthsAlone == nil {
		f.MonthsAlone = f.Months
	}
	switch {
	case f.Name == "" || f.Decimal == "" || f.Separator == "":
		return nil, errors.New("name, decimal and separator must be given")
	case f.Dir != "ltr" && f.Dir != "rtl":
		return nil, fmt.Errorf("dir must be ltr or rtl, not %q", f.Dir)
	case len(f.Weekdays) != 7 || len(f.Months) != 12 || len(f.MonthsAlone) != 12 || len(f.MonthsShort) != 12:
		return nil, errors.New("7 weekdays and 12 months of each kind must be given")
	}
	l := &Language{
		Tag: tag, Dir: f.Dir, Name: f.Name, Locale: f.Locale, Separator: f.Separator,
		tag: parsed, weekdays: f.Weekdays, months: f.Months, monthsAlone: f.MonthsAlone, monthsShort: f.MonthsShort,
		zones: f.Zones, decimal: f.Decimal, groupMark: f.Group, formats: make(map[string]pattern),
		messages: make(map[string]*message),
	}
	for name, text := range f.Formats {
		if l.formats[name], err = parseFormat(name, text); err != nil {
			return nil, fmt.Errorf("format %s: %w", name, err)
		}
	}
	if len(l.formats) != len(formatPlaceholders) {
		return nil, fmt.Errorf("%d formats, want %d", len(l.formats), len(formatPlaceholders))
	}
	for key, raw := range f.Messages {
		if l.messages[key], err = parseMessage(raw); err != nil {
			return nil, fmt.Errorf("message %s: %w", key, err)
		}
	}
	return l, nil
}

// parseFormat parses a format, which must have each of its placeholders once.
func parseFormat(name, text string) (pattern, error) {
	want, known := formatPlaceholders[name]
	if !known {
		return nil, errors.New("unknown format")
	}
	p, err := parsePattern(text)
	if err != nil {
		return nil, err
	}
	if got := p.names(); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		return nil, fmt.Errorf("placeholders %v, want %v", got, want)
	}
	return p, nil
}

// pluralForms maps the names in a file to the forms.
var pluralForms = map[string]plural.Form{
	"zero": plural.Zero, "one": plural.One, "two": plural.Two, "few": plural.Few, "many": plural.Many,
	"other": plural.Other,
}

// parseMessage parses a text, or an object of plural forms.
func parseMessage(raw json.RawMessage) (*message, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		p, err := parsePattern(text)
		return &message{forms: [plural.Many + 1]pattern{plural.Other: p}}, err
	}
	var forms map[string]string
	if err := json.Unmarshal(raw, &forms); err != nil {
		return nil, errors.New("neither a text nor plural forms")
	}
	m := &message{plural: true}
	for name, text := range forms {
		form, known := pluralForms[name]
		if !known {
			return nil, fmt.Errorf("unknown plural form %q", name)
		}
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		m.forms[form] = p
	}
	if m.forms[plural.Other] == nil {
		return nil, errors.New("plural form other is missing")
	}
	return m, nil
}

var placeholderName = regexp.MustCompile(`^[a-z_]+$`)

// parsePattern parses a text in which "{name}" is a placeholder. Other braces are errors.
func parsePattern(text string) (pattern, error) {
	if text == "" {
		return nil, errors.New("empty text")
	}
	var p pattern
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			p = append(p, piece{text: before})
		}
		name, tail, closed := strings.Cut(after, "}")
		if strings.Contains(before, "}") || found && (!closed || !placeholderName.MatchString(name)) {
			return nil, fmt.Errorf("unmatched braces in %q", text)
		}
		if found {
			p = append(p, piece{name: name})
		}
		rest = tail
	}
	return p, nil
}

// names returns the names of the placeholders, sorted.
func (p pattern) names() []string {
	var names []string
	for _, piece := range p {
		if piece.name != "" {
			names = append(names, piece.name)
		}
	}
	slices.Sort(names)
	return names
}
