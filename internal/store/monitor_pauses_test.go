package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// TestPauseEndsByItself pauses monitors until a time at which the service does not run: they resume when it does, with
// a fresh interval.
func TestPauseEndsByItself(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		until := w.clock.now().Add(time.Hour)
		paused := must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Enabled, c.PausedUntil = false, until
			return nil
		}))(w)
		if paused.Enabled || !paused.PausedUntil.Equal(until) || !paused.NextCheckAt.IsZero() {
			w.Fatalf("paused: %+v", paused)
		}
		forever := must(w.CreateMonitor(w.ctx, w.ws, disabled(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "forever", Interval: time.Minute,
		}))))(w)
		w.clock.move(time.Hour - time.Millisecond)
		if n := must(w.ResumePaused(w.ctx))(w); n != 0 {
			w.Errorf("%d monitors resumed too early", n)
		}
		var known []string
		w.OnNewPingToken(func(token string) { known = append(known, token) })
		w.clock.move(30 * time.Hour) // nothing runs meanwhile
		if n := must(w.ResumePaused(w.ctx))(w); n != 1 {
			w.Errorf("%d monitors resumed, want 1", n)
		}
		if len(known) != 1 || known[0] != w.monitor.Token {
			w.Errorf("ping tokens %q are valid again", known)
		}
		m := w.now()
		if !m.Enabled || !m.PausedUntil.IsZero() || !m.NextCheckAt.Equal(w.clock.now().Add(m.Interval)) ||
			m.ConsecutiveFailures != 0 {
			w.Errorf("resumed: %+v", m)
		}
		if n := must(w.ResumePaused(w.ctx))(w); n != 0 {
			w.Errorf("%d monitors resumed again", n)
		}
		if m := must(w.Monitor(w.ctx, w.ws, forever.ID))(w); m.Enabled {
			w.Error("a monitor without an end of its pause is resumed")
		}
		w.pass(m.Interval)
		if m := w.now(); m.State != monitor.MonitorUp {
			w.Errorf("a false alarm: %+v", m)
		}
		w.pass(10 * time.Minute)
		if m := w.now(); m.State != monitor.MonitorDown {
			w.Errorf("no alarm after the fresh interval: %+v", m)
		}
		w.consistent()
	})
}

// TestManyPausesEnd resumes more monitors than fit into a transaction.
func TestManyPausesEnd(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.fill(450, time.Minute)
		w.run(`UPDATE monitors SET enabled = FALSE, paused_until_at = $1 WHERE id <> $2`, w.clock.now().UnixMilli(),
			w.monitor.ID)
		if n := must(w.ResumePaused(w.ctx))(w); n != 450 {
			w.Errorf("%d monitors resumed", n)
		}
	})
}

func TestPauseIsChanged(t *testing.T) {
	inWorlds(t, func(w *world) {
		now := w.clock.now()
		change := func(ch monitor.MonitorChange) error {
			_, err := w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, ch)
			return err
		}
		soon := now.Add(time.Hour)
		for i, bad := range []monitor.MonitorChange{
			monitor.Pause(now), monitor.Pause(now.Add(-time.Hour)),
			monitor.Pause(now.Add(monitor.MaxPause + time.Millisecond)), func(c *monitor.MonitorConfig) error {
				c.Enabled, c.PausedUntil = true, soon
				return nil
			},
		} {
			if err := refused(change(bad), "paused_until"); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("pause %d: %v", i, err)
			}
		}
		wants := func(enabled bool, until time.Time) {
			w.Helper()
			if m := w.now(); m.Enabled != enabled || !m.PausedUntil.Equal(until) {
				w.Errorf("enabled %t, paused until %v, want %t, %v", m.Enabled, m.PausedUntil, enabled, until)
			}
		}
		wants(true, time.Time{})
		w.ok(change(monitor.Pause(soon)))
		wants(false, soon)
		off := false
		w.ok(change(func(c *monitor.MonitorConfig) error { c.Enable(off); return nil }))
		wants(false, soon) // it was disabled already
		w.ok(change(monitor.Pause(time.Time{})))
		wants(false, time.Time{})
		w.ok(change(monitor.Pause(now.Add(monitor.MaxPause))))
		w.ok(change(monitor.Resume()))
		wants(true, time.Time{})
		w.clock.move(2 * monitor.MaxPause)
		if n := must(w.ResumePaused(w.ctx))(w); n != 0 {
			w.Errorf("%d monitors resumed that are enabled", n)
		}
	})
}

// disabled is a change that also disables the monitor.
func disabled(change monitor.MonitorChange) monitor.MonitorChange {
	return func(c *monitor.MonitorConfig) error {
		err := change(c)
		c.Enabled = false
		return err
	}
}
