package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// OnCallCommands are the commands of on-call schedules.
type OnCallCommands struct {
	ClientSettings `embed:""`

	List     onCallList     `cmd:"" help:"List the on-call schedules, with who is on call now."`
	Show     onCallShow     `cmd:"" aliases:"get" help:"Show an on-call schedule with the next turns."`
	Who      onCallWho      `cmd:"" help:"Show who is on call now."`
	Create   onCallCreate   `cmd:"" help:"Create an on-call schedule."`
	Put      onCallPut      `cmd:"" help:"Create an on-call schedule, or replace its configuration. Missing flags get their defaults; --starts-on and overrides are kept."`
	Edit     onCallEdit     `cmd:"" aliases:"set" help:"Change an on-call schedule. A repeatable flag replaces all earlier values."`
	Override onCallOverride `cmd:"" help:"Put a participant on call for a time."`
	Delete   onCallDelete   `cmd:"" help:"Delete an on-call schedule that no rule needs."`
}

// NewOnCallCommands returns the commands, with a flag for each field.
func NewOnCallCommands() (c OnCallCommands) {
	fields := resource.OnCall.Infos("name", "slug", "zone", "hand_over_day", "hand_over_at", "starts_on")
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	c.Put.resourceFlags = newPutFlags(fields)
	return c
}

type onCallList struct{ listing }

func (cmd *onCallList) Run(c *commandContext) error {
	all, total, err := c.api.ListOnCall().First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, all, total, "No on-call schedules yet.", []string{"SCHEDULE", "NOW", "NAME"},
		func(o *client.OnCall) []string {
			return []string{o.Slug, valueOr(o.Now, "no one"), o.Name}
		})
}

// onCall returns the id of an on-call schedule that is given by its id, name or slug.
func (c *commandContext) onCall(given string) (string, error) {
	switch o, err := c.api.GetOnCall(c.Ctx, given); {
	case err == nil:
		return o.ID, nil
	case !errors.Is(err, client.ErrNotFound):
		return "", err
	}
	return findNamed(c, c.api.ListOnCall(), "on-call schedule", given, func(o *client.OnCall) (id, name string) {
		return o.ID, o.Name
	})
}

// onCallArgument is embedded by the commands of one on-call schedule.
type onCallArgument struct {
	Schedule string `arg:"" help:"Id of the schedule or the beginning of it, its name or its slug."`
}

func (a onCallArgument) get(c *commandContext) (*client.OnCall, error) {
	id, err := c.onCall(a.Schedule)
	if err != nil {
		return nil, err
	}
	return c.api.GetOnCall(c.Ctx, id)
}

type onCallShow struct {
	onCallArgument
	etagFlag
}

func (cmd *onCallShow) Run(c *commandContext) error {
	o, err := cmd.get(c)
	if err != nil || cmd.ETag {
		return printETag(c, o, err)
	}
	var channels []string
	for _, p := range o.Participants {
		channels = append(channels, p.ChannelIDs...)
	}
	named, err := c.recipientNames(channels, nil)
	return object(c, o, err, func(o *client.OnCall) {
		var names []string
		for _, p := range o.Participants {
			names = append(names, p.Name+" ("+strings.Join(named.of(p.ChannelIDs), ", ")+")")
		}
		c.Properties([2]string{"Schedule", o.Name}, [2]string{"Id", o.ID}, [2]string{"Slug", o.Slug},
			[2]string{"Now", valueOr(o.Now, "no one")},
			[2]string{"Hand-over", o.HandOverDay + " " + o.HandOverAt + " " + o.Zone},
			[2]string{"Participants", strings.Join(names, ", ")},
			[2]string{"Calendar", o.CalendarURL})
		if len(o.Overrides) > 0 {
			c.Printf("Overrides:\n")
		}
		for _, v := range o.Overrides {
			c.Printf("%s to %s  %s (override %s)\n", console.Time(v.StartsAt), console.Time(v.EndsAt),
				console.Visible(v.Participant), console.Visible(v.ID))
		}
		if len(o.Next) > 0 {
			c.Printf("Next turns:\n")
		}
		for _, t := range o.Next {
			c.Printf("%s to %s  %s\n", console.Time(t.StartsAt), console.Time(t.EndsAt), console.Visible(t.Participant))
		}
	})
}

type onCallWho struct{ onCallArgument }

func (cmd *onCallWho) Run(c *commandContext) error {
	o, err := cmd.get(c)
	return object(c, o, err, func(o *client.OnCall) { c.Printf("%s\n", console.Visible(valueOr(o.Now, "no one"))) })
}

// onCallFlags are the flags of commands that create or change an on-call schedule.
type onCallFlags struct {
	resourceFlags
	Participant []string `placeholder:"NAME:CHANNEL,…" sep:"none" help:"Participant, who is on call in turn, with the ids, slugs or names of the participant's channels. Repeatable."`
}

// given returns the given fields, in the form of the API.
func (f onCallFlags) given(c *commandContext) (map[string]any, error) {
	given, err := f.resourceFlags.given(c, nil)
	if err == nil && len(f.Participant) > 0 {
		given["participants"], err = f.participants(c)
	}
	return given, err
}

