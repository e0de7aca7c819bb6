package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// withPage is an owner whose workspace has a page with two components.
func (s *site) withPage() (v *visitor, website, api statuspage.Component) {
	s.Helper()
	v = s.owner()
	if _, err := s.store.CreatePage(
		s.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}),
	); err != nil {
		s.Fatal(err)
	}
	return v, v.component("Website"), v.component("API")
}

func (v *visitor) component(name string) statuspage.Component {
	v.Helper()
	c, err := v.store.Components().Create(v.Context(), v.actor(), "acme",
		resource.Component.From(statuspage.Component{Name: name}))
	if err != nil {
		v.Fatal(err)
	}
	return c
}

// hidden returns the value of a hidden field.
func (a answer) hidden(name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.body)
	if found == nil {
		return ""
	}
	return found[1]
}

func (v *visitor) incidents() []store.ListedIncident {
	v.Helper()
	all, _, err := v.store.ListIncidents(v.Context(), v.actor(), "", store.Pagination{Page: 1, PerPage: 50})
	if err != nil {
		v.Fatal(err)
	}
	return all
}

// TestIncidentFromReportToResolution walks through an incident as a person does.
func TestIncidentFromReportToResolution(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, website, api := s.withPage()
		for _, target := range []string{"a@example.com", "b@example.com"} {
			n := audience.NewSubscriber{Channel: audience.ChannelEmail, Target: target, Confirmed: true}
			if target == "b@example.com" {
				n.Components = []string{api.ID}
			}
			if _, err := s.store.CreateSubscriber(s.Context(), v.actor(), "acme", n, nil); err != nil {
				s.Fatal(err)
			}
		}
		v.wants(v.get("/admin/incidents"), http.StatusOK, "No incident was reported")
		page := v.wants(v.get("/admin/incidents/new"), http.StatusOK, "Website", "API", "Not affected")
		fields := []string{
			"page", "acme", "id", page.hidden("id"), "title", "Payments are slow", "message", "We **know**.", "state",
			"investigating",
			"impact", "", "status." + website.ID, "degraded_performance",
		}
		with := func(more ...string) []string { return append(append([]string{}, fields...), more...) }

		v.wants(v.post("/admin/incidents/new", with("action", "preview")...), http.StatusOK,
			"As visitors will see it", "We <strong>know</strong>.", "Minor impact",
			"1 person by e-mail will be notified.", `value="Payments are slow"`)
		if len(v.incidents()) != 0 {
			s.Error("the preview opened an incident")
		}
		created := v.wants(v.post("/admin/incidents/new", with("action", "publish")...), http.StatusSeeOther,
			"/admin/incidents/"+page.hidden("id"))
		v.wants(v.post("/admin/incidents/new", with("action", "publish")...), http.StatusSeeOther,
			"/admin/incidents/"+page.hidden("id"))
		if all := v.incidents(); len(all) != 1 || all[0].Impact != kernel.ImpactMinor || !all[0].ImpactDerived {
			s.Fatalf("incidents: %+v", all)
		}
		path := created.Header.Get("Location")
		screen := v.wants(v.get(path), http.StatusOK, "Payments are slow", "We <strong>know</strong>.",
			"Ada Lovelace</strong> opened the incident", "Website")
		v.wants(v.get("/admin/incidents"), http.StatusOK, "Payments are slow", "We know.", "Acme", "Investigating")
		v.wants(v.get("/admin"), http.StatusOK, "Payments are slow", path)

		update := []string{
			"seen", screen.hidden("seen"), "message", "Found it.", "state", "identified", "status." + website.ID,
			"degraded_performance", "status." + api.ID, "major_outage",
		}
		v.wants(v.post(path, append(update, "action", "preview")...), http.StatusOK, "Found it.",
			"2 people by e-mail will be notified.")
		v.wants(v.post(path, append(update, "action", "update")...), http.StatusSeeOther, path)
		v.wants(v.post(path, append(update, "action", "update")...), http.StatusSeeOther, path) // a second click
		screen = v.wants(v.get(path), http.StatusOK, "Found it.", "Identified", "Critical impact")
		if strings.Count(screen.body, "<p>Found it.</p>") != 1 {
			s.Error("the update was posted twice")
		}
		v.wants(v.post(path+"/edit", "seen", screen.hidden("seen"), "title", "Payments fail", "impact", "major"),
			http.StatusSeeOther, path)
		screen = v.wants(v.get(path), http.StatusOK, "Payments fail", "Major impact", "changed impact, title")
		v.wants(v.post(path, "seen", screen.hidden("seen"), "action", "resolve", "message", "Solved.", "state",
			"identified"), http.StatusSeeOther, path)
		v.wants(v.get(path), http.StatusOK, "Solved.", "Resolved", "resolved the incident")
		v.wants(v.get("/admin/incidents"), http.StatusOK, "Past")

		v.wants(v.post(path+"/delete"), http.StatusSeeOther, path)
		v.wants(v.post(path+"/delete", "confirm", "yes"), http.StatusSeeOther, "/admin/incidents")
		v.wants(v.get(path), http.StatusNotFound)
	})
}

