package store_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// things creates one object of each kind on the world's page.
func (w *world) things() things {
	w.Helper()
	x := things{
		slug: "acme", page: w.page.ID, component: w.component.ID, monitor: w.monitor.ID,
		token: tokensIn(w, w.ws)[0].ID,
	}
	must(w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Domain: "status.example.com"})))(w)
	x.group = must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"})))(w).ID
	x.incident = must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
		statuspage.IncidentUpdate{Message: "m"}, nil))(w).ID
	x.maintenance = must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
		Title: "m", Updates: []statuspage.MaintenanceUpdate{{Message: "m"}}, ScheduledFor: began,
		ScheduledUntil: began.Add(time.Hour), Components: statuspage.ComponentRefs(x.component),
	})))(w).ID
	must(w.SetIncidentComponents(w.ctx, w.ws, x.incident, affecting(statuspage.AffectedComponent{
		ComponentID: x.component, Status: kernel.StatusDegraded,
	})))(w)
	must(w.SetPageImage(w.ctx, w.ws, "acme", statuspage.PageImage{
		Kind: statuspage.ImageLogo, Type: "image/png", Name: "logo", Body: []byte("png"),
	}))(w)
	x.subscriber = must(w.CreateSubscriber(w.ctx, w.ws, "acme",
		audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://example.com/hook"}, nil))(w).ID
	_, _, err := w.PutPostmortem(w.ctx, w.ws, x.incident, func(p *statuspage.Postmortem) error {
		p.Body = "p"
		return nil
	}, false, kernel.Precondition{})
	w.ok(err)
	x.template = must(w.IncidentTemplates().Create(w.ctx, w.ws, "",
		resource.IncidentTemplate.From(statuspage.IncidentTemplate{Name: "t", Title: "t"})))(w).ID
	x.update = must(w.PostUpdate(w.ctx, w.ws, x.incident, statuspage.IncidentUpdate{Message: "more"}, nil))(w).ID
	w.fanOut()
	x.delivery = w.value(`SELECT id FROM deliveries LIMIT 1`)
	x.invitation = must(w.Invite(w.ctx, w.ws, account.NewInvitation{
		Email: "bob@example.com", Role: kernel.RoleViewer,
	}))(w).ID
	x.announcement = must(w.Announcements().Create(w.ctx, w.ws, "acme",
		resource.Announcement.From(statuspage.Announcement{Title: "a"})))(w).ID
	w.send(signalOf(monitor.SignalLog, ""))
	x.signal = w.value(`SELECT id FROM signals`)
	x.channel = w.channel("phone").ID
	x.rule = w.rule(alert.Target{ChannelIDs: []string{x.channel}}).ID
	x.onCall = must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(alert.OnCall{
		Name: "Ops", Zone: "UTC", HandOverDay: "mon", StartsOn: began,
	})))(w).ID
	x.silence = must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
		EndsAt: w.clock.now().Add(time.Hour),
	})))(w).ID
	w.run(`INSERT INTO alerts (id, workspace_id, event, event_key, page_id, subject, opened_at, notify_at)
		VALUES ('alt_1', '` + w.ws.WorkspaceID + `', 'monitor.down', 'x', '` + x.page +
		`', '{"event": "monitor.down"}', 1, 1)`)
	x.alert = "alt_1"
	joined := must(w.FindSession(w.ctx, w.joined("carol@example.com", kernel.RoleEditor)))(w)
	x.member, x.session = joined.User.ID, joined.ID
	return x
}

