package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/go-cmp/cmp"
)

func (w *world) opened(title string, state statuspage.IncidentState, at time.Time) statuspage.Incident {
	w.Helper()
	w.clock.set(at)
	return must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: title, State: state},
		statuspage.IncidentUpdate{Message: "First."}, nil))(w)
}

func titles(incidents []statuspage.Incident) (out []string) {
	for _, i := range incidents {
		out = append(out, i.Title)
	}
	slices.Sort(out)
	return out
}

// TestPageShowsWhatItShould loads a page whose incidents lie around the edges of
// what it shows.
func TestPageShowsWhatItShould(t *testing.T) {
	inWorlds(t, func(w *world) {
		today := statuspage.Midnight(began, time.UTC)
		edge := today.AddDate(0, 0, 1-statuspage.PastDays)
		w.opened("old and open", statuspage.IncidentMonitoring, today.AddDate(-1, 0, 0))
		w.opened("just too old", statuspage.IncidentResolved, edge.Add(-time.Millisecond))
		w.opened("oldest shown", statuspage.IncidentResolved, edge)
		i := w.opened("open", "", began)
		w.clock.set(began.Add(time.Hour))
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Second."}, nil))(w)
		g := must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"})))(w)
		must(w.Components().Change(w.ctx, w.ws, "", w.component.ID, func(c *statuspage.Component) error {
			c.GroupID = g.ID
			return nil
		}, kernel.Precondition{}))(w)
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		must(w.CreateIncident(w.ctx, w.ws, "other", statuspage.Incident{Title: "of another page"},
			statuspage.IncidentUpdate{}, nil))(w)

		p := must(w.LoadPage(w.ctx, "acme"))(w)
		if want := []string{"old and open", "oldest shown", "open"}; !slices.Equal(titles(p.Incidents), want) {
			w.Errorf("incidents %v, want %v", titles(p.Incidents), want)
		}
		for _, i := range p.Incidents {
			want := []string{"First."}
			if i.Title == "open" {
				want = append(want, "Second.")
			}
			var got []string
			for _, u := range i.Updates {
				got = append(got, u.Message)
			}
			if !slices.Equal(got, want) {
				w.Errorf("%s: updates %v, want %v", i.Title, got, want)
			}
		}
		if len(p.Groups) != 1 || len(p.Components) != 1 || p.Components[0].GroupID != g.ID ||
			!p.AsOf.Equal(w.clock.now()) {
			w.Errorf("contents: %+v", p)
		}
		if _, err := w.LoadPage(w.ctx, "nowhere"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a page that is not: %v", err)
		}
		if _, err := w.LoadPage(w.ctx, "ACME"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a slug in capitals: %v", err)
		}
	})
}

func TestMonthAndIncident(t *testing.T) {
	inWorlds(t, func(w *world) {
		march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		w.opened("february", statuspage.IncidentResolved, march.Add(-time.Millisecond))
		first := w.opened("first", "", march)
		w.opened("last", statuspage.IncidentResolved, march.AddDate(0, 1, 0).Add(-time.Millisecond))
		w.opened("april", statuspage.IncidentResolved, march.AddDate(0, 1, 0))
		found := must(w.LoadMonth(w.ctx, "acme", 2026, time.March))(w).Incidents
		got := titles(found)
		if !slices.Equal(got, []string{"first", "last"}) || found[0].Title != "last" || len(found[0].Updates) != 1 {
			w.Errorf("march: %v, newest first: %+v", got, found)
		}
		p, err := w.LoadIncident(w.ctx, "acme", first.ID, 0)
		if err != nil || len(p.Incidents) != 1 {
			w.Fatalf("incident: %+v, %v", p, err)
		}
		if i := p.Incidents[0]; p.Page.Slug != "acme" || i.Title != "first" || len(i.Updates) != 1 {
			w.Errorf("incident: %+v", i)
		}
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		for _, at := range [][2]string{{"other", first.ID}, {"nowhere", first.ID}, {"acme", "nothing"}, {"acme", ""}} {
			if _, err := w.LoadIncident(w.ctx, at[0], at[1], 0); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("incident at %v: %v", at, err)
			}
		}
		if _, err := w.LoadMonth(w.ctx, "nowhere", 2026, time.March); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a page that is not: %v", err)
		}
	})
}

