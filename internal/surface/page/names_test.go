package page

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/page/feed"
)

// turned returns a name with control characters, including ones that change the
// direction of the following text and end an isolate.
func turned(name string) string {
	return "\u2069\u202c" + name + " \u202eeht\u2066\u2067\u2068 \x1b[31m\x07\u202a\u202b\u202d\ufeff"
}

// strays returns the characters of a document that could reorder or hide other
// text: control characters, and directional characters except for balanced
// isolates.
func strays(text string) (found []string) {
	open := 0
	for i, r := range text {
		switch {
		case r == '\u2068':
			open++
		case r == '\u2069' && open > 0:
			open--
		case unicode.IsControl(r) && r != '\n' && r != '\t', r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
			r == 0xfeff:
			found = append(found, fmt.Sprintf("%U in %q", r, text[max(0, i-40):min(len(text), i+20)]))
		}
	}
	if open > 0 {
		found = append(found, fmt.Sprint(open, " isolates are open"))
	}
	return found
}

// TestTitlesDoNotReorderText checks that titles, descriptions and messages with directional characters do not
// reorder the text around them, on every page, in every language. Names cannot have any.
func TestTitlesDoNotReorderText(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t, ctx := w.t, w.t.Context()
		name, footer := "Acme eht", []statuspage.FooterLink{{Label: "Help eht", URL: "https://example.com/"}}
		p, err := w.store.ChangePage(ctx, w.ws, "acme", func(p *statuspage.Page) error {
			p.Name, p.Footer = name, footer
			return nil
		})
		must(w.fixture, p, err)
		w.clock.move(time.Second)
		w.page("beta", "Beta eht")
		g, err := w.store.Groups().Create(ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "Group eht"}))
		must(w.fixture, g, err)
		description := turned("Lines") + "\n" + turned("of it")
		c, err := w.store.Components().Create(ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
			Name: "Component eht", GroupID: g.ID, Description: &description,
		}))
		must(w.fixture, c, err)
		bare, err := w.store.Components().Create(ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "b"}))
		must(w.fixture, bare, err)
		affected := []statuspage.AffectedComponent{{ComponentID: c.ID, Status: kernel.StatusDegraded}}
		inc := w.incident("acme", statuspage.Incident{Title: turned("Incident"), Affected: affected}, turned("Message"))
		old := w.incident("acme",
			statuspage.Incident{Title: turned("Old"), Affected: affected, State: statuspage.IncidentResolved}, "")
		m := w.maintenance("acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: turned("Maintenance"), Components: statuspage.ComponentRefs(c.ID),
			ScheduledFor: w.clock.now().Add(time.Hour), ScheduledUntil: w.clock.now().Add(2 * time.Hour),
		}))
		sub := w.subscriber("ann@example.com")
		sub, err = w.store.ChangeSubscription(ctx, "acme", sub.Key, []string{c.ID})
		must(w.fixture, sub, err)
		for _, l := range i18n.All() {
			for _, path := range []string{
				"/", "/status/acme", "/status/acme/history", "/status/acme/incidents/" + inc.ID,
				"/status/acme/incidents/" + old.ID,
				"/status/acme/maintenances/" + m.ID, "/status/acme/components/" + c.ID,
				"/status/acme/components/" + bare.ID,
				"/status/acme/subscription/" + sub.Key, "/status/acme/unsubscribe/" + sub.Key, "/status/acme/nothing",
				"/status/acme/" + feed.AtomName, "/status/acme/" + feed.RSSName,
			} {
				rec := w.do("GET", path+"?lang="+l.Tag)
				body := rec.Body.String()
				if found := strays(strings.ReplaceAll(body, "\r\n", "\n")); len(found) > 0 {
					t.Errorf("isolates that are not closed: %s in %s: %q", path, l.Tag, found)
				}
				if rec.Code == 200 && !strings.Contains(body, "eht") {
					t.Errorf("%s in %s names nothing", path, l.Tag)
				}
			}
			rec := w.post("/status/acme/subscribe?lang="+l.Tag, url.Values{fieldEmail: {"no address"}})
			if found := strays(rec.Body.String()); len(found) > 0 || rec.Code != 422 {
				t.Errorf("a refused form in %s: %d, %q", l.Tag, rec.Code, found)
			}
		}
		if got := w.get("/status/acme", 200).One(t, "title"); strings.Count(got, "Acme eht") != 1 {
			t.Errorf("title %q", got)
		}
	})
}
