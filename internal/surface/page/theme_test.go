package page

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"github.com/allswell/allswell/internal/surface/web"
)

func TestPageWithoutTheme(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		p := w.get("/status/acme", 200)
		if len(p.All("img"))+len(p.All("link[rel=stylesheet][href*=look]")) != 0 ||
			!strings.HasPrefix(p.All("link[rel=icon]")[0].Attr("href"), "/assets/icon-") {
			t.Error("a page without a theme has a picture or a style sheet")
		}
	})
}

// themeLogo is a logo with a script, which no browser may run.
var themeLogo = []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)

const themeAccent = "#ffee00"

// theme gives the page an accent, a footer, logos and an icon.
func (w *fixture) theme() {
	w.t.Helper()
	page, err := w.store.ChangePage(w.t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
		p.Accent, p.Footer = themeAccent, []statuspage.FooterLink{
			{Label: "Imprint", URL: "https://acme.example/imprint"},
		}
		return nil
	})
	must(w, page, err)
	for _, image := range []statuspage.PageImage{
		{Kind: statuspage.ImageLogo, Type: "image/svg+xml", Name: "0123456789abcdef.svg", Body: themeLogo},
		{
			Kind: statuspage.ImageLogoDark, Type: "image/png", Name: "00112233aabbccdd.png",
			Body: []byte("\x89PNG dark"),
		},
		{
			Kind: statuspage.ImageIcon, Type: "image/png", Name: "fedcba9876543210.png",
			Body: []byte("\x89PNG picture"),
		},
	} {
		page, err = w.store.SetPageImage(w.t.Context(), w.ws, "acme", image)
		must(w, page, err)
	}
}

func TestTheme(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.theme()
		p := w.get("/status/acme", 200)
		logo := p.All("h1 img")
		if len(logo) != 2 || logo[0].Attr("alt") != "Acme" ||
			logo[0].Attr("src") != "/status/acme/look/0123456789abcdef.svg" {
			t.Fatalf("%d logos", len(logo))
		}
		a := p.All("footer a[rel=noopener]")
		if len(a) != 1 || a[0].Text() != "Imprint" || a[0].Attr("href") != "https://acme.example/imprint" {
			t.Error("the link in the footer is missing")
		}
		rec := w.do("GET", logo[0].Attr("src"))
		h := rec.Header()
		if rec.Code != 200 || !bytes.Equal(rec.Body.Bytes(), themeLogo) ||
			h.Get("Content-Type") != "image/svg+xml" || h.Get("Cache-Control") != web.CacheForever ||
			h.Get("Content-Security-Policy") != string(web.PolicyImage) ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the logo: %d %v", rec.Code, h)
		}
		dark := logo[1]
		if dark.Attr("class") != "logo on-dark" || dark.Attr("src") != "/status/acme/look/00112233aabbccdd.png" ||
			w.do("GET", dark.Attr("src")).Body.String() != "\x89PNG dark" {
			t.Errorf("the dark logo: %v", dark)
		}
		icon := p.All("link[rel=icon]")[0].Attr("href")
		rec = w.do("GET", icon)
		if rec.Code != 200 || rec.Header().Get("Content-Type") != "image/png" ||
			icon != "/status/acme/look/fedcba9876543210.png" {
			t.Errorf("the icon %s: %d", icon, rec.Code)
		}
		sheets := p.All("link[rel=stylesheet]")
		style := sheets[len(sheets)-1].Attr("href")
		rec = w.do("GET", style)
		if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/css; charset=utf-8" ||
			rec.Body.String() != string(assets.AccentDocument(themeAccent).Body()) ||
			rec.Header().Get("Cache-Control") != web.CacheForever {
			t.Errorf("the style %s: %d %v", style, rec.Code, rec.Header())
		}
	})
}

func TestPartsOfThemeThatDoNotExist(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.theme()
		for _, path := range []string{
			"", "nope", "style.css", "style.0123456789abcdef.css", "0123456789abcdef.png", "../history",
			"fedcba9876543210.png/",
		} {
			w.get("/status/acme/look/"+path, 404)
		}
		w.page("beta", "Beta")
		w.get("/status/beta/look/0123456789abcdef.svg", 404)
		page, err := w.store.DeletePageImage(t.Context(), w.ws, "acme", statuspage.ImageLogo)
		must(w, page, err)
		w.get("/status/acme/look/0123456789abcdef.svg", 404)
		if got := w.get("/status/acme", 200).One(t, "h1"); got != "Acme" {
			t.Errorf("without a logo its heading is %q", got)
		}
	})
}

// TestImageUnderItsNameOnly: an image that was replaced between a request and its answer is not sent, and so not cached
// for ever, under the name of the old image.
func TestImageUnderItsNameOnly(t *testing.T) {
	run(t, func(w *fixture) {
		image := statuspage.PageImage{
			Kind: statuspage.ImageLogo, Type: "image/png", Name: "0123456789abcdef.png", Body: []byte("png"),
		}
		page, err := w.store.SetPageImage(t.Context(), w.ws, "acme", image)
		must(w, page, err)
		w.get("/status/acme", 200)
		e := w.site.index.Last().find("acme")
		for name, found := range map[string]bool{image.Name: true, "fedcba9876543210.png": false} {
			doc, _, err := w.site.loadImage(e, statuspage.ImageLogo, name)(t.Context())
			if (doc != nil) != found || errors.Is(err, kernel.ErrNotFound) == found {
				w.t.Errorf("%s: %v, %v", name, doc, err)
			}
		}
	})
}

// TestCustomCSS: the style sheet of a page is a file with a name of its own, after all others, and ends with its
// setting.
func TestCustomCSS(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		set := func(css string) (href string) {
			page, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
				p.CustomCSS = css
				return nil
			})
			must(w, page, err)
			rec := w.do("GET", "/status/acme")
			if strings.Contains(rec.Body.String(), "<style") ||
				rec.Header().Get("Content-Security-Policy") != string(web.PolicyPage(web.PageContent{Script: true})) {
				t.Errorf("inline style, or the policy %q", rec.Header().Get("Content-Security-Policy"))
			}
			sheets := htmltest.Parse(t, rec.Body.String()).All("link[rel=stylesheet]")
			return sheets[len(sheets)-1].Attr("href")
		}
		first, second := set(".top { color: red }"), set(".top { color: blue }")
		rec := w.do("GET", second)
		if rec.Code != 200 || rec.Body.String() != ".top { color: blue }" ||
			rec.Header().Get("Content-Type") != "text/css; charset=utf-8" ||
			rec.Header().Get("Cache-Control") != web.CacheForever ||
			rec.Header().Get("X-Content-Type-Options") != "nosniff" || rec.Header().Get("Etag") == "" {
			t.Errorf("%s: %d %v", second, rec.Code, rec.Header())
		}
		if rec := w.do("GET", first); first == second || rec.Code != 404 {
			t.Errorf("the old style sheet %s: %d", first, rec.Code)
		}
		if last := set(""); strings.Contains(last, "custom") {
			t.Errorf("the style sheet %s is still loaded", last)
		}
		set(".top { color: red }")
		w.see("acme", statuspage.VisibilityPrivate)
		if rec := w.do("GET", first); rec.Code != 404 {
			t.Errorf("the style sheet of a private page: %d", rec.Code)
		}
	})
}
