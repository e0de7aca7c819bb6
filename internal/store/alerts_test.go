package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store"
)

// channel creates a channel that takes many messages a minute.
func (w *world) channel(name string, change ...func(*alert.Channel)) alert.Channel {
	w.Helper()
	c := alert.Channel{Type: "discord", Name: name, Enabled: true, Config: json.RawMessage(`{}`), MaxPerMinute: 60}
	for _, f := range change {
		f(&c)
	}
	return must(w.AlertChannels().Create(w.ctx, w.ws, "", newChannel(c)))(w)
}

// newChannel is the change that makes a channel, which may be disabled.
func newChannel(c alert.Channel) field.Change[alert.Channel] {
	return func(to *alert.Channel) error {
		to.Enabled = c.Enabled
		return resource.Channel.From(c)(to)
	}
}

// rule creates a rule about monitors that are down.
func (w *world) rule(to alert.Target, change ...func(*alert.Rule)) alert.Rule {
	w.Helper()
	r := alert.Rule{Name: "rule", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}, Target: to}
	for _, f := range change {
		f(&r)
	}
	return must(w.AlertRules().Create(w.ctx, w.ws, "", resource.AlertRule.From(r)))(w)
}

// to is the target with channels.
func to(channels ...alert.Channel) (t alert.Target) {
	for _, c := range channels {
		t.ChannelIDs = append(t.ChannelIDs, c.ID)
	}
	return t
}

// advanceAlerts asks all rules that are due, and returns when the next one is.
func (w *world) advanceAlerts() (next time.Time) {
	w.Helper()
	for more := true; more; {
		var err error
		more, next, err = w.AdvanceAlerts(w.ctx)
		w.ok(err)
	}
	return next
}

// claimMessages claims what is to be sent now.
func (w *world) claimMessages() []store.ClaimedMessage {
	w.Helper()
	claimed, _, err := w.ClaimMessages(w.ctx, store.MessageClaim{Limit: 100})
	w.ok(err)
	return claimed
}

// passAlerts lets some time pass, and calls send with each message that is due meanwhile. Time goes by whole seconds,
// to the next one at which the store has something to do.
func (w *world) passAlerts(after time.Duration, send func(store.ClaimedMessage)) {
	w.Helper()
	for end := w.clock.now().Add(after); ; {
		due := w.advanceAlerts()
		claimed, next, err := w.ClaimMessages(w.ctx, store.MessageClaim{Limit: 100})
		w.ok(err)
		for _, m := range claimed {
			send(m)
		}
		now := w.clock.now()
		if !now.Before(end) {
			return
		}
		seconds := time.Second
		if len(claimed) == 0 { // sending may have made more due
			wake := end
			for _, at := range []time.Time{due, next} {
				if !at.IsZero() {
					wake = earlier(wake, at)
				}
			}
			seconds = max(seconds, (wake.Sub(now) + time.Second - 1).Truncate(time.Second))
		}
		w.clock.set(earlier(now.Add(seconds), end))
	}
}

// notified lets some time pass, answers all messages with an outcome, and returns for each its channel, whether it
// begins a thread, and its text.
func (w *world) notified(after time.Duration, o audience.SendOutcome) (lines []string) {
	w.Helper()
	w.passAlerts(after, func(m store.ClaimedMessage) {
		w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{
			ClaimedMessage: m, Outcome: o, Reference: "ref of " + m.ID,
		}))
		lines = append(lines, threadMark(m)+m.Channel.Name+": "+strings.ReplaceAll(m.Text(2000), "\n", " / "))
	})
	return lines
}

func threadMark(m store.ClaimedMessage) string {
	switch {
	case m.Thread == nil:
		return "- "
	case m.Thread.First:
		return "* "
	case m.Thread.Reference == "":
		return "? "
	}
	return "> "
}

// TestAlertOfOutage follows an outage and the messages to a channel of a rule.
func TestAlertOfOutage(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		w.goDown(job)
		w.expect("at once", w.notified(0, taken))
		w.expect("down", w.notified(5*time.Second, taken),
			"* phone: Nightly backup is down / No ping since 2026-03-01 12:00:00 UTC.")
		w.expect("nothing more", w.notified(time.Minute, taken))
		all, total, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{State: alert.Open}, firstHundred)
		if err != nil || total != 1 || all[0].MonitorID != job.ID || all[0].Severity != kernel.ImpactCritical {
			t.Fatalf("open alerts: %+v, %v", all, err)
		}
		d := must(w.Alert(w.ctx, w.ws, all[0].ID))(w)
		if len(d.Notices) != 1 || d.Notices[0].SentAt.IsZero() || d.Notices[0].ChannelName != "phone" ||
			d.Notices[0].RuleName != "rule" || len(d.Plans) != 0 {
			t.Errorf("open alert: %+v", d)
		}
		w.pinged(job)
		w.expect("up", w.notified(5*time.Second, taken), "> phone: Nightly backup is up again after 1 minute")
		w.expect("nothing more", w.notified(time.Minute, taken))
		all, _, err = w.Alerts(w.ctx, w.ws, store.AlertFilter{State: alert.Resolved}, firstHundred)
		if err != nil || len(all) != 1 || all[0].Title() != "Nightly backup is down" {
			t.Errorf("resolved alerts: %+v, %v", all, err)
		}
		var sent []string
		for _, m := range must(w.ChannelMessages(w.ctx, w.ws, "phone", 10))(w) {
			sent = append(sent, m.Title)
		}
		want := []string{
			"Nightly backup is up again after 1 minute", "Nightly backup is down",
		}
		if !slices.Equal(sent, want) {
			t.Errorf("last messages: %q, want %q", sent, want)
		}
	})
}

