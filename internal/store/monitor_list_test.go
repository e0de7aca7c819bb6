package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

func TestMonitorListIsFilteredAndSorted(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.monitorsOfThreeConditions()
		for _, c := range []struct {
			q    store.MonitorQuery
			want []string
		}{
			{store.MonitorQuery{}, []string{"Crawler", "nightly", "Archive"}},
			{store.MonitorQuery{Order: store.MonitorsByName}, []string{"Archive", "Crawler", "nightly"}},
			{store.MonitorQuery{Order: store.MonitorsByLastPing}, []string{"nightly", "Archive", "Crawler"}},
			{store.MonitorQuery{Search: "C", Order: store.MonitorsByName}, []string{"Archive", "Crawler"}},
			{store.MonitorQuery{Search: " ARCH"}, []string{"Archive"}},
			{store.MonitorQuery{Page: "acme"}, []string{"nightly"}},
			{store.MonitorQuery{Page: "nowhere"}, nil},
			{store.MonitorQuery{DisplayState: monitor.MonitorUp}, []string{"nightly"}},
			{store.MonitorQuery{DisplayState: monitor.MonitorDown}, nil},
			{store.MonitorQuery{Type: monitor.MonitorHeartbeat, Search: "C"}, []string{"Crawler", "Archive"}},
			{store.MonitorQuery{Type: "http"}, nil},
		} {
			if got := w.monitorNames(c.q); !slices.Equal(got, c.want) {
				w.Errorf("monitors with %+v: %q, want %q", c.q, got, c.want)
			}
		}
	})
}

func TestMonitorListHasCountsAndPages(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.monitorsOfThreeConditions()
		list, err := w.MonitorList(w.ctx, w.ws, store.MonitorQuery{DisplayState: monitor.MonitorUp}, firstHundred)
		w.ok(err)
		if e := list.Monitors[0]; e.PageName != "Acme" || e.ComponentName != "Backups" || e.NextCheckAt.IsZero() {
			w.Errorf("entry %+v", e)
		}
		if list.Counts[monitor.MonitorWaiting] != 1 || list.Counts[monitor.MonitorDisabled] != 1 ||
			list.Counts[monitor.MonitorUp] != 1 {
			w.Errorf("counts %v", list.Counts)
		}
		part, err := w.MonitorList(w.ctx, w.ws, store.MonitorQuery{Order: store.MonitorsByName},
			store.Pagination{Page: 2, PerPage: 2})
		w.ok(err)
		if len(part.Monitors) != 1 || part.Monitors[0].ID != w.monitor.ID || part.Total != 3 {
			w.Errorf("second page %+v", part)
		}
		none, err := w.MonitorList(w.ctx, w.ws, store.MonitorQuery{}, store.Pagination{Page: 9, PerPage: 2})
		w.ok(err)
		if len(none.Monitors) != 0 || none.Total != 3 {
			w.Errorf("page 9 %+v", none)
		}
	})
}

func (w *world) monitorNames(q store.MonitorQuery) (names []string) {
	w.Helper()
	list, err := w.MonitorList(w.ctx, w.ws, q, firstHundred)
	w.ok(err)
	if list.Total != len(list.Monitors) {
		w.Errorf("%+v: total %d of %d", q, list.Total, len(list.Monitors))
	}
	for _, m := range list.Monitors {
		names = append(names, m.Name)
	}
	return names
}

// monitorsOfThreeConditions creates two monitors, and disables one; the monitor of the world is up.
func (w *world) monitorsOfThreeConditions() {
	w.Helper()
	create := func(n monitor.MonitorConfig) monitor.Monitor {
		n.Interval = time.Hour
		m, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(n))
		w.ok(err)
		return m
	}
	create(monitor.MonitorConfig{Name: "Crawler"})
	must(w.ChangeMonitor(w.ctx, w.ws, create(monitor.MonitorConfig{Name: "Archive"}).ID, monitor.Pause(time.Time{})))(w)
	w.pinged()
}

