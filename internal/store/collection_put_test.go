package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store"
)

// tagOf returns the entity tag of a page.
func tagOf(p statuspage.Page) string { return kernel.EntityTag(resource.Page.Audited(p)) }

var noCondition = kernel.Precondition{}

// putWorld is a world with objects that were created by their slugs, and the changes that created them.
type putWorld struct {
	*world
	page    field.Change[statuspage.Page]
	nightly monitor.MonitorChange
	shop    statuspage.Page
	api     statuspage.Component
	m       monitor.Monitor
}

// TestPutOfTheSameChangesNothing puts again what was created.
func TestPutOfTheSameChangesNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newPutWorld(w)
		w.pass(time.Minute)
		log, was := len(w.audited()), w.monitorNow(s.m)
		mustPut(w.PutPage(w.ctx, w.ws, "shop", s.page, noCondition))(w)
		mustPut(w.Components().Put(w.ctx, w.ws, "shop", "api",
			resource.Component.From(statuspage.Component{Name: "API"}), noCondition))(w)
		again, created, err := w.PutMonitor(w.ctx, w.ws, "shop-nightly", s.nightly, noCondition)
		w.ok(err)
		if created || again.Token != s.m.Token || !again.NextCheckAt.Equal(was.NextCheckAt) ||
			!again.UpdatedAt.Equal(was.UpdatedAt) {
			w.Errorf("the same again makes %+v of %+v", again, was)
		}
		if n := len(w.audited()); n != log {
			w.Errorf("the same again is audited %d times", n-log)
		}
	})
}

// TestPutKeepsWhatIsLeftOut replaces a component and a page. A status and an order that the request does not have stay.
func TestPutKeepsWhatIsLeftOut(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newPutWorld(w)
		must(w.Components().Change(w.ctx, w.ws, "shop", s.api.ID, setStatus(kernel.StatusDegraded),
			kernel.Precondition{}))(w)
		must(w.Components().Change(w.ctx, w.ws, "", s.api.ID, func(c *statuspage.Component) error {
			c.Order = 7
			c.Description = new("x")
			return nil
		}, kernel.Precondition{}))(w)
		replaced := mustPut(w.Components().Put(w.ctx, w.ws, "shop", "api", func(c *statuspage.Component) error {
			c.Name, c.Description = "The API", nil
			return nil
		}, noCondition))(w)
		if replaced.Name != "The API" || replaced.Description != nil || replaced.Order != 7 ||
			replaced.Status() != kernel.StatusDegraded || replaced.ID != s.api.ID {
			w.Errorf("replaced: %+v", replaced)
		}
		healed := mustPut(w.Components().Put(w.ctx, w.ws, "shop", s.api.ID,
			resource.Component.From(statuspage.Component{Name: "The API", Baseline: kernel.StatusOperational}),
			noCondition))(w)
		if healed.Status() != kernel.StatusOperational {
			w.Errorf("replaced with a status: %s", healed.Status())
		}
		plain := mustPut(w.PutPage(w.ctx, w.ws, "shop", func(p *statuspage.Page) error {
			p.Accent = ""
			return nil
		}, noCondition))(w)
		if plain.Accent != "" || plain.ID != s.shop.ID {
			w.Errorf("replaced: %+v", plain)
		}
	})
}

// TestPutWithPreconditions names objects that are not there, and conditions that objects meet or not.
func TestPutWithPreconditions(t *testing.T) {
	inWorlds(t, func(w *world) {
		s := newPutWorld(w)
		changed := mustPut(w.PutPage(w.ctx, w.ws, "shop", func(p *statuspage.Page) error {
			p.Accent = ""
			return nil
		}, noCondition))(w)
		_, _, err := w.PutPage(w.ctx, kernel.Actor{WorkspaceID: "ws_nobody"}, "shop", s.page, noCondition)
		if err == nil {
			w.Error("another workspace's page was replaced")
		}
		for name, err := range map[string]error{
			"component": putError(w.Components().Put(w.ctx, w.ws, "shop", "comp_nobody",
				resource.Component.From(statuspage.Component{Name: "x"}), noCondition)),
			"monitor": putError(w.PutMonitor(w.ctx, w.ws, "mon_nobody", s.nightly, noCondition)),
		} {
			if !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("a %s by an id that is nobody's: %v", name, err)
			}
		}
		before := w.dump()
		for name, cond := range map[string]kernel.Precondition{
			"another tag": {Tags: []string{tagOf(s.shop)}}, "only new": {New: true},
		} {
			_, _, err := w.PutPage(w.ctx, w.ws, "shop", s.page, cond)
			if !errors.Is(err, kernel.ErrPreconditionFailed) {
				w.Errorf("%s: %v", name, err)
			}
		}
		for name, cond := range map[string]kernel.Precondition{
			"a tag": {Tags: []string{`"x"`}}, "any tag": {Exists: true},
		} {
			_, _, err := w.PutMonitor(w.ctx, w.ws, "other", s.nightly, cond)
			if !errors.Is(err, kernel.ErrPreconditionFailed) {
				w.Errorf("a monitor that does not exist, with %s: %v", name, err)
			}
		}
		if w.dump() != before {
			w.Error("a failed precondition changed something")
		}
		met := kernel.Precondition{Tags: []string{`"x"`, tagOf(changed)}, Exists: true}
		if _, _, err := w.PutPage(w.ctx, w.ws, "shop", s.page, met); err != nil {
			w.Errorf("with its tag: %v", err)
		}
	})
}

