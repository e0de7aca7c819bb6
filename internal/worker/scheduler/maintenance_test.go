package scheduler

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// onVirtualTime runs f in a synctest bubble, with a running Scheduler on a SQLite
// database.
func onVirtualTime(t *testing.T, f func(t *testing.T, w *Scheduler, dsn string, ws kernel.Actor, log *bytes.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		log := new(bytes.Buffer)
		dsn := "sqlite:" + filepath.Join(t.TempDir(), "allswell.db")
		s, err := store.Open(context.Background(), dsn, store.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ws, _ := storetest.Workspace(t, s, "default")
		_, err = s.CreatePage(t.Context(), ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
		if err != nil {
			t.Fatal(err)
		}
		w := New(Config{
			Store: s, Period: time.Minute, Replica: "a", Logger: slog.New(slog.NewTextHandler(log, nil)),
			Backlog: func() time.Duration { return 0 },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.runMaintenances(ctx); close(done) }()
		f(t, w, dsn, ws, log)
		cancel()
		<-done // runMaintenances ends with its context
	})
}

// maintenanceOf returns a maintenance without a reminder.
func maintenanceOf(from time.Time, length time.Duration) func(*statuspage.Maintenance) error {
	return func(m *statuspage.Maintenance) error {
		m.Title, m.ScheduledFor, m.ScheduledUntil, m.RemindBefore = "Disks", from, from.Add(length), 0
		return nil
	}
}

// TestMaintenanceIsOnTime checks that a maintenance that this store has scheduled starts
// and ends on time, and one that another replica has scheduled or moved at most
// maintenancePoll later.
func TestMaintenanceIsOnTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beside bool
		late   time.Duration
	}{"planned here": {false, 0}, "planned by another replica": {true, maintenancePoll}} {
		t.Run(name, func(t *testing.T) {
			onVirtualTime(t, func(t *testing.T, w *Scheduler, dsn string, ws kernel.Actor, log *bytes.Buffer) {
				_, err := w.Store.CreateMaintenance(t.Context(), ws, "acme",
					maintenanceOf(time.Now().Add(time.Hour), time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // it waits for the start
				by := w.Store
				if c.beside { // a store without a Scheduler
					by = beside(t, dsn)
					defer by.Close()
				}
				from := time.Now().Add(2 * time.Second).Truncate(time.Millisecond).UTC()
				m, err := by.CreateMaintenance(t.Context(), ws, "acme", maintenanceOf(from, 90*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				until := m.ScheduledUntil
				time.Sleep(time.Until(from.Add(c.late)) + time.Millisecond)
				synctest.Wait()
				now := maintenanceNow(t, w, ws, m.ID)
				if now.State != statuspage.MaintenanceInProgress || now.BegunAt.Before(from) ||
					now.BegunAt.After(from.Add(c.late)) {
					t.Errorf("begun at %v (%s), want %v, or %v later", now.BegunAt, now.State, from, c.late)
				}
				time.Sleep(time.Until(until.Add(c.late)) + time.Millisecond)
				synctest.Wait()
				now = maintenanceNow(t, w, ws, m.ID)
				if now.State != statuspage.MaintenanceCompleted || now.EndedAt.Before(until) ||
					now.EndedAt.After(until.Add(c.late)) {
					t.Errorf("ended at %v (%s), want %v, or %v later", now.EndedAt, now.State, until, c.late)
				}
				for _, line := range []string{
					`msg="maintenance began" maintenance=` + m.ID + ` name=Disks`,
					`msg="maintenance ended" maintenance=` + m.ID,
				} {
					if strings.Count(log.String(), line) != 1 {
						t.Errorf("the log does not contain exactly one %s:\n%s", line, log)
					}
				}
			})
		})
	}
}

// beside opens a second store on the database.
func beside(t *testing.T, dsn string) *store.Store {
	t.Helper()
	s, err := store.OpenBeside(context.Background(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func maintenanceNow(t *testing.T, w *Scheduler, ws kernel.Actor, id string) statuspage.Maintenance {
	t.Helper()
	m, err := w.Store.Maintenance(t.Context(), ws, id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMaintenanceSurvivesDatabaseOutage checks that failures are logged and retried.
func TestMaintenanceSurvivesDatabaseOutage(t *testing.T) {
	onVirtualTime(t, func(t *testing.T, w *Scheduler, _ string, _ kernel.Actor, log *bytes.Buffer) {
		synctest.Wait()
		if err := w.Store.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(3*maintenancePoll + time.Millisecond)
		synctest.Wait()
		if n := strings.Count(log.String(), "advancing planned maintenance failed"); n != 3 {
			t.Errorf("%d lines in the log, want 3:\n%s", n, log)
		}
	})
}

// TestMaintenanceStartsBeforeTick checks that a tick first starts a maintenance that is
// due, so that a monitor under it does not go down.
func TestMaintenanceStartsBeforeTick(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	storetest.RunWith(t, func(*testing.T) store.Options {
		now.Store(noon.UnixMilli())
		return store.Options{Clock: func() time.Time { return time.UnixMilli(now.Load()) }, FailureThreshold: 1}
	}, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		ws, _ := storetest.Workspace(t, s, "default")
		_, errPage := s.CreatePage(ctx, ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
		c, errComponent := s.Components().Create(ctx, ws, "acme",
			resource.Component.From(statuspage.Component{Name: "API"}))
		job := monitor.MonitorConfig{Name: "job", Interval: time.Minute, PageSlug: "acme", ComponentID: c.ID}
		m, errMonitor := s.CreateMonitor(ctx, ws, monitor.MonitorOf(job))
		_, errPing := s.RecordPings(ctx, []string{m.Token}, store.LivenessRecord{Replica: "a"}, store.PingOrigins{})
		_, errPlan := s.CreateMaintenance(ctx, ws, "acme", func(m *statuspage.Maintenance) error {
			m.Components = statuspage.ComponentRefs(c.ID)
			return maintenanceOf(noon.Add(time.Minute), time.Hour)(m)
		})
		if err := errors.Join(errPage, errComponent, errMonitor, errPing, errPlan); err != nil {
			t.Fatal(err)
		}
		for second := 5.0; second <= 120; second += 5 {
			now.Store(at(second).UnixMilli())
			if err := s.RecordLiveness(ctx, store.LivenessRecord{Replica: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		w := New(Config{
			Store: s, Period: time.Minute, Replica: "a", Logger: slog.New(slog.DiscardHandler),
			Backlog: func() time.Duration { return 0 },
		})
		w.Tick(ctx, at(120))
		m, err := s.Monitor(ctx, ws, m.ID)
		if err != nil || m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 {
			t.Errorf("after the tick: %+v, %v", m, err)
		}
	})
}