// TestManyAlertsAreOneMessage checks that what happens together is sent together, and so is its end.
func TestManyAlertsAreOneMessage(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")))
		var monitors []monitor.Monitor
		for i := range 25 {
			monitors = append(monitors, w.quick(fmt.Sprintf("job %03d", i), w.component, ""))
		}
		w.goDown(monitors...)
		lines := w.notified(10*time.Second, taken)
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "* phone: 25 monitors are down / ") ||
			!strings.HasSuffix(lines[0], " / and 5 more") || strings.Count(lines[0], " is down: ") != 20 {
			t.Fatalf("%d messages: %q", len(lines), lines)
		}
		w.pinged(monitors...)
		lines = w.notified(10*time.Second, taken)
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "> phone: 25 monitors are up again / ") {
			t.Errorf("%d messages: %q", len(lines), lines)
		}
	})
}

// TestRuleWaits checks delays, escalation, repetition and acknowledgement.
func TestRuleWaits(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		phone, boss := w.channel("phone"), w.channel("boss")
		w.rule(to(phone), func(r *alert.Rule) {
			r.Delay, r.Repeat = time.Minute, 10*time.Minute
			r.Escalation = []alert.Step{{After: 5 * time.Minute, Target: to(boss)}}
		})
		w.goDown(job)
		w.expect("before the delay", w.notified(40*time.Second, taken))
		w.pinged(job)
		w.expect("a short outage", w.notified(time.Minute, taken))

		w.goDown(job)
		w.expect("before the delay", w.notified(10*time.Second, taken))
		w.expect("after the delay", w.notified(30*time.Second, taken),
			"* phone: Nightly backup is down / No ping since 2026-03-01 12:03:40 UTC.")
		w.expect("escalated", w.notified(5*time.Minute, taken),
			"* boss: Unacknowledged for 6 minutes: Nightly backup is down / No ping since "+
				"2026-03-01 12:03:40 UTC.")
		repeated := w.notified(10*time.Minute, taken)
		if len(repeated) != 2 ||
			!strings.HasPrefix(repeated[0][2:], "boss: Nightly backup is still down after 16 minutes") &&
				!strings.HasPrefix(repeated[0][2:], "phone: ") {
			t.Errorf("repeated: %q", repeated)
		}
		all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{State: alert.Open}, firstHundred)
		w.ok(err)
		a := must(w.AcknowledgeAlert(w.ctx, w.ws, all[0].ID))(w)
		if a.State() != alert.Acknowledged || a.AcknowledgedBy != w.ws.Name {
			t.Errorf("acknowledged alert: %+v", a)
		}
		lines := w.notified(time.Hour, taken)
		if len(lines) != 2 || !strings.Contains(lines[0], "Acknowledged by ") ||
			!strings.Contains(lines[0], ": Nightly backup is down") {
			t.Errorf("acknowledged: %q", lines)
		}
		w.pinged(job)
		lines = w.notified(time.Minute, taken)
		if len(lines) != 2 || !strings.Contains(lines[0], "is up again") || !strings.Contains(lines[1], "is up again") {
			t.Errorf("up: %q", lines)
		}
	})
}

