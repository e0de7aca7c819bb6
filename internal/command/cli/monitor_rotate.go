package cli

import "github.com/allswell/allswell/client"

type monitorRotate struct {
	Monitor string `arg:"" help:"Id, name or slug of the monitor."`
}

func (cmd *monitorRotate) Run(c *commandContext) error {
	id, err := c.monitor(cmd.Monitor)
	if err != nil {
		return err
	}
	monitor, err := c.api.RotateMonitor(c.Ctx, id)
	return object(c, monitor, err, func(m *client.Monitor) {
		c.printPing(m)
		c.Printf("\nThe old URL keeps working for 24 hours.\n")
	})
}