func TestGapsBetweenPings(t *testing.T) {
	inWorlds(t, func(w *world) {
		explain := func() monitor.Explanation { return must(w.ExplainMonitor(w.ctx, w.ws, w.monitor.ID))(w) }
		w.monitor = must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Reschedule(75*time.Second, schedule.Cron{})
			return nil
		}))(w)
		w.pinged()
		if e := explain(); len(e.PingGaps) != 0 {
			w.Errorf("gaps after one ping: %v", e.PingGaps)
		}
		every := w.monitor.Interval * 4 / 5 // every ping is the last of an interval
		var want []time.Duration
		for range 70 {
			w.pass(every)
			w.pinged()
			want = append(want, every)
		}
		w.pass(w.monitor.Interval + time.Minute) // the check keeps the last ping
		e := explain()
		if len(e.PingGaps) != 60 {
			w.Fatalf("%d gaps are kept", len(e.PingGaps))
		}
		for _, gap := range e.PingGaps {
			if gap.Length != want[0] {
				w.Errorf("a gap of %v, want %v: %v", gap.Length, want[0], e.PingGaps)
			}
		}
		if last := e.PingGaps[len(e.PingGaps)-1]; !last.PingedAt.Equal(e.LastPingAt) {
			w.Errorf("the last gap ends at %v, the last ping was at %v", last.PingedAt, e.LastPingAt)
		}
		if r, ok := e.Rhythm(); !ok || r.Every != every {
			w.Errorf("rhythm %v, %v", r, ok)
		}
		w.pass(w.monitor.Interval + 5*time.Minute)
		w.pinged() // ends the outage, and is kept immediately
		e = explain()
		last := e.PingGaps[len(e.PingGaps)-1]
		if !last.PingedAt.Equal(e.LastPingAt) || last.Length <= w.monitor.Interval {
			w.Errorf("after an outage: %v", last)
		}
	})
}

func TestMonitorDetail(t *testing.T) {
	inWorlds(t, func(w *world) {
		detail := func() store.MonitorDetail {
			d, err := w.MonitorDetail(w.ctx, w.ws, "nightly")
			w.ok(err)
			e, err := w.ExplainMonitor(w.ctx, w.ws, w.monitor.ID)
			w.ok(err)
			if d.Explanation.State != e.State || !d.Explanation.DueAt.Equal(e.DueAt) ||
				!d.Explanation.DownAt.Equal(e.DownAt) {
				w.Errorf("explained as %+v and as %+v", d.Explanation, e)
			}
			return d
		}
		d := detail()
		if d.Explanation.State != monitor.MonitorWaiting || len(d.Uptimes) != 0 ||
			d.PageName != "Acme" || !d.OldTokenUntil.IsZero() {
			w.Errorf("before the first ping: %+v", d)
		}
		w.pinged()
		pinged := detail().Explanation
		if pinged.State != monitor.MonitorUp || !pinged.DueAt.Equal(pinged.LastPingAt.Add(w.monitor.Interval)) {
			w.Errorf("after a ping: %+v", pinged)
		}
		w.pass(pinged.DownAt.Sub(w.clock.now()) - 30*time.Second)
		late := detail().Explanation
		if late.State != monitor.MonitorLate || late.Failures != 2 || !late.DownAt.Equal(pinged.DownAt) {
			w.Errorf("late: %+v, want down at %v", late, pinged.DownAt)
		}
		w.pass(30 * time.Second)
		down := detail()
		e := down.Explanation
		if e.State != monitor.MonitorDown || !e.CountedAt.Equal(pinged.DownAt) || !e.DownAt.IsZero() {
			w.Errorf("down: %+v", e)
		}
		w.pass(pinged.DownAt.Sub(w.monitor.CreatedAt))
		for _, u := range detail().Uptimes {
			if share, ok := u.Uptime(); !ok || share < 0.49 || share > 0.51 {
				w.Errorf("uptime of %v: %v, %v; want a half", u.Period, share, ok)
			}
		}
		w.pinged()
		outages, _, err := w.Outages(w.ctx, w.ws, "nightly", firstHundred)
		w.ok(err)
		if len(outages) != 1 || outages[0].EndReason != "ping" {
			w.Errorf("outages %+v", outages)
		}
		must(w.RotateMonitor(w.ctx, w.ws, "nightly"))(w)
		if d := detail(); !d.OldTokenUntil.Equal(w.clock.now().Add(store.PingTokenOverlap)) {
			w.Errorf("the old URL works until %v", d.OldTokenUntil)
		}
		w.clock.move(store.PingTokenOverlap)
		if d := detail(); !d.OldTokenUntil.IsZero() {
			w.Errorf("the old URL still works until %v", d.OldTokenUntil)
		}
	})
}

