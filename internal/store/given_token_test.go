package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

const givenToken = "f618072a-7bde-4eee-af63-71a77c5723bc"

// TestGivenTokens creates several monitors with the same token at the same time. The token belongs to one monitor of
// all workspaces, also while it is an old one.
func TestGivenTokens(t *testing.T) {
	inWorlds(t, func(w *world) {
		var group sync.WaitGroup
		monitors, errs := make([]monitor.Monitor, 4), make([]error, 4)
		for i := range errs {
			group.Go(func() { monitors[i], errs[i] = w.createWithToken(w.ws, "job "+string(rune('a'+i))) })
		}
		group.Wait()
		var first monitor.Monitor
		for i, err := range errs {
			if err == nil && first.ID == "" {
				first = monitors[i]
				continue
			}
			w.tokenTaken(err)
		}
		other, _ := storetest.Workspace(w.T, w.Store, "other")
		_, err := w.createWithToken(other, "job")
		w.tokenTaken(err)
		ping := func(want store.PingResult) {
			w.Helper()
			results, err := w.RecordPings(w.ctx, []string{givenToken}, store.LivenessRecord{Replica: "a", First: true},
				store.PingOrigins{})
			if err != nil || results[0] != want {
				w.Errorf("a ping gives %v, %v; want %v", results, err, want)
			}
		}
		ping(store.PingRecorded)
		_, err = w.RotateMonitor(w.ctx, w.ws, first.ID)
		w.ok(err)
		ping(store.PingRecorded)
		_, err = w.createWithToken(w.ws, "second")
		w.tokenTaken(err)
		w.clock.move(store.PingTokenOverlap + time.Second)
		ping(store.PingUnknown)
		second, err := w.createWithToken(w.ws, "second")
		w.ok(err)
		ping(store.PingRecorded)
		if got, _ := w.Monitor(w.ctx, w.ws, second.ID); got.LastPingAt.IsZero() {
			w.Error("the ping was not recorded for the new monitor")
		}
		_, err = w.RotateMonitor(w.ctx, w.ws, second.ID)
		w.ok(err)
		if old, _ := w.Monitor(w.ctx, w.ws, first.ID); !old.LastPingAt.Before(w.clock.now().Add(-time.Hour)) {
			w.Error("the ping was recorded for the old monitor")
		}
	})
}

func (w *world) createWithToken(actor kernel.Actor, name string) (monitor.Monitor, error) {
	return w.CreateMonitor(w.ctx, actor, monitor.MonitorOf(monitor.MonitorConfig{
		Name: name, Slug: kernel.SlugOf(name, "x"), Interval: time.Hour, Token: givenToken,
	}))
}

// tokenTaken checks that an error is about the token.
func (w *world) tokenTaken(err error) {
	w.Helper()
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) || !bad.Has("token") {
		w.Errorf("error %v, want one of the token", err)
	}
}
