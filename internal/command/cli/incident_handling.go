package cli

import (
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
)

type incidentTakeOver struct{ incidentArgument }

func (cmd *incidentTakeOver) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	incident, err := c.api.TakeOverIncident(c.Ctx, id)
	return object(c, incident, err, func(i *client.Incident) {
		c.Printf("The recovery of the monitor does not resolve the incident %q. Give it back or resolve it yourself.\n",
			i.Title)
	})
}

type incidentGiveBack struct{ incidentArgument }

func (cmd *incidentGiveBack) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	incident, err := c.api.GiveBackIncident(c.Ctx, id)
	return object(c, incident, err, func(i *client.Incident) {
		c.Printf("The recovery of the monitor resolves the incident %q.\n", i.Title)
	})
}

type incidentMerge struct {
	incidentArgument
	Into string `required:"" placeholder:"INCIDENT" help:"Remaining incident, on the same page: its id, the beginning of the id, or its title."`
}

func (cmd *incidentMerge) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	target := incidentArgument{Incident: cmd.Into, pageFlag: cmd.pageFlag}
	into, err := target.id(c)
	if err != nil {
		return err
	}
	incident, err := c.api.MergeIncident(c.Ctx, id, into)
	return object(c, incident, err, func(i *client.Incident) {
		c.Printf("The incident %s is resolved and merged into %s, which has its components. No one is notified.\n",
			console.Visible(i.Title), console.Visible(cmd.Into))
	})
}
