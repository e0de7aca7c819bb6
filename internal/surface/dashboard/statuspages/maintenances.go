package statuspages

import (
	"net/http"
	"slices"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maintenancesScreen is the data of the template maintenances.
type maintenancesScreen struct {
	Open, Past []store.ListedMaintenance
	Filter     pageFilter
	Pager      frame.Pager
	CanEdit    bool
}

// showMaintenances lists maintenances. Those that have not ended are first.
func (r *request) showMaintenances() error {
	query := r.URL.Query()
	pages, err := r.Pages()
	if err != nil {
		return err
	}
	s := maintenancesScreen{
		Filter:  pageFilter{frame.Path + "/maintenances", pages, query.Get("page")},
		CanEdit: r.May(rights.MaintenanceChange),
	}
	rows := frame.Pagination(query)
	all, total, err := r.Store.ListMaintenances(r.Context(), r.Actor(), s.Filter.Selected, rows)
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
	s.Pager = frame.NewPager(s.Filter.Path, query, rows, len(all), total)
	return r.Show(http.StatusOK, "maintenances", "Maintenance", s)
}
