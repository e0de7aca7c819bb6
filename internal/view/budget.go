package view

import (
	"html/template"
	"unicode/utf8"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
)

// The limits of one document.
const (
	// MaxBytes is the maximum size of a document before compression. The limits below
	// keep documents smaller; a document says what it leaves out.
	MaxBytes = 4 << 20
	// budgetBytes is the part of MaxBytes for texts written by people.
	budgetBytes = 2 << 20
	// statusBytes is budgetBytes for the status page, which also has all components.
	statusBytes = 1 << 20
	// budgetChars is how many characters of Markdown are rendered for one page. It
	// limits the work of rendering.
	budgetChars = 500_000
)

// budget is what texts written by people may still take on a page. The most
// important parts are laid out first.
type budget struct{ bytes, chars int }

func newBudget() *budget { return &budget{budgetBytes, budgetChars} }

// take spends n bytes. It returns false and spends nothing if fewer are left.
func (b *budget) take(n int) bool {
	if n > b.bytes {
		return false
	}
	b.bytes -= n
	return true
}

// message renders a message and spends its size plus overhead bytes. It returns
// false if too little is left.
func (b *budget) message(at Presentation, s i18n.UpdateText, overhead int) (template.HTML, bool) {
	chars := utf8.RuneCountInString(s.Message)
	if chars > b.chars || len(s.Message)+overhead > b.bytes {
		return "", false
	}
	b.chars -= chars
	html := s.HTML(at.lang, at.zone)
	return html, b.take(len(html) + overhead)
}

// name returns the name of a component, shortened if too little is left.
func (b *budget) name(name string) string {
	if b.take(namedTimes * len(template.HTMLEscapeString(name))) {
		return name
	}
	return markdown.Clip(markdown.Line(name), maxShortName)
}

// update lays out an update of an incident.
func (b *budget) update(at Presentation, u allswell.IncidentUpdate) (updateView, bool) {
	if u.Truncated {
		return updateView{}, false
	}
	shown := updateView{State: u.State, At: at.moment(u.CreatedAt), Changes: viewChanges(u)}
	overhead := updateWeight
	for _, c := range shown.Changes {
		overhead += updateWeight + len(c.Name)
	}
	var ok bool
	shown.Message, ok = b.message(at, i18n.UpdateText{Message: u.Message, System: u.System}, overhead)
	return shown, ok
}

// maintenanceUpdateView lays out an update of a maintenance.
func (b *budget) maintenanceUpdateView(at Presentation, u allswell.MaintenanceUpdate) (maintenanceUpdateView, bool) {
	if u.Truncated {
		return maintenanceUpdateView{}, false
	}
	html, ok := b.message(at, i18n.UpdateText{Message: u.Message, System: u.System}, updateWeight)
	return maintenanceUpdateView{u.State, html, at.moment(u.CreatedAt)}, ok
}

// excerpt returns the beginning of a message on one line, or "" if too little is
// left.
func (b *budget) excerpt(at Presentation, s i18n.UpdateText) string {
	chars := utf8.RuneCountInString(markdown.Prefix(s.Message, markdown.ExcerptSource))
	if chars > b.chars {
		return ""
	}
	b.chars -= chars
	line := s.Excerpt(at.lang, at.zone)
	if !b.take(len(template.HTMLEscapeString(line))) {
		return ""
	}
	return line
}

// affected returns the components that an incident or a maintenance affects, at
// most most of them, and how many more there are.
func (b *budget) affected(views []affectedView, most int) (shown []affectedView, more int) {
	for i, v := range views {
		if i >= most || !b.take(affectedWeight+len(template.HTMLEscapeString(v.Name))) {
			return views[:i], len(views) - i
		}
	}
	return views, 0
}

// updateWeight is about how many bytes an update, or a change in it, takes besides the
// text of people, and affectedWeight an affected component.
const (
	updateWeight   = 300
	affectedWeight = 400
	namedTimes     = 3  // a component in the list of all
	maxShortName   = 60 // characters
)
