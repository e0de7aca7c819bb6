package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// TestSilenceEndsWhileItHoldsAnAlert ends a silence on a replica while another one holds an alert back because of it:
// the alert is sent immediately, not when the silence would have ended.
func TestSilenceEndsWhileItHoldsAnAlert(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		v := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
			EndsAt: w.clock.now().Add(24 * time.Hour), Comment: "work",
		})))(w)
		w.goDown(job)
		w.ok(w.overlap(func(s *store.Store) error {
			_, _, err := s.AdvanceAlerts(w.ctx)
			return err
		}, func(s *store.Store) error { return s.Silences().Delete(w.ctx, w.ws, "", v.ID, kernel.Precondition{}) }))
		lines := w.notified(10*time.Second, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "phone: Nightly backup is down") {
			t.Errorf("after the silence: %q", lines)
		}
	})
}

// TestChangedSilenceHoldsOn checks that an alert is held back by one hold while any silence matches it, until the last
// of them ends.
func TestChangedSilenceHoldsOn(t *testing.T) {
	inWorlds(t, func(w *world) {
		job, other := w.quick("Nightly backup", w.component, ""), w.quick("Shop", w.component, "")
		w.rule(to(w.channel("phone")))
		began := w.clock.now()
		silence := func(hours time.Duration, monitor monitor.Monitor) alert.Silence {
			return must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
				EndsAt: began.Add(hours * time.Hour), Filter: alert.Filter{Monitors: []string{monitor.ID}},
			})))(w)
		}
		first, second := silence(5, job), silence(3, job)
		unrelated := silence(9, other)
		w.goDown(job)
		w.advanceAlerts()
		all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{}, firstHundred)
		w.ok(err)
		holds := func(what string, v alert.Silence, change func(*alert.Silence), until time.Time, over bool) {
			w.clock.move(time.Minute)
			must(w.Silences().Change(w.ctx, w.ws, "", v.ID, func(v *alert.Silence) error {
				change(v)
				return nil
			}, kernel.Precondition{}))(w)
			w.advanceAlerts()
			h := must(w.Alert(w.ctx, w.ws, all[0].ID))(w).Holds
			if len(h) != 1 || h[0].Over != over || !h[0].Until.Equal(until) {
				t.Errorf("%s: %+v, want until %s", what, h, until)
			}
		}
		holds("a comment", first, func(v *alert.Silence) { v.Comment = "work" }, first.EndsAt, false)
		holds("an unrelated silence", unrelated, func(v *alert.Silence) {
			v.EndsAt = began.Add(8 * time.Hour)
		}, first.EndsAt, false)
		holds("a later end", first, func(v *alert.Silence) {
			v.EndsAt = began.Add(6 * time.Hour)
		}, began.Add(6*time.Hour), false)
		holds("another silence matches", first, func(v *alert.Silence) {
			v.Monitors = []string{other.ID}
		}, second.EndsAt, false)
		holds("none matches", second, func(v *alert.Silence) {
			v.Monitors = []string{other.ID}
		}, w.clock.now().Add(time.Minute), true)
	})
}

// TestSilenceOfAnotherWorkspace checks that a silence holds nothing back in other workspaces, even if nothing limits
// it.
func TestSilenceOfAnotherWorkspace(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		must(w.Silences().Create(w.ctx, w.otherWorkspace(), "", resource.Silence.From(alert.Silence{
			EndsAt: w.clock.now().Add(24 * time.Hour),
		})))(w)
		w.goDown(job)
		lines := w.notified(10*time.Second, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "phone: Nightly backup is down") {
			t.Errorf("messages: %q", lines)
		}
	})
}

// TestSilenceIsPutOff checks that what a silence holds back is sent immediately when its beginning is moved into the
// future.
func TestSilenceIsPutOff(t *testing.T) {
	inWorlds(t, func(w *world) {
		job := w.quick("Nightly backup", w.component, "")
		w.rule(to(w.channel("phone")))
		v := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
			EndsAt: w.clock.now().Add(24 * time.Hour),
		})))(w)
		w.goDown(job)
		w.expect("silenced", w.notified(10*time.Minute, taken))
		must(w.Silences().Change(w.ctx, w.ws, "", v.ID, func(v *alert.Silence) error {
			v.StartsAt = w.clock.now().Add(time.Hour)
			return nil
		}, kernel.Precondition{}))(w)
		lines := w.notified(10*time.Second, taken)
		if len(lines) != 1 || !strings.Contains(lines[0], "phone: Nightly backup is down") {
			t.Errorf("after the silence was put off: %q", lines)
		}
	})
}

