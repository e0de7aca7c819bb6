package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// interrupt runs f once: before or after the next statement of the world's store that
// contains statement. "COMMIT" is one, and after it no transaction is open.
func (w *world) interrupt(when, statement string, f func()) {
	var done atomic.Bool
	w.SetFault(func(at, text string) error {
		if at == when && strings.Contains(text, statement) && done.CompareAndSwap(false, true) {
			f()
		}
		return nil
	})
	w.Cleanup(func() {
		w.SetFault(nil)
		if !done.Load() {
			w.Errorf("nothing happened %s %q", when, statement)
		}
	})
}

// meanwhile is interrupt with another replica, in the middle of a transaction. SQLite has one writer, so that f runs
// immediately.
func (w *world) meanwhile(when, statement string, f func(other *store.Store)) {
	if !w.Shared() {
		f(w.Store)
		return
	}
	other := w.replica()
	w.interrupt(when, statement, func() { f(other) })
}

// overlap runs first, and second on another replica when first is about to commit: second
// waits for the locks of first, or ends before. SQLite has one writer, so that second runs
// after first. It returns the error of second.
func (w *world) overlap(first, second func(s *store.Store) error) (err error) {
	w.Helper()
	if !w.Shared() {
		w.ok(first(w.Store))
		return second(w.Store)
	}
	other, done := w.replica(), make(chan struct{})
	w.interrupt("before", "COMMIT", func() {
		go func() {
			defer close(done)
			err = second(other)
		}()
		w.untilWaiting(done)
	})
	w.ok(first(w.Store))
	<-done
	w.SetFault(nil)
	return err
}

// untilWaiting returns when a transaction on the world's PostgreSQL database waits for the locks of another, or when
// done is closed.
func (w *world) untilWaiting(done <-chan struct{}) {
	w.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for w.value(
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
	) == "0" {
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// TestDeletionOfALargePageFollowsARename: the page is renamed after a part of it is
// deleted, and another page gets its slug.
func TestDeletionOfALargePageFollowsARename(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, 1200))
		var other statuspage.Page
		w.interrupt("after", "COMMIT", func() {
			must(w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Slug: "acme-2"})))(w)
			other = must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "acme"})))(w)
		})
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
		if got := w.rows(`SELECT id FROM pages`); len(got) != 1 || got[0] != other.ID {
			w.Errorf("pages %q are left, want %s", got, other.ID)
		}
		w.SetFault(nil)
		log := strings.Join(w.audited(), "\n")
		if !strings.Contains(
			log,
			`delete page {"auto_incidents":"publish","home":false,"name":"Acme","response_times":false,"slug":"acme-2"`,
		) {
			w.Errorf("audited\n%s", log)
		}
	})
}

// TestRenamedPageIsNotDeletedByItsFormerSlug: the page is renamed before its deletion
// locks it. Nothing is deleted, whatever the size of the page.
func TestRenamedPageIsNotDeletedByItsFormerSlug(t *testing.T) {
	t.Parallel()
	for _, subscribers := range []string{"10", "1200"} {
		t.Run(subscribers, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, must(strconv.Atoi(subscribers))(w)))
				w.meanwhile("after", "WHERE slug = $1", func(other *store.Store) {
					must(other.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Slug: "acme-2"})))(w)
				})
				if err := w.DeletePage(w.ctx, w.ws, "acme"); !errors.Is(err, kernel.ErrNotFound) {
					w.Errorf("error %v, want ErrNotFound", err)
				}
				must(w.Page(w.ctx, w.ws, "acme-2"))(w)
				if n := w.value(`SELECT count(*) FROM subscribers`); n != subscribers {
					w.Errorf("%s of %s subscribers are left", n, subscribers)
				}
			})
		})
	}
}

// changer makes changes that overlap, each with another text.
type changer struct {
	*world
	n           int
	group       statuspage.Group
	incident    statuspage.Incident
	maintenance statuspage.Maintenance
}

type namedChange struct {
	name string
	do   func(s *store.Store, as kernel.Actor) error
}