func TestMonitorPlaces(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "A page", Slug: "empty"})))(w)
		places := must(w.MonitorPlaces(w.ctx, w.ws))(w)
		if len(places) != 2 || places[0].Slug != "empty" || len(places[0].Components) != 0 ||
			len(places[1].Components) != 1 || places[1].Components[0].Name != "Backups" {
			w.Errorf("places %+v", places)
		}
	})
}

// BenchmarkMonitorList lists 50 of 2,000 monitors.
func BenchmarkMonitorList(b *testing.B) {
	s := storetest.Open(b, storetest.SQLite(b), store.Options{})
	ws, _ := storetest.Workspace(b, s, "default")
	for i := range 2000 {
		_, err := s.CreateMonitor(b.Context(), ws,
			monitor.MonitorOf(monitor.MonitorConfig{Name: fmt.Sprint("monitor ", i), Interval: time.Minute}))
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		list, err := s.MonitorList(b.Context(), ws, store.MonitorQuery{}, store.Pagination{Page: 1, PerPage: 50})
		if err != nil || len(list.Monitors) != 50 {
			b.Fatalf("%d monitors, %v", len(list.Monitors), err)
		}
	}
}

// TestLateIsOneRule checks that the lists, their counts, the overview and Monitor.DisplayState call the same monitors
// late.
func TestLateIsOneRule(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		shop, mail, down := w.newCheck("shop"), w.newCheck("mail"), w.newCheck("down")
		w.run(`UPDATE checks SET late = $1, unknown_since_at = 1 WHERE monitor_id IN ($2, $3)`, true, shop.ID, down.ID)
		w.run(`UPDATE monitors SET state = 'down' WHERE id = $1`, down.ID)
		w.run(`UPDATE monitors SET consecutive_failures = 1 WHERE id = $1`, mail.ID)
		paused := w.newCheck("paused")
		w.run(`UPDATE checks SET late = $1, unknown_since_at = 1 WHERE monitor_id = $2`, true, paused.ID)
		w.run(`UPDATE monitors SET enabled = $1 WHERE id = $2`, false, paused.ID)
		job := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "job", Interval: time.Hour,
		})))(w)
		w.pinged(job)
		w.pinged()
		w.run(`UPDATE monitors SET consecutive_failures = 1 WHERE id IN ($1, $2)`, job.ID, w.monitor.ID)
		w.clock.move(time.Second)
		w.pinged() // it is not late any more, but the row keeps the count
		all, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{}, firstHundred)
		w.ok(err)
		want := map[string]bool{shop.ID: true, job.ID: true}
		for _, m := range all {
			if (m.DisplayState() == monitor.MonitorLate) != want[m.ID] {
				w.Errorf("the condition of %s is %s", m.Name, m.DisplayState())
			}
		}
		filtered, total, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{State: monitor.MonitorLate}, firstHundred)
		w.ok(err)
		list := must(w.MonitorList(w.ctx, w.ws, store.MonitorQuery{DisplayState: monitor.MonitorLate}, firstHundred))(w)
		if total != len(want) || list.Total != len(want) || list.Counts[monitor.MonitorLate] != len(want) {
			w.Errorf("%d and %d are late, %d are counted", total, list.Total, list.Counts[monitor.MonitorLate])
		}
		for _, e := range list.Monitors {
			filtered = append(filtered, e.Monitor)
		}
		for _, m := range filtered {
			if !want[m.ID] {
				w.Errorf("%s is listed as late", m.Name)
			}
		}
		if o := must(w.Overview(w.ctx, w.ws))(w); o.LateChecks != 1 {
			w.Errorf("the overview has %d late checks", o.LateChecks)
		}
	})
}

