package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// TestRetryAfterIsKept checks that a channel is left alone for as long as its service asks for, whatever happens
// meanwhile.
func TestRetryAfterIsKept(t *testing.T) {
	const wait = 30 * time.Minute
	for name, meanwhile := range map[string]func(w *world, phone alert.Channel){
		"another notice": func(w *world, _ alert.Channel) { w.goDown(w.quick("Mail", w.component, "")) },
		"a change of the channel": func(w *world, phone alert.Channel) {
			must(w.AlertChannels().Change(w.ctx, w.ws, "", phone.ID, func(c *alert.Channel) error {
				c.TestWeekly = true
				return nil
			}, kernel.Precondition{}))(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				phone := w.channel("phone")
				w.rule(to(phone))
				w.goDown(w.quick("Nightly backup", w.component, ""))
				var attempts []time.Time
				busy := audience.SendOutcome{Result: audience.SendFailed, Reason: "status 429", RetryAfter: wait}
				send := func(m store.ClaimedMessage) {
					attempts = append(attempts, w.clock.now())
					w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: m, Outcome: busy}))
				}
				w.passAlerts(10*time.Second, send)
				meanwhile(w, phone)
				w.passAlerts(wait, send)
				if len(attempts) != 2 || attempts[1].Sub(attempts[0]) < wait {
					w.Errorf("attempts at %v", attempts)
				}
			})
		})
	}
}
