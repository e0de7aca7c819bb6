package page

import (
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi/statuspagetest"
)

// statuspageUpdate is an incident update in the documents for programs.
type statuspageUpdate struct {
	ID, Status, Body string
	IncidentID       string `json:"incident_id"`
	CreatedAt        string `json:"created_at"`
	UpdatedAt        string `json:"updated_at"`
	DisplayAt        string `json:"display_at"`
}

// TestResolvedWithoutMessage checks that an incident that is resolved without a
// message ends with a message of the system in all timelines, and that a later
// message replaces it.
func TestResolvedWithoutMessage(t *testing.T) {
	run(t, func(w *fixture) {
		t, ctx := w.t, w.t.Context()
		inc := w.resolvedWithoutMessage()
		at := kernel.FormatTime(inc.ResolvedAt)
		said := statuspage.SystemMessage{Kind: statuspage.SystemMessageResolved}.Text()

		shown := w.timelines(inc.ID)
		first := shown.compat[0]
		want := (statuspageUpdate{first.ID, "resolved", said, inc.ID, at, at, at})
		if first != want || len(shown.compat) != 2 || shown.compat[1].Status != "monitoring" {
			t.Errorf("documents for programs have %+v, want %+v first", shown.compat, want)
		}
		if again := w.timelines(inc.ID).compat[0]; again != first {
			t.Errorf("the second time they have %+v", again)
		}
		shown.check(t, []string{"Resolved " + said, "Monitoring We look."})
		if kept, err := w.store.Incident(ctx, w.ws, inc.ID); err != nil || len(kept.Updates) != 1 {
			t.Errorf("stored updates: %v, %v", kept.Updates, err)
		}
		// The excerpt is the last message by a person.
		if got := w.get("/status/acme", 200).One(t, ".past .excerpt"); got != "We look." {
			t.Errorf("the excerpt is %q", got)
		}
		if got := w.get("/status/acme/history", 200).Texts(".past .message"); len(got) != 2 {
			t.Errorf("the history has %q", got)
		}
		for lang, want := range map[string]string{"de": "Diese Störung ist behoben.", "ar": "تم حل هذه الحادثة."} {
			got := w.get("/status/acme/incidents/"+inc.ID+"?lang="+lang, 200).Texts(".timeline .message")
			if got[0] != want {
				t.Errorf("%s: %q, want %q first", lang, got, want)
			}
		}
	})
}

// resolvedWithoutMessage creates an incident that is resolved without a message.
func (w *fixture) resolvedWithoutMessage() statuspage.Incident {
	w.t.Helper()
	inc := w.incident("acme", statuspage.Incident{Title: "Dark", State: statuspage.IncidentMonitoring}, "We look.")
	w.clock.move(time.Minute)
	inc, err := w.store.ChangeIncident(w.t.Context(), w.ws, inc.ID, func(i *statuspage.Incident) error {
		i.State = statuspage.IncidentResolved
		i.SetResolved(true)
		return nil
	}, statuspage.IncidentUpdate{}, "")
	return must(w, inc, err)
}

// TestResolvedStaysResolved changes the state of a resolved incident, and posts an update.
func TestResolvedStaysResolved(t *testing.T) {
	run(t, func(w *fixture) {
		t, ctx := w.t, w.t.Context()
		inc := w.resolvedWithoutMessage()
		w.clock.move(time.Minute)
		inc, err := w.store.ChangeIncident(ctx, w.ws, inc.ID, func(i *statuspage.Incident) error {
			i.State = statuspage.IncidentMonitoring
			return nil
		}, statuspage.IncidentUpdate{}, "")
		must(w, inc, err)
		u, err := w.store.PostUpdate(ctx, w.ws, inc.ID, statuspage.IncidentUpdate{Message: "A fuse."}, nil)
		must(w, u, err)
		shown := w.timelines(inc.ID)
		shown.check(t, []string{"Resolved A fuse.", "Monitoring We look."})
		if shown.compat[0].ID != u.ID || shown.compat[0].Status != "resolved" || len(shown.compat) != 2 {
			t.Errorf("with a message, documents for programs have %+v", shown.compat)
		}
		description := w.get("/status/acme/incidents/"+inc.ID, 200).All("meta[name=description]")[0]
		if got := description.Attr("content"); got != "Resolved. No impact. A fuse." {
			t.Errorf("the page is described as %q", got)
		}
	})
}

// TestResolvedWithoutUpdates checks an incident that is resolved when it is
// created.
func TestResolvedWithoutUpdates(t *testing.T) {
	run(t, func(w *fixture) {
		inc := w.incident("acme", statuspage.Incident{Title: "Dark", State: statuspage.IncidentResolved}, "")
		w.timelines(inc.ID).check(w.t, []string{"Resolved This incident has been resolved."})
		if got := w.get("/status/acme", 200).All(".past .excerpt"); len(got) != 0 {
			w.t.Errorf("the excerpt is %q", got[0].Text())
		}
	})
}

// timelines has the timeline of one incident in each format: "STATE MESSAGE", newest
// first.
type timelines struct {
	html, history, atom, rss []string
	compat                   []statuspageUpdate
}

// check compares the timelines for people with want.
func (l timelines) check(t *testing.T, want []string) {
	t.Helper()
	for name, got := range map[string][]string{
		"the page": l.html, "the history": l.history, "Atom": l.atom, "RSS": l.rss,
	} {
		if !slices.Equal(got, want) {
			t.Errorf("the timeline: %s has %q, want %q", name, got, want)
		}
	}
}

// timelines reads the timelines of the only incident.
func (w *fixture) timelines(id string) (l timelines) {
	w.t.Helper()
	of := func(p htmltest.Tree, in, state, message string) (out []string) {
		states, messages := p.Texts(in+state), p.Texts(in+message)
		for i := range min(len(states), len(messages)) {
			out = append(out, states[i]+" "+messages[i])
		}
		return out
	}
	l.html = of(w.get("/status/acme/incidents/"+id, 200), ".timeline ", ".when strong", ".message")
	l.history = of(w.get("/status/acme/history", 200), ".past .timeline ", ".when strong", ".message")
	read := func(path string, into any) {
		if err := xml.Unmarshal(w.do("GET", path).Body.Bytes(), into); err != nil {
			w.t.Fatal(path, err)
		}
	}
	var atom struct {
		Entries []struct {
			Content string `xml:"content"`
		} `xml:"entry"`
	}
	var rss struct {
		Items []struct {
			Content string `xml:"http://purl.org/rss/1.0/modules/content/ encoded"`
		} `xml:"channel>item"`
	}
	read("/status/acme/history.atom", &atom)
	read("/status/acme/history.rss", &rss)
	content := func(html string) []string { return of(htmltest.Parse(w.t, html), "", "p strong", "div") }
	l.atom = content(atom.Entries[0].Content)
	l.rss = content(rss.Items[0].Content)
	var doc struct {
		Incidents []struct {
			Updates []statuspageUpdate `json:"incident_updates"`
		}
	}
	body := w.do("GET", "/status/acme/api/v2/incidents.json").Body.String()
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&doc); err != nil || len(doc.Incidents) != 1 {
		w.t.Fatalf("%v: %s", err, body)
	}
	for _, fault := range statuspagetest.Faults("incidents.json", []byte(body)) {
		w.t.Error(fault)
	}
	l.compat = doc.Incidents[0].Updates
	return l
}
