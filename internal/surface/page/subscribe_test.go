package page

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"github.com/allswell/allswell/internal/surface/web"
)

// runMail is run with a fixture that can send mail. Acme has two components in a
// group, and one outside of it.
func runMail(t *testing.T, f func(w *mailFixture)) {
	run(t, func(w *fixture) {
		w.site.mail = true
		m := &mailFixture{fixture: w, components: map[string]string{}}
		group, err := w.store.Groups().Create(t.Context(), w.ws, "acme",
			resource.Group.From(statuspage.Group{Name: "Regions"}))
		must(w, group, err)
		for i, name := range []string{"Website", "North", "South"} {
			n := statuspage.Component{Name: name, GroupID: []string{"", group.ID, group.ID}[i], Order: i}
			c, err := w.store.Components().Create(t.Context(), w.ws, "acme", resource.Component.From(n))
			m.components[name] = must(w, c, err).ID
		}
		f(m)
	})
}

type mailFixture struct {
	*fixture
	components map[string]string // name -> id
}

// post sends a form from one of our own pages.
func (w *mailFixture) post(path string, form url.Values, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.send(path, form.Encode(), append([]string{"Sec-Fetch-Site", "same-origin"}, fields...)...)
}

// send posts a body unchanged.
func (w *mailFixture) send(path, body string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "address" {
			r.RemoteAddr = fields[i+1]
		} else {
			r.Header.Set(fields[i], fields[i+1])
		}
	}
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

// answer checks what all responses to forms have in common, and returns the page.
func (w *mailFixture) answer(rec *httptest.ResponseRecorder, status int) htmltest.Tree {
	w.t.Helper()
	h := rec.Header()
	if rec.Code != status || h.Get("Content-Type") != typeHTML {
		w.t.Fatalf("the status is %d, want %d, %v", rec.Code, status, h)
	}
	if h.Get("Cache-Control") != web.CacheNever || h.Get("Etag") != "" || h.Get("Location") != "" ||
		h["Set-Cookie"] != nil {
		w.t.Errorf("the header of an uncacheable answer: %d: %v", status, h)
	}
	p := htmltest.Parse(w.t, rec.Body.String())
	htmltest.CheckPage(w.t, "the answer", p)
	want := web.PolicyPage(web.PageContent{Form: len(p.All("form")) > 0, Script: true})
	if h.Get("Content-Security-Policy") != string(want) {
		w.t.Errorf("%d forms, policy %q", len(p.All("form")), h.Get("Content-Security-Policy"))
	}
	return p
}

// subscribers returns the subscribers of Acme by their targets.
func (w *mailFixture) subscribers() map[string]audience.Subscriber {
	w.t.Helper()
	for more := true; more; {
		var err error
		more, err = w.store.ProcessSignUps(w.t.Context())
		must(w.fixture, more, err)
	}
	list, _, err := w.store.Subscribers(w.t.Context(), w.ws, "acme", store.SubscriberFilter{},
		store.Pagination{Page: 1, PerPage: 100})
	must(w.fixture, list, err)
	all := make(map[string]audience.Subscriber)
	for _, s := range list {
		all[s.Target] = s
	}
	return all
}

func (w *mailFixture) ids(names ...string) (ids []string) {
	for _, name := range names {
		ids = append(ids, w.components[name])
	}
	slices.Sort(ids)
	return ids
}

func TestSubscribePanel(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		rec := w.do("GET", "/status/acme")
		want := string(web.PolicyPage(web.PageContent{Form: true, Script: true}))
		if got := rec.Header().Get("Content-Security-Policy"); got != want {
			t.Errorf("policy %q, want %q", got, want)
		}
		if again := w.do("GET", "/status/acme", "If-None-Match", rec.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("again: %d", again.Code)
		}
		p := w.get("/status/acme", 200)
		got := p.All("header details.subscribe #subscribe form")
		if len(got) != 1 || p.One(t, "header summary") != "Subscribe" {
			t.Error("the form is not in the panel")
		}
		// The other parts of the page have the same panel.
		inc := w.incident("acme", statuspage.Incident{Title: "Slow"}, "")
		m := w.maintenance("acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "New disks", ScheduledFor: w.clock.now().Add(48 * time.Hour),
			ScheduledUntil: w.clock.now().Add(50 * time.Hour),
		}))
		for _, part := range []string{
			"/history", "/incidents/" + inc.ID, "/components/" + w.components["North"], "/maintenances/" + m.ID,
			"/nothing",
		} {
			rec := w.do("GET", "/status/acme"+part+"?lang=ar")
			panel := htmltest.Parse(t, rec.Body.String()).All("header #subscribe")[0]
			got := panel.All("form")[0].Attr("action")
			if got != "/status/acme/subscribe?lang=ar" ||
				len(panel.All("ul a")) != 4 ||
				panel.All("ul a")[3].Attr("href") != "/status/acme/subscribe?lang=ar#webhook" {
				t.Errorf("%s sends to %s", part, got)
			}
		}
		got = p.All("form input")
		if len(got) != 1 || p.All("#subscribe p a")[0].Attr("href") != "/status/acme/subscribe" {
			t.Errorf("the panel has %d fields", len(got))
		}
	})
}

