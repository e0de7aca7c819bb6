package page

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// maintenanceBody is one planned maintenance, for good.
type maintenanceBody struct {
	Planned  plannedView
	Home     string
	Month    *monthLink // in whose history it is; nil while it is not over
	Calendar string
}

func (maintenanceBody) template() string { return "maintenance" }

// plannedView is a planned maintenance as people read it.
type plannedView struct {
	URL, Title  string
	State       allswell.MaintenanceState
	From, Until moment // as planned; from when it has begun and ended, as it was
	SameDay     bool   // both are on one day
	Lasts       time.Duration
	Affected    []affectedView
	Updates     []plannedUpdate // newest first
	Earlier     int             // updates that are left out
	Excerpt     string
	Notes       int // updates of a timeline that is folded; 0: none is
}

// Over reports whether the maintenance is complete.
func (v plannedView) Over() bool { return v.State == allswell.MaintenanceCompleted }

// AtOnce reports whether the maintenance was over as soon as it began.
func (v plannedView) AtOnce() bool { return atOnce(v.Lasts) }

// OneTime reports whether beginning and end read the same on the clock.
func (v plannedView) OneTime() bool { return v.From.minute() == v.Until.minute() }

// plannedUpdate is an entry of a maintenance's timeline.
type plannedUpdate struct {
	State   allswell.MaintenanceState
	Message template.HTML
	At      moment
}

// viewMaintenance returns m with its updates newest first, at most most of
// them.
func viewMaintenance(at where, m allswell.PlannedMaintenance, most int) plannedView {
	from, until := maintenanceSpan(m)
	v := plannedView{
		URL: at.maintenance(m.ID), Title: m.Title, State: m.State, From: at.moment(from), Until: at.moment(until),
		SameDay: at.sameDay(from, until), Lasts: max(0, until.Sub(from)),
	}
	for _, c := range m.Components {
		v.Affected = append(v.Affected, affectedView{URL: at.component(c.ID), Name: c.Name})
	}
	updates := slices.SortedStableFunc(slices.Values(m.Updates), func(a, b allswell.MaintenanceUpdate) int {
		return b.Number - a.Number
	})
	if len(updates) > 0 {
		v.Excerpt = said{updates[0].Message, updates[0].Auto}.excerpt(at.lang, at.zone)
	}
	if len(updates) > most {
		v.Earlier = len(updates) - most
		updates = updates[:most]
	}
	for _, u := range updates {
		v.Updates = append(v.Updates, plannedUpdate{u.State, said{u.Message, u.Auto}.html(at.lang, at.zone), at.moment(u.CreatedAt)})
	}
	return v
}

// viewMaintenances returns maintenances in the order given, with at most most
// updates each.
func viewMaintenances(at where, maintenances []allswell.PlannedMaintenance, most int) []plannedView {
	views := make([]plannedView, len(maintenances))
	for i, m := range maintenances {
		views[i] = viewMaintenance(at, m, most)
	}
	return views
}

// maintenanceScreen lays out one maintenance with its full timeline.
func maintenanceScreen(at where, page allswell.Page, status allswell.Status, m allswell.PlannedMaintenance, asOf time.Time) screen {
	v := viewMaintenance(at, m, len(m.Updates))
	b := maintenanceBody{Planned: v, Home: at.home(), Calendar: at.calendar()}
	if v.Over() {
		b.Month = linkMonth(at, m.BegunAt.In(at.zone))
	}
	l := at.lang
	f := frameOf(at, page, status, asOf)
	f.Path = "/maintenances/" + m.ID
	f.titled(m.Title)
	f.Description = l.T("maintenance.description", "state", l.MaintenanceState(m.State),
		"from", l.Moment(time.Time(v.From)), "to", l.Moment(time.Time(v.Until)))
	return screen{f, b}
}

// calendar returns the address of the page's calendar.
func (at where) calendar() string { return at.link("/" + calendarName) }

// serveMaintenance answers with one planned maintenance and its full timeline.
func (s *Site) serveMaintenance(w http.ResponseWriter, r *http.Request, v visit, id string) {
	if !isMaintenanceID(id) {
		s.failAt(w, r, v, http.StatusNotFound)
		return
	}
	e, f := v.entry, v.facet
	s.serveShelved(w, r, v, place{e, "maintenance", id, f},
		func(ctx context.Context) (*sheet, time.Time, error) { return s.loadMaintenance(ctx, e, f, id) })
}

func (s *Site) loadMaintenance(ctx context.Context, e *entry, f facet, id string) (*sheet, time.Time, error) {
	snap, contents, err := e.load(ctx, func(slug string) (allswell.PageContents, error) {
		return s.store.LoadMaintenance(ctx, slug, id)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	sc := maintenanceScreen(s.whereOf(contents.Page, f), contents.Page, snap.status, contents.Maintenances[0], s.now())
	sc.Frame.follow(snap.tag)
	sh, err := newSheet(sc)
	return sh, time.Time{}, err
}

// isMaintenanceID reports whether id has the form of a maintenance's id, which
// is that of all ids after their prefix.
func isMaintenanceID(id string) bool {
	rest, ok := strings.CutPrefix(id, allswell.PrefixMaintenance)
	return ok && isComponentID(allswell.PrefixComponent+rest)
}
