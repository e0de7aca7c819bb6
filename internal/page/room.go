package page

import (
	"html/template"
	"unicode/utf8"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
)

// The limits of one document, whatever people have written.
const (
	// maxDocument is the most bytes of a document, before compression. What
	// follows keeps it from being reached: a document says what it leaves out.
	maxDocument = 4 << 20
	// roomBytes is how much of that the texts of people may take on one page.
	roomBytes = 2 << 20
	// statusBytes is that of the status page, which has all components as well.
	statusBytes = 1 << 20
	// roomChars is how many characters of Markdown are rendered for one page. It
	// bounds the time that rendering takes, on any machine alike.
	roomChars = 500_000
)

// room is what the texts of people may still take of one page. What comes first
// gets it, so what matters most is laid out first.
type room struct{ bytes, chars int }

func newRoom() *room { return &room{roomBytes, roomChars} }

// take reports whether there is room for n bytes, and takes it.
func (r *room) take(n int) bool {
	if n > r.bytes {
		return false
	}
	r.bytes -= n
	return true
}

// message renders a message, which takes the room that it needs and that of
// beside bytes around it. It reports false if there is not enough.
func (r *room) message(at where, s i18n.UpdateText, beside int) (template.HTML, bool) {
	chars := utf8.RuneCountInString(s.Message)
	if chars > r.chars || len(s.Message)+beside > r.bytes {
		return "", false
	}
	r.chars -= chars
	html := s.HTML(at.lang, at.zone)
	return html, r.take(len(html) + beside)
}

// name returns the name of a component, or the beginning of it if there is no room
// for all.
func (r *room) name(name string) string {
	if r.take(namedTimes * len(template.HTMLEscapeString(name))) {
		return name
	}
	return markdown.Clip(markdown.Line(name), maxShortName)
}

// update lays out an update of an incident.
func (r *room) update(at where, u allswell.IncidentUpdate) (updateView, bool) {
	if u.Truncated {
		return updateView{}, false
	}
	shown := updateView{State: u.State, At: at.moment(u.CreatedAt), Changes: viewChanges(u)}
	beside := updateWeight
	for _, c := range shown.Changes {
		beside += updateWeight + len(c.Name)
	}
	var ok bool
	shown.Message, ok = r.message(at, i18n.UpdateText{Message: u.Message, System: u.System}, beside)
	return shown, ok
}

// plannedUpdate lays out an update of a maintenance.
func (r *room) plannedUpdate(at where, u allswell.MaintenanceUpdate) (plannedUpdate, bool) {
	if u.Truncated {
		return plannedUpdate{}, false
	}
	html, ok := r.message(at, i18n.UpdateText{Message: u.Message, System: u.System}, updateWeight)
	return plannedUpdate{u.State, html, at.moment(u.CreatedAt)}, ok
}

// excerpt returns the beginning of a message as one line, or "" if there is no
// room for it.
func (r *room) excerpt(at where, s i18n.UpdateText) string {
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
func (r *room) affected(views []affectedView, most int) (shown []affectedView, more int) {
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
