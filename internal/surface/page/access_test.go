package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

const pagePassword = "four words at random"

// allow changes who can see a private page.
func (w *fixture) allow(slug string, change func(a *statuspage.PageAccess, now time.Time)) statuspage.Page {
	w.t.Helper()
	p, err := w.store.ChangePageAccess(w.t.Context(), w.ws, slug, func(a *statuspage.PageAccess, now time.Time) error {
		change(a, now)
		return nil
	})
	return must(w, p, err)
}

// protect sets the password of a page.
func (w *fixture) protect(slug, secret string) {
	w.t.Helper()
	hash, err := password.Hash(w.t.Context(), password.Proven(fair.Workspace("w")), secret)
	must(w, hash, err)
	w.allow(slug, func(a *statuspage.PageAccess, now time.Time) { a.SetPassword(hash, now) })
}

// newLink gives a page a new secret link, and returns its key.
func (w *fixture) newLink(slug string) string {
	w.t.Helper()
	return w.allow(slug, (*statuspage.PageAccess).MakeLink).Access.LinkKey
}

// enter sends the form of a private page at a host.
func (w *fixture) enter(host, path, secret string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	form := url.Values{"password": {secret}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Host = host
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

// entersAsKnown checks that the wrong passwords of others at its address do not keep out a browser whose visit has
// ended, and that a cookie which the present password has not signed is of no use.
func (w *fixture) entersAsKnown(host, visit string) {
	w.t.Helper()
	enter := func(cookie, secret string) int {
		r := httptest.NewRequest("POST", "/status/secret/access",
			strings.NewReader(url.Values{"password": {secret}}.Encode()))
		r.Host = host
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Cookie", cookie)
		rec := httptest.NewRecorder()
		w.site.Handler().ServeHTTP(rec, r)
		return rec.Code
	}
	last := visit[len(visit)-5:]
	for _, test := range []struct {
		cookie, secret string
		want           int
	}{
		{visit, "nonsense", 403}, {visit, pagePassword, 303},
		{strings.TrimSuffix(visit, last) + "AAAAA", pagePassword, 429},
	} {
		if got := enter(test.cookie, test.secret); got != test.want {
			w.t.Errorf("with the cookie %.30s, the password %q gets %d, want %d", test.cookie, test.secret, got,
				test.want)
		}
	}
}

// visitOf returns the cookie of a response, as a header of the next request.
func visitOf(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	for _, c := range rec.Result().Cookies() {
		if c.Name == visitCookie {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
				t.Errorf("the cookie is %v", c)
			}
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("no cookie: %d %v", rec.Code, rec.Header())
	return ""
}

// TestVisitorsOfPrivatePages requests every part of a private page, at its address and at its own domain, with every
// wrong and every right credential.
func TestVisitorsOfPrivatePages(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		p := newPrivatePage(w)
		for _, host := range []string{"localhost:8080", secretDomain} {
			for name, credential := range p.wrongCredentials() {
				for _, part := range p.parts {
					p.refuses(host, "GET", part, name, credential)
					p.refuses(host, "POST", part, name, credential)
				}
			}
			visit := visitOf(w.t, w.enter(host, secretAt(host, "/access"), pagePassword))
			linkVisit := visitOf(w.t, w.at(host, "GET", secretAt(host, "")+"?key="+p.key))
			for name, credential := range map[string][]string{
				"the password": {"Cookie", visit}, "the cookie of the link": {"Cookie", linkVisit},
				"the key":                    {"", "key=" + p.key},
				"a wrong key and the cookie": {"Cookie", visit, "", "key=nonsense"},
			} {
				for _, part := range p.parts {
					p.admits(host, part, name, credential)
				}
			}
		}
	})
}

const secretDomain = "status.secret.example"

// secretAt returns the path of a part of the private page at a host.
func secretAt(host, part string) string {
	if host == secretDomain {
		return "/" + strings.TrimPrefix(part, "/")
	}
	return "/status/secret" + part
}

// privatePage is the private page secret, which has a password, a link and a domain, with credentials for it, for how
// it was before, and for another private page.
type privatePage struct {
	*fixture
	parts                               []string
	token                               []string // a header that opens the page
	key, oldKey, oldLinkVisit, oldVisit string
	otherKey, otherVisit                string
}

func newPrivatePage(w *fixture) *privatePage {
	w.t.Helper()
	p := &privatePage{fixture: w, parts: w.secretPage("secret")}
	w.domain("secret", secretDomain)
	w.see("secret", statuspage.VisibilityPrivate)
	w.page("other", "Other Page")
	w.see("other", statuspage.VisibilityPrivate)

	p.otherKey = w.newLink("other")
	w.protect("other", pagePassword)
	p.otherVisit = visitOf(w.t, w.enter("localhost:8080", "/status/other/access", pagePassword))
	p.oldKey = w.newLink("secret")
	p.oldLinkVisit = visitOf(w.t, w.do("GET", "/status/secret?key="+p.oldKey))
	p.key = w.newLink("secret")
	w.protect("secret", "the first password of this page")
	p.oldVisit = visitOf(w.t, w.enter("localhost:8080", "/status/secret/access", "the first password of this page"))
	w.protect("secret", pagePassword)
	p.token = []string{"Authorization", "Bearer " + w.token(w.ws, kernel.ScopeRead)}
	return p
}

// wrongCredentials returns headers, and queries without a name, that do not open the page.
func (p *privatePage) wrongCredentials() map[string][]string {
	p.t.Helper()
	ends := fmt.Sprint(p.clock.now().Add(visitLifetime).Unix())
	return map[string][]string{
		"nothing": nil, "a wrong key": {"", "key=nonsense"}, "an empty key": {"", "key="},
		"the key of another page": {"", "key=" + p.otherKey},
		"the old key":             {"", "key=" + p.oldKey}, "the cookie of the old link": {"Cookie", p.oldLinkVisit},
		"the cookie of the old password": {"Cookie", p.oldVisit},
		"the cookie of another page":     {"Cookie", p.otherVisit},
		"a cookie without a signature":   {"Cookie", visitCookie + "=" + ends},
		"a cookie signed with nothing": {"Cookie",
			visitCookie + "=" + signVisit("", must(p.fixture, p.pageID("secret"), nil), mustInt(ends))},
		"the session of the dashboard":   {"Cookie", "allswell=nonsense"},
		"a token that does not exist":    {"Authorization", "Bearer aw_nonsense"},
		"the password as basic password": {"Authorization", "Basic eDpmb3VyIHdvcmRzIGF0IHJhbmRvbQ=="},
	}
}

// refuses checks that a part of the page is not shown with a credential.
func (p *privatePage) refuses(host, method, part, name string, credential []string) {
	p.t.Helper()
	p.site.notFound = newNotFoundLimit(p.clock.now)
	rec := p.ask(host, method, secretAt(host, part), credential)
	what := fmt.Sprint(method, " ", secretAt(host, part), " at ", host, " with ", name)
	elsewhere := host == secretDomain && name == "a token that does not exist" // as at a host without a page
	if rec.Code < 300 && !elsewhere || strings.Contains(rec.Body.String(), "Secret") ||
		strings.Contains(rec.Header().Get("Set-Cookie"), visitCookie) {
		p.t.Errorf("%s: %d %v %.300s", what, rec.Code, rec.Header(), rec.Body)
	}
	if rec.Code == 403 &&
		(rec.Header().Get("Cache-Control") != "private, no-store" ||
			rec.Header().Get("X-Robots-Tag") == "") {
		p.t.Errorf("%s: headers %v", what, rec.Header())
	}
}

// admits checks that a part of the page is shown with a credential as it is with a token.
func (p *privatePage) admits(host, part, name string, credential []string) {
	p.t.Helper()
	// These need a connection, redirect, or have keys of their own.
	if part == "/events" || part == "/" || strings.Contains(part, strings.Repeat("a", 32)) {
		return
	}
	want := p.ask(host, "GET", secretAt(host, part), p.token).Code
	rec := p.ask(host, "GET", secretAt(host, part), credential)
	if rec.Code == 303 && name == "the key" && !isDocument(strings.TrimPrefix(part, "/")) {
		l := rec.Header().Get("Location")
		if strings.Contains(l, "key") || !strings.HasPrefix(l, secretAt(host, "")) {
			p.t.Errorf("the key leads to %s", l)
		}
		return
	}
	if rec.Code != want || rec.Header().Get("Cache-Control") != "private, no-store" ||
		rec.Header().Get("X-Robots-Tag") == "" ||
		rec.Header().Get("Access-Control-Allow-Origin") != "" {
		p.t.Errorf("GET %s at %s with %s: %d %v, want %d", part, host, name, rec.Code, rec.Header(), want)
	}
}

// ask requests a path with a credential: names and values of headers in turn; "" is the query.
func (w *fixture) ask(host, method, path string, credential []string) *httptest.ResponseRecorder {
	w.t.Helper()
	var fields []string
	for i := 0; i < len(credential); i += 2 {
		if credential[i] != "" {
			fields = append(fields, credential[i], credential[i+1])
			continue
		}
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		path += separator + credential[i+1]
	}
	return w.at(host, method, path, fields...)
}

func mustInt(s string) (n int64) {
	fmt.Sscan(s, &n)
	return n
}

func (w *fixture) pageID(slug string) string {
	w.t.Helper()
	p, err := w.store.Page(w.t.Context(), w.ws, slug)
	return must(w, p, err).ID
}

// TestPasswordOfPrivatePage: the form asks, lets in, leads back to the part that was asked for, and nowhere else.
func TestPasswordOfPrivatePage(t *testing.T) {
	const own, host = secretDomain, "localhost:8080"
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.domain("secret", own)
		w.see("secret", statuspage.VisibilityPrivate)
		w.get("/status/secret", 404)
		w.protect("secret", pagePassword)
		page := w.get("/status/secret/history", 403)
		if got := page.One(w.t, "h1"); got != "This page is private" {
			w.t.Errorf("the form says %q", got)
		}
		for _, language := range []string{"de", "ar"} {
			w.get("/status/secret?lang="+language, 403)
		}
		wrong := w.enter(host, "/status/secret/access", "nonsense", "next", "history")
		htmltest.CheckPage(w.t, "a wrong password", htmltest.Parse(w.t, wrong.Body.String()))
		if wrong.Code != 403 || !strings.Contains(wrong.Body.String(), "This password is wrong.") ||
			!strings.Contains(wrong.Body.String(), `value="history"`) {
			w.t.Errorf("a wrong password: %d %s", wrong.Code, wrong.Body)
		}
	})
}