// TestUnknownIsOneRule checks that the lists, their counts, the overview and Monitor.DisplayState agree on which
// monitors are unknown.
func TestUnknownIsOneRule(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		unknown, never, late, failing, down, paused := w.newCheck("unknown"), w.newCheck("never"), w.newCheck("late"),
			w.newCheck("failing"), w.newCheck("down"), w.newCheck("paused")
		w.newCheck("waiting")
		w.run(`UPDATE checks SET unknown_since_at = 1 WHERE monitor_id IN ($1, $2, $3, $4, $5, $6)`, unknown.ID,
			never.ID, late.ID, failing.ID, down.ID, paused.ID)
		w.run(`UPDATE checks SET status = 'ok' WHERE monitor_id = $1`, unknown.ID)
		w.run(`UPDATE checks SET late = $1, unknown_since_at = 2 WHERE monitor_id = $2`, true, late.ID)
		w.run(`UPDATE monitors SET consecutive_failures = 1 WHERE id = $1`, failing.ID)
		w.run(`UPDATE monitors SET state = 'down' WHERE id = $1`, down.ID)
		w.run(`UPDATE monitors SET enabled = $1 WHERE id = $2`, false, paused.ID)
		want := []string{unknown.ID, never.ID}
		slices.Sort(want)
		ids := func(monitors []monitor.Monitor) (ids []string) {
			for _, m := range monitors {
				if m.DisplayState() == monitor.MonitorUnknown {
					ids = append(ids, m.ID)
				}
			}
			slices.Sort(ids)
			return ids
		}
		all, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{}, firstHundred)
		w.ok(err)
		filtered, total, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{State: monitor.MonitorUnknown},
			firstHundred)
		w.ok(err)
		query := store.MonitorQuery{DisplayState: monitor.MonitorUnknown}
		list := must(w.MonitorList(w.ctx, w.ws, query, firstHundred))(w)
		var listed []monitor.Monitor
		for _, e := range list.Monitors {
			listed = append(listed, e.Monitor)
		}
		for what, got := range map[string][]string{
			"by their condition": ids(all), "filtered": ids(filtered), "listed": ids(listed),
		} {
			if !slices.Equal(got, want) {
				w.Errorf("%s, %v are unknown, want %v", what, got, want)
			}
		}
		o := must(w.Overview(w.ctx, w.ws))(w)
		n := len(want)
		if total != n || list.Total != n || list.Counts[monitor.MonitorUnknown] != n ||
			o.UnknownChecks != n || o.UnknownSince.UnixMilli() != 1 {
			w.Errorf("%d, %d, %d and %d are counted, since %v", total, list.Total, list.Counts[monitor.MonitorUnknown],
				o.UnknownChecks, o.UnknownSince)
		}
		if o.LateChecks != 1 || o.LateSince.UnixMilli() != 2 {
			w.Errorf("%d checks are late since %v", o.LateChecks, o.LateSince)
		}
	})
}

// TestUnknownReason checks that the explanation of an unknown monitor says why, as its last unknown result does.
func TestUnknownReason(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.newCheck("shop")
		for _, reason := range []string{"older", "it is this service"} {
			r := w.resultOf(w.claimChecks("a", "")[0], monitor.CheckUnknown)
			r.Reason = reason
			w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
			w.pass(2 * m.Interval)
		}
		e := must(w.ExplainMonitor(w.ctx, w.ws, m.ID))(w)
		if e.State != monitor.MonitorUnknown || e.UnknownReason != "it is this service" {
			w.Errorf("reason of %s: %q", e.State, e.UnknownReason)
		}
	})
}

