package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// together runs functions concurrently and waits for all of them.
func together(fs ...func()) {
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(f)
	}
	wg.Wait()
}

// TestTwoReplicasTickAndPing runs every tick on two replicas of one database, while both
// record pings of some of the monitors. The others are never pinged.
func TestTwoReplicasTickAndPing(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		replicas := map[string]*store.Store{"a": w.Store, "b": w.replica()}
		monitors := w.fill(120, time.Minute)
		w.run(`UPDATE monitors SET component_id = $1 WHERE id IN (SELECT id FROM monitors ORDER BY id LIMIT 40)`,
			w.component.ID)
		alive, dead := tokensOf(monitors[:32]), tokensOf(monitors[32:])
		w.pingAt(replicas["a"], "a", slices.Concat(alive, dead))
		var sum sync.Map
		for minute := 1; minute <= 5; minute++ {
			w.clock.move(time.Minute)
			for name, s := range replicas {
				w.ok(s.RecordLiveness(w.ctx, store.LivenessRecord{Replica: name}))
			}
			w.run(`DELETE FROM listening_gaps`)
			tick := func(name string) func() {
				return func() {
					for again := range 2 {
						r, err := replicas[name].Tick(w.ctx, w.clock.now(), name, 0)
						if err != nil || r.Skipped != "" {
							w.Errorf("tick at %s: %+v, %v", name, r, err)
						}
						sum.Store(fmt.Sprint(name, minute, again), r)
					}
				}
			}
			together(tick("a"), tick("b"),
				func() { w.pingAt(replicas["a"], "a", shuffled(alive)) },
				func() { w.pingAt(replicas["b"], "b", shuffled(alive)) })
		}
		if counted, down := overdueAndDown(&sum); counted != 3*len(dead) || down != len(dead) {
			w.Errorf("%d counted and %d down over both replicas, want %d and %d", counted, down, 3*len(dead), len(dead))
		}
		for text, want := range map[string]string{
			`SELECT count(*) FROM monitors WHERE state = 'down' AND consecutive_failures = 3`: "88",
			`SELECT count(*) FROM outages`:   "88",
			`SELECT count(*) FROM incidents`: "88",
			`SELECT count(*) FROM monitors WHERE state = 'up' AND consecutive_failures > 0`: "0",
		} {
			if got := w.value(text); got != want {
				w.Errorf("%s: %s, want %s", text, got, want)
			}
		}
		w.consistent()
		together(func() { w.pingAt(replicas["a"], "a", shuffled(dead)) },
			func() { w.pingAt(replicas["b"], "b", shuffled(dead)) })
		got := w.rows(`SELECT count(*) FROM incident_updates GROUP BY incident_id HAVING count(*) <> 2`)
		if len(got) > 0 {
			w.Errorf("timelines after the recovery: %v", got)
		}
		if got := w.value(`SELECT count(*) FROM incidents WHERE NOT resolved`); got != "0" {
			w.Errorf("%s incidents are left open", got)
		}
	})
}

// pingAt records pings at a replica, in batches. All must be recorded or refused, none fail.
func (w *world) pingAt(s *store.Store, name string, tokens []string) {
	for chunk := range slices.Chunk(tokens, 40) {
		got, err := s.RecordPings(w.ctx, chunk, store.LivenessRecord{Replica: name}, store.PingOrigins{})
		if err != nil || slices.Contains(got, store.PingFailed) || slices.Contains(got, store.PingUnknown) {
			w.Errorf("ping at %s: %v, %v", name, got, err)
		}
	}
}

// overdueAndDown adds what ticks have reported.
func overdueAndDown(reports *sync.Map) (overdue, down int) {
	reports.Range(func(_, v any) bool {
		overdue += v.(store.TickReport).Overdue
		down += v.(store.TickReport).Down
		return true
	})
	return
}

