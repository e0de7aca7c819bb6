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
	"github.com/allswell/allswell/internal/store"
)

// alerted subscribes a webhook that asks for warnings.
func (w *world) alerted(target string, components ...string) audience.Subscriber {
	w.Helper()
	return must(w.CreateSubscriber(w.ctx, w.ws, "acme", audience.NewSubscriber{
		Channel: audience.ChannelWebhook, Target: target, Components: components, Warnings: true}, nil))(w)
}

// ran lets the job of the world's monitor run, and succeed after a time.
func (w *world) ran(took time.Duration) {
	w.Helper()
	w.send(start(""))
	w.clock.move(took)
	w.send(success(""))
	w.clock.move(time.Second)
}

// warningEvents returns the kinds of all events of warnings. The events of one monitor are in the order in which
// webhooks get them.
func (w *world) warningEvents() []string {
	w.Helper()
	return w.rows(`SELECT kind FROM events WHERE warning_id IS NOT NULL ORDER BY monitor_id, page_version, ordinal`)
}

const (
	shortRun = 10 * time.Second
	longRun  = 2 * time.Minute
	begun    = ": " + string(statuspage.EventMonitorWarning)
	ended    = ": " + string(statuspage.EventMonitorWarningEnded)
)

// warningEventTests are what happens to warnings. Each begins with the world's monitor, which warns of runs of less
// than a minute, and with the webhook https://example.com/all that asks for warnings.
var warningEventTests = map[string]func(w *world){
	"once, until it has ended": func(w *world) {
		version := w.value(`SELECT version FROM pages`)
		w.ran(shortRun)
		w.expect("committed with the warning",
			w.rows(`SELECT e.kind FROM events e JOIN warnings v ON v.id = e.warning_id AND v.warned_at = e.created_at`),
			"monitor.warning")
		w.ran(shortRun)
		w.ok(w.Close())
		w.Store = w.replica() // after a restart
		w.ran(shortRun)
		w.expect("one warning", w.deliver(taken), "https://example.com/all"+begun)
		w.ran(longRun)
		w.ran(longRun)
		w.expect("its end", w.deliver(taken), "https://example.com/all"+ended)
		w.ran(shortRun)
		w.expect("another warning", w.deliver(taken), "https://example.com/all"+begun)
		if got := w.value(`SELECT version FROM pages`); got != version {
			w.Errorf("warnings changed the page: version %s, before %s", got, version)
		}
	},
	"what the event says": func(w *world) {
		w.send(start(aRun))
		w.clock.move(shortRun)
		w.send(success(aRun))
		warned := w.clock.now()
		w.clock.move(time.Hour)
		w.ran(longRun)
		stored, _, err := w.Warnings(w.ctx, w.ws, w.monitor.ID, store.WarningFilter{}, 10)
		w.ok(err)
		events := must(w.Events(w.ctx))(w)
		if len(events) != 2 || len(stored) != 1 {
			w.Fatalf("%d events of %d warnings", len(events), len(stored))
		}
		for i, kind := range []statuspage.EventKind{
			statuspage.EventMonitorWarning, statuspage.EventMonitorWarningEnded,
		} {
			e, want := events[i], audience.WarningData{
				MonitorName: "nightly", MonitorSlug: w.monitor.Slug, Condition: monitor.ConditionMinRuntime,
				Message: "A run succeeded after 10 seconds, in less than 1 minute.", RunID: aRun, WarnedAt: warned,
			}
			if i == 1 {
				want.EndedAt = stored[0].EndedAt
			}
			if e.Kind != kind || e.WarningID != stored[0].ID || e.MonitorID != w.monitor.ID ||
				*e.Data.Warning != want || e.ComponentID != "" || e.OutageID != "" {
				w.Errorf("event: %+v\n%+v, want %+v", e, *e.Data.Warning, want)
			}
		}
	},
	"only operators' webhooks that ask for warnings, of their components": func(w *world) {
		other := w.anotherComponent("Other")
		w.alerted("https://example.com/mine", w.component.ID)
		w.alerted("https://example.com/other", other.ID)
		w.subscribe("https://example.com/plain")
		w.subscribe("a@example.com")
		w.ok(w.signUp("acme", audience.NewSubscriber{
			Channel: audience.ChannelWebhook, Target: "https://visitor.example.com/", Warnings: true,
		}))
		must(w.ConfirmSubscription(w.ctx, "acme",
			w.value(`SELECT key FROM subscribers WHERE NOT added_by_operator`)))(w)
		if got := w.value(`SELECT count(*) FROM subscribers WHERE warnings AND NOT added_by_operator`); got != "0" {
			w.Error("a visitor asks for warnings")
		}
		w.run(`UPDATE subscribers SET warnings = TRUE WHERE NOT added_by_operator`) // not even then
		w.deliver(taken)
		w.clock.move(time.Second)
		w.ran(shortRun)
		w.expect("a warning", w.deliver(taken), "https://example.com/all"+begun, "https://example.com/mine"+begun)
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = other.ID
			return nil
		}))(w)
		w.ran(longRun)
		w.expect("who was notified of the beginning is notified of the end", w.deliver(taken),
			"https://example.com/all"+ended, "https://example.com/mine"+ended)
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.ComponentID = ""
			return nil
		}))(w)
		w.ran(shortRun)
		w.expect("without a component", w.deliver(taken), "https://example.com/all"+begun)
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = ""
			c.ComponentID = ""
			return nil
		}))(w)
		w.ran(longRun)
		w.ran(shortRun)
		w.expect("without a page", w.deliver(taken), "https://example.com/all"+ended)
	},
	"the end of a condition, of the job and of the monitor": func(w *world) {
		for _, end := range []func(){
			func() { w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = 0 }, 0) },
			func() {
				must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
					c.Enable(false)
					return nil
				}))(w)
			},
			func() { w.ok(w.DeleteMonitor(w.ctx, w.ws, w.monitor.ID)) },
		} {
			must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
				c.Enable(true)
				c.MinRuntime = time.Minute
				return nil
			}))(w)
			w.ran(shortRun)
			w.expect("a warning", w.deliver(taken), "https://example.com/all"+begun)
			end()
			w.expect("its end", w.deliver(taken), "https://example.com/all"+ended)
		}
	},
	"the mails about the monitor do not wait": func(w *world) {
		w.subscribe("a@example.com")
		w.clock.move(time.Second)
		for range 10 {
			w.ran(shortRun)
			w.ran(longRun)
		}
		w.fanOut()
		w.send(signalOf(monitor.SignalFail, ""))
		w.clock.move(audience.DigestWait)
		var mails []string
		for _, line := range w.deliver(taken) {
			if strings.HasPrefix(line, "a@") {
				mails = append(mails, line)
			}
		}
		w.expect("at once", mails, "a@example.com: incident.created")
	},
	"in the order in which they happen": func(w *world) {
		for range 3 {
			w.ran(shortRun)
			// a new version of the page
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"}, statuspage.IncidentUpdate{},
				nil))(w)
			w.ran(longRun)
		}
		w.fanOut()
		for range 3 {
			for _, want := range []string{begun, ended} {
				claimed, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{
					Channel: audience.ChannelWebhook, Limit: 100,
				})
				w.ok(err)
				var got []string
				var results []store.DeliveryResult
				for _, c := range claimed {
					if e := must(w.Notifications(w.ctx, claimed))(w)[c.ID].Events[0]; e.WarningID != "" {
						got = append(got, ": "+string(e.Kind))
					}
					results = append(results, store.DeliveryResult{ClaimedDelivery: c, Outcome: taken})
				}
				w.expect("one at a time", got, want)
				w.ok(w.SaveDeliveryResults(w.ctx, results))
			}
		}
	},
	"the log of deliveries": func(w *world) {
		w.ran(shortRun)
		w.fanOut()
		entries, _, err := w.Deliveries(w.ctx, w.ws, "acme", store.DeliveryFilter{}, firstHundred)
		w.ok(err)
		if len(entries) != 1 || entries[0].Kind != statuspage.EventMonitorWarning ||
			entries[0].MonitorID != w.monitor.ID || entries[0].Title != "nightly" {
			w.Errorf("deliveries: %+v", entries)
		}
	},
}