// TestUpdateAfterAPreviewShowsWhatOthersPosted: a preview and a refused form do not count as a look at what others have
// posted meanwhile.
func TestUpdateAfterAPreviewShowsWhatOthersPosted(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		i, err := s.store.CreateIncident(s.Context(), v.actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "one"}, nil)
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/incidents/" + i.ID
		mine := v.get(path).hidden("seen")
		edit := func(seen, title string) answer {
			return v.post(path+"/edit", "seen", seen, "title", title, "impact", "minor")
		}
		refused := v.formOf(v.wants(edit(mine, " "), http.StatusUnprocessableEntity), path+"/edit")
		v.wants(v.post(path, "seen", mine, "message", "Solved.", "state", "identified", "action", "resolve"),
			http.StatusSeeOther)
		typed := []string{"message", "my text", "state", "identified"}
		preview := v.wants(v.post(path, append(typed, "seen", mine, "action", "preview")...), http.StatusOK, "my text")
		v.wants(v.post(path, append(typed, "seen", preview.hidden("seen"), "action", "update")...), http.StatusConflict,
			"Somebody changed the incident")
		v.wants(edit(refused["seen"], "Slower"), http.StatusConflict, "Somebody changed the incident")
		if now := v.incidents()[0]; !now.Resolved || now.Title != "Slow" {
			s.Errorf("overwritten: %+v", now)
		}
	})
}

// TestUpdateShowsWhatOthersPosted: the second of two people sees the update of the first before anything is saved.
func TestUpdateShowsWhatOthersPosted(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		i, err := s.store.CreateIncident(s.Context(), v.actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "one"}, nil)
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/incidents/" + i.ID
		mine := v.get(path).hidden("seen")
		v.wants(v.post(path, "seen", mine, "message", "from another", "state", "monitoring", "action", "update"),
			http.StatusSeeOther)
		late := v.wants(v.post(path, "seen", mine, "message", "my text", "state", "identified", "action", "update"),
			http.StatusConflict,
			"Somebody changed the incident", "<p>from another</p>", "my text</textarea>")
		v.wants(v.post(path+"/edit", "seen", mine, "title", "Slower", "impact", "minor"), http.StatusConflict,
			`value="Slower"`)
		if now := v.incidents()[0]; now.State != statuspage.IncidentMonitoring || now.Updates[0].Number != 2 {
			s.Errorf("overwritten: %+v", now)
		}
		v.wants(v.post(path, "seen", late.hidden("seen"), "message", "my text", "state", "identified", "action",
			"update"), http.StatusSeeOther)
	})
}

// TestDraftOfAnIncident saves a draft, which nobody sees, and publishes it.
func TestDraftOfAnIncident(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		refused := v.wants(v.post("/admin/incidents/new", "page", "acme", "title", " ", "message", "kept", "state",
			"investigating", "action", "draft"),
			http.StatusUnprocessableEntity, "This field is required.", "kept</textarea>")
		if strings.Contains(refused.body, `id="e-message"`) {
			s.Error("the message is not wrong")
		}
		path := v.wants(v.post("/admin/incidents/new", "page", "acme", "title", "Slow", "state", "investigating",
			"action", "draft"), http.StatusSeeOther).Header.Get("Location")
		v.wants(v.get(path), http.StatusOK, "This is a draft", "No subscriber will be notified.")
		v.wants(v.post(path+"/publish"), http.StatusSeeOther, path)
		if strings.Contains(v.wants(v.get(path), http.StatusOK, "published the draft").body, "This is a draft") {
			s.Error("it is a draft still")
		}
	})
}

// TestIncidentsOfSeveralPages: the form asks for the page, the list can be limited to one, and it is paged.
func TestIncidentsOfSeveralPages(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, _, _ := s.withPage()
		if _, err := s.store.CreatePage(
			s.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: "Second", Slug: "second"}),
		); err != nil {
			s.Fatal(err)
		}
		v.wants(v.get("/admin/incidents/new"), http.StatusOK, "On which page?", "/admin/incidents/new?page=second")
		v.wants(v.get("/admin/incidents/new?page=second"), http.StatusOK, "What is wrong?")
		v.wants(v.get("/admin/incidents/new?page=third"), http.StatusNotFound)
		for n := range perPage + 1 {
			if _, err := s.store.CreateIncident(
				s.Context(), v.actor(), "acme",
				statuspage.Incident{Title: fmt.Sprint("Incident ", n), State: statuspage.IncidentResolved},
				statuspage.IncidentUpdate{}, nil,
			); err != nil {
				s.Fatal(err)
			}
		}
		v.wants(v.get("/admin/incidents"), http.StatusOK, "1–50 of 51", "p=2")
		v.wants(v.get("/admin/incidents?p=2"), http.StatusOK, "51–51 of 51")
		v.wants(v.get("/admin/incidents?page=second"), http.StatusOK, "No incident was reported on this page")
	})
}
