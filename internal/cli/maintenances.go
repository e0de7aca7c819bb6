package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/console"
	"github.com/allswell/allswell/internal/settings"
)

// MaintenanceCommands are the commands of planned maintenance.
type MaintenanceCommands struct {
	ClientSettings `embed:""`

	Plan   maintenancePlan   `cmd:"" help:"Plan maintenance. It begins and ends automatically."`
	List   maintenanceList   `cmd:"" help:"List a page's maintenance, latest first."`
	Show   maintenanceShow   `cmd:"" help:"Show maintenance with its updates."`
	Update maintenanceUpdate `cmd:"" help:"Add an update to maintenance. Subscribers are notified."`
	Set    maintenanceSet    `cmd:"" help:"Change the title, components or reminder of maintenance."`
	Move   maintenanceMove   `cmd:"" help:"Change when maintenance begins or ends. Subscribers are notified."`
	Begin  maintenanceBegin  `cmd:"" help:"Begin maintenance now, before its time. It keeps its planned duration."`
	End    maintenanceEnd    `cmd:"" help:"End maintenance now, before its time."`
	Cancel maintenanceCancel `cmd:"" help:"Cancel maintenance that has not ended. It is deleted, and subscribers are notified."`
	Delete maintenanceDelete `cmd:"" help:"Delete maintenance with its updates. If it has not ended, this cancels it."`
}

// span is embedded by the commands that set the time of maintenance.
type span struct {
	At    *instant `xor:"begin" placeholder:"TIME" help:"Beginning, such as 2026-11-21T22:00:00+01:00."`
	In    *seconds `xor:"begin" placeholder:"DURATION" help:"Time from now to the beginning: 2h, 2d."`
	Until *instant `xor:"end" placeholder:"TIME" help:"End."`
	For   *seconds `xor:"end" placeholder:"DURATION" help:"Duration: 30m."`
}

// beginning returns when the maintenance begins; nil if that is not given.
func (s span) beginning(now time.Time) *time.Time {
	switch {
	case s.At != nil:
		return (*time.Time)(s.At)
	case s.In != nil:
		return new(now.Add(s.In.duration()).Truncate(time.Second))
	}
	return nil
}

// end returns when maintenance that begins then ends; nil if that is not given.
func (s span) end(beginning time.Time) *time.Time {
	switch {
	case s.Until != nil:
		return (*time.Time)(s.Until)
	case s.For != nil:
		return new(beginning.Add(s.For.duration()))
	}
	return nil
}

// reminder is embedded by the commands that set when subscribers are reminded.
type reminder struct {
	Remind     *seconds `xor:"remind" placeholder:"DURATION" help:"Time between the reminder of subscribers and the beginning, at most 14d. New maintenance: 1d by default."`
	NoReminder bool     `xor:"remind" help:"Send no reminder."`
}

func (r reminder) before() *client.Seconds {
	if r.NoReminder {
		return new(client.Seconds(0))
	}
	return (*client.Seconds)(r.Remind)
}