// newPutWorld creates a page, a component and a monitor with PUT requests.
func newPutWorld(w *world) *putWorld {
	w.Helper()
	s := &putWorld{world: w}
	var created bool
	var err error
	s.page = resource.Page.From(statuspage.Page{Name: "Shop", Accent: "#102030"})
	s.shop, created, err = w.PutPage(w.ctx, w.ws, "shop", s.page, noCondition)
	w.ok(err)
	if !created || s.shop.Accent != "#102030" {
		w.Errorf("created %v: %+v", created, s.shop)
	}
	s.api, created, err = w.Components().Put(w.ctx, w.ws, "shop", "api",
		resource.Component.From(statuspage.Component{Name: "API"}), noCondition)
	w.ok(err)
	if !created || s.api.Slug != "api" {
		w.Errorf("created %v: %+v", created, s.api)
	}
	s.nightly = monitor.MonitorOf(monitor.MonitorConfig{
		Name: "Nightly", Interval: time.Hour, PageSlug: "shop", ComponentID: "api",
	})
	s.m, created, err = w.PutMonitor(w.ctx, w.ws, "shop-nightly", s.nightly, noCondition)
	w.ok(err)
	if !created || s.m.Slug != "shop-nightly" || s.m.ComponentID != s.api.ID {
		w.Errorf("created %v: %+v", created, s.m)
	}
	w.pinged(s.m)
	return s
}

type conditionalWrite struct {
	name   string
	object kernel.Auditable
	do     func(kernel.Precondition) error
}

// TestChangeAndDeleteWithPreconditions changes and deletes with conditions that the objects do not meet, then with
// their entity tags.
func TestChangeAndDeleteWithPreconditions(t *testing.T) {
	inWorlds(t, func(w *world) {
		page := mustPut(w.PutPage(w.ctx, w.ws, "shop", resource.Page.From(statuspage.Page{Name: "Shop"}),
			noCondition))(w)
		api := mustPut(w.Components().Put(w.ctx, w.ws, "shop", "api",
			resource.Component.From(statuspage.Component{Name: "API"}), noCondition))(w)
		m := mustPut(w.PutMonitor(w.ctx, w.ws, "nightly",
			monitor.MonitorOf(monitor.MonitorConfig{
				Name: "Nightly", Interval: time.Hour, PageSlug: "shop", ComponentID: "api",
			}),
			noCondition))(w)
		writes := w.conditionalWrites(page, api, m)
		before := w.dump()
		for _, write := range writes {
			for name, cond := range map[string]kernel.Precondition{
				"another tag": {Tags: []string{`"x"`}}, "only new": {New: true},
			} {
				if err := write.do(cond); !errors.Is(err, kernel.ErrPreconditionFailed) {
					w.Errorf("%s with %s: %v", write.name, name, err)
				}
			}
		}
		if w.dump() != before {
			w.Error("a failed precondition changed something")
		}
		for _, write := range writes {
			met := kernel.Precondition{Tags: []string{kernel.EntityTag(write.object)}, Exists: true}
			if err := write.do(met); err != nil {
				w.Errorf("%s with the tag: %v", write.name, err)
			}
		}
	})
}

