package statuspages_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// formOf returns the fields of the form that a screen has at a path, with their values.
func formOf(v *dashboardtest.Visitor, screen dashboardtest.Answer, action string) map[string]string {
	v.Helper()
	values := map[string]string{}
	for _, form := range htmltest.Parse(v, screen.Text).All("form") {
		if form.Attr("action") != action {
			continue
		}
		for _, x := range form.All("input") {
			values[x.Attr("name")] = x.Attr("value")
		}
		for _, x := range form.All("textarea") {
			values[x.Attr("name")] = x.RawText()
		}
		for _, x := range form.All("select") {
			values[x.Attr("name")] = append(x.All("option[selected]"), x.All("option")...)[0].Attr("value")
		}
		return values
	}
	v.Fatalf("%s has no form for %s", screen.Request.URL, action)
	return nil
}

// fill sends a form of a screen after typing into some of its fields, given by names and values in turn.
func fill(v *dashboardtest.Visitor, screen dashboardtest.Answer, action string, typed ...string) dashboardtest.Answer {
	v.Helper()
	values := formOf(v, screen, action)
	for i := 0; i < len(typed); i += 2 {
		if _, ok := values[typed[i]]; !ok {
			v.Fatalf("the form %s has no field %s", action, typed[i])
		}
		values[typed[i]] = typed[i+1]
	}
	var fields []string
	for name, value := range values {
		fields = append(fields, name, value)
	}
	return v.Post(action, fields...)
}

// upload sends a file as the form of an image does.
func upload(v *dashboardtest.Visitor, path, file string) dashboardtest.Answer {
	v.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("image", "logo")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		v.Fatal(err)
	}
	r, err := http.NewRequest("POST", v.Base+path, &body)
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return v.Do(r)
}

func TestPages(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Get("/admin/pages"), http.StatusOK, "There are no pages yet")
		v.Wants(fill(v, v.Get("/admin/new-page"), "/admin/pages", "name", ""), http.StatusUnprocessableEntity,
			"This field is required.")
		v.Wants(fill(v, v.Get("/admin/new-page"), "/admin/pages", "name", "Acme <Cloud>", "visibility", "unlisted"),
			http.StatusSeeOther, "/admin/pages/acme-cloud/components")
		v.Wants(v.Get("/admin/pages"), http.StatusOK, "Acme &lt;Cloud&gt;", "unlisted", "0 components · 0 subscribers",
			s.Base+"/status/acme-cloud")
		for range frame.PerPage {
			_, err := s.Store.CreatePage(
				s.Context(), v.Actor(),
				resource.Page.From(
					statuspage.Page{Name: "More", Slug: "more-" + strings.ToLower(kernel.NewPingToken()[:12])},
				),
			)
			if err != nil {
				s.Fatal(err)
			}
		}
		v.Wants(v.Get("/admin/pages"), http.StatusOK, "1–50 of 51", `href="/admin/pages?p=2"`)
		v.Wants(v.Get("/admin/pages?p=2"), http.StatusOK, "51–51 of 51", `href="/admin/pages?p=1"`)
	})
}