func shuffled(tokens []string) []string {
	out := slices.Clone(tokens)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestEveryVerbAgainstEveryOther runs random methods on the same few rows through two
// replicas, and checks that the tables are consistent afterwards.
func TestEveryVerbAgainstEveryOther(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		replicas := []*store.Store{w.Store, w.replica()}
		r := newRivals(w)
		for range 12 {
			w.clock.move(time.Minute)
			w.recordLiveness()
			w.run(`DELETE FROM listening_gaps`)
			var work []func()
			for i, s := range replicas {
				name := string(rune('a' + i))
				work = append(work, func() {
					_, err := s.Tick(w.ctx, w.clock.now(), name, 0)
					r.fine("tick", err)
				})
				for range 3 {
					work = append(work, func() {
						for range 5 {
							r.act(s, name)
						}
					})
				}
			}
			together(work...)
			w.consistent()
			if w.Failed() {
				return
			}
		}
		for _, id := range r.incidents {
			var stored int
			for _, u := range must(w.Incident(w.ctx, w.ws, id))(w).Updates {
				stored++
				delete(r.seen, fmt.Sprint(id, u.Number))
			}
			if stored == 0 {
				w.Errorf("no update was posted to %s", id)
			}
		}
		if len(r.seen) > 0 {
			w.Errorf("updates that were acknowledged and are not there: %v", r.seen)
		}
		if n := len(w.rows(`SELECT id FROM outages`)); n < 10 {
			w.Errorf("only %d outages: there was no race", n)
		}
	})
}

// newRivals creates what random methods change: components of two pages, monitors, and incidents.
func newRivals(w *world) *rivals {
	w.Helper()
	r := &rivals{world: w, seen: map[string]bool{}}
	for i := range 3 {
		r.components = append(r.components,
			must(w.Components().Create(w.ctx, w.ws, "acme",
				resource.Component.From(statuspage.Component{Name: fmt.Sprintf("c%d", i)})))(w).ID)
	}
	must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Side", Slug: "side"})))(w)
	r.components = append(r.components,
		must(w.Components().Create(w.ctx, w.ws, "side",
			resource.Component.From(statuspage.Component{Name: "side"})))(w).ID)
	for i := range 8 {
		r.monitors = append(r.monitors,
			w.quick(fmt.Sprintf("m%d", i), statuspage.Component{ID: r.components[i%3]},
				[]kernel.Status{kernel.StatusMajorOutage, kernel.StatusDegraded}[i%2]))
	}
	w.pinged(r.monitors...)
	for range 2 {
		r.incidents = append(r.incidents,
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "By hand"},
				statuspage.IncidentUpdate{}, nil))(w).ID)
	}
	return r
}

// rivals are the objects that concurrent methods change.
type rivals struct {
	*world
	components []string // the last one is of the page side
	monitors   []monitor.Monitor
	incidents  []string

	mu   sync.Mutex
	seen map[string]bool // updates acknowledged: incident and number
}

// fine reports any error: the store repeats transactions by itself when the database asks
// for it.
func (r *rivals) fine(verb string, err error) {
	if err != nil {
		r.Errorf("%s: %v", verb, err)
	}
}

func pick[T any](from []T) T { return from[rand.IntN(len(from))] }

// act runs one random method.
func (r *rivals) act(s *store.Store, name string) {
	m, component := pick(r.monitors), pick(r.components[:3])
	status := pick(kernel.Statuses)
	var verb string
	var err error
	switch rand.IntN(12) {
	case 0, 1, 2, 11:
		verb = "ping"
		err = r.pingSome(s, name)
	case 3, 4:
		verb = "a status set by hand"
		_, err = s.Components().Change(r.ctx, r.ws, "acme", component, setStatus(status), kernel.Precondition{})
	case 5:
		verb = "update"
		err = r.postUpdate(s)
	case 6:
		verb = "incident change"
		resolved := rand.IntN(2) == 0
		_, err = s.ChangeIncident(r.ctx, r.ws, pick(r.incidents), func(i *statuspage.Incident) error {
			i.SetResolved(resolved)
			return nil
		}, statuspage.IncidentUpdate{}, "")
	case 7:
		verb = "disable, enable"
		err = r.disableAndEnable(s, name, m)
	case 8:
		verb = "new component"
		_, err = s.ChangeMonitor(r.ctx, r.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = "acme"
			c.ComponentID = component
			return nil
		})
	case 9:
		verb = "another page"
		_, err = s.ChangeMonitor(r.ctx, r.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = "side"
			c.ComponentID = r.components[3]
			c.DownStatus = kernel.StatusPartialOutage
			return nil
		})
	case 10:
		verb = "group"
		err = r.groupForAWhile(s, component)
	}
	r.fine(verb, err)
}

