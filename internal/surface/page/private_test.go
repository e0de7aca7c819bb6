package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/page/feed"
)

// see changes the visibility of a page.
func (w *fixture) see(slug string, v statuspage.Visibility) {
	w.t.Helper()
	w.set(slug, func(p *statuspage.Page) { p.Visibility = v })
}

func (w *fixture) set(slug string, change func(*statuspage.Page)) {
	w.t.Helper()
	p, err := w.store.ChangePage(w.t.Context(), w.ws, slug, func(p *statuspage.Page) error { change(p); return nil })
	must(w, p, err)
}

// token issues a token of a workspace.
func (w *fixture) token(actor kernel.Actor, scope kernel.Scope) string {
	w.t.Helper()
	issued, err := w.store.IssueToken(w.t.Context(), actor, account.NewToken{Name: "t", Scope: scope})
	return must(w, issued, err).Secret
}

// secretPage makes a page with one of everything, and returns the paths of all its parts below the
// page's own.
func (w *fixture) secretPage(slug string) (parts []string) {
	w.t.Helper()
	w.page(slug, "Secret Page")
	c := w.component(slug, "Secret Component", kernel.StatusDegraded)
	message := "Secret message"
	inc := w.incident(slug,
		statuspage.Incident{
			Title:    "Secret incident",
			Affected: []statuspage.AffectedComponent{{ComponentID: c.ID, Status: kernel.StatusDegraded}},
		},
		message)
	m := w.maintenance(slug, resource.Maintenance.From(statuspage.Maintenance{
		Title: "Secret work", ScheduledFor: w.clock.now().Add(time.Hour),
		ScheduledUntil: w.clock.now().Add(2 * time.Hour), Components: statuspage.ComponentRefs(c.ID),
	}))
	w.set(slug, func(p *statuspage.Page) { p.Accent = "#123456" })
	image := statuspage.PageImage{
		Kind: statuspage.ImageLogo, Type: "image/png", Name: "0123456789abcdef.png", Body: []byte("png"),
	}
	p, err := w.store.SetPageImage(w.t.Context(), w.ws, slug, image)
	must(w, p, err)
	return []string{
		"", "/", "/history", "/history?month=2020-11", "/incidents/" + inc.ID, "/maintenances/" + m.ID,
		"/components/" + c.ID,
		"/history.atom", "/history.rss", "/" + feed.CalendarName, "/badge.svg", "/badge.json",
		"/badge.svg?show=incidents", "/components/" + c.ID + "/badge.svg",
		"/components/" + c.ID + "/history.atom", "/events", "/subscribe", "/subscription/x", "/unsubscribe/x",
		"/subscription/" + strings.Repeat("a", 32), "/unsubscribe/" + strings.Repeat("a", 32),
		"/look/0123456789abcdef.png", "/look/accent.css",
		"/api/v2/summary.json", "/api/v2/status.json", "/api/v2/incidents.json", "/api/v2/components.json", "/nothing",
		"?lang=de",
	}
}

// sameAs checks that two responses cannot be told apart.
func sameAs(t *testing.T, what string, got, want *httptest.ResponseRecorder, hide ...string) {
	t.Helper()
	clean := strings.NewReplacer(hide...)
	if got.Code != want.Code || clean.Replace(got.Body.String()) != clean.Replace(want.Body.String()) {
		t.Errorf("%s: %d %.200q, want %d %.200q", what, got.Code, got.Body, want.Code, want.Body)
	}
	for _, h := range []http.Header{got.Header(), want.Header()} {
		for name := range h {
			a, b := clean.Replace(fmt.Sprint(got.Header()[name])), clean.Replace(fmt.Sprint(want.Header()[name]))
			if a != b {
				t.Errorf("%s: %s is %s, want %s", what, name, a, b)
			}
		}
	}
}

