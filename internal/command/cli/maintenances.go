package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// MaintenanceCommands are the commands of planned maintenance.
type MaintenanceCommands struct {
	ClientSettings `embed:""`

	List   maintenanceList   `cmd:"" help:"List a page's maintenance, latest first."`
	Show   maintenanceShow   `cmd:"" help:"Show maintenance with its updates."`
	Create maintenanceCreate `cmd:"" aliases:"plan" help:"Schedule maintenance. It begins and ends automatically."`
	Update maintenanceUpdate `cmd:"" help:"Add an update to maintenance. Subscribers are notified."`
	Edit   maintenanceEdit   `cmd:"" aliases:"set" help:"Change the title, components or reminder of maintenance."`
	Move   maintenanceMove   `cmd:"" help:"Change when maintenance begins or ends. Subscribers are notified."`
	Begin  maintenanceBegin  `cmd:"" help:"Begin maintenance now, before its time. It keeps its scheduled duration."`
	End    maintenanceEnd    `cmd:"" help:"End maintenance now, before its time."`
	Cancel maintenanceCancel `cmd:"" help:"Cancel maintenance that has not ended. It is deleted, and subscribers are notified."`
	Delete maintenanceDelete `cmd:"" help:"Delete maintenance with its updates. If it has not ended, this cancels it."`
}

// NewMaintenanceCommands returns the commands, with flags for fields. The flags for times are written by hand, because
// the end can be given as a duration.
func NewMaintenanceCommands() (c MaintenanceCommands) {
	c.Create.resourceFlags = newResourceFlags(resource.Maintenance.Infos("title", "message", "remind_before",
		"components"), field.Creation)
	c.Edit.resourceFlags = newResourceFlags(resource.Maintenance.Infos("title", "remind_before", "components"),
		field.Changing)
	return c
}

// span is embedded by the commands that set the time of maintenance.
type span struct {
	At    *timeinput.Moment   `xor:"begin" placeholder:"TIME" help:"Beginning, such as 2026-11-24 22:00 or tomorrow 22:00 in the page's time zone, or 2026-11-24T22:00:00+01:00."`
	In    *timeinput.Duration `xor:"begin" placeholder:"DURATION" help:"Time from now to the beginning: 2h, 2d."`
	Until *timeinput.Moment   `xor:"end" placeholder:"TIME" help:"End, like --at."`
	For   *timeinput.Duration `xor:"end" placeholder:"DURATION" help:"Duration: 30m."`
}

// beginning returns when the maintenance begins; nil if that is not given.
func (s span) beginning(c *commandContext, page *pageFlag) (*time.Time, error) {
	switch {
	case s.At != nil:
		at, err := c.moment(*s.At, page)
		return &at, err
	case s.In != nil:
		return new(time.Now().Add(time.Duration(*s.In)).Truncate(time.Second)), nil
	}
	return nil, nil
}

// end returns the end of maintenance with the given beginning; nil: it is not given.
func (s span) end(c *commandContext, page *pageFlag, beginning time.Time) (*time.Time, error) {
	switch {
	case s.Until != nil:
		at, err := c.moment(*s.Until, page)
		return &at, err
	case s.For != nil:
		return new(beginning.Add(time.Duration(*s.For))), nil
	}
	return nil, nil
}

type maintenanceCreate struct {
	pageFlag
	resourceFlags
	span
}

func (cmd *maintenanceCreate) Run(c *commandContext) error {
	if cmd.At == nil && cmd.In == nil || cmd.Until == nil && cmd.For == nil {
		return console.UsageErrorf("give the beginning, with --at or --in, and the end, with --until or --for")
	}
	if err := cmd.choose(c); err != nil {
		return err
	}
	from, err := cmd.beginning(c, &cmd.pageFlag)
	if err != nil {
		return err
	}
	until, err := cmd.end(c, &cmd.pageFlag, *from)
	if err != nil {
		return err
	}
	n, err := asInput[client.NewMaintenance](cmd.given(c, &cmd.pageFlag))
	if err != nil {
		return err
	}
	n.ScheduledFor, n.ScheduledUntil = *from, *until
	maintenance, err := c.api.CreateMaintenance(c.Ctx, cmd.Page, n)
	return object(c, maintenance, err, func(m *client.Maintenance) {
		c.Printf("The maintenance is %s, %s\n", console.Visible(m.ID), c.timesOf(m))
		c.printAddress(cmd.Page, "/maintenances/"+m.ID)
	})
}