// TestWorkspacesDoNotSeeEachOther calls every method with the objects of another workspace,
// and checks that nothing changes. It also tries references to them in request bodies.
func TestWorkspacesDoNotSeeEachOther(t *testing.T) {
	inWorlds(t, func(w *world) {
		x := w.things()
		stranger, _ := storetest.Workspace(w.T, w.Store, "stranger")
		before := w.dump()
		for name, try := range verbs {
			if try == nil {
				continue
			}
			if err := try(w.Store, w.ctx, stranger, x); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("%s by a stranger: %v", name, err)
			}
		}
		if w.dump() != before {
			w.Error("a stranger changed something")
		}
		// References in a request body, too.
		must(w.CreatePage(w.ctx, stranger, resource.Page.From(statuspage.Page{Name: "Mine", Slug: "mine"})))(w)
		mine := must(w.Components().Create(w.ctx, stranger, "mine",
			resource.Component.From(statuspage.Component{Name: "c"})))(w)
		own := must(w.CreateMonitor(w.ctx, stranger, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "m", Interval: time.Minute, PageSlug: "mine",
		})))(w)
		incident := must(w.CreateIncident(w.ctx, stranger, "mine", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{}, nil))(w)
		planned := func(components ...string) field.Change[statuspage.Maintenance] {
			return resource.Maintenance.From(statuspage.Maintenance{
				Title: "m", ScheduledFor: began.Add(time.Hour), ScheduledUntil: began.Add(2 * time.Hour),
				Components: statuspage.ComponentRefs(components...),
			})
		}
		maintenance := must(w.CreateMaintenance(w.ctx, stranger, "mine", planned(mine.ID)))(w)
		affected := []statuspage.AffectedComponent{
			{ComponentID: mine.ID, Status: kernel.StatusDegraded},
			{ComponentID: x.component, Status: kernel.StatusDegraded},
		}
		before = w.dump()
		for name, c := range map[string]struct {
			try   func() error
			field string
		}{
			"a component in a stranger's group": {func() error {
				_, err := w.Components().Create(w.ctx, stranger, "mine",
					resource.Component.From(statuspage.Component{Name: "x", GroupID: x.group}))
				return err
			}, "group"},
			"a component moved into a stranger's group": {func() error {
				_, err := w.Components().Change(w.ctx, stranger, "", mine.ID, func(c *statuspage.Component) error {
					c.GroupID = x.group
					return nil
				}, kernel.Precondition{})
				return err
			}, "group"},
			"a monitor of a stranger's component": {func() error {
				_, err := w.CreateMonitor(w.ctx, stranger, monitor.MonitorOf(monitor.MonitorConfig{
					Name: "x", Interval: time.Minute, PageSlug: "mine", ComponentID: x.component,
				}))
				return err
			}, "component_id"},
			"a monitor moved to a stranger's component": {func() error {
				_, err := w.ChangeMonitor(w.ctx, stranger, own.ID, func(c *monitor.MonitorConfig) error {
					c.ComponentID = x.component
					return nil
				})
				return err
			}, "component_id"},
			"a monitor below a stranger's": {func() error {
				_, err := w.ChangeMonitor(w.ctx, stranger, own.ID, func(c *monitor.MonitorConfig) error {
					c.ParentID = x.monitor
					return nil
				})
				return err
			}, "parent_id"},
			"a monitor moved to a stranger's page": {func() error {
				_, err := w.ChangeMonitor(w.ctx, stranger, own.ID, func(c *monitor.MonitorConfig) error {
					c.PageSlug = "acme"
					return nil
				})
				return err
			}, "page"},
			"an incident of a stranger's component": {func() error {
				_, err := w.CreateIncident(w.ctx, stranger, "mine", statuspage.Incident{Title: "x", Affected: affected},
					statuspage.IncidentUpdate{Message: "x"}, nil)
				return err
			}, "components.1.id"},
			"an incident extended to a stranger's component": {func() error {
				_, err := w.SetIncidentComponents(w.ctx, stranger, incident.ID, affecting(affected...))
				return err
			}, "components.1.id"},
			"a maintenance of a stranger's component": {func() error {
				_, err := w.CreateMaintenance(w.ctx, stranger, "mine", planned(x.component, mine.ID))
				return err
			}, "components.0"},
			"a maintenance extended to a stranger's component": {func() error {
				_, err := w.ChangeMaintenance(w.ctx, stranger, maintenance.ID, func(m *statuspage.Maintenance) error {
					m.Components = statuspage.ComponentRefs(mine.ID, x.component)
					return nil
				}, "")
				return err
			}, "components.1"},
			"a slug that a stranger has": {func() error {
				_, err := w.ChangePage(w.ctx, stranger, "mine", resource.Page.From(statuspage.Page{Slug: "acme"}))
				return err
			}, "slug"},
		} {
			if err := refused(c.try(), c.field); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("%s: %v, want a complaint about %s", name, err, c.field)
			}
		}
		if w.dump() != before {
			w.Error("a refused reference changed something")
		}
	})
}

// reading are the methods in the table that change nothing.
var reading = []string{
	"AuditLog", "Tokens", "Pages", "Page", "Components", "Component", "Incidents", "Incident", "BeginIncident",
	"Updates", "Update", "IncidentTemplates", "IncidentTemplate",
	"IncidentComponents", "Maintenances", "Maintenance", "MaintenanceUpdates", "Monitors", "Monitor", "Subscribers",
	"SubscribersBefore",
	"Subscriber", "Deliveries", "Summary", "Outages", "Members", "Invitations", "Overview", "PageSizes",
	"ListIncidents", "IncidentWithPage", "Audience", "ObjectLog", "ListMaintenances", "MaintenanceWithPage",
	"MonitorList", "MonitorDetail", "MonitorPlaces", "ExplainMonitor", "Signals", "Signal", "Warnings", "IncidentNotes",
	"MemberSessions", "Announcements.List", "Announcements.Get", "Components.List", "Components.Get", "Groups.List",
	"Groups.Get", "IncidentTemplates.List", "IncidentTemplates.Get",
	"Postmortem", "Search", "PingKey", "CheckResults", "AlertChannels.List", "AlertChannels.Get", "ChannelMessages",
	"AlertRules.List", "AlertRules.Get", "OnCallSchedules.List", "OnCallSchedules.Get",
	"Silences.List", "Silences.Get", "Alerts", "AlertList", "AlertCounts", "Alert", "ForecastAlert", "MonitorCheck",
	"MonitorFamily", "CheckStatistics",
}

// TestEveryVerbIsTestedForWorkspaces checks that the table has every method.
func TestEveryVerbIsTestedForWorkspaces(t *testing.T) {
	of := reflect.TypeFor[*store.Store]()
	for i := range of.NumMethod() {
		name, names := of.Method(i).Name, []string{of.Method(i).Name}
		if method := of.Method(i).Type; method.NumOut() == 1 && strings.HasPrefix(method.Out(0).Name(), "Collection[") {
			result := method.Out(0)
			names = nil
			for j := range result.NumMethod() {
				names = append(names, name+"."+result.Method(j).Name)
			}
		}
		for _, name := range names {
			if !slices.Contains(keys(verbs), name) {
				t.Errorf("%s is not in the table of verbs", name)
			}
		}
	}
}
