package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
)

// affected is a component on the command line with the status that an incident gives it.
type affected struct {
	component string
	status    client.Status // "": not given
}

// UnmarshalText parses "API" and "API=major_outage". A component whose name contains an equals sign needs a status.
func (a *affected) UnmarshalText(text []byte) error {
	at := strings.LastIndexByte(string(text), '=')
	switch {
	case at < 0 && len(text) > 0:
		a.component = string(text)
	case at < 1 || at == len(text)-1:
		return errors.New("must be a component and its status, such as API=major_outage")
	default:
		a.component, a.status = string(text[:at]), client.Status(text[at+1:])
	}
	return nil
}

// affected finds the components of a page.
func (c *commandContext) affected(given []affected, page *pageFlag) ([]client.AffectedStatus, error) {
	names := make([]string, len(given))
	for i, a := range given {
		names[i] = a.component
	}
	ids, err := c.components(names, page)
	if err != nil {
		return nil, err
	}
	out := make([]client.AffectedStatus, len(ids))
	for i, id := range ids {
		out[i] = client.AffectedStatus{ID: id, Status: given[i].status}
	}
	return out, nil
}

// checkStatuses returns a usage error if a component is given without a status.
func checkStatuses(given []affected) error {
	i := slices.IndexFunc(given, func(a affected) bool { return a.status == "" })
	if i < 0 {
		return nil
	}
	return console.UsageErrorf("give a status to the component %q, such as %[1]s=major_outage", given[i].component)
}

type incidentComponents struct {
	incidentArgument
	Set  []affected `name:"component" aliases:"set" sep:"none" xor:"set" placeholder:"COMPONENT=STATUS" help:"Component that the incident affects, as in incident open; repeatable. Replaces all others."`
	None bool       `xor:"set" help:"Remove all components."`
}

func (cmd *incidentComponents) Run(c *commandContext) error {
	if err := checkStatuses(cmd.Set); err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	var components []*client.AffectedComponent
	if cmd.None || len(cmd.Set) > 0 {
		var statuses []client.AffectedStatus
		if statuses, err = c.affected(cmd.Set, &cmd.pageFlag); err != nil {
			return err
		}
		components, err = c.api.SetAffectedComponents(c.Ctx, id, statuses)
	} else {
		components, err = c.api.GetAffectedComponents(c.Ctx, id)
	}
	if err != nil {
		return err
	}
	return table(c, components, len(components), "No components.", componentHeader, affectedRow)
}
