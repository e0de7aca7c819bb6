package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/console"
	"github.com/allswell/allswell/internal/settings"
	"github.com/allswell/allswell/internal/timeinput"
)

// runConditions is embedded by the commands that create or change a monitor.
type runConditions struct {
	MinRuntime     *timeinput.Duration `placeholder:"DURATION" help:"How long a run that succeeds must take after its start signal, such as 30s. 0s: any time."`
	MaxPerInterval *int                `placeholder:"COUNT" help:"How many runs may begin within the interval or, with --cron, between two due times. 0: any number."`
	NoOverlap      *bool               `negatable:"overlap" help:"Whether a run must not begin before the others have ended (--no-overlap), or may (--overlap)."`

	MaxRuntimeAction     *allswell.ConditionAction `placeholder:"warn|down" help:"Action if a run takes too long: down (the default) or warn."`
	MinRuntimeAction     *allswell.ConditionAction `placeholder:"warn|down" help:"Action if a run is too short: warn (the default) or down."`
	MaxPerIntervalAction *allswell.ConditionAction `placeholder:"warn|down" help:"Action if too many runs begin: warn (the default) or down."`
	NoOverlapAction      *allswell.ConditionAction `placeholder:"warn|down" help:"Action if a run begins before the others have ended: warn (the default) or down."`
}

// change adds the flags that are given to a change.
func (f *runConditions) change(ch *client.MonitorChange) {
	ch.NoOverlap = f.NoOverlap
	ch.MaxRuntimeAction, ch.MinRuntimeAction = f.MaxRuntimeAction, f.MinRuntimeAction
	ch.MaxPerIntervalAction, ch.NoOverlapAction = f.MaxPerIntervalAction, f.NoOverlapAction
	if f.MinRuntime != nil {
		ch.MinRuntime = client.Set(*secondsOf(f.MinRuntime))
		if *f.MinRuntime == 0 {
			ch.MinRuntime = client.Null[client.Seconds]()
		}
	}
	if f.MaxPerInterval != nil {
		ch.MaxPerInterval = client.Set(*f.MaxPerInterval)
		if *f.MaxPerInterval == 0 {
			ch.MaxPerInterval = client.Null[int]()
		}
	}
}

// given returns what creates a monitor: 0 means the same as no flag.
func (f *runConditions) given() (minRuntime *client.Seconds, maxPerInterval *int) {
	if f.MinRuntime != nil && *f.MinRuntime != 0 {
		minRuntime = secondsOf(f.MinRuntime)
	}
	if f.MaxPerInterval != nil && *f.MaxPerInterval != 0 {
		maxPerInterval = f.MaxPerInterval
	}
	return minRuntime, maxPerInterval
}

// conditionsText lists the conditions of a monitor on its runs, other than how long one may take; "": it has none.
func conditionsText(m *client.Monitor) string {
	var all []string
	if m.MaxRuntimeAction == allswell.ActionWarn {
		all = append(all, "a run that takes too long (warn)")
	}
	if m.MinRuntime != nil {
		all = append(all, fmt.Sprintf("a run takes at least %s (%s)", settings.ShortDuration(m.MinRuntime.Duration()), m.MinRuntimeAction))
	}
	if m.MaxPerInterval != nil {
		all = append(all, fmt.Sprintf("at most %d per interval (%s)", *m.MaxPerInterval, m.MaxPerIntervalAction))
	}
	if m.NoOverlap {
		all = append(all, fmt.Sprintf("no overlap (%s)", m.NoOverlapAction))
	}
	return strings.Join(all, ", ")
}

// warningsText lists the conditions that the last runs violated.
func warningsText(m *client.Monitor) string {
	var all []string
	for _, c := range m.Warnings {
		all = append(all, c.Violated())
	}
	return strings.Join(all, ". ")
}

type monitorWarnings struct {
	Monitor   string             `arg:"" help:"Id, name or slug of the monitor."`
	Condition allswell.Condition `placeholder:"CONDITION" help:"Only warnings of max_runtime, min_runtime, max_per_interval or no_overlap."`
	Limit     count              `default:"50" placeholder:"COUNT" help:"Maximum number of warnings."`
}

func (cmd *monitorWarnings) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	var warnings []*client.Warning
	for w, err := range c.api.ListWarnings(c.Ctx, id, cmd.Condition) {
		if err != nil {
			return err
		}
		if warnings = append(warnings, w); len(warnings) == int(cmd.Limit) {
			break
		}
	}
	return table(c, warnings, len(warnings), "No warnings.", []string{"TIME", "ENDED", "CONDITION", "RUN", "WARNING"}, func(w *client.Warning) []string {
		return []string{console.Time(w.WarnedAt), timeOr(w.EndedAt, "-"), string(w.Condition), valueOr(w.RunID, "-"), w.Message}
	})
}

// secondsOf returns a duration as the API has it; nil if it is not given.
func secondsOf(d *timeinput.Duration) *client.Seconds {
	if d == nil {
		return nil
	}
	return new(client.SecondsOf(time.Duration(*d)))
}
