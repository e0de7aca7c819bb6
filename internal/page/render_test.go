package page

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/i18n/i18ntest"
	"github.com/allswell/allswell/internal/markdown"
	"github.com/allswell/allswell/internal/markdown/markdowntest"
	"github.com/allswell/allswell/internal/store"
)

// day is long ago for the host, whose clock says when the database was last
// heard of.
var day = time.Date(2020, 11, 21, 15, 4, 5, 0, time.UTC)

const hostile = markdowntest.Hostile

func text(s string) *string { return &s }

// sample returns a page with the given text in every place that takes one.
func sample(s string) allswell.PageContents {
	p := allswell.PageContents{
		Page: allswell.Page{
			ID: "page_1", Slug: "acme", Name: s, Description: text(s), CreatedAt: day.AddDate(0, -3, 0), Host: "status.acme.example",
			Footer: []allswell.FooterLink{{Label: s, URL: "https://acme.example/"}}, Accent: "#ff8800", Icon: "0123456789abcdef.png",
		},
		Groups: []allswell.Group{{ID: "grp_1", Name: s, Order: 1}},
		AsOf:   day,
	}
	for i, status := range allswell.Statuses {
		p.Components = append(p.Components, allswell.Component{
			ID: fmt.Sprint("comp_", i), GroupID: []string{"", "grp_1"}[i%2], Name: s, Description: text(s), Baseline: status, Order: i,
		})
	}
	for i, impact := range allswell.Impacts {
		for _, resolved := range []bool{false, true} {
			inc := allswell.Incident{
				ID: fmt.Sprintf("01a1fc53-1977-7f37-b83c-ba9c7d0ad2%d%v", i, resolved)[:36], Title: s, Impact: impact,
				State: allswell.IncidentIdentified, CreatedAt: day.Add(-time.Duration(26*i+3) * time.Hour),
			}
			if resolved {
				inc.Resolved, inc.State, inc.ResolvedAt = true, allswell.IncidentResolved, inc.CreatedAt.Add(42*time.Minute)
			}
			inc.Updates = []allswell.IncidentUpdate{
				{Number: 1, Message: s + " first", State: allswell.IncidentInvestigating, CreatedAt: inc.CreatedAt},
				{Number: 2, Message: s + " second", State: inc.State, CreatedAt: inc.CreatedAt.Add(time.Minute)},
			}
			inc.Affected = []allswell.AffectedComponent{{ComponentID: "comp_1", Name: s, Status: allswell.StatusDegraded}, {ComponentID: "comp_2", Name: s, Status: allswell.StatusOperational}}
			inc.Updates[1].Affected = []allswell.AffectedChange{
				{ComponentID: "comp_1", Name: s, New: allswell.StatusDegraded}, {ComponentID: "comp_2", Name: s, Old: allswell.StatusMajorOutage, New: allswell.StatusOperational},
			}
			p.Incidents = append(p.Incidents, inc)
		}
	}
	for i, state := range allswell.MaintenanceStates {
		m := allswell.Maintenance{
			ID: fmt.Sprint("mnt_", i), Title: s, State: state, ScheduledFor: day.Add(time.Duration(2-i) * time.Hour), ScheduledUntil: day.Add(time.Duration(3-i) * time.Hour),
			Components: []allswell.ComponentName{{ID: "comp_3", Name: s}, {ID: "comp_4", Name: s}},
			Updates:    []allswell.MaintenanceUpdate{{Number: 1, Message: s, State: state, CreatedAt: day}},
		}
		if state != allswell.MaintenanceScheduled {
			m.BegunAt = m.ScheduledFor
		}
		if state == allswell.MaintenanceCompleted {
			m.EndedAt = m.ScheduledUntil
		}
		p.Maintenances = append(p.Maintenances, m)
	}
	return p
}

// places are all the ways of showing the page called acme.
func places() (all []presentation) {
	for _, l := range i18n.All() {
		for _, f := range []variant{{lang: l}, {lang: l, chosen: true, own: true}} {
			all = append(all, presentationOf(allswell.Page{Slug: "acme", Host: "status.acme.example"}, f))
		}
	}
	return all
}

// english is how most tests look at the page called acme.
func english() presentation {
	return presentationOf(allswell.Page{Slug: "acme"}, variant{lang: i18n.English()})
}