func newChanger(w *world) *changer {
	w.Helper()
	return &changer{
		world: w,
		group: must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"})))(w),
		incident: must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"},
			statuspage.IncidentUpdate{}, nil))(w),
		maintenance: must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "m", ScheduledFor: began.Add(time.Hour), ScheduledUntil: began.Add(2 * time.Hour),
		})))(w),
	}
}

// text returns a text that no change had before.
func (c *changer) text() *string { c.n++; return new(strconv.Itoa(c.n)) }

// TestAuditedBeforeIsTheLast overlaps every two changes of an object. The second is audited with what the first has
// made of the object.
func TestAuditedBeforeIsTheLast(t *testing.T) {
	inWorlds(t, func(w *world) {
		c := newChanger(w)
		for _, changes := range [][]namedChange{
			c.ofPage(), c.ofComponent(), c.ofGroup(), c.ofIncident(), c.ofMaintenance(), c.ofMonitor(),
		} {
			for _, first := range changes {
				for _, second := range changes {
					name := second.name + " over " + first.name
					err := w.overlap(func(s *store.Store) error { return first.do(s, w.from(name+" 1")) },
						func(s *store.Store) error { return second.do(s, w.from(name+" 2")) })
					if err != nil {
						w.Errorf("%s: %v", name, err)
					}
					one, two := w.entryFrom(name+" 1"), w.entryFrom(name+" 2")
					for field, was := range two.before {
						if made, ok := one.after[field]; ok && made != was {
							w.Errorf("%s: the first made %s of %s, and the second changed it from %s to %s", name, made,
								field, was, two.after[field])
						}
					}
				}
			}
		}
		w.ok(w.overlap(
			func(s *store.Store) error {
				return second(s.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Name: "Last"})))
			},
			func(s *store.Store) error { return s.DeletePage(w.ctx, w.from("deletion"), "acme") }))
		if got := w.entryFrom("deletion").before["name"]; got != `"Last"` {
			w.Errorf("the page that was deleted was called %s", got)
		}
	})
}

func (c *changer) ofPage() []namedChange {
	return []namedChange{
		{"ChangePage", func(s *store.Store, as kernel.Actor) error {
			return second(s.ChangePage(c.ctx, as, "acme", resource.Page.From(statuspage.Page{Name: *c.text()})))
		}},
		{"ChangePageAccess", func(s *store.Store, as kernel.Actor) error {
			return second(s.ChangePageAccess(c.ctx, as, "acme",
				func(a *statuspage.PageAccess, now time.Time) error {
					a.MakeLink(now)
					return nil
				}))
		}},
		{"SetPageImage", func(s *store.Store, as kernel.Actor) error {
			return second(s.SetPageImage(c.ctx, as, "acme", statuspage.PageImage{
				Kind: statuspage.ImageLogo, Type: "image/png", Name: *c.text(), Body: []byte("a"),
			}))
		}},
		{"PutPage", func(s *store.Store, as kernel.Actor) error {
			_, _, err := s.PutPage(c.ctx, as, "acme", resource.Page.From(statuspage.Page{Name: *c.text()}),
				kernel.Precondition{})
			return err
		}},
		{"DeletePageImage", func(s *store.Store, as kernel.Actor) error {
			return second(s.DeletePageImage(c.ctx, as, "acme", statuspage.ImageLogo))
		}},
	}
}

func (c *changer) ofComponent() []namedChange {
	return []namedChange{
		{"ChangeComponent", func(s *store.Store, as kernel.Actor) error {
			return second(s.Components().Change(c.ctx, as, "acme", c.component.ID,
				resource.Component.From(statuspage.Component{Baseline: kernel.StatusDegraded, Description: c.text()}),
				kernel.Precondition{}))
		}},
		{"EditComponent", func(s *store.Store, as kernel.Actor) error {
			return second(s.Components().Change(c.ctx, as, "", c.component.ID,
				resource.Component.From(statuspage.Component{Name: *c.text()}), kernel.Precondition{}))
		}},
		{"PutComponent", func(s *store.Store, as kernel.Actor) error {
			_, _, err := s.Components().Put(c.ctx, as, "acme", c.component.ID,
				resource.Component.From(statuspage.Component{Name: *c.text()}), kernel.Precondition{})
			return err
		}},
	}
}