// conditionalWrites are all changes and deletions that take conditions, in an order in which all can be done.
func (w *world) conditionalWrites(
	page statuspage.Page, api statuspage.Component, m monitor.Monitor,
) []conditionalWrite {
	return []conditionalWrite{
		{"ChangeComponent", resource.Component.Audited(api), func(cond kernel.Precondition) error {
			_, err := w.Components().Change(w.ctx, w.ws, "shop", api.ID, setStatus(kernel.StatusDegraded), cond)
			return err
		}},
		{"EditComponent", resource.Component.Audited(api), func(cond kernel.Precondition) error {
			_, err := w.Components().Change(w.ctx, w.ws, "shop", "api", func(c *statuspage.Component) error {
				c.Order = 0
				return nil
			}, cond)
			return err
		}},
		{"ChangeMonitor", resource.Monitor.Audited(m), func(cond kernel.Precondition) error {
			_, err := w.ChangeMonitor(w.ctx, w.ws, "nightly", func(c *monitor.MonitorConfig) error {
				c.Enable(true)
				return nil
			}, cond)
			return err
		}},
		{"ChangePage", resource.Page.Audited(page), func(cond kernel.Precondition) error {
			_, err := w.ChangePage(w.ctx, w.ws, "shop", resource.Page.From(statuspage.Page{Name: "Shop"}), cond)
			return err
		}},
		{"ChangePageAccess", resource.Page.Audited(page), func(cond kernel.Precondition) error {
			_, err := w.ChangePageAccess(w.ctx, w.ws, "shop",
				func(*statuspage.PageAccess, time.Time) error { return nil }, cond)
			return err
		}},
		{"DeleteMonitor", resource.Monitor.Audited(m), func(cond kernel.Precondition) error {
			return w.DeleteMonitor(w.ctx, w.ws, "nightly", cond)
		}},
		{"DeleteComponent", resource.Component.Audited(api), func(cond kernel.Precondition) error {
			return w.Components().Delete(w.ctx, w.ws, "shop", "api", cond)
		}},
		{"DeletePage", resource.Page.Audited(page), func(cond kernel.Precondition) error {
			return w.DeletePage(w.ctx, w.ws, "shop", cond)
		}},
	}
}

// TestOneOfManyChangesWithTheSameTag changes each kind of object many times concurrently, with the same entity tag.
func TestOneOfManyChangesWithTheSameTag(t *testing.T) {
	inWorlds(t, func(w *world) {
		any := kernel.Precondition{}
		page := mustPut(w.PutPage(w.ctx, w.ws, "shop", resource.Page.From(statuspage.Page{Name: "Shop"}), any))(w)
		api := mustPut(w.Components().Put(w.ctx, w.ws, "shop", "api",
			resource.Component.From(statuspage.Component{Name: "API"}), any))(w)
		m := mustPut(w.PutMonitor(w.ctx, w.ws, "nightly",
			monitor.MonitorOf(monitor.MonitorConfig{Name: "Nightly", Interval: time.Hour, PageSlug: "shop"}), any))(w)
		for kind, change := range map[string]func(name string) error{
			"page": func(name string) error {
				_, err := w.ChangePage(w.ctx, w.ws, "shop", func(p *statuspage.Page) error {
					p.Name = name
					return nil
				}, kernel.Precondition{Tags: []string{tagOf(page)}})
				return err
			},
			"component": func(name string) error {
				_, err := w.Components().Change(w.ctx, w.ws, "shop", "api", func(c *statuspage.Component) error {
					c.Name = name
					return nil
				}, kernel.Precondition{Tags: []string{kernel.EntityTag(resource.Component.Audited(api))}})
				return err
			},
			"monitor": func(name string) error {
				_, err := w.ChangeMonitor(w.ctx, w.ws, "nightly", func(c *monitor.MonitorConfig) error {
					c.Name = name
					return nil
				}, kernel.Precondition{Tags: []string{kernel.EntityTag(resource.Monitor.Audited(m))}})
				return err
			},
		} {
			errs := make([]error, 8)
			changes := make([]func(), len(errs))
			for i := range changes {
				changes[i] = func() { errs[i] = change(fmt.Sprint("name ", i)) }
			}
			together(changes...)
			made := 0
			for _, err := range errs {
				if err == nil {
					made++
				} else if !errors.Is(err, kernel.ErrPreconditionFailed) {
					w.Errorf("%s: %v", kind, err)
				}
			}
			if made != 1 {
				w.Errorf("%s: %d of %d changes with the same tag were made, want 1", kind, made, len(errs))
			}
		}
	})
}

