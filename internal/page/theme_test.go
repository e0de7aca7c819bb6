package page

import (
	"bytes"
	"context"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/assets"
	"github.com/allswell/allswell/internal/htmltest"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/view"
	"github.com/allswell/allswell/internal/web"
)

func TestLook(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		p := w.get("/status/acme", 200)
		if len(p.All("img"))+len(p.All("link[rel=stylesheet][href*=look]")) != 0 || !strings.HasPrefix(p.All("link[rel=icon]")[0].Attr("href"), "/assets/icon-") {
			t.Error("a plain page wears something")
		}
		accent := "#ffee00"
		page, err := w.store.ChangePage(t.Context(), w.ws, "acme", allswell.PageChange{PageSettings: allswell.PageSettings{
			Accent: &accent, Footer: &[]allswell.FooterLink{{Label: "Imprint", URL: "https://acme.example/imprint"}},
		}})
		must(w, page, err)
		svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
		for _, image := range []allswell.PageImage{
			{Kind: allswell.ImageLogo, Type: "image/svg+xml", Name: "0123456789abcdef.svg", Body: svg},
			{Kind: allswell.ImageIcon, Type: "image/png", Name: "fedcba9876543210.png", Body: []byte("\x89PNG picture")},
		} {
			page, err = w.store.SetPageImage(t.Context(), w.ws, "acme", image)
			must(w, page, err)
		}
		p = w.get("/status/acme", 200)
		logo := p.All("h1 img")
		if len(logo) != 1 || logo[0].Attr("alt") != "Acme" || logo[0].Attr("src") != "/status/acme/look/0123456789abcdef.svg" {
			t.Fatalf("%d logos", len(logo))
		}
		if a := p.All("footer a[rel=noopener]"); len(a) != 1 || a[0].Text() != "Imprint" || a[0].Attr("href") != "https://acme.example/imprint" {
			t.Error("the footer's link is missing")
		}
		rec := w.do("GET", logo[0].Attr("src"))
		if h := rec.Header(); rec.Code != 200 || !bytes.Equal(rec.Body.Bytes(), svg) || h.Get("Content-Type") != "image/svg+xml" || h.Get("Cache-Control") != web.CacheForever ||
			h.Get("Content-Security-Policy") != string(web.PolicyImage) || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the logo: %d %v", rec.Code, h)
		}
		icon := p.All("link[rel=icon]")[0].Attr("href")
		if rec := w.do("GET", icon); rec.Code != 200 || rec.Header().Get("Content-Type") != "image/png" || icon != "/status/acme/look/fedcba9876543210.png" {
			t.Errorf("the icon %s: %d", icon, rec.Code)
		}
		sheets := p.All("link[rel=stylesheet]")
		style := sheets[len(sheets)-1].Attr("href")
		rec = w.do("GET", style)
		if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/css; charset=utf-8" || rec.Body.String() != string(assets.AccentDocument(accent).Body()) || rec.Header().Get("Cache-Control") != web.CacheForever {
			t.Errorf("the style %s: %d %v", style, rec.Code, rec.Header())
		}
		for _, path := range []string{"", "nope", "style.css", "style.0123456789abcdef.css", "0123456789abcdef.png", "../history", "fedcba9876543210.png/"} {
			w.get("/status/acme/look/"+path, 404)
		}
		w.page("beta", "Beta")
		w.get("/status/beta/look/0123456789abcdef.svg", 404)
		page, err = w.store.DeletePageImage(t.Context(), w.ws, "acme", allswell.ImageLogo)
		must(w, page, err)
		w.get("/status/acme/look/0123456789abcdef.svg", 404)
		if got := w.get("/status/acme", 200).One(t, "h1"); got != "Acme" {
			t.Errorf("without its logo it is called %q", got)
		}
	})
}

