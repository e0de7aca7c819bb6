package page

import (
	"html/template"
	"slices"
	"time"

	"github.com/allswell/allswell"
)

// historyBody is one month of incidents.
type historyBody struct {
	Month          string
	Days           []dayView
	Previous, Next *monthLink
}

// monthLink leads to another month.
type monthLink struct{ URL, Text string }

// incidentBody is one incident, for good.
type incidentBody struct {
	Incident incidentView
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
	Past    []pastView // newest first
	More    int
	MoreURL string
	Active  int  // began on the day and still active; shown above
	Lasting bool // an incident of an earlier day was not over yet
}

// pastView is an incident or a completed maintenance: the other is nil.
type pastView struct {
	Incident *incidentView
	Planned  *plannedView
}

// Calm reports whether nothing began on the day.
func (d dayView) Calm() bool { return len(d.Past)+d.Active == 0 }

// incidentView is an incident as people read it.
type incidentView struct {
	URL      string
	Title    string
	Impact   allswell.Impact
	State    allswell.State
	Resolved bool
	Began    moment
	Ended    moment
	SameDay  bool          // it ended on the day on which it began
	Lasted   time.Duration // once it is resolved
	Affected []affectedView
	Updates  []updateView
	Earlier  int // updates that are left out
	Excerpt  string
	Notes    int // updates of a timeline that is folded; 0: none is
}

// AtOnce reports whether the incident was over as soon as it began.
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
	State   allswell.State
	Message template.HTML
	At      moment
	Changes []changeView
}

// changeView is what a component came to with an update.
type changeView struct {
	Name     template.HTML   // on its own: it may run the other way
	Old, New allswell.Status // Old "": it was not affected before
}

