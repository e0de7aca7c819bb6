package page

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/badge"
	"github.com/allswell/allswell/internal/feed"
)

// maxOfComponent is how many past incidents, and how many past maintenances,
// the page of a component shows. The rest is in the history.
const maxOfComponent = 15

// componentBody is one component with its history.
type componentBody struct {
	Name, Description string
	Status            allswell.Status
	Active            []incidentView // with their latest update
	Running, Upcoming []maintenanceView
	Figures           []figure
	Bars              barsView
	Legend            []legendItem
	Explained         string // how the uptime is computed
	Incidents         []incidentView
	Maintenances      []maintenanceView
	Home, History     string
	Atom, RSS         string
	Badge             badgeView
}

func (componentBody) template() string { return "component" }

// figure is the uptime over some days.
type figure struct{ Label, Uptime string }

// figureDays are the spans of which the page of a component tells the uptime.
var figureDays = []int{7, 30, allswell.HistoryDays}

// badgeView is a badge with what to put into a page of one's own to show it.
type badgeView struct{ URL, Code string }

// componentScreen lays out a component of sum. contents has what is known of
// it alone; base is the absolute address of the page.
func componentScreen(at presentation, base string, sum allswell.Summary, c allswell.Component, contents allswell.PageContents) screen {
	l, record := at.lang, sum.Histories[c.ID]
	b := componentBody{
		Name: c.Name, Status: c.Status(), Home: at.home(), History: at.history(),
		Bars: viewBars(l, c.Name, record), Legend: viewLegend(l),
		Explained: explainUptime(l),
		Atom:      at.link(componentPath(c.ID) + "/" + feed.AtomName), RSS: at.link(componentPath(c.ID) + "/" + feed.RSSName),
		Badge: viewBadge(at, base, c),
	}
	b.Bars.Rows = dailyRows(l, record)
	if c.Description != nil {
		b.Description = strings.TrimSpace(*c.Description)
	}
	for _, days := range figureDays {
		b.Figures = append(b.Figures, figure{l.T("bars.days", "n", days), l.Percent(record.Last(days).Uptime())})
	}
	r := newBudget()
	line, latest := extent{names: maxNamed, budget: r, lines: r}, extent{updates: 1, names: maxNamed, budget: r, lines: r}
	var active []allswell.Incident
	for _, inc := range contents.Incidents {
		switch {
		case !inc.Resolved:
			active = append(active, inc)
		case len(b.Incidents) < maxOfComponent:
			b.Incidents = append(b.Incidents, viewIncident(at, inc, line))
		}
	}
	for _, inc := range allswell.ByLatestUpdate(active) {
		b.Active = append(b.Active, viewIncident(at, inc, latest))
	}
	for _, m := range contents.Maintenances {
		switch {
		case m.Running():
			b.Running = append(b.Running, viewMaintenance(at, m, latest))
		case m.State == allswell.MaintenanceScheduled:
			b.Upcoming = append([]maintenanceView{viewMaintenance(at, m, latest)}, b.Upcoming...) // soonest first
		case len(b.Maintenances) < maxOfComponent:
			b.Maintenances = append(b.Maintenances, viewMaintenance(at, m, line))
		}
	}
	f := newLayout(at, sum.Page, sum.Status, sum.AsOf)
	f.Path = componentPath(c.ID)
	f.Title = l.T("component.title", "name", c.Name, "page", sum.Page.Name)
	f.Description = l.T("component.description", "name", c.Name, "page", sum.Page.Name)
	return screen{f, b}
}

func viewBadge(at presentation, base string, c allswell.Component) badgeView {
	link := base + componentPath(c.ID)
	return badgeView{
		URL:  at.link(componentPath(c.ID) + "/" + badge.SVGName),
		Code: fmt.Sprintf(`<a href="%s"><img src="%s/%s" alt="%s"></a>`, link, link, badge.SVGName, html.EscapeString(c.Name)),
	}
}

// serveComponent answers with one component and its history.
func (s *Site) serveComponent(w http.ResponseWriter, r *http.Request, v visit, id string) {
	if !isComponentID(id) {
		s.failAt(w, r, v, http.StatusNotFound)
		return
	}
	e, f := v.entry, v.variant
	s.servePart(w, r, v, key{entry: e, kind: "component", name: id, variant: f},
		func(ctx context.Context) (*renderedPage, time.Time, error) { return s.loadComponent(ctx, e, f, id) })
}

// loadComponent is good for as long as the snapshot that it is made of.
func (s *Site) loadComponent(ctx context.Context, e *entry, f variant, id string) (*renderedPage, time.Time, error) {
	snap, err := e.summary.Get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	c, ok := componentOf(snap.sum, id)
	if !ok {
		return nil, time.Time{}, allswell.ErrNotFound
	}
	contents, err := s.store.LoadNewest(ctx, e.slug, id)
	if err != nil {
		return nil, time.Time{}, err
	}
	if contents.Page.ID != e.id {
		return nil, time.Time{}, allswell.ErrNotFound // another page has the slug now
	}
	cleanNames(&contents)
	sc := componentScreen(s.presentationOf(snap.page, f), snap.page.URL(s.base), snap.sum, c, contents)
	sc.Layout.follow(snap.tag)
	sh, err := newRenderedPage(ctx, sc)
	return sh, snap.until, err
}

// componentOf returns a component of a summary.
func componentOf(sum allswell.Summary, id string) (allswell.Component, bool) {
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			if c.ID == id {
				return c, true
			}
		}
	}
	return allswell.Component{}, false
}
