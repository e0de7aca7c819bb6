// Package browser looks at the public pages with Chromium.
package browser

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png" // of screenshots
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// keepScreenshots is the environment variable that names a folder which the
// screenshots are written to, for looking at them.
const keepScreenshots = "ALLSWELL_SCREENSHOTS"

const token = "browser-test-token-0123456789abcdef"

// views are the screens that every page has to fit.
var views = []view{
	{name: "320", width: 320, height: 640},
	{name: "320-dark", width: 320, height: 640, dark: true},
	{name: "1280", width: 1280, height: 800},
	{name: "1280-dark", width: 1280, height: 800, dark: true},
	{name: "1280-without-script", width: 1280, height: 800, noScript: true},
}

// someViews are those on which the short form of the tests looks at pages: both widths, both schemes, and no script.
var someViews = func() []view {
	if full {
		return views
	}
	return []view{views[3], {name: "320-without-script", width: 320, height: 640, noScript: true}}
}()

// markup would run, and be seen to have run, if anything were not escaped.
const markup = `</title><script>document.title="broken"</script><img src=x onerror="document.title='broken'">`

var longWord = strings.Repeat("Donaudampfschifffahrt", 10)

// TestPagesInABrowser fills a page with what operators type, the unfriendly
// included, and looks at every kind of public page on every screen.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	server := binary.NewServer(t, program(t),
		"ALLSWELL_DATABASE="+storetest.SQLite(t), "ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	paths := fill(t, binary.NewClient(server.URL, token))
	p := c.open(t, views[0], "about:blank")
	for _, v := range someViews {
		for kind, path := range paths {
			t.Run(kind+"/"+v.name, func(t *testing.T) {
				p.visit(t, v, server.URL+path)
				look(p, v, kind)
			})
		}
	}

	t.Run("banner", func(t *testing.T) {
		p.visit(t, views[0], server.URL+paths["page"])
		if got := eval[string](p, `document.querySelector("#banner").innerText`); got != "Major system outage" {
			t.Errorf("the banner says %q", got)
		}
		text := eval[string](p, `document.body.innerText`)
		for _, want := range []string{
			"Checkout", "Major Outage", "Degraded Performance", "Cards are refused", "We are on it.", longWord, markup,
			"شبكة",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not say %.60q", want)
			}
		}
	})
}

// fill makes a page and returns what there is to look at.
func fill(t *testing.T, c *binary.Client) map[string]string {
	type params = map[string]any
	type made struct{ ID string }
	c.Must(t, "POST", "/api/v1/pages",
		params{"name": "Acme " + markup, "slug": "acme", "description": "What we run. " + longWord}, nil)
	c.Must(t, "POST", "/api/v1/pages", params{"name": "Nothing yet", "slug": "empty"}, nil)
	var group, checkout, upcoming, running binary.Data[made]
	c.Must(t, "POST", "/api/v1/pages/acme/groups", params{"name": "Shop " + markup}, &group)
	c.Must(t, "POST", "/api/v1/pages/acme/components",
		params{"name": "Checkout", "description": "Cards and invoices", "group": group.Data.ID}, &checkout)
	for _, component := range []params{
		{"name": "Basket", "status": "operational", "group": group.Data.ID},
		{"name": longWord, "status": "degraded_performance"},
		{"name": markup, "status": "unknown", "description": markup},
		{"name": "شبكة التوصيل", "status": "maintenance"},
		{"name": "Search", "status": "partial_outage"},
		{"name": "Mail"},
	} {
		c.Must(t, "POST", "/api/v1/pages/acme/components", component, nil)
	}
	var first binary.Data[made]
	c.Must(t, "POST", "/api/v1/pages/acme/incidents", params{"title": "Cards are refused", "impact": "critical",
		"message":    "We are looking.\n\n- one\n- two\n\n> quoted `code` [link](https://example.com/)",
		"components": []params{{"id": checkout.Data.ID, "status": "major_outage"}}}, &first)
	c.Must(t, "POST", "/api/v1/incidents/"+first.Data.ID+"/updates", params{"message": "We are on it.\n\n" + longWord},
		nil)
	c.Must(t, "POST", "/api/v1/pages/acme/incidents", params{"title": markup, "impact": "minor", "message": markup},
		nil)
	c.Must(t, "POST", "/api/v1/pages/acme/incidents",
		params{"title": longWord, "state": "resolved", "message": "It was nothing."}, nil)
	at := func(d time.Duration) string { return kernel.FormatTime(time.Now().Add(d)) }
	c.Must(t, "POST", "/api/v1/pages/acme/maintenances",
		params{"title": "Database upgrade " + longWord, "message": "**An hour** without orders. " + markup,
			"scheduled_for": at(48 * time.Hour), "scheduled_until": at(49 * time.Hour),
			"components": []string{checkout.Data.ID}}, &upcoming)
	c.Must(t, "POST", "/api/v1/pages/acme/maintenances",
		params{"title": "New disks", "scheduled_for": at(-time.Minute), "scheduled_until": at(26 * time.Hour)},
		&running)
	c.Must(t, "PATCH", "/api/v1/pages/acme", params{"accent": "#ffe600", "time_zone": "Europe/Berlin",
		"footer_links": []params{
			{"label": markup[:60], "url": "https://example.com/?a=1&b=2"},
			{"label": "Mail", "url": "mailto:help@example.com"},
		}}, nil)
	return map[string]string{
		"page":        "/status/acme",
		"german":      "/status/acme?lang=de",
		"arabic":      "/status/acme?lang=ar",
		"history":     "/status/acme/history",
		"incident":    "/status/acme/incidents/" + first.Data.ID,
		"maintenance": "/status/acme/maintenances/" + upcoming.Data.ID,
		"running":     "/status/acme/maintenances/" + running.Data.ID + "?lang=ar",
		"component":   "/status/acme/components/" + checkout.Data.ID,
		"empty":       "/status/empty",
		"list":        "/",
	}
}

