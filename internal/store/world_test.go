package store_test

import (
	"cmp"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// clock is a virtual clock that several stores may share.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.set(began)
	return c
}

func (c *clock) now() time.Time        { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) set(t time.Time)       { c.ms.Store(t.UnixMilli()) }
func (c *clock) move(by time.Duration) { c.ms.Add(by.Milliseconds()) }

// world is a store on virtual time with a page, a component and a monitor.
type world struct {
	*testing.T
	*store.Store
	ctx        context.Context
	dsn        string
	clock      *clock
	ws         kernel.Actor
	page       statuspage.Page
	component  statuspage.Component
	monitor    monitor.Monitor
	eventsSeen int      // events that newEvents has returned
	tables     []string // names, for dump
}

// began is the virtual time at which every world begins: a nominal instant.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// inWorlds runs f once per engine, in parallel with other tests, and then checks that the tables are consistent.
func inWorlds(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Parallel() // a test that is not parallel would wait for the slower engine
	storetest.EachParallel(t, func(t *testing.T, dsn string) { inWorld(t, dsn, "", f) })
}

// inWorldsAlone is inWorlds before all parallel tests, for tests with transactions so long that, beside others on a
// busy machine, they would reach their timeout.
func inWorldsAlone(t *testing.T, f func(w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, dsn string) { inWorld(t, dsn, "", f) })
}

// onPostgres is inWorlds on PostgreSQL only, for tests with several replicas. parameters are
// appended to the database's address.
func onPostgres(t *testing.T, parameters string, f func(w *world)) {
	t.Helper()
	t.Parallel()
	inWorld(t, storetest.PostgreSQL(t), parameters, f)
}

func inWorld(t *testing.T, dsn, parameters string, f func(w *world)) {
	t.Helper()
	w := newWorld(t, dsn, parameters)
	f(w)
	if !t.Failed() {
		w.consistent()
	}
}

// inInvalidWorlds is inWorlds for tests that write states which are not consistent.
func inInvalidWorlds(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Parallel()
	storetest.EachParallel(t, func(t *testing.T, dsn string) { f(newWorld(t, dsn, "")) })
}

func newWorld(t *testing.T, dsn, parameters string) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn + parameters}
	w.Store = w.replica()
	w.ws, _ = storetest.Workspace(t, w.Store, "default")
	w.page = must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"})))(t)
	w.component = must(w.Components().Create(w.ctx, w.ws, "acme",
		resource.Component.From(statuspage.Component{Name: "Backups"})))(t)
	w.monitor = must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "nightly", Interval: 5 * time.Minute, PageSlug: "acme", ComponentID: w.component.ID})))(t)
	return w
}

// replica opens another store on the world's database and clock.
func (w *world) replica() *store.Store {
	w.Helper()
	return storetest.Open(w.T, w.dsn, store.Options{
		Clock: w.clock.now, Hosts: statuspage.NewHosts("status.allswell.example", "alias.allswell.example"),
	})
}

// must returns the value, or ends the test if there was an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// until polls a query until it returns want.
func (w *world) until(want, query string) {
	w.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); w.value(query) != want; <-tick.C {
		if time.Now().After(deadline) {
			w.Fatalf("never %s: %s", want, query)
		}
	}
}

