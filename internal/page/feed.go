package page

import (
	"cmp"
	"encoding/xml"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
)

const (
	// feedRoom is how many bytes of timelines a feed has, the newest entries
	// first. What has no room is a link away.
	feedRoom = 512 << 10
	// feedNames is how many components are named of one incident or maintenance.
	feedNames = 20
	feedName  = 120 // characters of each
	// feedMinutes is how long readers are asked to wait before they look again.
	feedMinutes = 5

	generatorName = "Allswell"
	generatorURI  = "https://github.com/allswell/allswell"
)

// feed is what is new on a page, or with one of its components, ready to be
// written in either format.
type feed struct {
	lang       *i18n.Language
	zone       *time.Location
	id         string // for good
	title      string
	author     string
	home, self string // absolute addresses; self without its ending
	updated    time.Time
	entries    []feedEntry // newest first
}

// feedEntry is an incident or a planned maintenance.
type feedEntry struct {
	id, title, link    string
	published, updated time.Time
	categories         []category
	summary            string // one line
	content            string // HTML
}

// category is what an entry belongs to, for programs and for people.
type category struct{ term, label string }

// note is one entry of a timeline.
type note struct {
	state string // in words
	at    time.Time
	left  int  // notes that are older
	cut   bool // there is only the beginning of the message
	i18n.UpdateText
}

// newFeed makes the feed of a page, or of a component unless it is "", from the
// newest of each kind; base is the absolute address of the page. ok is false if
// there is no such component.
func newFeed(p allswell.PageContents, component, base string) (f feed, ok bool) {
	l := i18n.Or(p.Page.Language)
	f = feed{
		lang: l, zone: p.Page.Location(), id: tagURI(p.Page.ID), author: markdown.Line(p.Page.Name),
		home: base, self: base + "/", updated: p.Page.CreatedAt,
	}
	name := f.author
	if component != "" {
		i := slices.IndexFunc(p.Components, func(c allswell.Component) bool { return c.ID == component })
		if i < 0 {
			return feed{}, false
		}
		f.id, f.updated = tagURI(component), p.Components[i].CreatedAt
		f.home = base + "/components/" + component
		f.self = f.home + "/"
		name = l.T("component.title", "name", markdown.Line(p.Components[i].Name), "page", f.author)
	}
	f.title = l.T("feeds.title", "name", name)
	f.fill(p, base)
	return f, true
}

// fill adds the entries of both kinds, newest first.
func (f *feed) fill(p allswell.PageContents, base string) {
	type item struct {
		at   time.Time
		id   string
		make func(room *int) feedEntry
	}
	var items []item
	for _, inc := range p.Incidents {
		items = append(items, item{inc.CreatedAt, inc.ID, func(room *int) feedEntry { return f.incident(inc, base, room) }})
	}
	for _, m := range p.Maintenances {
		items = append(items, item{m.CreatedAt, m.ID, func(room *int) feedEntry { return f.maintenance(m, base, room) }})
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id, a.id)) })
	room := feedRoom
	for _, item := range items {
		e := item.make(&room)
		if e.updated.After(f.updated) {
			f.updated = e.updated
		}
		f.entries = append(f.entries, e)
	}
}

// tagURI names what has an id of ours for good (RFC 4151), wherever its page
// moves and whatever it is called.
func tagURI(id string) string { return "tag:allswell,2026:" + id }

func (f *feed) incident(inc allswell.Incident, base string, room *int) feedEntry {
	l, state := f.lang, stateOf(inc)
	e := feedEntry{
		id: "urn:uuid:" + inc.ID, title: markdown.Line(l.IncidentTitle(inc)), link: base + "/incidents/" + inc.ID,
		published: inc.CreatedAt, updated: inc.UpdatedAt,
		categories: []category{{string(inc.Impact), l.Impact(inc.Impact)}, {string(state), l.State(state)}},
	}
	notes := make([]note, 0, len(inc.Updates)+1)
	for _, u := range inc.Timeline() {
		notes = append(notes, note{l.State(u.State), u.CreatedAt, u.Number - 1, u.Truncated, i18n.UpdateText{Message: u.Message, Auto: u.System}})
	}
	names := make([]string, 0, len(inc.Affected))
	for _, a := range inc.Affected {
		names = append(names, a.Name)
	}
	e.summary = strings.TrimSpace(l.T("incident.description", "state", l.State(state), "impact", l.Impact(inc.Impact), "text", f.newestExcerpt(notes)))
	e.content = f.about(inc) + f.affected(l.T("incident.affected"), names) + f.timeline(notes, e.link, room)
	return e
}

// about says how bad an incident is; where nobody has written what it is, by what
// is known of it.
func (f *feed) about(inc allswell.Incident) string {
	l := f.lang
	impact := l.Impact(inc.Impact)
	if len(inc.Updates) > 0 {
		return f.paragraph(impact)
	}
	known := l.T("incident.description", "state", l.State(stateOf(inc)), "impact", impact, "text", l.T("incident.no_details"))
	return `<p dir="auto">` + template.HTMLEscapeString(markdown.Line(l.IncidentTitle(inc))) + "</p>" + f.paragraph(known)
}

