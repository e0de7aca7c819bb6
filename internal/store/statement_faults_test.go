package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

var errFault = errors.New("a fault of the test's")

// faultTests are verbs whose every statement is made to fail once. job is a
// quick monitor of the world's component.
var faultTests = map[string]struct {
	prepare  func(w *world, job monitor.Monitor)
	act      func(w *world, job monitor.Monitor) error
	complete func(w *world, job monitor.Monitor) // what holds when all of it happened
}{
	"going down": {
		prepare: func(w *world, job monitor.Monitor) {
			w.pinged(job)
			w.pass(2*time.Minute - store.LivenessInterval)
			w.clock.move(store.LivenessInterval)
			w.recordLiveness()
		},
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.Tick(w.ctx, w.clock.now(), "a", 0)
			return err
		},
		complete: func(w *world, job monitor.Monitor) { w.isDown(job) },
	},
	"coming back by a ping": {
		prepare:  func(w *world, job monitor.Monitor) { w.goDown(job) },
		act:      (*world).tryPing,
		complete: func(w *world, job monitor.Monitor) { w.isBack(job, "The job is reporting again") },
	},
	"coming back by being disabled": {
		prepare: func(w *world, job monitor.Monitor) { w.goDown(job) },
		act: func(w *world, job monitor.Monitor) error {
			_, err := w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
				c.Enable(false)
				return nil
			})
			return err
		},
		complete: func(w *world, job monitor.Monitor) { w.isBack(job, "The monitor was disabled") },
	},
	"coming back by being deleted": {
		prepare: func(w *world, job monitor.Monitor) { w.goDown(job) },
		act:     func(w *world, job monitor.Monitor) error { return w.DeleteMonitor(w.ctx, w.ws, job.ID) },
		complete: func(w *world, job monitor.Monitor) {
			if _, err := w.Monitor(w.ctx, w.ws, job.ID); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("the deleted monitor: %v", err)
			}
			w.isBack(monitor.Monitor{}, "The monitor was deleted")
		},
	},
	"a new component while down": {
		prepare: func(w *world, job monitor.Monitor) { w.goDown(job) },
		act: func(w *world, job monitor.Monitor) error {
			_, err := w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
				c.ComponentID = ""
				return nil
			})
			return err
		},
		complete: func(w *world, _ monitor.Monitor) { w.shows(kernel.StatusOperational) },
	},
	"a status set by hand during an outage": {
		prepare: func(w *world, job monitor.Monitor) { w.goDown(job) },
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusDegraded),
				kernel.Precondition{})
			return err
		},
		complete: func(w *world, _ monitor.Monitor) { w.shows(kernel.StatusDegraded) },
	},
	"a run that is too short, with a warning": {
		prepare: func(w *world, job monitor.Monitor) {
			must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
				c.MinRuntime = time.Minute
				return nil
			}))(w)
			w.alerted("https://example.com/hook")
			w.send(store.NewSignal{Token: job.Token, Kind: monitor.SignalStart})
			w.clock.move(time.Second)
		},
		act: func(w *world, job monitor.Monitor) error {
			got, err := w.RecordSignals(w.ctx, []store.NewSignal{{Token: job.Token, Kind: monitor.SignalSuccess}})
			if err == nil && got[0] != store.PingRecorded {
				err = fmt.Errorf("result %v", got[0])
			}
			return err
		},
		complete: func(w *world, _ monitor.Monitor) {
			w.expect("the event", w.warningEvents(), "monitor.warning")
			if got := w.value(`SELECT count(*) FROM warnings`); got != "1" {
				w.Errorf("%s warnings", got)
			}
		},
	},
	"a check that fails": {
		prepare: func(w *world, _ monitor.Monitor) {
			w.newCheck("shop", func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
			w.claimChecks("a", "")
		},
		act: func(w *world, _ monitor.Monitor) error {
			return w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(w.claimedFirst(), monitor.CheckFailed)})
		},
		complete: func(w *world, _ monitor.Monitor) {
			w.shows(kernel.StatusPartialOutage)
			if i := w.incident(); i.Title != "shop is down" {
				w.Errorf("incident: %+v", i)
			}
		},
	},
	"a check that succeeds again": {
		prepare: func(w *world, _ monitor.Monitor) {
			w.newCheck("shop", func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
			w.claimChecks("a", "")
			w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(w.claimedFirst(), monitor.CheckFailed)}))
		},
		act: func(w *world, _ monitor.Monitor) error {
			return w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(w.claimedFirst(), monitor.CheckOK)})
		},
		complete: func(w *world, _ monitor.Monitor) { w.shows(kernel.StatusOperational) },
	},
	"a slow check": {
		prepare: func(w *world, _ monitor.Monitor) {
			w.newCheck("shop", func(n *monitor.MonitorConfig) { n.FailureThreshold = 1 })
			w.claimChecks("a", "")
		},
		act: func(w *world, _ monitor.Monitor) error {
			return w.RecordCheckResults(w.ctx, []monitor.CheckResult{w.resultOf(w.claimedFirst(), monitor.CheckSlow)})
		},
		complete: func(w *world, _ monitor.Monitor) { w.shows(kernel.StatusDegraded) },
	},
	"claiming a check": {
		prepare: func(w *world, _ monitor.Monitor) { w.newCheck("shop") },
		act: func(w *world, _ monitor.Monitor) error {
			_, _, err := w.ClaimChecks(w.ctx, store.CheckClaim{Replica: "a", Limit: 10})
			return err
		},
		complete: func(w *world, _ monitor.Monitor) {
			if got := w.claimChecks("b", ""); len(got) != 0 {
				w.Errorf("claimed again: %+v", got)
			}
		},
	},
	"creating a check": {
		prepare: func(*world, monitor.Monitor) {},
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{Type: "http", Name: "shop"}))
			return err
		},
		complete: func(w *world, _ monitor.Monitor) {
			if got := w.claimChecks("a", ""); len(got) != 1 {
				w.Errorf("%d checks are due", len(got))
			}
		},
	},
	"creating an incident": {
		prepare: func(*world, monitor.Monitor) {},
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"},
				statuspage.IncidentUpdate{Message: "We look."}, nil)
			return err
		},
		complete: func(w *world, _ monitor.Monitor) {
			if i := w.incident(); i.Title != "Slow" || len(i.Updates) != 1 || len(w.newEvents()) != 1 {
				w.Errorf("incident: %+v", i)
			}
		},
	},
	"posting an update, with its answer": {
		prepare: func(w *world, _ monitor.Monitor) {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
				nil))(w)
		},
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.PostUpdate(w.ctx, w.ws, w.incident().ID, statuspage.IncidentUpdate{Message: "Found it."}, nil,
				saveID(w.answerKey("k")))
			return err
		},
		complete: func(w *world, _ monitor.Monitor) {
			if _, ok, err := w.FindResponse(w.ctx, w.answerKey("k")); !ok || err != nil {
				w.Errorf("the answer: %t, %v", ok, err)
			}
			if i := w.incident(); len(i.Updates) != 1 || len(w.newEvents()) != 2 {
				w.Errorf("incident: %+v", i)
			}
		},
	},
	"resolving an incident": {
		prepare: func(w *world, _ monitor.Monitor) {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
				nil))(w)
		},
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.ChangeIncident(w.ctx, w.ws, w.incident().ID, func(i *statuspage.Incident) error {
				i.State = statuspage.IncidentResolved
				i.SetResolved(true)
				return nil
			}, statuspage.IncidentUpdate{}, "")
			return err
		},
		complete: func(w *world, _ monitor.Monitor) {
			if i := w.incident(); !i.Resolved || len(w.newEvents()) != 2 {
				w.Errorf("incident: %+v", i)
			}
		},
	},
	"the fan-out": {
		prepare: func(w *world, _ monitor.Monitor) { w.causeTwoEvents() },
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.FanOut(w.ctx)
			return err
		},
		complete: func(w *world, _ monitor.Monitor) { w.deliveriesAre("pending 4") },
	},
	"a claim": {
		prepare: func(w *world, _ monitor.Monitor) {
			w.causeTwoEvents()
			w.fanOut()
		},
		act: func(w *world, _ monitor.Monitor) error {
			_, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{Channel: audience.ChannelEmail, Limit: 10})
			return err
		},
		complete: func(w *world, _ monitor.Monitor) { w.deliveriesAre("pending 2", "sending 1", "superseded 1") },
	},
	"a settlement": {
		prepare: func(w *world, _ monitor.Monitor) {
			w.causeTwoEvents()
			w.fanOut()
			w.claim()
		},
		act: func(w *world, _ monitor.Monitor) error {
			var all []store.DeliveryResult
			for _, id := range w.rows(`SELECT id FROM deliveries WHERE state = 'sending' ORDER BY channel`) {
				all = append(all, store.DeliveryResult{
					ClaimedDelivery: store.ClaimedDelivery{ID: id, FencingToken: 1}, Outcome: taken,
				})
			}
			all[0].Outcome = audience.SendOutcome{Result: audience.SendRejected, Reason: "No."}
			return w.SaveDeliveryResults(w.ctx, all)
		},
		complete: func(w *world, _ monitor.Monitor) {
			w.deliveriesAre("dead 1", "pending 1", "sent 1", "superseded 1")
			if got := w.value(`SELECT sum(rejections) FROM subscribers`); got != "1" {
				w.Errorf("%s refusals", got)
			}
		},
	},
	"a maintenance's beginning": {
		prepare: func(w *world, job monitor.Monitor) {
			w.pinged(job)
			w.plan("Disks", time.Minute, time.Hour)
			w.clock.move(time.Minute)
		},
		act: (*world).tryAdvance,
		complete: func(w *world, job monitor.Monitor) {
			w.shows(kernel.StatusMaintenance)
			w.suppressedFor(job, 59*time.Minute)
			w.expect("events", w.maintenanceEvents(), "scheduled Disks scheduled",
				"begun Disks in_progress: The maintenance has begun.")
		},
	},
	"a maintenance's end": {
		prepare: func(w *world, job monitor.Monitor) {
			w.pinged(job)
			m := w.plan("Disks", 0, time.Hour)
			w.clock.move(30 * time.Minute)
			w.alter(m, func(m *statuspage.Maintenance) error {
				m.ScheduledUntil = w.clock.now().Add(time.Hour)
				return nil
			})
			w.clock.move(time.Hour)
		},
		act: (*world).tryAdvance,
		complete: func(w *world, job monitor.Monitor) {
			w.shows(kernel.StatusOperational)
			w.suppressedFor(job, 0)
			got := w.maintenanceEvents()
			if len(got) != 4 || got[3] != "ended Disks completed: The maintenance is complete." {
				w.Errorf("events: %q", got)
			}
		},
	},
	"other components of a maintenance, and its end": {
		prepare: func(w *world, job monitor.Monitor) {
			w.plan("Disks", 0, time.Hour)
			w.clock.move(time.Minute)
		},
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.ChangeMaintenance(w.ctx, w.ws, w.value(`SELECT id FROM maintenances`),
				func(m *statuspage.Maintenance) error {
					m.Components, m.State = statuspage.ComponentRefs(), statuspage.MaintenanceCompleted
					return nil
				}, "")
			return err
		},
		complete: func(w *world, job monitor.Monitor) {
			w.shows(kernel.StatusOperational)
			w.suppressedFor(job, 0)
		},
	},
	"an incident of a component": {
		prepare: func(*world, monitor.Monitor) {},
		act: func(w *world, _ monitor.Monitor) error {
			_, err := w.CreateIncident(w.ctx, w.ws, "acme",
				statuspage.Incident{
					Title: "Slow",
					Affected: []statuspage.AffectedComponent{
						{ComponentID: w.component.ID, Status: kernel.StatusDegraded},
					},
				},
				statuspage.IncidentUpdate{Message: "We look."}, nil)
			return err
		},
		complete: func(w *world, _ monitor.Monitor) { w.shows(kernel.StatusDegraded) },
	},
	"deleting the page": {
		prepare: func(w *world, job monitor.Monitor) { w.goDown(job) },
		act:     func(w *world, _ monitor.Monitor) error { return w.DeletePage(w.ctx, w.ws, "acme") },
		complete: func(w *world, _ monitor.Monitor) {
			if got := w.value(`SELECT count(*) FROM monitors`); got != "0" {
				w.Errorf("%s monitors are left", got)
			}
		},
	},
}

