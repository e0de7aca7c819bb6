package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// refuses is the outcome of a channel that refuses a message.
var refuses = audience.SendOutcome{Result: audience.SendRejected, Reason: "status 400"}

// notifiedBy is notified with an outcome for each channel by name. A line is the outcome and the message.
func (w *world) notifiedBy(after time.Duration, outcomes map[string]audience.SendOutcome) (lines []string) {
	w.Helper()
	w.passAlerts(after, func(m store.ClaimedMessage) {
		o, found := outcomes[m.Channel.Name]
		if !found {
			o = taken
		}
		w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{
			ClaimedMessage: m, Outcome: o, Reference: "ref of " + m.ID,
		}))
		lines = append(lines, m.Channel.Name+": "+m.Headline())
	})
	slices.Sort(lines)
	return lines
}

// withFallback changes the fallback of a channel.
func (w *world) withFallback(c, fallback alert.Channel) error {
	_, err := w.AlertChannels().Change(w.ctx, w.ws, "", c.ID, func(c *alert.Channel) error {
		c.FallbackID = fallback.ID
		return nil
	}, kernel.Precondition{})
	return err
}

// TestFallbacksHaveNoCycle checks that a fallback which leads back to its channel is refused.
func TestFallbacksHaveNoCycle(t *testing.T) {
	inWorlds(t, func(w *world) {
		chain := []alert.Channel{w.channel("A")}
		for _, name := range []string{"B", "C", "D"} {
			chain = append(chain, w.channel(name, func(c *alert.Channel) { c.FallbackID = chain[len(chain)-1].ID }))
			var bad *kernel.ValidationError
			err := w.withFallback(chain[0], chain[len(chain)-1])
			if !errors.As(err, &bad) || len(bad.Messages()["fallback_id"]) != 1 ||
				!strings.Contains(bad.Messages()["fallback_id"][0], "leads back to this channel") {
				t.Errorf("A with the fallback %s: %v", name, err)
			}
			if name == "C" && !strings.Contains(err.Error(), "leads back to this channel: A, C, B, A.") {
				t.Errorf("A with the fallback C: %v", err)
			}
		}
		if c := must(w.AlertChannels().Get(w.ctx, w.ws, "", "A"))(w); c.FallbackID != "" {
			t.Errorf("the fallback of A is %s", c.FallbackID)
		}
		w.ok(w.withFallback(chain[0], w.channel("E")))
	})
}

// TestCycleOfFallbacksEnds checks that notices end if the fallbacks of two channels that fail are each other, as
// earlier versions accepted.
func TestCycleOfFallbacksEnds(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Shop", w.component, "")
		a := w.channel("LA")
		b := w.channel("LB", func(c *alert.Channel) { c.FallbackID = a.ID })
		db, _ := w.Pools()
		_, err := db.ExecContext(w.ctx,
			fmt.Sprintf(`UPDATE alert_channels SET fallback_id = '%s' WHERE id = '%s'`, b.ID, a.ID))
		w.ok(err)
		err = w.withFallback(w.channel("Chat"), a)
		if err == nil ||
			!strings.Contains(
				err.Error(), "The fallbacks lead back to the same channel: LA, LB, LA. Change them first.",
			) {
			t.Errorf("a fallback in the cycle: %v", err)
		}
		w.rule(to(a), func(r *alert.Rule) { r.Repeat = 10 * time.Minute })
		f := must(w.ForecastAlert(w.ctx, w.ws, store.AlertQuestion{Event: alert.MonitorDown, Monitor: job.ID}))(w)
		got, want := f.Rules[0].Steps[0].Channels[0].Fallbacks, []store.ChannelName{{ID: b.ID, Name: "LB"}}
		if !slices.Equal(got, want) {
			t.Errorf("foreseen: the fallbacks %v, want %v", got, want)
		}
		fail := map[string]audience.SendOutcome{"LA": refuses, "LB": refuses}
		w.goDown(job)
		w.expect("down", w.notifiedBy(time.Minute, fail), "LA: Shop is down", "LB: Shop is down")
		if lines := w.notifiedBy(10*time.Minute, fail); len(lines) != 2 {
			t.Errorf("repeated: %q", lines)
		}
		// LA takes the next repetition, which LB gets as well, because LA was failing until then. Both fail at the end.
		if lines := w.notifiedBy(10*time.Minute, map[string]audience.SendOutcome{}); len(lines) != 2 {
			t.Errorf("repeated: %q", lines)
		}
		w.pinged(job)
		if lines := w.notifiedBy(2*time.Minute, fail); len(lines) > 2 {
			t.Errorf("up: %d messages: %q", len(lines), lines)
		}
	})
}

