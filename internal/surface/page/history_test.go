package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

func TestHistoryOfMonth(t *testing.T) {
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		w.component("acme", "Website", kernel.StatusDegraded)
		message := "It broke."
		w.incident("acme",
			statuspage.Incident{Title: "November", Impact: kernel.ImpactMinor, State: statuspage.IncidentResolved},
			message)
		w.clock.set(time.Date(2020, 12, 31, 23, 59, 59, 0, time.UTC))
		late := w.incident("acme", statuspage.Incident{Title: "December"}, "")
		w.clock.set(time.Date(2021, 1, 2, 8, 0, 0, 0, time.UTC))

		days := func(month string, p htmltest.Tree, want ...string) {
			t.Helper()
			if got := p.Texts(".day"); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", month, got, want)
			}
		}
		p := w.get("/status/acme/history", 200)
		days("January", p,
			"1–2 Jan No new incidents",
			"Began before January 2021 December since 31 Dec, 23:59 No impact Investigating We are investigating "+
				"this incident. Full timeline")
		if got := p.One(t, ".months a"); got != "← December 2020" {
			t.Errorf("links of January: %q", got)
		}
		p = w.get("/status/acme/history?month=2020-12", 200)
		days("December", p,
			"Thursday, 31 December December since 23:59 No impact Investigating We are investigating this "+
				"incident. Full timeline",
			"1–30 Dec No incidents")
		if got := p.Texts(".months a"); !slices.Equal(got, []string{"← November 2020", "January 2021 →"}) {
			t.Errorf("links of December: %q", got)
		}
		p = w.get(p.All(".months a")[0].Attr("href"), 200)
		days("November", p,
			"22–30 Nov No incidents",
			"Saturday, 21 November November 15:04 Minor impact Resolved Resolved 21 Nov 2020, 15:04 It broke. "+
				"Full timeline")
		if got := p.One(t, ".months a"); got != "December 2020 →" {
			t.Errorf("links of November: %q", got)
		}
		for _, month := range []string{
			"2020-10", "2021-02", "9999-12", "2020-13", "2020-1", "26-11", "x", "", "2020-11-01", "%00", "-1",
			"2020-11%20",
		} {
			w.get("/status/acme/history?month="+month, 404)
		}
		w.get("/status/acme/history?other=1", 200)

		w.get("/status/acme/history?month=2020-12", 200)
		u, err := w.store.PostUpdate(ctx, w.ws, late.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil)
		must(w, u, err)
		got := w.get("/status/acme/history?month=2020-12", 200).Texts(".message")
		if !slices.Equal(got, []string{"Found it."}) {
			t.Errorf("after an update: %q", got)
		}
	})
}

// TestNewDayBeginsAtMidnight checks that a new day begins without a commit.
func TestNewDayBeginsAtMidnight(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.clock.set(time.Date(2020, 11, 30, 23, 59, 59, 0, time.UTC))
		first := func(path string) string { return w.get(path, 200).Texts(".day h3")[0] }
		for _, path := range []string{"/status/acme", "/status/acme/history"} {
			if got := first(path); !strings.HasSuffix(got, "–30 Nov") {
				t.Errorf("%s before midnight: %q", path, got)
			}
		}
		w.clock.move(time.Second)
		for _, path := range []string{"/status/acme", "/status/acme/history"} {
			if got := first(path); !strings.HasSuffix(got, "1 Dec") && got != "Tuesday, 1 December" {
				t.Errorf("%s after midnight: %q", path, got)
			}
		}
	})
}

