package store_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// outageTests are what may happen around an outage. Each begins with the
// monitor "job", quick and up, linked to the component Backups.
var outageTests = map[string]func(w *world, job monitor.Monitor){
	"several monitors on one component each add and remove their own cause": func(w *world, job monitor.Monitor) {
		slow := w.quick("slow", w.component, kernel.StatusDegraded)
		part := w.quick("part", w.component, kernel.StatusPartialOutage)
		w.goDown(slow)
		w.shows(kernel.StatusDegraded)
		w.goDown(job)
		w.shows(kernel.StatusMajorOutage)
		w.goDown(part)
		w.shows(kernel.StatusMajorOutage)
		w.newEvents()
		w.pinged(job)
		w.shows(kernel.StatusPartialOutage)
		w.pinged(slow)
		w.shows(kernel.StatusPartialOutage)
		w.pinged(part)
		w.shows(kernel.StatusOperational)
		w.expectEvents(
			"Backups: major_outage > partial_outage (outage)",
			"resolved: job is down, critical, resolved (outage): The job is reporting again after 4 minutes.",
			"resolved: slow is down, minor, resolved (outage): The job is reporting again after 6 minutes.",
			"Backups: partial_outage > operational (outage)",
			"resolved: part is down, major, resolved (outage): The job is reporting again after 2 minutes.")
		if n := len(w.incidents()); n != 3 {
			w.Errorf("%d incidents, want one per outage", n)
		}
	},
	"a status set by hand stands until a new cause appears, and is the baseline afterwards": func(
		w *world, job monitor.Monitor,
	) {
		second := w.quick("second", w.component, kernel.StatusPartialOutage)
		w.goDown(job)
		w.newEvents()
		w.say(kernel.StatusOperational)
		w.expectEvents("Backups: major_outage > operational")
		w.pass(5 * time.Minute)
		w.shows(kernel.StatusOperational)
		w.say(kernel.StatusDegraded)
		w.pass(5 * time.Minute)
		w.shows(kernel.StatusDegraded)
		w.newEvents()
		w.goDown(second)
		w.shows(kernel.StatusPartialOutage)
		w.pinged(second)
		w.shows(kernel.StatusDegraded)
		w.pinged(job)
		w.shows(kernel.StatusDegraded)
		w.expectEvents(
			"Backups: degraded > partial_outage (outage)",
			"created: second is down, major, investigating (outage): No ping has arrived since 1 March 2026, "+
				"12:12:00 UTC. The expected interval is 1 minute.",
			"Backups: partial_outage > degraded (outage)",
			"resolved: second is down, major, resolved (outage): The job is reporting again after 2 minutes.",
			"resolved: job is down, critical, resolved (outage): The job is reporting again after 14 minutes.")
		if i := w.incidents()[1]; !i.Resolved {
			w.Errorf("the silenced outage's incident was not resolved by the recovery: %+v", i)
		}
	},
	"an outage after a status set by hand is a new cause": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.say(kernel.StatusOperational)
		w.pinged(job)
		w.goDown(job)
		w.shows(kernel.StatusMajorOutage)
	},
	"maintenance set by hand is a plain baseline": func(w *world, job monitor.Monitor) {
		w.say(kernel.StatusMaintenance)
		w.goDown(job)
		w.shows(kernel.StatusMajorOutage) // it suppresses nothing
		w.say(kernel.StatusMaintenance)
		w.pinged(job)
		w.shows(kernel.StatusMaintenance)
	},
	"any cause beats a baseline of unknown, which comes back": func(w *world, job monitor.Monitor) {
		w.say(kernel.StatusUnknown)
		w.goDown(job)
		w.shows(kernel.StatusMajorOutage)
		w.pinged(job)
		w.shows(kernel.StatusUnknown)
	},
	"a worse baseline hides the cause": func(w *world, _ monitor.Monitor) {
		slow := w.quick("slow", w.component, kernel.StatusDegraded)
		w.say(kernel.StatusMajorOutage)
		w.newEvents()
		w.goDown(slow)
		w.shows(kernel.StatusMajorOutage)
		w.expectEvents("created: slow is down, minor, investigating (outage): No ping has arrived since 1 March " +
			"2026, 12:00:00 UTC. The expected interval is 1 minute.")
	},
	"an alias is kept as it was given, as baseline and as cause": func(w *world, _ monitor.Monitor) {
		slow := w.quick("slow", w.component, kernel.StatusDegradedPerformance)
		w.goDown(slow)
		w.shows(kernel.StatusDegradedPerformance)
		w.pinged(slow)
		w.say(kernel.StatusDegradedPerformance)
		degraded := w.quick("degraded", w.component, kernel.StatusDegraded)
		w.goDown(degraded)
		w.shows(kernel.StatusDegradedPerformance) // a tie keeps the baseline
	},
	"an incident closed by hand stays closed, and no other is raised": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.newEvents()
		closed := w.change(w.incident(), func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.expectEvents("resolved: job is down, critical, investigating (outage)")
		w.pass(5 * time.Minute)
		w.shows(kernel.StatusMajorOutage)
		w.pinged(job)
		w.shows(kernel.StatusOperational)
		w.expectEvents("Backups: major_outage > operational (outage)")
		i := w.incident()
		if i.State != closed.State || !i.ResolvedAt.Equal(closed.ResolvedAt) ||
			!i.UpdatedAt.Equal(closed.UpdatedAt) || len(i.Updates) != 1 {
			w.Errorf("the recovery touched what a human had closed: %+v", i)
		}
	},
	"closing the incident by hand makes nothing well": func(w *world, job monitor.Monitor) {
		other := w.anotherComponent("Archive")
		w.goDown(job)
		i := w.incident()
		must(w.SetIncidentComponents(w.ctx, w.ws, i.ID,
			affecting(w.at(kernel.StatusDegraded), statuspage.AffectedComponent{
				ComponentID: other.ID, Status: kernel.StatusDegraded,
			})))(w)
		means := func(want ...kernel.Status) {
			w.Helper()
			var got []kernel.Status
			events := must(w.Events(w.ctx))(w)
			for _, a := range events[len(events)-1].Data.Affected {
				got = append(got, a.New)
			}
			if !slices.Equal(got, want) {
				w.Errorf("subscribers are notified of %v, want %v", got, want)
			}
		}
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.shows(kernel.StatusMajorOutage)
		means(kernel.StatusMajorOutage, kernel.StatusOperational)
		u := must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "We look at it tomorrow."},
			nil))(w)
		means(kernel.StatusMajorOutage, kernel.StatusOperational)
		if u.Affected[0].New != kernel.StatusMajorOutage {
			w.Errorf("the timeline says %+v", u.Affected)
		}
		w.say(kernel.StatusOperational) // the status set by hand counts
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Nobody needs it."}, nil))(w)
		means(kernel.StatusOperational, kernel.StatusOperational)
		w.pinged(job)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Over."}, nil))(w)
		means(kernel.StatusOperational, kernel.StatusOperational)
	},
	"an incident closed by its state alone counts as closed": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.change(w.incident(), func(i *statuspage.Incident) error { i.State = statuspage.IncidentResolved; return nil })
		w.pinged(job)
		if i := w.incident(); len(i.Updates) != 1 {
			w.Errorf("the recovery wrote into it: %+v", i)
		}
	},
	"an incident edited by hand is resolved and keeps the edits": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		i := w.change(w.incident(), func(i *statuspage.Incident) error {
			i.Title, i.State = "Tape robot", statuspage.IncidentIdentified
			i.SetImpact(kernel.ImpactMinor)
			return nil
		})
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "It needs oil."}, nil))(w)
		w.newEvents()
		w.pinged(job)
		w.expectEvents(
			"Backups: major_outage > operational (outage)",
			"resolved: Tape robot, minor, resolved (outage): The job is reporting again after 2 minutes.")
		i = w.incident()
		if !i.Resolved || len(i.Updates) != 3 || i.Updates[2].State != statuspage.IncidentResolved ||
			i.Updates[1].State != statuspage.IncidentIdentified {
			w.Errorf("after the recovery: %+v", i)
		}
	},
	"an incident closed and reopened by hand is resolved": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		i := w.incident()
		w.change(i, func(i *statuspage.Incident) error {
			i.State = statuspage.IncidentResolved
			i.SetResolved(true)
			return nil
		})
		if i = w.change(i, func(i *statuspage.Incident) error {
			i.SetResolved(false)
			return nil
		}); i.State != statuspage.IncidentInvestigating || i.Resolved {
			w.Fatalf("reopened: %+v", i)
		}
		w.newEvents()
		w.pinged(job)
		if i = w.incident(); !i.Resolved || len(i.Updates) != 2 || len(w.newEvents()) != 2 {
			w.Errorf("after the recovery: %+v", i)
		}
	},
	"an incident deleted by hand is not raised again": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.newEvents()
		w.ok(w.DeleteIncident(w.ctx, w.ws, w.incident().ID))
		w.pass(5 * time.Minute)
		w.shows(kernel.StatusMajorOutage)
		w.pinged(job)
		w.shows(kernel.StatusOperational)
		w.expectEvents("Backups: major_outage > operational (outage)")
		if n := len(w.incidents()); n != 0 {
			w.Errorf("%d incidents after one was deleted", n)
		}
		w.goDown(job)
		w.incident() // the next outage has its own
	},
	"a monitor that is disabled ends its outage": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.newEvents()
		m := must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}))(w)
		if m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 || m.Enabled {
			w.Errorf("disabled: %+v", m)
		}
		w.shows(kernel.StatusOperational)
		w.expectEvents(
			"Backups: major_outage > operational (outage)",
			"resolved: job is down, critical, resolved (outage): The monitor was disabled; this outage is no longer "+
				"watched.")
		if got := w.ping(job.Token); got[0] != store.PingUnknown {
			w.Errorf("ping of a disabled monitor: %v", got)
		}
		w.pass(10 * time.Minute)
		w.expectEvents()
		m = must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			return nil
		}))(w)
		if !m.NextCheckAt.Equal(w.clock.now().Add(time.Minute)) || m.ConsecutiveFailures != 0 {
			w.Errorf("enabled again: %+v, want a deadline of now and an interval", m)
		}
		w.pass(2 * time.Minute)
		if n := len(w.incidents()); n != 2 {
			w.Errorf("%d incidents, want another for the new outage", n)
		}
	},
	"a monitor that is deleted ends its outage": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.newEvents()
		w.ok(w.DeleteMonitor(w.ctx, w.ws, job.ID))
		w.shows(kernel.StatusOperational)
		w.expectEvents(
			"Backups: major_outage > operational (outage)",
			"resolved: job is down, critical, resolved (outage): The monitor was deleted; this outage is no longer "+
				"watched.")
		if got := w.ping(job.Token); got[0] != store.PingUnknown {
			w.Errorf("ping of a deleted monitor: %v", got)
		}
		w.incident() // stays, as history
	},
	"a new interval starts the wait anew, but only a ping ends the outage": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.newEvents()
		m := must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.Reschedule(time.Hour, schedule.Cron{})
			return nil
		}))(w)
		if m.State != monitor.MonitorDown || m.ConsecutiveFailures != 0 ||
			!m.NextCheckAt.Equal(w.clock.now().Add(time.Hour)) {
			w.Errorf("with a new interval: %+v", m)
		}
		w.pass(2 * time.Minute)
		w.shows(kernel.StatusMajorOutage)
		w.expectEvents()
		w.pinged(job)
		w.shows(kernel.StatusOperational)
		w.expectEvents(
			"Backups: major_outage > operational (outage)",
			"resolved: job is down, critical, resolved (outage): The job is reporting again after 4 minutes.")
	},
	"a new component takes the cause over, and no human has seen it there": func(w *world, job monitor.Monitor) {
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Archive"})))(w)
		w.goDown(job)
		w.say(kernel.StatusDegraded)
		w.newEvents()
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = other.ID
			return nil
		}))(w)
		w.shows(kernel.StatusDegraded)
		w.shows(kernel.StatusMajorOutage, other)
		w.expectEvents("Archive: operational > major_outage (outage)")
		w.pinged(job)
		w.shows(kernel.StatusOperational, other)
		w.shows(kernel.StatusDegraded)
	},
	"without a component the cause is gone, with one it is back": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.newEvents()
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = ""
			return nil
		}))(w)
		w.shows(kernel.StatusOperational)
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = w.component.ID
			return nil
		}))(w)
		w.shows(kernel.StatusMajorOutage)
		w.expectEvents("Backups: major_outage > operational (outage)", "Backups: operational > major_outage (outage)")
		w.pinged(job)
		w.shows(kernel.StatusOperational)
	},
	"a new down_status changes the cause, once, and a status set by hand on it stands": func(
		w *world, job monitor.Monitor,
	) {
		w.goDown(job)
		w.newEvents()
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.DownStatus = kernel.StatusDegraded
			return nil
		}))(w)
		w.shows(kernel.StatusDegraded)
		w.expectEvents("Backups: major_outage > degraded (outage)")
		w.say(kernel.StatusOperational)
		w.newEvents()
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.DownStatus = kernel.StatusMajorOutage
			return nil
		}))(w)
		w.shows(kernel.StatusOperational)
		w.expectEvents()
		if i := w.incident(); i.Impact != kernel.ImpactCritical {
			w.Errorf("the incident's impact became %s", i.Impact)
		}
	},
	"a new name is for the next incident": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.Name = "nightly dump"
			return nil
		}))(w)
		if i := w.incident(); i.Title != "job is down" || i.DownMonitor != "job" {
			w.Errorf("title: %s", i.Title)
		}
		w.pinged(job)
		w.goDown(job)
		if i := w.incidents()[0]; i.Title != "nightly dump is down" {
			w.Errorf("title of the next: %s", i.Title)
		}
	},
	"another page: the incident stays where it is and is resolved there": func(w *world, job monitor.Monitor) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		w.goDown(job)
		_, err := w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = "other"
			return nil
		})
		if invalid := new(kernel.ValidationError); !errors.As(err, &invalid) || !invalid.Has("component_id") {
			w.Errorf("moved to a page that does not have its component: %v", err)
		}
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = "other"
			c.ComponentID = ""
			return nil
		}))(w)
		w.shows(kernel.StatusOperational)
		w.pinged(job)
		if i := w.incident(); !i.Resolved {
			w.Errorf("after the recovery: %+v", i)
		}
	},
	"a component that is deleted leaves its monitor, which recovers without it": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.newEvents()
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", w.component.ID, kernel.Precondition{}))
		if m := w.monitorNow(job); m.State != monitor.MonitorDown || m.ComponentID != "" {
			w.Errorf("after its component was deleted: %+v", m)
		}
		w.pinged(job)
		w.expectEvents("resolved: job is down, critical, resolved (outage): The job is reporting again after 2 " +
			"minutes.")
	},
	"a page that is deleted takes everything along": func(w *world, job monitor.Monitor) {
		w.goDown(job)
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
		for _, table := range []string{
			"pages", "components", "monitors", "outages", "causes", "incidents", "incident_updates", "events",
		} {
			if rows := w.rows(`SELECT * FROM ` + table); len(rows) > 0 {
				w.Errorf("%s still has %v", table, rows)
			}
		}
		if got := w.ping(job.Token); got[0] != store.PingUnknown {
			w.Errorf("ping: %v", got)
		}
	},
	"a flapping monitor has an incident for each outage": func(w *world, job monitor.Monitor) {
		for range 3 {
			w.goDown(job)
			w.shows(kernel.StatusMajorOutage)
			w.pinged(job)
			w.shows(kernel.StatusOperational)
		}
		seen := map[string]bool{}
		for _, i := range w.incidents() {
			seen[i.OutageID] = true
			if !i.Resolved || len(i.Updates) != 2 {
				w.Errorf("incident: %+v", i)
			}
		}
		if len(seen) != 3 || len(w.newEvents()) != 12 {
			w.Errorf("%d outages with incidents, want 3 and 12 events", len(seen))
		}
	},
	"a monitor without a component only has incidents": func(w *world, _ monitor.Monitor) {
		alone := w.quick("alone", statuspage.Component{}, "")
		w.goDown(alone)
		w.shows(kernel.StatusOperational)
		w.pinged(alone)
		w.expectEvents(
			"created: alone is down, critical, investigating (outage): No ping has arrived since 1 March 2026, "+
				"12:00:00 UTC. The expected interval is 1 minute.",
			"resolved: alone is down, critical, resolved (outage): The job is reporting again after 2 minutes.")
	},
	"a name of the greatest length still makes a title": func(w *world, _ monitor.Monitor) {
		long := w.quick(strings.Repeat("ü", kernel.MaxNameLength), w.component, "")
		w.goDown(long)
		if n := len([]rune(w.incident().Title)); n > kernel.MaxTitleLength {
			w.Errorf("the title has %d characters", n)
		}
	},
}