// TestHoldsAreRecorded checks why no one was notified of an alert yet, and what its rule will do.
func TestHoldsAreRecorded(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		phone, boss := w.channel("phone"), w.channel("boss")
		w.rule(to(phone), func(r *alert.Rule) {
			r.Delay, r.Repeat, r.Escalation = 10*time.Minute, time.Hour,
				[]alert.Step{{After: 5 * time.Minute, Target: to(boss)}}
		})
		w.goDown(job)
		w.advanceAlerts()
		all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{}, firstHundred)
		w.ok(err)
		began := all[0].OpenedAt
		d := must(w.Alert(w.ctx, w.ws, all[0].ID))(w)
		if len(d.Holds) != 1 || d.Holds[0].Reason != alert.HeldByDelay ||
			!d.Holds[0].Until.Equal(began.Add(10*time.Minute)) || d.Holds[0].RuleName != "rule" || d.Holds[0].Over {
			t.Errorf("holds %+v", d.Holds)
		}
		if len(d.Plans) != 1 || d.Plans[0].Held != alert.HeldByDelay || len(d.Plans[0].Steps) != 5 {
			t.Fatalf("plans %+v", d.Plans)
		}
		for i, want := range []struct {
			kind  alert.NoticeKind
			after time.Duration
			names int
		}{
			{alert.NoticeOpened, 10 * time.Minute, 1}, {alert.NoticeEscalated, 15 * time.Minute, 1},
			{alert.NoticeRepeated, 75 * time.Minute, 2},
		} {
			s := d.Plans[0].Steps[i]
			if s.Kind != want.kind || !s.At.Equal(began.Add(want.after)) || len(s.Channels) != want.names {
				t.Errorf("step %d: %+v", i, s)
			}
		}
		must(w.Silences().Create(w.ctx, w.ws, "",
			resource.Silence.From(alert.Silence{EndsAt: began.Add(time.Hour)})))(w)
		w.expect("silenced", w.notified(30*time.Minute, taken))
		d = must(w.Alert(w.ctx, w.ws, all[0].ID))(w)
		if len(d.Holds) != 2 || d.Holds[1].Reason != alert.HeldBySilence ||
			!d.Holds[1].Until.Equal(began.Add(time.Hour)) || d.Plans[0].Held != alert.HeldBySilence ||
			!d.Holds[0].Over || d.Holds[1].Over {
			t.Errorf("holds %+v, plans %+v", d.Holds, d.Plans)
		}
		w.pinged(job)
		w.expect("over before", w.notified(2*time.Hour, taken))
		if d = must(w.Alert(w.ctx, w.ws, all[0].ID))(w); !d.Holds[1].Over || !d.Holds[1].Until.Equal(d.ResolvedAt) {
			t.Errorf("after the end: holds %+v, ended %s", d.Holds, d.ResolvedAt)
		}
		l, err := w.AlertList(w.ctx, w.ws, store.AlertFilter{}, store.AlertCursor{}, 10)
		if err != nil || len(l.Lasting) != 0 || len(l.Ended) != 1 || l.Counts != (store.AlertCounts{}) {
			t.Errorf("list after the end: %+v, %v", l, err)
		}
	})
}

// TestDisabledRulePlansNothing checks that what a rule would have done next is not shown any more once it is disabled,
// and is again when it is enabled.
func TestDisabledRulePlansNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Name, r.Delay = "first", time.Hour })
		second := w.rule(to(w.channel("boss")), func(r *alert.Rule) { r.Name, r.Delay = "second", 2*time.Hour })
		w.goDown(job)
		w.advanceAlerts()
		id := must(w.AlertList(w.ctx, w.ws, store.AlertFilter{}, store.AlertCursor{}, 10))(w).Lasting[0].ID
		planned := func(what string, want ...string) {
			t.Helper()
			var rules []string
			for _, p := range must(w.Alert(w.ctx, w.ws, id))(w).Plans {
				rules = append(rules, p.RuleName)
			}
			w.expect(what, rules, want...)
			next := must(w.AlertList(w.ctx, w.ws, store.AlertFilter{}, store.AlertCursor{}, 10))(w).Lasting[0].Plan
			if (next == nil) != (len(want) == 0) || next != nil && next.RuleName != want[0] {
				t.Errorf("%s: next in the list: %+v", what, next)
			}
		}
		enable := func(name string, enabled bool) {
			must(w.AlertRules().Change(w.ctx, w.ws, "", name, func(r *alert.Rule) error {
				r.Enabled = enabled
				return nil
			}, kernel.Precondition{}))(w)
		}
		planned("both", "first", "second")
		enable("first", false)
		planned("one is disabled", "second")
		enable("first", true)
		planned("it is enabled again", "first", "second")
		w.ok(w.AlertRules().Delete(w.ctx, w.ws, "", second.ID, kernel.Precondition{}))
		planned("one is deleted", "first")
		enable("first", false)
		planned("none")
	})
}

// TestShortAlertIsTold checks that an outage which is over before the rules are asked is told if it was due before its
// end, and not if the rule waits for longer.
func TestShortAlertIsTold(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		w.rule(to(w.channel("boss")), func(r *alert.Rule) { r.Name, r.Delay = "later", 10*time.Minute })
		w.goDown(job)
		w.clock.move(time.Minute)
		w.pinged(job)
		w.expect("over", w.notified(time.Hour, taken),
			"* phone: Nightly backup was down for 1 minute. Nightly backup is up again / No ping since 2026-03-01 "+
				"12:00:00 UTC.")
	})
}

// TestFailedTestIsShown checks that the health of a channel shows a test that it did not accept, that it is not failing
// because of that, and that a message which it takes ends that.
func TestFailedTestIsShown(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone := w.channel("phone")
		w.rule(to(phone))
		w.ok(w.RecordRequestedTest(w.ctx, phone.ID, audience.SendOutcome{
			Result: audience.SendFailed, Reason: "It answered 500.",
		}))
		h := must(w.AlertChannels().Get(w.ctx, w.ws, "", phone.ID))(w).Health
		if !h.TestFailed() || h.Reason != "It answered 500." || !h.AttemptedAt.Equal(w.clock.now()) ||
			!h.FailingSince.IsZero() || h.Failures != 0 {
			w.Errorf("health after the failed test: %+v", h)
		}
		w.goDown(w.quick("Nightly backup", w.component, ""))
		if lines := w.notified(10*time.Second, taken); len(lines) != 1 {
			w.Errorf("messages after the failed test: %q", lines)
		}
		h = must(w.AlertChannels().Get(w.ctx, w.ws, "", phone.ID))(w).Health
		if h.TestFailed() || h.Reason != "" || h.AcceptedAt.IsZero() {
			w.Errorf("after a message: %+v", h)
		}
	})
}