// at asks for a path at a host.
func (w *world) at(host, method, path string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

func (w *world) domain(slug, domain string) {
	w.t.Helper()
	p, err := w.store.ChangePage(w.t.Context(), w.ws, slug, allswell.PageChange{PageSettings: allswell.PageSettings{Domain: &domain}})
	must(w, p, err)
}

func TestOwnDomain(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		const own = "status.acme.example"
		w.page("beta", "Beta")
		c := w.component("acme", "Website", "")
		inc := w.incident("acme", allswell.NewIncident{Title: "One", Affected: []allswell.AffectedComponent{{ComponentID: c.ID, Status: allswell.StatusDegraded}}})
		if got := htmltest.Parse(t, w.at(own, "GET", "/").Body.String()).One(t, "h1"); got != "Status pages" {
			t.Errorf("before it has a domain: %q", got)
		}
		w.domain("acme", own)
		parts := []string{"/", "/history", "/incidents/" + inc.ID, "/components/" + c.ID, "/history.atom", "/badge.svg", "/api/v2/status.json"}
		for _, host := range []string{own, "STATUS.acme.EXAMPLE:8443", own + "."} {
			for _, path := range parts {
				if rec := w.at(host, "GET", path); rec.Code != 200 {
					t.Errorf("%s%s: %d", host, path, rec.Code)
				}
			}
		}
		p := htmltest.Parse(t, w.at(own, "GET", "/").Body.String())
		htmltest.CheckPage(t, "/", p)
		if got := p.All("link[rel=canonical]")[0].Attr("href"); got != "https://"+own+"/" || p.All("main")[0].Attr("data-events") != "/events" {
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
					t.Errorf("a link leaves the domain for %s", href)
				}
			}
		}
		if seen < 10 {
			t.Errorf("%d links", seen)
		}
		for _, path := range []string{"/nope", "/status/acme", "/status/beta", "//", "/incidents", "/incidents/x", "/history/", "/look/x"} {
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

		// Elsewhere all is as it was.
		if got := w.get("/status/acme", 200).All("link[rel=canonical]")[0].Attr("href"); got != "https://"+own+"/" {
			t.Errorf("canonical %s", got)
		}
		for _, host := range []string{"", "localhost:8080", "localhost", "other.example", "acme.example", "x." + own} {
			if got := htmltest.Parse(t, w.at(host, "GET", "/").Body.String()).One(t, "h1"); got != "Status pages" {
				t.Errorf("at %q: %q", host, got)
			}
		}

		// The domain moves to another page, and away.
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
			t.Errorf("after it was deleted, the only page is not shown, but %q", got)
		}
	})
}

// TestKnownHostsAreCheap: neither at a page's own domain nor below /status/ has a
// commit to some page the list of all pages loaded again.
func TestKnownHostsAreCheap(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		const own = "status.acme.example"
		w.page("beta", "Beta")
		w.domain("acme", own)
		w.at(own, "GET", "/")
		loads, made := w.site.index.Load, 0
		w.site.index.Load = func(ctx context.Context) (*index, time.Time, error) { made++; return loads(ctx) }
		for range 5 {
			w.component("beta", "Website", allswell.StatusDegraded)
			for host, path := range map[string]string{own: "/history", "192.0.2.1:8080": "/status/acme", "localhost": "/status/beta/history"} {
				if rec := w.at(host, "GET", path); rec.Code != 200 {
					t.Errorf("%s%s: %d", host, path, rec.Code)
				}
			}
		}
		if made != 0 {
			t.Errorf("it was loaded %d times", made)
		}
		// What has changed is found nevertheless.
		w.domain("acme", "")
		w.domain("beta", "status.beta.example")
		for host, want := range map[string]string{own: "Status pages", "status.beta.example": "Beta"} {
			if got := htmltest.Parse(t, w.at(host, "GET", "/").Body.String()).One(t, "h1"); got != want {
				t.Errorf("%s shows %q", host, got)
			}
		}
	})
}

