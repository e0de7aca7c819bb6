package dashboard

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

func TestOverviewListsTheLastHour(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.post("/admin/setup/page", "name", "Acme"), http.StatusSeeOther)
		v.lacks(v.get("/admin"), "The last hour")
		i, err := s.store.CreateIncident(s.Context(), v.actor(), "acme", allswell.NewIncident{Title: "Slow <API>"})
		if err != nil {
			s.Fatal(err)
		}
		v.wants(v.get("/admin"), http.StatusOK, "The last hour", `href="/admin/incidents/`+i.ID+`">Slow &lt;API&gt;</a> <span class="quiet">was opened</span>`)
	})
}

func TestEventsOfTheLastHourHaveWords(t *testing.T) {
	o := store.Overview{Recent: []store.RecentEvent{
		{Kind: store.RecentMonitorDown}, {Kind: store.RecentMonitorUp}, {Kind: store.RecentIncidentOpened},
		{Kind: store.RecentIncidentResolved}, {Kind: store.RecentMaintenanceBegun}, {Kind: store.RecentSubscriptionSuspended},
	}}
	for _, e := range (overviewScreen{Overview: o}).RecentEvents() {
		if e.Text == "" || e.Path == "" {
			t.Errorf("%s: %+v", e.Kind, e)
		}
	}
}