// TestTestReleasesWhatWaits checks that a message which a failing channel did not accept is sent once it accepts a
// test, and not before.
func TestTestReleasesWhatWaits(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone := w.channel("phone")
		w.rule(to(phone))
		w.goDown(w.quick("Nightly backup", w.component, ""))
		w.notified(10*time.Second, audience.SendOutcome{
			Result: audience.SendFailed, Reason: "It answered 503.", RetryAfter: 30 * time.Minute,
		})
		if lines := w.notified(time.Second, taken); len(lines) != 0 {
			w.Errorf("a failing channel is sent %q at once", lines)
		}
		w.ok(w.RecordRequestedTest(w.ctx, phone.ID, audience.SendOutcome{Result: audience.SendAccepted}))
		if lines := w.notified(time.Second, taken); len(lines) != 1 {
			w.Errorf("after a test that it accepts, a channel is sent %q", lines)
		}
	})
}

// TestHoldsEndEarlier checks that an alert is not said to be held back any more once its silence was ended, somebody
// has acknowledged it, or its rule was disabled or deleted, and that the time of that stays the same.
func TestHoldsEndEarlier(t *testing.T) {
	for name, end := range map[string]func(w *world, alertID string, silence alert.Silence, rule alert.Rule){
		"the silence ends": func(w *world, _ string, silence alert.Silence, _ alert.Rule) {
			w.ok(w.Silences().Delete(w.ctx, w.ws, "", silence.ID, kernel.Precondition{}))
		},
		"an acknowledgement": func(w *world, alertID string, _ alert.Silence, _ alert.Rule) {
			must(w.AcknowledgeAlert(w.ctx, w.ws, alertID))(w)
		},
		"the rule is deleted": func(w *world, _ string, _ alert.Silence, rule alert.Rule) {
			w.ok(w.AlertRules().Delete(w.ctx, w.ws, "", rule.ID, kernel.Precondition{}))
		},
		"the rule is disabled": func(w *world, _ string, _ alert.Silence, rule alert.Rule) {
			must(w.AlertRules().Change(w.ctx, w.ws, "", rule.ID, func(r *alert.Rule) error {
				r.Enabled = false
				return nil
			}, kernel.Precondition{}))(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				job := w.quick("Nightly backup", w.component, "")
				rule := w.rule(to(w.channel("phone")), func(*alert.Rule) {})
				silence := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
					EndsAt: w.clock.now().Add(5 * time.Hour),
				})))(w)
				w.goDown(job)
				w.advanceAlerts()
				all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{}, firstHundred)
				w.ok(err)
				holds := must(w.Alert(w.ctx, w.ws, all[0].ID))(w).Holds
				if len(holds) != 1 || holds[0].Over || !holds[0].Until.Equal(silence.EndsAt) {
					t.Fatalf("holds %+v", holds)
				}
				w.clock.move(time.Minute)
				end(w, all[0].ID, silence, rule)
				ended := w.clock.now()
				w.advanceAlerts()
				w.clock.move(time.Minute)
				holds = must(w.Alert(w.ctx, w.ws, all[0].ID))(w).Holds
				if len(holds) != 1 || !holds[0].Over || !holds[0].Until.Equal(ended) {
					t.Errorf("ended at %s: holds %+v", ended, holds)
				}
			})
		})
	}
}

// TestMessagesKnowTheirThread checks that later messages have all alerts of their thread as they are then.
func TestMessagesKnowTheirThread(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")))
		a, b := w.quick("Backup", w.component, ""), w.quick("Mail", w.component, "")
		w.goDown(a, b)
		if first := w.notified(10*time.Second, taken); len(first) != 1 {
			t.Fatalf("first messages: %q", first)
		}
		w.pinged(a)
		w.advanceAlerts()
		w.clock.move(10 * time.Second)
		claimed := w.claimMessages()
		if len(claimed) != 1 || len(claimed[0].Items) != 1 || len(claimed[0].Thread.Alerts) != 2 {
			t.Fatalf("messages after the end of one alert: %+v", claimed)
		}
		if got := claimed[0].Current().Headline(); !claimed[0].Outdates() || got != "Mail is down, Backup is up again" {
			t.Errorf("headline: %q", got)
		}
	})
}

