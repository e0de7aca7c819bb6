package view

import (
	"html/template"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

// historyBody is one month of incidents.
type historyBody struct {
	Month          string
	Days           []dayView
	Since          moment // earlier entries are omitted; zero: none are
	Previous, Next *monthLink
}

// monthLink is a link to another month.
type monthLink struct{ URL, Text string }

// dayView is a day with the incidents and the completed maintenances that began on it.
type dayView struct {
	Date    string // formatted
	ISO     string
	Past    []dayEntryView // newest first
	More    int
	MoreURL string
	Active  int  // number of active incidents that began on the day; shown above
	Ongoing bool // an incident of an earlier day was active
	Earlier bool // not a day: its entries began before the month of the history
}

// dayEntryView is an incident or a completed maintenance; the other field is nil.
type dayEntryView struct {
	Incident    *incidentView
	Maintenance *maintenanceView
}

// Empty reports whether no incident and no maintenance began on the day.
func (d dayView) Empty() bool { return len(d.Past)+d.Active == 0 }

// viewDays returns days with up to perDay incidents and maintenances each, as far as
// the budget permits, and the number of the others. On the status page, where limits
// has no updates, the others are linked; in the history, the timelines are folded.
func viewDays(at Presentation, days []statuspage.Day, perDay int, limits detail) []dayView {
	out := make([]dayView, 0, len(days))
	for _, d := range days {
		iso := d.Date.Format(time.DateOnly)
		v := dayView{Date: at.lang.Date(d.Date), ISO: iso}
		if limits.updates == 0 {
			v.MoreURL = at.month(d.Date) + "#" + iso
		}
		entries := dayEntriesOf(d)
		for _, p := range entries[:min(len(entries), perDay)] {
			if !limits.lines.take(p.weight()) {
				break
			}
			v.Past = append(v.Past, p.view(at, limits))
		}
		v.More = len(entries) - len(v.Past)
		out = append(out, v)
	}
	return out
}

// foldCalmDays merges consecutive days that are empty and read the same. days are the days of the
// views, which are newest first.
func foldCalmDays(l *i18n.Language, views []dayView, days []statuspage.Day) []dayView {
	folded := make([]dayView, 0, len(views))
	for newest := 0; newest < len(views); {
		oldest := newest
		for v := views[newest]; v.Empty() && oldest+1 < len(views); oldest++ {
			if next := views[oldest+1]; !next.Empty() || next.Ongoing != v.Ongoing {
				break
			}
		}
		v := views[newest]
		if oldest > newest {
			v.Date = l.DayRange(days[oldest].Date, days[newest].Date)
		}
		folded = append(folded, v)
		newest = oldest + 1
	}
	return folded
}

// dayEntry is an incident or a completed maintenance of a day; the other field is nil.
type dayEntry struct {
	began       time.Time
	incident    *statuspage.Incident
	maintenance *statuspage.Maintenance
}

// dayEntriesOf returns the entries of a day, newest first.
func dayEntriesOf(d statuspage.Day) []dayEntry {
	all := make([]dayEntry, 0, len(d.Incidents)+len(d.Maintenances))
	for i := range d.Incidents {
		all = append(all, dayEntry{began: d.Incidents[i].CreatedAt, incident: &d.Incidents[i]})
	}
	for i := range d.Maintenances {
		all = append(all, dayEntry{began: d.Maintenances[i].BegunAt, maintenance: &d.Maintenances[i]})
	}
	slices.SortStableFunc(all, func(a, b dayEntry) int { return b.began.Compare(a.began) })
	return all
}

// dayEntryWeight is the approximate size of the HTML of an entry without user-written text, in bytes.
const dayEntryWeight = 900

// weight is the approximate size of the HTML of an entry without components and timeline, in bytes.
func (p dayEntry) weight() int {
	title := ""
	if p.incident != nil {
		title = p.incident.Title
	} else {
		title = p.maintenance.Title
	}
	return dayEntryWeight + len(template.HTMLEscapeString(title))
}

// view returns an entry with its timeline, as far as the budget permits.
func (p dayEntry) view(at Presentation, limits detail) dayEntryView {
	if p.incident != nil {
		v := viewIncident(at, *p.incident, limits)
		if len(p.incident.Updates) == 0 && !p.incident.Resolved {
			v.Updates = nil // the excerpt says the same
		}
		return dayEntryView{Incident: &v}
	}
	v := viewMaintenance(at, *p.maintenance, limits)
	return dayEntryView{Maintenance: &v}
}

// markOngoing marks the days on which an incident of an earlier day was ongoing, so that they are not called free of
// incidents. active are incidents that days does not contain.
func markOngoing(views []dayView, days []statuspage.Day, active []statuspage.Incident) {
	incidents := slices.Clone(active)
	for _, d := range days {
		incidents = append(incidents, d.Incidents...)
	}
	for i, d := range days {
		views[i].Ongoing = slices.ContainsFunc(incidents, func(inc statuspage.Incident) bool {
			return inc.CreatedAt.Before(d.Date) && (!inc.Resolved || inc.ResolvedAt.After(d.Date))
		})
	}
}

// Month is one month of a page's history.
type Month struct {
	Start    time.Time // its beginning
	First    time.Time // when the history of the page begins
	Now      time.Time
	Contents statuspage.PageContents
}

// History returns the incidents and maintenances of one month: each day from the page's first day to today, and
// everything that began earlier and continued in the month.
func History(l Layout, m Month) Model {
	at := l.At
	from, to := m.Start, statuspage.AddDays(nextMonth(m.Start, 1), -1)
	if day := statuspage.Midnight(m.First, at.zone); day.After(from) {
		from = day
	}
	if today := statuspage.Midnight(m.Now, at.zone); today.Before(to) {
		to = today
	}
	since := m.Contents.Since
	if !since.IsZero() && since.After(from) {
		from = statuspage.Midnight(since, at.zone)
	}
	text := at.lang.Month(m.Start)
	days := statuspage.Days(m.Contents.Incidents, m.Contents.Maintenances, from, to)
	limits := detail{
		updates: maxUpdates, names: statuspage.MaxAffectedComponents, budget: &budget{monthBudget, budgetChars},
		lines: newBudget(),
	}
	earlier := beganBefore(m.Contents, m.Start)
	b := historyBody{
		Month: text, Days: viewDays(at, days, len(m.Contents.Incidents)+len(m.Contents.Maintenances), limits),
	}
	b.Since = at.moment(since)
	markOngoing(b.Days, days, earlier.Incidents)
	b.Days = foldCalmDays(at.lang, b.Days, days)
	if len(earlier.Incidents)+len(earlier.Maintenances) > 0 {
		b.Days = append(b.Days, viewEarlier(at, earlier, text, limits))
	}
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

// beganBefore returns the incidents and the completed maintenances that began before an instant, as one Day.
func beganBefore(contents statuspage.PageContents, start time.Time) (d statuspage.Day) {
	for _, inc := range contents.Incidents {
		if inc.CreatedAt.Before(start) {
			d.Incidents = append(d.Incidents, inc)
		}
	}
	for _, m := range contents.Maintenances {
		if m.State == statuspage.MaintenanceCompleted && m.BegunAt.Before(start) {
			d.Maintenances = append(d.Maintenances, m)
		}
	}
	return d
}

// viewEarlier returns the entries that began before a month and continued in it.
func viewEarlier(at Presentation, earlier statuspage.Day, month string, limits detail) dayView {
	entries := len(earlier.Incidents) + len(earlier.Maintenances)
	v := viewDays(at, []statuspage.Day{earlier}, entries, limits)[0]
	v.Earlier, v.ISO, v.Date = true, "earlier", at.lang.T("history.earlier", "month", month)
	for _, p := range v.Past {
		if p.Incident != nil {
			p.Incident.Dated = true
		} else {
			p.Maintenance.Dated = true
		}
	}
	return v
}

func linkMonth(at Presentation, m time.Time) *monthLink {
	return &monthLink{at.month(m), at.lang.Month(m)}
}

// MonthStart returns the beginning of t's month in a time zone.
func MonthStart(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return nextMonth(t, 0)
}

// nextMonth returns the beginning of the month n months after t's, in t's time zone.
func nextMonth(t time.Time, n int) time.Time {
	y, m, _ := t.Date()
	return statuspage.Midnight(time.Date(y, m+time.Month(n), 1, 12, 0, 0, 0, t.Location()), t.Location())
}
