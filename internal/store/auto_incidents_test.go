package store_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// setPage changes the settings of the world's page.
func (w *world) setPage(change func(*statuspage.Page)) statuspage.Page {
	w.Helper()
	return must(w.ChangePage(w.ctx, w.ws, "acme", func(p *statuspage.Page) error { change(p); return nil }))(w)
}

// drafts returns the drafts of the page, newest first.
func (w *world) drafts() []statuspage.Incident {
	w.Helper()
	found, _, err := w.Incidents(w.ctx, w.ws, "acme", store.IncidentFilter{Drafts: true}, firstHundred)
	w.ok(err)
	return found
}

// draft returns the only draft.
func (w *world) draft() statuspage.Incident {
	w.Helper()
	all := w.drafts()
	if len(all) != 1 || !all[0].Draft {
		w.Fatalf("drafts: %+v, want one", all)
	}
	return all[0]
}

// shownIncidents returns the titles of the incidents that visitors can see in any way.
func (w *world) shownIncidents() []string {
	w.Helper()
	var titles []string
	add := func(p statuspage.PageContents) {
		for _, i := range p.Incidents {
			if !slices.Contains(titles, i.Title) {
				titles = append(titles, i.Title)
			}
		}
	}
	add(must(w.LoadPage(w.ctx, "acme"))(w))
	add(must(w.LoadNewest(w.ctx, "acme", ""))(w))
	add(must(w.LoadNewest(w.ctx, "acme", w.component.ID))(w))
	now := w.clock.now()
	add(must(w.LoadMonth(w.ctx, "acme", now.Year(), now.Month()))(w))
	return titles
}

// monitorEvents returns the events of a monitor for members: their kinds and reasons.
func (w *world) monitorEvents(m monitor.Monitor) (lines []string) {
	w.Helper()
	for _, row := range w.rows(
		`SELECT kind || ' ' || data FROM monitor_events WHERE monitor_id = '` + m.ID + `' ORDER BY created_at, id`,
	) {
		kind, data := statuspage.EventKind(row[:len("monitor.up")]), row[len("monitor.up "):]
		if row[:len(statuspage.EventMonitorDown)] == string(statuspage.EventMonitorDown) {
			kind, data = statuspage.EventMonitorDown, row[len(statuspage.EventMonitorDown)+1:]
		}
		var e monitor.MonitorEventData
		w.ok(json.Unmarshal([]byte(data), &e))
		if e.Name != m.Name || e.SilentSince.IsZero() {
			w.Errorf("event %s", row)
		}
		lines = append(lines, string(kind)+" "+e.Reason)
	}
	return lines
}

func (w *world) expectMonitorEvents(m monitor.Monitor, want ...string) {
	w.Helper()
	w.expect("events of "+m.Name, w.monitorEvents(m), want...)
}

func TestDefaultDownStatus(t *testing.T) {
	inWorlds(t, func(w *world) {
		create := func(name, component string, given kernel.Status) kernel.Status {
			w.Helper()
			return must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: name, Interval: time.Hour, PageSlug: "acme", ComponentID: component,
				DownStatus: given})))(w).DownStatus
		}
		for _, tt := range []struct {
			name, component string
			given, want     kernel.Status
		}{
			{"second on the component", w.component.ID, "", kernel.StatusPartialOutage},
			{"third, by slug", "backups", "", kernel.StatusPartialOutage},
			{"given", w.component.ID, kernel.StatusDegraded, kernel.StatusDegraded},
			{"first on its component", w.anotherComponent("Mail").ID, "", kernel.StatusMajorOutage},
			{"no component", "", "", kernel.StatusPartialOutage},
		} {
			if got := create(tt.name, tt.component, tt.given); got != tt.want {
				w.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if w.monitor.DownStatus != kernel.StatusMajorOutage {
			w.Errorf("the first monitor has %s", w.monitor.DownStatus)
		}
		// A PUT chooses a default for a new monitor, and keeps the value of another one.
		n := monitor.MonitorConfig{
			Name: "put", Interval: time.Hour, PageSlug: "acme", ComponentID: w.anotherComponent("Put").ID,
		}
		first, _, err := w.PutMonitor(w.ctx, w.ws, "put", monitor.MonitorOf(n), kernel.Precondition{})
		w.ok(err)
		create("beside it", n.ComponentID, "")
		again, _, err := w.PutMonitor(w.ctx, w.ws, "put", monitor.MonitorOf(n), kernel.Precondition{})
		w.ok(err)
		if first.DownStatus != kernel.StatusMajorOutage || again.DownStatus != first.DownStatus ||
			!again.UpdatedAt.Equal(first.UpdatedAt) {
			w.Errorf("put: %s, then %s", first.DownStatus, again.DownStatus)
		}
	})
}

