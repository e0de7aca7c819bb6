package page

import (
	"html/template"
	"slices"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/markdown"
	"github.com/allswell/allswell/internal/store"
)

// historyBody is one month of incidents.
type historyBody struct {
	Month          string
	Days           []dayView
	Since          moment // what began before is left out; zero: nothing is
	Previous, Next *monthLink
}

// monthLink leads to another month.
type monthLink struct{ URL, Text string }

// incidentBody is one incident, for good.
type incidentBody struct {
	Incident incidentView
	Part     partView
	Home     string
	Month    monthLink
}

func (historyBody) template() string  { return "history" }
func (incidentBody) template() string { return "incident" }

// dayView is a day with the incidents and the completed maintenances that began
// on it.
type dayView struct {
	Date    string // for people
	ISO     string
	Past    []dayEntryView // newest first
	More    int
	MoreURL string
	Active  int  // began on the day and still active; shown above
	Lasting bool // an incident of an earlier day was not over yet
}

// dayEntryView is an incident or a completed maintenance; the other is nil.
type dayEntryView struct {
	Incident *incidentView
	Planned  *maintenanceView
}

// Calm reports whether no incident and no maintenance began on the day.
func (d dayView) Calm() bool { return len(d.Past)+d.Active == 0 }

// incidentView is an incident as it is shown.
type incidentView struct {
	URL      string
	Title    string
	Impact   allswell.Impact
	State    allswell.IncidentState
	Resolved bool
	Began    moment
	Ended    moment
	SameDay  bool          // it ended on the day on which it began
	Lasted   time.Duration // once it is resolved
	Affected []affectedView
	Others   int // more components that it concerns
	Updates  []updateView
	Earlier  int // older updates that are left out
	Excerpt  string
	Notes    int // updates of a timeline that is folded; 0: none is
}

// AtOnce reports whether the incident ended as soon as it began.
func (v incidentView) AtOnce() bool { return atOnce(v.Lasted) }

// OneTime reports whether it reads the same on the clock when it began and ended.
func (v incidentView) OneTime() bool { return v.Began.minute() == v.Ended.minute() }

// atOnce reports whether a duration is spoken as that of nothing.
func atOnce(d time.Duration) bool { return d.Round(time.Second) <= 0 }

// affectedView is a component that an incident or a maintenance concerns.
type affectedView struct {
	URL, Name string
	Status    allswell.Status // "": it is only named
}

type updateView struct {
	State   allswell.IncidentState
	Message template.HTML
	At      moment
	Changes []changeView
}

// changeView is what a component came to with an update.
type changeView struct {
	Name     template.HTML   // on its own: it may run the other way
	Old, New allswell.Status // Old "": it was not affected before
}

// extent is how much is shown of an incident or a maintenance.
type extent struct {
	updates int // at most, the newest
	names   int // of components, at most
	budget  *budget
	lines   *budget // for names and excerpts, where that is another room
}

// full is the extent of an incident or a maintenance on its own page.
func full() extent {
	r := newBudget()
	return extent{updates: store.TimelinePageSize, names: allswell.MaxAffectedComponents, budget: r, lines: r}
}

// viewIncident returns inc with its timeline, newest first.
func viewIncident(at presentation, inc allswell.Incident, e extent) incidentView {
	return viewEntries(at, inc, inc.Timeline(), e)
}

