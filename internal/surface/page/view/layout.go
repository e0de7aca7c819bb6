package view

import (
	"html/template"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/page/feed"
)

// Layout is what all pages have around their body.
type Layout struct {
	At          Presentation
	Title       string
	Description string
	Picture     string        // absolute URL of the picture for previews; "": none
	Path        string        // for Presentation.link; "": search engines do not index the page
	Severity    kernel.Status // the favicon shows it
	Site        *siteLayout   // nil: the page does not belong to a status page
	AsOf        moment
	Secret      bool   // the URL contains a key
	Late        moment // since when the page has not been refreshed; zero: it is current
	Events      string // URL of the event stream; "": none
	Tag         string // of the status page, compared with the tags of events

	Preview *Preview // nil: the page is not a preview
}

// Preview is how a page looks with settings that are not saved.
type Preview struct {
	Scheme               string       // "light" or "dark"
	Style                template.CSS // in place of the style sheets of the accent and of the page's own
	Logo, LogoDark, Icon string       // URLs; "": none
}

// AsPreview returns the layout of a preview, without scripts.
func (l Layout) AsPreview(p Preview) Layout {
	site := *l.Site
	site.Accent, site.Custom, site.Logo, site.LogoDark, site.Icon = "", "", p.Logo, p.LogoDark, p.Icon
	l.Site, l.Preview, l.Events = &site, &p, ""
	return l
}

// siteLayout is what all HTML pages of one status page have in common.
type siteLayout struct {
	Name, Home, History string
	AtHome              bool           // this is the status page itself
	About               template.HTML  // the description of the page, on the status page
	Form                *subscribeForm // nil: mail is off
	SMS                 string         // URL of the form for phones; "": not offered
	Webhook             string         // URL of the form for webhooks; "": not offered
	Chats               bool           // the form is for chats, too
	Manifest            string         // URL
	AskOperator         bool           // only operators add webhooks
	Atom, RSS, Calendar string         // URLs
	Logo, Icon, Accent  string         // URLs; "": the default
	Custom              string         // URL of the page's own style sheet; "": none
	LogoDark            string         // URL; "": Logo
	Footer              []statuspage.FooterLink
}

// languageLink is a language that the visitor can choose.
type languageLink struct {
	Name, Tag, URL string
	Alternate      string // URL for search engines, absolute
	Current        bool
}

// Lang returns the language of the page.
func (l Layout) Lang() *i18n.Language { return l.At.lang }

// Canonical returns the URL for search engines; "": none.
func (l Layout) Canonical() string {
	if l.Path == "" {
		return ""
	}
	return l.At.canonical(l.Path)
}

// Languages returns the languages of the page.
func (l Layout) Languages() (all []languageLink) {
	if l.Path == "" {
		return nil
	}
	for _, lang := range l.At.languages {
		all = append(all, languageLink{
			lang.Name, lang.Tag, l.At.inLanguage(l.Path, lang), l.At.alternate(l.Path, lang), lang == l.At.lang,
		})
	}
	return all
}

// Neutral returns the URL at which the browser's preference selects the language; "": none.
func (l Layout) Neutral() string {
	if l.Path == "" {
		return ""
	}
	return l.At.alternate(l.Path, nil)
}

// Zone returns the display name of the page's time zone.
func (l Layout) Zone() string { return strings.ReplaceAll(l.At.Zone(), "_", " ") }

// Style returns the URL of the style sheet.
func (l Layout) Style() string { return assets.URL("style.css") }

// Asset returns the URL of an asset; see package assets.
func (l Layout) Asset(name string) string { return assets.URL(name) }

// Icon returns the URL of the favicon: the page's own, or one that shows the status.
func (l Layout) Icon() string {
	if l.Site != nil && l.Site.Icon != "" {
		return l.Site.Icon
	}
	return assets.IconURL(l.Severity)
}

// DrawnIcon reports whether the favicon shows the status.
func (l Layout) DrawnIcon() bool { return l.Site == nil || l.Site.Icon == "" }

// NewLayout returns the layout of an HTML page that belongs to a status page.
func NewLayout(at Presentation, page statuspage.Page, severity kernel.Status, asOf time.Time) Layout {
	site := &siteLayout{
		Name: page.Name, Home: at.Home(), History: at.history(), Footer: page.Footer,
		Atom: at.plain(at.base, "/"+feed.AtomName), RSS: at.plain(at.base, "/"+feed.RSSName),
		Calendar: at.plain(at.base, "/"+feed.CalendarName),
	}
	if page.Visibility != statuspage.VisibilityPrivate {
		site.Manifest = at.manifest() // browsers request it without cookies
	}
	if at.Mail {
		site.Form = &subscribeForm{Action: at.subscribe()}
	}
	if at.Webhooks {
		site.Webhook, site.Chats = at.subscribe()+"#webhook", at.Chats
	}
	if at.SMS {
		site.SMS = at.subscribe() + "#sms"
	}
	site.AskOperator = !page.WebhookSignUps
	themeURL := func(name string) string {
		if name == "" {
			return ""
		}
		return at.plain(at.base, "/look/"+name)
	}
	site.Logo, site.Icon, site.Accent = themeURL(page.Logo), themeURL(page.Icon),
		themeURL(assets.AccentName(page.Accent))
	site.LogoDark, site.Custom = themeURL(page.LogoDark), themeURL(page.CustomCSSName())
	return Layout{At: at, Severity: severity, AsOf: at.moment(asOf), Site: site}
}

// NewRootLayout returns the layout of an HTML page that belongs to no status page.
func NewRootLayout(at Presentation) Layout {
	return Layout{At: at, Severity: kernel.StatusUnknown}
}

// Follow adds the event stream of the page, which keeps the page current in the
// browser. tag is the tag of the status page; see WithoutTime.
func (l *Layout) Follow(tag string) {
	l.Events, l.Tag = l.At.plain(l.At.base, "/events"), tag
}

// setTitle sets the title of a part of a page.
func (l *Layout) setTitle(text string) {
	l.Title = l.At.lang.T("page.title", "title", text, "page", l.Site.Name)
}

// moment is an instant in the page's time zone.
type moment time.Time

// ISO returns the instant in the format of the API.
func (m moment) ISO() string { return kernel.FormatTime(time.Time(m)) }

// minute returns the whole minutes since 1970.
func (m moment) minute() int64 { return time.Time(m).Unix() / 60 }

// sameClock reports whether two instants have the same offset from UTC, so that they need no zone.
func (m moment) sameClock(o moment) bool {
	_, offset := time.Time(m).Zone()
	_, other := time.Time(o).Zone()
	return offset == other
}

// Zero reports whether the instant is not set.
func (m moment) Zero() bool { return time.Time(m).IsZero() }