// look holds one loaded page to what every page of ours is held to, and shows
// what it looks like.
func look(p *tab, v view, name string) {
	p.t.Helper()
	for _, fault := range faults(p, v) {
		p.t.Error(fault)
	}
	dir := os.Getenv(keepScreenshots)
	png := p.screenshot(dir != "")
	img, _, err := image.Decode(bytes.NewReader(png))
	if err != nil {
		p.t.Fatal(err)
	}
	if got := colours(img); got < 3 {
		p.t.Errorf("the screenshot has %d colours: nothing to see", got)
	}
	if dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+"-"+v.name+".png"), png, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// faults returns what is wrong with a loaded page.
func faults(p *tab, v view) []string {
	p.t.Helper()
	var found []string
	fault := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	page := eval[struct {
		Title, Lang, Faint, Home string
		Headings, Mains, Width   int
	}](p,
		`({title: document.title, lang: document.documentElement.lang, headings: document.querySelectorAll("h1").length,
		mains: document.querySelectorAll("main").length, width: document.documentElement.scrollWidth, faint: `+faint+
			`, home: location.origin})`)
	if page.Title == "" || page.Title == "broken" {
		fault("the title is %q", page.Title)
	}
	if page.Lang == "" {
		fault("the page has no language")
	}
	if page.Headings > 1 {
		fault("%d first headings", page.Headings)
	}
	if page.Mains != 1 {
		fault("%d main regions, want 1", page.Mains)
	}
	if page.Width > v.width {
		fault("the page is %d pixels wide on a screen of %d: %v", page.Width, v.width, eval[[]string](p, tooWide))
	}
	if page.Faint != "" {
		fault("too little contrast: %s", page.Faint)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, url := range p.requests {
		if !strings.HasPrefix(url, page.Home+"/") && !strings.HasPrefix(url, "data:") {
			fault("the page asked another host: %s", url)
		}
	}
	return append(found, p.problems...)
}

// tooWide names the elements that stick out on the right.
const tooWide = `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
	.slice(0, 5).map(e => e.tagName + "." + e.className)`

// faint names the first text whose contrast with what is behind it is below
// WCAG 2.2 AA (4.5; 3 for large text). Backgrounds that are not one opaque
// colour are passed over.
const faint = `(() => {
	const parse = c => { const m = c.match(/^rgba?\(([^)]+)\)$/); return m && m[1].split(/[ ,\/]+/).map(Number) };
	const light = ([r, g, b]) => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
		return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b) };
	const grounds = new Map(), ground = e => {
		if (!e) return null;
		if (!grounds.has(e)) {
			const s = getComputedStyle(e), c = parse(s.backgroundColor), solid = c?.[3] ?? 1;
			grounds.set(e, s.backgroundImage !== "none" || !c || (solid > 0 && solid < 1) ? "mixed" : solid === 1 ? c : ground(e.parentElement));
		}
		return grounds.get(e);
	};
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; node = walker.nextNode();) {
		const e = node.parentElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
		if (!node.data.trim() || !e.checkVisibility({opacityProperty: true, visibilityProperty: true}) || box.right < 0 || box.bottom < 0) continue;
		const ink = parse(style.color);
		if (!ink || (ink[3] ?? 1) < 1) continue;
		const behind = ground(e);
		if (!behind || behind === "mixed") continue;
		const [a, b] = [light(ink), light(behind)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
		const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
		if (ratio < (large ? 3 : 4.5)) return ratio.toFixed(2) + " for " + JSON.stringify(node.data.trim().slice(0, 40)) + " in " + style.color + " on " + behind;
	}
	return "";
})()`

// colours counts the colours of an image, up to three.
func colours(img image.Image) int {
	seen := map[[3]uint32]bool{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += 2 {
		for x := b.Min.X; x < b.Max.X && len(seen) < 3; x += 2 {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}

// TestFaultsAreFound runs the checks of a page on one that has every fault they look for.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w,
			`<!doctype html><h1>One</h1><h1>Two</h1><p style="width: 2000px; color: #999; background: #fff">Faint and wide</p>
			<img src="/missing.png"><img src="http://localhost:1/elsewhere.png">
			<script>console.error("console"); undefinedFunction()</script>`)
	}))
	t.Cleanup(server.Close)
	got := strings.Join(faults(newBrowser(t).open(t, views[0], server.URL+"/"), views[0]), "\n")
	for _, want := range []string{
		"the title is", "no language", "2 first headings", "0 main regions", "pixels wide on a screen of 320",
		"too little contrast: 2.85", "/missing.png answered 404", "another host: http://localhost:1/elsewhere.png",
		"a request failed", "console: error", "script: Uncaught",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not seen: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("seen:\n%s", got)
	}
}

