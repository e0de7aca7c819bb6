package dashboard

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

// maintenancesScreen is the data of the template maintenances.
type maintenancesScreen struct {
	Open, Past []store.ListedMaintenance
	Filter     pageFilter
	Pager      pager
	CanEdit    bool
}

// showMaintenances lists maintenances, those to come first.
func (v *visit) showMaintenances() error {
	query := v.r.URL.Query()
	pages, err := v.pages()
	if err != nil {
		return err
	}
	s := maintenancesScreen{
		Filter: pageFilter{Path + "/maintenances", pages, query.Get("page")}, CanEdit: v.may(rights.MaintenanceChange),
	}
	r := pagination(query)
	all, total, err := v.store.ListMaintenances(v.r.Context(), v.actor(), s.Filter.Selected, r)
	if err != nil {
		return err
	}
	past := slices.IndexFunc(all, func(m store.ListedMaintenance) bool {
		return m.State == statuspage.MaintenanceCompleted
	})
	if past < 0 {
		past = len(all)
	}
	s.Open, s.Past = all[:past], all[past:]
	s.Pager = newPager(s.Filter.Path, query, r, len(all), total)
	return v.showLive("maintenances", "Maintenance", s)
}