func TestOutages(t *testing.T) {
	t.Parallel()
	for name, f := range outageTests {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) { f(w, w.quick("job", w.component, kernel.StatusMajorOutage)) })
		})
	}
}

// TestOnlyNotifiedChangesAreEvents goes through what humans do.
func TestOnlyNotifiedChangesAreEvents(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "We look."}, nil))(w)
		w.expectEvents("created: Slow, none, investigating: We look.")
		must(w.CreateIncident(w.ctx, w.ws, "acme",
			statuspage.Incident{Title: "Quiet", State: statuspage.IncidentResolved, Impact: kernel.ImpactMajor},
			statuspage.IncidentUpdate{}, nil))(w)
		w.expectEvents("created: Quiet, major, resolved")
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))(w)
		w.expectEvents("updated: Slow, none, investigating: Found it.")
		w.change(i, func(i *statuspage.Incident) error {
			i.Title = "Slower"
			i.State = statuspage.IncidentMonitoring
			return nil
		})
		w.expectEvents()
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.expectEvents("resolved: Slower, none, monitoring")
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(false); return nil })
		w.expectEvents()
		w.change(i, func(i *statuspage.Incident) error {
			i.State = statuspage.IncidentResolved
			i.SetResolved(true)
			return nil
		})
		w.expectEvents("resolved: Slower, none, resolved")
		w.say(kernel.StatusPartialOutage)
		w.say(kernel.StatusPartialOutage)
		w.expectEvents("Backups: operational > partial_outage")
		must(w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, func(c *statuspage.Component) error {
			c.SetStatus(kernel.StatusPartialOutage)
			c.Description = new("Nightly")
			return nil
		}, kernel.Precondition{}))(w)
		must(w.Components().Change(w.ctx, w.ws, "", w.component.ID, func(c *statuspage.Component) error {
			c.Name = "Dumps"
			return nil
		}, kernel.Precondition{}))(w)
		g := must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "Storage"})))(w)
		must(w.Components().Change(w.ctx, w.ws, "", w.component.ID, func(c *statuspage.Component) error {
			c.GroupID = g.ID
			return nil
		}, kernel.Precondition{}))(w)
		w.ok(w.Groups().Delete(w.ctx, w.ws, "", g.ID, kernel.Precondition{}))
		w.ok(w.DeleteIncident(w.ctx, w.ws, i.ID))
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", w.component.ID, kernel.Precondition{}))
		must(w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Name: "Acme & Co"})))(w)
		w.expectEvents()
	})
}

