package page

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

// presentation is how a part of a page is shown: its URLs, its language and its time
// zone. It makes all links of a page.
type presentation struct {
	base   string // before every path of the page: "/status/acme", or "" at its own domain
	root   string // base for links from elsewhere; "https://status.example" for a page with a domain
	public string // absolute URL of the page, for alternate links; "": root
	lang   *i18n.Language
	chosen bool           // the address names the language, and so do all links
	zone   *time.Location // the page's
	mail   bool           // subscribing by mail is offered
}

// variant distinguishes the renderings of one page. There are few, because there
// are few languages.
type variant struct {
	lang   *i18n.Language
	chosen bool // see where
	own    bool // at the page's own domain
}

// presentationOf returns the presentation of a variant of a page.
func presentationOf(page allswell.Page, f variant) presentation {
	at := presentation{base: "/status/" + page.Slug, lang: f.lang, chosen: f.chosen, zone: page.Location()}
	at.root = at.base
	if page.Host != "" {
		at.root = "https://" + page.Host
	}
	if f.own {
		at.base = ""
	}
	return at
}

// presentationOf adds what only the site knows: the absolute URL.
func (s *Site) presentationOf(page allswell.Page, f variant) presentation {
	at := presentationOf(page, f)
	at.public, at.mail = page.URL(s.base), s.mail
	return at
}

// anywhere returns the presentation of what is not part of a page.
func anywhere(f variant) presentation {
	return presentation{lang: f.lang, chosen: f.chosen, zone: time.UTC}
}

// anywhere is like the function, for what search engines may index.
func (s *Site) anywhere(f variant) presentation {
	at := anywhere(f)
	at.public = s.base
	return at
}

// languageFor returns the language of a response, and whether the address names
// it.
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

// langParam is the query parameter that names a language.
const langParam = "lang"

// link returns the URL of a path of the page; "/" is the page itself.
func (at presentation) link(path string) string { return at.withLanguage(at.plain(at.base, path)) }

// canonical returns the canonical URL of a path.
func (at presentation) canonical(path string) string { return at.withLanguage(at.plain(at.root, path)) }

// inLanguage returns the URL of a path in a language.
func (at presentation) inLanguage(path string, l *i18n.Language) string {
	at.lang, at.chosen = l, true
	return at.link(path)
}

// alternate returns the absolute URL of a path in a language; nil: in the language
// that the visitor's browser prefers.
func (at presentation) alternate(path string, l *i18n.Language) string {
	at.lang, at.chosen = l, l != nil
	return at.withLanguage(at.plain(cmp.Or(at.public, at.root), path))
}

func (at presentation) plain(base, path string) string {
	if path == "/" && strings.Contains(base, "/status/") {
		return base
	}
	return base + path
}

// withLanguage adds the language that the visitor has chosen to a URL.
func (at presentation) withLanguage(address string) string {
	if !at.chosen {
		return address
	}
	if strings.Contains(address, "?") {
		return address + "&" + langParam + "=" + at.lang.Tag
	}
	return address + "?" + langParam + "=" + at.lang.Tag
}

// home returns the URL of the page. The functions below return the URLs of its parts.
func (at presentation) home() string                 { return at.link("/") }
func (at presentation) history() string              { return at.link("/history") }
func (at presentation) month(m time.Time) string     { return at.link(monthPath(m)) }
func (at presentation) incident(id string) string    { return at.link("/incidents/" + id) }
func (at presentation) maintenance(id string) string { return at.link("/maintenances/" + id) }
func (at presentation) component(id string) string   { return at.link("/components/" + id) }
func (at presentation) subscribe() string            { return at.link("/subscribe") }
func monthPath(m time.Time) string                   { return "/history?month=" + m.Format(monthForm) }
func componentPath(id string) string                 { return "/components/" + id }

// monthForm is the format of a month in a URL.
const monthForm = "2006-01"

// Zone returns the name of the page's zone.
func (at presentation) Zone() string { return at.zone.String() }

// moment returns an instant in the page's time zone.
func (at presentation) moment(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment(t.In(at.zone))
}

// sameDay reports whether two instants are on the same day.
func (at presentation) sameDay(a, b time.Time) bool {
	return allswell.Midnight(a, at.zone).Equal(allswell.Midnight(b, at.zone))
}
