package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// fillTimeline gives a timeline updates up to a number, past what the verbs would
// take the time for.
func (w *world) fillTimeline(table, owner, id string, from, to int, message string) {
	w.Helper()
	writer, _ := w.Pools()
	for n := from; n <= to; n++ {
		_, err := writer.ExecContext(
			w.ctx,
			fmt.Sprintf(
				`INSERT INTO %s (id, %s, number, message, state, created_at)
					VALUES ('upd_%s_%d', '%s', %d, '%s', 'monitoring', %d)`,
				table, owner, id[len(id)-6:], n, id, n, message, w.clock.now().UnixMilli(),
			),
		)
		if err != nil {
			w.Fatal(err)
		}
	}
}

// refused checks that an error names one field, and nothing else.
func (w *world) refused(err error, field string) {
	w.Helper()
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) || len(bad.Messages()) != 1 || len(bad.Messages()[field]) != 1 {
		w.Errorf("error: %v, want a refusal of %s alone", err, field)
	}
}

func TestTimelinesAreBounded(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := w.about("Long", "One.")
		w.fillTimeline("incident_updates", "incident_id", i.ID, 2, kernel.MaxUpdates-1, "more")
		u := must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "The last."}, nil))(w)
		if u.Number != kernel.MaxUpdates {
			t.Errorf("number %d", u.Number)
		}
		_, err := w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "One too many."}, nil)
		w.refused(err, "message")
		if n := len(must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates); n != kernel.MaxUpdates {
			t.Errorf("%d updates", n)
		}
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil }) // it can still be resolved

		m := must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "Disks", Updates: []statuspage.MaintenanceUpdate{{Message: "Soon."}},
			ScheduledFor: w.clock.now().Add(time.Hour), ScheduledUntil: w.clock.now().Add(2 * time.Hour),
		})))(w)
		w.fillTimeline("maintenance_updates", "maintenance_id", m.ID, 2, kernel.MaxUpdates, "more")
		_, err = w.PostMaintenanceUpdate(w.ctx, w.ws, m.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: "One too many."}), "")
		w.refused(err, "message")
		begun := must(w.ChangeMaintenance(w.ctx, w.ws, m.ID, func(m *statuspage.Maintenance) error {
			m.State = statuspage.MaintenanceInProgress
			return nil
		}, ""))(w)
		if n := len(begun.Updates); n != kernel.MaxUpdates+1 {
			t.Errorf("the beginning of a maintenance is not in its timeline: %d updates", n)
		}
	})
}

// TestRecoveryOfALongIncident: what the service writes is never refused.
func TestRecoveryOfALongIncident(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.quick("hourly", w.component, "")
		w.goDown(m)
		i := w.incident()
		w.fillTimeline("incident_updates", "incident_id", i.ID, 2, kernel.MaxUpdates, "more")
		w.ping(m.Token)
		recovered := must(w.Incident(w.ctx, w.ws, i.ID))(w)
		if !recovered.Resolved || len(recovered.Updates) != kernel.MaxUpdates+1 {
			t.Errorf("resolved: %v, %d updates", recovered.Resolved, len(recovered.Updates))
		}
	})
}

func TestWhatAPageLoadsIsBounded(t *testing.T) {
	inWorlds(t, func(w *world) {
		long := strings.Repeat("€", kernel.MaxMessageLength)
		var ids []string
		for n := range 3 {
			w.clock.move(time.Second)
			i := w.about(fmt.Sprint("Incident ", n), "One.")
			w.fillTimeline("incident_updates", "incident_id", i.ID, 2, 60, long)
			ids = append(ids, i.ID)
		}
		const most = 4<<20 + 3*1000*4
		for name, p := range map[string]statuspage.PageContents{
			"page":   must(w.LoadPage(w.ctx, "acme"))(w),
			"newest": must(w.LoadNewest(w.ctx, "acme", ""))(w),
			"month":  must(w.LoadMonth(w.ctx, "acme", w.clock.now().Year(), w.clock.now().Month()))(w),
		} {
			if n := updateBytes(t, p.Incidents); n > most || n < 3<<20 {
				t.Errorf("%s: %d bytes", name, n)
			}
		}
		p := must(w.LoadIncident(w.ctx, "acme", ids[0], 0))(w)
		n := len(p.Incidents[0].Updates)
		if updateBytes(t, p.Incidents) > most || n < 40 || n > store.TimelinePageSize {
			t.Errorf("%d updates of an incident", n)
		}
		p = must(w.LoadIncident(w.ctx, "acme", ids[0], 4))(w)
		if u := p.Incidents[0].Updates; len(u) != 3 || u[0].Number != 1 || u[2].Number != 3 || u[2].Truncated {
			t.Errorf("before the fourth: %d updates", len(u))
		}
		// There is no room for the newest of all: each is cut.
		for n := range 60 {
			w.clock.move(time.Second)
			w.about(fmt.Sprint("Another ", n), long)
		}
		cut := 0
		for _, i := range must(w.LoadPage(w.ctx, "acme"))(w).Incidents {
			last := i.Updates[len(i.Updates)-1]
			if last.Truncated {
				cut++
			}
			if last.Truncated != (len(last.Message) < len(long)) {
				t.Errorf("%s: cut %v, %d bytes", i.Title, last.Truncated, len(last.Message))
			}
		}
		if cut < 5 || cut > 60 {
			t.Errorf("%d updates are cut", cut)
		}
	})
}

