package view

import (
	"html/template"
	"unicode/utf8"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
)

// The limits of one document, whatever people have written.
const (
	// MaxBytes is the most bytes of a document before compression. The limits
	// below keep documents smaller; a document says what it leaves out.
	MaxBytes = 4 << 20
	// budgetBytes is how much of that texts written by people may take on a page.
	budgetBytes = 2 << 20
	// statusBytes is budgetBytes for the status page, which also has all components.
	statusBytes = 1 << 20
	// budgetChars is how many characters of Markdown are rendered for one page. It
	// bounds the work of rendering.
	budgetChars = 500_000
)

// budget is what texts written by people may still take on a page. First come,
// first served: what matters most is laid out first.
type budget struct{ bytes, chars int }

func newBudget() *budget { return &budget{budgetBytes, budgetChars} }

// take spends n bytes. It reports false, and spends nothing, if fewer are left.
func (r *budget) take(n int) bool {
	if n > r.bytes {
		return false
	}
	r.bytes -= n
	return true
}

// message renders a message and spends its size plus overhead bytes. It reports
// false if too little is left.
func (r *budget) message(at Presentation, s i18n.UpdateText, overhead int) (template.HTML, bool) {
	chars := utf8.RuneCountInString(s.Message)
	if chars > r.chars || len(s.Message)+overhead > r.bytes {
		return "", false
	}
	r.chars -= chars
	html := s.HTML(at.lang, at.zone)
	return html, r.take(len(html) + overhead)
}

// name returns the name of a component, shortened if too little is left.
func (r *budget) name(name string) string {
	if r.take(namedTimes * len(template.HTMLEscapeString(name))) {
		return name
	}
	return markdown.Clip(markdown.Line(name), maxShortName)
}

// update lays out an update of an incident.
func (r *budget) update(at Presentation, u allswell.IncidentUpdate) (updateView, bool) {
	if u.Truncated {
		return updateView{}, false
	}
	shown := updateView{State: u.State, At: at.moment(u.CreatedAt), Changes: viewChanges(u)}
	overhead := updateWeight
	for _, c := range shown.Changes {
		overhead += updateWeight + len(c.Name)
	}
	var ok bool
	shown.Message, ok = r.message(at, i18n.UpdateText{Message: u.Message, System: u.System}, overhead)
	return shown, ok
}

// maintenanceUpdateView lays out an update of a maintenance.
func (r *budget) maintenanceUpdateView(at Presentation, u allswell.MaintenanceUpdate) (maintenanceUpdateView, bool) {
	if u.Truncated {
		return maintenanceUpdateView{}, false
	}
	html, ok := r.message(at, i18n.UpdateText{Message: u.Message, System: u.System}, updateWeight)
	return maintenanceUpdateView{u.State, html, at.moment(u.CreatedAt)}, ok
}

// excerpt returns the beginning of a message as one line, or "" if there is no
// budget for it.
func (r *budget) excerpt(at Presentation, s i18n.UpdateText) string {
	chars := utf8.RuneCountInString(markdown.Prefix(s.Message, markdown.ExcerptSource))
	if chars > r.chars {
		return ""
	}
	r.chars -= chars
	line := s.Excerpt(at.lang, at.zone)
	if !r.take(len(template.HTMLEscapeString(line))) {
		return ""
	}
	return line
}

// affected lays out the components that an incident or a maintenance concerns:
// at most most of them, and how many more there are.
func (r *budget) affected(views []affectedView, most int) (shown []affectedView, more int) {
	for i, v := range views {
		if i >= most || !r.take(affectedWeight+len(template.HTMLEscapeString(v.Name))) {
			return views[:i], len(views) - i
		}
	}
	return views, 0
}

// updateWeight is about how many bytes an update, or a change in it, takes beside
// what people have typed, and affectedWeight a component.
const (
	updateWeight   = 300
	affectedWeight = 400
	namedTimes     = 3  // a component in the list of all
	maxShortName   = 60 // characters
)
