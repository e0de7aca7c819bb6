package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// eventually waits until a JavaScript expression is true. The page may be left for another one meanwhile. The focus of
// a page that was just loaded moves after its next frame.
func (p *tab) eventually(expression string) {
	p.t.Helper()
	// Each question takes a millisecond of processor time, so what takes long is asked for less and less often.
	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(browserTimeout); ; pause = min(pause*5/4, 100*time.Millisecond) {
		holds, err := tryEval[bool](p, expression)
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("never true: %s (%v)\n%s", expression, err,
				eval[string](p, `document.documentElement.outerHTML`))
		}
		<-time.After(pause)
	}
}

// is holds JavaScript expressions to be true.
func (p *tab) is(expressions ...string) {
	p.t.Helper()
	for _, e := range expressions {
		if !eval[bool](p, e) {
			p.t.Errorf("not true: %s", e)
		}
	}
}

// TestChangeAppearsInOpenPage changes a component while a visitor reads the page and types.
func TestChangeAppearsInOpenPage(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	server := binary.NewServer(t, program(t),
		"ALLSWELL_DATABASE="+storetest.SQLite(t), "ALLSWELL_BOOTSTRAP_TOKEN="+token,
		"ALLSWELL_SMTP_URL=smtp://127.0.0.1:1", "ALLSWELL_MAIL_FROM=status@example.com") // nobody is there
	server.Start()
	client := binary.NewClient(server.URL, token)
	type params = map[string]any
	client.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme", "description": "What we run."}, nil)
	var website binary.Data[struct{ ID string }]
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Website"}, &website)
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Mail"}, nil)
	for _, v := range []view{views[0], views[3]} {
		t.Run(v.name, func(t *testing.T) {
			set := func(status string) {
				t.Helper()
				client.Must(t, "PATCH", "/api/v1/pages/acme/components/"+website.Data.ID, params{"status": status}, nil)
			}
			set("operational")
			p := c.open(t, v, server.URL+"/status/acme")
			noteState(p)
			set("major_outage")
			p.eventually(`document.querySelector("#banner").innerText === "Major system outage"`)
			p.is(`window.same`, `window.replaced === 1`, `document.title === "Major system outage – Acme"`,
				`document.querySelector("link[rel=icon]").href !== window.icon`,
				`document.querySelector(".subscribe").open`, `document.querySelector("#email").value === "name@exam"`,
				`document.activeElement.id === "email"`,
				`scrollY > 0 && Math.abs(seen.getBoundingClientRect().top - seenAt) < 2`,
				`document.querySelector("ul.components").innerText.includes("Major Outage")`)
			p.eventually(`/^This page was updated[.:] Major system ` +
				`outage$/.test(document.querySelector("[aria-live=polite]").textContent)`)
			var incident struct{ Data struct{ ID string } }
			client.Must(t, "POST", "/api/v1/pages/acme/incidents",
				params{"title": "Cards are refused", "impact": "critical", "message": "We are looking."}, &incident)
			defer client.Must(t, "PATCH", "/api/v1/incidents/"+incident.Data.ID, params{"resolved": true}, nil)
			p.eventually(`document.querySelectorAll("article.incident").length > incidents`)
			p.is(`document.title === "Critical impact: Cards are refused – Acme"`)
			p.is(`window.same`, `document.querySelector("#email").value === "name@exam"`,
				`document.activeElement.id === "email"`)
			look(p, v, "live")

			sameAsFresh(t, p, c.open(t, v, server.URL+"/status/acme"))
		})
	}
	t.Run("without script", func(t *testing.T) {
		p := c.open(t, views[4], server.URL+"/status/acme")
		p.mu.Lock()
		defer p.mu.Unlock()
		if slices.ContainsFunc(p.requests, func(url string) bool { return strings.HasSuffix(url, "/events") }) {
			t.Error("events were asked for")
		}
	})
}