// TestDemoInABrowser starts what a newcomer starts, and opens the first address
// that it prints.
func TestDemoInABrowser(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	demo := binary.NewDemo(t, program(t))
	demo.Launch()
	p := c.open(t, views[2], demo.FirstAddress())
	look(p, views[2], "demo")
	banner := eval[string](p, `document.querySelector("#banner").innerText`)
	sentences := []string{"All systems operational", "Under maintenance", "Some systems are degraded",
		"Partial system outage", "Major system outage", "Status unknown", "All components operational"}
	if !slices.Contains(sentences, banner) {
		t.Errorf("the demo's banner says %q", banner)
	}
	if got := eval[int](p, `document.querySelectorAll("ul.components li").length`); got == 0 {
		t.Error("the demo shows no components")
	}
	if !eval[bool](p, `document.querySelector("a[href$='subscribe#sms']") !== null`) {
		t.Error("the demo does not offer SMS")
	}
	if err := demo.Stop(); err != nil {
		t.Errorf("the demo was interrupted and exited with: %v", err)
	}
}

// TestThemeIsKept checks that the choice between light and dark is applied immediately and on other pages, and that
// there is no choice without a script.
func TestThemeIsKept(t *testing.T) {
	c := newBrowser(t)
	page, component := troubled(t)
	const dark = `(getComputedStyle(document.body).backgroundColor === "rgb(14, 18, 23)")`
	p := c.open(t, views[2], page)
	p.is(`!`+dark, `document.querySelector(".theme [aria-pressed=true]").value === ""`)
	eval[any](p, `document.querySelector(".theme [value=dark]").click()`)
	p.is(dark, `document.querySelector(".theme [aria-pressed=true]").value === "dark"`)
	for _, url := range []string{component, page + "/nothing"} {
		p.do("Page.navigate", params{"url": url}, nil)
		p.eventually(fmt.Sprintf(`location.href === %q && document.readyState === "complete"`, url))
		p.is(dark)
	}
	eval[any](p, `document.querySelector(".theme [value='']").click()`)
	p.is(`!` + dark)
	p = c.open(t, views[4], page)
	p.is(`!document.querySelector(".theme").checkVisibility()`)
}

// TestLeadIncident checks that a page with an incident leads with it, and shows nothing green and large.
func TestLeadIncident(t *testing.T) {
	c := newBrowser(t)
	server, client := serveAcme(t)
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Checkout"}, nil)
	const height = `document.querySelector(".banner").getBoundingClientRect().height`
	p := c.open(t, views[0], "about:blank")
	for _, v := range []view{views[0], views[2], views[4]} {
		p.visit(t, v, server.URL+"/status/acme")
		p.is(height+` <= 72`, height+` >= 48`)
	}
	client.Must(t, "POST", "/api/v1/pages/acme/incidents",
		params{"title": "Cards are refused", "impact": "critical", "message": "We are looking."}, nil)
	client.Must(t, "POST", "/api/v1/pages/acme/incidents",
		params{"title": "Slow", "impact": "minor", "message": "A little."}, nil)
	for _, v := range []view{views[0], views[3], views[4]} {
		p.visit(t, v, server.URL+"/status/acme")
		p.is(`document.querySelector("main > :first-child #lead").textContent === "Cards are refused"`,
			`document.querySelector(".lead").innerText.includes("We are looking.")`,
			`document.querySelector("#banner").textContent === "All components operational"`,
			`document.querySelector(".overall").getBoundingClientRect().height < 60`,
			`!document.querySelector(".banner.tone-ok, .lead.tone-ok")`,
			`document.querySelector(".incident h3").textContent === "Slow"`)
		look(p, v, "lead")
	}
}
