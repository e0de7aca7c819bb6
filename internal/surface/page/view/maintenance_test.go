package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestMaintenanceAcrossClockChange checks that times are in the page's time zone,
// and that the duration is the elapsed time.
func TestMaintenanceAcrossClockChange(t *testing.T) {
	berlin := zoneOf(t, "Europe/Berlin")
	begin := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC) // 2:30, and an hour later 2:30 again
	m := statuspage.Maintenance{
		ID: "mnt_1", Title: "Upgrade", State: statuspage.MaintenanceScheduled, ScheduledFor: begin,
		ScheduledUntil: begin.Add(2 * time.Hour),
	}
	for i := range 30 {
		m.Updates = append(m.Updates, statuspage.MaintenanceUpdate{
			Number: i + 1, Message: fmt.Sprint("Update ", i+1), State: m.State, CreatedAt: begin.AddDate(0, 0, -1),
		})
	}
	want := map[string]string{
		"en": "Scheduled 25 Oct 2026, 02:30 CEST to 25 Oct 2026, 03:30 CET Scheduled duration: 2 hours",
		"de": "Geplant 25. Okt. 2026, 02:30 MESZ bis 25. Okt. 2026, 03:30 MEZ Geplante Dauer: 2 Stunden",
		"ar": "",
	}
	for _, l := range i18n.All() {
		at := Presentation{base: "/status/acme", lang: l, zone: berlin}
		v := viewMaintenance(at, m, detail{updates: 3, budget: newBudget(), lines: newBudget()})
		if len(v.Updates) != 3 || v.Earlier != 27 || v.Excerpt != "Update 30" ||
			v.Updates[0].Message != "<p>Update 30</p>" {
			t.Errorf("%s: %d updates, %d earlier, %q", l.Tag, len(v.Updates), v.Earlier, v.Excerpt)
		}
		var out strings.Builder
		if err := templates()[l]().ExecuteTemplate(&out, "maintenances", []maintenanceView{v}); err != nil {
			t.Fatal(err)
		}
		if found := i18ntest.Leftovers(out.String()); len(found) > 0 {
			t.Errorf("%s: %q", l.Tag, found)
		}
		p := htmltest.Parse(t, out.String())
		if got := p.One(t, ".meta"); want[l.Tag] != "" && got != want[l.Tag] {
			t.Errorf("%s: %q, want %q", l.Tag, got, want[l.Tag])
		}
		if got := p.All("h3 a")[0].Attr("href"); got != "/status/acme/maintenances/mnt_1" {
			t.Errorf("%s: it leads to %q", l.Tag, got)
		}
	}
}