// updateBytes returns how long the updates of incidents are. Sixty updates were posted to each, and the newest are
// loaded.
func updateBytes(t *testing.T, found []statuspage.Incident) (n int) {
	t.Helper()
	for _, i := range found {
		if len(i.Updates) == 0 || i.Updates[len(i.Updates)-1].Number != 60 {
			t.Errorf("the newest update of %s is not loaded", i.Title)
		}
		for k, u := range i.Updates {
			n += len(u.Message)
			if k > 0 && u.Number != i.Updates[k-1].Number+1 {
				t.Errorf("update %d after %d", u.Number, i.Updates[k-1].Number)
			}
		}
	}
	return n
}

// bound says how many objects of a kind a page may have, how many it has, and how to add others.
type bound struct {
	what, field, insert string
	have, most          int
	more                func() error
}

func TestPagesAreBounded(t *testing.T) {
	inWorlds(t, func(w *world) {
		for _, c := range w.boundsOfPages() {
			w.fillRows(c.insert, c.most-c.have-1)
			if c.what == "component" { // each has a history
				w.fillRows(`INSERT INTO status_changes (component_id, changed_at, status)
					VALUES ('c%d', 0, 'operational')`, c.most-c.have-1)
			}
			if err := c.more(); err != nil {
				w.Errorf("the last %s: %v", c.what, err)
			}
			w.refused(c.more(), c.field)
		}
		// A resolved incident takes no room until it is opened again, and an outage is always reported.
		was := must(w.CreateIncident(w.ctx, w.ws, "acme",
			statuspage.Incident{Title: "Was", State: statuspage.IncidentResolved}, statuspage.IncidentUpdate{}, nil))(w)
		_, err := w.ChangeIncident(w.ctx, w.ws, was.ID, func(i *statuspage.Incident) error {
			i.SetResolved(false)
			return nil
		}, statuspage.IncidentUpdate{}, "")
		w.refused(err, "resolved")
		m := w.quick("hourly", w.component, "")
		w.goDown(m)
	})
}

// fillRows executes a statement for each number below n.
func (w *world) fillRows(statement string, n int) {
	w.Helper()
	writer, _ := w.Pools()
	for k := range n {
		if _, err := writer.ExecContext(w.ctx, fmt.Sprintf(statement, k)); err != nil {
			w.Fatal(err)
		}
	}
}

// boundsOfPages are the objects of which a page has a limited number.
func (w *world) boundsOfPages() []bound {
	page := w.component.PageID
	component := func() error {
		_, err := w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "One more"}))
		return err
	}
	group := func() error {
		_, err := w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "One more"}))
		return err
	}
	incident := func() error {
		_, err := w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "One more"},
			statuspage.IncidentUpdate{}, nil)
		return err
	}
	maintenance := func() error {
		_, err := w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "One more", ScheduledFor: w.clock.now().Add(time.Hour),
			ScheduledUntil: w.clock.now().Add(2 * time.Hour),
		}))
		return err
	}
	return []bound{
		{"component", "name",
			`INSERT INTO components (id, page_id, name, baseline, position, created_at, updated_at)
				VALUES ('c%d', '` + page + `', 'c', 'operational', 0, 0, 0)`,
			1, kernel.MaxComponents, component},
		{"group", "name",
			`INSERT INTO component_groups (id, page_id, name, position, created_at, updated_at) VALUES ('g%d', '` +
				page + `', 'g', 0, 0, 0)`,
			0, kernel.MaxGroups, group},
		{"incident", "title",
			`INSERT INTO incidents (id, page_id, title, impact, state, resolved, created_at, updated_at)
				VALUES ('i%d', '` + page + `', 'i', 'none', 'identified', FALSE, 0, 0)`,
			0, kernel.MaxOpenIncidents, incident},
		{"maintenance", "title",
			`INSERT INTO maintenances (id, page_id, title, state, scheduled_for_at, scheduled_until_at,
				remind_before_ms, next_transition_at, created_at, updated_at) VALUES ('m%d', '` + page +
				`', 'm', 'scheduled', 9000000000000, 9000000000001, 0, 9000000000000, 0, 0)`,
			0, kernel.MaxOpenMaintenances, maintenance},
	}
}

