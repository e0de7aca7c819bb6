package cli

import (
	"slices"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

type incidentUpdate struct {
	incidentArgument
	updateText
	State      *client.IncidentState `placeholder:"STATE" help:"New state of the incident: investigating, identified, monitoring or resolved."`
	Impact     *client.Impact        `placeholder:"IMPACT" help:"New impact: none, minor, major or critical."`
	Components []affected            `name:"component" sep:"none" placeholder:"COMPONENT=STATUS" help:"Component that the incident affects, as in incident create; repeatable. Replaces all others."`
	At         *timeinput.Moment     `placeholder:"TIME" help:"When it happened, if earlier than now, in the form of --began of incident create. No one is notified."`
	silence
}

func (cmd *incidentUpdate) Run(c *commandContext) error {
	if err := checkStatuses(cmd.Components); err != nil {
		return err
	}
	message, err := cmd.read(c)
	if err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	update := client.NewIncidentUpdate{Message: message, State: cmd.State, Impact: cmd.Impact, Notify: cmd.notify()}
	if update.At, err = c.optionalMoment(cmd.At, &cmd.pageFlag); err != nil {
		return err
	}
	if len(cmd.Components) > 0 {
		components, err := c.affected(cmd.Components, &cmd.pageFlag)
		if err != nil {
			return err
		}
		update.Components = &components
	}
	added, err := c.api.PostUpdate(c.Ctx, id, update)
	if err != nil || c.JSON {
		return object(c, added, err, nil)
	}
	c.Printf("Added the update.\n")
	if cmd.State == nil {
		return nil
	}
	incident, err := c.api.GetIncident(c.Ctx, id)
	if err != nil {
		return after("the update was added, but the incident could not be read", err)
	}
	return c.printIncident(id, incident, *cmd.State == client.IncidentResolved)
}

// changeIncident changes an incident, and adds an update in the same request if there is a message.
func (c *commandContext) changeIncident(incident *incidentArgument, change client.IncidentChange) error {
	var err error
	if change.Message, err = c.message(change.Message); err != nil {
		return err
	}
	if change.Message != nil { // the server ignores a blank one
		if err := statuspage.CheckMessage(*change.Message); err != nil {
			return &console.UsageError{Err: err}
		}
	}
	id, err := incident.id(c)
	if err != nil {
		return err
	}
	changed, err := c.api.ChangeIncident(c.Ctx, id, change)
	if err != nil || c.JSON {
		return object(c, changed, err, nil)
	}
	return c.printIncident(id, changed,
		optional.Value(change.Resolved) || optional.Value(change.State) == client.IncidentResolved)
}

// printIncident prints the state of an incident, and after it was resolved the monitors that are still down.
func (c *commandContext) printIncident(id string, i *client.Incident, resolved bool) error {
	c.Printf("The incident %q is %s.\n", i.Title, console.Visible(incidentState(i)))
	if !i.Resolved || !resolved {
		return nil
	}
	if err := c.warnOfDownMonitors(id); err != nil {
		return after("the incident is resolved, but its monitors could not be read", err)
	}
	return nil
}

// warnOfDownMonitors names the monitors that are still down although an incident is resolved: the monitor that opened
// it, and the monitors of its components.
func (c *commandContext) warnOfDownMonitors(incident string) error {
	components, err := c.api.GetAffectedComponents(c.Ctx, incident)
	if err != nil {
		return err
	}
	ids, names := make([]string, len(components)), make(map[string]string) // names by id
	for i, v := range components {
		ids[i], names[v.ID] = v.ID, v.Name
	}
	filters := []client.MonitorFilter{{IncidentID: incident, State: client.MonitorDown}}
	for some := range slices.Chunk(ids, maxComponentsPerFilter) {
		filters = append(filters, client.MonitorFilter{Components: some, State: client.MonitorDown})
	}
	named := make(map[string]bool) // by id
	for _, filter := range filters {
		for m, err := range c.api.ListMonitors(filter).All(c.Ctx) {
			if err != nil {
				return err
			}
			if named[m.ID] || !m.Enabled {
				continue
			}
			named[m.ID] = true
			if component := names[optional.Value(m.ComponentID)]; component != "" {
				c.Printf("The monitor %s is still down: the component %s keeps its status until a ping arrives.\n",
					console.Visible(m.Name), console.Visible(component))
			} else {
				c.Printf("The monitor %s is still down, until a ping arrives.\n", console.Visible(m.Name))
			}
		}
	}
	return nil
}

// maxComponentsPerFilter keeps the URL of a list of monitors below 4,000 characters.
const maxComponentsPerFilter = 100

type incidentEdit struct {
	incidentArgument
	Title    *string               `placeholder:"TEXT" help:"New title."`
	Impact   *client.Impact        `placeholder:"IMPACT" help:"none, minor, major or critical."`
	State    *client.IncidentState `placeholder:"STATE" help:"investigating, identified, monitoring or resolved."`
	Resolved *bool                 `negatable:"" help:"Resolve the incident or reopen it, and keep its state. incident resolve also sets the state."`
	Message  *string               `placeholder:"TEXT" help:"Update to add; - reads it from standard input."`
	silence
}

func (cmd *incidentEdit) Run(c *commandContext) error {
	change := client.IncidentChange{
		Title: cmd.Title, Impact: cmd.Impact, State: cmd.State, Resolved: cmd.Resolved, Message: cmd.Message,
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	change.Notify = cmd.notify()
	return c.changeIncident(&cmd.incidentArgument, change)
}

type incidentResolve struct {
	incidentArgument
	Message *string `placeholder:"TEXT" help:"Last update; - reads it from standard input."`
	silence
}

func (cmd *incidentResolve) Run(c *commandContext) error {
	change := client.IncidentChange{
		State: new(client.IncidentResolved), Resolved: new(true), Message: cmd.Message, Notify: cmd.notify(),
	}
	return c.changeIncident(&cmd.incidentArgument, change)
}
