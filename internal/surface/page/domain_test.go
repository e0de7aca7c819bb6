package page

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

const ownDomain = "status.acme.example"

func TestOwnDomain(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		const own = ownDomain
		w.page("beta", "Beta")
		c := w.component("acme", "Website", "")
		inc := w.incident("acme",
			statuspage.Incident{
				Title:    "One",
				Affected: []statuspage.AffectedComponent{{ComponentID: c.ID, Status: kernel.StatusDegraded}},
			},
			"")
		if got := htmltest.Parse(t, w.at(own, "GET", "/").Body.String()).One(t, "h1"); got != "Status pages" {
			t.Errorf("before the page has a domain: %q", got)
		}
		w.domain("acme", own)
		parts := []string{
			"/", "/history", "/incidents/" + inc.ID, "/components/" + c.ID, "/history.atom", "/badge.svg",
			"/api/v2/status.json",
		}
		for _, host := range []string{own, "STATUS.acme.EXAMPLE:8443", own + "."} {
			for _, path := range parts {
				if rec := w.at(host, "GET", path); rec.Code != 200 {
					t.Errorf("the status of %s%s: %d", host, path, rec.Code)
				}
			}
		}
	})
}

func TestLinksAtOwnDomain(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		const own = ownDomain
		w.component("acme", "Website", "")
		w.incident("acme", statuspage.Incident{Title: "One"}, "")
		w.domain("acme", own)
		p := htmltest.Parse(t, w.at(own, "GET", "/").Body.String())
		htmltest.CheckPage(t, "/", p)
		got := p.All("link[rel=canonical]")[0].Attr("href")
		if got != "https://"+own+"/" || p.All("main")[0].Attr("data-events") != "/events" {
			t.Errorf("canonical %s", got)
		}
		seen := 0
		for _, a := range p.All("body a[href]") {
			if href, _, _ := strings.Cut(a.Attr("href"), "#"); strings.HasPrefix(href, "/") {
				seen++
				if rec := w.at(own, "GET", href); rec.Code != 200 {
					t.Errorf("the link %s: %d", href, rec.Code)
				}
				if strings.HasPrefix(href, "/status/") {
					t.Errorf("a link leads to %s", href)
				}
			}
		}
		if seen < 10 {
			t.Errorf("%d links", seen)
		}
	})
}

func TestUnknownPathsAtOwnDomain(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		const own = ownDomain
		w.page("beta", "Beta")
		w.domain("acme", own)
		for _, path := range []string{
			"/nope", "/status/acme", "/status/beta", "//", "/incidents", "/incidents/x", "/history/", "/look/x",
		} {
			rec := w.at(own, "GET", path)
			p := htmltest.Parse(t, rec.Body.String())
			if rec.Code != 404 || p.One(t, ".name") != "Acme" || p.All(".name a")[0].Attr("href") != "/" {
				t.Errorf("%s: %d", path, rec.Code)
			}
			htmltest.CheckPage(t, path, p)
		}
		if rec := w.at(own, "POST", "/"); rec.Code != 405 {
			t.Errorf("POST: %d", rec.Code)
		}
		if rec := w.at(own, "GET", assets.URL("style.css")); rec.Code != 200 {
			t.Errorf("the style: %d", rec.Code)
		}
	})
}

func TestOtherHostsThanOwnDomain(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		const own = ownDomain
		w.page("beta", "Beta")
		w.domain("acme", own)
		if got := w.get("/status/acme", 200).All("link[rel=canonical]")[0].Attr("href"); got != "https://"+own+"/" {
			t.Errorf("canonical %s", got)
		}
		for _, host := range []string{"", "localhost:8080", "localhost", "other.example", "acme.example", "x." + own} {
			if got := htmltest.Parse(t, w.at(host, "GET", "/").Body.String()).One(t, "h1"); got != "Status pages" {
				t.Errorf("the heading at %q: %q", host, got)
			}
		}
	})
}

