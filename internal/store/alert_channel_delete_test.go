package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestHistoryOfDeletedChannels checks that alerts keep what a deleted channel accepted and did not accept, that nothing
// more is sent to it, that its name is free again, and that it goes with the last alert that names it.
func TestHistoryOfDeletedChannels(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone := w.channel("Phone")
		r := w.rule(to(phone))
		job := w.quick("Shop", w.component, "")
		w.goDown(job)
		w.notified(time.Minute, taken)
		w.ok(w.AlertRules().Delete(w.ctx, w.ws, "", r.ID, kernel.Precondition{}))
		w.pinged(job)
		w.advanceAlerts() // its end waits for the channel
		w.ok(w.AlertChannels().Delete(w.ctx, w.ws, "", phone.ID, kernel.Precondition{}))
		if claimed := w.claimMessages(); len(claimed) > 0 {
			t.Errorf("%d messages for the deleted channel", len(claimed))
		}
		for _, ref := range []string{phone.ID, phone.Name} {
			if _, err := w.AlertChannels().Get(w.ctx, w.ws, "", ref); !errors.Is(err, kernel.ErrNotFound) {
				t.Errorf("the deleted channel %s: %v", ref, err)
			}
		}
		_, err := w.AlertRules().Create(w.ctx, w.ws, "", resource.AlertRule.From(alert.Rule{
			Name: "Again", Filter: alert.Filter{Events: alert.DefaultEvents}, Target: to(phone),
		}))
		w.refused(err, "channel_ids")
		w.expect("the row",
			w.rows(`SELECT config, secret_fields, coalesce(secrets, 'none') FROM alert_channels WHERE id = '`+
				phone.ID+`'`),
			"{}|[]|none")
		if again := w.channel("Phone"); again.ID == phone.ID {
			t.Error("the new channel is the old one")
		}
		alerts, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{}, firstHundred)
		w.ok(err)
		d := must(w.Alert(w.ctx, w.ws, alerts[0].ID))(w)
		var lines []string
		for _, n := range d.Notices {
			if !n.Deleted || n.ChannelType != phone.Type || n.ChannelName != "Phone" {
				t.Errorf("notice of a deleted channel: %+v", n)
			}
			lines = append(lines, string(n.Kind)+" "+map[bool]string{true: "sent", false: n.Reason}[!n.SentAt.IsZero()])
		}
		w.expect("notices", lines, "opened sent", "resolved The channel was deleted before it took the message.")
		w.clock.move(alert.Retention + time.Hour)
		w.ok(w.Prune(w.ctx))
		w.expect("after the retention", w.rows(`SELECT name FROM alert_channels WHERE id = '`+phone.ID+`'`))
	})
}

// TestLinksOfDeletedChannels checks that the links in the messages of a deleted channel are not valid any more.
func TestLinksOfDeletedChannels(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone := w.channel("Phone")
		r := w.rule(to(phone))
		w.goDown(w.quick("Shop", w.component, ""))
		key := ""
		w.passAlerts(time.Minute, func(m store.ClaimedMessage) {
			key = m.Thread.Key
			w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: m, Outcome: taken}))
		})
		if h := must(w.AlertThread(w.ctx, key))(w); len(h.Alerts) != 1 || h.ChannelName != "Phone" {
			t.Fatalf("thread of a message: %+v", h)
		}
		w.ok(w.AlertRules().Delete(w.ctx, w.ws, "", r.ID, kernel.Precondition{}))
		w.ok(w.AlertChannels().Delete(w.ctx, w.ws, "", phone.ID, kernel.Precondition{}))
		_, shown := w.AlertThread(w.ctx, key)
		_, acknowledged := w.AcknowledgeThread(w.ctx, key, kernel.Actor{Kind: kernel.ActorLink})
		_, pressed := w.ThreadChannel(w.ctx, key)
		for what, err := range map[string]error{"shown": shown, "acknowledged": acknowledged, "its channel": pressed} {
			if !errors.Is(err, kernel.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestDeletedChannelIsKeptByOpenAlerts checks that a channel that was deleted long ago is kept while an alert names it.
func TestDeletedChannelIsKeptByOpenAlerts(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone := w.channel("Phone")
		r := w.rule(to(phone))
		w.goDown(w.quick("Shop", w.component, ""))
		w.notified(time.Minute, taken)
		w.ok(w.AlertRules().Delete(w.ctx, w.ws, "", r.ID, kernel.Precondition{}))
		w.ok(w.AlertChannels().Delete(w.ctx, w.ws, "", phone.ID, kernel.Precondition{}))
		w.clock.move(2 * alert.Retention)
		w.ok(w.Prune(w.ctx))
		w.expect("kept", w.rows(`SELECT name FROM alert_channels WHERE id = '`+phone.ID+`'`), "Phone")
	})
}

// TestDeletedFallback checks that channels lose a fallback that is deleted, which the audit log has.
func TestDeletedFallback(t *testing.T) {
	inWorlds(t, func(w *world) {
		mail := w.channel("Mail")
		phone := w.channel("Phone", func(c *alert.Channel) { c.FallbackID = mail.ID })
		w.ok(w.AlertChannels().Delete(w.ctx, w.ws, "", "Mail", kernel.Precondition{}))
		if c := must(w.AlertChannels().Get(w.ctx, w.ws, "", phone.ID))(w); c.FallbackID != "" {
			t.Errorf("the fallback is %s", c.FallbackID)
		}
		log := w.audited()
		w.expect("the audit log", log[len(log)-2:len(log)-1],
			`update alert_channel {"fallback_id":"`+mail.ID+`"} {"fallback_id":null}`)
		if err := w.withFallback(phone, mail); err == nil {
			t.Error("a deleted channel became a fallback")
		}
	})
}