// screens returns every kind of page, with the given text wherever one fits.
func screens(at presentation, s string) []screen {
	p := sample(s)
	sum := p.Summarize(day)
	other := screen{Layout: layout{At: at, Title: s, Description: s, Status: allswell.StatusUnknown, Late: at.moment(day)}}
	first, said := other, other
	first.Body = firstStepsBody{"https://status.example"}
	said.Body = plainBody{Heading: s, Text: []string{s, s}, Home: "/"}
	month := month{start: monthOf(day, at.zone), first: p.Page.CreatedAt, now: day, contents: p}
	return append([]screen{
		withSubscribe(statusScreen(at, sum), sum.Blocks),
		historyScreen(at, p.Page, sum.Status, month),
		incidentScreen(at, p.Page, sum.Status, incidentPart{Incident: p.Incidents[0]}, day),
		incidentScreen(at, p.Page, sum.Status, incidentPart{Incident: p.Incidents[1]}, day),
		maintenanceScreen(at, p.Page, sum.Status, maintenancePart{Maintenance: p.Maintenances[0]}, day),
		maintenanceScreen(at, p.Page, sum.Status, maintenancePart{Maintenance: p.Maintenances[3]}, day),
		componentScreen(at, "https://status.example", sum, p.Components[1], p),
		listScreen(at, store.PageIndex{Pages: []store.PageIndexEntry{{Slug: sum.Page.Slug, Name: sum.Page.Name, Status: sum.Status}}, Total: 4, AsOf: day}), first, said,
	}, formScreens(at, s, sum)...)
}

// formScreens returns the pages that take forms, with the given text wherever
// one fits.
func formScreens(at presentation, s string, sum allswell.Summary) []screen {
	v := visit{snap: &snapshot{sum: sum, page: sum.Page, status: sum.Status}, variant: variant{lang: at.lang, chosen: at.chosen, own: at.base == ""}}
	bad := new(allswell.ValidationError)
	bad.Add("target", "%s", s)
	bad.Add("components", "%s", s)
	sub := allswell.Subscriber{Channel: allswell.ChannelEmail, Target: s, Components: []string{"comp_1", s}}
	held := sub
	held.ConfirmedAt, held.SuspendedAt, held.SuspendedFor = day, day, s
	active := subscriptionOf(v, held, s)
	active.Suspended, active.Choice.Error = moment{}, s
	f := v.secretLayout()
	return []screen{
		{f, subscribeBody{at.lang, refusedForm(v, allswell.NewSubscriber{Target: s, Components: []string{"comp_1"}}, bad)}},
		{f, subscriptionOf(v, sub, "")},
		{f, subscriptionOf(v, held, s)},
		{f, active},
		{f, unsubscribeBody{at.lang, s}},
		errorScreen(errorPage{v.variant, 404}, v.layout()),
	}
}

// TestEveryTemplate executes all of them in all languages and holds each result
// to what every page is held to.
func TestEveryTemplate(t *testing.T) {
	for _, at := range places() {
		done := map[string]bool{}
		for _, s := range screens(at, "Hello") {
			name := s.Body.template()
			done[name] = true
			out, err := render(t.Context(), s)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			p := parse(t, string(out))
			name += " in " + at.lang.Tag + " at " + at.base + "/"
			checkPage(t, name, p)
			if html := p.all("html")[0]; html.attr("lang") != at.lang.Tag || html.attr("dir") != at.lang.Dir {
				t.Errorf("%s: language %s, direction %s", name, html.attr("lang"), html.attr("dir"))
			}
			if found := i18ntest.Leftovers(strings.ReplaceAll(p.text(), "https://status.example", "")); len(found) > 0 {
				t.Errorf("%s: %q is no text", name, found)
			}
			if s.Layout.Site != nil {
				checkLinks(t, name, at, p)
			}
		}
		if got, want := slices.Sorted(maps.Keys(done)), pageTemplates(at.lang); !slices.Equal(got, want) {
			t.Errorf("rendered %v of the templates %v", got, want)
		}
	}
}

