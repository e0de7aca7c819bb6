package dashboard

import (
	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// overviewScreen is what the template overview shows.
type overviewScreen struct {
	store.Overview
	CanEdit, CanAdmin bool
}

// recentWords says what happened, after the name of the object, and where the object's screen is, before its id.
var recentWords = map[store.RecentKind]struct {
	Text, Path string
	As         allswell.Status // whose tone it has
}{
	store.RecentMonitorDown:           {"went down", monitorsPath + "/", allswell.StatusMajorOutage},
	store.RecentMonitorUp:             {"is up again", monitorsPath + "/", allswell.StatusOperational},
	store.RecentIncidentOpened:        {"was opened", Path + "/incidents/", allswell.StatusMajorOutage},
	store.RecentIncidentResolved:      {"was resolved", Path + "/incidents/", allswell.StatusOperational},
	store.RecentMaintenanceBegun:      {"began", Path + "/maintenances/", allswell.StatusMaintenance},
	store.RecentSubscriptionSuspended: {"has subscriptions that were suspended", Path + "/deliveries?state=failed&page=", allswell.StatusDegraded},
}

// recentEvent is an event of the last hour with its words.
type recentEvent struct {
	store.RecentEvent
	Text, Path, Tone string
}

// RecentEvents returns what happened in the last hour.
func (s overviewScreen) RecentEvents() (all []recentEvent) {
	for _, e := range s.Recent {
		words := recentWords[e.Kind]
		all = append(all, recentEvent{e, words.Text, words.Path + e.ID, words.As.Tone().Name})
	}
	return all
}

// Calm reports whether nothing is wrong now.
func (s overviewScreen) Calm() bool {
	return len(s.Incidents) == 0 && len(s.Troubled) == 0 && len(s.FailedDeliveries) == 0
}

// Empty reports whether the workspace has neither pages nor monitors.
func (s overviewScreen) Empty() bool { return len(s.Pages) == 0 && s.Monitors == 0 }

// showOverview shows what is wrong now, and the pages with their states.
func (v *visit) showOverview() error {
	overview, err := v.store.Overview(v.r.Context(), v.actor())
	if err != nil {
		return err
	}
	return v.showLive("overview", "Overview", overviewScreen{overview, v.can(allswell.RoleEditor), v.can(allswell.RoleAdmin)})
}
