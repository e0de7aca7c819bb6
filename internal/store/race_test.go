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
		ping := func(name string, tokens []string) {
			for chunk := range slices.Chunk(tokens, 40) {
				got, err := replicas[name].RecordPings(w.ctx, chunk, store.LivenessRecord{Replica: name},
					store.PingOrigins{})
				if err != nil || slices.Contains(got, store.PingFailed) || slices.Contains(got, store.PingUnknown) {
					w.Errorf("ping at %s: %v, %v", name, got, err)
				}
			}
		}
		ping("a", slices.Concat(alive, dead))
		var sum sync.Map
		total := func() (counted, down int) {
			sum.Range(func(_, v any) bool {
				counted += v.(store.TickReport).Overdue
				down += v.(store.TickReport).Down
				return true
			})
			return
		}
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
				func() { ping("a", shuffled(alive)) }, func() { ping("b", shuffled(alive)) })
		}
		if counted, down := total(); counted != 3*len(dead) || down != len(dead) {
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
		together(func() { ping("a", shuffled(dead)) }, func() { ping("b", shuffled(dead)) })
		if got := w.rows(
			`SELECT count(*) FROM incident_updates GROUP BY incident_id HAVING count(*) <> 2`,
		); len(got) > 0 {
			w.Errorf("timelines after the recovery: %v", got)
		}
		if got := w.value(`SELECT count(*) FROM incidents WHERE NOT resolved`); got != "0" {
			w.Errorf("%s incidents are left open", got)
		}
	})
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
		var tokens []string
		for _, m := range r.monitors {
			if rand.IntN(20) == 0 {
				tokens = append(tokens, m.Token)
			}
		}
		var got []store.PingResult
		record := store.LivenessRecord{Replica: name}
		if rand.IntN(12) == 0 {
			record.Rejected = tokensOf(r.monitors[:2])
		}
		got, err = s.RecordPings(r.ctx, tokens, record, store.PingOrigins{})
		if slices.Contains(got, store.PingFailed) {
			r.Errorf("ping: %v", got)
		}
	case 3, 4:
		verb = "a status set by hand"
		_, err = s.Components().Change(r.ctx, r.ws, "acme", component, setStatus(status), kernel.Precondition{})
	case 5:
		verb = "update"
		id := pick(r.incidents)
		var u statuspage.IncidentUpdate
		if u, err = s.PostUpdate(r.ctx, r.ws, id, statuspage.IncidentUpdate{Message: "more"}, nil); err == nil {
			r.mu.Lock()
			if key := fmt.Sprint(id, u.Number); r.seen[key] {
				r.Errorf("number %d of %s was given twice", u.Number, id)
			} else {
				r.seen[key] = true
			}
			r.mu.Unlock()
		}
	case 6:
		verb = "incident change"
		resolved := rand.IntN(2) == 0
		_, err = s.ChangeIncident(r.ctx, r.ws, pick(r.incidents), func(i *statuspage.Incident) error {
			i.SetResolved(resolved)
			return nil
		}, statuspage.IncidentUpdate{}, "")
	case 7:
		verb = "disable, enable"
		_, err = s.ChangeMonitor(r.ctx, r.ws, m.ID, func(c *monitor.MonitorConfig) error {
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
		var g statuspage.Group
		if g, err = s.Groups().Create(
			r.ctx, r.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"}),
		); err == nil {
			_, err = s.Components().Change(r.ctx, r.ws, "", component, func(c *statuspage.Component) error {
				c.GroupID = g.ID
				return nil
			}, kernel.Precondition{})
		}
		if err == nil {
			err = s.Groups().Delete(r.ctx, r.ws, "", g.ID, kernel.Precondition{})
		}
	}
	r.fine(verb, err)
}