// pageTemplates returns the names of all pages that there are templates of.
func pageTemplates(l *i18n.Language) (names []string) {
	for _, t := range templates[l]().Templates() {
		if name, ok := strings.CutPrefix(t.Name(), "page "); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkLinks holds the links of a page to its place.
func checkLinks(t *testing.T, name string, at presentation, p tree) {
	t.Helper()
	for _, a := range p.all("body [href]") {
		href := a.attr("href")
		if strings.HasPrefix(href, "#") || a.attr("rel") == "noopener" || a.attr("hreflang") != "" || strings.Contains(href, "/history.") { // feeds have no language
			continue
		}
		if under := strings.HasPrefix(href, at.base+"/") || href == at.base || strings.HasPrefix(href, at.base+"?"); !under {
			t.Errorf("%s: a link to %s", name, href)
		}
		if says := strings.Contains(href, "lang="+at.lang.Tag); says != at.chosen {
			t.Errorf("%s: the link to %s names the language: %v", name, href, says)
		}
	}
}

// checkPage holds a page to landmarks, headings in order, and to its head.
func checkPage(t *testing.T, name string, p tree) {
	t.Helper()
	for _, selector := range []string{
		"html[lang][dir]", "head title", "head link[rel=icon]", "head meta[name=viewport]",
		"head meta[name=color-scheme]", "body header", "body main#main", "body footer", "body a.skip", "h1",
	} {
		if n := len(p.all(selector)); n != 1 {
			t.Errorf("%s: %d times %s", name, n, selector)
		}
	}
	if n := len(p.all("meta[name=theme-color]")); n != 2 {
		t.Errorf("%s: %d theme colours", name, n)
	}
	level := 1
	for n := range p.Descendants() {
		if n.Type == html.ElementNode && len(n.Data) == 2 && n.Data[0] == 'h' && n.Data >= "h1" && n.Data <= "h6" {
			next := int(n.Data[1] - '0')
			if next > level+1 {
				t.Errorf("%s: %s follows a heading of level %d", name, n.Data, level)
			}
			level = next
		}
	}
	ids := map[string]bool{}
	for _, e := range p.all("[id]") {
		if id := e.attr("id"); ids[id] {
			t.Errorf("%s: the id %s twice", name, id)
		} else {
			ids[id] = true
		}
	}
	for _, use := range p.all("use") {
		if ref := use.attr("href"); !ids[strings.TrimPrefix(ref, "#")] {
			t.Errorf("%s: the drawing %s is missing", name, ref)
		}
	}
	for _, label := range p.all("[aria-labelledby]") {
		if !ids[label.attr("aria-labelledby")] {
			t.Errorf("%s: nothing has the id %s", name, label.attr("aria-labelledby"))
		}
	}
	for _, link := range p.all("link[href]") {
		if ref, ok := strings.CutPrefix(link.attr("href"), "/assets/"); ok && findAsset(ref) == nil {
			t.Errorf("%s: the asset %s is missing", name, ref)
		}
	}
	for _, moment := range p.all("time") {
		_, err := time.Parse(allswell.TimeFormat, moment.attr("datetime"))
		if _, err2 := time.Parse(time.DateOnly, moment.attr("datetime")); err != nil && err2 != nil {
			t.Errorf("%s: the time %q", name, moment.attr("datetime"))
		}
	}
}

// TestNothingBreaksOut compares the elements of pages with hostile texts to
// those of the same pages with friendly ones.
func TestNothingBreaksOut(t *testing.T) {
	for _, at := range places() {
		friendly := screens(at, "Hello")
		for i, s := range screens(at, hostile) {
			name := s.Body.template()
			out, err := render(t.Context(), s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			same, err := render(t.Context(), friendly[i])
			if err != nil {
				t.Fatal(err)
			}
			p := parse(t, string(out))
			if got, want := skeleton(p), skeleton(parse(t, string(same))); got != want {
				t.Errorf("%s: the elements are\n%s\nwant\n%s", name, got, want)
			}
			if name != "firststeps" && !strings.Contains(p.rawText(), markdown.Line(hostile)) {
				t.Errorf("%s does not show the text", name)
			}
		}
	}
}

// skeleton returns the elements with their attributes' names.
func skeleton(p tree) string {
	var b strings.Builder
	for n := range p.Descendants() {
		if n.Type == html.ElementNode {
			b.WriteString("<" + n.Data)
			for _, a := range n.Attr {
				b.WriteString(" " + a.Key)
			}
			b.WriteString(">")
		}
	}
	return b.String()
}

func TestMessagesAreMarkdown(t *testing.T) {
	p := sample("x")
	p.Incidents = p.Incidents[:1]
	p.Incidents[0].Updates[1].Message = "one\n\n  two  https://status.example/x\nthree\n\n**four**"
	out, err := render(t.Context(), statusScreen(english(), p.Summarize(day)))
	if err != nil {
		t.Fatal(err)
	}
	message := parse(t, string(out)).all(".timeline .message")[0]
	if got := message.texts("p"); !slices.Equal(got, []string{"one", "two https://status.example/xthree", "four"}) {
		t.Errorf("the paragraphs read %q", got)
	}
	if a := message.all("a"); len(a) != 1 || a[0].attr("href") != "https://status.example/x" || a[0].attr("rel") == "" {
		t.Errorf("%d links", len(a))
	}
}

// TestWeight holds a page of 50 components, with everything it loads, to 30 kB
// on the wire.
func TestWeight(t *testing.T) {
	p := allswell.PageContents{Page: allswell.Page{Slug: "acme", Name: "Acme", CreatedAt: day}, AsOf: day}
	random := rand.New(rand.NewPCG(1, 2))
	words := func(n int) string {
		s := make([]string, n)
		for i := range s {
			s[i] = fmt.Sprintf("%x", random.Uint32())
		}
		return strings.Join(s, " ")
	}
	for i := range 50 {
		if i%5 == 0 {
			p.Groups = append(p.Groups, allswell.Group{ID: fmt.Sprint(i / 5), Name: words(2), Order: i})
		}
		p.Components = append(p.Components, allswell.Component{
			ID: allswell.NewID(allswell.PrefixComponent, day), GroupID: fmt.Sprint(i / 5), Name: words(3), Description: text(words(8)), Baseline: allswell.Statuses[i%7],
		})
	}
	p.Changes = make(map[string][]allswell.StatusChange)
	for _, c := range p.Components { // well, but for some bad hours in the last 90 days
		changes := []allswell.StatusChange{{At: day.AddDate(-1, 0, 0), Status: allswell.StatusOperational}}
		for at := day.AddDate(0, 0, -random.IntN(40)-50); at.Before(day.AddDate(0, 0, -1)); at = at.Add(time.Duration(200+random.IntN(1400)) * time.Hour) {
			changes = append(changes, allswell.StatusChange{At: at, Status: allswell.Statuses[1+random.IntN(6)]},
				allswell.StatusChange{At: at.Add(time.Duration(random.IntN(20_000)) * time.Second), Status: allswell.StatusOperational})
		}
		p.Changes[c.ID] = changes
	}
	for i := range 3 {
		at := day.AddDate(0, 0, -30*i-10)
		p.Gaps = append([]allswell.ListeningGap{{From: at, To: at.Add(20 * time.Minute)}}, p.Gaps...)
	}
	for i := range 8 {
		inc := allswell.Incident{ID: fmt.Sprint(i), Title: words(6), Impact: allswell.ImpactMajor, State: allswell.IncidentIdentified, CreatedAt: day.AddDate(0, 0, -i)}
		inc.Resolved, inc.ResolvedAt = i > 1, day
		for n := range 5 {
			inc.Updates = append(inc.Updates, allswell.IncidentUpdate{Number: n + 1, Message: words(20), State: allswell.IncidentIdentified, CreatedAt: day})
		}
		p.Incidents = append(p.Incidents, inc)
	}
	sum := p.Summarize(day)
	sh, err := newRenderedPage(t.Context(), withSubscribe(statusScreen(english(), sum), sum.Blocks))
	if err != nil {
		t.Fatal(err)
	}
	weights := map[string]int{"page": len(sh.doc.Compressed())}
	total := weights["page"]
	for _, name := range []string{"style.css", "history.css", "page.js", "live.js", "icon-major_outage.svg"} {
		weights[name] = len(assets[name].stable.Compressed())
		total += weights[name]
	}
	t.Logf("%d bytes: %v", total, weights)
	if total > 30_000 {
		t.Errorf("%d bytes", total)
	}
}

// TestTheWorstDay has more of everything than a page can show, and none of it
// may be lost: what is left out is one link away.
func TestTheWorstDay(t *testing.T) {
	p := sample("x")
	p.Incidents, p.Maintenances = nil, nil
	for i := range 40 {
		inc := allswell.Incident{ID: fmt.Sprint("active-", i), Title: fmt.Sprint("Active ", i), State: allswell.IncidentInvestigating, CreatedAt: day.Add(-time.Duration(i) * time.Minute)}
		for n := range 30 {
			inc.Updates = append(inc.Updates, allswell.IncidentUpdate{Number: n + 1, Message: fmt.Sprint("Update ", n+1), CreatedAt: day})
		}
		dayEntry := inc
		dayEntry.ID, dayEntry.Resolved, dayEntry.ResolvedAt = fmt.Sprint("past-", i), true, day
		p.Incidents = append(p.Incidents, inc, dayEntry)
	}
	out, err := render(t.Context(), statusScreen(english(), p.Summarize(day)))
	if err != nil {
		t.Fatal(err)
	}
	page := parse(t, string(out))
	if got := len(page.all("article.incident")); got != maxTimelines {
		t.Errorf("%d timelines", got)
	}
	if got := len(page.all("article.incident .timeline li")); got != maxTimelines*maxUpdates {
		t.Errorf("%d updates", got)
	}
	if got := page.all("article.incident .timeline .message")[0].text(); got != "Update 30" {
		t.Errorf("the first update is %q", got)
	}
	if got := page.all("article.incident .more a")[0]; got.text() != "5 earlier updates" || got.attr("href") != "/status/acme/incidents/active-0" {
		t.Errorf("the link to the earlier updates is %q to %q", got.text(), got.attr("href"))
	}
	for i := range 40 {
		if len(page.all("main a[href=/status/acme/incidents/active-"+fmt.Sprint(i)+"]")) == 0 {
			t.Errorf("incident %d is not on the page", i)
		}
	}
	more := page.all(".day .more a")
	if len(more) != 1 || more[0].text() != "30 more on this day" || more[0].attr("href") != "/status/acme/history?month=2020-11#2020-11-21" {
		t.Errorf("the link to the other incidents: %v", page.texts(".day .more"))
	}
}

func TestDays(t *testing.T) {
	p := sample("x")
	p.Maintenances = nil
	ago := func(days, hours int) time.Time {
		return allswell.Midnight(day, time.UTC).AddDate(0, 0, -days).Add(time.Duration(hours) * time.Hour)
	}
	p.Incidents = []allswell.Incident{
		{ID: "a", Title: "Long", Impact: allswell.ImpactNone, State: allswell.IncidentResolved, Resolved: true, CreatedAt: ago(5, 22), ResolvedAt: ago(3, 1)},
		{ID: "b", Title: "Short", Impact: allswell.ImpactNone, State: allswell.IncidentResolved, Resolved: true, CreatedAt: ago(6, 3), ResolvedAt: ago(6, 4)},
		{ID: "c", Title: "Now", Impact: allswell.ImpactNone, State: allswell.IncidentMonitoring, CreatedAt: ago(1, 8)},
	}
	out, err := render(t.Context(), statusScreen(english(), p.Summarize(day)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Saturday, 21 November No new incidents",
		"Friday, 20 November 1 active incident",
		"Thursday, 19 November No incidents",
		"Wednesday, 18 November No new incidents",
		"Tuesday, 17 November No new incidents",
		"Monday, 16 November Long No impact Resolved after 1 day 3 hours 22:00 to 18 Nov, 01:00",
		"Sunday, 15 November Short No impact Resolved after 1 hour 03:00 to 04:00",
	}
	if got := parse(t, string(out)).texts(".day"); !slices.Equal(got, want) {
		t.Errorf("the days read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExcerpt(t *testing.T) {
	for message, want := range map[string]string{
		"":                           "",
		" one\r\n\ttwo ":             "one two",
		strings.Repeat("é", 280):     strings.Repeat("é", 280),
		strings.Repeat("é", 281):     strings.Repeat("é", 280) + "…",
		strings.Repeat("word ", 100): strings.Repeat("word ", 55) + "word…",
	} {
		if got := markdown.Excerpt(message); got != want {
			t.Errorf("excerpt(%.20q) = %q", message, got)
		}
	}
}
