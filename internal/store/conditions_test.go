package store_test

import (
	"fmt"
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

// conditions changes the conditions of the world's monitor.
func (w *world) conditions(set func(*monitor.RunConditions), maxRuntime time.Duration) {
	w.Helper()
	must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
		set(&c.RunConditions)
		c.MaxRuntime = maxRuntime
		return nil
	}))(w)
}

// warnings returns the conditions and messages of all warnings of the world's monitor, oldest first, with "ended" if
// the condition was satisfied again.
func (w *world) warnings() (all []string) {
	w.Helper()
	found, _, err := w.Warnings(w.ctx, w.ws, w.monitor.ID, store.WarningFilter{}, 100)
	w.ok(err)
	for _, x := range slices.Backward(found) {
		text := string(x.Condition) + ": " + x.Message
		if !x.EndedAt.IsZero() {
			text += " (ended)"
		}
		all = append(all, text)
	}
	return all
}

func (w *world) warns(want ...string) {
	w.Helper()
	if got := w.warnings(); !slices.Equal(got, want) {
		w.Errorf("warnings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var (
	start   = func(run string) store.NewSignal { return signalOf(monitor.SignalStart, run) }
	success = func(run string) store.NewSignal { return signalOf(monitor.SignalSuccess, run) }
)

const runID = "0191a1b2-0000-7000-8000-0000000001%02d"

// conditionTests are what runs do that violate conditions. Each begins with the monitor of the world, which was just
// pinged and whose interval is five minutes.
var conditionTests = map[string]func(w *world){
	"limits that no run can keep are refused": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, time.Minute)
		for _, ch := range []monitor.MonitorChange{
			func(c *monitor.MonitorConfig) error { c.MaxRuntime = 59 * time.Second; return nil },
			func(c *monitor.MonitorConfig) error { c.MinRuntime = 61 * time.Second; return nil },
		} {
			_, err := w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, ch)
			w.refused(err, "min_runtime")
		}
		_, err := w.CreateMonitor(w.ctx, w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Interval: time.Hour, MaxRuntime: time.Minute,
			RunConditions: monitor.RunConditions{MinRuntime: time.Hour},
		}))
		w.refused(err, "min_runtime")
	},
	"too short: not with an end that can be that of an earlier run without an id": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, 0)
		w.send(start(""))
		w.clock.move(90 * time.Second)
		w.send(start(""))
		w.clock.move(time.Second)
		w.send(success("")) // of the first
		w.clock.move(80 * time.Second)
		w.send(success(""))
		w.warns()
	},
	"too short: a warning, once until it is satisfied": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, 0)
		short := func(took time.Duration) {
			w.send(start(""))
			w.clock.move(took)
			w.send(success(""))
		}
		short(10 * time.Second)
		m := w.now()
		if m.State != monitor.MonitorUp || !m.LastPingAt.Equal(w.clock.now()) ||
			!slices.Equal(m.Warned, []monitor.Condition{monitor.ConditionMinRuntime}) {
			w.Errorf("monitor after a short run: %+v", m)
		}
		short(20 * time.Second)
		const first = "min_runtime: A run succeeded after 10 seconds, in less than 1 minute."
		w.warns(first)
		short(time.Minute)
		w.warns(first + " (ended)")
		short(time.Minute - time.Millisecond)
		w.warns(first+" (ended)", "min_runtime: A run succeeded after 1 minute, in less than 1 minute.")
		if len(w.incidents()) != 0 {
			w.Error("a warning opened an incident")
		}
		w.shows(kernel.StatusOperational)
	},
	"too short: down, until a run is long enough": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) {
			c.MinRuntime = time.Minute
			c.MinRuntimeAction = monitor.ActionDown
		}, 0)
		before := w.now().LastPingAt
		w.send(start(aRun))
		w.clock.move(10 * time.Second)
		w.send(success(aRun))
		m := w.now()
		if m.State != monitor.MonitorDown || !m.LastPingAt.Equal(before) {
			w.Errorf("monitor after a short run: %+v", m)
		}
		if text := w.incident().Updates[0].Message; text != "A run of the job ended too early, in less than 1 minute." {
			w.Errorf("message of the incident: %q", text)
		}
		notes, _, err := w.IncidentNotes(w.ctx, w.ws, w.incident().ID, firstHundred)
		w.ok(err)
		if len(notes) != 1 || notes[0].Output != "A run succeeded after 10 seconds, in less than 1 minute." {
			w.Errorf("notes: %+v", notes)
		}
		w.send(start(aRun))
		w.clock.move(10 * time.Second)
		w.send(success(aRun))
		w.shows(kernel.StatusMajorOutage)
		w.send(start(aRun))
		w.clock.move(time.Minute)
		w.send(success(aRun))
		w.shows(kernel.StatusOperational)
		w.warns()
	},
	"too short: a plain ping that ends the run": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) {
			c.MinRuntime = time.Minute
			c.MinRuntimeAction = monitor.ActionDown
		}, 0)
		w.send(start(""))
		w.clock.move(time.Second)
		w.pinged()
		w.shows(kernel.StatusMajorOutage)
		w.pinged() // without a run
		w.shows(kernel.StatusOperational)
	},
	"too short: a ping without a run satisfies nothing": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, 0)
		w.send(start(""), success(""))
		w.send(start(aRun)) // pings look at the monitor while it is in progress
		w.pinged()
		w.send(success(""), signalOf(monitor.SignalFail, ""))
		w.warns("min_runtime: A run succeeded after 0 seconds, in less than 1 minute.")
	},
	"a run that does not end: a ping after it ends it": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MaxRuntimeAction = monitor.ActionWarn }, time.Minute)
		w.send(start(""))
		w.pass(3 * time.Minute)
		w.warns("max_runtime: A run did not end within 1 minute.")
		w.pinged()
		if got := w.value(`SELECT count(*) FROM signals WHERE running`); got != "0" {
			w.Error("the run is still in progress")
		}
	},
	"too often": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MaxPerInterval = 2 }, 0)
		for i := range 4 {
			w.send(start(fmt.Sprintf(runID, i)), success(fmt.Sprintf(runID, i)))
			w.clock.move(time.Minute)
		}
		const first = "max_per_interval: More than 2 runs began within 5 minutes."
		w.warns(first)
		w.clock.move(5 * time.Minute)
		w.send(start(""), success(""))
		w.warns(first + " (ended)")
	},
	"too often: the run does not end the outage that it began": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) {
			c.MaxPerInterval = 1
			c.MaxPerIntervalAction = monitor.ActionDown
		}, 0)
		w.send(start(aRun), success(aRun))
		w.clock.move(time.Minute)
		w.send(start(otherRun))
		w.shows(kernel.StatusMajorOutage)
		if text := w.incident().Updates[0].Message; text != "The job runs more often than expected." {
			w.Errorf("message of the incident: %q", text)
		}
		w.send(start(otherRun)) // repeated
		w.send(success(otherRun))
		w.shows(kernel.StatusMajorOutage)
		w.clock.move(5 * time.Minute)
		w.send(start(aRun), success(aRun))
		w.shows(kernel.StatusOperational)
	},
	"overlap: neither of the runs ends the outage": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.NoOverlap = true; c.NoOverlapAction = monitor.ActionDown }, 0)
		w.send(start(aRun))
		w.clock.move(time.Minute)
		w.send(start(otherRun))
		text := w.incident().Updates[0].Message
		if text != "A run of the job began before the previous one had "+"ended." {
			w.Errorf("message of the incident: %q", text)
		}
		w.send(success(aRun), success(otherRun))
		w.shows(kernel.StatusMajorOutage)
		w.clock.move(time.Minute)
		w.send(start(aRun), success(aRun))
		w.shows(kernel.StatusOperational)
	},
	"overlap: a warning, also of runs without ids": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.NoOverlap = true }, 0)
		w.send(start(""))
		w.clock.move(time.Minute)
		w.send(start(""))
		const first = "no_overlap: A run began 1 minute after another one, which had not ended."
		w.warns(first)
		w.send(success(""), start(aRun))
		w.warns(first + " (ended)")
		w.send(start(aRun)) // the same
		w.clock.move(6 * time.Minute)
		w.send(start(otherRun)) // the other one is overdue
		w.warns(first + " (ended)")
	},
	"overlap: a start that was not acknowledged is repeated": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) {
			c.NoOverlap = true
			c.MaxPerInterval = 1
			c.MinRuntime = time.Minute
		}, 0)
		w.send(start(""))
		again := start("")
		again.Repeated = true
		w.clock.move(time.Second)
		w.send(again)
		w.clock.move(time.Second)
		w.send(success(""))
		w.warns()
	},
	"a run that does not end: a warning": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MaxRuntimeAction = monitor.ActionWarn }, 2*time.Minute)
		w.send(start(aRun), start(otherRun))
		w.pass(4 * time.Minute)
		const first = "max_runtime: A run did not end within 2 minutes."
		w.warns(first)
		w.send(success(aRun))
		w.warns(first)
		w.send(start(aRun), success(aRun))
		w.warns(first + " (ended)")
		w.shows(kernel.StatusOperational)
		if got := w.RunsOverdue(); got != 2 {
			w.Errorf("%d runs overdue", got)
		}
		if got := w.WarningsAdded(monitor.ConditionMaxRuntime); got != 1 {
			w.Errorf("%d warnings", got)
		}
		if got := w.SignalsRecorded(monitor.SignalStart); got != 3 {
			w.Errorf("%d starts", got)
		}
	},
	"a failure is not too short": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, 0)
		w.send(start(""), signalOf(monitor.SignalFail, ""))
		w.warns()
	},
	"a listening gap: nothing is judged that may be its fault": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) {
			c.MinRuntime = time.Minute
			c.MaxPerInterval = 1
			c.NoOverlap = true
		}, 0)
		w.recordLiveness()
		w.send(start(aRun))
		w.absent(time.Minute)
		w.recordLiveness()
		w.send(start(otherRun)) // the end of aRun may be lost, and otherRun may have begun before
		w.clock.move(time.Second)
		w.send(success(otherRun))
		w.warns()
	},
	"a listening gap at the beginning of a long run: its end may be lost": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.NoOverlap = true }, time.Hour)
		w.recordLiveness()
		w.send(start(aRun))
		w.absent(time.Minute)
		w.pass(2 * monitor.GapsBeforeStart)
		w.send(start(otherRun))
		w.warns()
	},
	"planned maintenance: nothing is judged": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) {
			c.MinRuntime = time.Minute
			c.MaxPerInterval = 1
			c.NoOverlap = true
		}, 0)
		must(w.CreateMaintenance(w.ctx, w.ws, "acme", resource.Maintenance.From(statuspage.Maintenance{
			Title: "m", ScheduledFor: w.clock.now(), ScheduledUntil: w.clock.now().Add(time.Hour),
			Components: statuspage.ComponentRefs(w.component.ID),
		})))(w)
		w.pass(time.Minute)
		w.send(start(aRun), start(otherRun), success(aRun))
		w.warns()
	},
	"a disabled monitor does not expect the ends of its runs": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.NoOverlap = true }, 3*time.Minute)
		w.send(start(aRun))
		w.clock.move(time.Second)
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		}))(w)
		w.clock.move(time.Minute)
		must(w.ChangeMonitor(w.ctx, w.ws, w.monitor.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(true)
			return nil
		}))(w)
		w.send(start(otherRun), success(otherRun))
		w.pass(4 * time.Minute)
		w.warns()
		w.shows(kernel.StatusOperational)
	},
	"a condition that is removed or made down ends its warning": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute; c.NoOverlap = true }, 0)
		w.send(start(aRun), start(otherRun), success(aRun))
		w.conditions(func(c *monitor.RunConditions) {
			c.MinRuntime = time.Duration(0)
			c.NoOverlapAction = monitor.ActionDown
		}, 0)
		w.warns("no_overlap: A run began 0 seconds after another one, which had not ended. (ended)",
			"min_runtime: A run succeeded after 0 seconds, in less than 1 minute. (ended)")
		if m := w.now(); len(m.Warned) != 0 {
			w.Errorf("conditions of the monitor that hold: %v", m.Warned)
		}
	},
	"the last hundred warnings are kept, for ninety days": func(w *world) {
		w.conditions(func(c *monitor.RunConditions) { c.MinRuntime = time.Minute }, 0)
		for range monitor.MaxWarnings + 5 {
			w.send(start(""), success(""), start(""))
			w.clock.move(time.Minute)
			w.send(success(""))
		}
		if got := w.value(`SELECT count(*), min(number), max(number) FROM warnings`); got != "100|6|105" {
			w.Errorf("warnings that are kept: %q", got)
		}
		w.clock.move(monitor.WarningRetention)
		w.ok(w.Prune(w.ctx))
		w.warns()
	},
}

func TestSignalConditions(t *testing.T) {
	t.Parallel()
	for name, f := range conditionTests {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.pinged()
				f(w)
			})
		})
	}
}
