package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi/statuspagetest"
)

// TestEditedMark reads when the text of an update was edited, on the page of its incident and in feeds.
func TestEditedMark(t *testing.T) {
	run(t, func(w *fixture) {
		inc := w.incident("acme", statuspage.Incident{Title: "Dark"}, "Teh lights.")
		path := "/status/acme/incidents/" + inc.ID
		edited := func() int {
			return strings.Count(strings.Join(w.get(path, 200).Texts(".timeline .when"), " "), "edited")
		}
		if n := edited(); n != 0 {
			w.t.Errorf("%d marks before the edit", n)
		}
		w.clock.move(time.Minute)
		u, err := w.store.EditUpdate(t.Context(), w.ws, inc.ID, inc.Updates[0].ID, "The lights.", kernel.Precondition{})
		must(w, u, err)
		if n := edited(); n != 1 {
			w.t.Errorf("%d marks after the edit", n)
		}
		if atom := w.do("GET", "/status/acme/history.atom").Body.String(); !strings.Contains(atom, "edited") {
			w.t.Errorf("the feed has no mark: %s", atom)
		}
	})
}

// programDocuments are what programs read of incidents.
var programDocuments = []string{
	"/status/acme/history.atom", "/status/acme/history.rss", "/status/acme/api/v2/incidents.json",
}

// TestPostmortem reads a published post-mortem on the page of its incident, in feeds and in the documents for programs.
func TestPostmortem(t *testing.T) {
	run(t, func(w *fixture) {
		inc := w.incident("acme", statuspage.Incident{Title: "Dark", State: statuspage.IncidentResolved}, "We look.")
		save := func(body string, publish bool) {
			w.clock.move(time.Minute)
			p, _, err := w.store.PutPostmortem(t.Context(), w.ws, inc.ID, func(p *statuspage.Postmortem) error {
				p.Body, p.Published = body, p.Published || publish
				return nil
			}, false, kernel.Precondition{})
			must(w, p, err)
		}
		path := "/status/acme/incidents/" + inc.ID
		links := func() (n int) {
			for _, list := range []string{"/status/acme", "/status/acme/history"} {
				n += strings.Count(w.do("GET", list).Body.String(), path+`#postmortem"`)
			}
			return n
		}
		save("A **full** disk.", false)
		if section := w.get(path, 200).Texts(".postmortem"); len(section) != 0 {
			w.t.Errorf("a draft is shown: %q", section)
		}
		if n := links(); n != 0 {
			w.t.Errorf("%d lists link to a draft", n)
		}
		save("A **full** disk.", true)
		if n := links(); n != 2 {
			w.t.Errorf("%d lists link to the post-mortem, want 2", n)
		}
		if got := w.get(path, 200).Texts(".postmortem strong"); strings.Join(got, " ") != "full" {
			w.t.Errorf("the section has %q", got)
		}
		for _, program := range programDocuments {
			if body := w.do("GET", program).Body.String(); !strings.Contains(body, "full") {
				w.t.Errorf("%s is without the post-mortem: %s", program, body)
			}
		}
		save("A full disk, again.", false)
		if when := w.get(path, 200).Texts(".postmortem .when"); len(when) != 1 || !strings.Contains(when[0], "edited") {
			w.t.Errorf("after an edit: %q", when)
		}
		body := w.do("GET", programDocuments[2]).Body.Bytes()
		if !strings.Contains(string(body), `"status":"postmortem","body":"A full disk, again."`) {
			w.t.Errorf("the document for programs: %s", body)
		}
		for _, fault := range statuspagetest.Faults("incidents.json", body) {
			w.t.Error(fault)
		}
		if err := w.store.DeletePostmortem(t.Context(), w.ws, inc.ID, kernel.Precondition{}); err != nil {
			t.Fatal(err)
		}
		for _, part := range append(slices.Clone(programDocuments), path) {
			if body := w.do("GET", part).Body.String(); strings.Contains(body, "full disk") {
				w.t.Errorf("%s has the post-mortem that was deleted: %s", part, body)
			}
		}
	})
}