func TestPageSettings(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme", "slug", "acme")
		const path = "/admin/pages/acme"
		page := func(slug string) statuspage.Page { return pageOf(v, slug) }
		first := v.Wants(v.Get(path), http.StatusOK, `value="Acme"`)
		before := page("acme")
		v.Wants(fill(v, first, path), http.StatusSeeOther, path+"?saved")
		if after := page("acme"); after.Version != before.Version {
			s.Errorf("a form that was sent as it was changes the page to %+v", after)
		}
		v.Wants(fill(v, first, path, "name", "Acme Cloud", "description", "a\r\nb", "visibility", "unlisted", "home",
			"true", "auto_incidents", "draft",
			"language", "de", "time_zone", "Europe/Berlin", "accent", "#FFDD00", "footer_links.1.label", "Contact",
			"footer_links.1.url", "mailto:a@example.com"),
			http.StatusSeeOther, path+"?saved")
		p := page("acme")
		if p.Name != "Acme Cloud" || *p.Description != "a\nb" || p.Visibility != "unlisted" || !p.Home ||
			p.AutoIncidents != "draft" || p.Language != "de" ||
			p.TimeZone != "Europe/Berlin" || p.Accent != "#ffdd00" || len(p.Footer) != 1 ||
			p.Footer[0].URL != "mailto:a@example.com" {
			s.Errorf("the page is %+v", p)
		}
		v.Wants(v.Get(path+"?saved"), http.StatusOK, "Saved.", "#ffdd00 becomes", `value="mailto:a@example.com"`)
		v.Wants(fill(v, v.Get(path), path, "slug", "acme-cloud", "footer_links.0.label", "", "footer_links.0.url", ""),
			http.StatusSeeOther, "/admin/pages/acme-cloud?saved")
		if len(page("acme-cloud").Footer) != 0 {
			s.Error("an empty row of the footer is no removal")
		}
	})
}

// pageOf returns a page as it is saved.
func pageOf(v *dashboardtest.Visitor, slug string) statuspage.Page {
	v.Helper()
	p, err := v.Store.Page(v.Context(), v.Actor(), slug)
	if err != nil {
		v.Fatal(err)
	}
	return p
}

// TestLanguagesAndStyleOfPage sets a style sheet, and the languages that visitors are offered.
func TestLanguagesAndStyleOfPage(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme Cloud", "slug", "acme")
		const path = "/admin/pages/acme"
		page := func(slug string) statuspage.Page { return pageOf(v, slug) }
		current := formOf(v, v.Get(path), path)
		v.Wants(v.Post(path, "languages", "", "custom_css", "a {", "tag", current["tag"]),
			http.StatusUnprocessableEntity, "Choose at least one language.", "a {", "is not complete")
		v.Wants(v.Post(path, "tag", current["tag"], "languages", "", "languages.de", "true", "custom_css", "a {"),
			http.StatusUnprocessableEntity, "is not complete: a } is missing at the end.")
		v.Wants(v.Post(path, "tag", current["tag"], "languages", "", "languages.de", "true", "custom_css",
			".top { color: red }"), http.StatusSeeOther)
		if p := page("acme"); p.CustomCSS != ".top { color: red }" || len(p.Languages) != 1 || p.Name != "Acme Cloud" {
			s.Errorf("the page is %+v", p)
		}
		v.Wants(v.Get(path), http.StatusOK, `name="languages.de" value="true" checked`,
			`name="languages.en" value="true">`, ".top { color: red }")
	})
}

// TestConflictsOfPageSettings sends forms that are older than a change.
func TestConflictsOfPageSettings(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme", "slug", "acme")
		const path = "/admin/pages/acme"
		page := func(slug string) statuspage.Page { return pageOf(v, slug) }
		first := v.Get(path)
		v.Wants(fill(v, first, path, "name", "Acme Cloud"), http.StatusSeeOther)

		// The first form is older than the change.
		v.Wants(fill(v, first, path, "name", "Acme Inc"), http.StatusConflict, `value="Acme Inc"`,
			"“Acme Cloud” meanwhile")
		if page("acme").Name != "Acme Cloud" {
			s.Error("a change of somebody else was overwritten")
		}
		v.Wants(fill(v, v.Get(path), path, "accent", "red", "time_zone", "Mars", "footer_links.0.url", "x", "name",
			"Still typed"), http.StatusUnprocessableEntity,
			"This must be a colour", "name of a time zone", "http, https or mailto", `value="Still typed"`)
		old := v.Get(path)
		other := resource.Page.From(statuspage.Page{Name: "Of another"})
		if _, err := s.Store.ChangePage(s.Context(), v.Actor(), "acme", other); err != nil {
			s.Fatal(err)
		}
		late := v.Wants(fill(v, old, path, "accent", "red"), http.StatusConflict, "“Of another” meanwhile")
		refused := v.Wants(fill(v, late, path), http.StatusUnprocessableEntity, "This must be a colour")
		v.Wants(fill(v, refused, path, "accent", "", "name", "Acme Cloud"), http.StatusSeeOther)
		v.Wants(fill(v, v.Get(path), path, "language", "xx"), http.StatusUnprocessableEntity, "This must be one of")
	})
}

