package statuspages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func incidents(v *dashboardtest.Visitor) []store.ListedIncident {
	v.Helper()
	all, _, err := v.Store.ListIncidents(v.Context(), v.Actor(), "", store.Pagination{Page: 1, PerPage: 50})
	if err != nil {
		v.Fatal(err)
	}
	return all
}

// TestIncidentFromReportToResolution walks through an incident as a person does.
func TestIncidentFromReportToResolution(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, website, api := s.WithPage()
		subscribe(v, "a@example.com")
		subscribe(v, "b@example.com", api.ID)
		v.Wants(v.Get("/admin/incidents"), http.StatusOK, "<p class=\"quiet\">No incidents</p>")
		page := v.Wants(v.Get("/admin/incidents/new"), http.StatusOK, "Website", "API", "Not affected")
		fields := []string{
			"page", "acme", "id", page.Hidden("id"), "title", "Payments are slow", "message", "We **know**.", "state",
			"investigating",
			"impact", "", "status." + website.ID, "degraded_performance",
		}
		with := func(more ...string) []string { return append(append([]string{}, fields...), more...) }

		v.Wants(v.Post("/admin/incidents/new", with("action", "preview")...), http.StatusOK,
			"As visitors will see it", "We <strong>know</strong>.", "Minor impact",
			"1 email subscriber will be notified.", `value="Payments are slow"`)
		if len(incidents(v)) != 0 {
			s.Error("the preview opened an incident")
		}
		created := v.Wants(v.Post("/admin/incidents/new", with("action", "publish")...), http.StatusSeeOther,
			"/admin/incidents/"+page.Hidden("id"))
		v.Wants(v.Post("/admin/incidents/new", with("action", "publish")...), http.StatusSeeOther,
			"/admin/incidents/"+page.Hidden("id"))
		if all := incidents(v); len(all) != 1 || all[0].Impact != kernel.ImpactMinor || !all[0].ImpactDerived {
			s.Fatalf("incidents: %+v", all)
		}
		path := created.Header.Get("Location")
		screen := v.Wants(v.Get(path), http.StatusOK, "Payments are slow", "We <strong>know</strong>.",
			"Ada Lovelace</strong> opened the incident", "Website")
		v.Wants(v.Get("/admin/incidents"), http.StatusOK, "Payments are slow", "We know.", "Acme", "Investigating")
		v.Wants(v.Get("/admin"), http.StatusOK, "Payments are slow", path)

		screen = postUpdate(v, path, screen, website.ID, api.ID)
		v.Wants(v.Post(path+"/edit", "seen", screen.Hidden("seen"), "title", "Payments fail", "impact", "major"),
			http.StatusSeeOther, path)
		screen = v.Wants(v.Get(path), http.StatusOK, "Payments fail", "Major impact", "changed impact, title")
		v.Wants(v.Post(path, "seen", screen.Hidden("seen"), "action", "resolve", "message", "Solved.", "state",
			"identified"), http.StatusSeeOther, path)
		v.Wants(v.Get(path), http.StatusOK, "Solved.", "Resolved", "resolved the incident")
		v.Wants(v.Get("/admin/incidents"), http.StatusOK, "Past")

		v.Wants(v.Post(path+"/delete"), http.StatusSeeOther, path)
		v.Wants(v.Post(path+"/delete", "confirm", "yes"), http.StatusSeeOther, "/admin/incidents")
		v.Wants(v.Get(path), http.StatusNotFound)
	})
}

func subscribe(v *dashboardtest.Visitor, email string, components ...string) {
	v.Helper()
	n := audience.NewSubscriber{
		Channel: audience.ChannelEmail, Target: email, Confirmed: true, Components: components,
	}
	if _, err := v.Store.CreateSubscriber(v.Context(), v.Actor(), "acme", n, nil); err != nil {
		v.Fatal(err)
	}
}

// postUpdate posts an update of an incident after a preview, and returns the screen with it.
func postUpdate(
	v *dashboardtest.Visitor, path string, screen dashboardtest.Answer, website, api string,
) dashboardtest.Answer {
	v.Helper()
	update := []string{
		"seen", screen.Hidden("seen"), "message", "Found it.", "state", "identified", "status." + website,
		"degraded_performance", "status." + api, "major_outage",
	}
	v.Wants(v.Post(path, append(update, "action", "preview")...), http.StatusOK, "Found it.",
		"2 email subscribers will be notified.")
	v.Wants(v.Post(path, append(update, "action", "update")...), http.StatusSeeOther, path)
	v.Wants(v.Post(path, append(update, "action", "update")...), http.StatusSeeOther, path) // a second click
	screen = v.Wants(v.Get(path), http.StatusOK, "Found it.", "Identified", "Critical impact")
	if strings.Count(screen.Text, "<p>Found it.</p>") != 1 {
		v.Error("the update was posted twice")
	}
	return screen
}

