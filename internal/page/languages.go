package page

import (
	"bytes"
	"cmp"
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

// tongues are the languages of the public pages: one for each file of the
// folder.
var tongues = mustLoadLanguages(languageFiles)

// What is read of a visitor's wishes at most.
const (
	maxAccept     = 256  // bytes of an Accept-Language field
	maxWishes     = 16   // languages in it
	maxTag        = 64   // bytes of one
	maxRemembered = 1024 // different fields whose answer is kept
)

// languageSet is languages to choose from, English first.
type languageSet struct {
	all     []*lang
	matcher language.Matcher

	mu         sync.RWMutex
	remembered map[string]*lang // by Accept-Language; nil: it names none of them
}

// languages returns all languages: English, then the others by their names.
func languages() []*lang { return tongues.all }

// Languages returns the tags of the languages that pages can be in, English
// first: "en", "de".
func Languages() []string {
	var tags []string
	for _, l := range languages() {
		tags = append(tags, l.Tag)
	}
	return tags
}

// chooseLang returns the language for a visitor: the one that the address asks
// for (?lang=), else the best of Accept-Language, else the page's own, else
// English. What names no language that we have counts as if it were not there.
func chooseLang(query, accept, fallback string) *lang {
	return tongues.choose(query, accept, fallback)
}

func (s *languageSet) choose(query, accept, fallback string) *lang {
	if l := s.find(query); l != nil {
		return l
	}
	if l := s.accepted(accept); l != nil {
		return l
	}
	if l := s.find(fallback); l != nil {
		return l
	}
	return s.all[0]
}

// find returns the language of a tag, such as "de" or "de-AT", or nil.
func (s *languageSet) find(tag string) *lang {
	for _, l := range s.all {
		if l.Tag == tag {
			return l
		}
	}
	if tag == "" || len(tag) > maxTag {
		return nil
	}
	parsed, err := language.Parse(tag)
	if err != nil {
		return nil
	}
	return s.match(parsed)
}

// accepted returns the best language of an Accept-Language field, or nil. The
// answers are remembered: browsers send few different fields, and to read one
// takes about as long as to serve a page from memory.
func (s *languageSet) accepted(field string) *lang {
	if field == "" {
		return nil
	}
	if len(field) > maxAccept {
		field = field[:strings.LastIndexByte(field[:maxAccept], ',')+1]
	}
	s.mu.RLock()
	l, known := s.remembered[field]
	s.mu.RUnlock()
	if known {
		return l
	}
	l = s.match(wishes(field)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.remembered) >= maxRemembered {
		clear(s.remembered)
	}
	s.remembered[strings.Clone(field)] = l // not the whole header that it was cut from
	return l
}

// wishes returns the languages of an Accept-Language field (RFC 9110, 12.5.4),
// the dearest first. What cannot be read is left out and spoils nothing else.
func wishes(field string) []language.Tag {
	type wish struct {
		tag    language.Tag
		weight float32
	}
	var all []wish
	for range maxWishes {
		var item string
		item, field, _ = strings.Cut(field, ",")
		if tags, weights, err := language.ParseAcceptLanguage(item); err == nil && len(tags) == 1 {
			all = append(all, wish{tags[0], weights[0]})
		}
		if field == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b wish) int { return cmp.Compare(b.weight, a.weight) })
	tags := make([]language.Tag, len(all))
	for i, w := range all {
		tags[i] = w.tag
	}
	return tags
}

func (s *languageSet) match(tags ...language.Tag) *lang {
	if len(tags) == 0 {
		return nil
	}
	_, i, confidence := s.matcher.Match(tags...)
	if confidence == language.No {
		return nil
	}
	return s.all[i]
}

// languageFile is what a file of the folder holds. Its name is the tag.
type languageFile struct {
	Name        string                     `json:"name"`
	Dir         string                     `json:"dir"`
	Locale      string                     `json:"locale"` // "": the tag
	Weekdays    []string                   `json:"weekdays"`
	Months      []string                   `json:"months"`
	MonthsAlone []string                   `json:"months_alone"` // none: like Months
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
		panic(err) // the build has embedded the folder, and tests have read it
	}
	return s
}