// begins returns when maintenance begins, or has begun.
func (c *commandContext) begins(m *client.Maintenance) string {
	return c.time(cmp.Or(optional.Value(m.BegunAt), m.ScheduledFor))
}

// ends returns when maintenance ends, or has ended.
func (c *commandContext) ends(m *client.Maintenance) string {
	return c.time(cmp.Or(optional.Value(m.EndedAt), m.ScheduledUntil))
}

// time formats a time in the zone of the output.
func (c *commandContext) time(t time.Time) string {
	if c.zone == nil {
		return console.Time(t)
	}
	return console.TimeIn(t, c.zone)
}

// timesOf returns the beginning and the end of maintenance, and the time zone if the command line did not give it.
func (c *commandContext) timesOf(m *client.Maintenance) string {
	times := "from " + c.begins(m) + " until " + c.ends(m)
	if c.zone != nil {
		times += fmt.Sprintf(" (the page's time zone is %s)", c.zone)
	}
	return times
}

// maintenanceState returns the label of a state.
func maintenanceState(state client.MaintenanceState) string {
	if s := statuspage.MaintenanceState(state); s.Valid() {
		return strings.ToLower(s.Label())
	}
	return string(state)
}

func (c *commandContext) printMaintenance(m *client.Maintenance) {
	c.Printf("The maintenance %q is %s, %s.\n", m.Title, console.Visible(maintenanceState(m.State)), c.timesOf(m))
}

type maintenanceList struct {
	pageFlag
	State client.MaintenanceState `placeholder:"STATE" help:"Only maintenance in this state: scheduled, in_progress, verifying or completed."`
	listing
}

func (cmd *maintenanceList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	list, total, err := c.api.ListMaintenances(cmd.Page, client.MaintenanceFilter{State: cmd.State}).First(c.Ctx,
		int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"MAINTENANCE", "STATE", "FROM", "UNTIL", "TITLE"}
	return table(c, list, total, "No maintenance.", header, func(m *client.Maintenance) []string {
		return []string{m.ID, maintenanceState(m.State), c.begins(m), c.ends(m), m.Title}
	})
}

type maintenanceShow struct {
	maintenanceArgument
}

func (cmd *maintenanceShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	maintenance, err := c.api.GetMaintenance(c.Ctx, id)
	return object(c, maintenance, err, func(m *client.Maintenance) {
		names := make([]string, len(m.Components))
		for i, v := range m.Components {
			names[i] = v.Name
		}
		reminder := "none"
		if m.RemindBefore > 0 {
			reminder = settings.ShortDuration(m.RemindBefore.Duration()) + " before"
		}
		c.Properties([2]string{"Maintenance", m.Title}, [2]string{"Id", m.ID},
			[2]string{"State", maintenanceState(m.State)},
			[2]string{"Scheduled", console.Time(m.ScheduledFor) + " until " + console.Time(m.ScheduledUntil)},
			[2]string{"Begun", timeOr(m.BegunAt, "")}, [2]string{"Ended", timeOr(m.EndedAt, "")},
			[2]string{"Reminder", reminder}, [2]string{"Components", strings.Join(names, ", ")})
		for _, u := range m.Updates {
			c.Printf("\n%s (%s)\n%s\n", console.Time(u.CreatedAt), console.Visible(maintenanceState(u.State)),
				console.Paragraph(u.Message, "  "))
		}
	})
}

type maintenanceUpdate struct {
	maintenanceArgument
	updateText
	State client.MaintenanceState `placeholder:"STATE" help:"New state: in_progress, verifying or completed."`
}

func (cmd *maintenanceUpdate) Run(c *commandContext) error {
	message, err := cmd.read(c)
	if err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	update, err := c.api.AddMaintenanceUpdate(c.Ctx, id, client.NewMaintenanceUpdate{
		Message: message, State: cmd.State,
	})
	return object(c, update, err, func(u *client.MaintenanceUpdate) {
		c.Printf("Added the update. The maintenance is %s.\n", console.Visible(maintenanceState(u.State)))
	})
}

