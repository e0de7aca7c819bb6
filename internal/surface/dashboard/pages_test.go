package dashboard

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
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// formOf returns the fields of the form that a screen has at a path, with their values.
func (v *visitor) formOf(screen answer, action string) map[string]string {
	v.Helper()
	values := map[string]string{}
	for _, form := range htmltest.Parse(v, screen.body).All("form") {
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
func (v *visitor) fill(screen answer, action string, typed ...string) answer {
	v.Helper()
	values := v.formOf(screen, action)
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
	return v.post(action, fields...)
}

// upload sends a file as the form of an image does.
func (v *visitor) upload(path, file string) answer {
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
	r, err := http.NewRequest("POST", v.base+path, &body)
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return v.do(r)
}

func TestPages(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.get("/admin/pages"), http.StatusOK, "There are no pages yet")
		v.wants(v.fill(v.get("/admin/new-page"), "/admin/pages", "name", ""), http.StatusUnprocessableEntity,
			"This field is required.")
		v.wants(v.fill(v.get("/admin/new-page"), "/admin/pages", "name", "Acme <Cloud>", "visibility", "unlisted"),
			http.StatusSeeOther, "/admin/pages/acme-cloud/components")
		v.wants(v.get("/admin/pages"), http.StatusOK, "Acme &lt;Cloud&gt;", "unlisted", "0 components · 0 subscribers",
			s.base+"/status/acme-cloud")
		for range perPage {
			if _, err := s.store.CreatePage(
				s.Context(), v.actor(),
				resource.Page.From(
					statuspage.Page{Name: "More", Slug: "more-" + strings.ToLower(kernel.NewPingToken()[:12])},
				),
			); err != nil {
				s.Fatal(err)
			}
		}
		v.wants(v.get("/admin/pages"), http.StatusOK, "1–50 of 51", `href="/admin/pages?p=2"`)
		v.wants(v.get("/admin/pages?p=2"), http.StatusOK, "51–51 of 51", `href="/admin/pages?p=1"`)
	})
}