// causeTwoEvents creates two events of one incident, with a subscriber by mail and one by webhook.
func (w *world) causeTwoEvents() {
	w.Helper()
	w.subscribe("a@example.com")
	w.subscribe("https://example.com/hook")
	w.clock.move(time.Second)
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))(w)
}

// deliveriesAre compares how many deliveries are in each state.
func (w *world) deliveriesAre(want ...string) {
	w.Helper()
	var got []string
	for state, n := range w.states() {
		got = append(got, fmt.Sprint(state, " ", n))
	}
	w.expect("the deliveries", got, want...)
}

func (w *world) tryPing(m monitor.Monitor) error {
	got, err := w.RecordPings(w.ctx, []string{m.Token}, store.LivenessRecord{Replica: "a"}, store.PingOrigins{})
	if err == nil && got[0] != store.PingRecorded {
		err = fmt.Errorf("result %v", got[0])
	}
	return err
}

// tryAdvance does what is due by the clock.
func (w *world) tryAdvance(monitor.Monitor) error {
	_, err := w.AdvanceMaintenances(w.ctx)
	return err
}

func (w *world) isDown(job monitor.Monitor) {
	w.Helper()
	if m := w.monitorNow(job); m.State != monitor.MonitorDown || m.ConsecutiveFailures != 1 {
		w.Errorf("not quite down: %+v", m)
	}
	w.shows(kernel.StatusMajorOutage)
	if i := w.incident(); i.Resolved || len(i.Updates) != 1 || i.OutageID == "" {
		w.Errorf("incident: %+v", i)
	}
	if n := len(w.newEvents()); n != 2 {
		w.Errorf("%d events, want 2", n)
	}
}