// TestInstallationIsServedAtItsOwnNames: a page whose domain has become a name of
// the installation, or that has one while no base URL is set, keeps it in the
// database and is not served there.
func TestInstallationIsServedAtItsOwnNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		const domain = "status.acme.example"
		clock := &clock{}
		for i, c := range []struct {
			hosts allswell.Hosts
			want  string
		}{
			{allswell.NewHosts("status.example"), "Acme"},
			{allswell.NewHosts("Status.Acme.example:8443"), "Status pages"},
			{allswell.NewHosts("status.example", "other.example", domain+"."), "Status pages"},
			{allswell.NewHosts("", "other.example"), "Status pages"},
			{allswell.NewHosts("status.example"), "Acme"},
		} {
			w := openAt(t, dsn, clock, c.hosts)
			if i == 0 {
				w.page("acme", "Acme")
				w.page("beta", "Beta")
				w.domain("acme", domain)
			}
			for _, host := range []string{domain, "STATUS.acme.EXAMPLE:8443", domain + "."} {
				if got := htmltest.Parse(t, w.at(host, "GET", "/").Body.String()).One(t, "h1"); got != c.want {
					t.Errorf("%d: at %s: %q, want %q", i, host, got, c.want)
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

// TestFormsAtOwnDomain subscribes and manages there.
func TestFormsAtOwnDomain(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		const own = "status.acme.example"
		w.domain("acme", own)
		if got := htmltest.Parse(t, w.at(own, "GET", "/").Body.String()).All("form")[0].Attr("action"); got != "/subscribe" {
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
			t.Fatalf("%v", w.subscribers())
		}
		path := "/subscription/" + sub.Key
		w.secret(w.at(own, "GET", path), 200, sub.Key)
		w.secret(send(path, "action=confirm", "https://"+own), 200, sub.Key)
		w.secret(send("/unsubscribe/"+sub.Key, "", "https://mail.example"), 200, sub.Key)
		if len(w.subscribers()) != 0 {
			t.Error("still subscribed")
		}
		if rec := w.at(own, "GET", "/subscribe"); rec.Code != 303 || rec.Header().Get("Location") != "/#subscribe" {
			t.Errorf("%d to %s", rec.Code, rec.Header().Get("Location"))
		}
	})
}

func TestLanguageOfAVisit(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		german, nobodys := "de", "qaa" // which no language will ever have
		for _, c := range []struct{ page, query, accept, want string }{
			{"", "", "", "en"}, {"", "", "de-AT, en;q=0.5", "de"}, {"", "?lang=ar", "de", "ar"}, {"", "?lang=" + nobodys, "ar", "ar"}, {"", "?lang=", "", "en"},
			{german, "", "", "de"}, {german, "", nobodys, "de"}, {german, "", "en", "en"}, {german, "?lang=en", "de", "en"}, {german, "?other=1", "ar", "ar"},
		} {
			page, err := w.store.ChangePage(t.Context(), w.ws, "acme", allswell.PageChange{PageSettings: allswell.PageSettings{Language: &c.page}})
			must(w, page, err)
			for _, path := range []string{"/status/acme", "/status/acme/history", "/status/acme/nope"} {
				rec := w.do("GET", path+c.query, "Accept-Language", c.accept)
				p := htmltest.Parse(t, rec.Body.String())
				if got := p.All("html")[0].Attr("lang"); got != c.want {
					t.Errorf("%+v at %s: %s", c, path, got)
				}
				if rec.Header().Get("Vary") != "Accept-Encoding, Accept-Language" {
					t.Errorf("Vary %q", rec.Header().Get("Vary"))
				}
			}
		}
		p := w.get("/status/acme/history?month=2020-11&lang=ar", 200)
		if got := p.All("header nav a")[0].Attr("href"); got != "/status/acme/history?lang=ar" {
			t.Errorf("a link to %s", got)
		}
		var addresses, want []string
		for _, l := range i18n.All() {
			want = append(want, "/status/acme/history?month=2020-11&lang="+l.Tag)
		}
		for _, a := range p.All("footer a[hreflang]") {
			addresses = append(addresses, a.Attr("href"))
			if current := a.Attr("aria-current") == "true"; current != (a.Attr("hreflang") == "ar") {
				t.Errorf("%s is current: %v", a.Attr("hreflang"), current)
			}
			if got := w.get(a.Attr("href"), 200).All("html")[0].Attr("lang"); got != a.Attr("hreflang") {
				t.Errorf("%s speaks %s", a.Attr("href"), got)
			}
		}
		if !slices.Equal(addresses, want) {
			t.Errorf("the languages are at %q, want %q", addresses, want)
		}
		if got := len(p.All("link[rel=alternate][hreflang]")); got != len(i18n.All())+1 {
			t.Errorf("%d alternates", got)
		}
	})
}

