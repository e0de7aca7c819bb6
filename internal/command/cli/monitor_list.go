package cli

import (
	"cmp"
	"slices"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/shared/settings"
)

type monitorList struct {
	Page  string              `placeholder:"SLUG" help:"Only monitors of this page."`
	Tag   string              `placeholder:"TAG" help:"Only monitors with this tag."`
	Type  client.MonitorType  `placeholder:"TYPE" help:"Only monitors of this type: ${monitor_types}."`
	State client.MonitorState `placeholder:"STATE" help:"Only monitors in this state: up, down, late, waiting (enabled, and never pinged) or disabled. up includes the last three."`
	listing
}

func (cmd *monitorList) Run(c *commandContext) error {
	filter := client.MonitorFilter{Page: cmd.Page, Tag: cmd.Tag, State: cmd.State, Type: cmd.Type}
	monitors, total, err := c.api.ListMonitors(filter).First(c.Ctx, int(cmd.Limit))
	if err == nil && total == 0 && cmd.Page != "" {
		_, err = c.api.GetPage(c.Ctx, cmd.Page) // perhaps there is no such page
	}
	if err != nil {
		return err
	}
	header := []string{"MONITOR", "STATE", "SCHEDULE", "LAST PING", "PAGE", "NAME"}
	if c.Wide {
		header = append(header, "SLUG")
	}
	checks := slices.ContainsFunc(monitors, hasTarget)
	if checks {
		header = append(header, "TYPE", "TARGET")
	}
	none := "No monitors yet."
	if cmd.State != "" || cmd.Tag != "" || cmd.Type != "" {
		none = "No such monitors."
	}
	return table(c, monitors, total, none, header, func(m *client.Monitor) []string {
		schedule, last := scheduleText(m.Schedule), timeOr(m.LastPingAt, "never")
		if hasTarget(m) {
			schedule, last = settings.ShortDuration(m.Interval.Duration()), "-"
		}
		row := []string{m.ID, monitorState(m), schedule, last, cmp.Or(m.Page, "-"), m.Name}
		if c.Wide {
			row = append(row, m.Slug)
		}
		if checks {
			row = append(row, string(cmp.Or(m.Type, client.MonitorHeartbeat)), cmp.Or(target(m), "-"))
		}
		return row
	})
}

// monitorState returns a monitor's state, for people.
func monitorState(m *client.Monitor) string {
	switch {
	case !m.Enabled && m.PausedUntil != nil:
		return "paused until " + console.Time(*m.PausedUntil)
	case !m.Enabled:
		return "paused"
	case m.State == client.MonitorUp &&
		(hasTarget(m) && m.Condition != client.MonitorUp || m.Condition == client.MonitorLate):
		return string(m.Condition)
	// its first signal may have been a failure
	case !hasTarget(m) && m.LastPingAt == nil && m.State == client.MonitorUp:
		return string(client.MonitorWaiting)
	}
	if len(m.Warnings) > 0 {
		return string(m.State) + " (warning)"
	}
	return string(m.State)
}