// TestOwnDomainMoves moves the domain to another page, which is then deleted.
func TestOwnDomainMoves(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		const own = ownDomain
		w.page("beta", "Beta")
		inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
		w.domain("acme", own)
		w.domain("acme", "")
		w.domain("beta", own)
		if got := htmltest.Parse(t, w.at(own, "GET", "/").Body.String()).One(t, "h1"); got != "Beta" {
			t.Errorf("after it moved: %q", got)
		}
		if rec := w.at(own, "GET", "/incidents/"+inc.ID); rec.Code != 404 {
			t.Errorf("another page's incident: %d", rec.Code)
		}
		if err := w.store.DeletePage(t.Context(), w.ws, "beta"); err != nil {
			t.Fatal(err)
		}
		if got := htmltest.Parse(t, w.at(own, "GET", "/").Body.String()).One(t, "h1"); got != "Acme" {
			t.Errorf("after the deletion: %q, want the only page", got)
		}
	})
}

// TestIndexIsNotReloadedForKnownHosts checks that a commit to any page does not
// reload the index for requests at a page's own domain or below /status/.
func TestIndexIsNotReloadedForKnownHosts(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		const own = "status.acme.example"
		w.page("beta", "Beta")
		w.domain("acme", own)
		w.at(own, "GET", "/")
		load, loads := w.site.index.Load, 0
		w.site.index.Load = func(ctx context.Context) (*index, time.Time, error) { loads++; return load(ctx) }
		for range 5 {
			w.component("beta", "Website", kernel.StatusDegraded)
			for host, path := range map[string]string{
				own: "/history", "192.0.2.1:8080": "/status/acme", "localhost": "/status/beta/history",
			} {
				if rec := w.at(host, "GET", path); rec.Code != 200 {
					t.Errorf("the status of %s%s: %d", host, path, rec.Code)
				}
			}
		}
		if loads != 0 {
			t.Errorf("the index was loaded %d times", loads)
		}
		// Changed domains are found.
		w.domain("acme", "")
		w.domain("beta", "status.beta.example")
		for host, want := range map[string]string{own: "Status pages", "status.beta.example": "Beta"} {
			if got := htmltest.Parse(t, w.at(host, "GET", "/").Body.String()).One(t, "h1"); got != want {
				t.Errorf("%s shows %q", host, got)
			}
		}
	})
}

// TestHostsOfInstallation checks that a page is not served at its domain if the
// domain is a host of the installation, or if no base URL is set.
func TestHostsOfInstallation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		const domain = "status.acme.example"
		clock := &clock{}
		for i, c := range []struct {
			hosts statuspage.Hosts
			want  string
		}{
			{statuspage.NewHosts("status.example"), "Acme"},
			{statuspage.NewHosts("Status.Acme.example:8443"), "Status pages"},
			{statuspage.NewHosts("status.example", "other.example", domain+"."), "Status pages"},
			{statuspage.NewHosts("", "other.example"), "Status pages"},
			{statuspage.NewHosts("status.example"), "Acme"},
		} {
			w := openAt(t, dsn, clock, c.hosts)
			if i == 0 {
				w.page("acme", "Acme")
				w.page("beta", "Beta")
				w.domain("acme", domain)
			}
			for _, host := range []string{domain, "STATUS.acme.EXAMPLE:8443", domain + "."} {
				if got := htmltest.Parse(t, w.at(host, "GET", "/").Body.String()).One(t, "h1"); got != c.want {
					t.Errorf("the heading in case %d: at %s: %q, want %q", i, host, got, c.want)
				}
			}
			served := c.want == "Acme"
			if rec := w.at(domain, "GET", "/status/beta"); rec.Code == 200 == served {
				t.Errorf("%d: another page: %d", i, rec.Code)
			}
			canonical := w.get("/status/acme", 200).All("link[rel=canonical]")[0].Attr("href")
			if atDomain := canonical == "https://"+domain+"/"; atDomain != served {
				t.Errorf("%d: links lead to %s", i, canonical)
			}
			w.store.Close()
		}
	})
}

