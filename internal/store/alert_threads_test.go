package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// TestWholeThreadIsAcknowledged checks that the link of a message also acknowledges the alerts that the message does
// not list.
func TestWholeThreadIsAcknowledged(t *testing.T) {
	inWorlds(t, func(w *world) {
		const many = alert.MaxLines + 5
		w.rule(to(w.channel("phone")))
		var monitors []monitor.Monitor
		for i := range many {
			monitors = append(monitors, w.quick(fmt.Sprintf("job %02d", i), w.component, ""))
		}
		w.goDown(monitors...)
		w.advanceAlerts()
		w.clock.move(10 * time.Second)
		sent := w.claimMessages()
		if len(sent) != 1 || len(sent[0].Items) != many {
			t.Fatalf("%d messages: %+v", len(sent), sent)
		}
		key := sent[0].Thread.Key
		if h := must(w.AlertThread(w.ctx, key))(w); len(h.Alerts) != alert.MaxLines || h.Total != many {
			t.Errorf("%d of %d alerts are shown", len(h.Alerts), h.Total)
		}
		n, err := w.AcknowledgeThread(w.ctx, key, kernel.Actor{Kind: kernel.ActorLink, Name: "Ann"})
		if err != nil || n != many {
			t.Errorf("%d alerts acknowledged, %v", n, err)
		}
		for state, want := range map[alert.State]int{alert.Open: 0, alert.Acknowledged: many} {
			_, total, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{State: state}, firstHundred)
			if err != nil || total != want {
				t.Errorf("%d alerts are %s, %v", total, state, err)
			}
		}
		n, err = w.AcknowledgeThread(w.ctx, key, kernel.Actor{Kind: kernel.ActorLink, Name: "Eve"})
		if err != nil || n != 0 {
			t.Errorf("again: %d alerts acknowledged, %v", n, err)
		}
	})
}