// TestThreadKeepsItsReference: later messages of a thread reply to what a service calls the first one, whatever it
// calls the others.
func TestThreadKeepsItsReference(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")))
		a, b, c := w.quick("Backup", w.component, ""), w.quick("Mail", w.component, ""), w.quick("Shop", w.component,
			"")
		w.goDown(a, b, c)
		var first string
		later := 0
		send := func(m store.ClaimedMessage) {
			switch {
			case m.Thread.First:
				first = m.ID
			case m.Thread.Reference != "ref of "+first:
				t.Errorf("a later message of the thread replies to %q", m.Thread.Reference)
			default:
				later++
			}
			w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{
				ClaimedMessage: m, Outcome: taken, Reference: "ref of " + m.ID,
			}))
		}
		w.passAlerts(10*time.Second, send)
		for _, m := range []monitor.Monitor{a, b, c} {
			w.pinged(m)
			w.passAlerts(10*time.Second, send)
		}
		if later != 3 {
			t.Errorf("%d later messages, want 3", later)
		}
	})
}

// TestSilenceHoldsAlerts checks that a silence holds alerts back, and that what lasts longer is notified at its end.
func TestSilenceHoldsAlerts(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		v := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
			Filter: alert.Filter{Monitors: []string{job.Slug}}, EndsAt: w.clock.now().Add(time.Hour), Comment: "work",
		})))(w)
		w.goDown(job)
		w.expect("silenced", w.notified(10*time.Minute, taken))
		all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{}, firstHundred)
		w.ok(err)
		d := must(w.Alert(w.ctx, w.ws, all[0].ID))(w)
		if len(d.Plans) != 1 || d.Plans[0].Held != alert.HeldBySilence || !d.Plans[0].DueAt.Equal(v.EndsAt) {
			t.Errorf("plans of the silenced alert: %+v", d.Plans)
		}
		w.ok(w.Silences().Delete(w.ctx, w.ws, "", v.ID, kernel.Precondition{}))
		lines := w.notified(10*time.Second, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "phone: Nightly backup is down") {
			t.Errorf("at its end: %q", lines)
		}
	})
}

// TestChannelThatFails checks retries, the fallback and the event that a channel fails.
func TestChannelThatFails(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		mail := w.channel("mail")
		chat := w.channel("chat", func(c *alert.Channel) { c.FallbackID = mail.ID })
		w.rule(to(chat))
		w.rule(to(mail), func(r *alert.Rule) { r.Name, r.Events = "watch", []alert.Event{alert.ChannelFailed} })
		w.goDown(job)
		w.clock.set(w.clock.now().Add(5 * time.Second))
		fail := audience.SendOutcome{Result: audience.SendFailed, Reason: "status 500"}
		w.advanceAlerts()
		w.clock.set(w.clock.now().Add(5 * time.Second))
		first := w.claimMessages()
		if len(first) != 1 {
			t.Fatalf("%d messages", len(first))
		}
		w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: first[0], Outcome: fail}))
		if len(w.claimMessages()) != 0 {
			t.Error("tried again at once")
		}
		w.clock.set(w.clock.now().Add(5 * time.Second))
		again := w.claimMessages()
		if len(again) != 1 || again[0].ID != first[0].ID {
			t.Fatalf("again: %+v", again)
		}
		w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: again[0], Outcome: fail}))
		lines := w.notified(5*time.Second, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "mail: ") ||
			!strings.Contains(lines[0], "chat does not accept alerts: status 500") ||
			!strings.Contains(lines[0], "Nightly backup is down") {
			t.Errorf("messages of the fallback: %q", lines)
		}
		c := must(w.AlertChannels().Get(w.ctx, w.ws, "", "chat"))(w)
		if c.Health.Failures != 2 || c.Health.Reason != "status 500" || c.Health.FailingSince.IsZero() {
			t.Errorf("health after two failures: %+v", c.Health)
		}
		lines = w.notified(10*time.Second, taken)
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "* chat: Nightly backup is down") {
			t.Errorf("by the channel itself: %q", lines)
		}
		c = must(w.AlertChannels().Get(w.ctx, w.ws, "", "chat"))(w)
		if c.Health.Failures != 0 || c.Health.AcceptedAt.IsZero() {
			t.Errorf("health after a success: %+v", c.Health)
		}
	})
}

// TestChannelIsNotToldOfItsOwnFailure checks that a channel which does not accept alerts is not sent that as well.
func TestChannelIsNotToldOfItsOwnFailure(t *testing.T) {
	inWorlds(t, func(w *world) {
		chat, mail := w.channel("chat"), w.channel("mail")
		w.rule(to(chat, mail), func(r *alert.Rule) { r.Events = []alert.Event{alert.MonitorDown, alert.ChannelFailed} })
		w.goDown(w.quick("Nightly backup", w.component, ""))
		told := make(map[string][]string)
		w.passAlerts(time.Minute, func(m store.ClaimedMessage) {
			outcome := taken
			if m.Channel.Name == "chat" {
				outcome = audience.SendOutcome{Result: audience.SendRejected, Reason: "status 404"}
			}
			told[m.Channel.Name] = append(told[m.Channel.Name], m.Headline())
			w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: m, Outcome: outcome}))
		})
		w.expect("chat", told["chat"], "Nightly backup is down")
		w.expect("mail", told["mail"], "Nightly backup is down", "chat does not accept alerts")
	})
}