func TestSubscribeForm(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		rec := w.do("GET", "/status/acme/subscribe")
		again := w.do("GET", "/status/acme/subscribe", "If-None-Match", rec.Header().Get("Etag"))
		if again.Code != 304 {
			t.Errorf("the form again: %d", again.Code)
		}
		p := w.get("/status/acme/subscribe", 200)
		form := p.All("form")
		if len(form) != 2 || form[0].Attr("method") != "post" || form[0].Attr("action") != "/status/acme/subscribe" {
			t.Fatalf("%d forms", len(form))
		}
		if len(p.All("form input[type=email][name=email][autocomplete=email][inputmode=email][required]")) != 1 ||
			p.One(t, "label[for=email]") != "Email address" {
			t.Error("the field has the wrong attributes")
		}
		got := p.Texts("form details fieldset")
		if !slices.Equal(
			got, []string{"Components Website", "Regions North South", "Components Website", "Regions North South"},
		) {
			t.Errorf("components: %q", got)
		}
		for name, id := range w.components {
			box := "form details input[type=checkbox][name=component][value=" + id + "]"
			if got := p.All(box); len(got) != len(form) {
				t.Errorf("%s cannot be chosen", name)
			}
		}
		if len(p.All("[checked]"))+len(p.All("details[open]"))+len(p.All("[aria-invalid]")) > 0 {
			t.Error("the form is not empty")
		}
	})
}

func TestSubscribeWithoutMail(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		w.site.mail = false
		if got := w.get("/status/acme/subscribe", 200).All("form input[type=url]"); len(got) != 1 {
			w.t.Error("webhooks need no mail")
		}
		w.changePage(func(p *statuspage.Page) { p.WebhookSignUps = false })
		p := w.get("/status/acme", 200)
		if len(p.All("form")) > 0 || len(p.All("#subscribe a")) != 3 {
			w.t.Error("the panel does not show the feeds alone")
		}
		if got := w.get("/status/acme/history", 200).All("form"); len(got) != 0 {
			w.t.Error("the history has the form")
		}
		p = w.answer(w.post("/status/acme/subscribe", url.Values{fieldEmail: {"ann@example.com"}}), 404)
		if got := p.One(w.t, "h1"); got != "Email is not set up here" {
			w.t.Errorf("the heading without mail: %q", got)
		}
		w.get("/status/acme/subscribe", 404)
		if got := w.subscribers(); len(got) != 0 {
			w.t.Errorf("the subscribers: %v", got)
		}
	})
}

// TestSignUpResponsesAreEqual signs up an unknown, an unconfirmed, a confirmed and
// a suspended address.
func TestSignUpResponsesAreEqual(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		ann := url.Values{fieldEmail: {" Ann@Example.com "}, fieldComponent: w.ids("North", "South")}
		var responses []string
		signUp := func(form url.Values) {
			t.Helper()
			rec := w.post("/status/acme/subscribe", form)
			if got := w.answer(rec, 200).One(t, "h1"); got != "Check your email" {
				t.Errorf("the heading after a sign-up: %q", got)
			}
			responses = append(responses, fmt.Sprint(rec.Header(), rec.Body))
		}
		signUp(ann)
		sub := w.subscribers()["ann@example.com"]
		if sub.Channel != audience.ChannelEmail || !sub.ConfirmedAt.IsZero() ||
			!slices.Equal(sub.Components, w.ids("North", "South")) {
			t.Errorf("the subscriber: %+v", sub)
		}
		signUp(ann)
		signUp(url.Values{fieldEmail: {"bob@example.com"}})
		confirmed, err := w.store.ConfirmSubscription(t.Context(), "acme", sub.Key)
		must(w.fixture, confirmed, err)
		signUp(ann)
		w.clock.move(2 * audience.RepeatMailInterval)
		signUp(ann)
		for i, a := range responses {
			if a != responses[0] {
				t.Errorf("response %d differs:\n%s\n%s", i, a, responses[0])
			}
		}
		got := slices.Sorted(maps.Keys(w.subscribers()))
		if !slices.Equal(got, []string{"ann@example.com", "bob@example.com"}) {
			t.Errorf("the subscribers: %v", got)
		}
	})
}

