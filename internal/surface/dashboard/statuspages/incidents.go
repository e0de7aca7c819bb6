package statuspages

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// incidentsScreen is the data of the template incidents.
type incidentsScreen struct {
	Active, Past []store.ListedIncident
	Filter       pageFilter
	Pager        frame.Pager
	CanEdit      bool
}

// Excerpt returns the beginning of the newest update on one line.
func (incidentsScreen) Excerpt(i store.ListedIncident) string {
	if len(i.Updates) == 0 {
		return ""
	}
	u := i.Updates[0]
	return i18n.UpdateText{Message: u.Message, System: u.System}.Excerpt(i18n.English(), allZones)
}

// pageFilter limits a list to one page.
type pageFilter struct {
	Path     string
	Pages    []statuspage.Page
	Selected string // slug; "": all pages
}

// showIncidents lists incidents, the active ones first.
func (r *request) showIncidents() error {
	query := r.URL.Query()
	pages, err := r.Pages()
	if err != nil {
		return err
	}
	s := incidentsScreen{
		Filter: pageFilter{frame.Path + "/incidents", pages, query.Get("page")}, CanEdit: r.May(rights.IncidentChange),
	}
	rows := frame.Pagination(query)
	incidents, total, err := r.Store.ListIncidents(r.Context(), r.Actor(), s.Filter.Selected, rows)
	if err != nil {
		return err
	}
	past := slices.IndexFunc(incidents, func(i store.ListedIncident) bool { return i.Resolved })
	if past < 0 {
		past = len(incidents)
	}
	s.Active, s.Past = incidents[:past], incidents[past:]
	s.Pager = frame.NewPager(s.Filter.Path, query, rows, len(incidents), total)
	return r.Show(http.StatusOK, "incidents", "Incidents", s)
}

// choosePage returns the page of a new object: the page that the query names, or the only page of the workspace. If
// there are several pages, or none, it answers the request and returns a page without a slug.
func (r *request) choosePage(title, path string) (statuspage.Page, error) {
	if slug := r.URL.Query().Get("page"); slug != "" {
		return r.Store.Page(r.Context(), r.Actor(), slug)
	}
	pages, err := r.Pages()
	if err != nil || len(pages) == 1 {
		return append(pages, statuspage.Page{})[0], err
	}
	return statuspage.Page{}, r.Show(http.StatusOK, "choose_page", title, struct {
		Title    string
		Path     string
		Pages    []statuspage.Page
		CanAdmin bool
	}{title, path + "?" + url.Values{"page": {""}}.Encode(), pages, r.May(rights.PageCreate)})
}
