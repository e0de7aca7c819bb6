package view

import (
	"net/http"
	"time"

	"github.com/allswell/allswell"
)

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
	Status     allswell.Status
}

// List returns the list of pages; more is the number of pages that it leaves out.
func List(at Presentation, entries []ListEntry, more int, asOf time.Time) Model {
	worst := allswell.StatusOperational
	b := listBody{More: more}
	for _, e := range entries {
		if e.Status.Worse(worst) {
			worst = e.Status
		}
		b.Pages = append(b.Pages, listedPage{at.link("/status/" + e.Slug), displayName(e.Name), e.Status})
	}
	l := Layout{
		At: at, Title: at.lang.T("list.heading"), Description: at.lang.T("list.description"),
		Path: "/", Severity: worst, AsOf: at.moment(asOf),
	}
	return Model{l, "list", b}
}

// FirstSteps returns the page that explains how to create the first status page.
func FirstSteps(at Presentation, baseURL string) Model {
	l := Layout{At: at, Title: "Allswell is running", Severity: allswell.StatusOperational}
	return Model{l, "firststeps", firstStepsBody{baseURL}}
}

// errorNames are the names of the errors in the keys of their messages, by HTTP
// status.
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
		return Model{l, "plain", plainBody{Heading: heading, Text: []string{l.At.lang.T(key + ".text")}, Home: l.At.Home()}}
	}
	return Message(l, heading, l.At.lang.T(key+".text"))
}

// Message returns a part of a status page with a heading and paragraphs.
func Message(l Layout, heading string, text ...string) Model {
	l.setTitle(heading)
	return Model{l, "plain", plainBody{Heading: heading, Text: text, Home: l.At.Home(), AtPage: true}}
}
