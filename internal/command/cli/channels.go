package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
)

// ChannelCommands are the commands of the channels on which people are notified of alerts.
type ChannelCommands struct {
	monitorSettings `embed:""`

	List   channelList   `cmd:"" help:"List the channels, with the result of the last message."`
	Show   channelShow   `cmd:"" aliases:"get" help:"Show a channel."`
	Create channelCreate `cmd:"" help:"Create a channel."`
	Put    channelPut    `cmd:"" help:"Create a channel, or replace its configuration. Missing flags get their defaults, except for secrets, which are kept."`
	Edit   channelEdit   `cmd:"" aliases:"set" help:"Change a channel. A repeatable flag replaces all earlier values."`
	Delete channelDelete `cmd:"" help:"Delete a channel that no rule, no on-call schedule and no setting uses."`
	Test   channelTest   `cmd:"" help:"Send a test message to a channel, or to one that does not exist yet."`
}

// NewChannelCommands returns the commands, with a flag for each field, also of all types of channels.
func NewChannelCommands() (c ChannelCommands) {
	fields := resource.Channel.Infos("name", "slug", "enabled", "max_per_minute", "fallback_id", "test_weekly",
		"title_template", "text_template")
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	c.Put.resourceFlags = newPutFlags(fields)
	addFieldFlags(alertchannel.Fields(), len(alertchannel.Types), "Of all types:", &c.Create.fieldFlags,
		&c.Put.fieldFlags, &c.Edit.fieldFlags, &c.Test.fieldFlags)
	return c
}

type channelList struct{ listing }

func (cmd *channelList) Run(c *commandContext) error {
	channels, total, err := c.api.ListChannels().First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, channels, total, "No channels yet.", []string{"CHANNEL", "TYPE", "STATE", "NAME"},
		func(ch *client.Channel) []string {
			return []string{ch.ID, ch.Type, channelState(ch), ch.Name}
		})
}

// channelState says in few words whether a channel works.
func channelState(ch *client.Channel) string {
	switch {
	case !ch.Enabled:
		return "disabled"
	case ch.UnconfirmedAddress != nil:
		return "waiting for confirmation of " + *ch.UnconfirmedAddress
	case ch.Health.SecretsUnreadable:
		return "secrets cannot be decrypted"
	case ch.Health.CommandMissing:
		return "the server runs no program (ALLSWELL_ALERT_COMMAND)"
	case ch.Health.FailingSince != nil:
		return "failing since " + console.Time(*ch.Health.FailingSince)
	case ch.Health.Reason != nil && ch.Health.AttemptedAt != nil:
		return "last test failed at " + console.Time(*ch.Health.AttemptedAt)
	case ch.Health.TakenAt != nil:
		return "working"
	}
	return "not used yet"
}

// channelArgument is embedded by the commands of one channel.
type channelArgument struct {
	Channel string `arg:"" help:"Id of the channel or the beginning of it, its slug or its name."`
}

// channel returns the id of a channel.
func (c *commandContext) channel(given string) (string, error) {
	switch ch, err := c.api.GetChannel(c.Ctx, given); {
	case err == nil:
		return ch.ID, nil
	case !errors.Is(err, client.ErrNotFound):
		return "", err
	}
	return findNamed(c, c.api.ListChannels(), "channel", given, func(ch *client.Channel) (id, name string) {
		return ch.ID, ch.Name
	})
}

