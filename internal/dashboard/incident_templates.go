package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

const templatesPath = Path + "/incident-templates"

// incidentTemplatesScreen is the data of the template incident_templates.
type incidentTemplatesScreen struct {
	Templates []allswell.IncidentTemplate
	CanEdit   bool
	Limited   bool // the member can change only templates of pages
	Pager     pager
}

// incidentTemplateScreen is the data of the template incident_template: the form of a template.
type incidentTemplateScreen struct {
	*form
	Heading, Path, Tag string
	Fields             []field
	New, Conflict      bool
}

// showIncidentTemplates lists the templates of the workspace.
func (v *visit) showIncidentTemplates() error {
	query := v.r.URL.Query()
	r := pagination(query)
	templates, total, err := v.store.IncidentTemplates(v.r.Context(), v.actor(), "", r)
	if err != nil {
		return err
	}
	s := incidentTemplatesScreen{templates, v.may(rights.TemplateChange), v.actor().PageLimited, newPager(templatesPath, url.Values{}, r, len(templates), total)}
	return v.show(http.StatusOK, "incident_templates", "Templates", s)
}

func templateValues(t allswell.IncidentTemplate) url.Values {
	return url.Values{
		"name": {t.Name}, "title": {t.Title}, "message": {t.Message}, "impact": {string(t.Impact)},
		"state": {string(t.State)}, "page": {t.Page},
	}
}

// answerIncidentTemplate shows the form of a template. A template without an id is a new one.
func (v *visit) answerIncidentTemplate(status int, f *form, t allswell.IncidentTemplate, conflict bool) error {
	pages, err := v.pages()
	if err != nil {
		return err
	}
	if f == nil {
		f = newForm(templateValues(t))
	}
	s := incidentTemplateScreen{form: f, Heading: "New template", Path: templatesPath + "/new", New: true, Conflict: conflict}
	if t.ID != "" {
		s.Heading, s.Path, s.New, s.Tag = t.Name, templatesPath+"/"+t.ID, false, f.version("tag", allswell.EntityTag(t), conflict)
	}
	if conflict {
		f.saved = templateValues(t)
	}
	choices := []option{{Label: "All pages"}}
	for _, p := range pages {
		choices = append(choices, option{Value: p.Slug, Label: p.Name})
	}
	const variables = "{{component}}, {{date}}, {{page}} and {{time}} are replaced."
	s.Fields = []field{
		f.draw(field{
			Name: "name", Label: "Name", Placeholder: "Slow payments",
			Hint: "Shown in the list of templates to choose from.",
		}),
		f.draw(field{Name: "title", Label: "Title", Placeholder: "{{component}} is slow", Hint: variables}),
		f.draw(field{
			Name: "message", Label: "Message", Type: "textarea", Rows: 5, Optional: true,
			Hint: "Markdown. " + variables,
		}),
		f.draw(field{
			Name: "impact", Label: "Impact", Type: "select",
			Options: append([]option{{Label: "As severe as the worst component"}}, impactOptions()...),
		}),
		f.draw(field{
			Name: "state", Label: "State", Type: "select",
			Options: append([]option{{Label: "Investigating, as usual"}}, stateOptions()...),
		}),
		f.draw(field{Name: "page", Label: "Page", Type: "select", Options: choices}),
	}
	focusFirst(s.Fields)
	return v.show(status, "incident_template", s.Heading, s)
}

// templateChange reads the form of a template.
func (f *form) templateChange() allswell.IncidentTemplateChange {
	name, title, page := strings.TrimSpace(f.Value("name")), strings.TrimSpace(f.Value("title")), f.Value("page")
	impact, state, message := allswell.Impact(f.Value("impact")), allswell.IncidentState(f.Value("state")), ""
	if typed := f.text("message"); typed != nil {
		message = *typed
	}
	return allswell.IncidentTemplateChange{
		Name: &name, Title: &title, Page: &page, Impact: &impact, State: &state, Message: &message,
	}
}