// loadLanguages reads the folder "languages" of files.
func loadLanguages(files fs.FS) (*languageSet, error) {
	names, err := fs.Glob(files, "languages/*.json")
	if err != nil {
		return nil, err
	}
	s := &languageSet{remembered: make(map[string]*lang)}
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
	slices.SortFunc(s.all, func(a, b *lang) int { return strings.Compare(a.Name, b.Name) })
	en := slices.IndexFunc(s.all, func(l *lang) bool { return l.Tag == "en" })
	if en < 0 {
		return nil, errors.New("languages/en.json is missing")
	}
	english := s.all[en]
	s.all = slices.Insert(slices.Delete(s.all, en, en+1), 0, english)
	var tags []language.Tag
	for _, l := range s.all {
		tags = append(tags, l.tag)
	}
	s.matcher = language.NewMatcher(tags)
	return s, nil
}

// formatPlaces are the formats that each language has, with the places of each.
var formatPlaces = map[string][]string{
	"date":       {"weekday", "day", "month"},
	"date_year":  {"day", "month", "year"},
	"day":        {"day", "mon"},
	"month":      {"month", "year"},
	"moment":     {"day", "mon", "year", "clock", "zone"},
	"day_clock":  {"day", "mon", "clock"},
	"clock_zone": {"clock", "zone"},
	"clock":      {"hour", "minute"},
	"percent":    {"n"},
	"two_units":  {"large", "small"},
}

// parseLanguage reads one file. Whether it has all messages is for a test to
// say.
func parseLanguage(tag string, data []byte) (*lang, error) {
	var f languageFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	parsed, err := language.Parse(tag)
	if err != nil || parsed.String() != tag {
		return nil, fmt.Errorf("the name of the file is not a language tag as it is written, but %q", tag)
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
		return nil, errors.New("there must be 7 weekdays, and 12 of each kind of months")
	}
	l := &lang{
		Tag: tag, Dir: f.Dir, Name: f.Name, Locale: f.Locale, Separator: f.Separator,
		tag: parsed, weekdays: f.Weekdays, months: f.Months, monthsAlone: f.MonthsAlone, monthsShort: f.MonthsShort,
		zones: f.Zones, decimal: f.Decimal, groupMark: f.Group,
		formats: make(map[string]pattern), messages: make(map[string]*message),
	}
	for name, text := range f.Formats {
		if l.formats[name], err = parseFormat(name, text); err != nil {
			return nil, fmt.Errorf("the format %s: %w", name, err)
		}
	}
	if len(l.formats) != len(formatPlaces) {
		return nil, fmt.Errorf("there are %d formats, not %d", len(l.formats), len(formatPlaces))
	}
	for key, raw := range f.Messages {
		if l.messages[key], err = parseMessage(raw); err != nil {
			return nil, fmt.Errorf("the message %s: %w", key, err)
		}
	}
	return l, nil
}

// parseFormat takes a format with each of its places once.
func parseFormat(name, text string) (pattern, error) {
	want, known := formatPlaces[name]
	if !known {
		return nil, errors.New("there is no such format")
	}
	p, err := parsePattern(text)
	if err != nil {
		return nil, err
	}
	if got := p.names(); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		return nil, fmt.Errorf("its places are %v, not %v", got, want)
	}
	return p, nil
}

// pluralForms are the forms by their names in a file.
var pluralForms = map[string]plural.Form{
	"zero": plural.Zero, "one": plural.One, "two": plural.Two, "few": plural.Few, "many": plural.Many, "other": plural.Other,
}

// parseMessage takes a text, or an object of its plural forms.
func parseMessage(raw json.RawMessage) (*message, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		p, err := parsePattern(text)
		return &message{forms: [plural.Many + 1]pattern{plural.Other: p}}, err
	}
	var forms map[string]string
	if err := json.Unmarshal(raw, &forms); err != nil {
		return nil, errors.New("it is neither a text nor plural forms")
	}
	m := &message{plural: true}
	for name, text := range forms {
		form, known := pluralForms[name]
		if !known {
			return nil, fmt.Errorf("there is no plural form %q", name)
		}
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		m.forms[form] = p
	}
	if m.forms[plural.Other] == nil {
		return nil, errors.New("the plural form other is missing")
	}
	return m, nil
}

var placeName = regexp.MustCompile(`^[a-z_]+$`)

// parsePattern reads a text in which "{name}" is a place. There are no other
// braces.
func parsePattern(text string) (pattern, error) {
	if text == "" {
		return nil, errors.New("it is empty")
	}
	var p pattern
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			p = append(p, piece{text: before})
		}
		name, tail, closed := strings.Cut(after, "}")
		if strings.Contains(before, "}") || found && (!closed || !placeName.MatchString(name)) {
			return nil, fmt.Errorf("the braces in %q name no place", text)
		}
		if found {
			p = append(p, piece{name: name})
		}
		rest = tail
	}
	return p, nil
}

// names returns the places of a pattern, sorted.
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