func (f *feed) maintenance(m allswell.Maintenance, base string, room *int) feedEntry {
	l := f.lang
	e := feedEntry{
		id: tagURI(m.ID), title: markdown.Line(m.Title), link: base + "/maintenances/" + m.ID,
		published: m.CreatedAt, updated: m.UpdatedAt,
		categories: []category{{"maintenance", l.T("impact.maintenance")}, {string(m.State), l.MaintenanceState(m.State)}},
	}
	notes := maintenanceNotes(l, m)
	names := make([]string, 0, len(m.Components))
	for _, c := range m.Components {
		names = append(names, c.Name)
	}
	begin, end := maintenanceSpan(m)
	from, to := l.Moment(begin.In(f.zone)), l.Moment(end.In(f.zone))
	said := l.T("maintenance.description", "state", l.MaintenanceState(m.State), "from", from, "to", to)
	e.summary = strings.TrimSpace(said + " " + f.newestExcerpt(notes))
	e.content = f.paragraph(l.T("maintenance.span", "from", from, "to", to)) +
		f.affected(l.T("maintenance.affected"), names) + f.timeline(notes, e.link, room)
	return e
}

// maintenanceNotes returns the timeline of a maintenance, newest first.
func maintenanceNotes(l *i18n.Language, m allswell.Maintenance) []note {
	notes := make([]note, 0, len(m.Updates))
	for _, u := range m.Updates {
		notes = append(notes, note{l.MaintenanceState(u.State), u.CreatedAt, u.Number - 1, u.Truncated, i18n.UpdateText{Message: u.Message, Auto: u.System}})
	}
	slices.Reverse(notes) // they come oldest first
	return notes
}

// maintenanceSpan returns when a maintenance begins and ends, or has.
func maintenanceSpan(m allswell.Maintenance) (begin, end time.Time) {
	begin, end = m.ScheduledFor, m.ScheduledUntil
	if !m.BegunAt.IsZero() {
		begin = m.BegunAt
	}
	if !m.EndedAt.IsZero() {
		end = m.EndedAt
	}
	return begin, end
}

// newestExcerpt is the beginning of the newest note that says more than the state.
func (f *feed) newestExcerpt(notes []note) string {
	for _, n := range notes {
		if n.Auto.Kind != allswell.SystemMessageResolved {
			return n.Excerpt(f.lang, f.zone)
		}
	}
	return ""
}

// paragraph writes a sentence of ours: text is escaped.
func (f *feed) paragraph(text string) string {
	return f.open() + template.HTMLEscapeString(text) + "</p>"
}

// open begins a paragraph of ours. What people have typed has its own direction
// and language.
func (f *feed) open() string { return `<p lang="` + f.lang.Tag + `" dir="` + f.lang.Dir + `">` }

func (f *feed) affected(heading string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return f.paragraph(heading + ": " + joinNames(f.lang, names))
}

// joinNames writes the names that people have given as one list, the first feedNames
// of them.
func joinNames(l *i18n.Language, names []string) string {
	shown := names[:min(len(names), feedNames)]
	clean := make([]string, len(shown))
	for i, name := range shown {
		clean[i] = l.Isolate(markdown.Clip(markdown.Line(name), feedName))
	}
	list := strings.Join(clean, l.Separator)
	if more := len(names) - len(shown); more > 0 {
		list += " " + l.T("components.others", "n", more)
	}
	return list
}

// timeline writes the notes for which there is room, and a link to the others.
func (f *feed) timeline(notes []note, link string, room *int) string {
	var out strings.Builder
	earlier := func(n int) {
		out.WriteString(f.open() + `<a href="` + template.HTMLEscapeString(link) + `">` +
			template.HTMLEscapeString(f.lang.T("incident.earlier_updates", "n", n)) + "</a></p>")
	}
	for i, n := range notes {
		entry := ""
		if !n.cut && len(n.Message) <= *room { // what is rendered is seldom shorter
			entry = f.open() + "<strong>" + template.HTMLEscapeString(n.state) + `</strong> · <time datetime="` + allswell.FormatTime(n.at) + `">` +
				template.HTMLEscapeString(f.lang.Moment(n.at.In(f.zone))) + `</time></p><div dir="auto">` + string(n.HTML(f.lang, f.zone)) + "</div>"
		}
		if entry == "" || len(entry) > *room {
			*room = 0
			earlier(n.left + 1)
			break
		}
		*room -= len(entry)
		out.WriteString(entry)
		if i == len(notes)-1 && n.left > 0 {
			earlier(n.left)
		}
	}
	return out.String()
}

