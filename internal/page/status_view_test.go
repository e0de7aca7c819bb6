package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/i18n/i18ntest"
)

// TestFacts: a component of which nothing is known is not one that fails.
func TestFacts(t *testing.T) {
	const (
		ok, bad, unknown = allswell.StatusOperational, allswell.StatusMajorOutage, allswell.StatusUnknown
	)
	for _, c := range []struct {
		statuses []allswell.Status
		want     string
	}{
		{nil, ""},
		{[]allswell.Status{ok, ok}, ""},
		{[]allswell.Status{bad}, ""},
		{[]allswell.Status{unknown, unknown}, ""},
		{[]allswell.Status{ok, bad, bad}, "1 of 3 components operational"},
		{[]allswell.Status{ok, ok, unknown}, "2 of 3 components operational · 1 unknown"},
		{[]allswell.Status{bad, unknown, unknown}, "0 of 3 components operational · 2 unknown"},
	} {
		var p allswell.PageContents
		for i, status := range c.statuses {
			p.Components = append(p.Components, allswell.Component{ID: fmt.Sprint(i), Baseline: status})
		}
		if got := facts(i18ntest.Language(t, "en"), p.Summarize(day)); got != c.want {
			t.Errorf("%v: %q, want %q", c.statuses, got, c.want)
		}
	}
}

// TestFiguresOfOneSpan: those of the page, of its groups and components are of
// the same days, whichever are shown, and say so.
func TestFiguresOfOneSpan(t *testing.T) {
	p := troubled(10, barsNow)
	for _, l := range i18n.All() {
		out, err := render(t.Context(), statusScreen(presentation{base: "/status/acme", lang: l, zone: time.UTC}, p.Summarize(barsNow)))
		if err != nil {
			t.Fatal(err)
		}
		page := parse(t, string(out))
		for place, want := range map[string]int{".beside": 1, ".group .figure": 15} {
			for _, days := range barSpans {
				got := page.texts(fmt.Sprint(place, " .of-", days))
				if len(got) != want {
					t.Errorf("%s: %s has %d figures of %d days, want %d", l.Tag, place, len(got), days, want)
				}
				for _, figure := range got {
					if !strings.HasSuffix(figure, l.T("bars.over", "n", days)) || !strings.Contains(figure, "%") {
						t.Errorf("%s: %s has the figure %q of %d days", l.Tag, place, figure, days)
					}
				}
			}
		}
	}
}

// TestActiveIncidentsInOrder: the page, its components and the page of a
// component have the one first of which there is news.
func TestActiveIncidentsInOrder(t *testing.T) {
	p := allswell.PageContents{
		Page:       allswell.Page{ID: "page_1", Slug: "acme", Name: "Acme", CreatedAt: day.AddDate(0, -1, 0)},
		Components: []allswell.Component{{ID: "comp_1", Name: "Checkout", Baseline: allswell.StatusOperational}},
		AsOf:       day,
	}
	for i, written := range []int{5, 1, 9} { // minutes ago; the first is the newest
		began := day.Add(-time.Duration(10+i) * time.Minute)
		p.Incidents = append(p.Incidents, allswell.Incident{
			ID: fmt.Sprint(i), Title: fmt.Sprintf("Written %d minutes ago", written), State: allswell.IncidentIdentified, CreatedAt: began,
			Updates:  []allswell.IncidentUpdate{{Number: 1, CreatedAt: began}, {Number: 2, CreatedAt: day.Add(-time.Duration(written) * time.Minute)}},
			Affected: []allswell.AffectedComponent{{ComponentID: "comp_1", Status: allswell.StatusDegraded}},
		})
	}
	want := []string{"Written 1 minutes ago", "Written 5 minutes ago", "Written 9 minutes ago"}
	sum := p.Summarize(day)
	for place, s := range map[string]screen{
		".incident h3": statusScreen(english(), sum),
		".concern":     statusScreen(english(), sum),
		"article h3":   componentScreen(english(), "https://status.example", sum, p.Components[0], p),
	} {
		out, err := render(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, string(out)).texts(place); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", place, got, want)
		}
	}
}

// TestAssetsAreSentWithoutComments, and with all else.
func TestAssetsAreSentWithoutComments(t *testing.T) {
	for name, want := range map[string]string{"page.js": `const locale = root.dataset.locale`, "style.css": `:root {`} {
		sent := string(assets[name].stable.Body())
		if strings.Contains(sent, "/*") || strings.Contains(sent, "\n//") || !strings.Contains(sent, want) {
			t.Errorf("%s: %.400s", name, sent)
		}
	}
}
