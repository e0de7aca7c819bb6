package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// IncidentCommands are the commands of incidents.
type IncidentCommands struct {
	ClientSettings `embed:""`

	List         incidentList         `cmd:"" help:"List a page's incidents, newest first."`
	Show         incidentShow         `cmd:"" help:"Show an incident with its updates."`
	Create       incidentCreate       `cmd:"" aliases:"open" help:"Open an incident, or prepare one as a draft."`
	Update       incidentUpdate       `cmd:"" help:"Add an update to an incident. Subscribers are notified."`
	EditUpdate   incidentEditUpdate   `cmd:"" help:"Change the text of an update. No one is notified."`
	DeleteUpdate incidentDeleteUpdate `cmd:"" help:"Delete an update with its text. No one is notified."`
	Edit         incidentEdit         `cmd:"" aliases:"set" help:"Change an incident's title, impact or state."`
	Resolve      incidentResolve      `cmd:"" help:"Resolve an incident."`
	Components   incidentComponents   `cmd:"" help:"Show or set the components that an incident affects."`
	Publish      incidentPublish      `cmd:"" help:"Publish a draft, and notify subscribers."`
	Notes        incidentNotes        `cmd:"" help:"Show how the job of an incident's monitor failed. Visitors do not see it."`
	Postmortem   incidentPostmortem   `cmd:"" help:"Show, write or publish the post-mortem of an incident."`

	TakeOver incidentTakeOver `cmd:"" help:"Take over an incident that a monitor opened: its recovery does not resolve it."`
	GiveBack incidentGiveBack `cmd:"" help:"Give an incident that was taken over back to its monitor."`
	Merge    incidentMerge    `cmd:"" help:"Merge an incident into another one, which gets its components. No one is notified."`

	DeletePostmortem incidentDeletePostmortem `cmd:"" help:"Delete the post-mortem of an incident. No one is notified."`

	Delete incidentDelete `cmd:"" help:"Delete an incident with its updates."`
}

type incidentCreate struct {
	pageFlag
	Template   string                `placeholder:"TEMPLATE" help:"Id or name of a template, which supplies the values of missing flags."`
	Title      string                `placeholder:"TEXT" help:"Title of the incident, at most 255 characters. Required without --template."`
	Impact     *client.Impact        `placeholder:"IMPACT" help:"none, minor, major or critical. By default none, or derived from the worst status of its components."`
	State      *client.IncidentState `placeholder:"STATE" help:"investigating (the default), identified, monitoring or resolved."`
	Message    *string               `placeholder:"TEXT" help:"First update; - reads it from standard input."`
	Components []affected            `name:"component" sep:"none" placeholder:"COMPONENT[=STATUS]" help:"Affected component, by id, name or slug, and its status: ${affected_statuses}. By default the status follows --impact; without it, degraded. Repeatable."`
	Began      *timeinput.Moment     `placeholder:"TIME" help:"When it began, if earlier than now, such as 09:30 or yesterday 22:00 in the page's time zone. The history of its components is corrected."`
	Ended      *timeinput.Moment     `placeholder:"TIME" help:"When it ended, in the form of --began. No one is notified."`
	Draft      bool                  `help:"Keep it hidden, and notify no one, until incident publish. Its components get their statuses at once."`
	silence
}

func (cmd *incidentCreate) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	message, err := c.message(cmd.Message)
	if err != nil {
		return err
	}
	if cmd.Title == "" && cmd.Template == "" {
		return console.UsageErrorf("missing flags: --title=TEXT")
	}
	assumed := cmd.assumeStatuses()
	incident := client.NewIncident{
		Template: cmd.Template, Title: cmd.Title, Impact: cmd.Impact, State: cmd.State, Message: message,
		Draft: cmd.Draft, Notify: cmd.notify(),
	}
	if err := cmd.setTimes(c, &incident); err != nil {
		return err
	}
	if incident.Components, err = c.affected(cmd.Components, &cmd.pageFlag); err != nil {
		return err
	}
	created, err := c.api.CreateIncident(c.Ctx, cmd.Page, incident)
	return object(c, created, err, func(i *client.Incident) {
		c.Printf("The incident is %s\n", console.Visible(i.ID))
		cmd.explain(c, i, incident.Components, assumed)
		if cmd.Draft {
			c.Printf("It is a draft: visitors do not see it, and no one is notified. To publish it:\n  allswell "+
				"incident publish %s\n", console.Visible(i.ID))
		} else {
			c.printAddress(cmd.Page, "/incidents/"+i.ID)
		}
		if len(cmd.Components) == 0 && !i.Resolved {
			c.suggestComponents(cmd.Page, i.ID, cmd.Title+" "+optional.Value(message))
		}
	})
}