// noteState notes what the page is before it changes, opens a form, types into it, and scrolls.
func noteState(p *tab) {
	eval[any](p, `(() => {
		window.same = true;
		window.incidents = document.querySelectorAll("article.incident").length;
		window.icon = document.querySelector("link[rel=icon]").href;
		document.querySelector(".subscribe").open = true;
		document.querySelector("#email").value = "name@exam";
		document.querySelector("#email").focus();
		scrollTo(0, 200);
		window.seen = document.elementFromPoint(innerWidth / 2, 40);
		window.seenAt = seen.getBoundingClientRect().top;
		document.addEventListener("allswell:replaced", () => { window.replaced = (window.replaced || 0) + 1; });
	})()`)
}

// sameAsFresh checks that a page has become what the server sends now.
func sameAsFresh(t *testing.T, p, fresh *tab) {
	t.Helper()
	const inside = `document.querySelector("main").innerHTML`
	if got, want := eval[string](p, inside), eval[string](fresh, inside); got != want {
		t.Errorf("the page has become\n%s\nand not\n%s", got, want)
	}
}

// stage is a page of our own making with the real script, in a browser whose
// timers run a hundred times as fast, or whose clock does.
type stage struct {
	*tab
	body    atomic.Pointer[string]
	news    chan string   // tags to tell
	refuse  atomic.Bool   // events are answered with 503
	broken  atomic.Bool   // the page is
	fetches chan struct{} // of the page, unless nobody waits for them
}

const hurryTimers = `(() => { const real = setTimeout; window.setTimeout = (f, ms) => real(f, ms / 100); })()`

// hurryClock makes all time pass faster: what is a minute to the page is not one
// to us. It remembers when what was fetched.
func hurryClock(times int) string {
	return fmt.Sprintf(`(() => {
		const { setTimeout, setInterval, fetch } = window, now = Date.now, start = now();
		window.setTimeout = (f, ms) => setTimeout(f, ms / %[1]d);
		window.setInterval = (f, ms) => setInterval(f, ms / %[1]d);
		Date.now = () => start + (now() - start) * %[1]d;
		window.fetched = [];
		window.fetch = (...args) => { fetched.push(Date.now()); return fetch(...args); };
	})()`, times)
}

func newStage(t *testing.T, c *browser, script []byte, hurry string) *stage {
	s := &stage{news: make(chan string), fetches: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case s.fetches <- struct{}{}:
		default:
		}
		if s.broken.Load() {
			http.Error(w, "<main id=main data-tag=x>Broken</main>", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, *s.body.Load())
	})
	mux.HandleFunc("/live.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(script)
	})
	mux.HandleFunc("/favicon.ico", func(http.ResponseWriter, *http.Request) {})
	over := make(chan struct{})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		if s.refuse.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %s\n\n", r.URL.Query().Get("have"))
		http.NewResponseController(w).Flush()
		alive := time.NewTicker(100 * time.Millisecond)
		defer alive.Stop()
		for {
			select {
			case <-alive.C:
				fmt.Fprint(w, "event: alive\ndata: 1\n\n")
				http.NewResponseController(w).Flush()
			case tag := <-s.news:
				fmt.Fprintf(w, "event: change\nid: %s\ndata: %s\n\n", tag, tag)
				http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			case <-over:
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(sync.OnceFunc(func() { close(over) }))
	s.show("a", "")
	s.tab = c.open(t, views[2], "about:blank")
	s.do("Page.addScriptToEvaluateOnNewDocument", params{"source": hurry}, nil)
	s.do("Page.navigate", params{"url": server.URL + "/"}, nil)
	s.eventually(`document.readyState === "complete" && document.querySelector("[aria-live]") !== null`)
	return s
}

// show makes the page be like this from now on.
func (s *stage) show(tag, main string) {
	html :=
		fmt.Sprintf(`<!doctype html><html lang="en"><head><title>Title %[1]s</title><script type="module" src="/live.js"></script></head>
<body><header>Header %[1]s</header>
<main id="main" tabindex="-1" data-events="/events" data-tag="%[1]s" data-updated="Updated: {banner}">%[2]s</main>
<footer>Footer %[1]s</footer></body></html>`, tag, main)
	s.body.Store(&html)
}

// tell changes the page and waits until it shows.
func (s *stage) tell(tag, main string) {
	s.t.Helper()
	s.show(tag, main)
	select {
	case s.news <- tag:
	case <-time.After(browserTimeout):
		s.t.Fatal("nobody listens")
	}
	s.eventually(`document.querySelector("main").dataset.tag === "` + tag + `"`)
}

func liveScript(t *testing.T) []byte {
	t.Helper()
	server := binary.NewServer(t, program(t),
		"ALLSWELL_DATABASE="+storetest.SQLite(t), "ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	binary.NewClient(server.URL, token).Must(t, "POST", "/api/v1/pages", map[string]any{"name": "Acme", "slug": "acme"},
		nil)
	get := func(path string) []byte {
		res, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(path, res.Status, err)
		}
		return body
	}
	found := regexp.MustCompile(`<script type="module" src="(/assets/page\.[^"]+)">`).FindSubmatch(get("/status/acme"))
	if found == nil {
		t.Fatal("the page has no script")
	}
	script := get(string(found[1]))
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	return script
}