// TestOverviewCountsWhatItDoesNotShow checks that what is beyond the limits of an overview is counted, and that
// monitors whose parent is down are not.
func TestOverviewCountsWhatItDoesNotShow(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		const n = 20
		parent := w.newCheck("parent")
		for i := range n + 3 {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: fmt.Sprint("Slow ", i)},
				statuspage.IncidentUpdate{}, nil))(w)
			w.newCheck(fmt.Sprint("shop ", i))
		}
		o := must(w.Overview(w.ctx, w.ws))(w)
		if len(o.Incidents) != n || o.AllIncidents != n+3 || len(o.Troubled) != 0 || o.AllTroubled != 0 {
			w.Errorf("overview: %d of %d incidents, %d of %d monitors", len(o.Incidents), o.AllIncidents,
				len(o.Troubled), o.AllTroubled)
		}
		for i := range n + 2 {
			w.plan(fmt.Sprint("Work ", i), 0, time.Hour)
		}
		w.run(`UPDATE maintenances SET state = $1`, string(statuspage.MaintenanceInProgress))
		if o := must(w.Overview(w.ctx, w.ws))(w); len(o.Maintenances) != n || o.AllMaintenances != n+2 {
			w.Errorf("overview: %d of %d maintenances", len(o.Maintenances), o.AllMaintenances)
		}
		w.run(`UPDATE monitors SET consecutive_failures = 1 WHERE name LIKE 'shop%'`)
		if o := must(w.Overview(w.ctx, w.ws))(w); len(o.Troubled) != n || o.AllTroubled != n+3 {
			w.Errorf("overview of late monitors: %d of %d", len(o.Troubled), o.AllTroubled)
		}
		w.run(`UPDATE monitors SET state = 'down' WHERE id = $1`, parent.ID)
		w.run(`UPDATE monitors SET parent_id = $1, failures_suppressed = $2 WHERE name LIKE 'shop%'`, parent.ID, true)
		if o := must(w.Overview(w.ctx, w.ws))(w); len(o.Troubled) != 1 || o.AllTroubled != 1 {
			w.Errorf("overview below a parent that is down: %d of %d monitors", len(o.Troubled), o.AllTroubled)
		}
	})
}

// TestOverviewOfChannels checks which channels the overview counts: channels that fail and are in use. Actors limited
// to pages see none.
func TestOverviewOfChannels(t *testing.T) {
	inWorlds(t, func(w *world) {
		for _, name := range []string{"good", "bad", "worse", "off", "gone"} {
			c := w.channel(name)
			if name != "good" {
				w.run(`UPDATE alert_channels SET failing_since_at = 1 WHERE id = $1`, c.ID)
			}
			if name == "gone" {
				w.run(`UPDATE alert_channels SET deleted_at = 1 WHERE id = $1`, c.ID)
			}
			if name == "off" {
				w.run(`UPDATE alert_channels SET enabled = $2 WHERE id = $1`, c.ID, false)
			}
		}
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{
			Name: "limited", Scope: kernel.ScopeRead, Limit: account.LimitTo([]string{"acme"}),
		}))(w)
		limited := must(w.Authenticate(w.ctx, issued.Secret))(w).Actor("")
		for _, c := range []struct {
			actor kernel.Actor
			want  int
		}{{w.ws, 2}, {limited, 0}, {kernel.Actor{WorkspaceID: "ws_other"}, 0}} {
			if o := must(w.Overview(w.ctx, c.actor))(w); o.FailingChannels != c.want {
				w.Errorf("%d channels fail, want %d", o.FailingChannels, c.want)
			}
		}
	})
}