// setTimes sets the beginning and the end of an incident that is recorded later.
func (cmd *incidentCreate) setTimes(c *commandContext, incident *client.NewIncident) (err error) {
	if cmd.Ended != nil && cmd.Began == nil {
		return console.UsageErrorf("--ended needs --began")
	}
	incident.BeganAt, err = c.optionalMoment(cmd.Began, &cmd.pageFlag)
	if err == nil {
		incident.ResolvedAt, err = c.optionalMoment(cmd.Ended, &cmd.pageFlag)
	}
	return err
}

// optionalMoment returns a time that was given on the command line; nil for nil.
func (c *commandContext) optionalMoment(given *timeinput.Moment, page *pageFlag) (*time.Time, error) {
	if given == nil {
		return nil, nil
	}
	at, err := c.moment(*given, page)
	return &at, err
}

// explain prints what the server and the command have chosen: the impact, and the statuses of components that were
// given without one, unless the incident is already resolved.
func (cmd *incidentCreate) explain(
	c *commandContext, i *client.Incident, components []client.AffectedStatus, assumed []affected,
) {
	if len(components) == 0 {
		return
	}
	hidden := make(map[string]bool) // by id
	for v, err := range c.api.ListHiddenComponents(cmd.Page).All(c.Ctx) {
		if err != nil {
			break // only the explanation is missing
		}
		hidden[v.ID] = true
	}
	visible := slices.ContainsFunc(components, func(v client.AffectedStatus) bool { return !hidden[v.ID] })
	switch {
	case cmd.Impact != nil:
	case cmd.setsImpact(c):
		c.Printf("Its impact is %s, as in the template (--impact chooses another).\n",
			console.Visible(string(i.Impact)))
	case visible:
		c.Printf("Its impact is %s, by the worst status given (--impact chooses another).\n",
			console.Visible(string(i.Impact)))
	default:
		c.Printf("Its impact is %s, because hidden components do not count (--impact chooses another).\n",
			console.Visible(string(i.Impact)))
	}
	if !visible {
		c.Printf("Visitors do not see which components it affects: they are hidden.\n")
	}
	if i.Resolved {
		c.Printf("It is resolved, so its components keep their statuses.\n")
		return
	}
	for _, v := range assumed {
		c.Printf("The component %s is %s while it lasts (--component NAME=STATUS chooses another status).\n",
			console.Visible(v.component), v.status)
	}
}

// setsImpact reports whether a template is given that has an impact.
func (cmd *incidentCreate) setsImpact(c *commandContext) bool {
	if cmd.Template == "" {
		return false
	}
	template, err := c.api.GetIncidentTemplate(c.Ctx, cmd.Template)
	return err == nil && template.Impact != nil
}

// suggestComponents prints how to name the affected components of a new incident, with the components that its text
// mentions, or all components if it mentions none. It prints nothing if there are none, or if they cannot be read.
func (c *commandContext) suggestComponents(page, incident, text string) {
	var all, mentioned []string
	text = strings.ToLower(text)
	for v, err := range c.api.ListComponents(page).All(c.Ctx) {
		if err != nil {
			return
		}
		name := console.Visible(v.Name)
		all = append(all, name)
		if slices.ContainsFunc(strings.Fields(strings.ToLower(v.Name)), func(word string) bool {
			return strings.Contains(text, word)
		}) {
			mentioned = append(mentioned, name)
		}
	}
	if len(mentioned) == 0 {
		mentioned = all
	}
	if len(mentioned) > 0 {
		c.Printf("It affects no component, so their statuses stay as they are. To name those that it affects:\n")
		c.Printf("  allswell incident components %s --page %s --component NAME=STATUS\n", console.Visible(incident),
			console.Visible(page))
		c.Printf("NAME may be %s.\n", firstOf(mentioned))
	}
}

// assumeStatuses sets the status of components that are given without one, and returns them: the status that matches
// the impact, or degraded.
func (cmd *incidentCreate) assumeStatuses() (assumed []affected) {
	status := client.StatusDegraded
	if cmd.Impact != nil {
		status = client.Status(kernel.Impact(*cmd.Impact).Status())
	}
	for i := range cmd.Components {
		if v := &cmd.Components[i]; v.status == "" {
			v.status = status
			assumed = append(assumed, *v)
		}
	}
	return assumed
}

type incidentList struct {
	pageFlag
	Open     bool `xor:"resolved" help:"Only incidents that are not resolved."`
	Resolved bool `xor:"resolved" help:"Only resolved incidents."`
	Drafts   bool `help:"List drafts, which wait for a person to publish them, instead of published incidents."`
	listing
}

var incidentHeader = []string{"INCIDENT", "STATE", "IMPACT", "OPENED", "TITLE"}

func incidentRow(i *client.Incident) []string {
	return []string{i.ID, incidentState(i), string(i.Impact), console.Time(i.CreatedAt), i.Title}
}

