package browser

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// openHurried opens a page on which time passes forty times as fast.
func (c *browser) openHurried(t *testing.T, v view, url string) *tab {
	t.Helper()
	p := c.open(t, v, "about:blank")
	p.do("Page.addScriptToEvaluateOnNewDocument", params{"source": hurryClock(40)}, nil)
	p.do("Page.navigate", params{"url": url}, nil)
	p.eventually(`document.readyState === "complete" && document.querySelector("[aria-live]") !== null`)
	return p
}

// looksRight is look for a page whose service does not answer as it should. The browser complains about that.
func (p *tab) looksRight(v view, name string) {
	p.t.Helper()
	for _, fault := range faults(p, v) {
		if !strings.Contains(fault, " answered ") && !strings.HasPrefix(fault, "a request failed") &&
			!strings.HasPrefix(fault, "log: Failed to load") {
			p.t.Error(fault)
		}
	}
	if dir := os.Getenv(keepScreenshots); dir != "" {
		p.do("Page.bringToFront", nil, nil) // what is behind is not painted
		if err := os.WriteFile(filepath.Join(dir, name+"-"+v.name+".png"), p.screenshot(true), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// muffled is the body of an event stream that lets nothing through while silent is true.
type muffled struct {
	io.ReadCloser
	silent *atomic.Bool
}

func (m muffled) Read(p []byte) (int, error) {
	for {
		n, err := m.ReadCloser.Read(p)
		if err != nil || !m.silent.Load() {
			return n, err
		}
	}
}

// TestPageFollowsDespiteDeadStream checks that a page shows changes although its event stream is
// open and silent.
func TestPageFollowsDespiteDeadStream(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	server, client := serveAcme(t)
	var website binary.Data[struct{ ID string }]
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Website"}, &website)

	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var silent atomic.Bool
	var streams atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // streams end when the page closes them
	proxy.ModifyResponse = func(res *http.Response) error {
		if res.Header.Get("Content-Type") == "text/event-stream" {
			streams.Add(1)
			res.Body = muffled{res.Body, &silent}
		}
		return nil
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)

	p := c.openHurried(t, views[2], front.URL+"/status/acme")
	eval[any](p, `window.same = true`)
	for _, quiet := range []bool{true, true, false} {
		silent.Store(quiet)
		before := streams.Load()
		for _, status := range []string{"major_outage", "operational"} {
			client.Must(t, "PATCH", "/api/v1/pages/acme/components/"+website.Data.ID, params{"status": status}, nil)
			banner := map[string]string{
				"major_outage": "Major system outage", "operational": "All systems operational",
			}[status]
			p.eventually(`document.querySelector("#banner").innerText === "` + banner + `"`)
		}
		if quiet && streams.Load() == before {
			t.Error("no other stream was asked for")
		}
	}
	p.is(`window.same`)
}

// openPage is a page that a visitor left open, and what it says when it cannot be refreshed.
type openPage struct {
	*tab
	view       view
	name       string
	late, gone string
}

// TestOpenPageMarksOldData leaves pages open while the service stops, starts again, and no
// longer has the page. They say since when they have not been refreshed.
func TestOpenPageMarksOldData(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	server := binary.NewServer(t, program(t),
		"ALLSWELL_DATABASE="+storetest.SQLite(t), "ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	client := binary.NewClient(server.URL, token)
	var page binary.Data[struct{ ID string }]
	makePage := func() {
		client.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, &page)
		client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Website"}, nil)
	}
	makePage()
	var all []openPage
	for i, words := range []openPage{
		{name: "en", late: "Updates are delayed.", gone: "This page no longer exists."},
		{name: "ar", late: "التحديثات متأخرة.", gone: "لم تعد هذه الصفحة موجودة."},
		{name: "de", late: "Aktualisierungen verzögern sich.", gone: "Diese Seite gibt es nicht mehr."},
		{name: "en", late: "Updates are delayed.", gone: "This page no longer exists."},
	} {
		words.view = views[i]
		words.tab = c.openHurried(t, views[i], server.URL+"/status/acme?lang="+words.name)
		eval[any](words.tab, `window.same = true, window.heading = document.title`)
		all = append(all, words)
	}
	const wellAgain = `window.same && !document.querySelector("main > .late") && document.title === heading &&
		document.querySelector("#banner").checkVisibility() && document.querySelector("#as-of").checkVisibility() &&
		document.querySelector("[aria-live]").textContent.indexOf(document.querySelector("#banner").textContent) !== 0`

	for _, p := range all {
		p.eventually(wellAgain)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		p.admits(t, "stale", p.late)
		p.is(`document.querySelector("#banner").checkVisibility()`)
	}
	server.Start()
	for _, p := range all {
		p.eventually(wellAgain)
	}
	client.Must(t, "DELETE", "/api/v1/pages/acme", nil, nil)
	for _, p := range all {
		p.admits(t, "gone", p.gone)
		p.is(`!document.querySelector("#banner").checkVisibility()`,
			`!document.querySelector("main").innerText.includes("Website")`)
	}
	makePage()
	for _, p := range all {
		p.eventually(wellAgain)
	}
}

// admits checks that a page says since when it has not been refreshed, or that it no longer exists.
func (p openPage) admits(t *testing.T, name, words string) {
	t.Helper()
	p.eventually(`document.querySelector("main > .late")?.textContent.startsWith("` + words + `") ?? false`)
	p.eventually(`document.querySelector("[aria-live]").textContent === document.querySelector("main > ` +
		`.late").textContent`)
	p.is(`!document.querySelector("#as-of").checkVisibility()`,
		`document.title.startsWith("`+words+`") && document.title.length < "`+words+`".length + 10`, `window.same`,
		`!document.querySelector("main").innerText.includes("{")`,
		`document.querySelectorAll("main .late").length === 1`)
	p.looksRight(p.view, name+"-"+p.name)
}