// TestPrivatePageDoesNotExist compares every response of a private page, at its address and at its
// own domain, with the response of an address that does not exist.
func TestPrivatePageDoesNotExist(t *testing.T) {
	t.Parallel()
	const own, unknown = "status.secret.example", "status.absent.example"
	run(t, func(w *fixture) {
		parts := w.secretPage("secret")
		w.domain("secret", own)
		for _, part := range parts { // from now on, all of it is in memory
			w.do("GET", "/status/secret"+part)
			w.at(own, "GET", "/"+strings.TrimPrefix(part, "/"))
		}
		stranger, _ := storetest.Workspace(w.t, w.store, "stranger")
		w.see("secret", statuspage.VisibilityPrivate)
		for name, fields := range map[string][]string{
			"no token": nil, "a wrong token": {"Authorization", "Bearer aw_nonsense"},
			"no scheme":                    {"Authorization", "x"},
			"a token of another workspace": {"Authorization", "Bearer " + w.token(stranger, kernel.ScopeAdmin)},
		} {
			for _, part := range parts {
				for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS"} {
					what := fmt.Sprint(method, " ", part, " with ", name)
					w.site.notFound = newNotFoundLimit(w.clock.now)
					want := w.do(method, "/status/absent"+part, fields...)
					w.site.notFound = newNotFoundLimit(w.clock.now)
					got := w.do(method, "/status/secret"+part, fields...)
					sameAs(w.t, what, got, want, "secret", "absent")
					if strings.Contains(got.Body.String(), "Secret") || got.Code == 200 {
						w.t.Errorf("%s: %d %s", what, got.Code, got.Body)
					}
					path := "/" + strings.TrimPrefix(part, "/")
					sameAs(w.t, what+" at its domain", w.at(own, method, path, fields...),
						w.at(unknown, method, path, fields...), own, unknown)
				}
			}
		}
		for _, path := range []string{"/", "/robots.txt", "/sitemap.xml"} {
			if body := w.do("GET", path).Body.String(); strings.Contains(strings.ToLower(body), "secret") {
				w.t.Errorf("%s reveals the page: %s", path, body)
			}
		}
	})
}

// TestPrivatePageWithToken: a token of the workspace sees all of the page, and no cache stores it.
func TestPrivatePageWithToken(t *testing.T) {
	run(t, func(w *fixture) {
		parts := w.secretPage("secret")
		public := map[string]*httptest.ResponseRecorder{}
		for _, part := range parts {
			public[part] = w.do("GET", "/status/secret"+part)
		}
		w.see("secret", statuspage.VisibilityPrivate)
		secret := w.token(w.ws, kernel.ScopeRead)
		for _, part := range parts {
			if part == "/events" { // needs a real connection
				continue
			}
			got := w.do("GET", "/status/secret"+part, "Authorization", "Bearer "+secret)
			if got.Code != public[part].Code {
				w.t.Errorf("%s: %d, want %d", part, got.Code, public[part].Code)
			}
			if part == "/" {
				continue // a redirect, whatever exists
			}
			h := got.Header()
			if h.Get("Cache-Control") != "private, no-store" || h.Get("X-Robots-Tag") == "" ||
				h.Get("Access-Control-Allow-Origin") != "" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				w.t.Errorf("%s: headers %v", part, h)
			}
		}
		body := w.do("GET", "/status/secret", "Authorization", "Bearer "+secret).Body.String()
		for _, want := range []string{"Secret Page", "Secret Component", "Secret incident"} {
			if !strings.Contains(body, want) {
				w.t.Errorf("the page lacks %q", want)
			}
		}
		tokens, _, err := w.store.Tokens(w.t.Context(), w.ws, store.Pagination{Page: 1, PerPage: 100})
		for _, token := range must(w, tokens, err) {
			if token.Scope == kernel.ScopeRead {
				if err := w.store.RevokeToken(w.t.Context(), w.ws, token.ID); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		if rec := w.do("GET", "/status/secret", "Authorization", "Bearer "+secret); rec.Code != 404 {
			w.t.Errorf("with a revoked token: %d", rec.Code)
		}
	})
}

// TestTokensOfOtherPages: a token that is limited to pages, or of another workspace, sees no other private page.
func TestTokensOfOtherPages(t *testing.T) {
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.page("own", "Own")
		w.see("secret", statuspage.VisibilityPrivate)
		w.see("own", statuspage.VisibilityPrivate)
		limited, err := w.store.IssueToken(w.t.Context(), w.ws, account.NewToken{
			Name: "t", Scope: kernel.ScopeRead, Limit: account.LimitTo([]string{"own"}),
		})
		bearer := "Bearer " + must(w, limited, err).Secret
		other, _ := storetest.Workspace(w.t, w.store, "other")
		stranger := "Bearer " + w.token(other, kernel.ScopeRead)
		for _, c := range []struct {
			bearer, path string
			want         int
		}{
			{bearer, "/status/own", 200}, {bearer, "/status/secret", 404}, {bearer, "/status/secret/history", 404},
			{stranger, "/status/own", 404}, {stranger, "/status/secret", 404},
		} {
			if rec := w.do("GET", c.path, "Authorization", c.bearer); rec.Code != c.want {
				w.t.Errorf("%s: %d, want %d", c.path, rec.Code, c.want)
			}
		}
	})
}

