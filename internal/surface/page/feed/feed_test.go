package feed

import (
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/markdown"
	"github.com/allswell/allswell/internal/shared/markdown/markdowntest"
	xhtml "golang.org/x/net/html"
)

const newsBase = "https://status.example.org/status/acme"

// newsPage returns a page with an incident and a planned maintenance, which have the given title and
// message, and affect a component with the given name.
func newsPage(title, message, name string) statuspage.PageContents {
	return statuspage.PageContents{
		Page: statuspage.Page{
			ID: "page_1", Slug: "acme", Name: name, TimeZone: "Europe/Berlin", CreatedAt: day.AddDate(0, -3, 0),
		},
		Components: []statuspage.Component{{ID: "comp_1", Name: name, CreatedAt: day.AddDate(0, -2, 0)}},
		Incidents: []statuspage.Incident{{
			ID: "6f1e2c2a-0000-4000-8000-000000000001", Title: title, Impact: kernel.ImpactMajor,
			State:     statuspage.IncidentMonitoring,
			CreatedAt: day, UpdatedAt: day.Add(20 * time.Minute),
			Affected: []statuspage.AffectedComponent{
				{ComponentID: "comp_1", Name: name, Status: kernel.StatusMajorOutage},
			},
			Updates: []statuspage.IncidentUpdate{
				{
					ID: "upd_1", Number: 1, State: statuspage.IncidentInvestigating, Message: "We *look* into it.",
					CreatedAt: day,
				},
				{
					ID: "upd_2", Number: 2, State: statuspage.IncidentMonitoring, Message: message,
					CreatedAt: day.Add(20 * time.Minute),
				},
			},
		}},
		Maintenances: []statuspage.Maintenance{{
			ID: "mnt_1", Title: title, State: statuspage.MaintenanceScheduled, ScheduledFor: day.AddDate(0, 0, 7),
			ScheduledUntil: day.AddDate(0, 0, 7).Add(2 * time.Hour),
			CreatedAt:      day.Add(time.Hour), UpdatedAt: day.Add(90 * time.Minute),
			Components: []statuspage.ComponentName{{ID: "comp_1", Name: name}},
			Updates: []statuspage.MaintenanceUpdate{
				{
					ID: "upd_3", Number: 1, State: statuspage.MaintenanceScheduled, Message: message,
					CreatedAt: day.Add(time.Hour),
				},
			},
		}},
	}
}

// read is a parsed feed.
type read struct {
	XMLName xml.Name
	Lang    string      `xml:"http://www.w3.org/XML/1998/namespace lang,attr"`
	ID      string      `xml:"http://www.w3.org/2005/Atom id"`
	Title   string      `xml:"http://www.w3.org/2005/Atom title"`
	State   string      `xml:"http://www.w3.org/2005/Atom subtitle"`
	Updated time.Time   `xml:"http://www.w3.org/2005/Atom updated"`
	Author  string      `xml:"http://www.w3.org/2005/Atom author>name"`
	Links   []atomLink  `xml:"http://www.w3.org/2005/Atom link"`
	Entries []readEntry `xml:"http://www.w3.org/2005/Atom entry"`
	Version string      `xml:"version,attr"`
	Channel struct {
		Title    string     `xml:"title"`
		Language string     `xml:"language"`
		Built    string     `xml:"lastBuildDate"`
		State    string     `xml:"description"`
		TTL      int        `xml:"ttl"`
		Links    []readLink `xml:"link"`
		Items    []readItem `xml:"item"`
	} `xml:"channel"`
}

type readLink struct {
	XMLName xml.Name
	atomLink
	Text string `xml:",chardata"`
}

type readEntry struct {
	ID         string         `xml:"id"`
	Title      string         `xml:"title"`
	Link       atomLink       `xml:"link"`
	Published  time.Time      `xml:"published"`
	Updated    time.Time      `xml:"updated"`
	Categories []atomCategory `xml:"category"`
	Summary    string         `xml:"summary"`
	Content    atomContent    `xml:"content"`
}

type readItem struct {
	Title       string    `xml:"title"`
	Link        string    `xml:"link"`
	GUID        rssGUID   `xml:"guid"`
	Published   string    `xml:"pubDate"`
	Updated     time.Time `xml:"http://www.w3.org/2005/Atom updated"`
	Creator     string    `xml:"http://purl.org/dc/elements/1.1/ creator"`
	Categories  []string  `xml:"category"`
	Description string    `xml:"description"`
	Content     string    `xml:"http://purl.org/rss/1.0/modules/content/ encoded"`
}

