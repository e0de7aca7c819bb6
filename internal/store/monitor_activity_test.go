package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// activity returns the activity of a monitor in the list.
func (w *world) activity(name string) store.MonitorActivity {
	w.Helper()
	for _, m := range must(w.MonitorList(w.ctx, w.ws, store.MonitorQuery{}, firstHundred))(w).Monitors {
		if m.Name == name {
			return m.Activity
		}
	}
	w.Fatalf("%s is not listed", name)
	return store.MonitorActivity{}
}

// TestRecentChecks lists a check with its last results, the oldest first, and with its uptimes.
func TestRecentChecks(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.newCheck("web")
		if got := w.activity("web"); len(got.Recent) != 0 || len(got.Uptimes) != 0 {
			w.Errorf("before the first check: %+v", got)
		}
		w.check(monitor.CheckOK, monitor.CheckSlow, monitor.CheckFailed, monitor.CheckFailed)
		w.clock.move(time.Minute)
		got := w.activity("web")
		var statuses []string
		for i, r := range got.Recent {
			statuses = append(statuses, string(r.Status))
			if r.Took != 30*time.Millisecond || i > 0 && !r.At.After(got.Recent[i-1].At) {
				w.Errorf("result %d: %+v", i, r)
			}
		}
		if all := strings.Join(statuses, " "); all != "ok slow failed failed" {
			w.Errorf("results: %s", all)
		}
		if len(got.Uptimes) != 2 || got.Uptimes[0].Period != 24*time.Hour {
			w.Fatalf("uptimes: %+v", got.Uptimes)
		}
		if share, ok := got.Uptimes[0].Uptime(); !ok || share <= 0 || share >= 1 {
			w.Errorf("uptime of a monitor that is down for a minute: %g, %t", share, ok)
		}
	})
}

// TestRecentRuns lists a job with its last runs, without their starts.
func TestRecentRuns(t *testing.T) {
	inWorlds(t, func(w *world) {
		for range store.MaxRecent + 1 {
			w.clock.move(time.Second)
			w.send(signalOf(monitor.SignalStart, aRun))
			w.clock.move(2 * time.Second)
			w.send(signalOf(monitor.SignalSuccess, aRun))
		}
		w.clock.move(time.Second)
		w.send(signalOf(monitor.SignalFail, ""))
		got := w.activity(w.monitor.Name).Recent
		if len(got) != store.MaxRecent {
			w.Fatalf("%d results, want %d", len(got), store.MaxRecent)
		}
		first, last := got[0], got[len(got)-1]
		if first.Status != monitor.CheckOK || first.Took != 2*time.Second || last.Status != monitor.CheckFailed {
			w.Errorf("first %+v, last %+v", first, last)
		}
	})
}

// TestGroupsOfMonitors lists monitors by name and in groups.
func TestGroupsOfMonitors(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.newCheck("v10", func(c *monitor.MonitorConfig) { c.Tags = []string{"api"} })
		w.newCheck("v2", func(c *monitor.MonitorConfig) { c.ComponentID = "" })
		w.newCheck("alone", func(c *monitor.MonitorConfig) { c.PageSlug, c.ComponentID = "", "" })
		for group, want := range map[store.MonitorGroup]string{
			"":                        ": alone, : nightly, : v2, : v10",
			store.MonitorsOfPage:      "Acme: nightly, Acme: v2, Acme: v10, No page: alone",
			store.MonitorsOfComponent: "Acme: v2, Acme › Backups: nightly, Acme › Backups: v10, No page: alone",
			store.MonitorsOfTag:       "api: v10, No tag: alone, No tag: nightly, No tag: v2",
		} {
			q := store.MonitorQuery{Group: group, Order: store.MonitorsByName}
			var got []string
			for _, m := range must(w.MonitorList(w.ctx, w.ws, q, firstHundred))(w).Monitors {
				got = append(got, m.Group+": "+m.Name)
			}
			if all := strings.Join(got, ", "); all != want {
				w.Errorf("groups %q: %s\nwant %s", group, all, want)
			}
		}
	})
}
