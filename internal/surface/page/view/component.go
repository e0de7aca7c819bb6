package view

import (
	"fmt"
	"html"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/page/badge"
	"github.com/allswell/allswell/internal/surface/page/checkchart"
	"github.com/allswell/allswell/internal/surface/page/feed"
)

// maxOfComponent is the maximum number of past incidents, and of past maintenances,
// on the page of a component. The history has all.
const maxOfComponent = 15

// componentBody is the page of a component.
type componentBody struct {
	Name, Description string
	Status            kernel.Status
	Active            []incidentView // with their latest update
	Running, Upcoming []maintenanceView
	Figures           []figure
	Bars              barsView
	Legend            []legendItem
	Explained         string     // how the uptime is computed
	Times             *timesView // nil: they are not shown
	Incidents         []incidentView
	Maintenances      []maintenanceView
	Home, History     string
	Atom, RSS         string
	Badge             badgeView
}

// figure is the uptime over some days.
type figure struct{ Label, Uptime string }

// figureDays are the numbers of days over which the page of a component shows the uptime.
var figureDays = []int{7, 30, statuspage.HistoryDays}

// badgeView is a badge with the HTML code that embeds it into other pages.
type badgeView struct{ URL, Code string }

// Component returns the page of a component of sum. contents has its incidents and
// maintenances. times are the response times of the last day; nil: they are not shown.
func Component(
	layout Layout, sum statuspage.Summary, c statuspage.Component, contents statuspage.PageContents,
	times *checkchart.Chart,
) Model {
	at := layout.At
	l, history := at.lang, sum.Histories[c.ID]
	b := componentBody{
		Name: c.Name, Status: c.Status(), Home: at.Home(), History: at.history(),
		Bars: viewBars(l, c.Name, history), Legend: viewLegend(l),
		Explained: uptimeExplanation(l),
		Atom:      at.link(componentPath(c.ID) + "/" + feed.AtomName),
		RSS:       at.link(componentPath(c.ID) + "/" + feed.RSSName),
		Badge:     viewBadge(at, c),
	}
	b.Bars.Rows, b.Bars.Ends = dailyRows(l, history), true
	if c.Description != nil {
		b.Description = strings.TrimSpace(*c.Description)
	}
	b.Figures = viewFigures(l, history)
	b.Times = viewTimes(l, sum, times)
	left := newBudget()
	line, latest := detail{names: maxNamed, budget: left, lines: left}, detail{
		updates: 1, names: maxNamed, budget: left, lines: left,
	}
	var active []statuspage.Incident
	for _, inc := range contents.Incidents {
		switch {
		case !inc.Resolved:
			active = append(active, inc)
		case len(b.Incidents) < maxOfComponent:
			b.Incidents = append(b.Incidents, viewIncident(at, inc, line))
		}
	}
	for _, inc := range statuspage.ByLatestUpdate(active) {
		b.Active = append(b.Active, viewIncident(at, inc, latest))
	}
	for _, m := range contents.Maintenances {
		switch {
		case m.Running():
			b.Running = append(b.Running, viewMaintenance(at, m, latest))
		case m.State == statuspage.MaintenanceScheduled:
			b.Upcoming = append([]maintenanceView{viewMaintenance(at, m, latest)}, b.Upcoming...) // soonest first
		case len(b.Maintenances) < maxOfComponent:
			b.Maintenances = append(b.Maintenances, viewMaintenance(at, m, line))
		}
	}
	layout.Path = componentPath(c.ID)
	layout.Title = l.T("component.title", "name", c.Name, "page", sum.Page.Name)
	layout.Description = l.T("component.description", "name", c.Name, "page", sum.Page.Name)
	return Model{layout, "component", b}
}

// viewFigures returns the uptimes of figureDays. The first figure that covers more days than there is data for has a
// label that says so, and is the last one.
func viewFigures(l *i18n.Language, history statuspage.History) (figures []figure) {
	known := len(history.WithData())
	for _, days := range figureDays {
		label, young := l.T("bars.days", "n", days), 0 < known && known < days
		if young {
			label = l.UptimePeriod(history, days)
		}
		figures = append(figures, figure{label, l.Percent(history.Last(days).Uptime())})
		if young {
			break
		}
	}
	return figures
}

func viewBadge(at Presentation, c statuspage.Component) badgeView {
	link := at.Public + componentPath(c.ID)
	return badgeView{
		URL: at.link(componentPath(c.ID) + "/" + badge.SVGName),
		Code: fmt.Sprintf(`<a href="%s"><img src="%s/%s" alt="%s"></a>`, link, link, badge.SVGName,
			html.EscapeString(c.Name)),
	}
}
