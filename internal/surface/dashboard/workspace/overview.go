package workspace

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// overviewScreen is the data of the template overview.
type overviewScreen struct {
	store.Overview
	CanEdit, CanAdmin bool
}

// recentWords are the texts of recent events: the verb after the name of the object, and the path of its screen without
// the id.
var recentWords = map[store.RecentKind]struct {
	Text, Path string
	As         kernel.Status // the event has the tone of this status
}{
	store.RecentMonitorDown:      {"Monitor went down", frame.MonitorsPath + "/", kernel.StatusMajorOutage},
	store.RecentMonitorUp:        {"Monitor recovered", frame.MonitorsPath + "/", kernel.StatusOperational},
	store.RecentIncidentOpened:   {"Incident opened", frame.Path + "/incidents/", kernel.StatusMajorOutage},
	store.RecentIncidentResolved: {"Incident resolved", frame.Path + "/incidents/", kernel.StatusOperational},
	store.RecentMaintenanceBegun: {"Maintenance started", frame.Path + "/maintenances/", kernel.StatusMaintenance},
	store.RecentSubscriptionSuspended: {"Subscriptions suspended",
		frame.Path + "/deliveries?state=failed&page=", kernel.StatusDegraded},
}

// recentEvent is an event of the last hour with its texts.
type recentEvent struct {
	store.RecentEvent
	Text, Path, Tone string
}

// RecentEvents returns the events of the last hour.
func (s overviewScreen) RecentEvents() (all []recentEvent) {
	for _, e := range s.Recent {
		words := recentWords[e.Kind]
		all = append(all, recentEvent{e, words.Text, words.Path + e.ID, words.As.Tone().Name})
	}
	return all
}

// CausesOf returns the monitors whose outage caused an incident.
func (s overviewScreen) CausesOf(incident string) []monitor.Monitor {
	return slices.DeleteFunc(slices.Clone(s.Troubled), func(m monitor.Monitor) bool { return m.IncidentID != incident })
}

// Unreported returns the troubled monitors that are not the cause of a listed incident.
func (s overviewScreen) Unreported() []monitor.Monitor {
	return slices.DeleteFunc(slices.Clone(s.Troubled), func(m monitor.Monitor) bool {
		return slices.ContainsFunc(s.Incidents, func(i store.ListedIncident) bool { return i.ID == m.IncidentID })
	})
}

// Problem describes the problem of a monitor.
func (overviewScreen) Problem(m monitor.Monitor) string {
	what := "Late"
	switch {
	case m.State == monitor.MonitorDown:
		what = "Down"
	case m.IsCheck():
		what = "Last check failed"
	}
	if why := frame.CheckProblem(m); why != "" {
		what += ": " + why
	}
	return what
}

// MoreIncidents returns how many active incidents are not shown.
func (s overviewScreen) MoreIncidents() int { return s.AllIncidents - len(s.Incidents) }

// MoreTroubled returns how many troubled monitors are not shown.
func (s overviewScreen) MoreTroubled() int { return s.AllTroubled - len(s.Troubled) }

// MoreMaintenances returns how many maintenances under way are not shown.
func (s overviewScreen) MoreMaintenances() int { return s.AllMaintenances - len(s.Maintenances) }

// MoreFailedPages returns how many pages with failed deliveries are not shown.
func (s overviewScreen) MoreFailedPages() int { return s.AllFailedPages - len(s.FailedDeliveries) }

// ProblemCount returns how many things are wrong now.
func (s overviewScreen) ProblemCount() int {
	return s.AllIncidents + len(s.Unreported()) + s.MoreTroubled() + len(s.FailedDeliveries) + min(s.LateChecks, 1) +
		min(s.UnknownChecks, 1) + min(s.FailingChannels, 1)
}

// Title returns the title, which includes the number of problems, so that a background tab shows it.
func (s overviewScreen) Title() string {
	if n := s.ProblemCount(); n > 0 {
		return fmt.Sprintf("(%d) Overview", n)
	}
	return "Overview"
}

// Empty reports whether the workspace has neither pages nor monitors.
func (s overviewScreen) Empty() bool { return len(s.Pages) == 0 && s.Monitors == 0 }

// showOverview shows the current problems, and the pages with their states.
func (r *request) showOverview() error {
	overview, err := r.Store.Overview(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	s := overviewScreen{overview, r.May(rights.IncidentChange), r.May(rights.PageCreate)}
	return r.Show(http.StatusOK, "overview", s.Title(), s)
}