func (w *world) isBack(job monitor.Monitor, because string) {
	w.Helper()
	if job.ID != "" {
		if m := w.monitorNow(job); m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 {
			w.Errorf("not quite back: %+v", m)
		}
	}
	w.shows(kernel.StatusOperational)
	if i := w.incident(); !i.Resolved || len(i.Updates) != 2 || !strings.HasPrefix(i.Updates[1].Message, because) {
		w.Errorf("incident: %+v", i)
	}
	if n := len(w.newEvents()); n != 4 {
		w.Errorf("%d events, want 4", n)
	}
}

// answerKey is an idempotency key of the first token.
func (w *world) answerKey(key string) store.IdempotencyKey {
	w.Helper()
	return store.IdempotencyKey{TokenID: w.value(`SELECT min(id) FROM tokens`), Key: key, RequestHash: []byte("hash")}
}

// failAt runs act with its n-th question to the fault failing, and returns
// what failed; "" if there were fewer.
func (w *world) failAt(n int, act func() error) (failed string, err error) {
	asked := 0
	w.SetFault(func(when, query string) error {
		if asked++; asked-1 == n {
			failed = when + " " + query
			return errFault
		}
		return nil
	})
	defer w.SetFault(nil)
	return failed, act()
}

// TestNothingIsHalfDone fails every statement of a verb, before and after it
// took effect, and the commit.
func TestNothingIsHalfDone(t *testing.T) {
	t.Parallel()
	for name, tt := range faultTests {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				job := w.quick("job", w.component, "")
				tt.prepare(w, job)
				act := func() error { return tt.act(w, job) }
				dump := func() string {
					if name != "coming back by a ping" {
						return w.dump()
					}
					// The batch goes on without the ping that failed, with its locks taken. The page's lock is a new
					// version.
					w.run(`UPDATE pages SET version = 1000`)
					w.run(`UPDATE page_changes SET changes = 1000`)
					return w.dump()
				}
				before := dump()
				n := 0
				for ; ; n++ {
					failed, err := w.failAt(n, act)
					if failed == "" || err == nil {
						w.Fatalf("fault %d (%s): %v; want the commit's to be the last, and each to be an error", n,
							failed, err)
					}
					if failed == "after COMMIT" {
						break
					}
					if dump() != before {
						w.Fatalf("half done after a fault %s", failed)
					}
				}
				if n < 4 {
					t.Errorf("only %d faults", n)
				}
				tt.complete(w, job)
			})
		})
		t.Run(name+", again after faults", func(t *testing.T) {
			inWorlds(t, func(w *world) {
				job := w.quick("job", w.component, "")
				tt.prepare(w, job)
				for _, n := range []int{0, 3} {
					if failed, err := w.failAt(n, func() error { return tt.act(w, job) }); failed == "" || err == nil {
						w.Fatalf("fault %d (%s): %v", n, failed, err)
					}
				}
				w.ok(tt.act(w, job))
				tt.complete(w, job)
			})
		})
	}
}

