package page

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/feed"
	"github.com/allswell/allswell/internal/i18n"
)

// maintenanceBody is one planned maintenance, for good.
type maintenanceBody struct {
	Planned  plannedView
	Part     partView
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
	Others      int             // more components that it affects
	Updates     []plannedUpdate // newest first
	Earlier     int             // older updates that are left out
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

// viewMaintenance returns m with its updates, newest first.
func viewMaintenance(at where, m allswell.Maintenance, e extent) plannedView {
	from, until := m.Span()
	v := plannedView{
		URL: at.maintenance(m.ID), Title: m.Title, State: m.State, From: at.moment(from), Until: at.moment(until),
		SameDay: at.sameDay(from, until), Lasts: max(0, until.Sub(from)),
	}
	for _, c := range m.Components {
		v.Affected = append(v.Affected, affectedView{URL: at.component(c.ID), Name: c.Name})
	}
	v.Affected, v.Others = e.lines.affected(v.Affected, e.names)
	updates := slices.SortedStableFunc(slices.Values(m.Updates), func(a, b allswell.MaintenanceUpdate) int {
		return b.Number - a.Number
	})
	if len(updates) == 0 {
		return v
	}
	v.Excerpt = e.lines.excerpt(at, i18n.UpdateText{Message: updates[0].Message, System: updates[0].System})
	v.Earlier = updates[0].Number
	for _, u := range updates[:min(len(updates), e.updates)] {
		shown, ok := e.room.plannedUpdate(at, u)
		if !ok {
			break
		}
		v.Updates, v.Earlier = append(v.Updates, shown), u.Number-1
	}
	return v
}

// viewMaintenances returns maintenances in the order given.
func viewMaintenances(at where, maintenances []allswell.Maintenance, e extent) []plannedView {
	views := make([]plannedView, len(maintenances))
	for i, m := range maintenances {
		views[i] = viewMaintenance(at, m, e)
	}
	return views
}

// maintenancePart is incidentPart for a maintenance.
type maintenancePart struct {
	allswell.Maintenance
	before int
}

// maintenanceScreen lays out one maintenance with a part of its timeline.
func maintenanceScreen(at where, page allswell.Page, status allswell.Status, part maintenancePart, asOf time.Time) screen {
	m := part.Maintenance
	v := viewMaintenance(at, m, full())
	b := maintenanceBody{Planned: v, Home: at.home(), Calendar: at.calendar()}
	if v.Over() {
		b.Month = linkMonth(at, m.BegunAt.In(at.zone))
	}
	l := at.lang
	f := frameOf(at, page, status, asOf)
	f.Path = timelinePath("/maintenances/"+m.ID, part.before)
	b.Part = f.part(v.Title, v.URL, timelineSpan{part.before, len(v.Updates), v.Earlier})
	f.Description = l.T("maintenance.description", "state", l.MaintenanceState(m.State),
		"from", l.Moment(time.Time(v.From)), "to", l.Moment(time.Time(v.Until)))
	return screen{f, b}
}

// calendar returns the address of the page's calendar.
func (at where) calendar() string { return at.link("/" + feed.CalendarName) }

// serveMaintenance answers with one planned maintenance and a part of its
// timeline: the newest, or the one that ?before= asks for.
func (s *Site) serveMaintenance(w http.ResponseWriter, r *http.Request, v visit, id string) {
	before, ok := beforeOf(r)
	if !ok || !isMaintenanceID(id) {
		s.failAt(w, r, v, http.StatusNotFound)
		return
	}
	e, f := v.entry, v.facet
	s.servePart(w, r, v, key{entry: e, kind: "maintenance", name: timelinePath(id, before), facet: f},
		func(ctx context.Context) (*sheet, time.Time, error) { return s.loadMaintenance(ctx, e, f, id, before) })
}

func (s *Site) loadMaintenance(ctx context.Context, e *entry, f facet, id string, before int) (*sheet, time.Time, error) {
	snap, contents, err := e.load(ctx, func(slug string) (allswell.PageContents, error) {
		return s.store.LoadMaintenance(ctx, slug, id, before)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	m := contents.Maintenances[0]
	if n := len(m.Updates); before > 0 && (n == 0 || m.Updates[n-1].Number != before-1) {
		return nil, time.Time{}, allswell.ErrNotFound
	}
	sc := maintenanceScreen(s.whereOf(contents.Page, f), contents.Page, snap.status, maintenancePart{m, before}, s.now())
	sc.Frame.follow(snap.tag)
	sh, err := newSheet(ctx, sc)
	return sh, time.Time{}, err
}

// isMaintenanceID reports whether id has the form of a maintenance's id, which
// is that of all ids after their prefix.
func isMaintenanceID(id string) bool {
	rest, ok := strings.CutPrefix(id, allswell.PrefixMaintenance)
	return ok && isComponentID(allswell.PrefixComponent+rest)
}
