package dashboard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestSubscribers finds, adds, tests, resumes and removes subscribers of a page.
func TestSubscribers(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		if _, err := s.store.CreatePage(
			s.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}),
		); err != nil {
			s.Fatal(err)
		}
		const path = "/admin/pages/acme/subscribers"
		v.wants(v.get(path), 200, "Nobody has subscribed yet")
		v.wants(v.post(path, "channel", "email", "target", "Ada <ada>", "confirmed", "true"), 422, "Ada &lt;ada&gt;",
			`aria-invalid="true"`)
		v.wants(v.post(path, "channel", "email", "target", "Ada@example.com", "confirmed", "true"), 303, path+"?saved")
		v.wants(v.post(path, "channel", "email", "target", "ada@example.com", "confirmed", "true"), 422,
			"already subscribed")
		v.wants(v.post(path, "channel", "email", "target", "grace@example.com", "confirmed", "false"), 303)
		made := v.wants(v.post(path, "channel", "webhook", "target", "https://hooks.example.com/status", "confirmed",
			"false"), 201, "whsec_", "not shown again")
		if a := v.get(path); strings.Contains(a.body, "whsec_") {
			t.Error("the secret is shown again")
		}
		if secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=&]+`).FindString(made.body); secret == "" {
			t.Error("no secret")
		}
		for query, want := range map[string][3]bool{
			"": {true, true, true}, "?search=ADA%40": {true, false, false}, "?state=unconfirmed": {false, true, false},
			"?in=webhook":      {false, false, true},
			"?state=suspended": {}, "?search=%25": {}, "?search=hooks&in=email": {},
			"?state=nonsense&in=email": {true, true, false},
		} {
			a := v.wants(v.get(path+query), 200)
			for i, target := range []string{
				"<bdi>ada@example.com", "<bdi>grace@example.com", "<bdi>https://hooks.example.com/status",
			} {
				if strings.Contains(a.body, target) != want[i] {
					t.Errorf("%q shows %s: %v", query, target, !want[i])
				}
			}
		}
		export := v.wants(v.get(path+"/export"), 200, "target,channel,state,components,",
			"ada@example.com,email,active,", "grace@example.com,email,unconfirmed,")
		if h := export.Header; h.Get("Content-Disposition") != `attachment; filename="subscribers-acme.csv"` ||
			strings.Contains(export.body, "whsec_") {
			t.Errorf("the export: %v %s", h, export.body)
		}
		v.wants(v.get("/admin/audit?action=export"), 200, "downloaded", "Acme")
		ada := s.subscriber(v, "ada@example.com")
		row := fmt.Sprint(path, "/", ada.ID)
		hook := fmt.Sprint(path, "/", s.subscriber(v, "https://hooks.example.com/status").ID)
		v.wants(v.get(hook+"?back=search%3Dhooks"), 200, "Warnings of monitors", `name="back" value="search=hooks"`,
			`href="`+path+`?search=hooks"`)
		v.wants(v.postSubscriber(hook, "warnings", "true", "back", "search=hooks"), 303, "search=hooks")
		v.wants(v.get(path+"?search=hooks"), 200, "notified of warnings")
		v.wants(v.postSubscriber(hook, "warnings", "false"), 303)
		v.lacks(v.get(path), "notified of warnings")
		v.lacks(v.wants(v.get(row), 200, "it has no components to choose from"), "Warnings of monitors")
		v.wants(v.postSubscriber(row, "warnings", "true"), 422, "Only webhooks that you add are notified of warnings.")
		v.wants(v.post(path, "channel", "email", "target", "alan@example.com", "warnings", "true"), 422,
			"Only webhooks that you add are notified of warnings.")
		v.wants(v.post(path, "channel", "webhook", "target", "https://hooks.example.com/on-call", "warnings", "true"),
			201, "notified of warnings")
		if !s.subscriber(v, "https://hooks.example.com/on-call").Warnings {
			t.Error("the webhook is not notified of warnings")
		}
		v.addsWithComponents(path)
		// A test message is a delivery, which the log shows.
		log := v.wants(v.post(row+"/test"), 303,
			"/admin/deliveries?page=acme&subscriber="+ada.ID).Header.Get("Location")
		v.wants(v.get(log), 200, "A test message", "Only messages to", "ada@example.com", "Waiting")
		v.wants(v.post(row+"/test", "back", "search=ada"), 422, "less than a minute ago", `value="ada"`)
		grace := s.subscriber(v, "grace@example.com")
		v.wants(v.post(path+"/"+grace.ID+"/test"), 422, "unconfirmed gets no messages")
		if a := v.wants(
			v.get(deliveriesOf("acme", grace.ID)), 200, "grace@example.com", "request to confirm",
		); strings.Contains(a.body, "A test message") {
			t.Error("the deliveries of another subscriber are shown")
		}
		v.wants(v.post(row+"/resume", "back", "state=active"), 303, "state=active")
		v.wants(v.post(row+"/remove", "back", "next=//evil.example&p=1"), 303, path+"?p=1&saved=")
		v.wants(v.post(row+"/remove"), 404)
		v.wants(v.get(path+"?search=ada"), 200, "No such subscribers")
		viewer := s.member(v, kernel.RoleEditor)
		viewer.wants(viewer.get(path), 403)
		viewer.wants(viewer.get(path+"/export"), 403)
		if a := viewer.get("/admin/pages/acme/components"); strings.Contains(a.body, path) {
			t.Error("an editor is led to the subscribers")
		}
		if a := viewer.wants(
			viewer.get(deliveriesOf("acme", grace.ID)), 200, "Only messages to one recipient",
		); strings.Contains(a.body, "grace@") {
			t.Error("an editor sees an address")
		}
	})
}

// addsWithComponents adds subscribers of each kind that are notified about some components only.
func (v *visitor) addsWithComponents(path string) {
	v.Helper()
	var ids []string
	for _, name := range []string{"API", "Shop", "Mail", "Search"} {
		c, err := v.store.Components().Create(v.Context(), v.actor(), "acme",
			resource.Component.From(statuspage.Component{Name: name, Hidden: name == "Search"}))
		if err != nil {
			v.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	box := func(id string) string { return `name="components" value="` + id + `"` }
	v.wants(v.get(path), 200, "Only about these components", box(ids[0]), box(ids[1]))
	v.lacks(v.get(path), box(ids[3]))
	v.wants(v.post(path, "channel", "email", "target", "nobody", "confirmed", "true", "components", ids[1]), 422,
		box(ids[1])+" checked", box(ids[0])+">")
	v.wants(v.post(path, "channel", "email", "target", "eve@example.com", "confirmed", "true", "components",
		"cmp_068vq2r4b1ccu5a0d3e1"), 422, "This must be of this page")
	for target, channel := range map[string]string{
		"kay@example.com": "email", "https://hooks.example.com/some": "webhook",
		"https://hooks.slack.com/services/T000/B000/abcdefgh": "slack",
	} {
		a := v.post(path, "channel", channel, "target", target, "confirmed", "true", "components", ids[0], "components",
			ids[2])
		if a.StatusCode != 303 && a.StatusCode != 201 {
			v.Fatalf("%s: %d %s", target, a.StatusCode, a.body)
		}
		got := v.subscriber(v, audience.Channel(channel).Shown(target))
		if want := slices.Sorted(slices.Values([]string{ids[0], ids[2]})); got.WholePage ||
			!slices.Equal(slices.Sorted(slices.Values(got.Components)), want) {
			v.Errorf("%s: %+v", target, got)
		}
	}
	v.wants(v.get(path+"?search=kay"), 200, "2 components")
	kay := path + "/" + v.subscriber(v, "kay@example.com").ID
	v.wants(v.get(kay), 200, box(ids[0])+" checked", box(ids[1])+">", box(ids[2])+" checked")
	v.wants(v.postSubscriber(kay, "components", ids[3]), 422, "This must be of this page")
	v.wants(v.postSubscriber(kay, "components", ids[1]), 303, path+"?saved=")
	if got := v.subscriber(v, "kay@example.com"); got.WholePage || !slices.Equal(got.Components, ids[1:2]) {
		v.Errorf("after the change: %+v", got)
	}
	hide := func(hidden bool) {
		v.Helper()
		if _, err := v.store.Components().Change(
			v.Context(), v.actor(), "acme", ids[1], func(c *statuspage.Component) error {
				c.Hidden = hidden
				return nil
			}, kernel.Precondition{},
		); err != nil {
			v.Fatal(err)
		}
	}
	hide(true)
	v.wants(v.get(kay), 200, box(ids[1])+" checked", "Shop (hidden)")
	v.wants(v.postSubscriber(kay, "components", ids[1]), 303)
	v.wants(v.postSubscriber(kay, "components", ids[0], "components", ids[1]), 303)
	if got := v.subscriber(v, "kay@example.com"); !slices.Equal(
		slices.Sorted(slices.Values(got.Components)), slices.Sorted(slices.Values(ids[:2])),
	) {
		v.Errorf("with a component that was hidden after it was chosen: %+v", got)
	}
	seen := tagIn(v.T, v.get(kay))
	v.wants(v.postSubscriber(kay, "components", ids[1]), 303)
	conflict := v.wants(v.post(kay, "components", ids[0], "tag", seen), 409, "somebody else has changed this",
		"Somebody else has saved “Shop (hidden)” meanwhile.", box(ids[0])+" checked")
	v.wants(v.post(kay, "components", ids[0]), 409)
	if got := v.subscriber(v, "kay@example.com"); !slices.Equal(got.Components, ids[1:2]) {
		v.Errorf("a form of before a change overwrites it: %+v", got)
	}
	v.wants(v.post(kay, "components", ids[1], "tag", tagIn(v.T, conflict)), 303)
	hide(false)
	if err := v.store.Components().Delete(v.Context(), v.actor(), "acme", ids[1], kernel.Precondition{}); err != nil {
		v.Fatal(err)
	}
	v.wants(v.get(kay), 200, "The chosen components no longer exist.", `value=""> <bdi>The whole page`)
	v.wants(v.postSubscriber(kay), 303)
	if got := v.subscriber(v, "kay@example.com"); got.WholePage || len(got.Components) > 0 {
		v.Errorf("a form that was not changed chooses the whole page: %+v", got)
	}
	v.wants(v.postSubscriber(kay, "components", ""), 303)
	if got := v.subscriber(v, "kay@example.com"); !got.WholePage || len(got.Components) > 0 {
		v.Errorf("about the whole page: %+v", got)
	}
}

// postSubscriber saves a subscriber with the form as it is shown now.
func (v *visitor) postSubscriber(path string, fields ...string) answer {
	v.Helper()
	return v.post(path, append(fields, "tag", tagIn(v.T, v.get(path)))...)
}

// subscriber returns the subscriber of the page acme with a target.
func (s *site) subscriber(v *visitor, target string) audience.Subscriber {
	s.Helper()
	found, _, err := s.store.Subscribers(s.Context(), v.actor(), "acme", store.SubscriberFilter{Target: target},
		store.Pagination{Page: 1, PerPage: 1})
	if err != nil || len(found) != 1 {
		s.Fatalf("%s: %v, %v", target, found, err)
	}
	return found[0]
}

// TestImport shows what an import would do, imports, and keeps what was typed when it refuses.
func TestImport(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		if _, err := s.store.CreatePage(
			s.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}),
		); err != nil {
			s.Fatal(err)
		}
		const path = "/admin/pages/acme/subscribers/import"
		const list = "ada@example.com\nnobody\n<b>@example.com\n"
		v.wants(v.get(path), 200, "Show what will happen")
		v.wants(v.post(path, "csv", list, "consent", " ", "confirmed", "true"), 422, "This field is required.",
			"&lt;b&gt;@example.com")
		v.wants(v.post(path, "csv", strings.Repeat("x\n", audience.MaxImportLines+1), "consent", "a form"), 422,
			"at most 5000 lines")
		v.wants(v.post(path, "csv", list, "consent", "a form", "confirmed", "true"), 200, "1 subscriber will be added",
			"Nothing has been saved", "Line 2", "This is not an e-mail address.", "&lt;b&gt;@example.com")
		v.wants(v.get("/admin/pages/acme/subscribers"), 200, "Nobody has subscribed yet")
		v.wants(v.post(path, "csv", list, "consent", "a form", "confirmed", "true", "step", "import"), 200,
			"1 subscriber was added", "Line 2")
		v.wants(v.get("/admin/pages/acme/subscribers"), 200, "<bdi>ada@example.com",
			"Consent: <bdi>a form</bdi>, stated by <bdi>Ada Lovelace</bdi>")
		v.wants(v.get("/admin/pages/acme/subscribers/export"), 200, ",consent,consent_by,warnings",
			"a form,Ada Lovelace,false")
		v.wants(v.post(path, "csv", list, "consent", "a form", "step", "import"), 200, "0 subscribers were added",
			"subscribed already")
		v.wants(v.get("/admin/audit?action=import"), 200, "imported subscribers of", "Acme")
		// only what the form offers makes subscribers of people who were not asked
		for i, answer := range []string{"", "false", "on", "TRUE"} {
			target := fmt.Sprintf("asked%d@example.com", i)
			v.wants(v.post(path, "csv", target, "consent", "a form", "confirmed", answer, "step", "import"), 200,
				"1 subscriber was added")
			if !v.subscriber(v, target).ConfirmedAt.IsZero() {
				s.Errorf("confirmed=%q subscribes without a question", answer)
			}
		}
		v.wants(v.post(path, "csv", "silent@example.com", "consent", "a form", "step", "import"), 200,
			"1 subscriber was added")
		if !v.subscriber(v, "silent@example.com").ConfirmedAt.IsZero() {
			s.Error("a form without the choice subscribes without a question")
		}
	})
}

// TestBrowserCannotBeEdited checks that a browser, which waits for the end of an incident, has no components to change.
func TestBrowserCannotBeEdited(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		v.wants(v.post("/admin/setup/page", "name", "Acme", "slug", "acme"), 303)
		c, err := s.store.Components().Create(t.Context(), v.actor(), "acme",
			resource.Component.From(statuspage.Component{Name: "API"}))
		if err != nil {
			t.Fatal(err)
		}
		inc, err := s.store.CreateIncident(t.Context(), v.actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "We look into it."}, nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := audience.PushTarget{ // of RFC 8291
			Endpoint: "https://updates.push.services.mozilla.com/wpush/v2/abcdefghijklmnop",
			P256DH:   "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
			Auth:     "BTBZMqHH6r4Tts7J_aSIgg",
		}
		if err := s.store.SubscribeToEnd(
			t.Context(), store.PushSignUp{Slug: "acme", IncidentID: inc.ID, Target: browser},
		); err != nil {
			t.Fatal(err)
		}
		const path = "/admin/pages/acme/subscribers"
		v.lacks(v.wants(v.get(path), 200, "Browser, the end of an incident"), ">Edit<")
		all, _, err := s.store.Subscribers(t.Context(), v.actor(), "acme", store.SubscriberFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		v.wants(v.post(path+"/"+all[0].ID, "components", c.ID, "tag", tagIn(t, v.get(path+"/"+all[0].ID))), 422,
			"A browser is only notified of the end of its incident.")
	})
}
