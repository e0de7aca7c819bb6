package page

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/web"
)

// newsworthy puts a component, an incident that concerns it, one that does not,
// and a planned maintenance onto the page.
func newsworthy(w *world) (c allswell.Component, inc allswell.Incident, m allswell.Maintenance) {
	w.t.Helper()
	c = w.component("acme", "Website", "")
	message := "We look into it."
	w.incident("acme", allswell.NewIncident{Title: "Elsewhere", Message: &message})
	w.clock.move(time.Minute)
	inc = w.incident("acme", allswell.NewIncident{
		Title: "It is dark", Message: &message, Affected: []allswell.AffectedComponent{{ComponentID: c.ID, Status: allswell.StatusPartialOutage}},
	})
	w.clock.move(time.Minute)
	m, err := w.store.CreateMaintenance(w.t.Context(), w.ws, "acme", allswell.NewMaintenance{
		Title: "New lamps", Message: &message, ScheduledFor: w.clock.now().Add(48 * time.Hour), ScheduledUntil: w.clock.now().Add(50 * time.Hour),
		Components: []string{c.ID},
	})
	return c, inc, must(w, m, err)
}

// ids returns the ids of a feed's entries.
func (w *world) ids(path string) (ids []string) {
	w.t.Helper()
	rec := w.do("GET", path)
	var r read
	if err := xml.Unmarshal(rec.Body.Bytes(), &r); rec.Code != 200 || err != nil {
		w.t.Fatalf("%s: %d %v", path, rec.Code, err)
	}
	for _, e := range r.Entries {
		ids = append(ids, e.ID)
	}
	for _, i := range r.Channel.Items {
		ids = append(ids, i.GUID.ID)
	}
	return ids
}

func TestMachinesAreServed(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c, _, _ := newsworthy(w)
		for path, want := range map[string][2]string{
			"/history.atom": {typeAtom, web.CacheRevalidate}, "/history.rss": {typeRSS, web.CacheRevalidate}, "/history.ics": {typeCalendar, web.CacheRevalidate},
			"/badge.svg": {typeSVG, cacheBadge}, "/badge.json": {typeJSON, cacheBadge}, "/badge.svg?label=Lamps": {typeSVG, cacheBadge},
			"/components/" + c.ID + "/history.atom": {typeAtom, web.CacheRevalidate}, "/components/" + c.ID + "/history.rss": {typeRSS, web.CacheRevalidate},
			"/components/" + c.ID + "/badge.svg": {typeSVG, cacheBadge}, "/components/" + c.ID + "/badge.json": {typeJSON, cacheBadge},
		} {
			path = "/status/acme" + path
			get, head := w.do("GET", path), w.do("HEAD", path)
			h := get.Header()
			if get.Code != 200 || h.Get("Content-Type") != want[0] || h.Get("Cache-Control") != want[1] || h.Get("Access-Control-Allow-Origin") != "*" ||
				h.Get("Cross-Origin-Resource-Policy") != "cross-origin" || h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.HasPrefix(h.Get("Content-Security-Policy"), string(web.PolicyData)) || strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
				t.Errorf("GET %s: %d %v", path, get.Code, h)
			}
			if head.Code != 200 || head.Body.Len() != 0 || fmt.Sprint(head.Header()) != fmt.Sprint(h) {
				t.Errorf("HEAD %s: %d with %v, want %v", path, head.Code, head.Header(), h)
			}
			packed := w.do("GET", path, "Accept-Encoding", "gzip")
			if want[0] != typeJSON && (packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Etag") == h.Get("Etag")) {
				t.Errorf("GET %s packed: %v", path, packed.Header())
			}
			again := w.do("GET", path, "If-None-Match", h.Get("Etag"))
			if again.Code != 304 || again.Body.Len() != 0 || again.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("GET %s again: %d %v", path, again.Code, again.Header())
			}
			if rec := w.do("POST", path); rec.Code != 405 {
				t.Errorf("POST %s: %d", path, rec.Code)
			}
		}
		for _, path := range []string{
			"/status/nope/history.atom", "/status/nope/badge.svg", "/status/acme/history.json", "/status/acme/badge.png", "/status/acme/badge.svg/", "/status/acme/history.atom/",
			"/status/acme/components/comp_00000000000000000000/history.atom", "/status/acme/components/comp_00000000000000000000/badge.svg",
			"/status/acme/components/comp_00000000000000000000/badge.json?label=x", "/status/acme/components/" + c.ID + "/history.ics",
			"/status/acme/components/nope/badge.svg", "/status/acme/components//badge.svg", "/status/acme/components/" + c.ID + "/x/badge.svg",
		} {
			w.get(path, 404)
		}
	})
}

