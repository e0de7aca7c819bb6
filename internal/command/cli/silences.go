package cli

import (
	"cmp"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// SilenceCommands are the commands of silences.
type SilenceCommands struct {
	ClientSettings `embed:""`

	List   silenceList   `cmd:"" help:"List the silences that have not ended."`
	Show   silenceShow   `cmd:"" aliases:"get" help:"Show a silence."`
	Create silenceCreate `cmd:"" help:"Mute alerts for a time. Any still open when the silence ends are sent then."`
	Edit   silenceEdit   `cmd:"" aliases:"set" help:"Change a silence that has not ended."`
	End    silenceEnd    `cmd:"" aliases:"delete" help:"End a silence now."`
}

// NewSilenceCommands returns the commands, with a flag for each field but its times.
func NewSilenceCommands() (c SilenceCommands) {
	fields := resource.Silence.Infos("events", "pages", "monitors", "tags", "severities", "comment")
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	return c
}

type silenceList struct {
	Ended bool `help:"Also list silences that ended in the last 90 days."`
	listing
}

func (cmd *silenceList) Run(c *commandContext) error {
	silences, total, err := c.api.ListSilences(cmd.Ended).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, silences, total, "No silences.", []string{"SILENCE", "FROM", "UNTIL", "ABOUT", "COMMENT"},
		func(v *client.Silence) []string {
			return []string{v.ID, console.Time(v.StartsAt), console.Time(v.EndsAt), v.About, v.Comment}
		})
}

// matchText returns what a rule or a silence is about.
func matchText(m client.AlertMatch, named names) string {
	var parts []string
	for _, list := range []struct {
		name   string
		values []string
	}{
		{"event", m.Events}, {"page", m.Pages}, {"monitor", m.Monitors}, {"tag", m.Tags},
		{"severity", textsOf(m.Severities)},
	} {
		if len(list.values) > 0 {
			parts = append(parts, list.name+" "+strings.Join(named.of(list.values), " or "))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "everything")
}

// matchesAll reports whether a rule or a silence has no limit.
func matchesAll(m client.AlertMatch) bool {
	return len(m.Events)+len(m.Pages)+len(m.Monitors)+len(m.Tags)+len(m.Severities) == 0
}

// applied returns what a rule or a silence is about after a change.
func applied(m client.AlertMatch, ch client.AlertMatchChange) client.AlertMatch {
	return client.AlertMatch{
		Events: valueOr(ch.Events, m.Events), Pages: valueOr(ch.Pages, m.Pages),
		Monitors: valueOr(ch.Monitors, m.Monitors),
		Tags:     valueOr(ch.Tags, m.Tags), Severities: valueOr(ch.Severities, m.Severities),
	}
}

type silenceCreate struct {
	resourceFlags
	For   *timeinput.Duration `placeholder:"DURATION" xor:"end" required:"" help:"Time from now to the end, such as 2h."`
	Until *timeinput.Moment   `placeholder:"TIME" xor:"end" required:"" help:"When it ends, such as 'tomorrow 6:00' in the zone of the only --page or of ALLSWELL_PAGE, or with an offset."`
	All   bool                `help:"Silence everything without confirmation. Required if no other flag limits the silence and there is no terminal."`
}

func (cmd *silenceCreate) Run(c *commandContext) error {
	given, err := cmd.given(c, nil)
	if err != nil {
		return err
	}
	n, err := convert[client.NewSilence](given)
	if err != nil {
		return err
	}
	switch {
	case cmd.All && !matchesAll(n.AlertMatch):
		return console.UsageErrorf("--all silences everything, so no other flag can limit the silence")
	case !cmd.All && matchesAll(n.AlertMatch):
		if err := c.confirm(silenceOfEverything); err != nil {
			return err
		}
	}
	if n.EndsAt, err = silenceEnds(c, cmd.For, cmd.Until, n.Pages); err != nil {
		return err
	}
	v, err := c.api.CreateSilence(c.Ctx, n)
	return object(c, v, err, c.printSilence)
}

// printSilence prints what is silenced.
func (c *commandContext) printSilence(v *client.Silence) {
	c.Printf("The silence %s mutes alerts about %s until %s.\n", console.Visible(v.ID), console.Visible(v.About),
		console.Time(v.EndsAt))
}

// silenceOfEverything is the question before a silence without a limit is created.
var silenceOfEverything = question{
	verb: "silence", done: "silenced", what: "everything",
	warning: "no one gets any alert until the silence ends", flag: "--all",
}

// silenceEnds returns when a silence ends, given a duration from now or a time in the zone of zonePage.
func silenceEnds(
	c *commandContext, lasts *timeinput.Duration, until *timeinput.Moment, pages []string,
) (time.Time, error) {
	if lasts != nil {
		return time.Now().Add(time.Duration(*lasts)).Truncate(time.Second), nil
	}
	return c.moment(*until, zonePage(pages...))
}

// silenceArgument is embedded by the commands of one silence.
type silenceArgument struct {
	Silence string `arg:"" help:"Id of the silence or the beginning of it."`
}

func (a silenceArgument) id(c *commandContext) (string, error) {
	kind := resourceKind{"silence", alert.PrefixSilence}
	return findByID(c, c.api.ListSilences(true), kind, a.Silence, func(v *client.Silence) string { return v.ID })
}

type silenceShow struct{ silenceArgument }

func (cmd *silenceShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	v, err := c.api.GetSilence(c.Ctx, id)
	return object(c, v, err, func(v *client.Silence) {
		c.Properties([2]string{"Silence", v.ID}, [2]string{"About", v.About},
			[2]string{"From", console.Time(v.StartsAt)}, [2]string{"Until", console.Time(v.EndsAt)},
			[2]string{"Comment", v.Comment}, [2]string{"Created by", v.CreatedBy})
	})
}

type silenceEdit struct {
	silenceArgument
	resourceFlags
	For   *timeinput.Duration `placeholder:"DURATION" xor:"end" help:"Time from now to the end, such as 2h."`
	Until *timeinput.Moment   `placeholder:"TIME" xor:"end" help:"When it ends, such as 'tomorrow 6:00' in the zone of the only --page or of ALLSWELL_PAGE, or with an offset."`
	All   bool                `help:"Silence everything without confirmation. Required if the change removes the last limit and there is no terminal."`
}

func (cmd *silenceEdit) Run(c *commandContext) error {
	given, err := cmd.given(c, nil)
	if err == nil && (cmd.For != nil || cmd.Until != nil) {
		pages, _ := given["pages"].([]string)
		given["ends_at"], err = silenceEnds(c, cmd.For, cmd.Until, pages)
	}
	change, err := asInput[client.SilenceChange](given, err)
	if err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	v, err := c.api.GetSilence(c.Ctx, id)
	if err != nil {
		return err
	}
	if !cmd.All && !matchesAll(v.AlertMatch) && matchesAll(applied(v.AlertMatch, change.AlertMatchChange)) {
		if err := c.confirm(silenceOfEverything); err != nil {
			return err
		}
	}
	v, err = c.api.ChangeSilence(c.Ctx, id, change, client.IfMatch(v.ETag()))
	return object(c, v, err, c.printSilence)
}

type silenceEnd struct {
	silenceArgument
	unasked
}

func (cmd *silenceEnd) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	if err := c.api.EndSilence(c.Ctx, id); err != nil {
		return err
	}
	c.Done("Ended the silence %s.", console.Visible(id))
	return nil
}