func (v *visit) showNewIncidentTemplate() error {
	return v.answerIncidentTemplate(http.StatusOK, nil, allswell.IncidentTemplate{}, false)
}

// createIncidentTemplate creates a template.
func (v *visit) createIncidentTemplate() error {
	f := newForm(v.r.PostForm)
	_, err := v.store.CreateIncidentTemplate(v.r.Context(), v.actor(), f.templateChange())
	if f.refused(err) {
		return v.answerIncidentTemplate(http.StatusUnprocessableEntity, f, allswell.IncidentTemplate{}, false)
	}
	if err != nil {
		return err
	}
	return v.redirect(templatesPath)
}

func (v *visit) showIncidentTemplate() error {
	t, err := v.store.IncidentTemplate(v.r.Context(), v.actor(), v.r.PathValue("template"))
	if err != nil {
		return err
	}
	if t.PageID == "" && !v.may(rights.SharedTemplateChange) {
		return errForbidden
	}
	return v.answerIncidentTemplate(http.StatusOK, nil, t, false)
}

// editIncidentTemplate saves a template.
func (v *visit) editIncidentTemplate() error {
	f := newForm(v.r.PostForm)
	t, err := v.store.IncidentTemplate(v.r.Context(), v.actor(), v.r.PathValue("template"))
	if err != nil {
		return err
	}
	_, err = v.store.ChangeIncidentTemplate(v.r.Context(), v.actor(), t.ID, f.templateChange(), allswell.Precondition{Tags: []string{f.Value("tag")}})
	switch {
	case f.refused(err):
		return v.answerIncidentTemplate(http.StatusUnprocessableEntity, f, t, false)
	case errors.Is(err, allswell.ErrPreconditionFailed):
		return v.answerIncidentTemplate(http.StatusConflict, f, t, true)
	case err != nil:
		return err
	}
	return v.redirect(templatesPath)
}

// deleteIncidentTemplate deletes a template.
func (v *visit) deleteIncidentTemplate() error {
	if err := v.store.DeleteIncidentTemplate(v.r.Context(), v.actor(), v.r.PathValue("template"), allswell.Precondition{}); err != nil {
		return err
	}
	return v.redirect(templatesPath)
}

// beginFromTemplate fills the form of a new incident from a template. {{component}} stays until the components are chosen.
func (v *visit) beginFromTemplate(f *form, page allswell.Page, ref string) error {
	t, err := v.store.IncidentTemplate(v.r.Context(), v.actor(), ref)
	if err != nil {
		return err
	}
	values := allswell.TemplateValues{Page: page.Name, Components: []string{"{{component}}"}, At: v.now().In(page.Location())}
	f.values.Set("template", t.ID)
	f.values.Set("title", values.Fill(t.Title, allswell.MaxTitleLength))
	f.values.Set("message", values.Fill(t.Message, allswell.MaxMessageLength))
	f.values.Set("impact", string(t.Impact))
	if t.State != "" {
		f.values.Set("state", string(t.State))
	}
	return nil
}

// fillFromTemplate replaces the variables that a template left in a new incident.
func (v *visit) fillFromTemplate(n *allswell.NewIncident, page allswell.Page) {
	values := allswell.TemplateValues{Page: page.Name, At: v.now().In(page.Location())}
	for _, a := range n.Affected {
		if !a.Hidden {
			values.Components = append(values.Components, a.Name)
		}
	}
	n.Title = values.Fill(n.Title, allswell.MaxTitleLength)
	if n.Message != nil {
		message := values.Fill(*n.Message, allswell.MaxMessageLength)
		n.Message = &message
	}
}

// templatesOf returns the templates to choose from on a page.
func (v *visit) templatesOf(page allswell.Page) ([]allswell.IncidentTemplate, error) {
	templates, _, err := v.store.IncidentTemplates(v.r.Context(), v.actor(), page.Slug, store.Pagination{
		Page: 1, PerPage: allswell.MaxIncidentTemplates,
	})
	return templates, err
}
