package page

import (
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/feed"
	"github.com/allswell/allswell/internal/i18n"
)

// screen is the data of a template: the layout, which all pages have, and the
// body.
type screen struct {
	Layout layout
	Body   body
}

// body is the contents of a page. It names its template.
type body interface{ template() string }

// layout is what all pages have around their body.
type layout struct {
	At          presentation
	Title       string
	Description string
	Path        string // of the page, for presentation.link; "": not to be indexed
	Status      allswell.Status
	Site        *siteLayout // nil: not a part of a status page
	AsOf        moment
	Secret      bool   // see document
	Late        moment // when the database last answered; zero: it does
	Events      string // URL of the event stream; "": none
	Tag         string // of the status page, compared with that of events
}

// siteLayout is the status page that a page belongs to.
type siteLayout struct {
	Name, Home, History string
	Subscribe           string // URL; "": not offered
	AtHome              bool
	Atom, RSS, Calendar string // addresses, and the following
	Logo, Icon, Accent  string // "": ours
	Footer              []allswell.FooterLink
}

// languageLink is a language that the visitor can choose.
type languageLink struct {
	Name, Tag, URL string
	Alternate      string // URL for search engines, absolute
	Current        bool
}

// Lang returns the language of the page.
func (f layout) Lang() *i18n.Language { return f.At.lang }

// Canonical returns the URL for search engines; "": none.
func (f layout) Canonical() string {
	if f.Path == "" {
		return ""
	}
	return f.At.canonical(f.Path)
}

// Languages returns the languages of the page.
func (f layout) Languages() (all []languageLink) {
	if f.Path == "" {
		return nil
	}
	for _, l := range i18n.All() {
		all = append(all, languageLink{l.Name, l.Tag, f.At.inLanguage(f.Path, l), f.At.alternate(f.Path, l), l == f.At.lang})
	}
	return all
}

// Neutral returns the URL at which the visitor's browser chooses the language; "":
// none.
func (f layout) Neutral() string {
	if f.Path == "" {
		return ""
	}
	return f.At.alternate(f.Path, nil)
}

// Zone returns the name of the page's time zone, for people.
func (f layout) Zone() string { return strings.ReplaceAll(f.At.Zone(), "_", " ") }

// Style returns the address of the style sheet.
func (f layout) Style() string { return assets["style.css"].url }

// Asset returns the address of one of our files.
func (f layout) Asset(name string) string { return assets[name].url }

// Icon returns the URL of the favicon: the page's own, or one that shows the
// status.
func (f layout) Icon() string {
	if f.Site != nil && f.Site.Icon != "" {
		return f.Site.Icon
	}
	return iconURL(f.Status)
}

// DrawnIcon reports whether the favicon is ours.
func (f layout) DrawnIcon() bool { return f.Site == nil || f.Site.Icon == "" }

// newLayout returns the layout of a part of a page.
func newLayout(at presentation, page allswell.Page, status allswell.Status, asOf time.Time) layout {
	site := &siteLayout{
		Name: page.Name, Home: at.home(), History: at.history(), Footer: page.Footer,
		Atom: at.plain(at.base, "/"+feed.AtomName), RSS: at.plain(at.base, "/"+feed.RSSName), Calendar: at.plain(at.base, "/"+feed.CalendarName),
	}
	if at.mail {
		site.Subscribe = at.home() + "#subscribe" // the form
	}
	site.decorate(at, page)
	return layout{At: at, Status: status, AsOf: at.moment(asOf), Site: site}
}

// titled sets the title of a part of a page.
func (f *layout) titled(text string) {
	f.Title = f.At.lang.T("page.title", "title", text, "page", f.Site.Name)
}

// moment is an instant in the page's time zone.
type moment time.Time

// ISO returns the instant for programs.
func (m moment) ISO() string { return allswell.FormatTime(time.Time(m)) }

// minute returns the whole minutes since 1970.
func (m moment) minute() int64 { return time.Time(m).Unix() / 60 }

// Zero reports whether the instant is not set.
func (m moment) Zero() bool { return time.Time(m).IsZero() }

// listBody is the list of all pages.
type listBody struct {
	Pages []listedPage
	More  int
}

// listedPage is one page in the list.
type listedPage struct {
	URL, Name string
	Status    allswell.Status
}

// firstStepsBody tells an operator how to make the first page.
type firstStepsBody struct{ BaseURL string }

// plainBody is a heading with some paragraphs: the result of a form, or an error.
type plainBody struct {
	Heading string
	Text    []string
	Home    string // URL to continue at: the status page, or "/"
	AtPage  bool   // Home is the status page
}

func (listBody) template() string       { return "list" }
func (firstStepsBody) template() string { return "firststeps" }
func (plainBody) template() string      { return "plain" }
