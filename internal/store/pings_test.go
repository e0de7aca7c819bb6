package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/go-cmp/cmp"
)

// fill makes n monitors without a component on the world's page and returns
// them as they are stored, by id.
func (w *world) fill(n int, interval time.Duration) []monitor.Monitor {
	w.Helper()
	tokens := must(store.FillMonitors(w.ctx, w.Store, w.ws.WorkspaceID, "acme", n, interval))(w)
	return slices.DeleteFunc(w.stored(), func(m monitor.Monitor) bool { return !slices.Contains(tokens, m.Token) })
}

func (w *world) stored() []monitor.Monitor {
	w.Helper()
	return must(w.AllMonitors(w.ctx))(w)
}

// tokensOf returns the ping tokens of monitors.
func tokensOf(monitors []monitor.Monitor) []string {
	tokens := make([]string, len(monitors))
	for i, m := range monitors {
		tokens[i] = m.Token
	}
	return tokens
}

// scatter puts monitors into random conditions behind the store's back: up or
// down, disabled, never pinged, pinged at any time, also ahead, restarted by a
// human, counted, refused. What it writes is what some life could have led to.
func (w *world) scatter(random *rand.Rand, monitors []monitor.Monitor) {
	w.Helper()
	now := w.clock.now().UnixMilli()
	for _, m := range monitors {
		interval := int64(1+random.IntN(600)) * 1000
		last := now + 60_000 - random.Int64N(3*interval+120_000)
		since := last
		if random.IntN(4) == 0 {
			since += random.Int64N(interval)
		}
		grace := int64(random.IntN(3)) * 45_000
		due := since + interval + grace
		var expression, zone any
		calendar := false
		if random.IntN(3) == 0 {
			c := schedule.Cron{
				Expression: []string{"*/7 * * * *", "* * * * *", "3,58 * * * *"}[random.IntN(3)],
				TimeZone:   "Asia/Kathmandu",
			}
			if calendar = random.IntN(2) == 0; calendar {
				c = schedule.NewCalendar([]string{"*:0/7", "minutely", "*:3,58:30"}[random.IntN(3)], "Asia/Kathmandu")
			}
			expression, zone = c.Expression, c.TimeZone
			due = c.Next(time.UnixMilli(since)).UnixMilli() + grace
		}
		enabled, down, count := random.IntN(8) > 0, false, 0
		// Only what an earlier tick found overdue has been counted.
		if enabled && due < now-120_000 {
			count = random.IntN(3)
			down = count > 0 && random.IntN(3) == 0
		}
		w.run(`UPDATE monitors SET interval_ms = $2, enabled = $3, state = $4, consecutive_failures = $5,
			last_ping_at = $6,
			waiting_since_at = $7, next_check_at = $8, rejected_at = $9, ticked_at = $10, cron_expression = $11,
			cron_zone = $12, grace_ms = $13, calendar = $14
			WHERE id = $1`,
			m.ID, interval, enabled, map[bool]string{true: "down", false: "up"}[down], count, last, since, due, nil,
			nil, expression, zone, grace, calendar)
		if down {
			w.run(`INSERT INTO outages (id, monitor_id, silent_since_at, started_at) VALUES ($1, $2, $3, $4)`,
				"out_"+m.ID, m.ID, since, now)
		}
		switch random.IntN(8) {
		case 0:
			if !down && count == 0 {
				w.run(`UPDATE monitors SET last_ping_at = NULL, waiting_since_at = NULL, next_check_at = NULL
					WHERE id = $1`, m.ID)
			}
		case 1:
			w.run(`UPDATE monitors SET rejected_at = $2 WHERE id = $1`, m.ID, now-random.Int64N(300_000))
		case 2:
			w.run(`UPDATE monitors SET ticked_at = $2 WHERE id = $1`, m.ID, now+int64(random.IntN(5)-3)*60_000)
		}
		w.scatterLastPing(random, m, last, interval)
	}
}

