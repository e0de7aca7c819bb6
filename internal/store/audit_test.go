package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/storetest"
)

// audited returns the audit entries of the world's workspace, oldest first, as
// "action kind before after".
func (w *world) audited() []string {
	w.Helper()
	entries, more, err := w.AuditLog(w.ctx, w.ws, kernel.AuditFilter{}, "", 1000)
	w.ok(err)
	if more {
		w.Fatal("more than 1,000 audit entries")
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[len(entries)-1-i] = fmt.Sprintf("%s %s %s %s", e.Action, e.Object.Kind, e.Before, e.After)
	}
	return out
}

// auditedWorld is a world with what auditedChanges create.
type auditedWorld struct {
	*world
	group              statuspage.Group
	component          statuspage.Component
	m                  monitor.Monitor
	incident           statuspage.Incident
	maintenance        statuspage.Maintenance
	sub, hook, rotated audience.Subscriber
	token              account.IssuedToken
}

// auditedChanges are changes in the order in which they are made, each with the audit entries that it writes. Words in
// capitals stand for ids and times.
var auditedChanges = []struct {
	name string
	do   func(w *auditedWorld) error
	want []string
}{
	{"page", func(w *auditedWorld) (err error) {
		_, err = w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Name: "Acme Inc."}))
		return
	}, []string{`update page {"name":"Acme"} {"name":"Acme Inc."}`}},
	{"page, nothing new", func(w *auditedWorld) (err error) {
		_, err = w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Name: "Acme Inc."}))
		return
	}, nil},
	{"logo", func(w *auditedWorld) (err error) {
		_, err = w.SetPageImage(w.ctx, w.ws, "acme", statuspage.PageImage{
			Kind: statuspage.ImageLogo, Type: "image/png", Name: "a.png", Body: []byte("a"),
		})
		return
	}, []string{`update page {"logo":""} {"logo":"a.png"}`}},
	{"new group", func(w *auditedWorld) (err error) {
		w.group, err = w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "Shop"}))
		return
	}, []string{`create group {} {"name":"Shop","order":0,"slug":"shop"}`}},
	{"group", func(w *auditedWorld) (err error) {
		_, err = w.Groups().Change(w.ctx, w.ws, "", w.group.ID, func(g *statuspage.Group) error {
			g.Name = "Store"
			return nil
		}, kernel.Precondition{})
		return
	}, []string{`update group {"name":"Shop"} {"name":"Store"}`}},
	{"new component", func(w *auditedWorld) (err error) {
		w.component, err = w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Cart"}))
		return
	}, []string{
		`create component {} {"hidden":false,"name":"Cart","order":1,"slug":"cart","status":"operational"}`,
	}},
	{"status", func(w *auditedWorld) (err error) {
		_, err = w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusDegraded),
			kernel.Precondition{})
		return
	}, []string{`update component {"status":"operational"} {"status":"degraded"}`}},
	{"component", func(w *auditedWorld) (err error) {
		_, err = w.Components().Change(w.ctx, w.ws, "", w.component.ID, func(c *statuspage.Component) error {
			c.Name = "Basket"
			return nil
		}, kernel.Precondition{})
		return
	}, []string{`update component {"name":"Cart"} {"name":"Basket"}`}},
	{"new monitor", func(w *auditedWorld) (err error) {
		w.m, err = w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "nightly", Interval: time.Hour, PageSlug: "acme",
		}))
		return
	}, []string{
		`create monitor {} {"down_status":"partial_outage","enabled":true,"interval":3600,"name":"nightly",` +
			`"page":"acme","slug":"nightly-2","type":"heartbeat"}`,
	}},
	{"monitor", func(w *auditedWorld) (err error) {
		_, err = w.ChangeMonitor(w.ctx, w.ws, w.m.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		})
		return
	}, []string{`update monitor {"enabled":true} {"enabled":false}`}},
	{"rotated monitor", func(w *auditedWorld) (err error) {
		_, err = w.RotateMonitor(w.ctx, w.ws, w.m.ID)
		return
	}, []string{`rotate monitor {} {"changed_secrets":["token"]}`}},
	{"deleted monitor", func(w *auditedWorld) error { return w.DeleteMonitor(w.ctx, w.ws, w.m.ID) },
		[]string{
			`delete monitor {"down_status":"partial_outage","enabled":false,"interval":3600,"name":"nightly",` +
				`"page":"acme","slug":"nightly-2","type":"heartbeat"} {}`,
		}},
	{"new incident", func(w *auditedWorld) (err error) {
		w.incident, err = w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"},
			statuspage.IncidentUpdate{Message: "We know."}, nil)
		return
	}, []string{
		`create incident {} {"draft":false,"impact":"none","resolved":false,"state":"investigating",` +
			`"title":"Slow"}`,
		`create incident_update {} {"incident_id":"INCIDENT","message":"We know."}`,
	}},
	{"update", func(w *auditedWorld) (err error) {
		_, err = w.PostUpdate(w.ctx, w.ws, w.incident.ID, statuspage.IncidentUpdate{Message: "Still."}, nil)
		return
	}, []string{`create incident_update {} {"incident_id":"INCIDENT","message":"Still."}`}},
	{"affected", func(w *auditedWorld) (err error) {
		_, err = w.SetIncidentComponents(w.ctx, w.ws, w.incident.ID, affecting(statuspage.AffectedComponent{
			ComponentID: w.component.ID, Status: kernel.StatusPartialOutage,
		}))
		return
	}, []string{
		`update incident {"components":[],"impact":"none"} {"components":[{"id":"COMPONENT",` +
			`"status":"partial_outage"}],"impact":"major"}`,
	}},
	{"incident", func(w *auditedWorld) (err error) {
		_, err = w.ChangeIncident(w.ctx, w.ws, w.incident.ID, func(i *statuspage.Incident) error {
			i.SetResolved(true)
			return nil
		}, statuspage.IncidentUpdate{}, "")
		return
	}, []string{
		`update incident {"resolved":false,"resolved_at":null} {"resolved":true,"resolved_at":"RESOLVED"}`,
	}},
	{"new maintenance", func(w *auditedWorld) (err error) {
		w.maintenance, err = w.CreateMaintenance(w.ctx, w.ws, "acme",
			resource.Maintenance.From(statuspage.Maintenance{
				Title: "Upgrade", ScheduledFor: w.clock.now().Add(time.Hour),
				ScheduledUntil: w.clock.now().Add(2 * time.Hour),
			}))
		return
	}, []string{
		`create maintenance {} {"remind_before":86400,"scheduled_for":"FOR","scheduled_until":"UNTIL",` +
			`"state":"scheduled","title":"Upgrade"}`,
	}},
	{"maintenance", func(w *auditedWorld) (err error) {
		_, err = w.ChangeMaintenance(w.ctx, w.ws, w.maintenance.ID, func(m *statuspage.Maintenance) error {
			m.Title = "Big upgrade"
			return nil
		}, "")
		return
	}, []string{`update maintenance {"title":"Upgrade"} {"title":"Big upgrade"}`}},
	{"maintenance update", func(w *auditedWorld) (err error) {
		_, err = w.PostMaintenanceUpdate(w.ctx, w.ws, w.maintenance.ID,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{Message: "Soon."}), "")
		return
	}, []string{
		`create maintenance_update {} {"maintenance_id":"MAINTENANCE","message":"Soon.","state":"scheduled"}`,
	}},
	{"new subscriber", func(w *auditedWorld) (err error) {
		w.sub, err = w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "ada@example.com"}, nil)
		return
	}, []string{
		`create subscriber {} {"channel":"email","confirmed":false,"suspended":false,"whole_page":true}`,
	}},
	{"confirmation", func(w *auditedWorld) (err error) {
		_, err = w.ConfirmSubscription(w.ctx, "acme", w.sub.Key)
		return
	}, []string{`confirm subscriber {"confirmed":false} {"confirmed":true}`}},
	{"confirmed again", func(w *auditedWorld) (err error) {
		_, err = w.ConfirmSubscription(w.ctx, "acme", w.sub.Key)
		return
	}, nil},
	{"unsubscribed", func(w *auditedWorld) error { return w.Unsubscribe(w.ctx, "acme", w.sub.Key) },
		[]string{
			`delete subscriber {"channel":"email","confirmed":true,"suspended":false,"whole_page":true} {}`,
		}},
	{"new webhook", func(w *auditedWorld) (err error) {
		w.hook, err = w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{
				Channel: audience.ChannelWebhook, Target: "https://hooks.example.com/T0/hunter2",
			},
			nil)
		return
	}, []string{
		`create subscriber {} {"channel":"webhook","confirmed":true,"suspended":false,"whole_page":true}`,
	}},
	{"rotated webhook", func(w *auditedWorld) (err error) {
		w.rotated, err = w.RotateSubscriber(w.ctx, w.ws, "acme", w.hook.ID)
		return
	}, []string{`rotate subscriber {} {"changed_secrets":["secret"]}`}},
	{"removed webhook", func(w *auditedWorld) error {
		return w.DeleteSubscriber(w.ctx, w.ws, "acme", w.hook.ID, kernel.Precondition{})
	},
		[]string{
			`delete subscriber {"channel":"webhook","confirmed":true,"suspended":false,"whole_page":true} {}`,
		}},
	{"token", func(w *auditedWorld) (err error) {
		w.token, err = w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "ci", Scope: kernel.ScopeWrite})
		return
	}, []string{`create token {} {"name":"ci","revoked":false,"scope":"write"}`}},
	{"revoked", func(w *auditedWorld) error { return w.RevokeToken(w.ctx, w.ws, w.token.ID) },
		[]string{`revoke token {"revoked":false} {"revoked":true}`}},
	{"revoked again", func(w *auditedWorld) error { return w.RevokeToken(w.ctx, w.ws, w.token.ID) }, nil},
	{"refused", func(w *auditedWorld) error {
		_, err := w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
		if err == nil {
			return errors.New("not refused")
		}
		return nil
	}, nil},
	{"ping", func(w *auditedWorld) error { w.pinged(); return nil }, nil},
	{"deleted page", func(w *auditedWorld) error { return w.DeletePage(w.ctx, w.ws, "acme") },
		[]string{
			`delete page {"auto_incidents":"publish","home":false,"logo":"a.png","name":"Acme Inc.",` +
				`"response_times":false,"slug":"acme","time_zone":"UTC","visibility":"public",` +
				`"webhook_sign_ups":true} {}`,
		}},
}