// A feed has what concerns it, newest first, and what it has keeps its id
// wherever the page moves.
func TestFeedsOverTime(t *testing.T) {
	run(t, func(w *world) {
		t, ctx := w.t, w.t.Context()
		c, inc, m := newsworthy(w)
		of := "/components/" + c.ID
		before := w.ids("/status/acme/history.atom")
		if len(before) != 3 || before[0] != "tag:allswell,2026:"+m.ID || before[1] != "urn:uuid:"+inc.ID {
			t.Errorf("the feed has %q", before)
		}
		if got := w.ids("/status/acme/history.rss"); !slices.Equal(got, before) {
			t.Errorf("in RSS there are %q, want %q", got, before)
		}
		for _, name := range []string{"/history.atom", "/history.rss"} {
			if got := w.ids("/status/acme" + of + name); !slices.Equal(got, before[:2]) {
				t.Errorf("the component's %s has %q, want %q", name, got, before[:2])
			}
		}

		u, err := w.store.PostUpdate(ctx, w.ws, inc.ID, "It dawns.")
		must(w, u, err)
		if body := w.do("GET", "/status/acme/history.atom").Body.String(); !strings.Contains(body, "It dawns.") {
			t.Errorf("the update is not in %s", body)
		}
		slug, domain := "other", "status.acme.example"
		p, err := w.store.ChangePage(ctx, w.ws, "acme", allswell.PageChange{Slug: &slug, PageSettings: allswell.PageSettings{Domain: &domain}})
		must(w, p, err)
		w.get("/status/acme/history.atom", 404)
		if got := w.ids("/status/other/history.atom"); !slices.Equal(got, before) {
			t.Errorf("after the page has moved there are %q, want %q", got, before)
		}
		body := w.do("GET", "/status/other/history.atom").Body.String()
		if want := `<link rel="alternate" type="text/html" href="https://status.acme.example/incidents/` + inc.ID + `">`; !strings.Contains(body, want) || strings.Contains(body, "localhost") {
			t.Errorf("%s is not in %s", want, body)
		}

		if err := w.store.DeleteComponent(ctx, w.ws, "other", c.ID); err != nil {
			t.Fatal(err)
		}
		w.get("/status/other"+of+"/history.atom", 404)
		w.get("/status/other"+of+"/badge.svg", 404)
	})
}

// All that is planned is in the calendar, even if there is much of it.
func TestCalendarOverTime(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		for i := range 60 {
			from := w.clock.now().Add(time.Duration(i+1) * 24 * time.Hour)
			m, err := w.store.CreateMaintenance(t.Context(), w.ws, "acme", allswell.NewMaintenance{
				Title: fmt.Sprint("Number ", i), ScheduledFor: from, ScheduledUntil: from.Add(time.Hour),
			})
			must(w, m, err)
		}
		var titles []string
		for _, l := range readCalendar(t, w.do("GET", "/status/acme/history.ics").Body.Bytes()) {
			if l.name == "SUMMARY" {
				titles = append(titles, l.value)
			}
		}
		if len(titles) != 60 || titles[0] != "Number 0" || titles[59] != "Number 59" {
			t.Errorf("%d events: %q", len(titles), titles)
		}
	})
}

