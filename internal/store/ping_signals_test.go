package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// send records signals in one transaction. All of them must be recorded.
func (w *world) send(signals ...store.NewSignal) {
	w.Helper()
	for i := range signals {
		if signals[i].Token == "" {
			signals[i].Token = w.monitor.Token
		}
	}
	for i, result := range must(w.RecordSignals(w.ctx, signals))(w) {
		if result != store.PingRecorded {
			w.Fatalf("signal %d: %v", i, result)
		}
	}
}

func signalOf(kind monitor.SignalKind, runID string) store.NewSignal {
	return store.NewSignal{Kind: kind, RunID: runID}
}

// signals returns the world's signals, newest first, with their outputs and without plain pings.
func (w *world) signals() []monitor.Signal {
	w.Helper()
	all, _, err := w.Signals(w.ctx, w.ws, w.monitor.ID, store.SignalFilter{Outputs: 100}, 100)
	w.ok(err)
	return slices.DeleteFunc(all, func(s monitor.Signal) bool { return s.Kind == monitor.SignalPing })
}

const aRun, otherRun = "0191a1b2-0000-7000-8000-000000000001", "0191a1b2-0000-7000-8000-000000000002"

// signalTests are what signals do. Each begins with the monitor of the world, which was just pinged.
var signalTests = map[string]func(w *world){
	"a failure makes the monitor down at once, and a success up": func(w *world) {
		code := 3
		output := []byte("\x1b[31mdisk full\x1b[0m\r\n")
		w.clock.move(time.Minute)
		w.send(store.NewSignal{
			Kind: monitor.SignalFail, ExitCode: &code, Output: store.PackOutput(output), OutputSize: len(output),
			Excerpt: monitor.OutputText(output, 1000),
		})
		if m := w.now(); m.State != monitor.MonitorDown || m.LastPingAt.Equal(w.clock.now()) {
			w.Errorf("after a failure: %+v", m)
		}
		w.shows(kernel.StatusMajorOutage)
		notes, _, err := w.IncidentNotes(w.ctx, w.ws, w.incident().ID, firstHundred)
		w.ok(err)
		if len(notes) != 1 || *notes[0].ExitCode != 3 || notes[0].Output != "disk full" ||
			!notes[0].CreatedAt.Equal(w.clock.now()) {
			w.Errorf("notes: %+v", notes)
		}
		s := w.signals()[0]
		if s.Kind != monitor.SignalFail || *s.ExitCode != 3 || string(s.Output) != string(output) ||
			s.OutputSize != len(output) || s.Duration != nil {
			w.Errorf("the failure: %+v", s)
		}
		w.clock.move(2 * time.Minute)
		w.send(signalOf(monitor.SignalSuccess, ""))
		if m := w.now(); m.State != monitor.MonitorUp || !m.LastPingAt.Equal(w.clock.now()) {
			w.Errorf("after a success: %+v", m)
		}
		w.expectEvents(
			"Backups: operational > major_outage (outage)",
			"created: nightly is down, critical, investigating (outage): The job reported a failure.",
			"Backups: major_outage > operational (outage)",
			"resolved: nightly is down, critical, resolved (outage): The job is succeeding again after 2 minutes.")
	},
	"a ping recovers, too": func(w *world) {
		w.send(signalOf(monitor.SignalFail, ""))
		w.pinged()
		w.shows(kernel.StatusOperational)
	},
	"a monitor that was never pinged can fail": func(w *world) {
		m := w.quick("new", w.component, "")
		w.send(store.NewSignal{Token: m.Token, Kind: monitor.SignalFail})
		w.shows(kernel.StatusMajorOutage)
		w.pinged(m)
		w.shows(kernel.StatusOperational)
	},
	"the output is published only if the monitor says so": func(w *world) {
		w.send(store.NewSignal{Kind: monitor.SignalFail, Excerpt: "SECRET ```\n# no"})
		if text := w.incident().Updates[0].Message; strings.Contains(text, "SECRET") {
			w.Errorf("published: %s", text)
		}
		w.pinged()
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.PublishOutput = true
			return nil
		}))(w)
		w.send(store.NewSignal{Kind: monitor.SignalFail, Excerpt: "SHOWN ```\n# no"})
		text := w.incidents()[0].Updates[0].Message
		if text != "The job reported a failure.\n\n````\nSHOWN ```\n# "+"no\n````" {
			w.Errorf("published: %s", text)
		}
	},
	"starts and logs are no signs of life": func(w *world) {
		before := w.now()
		for range 3 {
			w.clock.move(time.Second)
			w.send(signalOf(monitor.SignalStart, ""), signalOf(monitor.SignalLog, ""))
		}
		m := w.now()
		if !m.NextCheckAt.Equal(before.NextCheckAt) || !m.LastPingAt.Equal(before.LastPingAt) ||
			m.State != monitor.MonitorUp {
			w.Errorf("monitor after start and log: %+v", m)
		}
	},
	"an end is paired with its start": func(w *world) {
		w.send(signalOf(monitor.SignalStart, aRun), signalOf(monitor.SignalStart, otherRun),
			signalOf(monitor.SignalStart, ""))
		w.clock.move(3 * time.Second)
		w.send(signalOf(monitor.SignalSuccess, aRun))
		w.clock.move(time.Second)
		w.send(signalOf(monitor.SignalFail, otherRun), signalOf(monitor.SignalSuccess, otherRun),
			signalOf(monitor.SignalSuccess, ""))
		var got []string
		for _, s := range w.signals() {
			if s.Kind != monitor.SignalStart {
				lasted := "none"
				if s.Duration != nil {
					lasted = s.Duration.String()
				}
				got = append(got, string(s.Kind)+" "+lasted)
			}
		}
		if want := []string{"success 4s", "success none", "fail 4s", "success 3s"}; !slices.Equal(got, want) {
			w.Errorf("signals with their durations: %v, want %v", got, want)
		}
		w.pass(10 * time.Minute)
		if w.incidents()[0].Updates[0].System.Kind != statuspage.SystemMessageSilent {
			w.Error("a run that ended was judged")
		}
	},
	"a run without an end counts as a failure": func(w *world) {
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.MaxRuntime = 2 * time.Minute
			return nil
		}))(w)
		w.send(signalOf(monitor.SignalStart, ""))
		w.pass(2 * time.Minute)
		if m := w.now(); m.State != monitor.MonitorUp || m.RunDueAt.IsZero() {
			w.Errorf("at its limit: %+v", m)
		}
		w.pass(time.Minute)
		if m := w.now(); m.State != monitor.MonitorDown || !m.RunDueAt.IsZero() {
			w.Errorf("after its limit: %+v", m)
		}
		if text := w.incident().Updates[0].Message; text != "A run of the job did not end within 2 minutes." {
			w.Errorf("message of the incident: %q", text)
		}
		w.clock.move(time.Minute)
		w.send(signalOf(monitor.SignalSuccess, ""))
		if s := w.signals()[0]; s.Duration == nil || *s.Duration != 4*time.Minute {
			w.Errorf("the end came late: %+v", s)
		}
		w.shows(kernel.StatusOperational)
	},
	"a ping ends the run without an id": func(w *world) {
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.MaxRuntime = time.Minute
			return nil
		}))(w)
		w.send(signalOf(monitor.SignalStart, ""))
		w.pinged()
		if m := w.now(); !m.RunDueAt.IsZero() {
			w.Errorf("monitor after the ping: %+v", m)
		}
		w.pass(4 * time.Minute)
		w.shows(kernel.StatusOperational)
	},
	"a long listening gap may hide the end of a run": func(w *world) {
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.MaxRuntime = 4 * time.Minute
			return nil
		}))(w)
		w.send(signalOf(monitor.SignalStart, aRun))
		w.recordLiveness()
		w.absent(time.Minute)
		w.pinged()
		w.pass(4*time.Minute + 30*time.Second)
		w.shows(kernel.StatusOperational)
		if m := w.now(); !m.RunDueAt.IsZero() {
			w.Errorf("monitor after the gap: %+v", m)
		}
	},
	"planned maintenance suppresses failures": func(w *world) {
		must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "m", ScheduledFor: w.clock.now(), ScheduledUntil: w.clock.now().Add(time.Hour),
			Components: statuspage.ComponentRefs(w.component.ID),
		})))(w)
		w.send(signalOf(monitor.SignalFail, ""), signalOf(monitor.SignalStart, ""))
		w.pass(20 * time.Minute)
		if m := w.now(); m.State != monitor.MonitorUp || !m.RunDueAt.IsZero() || len(w.signals()) != 2 {
			w.Errorf("monitor in maintenance: %+v", m)
		}
	},
	"the order within a transaction counts": func(w *world) {
		w.send(signalOf(monitor.SignalFail, ""), signalOf(monitor.SignalSuccess, ""))
		w.shows(kernel.StatusOperational)
		w.send(signalOf(monitor.SignalSuccess, ""), signalOf(monitor.SignalFail, ""))
		w.shows(kernel.StatusMajorOutage)
	},
	"a run is judged, however much its job logs": func(w *world) {
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.MaxRuntime = 2 * time.Minute
			return nil
		}))(w)
		w.send(signalOf(monitor.SignalStart, aRun))
		w.send(signalOf(monitor.SignalLog, ""))
		w.copyLastSignal(999)
		w.send(slices.Repeat([]store.NewSignal{signalOf(monitor.SignalLog, "")}, 100)...)
		w.pass(3 * time.Minute)
		if m := w.now(); m.State != monitor.MonitorDown || !m.RunDueAt.IsZero() {
			w.Errorf("monitor after the limit of the run: %+v", m)
		}
		w.send(signalOf(monitor.SignalLog, ""))
		if got := w.value(`SELECT count(*), min(number) FROM signals`); got != "1000|103" {
			w.Errorf("number of signals and the first one: %q", got)
		}
	},
	"the last thousand are kept, for ninety days, and the starts of the last thousand runs until they end": func(
		w *world,
	) {
		const together = 25 // on a busy machine, a hundred take longer than a transaction may
		w.send(signalOf(monitor.SignalStart, "0191a1b2-0000-7000-8000-000000001000"))
		w.copyLastSignal(999)
		for i := range 100 / together {
			var starts []store.NewSignal
			for j := range together {
				starts = append(starts,
					signalOf(monitor.SignalStart, fmt.Sprintf("0191a1b2-0000-7000-8000-%012d", i*together+j)))
			}
			w.send(starts...)
		}
		w.send(signalOf(monitor.SignalLog, ""))
		w.copyLastSignal(999)
		for range 100 / together {
			w.send(slices.Repeat([]store.NewSignal{signalOf(monitor.SignalLog, "")}, together)...)
		}
		const kept = `SELECT kind, count(*), min(number), max(number) FROM signals GROUP BY kind ORDER BY kind`
		if got := w.rows(kept); !slices.Equal(got, []string{"log|1000|1201|2200", "start|1000|101|1100"}) {
			w.Errorf("signals that are kept: %q", got)
		}
		w.clock.move(monitor.SignalRetention)
		w.ok(w.Prune(w.ctx))
		if got := w.rows(kept); !slices.Equal(got, []string{"start|1000|101|1100"}) {
			w.Errorf("after 90 days: %v", got)
		}
	},
	"unknown and disabled tokens, and a token that was replaced": func(w *world) {
		old := w.monitor.Token
		must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w)
		off := must(w.CreateMonitor(w.ctx, w.ws, disabled(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "off", Interval: time.Minute,
		}))))(w)
		got := must(w.RecordSignals(w.ctx, []store.NewSignal{
			{Token: old, Kind: monitor.SignalLog}, {Token: off.Token, Kind: monitor.SignalFail},
			{Token: strings.Repeat("a", 32)}, {Token: "' OR 1=1"},
		}))(w)
		want := []store.PingResult{
			store.PingRecorded, store.PingUnknown, store.PingUnknown, store.PingUnknown,
		}
		if !slices.Equal(got, want) {
			w.Errorf("results: %v, want %v", got, want)
		}
	},
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for name, f := range signalTests {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.pinged()
				f(w)
			})
		})
	}
}

