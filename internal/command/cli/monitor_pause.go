package cli

import (
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

type monitorPause struct {
	Monitor string              `arg:"" help:"Id, name or slug of the monitor."`
	Until   *timeinput.Moment   `xor:"end" placeholder:"TIME" help:"Time at which it resumes, such as 2026-11-24 22:00 or tomorrow 22:00 in its page's time zone (UTC without a page)."`
	For     *timeinput.Duration `xor:"end" placeholder:"DURATION" help:"How long it is paused: 30m, 4h, 2d."`
}

func (cmd *monitorPause) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	until, err := cmd.until(c, id)
	if err != nil {
		return err
	}
	change := client.MonitorChange{Enabled: new(false), PausedUntil: client.Null[time.Time]()}
	if until != nil {
		change.PausedUntil = client.Set(*until)
	}
	monitor, err := c.api.ChangeMonitor(c.Ctx, id, change)
	return object(c, monitor, err, func(m *client.Monitor) {
		if m.PausedUntil != nil {
			c.Printf("The monitor %s is paused until %s.\n", console.Visible(m.Name), console.Time(*m.PausedUntil))
			return
		}
		c.Printf("The monitor %s is paused. To resume it: allswell monitor resume %s\n", console.Visible(m.Name),
			console.Visible(m.ID))
	})
}

// until returns the end of the pause; nil: it has none.
func (cmd *monitorPause) until(c *commandContext, id string) (*time.Time, error) {
	switch {
	case cmd.For != nil:
		return new(time.Now().Add(time.Duration(*cmd.For)).Truncate(time.Second)), nil
	case cmd.Until == nil:
		return nil, nil
	}
	page := pageFlag{}
	if cmd.Until.NeedsZone() {
		m, err := c.api.GetMonitor(c.Ctx, id)
		if err != nil {
			return nil, err
		}
		if page.Page = m.Page; m.Page == "" {
			c.zone = time.UTC
		}
	}
	at, err := c.moment(*cmd.Until, &page)
	return &at, err
}

type monitorResume struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
}

func (cmd *monitorResume) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	monitor, err := c.api.ChangeMonitor(c.Ctx, id, client.MonitorChange{Enabled: new(true)})
	return object(c, monitor, err, func(m *client.Monitor) {
		c.Printf("Resumed the monitor %s. %s\n", console.Visible(m.Name), nextPing(m))
	})
}

// nextPing returns a sentence about when the next ping is due, or when the next check runs.
func nextPing(m *client.Monitor) string {
	switch {
	case hasTarget(m) && m.NextCheckAt == nil:
		return "The next check follows within the interval."
	case hasTarget(m):
		return "Next check " + console.Time(*m.NextCheckAt) + "."
	case m.NextCheckAt == nil:
		return "Waiting for the first ping."
	}
	return "Next ping expected by " + console.Time(*m.NextCheckAt) + "."
}
