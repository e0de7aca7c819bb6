package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// late lets a monitor that was pinged just now become late. It is not down before the tenth tick.
func (w *world) late(m monitor.Monitor) {
	w.Helper()
	w.pass(m.Interval + 2*time.Minute)
	if got := w.monitorNow(m); got.DisplayState() != monitor.MonitorLate {
		w.Fatalf("the monitor is %s", got.DisplayState())
	}
}

// TestLateMonitorsNotify checks that a rule about late monitors notifies of them, and of every way in which that ends.
func TestLateMonitorsNotify(t *testing.T) {
	inWorlds(t, func(w *world) {
		first := w.createPinged("first")
		w.late(first)
		w.expect("nobody asks", w.rows(`SELECT kind FROM monitor_events WHERE kind = 'monitor.late'`))
		w.ok(w.DeleteMonitor(w.ctx, w.ws, first.ID))

		w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Events = []alert.Event{alert.MonitorLate} })
		w.rule(to(w.channel("serious")), func(r *alert.Rule) {
			r.Name, r.Events, r.Severities = "severe", []alert.Event{alert.MonitorLate},
				[]kernel.Impact{kernel.ImpactCritical}
		})
		for _, c := range []struct {
			name       string
			end        func(monitor.Monitor)
			title, why string
		}{
			{"pinged", func(m monitor.Monitor) { w.pinged(m) }, "pinged is on time again after ", ""},
			{"down", func(monitor.Monitor) {
				w.pass(10 * time.Minute)
			}, "Alert for down resolved after ", " / The monitor is down."},
			{"deleted", func(m monitor.Monitor) {
				w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID))
			}, "Alert for deleted resolved after ", " / The monitor was deleted."},
			{"disabled", func(m monitor.Monitor) {
				must(w.ChangeMonitor(w.ctx, w.ws, m.ID, func(c *monitor.MonitorConfig) error {
					c.Enable(false)
					return nil
				}))(w)
			}, "Alert for disabled resolved after ", " / The monitor was disabled."},
		} {
			m := w.createPinged(c.name)
			w.late(m)
			w.notifiedOnce(c.name+" is late", "* phone: "+c.name+" is late / No ping since 2026-03-01 ", " UTC.")
			w.pass(time.Minute)
			w.expect(c.name+" is late only once", w.notified(3*time.Second, taken))
			c.end(m)
			w.pass(time.Minute)
			w.notifiedOnce("the end of "+c.name, "> phone: "+c.title, c.why)
			w.tick()
			w.expect("ends once", w.notified(3*time.Second, taken))
			if c.name != "deleted" {
				w.ok(w.DeleteMonitor(w.ctx, w.ws, m.ID))
			}
		}
		open := store.AlertFilter{Event: alert.MonitorLate, State: alert.Open}
		if all, total, err := w.Alerts(w.ctx, w.ws, open, firstHundred); err != nil || total != 0 {
			t.Errorf("open: %+v, %v", all, err)
		}
	})
}

// createPinged creates a monitor that is late long before it is down, and pings it.
func (w *world) createPinged(name string) monitor.Monitor {
	w.Helper()
	m := must(w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: name, Interval: 5 * time.Minute, FailureThreshold: 10,
	})))(w)
	w.pinged(m)
	return m
}

// TestCertificatesNotify checks that certificates have an event apart from other warnings, with one of their end.
func TestCertificatesNotify(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone := w.channel("phone")
		w.rule(to(phone), func(r *alert.Rule) { r.Events = []alert.Event{alert.MonitorCertificate} })
		w.rule(to(w.channel("others")), func(r *alert.Rule) {
			r.Name, r.Events = "others", []alert.Event{alert.MonitorWarning}
		})
		m := w.newCheck("shop")
		result := func(warning string) {
			w.Helper()
			w.pass(time.Minute)
			r := w.resultOf(w.claimChecks("a", "")[0], monitor.CheckOK)
			r.Warning, r.Reason = warning != "", warning
			w.ok(w.RecordCheckResults(w.ctx, []monitor.CheckResult{r}))
		}
		result("the certificate expires in 20 days")
		w.expect("warned", w.notified(3*time.Second, taken),
			"* phone: shop has a certificate that expires soon / The certificate expires in 20 days.")
		f := must(w.ForecastAlert(w.ctx, w.ws, store.AlertQuestion{Event: alert.MonitorCertificate, Monitor: m.ID}))(w)
		about := slices.IndexFunc(f.Rules, func(r store.RuleForecast) bool { return r.Differs == "" })
		if len(f.Rules) != 2 || about < 0 || len(f.Rules[about].Steps) != 1 || f.Rules[1-about].Differs != "events" ||
			f.Subject.Severity != kernel.ImpactMinor {
			t.Errorf("forecast: %+v", f)
		}
		result("")
		lines := w.notified(3*time.Second, taken)
		if len(lines) != 1 ||
			!strings.HasPrefix(lines[0], "> phone: shop has a certificate that does not expire soon after ") {
			t.Errorf("renewed: %q", lines)
		}
	})
}

// TestCertificatesAfterMigration checks that what was about certificates as warnings still is.
func TestCertificatesAfterMigration(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		if err := store.MigrateTo(t.Context(), dsn, 68); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			`INSERT INTO workspaces (id, name, created_at) VALUES ('ws_1', 'acme', 1)`,
			`INSERT INTO alert_rules (id, workspace_id, name, enabled, rule, created_at, updated_at)
				VALUES ('rul_1', 'ws_1', 'r', TRUE, '{"events":["monitor.down","monitor.warning"]}', 1, 1)`,
			`INSERT INTO silences (id, workspace_id, filter, comment, starts_at, ends_at, created_by, created_at,
				updated_at) VALUES ('sil_1', 'ws_1', '{"events":["monitor.warning"]}', '', 1, 2, 'a', 1, 1)`,
			`INSERT INTO monitors (id, workspace_id, name, token, interval_ms, enabled, failure_threshold, down_status,
				state, consecutive_failures, created_at, updated_at)
				VALUES ('mon_1', 'ws_1', 'shop', 't', 1000, TRUE, 1, 'major_outage', 'up', 0, 1, 1)`,
			`INSERT INTO warnings (id, monitor_id, number, condition, message, warned_at)
				VALUES ('wrn_1', 'mon_1', 1, 'certificate_expiry', 'm', 1), ('wrn_2', 'mon_1', 2, 'no_overlap', 'm',
				1)`,
			`INSERT INTO alerts (id, workspace_id, event, event_key, monitor_id, subject, opened_at, tell_at) VALUES
				('alt_1', 'ws_1', 'monitor.warning', 'wrn_1', 'mon_1', '{"event":"monitor.warning","name":"shop"}', 1,
				61), ('alt_2', 'ws_1', 'monitor.warning', 'wrn_2', 'mon_1', '{"event":"monitor.warning","name":"shop"}',
				1, 1)`,
		} {
			execRaw(t, dsn, statement)
		}
		w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn}
		w.Store = w.replica()
		w.expect("migrated",
			w.rows(`SELECT rule FROM alert_rules UNION ALL SELECT filter FROM silences UNION ALL
				SELECT event || subject FROM alerts`),
			`{"events":["monitor.down","monitor.warning","monitor.certificate"]}`,
			`{"events":["monitor.warning","monitor.certificate"]}`,
			`monitor.certificate{"event":"monitor.certificate","name":"shop"}`,
			`monitor.warning{"event":"monitor.warning","name":"shop"}`)
		w.expect("when channels may be notified", w.rows(`SELECT notify_at FROM alerts ORDER BY id`), "61", "1")
	})
}