// TestPageBecomesPrivate: from the moment at which the change is acknowledged, nothing in memory is
// served, even if the index cannot be loaded again, and open streams end.
func TestPageBecomesPrivate(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		parts := w.secretPage("secret")
		url := serveLive(w).URL + "/status/secret/events"
		for _, part := range parts {
			w.do("GET", "/status/secret"+part)
		}
		o := listen(w.t, url)
		o.next()
		w.see("secret", statuspage.VisibilityPrivate)
		for m := o.next(); m != nil; m = o.next() {
			if m["event"] == "change" {
				w.t.Errorf("the stream goes on: %v", m)
			}
		}
		for _, part := range parts {
			if rec := w.do("GET", "/status/secret"+part); rec.Code == 200 {
				w.t.Errorf("%s: 200", part)
			}
		}
		w.see("secret", statuspage.VisibilityUnlisted)
		rec := w.do("GET", "/status/secret")
		if rec.Code != 200 || rec.Header().Get("X-Robots-Tag") == "" ||
			rec.Header().Get("Cache-Control") == "private, no-store" {
			w.t.Errorf("visible again: %d %v", rec.Code, rec.Header())
		}

		load := w.site.index.Load
		w.site.index.Load = func(context.Context) (*index, time.Time, error) {
			return nil, time.Time{}, errors.New("broken")
		}
		w.site.index.Last().find("secret").snapshot.Load = func(context.Context) (*snapshot, time.Time, error) {
			return nil, time.Time{}, errors.New("broken")
		}
		w.see("secret", statuspage.VisibilityPrivate)
		for _, part := range parts {
			rec := w.do("GET", "/status/secret"+part)
			if rec.Code == 200 || strings.Contains(rec.Body.String(), "Secret") {
				w.t.Errorf("%s while the index cannot be loaded: %d", part, rec.Code)
			}
		}
		w.site.index.Load = load
		w.clock.move(time.Second)
		w.get("/status/secret", 404)
		w.see("secret", statuspage.VisibilityPublic)
		w.get("/status/secret", 200)
	})
}

// TestKeyOfAnotherPage: the key of a subscription to another page shows nothing at the own domain of
// a private page.
func TestKeyOfAnotherPage(t *testing.T) {
	const own, unknown = "status.secret.example", "status.absent.example"
	run(t, func(w *fixture) {
		w.site.mail = true
		w.secretPage("secret")
		w.domain("secret", own)
		w.see("secret", statuspage.VisibilityPrivate)
		sub, err := w.store.CreateSubscriber(w.t.Context(), w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "ada@example.com", Confirmed: true}, nil)
		must(w, sub, err)
		for _, part := range []string{"/subscription/", "/unsubscribe/"} {
			got := w.at(own, "GET", part+sub.Key)
			sameAs(w.t, part, got, w.at(unknown, "GET", part+sub.Key), own, unknown)
			if got.Code != 404 || strings.Contains(got.Body.String(), "Secret") {
				w.t.Errorf("%s: %d %s", part, got.Code, got.Body)
			}
		}
	})
}

// TestKeyOfPrivatePage: the key of a subscription shows nothing of how a private page looks.
func TestKeyOfPrivatePage(t *testing.T) {
	run(t, func(w *fixture) {
		w.site.mail = true
		w.secretPage("secret")
		w.set("secret", func(p *statuspage.Page) { p.CustomCSS = ".top { color: red }" })
		sub, err := w.store.CreateSubscriber(w.t.Context(), w.ws, "secret",
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "ada@example.com", Confirmed: true}, nil)
		must(w, sub, err)
		for visibility, shown := range map[statuspage.Visibility]bool{
			statuspage.VisibilityPublic: true, statuspage.VisibilityPrivate: false,
		} {
			w.see("secret", visibility)
			for _, part := range []string{"/subscription/", "/unsubscribe/"} {
				rec := w.do("GET", "/status/secret"+part+sub.Key)
				if rec.Code != 200 || strings.Contains(rec.Body.String(), "/look/") != shown {
					w.t.Errorf("%s of a %s page: %d %s", part, visibility, rec.Code, rec.Body)
				}
			}
		}
	})
}