// TestUpdateKeepsVisitorsState checks that what a visitor typed, opened and focused is kept when
// a page changes.
func TestUpdateKeepsVisitorsState(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	script := liveScript(t)
	s := newStage(t, c, script, hurryTimers)
	rest := `<p id="told">Chosen text.</p> <form><input name="q"><label><input type="checkbox" name="c" ` +
		`value="1">One</label></form> `
	s.tell("b",
		detailsGroup("calm", false, "1")+detailsGroup("mine", false, "1")+detailsGroup("shut", true, "1")+
			detailsGroup("gone", true, "1")+
			rest+`<a id="here" href="#">Here</a>`)
	eval[any](s.tab, `(() => {
			for (const name of ["mine", "shut"]) document.querySelector("[data-key=" + name + "] summary").click();
			document.querySelector("[name=q]").value = "typed";
			document.querySelector("[name=c]").checked = true;
			getSelection().selectAllChildren(document.querySelector("#told"));
			document.querySelector("[data-key=mine] summary").focus();
			window.kept = ["mine", "shut"].map((name) => document.querySelector("[data-key=" + name + "]"));
		})()`)
	s.eventually(`document.querySelector("[data-key=mine]").open && ` +
		`!document.querySelector("[data-key=shut]").open`)
	// Before and behind everything something comes, one goes, all change.
	s.tell("c",
		`<h2 id="banner">Bad</h2><p>New</p> `+detailsGroup("new", true, "2")+detailsGroup("calm", true, "2")+
			detailsGroup("mine", false, "2")+detailsGroup("shut", true, "2")+
			`<p id="told">Chosen text.</p> <form><input name="first"><input name="q"><label><input `+
			`type="checkbox" name="c" value="0">Zero</label></form> <a id="here" href="#">Here</a>`)
	s.is(`document.querySelector("[data-key=new]").open`, `document.querySelector("[data-key=calm]").open`,
		`document.querySelector("[data-key=mine]").open`, `!document.querySelector("[data-key=shut]").open`,
		`document.querySelector("[data-key=gone]") === null`,
		`window.kept.every((group) => group.isConnected && group.querySelector("p").innerText === "2" || `+
			`!group.open)`,
		`document.activeElement === document.querySelector("[data-key=mine] summary")`,
		`getSelection().toString() === "Chosen text."`,
		`document.querySelector("[name=q]").value === "typed"`,
		`document.querySelector("[name=c]").checked && document.querySelector("[name=c]").value === "1"`,
		`[...document.querySelectorAll("main > *")].map((e) => e.id || e.dataset.key || e.nodeName).join() === `+
			`"banner,P,new,calm,mine,shut,told,FORM,here"`,
		`document.title === "Title c"`, `document.querySelector("header").innerText === "Header c"`,
		`document.querySelector("footer").innerText === "Footer c"`)
	s.eventually(`document.querySelector("[aria-live]").textContent === "Updated: Bad"`)

	formIsTheServers(s)
	if problems := faults(s.tab, views[2]); len(problems) > 0 {
		t.Errorf("the updated screen: %v", problems)
	}
}