// viewEntries is viewIncident with a part of the timeline, newest first.
func viewEntries(at presentation, inc allswell.Incident, entries []allswell.IncidentUpdate, e extent) incidentView {
	v := incidentView{
		URL: at.incident(inc.ID), Title: at.lang.IncidentTitle(inc), Impact: inc.Impact, State: inc.State,
		Resolved: inc.Resolved, Began: at.moment(inc.CreatedAt),
	}
	if inc.Resolved {
		v.Ended = at.moment(inc.ResolvedAt)
		v.SameDay = at.sameDay(inc.ResolvedAt, inc.CreatedAt)
		v.Lasted = max(0, inc.ResolvedAt.Sub(inc.CreatedAt))
	}
	for _, a := range inc.Affected {
		shown := affectedView{URL: at.component(a.ComponentID), Name: a.Name}
		if !inc.Resolved {
			shown.Status = a.Status
		}
		v.Affected = append(v.Affected, shown)
	}
	v.Affected, v.Others = e.lines.affected(v.Affected, e.names)
	if written := newestUpdates(inc); len(written) > 0 {
		v.Excerpt = e.lines.excerpt(at, i18n.UpdateText{Message: written[0].Message, System: written[0].System})
	}
	if len(entries) == 0 {
		return v
	}
	v.Earlier = entries[0].Number
	for _, u := range entries[:min(len(entries), e.updates)] {
		if !inc.Resolved && entries[0].Number == 1 {
			u.Affected = nil // they are as v.Affected says
		}
		shown, ok := e.budget.update(at, u)
		if !ok {
			break
		}
		v.Updates, v.Earlier = append(v.Updates, shown), u.Number-1
	}
	return v
}

// viewChanges returns the components that an update changed. Their names stand in
// the middle of a sentence, and must not turn what follows them.
func viewChanges(u allswell.IncidentUpdate) (changes []changeView) {
	for _, a := range u.Affected {
		if a.Old != a.New {
			changes = append(changes, changeView{element("bdi", markdown.Line(a.Name)), a.Old, a.New})
		}
	}
	return changes
}

// viewDays returns the days with at most most incidents and maintenances each;
// the others are in the month's history. If e has updates, these are the days of
// that history: they have timelines, folded, and what there is no room for is
// only counted.
func viewDays(at presentation, days []allswell.Day, most int, e extent) []dayView {
	out := make([]dayView, 0, len(days))
	for _, d := range days {
		iso := d.Date.Format(time.DateOnly)
		v := dayView{Date: at.lang.Date(d.Date), ISO: iso}
		if e.updates == 0 {
			v.MoreURL = at.month(d.Date) + "#" + iso
		}
		entries := dayEntriesOf(d)
		for _, p := range entries[:min(len(entries), most)] {
			if !e.lines.take(p.weight()) {
				break
			}
			v.Past = append(v.Past, p.view(at, e))
		}
		v.More = len(entries) - len(v.Past)
		out = append(out, v)
	}
	return out
}

// dayEntry is an incident or a completed maintenance of a day; the other is nil.
type dayEntry struct {
	began    time.Time
	incident *allswell.Incident
	planned  *allswell.Maintenance
}

// dayEntriesOf returns what began on a day, newest first.
func dayEntriesOf(d allswell.Day) []dayEntry {
	all := make([]dayEntry, 0, len(d.Incidents)+len(d.Maintenances))
	for i := range d.Incidents {
		all = append(all, dayEntry{began: d.Incidents[i].CreatedAt, incident: &d.Incidents[i]})
	}
	for i := range d.Maintenances {
		all = append(all, dayEntry{began: d.Maintenances[i].BegunAt, planned: &d.Maintenances[i]})
	}
	slices.SortStableFunc(all, func(a, b dayEntry) int { return b.began.Compare(a.began) })
	return all
}

// dayEntryWeight is about how many bytes a past incident takes beside what people
// have typed.
const dayEntryWeight = 900

// weight is about how many bytes it takes without components and timeline.
func (p dayEntry) weight() int {
	title := ""
	if p.incident != nil {
		title = p.incident.Title
	} else {
		title = p.planned.Title
	}
	return dayEntryWeight + len(template.HTMLEscapeString(title))
}

// view returns it in a few lines, with its timeline as far as there is room.
func (p dayEntry) view(at presentation, e extent) dayEntryView {
	if p.incident != nil {
		v := viewIncident(at, *p.incident, e)
		if e.updates > 0 {
			v.Notes = len(v.Updates) + v.Earlier
		}
		return dayEntryView{Incident: &v}
	}
	v := viewMaintenance(at, *p.planned, e)
	if e.updates > 0 {
		v.Notes = len(v.Updates) + v.Earlier
	}
	return dayEntryView{Planned: &v}
}