type maintenanceEdit struct {
	maintenanceArgument
	resourceFlags
}

func (cmd *maintenanceEdit) Run(c *commandContext) error {
	change, err := asInput[client.MaintenanceChange](cmd.given(c, &cmd.pageFlag))
	if err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	maintenance, err := c.api.ChangeMaintenance(c.Ctx, id, change)
	return object(c, maintenance, err, c.printMaintenance)
}

type maintenanceMove struct {
	maintenanceArgument
	span
}

// Run keeps the duration of the maintenance, unless the end is given.
func (cmd *maintenanceMove) Run(c *commandContext) error {
	if cmd.span == (span{}) {
		return console.UsageErrorf("give the beginning, with --at or --in, or the end, with --until or --for")
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	m, err := c.api.GetMaintenance(c.Ctx, id)
	if err != nil {
		return err
	}
	var change client.MaintenanceChange
	from := m.ScheduledFor
	at, err := cmd.beginning(c, &cmd.pageFlag)
	if err != nil {
		return err
	}
	if at != nil {
		from = *at
		change.ScheduledFor = &from
		change.ScheduledUntil = new(from.Add(m.ScheduledUntil.Sub(m.ScheduledFor)))
	}
	if at, err = cmd.end(c, &cmd.pageFlag, from); err != nil {
		return err
	}
	if at != nil {
		change.ScheduledUntil = at
	}
	maintenance, err := c.api.ChangeMaintenance(c.Ctx, id, change)
	return object(c, maintenance, err, c.printMaintenance)
}

// transition is embedded by the commands that begin or end maintenance.
type transition struct {
	maintenanceArgument
	Message *string `placeholder:"TEXT" help:"Update to add; - reads it from standard input."`
}

// run brings the maintenance to a state, with the update in the same request if there is one.
func (cmd *transition) run(c *commandContext, state client.MaintenanceState) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	message, err := c.message(cmd.Message)
	if err != nil {
		return err
	}
	if message == nil {
		maintenance, err := c.api.ChangeMaintenance(c.Ctx, id, client.MaintenanceChange{State: &state})
		return object(c, maintenance, err, c.printMaintenance)
	}
	update := client.NewMaintenanceUpdate{Message: *message, State: state}
	if _, err := c.api.AddMaintenanceUpdate(c.Ctx, id, update); err != nil {
		return err
	}
	maintenance, err := c.api.GetMaintenance(c.Ctx, id)
	return object(c, maintenance, err, c.printMaintenance)
}

type maintenanceBegin struct{ transition }

func (cmd *maintenanceBegin) Run(c *commandContext) error {
	return cmd.run(c, client.MaintenanceInProgress)
}

type maintenanceEnd struct{ transition }

func (cmd *maintenanceEnd) Run(c *commandContext) error {
	return cmd.run(c, client.MaintenanceCompleted)
}

type maintenanceCancel struct {
	maintenanceArgument
}

func (cmd *maintenanceCancel) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	m, err := c.api.GetMaintenance(c.Ctx, id)
	if err != nil {
		return err
	}
	if m.State == client.MaintenanceCompleted {
		return fmt.Errorf("the maintenance %q has ended, so it cannot be cancelled; `allswell maintenance delete %s` "+
			"deletes it",
			console.Visible(m.Title), console.Visible(id))
	}
	if err := c.api.DeleteMaintenance(c.Ctx, id); err != nil {
		return err
	}
	c.Done("Cancelled the maintenance %q.", m.Title)
	return nil
}

type maintenanceDelete struct {
	maintenanceArgument
	confirmation
}

func (cmd *maintenanceDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, func() (string, error) {
		m, err := c.api.GetMaintenance(c.Ctx, id)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("the maintenance %q (%s) with its updates", m.Title, maintenanceState(m.State)), nil
	}); err != nil {
		return err
	}
	return c.deleted(c.api.DeleteMaintenance(c.Ctx, id), "maintenance", cmd.Maintenance)
}