func TestChangesAreAudited(t *testing.T) {
	inWorlds(t, func(w *world) {
		a := &auditedWorld{world: w}
		for _, c := range auditedChanges {
			before := w.audited()
			w.pass(time.Millisecond) // so that the entries sort after the earlier ones
			w.ok(c.do(a))
			names := strings.NewReplacer(a.incident.ID+"_", "_", "INCIDENT", a.incident.ID, "COMPONENT", a.component.ID,
				"MAINTENANCE", a.maintenance.ID, "RESOLVED", kernel.FormatTime(w.clock.now()),
				"FOR", kernel.FormatTime(a.maintenance.ScheduledFor),
				"UNTIL", kernel.FormatTime(a.maintenance.ScheduledUntil))
			got := w.audited()[len(before):]
			var want []string
			for _, entry := range c.want {
				want = append(want, names.Replace(entry))
			}
			if !slices.Equal(got, want) {
				w.Errorf("%s: audited\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		for _, secret := range []string{
			a.sub.Key, "ada@example.com", a.hook.Key, "hunter2", a.hook.Secret, a.rotated.Secret, a.m.Token,
			a.token.Secret,
		} {
			if strings.Contains(strings.Join(w.rows(`SELECT * FROM audit_entries`), "\n"), secret) {
				w.Errorf("the audit log contains %q", secret)
			}
		}
	})
}

// TestRetriesAndResumptionsAreAudited: a retry is audited also if it leaves the delivery
// in its state.
func TestRetriesAndResumptionsAreAudited(t *testing.T) {
	inWorlds(t, func(w *world) {
		sub := w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.deliver(failed)
		delivery := w.value(`SELECT id FROM deliveries`)
		for _, c := range []struct {
			do   func() error
			want string
		}{
			{func() error { return second(w.RetryDelivery(w.ctx, w.ws, delivery)) }, `retry delivery {} {}`},
			{func() error {
				w.run(`UPDATE deliveries SET state = 'dead' WHERE id = $1`, delivery)
				return second(w.RetryDelivery(w.ctx, w.ws, delivery))
			}, `retry delivery {"state":"dead"} {"state":"pending"}`},
			{func() error {
				w.run(`UPDATE subscribers SET suspended_at = 1, suspension_reason = 'no' WHERE id = $1`, sub.ID)
				return second(w.ResumeSubscription(w.ctx, "acme", sub.Key))
			}, `resume subscriber {"suspended":true} {"suspended":false}`},
		} {
			before := w.audited()
			w.pass(time.Millisecond) // so that the entry sorts after the earlier ones
			w.ok(c.do())
			if got := w.audited()[len(before):]; !slices.Equal(got, []string{c.want}) {
				w.Errorf("audited %q, want %q", got, c.want)
			}
		}
	})
}

// TestAuditEntryIsInTheTransaction checks that a change is rolled back if its audit entry
// cannot be written.
func TestAuditEntryIsInTheTransaction(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetFault(func(when, query string) error {
			if when == "before" && strings.Contains(query, "INSERT INTO audit_entries") {
				return errors.New("no audit")
			}
			return nil
		})
		_, err := w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Name: "Other"}))
		w.SetFault(nil)
		if p := must(w.Page(w.ctx, w.ws, "acme"))(w); err == nil || p.Name == "Other" {
			w.Errorf("the page is called %q without an audit entry, and the verb returned %v", p.Name, err)
		}
	})
}