// scatterLastPing moves the last ping of a monitor to a random time around last, or leaves it.
func (w *world) scatterLastPing(random *rand.Rand, m monitor.Monitor, last, interval int64) {
	w.Helper()
	if random.IntN(3) > 0 { // pinged since its row was saved, or not
		w.run(`UPDATE last_pings SET pinged_at = $2, healthy = COALESCE((SELECT enabled AND state = 'up'
			AND waiting_since_at IS NOT NULL
			FROM monitors WHERE monitors.token = last_pings.token), FALSE) WHERE token = $1`, m.Token,
			last+random.Int64N(2*interval)-interval)
		w.run(`UPDATE last_pings SET pinged_at = NULL WHERE NOT healthy AND token = $1`, m.Token)
	}
}

// TestRecordPingsIsMonitorRecordPing holds the statements to the pure function, over random rows, including rows that
// were not pinged.
func TestRecordPingsIsMonitorRecordPing(t *testing.T) {
	inWorlds(t, func(w *world) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		w.Logf("seed %d", seed)
		monitors := w.fill(300, time.Minute)
		w.scatter(random, monitors)
		for round := range 4 {
			w.clock.move(time.Duration(random.IntN(90_000)) * time.Millisecond)
			want := w.stored()
			tokens := []string{kernel.NewPingToken()}
			results := []store.PingResult{store.PingUnknown}
			for i := range want {
				if random.IntN(2) == 0 {
					continue
				}
				m := &want[i]
				token := m.Token
				if random.IntN(10) == 0 {
					rotated := must(w.RotateMonitor(w.ctx, w.ws, m.ID))(w)
					m.Token, m.SecretVersions, m.UpdatedAt = rotated.Token, rotated.SecretVersions, rotated.UpdatedAt
				}
				tokens = append(tokens, token)
				if !m.Enabled {
					results = append(results, store.PingUnknown)
					continue
				}
				results = append(results, store.PingRecorded)
				if m.RecordPing(w.clock.now()) {
					m.UpdatedAt = w.clock.now()
				}
			}
			random.Shuffle(len(tokens), func(i, j int) {
				tokens[i], tokens[j] = tokens[j], tokens[i]
				results[i], results[j] = results[j], results[i]
			})
			if diff := cmp.Diff(results, w.ping(tokens...)); diff != "" {
				w.Fatalf("round %d: results (-want +got):\n%s", round, diff)
			}
			if diff := cmp.Diff(want, w.stored()); diff != "" {
				w.Fatalf("round %d: monitors (-Heard +stored):\n%s", round, diff)
			}
			w.consistent()
		}
		if n := w.value(`SELECT count(*) FROM outages WHERE ended_at IS NOT NULL`); n == "0" {
			w.Error("no monitor recovered: the rows are not random enough")
		}
	})
}

func TestInvalidPingTokens(t *testing.T) {
	inWorlds(t, func(w *world) {
		odd := []string{
			"", " ", "a\x00b", "\xff", `"]`, "' OR '1'='1", "%", strings.Repeat("A", 1<<16),
			strings.ToLower(w.monitor.Token) + "x", w.monitor.ID,
		}
		for i, r := range w.ping(append(odd, w.monitor.Token)...) {
			want := map[bool]store.PingResult{
				true: store.PingRecorded, false: store.PingUnknown,
			}[i == len(odd)]
			if r != want {
				w.Errorf("token %d: %v, want %v", i, r, want)
			}
		}
		if got := w.ping(); len(got) != 0 {
			w.Errorf("no pings: %v", got)
		}
		w.ok(w.RecordLiveness(w.ctx, store.LivenessRecord{Replica: "a", Rejected: odd}))
	})
}

func TestOldTokenIsValidForADay(t *testing.T) {
	inWorlds(t, func(w *world) {
		first := w.monitor.Token
		second := must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w).Token
		if got := w.ping(first, second); got[0] != store.PingRecorded || got[1] != store.PingRecorded {
			w.Errorf("both tokens in one batch: %v", got)
		}
		w.clock.move(store.PingTokenOverlap - time.Millisecond)
		if got := w.ping(first); got[0] != store.PingRecorded {
			w.Errorf("the old token within the day: %v", got)
		}
		w.clock.move(time.Millisecond)
		if got := w.ping(first, second); got[0] != store.PingUnknown || got[1] != store.PingRecorded {
			w.Errorf("after the day: %v", got)
		}
		got := must(w.RecordSignals(w.ctx, []store.NewSignal{{Token: first, Kind: monitor.SignalFail}}))(w)
		if got[0] != store.PingUnknown {
			w.Errorf("a failure by the old token after the day: %v", got)
		}
		w.ok(w.Prune(w.ctx))
		third := must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w).Token
		fourth := must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w).Token
		got = w.ping(second, third, fourth)
		if got[0] != store.PingUnknown || got[1] != store.PingRecorded || got[2] != store.PingRecorded {
			w.Errorf("rotated twice: %v", got)
		}
	})
}

