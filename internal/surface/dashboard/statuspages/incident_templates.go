package statuspages

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

const templatesPath = frame.Path + "/incident-templates"

// incidentTemplatesScreen is the data of the template incident_templates.
type incidentTemplatesScreen struct {
	Templates []statuspage.IncidentTemplate
	CanEdit   bool
	Limited   bool // the member can change only templates of pages
	Pager     frame.Pager
}

// showIncidentTemplates lists the templates of the workspace.
func (r *request) showIncidentTemplates() error {
	query := r.URL.Query()
	rows := frame.Pagination(query)
	templates, total, err := r.Store.IncidentTemplates().List(r.Context(), r.Actor(), "", store.Filter{}, rows)
	if err != nil {
		return err
	}
	s := incidentTemplatesScreen{
		templates, r.May(rights.TemplateChange), r.Actor().PageLimited,
		frame.NewPager(templatesPath, url.Values{}, rows, len(templates), total),
	}
	return r.Show(http.StatusOK, "incident_templates", "Templates", s)
}

var templateScreens = checkedScreens(objectScreens[statuspage.IncidentTemplate]{
	Resource: resource.IncidentTemplate, objects: (*store.Store).IncidentTemplates,
	list:     func(statuspage.Page) string { return templatesPath },
	trail:    "Templates",
	lines:    [][]string{{"name"}, {"title"}, {"message"}, {"impact"}, {"state"}, {"page"}, {"slug"}},
	deletion: "Incidents that began with it stay as they are.",
	options: func(v *request) (map[string][]frame.Option, error) {
		pages, err := v.Pages()
		var choices []frame.Option
		for _, p := range pages {
			choices = append(choices, frame.Option{Value: p.Slug, Label: p.Name})
		}
		return map[string][]frame.Option{"page": choices}, err
	},
	protects: func(v *request, t statuspage.IncidentTemplate) bool {
		return t.PageID == "" && !v.May(rights.SharedTemplateChange)
	},
})

// beginFromTemplate fills the form of a new incident from a template. The variable {{component}} remains until
// components are chosen.
func (r *request) beginFromTemplate(f *frame.Form, page statuspage.Page, ref string) error {
	t, err := r.Store.IncidentTemplates().Get(r.Context(), r.Actor(), "", ref)
	if err != nil {
		return err
	}
	values := statuspage.TemplateValues{
		Page: page.Name, Components: []string{"{{component}}"}, At: r.Now().In(page.Location()),
	}
	f.Values.Set("template", t.ID)
	f.Values.Set("title", values.Fill(t.Title, kernel.MaxTitleLength))
	f.Values.Set("message", values.Fill(t.Message, kernel.MaxMessageLength))
	f.Values.Set("impact", string(t.Impact))
	if t.State != "" {
		f.Values.Set("state", string(t.State))
	}
	return nil
}

// fillFromTemplate replaces the variables of a template that remain in a new incident and its first update.
func (r *request) fillFromTemplate(i *statuspage.Incident, first *statuspage.IncidentUpdate, page statuspage.Page) {
	values := statuspage.TemplateValues{Page: page.Name, At: r.Now().In(page.Location())}
	for _, a := range i.Affected {
		if !a.Hidden {
			values.Components = append(values.Components, a.Name)
		}
	}
	i.Title = values.Fill(i.Title, kernel.MaxTitleLength)
	first.Message = values.Fill(first.Message, kernel.MaxMessageLength)
}

// templatesOf returns the templates to choose from on a page.
func (r *request) templatesOf(page statuspage.Page) ([]statuspage.IncidentTemplate, error) {
	templates, _, err := r.Store.IncidentTemplates().List(r.Context(), r.Actor(), page.Slug, store.Filter{},
		store.Pagination{
			Page: 1, PerPage: statuspage.MaxIncidentTemplates,
		})
	return templates, err
}
