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

// strangerWorld is a world with the objects of another workspace, which knows those of the world.
type strangerWorld struct {
	*world
	x           things
	stranger    kernel.Actor
	mine        statuspage.Component
	own         monitor.Monitor
	incident    statuspage.Incident
	maintenance statuspage.Maintenance
	affected    []statuspage.AffectedComponent // mine, and a component of the world
}

// foreignReference is a request of the stranger, and the field that names an object of the world.
type foreignReference struct {
	name  string
	try   func() error
	field string
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
	})
}

// TestReferencesToOtherWorkspaces names objects of another workspace in the bodies of requests, which finds nothing and
// changes nothing.
func TestReferencesToOtherWorkspaces(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newStrangerWorld(w)
		before := w.dump()
		for _, c := range append(s.referencesOfComponentsAndMonitors(), s.referencesOfIncidentsAndPages()...) {
			if err := refused(c.try(), c.field); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("%s: %v, want a complaint about %s", c.name, err, c.field)
			}
		}
		if w.dump() != before {
			w.Error("a refused reference changed something")
		}
	})
}

func (s *strangerWorld) referencesOfComponentsAndMonitors() []foreignReference {
	return []foreignReference{
		{"a component in a stranger's group", func() error {
			_, err := s.Components().Create(s.ctx, s.stranger, "mine",
				resource.Component.From(statuspage.Component{Name: "x", GroupID: s.x.group}))
			return err
		}, "group"},
		{"a component moved into a stranger's group", func() error {
			_, err := s.Components().Change(s.ctx, s.stranger, "", s.mine.ID, func(c *statuspage.Component) error {
				c.GroupID = s.x.group
				return nil
			}, kernel.Precondition{})
			return err
		}, "group"},
		{"a monitor of a stranger's component", func() error {
			_, err := s.CreateMonitor(s.ctx, s.stranger, monitor.MonitorOf(monitor.MonitorConfig{
				Name: "x", Interval: time.Minute, PageSlug: "mine", ComponentID: s.x.component,
			}))
			return err
		}, "component_id"},
		{"a monitor moved to a stranger's component", func() error {
			_, err := s.ChangeMonitor(s.ctx, s.stranger, s.own.ID, func(c *monitor.MonitorConfig) error {
				c.ComponentID = s.x.component
				return nil
			})
			return err
		}, "component_id"},
		{"a monitor below a stranger's", func() error {
			_, err := s.ChangeMonitor(s.ctx, s.stranger, s.own.ID, func(c *monitor.MonitorConfig) error {
				c.ParentID = s.x.monitor
				return nil
			})
			return err
		}, "parent_id"},
		{"a monitor moved to a stranger's page", func() error {
			_, err := s.ChangeMonitor(s.ctx, s.stranger, s.own.ID, func(c *monitor.MonitorConfig) error {
				c.PageSlug = "acme"
				return nil
			})
			return err
		}, "page"},
	}
}

func (s *strangerWorld) referencesOfIncidentsAndPages() []foreignReference {
	return []foreignReference{
		{"an incident of a stranger's component", func() error {
			_, err := s.CreateIncident(s.ctx, s.stranger, "mine", statuspage.Incident{Title: "x", Affected: s.affected},
				statuspage.IncidentUpdate{Message: "x"}, nil)
			return err
		}, "components.1.id"},
		{"an incident extended to a stranger's component", func() error {
			_, err := s.SetIncidentComponents(s.ctx, s.stranger, s.incident.ID, affecting(s.affected...))
			return err
		}, "components.1.id"},
		{"a maintenance of a stranger's component", func() error {
			_, err := s.CreateMaintenance(s.ctx, s.stranger, "mine", plannedFor(s.x.component, s.mine.ID))
			return err
		}, "components.0"},
		{"a maintenance extended to a stranger's component", func() error {
			_, err := s.ChangeMaintenance(s.ctx, s.stranger, s.maintenance.ID, func(m *statuspage.Maintenance) error {
				m.Components = statuspage.ComponentRefs(s.mine.ID, s.x.component)
				return nil
			}, "")
			return err
		}, "components.1"},
		{"a slug that a stranger has", func() error {
			_, err := s.ChangePage(s.ctx, s.stranger, "mine", resource.Page.From(statuspage.Page{Slug: "acme"}))
			return err
		}, "slug"},
	}
}

func plannedFor(components ...string) field.Change[statuspage.Maintenance] {
	return resource.Maintenance.From(statuspage.Maintenance{
		Title: "m", ScheduledFor: began.Add(time.Hour), ScheduledUntil: began.Add(2 * time.Hour),
		Components: statuspage.ComponentRefs(components...),
	})
}

func newStrangerWorld(w *world) *strangerWorld {
	w.Helper()
	s := &strangerWorld{world: w, x: w.things()}
	s.stranger, _ = storetest.Workspace(w.T, w.Store, "stranger")
	must(w.CreatePage(w.ctx, s.stranger, resource.Page.From(statuspage.Page{Name: "Mine", Slug: "mine"})))(w)
	s.mine = must(w.Components().Create(w.ctx, s.stranger, "mine",
		resource.Component.From(statuspage.Component{Name: "c"})))(w)
	s.own = must(w.CreateMonitor(w.ctx, s.stranger, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "m", Interval: time.Minute, PageSlug: "mine",
	})))(w)
	s.incident = must(w.CreateIncident(w.ctx, s.stranger, "mine", statuspage.Incident{Title: "i"},
		statuspage.IncidentUpdate{}, nil))(w)
	s.maintenance = must(w.CreateMaintenance(w.ctx, s.stranger, "mine", plannedFor(s.mine.ID)))(w)
	s.affected = []statuspage.AffectedComponent{
		{ComponentID: s.mine.ID, Status: kernel.StatusDegraded},
		{ComponentID: s.x.component, Status: kernel.StatusDegraded},
	}
	return s
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
	"Silences.List", "Silences.Get", "Alerts", "AlertList", "AlertStanding", "Alert", "ForecastAlert", "MonitorCheck",
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