func TestWarningEvents(t *testing.T) {
	t.Parallel()
	for name, f := range warningEventTests {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.pinged()
				w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, 0)
				w.alerted("https://example.com/all")
				w.clock.move(time.Second)
				f(w)
				w.consistent()
			})
		})
	}
}

// TestNoWarningEvents: if no webhook of the page asks for warnings, none are written for it.
func TestNoWarningEvents(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, 0)
		sub := w.subscribe("https://example.com/hook")
		w.ran(shortRun)
		w.expect("nobody asks", w.warningEvents())
		must(w.ChangeSubscriber(w.ctx, w.ws, "acme", sub.ID, kernel.Precondition{}, askForWarnings(true)))(w)
		w.ran(longRun)
		w.expect("the end of a warning without its beginning", w.warningEvents())
		w.ran(shortRun)
		w.expect("it asks now", w.warningEvents(), "monitor.warning")
		must(w.ChangeSubscriber(w.ctx, w.ws, "acme", sub.ID, kernel.Precondition{}, askForWarnings(false)))(w)
		w.ran(longRun)
		w.ran(shortRun)
		w.expect("nobody asks any more", w.warningEvents(), "monitor.warning")
	})
}

// TestSubscribersThatAskForWarnings: webhooks of operators, at any time, and nobody else.
func TestSubscribersThatAskForWarnings(t *testing.T) {
	inWorlds(t, func(w *world) {
		_, err := w.CreateSubscriber(w.ctx, w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "a@example.com", Warnings: true}, nil)
		w.refused(err, "warnings")
		mail := w.subscribe("a@example.com")
		w.ok(w.signUp("acme", audience.NewSubscriber{
			Channel: audience.ChannelWebhook, Target: "https://visitor.example.com/",
		}))
		on, off := askForWarnings(true), askForWarnings(false)
		for _, id := range []string{mail.ID, w.value(`SELECT id FROM subscribers WHERE NOT added_by_operator`)} {
			_, err := w.ChangeSubscriber(w.ctx, w.ws, "acme", id, kernel.Precondition{}, on)
			w.refused(err, "warnings")
			must(w.ChangeSubscriber(w.ctx, w.ws, "acme", id, kernel.Precondition{}, off))(w)
		}
		hook := w.subscribe("https://example.com/hook")
		w.clock.move(time.Second)
		for range 2 { // again: nothing changes
			changed := must(w.ChangeSubscriber(w.ctx, w.ws, "acme", hook.ID, kernel.Precondition{}, on))(w)
			got := must(w.Subscriber(w.ctx, w.ws, "acme", hook.ID))(w)
			if !got.Warnings || !changed.Warnings || !got.UpdatedAt.Equal(w.clock.now()) {
				w.Errorf("subscriber that asks for warnings: %+v", got)
			}
		}
		w.clock.move(time.Second)
		must(w.ChangeSubscriber(w.ctx, w.ws, "acme", hook.ID, kernel.Precondition{}, off))(w)
		got := w.rows(`SELECT old_fields, new_fields FROM audit_entries WHERE object_kind = 'subscriber'
			AND action = 'update' ORDER BY id`)
		want := []string{
			`{"warnings":false}|{"warnings":true}`, `{"warnings":true}|{"warnings":false}`,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			w.Errorf("audited %q, want %q", got, want)
		}
	})
}
