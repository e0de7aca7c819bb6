package store_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// event writes an event for members, as the monitors and others do.
func (w *world) event(ws kernel.Actor, kind alert.Event, monitor, key string, data monitor.MonitorEventData) {
	w.Helper()
	data.Name = cmp.Or(data.Name, key)
	w.run(`INSERT INTO monitor_events (id, workspace_id, monitor_id, outage_id, kind, data, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		kernel.NewID(kernel.PrefixEvent, w.clock.now()), ws.WorkspaceID, monitor, key, string(kind),
		string(must(json.Marshal(data))(w)), w.clock.now().UnixMilli())
}

// alertsOf returns the alerts of a workspace, the first first, each as its name, state and the seconds until its end.
func (w *world) alertsOf(ws kernel.Actor) (lines []string) {
	w.Helper()
	all, _, err := w.Alerts(w.ctx, ws, store.AlertFilter{}, firstHundred)
	w.ok(err)
	for _, a := range all {
		line := fmt.Sprintf("%s %s %s", a.Name, a.Event, a.State())
		if !a.ResolvedAt.IsZero() {
			line += fmt.Sprint(" ", a.ResolvedAt.Sub(began).Seconds())
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return lines
}

// TestWhichAlertAnEventEnds checks that an event ends the alerts of its workspace, kind and key that last, when it
// happened.
func TestWhichAlertAnEventEnds(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		other := w.otherWorkspace()
		begin := func(ws kernel.Actor, kind alert.Event, key string) {
			w.clock.move(time.Second)
			w.event(ws, kind, "", key, monitor.MonitorEventData{})
		}
		begin(w.ws, alert.MonitorDown, "a")
		begin(w.ws, alert.MonitorDown, "b")
		begin(w.ws, alert.MonitorLate, "a")
		begin(other, alert.MonitorDown, "a")
		w.advanceAlerts()
		end := func(kind alert.Event, key string) {
			w.clock.set(began.Add(time.Minute * time.Duration(len(w.rows(`SELECT id FROM monitor_events`)))))
			w.event(w.ws, kind, "", key, monitor.MonitorEventData{})
			w.clock.move(time.Second)
			w.advanceAlerts()
		}
		end(alert.MonitorUp, "a")
		w.expect("after the end of a", w.alertsOf(w.ws), "a monitor.down resolved 240", "b monitor.down open",
			"a monitor.late open")
		w.expect("the other workspace", w.alertsOf(other), "a monitor.down open")
		end(alert.MonitorUp, "a")
		w.expect("again", w.alertsOf(w.ws), "a monitor.down resolved 240", "b monitor.down open", "a monitor.late open")
		end(alert.MonitorLateEnded, "a")
		w.expect("all", w.alertsOf(w.ws), "a monitor.down resolved 240", "b monitor.down open",
			"a monitor.late resolved 360")
	})
}

// TestReasonsOfAlerts checks what alerts say about why they began and ended.
func TestReasonsOfAlerts(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		for i, c := range []struct {
			data monitor.MonitorEventData
			want string
		}{
			{monitor.MonitorEventData{Cause: monitor.OutageSilent, SilentSince: began},
				"no ping since 2026-03-01 12:00:00 UTC"},
			{monitor.MonitorEventData{Cause: monitor.OutageRunOverdue}, "a run did not end in time"},
			{monitor.MonitorEventData{Cause: monitor.OutageRunTooShort}, "a run was too short"},
			{monitor.MonitorEventData{Cause: monitor.OutageRunTooOften}, "too many runs"},
			{monitor.MonitorEventData{Cause: monitor.OutageRunOverlap}, "two runs at the same time"},
			{monitor.MonitorEventData{Cause: monitor.OutageFailed}, "the job reported a failure"},
			{monitor.MonitorEventData{Cause: monitor.OutageFailed, Detail: "exit 1"}, "exit 1"},
			{monitor.MonitorEventData{Detail: "detail"}, "detail"},
			{monitor.MonitorEventData{}, ""},
		} {
			w.event(w.ws, alert.MonitorDown, "", fmt.Sprint("key ", i), c.data)
			w.advanceAlerts()
			a := must(w.AlertList(w.ctx, w.ws, store.AlertFilter{}, store.AlertCursor{}, 1))(w).Lasting[0]
			if a.Reason != c.want || a.Key != fmt.Sprint("key ", i) {
				w.Errorf("%+v: the reason of %s is %q, want %q", c.data, a.Key, a.Reason, c.want)
			}
			w.clock.move(time.Second)
		}
		for reason, want := range map[string]string{
			monitor.OutageEndedByDisable.String(): "the monitor was disabled",
			monitor.OutageEndedByDelete.String():  "the monitor was deleted",
			"down":                                "the monitor is down", "": "",
		} {
			w.event(w.ws, alert.MonitorDown, "", "end "+reason, monitor.MonitorEventData{})
			w.clock.move(time.Second)
			w.event(w.ws, alert.MonitorUp, "", "end "+reason, monitor.MonitorEventData{Reason: reason})
			w.advanceAlerts()
			a := must(w.AlertList(w.ctx, w.ws, store.AlertFilter{}, store.AlertCursor{}, 1))(w).Ended[0]
			if a.EndReason != want || a.Key != "end "+reason {
				w.Errorf("%q: %s ended because %q, want %q", reason, a.Key, a.EndReason, want)
			}
			w.clock.move(time.Second)
		}
	})
}

// TestEndsAtTheDelay ends alerts when their rule is due, just before, and just after, all before the rule is asked.
func TestEndsAtTheDelay(t *testing.T) {
	for length, want := range map[time.Duration]int{
		time.Minute - time.Millisecond: 0, time.Minute: 1, time.Minute + time.Millisecond: 1,
	} {
		t.Run(length.String(), func(t *testing.T) {
			inInvalidWorlds(t, func(w *world) {
				w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Delay = time.Minute })
				w.event(w.ws, alert.MonitorDown, "", "Shop", monitor.MonitorEventData{})
				w.clock.move(length)
				w.event(w.ws, alert.MonitorUp, "", "Shop", monitor.MonitorEventData{})
				w.clock.move(time.Hour)
				lines := w.notified(time.Hour, taken)
				if len(lines) != want ||
					want > 0 && !strings.HasPrefix(lines[0], "* phone: Shop was down for 1 minute") {
					w.Errorf("messages: %q, want %d", lines, want)
				}
			})
		})
	}
}

// TestRuleIsDueAtItsDelay checks when a rule is due to the millisecond, and what AdvanceAlerts says about it.
func TestRuleIsDueAtItsDelay(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Delay = time.Minute })
		w.event(w.ws, alert.MonitorDown, "", "Shop", monitor.MonitorEventData{})
		due := w.clock.now().Add(time.Minute)
		notices := func() string { w.Helper(); return w.value(`SELECT count(*) FROM alert_notices`) }
		for _, at := range []time.Time{w.clock.now(), due.Add(-time.Millisecond)} {
			w.clock.set(at)
			if next := w.advanceAlerts(); !next.Equal(due) || notices() != "0" {
				w.Errorf("at %s: next %s, want %s; %s notices", at, next, due, notices())
			}
		}
		w.clock.set(due)
		if next := w.advanceAlerts(); !next.IsZero() || notices() != "1" {
			w.Errorf("when it is due: next %s; %s notices", next, notices())
		}
	})
}

// TestHoldsOfOtherRules checks which holds of an alert end when a rule is disabled or deleted: the lasting holds of
// that rule.
func TestHoldsOfOtherRules(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		phone := w.channel("phone")
		first := w.rule(to(phone), func(r *alert.Rule) { r.Name, r.Delay = "first", 10*time.Minute })
		w.clock.move(time.Second) // its id decides the order of what is held at the same time
		second := w.rule(to(phone), func(r *alert.Rule) { r.Name, r.Delay = "second", 20*time.Minute })
		w.event(w.ws, alert.MonitorDown, "", "Shop", monitor.MonitorEventData{})
		w.advanceAlerts()
		silence := must(w.Silences().Create(w.ctx, w.ws, "", resource.Silence.From(alert.Silence{
			EndsAt: w.clock.now().Add(5 * time.Hour),
		})))(w)
		began := w.clock.now()
		w.clock.set(began.Add(10 * time.Minute))
		w.advanceAlerts()
		w.clock.set(began.Add(15 * time.Minute))
		id := w.only(`SELECT id FROM alerts`)
		holds := func(what string, want ...string) {
			w.Helper()
			w.advanceAlerts()
			var got []string
			for _, h := range must(w.Alert(w.ctx, w.ws, id))(w).Holds {
				got = append(got,
					fmt.Sprintf("%s %s %s-%s %t", h.RuleName, h.Reason, h.At.Sub(began), h.Until.Sub(began), h.Over))
			}
			w.expectInOrder(what, got, want...)
		}
		delay, other := fmt.Sprintf("first %s 0s-10m0s true", alert.HeldByDelay),
			fmt.Sprintf("second %s 0s-20m0s", alert.HeldByDelay)
		held := fmt.Sprintf("first %s 10m0s-", alert.HeldBySilence)
		holds("both", delay, other+" false", held+"5h0m0s false")
		w.clock.move(time.Minute)
		must(w.AlertRules().Change(w.ctx, w.ws, "", first.ID, func(r *alert.Rule) error {
			r.Enabled = false
			return nil
		}, kernel.Precondition{}))(w)
		holds("the first is disabled", delay, other+" false", held+"16m0s true")
		w.clock.move(time.Minute)
		w.ok(w.AlertRules().Delete(w.ctx, w.ws, "", second.ID, kernel.Precondition{}))
		holds("the second is deleted", delay, fmt.Sprintf(" %s 0s-17m0s true", alert.HeldByDelay), held+"16m0s true")
		w.ok(w.Silences().Delete(w.ctx, w.ws, "", silence.ID, kernel.Precondition{}))
		w.expect("nobody", w.notified(time.Hour, taken))
	})
}

// TestListsOfAlerts checks which alerts are listed, in which order, in lists of every length.
func TestListsOfAlerts(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		other := w.otherWorkspace()
		job, shop := w.quick("job", w.component, ""), w.quick("shop", w.component, "")
		w.insertAlert(w.ws, "alt_5", alert.MonitorDown, job.ID, 100, 0, 0)
		w.insertAlert(w.ws, "alt_3", alert.MonitorSlow, job.ID, 100, 0, 0)
		w.insertAlert(w.ws, "alt_4", alert.MonitorDown, shop.ID, 200, 210, 0)
		w.insertAlert(w.ws, "alt_2", alert.MonitorDown, shop.ID, 100, 150, 0)
		w.insertAlert(w.ws, "alt_6", alert.MonitorDown, job.ID, 300, 0, 310)
		w.insertAlert(w.ws, "alt_1", alert.MonitorSlow, shop.ID, 300, 305, 310)
		w.insertAlert(w.ws, "alt_7", alert.MonitorLate, shop.ID, 50, 0, 400)
		w.insertAlert(w.ws, "alt_8", alert.MonitorDown, job.ID, 50, 60, 60)
		w.insertAlert(other, "alt_9", alert.MonitorDown, "mon_x", 500, 0, 0)
		w.insertAlert(other, "alt_a", alert.MonitorDown, "mon_x", 500, 600, 0)
		const all = "6 1 4 5 3 2 8 7"
		for _, c := range []struct {
			filter store.AlertFilter
			want   string
		}{
			{store.AlertFilter{}, all},
			{store.AlertFilter{State: alert.Open}, "5 3"},
			{store.AlertFilter{State: alert.Acknowledged}, "4 2"},
			{store.AlertFilter{State: alert.Resolved}, "6 1 8 7"},
			{store.AlertFilter{Event: alert.MonitorSlow}, "1 3"},
			{store.AlertFilter{Monitor: job.ID}, "6 5 3 8"},
			{store.AlertFilter{Monitor: "shop"}, "1 4 2 7"},
			{store.AlertFilter{Monitor: "mon_x"}, ""},
			{store.AlertFilter{State: alert.Resolved, Event: alert.MonitorDown, Monitor: "job"}, "6 8"},
		} {
			found, total, err := w.Alerts(w.ctx, w.ws, c.filter, firstHundred)
			if got := alertNames(found); err != nil || got != c.want || total != len(strings.Fields(c.want)) {
				w.Errorf("alerts with %+v: %s (%d), %v, want %s", c.filter, got, total, err, c.want)
			}
			for limit := 1; limit <= 9; limit++ {
				lasting, ended := w.readAlerts(c.filter, limit)
				wantLasting, wantEnded := splitEnded(c.want)
				if c.filter.State == "" { // only at the beginning
					wantLasting = wantLasting[:min(limit, len(wantLasting))]
				}
				if alertNames(ended) != strings.Join(wantEnded, " ") ||
					alertNames(lasting) != strings.Join(wantLasting, " ") {
					w.Errorf("%+v, limit %d: %s lasts and %s has ended, want %s and %s", c.filter, limit,
						alertNames(lasting), alertNames(ended), wantLasting, wantEnded)
				}
			}
		}
		got := must(w.AlertStanding(w.ctx, other))(w).AlertCounts
		if got != (store.AlertCounts{Open: 1, Acknowledged: 1}) {
			w.Errorf("the other workspace: %+v", got)
		}
		if _, err := w.Alert(w.ctx, other, "alt_5"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("reading an alert of another workspace: %v", err)
		}
		if _, err := w.AcknowledgeAlert(w.ctx, other, "alt_5"); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("acknowledging an alert of another workspace: %v", err)
		}
	})
}

func nullIfZero(n int) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// insertAlert writes an alert with the times at which it was opened, acknowledged and resolved; 0: not yet.
func (w *world) insertAlert(
	ws kernel.Actor, id string, event alert.Event, monitor string, opened, acknowledged, resolved int,
) {
	w.Helper()
	w.run(`INSERT INTO alerts (id, workspace_id, event, event_key, monitor_id, subject, opened_at, notify_at,
		acknowledged_at, resolved_at)
		VALUES ($1, $2, $3, $1, $4, $5, $6, $6, $7, $8)`, id, ws.WorkspaceID, string(event), monitor,
		fmt.Sprintf(`{"event":%q,"name":%q}`, event, id), nullIfZero(opened), nullIfZero(acknowledged),
		nullIfZero(resolved))
}

// alertNames returns the ids of alerts, without their prefix.
func alertNames(alerts []alert.Alert) string {
	var ids []string
	for _, a := range alerts {
		ids = append(ids, strings.TrimPrefix(a.ID, "alt_"))
	}
	return strings.Join(ids, " ")
}

// readAlerts reads the list of alerts to its end, with at most limit alerts in a part.
func (w *world) readAlerts(filter store.AlertFilter, limit int) (lasting, ended []alert.Alert) {
	w.Helper()
	for cursor, first := (store.AlertCursor{}), true; first ||
		cursor != (store.AlertCursor{}); first = false {
		l := must(w.AlertList(w.ctx, w.ws, filter, cursor, limit))(w)
		if l.Counts != (store.AlertCounts{Open: 2, Acknowledged: 2}) || len(l.Ended) > limit ||
			len(l.Lasting) > limit {
			w.Errorf("AlertList with %+v: %+v", filter, l)
		}
		if !first && len(l.Ended)+len(l.Lasting) == 0 {
			w.Errorf("%+v: an empty part with the limit %d", filter, limit)
		}
		for _, a := range l.Lasting {
			lasting = append(lasting, a.Alert)
		}
		ended, cursor = append(ended, l.Ended...), l.Next
	}
	return lasting, ended
}

// splitEnded divides the alerts of TestListsOfAlerts into the lasting and the ended ones.
func splitEnded(ids string) (lasting, ended []string) {
	for _, id := range strings.Fields(ids) {
		if strings.Contains("6 1 8 7", id) {
			ended = append(ended, id)
		} else {
			lasting = append(lasting, id)
		}
	}
	return lasting, ended
}

// TestAcknowledgementIsAudited checks what an acknowledgement changes in each state of an alert.
func TestAcknowledgementIsAudited(t *testing.T) {
	inInvalidWorlds(t, func(w *world) {
		w.rule(to(w.channel("phone")), func(r *alert.Rule) { r.Repeat = time.Hour })
		w.event(w.ws, alert.MonitorDown, "", "open", monitor.MonitorEventData{})
		w.event(w.ws, alert.MonitorDown, "", "over", monitor.MonitorEventData{})
		w.notified(5*time.Second, taken)
		w.event(w.ws, alert.MonitorUp, "", "over", monitor.MonitorEventData{})
		w.notified(5*time.Second, taken)
		for range 2 {
			for _, id := range w.rows(`SELECT id FROM alerts ORDER BY id`) {
				must(w.AcknowledgeAlert(w.ctx, w.ws, id))(w)
			}
		}
		log, _, err := w.AuditLog(w.ctx, w.ws, kernel.AuditFilter{Action: kernel.AuditAcknowledge}, "", 10)
		w.ok(err)
		if len(log) != 1 || log[0].Object.Name != "open" ||
			string(log[0].After) != fmt.Sprintf(`{"acknowledged_by":%q}`, w.ws.Name) {
			w.Errorf("audited: %+v", log)
		}
		w.expect("acknowledged", w.rows(`SELECT acknowledged_at FROM alerts WHERE acknowledged_at IS NOT NULL`),
			fmt.Sprint(w.clock.now().UnixMilli()))
		w.expect("due", w.rows(`SELECT alert_id FROM alert_progress WHERE due_at IS NOT NULL`))
	})
}

// TestGapsThatTouch reports lost pings whose gap touches an earlier one, or just does not.
func TestGapsThatTouch(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		from, to  time.Duration // of the second gap; the first lasts from 10 to 40 seconds
		want      string
		announced int
	}{
		"within":           {20 * time.Second, 40 * time.Second, "10000|40000", 1},
		"it continues":     {40 * time.Second, 50 * time.Second, "10000|50000", 1},
		"within the pause": {45 * time.Second, 50 * time.Second, "10000|50000", 1},
		"apart":            {45*time.Second + ms, 50 * time.Second, "10000|40000 45001|50000", 1},
		"apart and long":   {45*time.Second + ms, 75*time.Second + ms, "10000|40000 45001|75001", 2},
		"a bit too short":  {45*time.Second + ms, 75 * time.Second, "10000|40000 45001|75000", 1},
		"earlier":          {5 * time.Second, 50 * time.Second, "5000|50000", 2},
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				other, disabled := w.otherWorkspace(), w.rule(to(w.channel("phone")), func(r *alert.Rule) {
					r.Events = []alert.Event{alert.ServiceGap}
				})
				first := alert.Channel{
					Type: "discord", Name: "phone", Enabled: true, Config: json.RawMessage(`{}`), MaxPerMinute: 60,
				}
				disabled.ChannelIDs, disabled.Enabled =
					[]string{must(w.AlertChannels().Create(w.ctx, other, "", resource.Channel.From(first)))(w).ID},
					false
				must(w.AlertRules().Create(w.ctx, other, "", func(r *alert.Rule) error {
					err := resource.AlertRule.From(disabled)(r)
					r.Enabled = false // which From does not set, because it is zero
					return err
				}))(w)
				lose := func(from, to time.Duration) {
					w.clock.set(began.Add(to))
					w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{
						Replica: "a", Lost: to - from, LosingPings: true,
					}))
				}
				lose(10*time.Second, 40*time.Second)
				lose(c.from, c.to)
				w.expect("gaps",
					w.rows(fmt.Sprintf(`SELECT from_at - %[1]d, to_at - %[1]d FROM listening_gaps ORDER BY from_at`,
						began.UnixMilli())),
					strings.Fields(c.want)...)
				announced := slices.Repeat([]string{w.ws.WorkspaceID}, c.announced)
				w.expect("announced", w.rows(`SELECT workspace_id FROM monitor_events WHERE kind = 'service.gap'`),
					announced...)
			})
		})
	}
}