// readFeed parses the feed that write returns.
func readFeed(t testing.TB, write func() ([]byte, error)) (r read) {
	t.Helper()
	body, err := write()
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(body, &r); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

func feedOf(t testing.TB, p statuspage.PageContents, component string) Feed {
	t.Helper()
	f, ok := New(p, component, newsBase)
	if !ok {
		t.Fatal("there is no feed")
	}
	return f
}

func TestAtom(t *testing.T) {
	r := readFeed(t, feedOf(t, newsPage("It is dark", "It *dawns*.", "Lamps & <Co>"), "").Atom)
	updated := day.Add(90 * time.Minute)
	if r.XMLName != (xml.Name{Space: "http://www.w3.org/2005/Atom", Local: "feed"}) || r.Lang != "en" ||
		r.ID != "tag:allswell,2026:page_1" ||
		r.Title != "Incidents and maintenance of Lamps & <Co>" || r.Author != "Lamps & <Co>" ||
		!r.Updated.Equal(updated) {
		t.Errorf("the feed is %+v", r)
	}
	want := []atomLink{
		{"self", "application/atom+xml", newsBase + "/history.atom"}, {"alternate", "text/html", newsBase},
	}
	if !slices.Equal(r.Links, want) {
		t.Errorf("links %v", r.Links)
	}
	if len(r.Entries) != 2 {
		t.Fatalf("%d entries", len(r.Entries))
	}
	for i, want := range []readEntry{
		{
			ID: "tag:allswell,2026:mnt_1", Title: "It is dark",
			Link:      atomLink{"alternate", "text/html", newsBase + "/maintenances/mnt_1"},
			Published: day.Add(time.Hour), Updated: updated,
			Categories: []atomCategory{{"maintenance", "Maintenance"}, {"scheduled", "Scheduled"}},
			Summary:    "Scheduled. 28 Nov 2020, 16:04 CET to 28 Nov 2020, 18:04 CET. It dawns.",
			Content: atomContent{"html", `<p lang="en" dir="ltr">28 Nov 2020, 16:04 CET to 28 Nov 2020, 18:04 CET</p>` +
				`<p lang="en" dir="ltr">Affected components: Lamps &amp; &lt;Co&gt;</p>` +
				`<p lang="en" dir="ltr"><strong>Scheduled</strong> · <time datetime="2020-11-21T16:04:05.000Z">21 ` +
				`Nov 2020, 17:04 CET</time></p>` +
				`<div dir="auto"><p>It <em>dawns</em>.</p></div>`},
		},
		{
			ID: "urn:uuid:6f1e2c2a-0000-4000-8000-000000000001", Title: "It is dark",
			Link:      atomLink{"alternate", "text/html", newsBase + "/incidents/6f1e2c2a-0000-4000-8000-000000000001"},
			Published: day, Updated: day.Add(20 * time.Minute),
			Categories: []atomCategory{{"major", "Major impact"}, {"monitoring", "Monitoring"}},
			Summary:    "Monitoring. Major impact. It dawns.",
			Content: atomContent{
				"html",
				`<p lang="en" dir="ltr">Major impact</p><p lang="en" dir="ltr">Affected components: Lamps &amp; ` +
					`&lt;Co&gt;</p>` +
					`<p lang="en" dir="ltr"><strong>Monitoring</strong> · <time ` +
					`datetime="2020-11-21T15:24:05.000Z">21 Nov 2020, 16:24 CET</time></p>` +
					`<div dir="auto"><p>It <em>dawns</em>.</p></div>` +
					`<p lang="en" dir="ltr"><strong>Investigating</strong> · <time ` +
					`datetime="2020-11-21T15:04:05.000Z">21 Nov 2020, 16:04 CET</time></p>` +
					`<div dir="auto"><p>We <em>look</em> into it.</p></div>`,
			},
		},
	} {
		if got := r.Entries[i]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("entry %d is\n%+v\nwant\n%+v", i, got, want)
		}
	}
}

func TestRSS(t *testing.T) {
	p := newsPage("It is <dark>", "It *dawns* & <shines>.", "Lamps")
	p.Incidents[0].Resolved = true
	r := readFeed(t, feedOf(t, p, "").RSS)
	c := r.Channel
	if r.XMLName.Local != "rss" || r.Version != "2.0" || c.Title != "Incidents and maintenance of Lamps" ||
		c.Language != "en" ||
		c.Built != "Sat, 21 Nov 2020 16:34:05 +0000" || c.TTL != readAgainMinutes {
		t.Errorf("the feed is %+v", r)
	}
	want := []readLink{
		{xml.Name{Local: "link"}, atomLink{}, newsBase},
		{xml.Name{Space: "http://www.w3.org/2005/Atom", Local: "link"},
			atomLink{"self", "application/rss+xml", newsBase + "/history.rss"}, ""},
	}
	if !slices.Equal(c.Links, want) {
		t.Errorf("links %v", c.Links)
	}
	if len(c.Items) != 2 {
		t.Fatalf("%d items", len(c.Items))
	}
	atom := readFeed(t, feedOf(t, p, "").Atom)
	item := readItem{
		Title: "It is <dark>", Link: newsBase + "/incidents/6f1e2c2a-0000-4000-8000-000000000001",
		GUID:      rssGUID{false, "urn:uuid:6f1e2c2a-0000-4000-8000-000000000001"},
		Published: "Sat, 21 Nov 2020 15:04:05 +0000",
		Updated:   day.Add(20 * time.Minute), Creator: "Lamps", Categories: []string{"Major impact", "Resolved"},
		Description: "Resolved. Major impact. It dawns &amp; &lt;shines&gt;.", Content: atom.Entries[1].Content.HTML,
	}
	if got := c.Items[1]; fmt.Sprint(got) != fmt.Sprint(item) {
		t.Errorf("the item is\n%+v\nwant\n%+v", got, item)
	}
}

