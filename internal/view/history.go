package view

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
	Since          moment // what began before is left out; zero: nothing is
	Previous, Next *monthLink
}

// monthLink leads to another month.
type monthLink struct{ URL, Text string }

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

// viewDays returns the days with at most most incidents and maintenances each;
// the others are in the month's history. If e has updates, these are the days of
// that history: they have timelines, folded, and what there is no room for is
// only counted.
func viewDays(at Presentation, days []allswell.Day, most int, e detail) []dayView {
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
func (p dayEntry) view(at Presentation, e detail) dayEntryView {
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

// Month is one month of a page's history.
type Month struct {
	Start    time.Time // its beginning
	First    time.Time // when the history of the page begins
	Now      time.Time
	Contents allswell.PageContents
}

// History returns the incidents and maintenances of one month: every day of it
// from the page's first day to today.
func History(l Layout, m Month) Model {
	at := l.At
	from, to := m.Start, allswell.AddDays(nextMonth(m.Start, 1), -1)
	if day := allswell.Midnight(m.First, at.zone); day.After(from) {
		from = day
	}
	if today := allswell.Midnight(m.Now, at.zone); today.Before(to) {
		to = today
	}
	since := m.Contents.Since
	if !since.IsZero() && since.After(from) {
		from = allswell.Midnight(since, at.zone)
	}
	text := at.lang.Month(m.Start)
	days := allswell.Days(m.Contents.Incidents, m.Contents.Maintenances, from, to)
	e := detail{updates: maxUpdates, names: maxNamed, budget: &budget{monthBudget, budgetChars}, lines: newBudget()}
	b := historyBody{Month: text, Days: viewDays(at, days, len(m.Contents.Incidents)+len(m.Contents.Maintenances), e)}
	b.Since = at.moment(since)
	markOngoing(b.Days, days, nil)
	if m.Start.After(m.First) {
		b.Previous = linkMonth(at, nextMonth(m.Start, -1))
	}
	if next := nextMonth(m.Start, 1); !next.After(m.Now) {
		b.Next = linkMonth(at, next)
	}
	l.Path = monthPath(m.Start)
	l.Title = at.lang.T("history.title", "month", text, "page", l.Site.Name)
	l.Description = at.lang.T("history.description", "month", text, "page", l.Site.Name)
	return Model{l, "history", b}
}

func linkMonth(at Presentation, m time.Time) *monthLink {
	return &monthLink{at.month(m), at.lang.Month(m)}
}

// MonthStart returns the beginning of t's month in a zone.
func MonthStart(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return nextMonth(t, 0)
}

// nextMonth returns the beginning of the month n months after that of t, in t's
// zone.
func nextMonth(t time.Time, n int) time.Time {
	y, m, _ := t.Date()
	return allswell.Midnight(time.Date(y, m+time.Month(n), 1, 12, 0, 0, 0, t.Location()), t.Location())
}