// TestRoot: "/" is the home page, and the list of pages only if that is switched on.
func TestRoot(t *testing.T) {
	run(t, func(w *fixture) {
		w.site.pageIndex = false
		is := func(want string) {
			w.t.Helper()
			if got := w.get("/", 200).One(w.t, "h1"); got != want {
				w.t.Errorf("/ shows %q, want %q", got, want)
			}
		}
		w.clock.move(time.Second)
		w.page("beta", "Beta")
		w.clock.move(time.Second)
		w.page("gamma", "Gamma")
		is("Acme")
		yes := true
		w.set("beta", func(p *statuspage.Page) { p.Home = yes })
		is("Beta")
		w.set("gamma", func(p *statuspage.Page) { p.Home = yes })
		is("Gamma")
		if p, err := w.store.Page(w.t.Context(), w.ws, "beta"); err != nil || p.Home {
			w.t.Errorf("two home pages: %+v, %v", p, err)
		}
		w.see("gamma", statuspage.VisibilityUnlisted)
		is("Gamma")
		w.see("gamma", statuspage.VisibilityPrivate)
		is("Acme") // as if there were no such page
		w.see("acme", statuspage.VisibilityUnlisted)
		is("Beta")
		w.site.pageIndex = true
		is("Beta") // the only public one
		w.see("acme", statuspage.VisibilityPublic)
		if got := w.get("/", 200).Texts(".pages .component"); strings.Join(got, " ") != "Acme Beta" {
			w.t.Errorf("the list: %q", got)
		}
		// The database is lost right after a page became private.
		load := w.site.list.Load
		w.site.list.Load = func(context.Context) (*pageList, time.Time, error) {
			return nil, time.Time{}, errors.New("broken")
		}
		w.see("acme", statuspage.VisibilityPrivate)
		if got := w.get("/", 200).Texts(".pages .component"); strings.Join(got, " ") != "Beta" {
			w.t.Errorf("a list that is out of date: %q", got)
		}
		w.site.list.Load = load
		w.clock.move(time.Second)
		w.see("beta", statuspage.VisibilityUnlisted)
		if got := w.do("GET", "/").Body.String(); strings.Contains(got, "Acme") || strings.Contains(got, "Beta") {
			w.t.Error("/ names a page that is not public")
		}
	})
}

// TestSubscriberOfAPrivatePage: the links in mails work without a token, and show nothing else.
func TestSubscriberOfAPrivatePage(t *testing.T) {
	run(t, func(w *fixture) {
		sub := w.subscriberOfSecret()
		m := mailFixture{fixture: w}
		for _, part := range []string{"subscription", "unsubscribe"} {
			path := "/status/secret/" + part + "/" + sub.Key
			w.showsNoSecret(part, w.do("GET", path), 200)
			w.showsNoSecret("PUT of "+part, w.do("PUT", path), 405)
		}
		path := "/status/secret/subscription/" + sub.Key
		text := w.do("GET", path).Body.String()
		if !strings.Contains(text, "All components") || strings.Contains(text, "no longer exist") {
			w.t.Errorf("a subscription to the page: %s", text)
		}
		all, _, err := w.store.Components().List(w.t.Context(), w.ws, "secret", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		must(w, all, err)
		some, err := w.store.ChangeSubscription(w.t.Context(), "secret", sub.Key, []string{all[0].ID})
		must(w, some, err)
		text = w.do("GET", path).Body.String()
		if !strings.Contains(text, "Components that this page does not show.") ||
			strings.Contains(text, "no longer exist") {
			w.t.Errorf("a subscription to components of the page: %s", text)
		}
		w.showsNoSecret("an unknown action", m.send(path, "action=dance"), 400)
		w.showsNoSecret("another site's form", m.send(path, "action=save", "Origin", "https://evil.example"), 403)
		w.showsNoSecret("a large form", m.send(path, strings.Repeat("x", maxForm+1)), 413)
		w.site.forms.subscriptions = fair.NewPool(maxSubscriptionJobs, maxWaiting)
		occupy(w.site.forms.subscriptions)
		busy := httptest.NewRecorder()
		ctx, cancel := context.WithCancel(w.t.Context())
		r := httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader("action=save"))
		r.Body = cancelAtEnd{r.Body, cancel}
		w.site.Handler().ServeHTTP(busy, r)
		w.showsNoSecret("while busy", busy, 503)
		for _, part := range []string{"", "/history", "/badge.svg", "/subscription"} {
			if rec := w.do("GET", "/status/secret"+part); rec.Code != 404 {
				w.t.Errorf("%s: %d", part, rec.Code)
			}
		}
		if rec := w.do("POST", "/status/secret/unsubscribe/"+sub.Key); rec.Code != 200 {
			w.t.Errorf("unsubscribing: %d", rec.Code)
		}
		rec := w.do("GET", "/status/secret/subscription/"+sub.Key)
		if rec.Code != 404 || strings.Contains(rec.Body.String(), "Secret") {
			w.t.Errorf("after unsubscribing: %d %s", rec.Code, rec.Body)
		}
	})
}