// markOngoing finds the days on which an incident of an earlier day was not
// over yet, so that none of them is called free of incidents. active are those
// that are not among the days'.
func markOngoing(views []dayView, days []allswell.Day, active []allswell.Incident) {
	incidents := slices.Clone(active)
	for _, d := range days {
		incidents = append(incidents, d.Incidents...)
	}
	for i, d := range days {
		views[i].Lasting = slices.ContainsFunc(incidents, func(inc allswell.Incident) bool {
			return inc.CreatedAt.Before(d.Date) && (!inc.Resolved || inc.ResolvedAt.After(d.Date))
		})
	}
}

// month is one month of a page's history.
type month struct {
	start, first, now time.Time // its beginning, the beginning of the page's first one, and now
	contents          allswell.PageContents
}

// historyScreen lays out the incidents of one month: every day of it from the
// first on, the future left out.
func historyScreen(at presentation, page allswell.Page, status allswell.Status, m month) screen {
	from, to := m.start, allswell.AddDays(nextMonth(m.start, 1), -1)
	if day := allswell.Midnight(m.first, at.zone); day.After(from) {
		from = day
	}
	if today := allswell.Midnight(m.now, at.zone); today.Before(to) {
		to = today
	}
	since := m.contents.Since
	if !since.IsZero() && since.After(from) {
		from = allswell.Midnight(since, at.zone)
	}
	text := at.lang.Month(m.start)
	days := allswell.Days(m.contents.Incidents, m.contents.Maintenances, from, to)
	e := extent{updates: maxUpdates, names: maxNamed, budget: &budget{monthBudget, budgetChars}, lines: newBudget()}
	b := historyBody{Month: text, Days: viewDays(at, days, len(m.contents.Incidents)+len(m.contents.Maintenances), e)}
	b.Since = at.moment(since)
	markOngoing(b.Days, days, nil)
	if m.start.After(m.first) {
		b.Previous = linkMonth(at, nextMonth(m.start, -1))
	}
	if next := nextMonth(m.start, 1); !next.After(m.now) {
		b.Next = linkMonth(at, next)
	}
	f := newLayout(at, page, status, m.now)
	f.Path = monthPath(m.start)
	f.Title = at.lang.T("history.title", "month", text, "page", page.Name)
	f.Description = at.lang.T("history.description", "month", text, "page", page.Name)
	return screen{f, b}
}

func linkMonth(at presentation, m time.Time) *monthLink {
	return &monthLink{at.month(m), at.lang.Month(m)}
}

// monthOf returns the beginning of t's month in a zone.
func monthOf(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return nextMonth(t, 0)
}

// nextMonth returns the beginning of the month n months after that of t, in t's
// zone.
func nextMonth(t time.Time, n int) time.Time {
	y, m, _ := t.Date()
	return allswell.Midnight(time.Date(y, m+time.Month(n), 1, 12, 0, 0, 0, t.Location()), t.Location())
}

// incidentPart is an incident with a part of its timeline: the newest updates, or,
// unless before is 0, the newest of those whose number is less.
type incidentPart struct {
	allswell.Incident
	before int
}

// incidentScreen lays out one incident with a part of its timeline.
func incidentScreen(at presentation, page allswell.Page, status allswell.Status, part incidentPart, asOf time.Time) screen {
	inc := part.Incident
	entries := inc.Timeline()
	if part.before > 0 {
		entries = inc.Entries()
	}
	v := viewEntries(at, inc, entries, full())
	began := inc.CreatedAt.In(at.zone)
	l := at.lang
	f := newLayout(at, page, status, asOf)
	f.Path = timelinePath("/incidents/"+inc.ID, part.before)
	f.Description = l.T("incident.description", "state", l.State(inc.EffectiveState()), "impact", l.Impact(inc.Impact), "text", v.Excerpt)
	b := incidentBody{Incident: v, Home: at.home(), Month: *linkMonth(at, began)}
	b.Part = f.part(v.Title, v.URL, timelineSpan{part.before, len(v.Updates), v.Earlier})
	return screen{f, b}
}