// TestAlertsByState checks that every alert is listed in one state, whatever happened before.
func TestAlertsByState(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")))
		open, known, over, forgotten := w.quick("open", w.component, ""), w.quick("known", w.component, ""),
			w.quick("over", w.component, ""), w.quick("forgotten", w.component, "")
		w.goDown(open, known, over, forgotten)
		w.notified(10*time.Second, taken)
		listed := func(state alert.State) (names []string) {
			all, total, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{State: state}, firstHundred)
			w.ok(err)
			if total != len(all) {
				t.Errorf("alerts in the state %q: %d are listed, of %d", state, len(all), total)
			}
			for _, a := range all {
				if a.Name == known.Name || a.Name == over.Name {
					must(w.AcknowledgeAlert(w.ctx, w.ws, a.ID))(w)
				}
				names = append(names, a.Name)
			}
			slices.Sort(names)
			return names
		}
		listed("") // acknowledges two of them
		w.pinged(over, forgotten)
		w.advanceAlerts()
		for state, want := range map[alert.State][]string{
			alert.Open: {"open"}, alert.Acknowledged: {"known"}, alert.Resolved: {"forgotten", "over"},
			"": {"forgotten", "known", "open", "over"},
		} {
			w.expect(string(state), listed(state), want...)
		}
	})
}

// TestReplicaThatStopsWhileSending checks that a message is claimed again when its lease has ended, and that the first
// replica's outcome counts no more.
func TestReplicaThatStopsWhileSending(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		w.goDown(job)
		w.advanceAlerts()
		w.clock.set(w.clock.now().Add(3 * time.Second))
		first := w.claimMessages()
		if len(first) != 1 || len(w.claimMessages()) != 0 {
			t.Fatalf("%d messages", len(first))
		}
		w.clock.set(first[0].LeaseUntil)
		second := w.claimMessages()
		if len(second) != 1 || second[0].ID != first[0].ID || second[0].FencingToken == first[0].FencingToken {
			t.Fatalf("after the lease: %+v", second)
		}
		w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{
			ClaimedMessage: first[0], Outcome: audience.SendOutcome{Result: audience.SendRejected},
		}))
		if c := must(w.AlertChannels().Get(w.ctx, w.ws, "", "phone"))(w); c.Health.Failures != 0 {
			t.Errorf("health after the result of a lost claim: %+v", c.Health)
		}
		w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: second[0], Outcome: taken}))
		w.expect("nothing more", w.notified(time.Minute, taken))
	})
}

// TestPaceOfChannel checks that no minute has more messages than a channel allows, and that the others are notified
// together.
func TestPaceOfChannel(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone", func(c *alert.Channel) { c.MaxPerMinute = 2 })))
		var monitors []monitor.Monitor
		for i := range 5 {
			monitors = append(monitors, w.quick(fmt.Sprint("job ", i), w.component, ""))
		}
		w.pinged(monitors...)
		var lines []string
		for _, m := range monitors {
			w.send(store.NewSignal{Kind: monitor.SignalFail, Token: m.Token})
			lines = append(lines, w.notified(8*time.Second, taken)...)
		}
		if len(lines) != 2 || !strings.Contains(lines[0], "job 0 is down") ||
			!strings.Contains(lines[1], "job 1 is down") {
			t.Errorf("within a minute: %q", lines)
		}
		lines = w.notified(time.Minute, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "3 monitors are down") {
			t.Errorf("afterwards: %q", lines)
		}
	})
}

// TestFlappingAlertsWait checks that the alerts of a monitor that fails often wait for an hour after the last one that
// did not.
func TestFlappingAlertsWait(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Shop", w.component, "")
		w.rule(to(w.channel("phone")))
		for range 6 {
			w.goDown(job)
			w.advanceAlerts()
			w.pinged(job)
			w.advanceAlerts()
			w.clock.move(time.Minute)
		}
		var opened, notified []int64
		for _, row := range w.rows(`SELECT opened_at, notify_at FROM alerts ORDER BY opened_at`) {
			var o, n int64
			must(fmt.Sscanf(row, "%d|%d", &o, &n))(w)
			opened, notified = append(opened, o), append(notified, n)
		}
		if len(opened) != 6 || !slices.Equal(notified[:4], opened[:4]) {
			w.Fatalf("began at %v, notified at %v", opened, notified)
		}
		if want := opened[3] + time.Hour.Milliseconds(); notified[4] != want || notified[5] != want {
			w.Errorf("began at %v, notified at %v, want the last at %d", opened, notified, want)
		}
		steps := must(w.ForecastAlert(w.ctx, w.ws, store.AlertQuestion{
			Event: alert.MonitorDown, Monitor: job.ID,
		}))(w).Rules[0].Steps
		if len(steps) != 2 || steps[0].Held != alert.HeldByFlapping || steps[1].Kind != alert.NoticeOpened ||
			steps[1].At.UnixMilli() != notified[5] {
			w.Errorf("forecast of another outage: %+v", steps)
		}
		w.run(`UPDATE alerts SET event = $1`, string(alert.MonitorSlow)) // which is no outage
		steps = must(w.ForecastAlert(w.ctx, w.ws, store.AlertQuestion{
			Event: alert.MonitorDown, Monitor: job.ID,
		}))(w).Rules[0].Steps
		if len(steps) != 1 || steps[0].Kind != alert.NoticeOpened || !steps[0].At.Equal(w.clock.now()) {
			w.Errorf("forecast of an outage after alerts of another event: %+v", steps)
		}
		w.run(`UPDATE alerts SET event = $1`, string(alert.MonitorDown))
		for range 2 { // alerts of different monitors are no flapping
			steps = must(w.ForecastAlert(w.ctx, w.ws, store.AlertQuestion{Event: alert.MonitorDown}))(w).Rules[0].Steps
			if len(steps) != 1 || steps[0].Kind != alert.NoticeOpened || !steps[0].At.Equal(w.clock.now()) {
				w.Errorf("forecast of an outage of no monitor in particular: %+v", steps)
			}
			w.run(`UPDATE alerts SET monitor_id = NULL`) // as when their monitors were deleted
		}
	})
}