// TestDeletingAgainstEverything deletes objects while other methods change them.
func TestDeletingAgainstEverything(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		other := w.replica()
		gone := func(verb string, err error) {
			var invalid *kernel.ValidationError
			if err != nil && !errors.Is(err, kernel.ErrNotFound) && !errors.As(err, &invalid) {
				w.Errorf("%s: %v", verb, err)
			}
		}
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
				func() { gone("delete page", w.DeletePage(w.ctx, w.ws, slug)) },
				func() {
					gone("delete component", w.Components().Delete(w.ctx, w.ws, slug, c.ID, kernel.Precondition{}))
				},
				func() { gone("delete monitor", w.DeleteMonitor(w.ctx, w.ws, monitors[0].ID)) },
				func() { gone("delete incident", w.DeleteIncident(w.ctx, w.ws, i.ID)) },
			}[round%4]
			together(deletion,
				func() {
					_, err := other.RecordPings(w.ctx, tokensOf(monitors), store.LivenessRecord{Replica: "b"},
						store.PingOrigins{})
					gone("ping", err)
				},
				func() { _, err := other.Tick(w.ctx, w.clock.now(), "b", 0); gone("tick", err) },
				func() {
					_, err := other.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "more"}, nil)
					gone("update", err)
				},
				func() {
					_, err := other.Components().Change(w.ctx, w.ws, slug, c.ID, setStatus(kernel.StatusDegraded),
						kernel.Precondition{})
					gone("a status set by hand", err)
				},
				func() {
					_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
						Name: "late", Interval: time.Minute, PageSlug: slug, ComponentID: c.ID,
					}))
					gone("create monitor", err)
				},
				func() {
					_, err := w.ChangeMonitor(w.ctx, w.ws, monitors[1].ID, func(c *monitor.MonitorConfig) error {
						c.ComponentID = ""
						return nil
					})
					gone("change monitor", err)
				})
			w.consistent()
		}
	})
}

// TestReplicasCheck lets three replicas in two locations claim the same checks, and record their results, while people
// change the monitors. Each due time is claimed once, and the failures of one location are confirmed by the other.
func TestReplicasCheck(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=20", func(w *world) {
		locations := map[string]string{"a": "here", "b": "here", "c": "there"}
		replicas := make(map[string]*store.Store)
		for name, location := range locations {
			replicas[name] = storetest.Open(w.T, w.dsn, store.Options{Clock: w.clock.now, Location: location})
		}
		var monitors []monitor.Monitor
		broken := make(map[string]bool)
		for i := range 60 {
			m := w.newCheck(fmt.Sprintf("target %d", i), func(n *monitor.MonitorConfig) {
				n.FailureThreshold, n.Check.ConfirmFrom = 1, 2
			})
			monitors, broken[m.ID] = append(monitors, m), i%3 == 0
		}
		var mu sync.Mutex
		claims := make(map[string]int)
		for range 8 {
			w.clock.move(21 * time.Second)
			for name, s := range replicas {
				w.ok(s.RecordLiveness(w.ctx, store.LivenessRecord{Replica: name}))
			}
			w.run(`DELETE FROM listening_gaps`)
			check := func(name string) func() {
				return func() {
					for range 6 {
						claimed, _, err := replicas[name].ClaimChecks(w.ctx, store.CheckClaim{
							Replica: name, Location: locations[name], Limit: 17,
						})
						if err != nil {
							w.Errorf("claiming at %s: %v", name, err)
						}
						var results []monitor.CheckResult
						for _, c := range claimed {
							status := monitor.CheckOK
							if broken[c.MonitorID] || name == "c" { // c reaches nothing
								status = monitor.CheckFailed
							}
							r := w.resultOf(c, status)
							r.Replica, r.Location = name, locations[name]
							results = append(results, r)
							mu.Lock()
							claims[fmt.Sprint(c.MonitorID, c.DueAt.UnixMilli(), c.Version, locations[name])]++
							mu.Unlock()
						}
						if err := replicas[name].RecordCheckResults(w.ctx, results); err != nil {
							w.Errorf("recording at %s: %v", name, err)
						}
					}
				}
			}
			together(check("a"), check("b"), check("c"), func() {
				for range 5 {
					m := monitors[rand.IntN(len(monitors))]
					_, err := w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
						c.Check.RecoveryThreshold = 1 + rand.IntN(3)
						return nil
					})
					if err != nil {
						w.Error(err)
					}
				}
			})
		}
		for claim, n := range claims {
			if n > 1 {
				w.Errorf("%s was claimed %d times", claim, n)
			}
		}
		for _, m := range monitors {
			if got := w.monitorNow(m); (got.State == monitor.MonitorDown) != broken[m.ID] {
				w.Errorf("%s is %s: %+v", m.Name, got.State, got.CheckState)
			}
		}
		if got := w.value(`SELECT count(*) FROM outages`); got != "20" {
			w.Errorf("%s outages, want 20", got)
		}
	})
}
