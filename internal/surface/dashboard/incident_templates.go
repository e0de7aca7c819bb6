package dashboard

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

const templatesPath = Path + "/incident-templates"

// incidentTemplatesScreen is the data of the template incident_templates.
type incidentTemplatesScreen struct {
	Templates []statuspage.IncidentTemplate
	CanEdit   bool
	Limited   bool // the member can change only templates of pages
	Pager     pager
}

// showIncidentTemplates lists the templates of the workspace.
func (v *visit) showIncidentTemplates() error {
	query := v.r.URL.Query()
	r := pagination(query)
	templates, total, err := v.store.IncidentTemplates().List(v.r.Context(), v.actor(), "", store.Filter{}, r)
	if err != nil {
		return err
	}
	s := incidentTemplatesScreen{
		templates, v.may(rights.TemplateChange), v.actor().PageLimited,
		newPager(templatesPath, url.Values{}, r, len(templates), total),
	}
	return v.show(http.StatusOK, "incident_templates", "Templates", s)
}

var templateScreens = checkedScreens(objectScreens[statuspage.IncidentTemplate]{
	Resource: resource.IncidentTemplate, objects: (*store.Store).IncidentTemplates,
	list:     func(statuspage.Page) string { return templatesPath },
	trail:    "Templates",
	lines:    [][]string{{"name"}, {"title"}, {"message"}, {"impact"}, {"state"}, {"page"}, {"slug"}},
	deletion: "Incidents that began with it stay as they are.",
	options: func(v *visit) (map[string][]option, error) {
		pages, err := v.pages()
		var choices []option
		for _, p := range pages {
			choices = append(choices, option{Value: p.Slug, Label: p.Name})
		}
		return map[string][]option{"page": choices}, err
	},
	protects: func(v *visit, t statuspage.IncidentTemplate) bool {
		return t.PageID == "" && !v.may(rights.SharedTemplateChange)
	},
})

// beginFromTemplate fills the form of a new incident from a template. {{component}} stays until the components are
// chosen.
func (v *visit) beginFromTemplate(f *form, page statuspage.Page, ref string) error {
	t, err := v.store.IncidentTemplates().Get(v.r.Context(), v.actor(), "", ref)
	if err != nil {
		return err
	}
	values := statuspage.TemplateValues{
		Page: page.Name, Components: []string{"{{component}}"}, At: v.now().In(page.Location()),
	}
	f.values.Set("template", t.ID)
	f.values.Set("title", values.Fill(t.Title, kernel.MaxTitleLength))
	f.values.Set("message", values.Fill(t.Message, kernel.MaxMessageLength))
	f.values.Set("impact", string(t.Impact))
	if t.State != "" {
		f.values.Set("state", string(t.State))
	}
	return nil
}

// fillFromTemplate replaces the variables that a template left in a new incident and its first update.
func (v *visit) fillFromTemplate(i *statuspage.Incident, first *statuspage.IncidentUpdate, page statuspage.Page) {
	values := statuspage.TemplateValues{Page: page.Name, At: v.now().In(page.Location())}
	for _, a := range i.Affected {
		if !a.Hidden {
			values.Components = append(values.Components, a.Name)
		}
	}
	i.Title = values.Fill(i.Title, kernel.MaxTitleLength)
	first.Message = values.Fill(first.Message, kernel.MaxMessageLength)
}

// templatesOf returns the templates to choose from on a page.
func (v *visit) templatesOf(page statuspage.Page) ([]statuspage.IncidentTemplate, error) {
	templates, _, err := v.store.IncidentTemplates().List(v.r.Context(), v.actor(), page.Slug, store.Filter{},
		store.Pagination{
			Page: 1, PerPage: statuspage.MaxIncidentTemplates,
		})
	return templates, err
}