// subscriberOfSecret adds a subscriber to a page, which then becomes private.
func (w *fixture) subscriberOfSecret() audience.Subscriber {
	w.t.Helper()
	w.site.mail = true
	w.secretPage("secret")
	n := audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "ada@example.com", Confirmed: true}
	sub, err := w.store.CreateSubscriber(w.t.Context(), w.ws, "secret", n, nil)
	must(w, sub, err)
	w.set("secret", func(p *statuspage.Page) {
		p.Footer = []statuspage.FooterLink{{Label: "Secret footer", URL: "https://example.com/"}}
	})
	dark := statuspage.PageImage{
		Kind: statuspage.ImageLogoDark, Type: "image/png", Name: "fedcba9876543210.png", Body: []byte("dark"),
	}
	p, err := w.store.SetPageImage(w.t.Context(), w.ws, "secret", dark)
	must(w, p, err)
	w.see("secret", statuspage.VisibilityPrivate)
	return sub
}

// showsNoSecret checks the status of a response, and that it names nothing that is on the private page.
func (w *fixture) showsNoSecret(what string, rec *httptest.ResponseRecorder, status int) {
	w.t.Helper()
	if rec.Code != status || rec.Header().Get("Cache-Control") != "private, no-store" {
		w.t.Errorf("%s: %d %v", what, rec.Code, rec.Header())
	}
	for _, secret := range []string{
		"Secret Component", "Secret incident", "Secret footer", "/look/",
		assets.IconURL(kernel.StatusDegraded),
	} {
		if strings.Contains(rec.Body.String(), secret) {
			w.t.Errorf("%s shows %s: %s", what, secret, rec.Body)
		}
	}
}

// cancelAtEnd is the body of a request that is cancelled when the body has been read.
type cancelAtEnd struct {
	io.ReadCloser
	cancel func()
}

func (c cancelAtEnd) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil {
		c.cancel()
	}
	return n, err
}

func TestWellKnownPaths(t *testing.T) {
	run(t, func(w *fixture) {
		for _, host := range []string{"localhost:8080", "unknown.example"} {
			for path, typ := range map[string]string{
				"/robots.txt": "text/plain; charset=utf-8", "/favicon.ico": "image/x-icon",
			} {
				rec := w.at(host, "GET", path)
				if rec.Code != 200 || rec.Header().Get("Content-Type") != typ || rec.Body.Len() == 0 {
					w.t.Errorf("a well-known path: %s at %s: %d %v", path, host, rec.Code, rec.Header())
				}
			}
			if rec := w.at(host, "GET", "/.well-known/security.txt"); rec.Code != 404 {
				w.t.Errorf("security.txt that is not set: %d", rec.Code)
			}
		}
		w.site.security = "mailto:security@example.com"
		rec := w.do("GET", "/.well-known/security.txt")
		want := "Contact: mailto:security@example.com\nExpires: 2021-11-01T00:00:00Z\n"
		if rec.Code != 200 || rec.Body.String() != want {
			w.t.Errorf("security.txt: %d %q, want %q", rec.Code, rec.Body, want)
		}
		if rec := w.do("POST", "/robots.txt"); rec.Code != 405 {
			w.t.Errorf("POST: %d", rec.Code)
		}
	})
}

// TestTokensAreLimited: requests with tokens count towards the limits of the API, and their look-ups
// are bounded.
func TestTokensAreLimited(t *testing.T) {
	run(t, func(w *fixture) {
		w.secretPage("secret")
		w.see("secret", statuspage.VisibilityPrivate)
		bearer := "Bearer " + w.token(w.ws, kernel.ScopeRead)
		w.site.limits = limit.NewTokens(3)
		ask := func(bearer string, want int) {
			w.t.Helper()
			rec := w.do("GET", "/status/secret", "Authorization", bearer)
			if rec.Code != want || (want == 429) != (rec.Header().Get("Retry-After") == "60") {
				w.t.Errorf("a request with a token: %d %v, want %d", rec.Code, rec.Header(), want)
			}
		}
		for range 3 {
			ask(bearer, 200)
		}
		ask(bearer, 429)
		w.clock.move(time.Minute)
		ask(bearer, 200)
		for range limit.FailuresPerAddress { // as failures at the API
			w.site.limits.Failed.Take(netip.MustParseAddr("192.0.2.1"), w.clock.now())
		}
		ask("Bearer aw_nonsense", 429)
		ask(bearer, 200)
		w.site.limits = limit.NewTokens(0)
		for range maxNotFoundPerAddress {
			ask("Bearer aw_nonsense", 404)
		}
		occupy(w.site.forms.tokens)
		ask("Bearer aw_nonsense", 429)
		ask(bearer, 200) // by the other semaphore
	})
}