// pingSome pings some monitors, and sometimes rejects pings of others.
func (r *rivals) pingSome(s *store.Store, name string) error {
	var tokens []string
	for _, m := range r.monitors {
		if rand.IntN(20) == 0 {
			tokens = append(tokens, m.Token)
		}
	}
	record := store.LivenessRecord{Replica: name}
	if rand.IntN(12) == 0 {
		record.Rejected = tokensOf(r.monitors[:2])
	}
	got, err := s.RecordPings(r.ctx, tokens, record, store.PingOrigins{})
	if slices.Contains(got, store.PingFailed) {
		r.Errorf("ping: %v", got)
	}
	return err
}

// postUpdate posts an update, and remembers its number.
func (r *rivals) postUpdate(s *store.Store) error {
	id := pick(r.incidents)
	u, err := s.PostUpdate(r.ctx, r.ws, id, statuspage.IncidentUpdate{Message: "more"}, nil)
	if err == nil {
		r.mu.Lock()
		if key := fmt.Sprint(id, u.Number); r.seen[key] {
			r.Errorf("number %d of %s was given twice", u.Number, id)
		} else {
			r.seen[key] = true
		}
		r.mu.Unlock()
	}
	return err
}

// groupForAWhile creates a group, moves a component into it, and deletes it.
func (r *rivals) groupForAWhile(s *store.Store, component string) error {
	g, err := s.Groups().Create(r.ctx, r.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"}))
	if err == nil {
		_, err = s.Components().Change(r.ctx, r.ws, "", component, func(c *statuspage.Component) error {
			c.GroupID = g.ID
			return nil
		}, kernel.Precondition{})
	}
	if err == nil {
		err = s.Groups().Delete(r.ctx, r.ws, "", g.ID, kernel.Precondition{})
	}
	return err
}

// disableAndEnable disables a monitor, enables it, and pings it.
func (r *rivals) disableAndEnable(s *store.Store, name string, m monitor.Monitor) error {
	_, err := s.ChangeMonitor(r.ctx, r.ws, m.ID, func(c *monitor.MonitorConfig) error {
		c.Enable(false)
		return nil
	})
	if err == nil {
		_, err = s.ChangeMonitor(r.ctx, r.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			return nil
		})
	}
	if err == nil { // a ping of another may be refused meanwhile
		_, err = s.RecordPings(r.ctx, []string{m.Token}, store.LivenessRecord{Replica: name}, store.PingOrigins{})
	}
	return err
}

// TestDeletingAgainstEverything deletes objects while other methods change them.
func TestDeletingAgainstEverything(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		other := w.replica()
		for round := range 8 {
			slug := fmt.Sprintf("page-%d", round)
			must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: slug, Slug: slug})))(w)
			c := must(w.Components().Create(w.ctx, w.ws, slug,
				resource.Component.From(statuspage.Component{Name: "c"})))(w)
			i := must(w.CreateIncident(w.ctx, w.ws, slug, statuspage.Incident{Title: "i"}, statuspage.IncidentUpdate{},
				nil))(w)
			var monitors []monitor.Monitor
			for range 3 {
				monitors = append(monitors, must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
					Name: "m", Interval: time.Minute, PageSlug: slug, ComponentID: c.ID, FailureThreshold: 1})))(w))
			}
			w.goDown(monitors[:2]...)
			w.clock.move(time.Minute)
			w.recordLiveness()
			deletion := []func(){
				func() { w.allowsGone("delete page", w.DeletePage(w.ctx, w.ws, slug)) },
				func() {
					w.allowsGone("delete component",
						w.Components().Delete(w.ctx, w.ws, slug, c.ID, kernel.Precondition{}))
				},
				func() { w.allowsGone("delete monitor", w.DeleteMonitor(w.ctx, w.ws, monitors[0].ID)) },
				func() { w.allowsGone("delete incident", w.DeleteIncident(w.ctx, w.ws, i.ID)) },
			}[round%4]
			together(deletion,
				func() {
					_, err := other.RecordPings(w.ctx, tokensOf(monitors), store.LivenessRecord{Replica: "b"},
						store.PingOrigins{})
					w.allowsGone("ping", err)
				},
				func() { _, err := other.Tick(w.ctx, w.clock.now(), "b", 0); w.allowsGone("tick", err) },
				func() {
					_, err := other.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "more"}, nil)
					w.allowsGone("update", err)
				},
				func() {
					_, err := other.Components().Change(w.ctx, w.ws, slug, c.ID, setStatus(kernel.StatusDegraded),
						kernel.Precondition{})
					w.allowsGone("a status set by hand", err)
				},
				func() {
					_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
						Name: "late", Interval: time.Minute, PageSlug: slug, ComponentID: c.ID,
					}))
					w.allowsGone("create monitor", err)
				},
				func() {
					_, err := w.ChangeMonitor(w.ctx, w.ws, monitors[1].ID, func(c *monitor.MonitorConfig) error {
						c.ComponentID = ""
						return nil
					})
					w.allowsGone("change monitor", err)
				})
			w.consistent()
		}
	})
}