// rounds returns how often a random test repeats: n times on SQLite, which tests the rules, and a quarter of that on
// PostgreSQL, which tests the statements.
func (w *world) rounds(n int) int {
	if isSQLite(w.Store) {
		return n
	}
	return n / 4
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pass lets time pass as in a running service, with a liveness record every five seconds and a tick every minute. Every
// tick follows a liveness record. The first record and the records before ticks are real; for the records between,
// which change nothing else, only the time is set.
func (w *world) pass(d time.Duration) {
	w.Helper()
	const step = store.LivenessInterval
	ceil := func(t time.Time) time.Time { return t.Add(step - 1).Truncate(step) }
	end := ceil(w.clock.now().Add(d))
	next := w.clock.now().Truncate(step).Add(step)
	for first := true; !next.After(end); first = false {
		if !first {
			next = earlier(next.Add(-step).Truncate(time.Minute).Add(time.Minute), end)
			if before := next.Add(-step); before.After(w.clock.now()) {
				w.run(`UPDATE liveness SET seen_at = $1, backlog_ms = 0 WHERE replica = 'a'`, before.UnixMilli())
			}
		}
		w.clock.set(next)
		w.recordLiveness()
		if next.Truncate(time.Minute).Equal(next) {
			w.tick()
		}
		next = next.Add(step)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// absent lets time pass while the service is stopped, and then starts it.
func (w *world) absent(d time.Duration) {
	w.Helper()
	w.clock.move(d)
	w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a", First: true}))
}

func (w *world) recordLiveness() {
	w.Helper()
	w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a"}))
}

func (w *world) tick() store.TickReport {
	w.Helper()
	return must(w.Tick(w.ctx, w.clock.now().Truncate(time.Minute), "a", 0))(w)
}

func (w *world) ping(tokens ...string) []store.PingResult {
	w.Helper()
	return must(w.RecordPings(w.ctx, tokens, store.LivenessRecord{Replica: "a"}, store.PingOrigins{}))(w)
}

// pinged pings monitors, or the world's own if none are given. The pings must be recorded.
func (w *world) pinged(monitors ...monitor.Monitor) {
	w.Helper()
	if len(monitors) == 0 {
		monitors = []monitor.Monitor{w.monitor}
	}
	for _, m := range monitors {
		if got := w.ping(m.Token); got[0] != store.PingRecorded {
			w.Fatalf("ping of %s: %v, want recorded", m.Name, got)
		}
	}
}

// quick creates a monitor with an interval of a minute that goes down at the first tick that
// finds a ping missing. down is its down status; "": StatusMajorOutage.
func (w *world) quick(name string, component statuspage.Component, down kernel.Status) monitor.Monitor {
	w.Helper()
	return must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: name, Interval: time.Minute, PageSlug: "acme", ComponentID: component.ID, FailureThreshold: 1,
		DownStatus: cmp.Or(down, kernel.StatusMajorOutage)})))(w)
}

// goDown pings monitors made by quick and lets time pass until they are down.
func (w *world) goDown(monitors ...monitor.Monitor) {
	w.Helper()
	w.pinged(monitors...)
	w.pass(2 * time.Minute)
	for _, m := range monitors {
		if got := w.monitorNow(m); got.State != monitor.MonitorDown {
			w.Fatalf("%s is not down: %+v", m.Name, got)
		}
	}
}

func (w *world) monitorNow(m monitor.Monitor) monitor.Monitor {
	w.Helper()
	return must(w.Monitor(w.ctx, w.ws, m.ID))(w)
}

func (w *world) now() monitor.Monitor { w.Helper(); return w.monitorNow(w.monitor) }

// shows fails the test unless the component has this effective status, also on the public
// page.
func (w *world) shows(want kernel.Status, c ...statuspage.Component) {
	w.Helper()
	of := append(c, w.component)[0]
	if got := must(w.Components().Get(w.ctx, w.ws, "acme", of.ID))(w).Status(); got != want {
		w.Errorf("%s shows %s, want %s", of.Name, got, want)
	}
	for _, shown := range must(w.LoadPage(w.ctx, "acme"))(w).Components {
		if shown.ID == of.ID && shown.Status() != want {
			w.Errorf("the page shows %s for %s, want %s", shown.Status(), of.Name, want)
		}
	}
}

// say sets the status of the world's component, as a PATCH does.
func (w *world) say(status kernel.Status) {
	w.Helper()
	c := must(w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(status), kernel.Precondition{}))(w)
	if c.Status() != status {
		w.Errorf("the answer to a human's %s shows %s", status, c.Status())
	}
	w.shows(status)
}

