package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestFlappingIsDigested: each outage has its incident, mail reports at most
// four notices in the first hour, and then once an hour with all of them.
func TestFlappingIsDigested(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.subscribe("https://example.com/hook")
		job := w.quick("job", w.component, kernel.StatusMajorOutage)
		mails, hooks, events := 0, 0, 0
		began := w.clock.now()
		var at []time.Duration
		count := func() {
			w.clock.move(audience.DigestWait)
			for _, line := range w.deliver(taken) {
				named := strings.Count(line, "incident.")
				if strings.HasPrefix(line, "a@") {
					mails, events = mails+1, events+named
					at = append(at, w.clock.now().Sub(began))
				} else {
					hooks += named
				}
			}
		}
		for range 20 {
			w.goDown(job)
			count()
			w.clock.move(2 * time.Second)
			w.pinged(job)
			count()
			w.pass(5 * time.Minute)
		}
		w.clock.move(2 * time.Hour)
		count()
		hours := int(w.clock.now().Sub(began)/time.Hour) + 1
		if mails > 4+hours || mails < 6 {
			t.Errorf("%d mails in %d hours, at %v", mails, hours, at)
		}
		for i := 4; i < len(at); i++ {
			if at[i]-at[i-1] < 50*time.Minute {
				t.Errorf("mails at %v and %v", at[i-1], at[i])
			}
		}
	})
}

// TestManyOutagesAreOneDigest: one mail for what one tick found.
func TestManyOutagesAreOneDigest(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		var jobs []monitor.Monitor
		var tokens []string
		for i := range 10 {
			jobs = append(jobs, w.quick(fmt.Sprint("job ", i), w.component, kernel.StatusMajorOutage))
			tokens = append(tokens, jobs[i].Token)
		}
		w.goDown(jobs...)
		w.expect("not before all of them can be there", w.deliver(taken))
		w.clock.move(audience.DigestWait)
		w.expect("ten at once", w.deliver(taken),
			"a@example.com: "+strings.TrimSuffix(strings.Repeat("incident.created, ", 10), ", "))
		w.clock.move(time.Second)
		w.ping(tokens...)
		w.clock.move(audience.DigestWait)
		w.expect("ten back at once", w.deliver(taken),
			"a@example.com: "+strings.TrimSuffix(strings.Repeat("incident.resolved, ", 10), ", "))
	})
}

// TestResolutionAndItsUpdateAreOneMail: an update that follows on a resolution goes into its mail; without one the
// resolution is sent alone. Webhooks are sent immediately.
func TestResolutionAndItsUpdateAreOneMail(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.subscribe("a@example.com")
		w.subscribe("https://example.com/hook")
		open := func() string {
			i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"},
				statuspage.IncidentUpdate{}, nil))(w)
			w.deliver(taken)
			must(w.ChangeIncident(w.ctx, w.ws, i.ID, func(i *statuspage.Incident) error {
				i.State = statuspage.IncidentResolved
				i.SetResolved(true)
				return nil
			}, statuspage.IncidentUpdate{}, ""))(w)
			w.expect("resolved", w.deliver(taken), "https://example.com/hook: ")
			return i.ID
		}
		explained := open()
		w.clock.move(time.Second)
		must(w.PostUpdate(w.ctx, w.ws, explained, statuspage.IncidentUpdate{Message: "Fixed."}, nil))(w)
		w.expect("and why", w.deliver(taken), "a@example.com: , Fixed.", "https://example.com/hook: Fixed.")
		w.clock.move(audience.DigestWait)
		w.expect("nothing is left", w.deliver(taken))

		open()
		w.clock.move(audience.DigestWait)
		w.expect("without a word", w.deliver(taken), "a@example.com: ")
	})
}