func TestInvalidSignUps(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		other := w.page("beta", "Beta")
		theirs := w.component("beta", "Theirs", "").ID
		for _, c := range []struct {
			name          string
			form          url.Values
			email, choice string
		}{
			{"nothing", nil, "Please enter your email address.", ""},
			{"blank", url.Values{fieldEmail: {" \t"}}, "Please enter your email address.", ""},
			{"no address", url.Values{fieldEmail: {"ann"}, fieldComponent: w.ids("North")},
				"Please enter a complete email address, such as name@example.com.", ""},
			{"hostile", url.Values{fieldEmail: {hostile}},
				"Please enter a complete email address, such as name@example.com.", ""},
			{"no text", url.Values{fieldEmail: {"\xff\x00@"}},
				"Please enter a complete email address, such as name@example.com.", ""},
			{"two headers", url.Values{fieldEmail: {"ann@example.com\r\nBcc: bob@example.com"}},
				"Please enter a complete email address, such as name@example.com.", ""},
			{"another page's component", url.Values{fieldEmail: {"ann@example.com"}, fieldComponent: {theirs}}, "",
				"A component that you chose is no longer on this page. Please choose again."},
			{"a hostile component",
				url.Values{fieldEmail: {"ann@example.com"}, fieldComponent: {hostile, w.components["North"]}}, "",
				"A component that you chose is no longer on this page. Please choose again."},
		} {
			p := w.answer(w.post("/status/acme/subscribe", c.form), 422)
			if got := strings.Join(p.Texts("#email-error"), ""); got != c.email {
				t.Errorf("%s: the error of the address is %q", c.name, got)
			}
			invalid := p.All("input#email[aria-invalid=true][aria-describedby=email-error]")
			if len(invalid) == 1 != (c.email != "") {
				t.Errorf("%s: %d fields are marked as invalid", c.name, len(invalid))
			}
			if got := strings.Join(p.Texts(".choice .wrong"), ""); got != c.choice {
				t.Errorf("%s: the error of the components is %q", c.name, got)
			}
			want := strings.ReplaceAll(strings.ToValidUTF8(c.form.Get(fieldEmail), "\ufffd"), "\r\n", "\n")
			if got := p.All("#email")[0].Attr("value"); got != strings.ReplaceAll(want, "\x00", "\ufffd") {
				t.Errorf("%s: the field holds %q", c.name, got)
			}
			known := slices.Contains(c.form[fieldComponent], w.components["North"])
			if got := len(p.All("[checked]")); got == 1 != known {
				t.Errorf("%s: %d components are checked", c.name, got)
			}
			if open := len(p.All("details[open]")) == 1; open != (len(c.form[fieldComponent]) > 0) {
				t.Errorf("%s: the components are open: %v", c.name, open)
			}
			if len(p.All("script")) != 1 || len(p.All("img")) > 0 {
				t.Errorf("%s: not escaped", c.name)
			}
		}
		if got := w.subscribers(); len(got) != 0 {
			t.Errorf("subscribers of invalid sign-ups: %v of %s", got, other.ID)
		}
		w.answer(w.post("/status/nope/subscribe", url.Values{fieldEmail: {"ann@example.com"}}), 404)
	})
}