func TestPageSettings(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.post("/admin/pages", "name", "Acme", "slug", "acme")
		const path = "/admin/pages/acme"
		page := func(slug string) statuspage.Page {
			p, err := s.store.Page(s.Context(), v.actor(), slug)
			if err != nil {
				s.Fatal(err)
			}
			return p
		}
		first := v.wants(v.get(path), http.StatusOK, `value="Acme"`)
		before := page("acme")
		v.wants(v.fill(first, path), http.StatusSeeOther, path+"?saved")
		if after := page("acme"); after.Version != before.Version {
			s.Errorf("a form that was sent as it was changes the page to %+v", after)
		}
		v.wants(v.fill(first, path, "name", "Acme Cloud", "description", "a\r\nb", "visibility", "unlisted", "home",
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
		v.wants(v.get(path+"?saved"), http.StatusOK, "Saved.", "#ffdd00 becomes", `value="mailto:a@example.com"`)

		// A style sheet, and the languages that visitors are offered.
		current := v.formOf(v.get(path), path)
		v.wants(v.post(path, "languages", "", "custom_css", "a {", "tag", current["tag"]),
			http.StatusUnprocessableEntity, "Choose at least one language.", "a {", "is not complete")
		v.wants(v.post(path, "tag", current["tag"], "languages", "", "languages.de", "true", "custom_css", "a {"),
			http.StatusUnprocessableEntity, "is not complete: a } is missing at the end.")
		v.wants(v.post(path, "tag", current["tag"], "languages", "", "languages.de", "true", "custom_css",
			".top { color: red }"), http.StatusSeeOther)
		if p := page("acme"); p.CustomCSS != ".top { color: red }" || len(p.Languages) != 1 || p.Name != "Acme Cloud" {
			s.Errorf("the page is %+v", p)
		}
		v.wants(v.get(path), http.StatusOK, `name="languages.de" value="true" checked`,
			`name="languages.en" value="true">`, ".top { color: red }")

		// The first form is older than the change.
		v.wants(v.fill(first, path, "name", "Acme Inc"), http.StatusConflict, `value="Acme Inc"`,
			"“Acme Cloud” meanwhile")
		if page("acme").Name != "Acme Cloud" {
			s.Error("a change of somebody else was overwritten")
		}
		v.wants(v.fill(v.get(path), path, "accent", "red", "time_zone", "Mars", "footer_links.0.url", "x", "name",
			"Still typed"), http.StatusUnprocessableEntity,
			"This must be a colour", "name of a time zone", "http, https or mailto", `value="Still typed"`)
		old := v.get(path)
		if _, err := s.store.ChangePage(
			s.Context(), v.actor(), "acme", resource.Page.From(statuspage.Page{Name: "Of another"}),
		); err != nil {
			s.Fatal(err)
		}
		late := v.wants(v.fill(old, path, "accent", "red"), http.StatusConflict, "“Of another” meanwhile")
		refused := v.wants(v.fill(late, path), http.StatusUnprocessableEntity, "This must be a colour")
		v.wants(v.fill(refused, path, "accent", "", "name", "Acme Cloud"), http.StatusSeeOther)
		v.wants(v.fill(v.get(path), path, "language", "xx"), http.StatusUnprocessableEntity, "This must be one of")
		v.wants(v.fill(v.get(path), path, "slug", "acme-cloud", "footer_links.0.label", "", "footer_links.0.url", ""),
			http.StatusSeeOther, "/admin/pages/acme-cloud?saved")
		if len(page("acme-cloud").Footer) != 0 {
			s.Error("an empty row of the footer is no removal")
		}

		v.wants(v.fill(v.get("/admin/pages/acme-cloud"), "/admin/pages/acme-cloud/delete", "confirm", "acme"),
			http.StatusUnprocessableEntity, "Nothing was deleted")
		v.wants(v.fill(v.get("/admin/pages/acme-cloud"), "/admin/pages/acme-cloud/delete", "confirm", "acme-cloud"),
			http.StatusSeeOther, "/admin/pages")
		v.wants(v.get("/admin/pages/acme-cloud"), http.StatusNotFound)
	})
}