func TestPasswordLeadsOnlyToThePage(t *testing.T) {
	const host = "localhost:8080"
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.domain("secret", secretDomain)
		w.see("secret", statuspage.VisibilityPrivate)
		w.protect("secret", pagePassword)
		for next, want := range map[string]string{
			"": "/status/secret", "history": "/status/secret/history",
			"incidents/abc-1": "/status/secret/incidents/abc-1", "access": "/status/secret",
			"//evil.example": "/status/secret", "/evil.example": "/status/secret", `\evil.example`: "/status/secret",
			"https://evil.example": "/status/secret", "../acme": "/status/secret",
		} {
			got := w.enter(host, "/status/secret/access", pagePassword, "next", next).Header().Get("Location")
			if got != want {
				w.t.Errorf("next %q leads to %q, want %q", next, got, want)
			}
		}
		for _, next := range []string{"//evil.example", "/evil.example", "evil.example", ""} {
			got := w.enter(secretDomain, "/access", pagePassword, "next", next).Header().Get("Location")
			if got != "/" && got != "/evil.example" {
				w.t.Errorf("next %q leads to %q at the domain", next, got)
			}
		}
		key := w.newLink("secret")
		for _, path := range []string{
			"//evil.example?key=" + key, "/%2Fevil.example?key=" + key, "/%5Cevil.example?key=" + key,
		} {
			got := w.at(secretDomain, "GET", "http://"+secretDomain+path).Header().Get("Location")
			if strings.HasPrefix(got, "//") ||
				strings.HasPrefix(got, `/\`) {
				w.t.Errorf("%s leads to %q", path, got)
			}
		}
	})
}

func TestCookieOfPrivatePage(t *testing.T) {
	const host = "localhost:8080"
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.domain("secret", secretDomain)
		w.see("secret", statuspage.VisibilityPrivate)
		w.protect("secret", pagePassword)
		visit := visitOf(w.t, w.enter(host, "/status/secret/access", pagePassword))
		got := w.enter(host, "/status/secret/access", pagePassword).Result().Cookies()[0]
		if got.Path != "/status/secret" {
			w.t.Errorf("the cookie is for %s", got.Path)
		}
		for _, method := range []string{"GET", "POST"} {
			rec := w.do(method, "/status/secret/access", "Cookie", visit)
			if rec.Code != 303 || rec.Header().Get("Location") != "/status/secret" {
				w.t.Errorf("%s of the form by a visitor: %d %v", method, rec.Code, rec.Header())
			}
		}
		r := httptest.NewRequest("POST", "/status/secret/access",
			strings.NewReader("password="+url.QueryEscape(pagePassword)))
		r.Host = host
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		foreign := httptest.NewRecorder()
		if w.site.Handler().ServeHTTP(foreign, r); foreign.Code != 403 || foreign.Header().Get("Set-Cookie") != "" {
			w.t.Errorf("a form of another site: %d %v", foreign.Code, foreign.Header())
		}
		w.clock.move(visitLifetime)
		if rec := w.do("GET", "/status/secret", "Cookie", visit); rec.Code != 403 {
			w.t.Errorf("after its lifetime the cookie gets %d", rec.Code)
		}
	})
}

// TestWrongPasswordsAreLimited enters many wrong passwords. Who was there before can still enter.
func TestWrongPasswordsAreLimited(t *testing.T) {
	const host = "localhost:8080"
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.domain("secret", secretDomain)
		w.see("secret", statuspage.VisibilityPrivate)
		w.protect("secret", pagePassword)
		visit := visitOf(w.t, w.enter(host, "/status/secret/access", pagePassword))
		w.clock.move(visitLifetime) // the cookie no longer opens the page
		for range maxWrongPasswords {
			w.enter(host, "/status/secret/access", "nonsense")
		}
		rec := w.enter(host, "/status/secret/access", pagePassword)
		if rec.Code != 429 || rec.Header().Get("Retry-After") != "600" || rec.Header().Get("Set-Cookie") != "" {
			w.t.Errorf("after many wrong passwords: %d %v", rec.Code, rec.Header())
		}
		w.entersAsKnown(host, visit)
		w.clock.move(wrongPasswordWindow)
		visit = visitOf(w.t, w.enter(host, "/status/secret/access", pagePassword))
		w.allow("secret", func(a *statuspage.PageAccess, now time.Time) { a.SetPassword("", now) })
		if rec := w.do("GET", "/status/secret", "Cookie", visit); rec.Code != 404 {
			w.t.Errorf("after the password was removed: %d", rec.Code)
		}
	})
}

// TestNetworkOfPrivatePage: clients in a network see the page, and for others it does not exist.
func TestNetworkOfPrivatePage(t *testing.T) {
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.see("secret", statuspage.VisibilityPrivate)
		networks, err := clientaddr.ParseNetworks("192.0.2.0/24, 2001:db8:1::/48, ::ffff:198.51.100.7")
		must(w, networks, err)
		w.allow("secret", func(a *statuspage.PageAccess, _ time.Time) { a.Networks = networks })
		for address, want := range map[string]int{
			"192.0.2.200": 200, "[2001:db8:1:2::3]": 200, "198.51.100.7": 200, "[::ffff:192.0.2.1]": 200,
			"192.0.3.1": 404, "[2001:db8:2::1]": 404, "198.51.100.8": 404, "127.0.0.1": 404,
		} {
			if rec := w.from(address, "GET", "/status/secret"); rec.Code != want {
				w.t.Errorf("%s gets %d, want %d", address, rec.Code, want)
			}
		}
		w.site.hosts = statuspage.NewHosts("localhost:8080")
		for host, want := range map[string]int{"localhost:8080": 200, "rebound.example": 404} {
			rec := w.at(host, "GET", "/status/secret") // from 192.0.2.1
			if rec.Code != want {
				w.t.Errorf("a client of the network gets %d at %s, want %d", rec.Code, host, want)
			}
		}
		everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		if _, err := w.store.ChangePageAccess(
			w.t.Context(), w.ws, "secret", func(a *statuspage.PageAccess, _ time.Time) error {
				a.Networks = everything
				return nil
			},
		); err == nil {
			w.t.Error("a network may contain all addresses")
		}
	})
}

// TestMembersOfPrivatePage: who is signed in to the dashboard, as a member of the workspace, sees the page at the
// address of the installation.
func TestMembersOfPrivatePage(t *testing.T) {
	const own = secretDomain
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.domain("secret", own)
		w.see("secret", statuspage.VisibilityPrivate)
		counts := true
		cookie := w.signInMember(&counts)
		if rec := w.do("GET", "/status/secret", cookie...); rec.Code != 200 {
			w.t.Errorf("a member gets %d", rec.Code)
		}
		counts = false
		if rec := w.do("GET", "/status/secret", cookie...); rec.Code != 403 {
			w.t.Errorf("a member whose session does not count gets %d", rec.Code)
		}
		counts = true
		rec := w.at(own, "GET", "/", cookie...)
		if rec.Code != 403 || !strings.Contains(rec.Body.String(), "http://localhost:8080/admin/visit/secret") {
			w.t.Errorf("a member at the domain gets %d %s", rec.Code, rec.Body)
		}
		other, _ := storetest.Workspace(w.t, w.store, "other")
		p, err := w.store.CreatePage(w.t.Context(), other, resource.Page.From(statuspage.Page{
			Name: "Other", Slug: "other", Visibility: statuspage.VisibilityPrivate,
		}))
		must(w, p, err)
		p, err = w.store.ChangePageAccess(w.t.Context(), other, "other",
			func(a *statuspage.PageAccess, _ time.Time) error {
				a.Members = true
				return nil
			})
		must(w, p, err)
		for name, fields := range map[string][]string{
			"a member of another workspace": cookie, "nobody": nil, "no session": {"Cookie", "allswell=nonsense"},
		} {
			rec := w.do("GET", "/status/other", fields...)
			if rec.Code != 403 || strings.Contains(rec.Body.String(), "Other") {
				w.t.Errorf("%s gets %d %s", name, rec.Code, rec.Body)
			}
		}
		// Sessions cannot be guessed without end: at the limit, not even a right one is looked up.
		for range maxNotFoundPerAddress {
			w.do("GET", "/status/secret", "Cookie", "allswell=nonsense")
		}
		if rec := w.do("GET", "/status/secret", cookie...); rec.Code != 403 {
			w.t.Errorf("after too many guesses, a right session gets %d", rec.Code)
		}
		w.clock.move(time.Minute)
		if rec := w.do("GET", "/status/secret", cookie...); rec.Code != 200 {
			w.t.Errorf("a minute later a member gets %d", rec.Code)
		}
	})
}

// signInMember lets members see the page secret, and returns the cookie of one. counts says whether the session counts.
func (w *fixture) signInMember(counts *bool) (cookie []string) {
	w.t.Helper()
	w.site.session = func(r *http.Request) string {
		if c, err := r.Cookie("allswell"); err == nil {
			return c.Value
		}
		return ""
	}
	w.site.sessionCounts = func(*http.Request, account.SignedIn) (bool, error) { return *counts, nil }
	w.allow("secret", func(a *statuspage.PageAccess, _ time.Time) { a.Members = true })
	hash, err := password.Hash(w.t.Context(), password.Proven(fair.Workspace("w")), pagePassword)
	must(w, hash, err)
	code, err := w.store.IssueSetupCode(w.t.Context())
	must(w, code, err)
	session, err := w.store.SetUp(w.t.Context(), code,
		account.NewUser{Name: "Ada", Email: "ada@example.com", PasswordHash: hash}, store.Browser{})
	must(w, session, err)
	return []string{"Cookie", "allswell=" + session}
}

// TestChangedPasswordEndsStreams: open event streams of a private page end when its password changes.
func TestChangedPasswordEndsStreams(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.see("secret", statuspage.VisibilityPrivate)
		key := w.newLink("secret")
		o := listen(w.t, serveLive(w).URL+"/status/secret/events?key="+key)
		if m := o.next(); m == nil {
			w.t.Fatal("no stream")
		}
		w.newLink("secret")
		for m := o.next(); m != nil; m = o.next() {
			if m["event"] == "change" {
				w.t.Errorf("the stream goes on: %v", m)
			}
		}
	})
}

// confirmOnly confirms the only subscription to a page.
func (w *fixture) confirmOnly(slug string) {
	w.t.Helper()
	if _, err := w.store.ProcessSignUps(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	subs, _, err := w.store.Subscribers(w.t.Context(), w.ws, slug, store.SubscriberFilter{},
		store.Pagination{Page: 1, PerPage: 10})
	if must(w, subs, err); len(subs) != 1 {
		w.t.Fatalf("%d subscribers", len(subs))
	}
	w.clock.move(time.Second)
	if _, err := w.store.ConfirmSubscription(w.t.Context(), slug, subs[0].Key); err != nil {
		w.t.Fatal(err)
	}
}

// eventMessages reports an incident on a page, and returns how many messages about events of the page are queued.
func (w *fixture) eventMessages(slug string) (n int) {
	w.t.Helper()
	w.incident(slug, statuspage.Incident{Title: "Secret incident"}, "")
	if _, err := w.store.FanOut(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	log, _, err := w.store.Deliveries(w.t.Context(), w.ws, slug, store.DeliveryFilter{},
		store.Pagination{Page: 1, PerPage: 10})
	for _, d := range must(w, log, err) {
		if d.Purpose == audience.PurposeEvent {
			n++
		}
	}
	return n
}

// TestSignUpBeforeThePageWasPrivate: who has subscribed while everybody could see a page gets no events of it while it
// is private.
func TestSignUpBeforeThePageWasPrivate(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		if rec := w.send("/status/acme/subscribe", "email=grace@example.com"); rec.Code != 200 {
			w.t.Fatalf("a visitor subscribes: %d %s", rec.Code, rec.Body)
		}
		w.confirmOnly("acme")
		w.see("acme", statuspage.VisibilityPrivate)
		if n := w.eventMessages("acme"); n != 0 {
			w.t.Errorf("%d messages about events of a private page", n)
		}
		w.see("acme", statuspage.VisibilityUnlisted)
		if n := w.eventMessages("acme"); n != 1 {
			w.t.Errorf("%d messages about events of the page that everyone can see again", n)
		}
	})
}

// TestSignUpOnPrivatePage: who may see a private page may subscribe to it, and gets its events.
func TestSignUpOnPrivatePage(t *testing.T) {
	run(t, func(w *fixture) {
		w.site.mail = true
		w.secretPage("secret")
		w.see("secret", statuspage.VisibilityPrivate)
		w.protect("secret", pagePassword)
		visit := visitOf(w.t, w.enter("localhost:8080", "/status/secret/access", pagePassword))
		m := mailFixture{fixture: w}
		if rec := m.send("/status/secret/subscribe", "email=grace@example.com"); rec.Code != 403 {
			w.t.Errorf("a stranger subscribes: %d", rec.Code)
		}
		if rec := m.send("/status/secret/subscribe", "email=grace@example.com", "Cookie", visit); rec.Code != 200 {
			w.t.Fatalf("a visitor subscribes: %d %s", rec.Code, rec.Body)
		}
		w.confirmOnly("secret")
		if n := w.eventMessages("secret"); n != 1 {
			w.t.Errorf("%d messages about events", n)
		}
	})
}