// The document of RFC 4287.
type (
	atomFeed struct {
		XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		Lang      string      `xml:"xml:lang,attr"`
		ID        string      `xml:"id"`
		Title     string      `xml:"title"`
		Updated   string      `xml:"updated"`
		Links     []atomLink  `xml:"link"`
		Author    string      `xml:"author>name"`
		Generator generator   `xml:"generator"`
		Entries   []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	generator struct {
		URI  string `xml:"uri,attr"`
		Name string `xml:",chardata"`
	}
	atomEntry struct {
		ID         string         `xml:"id"`
		Title      string         `xml:"title"`
		Link       atomLink       `xml:"link"`
		Published  string         `xml:"published"`
		Updated    string         `xml:"updated"`
		Categories []atomCategory `xml:"category"`
		Summary    string         `xml:"summary"`
		Content    atomContent    `xml:"content"`
	}
	atomCategory struct {
		Term  string `xml:"term,attr"`
		Label string `xml:"label,attr"`
	}
	atomContent struct {
		Type string `xml:"type,attr"`
		HTML string `xml:",chardata"`
	}
)

const typeLink = "text/html"

// atom writes the feed in Atom 1.0.
func (f feed) atom() ([]byte, error) {
	doc := atomFeed{
		Lang: f.lang.Tag, ID: f.id, Title: f.title, Updated: allswell.FormatTime(f.updated), Author: f.author,
		Links: []atomLink{
			{"self", strings.Split(typeAtom, ";")[0], f.self + atomName}, {"alternate", typeLink, f.home},
		},
		Generator: generator{generatorURI, generatorName},
	}
	for _, e := range f.entries {
		entry := atomEntry{
			ID: e.id, Title: e.title, Link: atomLink{"alternate", typeLink, e.link},
			Published: allswell.FormatTime(e.published), Updated: allswell.FormatTime(e.updated),
			Summary: e.summary, Content: atomContent{"html", e.content},
		}
		for _, c := range e.categories {
			entry.Categories = append(entry.Categories, atomCategory{c.term, c.label})
		}
		doc.Entries = append(doc.Entries, entry)
	}
	return xmlDocument(doc)
}

// The document of RSS 2.0, with the extensions that readers know.
type (
	rssDocument struct {
		XMLName xml.Name   `xml:"rss"`
		Version string     `xml:"version,attr"`
		Atom    string     `xml:"xmlns:atom,attr"`
		Content string     `xml:"xmlns:content,attr"`
		DC      string     `xml:"xmlns:dc,attr"`
		Channel rssChannel `xml:"channel"`
	}
	rssChannel struct {
		Title       string    `xml:"title"`
		Link        string    `xml:"link"`
		Description string    `xml:"description"`
		Language    string    `xml:"language"`
		Built       string    `xml:"lastBuildDate"`
		Generator   string    `xml:"generator"`
		TTL         int       `xml:"ttl"`
		Self        atomLink  `xml:"atom:link"`
		Items       []rssItem `xml:"item"`
	}
	rssItem struct {
		Title       string   `xml:"title"`
		Link        string   `xml:"link"`
		GUID        rssGUID  `xml:"guid"`
		Published   string   `xml:"pubDate"`
		Updated     string   `xml:"atom:updated"`
		Creator     string   `xml:"dc:creator"`
		Categories  []string `xml:"category"`
		Description string   `xml:"description"`
		Content     string   `xml:"content:encoded"`
	}
	rssGUID struct {
		IsPermaLink bool   `xml:"isPermaLink,attr"`
		ID          string `xml:",chardata"`
	}
)

// rss writes the feed in RSS 2.0. A description is HTML there, without saying
// so: the summary is escaped.
func (f feed) rss() ([]byte, error) {
	doc := rssDocument{
		Version: "2.0", Atom: "http://www.w3.org/2005/Atom", Content: "http://purl.org/rss/1.0/modules/content/",
		DC: "http://purl.org/dc/elements/1.1/",
		Channel: rssChannel{
			Title: f.title, Link: f.home, Description: f.title, Language: f.lang.Tag, Built: f.updated.UTC().Format(time.RFC1123Z),
			Generator: generatorName, TTL: feedMinutes, Self: atomLink{"self", strings.Split(typeRSS, ";")[0], f.self + rssName},
		},
	}
	for _, e := range f.entries {
		item := rssItem{
			Title: e.title, Link: e.link, GUID: rssGUID{false, e.id}, Published: e.published.UTC().Format(time.RFC1123Z),
			Updated: allswell.FormatTime(e.updated), Creator: f.author,
			Description: template.HTMLEscapeString(e.summary), Content: e.content,
		}
		for _, c := range e.categories {
			item.Categories = append(item.Categories, c.label)
		}
		doc.Channel.Items = append(doc.Channel.Items, item)
	}
	return xmlDocument(doc)
}

func xmlDocument(doc any) ([]byte, error) {
	body, err := xml.MarshalIndent(doc, "", " ")
	return append([]byte(xml.Header), append(body, '\n')...), err
}