// incidentState returns the state, with the note that the incident is resolved if the state does not show it.
func incidentState(i *client.Incident) string {
	if i.Resolved && i.State != client.IncidentResolved {
		return string(i.State) + " (resolved)"
	}
	return string(i.State)
}

func (cmd *incidentList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	filter := client.IncidentFilter{Drafts: cmd.Drafts}
	if cmd.Open || cmd.Resolved {
		filter.Resolved = &cmd.Resolved
	}
	incidents, total, err := c.api.ListIncidents(cmd.Page, filter).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	none := "No incidents."
	if cmd.Drafts {
		none = "No drafts."
	}
	if err := table(c, incidents, total, none, incidentHeader, incidentRow); err != nil || cmd.Drafts || c.JSON {
		return err
	}
	return c.mentionDrafts(cmd.Page, filter)
}

// mentionDrafts prints how many drafts match the filter of a list that omits drafts.
func (c *commandContext) mentionDrafts(page string, filter client.IncidentFilter) error {
	filter.Drafts = true
	n, err := c.api.ListIncidents(page, filter).Count(c.Ctx)
	if err == nil && n > 0 {
		c.Printf("\nNot listed: %s (allswell incident list --page %s --drafts).\n", some(n, "draft"),
			console.Visible(page))
	}
	return err
}

type incidentPublish struct {
	incidentArgument
	silence
}

func (cmd *incidentPublish) Run(c *commandContext) error {
	cmd.drafts = true
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	draft := true
	if id == cmd.Incident { // an id is not looked up
		if draft, err = c.isDraft(id); err != nil {
			return err
		}
	}
	var options []client.CallOption
	if cmd.NoNotify {
		options = append(options, client.Silently())
	}
	incident, err := c.api.PublishIncident(c.Ctx, id, options...)
	return object(c, incident, err, func(i *client.Incident) {
		if draft {
			c.Printf("Published the incident %s.\n", console.Visible(i.Title))
		} else {
			c.Printf("The incident %s was published already: nothing changed.\n", console.Visible(i.Title))
		}
	})
}

type incidentShow struct {
	incidentArgument
}

func (cmd *incidentShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	incident, err := c.api.GetIncident(c.Ctx, id)
	if err != nil || c.JSON {
		return object(c, incident, err, nil)
	}
	components, err := c.api.GetAffectedComponents(c.Ctx, id)
	if err != nil {
		return err
	}
	published := ""
	switch draft, err := c.isDraft(id); {
	case err != nil:
		return err
	case draft:
		published = "no, it is a draft (allswell incident publish)"
	}
	c.Properties([2]string{"Incident", incident.Title}, [2]string{"Id", incident.ID}, [2]string{"Published", published},
		[2]string{"State", string(incident.State)}, [2]string{"Impact", string(incident.Impact)},
		[2]string{"Opened", console.Time(incident.CreatedAt)},
		[2]string{"Resolved", timeOr(incident.ResolvedAt, "no")})
	if len(components) > 0 {
		c.Printf("\n")
		if err := table(c, components, len(components), "", componentHeader, affectedRow); err != nil {
			return err
		}
	}
	for _, u := range incident.Updates {
		c.Printf("\n%s  %s\n%s\n", console.Time(u.CreatedAt), console.Visible(u.ID), console.Paragraph(u.Message, "  "))
	}
	return nil
}

type incidentNotes struct {
	incidentArgument
	listing
}

func (cmd *incidentNotes) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	notes, total, err := c.api.ListIncidentNotes(id).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	if c.JSON || len(notes) == 0 {
		return table(c, notes, total, "No notes.", nil, func(*client.IncidentNote) []string { return nil })
	}
	for _, n := range notes {
		c.Printf("%s  %s\n", console.Time(n.CreatedAt), failureText(n))
		if n.Output != "" {
			c.Printf("%s\n", console.Paragraph(n.Output, "  "))
		}
	}
	return nil
}

// failureText introduces how a job or a check failed.
func failureText(n *client.IncidentNote) string {
	if n.ExitCode == nil {
		return "Failure:"
	}
	return fmt.Sprintf("The job failed with exit code %d.", *n.ExitCode)
}

type incidentDelete struct {
	incidentArgument
	confirmation
}

func (cmd *incidentDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, func() (string, error) {
		i, err := c.api.GetIncident(c.Ctx, id)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("the incident %q (%s) with its updates", i.Title, incidentState(i)), nil
	}); err != nil {
		return err
	}
	name := cmd.Incident
	if id != name { // such as latest
		i, err := c.api.GetIncident(c.Ctx, id)
		if err != nil {
			return err
		}
		name = i.Title
	}
	return c.deleted(c.api.DeleteIncident(c.Ctx, id), "incident", name)
}