// allowsGone allows the errors of changing what another method deletes or changes at the same time.
func (w *world) allowsGone(verb string, err error) {
	var invalid *kernel.ValidationError
	if err != nil && !errors.Is(err, kernel.ErrNotFound) && !errors.As(err, &invalid) {
		w.Errorf("%s: %v", verb, err)
	}
}

// checkRace is a world in which replicas check targets, some of which are broken.
type checkRace struct {
	*world
	locations map[string]string       // by replica
	replicas  map[string]*store.Store // by name
	broken    map[string]bool         // by monitor
	mu        sync.Mutex
	claims    map[string]int // by check and due time
}

// TestReplicasCheck lets three replicas in two locations claim the same checks, and record their results, while people
// change the monitors. Each due time is claimed once, and the failures of one location are confirmed by the other.
func TestReplicasCheck(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		r := &checkRace{
			world: w, locations: map[string]string{"a": "here", "b": "here", "c": "there"},
			replicas: make(map[string]*store.Store), broken: make(map[string]bool), claims: make(map[string]int),
		}
		for name, location := range r.locations {
			r.replicas[name] = storetest.Open(w.T, w.dsn, store.Options{Clock: w.clock.now, Location: location})
		}
		var monitors []monitor.Monitor
		for i := range 60 {
			m := w.newCheck(fmt.Sprintf("target %d", i), func(n *monitor.MonitorConfig) {
				n.FailureThreshold, n.Check.ConfirmFrom = 1, 2
			})
			monitors, r.broken[m.ID] = append(monitors, m), i%3 == 0
		}
		for range 8 {
			w.clock.move(21 * time.Second)
			for name, s := range r.replicas {
				w.ok(s.RecordLiveness(w.ctx, store.LivenessRecord{Replica: name}))
			}
			w.run(`DELETE FROM listening_gaps`)
			together(r.check("a"), r.check("b"), r.check("c"), func() {
				for range 5 {
					m := monitors[rand.IntN(len(monitors))]
					_, err := w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
						c.Check.RecoveryThreshold = 1 + rand.IntN(3)
						return nil
					})
					if err != nil {
						w.Errorf("changing %s: %v", m.Name, err)
					}
				}
			})
		}
		for claim, n := range r.claims {
			if n > 1 {
				w.Errorf("%s was claimed %d times", claim, n)
			}
		}
		for _, m := range monitors {
			if got := w.monitorNow(m); (got.State == monitor.MonitorDown) != r.broken[m.ID] {
				w.Errorf("%s is %s: %+v", m.Name, got.State, got.CheckState)
			}
		}
		if got := w.value(`SELECT count(*) FROM outages`); got != "20" {
			w.Errorf("%s outages, want 20", got)
		}
	})
}

// check returns what a replica does: six times, it claims checks and records their results.
func (r *checkRace) check(name string) func() {
	return func() {
		for range 6 {
			claimed, _, err := r.replicas[name].ClaimChecks(r.ctx, store.CheckClaim{
				Replica: name, Location: r.locations[name], Limit: 17,
			})
			if err != nil {
				r.Errorf("claiming at %s: %v", name, err)
			}
			var results []monitor.CheckResult
			for _, c := range claimed {
				status := monitor.CheckOK
				if r.broken[c.MonitorID] || name == "c" { // c reaches nothing
					status = monitor.CheckFailed
				}
				result := r.resultOf(c, status)
				result.Replica, result.Location = name, r.locations[name]
				results = append(results, result)
				r.mu.Lock()
				r.claims[fmt.Sprint(c.MonitorID, c.DueAt.UnixMilli(), c.Version, r.locations[name])]++
				r.mu.Unlock()
			}
			if err := r.replicas[name].RecordCheckResults(r.ctx, results); err != nil {
				r.Errorf("recording at %s: %v", name, err)
			}
		}
	}
}