// TestFormsAtOwnDomain subscribes, and manages the subscription, at a page's own
// domain.
func TestFormsAtOwnDomain(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		const own = "status.acme.example"
		w.domain("acme", own)
		got := htmltest.Parse(t, w.at(own, "GET", "/").Body.String()).All("form")[0].Attr("action")
		if got != "/subscribe" {
			t.Errorf("the form is sent to %s", got)
		}
		send := func(path, body, origin string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Host = own
			r.Header.Set("Origin", origin)
			rec := httptest.NewRecorder()
			w.site.Handler().ServeHTTP(rec, r)
			return rec
		}
		w.answer(send("/subscribe", "email=eve@example.com", "https://evil.example"), 403)
		w.answer(send("/subscribe", "email=ann@example.com", "https://"+own), 200)
		sub := w.subscribers()["ann@example.com"]
		if len(w.subscribers()) != 1 || sub.Key == "" {
			t.Fatalf("the subscribers: %v", w.subscribers())
		}
		path := "/subscription/" + sub.Key
		w.secret(w.at(own, "GET", path), 200, sub.Key)
		w.secret(send(path, "action=confirm", "https://"+own), 200, sub.Key)
		w.secret(send("/unsubscribe/"+sub.Key, "", "https://mail.example"), 200, sub.Key)
		if len(w.subscribers()) != 0 {
			t.Error("still subscribed")
		}
		form := htmltest.Parse(t, w.at(own, "GET", "/subscribe").Body.String()).All("form")
		if len(form) != 2 || form[0].Attr("action") != "/subscribe" {
			t.Errorf("%d forms", len(form))
		}
	})
}

// TestHostOfPrivatePage checks that the domain of a private page is served: the handshake and the redirect to HTTPS
// come before the token of a request.
func TestHostOfPrivatePage(t *testing.T) {
	const own = "status.secret.example"
	run(t, func(w *fixture) {
		want := func(when string, served bool) {
			w.t.Helper()
			if _, got := w.site.WorkspaceOf(w.t.Context(), own); got != served {
				w.t.Errorf("%s: %v", when, got)
			}
		}
		w.page("secret", "Secret Page")
		want("before the page has a domain", false)
		w.domain("secret", own)
		want("a public page", true)
		w.see("secret", statuspage.VisibilityPrivate)
		want("a private page", true)
		if err := w.store.DeletePage(w.t.Context(), w.ws, "secret"); err != nil {
			w.t.Fatal(err)
		}
		w.at(own, "GET", "/") // loads the index again
		want("a deleted page", false)
	})
}

// TestHostOfAnotherReplica checks that a replica serves a domain that another one has just stored, before it is
// notified, and that names of strangers cause a bounded number of queries.
func TestHostOfAnotherReplica(t *testing.T) {
	t.Parallel()
	dsn, c := storetest.PostgreSQL(t), &clock{}
	a, b := open(t, dsn, c), open(t, dsn, c) // b is never notified, because its site does not run
	serves := func(host string, want bool) {
		t.Helper()
		if _, got := b.site.WorkspaceOf(t.Context(), host); got != want {
			t.Errorf("%s is served: %v", host, got)
		}
	}
	a.page("acme", "Acme")
	for _, domain := range []string{"one.acme.example", "two.acme.example"} {
		serves(domain, false)
		a.domain("acme", domain)
		serves(domain, true)
		if rec := b.at(domain, "GET", "/"); rec.Code != 200 {
			t.Errorf("%s: %d", domain, rec.Code)
		}
		c.move(time.Second)
	}
	for range maxHostLookups {
		serves("stranger.example", false)
	}
	a.domain("acme", "three.acme.example")
	serves("three.acme.example", false) // strangers have used the queries of this second
	c.move(time.Second)
	serves("three.acme.example", true)
}