// TestPageChangeIsSignalledBeforeTheVerbReturns, once per page and commit, and a new
// version is there when it is.
func TestPageChangeIsSignalledBeforeTheVerbReturns(t *testing.T) {
	inWorlds(t, func(w *world) {
		var changed []string
		var version int64
		w.OnPageChange(func(id string) {
			changed = append(changed, id)
			for _, p := range must(w.PublicPages(w.ctx))(w) {
				if p.ID == id {
					version = p.Version
				}
			}
		})
		expectChanged := func(what string, want ...string) {
			w.Helper()
			if !slices.Equal(changed, want) {
				w.Errorf("%s: changed %v, want %v", what, changed, want)
			}
			changed = nil
		}
		job := w.quick("job", w.component, "")
		second := w.quick("second", w.component, "")
		expectChanged("monitors")
		w.pinged(job, second)
		w.pass(time.Minute)
		expectChanged("pings and idle ticks")
		before := version
		w.pass(time.Minute)
		expectChanged("two outages of one tick", w.page.ID)
		if version <= before {
			w.Errorf("version %d after %d", version, before)
		}
		w.pinged(job)
		expectChanged("a recovery", w.page.ID)
		w.say(kernel.StatusDegraded)
		expectChanged("a status set by hand", w.page.ID)
		p := must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		expectChanged("a page made", p.ID)
		must(w.ChangePage(w.ctx, w.ws, "other", resource.Page.From(statuspage.Page{Slug: "another"})))(w)
		expectChanged("a page renamed", p.ID)
		w.ok(w.DeletePage(w.ctx, w.ws, "another"))
		expectChanged("a page deleted", p.ID)
		if failed, err := w.failAt(2, func() error {
			_, err := w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "x"},
				statuspage.IncidentUpdate{}, nil)
			return err
		}); failed == "" || err == nil {
			w.Fatal("nothing failed")
		}
		expectChanged("a verb that failed")
	})
}

func TestLists(t *testing.T) {
	inWorlds(t, func(w *world) {
		for i := range 5 {
			w.clock.move(time.Millisecond)
			must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
				Name: fmt.Sprint(i), Order: -i - 1,
			})))(w)
			w.quick(fmt.Sprint(i), statuspage.Component{}, "")
			w.opened(fmt.Sprint(i), map[bool]statuspage.IncidentState{true: statuspage.IncidentResolved}[i%2 == 0],
				w.clock.now())
			must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{
				Name: fmt.Sprint(i), Order: 7,
			})))(w)
			must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{
				Name: fmt.Sprint(i), Slug: fmt.Sprint("p", i),
			})))(w)
		}
		last := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "last"})))(w)
		if last.Order != 1 {
			w.Errorf("a component without an order has %d, want it behind all", last.Order)
		}
		w.lists(func(r store.Pagination) ([]string, int, error) {
			list, total, err := w.Components().List(w.ctx, w.ws, "acme", store.Filter{}, r)
			return each(list, func(c statuspage.Component) string { return c.Name }), total, err
		}, "4", "3", "2", "1", "0", "Backups", "last")
		w.lists(func(r store.Pagination) ([]string, int, error) {
			list, total, err := w.Monitors(w.ctx, w.ws, store.MonitorFilter{}, r)
			return each(list, func(m monitor.Monitor) string { return m.Name }), total, err
		}, "nightly", "0", "1", "2", "3", "4")
		w.lists(func(r store.Pagination) ([]string, int, error) {
			list, total, err := w.Incidents(w.ctx, w.ws, "acme", store.IncidentFilter{}, r)
			return each(list, func(i statuspage.Incident) string { return i.Title }), total, err
		}, "4", "3", "2", "1", "0")
		w.lists(func(r store.Pagination) ([]string, int, error) {
			list, total, err := w.Incidents(w.ctx, w.ws, "acme", store.IncidentFilter{Resolved: new(true)}, r)
			return each(list, func(i statuspage.Incident) string { return i.Title }), total, err
		}, "4", "2", "0")
		w.lists(func(r store.Pagination) ([]string, int, error) {
			list, total, err := w.Groups().List(w.ctx, w.ws, "acme", store.Filter{}, r)
			return each(list, func(g statuspage.Group) string { return g.Name }), total, err
		}, "0", "1", "2", "3", "4")
		w.lists(func(r store.Pagination) ([]string, int, error) {
			list, total, err := w.Pages(w.ctx, w.ws, store.Filter{}, r)
			return each(list, func(p statuspage.Page) string { return p.Slug }), total, err
		}, "acme", "p0", "p1", "p2", "p3", "p4")
		i := w.incidents()[0]
		for range 4 {
			must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "more"}, nil))(w)
		}
		w.lists(func(r store.Pagination) ([]string, int, error) {
			list, total, err := w.Updates(w.ctx, w.ws, i.ID, r)
			return each(list, func(u statuspage.IncidentUpdate) string { return fmt.Sprint(u.Number) }), total, err
		}, "1", "2", "3", "4", "5")
	})
}

// lists reads a list in pages of two, and compares it.
func (w *world) lists(list func(r store.Pagination) ([]string, int, error), want ...string) {
	w.Helper()
	var got []string
	for page := 1; ; page++ {
		part, total, err := list(store.Pagination{Page: page, PerPage: 2})
		w.ok(err)
		if total != len(want) || len(part) > 2 {
			w.Errorf("page %d: %v of %d, want %d in all", page, part, total, len(want))
		}
		if len(part) == 0 {
			break
		}
		got = append(got, part...)
	}
	if !slices.Equal(got, want) {
		w.Errorf("listed %v, want %v", got, want)
	}
}