// notifiesOf creates a rule for these events alone, and its channel.
func (w *world) notifiesOf(events ...alert.Event) {
	w.Helper()
	w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Events = events })
}

// notifiedOnce checks that one message is sent within three seconds, with these first and last words.
func (w *world) notifiedOnce(what, prefix, suffix string) {
	w.Helper()
	lines := w.notified(3*time.Second, taken)
	if len(lines) != 1 || !strings.HasPrefix(lines[0], prefix) || !strings.HasSuffix(lines[0], suffix) {
		w.Errorf("%s: notified %q, want one message %q … %q", what, lines, prefix, suffix)
	}
}

// TestSlownessNotifies ends the alert of a slow check by a fast one, by a pause, and by its deletion.
func TestSlownessNotifies(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.notifiesOf(alert.MonitorSlow)
		site := w.newCheck("site", func(n *monitor.MonitorConfig) { n.Check.SlowAfter = time.Second })
		w.check(monitor.CheckSlow, monitor.CheckSlow)
		w.expect("slow", w.notified(3*time.Second, taken), "* phone: site is slow / Its checks take longer than 1s.")
		w.check(monitor.CheckOK)
		w.notifiedOnce("fast again", "> phone: site is fast again after ", "")
		w.check(monitor.CheckSlow, monitor.CheckSlow)
		w.notified(3*time.Second, taken)
		must(w.ChangeMonitor(w.ctx, w.ws, site.ID, monitor.Pause(time.Time{})))(w)
		w.notifiedOnce("disabled", "> phone: Alert for site resolved after ", " / The monitor was disabled.")
		must(w.ChangeMonitor(w.ctx, w.ws, site.ID, monitor.Resume()))(w)
		w.check(monitor.CheckSlow, monitor.CheckSlow)
		w.notified(3*time.Second, taken)
		w.ok(w.DeleteMonitor(w.ctx, w.ws, site.ID))
		w.notifiedOnce("deleted", "> phone: Alert for site resolved after ", " / The monitor was deleted.")
	})
}

func TestWarningsNotify(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.notifiesOf(alert.MonitorWarning)
		w.conditions(func(c *monitor.RunConditions) {
			c.MinRuntime = time.Minute
			c.MinRuntimeAction = monitor.ActionWarn
		}, time.Hour)
		w.send(start(aRun))
		w.send(success(aRun))
		w.notifiedOnce("warning", "* phone: nightly has a warning / ", "")
	})
}

func TestMaintenancesNotify(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.notifiesOf(alert.MaintenanceBegun, alert.MaintenanceEnded)
		w.plan("Disks", time.Second, time.Hour)
		w.clock.set(w.clock.now().Add(time.Second))
		w.advance()
		w.expect("begun", w.notified(3*time.Second, taken), "* phone: The maintenance Disks has begun")
		w.clock.set(w.clock.now().Add(2 * time.Hour))
		w.advance()
		w.expect("ended", w.notified(3*time.Second, taken), "* phone: The maintenance Disks has ended")
	})
}

// TestGapsNotifyOnce records gaps in which no pings were received, short ones and one that lasts.
func TestGapsNotifyOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.notifiesOf(alert.ServiceGap)
		w.recordLiveness()
		w.absent(time.Hour)
		w.notifiedOnce("gap", "* phone: Receiving pings was interrupted / Since 2026-03-01 ", "")
		w.clock.set(w.clock.now().Add(time.Second))
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a"}))
		w.expect("the same gap", w.notified(3*time.Second, taken))
		w.clock.set(w.clock.now().Add(time.Minute))
		since := w.clock.now()
		var lines []string
		for range 4 { // the gap is saved again and again while it lasts
			w.clock.set(w.clock.now().Add(20 * time.Second))
			w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{
				Replica: "a", Lost: w.clock.now().Sub(since), LosingPings: true,
			}))
			lines = append(lines, w.notified(3*time.Second, taken)...)
		}
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "* phone: Receiving pings was interrupted / Since ") {
			t.Errorf("a gap that lasts: %q", lines)
		}
	})
}