func TestPageImages(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.post("/admin/pages", "name", "Acme", "slug", "acme", "visibility", "private")
		const logo = "/admin/pages/acme/images/logo"
		const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>`
		v.wants(v.get(logo), http.StatusNotFound)
		v.wants(v.upload(logo, svg), http.StatusSeeOther, "?saved#appearance")
		v.wants(v.get("/admin/pages/acme"), http.StatusOK, logo+"?")
		image := v.wants(v.get(logo), http.StatusOK)
		if image.body != svg || image.Header.Get("Content-Type") != "image/svg+xml" ||
			!strings.Contains(image.Header.Get("Content-Security-Policy"), "sandbox") {
			s.Errorf("the logo is %q, %v", image.body, image.Header)
		}
		v.wants(v.upload(logo, "no image"), http.StatusUnprocessableEntity, "The image must be a PNG")
		v.wants(v.upload(logo, svg+strings.Repeat(" ", statuspage.MaxImageSize)), http.StatusUnprocessableEntity,
			"at most 256 KiB")
		v.wants(v.upload(logo, strings.Repeat("x", maxFormBytes)), http.StatusRequestEntityTooLarge)
		v.wants(v.upload("/admin/pages/acme/images/nothing", svg), http.StatusNotFound)
		v.wants(v.post(logo), http.StatusUnprocessableEntity, "The image must be a PNG")
		v.wants(v.post(logo, "remove", "true"), http.StatusSeeOther)
		v.wants(v.get(logo), http.StatusNotFound)
	})
}

func TestPageDomain(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.post("/admin/pages", "name", "Acme", "slug", "acme")
		v.wants(v.fill(v.get("/admin/pages/acme"), "/admin/pages/acme", "domain", "Status"),
			http.StatusUnprocessableEntity, "public host name in lower case")
		checked := ""
		s.dashboard.verifyDomain = func(
			_ context.Context, actor kernel.Actor, slug string, _ ...store.SaveResponse[statuspage.Page],
		) (statuspage.Page, error) {
			checked = slug
			p, err := s.store.Page(s.Context(), actor, slug)
			if err != nil || p.Domain == "" {
				return p, err
			}
			l := statuspage.DomainLookup{
				Result: statuspage.LookupElsewhere, Domain: p.Domain, CNAME: "cdn.example.net",
				Host:          "status.example.com",
				Addresses:     []netip.Addr{netip.MustParseAddr("192.0.2.7")},
				HostAddresses: []netip.Addr{netip.MustParseAddr("198.51.100.4")},
			}
			return s.store.RecordDomainCheck(s.Context(),
				store.DomainCheck{PageID: p.ID, Domain: p.Domain, Actor: actor, Lookup: &l}, statuspage.DomainUnchecked)
		}
		v.wants(v.post("/admin/pages/acme/domain"), http.StatusSeeOther, "/admin/pages/acme#domain")
		if checked != "acme" {
			s.Errorf("the domain of %q was checked", checked)
		}
		v.fill(v.get("/admin/pages/acme"), "/admin/pages/acme", "domain", "status.acme.example")
		v.wants(v.get("/admin/pages/acme"), http.StatusOK, "Not looked up yet.")
		v.post("/admin/pages/acme/domain")
		v.wants(v.get("/admin/pages/acme"), http.StatusOK,
			">elsewhere</span> status.acme.example points to cdn.example.net (192.0.2.7), not to status.example.com "+
				"(198.51.100.4). Change the record",
			"<code>198.51.100.4</code>")
	})
}

func TestPageComponents(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.post("/admin/pages", "name", "Acme", "slug", "acme")
		const path = "/admin/pages/acme/components"
		v.wants(v.get(path), http.StatusOK, "no components yet")
		v.wants(v.post(path, "name", "", "group", ""), http.StatusUnprocessableEntity, "This field is required.")
		v.wants(v.post("/admin/pages/acme/groups", "name", ""), http.StatusUnprocessableEntity,
			"This field is required.")
		for _, name := range []string{"API", "Website", "Mail"} {
			v.wants(v.fill(v.get(path), path, "name", name), http.StatusSeeOther, path)
		}
		v.wants(v.post("/admin/pages/acme/groups", "name", "Europe"), http.StatusSeeOther, path)
		v.wants(v.post("/admin/pages/acme/groups", "name", "Asia"), http.StatusSeeOther, path)
		components := func() []statuspage.Component {
			all, _, err := s.store.Components().List(s.Context(), v.actor(), "acme", store.Filter{}, listAll)
			if err != nil {
				s.Fatal(err)
			}
			return all
		}
		groups, _, err := s.store.Groups().List(s.Context(), v.actor(), "acme", store.Filter{}, listAll)
		if err != nil || len(groups) != 2 {
			s.Fatalf("groups %+v, %v", groups, err)
		}
		website := path + "/" + components()[1].ID

		// The order.
		screen := v.wants(v.post(website+"/move", "by", "up"), http.StatusSeeOther, path)
		v.wants(v.get(screen.Header.Get("Location")), http.StatusOK, "autofocus")
		if all := components(); all[0].Name != "Website" || all[1].Name != "API" || all[2].Name != "Mail" {
			s.Errorf("the order is %+v", all)
		}
		v.wants(v.post(website+"/move", "by", "sideways"), http.StatusBadRequest, "Nothing was moved")
		v.wants(v.post("/admin/pages/acme/groups/"+groups[1].ID+"/move", "by", "up"), http.StatusSeeOther, path)
		if body := v.get(path).body; strings.Index(body, ">Asia<") > strings.Index(body, ">Europe<") {
			s.Error("the group has not moved")
		}

		// The status by hand, and the fields.
		v.wants(v.fill(v.get(path), website+"/status", "status", "major_outage"), http.StatusSeeOther, path)
		v.wants(v.post(website+"/status", "status", "bad"), http.StatusUnprocessableEntity, "The status must be one of")
		first := v.wants(v.get(website), http.StatusOK, "Visitors and subscribers do not learn")
		v.wants(v.fill(first, website, "name", "Site", "description", "a\r\nb", "group", groups[0].ID, "hidden", "true",
			"slug", "site"), http.StatusSeeOther, path)
		c := components()[0]
		if c.Name != "Site" || c.Description == nil || *c.Description != "a\nb" || c.GroupID != groups[0].ID ||
			!c.Hidden || c.Slug != "site" || c.Status() != kernel.StatusMajorOutage {
			s.Errorf("the component is %+v", c)
		}
		v.wants(v.get(website), http.StatusOK, "To show one is to show its past")
		v.wants(v.fill(first, website, "name", "Home"), http.StatusConflict, "“Site” meanwhile", `value="Home"`)
		v.wants(v.fill(v.get(website), website, "name", ""), http.StatusUnprocessableEntity, "This field is required.")
		v.wants(v.fill(v.get("/admin/pages/acme/groups/"+groups[0].ID), "/admin/pages/acme/groups/"+groups[0].ID,
			"name", "EU", "slug", "eu"), http.StatusSeeOther, path)
		if g, err := s.store.Groups().Get(s.Context(), v.actor(), "acme", "eu"); err != nil || g.ID != groups[0].ID {
			s.Errorf("the slug of the group: %v", err)
		}
		v.wants(v.get(path), http.StatusOK, ">EU<", "hidden")

		// The end.
		v.wants(v.post("/admin/pages/acme/groups/"+groups[0].ID+"/delete"), http.StatusSeeOther, path)
		v.wants(v.post(website+"/delete"), http.StatusSeeOther, path)
		if all := components(); len(all) != 2 {
			s.Errorf("components %+v", all)
		}
		v.wants(v.get(website), http.StatusNotFound)
		v.wants(v.get("/admin/pages/acme/groups/"+groups[0].ID), http.StatusNotFound)
	})
}

// TestComponentAfterARefusalShowsWhatOthersSaved: a refused form does not count as a look at what others have saved.
func TestComponentAfterARefusalShowsWhatOthersSaved(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v, website, _ := s.withPage()
		path := "/admin/pages/acme/components/" + website.ID
		old := v.get(path)
		refused := v.wants(v.fill(old, path, "name", " "), http.StatusUnprocessableEntity)
		v.wants(v.fill(old, path, "name", "Shop"), http.StatusSeeOther)
		late := v.wants(v.fill(refused, path, "name", "Web"), http.StatusConflict, "“Shop” meanwhile")
		v.wants(v.fill(late, path), http.StatusSeeOther)
	})
}

func TestManyComponents(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.post("/admin/pages", "name", "Acme", "slug", "acme")
		for range perPage + 1 {
			if _, err := s.store.Components().Create(
				s.Context(), v.actor(), "acme", resource.Component.From(statuspage.Component{Name: "One of many"}),
			); err != nil {
				s.Fatal(err)
			}
		}
		first := v.wants(v.get("/admin/pages/acme/components"), http.StatusOK, "1–50 of 51", "components?p=2")
		if len(first.body) > 120_000 {
			s.Errorf("the list has %d bytes", len(first.body))
		}
		second := v.wants(v.get("/admin/pages/acme/components?p=2"), http.StatusOK, "51–51 of 51")
		if n := strings.Count(second.body, "One of many</a>"); n != 1 {
			s.Errorf("the second screen has %d components", n)
		}
	})
}
