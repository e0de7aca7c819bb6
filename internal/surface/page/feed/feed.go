// Package feed renders the incidents and the maintenances of a page, or of one of
// its components, as Atom and RSS feeds, and the maintenances as a calendar.
package feed

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// The names of the documents, below the address of a page or of a component. Only pages have a calendar.
const (
	AtomName     = "history.atom"
	RSSName      = "history.rss"
	CalendarName = "history.ics"
)

// The media types of the documents.
const (
	AtomType     = "application/atom+xml; charset=utf-8"
	RSSType      = "application/rss+xml; charset=utf-8"
	CalendarType = "text/calendar; charset=utf-8"
)

const (
	maxTimelines     = 512 << 10 // bytes of all timelines of a feed; older ones are linked
	maxNames         = 20        // components named of one incident or maintenance
	maxName          = 120       // characters of each
	readAgainMinutes = 5         // requested interval of feed readers

	generatorName = "Allswell"
	generatorURI  = "https://github.com/allswell/allswell"
)

// Feed is the incidents and maintenances of a page, or of one of its components, in the page's language and time zone.
type Feed struct {
	lang       *i18n.Language
	zone       *time.Location
	id         string // permanent
	title      string
	state      string // headline of the page, or of the component
	author     string
	home, self string // absolute URLs; self without the name of the document
	updated    time.Time
	entries    []entry // newest first
}

// entry is an incident or a maintenance.
type entry struct {
	id, title, link    string
	published, updated time.Time
	categories         []category
	summary            string // one line
	content            string // HTML
}

// category is a category of an entry.
type category struct{ term, label string }

// note is one entry of a timeline.
type note struct {
	state string // label
	at    time.Time
	older int  // how many notes are older
	cut   bool // only the beginning of the message was loaded
	i18n.UpdateText
	edited time.Time // zero: never
}

// New returns the feed of a page or, unless component is "", of a component. p has the newest incidents and
// maintenances; base is the absolute URL of the page. ok is false if the page has no such component.
func New(p statuspage.PageContents, component, base string) (f Feed, ok bool) {
	l := i18n.Or(p.Page.DefaultLanguage())
	f = Feed{
		lang: l, zone: p.Page.Location(), id: tagURI(p.Page.ID), author: markdown.Line(p.Page.Name),
		home: base, self: base + "/", updated: p.Page.CreatedAt,
	}
	sum := p.Summarize(p.AsOf)
	name := f.author
	if component != "" {
		i := slices.IndexFunc(p.Components, func(c statuspage.Component) bool { return c.ID == component })
		if i < 0 {
			return Feed{}, false
		}
		f.id, f.updated = tagURI(component), p.Components[i].CreatedAt
		f.home = base + "/components/" + component
		f.self = f.home + "/"
		sum.Status = p.Components[i].Status()
		name = l.T("component.title", "name", markdown.Line(p.Components[i].Name), "page", f.author)
	}
	f.title = l.T("feeds.title", "name", name)
	f.state = l.Headline(sum)
	if _, ok := sum.LeadIncident(); !ok && component != "" {
		f.state = l.Status(sum.Status)
	}
	f.fill(p, base)
	return f, true
}

// fill adds the entries, newest first.
func (f *Feed) fill(p statuspage.PageContents, base string) {
	type item struct {
		at   time.Time
		id   string
		make func(room *int) entry
	}
	var items []item
	for _, inc := range p.Incidents {
		items = append(items, item{inc.CreatedAt, inc.ID, func(room *int) entry { return f.incident(inc, base, room) }})
	}
	for _, m := range p.Maintenances {
		items = append(items, item{m.CreatedAt, m.ID, func(room *int) entry { return f.maintenance(m, base, room) }})
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id, a.id)) })
	room := maxTimelines
	for _, item := range items {
		e := item.make(&room)
		if e.updated.After(f.updated) {
			f.updated = e.updated
		}
		f.entries = append(f.entries, e)
	}
}

// tagURI returns the permanent URI of an id (RFC 4151). It does not change with the address or the name of the page.
func tagURI(id string) string { return "tag:allswell,2026:" + id }

func (f *Feed) incident(inc statuspage.Incident, base string, room *int) entry {
	l, state := f.lang, inc.EffectiveState()
	e := entry{
		id: "urn:uuid:" + inc.ID, title: markdown.Line(l.IncidentTitle(inc)), link: base + "/incidents/" + inc.ID,
		published: inc.CreatedAt, updated: inc.UpdatedAt,
		categories: []category{{string(inc.Impact), l.Impact(inc.Impact)}, {string(state), l.State(state)}},
	}
	notes := make([]note, 0, len(inc.Updates)+1)
	for _, u := range inc.Timeline() {
		notes = append(notes, note{l.State(u.State), u.CreatedAt, u.Number - 1, u.Truncated, i18n.UpdateText{
			Message: u.Message, System: u.System, At: u.CreatedAt,
		}, u.EditedAt})
	}
	names := make([]string, 0, len(inc.Affected))
	for _, a := range inc.Affected {
		names = append(names, a.Name)
	}
	e.summary = strings.TrimSpace(l.T("incident.description", "state", l.State(state), "impact", l.Impact(inc.Impact),
		"text", f.newestExcerpt(notes)))
	e.content = f.paragraph(l.Impact(inc.Impact)) + f.affected(l.T("incident.affected"), names) +
		f.postmortem(inc.Postmortem, e.link, room) + f.timeline(notes, e.link, room)
	return e
}