func TestComponentFeed(t *testing.T) {
	p := newsPage("It is dark", "It dawns.", "Lamps")
	p.Page.Name, p.Page.Language = "Acme", "de"
	r := readFeed(t, feedOf(t, p, "comp_1").Atom)
	if r.ID != "tag:allswell,2026:comp_1" || r.Title != "Störungen und Wartungen von Lamps – Acme" || r.Lang != "de" ||
		r.Author != "Acme" {
		t.Errorf("the feed is %+v", r)
	}
	want := []atomLink{
		{"self", "application/atom+xml", newsBase + "/components/comp_1/history.atom"},
		{"alternate", "text/html", newsBase + "/components/comp_1"},
	}
	if !slices.Equal(r.Links, want) {
		t.Errorf("links %v", r.Links)
	}
	if _, ok := New(p, "comp_2", newsBase); ok {
		t.Error("there is a feed of an unknown component")
	}

	p.Incidents, p.Maintenances = nil, nil
	r = readFeed(t, feedOf(t, p, "comp_1").Atom)
	if len(r.Entries) != 0 || !r.Updated.Equal(p.Components[0].CreatedAt) {
		t.Errorf("the empty feed is %+v", r)
	}
}

// TestFeedIsBounded checks that the size of a feed is limited, and that it links to omitted updates.
func TestFeedIsBounded(t *testing.T) {
	p := newsPage("It is dark", "It dawns.", "Lamps")
	inc := p.Incidents[0]
	p.Incidents = nil
	for i := range 50 {
		inc := inc
		inc.CreatedAt = day.Add(-time.Duration(i) * time.Hour)
		inc.Updates = nil
		for n := range 20 {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{
				Number: n + 1, Message: strings.Repeat("<", 20_000), State: statuspage.IncidentIdentified,
				CreatedAt: day,
			})
		}
		p.Incidents = append(p.Incidents, inc)
	}
	f := feedOf(t, p, "")
	content := 0
	for _, e := range f.entries {
		content += len(e.content)
	}
	if content > maxTimelines+len(f.entries)*500 || content < maxTimelines/2 {
		t.Errorf("%d bytes of timelines", content)
	}
	last := f.entries[len(f.entries)-1]
	want := `<a href="` + last.link + `">20 earlier updates</a>`
	if len(f.entries) != 51 || !strings.Contains(last.content, want) {
		t.Errorf("%d entries, the last is %q", len(f.entries), last.content)
	}
}

// checkContent checks that content has only allowed elements and attributes, and links with allowed
// schemes.
func checkContent(t *testing.T, content string) {
	t.Helper()
	allowed := map[string][]string{
		"html": nil, "head": nil, "body": nil, "p": {"lang", "dir"}, "div": {"dir"}, "time": {"datetime"},
		"a": {"href", "rel"}, "ol": {"start"},
		"br": nil, "strong": nil, "em": nil, "del": nil, "code": nil, "pre": nil, "ul": nil, "li": nil,
		"blockquote": nil, "hr": nil,
	}
	root, err := xhtml.Parse(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		attributes, ok := allowed[n.Data]
		switch {
		case n.Type == xhtml.TextNode:
			if i := strings.IndexFunc(n.Data, func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' && r != '\t'
			}); i >= 0 {
				t.Errorf("a control character in %q", n.Data)
			}
		case n.Type != xhtml.ElementNode || !ok:
			t.Errorf("a node that is not allowed: %v %q in %q", n.Type, n.Data, content)
		}
		for _, a := range n.Attr {
			if !slices.Contains(attributes, a.Key) {
				t.Errorf("an attribute that is not allowed: %s has %s in %q", n.Data, a.Key, content)
			}
			if a.Key == "href" {
				u, err := url.Parse(a.Val)
				if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, u.Scheme) {
					t.Errorf("a link to %q in %q", a.Val, content)
				}
			}
		}
	}
}