// TestUnknownOutcomeOfATickIsSafe runs a tick again whose commit succeeded
// without anybody learning of it, and the ping likewise.
func TestUnknownOutcomeOfATickIsSafe(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("job", w.component, "")
		going := faultTests["going down"]
		going.prepare(w, job)
		afterCommit := func(act func() error) {
			w.Helper()
			w.SetFault(func(when, query string) error {
				if when+query == "afterCOMMIT" {
					return errFault
				}
				return nil
			})
			if err := act(); !errors.Is(err, errFault) {
				w.Errorf("error %v", err)
			}
			w.SetFault(nil)
			w.ok(act())
		}
		afterCommit(func() error { return going.act(w, job) })
		w.isDown(job)
		w.eventsSeen = 0
		afterCommit(func() error { return w.tryPing(job) })
		w.isBack(job, "The job is reporting again")
	})
}

// TestFailedRecoveryTakesItsVersionBack: of two monitors whose incidents are on
// a page that is no longer theirs, the first one's recovery fails.
func TestFailedRecoveryTakesItsVersionBack(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		bad := w.quick("bad", statuspage.Component{}, "")
		w.clock.move(time.Millisecond)
		good := w.quick("good", statuspage.Component{}, "")
		w.goDown(bad, good)
		for _, m := range []monitor.Monitor{bad, good} {
			must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
				c.PageSlug = "other"
				return nil
			}))(w)
		}
		failed := false
		w.SetFault(func(when, query string) error {
			if !failed && strings.HasPrefix(query, "INSERT INTO incident_updates") {
				failed = true
				return errFault
			}
			return nil
		})
		if got := w.ping(bad.Token, good.Token); got[0] != store.PingFailed || got[1] != store.PingRecorded {
			w.Errorf("results %v", got)
		}
		w.SetFault(nil)
		w.consistent()
		w.pinged(bad)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Next"}, statuspage.IncidentUpdate{},
			nil))(w)
	})
}