// incidents returns the page's incidents, newest first, with their updates.
func (w *world) incidents() []statuspage.Incident {
	w.Helper()
	found, _, err := w.Incidents(w.ctx, w.ws, "acme", store.IncidentFilter{}, store.Pagination{Page: 1, PerPage: 100})
	w.ok(err)
	for i := range found {
		found[i] = must(w.Incident(w.ctx, w.ws, found[i].ID))(w)
	}
	return found
}

// incident returns the only incident.
func (w *world) incident() statuspage.Incident {
	w.Helper()
	all := w.incidents()
	if len(all) != 1 {
		w.Fatalf("%d incidents, want 1: %+v", len(all), all)
	}
	return all[0]
}

// affecting is the change after which an incident affects some components.
func affecting(components ...statuspage.AffectedComponent) statuspage.IncidentChange {
	return func(i *statuspage.Incident) error { i.Affected = components; return nil }
}

// change changes an incident, and adds an update if one is given.
func (w *world) change(
	i statuspage.Incident, change statuspage.IncidentChange, update ...statuspage.IncidentUpdate,
) statuspage.Incident {
	w.Helper()
	return must(w.ChangeIncident(w.ctx, w.ws, i.ID, change, append(update, statuspage.IncidentUpdate{})[0], ""))(w)
}

func TestOutageAndRecovery(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pass(10 * time.Minute)
		if m := w.now(); m.State != monitor.MonitorUp || !m.NextCheckAt.IsZero() || len(w.incidents()) != 0 {
			w.Fatalf("a monitor that was never pinged raised something: %+v", m)
		}
		w.pinged()
		heard := w.clock.now()
		if m := w.now(); !m.LastPingAt.Equal(heard) || !m.NextCheckAt.Equal(heard.Add(5*time.Minute)) {
			w.Fatalf("after the ping: %+v", m)
		}
		w.pass(5 * time.Minute)
		if m := w.now(); m.ConsecutiveFailures != 0 {
			w.Fatalf("counted at the deadline itself: %+v", m)
		}
		w.pass(2 * time.Minute)
		if m := w.now(); m.State != monitor.MonitorUp || m.ConsecutiveFailures != 2 {
			w.Fatalf("after two overdue checks: %+v", m)
		}
		w.shows(kernel.StatusOperational)
		w.pass(time.Minute)
		if m := w.now(); m.State != monitor.MonitorDown || m.ConsecutiveFailures != 3 {
			w.Fatalf("after three overdue checks: %+v", m)
		}
		w.shows(kernel.StatusMajorOutage)
		i := w.incident()
		if i.Title != "nightly is down" || i.Impact != kernel.ImpactCritical ||
			i.State != statuspage.IncidentInvestigating || len(i.Updates) != 1 || i.Resolved {
			w.Fatalf("incident: %+v", i)
		}
		w.pass(10 * time.Minute)
		w.incident() // and no other
		w.pinged()
		if m := w.now(); m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 {
			w.Fatalf("after the recovery: %+v", m)
		}
		w.shows(kernel.StatusOperational)
		i = w.incident()
		if !i.Resolved || i.State != statuspage.IncidentResolved ||
			!i.ResolvedAt.Equal(w.clock.now()) || len(i.Updates) != 2 {
			w.Fatalf("incident: %+v", i)
		}
		w.expectEvents(
			"Backups: operational > major_outage (outage)",
			"created: nightly is down, critical, investigating (outage): No ping has arrived since 1 March 2026, "+
				"12:10:00 UTC. The expected interval is 5 minutes.",
			"Backups: major_outage > operational (outage)",
			"resolved: nightly is down, critical, resolved (outage): The job is reporting again after 18 minutes.",
		)
	})
}

// setStatus sets the status of a component by hand.
func setStatus(status kernel.Status) field.Change[statuspage.Component] {
	return func(c *statuspage.Component) error {
		c.SetStatus(status)
		return nil
	}
}