func TestAuditLogFilters(t *testing.T) {
	inWorlds(t, func(w *world) {
		other, _ := storetest.Workspace(w.T, w.Store, "other")
		must(w.CreatePage(w.ctx, other, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		start := w.clock.now()
		var ids []string
		for i := range 5 {
			w.clock.move(time.Second)
			ids = append(ids,
				must(w.Components().Create(w.ctx, w.ws, "acme",
					resource.Component.From(statuspage.Component{Name: fmt.Sprint(i)})))(w).ID)
		}
		w.ok(w.Components().Delete(w.ctx, w.ws, "acme", ids[0], kernel.Precondition{}))
		for _, c := range []struct {
			name   string
			filter kernel.AuditFilter
			want   int
		}{
			{"object", kernel.AuditFilter{ObjectID: ids[0]}, 2},
			{"action", kernel.AuditFilter{Action: kernel.AuditDelete}, 1},
			{"kind and since",
				kernel.AuditFilter{ObjectKind: kernel.ObjectComponent, Since: start.Add(2 * time.Second)}, 5},
			{"until", kernel.AuditFilter{Since: start.Add(time.Second), Until: start.Add(3 * time.Second)}, 2},
			{"actor", kernel.AuditFilter{ActorID: w.ws.ID, Since: start.Add(time.Second)}, 6},
			{"nobody", kernel.AuditFilter{ActorID: "tok_nobody"}, 0},
		} {
			// In steps of two, each entry comes once.
			seen := map[string]bool{}
			for cursor, more := "", true; more; {
				var entries []kernel.AuditEntry
				var err error
				entries, more, err = w.AuditLog(w.ctx, w.ws, c.filter, cursor, 2)
				w.ok(err)
				for _, e := range entries {
					if seen[e.ID] || e.Actor.WorkspaceID != w.ws.WorkspaceID {
						w.Errorf("%s: entry %s twice, or of another workspace", c.name, e.ID)
					}
					seen[e.ID], cursor = true, e.ID
				}
			}
			if len(seen) != c.want {
				w.Errorf("%s: %d entries, want %d", c.name, len(seen), c.want)
			}
		}
	})
}

// TestAuditLogKeepsTheOrderOfATransaction checks the order of several entries of the same
// millisecond, page by page.
func TestAuditLogKeepsTheOrderOfATransaction(t *testing.T) {
	inWorlds(t, func(w *world) {
		var want []string
		for range 20 {
			i := must(w.CreateIncident(w.ctx, w.ws, "acme",
				statuspage.Incident{Title: "Slow", State: statuspage.IncidentIdentified},
				statuspage.IncidentUpdate{Message: "We know."}, nil))(w)
			want = append(want, i.ID, i.Updates[0].ID)
		}
		var got []string
		for cursor, more := "", true; more; {
			var entries []kernel.AuditEntry
			var err error
			entries, more, err = w.AuditLog(w.ctx, w.ws,
				kernel.AuditFilter{Action: kernel.AuditCreate, Since: w.clock.now()}, cursor, 1)
			w.ok(err)
			for _, e := range entries {
				cursor = e.ID
				if e.Object.Kind == kernel.ObjectIncident || e.Object.Kind == kernel.ObjectIncidentUpdate {
					got = append(got, e.Object.ID)
				}
			}
		}
		// Transactions of the same millisecond are in any order, each in one piece.
		if len(got) != len(want) {
			w.Fatalf("%d entries, want %d", len(got), len(want))
		}
		for n := 0; n < len(got); n += 2 {
			update, incident := got[n], got[n+1]
			if at := slices.Index(want, incident); at < 0 || at%2 != 0 || want[at+1] != update {
				w.Errorf("entries %d and %d are of %s and %s", n, n+1, update, incident)
			}
		}
	})
}

func TestAuditLogIsPruned(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{Name: "old"})))(w)
		w.clock.move(kernel.DefaultAuditRetention)
		must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{Name: "new"})))(w)
		w.ok(w.Prune(w.ctx))
		if got := w.audited(); len(got) != 1 || !strings.Contains(got[0], "new") {
			w.Errorf("after the retention: %q", got)
		}
	})
}