func (c *changer) ofGroup() []namedChange {
	return []namedChange{
		{"ChangeGroup", func(s *store.Store, as kernel.Actor) error {
			return second(s.Groups().Change(c.ctx, as, "", c.group.ID,
				resource.Group.From(statuspage.Group{Name: *c.text()}), kernel.Precondition{}))
		}},
	}
}

func (c *changer) ofIncident() []namedChange {
	return []namedChange{
		{"ChangeIncident", func(s *store.Store, as kernel.Actor) error {
			title := *c.text()
			return second(s.ChangeIncident(c.ctx, as, c.incident.ID, func(i *statuspage.Incident) error {
				i.Title = title
				return nil
			}, statuspage.IncidentUpdate{}, ""))
		}},
		{"SetIncidentComponents", func(s *store.Store, as kernel.Actor) error {
			c.n++
			status := []kernel.Status{kernel.StatusDegraded, kernel.StatusMajorOutage}[c.n%2]
			return second(s.SetIncidentComponents(c.ctx, as, c.incident.ID, affecting(statuspage.AffectedComponent{
				ComponentID: c.component.ID, Status: status,
			})))
		}},
	}
}

func (c *changer) ofMaintenance() []namedChange {
	return []namedChange{
		{"ChangeMaintenance", func(s *store.Store, as kernel.Actor) error {
			return second(s.ChangeMaintenance(c.ctx, as, c.maintenance.ID,
				resource.Maintenance.From(statuspage.Maintenance{Title: *c.text()}), ""))
		}},
	}
}

func (c *changer) ofMonitor() []namedChange {
	return []namedChange{
		{"ChangeMonitor", func(s *store.Store, as kernel.Actor) error {
			return second(s.ChangeMonitor(c.ctx, as, c.monitor.ID, func(m *monitor.MonitorConfig) error {
				m.Name = *c.text()
				return nil
			}))
		}},
		{"PutMonitor", func(s *store.Store, as kernel.Actor) error {
			c.n++
			_, _, err := s.PutMonitor(c.ctx, as, c.monitor.ID,
				monitor.MonitorOf(monitor.MonitorConfig{
					Name: "m", Interval: time.Duration(c.n) * time.Minute, PageSlug: "acme",
				}),
				kernel.Precondition{})
			return err
		}},
	}
}

// from returns the world's actor at an address.
func (w *world) from(address string) kernel.Actor {
	actor := w.ws
	actor.Address = address
	return actor
}

// changedFields are the fields of an audit entry, as JSON.
type changedFields struct{ before, after map[string]string }

// entryFrom returns the changes of the only audit entry from an address, if there is one.
func (w *world) entryFrom(address string) (c changedFields) {
	w.Helper()
	entries, _, err := w.AuditLog(w.ctx, w.ws, kernel.AuditFilter{}, "", 1000)
	w.ok(err)
	for _, e := range entries {
		if e.Actor.Address != address {
			continue
		}
		if c.before != nil {
			w.Errorf("more than one entry from %s", address)
		}
		for _, part := range []struct {
			text json.RawMessage
			to   *map[string]string
		}{{e.Before, &c.before}, {e.After, &c.after}} {
			var fields map[string]json.RawMessage
			w.ok(json.Unmarshal(part.text, &fields))
			*part.to = make(map[string]string)
			for field, value := range fields {
				(*part.to)[field] = string(value)
			}
		}
	}
	return c
}