// channels returns the ids of channels.
func (c *commandContext) channels(given []string) (ids []string, err error) {
	for _, name := range given {
		id, err := c.channel(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// channelNames returns the names of channels: "Phone, Mail".
func (c *commandContext) channelNames(ids ...string) (string, error) {
	all, err := c.recipientNames(ids, nil)
	return strings.Join(all.of(ids), ", "), err
}

func (a channelArgument) get(c *commandContext) (*client.Channel, error) {
	id, err := c.channel(a.Channel)
	if err != nil {
		return nil, err
	}
	return c.api.GetChannel(c.Ctx, id)
}

type channelShow struct {
	channelArgument
	etagFlag
}

func (cmd *channelShow) Run(c *commandContext) error {
	ch, err := cmd.get(c)
	if err != nil || cmd.ETag {
		return printETag(c, ch, err)
	}
	fallback, err := c.channelNames(optional.Value(ch.FallbackID))
	return object(c, ch, err, func(ch *client.Channel) {
		properties := [][2]string{
			{"Channel", ch.Name}, {"Id", ch.ID}, {"Slug", ch.Slug}, {"Type", ch.Type}, {"State", channelState(ch)},
			{"Reason", optional.Value(ch.Health.Reason)},
		}
		t, _ := alertchannel.TypeOf(ch.Type)
		properties = append(properties, fieldProperties(t.Fields, ch.Fields, ch.Secrets)...)
		if ch.URLHost != nil {
			properties = append(properties, [2]string{"Host of the URL", *ch.URLHost})
		}
		properties = append(properties, [2]string{"Used by", strings.Join(channelUses(ch), ", ")})
		for _, t := range [][2]string{
			{"Title template", optional.Value(ch.TitleTemplate)}, {"Text template", optional.Value(ch.TextTemplate)},
			{"Template error", optional.Value(ch.Health.TemplateError)},
		} {
			if t[1] != "" {
				properties = append(properties, t)
			}
		}
		c.Properties(append(properties, [2]string{"Messages a minute", fmt.Sprint(ch.MaxPerMinute)},
			[2]string{"Fallback", fallback},
			[2]string{"Weekly test", map[bool]string{true: "yes", false: "no"}[ch.TestWeekly]},
			[2]string{"Last weekly test", timeOr(ch.Health.TestedAt, "never")},
			[2]string{"Last delivered", timeOr(ch.Health.TakenAt, "never")})...)
	})
}

// channelOptions are the flags of commands that create or change a channel.
type channelOptions struct {
	resourceFlags
	fieldFlags
}

// given returns the given fields that channels of all types have, in the form of the API.
func (f channelOptions) given(c *commandContext) (map[string]any, error) {
	given, err := f.resourceFlags.given(c, nil)
	if fallback, ok := given["fallback_id"].(*string); ok && err == nil {
		given["fallback_id"] = nil
		if *fallback != "" {
			given["fallback_id"], err = c.channel(*fallback)
		}
	}
	return given, err
}

// newChannel is embedded by the commands that create or replace a channel.
type newChannel struct {
	Type string `required:"" placeholder:"TYPE" help:"Type of the channel: ${channel_types}. With --help, only its flags are shown."`
	channelOptions
}

// channel returns the description of the channel.
func (f newChannel) channel(c *commandContext) (n client.NewChannel, err error) {
	fields, err := f.fields(c, f.Type)
	if err == nil {
		n, err = asInput[client.NewChannel](f.given(c))
	}
	n.Type, n.Fields = f.Type, fields
	return n, err
}

type channelCreate struct{ newChannel }

func (cmd *channelCreate) Run(c *commandContext) error {
	n, err := cmd.channel(c)
	if err != nil {
		return err
	}
	ch, err := c.api.CreateChannel(c.Ctx, n)
	return object(c, ch, err, func(ch *client.Channel) {
		c.Printf("The channel %s is %s. Try it: allswell channel test %s\n", console.Visible(ch.Name),
			console.Visible(ch.ID), console.Visible(ch.ID))
	})
}

type channelPut struct {
	Channel string `arg:"" help:"Slug of the channel, or the id of one that exists."`
	newChannel
	putFlags
}

func (cmd *channelPut) Run(c *commandContext) error {
	read := func() (client.NewChannel, error) { return cmd.channel(c) }
	return putDescribed(c, cmd.putFlags, "channel", alert.PrefixChannel, cmd.Channel, read, c.api.GetChannel,
		c.api.PutChannel)
}

type channelEdit struct {
	channelArgument
	channelOptions
	Reset []string `placeholder:"FIELD" sep:"none" help:"Reset a field of the type to its default, or remove a secret. Repeatable."`
}

func (cmd *channelEdit) Run(c *commandContext) error {
	ch, err := cmd.get(c) // first, because its type says which flags may be files
	if err != nil {
		return err
	}
	fields, err := cmd.fields(c, ch.Type)
	if err != nil {
		return err
	}
	for _, name := range cmd.Reset {
		name = strings.ReplaceAll(name, "-", "_")
		if !slices.ContainsFunc(alertchannel.Fields(), func(f configfield.Shared) bool { return f.Name == name }) {
			return console.UsageErrorf("--reset: no type has a field %q", name)
		}
		fields[name] = nil
	}
	given, err := cmd.given(c)
	if err != nil {
		return err
	}
	change, err := convert[client.ChannelChange](given)
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		change.Fields = fields
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	ch, err = c.api.ChangeChannel(c.Ctx, ch.ID, change, client.IfMatch(ch.ETag()))
	return object(c, ch, err, func(ch *client.Channel) {
		c.Printf("Changed the channel %s.\n", console.Visible(ch.Name))
	})
}

type channelDelete struct {
	channelArgument
	Yes bool `short:"y" help:"Delete without confirmation. Required if there is no terminal and it is the fallback of another channel."`
}

func (cmd *channelDelete) Run(c *commandContext) error {
	ch, err := cmd.get(c)
	if err != nil {
		return err
	}
	if !cmd.Yes {
		if err := c.confirmDeletion(ch); err != nil {
			return err
		}
	}
	return c.deleted(c.api.DeleteChannel(c.Ctx, ch.ID), "channel", ch.Name)
}

// confirmDeletion asks whether to delete a channel that is the fallback of others. It does not ask about a channel with
// other uses, because the API refuses to delete it.
func (c *commandContext) confirmDeletion(ch *client.Channel) error {
	var names []string
	for _, u := range ch.UsedBy {
		if u.Kind != string(alert.UseFallback) {
			return nil
		}
		names = append(names, optional.Value(u.Name))
	}
	if len(names) == 0 {
		return nil
	}
	return c.confirm(question{verb: "delete", done: "deleted", what: "the channel " + ch.Name,
		warning: "it is the fallback of " + strings.Join(names, ", ") + ", which will have none"})
}

// channelUses describes what uses a channel.
func channelUses(ch *client.Channel) (uses []string) {
	for _, u := range ch.UsedBy {
		uses = append(uses,
			alert.ChannelUse{
				Kind: alert.ChannelUseKind(u.Kind), ID: optional.Value(u.ID), Name: optional.Value(u.Name),
			}.String())
	}
	return uses
}

type channelTest struct {
	Channel string `arg:"" optional:"" help:"Id, slug or name of a channel. Without it, --type says how to notify."`
	Type    string `placeholder:"TYPE" help:"Type of the channel: ${channel_types}."`
	fieldFlags
}

// Run sends a test message and prints the result. It fails if the message is not accepted.
func (cmd *channelTest) Run(c *commandContext) error {
	fields, err := cmd.fields(c, cmd.Type)
	if err != nil {
		return err
	}
	if (cmd.Channel == "") == (cmd.Type == "") || cmd.Channel != "" && len(fields) > 0 {
		return console.UsageErrorf("give a channel, or --type with the flags of the type")
	}
	var result *client.ChannelTestResult
	if cmd.Channel == "" {
		result, err = c.api.TestNewChannel(c.Ctx, client.ChannelTest{Type: cmd.Type, Fields: fields})
	} else if cmd.Channel, err = c.channel(cmd.Channel); err == nil {
		result, err = c.api.TestChannel(c.Ctx, cmd.Channel)
	}
	if err := object(c, result, err, func(r *client.ChannelTestResult) {
		if r.Taken {
			c.Printf("Test sent. Check that it arrived.\n")
		} else {
			c.Printf("The test failed: %s\n",
				console.Visible(cmp.Or(optional.Value(r.Reason), "no reason is known")))
		}
	}); err != nil {
		return err
	}
	if !result.Taken {
		return console.ExitStatus(console.ExitFailed)
	}
	return nil
}