// participants returns the participants that are given.
func (f onCallFlags) participants(c *commandContext) (all []client.OnCallParticipant, err error) {
	for _, given := range f.Participant {
		name, channels, ok := strings.Cut(given, ":")
		if !ok || name == "" || channels == "" {
			return nil, console.UsageErrorf("--participant must be NAME:CHANNEL, such as Ada:Phone")
		}
		p := client.OnCallParticipant{Name: name}
		if p.ChannelIDs, err = c.channels(strings.Split(channels, ",")); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

type onCallCreate struct{ onCallFlags }

func (cmd *onCallCreate) Run(c *commandContext) error {
	n, err := asInput[client.NewOnCall](cmd.given(c))
	if err != nil {
		return err
	}
	o, err := c.api.CreateOnCall(c.Ctx, n)
	return object(c, o, err, func(o *client.OnCall) {
		c.Printf("The on-call schedule %s is %s. On call now: %s.\n", console.Visible(o.Name), console.Visible(o.Slug),
			console.Visible(valueOr(o.Now, "no one")))
	})
}

type onCallPut struct {
	Schedule string `arg:"" help:"Slug of the schedule, or the id of one that exists."`
	onCallFlags
	putFlags
}

func (cmd *onCallPut) Run(c *commandContext) error {
	read := func() (client.NewOnCall, error) { return asInput[client.NewOnCall](cmd.given(c)) }
	return putDescribed(c, cmd.putFlags, "on-call schedule", alert.PrefixOnCall, cmd.Schedule, read, c.api.GetOnCall,
		c.api.PutOnCall)
}

type onCallEdit struct {
	onCallArgument
	onCallFlags
}

func (cmd *onCallEdit) Run(c *commandContext) error {
	change, err := asInput[client.OnCallChange](cmd.given(c))
	if err != nil {
		return err
	}
	o, err := cmd.get(c)
	if err != nil {
		return err
	}
	o, err = c.api.ChangeOnCall(c.Ctx, o.ID, change, client.IfMatch(o.ETag()))
	return object(c, o, err, func(o *client.OnCall) {
		c.Printf("Changed the on-call schedule %s.\n", console.Visible(o.Name))
	})
}

type onCallOverride struct {
	onCallArgument
	Participant string              `xor:"change" required:"" placeholder:"NAME" help:"Name of the participant."`
	Delete      string              `xor:"change" required:"" placeholder:"ID" help:"Delete an override. 'oncall show' lists their ids."`
	From        *timeinput.Moment   `placeholder:"TIME" help:"When it begins, in the zone of the schedule. Default: now."`
	For         *timeinput.Duration `placeholder:"DURATION" xor:"end" help:"How long, such as 12h."`
	Until       *timeinput.Moment   `placeholder:"TIME" xor:"end" help:"When it ends, in the zone of the schedule."`
}

func (cmd *onCallOverride) Run(c *commandContext) error {
	if (cmd.For == nil && cmd.Until == nil) == (cmd.Delete == "") {
		return console.UsageErrorf("give --participant with --for or --until, or --delete alone")
	}
	o, err := cmd.get(c)
	if err != nil {
		return err
	}
	if cmd.Delete != "" {
		return cmd.remove(c, o)
	}
	if c.zone, err = time.LoadLocation(o.Zone); err != nil {
		return err
	}
	v := client.OnCallOverride{Participant: cmd.Participant, StartsAt: time.Now().Truncate(time.Second)}
	if cmd.From != nil {
		if v.StartsAt, err = c.moment(*cmd.From, &pageFlag{}); err != nil {
			return err
		}
	}
	if cmd.For != nil {
		v.EndsAt = v.StartsAt.Add(time.Duration(*cmd.For))
	} else if v.EndsAt, err = c.moment(*cmd.Until, &pageFlag{}); err != nil {
		return err
	}
	before := o.Overrides
	overrides := append(slices.Clone(before), v)
	o, err = c.api.ChangeOnCall(c.Ctx, o.ID, client.OnCallChange{Overrides: &overrides}, client.IfMatch(o.ETag()))
	return object(c, o, err, func(o *client.OnCall) {
		c.Printf("%s is on call from %s to %s.\n", console.Visible(v.Participant), console.Time(v.StartsAt),
			console.Time(v.EndsAt))
		for _, other := range before {
			if v.StartsAt.Before(other.EndsAt) && other.StartsAt.Before(v.EndsAt) {
				c.Printf("It takes precedence over the override of %s from %s to %s.\n",
					console.Visible(other.Participant), console.Time(other.StartsAt), console.Time(other.EndsAt))
			}
		}
	})
}

// remove deletes an override.
func (cmd *onCallOverride) remove(c *commandContext, o *client.OnCall) error {
	kept := slices.DeleteFunc(slices.Clone(o.Overrides), func(v client.OnCallOverride) bool {
		return v.ID == cmd.Delete
	})
	if len(kept) == len(o.Overrides) {
		return fmt.Errorf("the schedule %s has no override %q", console.Visible(o.Name), cmd.Delete)
	}
	o, err := c.api.ChangeOnCall(c.Ctx, o.ID, client.OnCallChange{Overrides: &kept}, client.IfMatch(o.ETag()))
	return object(c, o, err, func(*client.OnCall) {
		c.Printf("Deleted the override %s.\n", console.Visible(cmd.Delete))
	})
}

type onCallDelete struct {
	onCallArgument
	unasked
}

func (cmd *onCallDelete) Run(c *commandContext) error {
	o, err := cmd.get(c)
	if err != nil {
		return err
	}
	return c.deleted(c.api.DeleteOnCall(c.Ctx, o.ID), "on-call schedule", o.Name)
}