// TestPreconditionOfTheLastVersion: a precondition is checked against what an overlapping
// change has made of the object.
func TestPreconditionOfTheLastVersion(t *testing.T) {
	inWorlds(t, func(w *world) {
		page := kernel.Precondition{Tags: []string{tagOf(w.page)}}
		err := w.overlap(func(s *store.Store) error {
			return second(s.SetPageImage(w.ctx, w.ws, "acme", statuspage.PageImage{
				Kind: statuspage.ImageLogo, Type: "image/png", Name: "a", Body: []byte("a"),
			}))
		}, func(s *store.Store) error {
			return putError(s.PutPage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{Name: "Other"}), page))
		})
		if !errors.Is(err, kernel.ErrPreconditionFailed) {
			w.Errorf("page: %v", err)
		}
		component := kernel.Precondition{Tags: []string{kernel.EntityTag(resource.Component.Audited(w.component))}}
		err = w.overlap(func(s *store.Store) error {
			return second(s.Components().Change(w.ctx, w.ws, "", w.component.ID, func(c *statuspage.Component) error {
				c.Name = "Other"
				return nil
			}, kernel.Precondition{}))
		}, func(s *store.Store) error {
			return putError(s.Components().Put(w.ctx, w.ws, "acme", w.component.ID,
				resource.Component.From(statuspage.Component{Name: "Mine"}), component))
		})
		if !errors.Is(err, kernel.ErrPreconditionFailed) {
			w.Errorf("component: %v", err)
		}
		m := kernel.Precondition{Tags: []string{kernel.EntityTag(resource.Monitor.Audited(w.monitor))}}
		err = w.overlap(func(s *store.Store) error {
			return second(s.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
				c.Name = "Other"
				return nil
			}))
		}, func(s *store.Store) error {
			return putError(s.PutMonitor(w.ctx, w.ws, w.monitor.ID,
				monitor.MonitorOf(monitor.MonitorConfig{Name: "Mine", Interval: time.Hour, PageSlug: "acme"}), m))
		})
		if !errors.Is(err, kernel.ErrPreconditionFailed) {
			w.Errorf("monitor: %v", err)
		}
	})
}

// TestOrderIsTheOrderOfCommits: changes within one millisecond, changes that wait for each
// other, and a clock that goes back. The audit log is newest first, and no time of an
// object goes back.
func TestOrderIsTheOrderOfCommits(t *testing.T) {
	inWorlds(t, func(w *world) {
		incident := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "0"},
			statuspage.IncidentUpdate{Message: "0"}, nil))(w)
		const rounds = 8
		n := 0
		var updated [3*rounds + 1]time.Time // by the number in the title
		updated[0] = incident.UpdatedAt
		rename := func(s *store.Store) error {
			n++
			title := n
			i, err := s.ChangeIncident(w.ctx, w.ws, incident.ID, func(i *statuspage.Incident) error {
				i.Title = strconv.Itoa(title)
				return nil
			}, statuspage.IncidentUpdate{}, "")
			updated[title] = i.UpdatedAt
			return err
		}
		for range rounds {
			w.ok(rename(w.Store))
			w.ok(w.overlap(rename, rename))
			w.clock.move(-time.Second)
			must(w.PostUpdate(w.ctx, w.ws, incident.ID, statuspage.IncidentUpdate{Message: "more"}, nil))(w)
		}
		for i, at := range updated[1:] {
			if at.Before(updated[i]) {
				w.Errorf("change %d at %v, and the one before at %v", i+1, at, updated[i])
			}
		}
		w.clock.set(began)
		entries, _, err := w.AuditLog(w.ctx, w.ws, kernel.AuditFilter{ObjectID: incident.ID}, "", 100)
		w.ok(err)
		for i, e := range entries[:n] {
			if want := fmt.Sprintf(`{"title":"%d"}`, n-i); string(e.After) != want {
				w.Errorf("entry %d of the incident: %s, want %s", i, e.After, want)
			}
		}
		last := time.Time{}
		for _, u := range must(w.Incident(w.ctx, w.ws, incident.ID))(w).Updates {
			if u.CreatedAt.Before(last) {
				w.Errorf("an update of %v comes after one of %v", u.CreatedAt, last)
			}
			last = u.CreatedAt
		}
	})
}