func TestBadgesOverTime(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		said := func(path string) string {
			t.Helper()
			rec := w.do("GET", "/status/acme"+path)
			if rec.Code != 200 {
				t.Fatalf("%s: %d", path, rec.Code)
			}
			return readBadge(t, rec.Body.Bytes()).texts[0]
		}
		of := "/components/" + c.ID + "/badge.svg"
		for path, want := range map[string]string{
			"/badge.svg": "Acme: Operational", of: "Website: Operational", of + "?label=Lamps&theme=dark": "Lamps: Operational",
			"/badge.svg?style=flat-square&theme=blue&x=1": "Acme: Operational", "/badge.svg?style=uptime": "Acme: Uptime: not known",
		} {
			if got := said(path); got != want {
				t.Errorf("%s says %q, want %q", path, got, want)
			}
		}
		w.clock.move(9 * time.Hour)
		w.status("acme", c.ID, allswell.StatusMajorOutage)
		w.clock.move(time.Hour)
		w.status("acme", c.ID, allswell.StatusDegraded)
		for path, want := range map[string]string{
			"/badge.svg": "Acme: Degraded", of: "Website: Degraded", of + "?label=Lamps&theme=dark": "Lamps: Degraded",
			of + "?style=uptime": "Website: 90% uptime", "/badge.svg?style=uptime&theme=light": "Acme: 90% uptime",
		} {
			if got := said(path); got != want {
				t.Errorf("%s says %q, want %q", path, got, want)
			}
		}
		if rec := w.do("GET", "/status/acme/badge.json?label=Lamps&style=uptime"); rec.Body.String() != `{"schemaVersion":1,"label":"Lamps","message":"90% uptime","color":"b3261e"}` {
			t.Errorf("for shields: %s", rec.Body)
		}

		kept, _ := w.site.rendered.Stats()
		for i := range 100 {
			if got, want := said(fmt.Sprint("/badge.svg?label=", i)), fmt.Sprint(i, ": Degraded"); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
		}
		if got, _ := w.site.rendered.Stats(); got != kept {
			t.Errorf("labels took %d places", got-kept)
		}

		w.clock.move(30 * time.Hour) // nothing happens but that time goes by
		if got := said(of + "?style=uptime"); got != "Website: 97.5% uptime" {
			t.Errorf("a day later it says %q", got)
		}
	})
}

// A browser that opens a badge by itself applies its style sheet: the policy
// names it.
func TestBadgePolicy(t *testing.T) {
	b := badge{"Acme", "Operational", "ok"}
	policy := func(theme string) string {
		rec := httptest.NewRecorder()
		b.document(badgeName, theme).ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
		return rec.Header().Get("Content-Security-Policy")
	}
	if auto := policy(""); !strings.HasPrefix(auto, string(web.PolicyData)+"; style-src 'sha256-") {
		t.Errorf("without a theme: policy %q", auto)
	}
	if dark := policy(themeDark); dark != string(web.PolicyData) {
		t.Errorf("dark: policy %q", dark)
	}
}

func TestPublicBase(t *testing.T) {
	s := &Site{base: "https://status.example.org"}
	for want, p := range map[string]allswell.Page{
		"https://status.example.org/status/acme": {Slug: "acme"}, "https://acme.example": {Slug: "acme", Host: "acme.example"},
	} {
		if got := p.URL(s.base); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// nodeClient runs a script with a package of npm, which is looked for in the
// node_modules of the directory ALLSWELL_TEST_NODE_MODULES; with
// ALLSWELL_TEST_REQUIRE_NODE=1 it must be there. The script reads input from
// stdin and writes JSON, which goes into output.
func nodeClient(t *testing.T, name, script string, input, output any) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("ALLSWELL_TEST_REQUIRE_NODE") == "1" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed")
	}
	dir := os.Getenv("ALLSWELL_TEST_NODE_MODULES")
	if dir == "" {
		missing("ALLSWELL_TEST_NODE_MODULES names no directory")
	}
	if _, err := os.Stat(dir + "/node_modules/" + name); err != nil {
		missing("npm's %s is not installed: %v", name, err)
	}
	stdin, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "-e", script)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, output); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
}

const readStdin = `
let input = "";
process.stdin.on("data", (part) => { input += part; });
process.stdin.on("end", () => main(JSON.parse(input)));
`

const feedReader = readStdin + `
const Parser = require("rss-parser");
async function main(feeds) {
  const out = [];
  for (const text of feeds) {
    const feed = await new Parser().parseString(text);
    out.push({ title: feed.title, link: feed.link, self: feed.feedUrl, items: feed.items.map((i) => ({
      id: i.id || i.guid, title: i.title, link: i.link, date: i.isoDate, html: i["content:encoded"] || i.content,
    })) });
  }
  console.log(JSON.stringify(out));
}
`

