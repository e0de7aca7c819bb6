package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestIncidentTemplates makes a template, opens an incident with it, changes it while somebody else does, and deletes
// it.
func TestIncidentTemplates(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, website, api := s.withPage()
		const list = "/admin/incident-templates"
		v.wants(v.get("/admin/incidents"), http.StatusOK, list)
		v.wants(v.get(list), http.StatusOK, "No templates yet")
		if strings.Contains(v.get("/admin/incidents/new").body, "f-template") {
			s.Error("there is no template to choose")
		}
		v.wants(v.post(list+"/new", "name", "Slow", "title", "{{who}} is slow", "message", "kept"),
			http.StatusUnprocessableEntity,
			"The variable {{who}} does not exist. The variables are: {{component}}, {{date}}, {{page}}, {{time}}.",
			"kept</textarea>")
		v.wants(v.post(list+"/new", "name", "Slow", "title", "{{component}} of {{page}}: slow", "message",
			"Since {{time}}: {{component}}.", "impact", "major", "state", "identified"),
			http.StatusSeeOther, list)
		v.wants(v.post(list+"/new", "name", "Slow", "title", "x"), http.StatusUnprocessableEntity,
			"Another template has this name.")
		template, err := s.store.IncidentTemplates().Get(s.Context(), v.actor(), "", "Slow")
		if err != nil {
			s.Fatal(err)
		}
		v.wants(v.get(list), http.StatusOK, list+"/"+template.ID, "Slow")

		v.wants(v.get("/admin/incidents/new"), http.StatusOK, "f-template", "Slow</option>")
		page := v.wants(v.get("/admin/incidents/new?page=acme&template="+template.ID), http.StatusOK,
			`value="{{component}} of Acme: slow"`, "UTC: {{component}}.</textarea>",
			`<option value="major" selected>`, `<option value="identified" selected>`)
		fields := v.formOf(page, "/admin/incidents/new")
		created := v.wants(v.post("/admin/incidents/new", "page", "acme", "id", fields["id"], "template",
			fields["template"], "title", fields["title"], "message", fields["message"],
			"impact", fields["impact"], "state", fields["state"], "status."+website.ID, "partial_outage",
			"status."+api.ID, "degraded_performance", "action", "publish"), http.StatusSeeOther)
		v.wants(v.get(created.Header.Get("Location")), http.StatusOK, "Website, API of Acme: slow",
			"UTC: Website, API.", "Major impact", "Identified")

		path := list + "/" + template.ID
		mine := v.formOf(v.get(path), path)["tag"]
		v.wants(v.post(path, "tag", mine, "name", "Slower", "title", "x"), http.StatusSeeOther, list)
		v.wants(v.post(path, "tag", mine, "name", "Slowest", "title", "x"), http.StatusConflict, "Nothing was saved",
			"“Slower”", `value="Slowest"`)
		v.wants(v.post(path+"/delete"), http.StatusSeeOther, list)
		v.wants(v.get(path), http.StatusNotFound)
	})
}

// TestIncidentOfATemplateOverTheAPI checks that a template gives only the fields that are not given, on its page alone.
func TestIncidentOfATemplateOverTheAPI(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, website, _ := s.withPage()
		if _, err := s.store.CreatePage(
			s.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: "Second", Slug: "second"}),
		); err != nil {
			s.Fatal(err)
		}
		if _, err := s.store.IncidentTemplates().Create(
			s.Context(), v.actor(), "", resource.IncidentTemplate.From(statuspage.IncidentTemplate{
				Name: "Slow", Page: "acme", Title: "{{component}} is slow", Message: "{{page}}",
				Impact: kernel.ImpactMinor,
			}),
		); err != nil {
			s.Fatal(err)
		}
		n := statuspage.Incident{
			Affected: []statuspage.AffectedComponent{{ComponentID: website.ID, Status: kernel.StatusMajorOutage}},
		}
		i, first, err := s.store.BeginIncident(s.Context(), v.actor(), "acme", "Slow", n, statuspage.IncidentUpdate{})
		if err != nil || i.Title != "Website is slow" || i.Impact != kernel.ImpactMinor || first.Message != "Acme" {
			s.Errorf("%+v, %v", i, err)
		}
		n.Title = "Mine"
		if i, _, err := s.store.BeginIncident(
			s.Context(), v.actor(), "acme", "Slow", n, first,
		); err != nil || i.Title != "Mine" {
			s.Errorf("%+v, %v", i, err)
		}
		for template, page := range map[string]string{"Slow": "second", "Fast": "acme"} {
			if _, _, err := s.store.BeginIncident(
				s.Context(), v.actor(), page, template, statuspage.Incident{}, first,
			); err == nil || !strings.Contains(err.Error(), "template") {
				s.Errorf("%s on %s: %v", template, page, err)
			}
		}
	})
}