func FuzzFeed(f *testing.F) {
	for i, s := range markdowntest.Seeds {
		f.Add(s, markdowntest.Seeds[(i+1)%len(markdowntest.Seeds)], markdowntest.Seeds[(i+2)%len(markdowntest.Seeds)],
			i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, title, message, name string, arabic bool) {
		p := newsPage(title, message, name)
		if arabic {
			p.Page.Language = "ar"
		}
		made := feedOf(t, p, "")
		atom, rss := readFeed(t, made.Atom), readFeed(t, made.RSS)
		if len(atom.Entries) != 2 || len(rss.Channel.Items) != 2 {
			t.Fatalf("%d entries, %d items", len(atom.Entries), len(rss.Channel.Items))
		}
		got, want := atom.Author, markdowntest.Line(name)
		if got != want || !strings.Contains(atom.Title, want) || rss.Channel.Title != atom.Title {
			t.Errorf("the name %q is %q in %q and %q", want, got, atom.Title, rss.Channel.Title)
		}
		want = `<div dir="auto">` + string(markdown.HTML(message)) + "</div>"
		for i, e := range atom.Entries {
			item := rss.Channel.Items[i]
			if want := markdowntest.Line(title); e.Title != want || item.Title != want {
				t.Errorf("the title %q is %q and %q", want, e.Title, item.Title)
			}
			if item.GUID.ID != e.ID || item.Link != e.Link.Href || item.Creator != atom.Author ||
				item.Content != e.Content.HTML {
				t.Errorf("in one %+v, in the other %+v", e, item)
			}
			if strings.Count(e.Content.HTML, want) != 1 && message != "We *look* into it." {
				t.Errorf("the message: %q is not in %q", want, e.Content.HTML)
			}
			checkContent(t, e.Content.HTML)
			if html.UnescapeString(item.Description) != e.Summary || strings.ContainsAny(item.Description, "<>") {
				t.Errorf("the summary %q is %q", e.Summary, item.Description)
			}
			if want := markdown.Excerpt(message); !strings.Contains(e.Summary, strings.TrimSpace(want)) {
				t.Errorf("the excerpt: %q is not in %q", want, e.Summary)
			}
		}
	})
}

// TestFeedState checks that a feed says the state of its page, and leads with an active incident that has an impact.
func TestFeedState(t *testing.T) {
	p := newsPage("It is dark", "", "Lamps")
	inc := &p.Incidents[0]
	inc.Resolved, inc.Impact = false, kernel.ImpactCritical
	p.Components = []statuspage.Component{{ID: "comp_1", Name: "Lamps", Baseline: kernel.StatusOperational}}
	check := func(component, want string) {
		t.Helper()
		f := feedOf(t, p, component)
		if atom, rss := readFeed(t, f.Atom), readFeed(t, f.RSS); atom.State != want || rss.Channel.State != want {
			t.Errorf("Atom says %q, RSS %q, want %q", atom.State, rss.Channel.State, want)
		}
	}
	check("", "Critical impact: It is dark")
	check("comp_1", "Critical impact: It is dark")
	inc.Impact = kernel.ImpactNone
	check("", "All systems operational")
	check("comp_1", "Operational")
}

// TestFeedWithoutUpdates checks the content of incidents without updates.
func TestFeedWithoutUpdates(t *testing.T) {
	p := newsPage("It is <dark>\u202e", "", "Lamps")
	inc := &p.Incidents[0]
	inc.Updates, inc.Impact = nil, kernel.ImpactNone
	const head = `<p lang="en" dir="ltr">No impact</p><p lang="en" dir="ltr">Affected components: Lamps</p><p ` +
		`lang="en" dir="ltr"><strong>`
	for _, c := range []struct{ content, summary string }{
		{head + `Monitoring</strong> · <time datetime="2020-11-21T15:24:05.000Z">21 Nov 2020, 16:24 CET</time></p>` +
			`<div dir="auto"><p>A fix is in place. We are watching the result.</p></div>`, "Monitoring. No impact. A " +
			"fix is in place. We are watching the result."},
		{head + `Resolved</strong> · <time datetime="2020-11-21T15:04:05.000Z">21 Nov 2020, 16:04 CET</time></p>` +
			`<div dir="auto"><p>This incident has been resolved.</p></div>`, "Resolved. No impact."},
	} {
		e := readFeed(t, feedOf(t, p, "").Atom).Entries[1]
		if e.Content.HTML != c.content {
			t.Errorf("the content is\n%s\nwant\n%s", e.Content.HTML, c.content)
		}
		checkContent(t, e.Content.HTML)
		if e.Summary != c.summary {
			t.Errorf("the summary is %q, want %q", e.Summary, c.summary)
		}
		inc.Resolved, inc.ResolvedAt = true, day
	}
}

var day = time.Date(2020, 11, 21, 15, 4, 5, 0, time.UTC)