// TestVariantsShareOneLoad: a page is loaded once for all its variants, and each is
// rendered once.
func TestVariantsShareOneLoad(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		w.domain("acme", "status.acme.example")
		w.get("/status/acme", 200)
		e := w.site.index.Last().find("acme")
		w.store.Close()
		for range 2 {
			for _, l := range i18n.All() {
				for host, path := range map[string]string{"example.com": "/status/acme", "status.acme.example": "/"} {
					for _, path := range []string{path, path + "?lang=" + l.Tag} {
						rec := w.at(host, "GET", path, "Accept-Language", l.Tag)
						if got := htmltest.Parse(t, rec.Body.String()).All("html")[0].Attr("lang"); rec.Code != 200 || got != l.Tag {
							t.Errorf("%s%s: %d in %s", host, path, rec.Code, got)
						}
					}
				}
			}
		}
		if got, _ := w.site.rendered.Stats(); got != 4*len(i18n.All()) {
			t.Errorf("%d variants", got)
		}
		german := key{entry: e, kind: "status", variant: view.Variant{Language: i18n.Find("de")}}
		_, err := getRendered(t.Context(), w.site, german, &e.summary.Loads, func(context.Context) (*renderedPage, time.Time, error) {
			t.Error("the German page is rendered again")
			return nil, time.Time{}, allswell.ErrNotFound
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestVariantsAreBounded requests more than there is room for, and pages that do
// not exist.
func TestVariantsAreBounded(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		w.get("/status/acme", 200)
		_, size := w.site.rendered.Stats()
		budget := 3 * size
		w.site.rendered = w.site.newRendered(budget)
		for _, l := range i18n.All() {
			for _, path := range []string{"/status/acme", "/status/acme/nothing", "/status/acme/history?month=1999-01"} {
				for _, path := range []string{path, path + map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "lang=" + l.Tag} {
					w.do("GET", path, "Accept-Language", l.Tag)
				}
			}
			if n, bytes := w.site.rendered.Stats(); bytes > budget || n == 0 {
				t.Fatalf("%d documents of %d bytes are kept, and there is room for %d", n, bytes, budget)
			}
		}
		c := w.component("acme", "Website", allswell.StatusMajorOutage)
		for range 2 {
			for _, l := range i18n.All() {
				if got := w.do("GET", "/status/acme?lang="+l.Tag).Body.String(); !strings.Contains(got, l.Banner(allswell.StatusMajorOutage)) {
					t.Errorf("an old page in %s", l.Name)
				}
			}
		}
		w.status("acme", c.ID, allswell.StatusOperational)
		if got := w.do("GET", "/status/acme?lang=de").Body.String(); strings.Contains(got, i18n.Find("de").Banner(allswell.StatusMajorOutage)) {
			t.Error("an old page after a change")
		}
	})
}

// TestOldSnapshotsGo: nothing that is kept of a page's other parts holds what
// the page was when they were asked for.
func TestOldSnapshotsGo(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		inc := w.incident("acme", allswell.NewIncident{Title: "One"})
		for _, path := range []string{"", "?lang=de", "/nothing", "/history", "/incidents/" + inc.ID, "/components/" + c.ID, "/badge.svg", "/history.atom", "/api/v2/summary.json"} {
			w.do("GET", "/status/acme"+path)
		}
		old := weak.Make(w.site.index.Last().find("acme").summary.Last())
		w.status("acme", c.ID, allswell.StatusMajorOutage)
		w.get("/status/acme", 200)
		runtime.GC()
		runtime.GC()
		if old.Value() != nil {
			t.Error("an old snapshot is still in memory")
		}
	})
}