// TestCommentsOfSilences checks that a comment which would not be accepted today hinders no other change.
func TestCommentsOfSilences(t *testing.T) {
	inWorlds(t, func(w *world) {
		v := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
			EndsAt: w.clock.now().Add(time.Hour), Comment: "one\n\ttwo",
		})))(w)
		change := func(f func(*alert.Silence)) error {
			_, err := w.Silences().Change(w.ctx, w.ws, "", v.ID, func(v *alert.Silence) error {
				f(v)
				return nil
			}, kernel.Precondition{})
			return err
		}
		wants := func(comment string) {
			t.Helper()
			if got := must(w.Silences().Get(w.ctx, w.ws, "", v.ID))(w); got.Comment != comment {
				w.Errorf("the comment is %q, want %q", got.Comment, comment)
			}
		}
		wants("one\n\ttwo")
		w.ok(change(func(v *alert.Silence) { v.Comment = "three\nfour" }))
		wants("three\nfour")
		w.run(`UPDATE silences SET comment = $2 WHERE id = $1`, v.ID, "a\u202eb")
		w.ok(change(func(v *alert.Silence) { v.EndsAt = v.EndsAt.Add(time.Hour) }))
		wants("a\u202eb")
		w.refused(change(func(v *alert.Silence) { v.Comment = "a\u202ec" }), "comment")
	})
}

// TestEndedSilenceReleasesInstants checks that what a silence holds back is sent when the silence ends earlier than
// planned, also if it is about an instant, and that an outage which was over by then is not.
func TestEndedSilenceReleasesInstants(t *testing.T) {
	ended := map[string]func(w *world, s alert.Silence){
		"ended": func(w *world, s alert.Silence) {
			w.ok(w.Silences().Delete(w.ctx, w.ws, "", s.ID, kernel.Precondition{}))
		},
		"shortened": func(w *world, s alert.Silence) {
			must(w.Silences().Change(w.ctx, w.ws, "", s.ID, func(s *alert.Silence) error {
				s.EndsAt = w.clock.now().Add(time.Minute)
				return nil
			}, kernel.Precondition{}))(w)
		},
	}
	for name, end := range ended {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.rule(to(w.channel("phone")), func(r *alert.Rule) {
					r.Events = []alert.Event{alert.MonitorDown, alert.MonitorUp}
				})
				silence := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
					EndsAt: w.clock.now().Add(5 * time.Hour),
				})))(w)
				job := w.quick("Nightly backup", w.component, "")
				w.goDown(job)
				w.expect("silenced", w.notified(time.Minute, taken))
				w.pinged(job)
				w.expect("silenced", w.notified(time.Minute, taken))
				end(w, silence)
				w.expect("released", w.notified(2*time.Minute, taken), "* phone: Nightly backup is up again")
				all, _, err := w.Alerts(w.ctx, w.ws, store.AlertFilter{Event: alert.MonitorUp}, firstHundred)
				w.ok(err)
				d := must(w.Alert(w.ctx, w.ws, all[0].ID))(w)
				if len(d.Holds) != 1 || !d.Holds[0].Over || d.Holds[0].Until.After(w.clock.now()) {
					w.Errorf("holds %+v", d.Holds)
				}
			})
		})
	}
}

// TestSilencesAreLimited checks that a workspace can have alert.MaxSilences silences that have not ended, however many
// have.
func TestSilencesAreLimited(t *testing.T) {
	inWorlds(t, func(w *world) {
		db, _ := w.Pools()
		add := func(prefix string, count int, ends time.Time) {
			_, err := db.ExecContext(w.ctx, fmt.Sprintf(`INSERT INTO silences
				(id, workspace_id, filter, comment, starts_at, ends_at, created_by, created_at, updated_at)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				SELECT '%s' || i, '%s', '{}', '', 0, %d, '', 0, 0 FROM n`, count, alert.PrefixSilence+prefix,
				w.ws.WorkspaceID, ends.UnixMilli()))
			w.ok(err)
		}
		create := func() (alert.Silence, error) {
			return w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
				EndsAt: w.clock.now().Add(time.Hour),
			}))
		}
		add("ended", alert.MaxSilences, w.clock.now())
		add("lasting", alert.MaxSilences-1, w.clock.now().Add(time.Hour))
		last := must(create())(w)
		_, err := create()
		var bad *kernel.ValidationError
		if !errors.As(err, &bad) || len(bad.Messages()["ends_at"]) != 1 {
			t.Errorf("one more: %v", err)
		}
		w.ok(w.Silences().Delete(w.ctx, w.ws, "", last.ID, kernel.Precondition{}))
		must(create())(w)
	})
}