// TestLimitsOfAWorkspace checks that the last monitor and the last alert channel that the settings allow can be
// created, one more cannot, and other workspaces are not affected.
func TestLimitsOfAWorkspace(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.ok(w.Store.Close())
		// the world has one monitor
		w.Store = storetest.Open(w.T, w.dsn, store.Options{Clock: w.clock.now, MaxMonitors: 3, MaxChannels: 2})
		m := func(actor kernel.Actor, name string) error {
			_, err := w.CreateMonitor(w.ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
				Name: name, Interval: time.Minute,
			}))
			return err
		}
		channel := func(actor kernel.Actor, name string) error {
			_, err := w.AlertChannels().Create(w.ctx, actor, "", resource.Channel.From(alert.Channel{
				Type: "webhook", Name: name, Enabled: true, MaxPerMinute: 10, Config: json.RawMessage(`{}`),
			}))
			return err
		}
		for _, create := range []func(kernel.Actor, string) error{m, channel} {
			w.ok(create(w.ws, "first"))
			w.ok(create(w.ws, "last"))
			before := w.dump()
			if w.refused(create(w.ws, "one too many"), "name"); w.dump() != before {
				t.Error("a refused object changes something")
			}
			w.ok(create(w.otherWorkspace(), "first"))
		}
		_, _, err := w.PutMonitor(w.ctx, w.ws, "put",
			monitor.MonitorOf(monitor.MonitorConfig{Name: "put", Interval: time.Minute}), kernel.Precondition{})
		w.refused(err, "name")
	})
}

// TestFixedLimitsOfAWorkspace checks the limits that no setting changes: the last object can be created, one more
// cannot, and other workspaces are not affected. TestSilencesAreLimited checks the limits of silences.
func TestFixedLimitsOfAWorkspace(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := w.otherWorkspace()
		channels := make(map[string]string) // by workspace
		for _, actor := range []kernel.Actor{w.ws, other} {
			channels[actor.WorkspaceID] = must(w.AlertChannels().Create(w.ctx, actor, "",
				resource.Channel.From(alert.Channel{Type: "webhook", Name: "phone", Enabled: true,
					MaxPerMinute: 10, Config: json.RawMessage(`{}`)})))(w).ID
		}
		for _, c := range []struct {
			table, columns, values string // of the objects that fill it
			most                   int
			create                 func(actor kernel.Actor, name string) error
		}{
			{"alert_rules", "name, enabled, rule", "'rule ' || i, FALSE, '{}'", alert.MaxRules,
				func(actor kernel.Actor, name string) error {
					_, err := w.AlertRules().Create(w.ctx, actor, "", resource.AlertRule.From(alert.Rule{
						Name: name, Filter: alert.Filter{Events: alert.DefaultEvents},
						Target: alert.Target{ChannelIDs: []string{channels[actor.WorkspaceID]}},
					}))
					return err
				}},
			{"on_call", "name, slug, schedule, calendar_key", "'schedule ' || i, 's' || i, '{}', 'k' || i",
				alert.MaxOnCall, func(actor kernel.Actor, name string) error {
					_, err := w.OnCallSchedules().Create(w.ctx, actor, "", resource.OnCall.From(alert.OnCall{
						Name: name, Zone: "UTC", HandOverDay: "mon", StartsOn: w.clock.now().Truncate(24 * time.Hour),
					}))
					return err
				}},
			{"incident_templates", "name, title, impact, state, message", "'template ' || i, '', '', '', ''",
				statuspage.MaxIncidentTemplates, func(actor kernel.Actor, name string) error {
					_, err := w.IncidentTemplates().Create(w.ctx, actor, "",
						resource.IncidentTemplate.From(statuspage.IncidentTemplate{Name: name, Title: "t"}))
					return err
				}},
		} {
			db, _ := w.Pools()
			_, err := db.ExecContext(w.ctx, fmt.Sprintf(`INSERT INTO %s (id, workspace_id, created_at, updated_at, %s)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				SELECT 'x' || i, '%s', 0, 0, %s FROM n`, c.table, c.columns, c.most-1, w.ws.WorkspaceID, c.values))
			w.ok(err)
			w.ok(c.create(w.ws, "last"))
			before := w.dump()
			if w.refused(c.create(w.ws, "one too many"), "name"); w.dump() != before {
				t.Errorf("%s: a refused object changes something", c.table)
			}
			w.ok(c.create(other, "first"))
		}
	})
}
