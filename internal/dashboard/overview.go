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