func TestOldPingKeyIsValidForADay(t *testing.T) {
	inWorlds(t, func(w *world) {
		access := monitor.PingAccessPingOnly
		first := must(w.ChangePingKey(w.ctx, w.ws, "acme", monitor.PingKeyChange{Access: &access}))(w).Key
		second := must(w.RotatePingKey(w.ctx, w.ws, "acme"))(w).Key
		reach := func(want ...store.PingResult) {
			w.Helper()
			got := w.ping(monitor.SlugAddress(first, w.monitor.Slug), monitor.SlugAddress(second, w.monitor.Slug))
			if !slices.Equal(got, want) {
				w.Errorf("pings by the old and the new key: %v, want %v", got, want)
			}
		}
		w.clock.move(store.PingTokenOverlap - time.Millisecond)
		reach(store.PingRecorded, store.PingRecorded)
		k := must(w.PingKey(w.ctx, w.ws, "acme"))(w)
		if k.Key != second || !k.PreviousUntil.Equal(w.clock.now().Add(time.Millisecond)) {
			w.Errorf("ping key: %+v", k)
		}
		w.clock.move(time.Millisecond)
		reach(store.PingUnknown, store.PingRecorded)
		if k := must(w.PingKey(w.ctx, w.ws, "acme"))(w); k.Key != second || !k.PreviousUntil.IsZero() {
			w.Errorf("afterwards: %+v", k)
		}
		first = must(w.RotatePingKey(w.ctx, w.ws, "acme"))(w).Key
		reach(store.PingRecorded, store.PingRecorded)
		must(w.RotatePingKey(w.ctx, w.ws, "acme"))(w)
		reach(store.PingRecorded, store.PingUnknown)
	})
}

// TestFirstContacts: the old ping key creates monitors for a day, and a page has a maximum of them, however old they
// are.
func TestFirstContacts(t *testing.T) {
	inWorlds(t, func(w *world) {
		access := monitor.PingAccessReadWrite
		first := must(w.ChangePingKey(w.ctx, w.ws, "acme", monitor.PingKeyChange{Access: &access}))(w).Key
		second := must(w.RotatePingKey(w.ctx, w.ws, "acme"))(w).Key
		contact := func(key, slug string, want store.ProvisionResult) {
			w.Helper()
			n := monitor.MonitorConfig{Name: slug, Interval: time.Hour}
			if got := must(w.Provision(w.ctx, monitor.SlugAddress(key, slug), monitor.MonitorOf(n)))(w); got != want {
				w.Errorf("%s: %v, want %v", slug, got, want)
			}
		}
		w.clock.move(store.PingTokenOverlap - time.Millisecond)
		contact(first, "within-the-day", store.ProvisionCreated)
		w.clock.move(time.Millisecond)
		contact(first, "after-the-day", store.ProvisionUnknown)
		must(store.FillMonitors(w.ctx, w.Store, w.ws.WorkspaceID, "acme", monitor.MaxProvisioned-len(w.stored())-1,
			time.Hour))(w)
		w.clock.move(365 * 24 * time.Hour)
		contact(second, "the-last", store.ProvisionCreated)
		contact(second, "one-more", store.ProvisionFull)
		contact(second, "the-last", store.ProvisionExists)
	})
}