func TestPageIsDeleted(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme Cloud", "slug", "acme-cloud")
		v.Wants(fill(v, v.Get("/admin/pages/acme-cloud"), "/admin/pages/acme-cloud/delete", "confirm", "acme"),
			http.StatusUnprocessableEntity, "Nothing was deleted")
		v.Wants(fill(v, v.Get("/admin/pages/acme-cloud"), "/admin/pages/acme-cloud/delete", "confirm", "acme-cloud"),
			http.StatusSeeOther, "/admin/pages")
		v.Wants(v.Get("/admin/pages/acme-cloud"), http.StatusNotFound)
	})
}

func TestPageImages(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme", "slug", "acme", "visibility", "private")
		const logo = "/admin/pages/acme/images/logo"
		const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>`
		v.Wants(v.Get(logo), http.StatusNotFound)
		v.Wants(upload(v, logo, svg), http.StatusSeeOther, "?saved#appearance")
		v.Wants(v.Get("/admin/pages/acme"), http.StatusOK, logo+"?")
		image := v.Wants(v.Get(logo), http.StatusOK)
		if image.Text != svg || image.Header.Get("Content-Type") != "image/svg+xml" ||
			!strings.Contains(image.Header.Get("Content-Security-Policy"), "sandbox") {
			s.Errorf("the logo is %q, %v", image.Text, image.Header)
		}
		v.Wants(upload(v, logo, "no image"), http.StatusUnprocessableEntity, "The image must be a PNG")
		v.Wants(upload(v, logo, svg+strings.Repeat(" ", statuspage.MaxImageSize)), http.StatusUnprocessableEntity,
			"at most 256 KiB")
		v.Wants(upload(v, logo, strings.Repeat("x", frame.MaxFormBytes)), http.StatusRequestEntityTooLarge)
		v.Wants(upload(v, "/admin/pages/acme/images/nothing", svg), http.StatusNotFound)
		v.Wants(v.Post(logo), http.StatusUnprocessableEntity, "The image must be a PNG")
		v.Wants(v.Post(logo, "remove", "true"), http.StatusSeeOther)
		v.Wants(v.Get(logo), http.StatusNotFound)
	})
}

func TestPageDomain(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme", "slug", "acme")
		v.Wants(fill(v, v.Get("/admin/pages/acme"), "/admin/pages/acme", "domain", "Status"),
			http.StatusUnprocessableEntity, "public host name in lower case")
		checked := ""
		s.Dashboard.StatusPages.VerifyDomain = func(
			_ context.Context, actor kernel.Actor, slug string, _ ...store.SaveResponse[statuspage.Page],
		) (statuspage.Page, error) {
			checked = slug
			p, err := s.Store.Page(s.Context(), actor, slug)
			if err != nil || p.Domain == "" {
				return p, err
			}
			l := statuspage.DomainLookup{
				Result: statuspage.LookupElsewhere, Domain: p.Domain, CNAME: "cdn.example.net",
				Host:          "status.example.com",
				Addresses:     []netip.Addr{netip.MustParseAddr("192.0.2.7")},
				HostAddresses: []netip.Addr{netip.MustParseAddr("198.51.100.4")},
			}
			return s.Store.RecordDomainCheck(s.Context(),
				store.DomainCheck{PageID: p.ID, Domain: p.Domain, Actor: actor, Lookup: &l}, statuspage.DomainUnchecked)
		}
		v.Wants(v.Post("/admin/pages/acme/domain"), http.StatusSeeOther, "/admin/pages/acme#domain")
		if checked != "acme" {
			s.Errorf("the domain of %q was checked", checked)
		}
		fill(v, v.Get("/admin/pages/acme"), "/admin/pages/acme", "domain", "status.acme.example")
		v.Wants(v.Get("/admin/pages/acme"), http.StatusOK, "Not looked up yet.")
		v.Post("/admin/pages/acme/domain")
		v.Wants(v.Get("/admin/pages/acme"), http.StatusOK,
			">elsewhere</span> status.acme.example points to cdn.example.net (192.0.2.7), not to status.example.com "+
				"(198.51.100.4). Change the record",
			"<code>198.51.100.4</code>")
	})
}

// componentsPath is the screen of the components of the page acme.
const componentsPath = "/admin/pages/acme/components"

// componentsOfPage are the components and groups of a page, which an owner changes.
type componentsOfPage struct {
	*dashboardtest.Visitor
	website string // path of the screen of a component
	groups  []statuspage.Group
}

// newComponents creates the page acme with the components API, Website and Mail, and the groups Europe and Asia.
func newComponents(s *dashboardtest.Site) *componentsOfPage {
	s.Helper()
	v, path := s.Owner(), componentsPath
	v.Post("/admin/pages", "name", "Acme", "slug", "acme")
	v.Wants(v.Get(path), http.StatusOK, "no components yet")
	v.Wants(v.Post(path, "name", "", "group", ""), http.StatusUnprocessableEntity, "This field is required.")
	v.Wants(v.Post("/admin/pages/acme/groups", "name", ""), http.StatusUnprocessableEntity, "This field is required.")
	for _, name := range []string{"API", "Website", "Mail"} {
		v.Wants(fill(v, v.Get(path), path, "name", name), http.StatusSeeOther, path)
	}
	v.Wants(v.Post("/admin/pages/acme/groups", "name", "Europe"), http.StatusSeeOther, path)
	v.Wants(v.Post("/admin/pages/acme/groups", "name", "Asia"), http.StatusSeeOther, path)
	c := &componentsOfPage{Visitor: v}
	var err error
	c.groups, _, err = v.Store.Groups().List(v.Context(), v.Actor(), "acme", store.Filter{}, frame.ListAll)
	if err != nil || len(c.groups) != 2 {
		v.Fatalf("groups %+v, %v", c.groups, err)
	}
	c.website = path + "/" + c.components()[1].ID
	return c
}

func (c *componentsOfPage) components() []statuspage.Component {
	c.Helper()
	all, _, err := c.Store.Components().List(c.Context(), c.Actor(), "acme", store.Filter{}, frame.ListAll)
	if err != nil {
		c.Fatal(err)
	}
	return all
}

func TestOrderOfComponents(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		c := newComponents(s)
		v, path := c.Visitor, componentsPath
		screen := v.Wants(v.Post(c.website+"/move", "by", "up"), http.StatusSeeOther, path)
		v.Wants(v.Get(screen.Header.Get("Location")), http.StatusOK, "autofocus")
		if all := c.components(); all[0].Name != "Website" || all[1].Name != "API" || all[2].Name != "Mail" {
			s.Errorf("the order is %+v", all)
		}
		v.Wants(v.Post(c.website+"/move", "by", "sideways"), http.StatusBadRequest, "Nothing was moved")
		v.Wants(v.Post("/admin/pages/acme/groups/"+c.groups[1].ID+"/move", "by", "up"), http.StatusSeeOther, path)
		if body := v.Get(path).Text; strings.Index(body, ">Asia<") > strings.Index(body, ">Europe<") {
			s.Error("the group has not moved")
		}
	})
}

// TestComponentIsEdited sets the status of a component by hand, and its fields.
func TestComponentIsEdited(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		c := newComponents(s)
		v, path := c.Visitor, componentsPath
		v.Wants(fill(v, v.Get(path), c.website+"/status", "status", "major_outage"), http.StatusSeeOther, path)
		v.Wants(v.Post(c.website+"/status", "status", "bad"), http.StatusUnprocessableEntity,
			"The status must be one of")
		first := v.Wants(v.Get(c.website), http.StatusOK, "Hidden from visitors and subscribers.")
		v.Wants(fill(v, first, c.website, "name", "Site", "description", "a\r\nb", "group", c.groups[0].ID, "hidden",
			"true", "slug", "site"), http.StatusSeeOther, path)
		saved := c.components()[1]
		if saved.Name != "Site" || saved.Description == nil || *saved.Description != "a\nb" ||
			saved.GroupID != c.groups[0].ID ||
			!saved.Hidden || saved.Slug != "site" || saved.Status() != kernel.StatusMajorOutage {
			s.Errorf("the component is %+v", saved)
		}
		v.Wants(v.Get(c.website), http.StatusOK, "past outages are shown, too")
		v.Wants(fill(v, first, c.website, "name", "Home"), http.StatusConflict, "“Site” meanwhile", `value="Home"`)
		v.Wants(fill(v, v.Get(c.website), c.website, "name", ""), http.StatusUnprocessableEntity,
			"This field is required.")
		v.Wants(fill(v, v.Get("/admin/pages/acme/groups/"+c.groups[0].ID), "/admin/pages/acme/groups/"+c.groups[0].ID,
			"name", "EU", "slug", "eu"), http.StatusSeeOther, path)
		if g, err := s.Store.Groups().Get(s.Context(), v.Actor(), "acme", "eu"); err != nil || g.ID != c.groups[0].ID {
			s.Errorf("the slug of the group: %v", err)
		}
		v.Wants(v.Get(path), http.StatusOK, ">EU<", "hidden")
	})
}

func TestComponentIsDeleted(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		c := newComponents(s)
		v, path := c.Visitor, componentsPath
		v.Wants(v.Post("/admin/pages/acme/groups/"+c.groups[0].ID+"/delete"), http.StatusSeeOther, path)
		v.Wants(v.Post(c.website+"/delete"), http.StatusSeeOther, path)
		if all := c.components(); len(all) != 2 {
			s.Errorf("components %+v", all)
		}
		v.Wants(v.Get(c.website), http.StatusNotFound)
		v.Wants(v.Get("/admin/pages/acme/groups/"+c.groups[0].ID), http.StatusNotFound)
	})
}

// TestComponentAfterARefusalShowsWhatOthersSaved: a refused form does not count as a look at what others have saved.
func TestComponentAfterARefusalShowsWhatOthersSaved(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v, website, _ := s.WithPage()
		path := "/admin/pages/acme/components/" + website.ID
		old := v.Get(path)
		refused := v.Wants(fill(v, old, path, "name", " "), http.StatusUnprocessableEntity)
		v.Wants(fill(v, old, path, "name", "Shop"), http.StatusSeeOther)
		late := v.Wants(fill(v, refused, path, "name", "Web"), http.StatusConflict, "“Shop” meanwhile")
		v.Wants(fill(v, late, path), http.StatusSeeOther)
	})
}

func TestManyComponents(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Post("/admin/pages", "name", "Acme", "slug", "acme")
		for range frame.PerPage + 1 {
			_, err := s.Store.Components().Create(s.Context(), v.Actor(), "acme",
				resource.Component.From(statuspage.Component{Name: "One of many"}))
			if err != nil {
				s.Fatal(err)
			}
		}
		first := v.Wants(v.Get("/admin/pages/acme/components"), http.StatusOK, "1–50 of 51", "components?p=2")
		if len(first.Text) > 120_000 {
			s.Errorf("the list has %d bytes", len(first.Text))
		}
		second := v.Wants(v.Get("/admin/pages/acme/components?p=2"), http.StatusOK, "51–51 of 51")
		if n := strings.Count(second.Text, "One of many</a>"); n != 1 {
			s.Errorf("the second screen has %d components", n)
		}
	})
}