// postmortem returns the post-mortem of an incident, or a link to it if it does not fit into room; "" for nil.
func (f *Feed) postmortem(p *statuspage.Postmortem, link string, room *int) string {
	if p == nil {
		return ""
	}
	heading := template.HTMLEscapeString(f.lang.T("incident.postmortem"))
	when := " · " + string(f.lang.HTML("incident.published", "time", f.moment(p.PublishedAt)))
	if !p.EditedAt.IsZero() {
		when += " · " + string(f.lang.HTML("incident.edited", "time", f.moment(p.EditedAt)))
	}
	if !p.Omitted && len(p.Body) <= *room {
		body := i18n.UpdateText{Message: p.Body, At: p.PublishedAt}
		out := f.open() + "<strong>" + heading + "</strong>" + when + `</p><div dir="auto">` +
			string(body.HTML(f.lang, f.zone)) + "</div>"
		if len(out) <= *room {
			*room -= len(out)
			return out
		}
	}
	return f.open() + `<a href="` + template.HTMLEscapeString(link) + `#postmortem">` + heading + "</a>" + when + "</p>"
}

func (f *Feed) maintenance(m statuspage.Maintenance, base string, room *int) entry {
	l := f.lang
	e := entry{
		id: tagURI(m.ID), title: markdown.Line(m.Title), link: base + "/maintenances/" + m.ID,
		published: m.CreatedAt, updated: m.UpdatedAt,
		categories: []category{
			{"maintenance", l.T("impact.maintenance")}, {string(m.State), l.MaintenanceState(m.State)},
		},
	}
	notes := maintenanceNotes(l, m)
	names := make([]string, 0, len(m.Components))
	for _, c := range m.Components {
		names = append(names, c.Name)
	}
	begin, end := m.Span()
	from, to := l.Moment(begin.In(f.zone)), l.Moment(end.In(f.zone))
	span := l.T("maintenance.description", "state", l.MaintenanceState(m.State), "from", from, "to", to)
	e.summary = strings.TrimSpace(span + " " + f.newestExcerpt(notes))
	e.content = f.paragraph(l.T("maintenance.span", "from", from, "to", to)) +
		f.affected(l.T("maintenance.affected"), names) + f.timeline(notes, e.link, room)
	return e
}

// maintenanceNotes returns the updates of a maintenance, newest first.
func maintenanceNotes(l *i18n.Language, m statuspage.Maintenance) []note {
	notes := make([]note, 0, len(m.Updates))
	for _, u := range m.Updates {
		notes = append(notes, note{l.MaintenanceState(u.State), u.CreatedAt, u.Number - 1, u.Truncated, i18n.UpdateText{
			Message: u.Message, System: u.System, At: u.CreatedAt,
		}, time.Time{}})
	}
	slices.Reverse(notes) // updates are oldest first
	return notes
}

// newestExcerpt returns the excerpt of the newest note, without automatic notes about the resolution, which the summary
// mentions anyway.
func (f *Feed) newestExcerpt(notes []note) string {
	for _, n := range notes {
		if n.System.Kind != statuspage.SystemMessageResolved {
			return n.Excerpt(f.lang, f.zone)
		}
	}
	return ""
}

// paragraph returns a sentence in the feed's language as an escaped paragraph.
func (f *Feed) paragraph(text string) string {
	return f.open() + template.HTMLEscapeString(text) + "</p>"
}

// open returns the start tag of a paragraph in the feed's language and direction. Text
// written by people has its own direction.
func (f *Feed) open() string { return `<p lang="` + f.lang.Tag + `" dir="` + f.lang.Dir + `">` }

func (f *Feed) affected(heading string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return f.paragraph(heading + ": " + joinNames(f.lang, names))
}

// joinNames returns the first maxNames names as a list.
func joinNames(l *i18n.Language, names []string) string {
	shown := names[:min(len(names), maxNames)]
	clean := make([]string, len(shown))
	for i, name := range shown {
		clean[i] = l.Isolate(markdown.Clip(markdown.Line(name), maxName))
	}
	list := strings.Join(clean, l.Separator)
	if more := len(names) - len(shown); more > 0 {
		list += " " + l.T("components.others", "n", more)
	}
	return list
}

// moment returns an instant as a time element.
func (f *Feed) moment(t time.Time) template.HTML {
	return i18n.TimeElement(t.In(f.zone), "", f.lang.Moment)
}

// timeline returns the notes that fit into room, and a link to the others.
func (f *Feed) timeline(notes []note, link string, room *int) string {
	var out strings.Builder
	earlier := func(n int) {
		out.WriteString(f.open() + `<a href="` + template.HTMLEscapeString(link) + `">` +
			template.HTMLEscapeString(f.lang.T("incident.earlier_updates", "n", n)) + "</a></p>")
	}
	for i, n := range notes {
		entry := ""
		if !n.cut && len(n.Message) <= *room { // HTML is seldom shorter than its source
			entry = f.open() + "<strong>" + template.HTMLEscapeString(n.state) + `</strong> · ` + string(f.moment(n.at))
			if !n.edited.IsZero() {
				entry += " · " + string(f.lang.HTML("incident.edited", "time", f.moment(n.edited)))
			}
			entry += `</p><div dir="auto">` + string(n.HTML(f.lang, f.zone)) + "</div>"
		}
		if entry == "" || len(entry) > *room {
			*room = 0
			earlier(n.older + 1)
			break
		}
		*room -= len(entry)
		out.WriteString(entry)
		if i == len(notes)-1 && n.older > 0 {
			earlier(n.older)
		}
	}
	return out.String()
}
