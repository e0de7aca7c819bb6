package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell"
)

type incidentCommands struct {
	clientSettings `embed:""`

	Open       incidentOpen       `cmd:"" help:"Open an incident."`
	List       incidentList       `cmd:"" help:"List a page's incidents, newest first."`
	Show       incidentShow       `cmd:"" help:"Show an incident with its timeline."`
	Update     incidentUpdate     `cmd:"" help:"Add an update to an incident's timeline."`
	Set        incidentSet        `cmd:"" help:"Change an incident's title, impact or state."`
	Resolve    incidentResolve    `cmd:"" help:"Resolve an incident."`
	Components incidentComponents `cmd:"" help:"Show or say which components an incident concerns."`
	Delete     incidentDelete     `cmd:"" help:"Delete an incident with its timeline."`
}

type incidentOpen struct {
	Page       string     `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Title      string     `required:"" placeholder:"TEXT" help:"Title of the incident, at most 255 characters."`
	Impact     *string    `placeholder:"IMPACT" help:"none, minor, major or critical. If it is not given, by the worst status among the components, and none without any."`
	State      *string    `placeholder:"STATE" help:"investigating (the default), identified, monitoring or resolved."`
	Message    *string    `placeholder:"TEXT" help:"First update of the timeline; - reads it from standard input."`
	Components []affected `name:"component" sep:"none" placeholder:"COMPONENT=STATUS" help:"A component that it concerns, by id or name, and its status meanwhile: ${affected_statuses}. Repeatable."`
}

func (cmd *incidentOpen) Run(t *talk) error {
	message, err := t.message(cmd.Message)
	if err != nil {
		return err
	}
	fields := body{"title": cmd.Title}.text("impact", cmd.Impact).text("state", cmd.State).text("message", message)
	if len(cmd.Components) > 0 {
		if fields["components"], err = t.affected(cmd.Components, cmd.Page); err != nil {
			return err
		}
	}
	var chosen allswell.Impact
	if cmd.Impact == nil && len(cmd.Components) > 0 {
		chosen = impactOf(cmd.Components)
		fields["impact"] = chosen
	}
	raw, err := t.post(pathOf("pages", cmd.Page, "incidents"), fields)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(i apiIncident) {
		t.printf("The incident is %s\n", visible(i.ID))
		if chosen != "" {
			t.printf("Its impact is %s, by the worst status given (--impact chooses another).\n", chosen)
		}
		t.printf("It is shown at %s/incidents/%s\n", visible(t.pageURL(cmd.Page)), visible(i.ID))
	})
}

// impactOf is the impact of an incident that nobody has named one for: that of
// the worst status among its components. The API's own default is none.
func impactOf(components []affected) allswell.Impact {
	worst := allswell.StatusOperational
	for _, c := range components {
		if status := allswell.Status(c.status); status.Worse(worst) {
			worst = status
		}
	}
	return allswell.ImpactOf(worst)
}

// message returns the text of an update, which - reads from standard input.
func (t *talk) message(given *string) (*string, error) {
	if given == nil || *given != "-" {
		return given, nil
	}
	// A character has at most four bytes.
	raw, err := io.ReadAll(io.LimitReader(t.in, allswell.MaxMessageLength*utf8.UTFMax+1))
	if err != nil {
		return nil, fmt.Errorf("the message could not be read from standard input: %w", err)
	}
	if !utf8.Valid(raw) && len(raw) <= allswell.MaxMessageLength*utf8.UTFMax {
		return nil, &usageError{errors.New("the message on standard input must be UTF-8")}
	}
	if len(raw) > allswell.MaxMessageLength*utf8.UTFMax {
		return nil, &usageError{fmt.Errorf("the message on standard input must have at most %d characters", allswell.MaxMessageLength)}
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
	if i.Resolved && i.State != string(allswell.IncidentResolved) {
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
	if t.json {
		return t.raw(raw)
	}
	components, _, err := t.api.list(t.ctx, pathOf("incidents", cmd.Incident, "components"), allswell.MaxAffectedComponents)
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
		if len(components) > 0 {
			t.printf("\n")
			err = table(t.printer, components, len(components), "", componentHeader, componentRow)
		}
		for _, u := range i.Updates {
			t.printf("\n%s\n%s\n", u.heading(u.State), paragraph(u.Message, "  "))
		}
	})
}

// heading says when an update was written and, in the words given, in which
// state; "" if the API does not tell.
func (u apiUpdate) heading(state string) string {
	if state == "" {
		return when(u.CreatedAt)
	}
	return when(u.CreatedAt) + " (" + visible(state) + ")"
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
			return afterAll("the incident is changed, but the update was not added", err)
		}
	}
	if t.json {
		return t.raw(raw)
	}
	i, err := decode[apiIncident](raw)
	if err != nil {
		return err
	}
	t.printf("The incident %q is %s.\n", i.Title, visible(i.state()))
	if !i.Resolved || fields["resolved"] != true && fields["state"] != string(allswell.IncidentResolved) {
		return nil
	}
	if err := t.sayStillDown(incident, i.Title); err != nil {
		return afterAll("whether a monitor of its components is still down is not known", err)
	}
	return nil
}

// sayStillDown names the monitors that are down although the incident is
// resolved: those of its components, and the one that it is named after. The API
// does not say which monitor has opened it.
func (t *talk) sayStillDown(incident, title string) error {
	listed, _, err := t.api.list(t.ctx, pathOf("incidents", incident, "components"), allswell.MaxAffectedComponents)
	if err != nil {
		return err
	}
	names := make(map[string]string)
	for _, raw := range listed {
		c, err := decode[apiComponent](raw)
		if err != nil {
			return err
		}
		names[c.ID] = c.Name
	}
	monitors, _, err := t.api.list(t.ctx, pathOf("monitors"), maxFind)
	if err != nil {
		return err
	}
	for _, raw := range monitors {
		m, err := decode[apiMonitor](raw)
		if err != nil {
			return err
		}
		name := names[orEmpty(m.ComponentID)]
		switch {
		case m.State != string(allswell.MonitorDown) || !m.Enabled:
		case name != "":
			t.printf("The monitor %s is still down: the component %s keeps its status until a ping arrives.\n", visible(m.Name), visible(name))
		case title == allswell.Monitor{Name: m.Name}.DownIncident(time.Time{}).Title:
			t.printf("The monitor %s is still down, until a ping arrives.\n", visible(m.Name))
		}
	}
	return nil
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

// affected is a component on the command line with the status that an incident
// gives it.
type affected struct{ component, status string }

// UnmarshalText reads "API=major_outage". A name may have an equals sign.
func (a *affected) UnmarshalText(text []byte) error {
	at := strings.LastIndexByte(string(text), '=')
	if at < 1 {
		return errors.New("must be a component and its status, such as API=major_outage")
	}
	a.component, a.status = string(text[:at]), string(text[at+1:])
	return nil
}

// affected finds the components and makes what the API takes.
func (t *talk) affected(given []affected, page string) ([]body, error) {
	names := make([]string, len(given))
	for i, a := range given {
		names[i] = a.component
	}
	ids, err := t.componentIDs(names, page)
	out := make([]body, len(ids))
	for i, id := range ids {
		out[i] = body{"id": id, "status": given[i].status}
	}
	return out, err
}

type incidentComponents struct {
	Incident string     `arg:"" help:"Id of the incident."`
	Set      []affected `name:"component" aliases:"set" sep:"none" xor:"set" placeholder:"COMPONENT=STATUS" help:"The components that it concerns from now on, as in incident open; several are several flags."`
	None     bool       `xor:"set" help:"It concerns no component in particular."`
	Page     string     `placeholder:"SLUG" help:"Slug of the page, to find components by their names."`
}

func (cmd *incidentComponents) Run(t *talk) error {
	path := pathOf("incidents", cmd.Incident, "components")
	ask := func() (json.RawMessage, error) { return t.get(path) }
	if cmd.None || len(cmd.Set) > 0 {
		components, err := t.affected(cmd.Set, cmd.Page)
		if err != nil {
			return err
		}
		ask = func() (json.RawMessage, error) { return t.put(path, body{"components": components}) }
	}
	raw, err := ask()
	if err != nil {
		return err
	}
	components, err := decode[[]json.RawMessage](raw)
	if err != nil {
		return err
	}
	return table(t.printer, components, len(components), "No components in particular.", componentHeader, componentRow)
}

type incidentDelete struct {
	Incident string `arg:"" help:"Id of the incident."`
}

func (cmd *incidentDelete) Run(t *talk) error {
	return t.remove(pathOf("incidents", cmd.Incident), "incident", cmd.Incident)
}