type maintenancePlan struct {
	Page       string   `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Title      string   `required:"" placeholder:"TEXT" help:"Title of the maintenance, at most 255 characters."`
	Message    *string  `placeholder:"TEXT" help:"First update; - reads it from standard input."`
	Components []string `name:"component" sep:"none" placeholder:"COMPONENT" help:"Id, name or slug of an affected component; repeatable."`
	span
	reminder
}

func (cmd *maintenancePlan) Run(c *commandContext) error {
	needsTimes := console.UsageErrorf("give the beginning, with --at or --in, and the end, with --until or --for")
	from := cmd.beginning(time.Now())
	if from == nil {
		return needsTimes
	}
	until := cmd.end(*from)
	if until == nil {
		return needsTimes
	}
	message, err := c.message(cmd.Message)
	if err != nil {
		return err
	}
	components, err := c.components(cmd.Components, cmd.Page)
	if err != nil {
		return err
	}
	maintenance, err := c.api.CreateMaintenance(c.Ctx, cmd.Page, client.NewMaintenance{
		Title: cmd.Title, Message: message, ScheduledFor: *from, ScheduledUntil: *until, Components: components, RemindBefore: cmd.before(),
	})
	return object(c, maintenance, err, func(m *client.Maintenance) {
		c.Printf("The maintenance is %s, %s\nIt is shown at %s/maintenances/%s\n",
			console.Visible(m.ID), timesOf(m), console.Visible(c.pageURL(cmd.Page)), console.Visible(m.ID))
	})
}

// begins returns when maintenance begins, or has begun.
func begins(m *client.Maintenance) string {
	if m.BegunAt != nil {
		return console.Time(*m.BegunAt)
	}
	return console.Time(m.ScheduledFor)
}

// ends returns when maintenance ends, or has ended.
func ends(m *client.Maintenance) string {
	if m.EndedAt != nil {
		return console.Time(*m.EndedAt)
	}
	return console.Time(m.ScheduledUntil)
}

func timesOf(m *client.Maintenance) string { return "from " + begins(m) + " until " + ends(m) }

// maintenanceState returns the label of a state.
func maintenanceState(state allswell.MaintenanceState) string {
	if state.Valid() {
		return strings.ToLower(state.Label())
	}
	return string(state)
}

func (c *commandContext) printMaintenance(m *client.Maintenance) {
	c.Printf("The maintenance %q is %s, %s.\n", m.Title, console.Visible(maintenanceState(m.State)), timesOf(m))
}

type maintenanceList struct {
	Page  string                    `required:"" placeholder:"SLUG" help:"Slug of the page."`
	State allswell.MaintenanceState `placeholder:"STATE" help:"Only maintenance in this state: scheduled, in_progress, verifying or completed."`
	listing
}

func (cmd *maintenanceList) Run(c *commandContext) error {
	list, total, err := c.api.ListMaintenances(cmd.Page, client.MaintenanceFilter{State: cmd.State}).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"MAINTENANCE", "STATE", "FROM", "UNTIL", "TITLE"}
	return table(c, list, total, "No maintenance.", header, func(m *client.Maintenance) []string {
		return []string{m.ID, maintenanceState(m.State), begins(m), ends(m), m.Title}
	})
}

type maintenanceShow struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
}

func (cmd *maintenanceShow) Run(c *commandContext) error {
	maintenance, err := c.api.GetMaintenance(c.Ctx, cmd.Maintenance)
	return object(c, maintenance, err, func(m *client.Maintenance) {
		names := make([]string, len(m.Components))
		for i, v := range m.Components {
			names[i] = v.Name
		}
		reminder := "none"
		if m.RemindBefore > 0 {
			reminder = settings.ShortDuration(m.RemindBefore.Duration()) + " before"
		}
		c.Facts([2]string{"Maintenance", m.Title}, [2]string{"Id", m.ID}, [2]string{"State", maintenanceState(m.State)},
			[2]string{"Planned", console.Time(m.ScheduledFor) + " until " + console.Time(m.ScheduledUntil)},
			[2]string{"Begun", timeOr(m.BegunAt, "")}, [2]string{"Ended", timeOr(m.EndedAt, "")},
			[2]string{"Reminder", reminder}, [2]string{"Components", strings.Join(names, ", ")})
		for _, u := range m.Updates {
			c.Printf("\n%s (%s)\n%s\n", console.Time(u.CreatedAt), console.Visible(maintenanceState(u.State)), console.Paragraph(u.Message, "  "))
		}
	})
}

type maintenanceUpdate struct {
	Maintenance string                     `arg:"" help:"Id of the maintenance."`
	Message     string                     `arg:"" help:"Text of the update; - reads it from standard input."`
	State       *allswell.MaintenanceState `placeholder:"STATE" help:"New state: in_progress, verifying or completed."`
}

func (cmd *maintenanceUpdate) Run(c *commandContext) error {
	message, err := c.message(&cmd.Message)
	if err != nil {
		return err
	}
	update, err := c.api.AddMaintenanceUpdate(c.Ctx, cmd.Maintenance, client.NewMaintenanceUpdate{Message: *message, State: cmd.State})
	return object(c, update, err, func(u *client.MaintenanceUpdate) {
		c.Printf("Added the update. The maintenance is %s.\n", console.Visible(maintenanceState(u.State)))
	})
}

type maintenanceSet struct {
	Maintenance  string   `arg:"" help:"Id of the maintenance."`
	Title        *string  `placeholder:"TEXT" help:"New title."`
	Components   []string `name:"component" sep:"none" xor:"components" placeholder:"COMPONENT" help:"Id, name or slug of an affected component; repeatable. Replaces all others."`
	NoComponents bool     `xor:"components" help:"Remove all components."`
	Page         string   `placeholder:"SLUG" help:"Slug of the page, to find components by their names or slugs."`
	reminder
}

func (cmd *maintenanceSet) Run(c *commandContext) error {
	change := client.MaintenanceChange{Title: cmd.Title, RemindBefore: cmd.before()}
	if len(cmd.Components) > 0 || cmd.NoComponents {
		ids, err := c.components(cmd.Components, cmd.Page)
		if err != nil {
			return err
		}
		change.Components = &ids
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	maintenance, err := c.api.ChangeMaintenance(c.Ctx, cmd.Maintenance, change)
	return object(c, maintenance, err, c.printMaintenance)
}

type maintenanceMove struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
	span
}

// Run keeps the duration of the maintenance, unless the end is given.
func (cmd *maintenanceMove) Run(c *commandContext) error {
	if cmd.span == (span{}) {
		return console.UsageErrorf("give the beginning, with --at or --in, or the end, with --until or --for")
	}
	m, err := c.api.GetMaintenance(c.Ctx, cmd.Maintenance)
	if err != nil {
		return err
	}
	var change client.MaintenanceChange
	from := m.ScheduledFor
	if at := cmd.beginning(time.Now()); at != nil {
		from = *at
		change.ScheduledFor = &from
		change.ScheduledUntil = new(from.Add(m.ScheduledUntil.Sub(m.ScheduledFor)))
	}
	if at := cmd.end(from); at != nil {
		change.ScheduledUntil = at
	}
	maintenance, err := c.api.ChangeMaintenance(c.Ctx, cmd.Maintenance, change)
	return object(c, maintenance, err, c.printMaintenance)
}

// transition is embedded by the commands that begin or end maintenance.
type transition struct {
	Maintenance string  `arg:"" help:"Id of the maintenance."`
	Message     *string `placeholder:"TEXT" help:"Update to add; - reads it from standard input."`
}

// run brings the maintenance to a state, with the update in the same request if there is one.
func (cmd transition) run(c *commandContext, state allswell.MaintenanceState) error {
	message, err := c.message(cmd.Message)
	if err != nil {
		return err
	}
	if message == nil {
		maintenance, err := c.api.ChangeMaintenance(c.Ctx, cmd.Maintenance, client.MaintenanceChange{State: &state})
		return object(c, maintenance, err, c.printMaintenance)
	}
	update := client.NewMaintenanceUpdate{Message: *message, State: &state}
	if _, err := c.api.AddMaintenanceUpdate(c.Ctx, cmd.Maintenance, update); err != nil {
		return err
	}
	maintenance, err := c.api.GetMaintenance(c.Ctx, cmd.Maintenance)
	return object(c, maintenance, err, c.printMaintenance)
}

type maintenanceBegin struct{ transition }

func (cmd *maintenanceBegin) Run(c *commandContext) error {
	return cmd.run(c, allswell.MaintenanceInProgress)
}

type maintenanceEnd struct{ transition }

func (cmd *maintenanceEnd) Run(c *commandContext) error {
	return cmd.run(c, allswell.MaintenanceCompleted)
}

type maintenanceCancel struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
}

func (cmd *maintenanceCancel) Run(c *commandContext) error {
	m, err := c.api.GetMaintenance(c.Ctx, cmd.Maintenance)
	if err != nil {
		return err
	}
	if m.State == allswell.MaintenanceCompleted {
		return fmt.Errorf("the maintenance %q has ended, so it cannot be cancelled; `allswell maintenance delete %s` deletes it",
			console.Visible(m.Title), console.Visible(cmd.Maintenance))
	}
	if err := c.api.DeleteMaintenance(c.Ctx, cmd.Maintenance); err != nil {
		return err
	}
	c.Done("Cancelled the maintenance %q.", m.Title)
	return nil
}

type maintenanceDelete struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
}

func (cmd *maintenanceDelete) Run(c *commandContext) error {
	return c.deleted(c.api.DeleteMaintenance(c.Ctx, cmd.Maintenance), "maintenance", cmd.Maintenance)
}
