package view

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/shared/markdown"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/page/feed"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi"
	"github.com/allswell/allswell/internal/surface/web"
)

// TestPageSize checks that a page of 50 components, with all assets, takes at most
// 30 kB compressed.
func TestPageSize(t *testing.T) {
	p := randomPage(rand.New(rand.NewPCG(1, 2)))
	sum := p.Summarize(day)
	html, err := statusModel(withMail(englishPresentation()), sum).Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	weights := map[string]int{"page": compressedSize(html)}
	total := weights["page"]
	for _, name := range []string{"style.css", "theme.js", "page.js", "icon-major_outage.svg"} {
		weights[name] = assetSize(name)
		total += weights[name]
	}
	t.Logf("%d bytes: %v", total, weights)
	if total > 30_000 {
		t.Errorf("%d bytes, want at most 30,000: %v", total, weights)
	}
}

// randomPage returns a page with much on it, of random words.
func randomPage(random *rand.Rand) statuspage.PageContents {
	p := statuspage.PageContents{Page: statuspage.Page{Slug: "acme", Name: "Acme", CreatedAt: day}, AsOf: day}
	for i := range 50 {
		if i%5 == 0 {
			p.Groups = append(p.Groups, statuspage.Group{ID: fmt.Sprint(i / 5), Name: randomWords(random, 2), Order: i})
		}
		p.Components = append(p.Components, statuspage.Component{
			ID: kernel.NewID(kernel.PrefixComponent, day), GroupID: fmt.Sprint(i / 5), Name: randomWords(random, 3),
			Description: text(randomWords(random, 8)), Baseline: kernel.Statuses[i%7],
		})
	}
	p.Changes = randomChanges(random, p.Components)
	for i := range 3 {
		at := day.AddDate(0, 0, -30*i-10)
		p.Gaps = append([]schedule.ListeningGap{{From: at, To: at.Add(20 * time.Minute)}}, p.Gaps...)
	}
	p.Incidents = randomIncidents(random)
	return p
}

func randomWords(random *rand.Rand, n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf("%x", random.Uint32())
	}
	return strings.Join(s, " ")
}

// randomChanges returns changes of components that are well, but for some bad hours in the last 90 days.
func randomChanges(random *rand.Rand, components []statuspage.Component) map[string][]statuspage.StatusChange {
	all := make(map[string][]statuspage.StatusChange)
	for _, c := range components {
		changes := []statuspage.StatusChange{{At: day.AddDate(-1, 0, 0), Status: kernel.StatusOperational}}
		for at := day.AddDate(0, 0, -random.IntN(40)-50); at.Before(day.AddDate(0, 0, -1)); at = at.Add(
			time.Duration(200+random.IntN(1400)) * time.Hour,
		) {
			changes = append(changes, statuspage.StatusChange{At: at, Status: kernel.Statuses[1+random.IntN(6)]},
				statuspage.StatusChange{
					At: at.Add(time.Duration(random.IntN(20_000)) * time.Second), Status: kernel.StatusOperational,
				})
		}
		all[c.ID] = changes
	}
	return all
}

func randomIncidents(random *rand.Rand) (all []statuspage.Incident) {
	for i := range 8 {
		inc := statuspage.Incident{
			ID: fmt.Sprint(i), Title: randomWords(random, 6), Impact: kernel.ImpactMajor,
			State:     statuspage.IncidentIdentified,
			CreatedAt: day.AddDate(0, 0, -i),
		}
		inc.Resolved, inc.ResolvedAt = i > 1, day
		for n := range 5 {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{
				Number: n + 1, Message: randomWords(random, 20), State: statuspage.IncidentIdentified, CreatedAt: day,
			})
		}
		all = append(all, inc)
	}
	return all
}

