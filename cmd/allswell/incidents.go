package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/allswell/allswell"
)

type incidentCommands struct {
	clientSettings `embed:""`

	Open    incidentOpen    `cmd:"" help:"Open an incident."`
	List    incidentList    `cmd:"" help:"List a page's incidents, newest first."`
	Show    incidentShow    `cmd:"" help:"Show an incident with its timeline."`
	Update  incidentUpdate  `cmd:"" help:"Add an update to an incident's timeline."`
	Set     incidentSet     `cmd:"" help:"Change an incident's title, impact or state."`
	Resolve incidentResolve `cmd:"" help:"Resolve an incident."`
	Delete  incidentDelete  `cmd:"" help:"Delete an incident with its timeline."`
}

type incidentOpen struct {
	Page    string  `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Title   string  `required:"" placeholder:"TEXT" help:"Title of the incident, at most 255 characters."`
	Impact  *string `placeholder:"IMPACT" help:"none (the default), minor, major or critical."`
	State   *string `placeholder:"STATE" help:"investigating (the default), identified, monitoring or resolved."`
	Message *string `placeholder:"TEXT" help:"First update of the timeline; - reads it from standard input."`
}

func (cmd *incidentOpen) Run(t *talk) error {
	message, err := t.message(cmd.Message)
	if err != nil {
		return err
	}
	raw, err := t.post(pathOf("pages", cmd.Page, "incidents"), body{"title": cmd.Title}.text("impact", cmd.Impact).
		text("state", cmd.State).text("message", message))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(i apiIncident) {
		t.printf("The incident is %s\nIt is shown at %s/status/%s/incidents/%s\n", visible(i.ID), t.api.base, visible(cmd.Page), visible(i.ID))
	})
}

// message returns the text of an update, which - reads from standard input.
func (t *talk) message(given *string) (*string, error) {
	if given == nil || *given != "-" {
		return given, nil
	}
	// A character has at most four bytes.
	raw, err := io.ReadAll(io.LimitReader(t.in, allswell.MaxMessage*utf8.UTFMax+1))
	if err != nil {
		return nil, fmt.Errorf("the message could not be read from standard input: %w", err)
	}
	if !utf8.Valid(raw) && len(raw) <= allswell.MaxMessage*utf8.UTFMax {
		return nil, &usageError{errors.New("the message on standard input must be UTF-8")}
	}
	if len(raw) > allswell.MaxMessage*utf8.UTFMax {
		return nil, &usageError{fmt.Errorf("the message on standard input must have at most %d characters", allswell.MaxMessage)}
	}
	text := string(raw)
	return &text, nil
}

type incidentList struct {
	Page     string `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Open     bool   `xor:"resolved" help:"Only those that are not resolved."`
	Resolved bool   `xor:"resolved" help:"Only those that are resolved."`
	listing
}

var incidentHeader = []string{"INCIDENT", "STATE", "IMPACT", "OPENED", "TITLE"}

func incidentRow(i apiIncident) []string {
	return []string{i.ID, i.state(), i.Impact, when(i.CreatedAt), i.Title}
}

// state tells a resolved incident from one whose flag says otherwise.
func (i apiIncident) state() string {
	if i.Resolved && i.State != string(allswell.Resolved) {
		return i.State + " (resolved)"
	}
	return i.State
}

func (cmd *incidentList) Run(t *talk) error {
	path := pathOf("pages", cmd.Page, "incidents")
	switch {
	case cmd.Open:
		path += "?resolved=false"
	case cmd.Resolved:
		path += "?resolved=true"
	}
	incidents, total, err := t.api.list(t.ctx, path, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(t.printer, incidents, total, "No incidents.", incidentHeader, incidentRow)
}

type incidentShow struct {
	Incident string `arg:"" help:"Id of the incident."`
}

func (cmd *incidentShow) Run(t *talk) error {
	raw, err := t.get(pathOf("incidents", cmd.Incident))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(i apiIncident) {
		resolved := "no"
		if i.ResolvedAt != nil {
			resolved = when(*i.ResolvedAt)
		}
		t.facts([2]string{"Incident", i.Title}, [2]string{"Id", i.ID}, [2]string{"State", i.State}, [2]string{"Impact", i.Impact},
			[2]string{"Opened", when(i.CreatedAt)}, [2]string{"Resolved", resolved})
		for _, u := range i.Updates {
			t.printf("\n%s\n%s\n", when(u.CreatedAt), paragraph(u.Message, "  "))
		}
	})
}

type incidentUpdate struct {
	Incident string  `arg:"" help:"Id of the incident."`
	Message  string  `arg:"" help:"Text of the update; - reads it from standard input."`
	State    *string `placeholder:"STATE" help:"Set the incident's state before: investigating, identified, monitoring or resolved."`
}

func (cmd *incidentUpdate) Run(t *talk) error {
	if cmd.State != nil {
		return t.changeAndSay(cmd.Incident, body{"state": *cmd.State}, &cmd.Message)
	}
	raw, err := t.update(cmd.Incident, &cmd.Message)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(apiUpdate) { t.printf("The update is on the timeline.\n") })
}

// update adds an update to the timeline.
func (t *talk) update(incident string, given *string) (json.RawMessage, error) {
	message, err := t.message(given)
	if err != nil {
		return nil, err
	}
	return t.post(pathOf("incidents", incident, "updates"), body{"message": *message})
}

// changeAndSay changes an incident and then adds an update, if there is one:
// an update carries the state that the incident has when it is written.
func (t *talk) changeAndSay(incident string, fields body, given *string) error {
	message, err := t.message(given)
	if err != nil {
		return err
	}
	if message != nil {
		// Refused before anything is changed.
		if err := allswell.CheckMessage(*message); err != nil {
			return &usageError{err}
		}
	}
	raw, err := t.patch(pathOf("incidents", incident), fields)
	if err != nil {
		return err
	}
	if message != nil {
		if _, err := t.update(incident, message); err != nil {
			return fmt.Errorf("the incident is changed, but the update was not added: %w", err)
		}
	}
	return object(t.printer, raw, func(i apiIncident) { t.printf("The incident %q is %s.\n", i.Title, visible(i.state())) })
}

type incidentSet struct {
	Incident string  `arg:"" help:"Id of the incident."`
	Title    *string `placeholder:"TEXT" help:"Another title."`
	Impact   *string `placeholder:"IMPACT" help:"none, minor, major or critical."`
	State    *string `placeholder:"STATE" help:"investigating, identified, monitoring or resolved."`
	Resolved *bool   `negatable:"" help:"Move it to the history, or open it again."`
}

func (cmd *incidentSet) Run(t *talk) error {
	return t.changeAndSay(cmd.Incident, body{}.text("title", cmd.Title).text("impact", cmd.Impact).
		text("state", cmd.State).flag("resolved", cmd.Resolved), nil)
}

type incidentResolve struct {
	Incident string  `arg:"" help:"Id of the incident."`
	Message  *string `placeholder:"TEXT" help:"Last update of the timeline; - reads it from standard input."`
}

func (cmd *incidentResolve) Run(t *talk) error {
	return t.changeAndSay(cmd.Incident, body{"state": "resolved", "resolved": true}, cmd.Message)
}

type incidentDelete struct {
	Incident string `arg:"" help:"Id of the incident."`
}

func (cmd *incidentDelete) Run(t *talk) error {
	return t.remove(pathOf("incidents", cmd.Incident), "incident", cmd.Incident)
}