func each[T any](list []T, f func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func TestPageStatusIsTheRollup(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("job", w.component, kernel.StatusPartialOutage)
		must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
			Name: "c", Baseline: kernel.StatusUnknown,
		})))(w)
		for _, want := range []kernel.Status{kernel.StatusOperational, kernel.StatusPartialOutage} {
			list, _, err := w.Pages(w.ctx, w.ws, store.Filter{}, firstHundred)
			w.ok(err)
			if one := must(w.Page(w.ctx, w.ws, "acme"))(w); one.Status != want || list[0].Status != want {
				w.Errorf("status %s, in the list %s, want %s", one.Status, list[0].Status, want)
			}
			if want == kernel.StatusOperational {
				w.goDown(job)
			}
		}
	})
}

// TestNothingMovesUpdatedAtButAChange makes changes that change nothing.
func TestNothingMovesUpdatedAtButAChange(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := w.opened("x", "", began)
		g := must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"})))(w)
		w.clock.move(time.Hour)
		same := map[string][2]time.Time{
			"incident": {i.UpdatedAt, w.change(i, func(i *statuspage.Incident) error {
				i.Title = "x"
				i.SetImpact(kernel.ImpactNone)
				i.State = statuspage.IncidentInvestigating
				i.SetResolved(false)
				return nil
			}).UpdatedAt},
			"component": {w.component.UpdatedAt,
				must(w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusOperational),
					kernel.Precondition{}))(w).UpdatedAt},
			"component, edited": {w.component.UpdatedAt,
				must(w.Components().Change(w.ctx, w.ws, "", w.component.ID, func(c *statuspage.Component) error {
					c.Name = "Backups"
					return nil
				}, kernel.Precondition{}))(w).UpdatedAt},
			"page": {w.page.UpdatedAt,
				must(w.ChangePage(w.ctx, w.ws, "acme",
					resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"})))(w).UpdatedAt},
			"group": {g.UpdatedAt, must(w.Groups().Change(w.ctx, w.ws, "", g.ID, func(g *statuspage.Group) error {
				g.Name = "g"
				return nil
			}, kernel.Precondition{}))(w).UpdatedAt},
			"monitor": {w.monitor.UpdatedAt,
				must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
					c.PageSlug = "acme"
					c.Name = "nightly"
					c.ComponentID = w.component.ID
					c.Enable(true)
					c.Reschedule(5*time.Minute, schedule.Cron{})
					return nil
				}))(w).UpdatedAt},
		}
		for what, at := range same {
			if !at[0].Equal(at[1]) {
				w.Errorf("%s: updated_at moved from %v to %v", what, at[0], at[1])
			}
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "more"}, nil))(w)
		if got := w.incident().UpdatedAt; !got.Equal(w.clock.now()) {
			w.Errorf("an update left updated_at at %v", got)
		}
	})
}

// TestWhatIsWrittenIsRead: each verb's answer is what a later reader gets.
func TestWhatIsWrittenIsRead(t *testing.T) {
	inWorlds(t, func(w *world) {
		name := "größe 🚦 <b>&\"'\\ " + string(rune(0x10fffd))
		odd := name + string(rune(0x10ffff)) + " \u200f\n\ttab"
		p := must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{
			Name: name, Slug: "odd", Description: &odd,
		})))(w)
		g := must(w.Groups().Create(w.ctx, w.ws, "odd", resource.Group.From(statuspage.Group{Name: name})))(w)
		c := must(w.Components().Create(w.ctx, w.ws, "odd", resource.Component.From(statuspage.Component{
			Name: name, Description: &odd, GroupID: g.ID, Baseline: kernel.StatusDegradedPerformance,
		})))(w)
		i := must(w.CreateIncident(w.ctx, w.ws, "odd",
			statuspage.Incident{Title: odd, Impact: kernel.ImpactMajor, State: statuspage.IncidentResolved},
			statuspage.IncidentUpdate{Message: odd}, nil))(w)
		m := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: name, PageSlug: "odd", ComponentID: c.ID, Interval: monitor.MaxInterval,
			FailureThreshold: monitor.MaxFailureThreshold, DownStatus: kernel.StatusDegraded,
		})))(w)
		read := must(w.Page(w.ctx, w.ws, "odd"))(w)
		p.Version, p.Status = read.Version, read.Status
		for what, diff := range map[string]string{
			"page":      cmp.Diff(p, read),
			"component": cmp.Diff(c, must(w.Components().Get(w.ctx, w.ws, "odd", c.ID))(w)),
			"incident":  cmp.Diff(i, must(w.Incident(w.ctx, w.ws, i.ID))(w)),
			"monitor":   cmp.Diff(m, w.monitorNow(m)),
			"group":     cmp.Diff(g, must(w.LoadPage(w.ctx, "odd"))(w).Groups[0]),
		} {
			if diff != "" {
				w.Errorf("%s (-answered +read):\n%s", what, diff)
			}
		}
		w.pinged(m)
		if got, want := w.monitorNow(m).NextCheckAt, began.Add(monitor.MaxInterval); !got.Equal(want) {
			w.Errorf("a year's interval is due at %v, want %v", got, want)
		}
	})
}