// TestSignalPages pages through signals.
func TestSignalPages(t *testing.T) {
	inWorlds(t, func(w *world) {
		for i := range 10 {
			w.send(signalOf([]monitor.SignalKind{monitor.SignalLog, monitor.SignalSuccess}[i%2], ""))
		}
		var got []string
		f := store.SignalFilter{Kind: monitor.SignalLog}
		for first := true; first || f.Before.At != 0; first = false {
			page, next, err := w.Signals(w.ctx, w.ws, w.monitor.Slug, f, 2)
			w.ok(err)
			for _, s := range page {
				got = append(got, fmt.Sprint(s.Number))
			}
			f.Before = next
		}
		if want := "9 7 5 3 1"; strings.Join(got, " ") != want {
			w.Errorf("signals in pages of two: %v, want %s", got, want)
		}
	})
}

// copyLastSignal inserts n copies of the signal with the highest number. Their runs have ids of their own.
func (w *world) copyLastSignal(n int) {
	w.Helper()
	w.run(fmt.Sprintf(`WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < %d)
		INSERT INTO signals (id, monitor_id, number, received_at, kind, exit_code, run_id, duration_ms, running, due_at,
		address,
			user_agent, output_size, output_cut, output, doubtful, ambiguous, violated)
		SELECT id || n, monitor_id, number + n, received_at, kind, exit_code, substr(run_id, 1,
		24) || (100000000000 + n), duration_ms,
			running, due_at, address, user_agent, output_size, output_cut, output, doubtful, ambiguous, violated
		FROM signals, copies WHERE number = (SELECT max(number) FROM signals)`, n))
}

// TestRandomSignals records random signals and pings of several monitors, and checks that the tables stay consistent.
func TestRandomSignals(t *testing.T) {
	inWorlds(t, func(w *world) {
		random := rand.New(rand.NewPCG(1, 2))
		monitors := w.fill(4, 2*time.Minute)
		runs := []string{"", aRun, otherRun}
		for range w.rounds(60) {
			var signals []store.NewSignal
			for range random.IntN(6) {
				signals = append(signals, store.NewSignal{
					Token: monitors[random.IntN(4)].Token, RunID: runs[random.IntN(3)],
					Kind: monitor.SignalKinds[random.IntN(4)],
				})
			}
			w.send(signals...)
			w.pinged(monitors[random.IntN(4)])
			w.pass(time.Duration(random.IntN(90)) * time.Second)
			w.consistent()
		}
	})
}
