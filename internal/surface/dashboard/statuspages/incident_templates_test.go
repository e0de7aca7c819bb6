package statuspages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestIncidentTemplates makes a template, opens an incident with it, changes it while somebody else does, and deletes
// it.
func TestIncidentTemplates(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, website, api := s.WithPage()
		const list = "/admin/incident-templates"
		v.Wants(v.Get("/admin/incidents"), http.StatusOK, list)
		v.Wants(v.Get(list), http.StatusOK, "No templates yet")
		if strings.Contains(v.Get("/admin/incidents/new").Text, "f-template") {
			s.Error("there is no template to choose")
		}
		v.Wants(v.Post(list+"/new", "name", "Slow", "title", "{{who}} is slow", "message", "kept"),
			http.StatusUnprocessableEntity,
			"The variable {{who}} does not exist. The variables are: {{component}}, {{date}}, {{page}}, {{time}}.",
			"kept</textarea>")
		v.Wants(v.Post(list+"/new", "name", "Slow", "title", "{{component}} of {{page}}: slow", "message",
			"Since {{time}}: {{component}}.", "impact", "major", "state", "identified"),
			http.StatusSeeOther, list)
		v.Wants(v.Post(list+"/new", "name", "Slow", "title", "x"), http.StatusUnprocessableEntity,
			"Another template has this name.")
		template, err := s.Store.IncidentTemplates().Get(s.Context(), v.Actor(), "", "Slow")
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get(list), http.StatusOK, list+"/"+template.ID, "Slow")

		v.Wants(v.Get("/admin/incidents/new"), http.StatusOK, "f-template", "Slow</option>")
		page := v.Wants(v.Get("/admin/incidents/new?page=acme&template="+template.ID), http.StatusOK,
			`value="{{component}} of Acme: slow"`, "UTC: {{component}}.</textarea>",
			`<option value="major" selected>`, `<option value="identified" selected>`)
		fields := formOf(v, page, "/admin/incidents/new")
		created := v.Wants(v.Post("/admin/incidents/new", "page", "acme", "id", fields["id"], "template",
			fields["template"], "title", fields["title"], "message", fields["message"],
			"impact", fields["impact"], "state", fields["state"], "status."+website.ID, "partial_outage",
			"status."+api.ID, "degraded_performance", "action", "publish"), http.StatusSeeOther)
		v.Wants(v.Get(created.Header.Get("Location")), http.StatusOK, "Website, API of Acme: slow",
			"UTC: Website, API.", "Major impact", "Identified")

		path := list + "/" + template.ID
		mine := formOf(v, v.Get(path), path)["tag"]
		v.Wants(v.Post(path, "tag", mine, "name", "Slower", "title", "x"), http.StatusSeeOther, list)
		v.Wants(v.Post(path, "tag", mine, "name", "Slowest", "title", "x"), http.StatusConflict, "Nothing was saved",
			"“Slower”", `value="Slowest"`)
		v.Wants(v.Post(path+"/delete"), http.StatusSeeOther, list)
		v.Wants(v.Get(path), http.StatusNotFound)
	})
}

// TestIncidentOfATemplateOverTheAPI checks that a template gives only the fields that are not given, on its page alone.
func TestIncidentOfATemplateOverTheAPI(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, website, _ := s.WithPage()
		_, err := s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Second", Slug: "second"}))
		if err != nil {
			s.Fatal(err)
		}
		_, err = s.Store.IncidentTemplates().Create(
			s.Context(), v.Actor(), "", resource.IncidentTemplate.From(statuspage.IncidentTemplate{
				Name: "Slow", Page: "acme", Title: "{{component}} is slow", Message: "{{page}}",
				Impact: kernel.ImpactMinor,
			}),
		)
		if err != nil {
			s.Fatal(err)
		}
		n := statuspage.Incident{
			Affected: []statuspage.AffectedComponent{{ComponentID: website.ID, Status: kernel.StatusMajorOutage}},
		}
		i, first, err := s.Store.BeginIncident(s.Context(), v.Actor(), "acme", "Slow", n, statuspage.IncidentUpdate{})
		if err != nil || i.Title != "Website is slow" || i.Impact != kernel.ImpactMinor || first.Message != "Acme" {
			s.Errorf("the incident of a template: %+v, %v", i, err)
		}
		n.Title = "Mine"
		i, _, err = s.Store.BeginIncident(s.Context(), v.Actor(), "acme", "Slow", n, first)
		if err != nil || i.Title != "Mine" {
			s.Errorf("the incident with a title: %+v, %v", i, err)
		}
		for template, page := range map[string]string{"Slow": "second", "Fast": "acme"} {
			_, _, err := s.Store.BeginIncident(s.Context(), v.Actor(), page, template, statuspage.Incident{}, first)
			if err == nil || !strings.Contains(err.Error(), "template") {
				s.Errorf("%s on %s: %v", template, page, err)
			}
		}
	})
}
