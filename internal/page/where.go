package page

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

// where is how a part of a page is shown: at which addresses, in which language
// and by which clock. All links of a page are made by it.
type where struct {
	base   string // before every path of the page: "/status/acme", or "" at its own domain
	root   string // base for all who are elsewhere; "https://status.example" for a page with a domain
	public string // absolute, for search engines that look for languages; "": root
	lang   *i18n.Language
	chosen bool           // the language is from the address, and so all links name it
	zone   *time.Location // the page's
	mail   bool           // people can subscribe by mail
}

// facet is what tells the renditions of one page apart. There are few, because
// there are few languages.
type facet struct {
	lang   *i18n.Language
	chosen bool // see where
	own    bool // at the page's own domain
}

// whereOf returns how a page is shown to those who see one facet of it.
func whereOf(page allswell.Page, f facet) where {
	at := where{base: "/status/" + page.Slug, lang: f.lang, chosen: f.chosen, zone: page.Location()}
	at.root = at.base
	if page.Host != "" {
		at.root = "https://" + page.Host
	}
	if f.own {
		at.base = ""
	}
	return at
}

// whereOf is where for a page of the site's, which knows its absolute address.
func (s *Site) whereOf(page allswell.Page, f facet) where {
	at := whereOf(page, f)
	at.public, at.mail = page.URL(s.base), s.mail
	return at
}

// anywhere is where for what is not part of a page.
func anywhere(f facet) where { return where{lang: f.lang, chosen: f.chosen, zone: time.UTC} }

// anywhere is like the function, for what search engines find.
func (s *Site) anywhere(f facet) where {
	at := anywhere(f)
	at.public = s.base
	return at
}

// languageFor returns the language of an answer, and whether the address asks
// for it.
func languageFor(r *http.Request, fallback string) (l *i18n.Language, chosen bool) {
	if r.URL.RawQuery != "" {
		if l := i18n.Find(r.URL.Query().Get(langParam)); l != nil {
			return l, true
		}
	}
	var accept string
	if fields := r.Header["Accept-Language"]; len(fields) > 0 {
		accept = fields[0]
	}
	return i18n.Choose("", accept, fallback), false
}

// langParam is the parameter of an address that names a language.
const langParam = "lang"

// link returns the address of a path of the page; "/" is the page itself.
func (at where) link(path string) string { return at.carry(at.plain(at.base, path)) }

// canonical returns the one address of a path for search engines.
func (at where) canonical(path string) string { return at.carry(at.plain(at.root, path)) }

// spoken returns the address of a path in a language.
func (at where) spoken(path string, l *i18n.Language) string {
	at.lang, at.chosen = l, true
	return at.link(path)
}

// alternate returns the absolute address of a path in a language; nil: in that
// which the visitor's browser chooses.
func (at where) alternate(path string, l *i18n.Language) string {
	at.lang, at.chosen = l, l != nil
	return at.carry(at.plain(cmp.Or(at.public, at.root), path))
}

func (at where) plain(base, path string) string {
	if path == "/" && strings.Contains(base, "/status/") {
		return base
	}
	return base + path
}

// carry adds the language that the visitor has chosen.
func (at where) carry(address string) string {
	if !at.chosen {
		return address
	}
	if strings.Contains(address, "?") {
		return address + "&" + langParam + "=" + at.lang.Tag
	}
	return address + "?" + langParam + "=" + at.lang.Tag
}

// The addresses of a page's parts.
func (at where) home() string                 { return at.link("/") }
func (at where) history() string              { return at.link("/history") }
func (at where) month(m time.Time) string     { return at.link(monthPath(m)) }
func (at where) incident(id string) string    { return at.link("/incidents/" + id) }
func (at where) maintenance(id string) string { return at.link("/maintenances/" + id) }
func (at where) component(id string) string   { return at.link("/components/" + id) }
func (at where) subscribe() string            { return at.link("/subscribe") }
func monthPath(m time.Time) string            { return "/history?month=" + m.Format(monthForm) }
func componentPath(id string) string          { return "/components/" + id }

// monthForm is how a month is written in an address.
const monthForm = "2006-01"

// Zone returns the name of the page's zone.
func (at where) Zone() string { return at.zone.String() }

// moment returns an instant by the page's clock.
func (at where) moment(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment(t.In(at.zone))
}

// sameDay reports whether two instants are on one day.
func (at where) sameDay(a, b time.Time) bool {
	return allswell.Midnight(a, at.zone).Equal(allswell.Midnight(b, at.zone))
}