// TestPutFindsWhatAnotherHasCreated puts objects that another replica creates after they
// were looked for. Pages are created by POST, because a PUT of a page waits for another.
func TestPutFindsWhatAnotherHasCreated(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		any := kernel.Precondition{}
		page := resource.Page.From(statuspage.Page{Name: "Shop"})
		w.meanwhile("before", "INSERT INTO pages", func(other *store.Store) {
			must(other.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Its shop", Slug: "shop"})))(w)
		})
		if p, created, err := w.PutPage(w.ctx, w.ws, "shop", page, any); err != nil || created || p.Name != "Shop" {
			w.Errorf("page %+v, created %v, %v", p, created, err)
		}
		w.meanwhile("before", "INSERT INTO monitors", func(other *store.Store) {
			mustPut(other.PutMonitor(w.ctx, w.ws, "shop-nightly",
				monitor.MonitorOf(monitor.MonitorConfig{Name: "Its job", Interval: time.Hour, PageSlug: "acme"}),
				any))(w)
		})
		m, created, err := w.PutMonitor(w.ctx, w.ws, "shop-nightly",
			monitor.MonitorOf(monitor.MonitorConfig{Name: "Job", Interval: time.Hour, PageSlug: "acme"}), any)
		if err != nil || created || m.Name != "Job" {
			w.Errorf("monitor %+v, created %v, %v", m, created, err)
		}
		w.meanwhile("before", "UPDATE pages SET version", func(other *store.Store) {
			mustPut(other.Components().Put(w.ctx, w.ws, "acme", "api",
				resource.Component.From(statuspage.Component{Name: "Its API"}), any))(w)
		})
		c, created, err := w.Components().Put(w.ctx, w.ws, "acme", "api",
			resource.Component.From(statuspage.Component{Name: "API"}), any)
		if err != nil || created || c.Name != "API" {
			w.Errorf("component %+v, created %v, %v", c, created, err)
		}
		// The precondition is checked again.
		w.meanwhile("before", "INSERT INTO pages", func(other *store.Store) {
			must(other.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Its blog", Slug: "blog"})))(w)
		})
		_, _, err = w.PutPage(w.ctx, w.ws, "blog", resource.Page.From(statuspage.Page{Name: "Blog"}),
			kernel.Precondition{New: true})
		if !errors.Is(err, kernel.ErrPreconditionFailed) {
			w.Errorf("a new page that exists by now: %v", err)
		}
	})
}

// mustPut is must for a Put method.
func mustPut[T any](v T, _ bool, err error) func(w *world) T {
	return func(w *world) T {
		w.Helper()
		w.ok(err)
		return v
	}
}

// putError returns the error of a Put method.
func putError[T any](_ T, _ bool, err error) error { return err }

// TestSameStatusAsACauseGives: a PATCH with the status that an incident gives a component anyway makes it the
// component's own. A PUT doesn't: it may send back what a GET has shown, and the component recovers with the incident.
func TestSameStatusAsACauseGives(t *testing.T) {
	inWorlds(t, func(w *world) {
		set := func(status kernel.Status) {
			w.ok(second(w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(status),
				kernel.Precondition{})))
		}
		put := func(status kernel.Status) {
			w.ok(putError(w.Components().Put(w.ctx, w.ws, "acme", w.component.ID,
				resource.Component.From(statuspage.Component{Name: "Backups", Baseline: status}),
				kernel.Precondition{})))
		}
		for _, c := range []struct {
			set    func(kernel.Status)
			status kernel.Status // that is set
			audits []string
			after  kernel.Status // the incident
		}{
			{set, kernel.StatusMajorOutage,
				[]string{`update component {"status":"operational"} {"status":"major_outage"}`},
				kernel.StatusMajorOutage},
			{put, kernel.StatusMajorOutage, nil, kernel.StatusOperational},
			{put, kernel.StatusDegraded, []string{`update component {"status":"major_outage"} {"status":"degraded"}`},
				kernel.StatusDegraded},
		} {
			i := must(w.CreateIncident(w.ctx, w.ws, "acme",
				statuspage.Incident{
					Title: "i",
					Affected: []statuspage.AffectedComponent{
						{ComponentID: w.component.ID, Status: kernel.StatusMajorOutage},
					},
				},
				statuspage.IncidentUpdate{}, nil))(w)
			before := w.audited()
			c.set(c.status)
			c.set(c.status)
			if got := w.audited()[len(before):]; !slices.Equal(got, c.audits) {
				w.Errorf("audited %q, want %q", got, c.audits)
			}
			w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
			w.shows(c.after)
			set(kernel.StatusOperational)
		}
	})
}