func TestMalformedForms(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		for _, path := range []string{
			"/status/acme/subscribe", "/status/acme/subscription/" + strings.Repeat("k", 32),
		} {
			for body, want := range map[string]int{
				"email=%zz": 400,
				"a;b=c":     400,
				"email=a@example.com" + strings.Repeat("&a", 500):                                       400,
				"email=a@example.com&x=" + strings.Repeat("x", maxForm):                                 413,
				"email=a@example.com&x=" + strings.Repeat("x", maxForm-len("email=a@example.com&x=")+1): 413,
			} {
				if got := w.send(path, body).Code; got != want {
					w.t.Errorf("the status of %s, %.40s: %d, want %d", path, body, got, want)
				}
			}
		}
		full := "email=a@example.com&x="
		w.answer(w.send("/status/acme/subscribe", full+strings.Repeat("x", maxForm-len(full))), 200)
		w.answer(w.send("/status/acme/subscribe", "email=b@example.com"+strings.Repeat("&a", 499)), 200)
	})
}

func TestFormMethods(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		key := strings.Repeat("k", 32)
		for _, path := range []string{
			"/status/acme/subscribe", "/status/acme/subscription/" + key, "/status/acme/unsubscribe/" + key,
		} {
			for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post"} {
				if rec := w.do(method, path); rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD, POST" {
					w.t.Errorf("%s %s: %d, allow %q", method, path, rec.Code, rec.Header().Get("Allow"))
				}
			}
		}
		for _, path := range []string{
			"/status/acme/subscribe/", "/status/acme/subscription", "/status/acme/unsubscribe",
			"/status/acme/subscriptions/" + key,
		} {
			w.get(path, 404)
			if rec := w.send(path, ""); rec.Code != 405 {
				w.t.Errorf("POST %s: %d", path, rec.Code)
			}
		}
	})
}

// TestOrigins checks that only forms from our own pages are accepted.
func TestOrigins(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		w.site.origins = originsOf("https://status.example/below")
		sub := w.subscriber("ann@example.com")
		paths := map[string]string{
			"/status/acme/subscribe":               "email=bob@example.com",
			"/status/acme/subscription/" + sub.Key: "action=save",
		}
		for path, body := range paths {
			keyed := strings.Contains(path, "subscription")
			for _, c := range []struct {
				fields   []string
				accepted bool
			}{
				{nil, true}, // not a browser
				{[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"}, true},
				{[]string{"Sec-Fetch-Site", "same-origin", "Origin", "null"}, true},
				{[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, false},
				{[]string{"Sec-Fetch-Site", "same-site", "Origin", "http://other.example.com"}, false},
				{[]string{"Sec-Fetch-Site", "cross-site", "Origin", "null"}, false},
				{[]string{"Origin", "http://example.com"}, true},
				{[]string{"Origin", "https://status.example"}, true}, // behind a proxy that sets Host
				{[]string{"Origin", "http://evil.example"}, false},
				{[]string{"Origin", "null"}, keyed},
			} {
				rec := w.send(path, body, c.fields...)
				if accepted := rec.Code == 200; accepted != c.accepted || !accepted && rec.Code != 403 {
					w.t.Errorf("the status of %s from %v: %d", path, c.fields, rec.Code)
				}
			}
		}
		w.answer(w.send("/status/acme/unsubscribe/"+sub.Key, "List-Unsubscribe=One-Click", "Sec-Fetch-Site",
			"cross-site", "Origin", "https://mail.example"), 200)
		if _, ok := w.subscribers()["ann@example.com"]; ok {
			w.t.Error("the one-click request from another origin did not unsubscribe")
		}
	})
}

// TestFormsWithoutDatabase checks that forms fail with 503 while the page is still
// served.
func TestFormsWithoutDatabase(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		sub := w.subscriber("ann@example.com")
		w.get("/status/acme", 200)
		w.store.Close()
		secret := "/status/acme/subscription/" + sub.Key
		for name, rec := range map[string]*httptest.ResponseRecorder{
			"sign-up":     w.send("/status/acme/subscribe", "email=bob@example.com"),
			"show":        w.do("GET", secret),
			"confirm":     w.send(secret, "action=confirm"),
			"save":        w.send(secret, "action=save"),
			"resume":      w.send(secret, "action=resume"),
			"unsubscribe": w.send(secret, "action=unsubscribe"),
			"one click":   w.send("/status/acme/unsubscribe/"+sub.Key, ""),
		} {
			w.answer(rec, http.StatusServiceUnavailable)
			if rec.Header().Get("Retry-After") == "" {
				w.t.Errorf("%s: no Retry-After", name)
			}
		}
		w.get("/status/acme/unsubscribe/"+sub.Key, 200)
	})
}