// TestRecoveryThroughFallback checks that each channel that accepted the message of a failure is notified of its end,
// once.
func TestRecoveryThroughFallback(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Shop", w.component, "")
		mail, pager := w.channel("Mail"), w.channel("Pager")
		chat := w.channel("Chat", func(c *alert.Channel) { c.FallbackID = mail.ID })
		lost := w.channel("Lost", func(c *alert.Channel) { c.FallbackID = pager.ID })
		w.rule(to(mail, chat, lost))
		w.goDown(job)
		w.expect("down", w.notifiedBy(10*time.Second, map[string]audience.SendOutcome{"Lost": refuses}),
			"Chat: Shop is down", "Lost: Shop is down", "Mail: Shop is down", "Pager: Shop is down")
		all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{State: alert.Open}, firstHundred)
		w.ok(err)
		var inPlace []string
		for _, n := range must(w.Alert(w.ctx, w.ws, all[0].ID))(w).Notices {
			if n.FallbackFor != "" {
				inPlace = append(inPlace, n.ChannelName+" in place of "+n.FallbackFor)
			}
		}
		w.expect("the timeline", inPlace, "Pager in place of Lost")
		w.pinged(job)
		lines := w.notifiedBy(time.Minute, map[string]audience.SendOutcome{"Chat": refuses})
		for i, line := range lines {
			lines[i], _, _ = strings.Cut(line, " after ")
		}
		w.expect("up", lines, "Chat: Shop is up again", "Mail: Shop is up again", "Pager: Shop is up again")
	})
}

// TestEndWithoutFallback checks that a fallback that was not notified of a failure is not notified of its end, although
// its channel refuses that.
func TestEndWithoutFallback(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Shop", w.component, "")
		mail := w.channel("Mail")
		w.rule(to(w.channel("Chat", func(c *alert.Channel) { c.FallbackID = mail.ID })))
		w.goDown(job)
		w.expect("down", w.notifiedBy(10*time.Second, nil), "Chat: Shop is down")
		w.pinged(job)
		lines := w.notifiedBy(time.Minute, map[string]audience.SendOutcome{"Chat": refuses})
		if len(lines) == 0 || slices.ContainsFunc(lines, func(line string) bool {
			return !strings.HasPrefix(line, "Chat: Shop is up again")
		}) {
			t.Errorf("up: %q", lines)
		}
	})
}

// TestFallbackOfAnEventWithoutEnd checks that a fallback is notified only once of an event that does not last.
func TestFallbackOfAnEventWithoutEnd(t *testing.T) {
	inWorlds(t, func(w *world) {
		mail := w.channel("Mail")
		w.rule(to(w.channel("Chat", func(c *alert.Channel) {
			c.FallbackID = mail.ID
		})), func(r *alert.Rule) { r.Events = []alert.Event{alert.MaintenanceBegun} })
		w.plan("Disks", time.Second, time.Hour)
		w.clock.move(time.Second)
		w.advance()
		w.expect("begun", w.notifiedBy(time.Minute, map[string]audience.SendOutcome{"Chat": refuses}),
			"Chat: The maintenance Disks has begun", "Mail: The maintenance Disks has begun")
		w.expect("notices of the fallback",
			w.rows(`SELECT n.kind FROM alert_notices n JOIN alert_channels c ON c.id = n.channel_id
				WHERE c.name = 'Mail'`),
			"opened")
	})
}