// viewIncident returns inc with its timeline, newest first, at most most entries
// of it.
func viewIncident(at where, inc allswell.Incident, most int) incidentView {
	v := incidentView{
		URL: at.incident(inc.ID), Title: titleOf(at.lang, inc), Impact: inc.Impact, State: inc.State,
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
	if written := newestUpdates(inc); len(written) > 0 {
		v.Excerpt = said{written[0].Message, written[0].Auto}.excerpt(at.lang, at.zone)
	}
	updates := inc.Timeline()
	if len(updates) > most {
		v.Earlier = len(updates) - most
		updates = updates[:most]
	}
	for _, u := range updates {
		shown := updateView{State: u.State, Message: said{u.Message, u.Auto}.html(at.lang, at.zone), At: at.moment(u.CreatedAt)}
		if inc.Resolved || len(inc.Updates) > 1 { // otherwise they are as v.Affected says
			shown.Changes = viewChanges(u)
		}
		v.Updates = append(v.Updates, shown)
	}
	return v
}

// stateOf returns how far people have come with an incident: the flag decides,
// whatever the state says.
func stateOf(inc allswell.Incident) allswell.State {
	if inc.Resolved {
		return allswell.Resolved
	}
	return inc.State
}

// viewChanges returns the components that an update changed. Their names stand in
// the middle of a sentence, and must not turn what follows them.
func viewChanges(u allswell.Update) (changes []changeView) {
	for _, a := range u.Affected {
		if a.Old != a.New {
			changes = append(changes, changeView{element("bdi", oneLine(a.Name)), a.Old, a.New})
		}
	}
	return changes
}

// viewDays returns the days with at most most incidents and maintenances each;
// the others are in the month's history. room is how many bytes of timelines may
// stand there, folded, the newest incidents first; nil: there are none.
func viewDays(at where, days []allswell.Day, most int, room *int) []dayView {
	out := make([]dayView, 0, len(days))
	for _, d := range days {
		iso := d.Date.Format(time.DateOnly)
		v := dayView{Date: at.lang.Date(d.Date), ISO: iso, MoreURL: at.month(d.Date) + "#" + iso}
		past := pastOf(d)
		for _, p := range past[:min(len(past), most)] {
			v.Past = append(v.Past, p.view(at, room))
		}
		v.More = len(past) - len(v.Past)
		out = append(out, v)
	}
	return out
}

// past is an incident or a completed maintenance of a day: the other is nil.
type past struct {
	began    time.Time
	incident *allswell.Incident
	planned  *allswell.PlannedMaintenance
}

// pastOf returns what began on a day, newest first.
func pastOf(d allswell.Day) []past {
	all := make([]past, 0, len(d.Incidents)+len(d.Maintenances))
	for i := range d.Incidents {
		all = append(all, past{began: d.Incidents[i].CreatedAt, incident: &d.Incidents[i]})
	}
	for i := range d.Maintenances {
		all = append(all, past{began: d.Maintenances[i].BegunAt, planned: &d.Maintenances[i]})
	}
	slices.SortStableFunc(all, func(a, b past) int { return b.began.Compare(a.began) })
	return all
}

// view returns it in a few lines, with its timeline as far as there is room.
func (p past) view(at where, room *int) pastView {
	most := 0
	if room != nil && *room > 0 {
		most = maxUpdates
	}
	if p.incident != nil {
		v := viewIncident(at, *p.incident, most)
		if room != nil {
			v.Notes = len(v.Updates) + v.Earlier
			v.Updates = fitting(v.Updates, room, updateView.weight)
			v.Earlier = v.Notes - len(v.Updates)
		}
		return pastView{Incident: &v}
	}
	v := viewMaintenance(at, *p.planned, most)
	if room != nil {
		v.Notes = len(p.planned.Updates)
		v.Updates = fitting(v.Updates, room, plannedUpdate.weight)
		v.Earlier = v.Notes - len(v.Updates)
	}
	return pastView{Planned: &v}
}

// fitting returns the first updates, as many as there is room for, and takes the
// room that they need.
func fitting[T any](updates []T, room *int, weight func(T) int) []T {
	for i, u := range updates {
		if *room -= weight(u); *room < 0 {
			return updates[:i]
		}
	}
	return updates
}

// updateWeight is about how many bytes an update, or a change in it, takes beside
// what people have typed.
const updateWeight = 300

func (u updateView) weight() int {
	n := updateWeight + len(u.Message)
	for _, c := range u.Changes {
		n += updateWeight + len(c.Name)
	}
	return n
}

func (u plannedUpdate) weight() int { return updateWeight + len(u.Message) }

// markLasting finds the days on which an incident of an earlier day was not
// over yet, so that none of them is called free of incidents. active are those
// that are not among the days'.
func markLasting(views []dayView, days []allswell.Day, active []allswell.Incident) {
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
func historyScreen(at where, page allswell.Page, status allswell.Status, m month) screen {
	from, to := m.start, allswell.NextDay(nextMonth(m.start, 1), -1)
	if day := allswell.Midnight(m.first, at.zone); day.After(from) {
		from = day
	}
	if today := allswell.Midnight(m.now, at.zone); today.Before(to) {
		to = today
	}
	text := at.lang.Month(m.start)
	days := allswell.Days(m.contents.Incidents, m.contents.Maintenances, from, to)
	room := monthRoom
	b := historyBody{Month: text, Days: viewDays(at, days, len(m.contents.Incidents)+len(m.contents.Maintenances), &room)}
	markLasting(b.Days, days, nil)
	if m.start.After(m.first) {
		b.Previous = linkMonth(at, nextMonth(m.start, -1))
	}
	if next := nextMonth(m.start, 1); !next.After(m.now) {
		b.Next = linkMonth(at, next)
	}
	f := frameOf(at, page, status, m.now)
	f.Path = monthPath(m.start)
	f.Title = at.lang.T("history.title", "month", text, "page", page.Name)
	f.Description = at.lang.T("history.description", "month", text, "page", page.Name)
	return screen{f, b}
}

func linkMonth(at where, m time.Time) *monthLink { return &monthLink{at.month(m), at.lang.Month(m)} }

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

// incidentScreen lays out one incident with its full timeline.
func incidentScreen(at where, page allswell.Page, status allswell.Status, inc allswell.Incident, asOf time.Time) screen {
	v := viewIncident(at, inc, len(inc.Updates)+1) // all of it
	began := inc.CreatedAt.In(at.zone)
	l := at.lang
	f := frameOf(at, page, status, asOf)
	f.Path = "/incidents/" + inc.ID
	f.titled(v.Title)
	f.Description = l.T("incident.description", "state", l.State(stateOf(inc)), "impact", l.Impact(inc.Impact), "text", v.Excerpt)
	return screen{f, incidentBody{Incident: v, Home: at.home(), Month: *linkMonth(at, began)}}
}
