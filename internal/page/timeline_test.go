package page

import (
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/htmltest"
	"github.com/allswell/allswell/internal/statuspage/statuspagetest"
)

// compatEntry is what these tests read of an update in the documents for programs.
type compatEntry struct {
	ID, Status, Body string
	IncidentID       string `json:"incident_id"`
	CreatedAt        string `json:"created_at"`
	UpdatedAt        string `json:"updated_at"`
	DisplayAt        string `json:"display_at"`
}

// TestResolvedWithoutAWord: an incident that is resolved as the contract has it
// says so at the end of its timeline, wherever that is shown; what is written
// afterwards says it instead.
func TestResolvedWithoutAWord(t *testing.T) {
	run(t, func(w *world) {
		t, ctx := w.t, w.t.Context()
		inc := w.incident("acme", allswell.NewIncident{Title: "Dark", State: allswell.IncidentMonitoring, Message: text("We look.")})
		w.clock.move(time.Minute)
		resolved, yes := allswell.IncidentResolved, true
		inc, err := w.store.ChangeIncident(ctx, w.ws, inc.ID, allswell.IncidentChange{State: &resolved, Resolved: &yes})
		must(w, inc, err)
		at := allswell.FormatTime(inc.ResolvedAt)
		said := allswell.SystemMessage{Kind: allswell.SystemMessageResolved}.Text()

		told := w.timelines(inc.ID)
		first := told.compat[0]
		if want := (compatEntry{first.ID, "resolved", said, inc.ID, at, at, at}); first != want || len(told.compat) != 2 || told.compat[1].Status != "monitoring" {
			t.Errorf("programs are told %+v, want %+v first", told.compat, want)
		}
		if again := w.timelines(inc.ID).compat[0]; again != first {
			t.Errorf("again they are told %+v", again)
		}
		told.are(t, []string{"Resolved " + said, "Monitoring We look."})
		if kept, err := w.store.Incident(ctx, w.ws, inc.ID); err != nil || len(kept.Updates) != 1 {
			t.Errorf("stored are %v, %v", kept.Updates, err)
		}
		// What somebody has written is still what the page tells in short.
		if got := w.get("/status/acme", 200).One(t, ".past .excerpt"); got != "We look." {
			t.Errorf("the excerpt is %q", got)
		}
		if got := w.get("/status/acme/history", 200).One(t, ".past summary"); got != "Timeline, 2 updates" {
			t.Errorf("the history has %q", got)
		}
		for lang, want := range map[string]string{"de": "Diese Störung ist behoben.", "ar": "تم حل هذه الحادثة."} {
			if got := w.get("/status/acme/incidents/"+inc.ID+"?lang="+lang, 200).Texts(".timeline .message"); got[0] != want {
				t.Errorf("%s: %q", lang, got)
			}
		}

		// Another state changes nothing about it, and neither do words.
		w.clock.move(time.Minute)
		monitoring := allswell.IncidentMonitoring
		inc, err = w.store.ChangeIncident(ctx, w.ws, inc.ID, allswell.IncidentChange{State: &monitoring})
		must(w, inc, err)
		u, err := w.store.PostUpdate(ctx, w.ws, inc.ID, "A fuse.")
		must(w, u, err)
		told = w.timelines(inc.ID)
		told.are(t, []string{"Resolved A fuse.", "Monitoring We look."})
		if told.compat[0].ID != u.ID || told.compat[0].Status != "resolved" || len(told.compat) != 2 {
			t.Errorf("with words, programs are told %+v", told.compat)
		}
		if got := w.get("/status/acme/incidents/"+inc.ID, 200).All("meta[name=description]")[0].Attr("content"); got != "Resolved. No impact. A fuse." {
			t.Errorf("the page is described as %q", got)
		}
	})
}

// TestResolvedWithoutAnyWord: not even at the beginning.
func TestResolvedWithoutAnyWord(t *testing.T) {
	run(t, func(w *world) {
		inc := w.incident("acme", allswell.NewIncident{Title: "Dark", State: allswell.IncidentResolved})
		w.timelines(inc.ID).are(w.t, []string{"Resolved This incident has been resolved."})
		if got := w.get("/status/acme", 200).All(".past .excerpt"); len(got) != 0 {
			w.t.Errorf("the excerpt is %q", got[0].Text())
		}
	})
}

// timelines is the timeline of one incident as it is told to each: "STATE MESSAGE",
// newest first.
type timelines struct {
	html, history, atom, rss []string
	compat                   []compatEntry
}

// are holds what is shown to people to what is expected.
func (told timelines) are(t *testing.T, want []string) {
	t.Helper()
	for name, got := range map[string][]string{"the page": told.html, "the history": told.history, "Atom": told.atom, "RSS": told.rss} {
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// timelines reads that of the only incident there is.
func (w *world) timelines(id string) (told timelines) {
	w.t.Helper()
	of := func(p htmltest.Tree, in, state, message string) (out []string) {
		states, messages := p.Texts(in+state), p.Texts(in+message)
		for i := range min(len(states), len(messages)) {
			out = append(out, states[i]+" "+messages[i])
		}
		return out
	}
	told.html = of(w.get("/status/acme/incidents/"+id, 200), ".timeline ", ".when strong", ".message")
	told.history = of(w.get("/status/acme/history", 200), ".past .timeline ", ".when strong", ".message")
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
	told.atom = content(atom.Entries[0].Content)
	told.rss = content(rss.Items[0].Content)
	var doc struct {
		Incidents []struct {
			Updates []compatEntry `json:"incident_updates"`
		}
	}
	body := w.do("GET", "/status/acme/api/v2/incidents.json").Body.String()
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&doc); err != nil || len(doc.Incidents) != 1 {
		w.t.Fatalf("%v: %s", err, body)
	}
	for _, errorPage := range statuspagetest.Faults("incidents.json", []byte(body)) {
		w.t.Error(errorPage)
	}
	told.compat = doc.Incidents[0].Updates
	return told
}
