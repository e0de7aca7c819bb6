package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/settings"
)

type maintenanceCommands struct {
	clientSettings `embed:""`

	Plan   maintenancePlan   `cmd:"" help:"Plan a maintenance. It begins and ends by the clock."`
	List   maintenanceList   `cmd:"" help:"List a page's maintenances, the latest first."`
	Show   maintenanceShow   `cmd:"" help:"Show a maintenance with its timeline."`
	Update maintenanceUpdate `cmd:"" help:"Add an update to a maintenance's timeline."`
	Set    maintenanceSet    `cmd:"" help:"Change a maintenance's title, components or reminder."`
	Move   maintenanceMove   `cmd:"" help:"Change when a maintenance begins or ends. Subscribers are told."`
	Begin  maintenanceBegin  `cmd:"" help:"Begin a maintenance now, before its time. It takes as long as was planned, from now on."`
	End    maintenanceEnd    `cmd:"" help:"End a maintenance now, before its time."`
	Cancel maintenanceCancel `cmd:"" help:"Call a maintenance off that is not over. It is deleted, and subscribers are told."`
	Delete maintenanceDelete `cmd:"" help:"Delete a maintenance with its timeline. If it is not over, that calls it off."`
}

// span is embedded by the commands that say when a maintenance is.
type span struct {
	At    *instant `xor:"begin" placeholder:"TIME" help:"When it begins, such as 2026-11-21T22:00:00+01:00."`
	In    *seconds `xor:"begin" placeholder:"DURATION" help:"When it begins, from now on: 2h, 2d."`
	Until *instant `xor:"end" placeholder:"TIME" help:"When it ends."`
	For   *seconds `xor:"end" placeholder:"DURATION" help:"How long it takes from its beginning: 30m."`
}

// beginning returns when it begins; ok is false if that is not said.
func (s span) beginning(now time.Time) (at time.Time, ok bool) {
	switch {
	case s.At != nil:
		return time.Time(*s.At), true
	case s.In != nil:
		return now.Add(s.In.duration()).Truncate(time.Second), true
	}
	return at, false
}

// end returns when one that begins then ends; ok is false if that is not said.
func (s span) end(beginning time.Time) (at time.Time, ok bool) {
	switch {
	case s.Until != nil:
		return time.Time(*s.Until), true
	case s.For != nil:
		return beginning.Add(s.For.duration()), true
	}
	return at, false
}

// reminding is embedded by the commands that say when subscribers are reminded.
type reminding struct {
	Remind     *seconds `xor:"remind" placeholder:"DURATION" help:"How long before subscribers are reminded: 1d until it is said, at most 14d."`
	NoReminder bool     `xor:"remind" help:"They are not reminded."`
}

func (r reminding) add(fields body) body {
	switch {
	case r.NoReminder:
		fields["remind_before"] = 0
	case r.Remind != nil:
		fields["remind_before"] = int64(*r.Remind)
	}
	return fields
}