// What a well-known reader of feeds finds in both formats, with texts that are
// meant to break out.
func TestFeedsInJavaScript(t *testing.T) {
	type item struct{ ID, Title, Link, Date, HTML string }
	type found struct {
		Title, Link, Self string
		Items             []item
	}
	var feeds []string
	var want []found
	for i, s := range newsSeeds {
		f := feedOf(t, newsPage(s, newsSeeds[(i+1)%len(newsSeeds)], "Acme"), "")
		for name, write := range map[string]func() ([]byte, error){atomName: f.atom, rssName: f.rss} {
			body, err := write()
			if err != nil {
				t.Fatal(err)
			}
			w := found{Title: f.title, Link: f.home, Self: f.self + name}
			for _, e := range f.entries {
				w.Items = append(w.Items, item{e.id, e.title, e.link, allswell.FormatTime(e.published), e.content})
			}
			feeds, want = append(feeds, string(body)), append(want, w)
		}
	}
	var got []found
	nodeClient(t, "rss-parser", feedReader, feeds, &got)
	if len(got) != len(want) {
		t.Fatalf("%d feeds, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("read\n%#v\nwant\n%#v", got[i], want[i])
		}
	}
}

const calendarReader = readStdin + `
const load = require("ical.js");
const ICAL = load.default || load;
function main(calendars) {
  console.log(JSON.stringify(calendars.map((text) => {
    const calendar = new ICAL.Component(ICAL.parse(text));
    return { name: calendar.getFirstPropertyValue("name"), events: calendar.getAllSubcomponents("vevent").map((c) => {
      const e = new ICAL.Event(c);
      return {
        id: e.uid, title: e.summary, text: e.description, url: c.getFirstPropertyValue("url"), status: c.getFirstPropertyValue("status"),
        from: e.startDate.toJSDate().toISOString(), to: e.endDate.toJSDate().toISOString(), sequence: e.sequence,
      };
    }) };
  })));
}
`

// What a well-known reader of calendars finds.
func TestCalendarInJavaScript(t *testing.T) {
	type event struct {
		ID, Title, Text, URL, Status, From, To string
		Sequence                               int
	}
	type found struct {
		Name   string
		Events []event
	}
	var calendars []string
	var want []found
	for i, s := range newsSeeds {
		p := newsPage(s, newsSeeds[(i+1)%len(newsSeeds)], "Lamps, all")
		p.Page.Name = "Acme" // the reader does not know the names of calendars, and leaves them escaped
		if i == 0 {
			p.Maintenances = nil
		}
		w := found{Name: "Planned maintenance of Acme", Events: []event{}}
		for _, m := range p.Maintenances {
			w.Events = append(w.Events, event{
				m.ID + "@allswell", asLine(m.Title), describe(i18n.Or(p.Page.Language), p.Page.Location(), m, calendarText), newsBase + "/maintenances/" + m.ID, "CONFIRMED",
				"2020-11-28T15:04:05.000Z", "2020-11-28T17:04:05.000Z", 1800,
			})
		}
		calendars, want = append(calendars, string(calendarDocument(p, newsBase))), append(want, w)
	}
	var got []found
	nodeClient(t, "ical.js", calendarReader, calendars, &got)
	if len(got) != len(want) {
		t.Fatalf("%d calendars, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("read\n%#v\nwant\n%#v", got[i], want[i])
		}
	}
}

// Machines get what a form of an address may look like, and nothing else.
func TestCutMachine(t *testing.T) {
	id := allswell.NewID(allswell.PrefixComponent, day)
	for part, want := range map[string][2]string{
		"history.atom": {"", "history.atom"}, "components/" + id + "/badge.json": {id, "badge.json"}, "history.ics": {"", "history.ics"},
		"": {}, "history": {}, "components/" + id: {}, "components/" + id + "/history.ics": {}, "components//badge.svg": {},
		"components/" + id[:len(id)-1] + "/badge.svg": {}, "components/" + strings.ToUpper(id) + "/badge.svg": {}, "components/" + id + "w/badge.svg": {},
	} {
		component, name, ok := cutMachine(part)
		if got := [2]string{component, name}; got != want || ok != (name != "") {
			t.Errorf("%q: %q %v, want %q", part, got, ok, want)
		}
	}
}
