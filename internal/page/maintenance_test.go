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
	"github.com/allswell/allswell/internal/markdown"
)

func (w *world) maintenance(slug string, n allswell.NewMaintenance) allswell.Maintenance {
	w.t.Helper()
	m, err := w.store.CreateMaintenance(w.t.Context(), w.ws, slug, n)
	return must(w, m, err)
}

// TestMaintenancePage follows a planned maintenance from its announcement to
// its end, by its page.
func TestMaintenancePage(t *testing.T) {
	run(t, func(w *world) {
		ctx, t := w.t.Context(), w.t
		c := w.component("acme", "Database", "")
		message := "We **replace** a disk."
		m := w.maintenance("acme", allswell.NewMaintenance{
			Title: hostile, Message: &message, Components: []string{c.ID},
			ScheduledFor: day.Add(8 * time.Hour), ScheduledUntil: day.Add(10*time.Hour + 30*time.Minute),
		})
		path := "/status/acme/maintenances/" + m.ID
		p := w.get(path, 200)
		if got := p.all("h1")[0].rawText(); got != markdown.Line(hostile) {
			t.Errorf("the title reads %q", got)
		}
		if got := p.one(t, ".meta"); got != "Scheduled 21 Nov 2026, 23:04 UTC to 22 Nov 2026, 01:34 UTC Planned duration: 2 hours 30 minutes" &&
			got != "Scheduled 21 Nov 2020, 23:04 UTC to 22 Nov 2020, 01:34 UTC Planned duration: 2 hours 30 minutes" {
			t.Errorf("ahead it says %q", got)
		}
		if got := p.texts(".message strong"); !slices.Equal(got, []string{"replace"}) {
			t.Errorf("Markdown: %q", got)
		}
		if got := p.one(t, ".affected a"); got != "Database" || p.all(".affected a")[0].attr("href") != "/status/acme/components/"+c.ID {
			t.Errorf("it concerns %q", got)
		}
		if got := p.texts(".months a"); !slices.Equal(got, []string{"Current status", "Maintenance calendar"}) {
			t.Errorf("it leads to %q", got)
		}

		w.clock.set(day.Add(8 * time.Hour))
		advance(w)
		p = w.get(path, 200)
		if got := p.one(t, ".meta"); !strings.HasPrefix(got, "In progress 21 Nov 2020, 23:04 UTC to 22 Nov 2020, 01:34 UTC") {
			t.Errorf("while it runs it says %q", got)
		}
		u, err := w.store.PostMaintenanceUpdate(ctx, w.ws, m.ID, "The disk is in.", "")
		must(w, u, err)
		w.clock.set(day.Add(10*time.Hour + 30*time.Minute))
		advance(w)
		p = w.get(path, 200)
		if got := p.one(t, ".meta"); got != "Completed 21 Nov 2020, 23:04 UTC to 22 Nov 2020, 01:34 UTC Completed after 2 hours 30 minutes" {
			t.Errorf("afterwards it says %q", got)
		}
		if got := p.texts(".timeline .message"); len(got) != 4 || got[1] != "The disk is in." {
			t.Errorf("the timeline reads %q", got)
		}
		if got := p.texts(".months a"); len(got) != 3 || got[2] != "All incidents in November 2020" {
			t.Errorf("it leads to %q", got)
		}

		w.page("other", "Other")
		w.get("/status/other/maintenances/"+m.ID, 404)
		for _, id := range []string{"", "x", strings.ToUpper(m.ID), m.ID + "/", m.ID + "0", "mnt_00000000000000000000", c.ID} {
			w.get("/status/acme/maintenances/"+id, 404)
		}
		if err := w.store.DeleteMaintenance(ctx, w.ws, m.ID); err != nil {
			t.Fatal(err)
		}
		w.get(path, 404)
	})
}

// advance lets the clock begin and end what is planned.
func advance(w *world) {
	w.t.Helper()
	if _, err := w.store.AdvanceMaintenances(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// TestPlannedViews: where clocks change in between, the times are those of the
// page's clock and the duration is what it takes.
func TestPlannedViews(t *testing.T) {
	berlin := zoneOf(t, "Europe/Berlin")
	begin := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC) // 2:30, and an hour later 2:30 again
	m := allswell.Maintenance{
		ID: "mnt_1", Title: "Upgrade", State: allswell.MaintenanceScheduled, ScheduledFor: begin, ScheduledUntil: begin.Add(2 * time.Hour),
	}
	for i := range 30 {
		m.Updates = append(m.Updates, allswell.MaintenanceUpdate{Number: i + 1, Message: fmt.Sprint("Update ", i+1), State: m.State, CreatedAt: begin.AddDate(0, 0, -1)})
	}
	want := map[string]string{
		"en": "Scheduled 25 Oct 2026, 02:30 CEST to 03:30 CET Planned duration: 2 hours",
		"de": "Geplant 25. Okt. 2026, 02:30 MESZ bis 03:30 MEZ Geplante Dauer: 2 Stunden",
		"ar": "",
	}
	for _, l := range i18n.All() {
		at := presentation{base: "/status/acme", lang: l, zone: berlin}
		v := viewMaintenance(at, m, extent{updates: 3, budget: newBudget(), lines: newBudget()})
		if len(v.Updates) != 3 || v.Earlier != 27 || v.Excerpt != "Update 30" || v.Updates[0].Message != "<p>Update 30</p>" {
			t.Errorf("%s: %d updates, %d earlier, %q", l.Tag, len(v.Updates), v.Earlier, v.Excerpt)
		}
		var out strings.Builder
		if err := templates[l]().ExecuteTemplate(&out, "planned", []maintenanceView{v}); err != nil {
			t.Fatal(err)
		}
		if found := i18ntest.Leftovers(out.String()); len(found) > 0 {
			t.Errorf("%s: %q", l.Tag, found)
		}
		p := parse(t, out.String())
		if got := p.one(t, ".meta"); want[l.Tag] != "" && got != want[l.Tag] {
			t.Errorf("%s: %q, want %q", l.Tag, got, want[l.Tag])
		}
		if got := p.all("h3 a")[0].attr("href"); got != "/status/acme/maintenances/mnt_1" {
			t.Errorf("%s: it leads to %q", l.Tag, got)
		}
	}
}
