package view

import (
	"html/template"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// The limits of one document.
const (
	// MaxBytes is the maximum size of a document before compression. The limits below
	// keep documents smaller; a document says what it leaves out.
	MaxBytes = 4 << 20
	// budgetBytes is the part of MaxBytes for user-written text.
	budgetBytes = 2 << 20
	// statusBytes replaces budgetBytes on the status page, which also lists all components.
	statusBytes = 1 << 20
	// budgetChars is how many characters of Markdown are rendered for one page. It limits the work of rendering.
	budgetChars = 500_000
)

// budget is the space that is left on a page for user-written text. The most important parts are laid out first.
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

// message renders a message and spends its size plus overhead bytes. It returns false if too little is left.
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
func (b *budget) update(at Presentation, u statuspage.IncidentUpdate) (updateView, bool) {
	if u.Truncated {
		return updateView{}, false
	}
	shown := updateView{State: u.State, At: at.moment(u.CreatedAt), Changes: viewChanges(u)}
	if !u.EditedAt.IsZero() {
		shown.Edited = at.moment(u.EditedAt)
	}
	overhead := updateWeight
	for _, c := range shown.Changes {
		overhead += updateWeight + len(c.Name)
	}
	var ok bool
	shown.Message, ok = b.message(at, i18n.UpdateText{Message: u.Message, System: u.System, At: u.CreatedAt}, overhead)
	return shown, ok
}

// postmortem lays out the post-mortem of an incident; nil: it has none.
func (b *budget) postmortem(at Presentation, inc statuspage.Incident) *postmortemView {
	p := inc.Postmortem
	if p == nil {
		return nil
	}
	v := &postmortemView{Published: at.moment(p.PublishedAt)}
	if !p.EditedAt.IsZero() {
		v.Edited = at.moment(p.EditedAt)
	}
	v.Text, _ = b.message(at, i18n.UpdateText{Message: p.Body, At: p.PublishedAt}, updateWeight)
	return v
}

// maintenanceUpdateView lays out an update of a maintenance.
func (b *budget) maintenanceUpdateView(at Presentation, u statuspage.MaintenanceUpdate) (maintenanceUpdateView, bool) {
	if u.Truncated {
		return maintenanceUpdateView{}, false
	}
	html, ok := b.message(at, i18n.UpdateText{Message: u.Message, System: u.System, At: u.CreatedAt}, updateWeight)
	return maintenanceUpdateView{u.State, html, at.moment(u.CreatedAt)}, ok
}

// excerpt returns the beginning of a message on one line, or "" if too little is left.
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

// affected returns the first affected components, up to limit, and the number of the others.
func (b *budget) affected(views []affectedView, limit int) (shown []affectedView, more int) {
	for i, v := range views {
		if i >= limit || !b.take(affectedWeight+len(template.HTMLEscapeString(v.Name))) {
			return views[:i], len(views) - i
		}
	}
	return views, 0
}

// The approximate sizes of the HTML around user-written text, in bytes.
const (
	updateWeight   = 300 // an update, or a change of a component in it
	affectedWeight = 400 // an affected component
)

const (
	namedTimes   = 3  // how often the list of components contains each name
	maxShortName = 60 // characters of a shortened name
)