func TestSuspensionsNotify(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.notifiesOf(alert.DeliveryFailed)
		w.subscribe("https://example.com/hook")
		for range audience.MaxRejections {
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "i"}, statuspage.IncidentUpdate{},
				nil))(w)
			w.fanOut()
			w.deliver(audience.SendOutcome{Result: audience.SendRejected, Reason: "no"})
		}
		w.notifiedOnce("suspended", "* phone: A subscriber (Webhook, sub_", ") is not notified any more / No.")
	})
}

// TestWaiting checks for how long work counts as overdue.
func TestWaiting(t *testing.T) {
	inWorlds(t, func(w *world) {
		wants := func(what string, want store.Waiting) {
			w.Helper()
			if got := must(w.Waiting(w.ctx))(w); got != want {
				w.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		wants("nothing to do", store.Waiting{})
		w.rule(to(w.channel("phone")))
		w.send(signalOf(monitor.SignalFail, ""))
		w.clock.set(w.clock.now().Add(10 * time.Minute))
		wants("an outage that no one was notified of", store.Waiting{
			Deliveries: 10 * time.Minute, Alerts: 10 * time.Minute,
		})
		w.fanOut()
		w.notified(time.Minute, failed)
		if got := must(w.Waiting(w.ctx))(w); got.Deliveries != 0 || got.Alerts > time.Minute {
			w.Errorf("a channel that fails: %+v", got)
		}
		w.newCheck("site")
		w.clock.set(w.clock.now().Add(time.Hour))
		if got := must(w.Waiting(w.ctx))(w); got.Checks < 58*time.Minute {
			w.Errorf("a check that nobody runs: %+v", got)
		}
	})
}

// TestWeeklyTest checks that a channel is tested once a week, and that a failed test is an event.
func TestWeeklyTest(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.channel("chat", func(c *alert.Channel) { c.TestWeekly = true })
		w.channel("disabled", func(c *alert.Channel) { c.TestWeekly, c.Enabled = true, false })
		mail := w.channel("mail")
		w.rule(to(mail), func(r *alert.Rule) { r.Events = []alert.Event{alert.ChannelFailed} })
		due := func(want int) []alert.Channel {
			w.Helper()
			tests := must(w.TakeChannelTests(w.ctx, 10))(w)
			if len(tests) != want {
				w.Fatalf("%d tests, want %d", len(tests), want)
			}
			return tests
		}
		first := due(1)
		due(0)
		w.ok(w.RecordWeeklyTest(w.ctx, first[0].ID, taken))
		w.clock.set(w.clock.now().Add(alert.TestInterval))
		w.ok(w.RecordWeeklyTest(w.ctx, due(1)[0].ID, failed))
		c := must(w.AlertChannels().Get(w.ctx, w.ws, "", "chat"))(w)
		if c.Health.Reason != failed.Reason || c.Health.AcceptedAt.IsZero() || c.Health.FailingSince.IsZero() {
			t.Errorf("health after a failed weekly test: %+v", c.Health)
		}
		w.expect("failed", w.notified(3*time.Second, taken), "* mail: chat does not accept alerts / It was not there.")
		since := must(w.AlertChannels().Get(w.ctx, w.ws, "", "chat"))(w).Health.FailingSince
		w.clock.set(w.clock.now().Add(alert.TestInterval))
		w.ok(w.RecordWeeklyTest(w.ctx, due(1)[0].ID, failed))
		w.expect("failed again", w.notified(3*time.Second, taken))
		if c := must(w.AlertChannels().Get(w.ctx, w.ws, "", "chat"))(w); !c.Health.FailingSince.Equal(since) {
			t.Errorf("failing since %s, and not %s", c.Health.FailingSince, since)
		}
	})
}

// TestChannelFailsOnce checks that a channel which refuses one message after the other is said to fail once, and again
// when it has accepted a message in between.
func TestChannelFailsOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		chat, mail := w.channel("chat"), w.channel("mail")
		w.rule(to(chat))
		w.rule(to(mail), func(r *alert.Rule) { r.Name, r.Events = "watch", []alert.Event{alert.ChannelFailed} })
		refused := 0
		var lines []string
		for _, c := range []struct {
			name    string
			refuses bool
		}{{"Nightly backup", true}, {"Shop", true}, {"Mail", false}, {"Database", true}} {
			w.goDown(w.quick(c.name, w.component, ""))
			w.passAlerts(time.Minute, func(m store.ClaimedMessage) {
				outcome := taken
				if m.Channel.Name == "chat" && c.refuses {
					outcome = audience.SendOutcome{Result: audience.SendRejected, Reason: "status 404"}
					refused++
				} else if m.Channel.Name == "mail" {
					lines = append(lines, m.Headline())
				}
				w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: m, Outcome: outcome}))
			})
		}
		if refused != 3 {
			t.Errorf("%d messages were refused", refused)
		}
		w.expect("mail", lines, "chat does not accept alerts", "chat does not accept alerts")
	})
}