// TestUpdateAfterAPreviewShowsWhatOthersPosted: a preview and a refused form do not count as a look at what others have
// posted meanwhile.
func TestUpdateAfterAPreviewShowsWhatOthersPosted(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		i, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "one"}, nil)
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/incidents/" + i.ID
		mine := v.Get(path).Hidden("seen")
		edit := func(seen, title string) dashboardtest.Answer {
			return v.Post(path+"/edit", "seen", seen, "title", title, "impact", "minor")
		}
		refused := formOf(v, v.Wants(edit(mine, " "), http.StatusUnprocessableEntity), path+"/edit")
		v.Wants(v.Post(path, "seen", mine, "message", "Solved.", "state", "identified", "action", "resolve"),
			http.StatusSeeOther)
		typed := []string{"message", "my text", "state", "identified"}
		preview := v.Wants(v.Post(path, append(typed, "seen", mine, "action", "preview")...), http.StatusOK, "my text")
		v.Wants(v.Post(path, append(typed, "seen", preview.Hidden("seen"), "action", "update")...), http.StatusConflict,
			"Someone changed the incident")
		v.Wants(edit(refused["seen"], "Slower"), http.StatusConflict, "Someone changed the incident")
		if now := incidents(v)[0]; !now.Resolved || now.Title != "Slow" {
			s.Errorf("overwritten: %+v", now)
		}
	})
}

// TestUpdateShowsWhatOthersPosted: the second of two people sees the update of the first before anything is saved.
func TestUpdateShowsWhatOthersPosted(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		i, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "one"}, nil)
		if err != nil {
			s.Fatal(err)
		}
		path := "/admin/incidents/" + i.ID
		mine := v.Get(path).Hidden("seen")
		v.Wants(v.Post(path, "seen", mine, "message", "from another", "state", "monitoring", "action", "update"),
			http.StatusSeeOther)
		late := v.Wants(v.Post(path, "seen", mine, "message", "my text", "state", "identified", "action", "update"),
			http.StatusConflict,
			"Someone changed the incident", "<p>from another</p>", "my text</textarea>")
		v.Wants(v.Post(path+"/edit", "seen", mine, "title", "Slower", "impact", "minor"), http.StatusConflict,
			`value="Slower"`)
		if now := incidents(v)[0]; now.State != statuspage.IncidentMonitoring || now.Updates[0].Number != 2 {
			s.Errorf("overwritten: %+v", now)
		}
		v.Wants(v.Post(path, "seen", late.Hidden("seen"), "message", "my text", "state", "identified", "action",
			"update"), http.StatusSeeOther)
	})
}

// TestDraftOfAnIncident saves a draft, which nobody sees, and publishes it.
func TestDraftOfAnIncident(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		refused := v.Wants(v.Post("/admin/incidents/new", "page", "acme", "title", " ", "message", "kept", "state",
			"investigating", "action", "draft"),
			http.StatusUnprocessableEntity, "This field is required.", "kept</textarea>")
		if strings.Contains(refused.Text, `id="e-message"`) {
			s.Error("the message is not wrong")
		}
		path := v.Wants(v.Post("/admin/incidents/new", "page", "acme", "title", "Slow", "state", "investigating",
			"action", "draft"), http.StatusSeeOther).Header.Get("Location")
		v.Wants(v.Get(path), http.StatusOK, "This is a draft", "No subscriber will be notified.")
		v.Wants(v.Post(path+"/publish"), http.StatusSeeOther, path)
		if strings.Contains(v.Wants(v.Get(path), http.StatusOK, "published the draft").Text, "This is a draft") {
			s.Error("it is a draft still")
		}
	})
}

// TestIncidentsOfSeveralPages: the form asks for the page, the list can be limited to one, and it is paged.
func TestIncidentsOfSeveralPages(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, _, _ := s.WithPage()
		_, err := s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Second", Slug: "second"}))
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Get("/admin/incidents/new"), http.StatusOK, "On which page?", "/admin/incidents/new?page=second")
		v.Wants(v.Get("/admin/incidents/new?page=second"), http.StatusOK, ">Title<")
		v.Wants(v.Get("/admin/incidents/new?page=third"), http.StatusNotFound)
		for n := range frame.PerPage + 1 {
			_, err := s.Store.CreateIncident(s.Context(), v.Actor(), "acme",
				statuspage.Incident{Title: fmt.Sprint("Incident ", n), State: statuspage.IncidentResolved},
				statuspage.IncidentUpdate{}, nil)
			if err != nil {
				s.Fatal(err)
			}
		}
		v.Wants(v.Get("/admin/incidents"), http.StatusOK, "1–50 of 51", "p=2")
		v.Wants(v.Get("/admin/incidents?p=2"), http.StatusOK, "51–51 of 51")
		v.Wants(v.Get("/admin/incidents?page=second"), http.StatusOK, "No incidents on this page")
	})
}
