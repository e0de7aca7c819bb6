package page

import (
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/feed"
	"github.com/allswell/allswell/internal/i18n"
)

// screen is all that a template is given: the frame that all have, and what is
// in it.
type screen struct {
	Frame frame
	Body  body
}

// body is the contents of one kind of page. It names its template.
type body interface{ template() string }

// frame is what all pages have around their contents.
type frame struct {
	At          where
	Title       string
	Description string
	Path        string // of the page, as where.link takes it; "": not to be found by search engines
	Status      allswell.Status
	Site        *siteFrame // nil: not a part of a status page
	AsOf        moment
	Secret      bool   // see document
	Late        moment // when the database was last heard of; zero: it is there
	Events      string // where changes are told; "": nowhere
	Tag         string // what the status page is like, as Events tells it
}

// siteFrame names the status page that a page belongs to.
type siteFrame struct {
	Name, Home, History string
	Subscribe           string // where to; "": not offered here
	AtHome              bool
	Atom, RSS, Calendar string // addresses, and the following
	Logo, Icon, Accent  string // "": ours
	Footer              []allswell.FooterLink
}

// tongue is a language to choose.
type tongue struct {
	Name, Tag, URL string
	Alternate      string // URL for search engines, absolute
	Current        bool
}

// Lang returns the language of the page.
func (f frame) Lang() *i18n.Language { return f.At.lang }

// Canonical returns the address for search engines; "": none.
func (f frame) Canonical() string {
	if f.Path == "" {
		return ""
	}
	return f.At.canonical(f.Path)
}

// Tongues returns the languages that the page is to be had in.
func (f frame) Tongues() (all []tongue) {
	if f.Path == "" {
		return nil
	}
	for _, l := range i18n.All() {
		all = append(all, tongue{l.Name, l.Tag, f.At.spoken(f.Path, l), f.At.alternate(f.Path, l), l == f.At.lang})
	}
	return all
}

// Neutral returns the address at which the visitor's browser chooses the
// language; "": none.
func (f frame) Neutral() string {
	if f.Path == "" {
		return ""
	}
	return f.At.alternate(f.Path, nil)
}

// Zone returns the name of the zone of the page's times, for people.
func (f frame) Zone() string { return strings.ReplaceAll(f.At.Zone(), "_", " ") }

// Style returns the address of the style sheet.
func (f frame) Style() string { return assets["style.css"].url }

// Asset returns the address of one of our files.
func (f frame) Asset(name string) string { return assets[name].url }

// Icon returns the address of the favicon: the page's own, or one that shows
// the status.
func (f frame) Icon() string {
	if f.Site != nil && f.Site.Icon != "" {
		return f.Site.Icon
	}
	return iconURL(f.Status)
}

// DrawnIcon reports whether the favicon is ours.
func (f frame) DrawnIcon() bool { return f.Site == nil || f.Site.Icon == "" }

// frameOf returns the frame of a part of page.
func frameOf(at where, page allswell.Page, status allswell.Status, asOf time.Time) frame {
	site := &siteFrame{
		Name: page.Name, Home: at.home(), History: at.history(), Footer: page.Footer,
		Atom: at.plain(at.base, "/"+feed.AtomName), RSS: at.plain(at.base, "/"+feed.RSSName), Calendar: at.plain(at.base, "/"+feed.CalendarName),
	}
	if at.mail {
		site.Subscribe = at.home() + "#subscribe" // where the form is
	}
	site.dress(at, page)
	return frame{At: at, Status: status, AsOf: at.moment(asOf), Site: site}
}

// titled sets the title of a part of a page.
func (f *frame) titled(text string) {
	f.Title = f.At.lang.T("page.title", "title", text, "page", f.Site.Name)
}

// moment is an instant by the page's clock.
type moment time.Time

// ISO returns the instant for programs.
func (m moment) ISO() string { return allswell.FormatTime(time.Time(m)) }

// minute returns the whole minutes since 1970.
func (m moment) minute() int64 { return time.Time(m).Unix() / 60 }

// Zero reports whether there is no such instant.
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

// firstStepsBody greets an operator who has no page yet.
type firstStepsBody struct{ BaseURL string }

// plainBody is a heading with some paragraphs: what became of a form, or why
// there is nothing to see.
type plainBody struct {
	Heading string
	Text    []string
	Home    string // where to go on: the status page, or "/"
	AtPage  bool   // Home is the status page
}

func (listBody) template() string       { return "list" }
func (firstStepsBody) template() string { return "firststeps" }
func (plainBody) template() string      { return "plain" }