// TestBarsSize checks the compressed size of the bars of 50 components.
func TestBarsSize(t *testing.T) {
	p := pageWithOutages(50, barsNow)
	sum := p.Summarize(barsNow)
	for _, l := range i18n.All() {
		var out bytes.Buffer
		z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		plain, marked := 0, 0
		for _, c := range p.Components {
			html := executeBars(t, l, viewBars(l, c.Name, sum.Histories[c.ID]))
			plain += len(html)
			marked += strings.Count(html, "<tr class=")
			if _, err := z.Write([]byte(html)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, %d compressed, %d days with data", l.Tag, plain, out.Len(), marked)
		if marked < 300 {
			t.Errorf("%s: only %d days with events, the test needs more", l.Tag, marked)
		}
		if out.Len() > 20_000 {
			t.Errorf("%s: the bars take %d bytes", l.Tag, out.Len())
		}
	}
}

// TestBusyPageSize is TestPageSize for 50 components with outages.
func TestBusyPageSize(t *testing.T) {
	sum := pageWithOutages(50, barsNow).Summarize(barsNow)
	for _, l := range i18n.All() {
		html, err := statusModel(Presentation{base: "/status/acme", lang: l, zone: time.UTC}, sum).Render(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		page := compressedSize(html)
		all := page
		for _, name := range []string{"style.css", "theme.js", "page.js", "icon-operational.svg"} {
			all += assetSize(name)
		}
		t.Logf("%s: %d bytes, %d with all that it loads", l.Tag, page, all)
		if page < 5_000 || all > 30_000 {
			t.Errorf("%s: %d bytes, %d with all that it loads", l.Tag, page, all)
		}
	}
}

// TestLargestPage checks that the largest page, and its documents for programs, are
// within MaxBytes.
func TestLargestPage(t *testing.T) {
	t.Parallel()
	p, page := largestPage()
	sum := p.Summarize(day)
	l := i18ntest.Language(t, "ar") // its words take the most bytes
	at := Presentation{base: "/status/acme", lang: l, zone: time.UTC, Mail: true}
	screens := map[string]Model{
		"status":      statusModel(at, sum),
		"history":     historyModel(at, sum.Status, Month{MonthStart(day, time.UTC), page.CreatedAt, day, p}),
		"incident":    incidentModel(at, page, sum.Status, sum.Active[0]),
		"maintenance": maintenanceModel(at, page, sum.Status, p.Maintenances[0]),
		"component":   componentModel(at, sum, p.Components[0], p),
	}
	for name, s := range screens {
		html, err := s.Render(t.Context())
		if err != nil {
			t.Errorf("the screen: %s in %s: %v", name, l.Tag, err)
			continue
		}
		t.Logf("%s in %s: %d bytes", name, l.Tag, len(html))
	}
	newest := p // the store loads the newest 50 of each for feeds
	newest.Page.Language, newest.Incidents, newest.Maintenances = l.Tag, p.Incidents[:50], p.Maintenances[:50]
	bodies, err := statuspageapi.Documents(sum, newest, "https://status.example")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := feed.New(newest, "", "https://status.example")
	for name, write := range map[string]func() ([]byte, error){"atom": f.Atom, "rss": f.RSS} {
		if bodies[name], err = write(); err != nil {
			t.Fatal(err)
		}
	}
	bodies["ics"] = feed.Calendar(p, "https://status.example")
	for name, body := range bodies {
		t.Logf("%s in %s: %d bytes", name, l.Tag, len(body))
		if len(body) > MaxBytes {
			t.Errorf("%s in %s: %d bytes", name, l.Tag, len(body))
		}
	}
}

// TestRenderedMarkdownIsLimited checks that at most budgetChars characters of
// Markdown are rendered for a page.
func TestRenderedMarkdownIsLimited(t *testing.T) {
	r, s := newBudget(), i18n.UpdateText{Message: strings.Repeat("x", kernel.MaxMessageLength)}
	rendered := 0
	for range 1_000 {
		if _, ok := r.message(englishPresentation(), s, 0); ok {
			rendered += len(s.Message)
		}
	}
	if rendered != budgetChars {
		t.Errorf("%d characters were rendered, want %d", rendered, budgetChars)
	}
	if len(markdown.HTML(s.Message)) < kernel.MaxMessageLength {
		t.Error("the Markdown is not rendered")
	}
}

// compressedSize returns the compressed size of a document.
func compressedSize(html []byte) int {
	return len(web.NewDocument(html, web.DocumentHeader{}).Compressed())
}

// assetSize is compressedSize for an asset.
func assetSize(name string) int {
	return len(assets.Find(strings.TrimPrefix(assets.URL(name), assets.Path)).Compressed())
}

// TestRenderEndsWithContext checks that rendering stops when ctx ends.
func TestRenderEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, _ := largestPage()
	if _, err := statusModel(englishPresentation(), p.Summarize(day)).Render(ctx); err != context.Canceled {
		t.Errorf("rendered with %v", err)
	}
}
