package view

import (
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// listBody is the list of all pages.
type listBody struct {
	Severity kernel.Status // the worst of all pages
	Heading  string        // sentence about all pages
	Pages    []listedPage
	More     int
}

// Calm reports whether nothing is wrong.
func (b listBody) Calm() bool { return b.Severity == kernel.StatusOperational }

// listedPage is one page in the list.
type listedPage struct {
	URL, Name string
	Status    kernel.Status
	Lead      *incidentView // the incident that the page leads with; nil: none
	Severity  kernel.Status // see Summary.Severity
}

// FromImpact reports whether the incident is worse than the status of the page.
func (p listedPage) FromImpact() bool { return p.Severity != p.Status }

// firstStepsBody explains how to create the first page.
type firstStepsBody struct{ BaseURL string }

// plainBody is a heading with some paragraphs: the result of a form, or an error.
type plainBody struct {
	Heading string
	Text    []string
	Home    string // URL to continue at: the status page, or "/"
	AtPage  bool   // Home is the status page
}

// ListEntry is a page in the list of pages.
type ListEntry struct {
	Slug, Name string
	Status     kernel.Status
	Lead       statuspage.Incident // the incident that the page leads with; zero: none
}

// List returns the list of pages; more is the number of pages that it leaves out.
func List(at Presentation, entries []ListEntry, more int, asOf time.Time) Model {
	b := listBody{Severity: kernel.StatusOperational, More: more}
	troubled := 0
	for _, e := range entries {
		shown := viewListed(at, e)
		if shown.Severity.Worse(b.Severity) {
			b.Severity = shown.Severity
		}
		if shown.Severity.Worse(kernel.StatusMaintenance) {
			troubled++
		}
		b.Pages = append(b.Pages, shown)
	}
	b.Heading = at.lang.Banner(b.Severity)
	if troubled > 0 {
		b.Heading = at.lang.T("list.troubled", "n", troubled)
	}
	l := Layout{
		At: at, Title: at.lang.T("list.heading"), Description: at.lang.T("list.description"),
		Path: "/", Severity: b.Severity, AsOf: at.moment(asOf),
	}
	return Model{l, "list", b}
}

// viewListed returns a page in the list.
func viewListed(at Presentation, e ListEntry) listedPage {
	sum := statuspage.Summary{Status: e.Status}
	page := Presentation{base: "/status/" + e.Slug, lang: at.lang, chosen: at.chosen, zone: at.zone}
	p := listedPage{URL: page.Home(), Name: displayName(e.Name), Status: e.Status}
	if e.Lead.ID != "" {
		sum.Active = []statuspage.Incident{e.Lead}
		p.Lead = &incidentView{
			URL: page.incident(e.Lead.ID), Title: displayName(at.lang.IncidentTitle(e.Lead)), Impact: e.Lead.Impact,
			Began: at.moment(e.Lead.CreatedAt),
		}
	}
	p.Severity = sum.Severity()
	return p
}

// FirstSteps returns the page that explains how to create the first status page.
func FirstSteps(at Presentation, baseURL string) Model {
	l := Layout{At: at, Title: "Allswell is running", Severity: kernel.StatusOperational}
	return Model{l, "firststeps", firstStepsBody{baseURL}}
}

// errorNames are the names of the errors in the keys of their messages, by HTTP status.
var errorNames = map[int]string{
	http.StatusBadRequest:            "bad_form",
	http.StatusForbidden:             "foreign_form",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method",
	http.StatusRequestEntityTooLarge: "large_form",
	http.StatusTooManyRequests:       "too_many",
	http.StatusServiceUnavailable:    "unavailable",
}

// Error returns the error page for an HTTP status.
func Error(l Layout, status int) Model {
	key := "error." + errorNames[status]
	l.Secret = true // the URL may contain a key
	heading := l.At.lang.T(key + ".heading")
	if l.Site == nil {
		l.Title = heading
		return Model{
			l, "plain", plainBody{Heading: heading, Text: []string{l.At.lang.T(key + ".text")}, Home: l.At.Home()},
		}
	}
	return Message(l, heading, l.At.lang.T(key+".text"))
}

// Message returns a part of a status page with a heading and paragraphs.
func Message(l Layout, heading string, text ...string) Model {
	l.setTitle(heading)
	return Model{l, "plain", plainBody{Heading: heading, Text: text, Home: l.At.Home(), AtPage: true}}
}
