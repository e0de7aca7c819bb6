package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

func TestSearch(t *testing.T) {
	inWorlds(t, func(w *world) {
		for _, name := range []string{"Übung der Nacht", "Nightly dump", "Weekly night shift", "Overnight", "100%_\\"} {
			must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: name, Interval: time.Minute, PageSlug: "acme", Tags: []string{"prod"},
			})))(w)
		}
		must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Night train"})))(w)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "No night trains"},
			statuspage.IncidentUpdate{}, nil))(w)
		for i := range 12 {
			must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: fmt.Sprintf("job %02d", i), Interval: time.Minute,
			})))(w)
		}
		for text, want := range map[string]string{
			"": "", "  ": "", "nothing of this": "",
			" NIGHT ":      "nightly, Nightly dump, Weekly night shift, Overnight; Night train; ; No night trains",
			"übung":        "Übung der Nacht; ; ; ",
			"shift weekly": "Weekly night shift; ; ; ",
			"prod shift":   "Weekly night shift; ; ; ",
			"%_\\":         "100%_\\; ; ; ",
			"job":          "job 00, job 01, job 02, job 03, job 04, job 05, job 06, job 07; ; ; ",
		} {
			f := must(w.Search(w.ctx, w.ws, text))(w)
			var kinds [4][]string
			for _, m := range f.Monitors {
				kinds[0] = append(kinds[0], m.Name)
			}
			for _, c := range f.Components {
				kinds[1] = append(kinds[1], c.Name)
			}
			for _, p := range f.Pages {
				kinds[2] = append(kinds[2], p.Slug)
			}
			for _, i := range f.Incidents {
				kinds[3] = append(kinds[3], i.Title)
			}
			if f.Empty() != (want == "") {
				w.Errorf("search for %q, empty: %t: %+v", text, f.Empty(), f)
			}
			var got []string
			for _, names := range kinds {
				got = append(got, strings.Join(names, ", "))
			}
			if got := strings.Join(got, "; "); got != want && want != "" {
				w.Errorf("search for %q:\ngot  %s\nwant %s", text, got, want)
			}
		}
		f := must(w.Search(w.ctx, w.ws, w.page.Name))(w)
		if len(f.Pages) != 1 || f.Pages[0].Slug != "acme" || len(f.Components) == 0 {
			w.Errorf("a page with what is on it: %+v", f)
		}
	})
}