// TestAnyPageBecomesAnyOther shows page after page without loading.
func TestAnyPageBecomesAnyOther(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	script := liveScript(t)

	s := newStage(t, c, script, hurryTimers)
	li := func(keys ...string) string {
		out := "<ul>"
		for _, k := range keys {
			out += fmt.Sprintf("\n<li data-key=%q>%[1]s <b>%[1]s</b></li>", k)
		}
		return out + "</ul>"
	}
	for i, main := range []string{
		li("a", "b", "c"), li("c", "b", "a"), li("x", "b"), li("b", "x", "y", "z"), li("z", "a", "b", "x"), li(),
		`text`, `<p>text</p>`, `<!-- comment --><p class="x">text</p>more`,
		`<section aria-labelledby="h"><h2 id="h">H</h2></section>`,
		`<p>before</p><section aria-labelledby="h"><h2 id="h">H</h2><p dir="auto" hidden>x</p></section>`,
		`<svg viewBox="0 0 1 1"><use href="#a"/></svg>`,
		`<svg viewBox="0 0 2 2"><use href="#b"/><path d="M0 0"/></svg>`,
		`<div data-key="p"></div><p data-key="p"></p>`, `<p data-key="p"></p><div data-key="p"></div>`, ``,
	} {
		tag := fmt.Sprint("t", i)
		s.tell(tag, main)
		s.is(`document.querySelector("main").innerHTML === new DOMParser().parseFromString(` + "`<main>" + main +
			"</main>`" + `, "text/html").querySelector("main").innerHTML`)
	}
}

func detailsGroup(name string, open bool, text string) string {
	return fmt.Sprintf(`<details data-key="%s"%s><summary>%[1]s</summary><p>%[3]s</p></details> `, name,
		map[bool]string{true: " open"}[open], text)
}

// formIsTheServers checks that an unused form is what the server sends, and that the focus moves to what is left.
func formIsTheServers(s *stage) {
	eval[any](s.tab,
		`(() => { const f = document.querySelector("form"); f.reset(); document.querySelector("#here").focus(); `+
			`})()`)
	s.tell("d",
		`<p>Where it was is something else.</p><div><form><input name="second"></form><a id="here" `+
			`href="#">Here</a></div>`)
	s.is(`document.querySelector("[name=second]") !== null`, `document.activeElement.id === "here"`)
	eval[any](s.tab, `document.querySelector("#here").focus()`)
	s.tell("e", `<p>Nothing is left.</p>`)
	s.is(`document.activeElement.id === "main"`)
}

// TestPollingIgnoresErrors checks that a page without a stream polls, and keeps its content until
// a response has a page.
func TestPollingIgnoresErrors(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	s := newStage(t, c, liveScript(t), hurryClock(100))
	s.tell("b", "<p>Two</p>")
	// The stream breaks, and is not taken again.
	s.refuse.Store(true)
	s.broken.Store(true)
	eval[any](s.tab, `dispatchEvent(new Event("pagehide")), dispatchEvent(new Event("pageshow")), window.same = true`)
	s.keepsTwo()
	if got := eval[[]float64](s.tab, `fetched.slice(-2)`); got[1]-got[0] < 40_000 {
		t.Errorf("the page asks again after %.0f ms", got[1]-got[0])
	}
	s.broken.Store(false)
	other := "<!doctype html><title>Log in</title><main id=main>Log in</main>"
	s.body.Store(&other)
	s.keepsTwo()
	s.show("c", "<p>Three</p>")
	s.eventually(`document.querySelector("main").innerText === "Three"`)
	// And when streams are there again, one is taken.
	s.refuse.Store(false)
	s.tell("d", "<p>Four</p>")
	s.is(`window.same`)
}

// keepsTwo waits until the page has been fetched three times, and checks that it shows "Two" all the time.
func (s *stage) keepsTwo() {
	s.t.Helper()
	for range 3 {
		select {
		case <-s.fetches:
		case <-time.After(browserTimeout):
			s.t.Fatal("nobody asks any more")
		}
		s.is(`document.querySelector("main").innerText === "Two"`)
	}
}
