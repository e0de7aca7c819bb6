package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// conditionsText lists the conditions of a monitor on its runs, other than how long one may take; "": it has none.
func conditionsText(m *client.Monitor) string {
	var all []string
	if m.MaxRuntimeAction == client.ActionWarn {
		all = append(all, "a run that takes too long (warn)")
	}
	if m.MinRuntime != nil {
		all = append(all,
			fmt.Sprintf("a run takes at least %s (%s)", settings.ShortDuration(m.MinRuntime.Duration()),
				m.MinRuntimeAction))
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
		all = append(all, monitor.Condition(c).Violated())
	}
	return strings.Join(all, ". ")
}

type monitorWarnings struct {
	Monitor   string           `arg:"" help:"Id, name or slug of the monitor."`
	Condition client.Condition `placeholder:"CONDITION" help:"Only warnings of max_runtime, min_runtime, max_per_interval or no_overlap."`
	Limit     count            `default:"50" placeholder:"COUNT" help:"Maximum number of warnings."`
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
	return table(c, warnings, len(warnings), "No warnings.", []string{"TIME", "ENDED", "CONDITION", "RUN", "WARNING"},
		func(w *client.Warning) []string {
			return []string{
				console.Time(w.WarnedAt), timeOr(w.EndedAt, "-"), string(w.Condition), valueOr(w.RunID, "-"),
				w.Message,
			}
		})
}

// secondsOf returns a duration as the API has it; nil if it is not given.
func secondsOf(d *timeinput.Duration) *client.Seconds {
	if d == nil {
		return nil
	}
	return new(client.SecondsOf(time.Duration(*d)))
}
