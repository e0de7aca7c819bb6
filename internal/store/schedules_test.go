package store_test

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestSchedulesOfExistingMonitors checks that migrations 50 and 58 keep the schedules and deadlines of monitors.
func TestSchedulesOfExistingMonitors(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn}
		w.ok(store.MigrateTo(w.ctx, dsn, 49))
		execRaw(t, dsn, `INSERT INTO workspaces (id, name, created_at) VALUES ('ws_1', 'one', 1)`)
		for _, name := range []string{"interval", "cron"} {
			execRaw(t, dsn,
				`INSERT INTO monitors (id, workspace_id, slug, name, token, interval_ms, enabled, failure_threshold,
					down_status, state,
					consecutive_failures, last_ping_at, waiting_since_at, next_check_at, created_at, updated_at)
				VALUES ('mon_`+name+`', 'ws_1', '`+name+`', '`+name+`', 'token-`+name+
					`', 90000000, TRUE, 0, 'major_outage', 'up', 0,
					1772000000000, 1772000000000, 1772090000000, 1, 1)`)
		}
		w.ok(store.MigrateTo(w.ctx, dsn, 51))
		execRaw(t, dsn,
			`UPDATE monitors SET cron_expression = '30 2 * * *', cron_zone = 'Europe/Berlin', grace_ms = 300000
				WHERE id = 'mon_cron'`)
		w.Store = w.replica()
		since := time.UnixMilli(1_772_000_000_000).UTC()
		want := map[string]schedule.PingWait{
			"mon_interval": {Since: since, Interval: 25 * time.Hour},
			"mon_cron": {
				Since: since, Interval: 25 * time.Hour, Grace: 5 * time.Minute,
				Cron: schedule.Cron{Expression: "30 2 * * *", TimeZone: "Europe/Berlin"},
			},
		}
		monitors := w.stored()
		if len(monitors) != len(want) {
			t.Fatalf("%d monitors", len(monitors))
		}
		for _, m := range monitors {
			if wait, ok := m.Wait(); !ok || wait != want[m.ID] {
				t.Errorf("%s waits as %+v, want %+v", m.ID, wait, want[m.ID])
			}
		}
	})
}

// TestCalendarSchedule follows a monitor with a calendar from a ping to an outage and back.
func TestCalendarSchedule(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.onCalendar()
		w.clock.set(w.clock.now().Truncate(10 * time.Minute).Add(10 * time.Minute))
		w.recordLiveness()
		w.run(`DELETE FROM listening_gaps`)
		w.pinged(m)
		due := w.clock.now().Add(10 * time.Minute)
		times := w.monitorNow(m).DueTimes(w.clock.now(), 2)
		if !times[0].Equal(due) || !times[1].Equal(due.Add(10*time.Minute)) {
			w.Errorf("due at %v, want %v", times, due)
		}
		w.pass(12 * time.Minute)
		if m := w.monitorNow(m); m.State != monitor.MonitorUp || !m.NextCheckAt.Equal(due.Add(2*time.Minute)) {
			w.Errorf("in its grace: %s, due at %v", m.State, m.NextCheckAt)
		}
		w.pass(time.Minute)
		if m := w.monitorNow(m); m.State != monitor.MonitorDown {
			w.Errorf("after its grace: %s", m.State)
		}
		w.pinged(m)
		if m := w.monitorNow(m); m.State != monitor.MonitorUp || !m.NextCheckAt.Equal(due.Add(12*time.Minute)) {
			w.Errorf("after a ping: %s, due at %v", m.State, m.NextCheckAt)
		}
	})
}

// TestScheduleIsReplaced replaces a calendar by a cron expression, by one of Kubernetes, and by an interval.
func TestScheduleIsReplaced(t *testing.T) {
	inWorlds(t, func(w *world) {
		m := w.onCalendar()
		cron := schedule.Cron{Expression: "*/5 * * * *", TimeZone: "UTC"}
		m = must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Reschedule(0, cron)
			return nil
		}, kernel.Precondition{}))(w)
		stored := w.monitorNow(m)
		if stored.Cron != cron || stored.Interval != 5*time.Minute || stored.Grace != 2*time.Minute {
			w.Errorf("with another schedule: %+v", stored)
		}
		cron.Kubernetes = true
		m = must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Reschedule(0, cron)
			return nil
		}, kernel.Precondition{}))(w)
		if stored := w.monitorNow(m); stored.Cron != cron {
			w.Errorf("with a schedule of Kubernetes: %+v", stored)
		}
		n := must(w.CreateMonitor(w.ctx, w.ws,
			monitor.MonitorOf(monitor.MonitorConfig{Name: "CronJob", Cron: cron})))(w)
		if w.monitorNow(n).Cron != cron {
			w.Errorf("created with a schedule of Kubernetes: %+v", n)
		}
		m = must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Reschedule(time.Hour, schedule.Cron{})
			return nil
		}, kernel.Precondition{}))(w)
		if stored := w.monitorNow(m); !stored.Cron.IsZero() || stored.Interval != time.Hour || stored.Grace != 0 {
			w.Errorf("with an interval: %+v", stored)
		}
	})
}

// onCalendar creates a monitor that pings every ten minutes by a calendar.
func (w *world) onCalendar() monitor.Monitor {
	w.Helper()
	calendar := schedule.NewCalendar("*:0/10 Europe/Berlin", "")
	m := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "refresh", Cron: calendar, Grace: 2 * time.Minute, FailureThreshold: 1, PageSlug: "acme",
	})))(w)
	if m.Cron != calendar || m.Interval != 70*time.Minute || m.Grace != 2*time.Minute {
		w.Fatalf("created %+v", m)
	}
	return m
}
