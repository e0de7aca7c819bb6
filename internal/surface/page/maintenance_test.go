package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// TestMaintenancePage follows the page of a maintenance from its announcement to
// its end.
func TestMaintenancePage(t *testing.T) {
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		c := w.component("acme", "Database", "")
		message := "We **replace** a disk."
		m := w.maintenance("acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: hostile, Updates: []statuspage.MaintenanceUpdate{{Message: message}},
			Components: statuspage.ComponentRefs(c.ID), ScheduledFor: day.Add(8 * time.Hour),
			ScheduledUntil: day.Add(10*time.Hour + 30*time.Minute),
		}))
		path := "/status/acme/maintenances/" + m.ID
		p := w.get(path, 200)
		if got := p.All("h1")[0].RawText(); got != markdown.Line(hostile) {
			t.Errorf("the title reads %q", got)
		}
		got := p.One(t, ".meta")
		if got != "Scheduled 21 Nov 2026, 23:04 to 22 Nov 2026, 01:34 Scheduled duration: 2 hours 30 minutes" &&
			got != "Scheduled 21 Nov 2020, 23:04 to 22 Nov 2020, 01:34 Scheduled duration: 2 hours 30 minutes" {
			t.Errorf("ahead it says %q", got)
		}
		if got := p.Texts(".message strong"); !slices.Equal(got, []string{"replace"}) {
			t.Errorf("Markdown: %q", got)
		}
		got = p.One(t, ".affected a")
		if got != "Database" || p.All(".affected a")[0].Attr("href") != "/status/acme/components/"+c.ID {
			t.Errorf("it concerns %q", got)
		}
		if got := p.Texts(".months a"); !slices.Equal(got, []string{"Current status", "Maintenance calendar"}) {
			t.Errorf("it leads to %q", got)
		}

		w.clock.set(day.Add(8 * time.Hour))
		advance(w)
		p = w.get(path, 200)
		if got := p.One(t, ".meta"); !strings.HasPrefix(got, "In progress 21 Nov 2020, 23:04 to 22 Nov 2020, 01:34") {
			t.Errorf("while it runs it says %q", got)
		}
		u, err := w.store.PostMaintenanceUpdate(ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: "The disk is in."}), "")
		must(w, u, err)
		w.clock.set(day.Add(10*time.Hour + 30*time.Minute))
		advance(w)
		p = w.get(path, 200)
		got = p.One(t, ".meta")
		if got != "Completed 21 Nov 2020, 23:04 to 22 Nov 2020, 01:34 Completed after 2 hours 30 minutes" {
			t.Errorf("afterwards it says %q", got)
		}
		if got := p.Texts(".timeline .message"); len(got) != 4 || got[1] != "The disk is in." {
			t.Errorf("the timeline reads %q", got)
		}
		if got := p.Texts(".months a"); len(got) != 3 || got[2] != "All incidents in November 2020" {
			t.Errorf("it leads to %q", got)
		}
	})
}

func TestMaintenancesThatDoNotExist(t *testing.T) {
	run(t, func(w *fixture) {
		c := w.component("acme", "Database", "")
		m := w.maintenance("acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "New disks", ScheduledFor: day.Add(8 * time.Hour), ScheduledUntil: day.Add(10 * time.Hour),
		}))
		path := "/status/acme/maintenances/" + m.ID
		w.get(path, 200)
		w.page("other", "Other")
		w.get("/status/other/maintenances/"+m.ID, 404)
		for _, id := range []string{
			"", "x", strings.ToUpper(m.ID), m.ID + "/", m.ID + "0", "mnt_00000000000000000000", c.ID,
		} {
			w.get("/status/acme/maintenances/"+id, 404)
		}
		if err := w.store.DeleteMaintenance(w.t.Context(), w.ws, m.ID); err != nil {
			w.t.Fatal(err)
		}
		w.get(path, 404)
	})
}
