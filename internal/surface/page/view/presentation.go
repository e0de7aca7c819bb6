package view

import (
	"cmp"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/page/feed"
)

// Presentation determines how a page is shown: its URLs, its language and its time zone. It makes all links of a page.
type Presentation struct {
	Public string // absolute URL of the page, for canonical and alternate links; "": root
	Mail   bool   // subscribing by mail is offered

	Webhooks bool // subscribing webhooks is offered
	Chats    bool // subscribing chats is offered, too
	SMS      bool // subscribing phones is offered
	Push     bool // subscribing browsers to the end of an incident is offered

	base   string // before every path of the page: "/status/acme", or "" at its own domain
	root   string // base for links from elsewhere: "https://status.example" for a page with a domain
	lang   *i18n.Language
	chosen bool           // see Variant
	zone   *time.Location // of the page

	languages []*i18n.Language // that visitors are offered
}

// Variant distinguishes the renderings of one page. There are few, because there are few languages.
type Variant struct {
	Language  *i18n.Language
	Chosen    bool // the URL names the language, and so do all links
	OwnDomain bool // at the page's own domain
}

// Present returns the presentation of a variant of a status page.
func Present(page statuspage.Page, v Variant) Presentation {
	at := Presentation{
		base: "/status/" + page.Slug, lang: v.Language, chosen: v.Chosen, zone: page.Location(),
		languages: i18n.Offered(page.Languages).All(),
	}
	at.root = at.base
	if page.Host != "" {
		at.root = "https://" + page.Host
	}
	if v.OwnDomain {
		at.base = ""
	}
	return at
}

// PresentRoot returns the presentation of HTML pages that belong to no status page.
func PresentRoot(v Variant) Presentation {
	return Presentation{lang: v.Language, chosen: v.Chosen, zone: time.UTC, languages: i18n.All()}
}

// LanguageParam is the query parameter that names a language.
const LanguageParam = "lang"

// link returns the URL of a path of the page; "/" is the page itself. All URLs are within Scope.
func (at Presentation) link(path string) string { return at.withLanguage(at.base + path) }

// Scope returns the path with which all URLs of the page begin. Its trailing slash keeps /status/acme-2 outside
// /status/acme/.
func (at Presentation) Scope() string { return at.base + "/" }

// canonical returns the canonical URL of a path, absolute if Public is.
func (at Presentation) canonical(path string) string {
	return at.withLanguage(at.plain(cmp.Or(at.Public, at.root), path))
}

// inLanguage returns the URL of a path in a language.
func (at Presentation) inLanguage(path string, l *i18n.Language) string {
	at.lang, at.chosen = l, true
	return at.link(path)
}

// alternate returns the absolute URL of a path in a language; nil: the language that the visitor's browser prefers.
func (at Presentation) alternate(path string, l *i18n.Language) string {
	at.lang, at.chosen = l, l != nil
	return at.canonical(path)
}

func (at Presentation) plain(base, path string) string {
	if path == "/" && strings.Contains(base, "/status/") {
		return base
	}
	return base + path
}

// withLanguage adds the language that the visitor has chosen to a URL.
func (at Presentation) withLanguage(address string) string {
	if !at.chosen {
		return address
	}
	if strings.Contains(address, "?") {
		return address + "&" + LanguageParam + "=" + at.lang.Tag
	}
	return address + "?" + LanguageParam + "=" + at.lang.Tag
}

// Home returns the URL of the page. The functions below return the URLs of its parts.
func (at Presentation) Home() string                 { return at.link("/") }
func (at Presentation) history() string              { return at.link("/history") }
func (at Presentation) month(m time.Time) string     { return at.link(monthPath(m)) }
func (at Presentation) incident(id string) string    { return at.link("/incidents/" + id) }
func (at Presentation) maintenance(id string) string { return at.link("/maintenances/" + id) }
func (at Presentation) component(id string) string   { return at.link(componentPath(id)) }
func (at Presentation) subscribe() string            { return at.link("/subscribe") }

// The parts of a page that make it an app, and the part by which browsers subscribe.
const (
	WorkerName   = "worker.js"
	ManifestName = "manifest.webmanifest"
	PushName     = "push"
)

// manifest returns the URL of the page's manifest.
func (at Presentation) manifest() string { return at.link("/" + ManifestName) }

// Subscription returns the URL of the subscription with a key.
func (at Presentation) Subscription(key string) string { return at.link("/subscription/" + key) }
func (at Presentation) calendar() string               { return at.link("/" + feed.CalendarName) }
func monthPath(m time.Time) string                     { return "/history?month=" + m.Format(MonthFormat) }
func componentPath(id string) string                   { return "/components/" + id }

// MonthFormat is the format of a month in a URL.
const MonthFormat = "2006-01"

// Zone returns the name of the page's time zone.
func (at Presentation) Zone() string { return at.zone.String() }

// moment returns an instant in the page's time zone.
func (at Presentation) moment(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment(t.In(at.zone))
}

// sameDay reports whether two instants are on the same day.
func (at Presentation) sameDay(a, b time.Time) bool {
	return statuspage.Midnight(a, at.zone).Equal(statuspage.Midnight(b, at.zone))
}
