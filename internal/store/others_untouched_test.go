package store_test

import (
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
)

// second creates a second object of each kind of things, on a page of its own.
func (w *world) second() (x things) {
	w.Helper()
	page := must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Second", Slug: "second"})))(w)
	x.slug, x.page = page.Slug, page.ID
	x.group = must(w.Groups().Create(w.ctx, w.ws, x.slug, resource.Group.From(statuspage.Group{Name: "g"})))(w).ID
	x.component = must(w.Components().Create(w.ctx, w.ws, x.slug,
		resource.Component.From(statuspage.Component{Name: "c", GroupID: x.group})))(w).ID
	m := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "second", Interval: time.Hour, PageSlug: x.slug, ComponentID: x.component,
	})))(w)
	x.monitor = m.ID
	x.incident = must(w.CreateIncident(w.ctx, w.ws, x.slug, statuspage.Incident{Title: "i"},
		statuspage.IncidentUpdate{Message: "m"}, nil))(w).ID
	must(w.SetIncidentComponents(w.ctx, w.ws, x.incident, affecting(statuspage.AffectedComponent{
		ComponentID: x.component, Status: kernel.StatusDegraded,
	})))(w)
	x.maintenance = must(w.CreateMaintenance(w.ctx, w.ws, x.slug, resource.Maintenance.From(statuspage.Maintenance{
		Title: "m", Updates: []statuspage.MaintenanceUpdate{{Message: "m"}}, ScheduledFor: began,
		ScheduledUntil: began.Add(time.Hour), Components: statuspage.ComponentRefs(x.component),
	})))(w).ID
	must(w.SetPageImage(w.ctx, w.ws, x.slug, statuspage.PageImage{
		Kind: statuspage.ImageLogo, Type: "image/png", Name: "logo", Body: []byte("png"),
	}))(w)
	x.subscriber = must(w.CreateSubscriber(w.ctx, w.ws, x.slug,
		audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://second.example.com/hook"}, nil))(w).ID
	x.update = must(w.PostUpdate(w.ctx, w.ws, x.incident, statuspage.IncidentUpdate{Message: "more"}, nil))(w).ID
	w.fanOut()
	x.delivery = w.rows(`SELECT id FROM deliveries WHERE page_id = $1 ORDER BY id LIMIT 1`, x.page)[0]
	x.template = must(w.IncidentTemplates().Create(w.ctx, w.ws, "",
		resource.IncidentTemplate.From(statuspage.IncidentTemplate{Name: "second", Title: "t", Page: x.slug})))(w).ID
	x.invitation = must(w.Invite(w.ctx, w.ws, account.NewInvitation{
		Email: "second@example.com", Role: kernel.RoleViewer,
	}))(w).ID
	x.announcement = must(w.Announcements().Create(w.ctx, w.ws, x.slug,
		resource.Announcement.From(statuspage.Announcement{Title: "a"})))(w).ID
	signal := signalOf(monitor.SignalLog, "")
	signal.Token = m.Token
	w.send(signal)
	x.signal = w.value(`SELECT id FROM signals WHERE monitor_id = $1`, m.ID)
	x.channel = w.channel("second").ID
	x.rule = w.rule(alert.Target{ChannelIDs: []string{x.channel}}, func(r *alert.Rule) {
		r.Name, r.Pages = "second", []string{x.page}
	}).ID
	x.onCall = must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(alert.OnCall{
		Name: "Second", Zone: "UTC", HandOverDay: "mon", StartsOn: began,
	})))(w).ID
	x.silence = must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
		EndsAt: w.clock.now().Add(time.Hour), Filter: alert.Filter{Pages: []string{x.page}},
	})))(w).ID
	w.run(`INSERT INTO alerts (id, workspace_id, event, event_key, page_id, subject, opened_at, notify_at)
		VALUES ('alt_2', '` + w.ws.WorkspaceID + `', 'monitor.down', 'y', '` + x.page +
		`', '{"event": "monitor.down"}', 1, 1)`)
	x.alert = "alt_2"
	joined := must(w.FindSession(w.ctx, w.joined("dora@example.com", kernel.RoleEditor)))(w)
	x.member, x.session = joined.User.ID, joined.ID
	x.token = must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "second", Scope: kernel.ScopeRead}))(w).ID
	return x
}

// rowsOf returns the rows of the database that have one of the ids of things.
func (w *world) rowsOf(x things) (rows []string) {
	w.Helper()
	var ids []string
	for v := reflect.ValueOf(x); len(ids) < v.NumField(); {
		ids = append(ids, v.Field(len(ids)).String())
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == x.slug || id == "" })
	for _, row := range strings.Split(w.dump(), "\n") {
		if slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(row, id) }) {
			rows = append(rows, row)
		}
	}
	return rows
}

// TestOthersAreUntouched calls every method with the objects of one page, and checks that no row of a second object of
// the same kind and workspace changes: a condition that a statement lacks shows only beside another object.
func TestOthersAreUntouched(t *testing.T) {
	inWorlds(t, func(w *world) {
		x, other := w.things(), w.second()
		last := func(name string) int { // what deletes comes after what changes, and pages last
			return slices.Index([]string{"Delete", "Revoke", "Remove"}, name[:min(len(name), 6)]) +
				2*slices.Index([]string{"DeletePage"}, name)
		}
		var names []string
		for name, try := range verbs {
			if try != nil {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(a, b string) int {
			if a, b := last(a), last(b); a != b {
				return a - b
			}
			return strings.Compare(a, b)
		})
		done := 0
		before := w.rowsOf(other)
		for _, name := range names {
			if err := verbs[name](w.Store, w.ctx, w.ws, x); err == nil {
				done++
			}
			after := w.rowsOf(other)
			for _, row := range before {
				if !slices.Contains(after, row) {
					w.Errorf("%s changed or removed %s", name, row)
				}
			}
			before = after
		}
		if done < len(names)/2 {
			w.Errorf("only %d of %d methods did something", done, len(names))
		}
	})
}