type maintenancePlan struct {
	Page       string   `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Title      string   `required:"" placeholder:"TEXT" help:"Title of the maintenance, at most 255 characters."`
	Message    *string  `placeholder:"TEXT" help:"First update of the timeline; - reads it from standard input."`
	Components []string `name:"component" sep:"none" placeholder:"COMPONENT" help:"Id or name of a component that is worked on; several are several flags."`
	span
	reminding
}

func (cmd *maintenancePlan) Run(t *talk) error {
	from, begins := cmd.beginning(time.Now())
	until, ends := cmd.end(from)
	if !begins || !ends {
		return &usageError{errors.New("say when it begins, with --at or --in, and when it ends, with --until or --for")}
	}
	message, err := t.message(cmd.Message)
	if err != nil {
		return err
	}
	fields := cmd.add(body{
		"title": cmd.Title, "scheduled_for": allswell.FormatTime(from), "scheduled_until": allswell.FormatTime(until),
	}.text("message", message))
	if len(cmd.Components) > 0 {
		if fields["components"], err = t.componentIDs(cmd.Components, cmd.Page); err != nil {
			return err
		}
	}
	raw, err := t.post(pathOf("pages", cmd.Page, "maintenances"), fields)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(m apiMaintenance) {
		t.printf("The maintenance is %s, %s\nIt is shown at %s/maintenances/%s\n",
			visible(m.ID), m.when(), visible(t.pageURL(cmd.Page)), visible(m.ID))
	})
}

// from is when it begins, or has begun.
func (m apiMaintenance) from() string {
	if m.BegunAt != nil {
		return when(*m.BegunAt)
	}
	return when(m.ScheduledFor)
}

// until is when it ends, or has ended.
func (m apiMaintenance) until() string {
	if m.EndedAt != nil {
		return when(*m.EndedAt)
	}
	return when(m.ScheduledUntil)
}

// when says from when until when it is.
func (m apiMaintenance) when() string {
	return "from " + visible(m.from()) + " until " + visible(m.until())
}

// state writes its state for people.
func (m apiMaintenance) state() string {
	if s := allswell.MaintenanceState(m.State); s.Valid() {
		return strings.ToLower(s.Label())
	}
	return m.State
}

func (t *talk) sayMaintenance(m apiMaintenance) {
	t.printf("The maintenance %q is %s, %s.\n", m.Title, visible(m.state()), m.when())
}

type maintenanceList struct {
	Page  string  `required:"" placeholder:"SLUG" help:"Slug of the page."`
	State *string `placeholder:"STATE" help:"Only those that are scheduled, in_progress, verifying or completed."`
	listing
}

func (cmd *maintenanceList) Run(t *talk) error {
	path := pathOf("pages", cmd.Page, "maintenances")
	if cmd.State != nil {
		path += "?state=" + url.QueryEscape(*cmd.State)
	}
	maintenances, total, err := t.api.list(t.ctx, path, int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"MAINTENANCE", "STATE", "FROM", "UNTIL", "TITLE"}
	return table(t.printer, maintenances, total, "No maintenance.", header, func(m apiMaintenance) []string {
		return []string{m.ID, m.state(), m.from(), m.until(), m.Title}
	})
}

type maintenanceShow struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
}

func (cmd *maintenanceShow) Run(t *talk) error {
	raw, err := t.get(pathOf("maintenances", cmd.Maintenance))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(m apiMaintenance) {
		names := make([]string, len(m.Components))
		for i, c := range m.Components {
			names[i] = c.Name
		}
		reminder := "none"
		if m.RemindBefore > 0 {
			reminder = settings.ShortDuration(seconds(m.RemindBefore).duration()) + " before"
		}
		t.facts([2]string{"Maintenance", m.Title}, [2]string{"Id", m.ID}, [2]string{"State", m.state()},
			[2]string{"Planned", when(m.ScheduledFor) + " until " + when(m.ScheduledUntil)},
			[2]string{"Begun", when(orEmpty(m.BegunAt))}, [2]string{"Ended", when(orEmpty(m.EndedAt))},
			[2]string{"Reminder", reminder}, [2]string{"Components", strings.Join(names, ", ")})
		for _, u := range m.Updates {
			t.printf("\n%s\n%s\n", u.heading(apiMaintenance{State: u.State}.state()), paragraph(u.Message, "  "))
		}
	})
}

type maintenanceUpdate struct {
	Maintenance string  `arg:"" help:"Id of the maintenance."`
	Message     string  `arg:"" help:"Text of the update; - reads it from standard input."`
	State       *string `placeholder:"STATE" help:"Its state from now on: in_progress, verifying or completed."`
}

func (cmd *maintenanceUpdate) Run(t *talk) error {
	message, err := t.message(&cmd.Message)
	if err != nil {
		return err
	}
	raw, err := t.post(pathOf("maintenances", cmd.Maintenance, "updates"), body{}.text("message", message).text("state", cmd.State))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(u apiUpdate) {
		t.printf("The update is on the timeline. The maintenance is %s.\n", visible(apiMaintenance{State: u.State}.state()))
	})
}

type maintenanceSet struct {
	Maintenance  string   `arg:"" help:"Id of the maintenance."`
	Title        *string  `placeholder:"TEXT" help:"Another title."`
	Components   []string `name:"component" sep:"none" xor:"components" placeholder:"COMPONENT" help:"Id or name of a component that is worked on, instead of those before; several are several flags."`
	NoComponents bool     `xor:"components" help:"No component in particular."`
	Page         string   `placeholder:"SLUG" help:"Slug of the page, to find components by their names."`
	reminding
}

func (cmd *maintenanceSet) Run(t *talk) error {
	fields := cmd.add(body{}.text("title", cmd.Title))
	if len(cmd.Components) > 0 || cmd.NoComponents {
		ids, err := t.componentIDs(cmd.Components, cmd.Page)
		if err != nil {
			return err
		}
		fields["components"] = ids
	}
	raw, err := t.patch(pathOf("maintenances", cmd.Maintenance), fields)
	if err != nil {
		return err
	}
	return object(t.printer, raw, t.sayMaintenance)
}

type maintenanceMove struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
	span
}

// Run keeps how long it takes, unless that is said too.
func (cmd *maintenanceMove) Run(t *talk) error {
	if cmd.span == (span{}) {
		return &usageError{errors.New("say when it begins, with --at or --in, or when it ends, with --until or --for")}
	}
	path := pathOf("maintenances", cmd.Maintenance)
	m, err := read[apiMaintenance](t.ctx, t.api, path)
	if err != nil {
		return err
	}
	from, err := time.Parse(time.RFC3339, m.ScheduledFor)
	until, err2 := time.Parse(time.RFC3339, m.ScheduledUntil)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("the answer is not what an Allswell gives: %w", err)
	}
	fields := body{}
	length := until.Sub(from)
	if at, ok := cmd.beginning(time.Now()); ok {
		from, until = at, at.Add(length)
		fields["scheduled_for"], fields["scheduled_until"] = allswell.FormatTime(from), allswell.FormatTime(until)
	}
	if at, ok := cmd.end(from); ok {
		fields["scheduled_until"] = allswell.FormatTime(at)
	}
	raw, err := t.patch(path, fields)
	if err != nil {
		return err
	}
	return object(t.printer, raw, t.sayMaintenance)
}

// turn is embedded by the commands that begin or end a maintenance.
type turn struct {
	Maintenance string  `arg:"" help:"Id of the maintenance."`
	Message     *string `placeholder:"TEXT" help:"Update of the timeline that goes with it; - reads it from standard input."`
}

// take brings the maintenance to a state, in one request.
func (cmd turn) take(t *talk, state allswell.MaintenanceState) error {
	path := pathOf("maintenances", cmd.Maintenance)
	message, err := t.message(cmd.Message)
	if err != nil {
		return err
	}
	if message == nil {
		raw, err := t.patch(path, body{"state": state})
		if err != nil {
			return err
		}
		return object(t.printer, raw, t.sayMaintenance)
	}
	if _, err := t.post(path+"/updates", body{"message": *message, "state": state}); err != nil {
		return err
	}
	raw, err := t.get(path)
	if err != nil {
		return err
	}
	return object(t.printer, raw, t.sayMaintenance)
}

type maintenanceBegin struct{ turn }

func (cmd *maintenanceBegin) Run(t *talk) error { return cmd.take(t, allswell.MaintenanceInProgress) }

type maintenanceEnd struct{ turn }

func (cmd *maintenanceEnd) Run(t *talk) error { return cmd.take(t, allswell.MaintenanceCompleted) }

type maintenanceCancel struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
}

func (cmd *maintenanceCancel) Run(t *talk) error {
	path := pathOf("maintenances", cmd.Maintenance)
	m, err := read[apiMaintenance](t.ctx, t.api, path)
	if err != nil {
		return err
	}
	if m.State == string(allswell.MaintenanceCompleted) {
		return fmt.Errorf("the maintenance %q is over, so it cannot be cancelled; `allswell maintenance delete %s` deletes its record", visible(m.Title), visible(cmd.Maintenance))
	}
	if _, err := t.api.call(t.ctx, http.MethodDelete, path, nil); err != nil {
		return err
	}
	t.done("The maintenance %q is cancelled.", m.Title)
	return nil
}

type maintenanceDelete struct {
	Maintenance string `arg:"" help:"Id of the maintenance."`
}

func (cmd *maintenanceDelete) Run(t *talk) error {
	return t.remove(pathOf("maintenances", cmd.Maintenance), "maintenance", cmd.Maintenance)
}