func TestIncidentPage(t *testing.T) {
	run(t, func(w *fixture) {
		ctx, t := w.t.Context(), w.t
		first := hostile + "\nnext line"
		inc := w.incident("acme", statuspage.Incident{Title: hostile, Impact: kernel.ImpactMajor}, first)
		path := "/status/acme/incidents/" + inc.ID
		for i := range 40 {
			w.clock.move(time.Minute)
			u, err := w.store.PostUpdate(ctx, w.ws, inc.ID,
				statuspage.IncidentUpdate{Message: fmt.Sprint("Update ", i)}, nil)
			must(w, u, err)
			p := w.get(path, 200)
			if got := p.Texts(".timeline .message"); len(got) != i+2 || got[0] != fmt.Sprint("Update ", i) {
				t.Fatalf("after update %d: %d entries, the first %q", i, len(got), got[0])
			}
		}
		p := w.get(path, 200)
		if got := p.All("h1")[0].RawText(); got != strings.ReplaceAll(hostile, "\u202e", "") {
			t.Errorf("the title reads %q", got)
		}
		got := p.All(".timeline .message")[40].RawText()
		if got != strings.NewReplacer("\n", "", "\u202e", "").Replace(first) {
			t.Errorf("the first message reads %q", got)
		}
		if got := p.One(t, ".meta"); got != "Major impact Investigating began 21 Nov 2020, 15:04" {
			t.Errorf("the state reads %q", got)
		}
		state := statuspage.IncidentResolved
		inc, err := w.store.ChangeIncident(ctx, w.ws, inc.ID, func(i *statuspage.Incident) error {
			i.State = state
			return nil
		}, statuspage.IncidentUpdate{}, "")
		must(w, inc, err)
		got = w.get(path, 200).One(t, ".meta")
		if got != "Major impact Resolved after 40 minutes 21 Nov 2020, 15:04 to 15:44" {
			t.Errorf("the state reads %q", got)
		}

		w.page("other", "Other")
		w.get("/status/other/incidents/"+inc.ID, 404)
		for _, id := range []string{
			"", "x", strings.ToUpper(inc.ID), inc.ID + "/", inc.ID + "0", "01a1fc53-1977-7f37-b83c-ba9c7d0ad21a",
		} {
			w.get("/status/acme/incidents/"+id, 404)
		}
		if err := w.store.DeleteIncident(ctx, w.ws, inc.ID); err != nil {
			t.Fatal(err)
		}
		w.get(path, 404)
	})
}

// TestMonthAfterZoneChange requests a month in one time zone and renders it in
// another.
func TestMonthAfterZoneChange(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.clock.set(time.Date(2020, 11, 2, 12, 0, 0, 0, time.UTC))
		w.page("old", "Old")
		w.clock.set(time.Date(2020, 12, 3, 12, 0, 0, 0, time.UTC))
		days := func() string { return w.get("/status/old/history?month=2020-12", 200).One(t, ".day h3") }
		if got := days(); got != "1–3 Dec" {
			t.Fatalf("%s in UTC", got)
		}
		for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago"} {
			page, err := w.store.ChangePage(t.Context(), w.ws, "old", func(p *statuspage.Page) error {
				p.TimeZone = zone
				return nil
			})
			must(w, page, err)
			want := fmt.Sprintf("1–%d Dec", w.clock.now().In(page.Location()).Day())
			if got := days(); got != want {
				t.Errorf("the days of the month: %s in %s, want %s", got, zone, want)
			}
		}
	})
}

// TestDurationsGrowWithoutCommit checks that durations grow without a commit, and that viewers
// are not notified of it.
func TestDurationsGrowWithoutCommit(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", kernel.StatusMajorOutage)
		w.clock.move(time.Second)
		first := func(path string) string { return w.get(path, 200).All(".days tbody tr")[0].Text() }
		tag := w.tag("/status/acme")
		for _, path := range []string{"/status/acme", "/status/acme?lang=en", "/status/acme/components/" + c.ID} {
			if got := first(path); !strings.Contains(got, "Major Outage, 1 second") {
				t.Errorf("%s at the beginning: %q", path, got)
			}
		}
		w.clock.move(3 * time.Hour)
		for _, path := range []string{"/status/acme", "/status/acme?lang=en", "/status/acme/components/" + c.ID} {
			if got := first(path); !strings.Contains(got, "Major Outage, 3 hours") {
				t.Errorf("%s after three hours: %q", path, got)
			}
		}
		w.clock.move(time.Minute)
		if got := first("/status/acme"); !strings.Contains(got, "Major Outage, 3 hours 1 minute") {
			t.Errorf("a minute later: %q", got)
		}
		if got := w.tag("/status/acme"); got != tag {
			t.Error("the tag changes with time alone")
		}
	})
}