// TestMonitorNamesItsOpenIncident: by its id, whatever its title says.
func TestMonitorNamesItsOpenIncident(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("job", w.component, "")
		stranger, _ := storetest.Workspace(w.T, w.Store, "other")
		is := func(what, incident string, threshold int) {
			w.Helper()
			listed, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{}, firstHundred)
			w.ok(err)
			listed = slices.DeleteFunc(listed, func(m monitor.Monitor) bool { return m.ID != job.ID })
			ofIncident, _, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{IncidentID: cmp.Or(incident, "nobody")},
				firstHundred)
			w.ok(err)
			if found := len(ofIncident) == 1 && ofIncident[0].ID == job.ID; found != (incident != "") {
				w.Errorf("%s: the monitors of the incident are %v", what, ofIncident)
			}
			seen, _, err := w.Monitors(w.ctx, stranger, store.MonitorFilter{IncidentID: cmp.Or(incident, "nobody")},
				firstHundred)
			w.ok(err)
			if len(seen) > 0 {
				w.Errorf("%s: another workspace sees %v", what, seen)
			}
			for _, m := range append(listed, w.monitorNow(job)) {
				if m.IncidentID != incident || m.EffectiveFailureThreshold != threshold {
					w.Errorf("%s: incident %q, threshold %d, want %q, %d", what, m.IncidentID,
						m.EffectiveFailureThreshold, incident, threshold)
				}
			}
		}
		is("up", "", 1)
		w.goDown(job)
		i := w.incident()
		w.change(i, func(i *statuspage.Incident) error { i.Title = "Something else"; return nil })
		is("down", i.ID, 1)
		changed := must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.FailureThreshold = 0
			return nil
		}))(w)
		if changed.IncidentID != i.ID || changed.EffectiveFailureThreshold != monitor.DefaultFailureThreshold {
			w.Errorf("the answer to a change: %+v", changed)
		}
		is("the setting's threshold", i.ID, monitor.DefaultFailureThreshold)
		w.pinged(job)
		is("up again", "", monitor.DefaultFailureThreshold)
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.FailureThreshold = 1
			return nil
		}))(w)
		w.goDown(job)
		second := must(w.Monitor(w.ctx, w.ws, job.ID))(w).IncidentID
		if second == "" || second == i.ID {
			w.Errorf("the second outage has the incident %q, the first had %q", second, i.ID)
		}
		w.ok(w.DeleteIncident(w.ctx, w.ws, second))
		is("its incident deleted", "", 1)
	})
}