func TestDraftWaitsForAPerson(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.setPage(func(p *statuspage.Page) { p.AutoIncidents = statuspage.AutoIncidentsDraft })
		w.subscribe("ada@example.com")
		job := w.quick("job", w.component, "")
		w.goDown(job)
		w.shows(kernel.StatusMajorOutage)
		i := w.draft()
		if got := w.shownIncidents(); len(got) != 0 {
			w.Errorf("visitors see %q", got)
		}
		if _, err := w.LoadIncident(w.ctx, "acme", i.ID, 0); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("visitors can open the draft: %v", err)
		}
		if got := w.monitorNow(job).IncidentID; got != i.ID {
			w.Errorf("the monitor names the incident %q, want %s", got, i.ID)
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "A disk is full."}, nil))(w)
		w.change(i, func(i *statuspage.Incident) error { i.State = statuspage.IncidentIdentified; return nil })
		w.expectEvents("Backups: operational > major_outage (outage)")
		w.fanOut()
		if rows := w.rows(`SELECT 1 FROM deliveries WHERE event_id IS NOT NULL`); len(rows) != 0 {
			w.Errorf("%d deliveries notify subscribers of a draft", len(rows))
		}

		before := len(w.audited())
		published := must(w.PublishIncident(w.ctx, w.ws, i.ID, false))(w)
		if published.Draft || len(published.Updates) != 2 {
			w.Errorf("published: %+v", published)
		}
		w.expectEvents("created: job is down, critical, identified (outage): A disk is full.")
		again := must(w.PublishIncident(w.ctx, w.ws, i.ID, false))(w)
		if again.Draft || !again.UpdatedAt.Equal(published.UpdatedAt) || len(w.drafts()) != 0 {
			w.Errorf("published twice: %+v", again)
		}
		if got := w.audited()[before:]; len(got) != 1 || got[0] != `update incident {"draft":true} {"draft":false}` {
			w.Errorf("audited %q", got)
		}
		w.expect("visitors see", w.shownIncidents(), "job is down")
		w.expectEvents()
		w.pinged(job)
		w.expectEvents("Backups: major_outage > operational (outage)",
			"resolved: job is down, critical, resolved (outage): The job is reporting again after 2 minutes.")
		w.expectMonitorEvents(job, "monitor.down ", "monitor.up ping")
	})
}

// TestDraftOfARecoveredMonitor: the monitor recovers before the draft is published.
func TestDraftOfARecoveredMonitor(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.setPage(func(p *statuspage.Page) { p.AutoIncidents = statuspage.AutoIncidentsDraft })
		job := w.quick("job", w.component, "")
		w.goDown(job)
		w.pinged(job)
		w.shows(kernel.StatusOperational)
		i := w.draft()
		if !i.Resolved || i.State != statuspage.IncidentResolved {
			w.Errorf("the draft after the recovery: %+v", i)
		}
		w.expectEvents("Backups: operational > major_outage (outage)", "Backups: major_outage > operational (outage)")
		if got := w.shownIncidents(); len(got) != 0 {
			w.Errorf("visitors see %q", got)
		}
		must(w.PublishIncident(w.ctx, w.ws, i.ID, false))(w)
		w.expectEvents("created: job is down, critical, resolved (outage): The job is reporting again after 2 minutes.")
		w.expect("visitors see", w.shownIncidents(), "job is down")
		w.goDown(job)
		w.ok(w.DeleteIncident(w.ctx, w.ws, w.draft().ID))
		w.pinged(job)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, job.ID))
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
	})
}

func TestAutoIncidents(t *testing.T) {
	t.Parallel()
	publish, draft, off := statuspage.AutoIncidentsPublish, statuspage.AutoIncidentsDraft, statuspage.AutoIncidentsOff
	for name, tt := range map[string]struct {
		page, monitor statuspage.AutoIncidents
		hidden        bool
		want          statuspage.AutoIncidents
	}{
		"the page's":                          {publish, "", false, publish},
		"the page's off":                      {off, "", false, off},
		"the monitor's before the page's":     {off, publish, false, publish},
		"off of one monitor":                  {publish, off, false, off},
		"draft of one monitor":                {publish, draft, false, draft},
		"a hidden component":                  {publish, "", true, draft},
		"a hidden component, off":             {off, "", true, off},
		"a hidden component, a person's word": {off, publish, true, publish},
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.setPage(func(p *statuspage.Page) { p.AutoIncidents = tt.page })
				c := w.component
				if tt.hidden {
					c = must(w.Components().Create(w.ctx, w.ws, "acme",
						resource.Component.From(statuspage.Component{Name: "Secret", Hidden: true})))(w)
				}
				job := w.quick("job", c, "")
				job = must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
					c.AutoIncidents = tt.monitor
					return nil
				}))(w)
				w.goDown(job)
				got := must(w.Components().Get(w.ctx, w.ws, "acme", c.ID))(w).Status()
				if got != kernel.StatusMajorOutage {
					w.Errorf("the component is %s", got)
				}
				published, drafts := len(w.incidents()), len(w.drafts())
				want := map[statuspage.AutoIncidents][2]int{publish: {1, 0}, draft: {0, 1}, off: {0, 0}}[tt.want]
				if published != want[0] || drafts != want[1] {
					w.Errorf("%d incidents and %d drafts, want %v", published, drafts, want)
				}
				w.expectMonitorEvents(job, "monitor.down ")
				job = must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
					c.Enable(false)
					return nil
				}))(w)
				w.expectMonitorEvents(job, "monitor.down ", "monitor.up disabled")
				got = must(w.Components().Get(w.ctx, w.ws, "acme", c.ID))(w).Status()
				if got != kernel.StatusOperational {
					w.Errorf("the component is %s after the outage", got)
				}
			})
		})
	}
}

