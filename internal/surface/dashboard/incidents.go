package dashboard

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

// incidentsScreen is the data of the template incidents.
type incidentsScreen struct {
	Active, Past []store.ListedIncident
	Filter       pageFilter
	Pager        pager
	CanEdit      bool
}

// Excerpt returns the beginning of the newest update as one line.
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

// maxChoices is the maximum number of pages to choose from.
const maxChoices = 200

// pages returns the pages of the workspace to choose from.
func (v *visit) pages() ([]statuspage.Page, error) {
	pages, _, err := v.store.Pages(v.r.Context(), v.actor(), store.Filter{},
		store.Pagination{Page: 1, PerPage: maxChoices})
	return pages, err
}

// showIncidents lists incidents, the active ones first.
func (v *visit) showIncidents() error {
	query := v.r.URL.Query()
	pages, err := v.pages()
	if err != nil {
		return err
	}
	s := incidentsScreen{
		Filter: pageFilter{Path + "/incidents", pages, query.Get("page")}, CanEdit: v.may(rights.IncidentChange),
	}
	r := pagination(query)
	incidents, total, err := v.store.ListIncidents(v.r.Context(), v.actor(), s.Filter.Selected, r)
	if err != nil {
		return err
	}
	past := slices.IndexFunc(incidents, func(i store.ListedIncident) bool { return i.Resolved })
	if past < 0 {
		past = len(incidents)
	}
	s.Active, s.Past = incidents[:past], incidents[past:]
	s.Pager = newPager(s.Filter.Path, query, r, len(incidents), total)
	return v.showLive("incidents", "Incidents", s)
}

// choosePage returns the page that a new object is for: the one that the query names, or the only one of the workspace.
// If there is a choice, or no page, it answers and returns a page without a slug.
func (v *visit) choosePage(title, path string) (statuspage.Page, error) {
	if slug := v.r.URL.Query().Get("page"); slug != "" {
		return v.store.Page(v.r.Context(), v.actor(), slug)
	}
	pages, err := v.pages()
	if err != nil || len(pages) == 1 {
		return append(pages, statuspage.Page{})[0], err
	}
	return statuspage.Page{}, v.show(http.StatusOK, "choose_page", title, struct {
		Title    string
		Path     string
		Pages    []statuspage.Page
		CanAdmin bool
	}{title, path + "?" + url.Values{"page": {""}}.Encode(), pages, v.may(rights.PageCreate)})
}