// TestFallbackLearnsOfTheEnd checks that a fallback which is notified of a failure after its end is notified of the
// end, too, as the history of the alert says.
func TestFallbackLearnsOfTheEnd(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Shop", w.component, "")
		mail := w.channel("Mail")
		w.rule(to(w.channel("Chat", func(c *alert.Channel) { c.FallbackID = mail.ID })))
		w.goDown(job)
		w.expect("before", w.notifiedBy(time.Second, nil))
		w.advanceAlerts()
		w.clock.move(10 * time.Second)
		m := w.claimMessages()
		w.pinged(job)
		w.advanceAlerts()
		w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: m[0], Outcome: refuses}))
		mails := 0
		for _, line := range w.notifiedBy(time.Minute, nil) {
			if strings.HasPrefix(line, "Mail: ") && strings.Contains(line, "up again") {
				mails++
			}
		}
		if mails != 1 {
			t.Errorf("%d messages", mails)
		}
		w.expect("notices of the fallback",
			w.rows(`SELECT n.kind FROM alert_notices n JOIN alert_channels c ON c.id = n.channel_id
			WHERE c.name = 'Mail' ORDER BY n.id`), "opened", "resolved")
	})
}

// TestEndedSilenceStaysEnded checks that a silence that has ended cannot be changed.
func TestEndedSilenceStaysEnded(t *testing.T) {
	inWorlds(t, func(w *world) {
		v := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
			EndsAt: w.clock.now().Add(time.Hour),
		})))(w)
		w.ok(w.Silences().Delete(w.ctx, w.ws, "", v.ID, kernel.Precondition{}))
		w.clock.move(time.Minute)
		_, err := w.Silences().Change(w.ctx, w.ws, "", v.ID, func(v *alert.Silence) error {
			v.EndsAt = w.clock.now().Add(time.Hour)
			return nil
		}, kernel.Precondition{})
		var bad *kernel.ValidationError
		if !errors.As(err, &bad) || len(bad.Messages()["ends_at"]) != 1 ||
			bad.Messages()["ends_at"][0] != "The silence has ended. Create another one." {
			t.Errorf("change of an ended silence: %v", err)
		}
		if v = must(w.Silences().Get(w.ctx, w.ws, "", v.ID))(w); v.EndsAt.After(w.clock.now()) {
			t.Errorf("it ends at %s", v.EndsAt)
		}
	})
}

// TestFallbackOfAFailingChannel checks that the fallback is notified immediately of what happens while its channel
// fails, and of each end once.
func TestFallbackOfAFailingChannel(t *testing.T) {
	inWorlds(t, func(w *world) {
		shop, bank := w.quick("Shop", w.component, ""), w.quick("Bank", w.component, "")
		mail := w.channel("Mail")
		w.rule(to(w.channel("Chat", func(c *alert.Channel) { c.FallbackID = mail.ID })))
		fail := map[string]audience.SendOutcome{"Chat": {Result: audience.SendFailed, Reason: "status 500"}}
		mails := func(after time.Duration) (lines []string) {
			for _, line := range w.notifiedBy(after, fail) {
				if line, _, _ = strings.Cut(line, " after "); strings.HasPrefix(line, "Mail: ") {
					lines = append(lines, line)
				}
			}
			return lines
		}
		w.goDown(shop)
		w.expect("the first alert", mails(2*time.Minute), "Mail: Shop is down")
		w.expect("further attempts", mails(20*time.Minute))
		w.goDown(bank)
		w.expect("an alert while the channel fails", mails(10*time.Second), "Mail: Bank is down")
		w.expect("further attempts", mails(30*time.Minute))
		w.pinged(shop)
		w.expect("the end", mails(10*time.Second), "Mail: Shop is up again")
		w.expect("further attempts", mails(30*time.Minute))
	})
}