func TestOutageWithoutAPageChangesNoPage(t *testing.T) {
	inWorlds(t, func(w *world) {
		job, gone := w.monitorWithoutAPage("job"), w.monitorWithoutAPage("gone")
		if job.PageID != "" || job.PageSlug != "" || job.ComponentID != "" {
			w.Fatalf("monitor: %+v", job)
		}
		before := must(w.Page(w.ctx, w.ws, "acme"))(w).Version
		w.goDown(job, gone)
		w.expectEvents()
		page := must(w.Page(w.ctx, w.ws, "acme"))(w)
		if page.Version != before || len(w.incidents())+len(w.drafts()) != 0 {
			w.Errorf("the outage changed a page: %+v", page)
		}
		w.pinged(job)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, gone.ID))
		w.expectMonitorEvents(job, "monitor.down ", "monitor.up ping")
		w.expectMonitorEvents(gone, "monitor.down ", "monitor.up deleted")
		outages, total, err := w.Outages(w.ctx, w.ws, "job", firstHundred)
		w.ok(err)
		if total != 1 || outages[0].EndedAt.IsZero() || outages[0].IncidentID != "" ||
			!outages[0].SilentSince.Equal(began) {
			w.Errorf("outages: %+v", outages)
		}
	})
}

// TestMonitorMovesToAPageWhileDown moves a monitor that is down to a page, and away, and deletes the page.
func TestMonitorMovesToAPageWhileDown(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.monitorWithoutAPage("job")
		w.goDown(job)
		link := func(c *monitor.MonitorConfig) error {
			c.PageSlug = "acme"
			c.ComponentID = "backups"
			c.DownStatus = kernel.StatusDegraded
			return nil
		}
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, link))(w)
		w.shows(kernel.StatusDegraded)
		moved := must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = ""
			c.ComponentID = ""
			return nil
		}))(w)
		if moved.PageID != "" || moved.ComponentID != "" || moved.State != monitor.MonitorDown {
			w.Errorf("off the page: %+v", moved)
		}
		w.shows(kernel.StatusOperational)
		w.pinged(job)
		w.ok(w.DeletePage(w.ctx, w.ws, "acme")) // with its own monitors only
		list, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{}, firstHundred)
		if err != nil || len(list) != 1 || list[0].ID != job.ID {
			w.Errorf("monitors after the deletion of the page: %+v, %v", list, err)
		}
		_, err = w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = w.component.ID
			return nil
		})
		w.refused(err, "page")
	})
}

// monitorWithoutAPage creates a monitor that goes down at the first tick that finds a ping missing.
func (w *world) monitorWithoutAPage(name string) monitor.Monitor {
	w.Helper()
	return must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: name, Interval: time.Minute, FailureThreshold: 1,
	})))(w)
}

// TestMonitorEventsArePruned: nobody reads them after a month.
func TestMonitorEventsArePruned(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("job", w.component, "")
		w.goDown(job)
		w.clock.move(29 * 24 * time.Hour)
		w.recordLiveness()
		w.pinged(job)
		w.ok(w.Prune(w.ctx))
		w.expectMonitorEvents(job, "monitor.down ", "monitor.up ping")
		w.clock.move(2 * 24 * time.Hour)
		w.recordLiveness()
		w.ok(w.Prune(w.ctx))
		w.expectMonitorEvents(job, "monitor.up ping")
	})
}

// TestManyDraftsInOneTick: going down in one tick, with and without pages, is written in batches.
func TestManyDraftsInOneTick(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.setPage(func(p *statuspage.Page) { p.AutoIncidents = statuspage.AutoIncidentsDraft })
		var all []monitor.Monitor
		for i := range 12 {
			n := monitor.MonitorConfig{Name: "job", Interval: time.Minute, FailureThreshold: 1}
			if i%2 == 0 {
				n.PageSlug, n.ComponentID = "acme", w.component.ID
			}
			all = append(all, must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(n)))(w))
		}
		w.goDown(all...)
		if len(w.drafts()) != 6 || len(w.rows(`SELECT 1 FROM monitor_events`)) != 12 {
			w.Errorf("%d drafts, %d events", len(w.drafts()), len(w.rows(`SELECT 1 FROM monitor_events`)))
		}
		w.pinged(all...)
		if len(w.drafts()) != 6 || len(w.rows(`SELECT 1 FROM monitor_events`)) != 24 {
			w.Errorf("after the recovery: %d drafts", len(w.drafts()))
		}
	})
}
