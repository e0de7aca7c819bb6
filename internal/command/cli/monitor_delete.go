package cli

import "fmt"

type monitorDelete struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
	confirmation
}

func (cmd *monitorDelete) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, func() (string, error) {
		m, err := c.api.GetMonitor(c.Ctx, id)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("the monitor %q with its history", m.Name), nil
	}); err != nil {
		return err
	}
	return c.deleted(c.api.DeleteMonitor(c.Ctx, id), "monitor", cmd.Monitor)
}
