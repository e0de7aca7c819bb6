package main

import "github.com/allswell/allswell/internal/server"

type serveCommand struct {
	server.Settings `embed:""`
}

// Help is shown by serve --help below the list of settings.
func (cmd *serveCommand) Help() string {
	return "It runs until it gets SIGTERM or SIGINT; then it takes no more requests, records the pings that it has received, " +
		"answers them, and ends within 10 seconds. A second signal ends it at once."
}

func (cmd *serveCommand) Run(c *console) error {
	cfg, err := cmd.Parse()
	if err != nil {
		return err
	}
	return server.Run(c.ctx, cfg, c.out, c.err)
}