func TestShortHashesOfAllValidTokens(t *testing.T) {
	inWorlds(t, func(w *world) {
		var announced []string
		w.OnNewPingToken(func(token string) { announced = append(announced, token) })
		first := w.monitor.Token
		second := must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w).Token
		off := must(w.CreateMonitor(w.ctx, w.ws, disabled(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "off", Interval: time.Minute, PageSlug: "acme",
		}))))(w)
		hashes := map[uint64]bool{}
		w.ok(w.EachPingToken(w.ctx, func(short uint64) { hashes[short] = true }))
		if len(hashes) != 2 || !hashes[store.ShortTokenHash(first)] || !hashes[store.ShortTokenHash(second)] {
			w.Errorf("%d hashes, want those of the old and the new token", len(hashes))
		}
		must(w.ChangeMonitor(w.ctx, w.ws, off.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			return nil
		}))(w)
		if want := []string{second, off.Token, off.Token}; !slices.Equal(announced, want) {
			w.Errorf("announced %v, want %v: made, rotated and enabled", announced, want)
		}
		_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Interval: time.Minute, PageSlug: "nowhere",
		}))
		if err == nil || len(announced) != 3 {
			w.Errorf("a refused monitor: %v, announced %d", err, len(announced))
		}
	})
}

// TestFailingPingHarmsNoOther makes the database refuse the recovery of one
// monitor of a batch.
func TestFailingPingHarmsNoOther(t *testing.T) {
	inWorlds(t, func(w *world) {
		good, bad := w.quick("good", w.component, ""), w.quick("bad", w.component, "")
		w.goDown(good, bad)
		up := w.fill(3, time.Minute)
		outage := w.value(`SELECT id FROM outages WHERE monitor_id = $1`, bad.ID)
		if isSQLite(w.Store) {
			w.run(fmt.Sprintf(`CREATE TRIGGER poison BEFORE DELETE ON causes WHEN old.source = '%s' BEGIN
				SELECT RAISE(ABORT, 'poisoned'); END`, outage))
		} else {
			w.run(`CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poisoned'; ` +
				`END $$`)
			w.run(fmt.Sprintf(`CREATE TRIGGER poison BEFORE DELETE ON causes FOR EACH ROW WHEN (old.source = '%s') `+
				`EXECUTE FUNCTION poison()`, outage))
		}
		before := w.monitorNow(bad)
		got := w.ping(up[0].Token, bad.Token, good.Token, up[1].Token)
		want := []store.PingResult{
			store.PingRecorded, store.PingFailed, store.PingRecorded, store.PingRecorded,
		}
		if !slices.Equal(got, want) {
			w.Fatalf("results %v, want %v", got, want)
		}
		if diff := cmp.Diff(before, w.monitorNow(bad)); diff != "" {
			w.Errorf("the failed ping changed its monitor (-before +after):\n%s", diff)
		}
		if m := w.monitorNow(good); m.State != monitor.MonitorUp {
			w.Errorf("the good one: %+v", m)
		}
		w.shows(kernel.StatusMajorOutage)
		w.consistent()
		w.run(map[bool]string{true: `DROP TRIGGER poison`, false: `DROP TRIGGER poison ON causes`}[isSQLite(w.Store)])
		w.pinged(bad)
		w.shows(kernel.StatusOperational)
	})
}

func TestFailedBatchRecordsNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		before := w.dump()
		w.SetFault(func(when, query string) error {
			if when == "before" && query == "COMMIT" {
				return errors.New("the plug was pulled")
			}
			return nil
		})
		got, err := w.RecordPings(w.ctx, []string{w.monitor.Token}, store.LivenessRecord{Replica: "a"},
			store.PingOrigins{})
		if err == nil {
			w.Errorf("the batch: %v without an error", got)
		}
		if w.dump() != before {
			w.Error("a failed batch left something behind")
		}
		w.SetFault(nil)
	})
}

// TestDisabledMonitorRejectsPings: after its first pings, a monitor is pinged
// through the row beside it alone, which has to know of the change.
func TestDisabledMonitorRejectsPings(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.pinged()
		w.clock.move(time.Second)
		w.pinged()
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}))(w)
		before := w.dump()
		w.clock.move(500 * time.Millisecond) // no liveness record is due
		if got := w.ping(w.monitor.Token); got[0] != store.PingUnknown {
			w.Errorf("a ping of a disabled monitor: %v", got)
		}
		if w.dump() != before {
			w.Error("a ping of a disabled monitor changed something")
		}
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			return nil
		}))(w)
		w.pinged()
	})
}