// TestPutKeepsTheGroup: the group is not in the JSON of a component, so it is kept unless
// the request has one. All that a request changes is one audit entry.
func TestPutKeepsTheGroup(t *testing.T) {
	inWorlds(t, func(w *world) {
		group := must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"})))(w)
		for _, c := range []struct {
			group *string
			want  string
		}{{nil, ""}, {new("g"), group.ID}, {nil, group.ID}, {new(""), ""}} {
			put := func(to *statuspage.Component) error {
				if to.Name = "x"; c.group != nil {
					to.GroupID = *c.group
				}
				return nil
			}
			got := mustPut(w.Components().Put(w.ctx, w.ws, "acme", "x", put, kernel.Precondition{}))(w)
			if got.GroupID != c.want {
				w.Errorf("%v: group %q, want %q", c, got.GroupID, c.want)
			}
		}
		before := w.audited()
		x := mustPut(w.Components().Put(w.ctx, w.ws, "acme", "x",
			resource.Component.From(statuspage.Component{Name: "y", Baseline: kernel.StatusDegraded, GroupID: "g"}),
			kernel.Precondition{}))(w)
		w.ok(w.Groups().Delete(w.ctx, w.ws, "", group.ID, kernel.Precondition{}))
		want := []string{
			`update component {"group":null,"name":"x","status":"operational"} {"group":"` + group.ID +
				`","name":"y","status":"degraded"}`,
			`delete group {"components":["` + x.ID + `"],"name":"g","order":0,"slug":"g"} {}`,
		}
		if got := w.audited()[len(before):]; !slices.Equal(got, want) {
			w.Errorf("audited %q, want %q", got, want)
		}
	})
}

// TestResolvedAgainIsAudited: it moves resolved_at.
func TestResolvedAgainIsAudited(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme",
			statuspage.Incident{Title: "i", State: statuspage.IncidentResolved}, statuspage.IncidentUpdate{}, nil))(w)
		w.clock.move(time.Second)
		again := w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		log := w.audited()
		want := fmt.Sprintf(`update incident {"resolved_at":"%s"} {"resolved_at":"%s"}`,
			kernel.FormatTime(i.ResolvedAt), kernel.FormatTime(again.ResolvedAt))
		if got := log[len(log)-1]; got != want || again.ResolvedAt.Equal(i.ResolvedAt) {
			w.Errorf("audited %s, want %s", got, want)
		}
	})
}

// TestSlugsOfLongNames creates objects whose slugs have to be shortened for their numbers.
func TestSlugsOfLongNames(t *testing.T) {
	inWorlds(t, func(w *world) {
		name := strings.Repeat("a", kernel.MaxSlugLength+1)
		for n := 1; n <= 11; n++ {
			want := name[:kernel.MaxSlugLength]
			if n > 1 {
				want = kernel.NumberedSlug(want, n)
			}
			c := must(w.Components().Create(w.ctx, w.ws, "acme",
				resource.Component.From(statuspage.Component{Name: name})))(w)
			g := must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: name})))(w)
			m := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: name, Interval: time.Hour, PageSlug: "acme",
			})))(w)
			for kind, got := range map[string]string{"component": c.Slug, "group": g.Slug, "monitor": m.Slug} {
				if got != want {
					w.Errorf("%s %d has the slug %s, want %s", kind, n, got, want)
				}
			}
		}
	})
}

// TestMonitorsWithOneNameAtOnce checks that monitors without a slug get different slugs, although several replicas look
// for a free one concurrently.
func TestMonitorsWithOneNameAtOnce(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		replicas := []*store.Store{w.Store, w.replica(), w.replica(), w.replica()}
		errs := make([]error, 24)
		var creations []func()
		for i := range errs {
			creations = append(creations, func() {
				_, errs[i] = replicas[i%len(replicas)].CreateMonitor(w.ctx, w.ws,
					monitor.MonitorOf(monitor.MonitorConfig{Name: "Twin", Interval: time.Minute}))
			})
		}
		together(creations...)
		w.ok(errors.Join(errs...))
	})
}

// TestOneOfManyTakesASlug renames monitors to one slug concurrently: the error of all but one is about the slug.
func TestOneOfManyTakesASlug(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		replicas := []*store.Store{w.Store, w.replica()}
		errs := make([]error, 8)
		var changes []func()
		for i := range errs {
			m := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: "Job", Interval: time.Minute,
			})))(w)
			changes = append(changes, func() {
				_, errs[i] = replicas[i%len(replicas)].ChangeMonitor(w.ctx, w.ws, m.ID,
					func(c *monitor.MonitorConfig) error {
						c.Slug = "task"
						return nil
					})
			})
		}
		together(changes...)
		done := 0
		for _, err := range errs {
			var bad *kernel.ValidationError
			if err == nil {
				done++
			} else if !errors.As(err, &bad) || !bad.Has("slug") {
				w.Error(err)
			}
		}
		if done != 1 {
			w.Errorf("%d of %d took the slug", done, len(errs))
		}
	})
}
