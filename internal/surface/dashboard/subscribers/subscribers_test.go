package subscribers_test

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
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/subscribers"
)

// TestSubscribersAreAdded adds subscribers on the screen of a page.
func TestSubscribersAreAdded(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		const path = subscribersPath
		v.Wants(v.Get(path), 200, "No subscribers yet")
		v.Wants(v.Post(path, "channel", "email", "target", "Ada <ada>", "confirmed", "true"), 422, "Ada &lt;ada&gt;",
			`aria-invalid="true"`)
		v.Wants(v.Post(path, "channel", "email", "target", "Ada@example.com", "confirmed", "true"), 303, path+"?saved")
		v.Wants(v.Post(path, "channel", "email", "target", "ada@example.com", "confirmed", "true"), 422,
			"already subscribed")
		v.Wants(v.Post(path, "channel", "email", "target", "grace@example.com", "confirmed", "false"), 303)
		made := v.Wants(v.Post(path, "channel", "webhook", "target", "https://hooks.example.com/status", "confirmed",
			"false"), 201, "whsec_", "not shown again")
		if a := v.Get(path); strings.Contains(a.Text, "whsec_") {
			t.Error("the secret is shown again")
		}
		if secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=&]+`).FindString(made.Text); secret == "" {
			t.Error("no secret")
		}
	})
}

// subscribersPath is the screen of the subscribers of the page acme.
const subscribersPath = "/admin/pages/acme/subscribers"

func createPage(v *dashboardtest.Visitor) {
	v.Helper()
	acme := resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"})
	if _, err := v.Store.CreatePage(v.Context(), v.Actor(), acme); err != nil {
		v.Fatal(err)
	}
}

// createSubscribers adds Ada, Grace, who has not confirmed, and a webhook.
func createSubscribers(v *dashboardtest.Visitor) {
	v.Helper()
	v.Wants(v.Post(subscribersPath, "channel", "email", "target", "ada@example.com", "confirmed", "true"), 303)
	v.Wants(v.Post(subscribersPath, "channel", "email", "target", "grace@example.com", "confirmed", "false"), 303)
	v.Wants(v.Post(subscribersPath, "channel", "webhook", "target", "https://hooks.example.com/status", "confirmed",
		"false"), 201)
}

func TestSubscribersAreListedAndExported(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		createSubscribers(v)
		const path = subscribersPath
		for query, want := range map[string][3]bool{
			"": {true, true, true}, "?search=ADA%40": {true, false, false}, "?state=unconfirmed": {false, true, false},
			"?in=webhook":      {false, false, true},
			"?state=suspended": {}, "?search=%25": {}, "?search=hooks&in=email": {},
			"?state=nonsense&in=email": {true, true, false},
		} {
			a := v.Wants(v.Get(path+query), 200)
			for i, target := range []string{
				"<bdi>ada@example.com", "<bdi>grace@example.com", "<bdi>https://hooks.example.com/status",
			} {
				if strings.Contains(a.Text, target) != want[i] {
					t.Errorf("%q shows %s: %v", query, target, !want[i])
				}
			}
		}
		export := v.Wants(v.Get(path+"/export"), 200, "target,channel,state,components,",
			"ada@example.com,email,active,", "grace@example.com,email,unconfirmed,")
		h := export.Header
		if h.Get("Content-Disposition") != `attachment; filename="subscribers-acme.csv"` ||
			strings.Contains(export.Text, "whsec_") {
			t.Errorf("the export: %v %s", h, export.Text)
		}
		v.Wants(v.Get("/admin/audit?action=export"), 200, "downloaded", "Acme")
	})
}

func TestWarningsOfSubscribers(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		createSubscribers(v)
		const path = subscribersPath
		row := fmt.Sprint(path, "/", subscriber(s, v, "ada@example.com").ID)
		hook := fmt.Sprint(path, "/", subscriber(s, v, "https://hooks.example.com/status").ID)
		v.Wants(v.Get(hook+"?back=search%3Dhooks"), 200, "Warnings of monitors", `name="back" value="search=hooks"`,
			`href="`+path+`?search=hooks"`)
		v.Wants(postSubscriber(v, hook, "warnings", "true", "back", "search=hooks"), 303, "search=hooks")
		v.Wants(v.Get(path+"?search=hooks"), 200, "notified of warnings")
		v.Wants(postSubscriber(v, hook, "warnings", "false"), 303)
		v.Lacks(v.Get(path), "notified of warnings")
		v.Lacks(v.Wants(v.Get(row), 200, "it has no components to choose from"), "Warnings of monitors")
		v.Wants(postSubscriber(v, row, "warnings", "true"), 422, "Only webhooks that you add are notified of warnings.")
		v.Wants(v.Post(path, "channel", "email", "target", "alan@example.com", "warnings", "true"), 422,
			"Only webhooks that you add are notified of warnings.")
		v.Wants(v.Post(path, "channel", "webhook", "target", "https://hooks.example.com/on-call", "warnings", "true"),
			201, "notified of warnings")
		if !subscriber(s, v, "https://hooks.example.com/on-call").Warnings {
			t.Error("the webhook is not notified of warnings")
		}
	})
}

// TestMessageToSubscriber sends a test message, which is a delivery that the log shows. It removes the subscriber.
func TestMessageToSubscriber(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		createSubscribers(v)
		const path = subscribersPath
		ada := subscriber(s, v, "ada@example.com")
		row := fmt.Sprint(path, "/", ada.ID)
		log := v.Wants(v.Post(row+"/test"), 303,
			"/admin/deliveries?page=acme&subscriber="+ada.ID).Header.Get("Location")
		v.Wants(v.Get(log), 200, "Test message", "Only messages to", "ada@example.com", "Pending")
		v.Wants(v.Post(row+"/test", "back", "search=ada"), 422, "less than a minute ago", `value="ada"`)
		grace := subscriber(s, v, "grace@example.com")
		v.Wants(v.Post(path+"/"+grace.ID+"/test"), 422, "unconfirmed gets no messages")
		v.Lacks(v.Wants(v.Get(subscribers.DeliveriesOf("acme", grace.ID)), 200, "grace@example.com",
			"Confirmation"), "Test message")
		v.Wants(v.Post(row+"/resume", "back", "state=active"), 303, "state=active")
		v.Wants(v.Post(row+"/remove", "back", "next=//evil.example&p=1"), 303, path+"?p=1&saved=")
		v.Wants(v.Post(row+"/remove"), 404)
		v.Wants(v.Get(path+"?search=ada"), 200, "No such subscribers")
	})
}

func TestEditorsSeeNoAddresses(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		createSubscribers(v)
		const path = subscribersPath
		grace := subscriber(s, v, "grace@example.com")
		editor := s.Member(v, kernel.RoleEditor)
		editor.Wants(editor.Get(path), 403)
		editor.Wants(editor.Get(path+"/export"), 403)
		if a := editor.Get("/admin/pages/acme/components"); strings.Contains(a.Text, path) {
			t.Error("an editor is led to the subscribers")
		}
		editor.Lacks(editor.Wants(editor.Get(subscribers.DeliveriesOf("acme", grace.ID)), 200,
			"Only messages to one recipient"), "grace@")
	})
}

// createComponents creates four components of the page acme, and returns their ids. The last one is hidden.
func createComponents(v *dashboardtest.Visitor) (ids []string) {
	v.Helper()
	for _, name := range []string{"API", "Shop", "Mail", "Search"} {
		c, err := v.Store.Components().Create(v.Context(), v.Actor(), "acme",
			resource.Component.From(statuspage.Component{Name: name, Hidden: name == "Search"}))
		if err != nil {
			v.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	return ids
}

// componentBox is the beginning of a check box for a component.
func componentBox(id string) string { return `name="components" value="` + id + `"` }

// subscribeKay adds a subscriber of components, and returns the path of the screen.
func subscribeKay(s *dashboardtest.Site, v *dashboardtest.Visitor, components ...string) string {
	v.Helper()
	fields := []string{"channel", "email", "target", "kay@example.com", "confirmed", "true"}
	for _, id := range components {
		fields = append(fields, "components", id)
	}
	v.Wants(v.Post(subscribersPath, fields...), 303)
	return subscribersPath + "/" + subscriber(s, v, "kay@example.com").ID
}

// hide hides or shows a component.
func hide(v *dashboardtest.Visitor, component string, hidden bool) {
	v.Helper()
	_, err := v.Store.Components().Change(v.Context(), v.Actor(), "acme", component,
		func(c *statuspage.Component) error {
			c.Hidden = hidden
			return nil
		}, kernel.Precondition{})
	if err != nil {
		v.Fatal(err)
	}
}

func TestSubscribersOfComponentsAreAdded(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		ids := createComponents(v)
		const path = subscribersPath
		v.Wants(v.Get(path), 200, "Selected components", componentBox(ids[0]), componentBox(ids[1]))
		v.Lacks(v.Get(path), componentBox(ids[3]))
		v.Wants(v.Post(path, "channel", "email", "target", "nobody", "confirmed", "true", "components", ids[1]), 422,
			componentBox(ids[1])+" checked", componentBox(ids[0])+">")
		v.Wants(v.Post(path, "channel", "email", "target", "eve@example.com", "confirmed", "true", "components",
			"cmp_068vq2r4b1ccu5a0d3e1"), 422, "This must be of this page")
		for target, channel := range map[string]string{
			"kay@example.com": "email", "https://hooks.example.com/some": "webhook",
			"https://hooks.slack.com/services/T000/B000/abcdefgh": "slack",
		} {
			a := v.Post(path, "channel", channel, "target", target, "confirmed", "true", "components", ids[0],
				"components",
				ids[2])
			if a.StatusCode != 303 && a.StatusCode != 201 {
				v.Fatalf("%s: %d %s", target, a.StatusCode, a.Text)
			}
			got := subscriber(s, v, audience.Channel(channel).Shown(target))
			want := slices.Sorted(slices.Values([]string{ids[0], ids[2]}))
			if got.WholePage || !slices.Equal(slices.Sorted(slices.Values(got.Components)), want) {
				v.Errorf("%s: %+v", target, got)
			}
		}
	})
}

func TestComponentsOfSubscriberChange(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		ids := createComponents(v)
		const path = subscribersPath
		kay := subscribeKay(s, v, ids[0], ids[2])
		v.Wants(v.Get(path+"?search=kay"), 200, "2 components")
		v.Wants(v.Get(kay), 200, componentBox(ids[0])+" checked", componentBox(ids[1])+">",
			componentBox(ids[2])+" checked")
		v.Wants(postSubscriber(v, kay, "components", ids[3]), 422, "This must be of this page")
		v.Wants(postSubscriber(v, kay, "components", ids[1]), 303, path+"?saved=")
		if got := subscriber(s, v, "kay@example.com"); got.WholePage || !slices.Equal(got.Components, ids[1:2]) {
			v.Errorf("after the change: %+v", got)
		}
	})
}

// TestHiddenComponentsOfSubscriberStay hides a component after it was chosen.
func TestHiddenComponentsOfSubscriberStay(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		ids := createComponents(v)
		kay := subscribeKay(s, v, ids[1])
		hide(v, ids[1], true)
		v.Wants(v.Get(kay), 200, componentBox(ids[1])+" checked", "Shop (hidden)")
		v.Wants(postSubscriber(v, kay, "components", ids[1]), 303)
		v.Wants(postSubscriber(v, kay, "components", ids[0], "components", ids[1]), 303)
		got := subscriber(s, v, "kay@example.com")
		if !slices.Equal(slices.Sorted(slices.Values(got.Components)), slices.Sorted(slices.Values(ids[:2]))) {
			v.Errorf("with a component that was hidden after it was chosen: %+v", got)
		}
	})
}

func TestConflictOfSubscribersComponents(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		ids := createComponents(v)
		kay := subscribeKay(s, v, ids[0], ids[1])
		hide(v, ids[1], true)
		seen := dashboardtest.TagIn(t, v.Get(kay))
		v.Wants(postSubscriber(v, kay, "components", ids[1]), 303)
		conflict := v.Wants(v.Post(kay, "components", ids[0], "tag", seen), 409, "someone else has changed this",
			"Someone else has saved “Shop (hidden)” meanwhile.", componentBox(ids[0])+" checked")
		v.Wants(v.Post(kay, "components", ids[0]), 409)
		if got := subscriber(s, v, "kay@example.com"); !slices.Equal(got.Components, ids[1:2]) {
			v.Errorf("a form of before a change overwrites it: %+v", got)
		}
		v.Wants(v.Post(kay, "components", ids[1], "tag", dashboardtest.TagIn(t, conflict)), 303)
	})
}

// TestDeletedComponentsOfSubscriber deletes the only component of a subscriber, who must not get everything then.
func TestDeletedComponentsOfSubscriber(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPage(v)
		ids := createComponents(v)
		kay := subscribeKay(s, v, ids[1])
		err := v.Store.Components().Delete(v.Context(), v.Actor(), "acme", ids[1], kernel.Precondition{})
		if err != nil {
			v.Fatal(err)
		}
		v.Wants(v.Get(kay), 200, "The chosen components no longer exist.", `value=""> <bdi>All components`)
		v.Wants(postSubscriber(v, kay), 303)
		if got := subscriber(s, v, "kay@example.com"); got.WholePage || len(got.Components) > 0 {
			v.Errorf("a form that was not changed chooses the whole page: %+v", got)
		}
		v.Wants(postSubscriber(v, kay, "components", ""), 303)
		if got := subscriber(s, v, "kay@example.com"); !got.WholePage || len(got.Components) > 0 {
			v.Errorf("about the whole page: %+v", got)
		}
	})
}

// postSubscriber saves a subscriber with the form as it is shown now.
func postSubscriber(v *dashboardtest.Visitor, path string, fields ...string) dashboardtest.Answer {
	v.Helper()
	return v.Post(path, append(fields, "tag", dashboardtest.TagIn(v.T, v.Get(path)))...)
}

// subscriber returns the subscriber of the page acme with a target.
func subscriber(s *dashboardtest.Site, v *dashboardtest.Visitor, target string) audience.Subscriber {
	s.Helper()
	found, _, err := s.Store.Subscribers(s.Context(), v.Actor(), "acme", store.SubscriberFilter{Target: target},
		store.Pagination{Page: 1, PerPage: 1})
	if err != nil || len(found) != 1 {
		s.Fatalf("%s: %v, %v", target, found, err)
	}
	return found[0]
}

// TestImport shows what an import would do, imports, and keeps what was typed when it refuses.
func TestImport(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		_, err := s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
		if err != nil {
			s.Fatal(err)
		}
		const path = "/admin/pages/acme/subscribers/import"
		const list = "ada@example.com\nnobody\n<b>@example.com\n"
		v.Wants(v.Get(path), 200, ">Preview</button>")
		v.Wants(v.Post(path, "csv", list, "consent", " ", "confirmed", "true"), 422, "This field is required.",
			"&lt;b&gt;@example.com")
		v.Wants(v.Post(path, "csv", strings.Repeat("x\n", audience.MaxImportLines+1), "consent", "a form"), 422,
			"at most 5000 lines")
		v.Wants(v.Post(path, "csv", list, "consent", "a form", "confirmed", "true"), 200, "1 subscriber will be added",
			"Nothing has been saved", "Line 2", "This is not an email address.", "&lt;b&gt;@example.com")
		v.Wants(v.Get("/admin/pages/acme/subscribers"), 200, "No subscribers yet")
		v.Wants(v.Post(path, "csv", list, "consent", "a form", "confirmed", "true", "step", "import"), 200,
			"1 subscriber was added", "Line 2")
		v.Wants(v.Get("/admin/pages/acme/subscribers"), 200, "<bdi>ada@example.com",
			"Consent: <bdi>a form</bdi>, stated by <bdi>Ada Lovelace</bdi>")
		v.Wants(v.Get("/admin/pages/acme/subscribers/export"), 200, ",consent,consent_by,warnings",
			"a form,Ada Lovelace,false")
		v.Wants(v.Post(path, "csv", list, "consent", "a form", "step", "import"), 200, "0 subscribers were added",
			"subscribed already")
		v.Wants(v.Get("/admin/audit?action=import"), 200, "imported subscribers of", "Acme")
		// only what the form offers makes subscribers of people who were not asked
		for i, answer := range []string{"", "false", "on", "TRUE"} {
			target := fmt.Sprintf("asked%d@example.com", i)
			v.Wants(v.Post(path, "csv", target, "consent", "a form", "confirmed", answer, "step", "import"), 200,
				"1 subscriber was added")
			if !subscriber(v.Site, v, target).ConfirmedAt.IsZero() {
				s.Errorf("confirmed=%q subscribes without a question", answer)
			}
		}
		v.Wants(v.Post(path, "csv", "silent@example.com", "consent", "a form", "step", "import"), 200,
			"1 subscriber was added")
		if !subscriber(v.Site, v, "silent@example.com").ConfirmedAt.IsZero() {
			s.Error("a form without the choice subscribes without a question")
		}
	})
}

// TestBrowserCannotBeEdited checks that a browser, which waits for the end of an incident, has no components to change.
func TestBrowserCannotBeEdited(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), 303)
		c, err := s.Store.Components().Create(t.Context(), v.Actor(), "acme",
			resource.Component.From(statuspage.Component{Name: "API"}))
		if err != nil {
			t.Fatal(err)
		}
		inc, err := s.Store.CreateIncident(t.Context(), v.Actor(), "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "We look into it."}, nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := audience.PushTarget{ // of RFC 8291
			Endpoint: "https://updates.push.services.mozilla.com/wpush/v2/abcdefghijklmnop",
			P256DH:   "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
			Auth:     "BTBZMqHH6r4Tts7J_aSIgg",
		}
		err = s.Store.SubscribeToEnd(t.Context(), store.PushSignUp{Slug: "acme", IncidentID: inc.ID, Target: browser})
		if err != nil {
			t.Fatal(err)
		}
		const path = "/admin/pages/acme/subscribers"
		v.Lacks(v.Wants(v.Get(path), 200, "Browser, resolution of an incident"), ">Edit<")
		all, _, err := s.Store.Subscribers(t.Context(), v.Actor(), "acme", store.SubscriberFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 1 {
			t.Fatalf("the subscribers: %+v, %v", all, err)
		}
		v.Wants(v.Post(path+"/"+all[0].ID, "components", c.ID, "tag",
			dashboardtest.TagIn(t, v.Get(path+"/"+all[0].ID))), 422,
			"A browser is only notified of the end of its incident.")
	})
}
