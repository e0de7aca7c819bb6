package i18n

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// Limits of the parsed part of a visitor's preferences.
const (
	maxAccept      = 256  // bytes of an Accept-Language field
	maxPreferences = 16   // languages in it
	maxTag         = 64   // bytes of one
	maxRemembered  = 1024 // fields whose result is cached
)

// languageSet is a set of languages to choose from, English first.
type languageSet struct {
	all     []*Language
	matcher language.Matcher

	mu         sync.RWMutex
	remembered map[string]*Language // by Accept-Language; nil: none is available
}

// All returns all languages: English, then the others by name.
func All() []*Language { return builtin().all }

// English returns the language that is used when no other fits.
func English() *Language { return builtin().all[0] }

// Tags returns the tags of all languages, English first: "en", "de".
func Tags() []string {
	var tags []string
	for _, l := range All() {
		tags = append(tags, l.Tag)
	}
	return tags
}

// Find returns the language that fits a tag such as "de" or "de-AT", or nil.
func Find(tag string) *Language { return builtin().find(tag) }

// Or returns the language that fits a tag, or English.
func Or(tag string) *Language { return builtin().choose("", "", tag) }

// among caches the sets of languages that pages offer, by the positions of their languages in All.
var among sync.Map

// everything returns all languages. It always returns the same value, because every request for a page asks for it.
var everything = sync.OnceValue(func() *Languages { return &Languages{builtin()} })

// Offered returns the languages of a page that offers languages with these tags; all if there are none. Tags of
// languages that are not available are ignored.
func Offered(tags []string) *Languages {
	if len(tags) == 0 {
		return everything()
	}
	var set languageSet
	name := ""
	for i, l := range builtin().all {
		if slices.Contains(tags, l.Tag) {
			set.all, name = append(set.all, l), name+" "+strconv.Itoa(i)
		}
	}
	if len(set.all) == 0 || len(set.all) == len(builtin().all) {
		return everything()
	}
	if known, ok := among.Load(name); ok {
		return known.(*Languages)
	}
	set.prepare()
	known, _ := among.LoadOrStore(name, &Languages{&set})
	return known.(*Languages)
}

// Languages are the languages that a page offers.
type Languages struct{ set *languageSet }

// All returns the languages in the order of the function All.
func (o *Languages) All() []*Language { return o.set.all }

// Find returns the language that fits a tag such as "de" or "de-AT", or nil.
func (o *Languages) Find(tag string) *Language { return o.set.find(tag) }

// Choose is like the function Choose, and returns the first language in place of English.
func (o *Languages) Choose(query, accept, fallback string) *Language {
	return o.set.choose(query, accept, fallback)
}

// Choose returns the language for a visitor: the one in the URL (query), or else the best one of the Accept-Language
// field, or else fallback, or else English. Tags of languages that are not available are ignored.
func Choose(query, accept, fallback string) *Language {
	return builtin().choose(query, accept, fallback)
}

func (s *languageSet) choose(query, accept, fallback string) *Language {
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

func (s *languageSet) find(tag string) *Language {
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

// accepted returns the best language of an Accept-Language field, or nil. Results are cached: browsers send few
// different fields, and parsing one takes about as long as serving a page from memory.
func (s *languageSet) accepted(field string) *Language {
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
	l = s.match(preferences(field)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.remembered) >= maxRemembered {
		clear(s.remembered)
	}
	s.remembered[strings.Clone(field)] = l // a clone does not keep the whole header in memory
	return l
}

// preferences returns the languages of an Accept-Language field (RFC 9110, 12.5.4), the most preferred first. Each item
// is parsed by itself, because language.ParseAcceptLanguage rejects the whole field for one bad item.
func preferences(field string) []language.Tag {
	type preference struct {
		tag    language.Tag
		weight float32
	}
	var all []preference
	for range maxPreferences {
		var item string
		item, field, _ = strings.Cut(field, ",")
		if tags, weights, err := language.ParseAcceptLanguage(item); err == nil && len(tags) == 1 {
			all = append(all, preference{tags[0], weights[0]})
		}
		if field == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b preference) int { return cmp.Compare(b.weight, a.weight) })
	tags := make([]language.Tag, len(all))
	for i, p := range all {
		tags[i] = p.tag
	}
	return tags
}

func (s *languageSet) match(tags ...language.Tag) *Language {
	if len(tags) == 0 {
		return nil
	}
	_, i, confidence := s.matcher.Match(tags...)
	if confidence == language.No {
		return nil
	}
	return s.all[i]
}
