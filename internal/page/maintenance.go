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
	Planned  maintenanceView
	Part     partView
	Home     string
	Month    *monthLink // in whose history it is; nil while it is not over
	Calendar string
}

func (maintenanceBody) template() string { return "maintenance" }

// maintenanceView is a planned maintenance as people read it.
type maintenanceView struct {
	URL, Title  string
	State       allswell.MaintenanceState
	From, Until moment // as planned; from when it has begun and ended, as it was
	SameDay     bool   // both are on one day
	Lasts       time.Duration
	Affected    []affectedView
	Others      int                     // more components that it affects
	Updates     []maintenanceUpdateView // newest first
	Earlier     int                     // older updates that are left out
	Excerpt     string
	Notes       int // updates of a timeline that is folded; 0: none is
}

// Over reports whether the maintenance is complete.
func (v maintenanceView) Over() bool { return v.State == allswell.MaintenanceCompleted }

// AtOnce reports whether the maintenance was over as soon as it began.
func (v maintenanceView) AtOnce() bool { return atOnce(v.Lasts) }

// OneTime reports whether beginning and end read the same on the clock.
func (v maintenanceView) OneTime() bool { return v.From.minute() == v.Until.minute() }

// maintenanceUpdateView is an entry of a maintenance's timeline.
type maintenanceUpdateView struct {
	State   allswell.MaintenanceState
	Message template.HTML
	At      moment
}

// viewMaintenance returns m with its updates, newest first.
func viewMaintenance(at presentation, m allswell.Maintenance, e extent) maintenanceView {
	from, until := m.Span()
	v := maintenanceView{
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
		shown, ok := e.budget.maintenanceUpdateView(at, u)
		if !ok {
			break
		}
		v.Updates, v.Earlier = append(v.Updates, shown), u.Number-1
	}
	return v
}

// viewMaintenances returns maintenances in the order given.
func viewMaintenances(at presentation, maintenances []allswell.Maintenance, e extent) []maintenanceView {
	views := make([]maintenanceView, len(maintenances))
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
func maintenanceScreen(at presentation, page allswell.Page, status allswell.Status, part maintenancePart, asOf time.Time) screen {
	m := part.Maintenance
	v := viewMaintenance(at, m, full())
	b := maintenanceBody{Planned: v, Home: at.home(), Calendar: at.calendar()}
	if v.Over() {
		b.Month = linkMonth(at, m.BegunAt.In(at.zone))
	}
	l := at.lang
	f := newLayout(at, page, status, asOf)
	f.Path = timelinePath("/maintenances/"+m.ID, part.before)
	b.Part = f.part(v.Title, v.URL, timelineSpan{part.before, len(v.Updates), v.Earlier})
	f.Description = l.T("maintenance.description", "state", l.MaintenanceState(m.State),
		"from", l.Moment(time.Time(v.From)), "to", l.Moment(time.Time(v.Until)))
	return screen{f, b}
}

// calendar returns the address of the page's calendar.
func (at presentation) calendar() string { return at.link("/" + feed.CalendarName) }

// serveMaintenance answers with one planned maintenance and a part of its
// timeline: the newest, or the one that ?before= asks for.
func (s *Site) serveMaintenance(w http.ResponseWriter, r *http.Request, v visit, id string) {
	before, ok := beforeOf(r)
	if !ok || !isMaintenanceID(id) {
		s.failAt(w, r, v, http.StatusNotFound)
		return
	}
	e, f := v.entry, v.variant
	s.servePart(w, r, v, key{entry: e, kind: "maintenance", name: timelinePath(id, before), variant: f},
		func(ctx context.Context) (*renderedPage, time.Time, error) {
			return s.loadMaintenance(ctx, e, f, id, before)
		})
}

func (s *Site) loadMaintenance(ctx context.Context, e *entry, f variant, id string, before int) (*renderedPage, time.Time, error) {
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
	sc := maintenanceScreen(s.presentationOf(contents.Page, f), contents.Page, snap.status, maintenancePart{m, before}, s.now())
	sc.Layout.follow(snap.tag)
	sh, err := newRenderedPage(ctx, sc)
	return sh, time.Time{}, err
}

// isMaintenanceID reports whether id has the form of a maintenance's id, which
// is that of all ids after their prefix.
func isMaintenanceID(id string) bool {
	rest, ok := strings.CutPrefix(id, allswell.PrefixMaintenance)
	return ok && isComponentID(allswell.PrefixComponent+rest)
}
