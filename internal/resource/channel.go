package resource

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/resource/field"
)

type channel = alert.Channel

// Channel describes the channels on which people are notified of alerts.
var Channel = field.New(field.Resource[channel]{
	Noun: "channel", Schema: "AlertChannel", Path: "channels", Object: kernel.ObjectAlertChannel, Rules: channelRules,
	Doc: "a way to notify people of alerts, such as a room of a chat",
	Example: channel{
		ID: "chn_068vq2r4b1ccu5a0d3e1", Slug: "operations", Type: "webhook", Name: "Operations", Enabled: true,
		MaxPerMinute: alert.DefaultMaxPerMinute, UsedBy: []alert.ChannelUse{exampleUse},
		Templates:    alert.Templates{TitleTemplate: "[{{.Severity}}] {{.Title}}"},
		SecretFields: []string{"secret", "url"}, URLHost: "ops.example.com",
		Health: exampleHealth, CreatedAt: exampleDay, UpdatedAt: exampleDay,
		Config: json.RawMessage(`{"headers":{"X-Team":"ops"}}`),
	},
	Fields: []*field.Field[channel]{
		field.ID("id", alert.PrefixChannel, func(c *channel) *string { return &c.ID }),
		field.Slug(func(c *channel) *string { return &c.Slug }).
			Doc("Slug of the channel, unique in the workspace").Empty("made from the name").
			Form("Slug", "", "ops-phone"),
		field.Choice("type", func(c *channel) *string {
			return &c.Type
		}, channelOptions()...).Schema("ChannelType").Required().
			Doc("Type of the channel, which cannot be changed").
			Form("Type", "", ""),
		field.Line("name", func(c *channel) *string { return &c.Name }).Required().Max(kernel.MaxNameLength).
			Check(func(c *channel, bad *kernel.ValidationError) {
				alert.CheckReserved(bad, c.Name, alert.PrefixChannel)
			}).
			Doc("Name of the channel, unique in the workspace").
			Form("Name", "", "Ops phone"),
		field.Bool("enabled", func(c *channel) *bool { return &c.Enabled }).
			Default(func(c *channel, _ time.Time) { c.Enabled = true }).
			Doc("Whether messages are sent to the channel").
			Form("Enabled", "", ""),
		field.Integer("max_per_minute", func(c *channel) *int {
			return &c.MaxPerMinute
		}).Between(1, alert.HighestMaxPerMinute).
			Default(func(c *channel, _ time.Time) { c.MaxPerMinute = alert.DefaultMaxPerMinute }).
			Doc("Maximum number of messages per minute; further alerts wait and share a message").
			Form("Maximum messages per minute", "Further alerts are combined into one message.", "10"),
		field.Reference("fallback_id", func(c *channel) *string { return &c.FallbackID }).Nullable().Flag("fallback").
			Doc("The channel that gets what this one does not accept, by its id or slug").Empty("none").
			Form("Fallback channel",
				"Used after two failed attempts, or immediately if the service rejects the "+
					"message.",
				"").None("None"),
		field.Bool("test_weekly", func(c *channel) *bool { return &c.TestWeekly }).
			Doc("Whether a test message is sent every week").
			Form("Weekly test", "", ""),
		field.Computed("unconfirmed_address", (*channel).UnconfirmedAddress).Nullable().Audited().
			Doc("Address of a channel of the type `email` that has to confirm that it may be sent alerts of this " +
				"workspace. It is asked by mail; until it " +
				"confirms, nothing else is sent to it. Addresses with which members sign in need no confirmation, " +
				"once these have proved that they are theirs").
			Empty("none"),
		field.Bool("subscriber_sms", func(c *channel) *bool { return &c.SubscriberSMS }).ReadOnly().NoColumn().
			Doc("Whether subscribers of pages get SMS through the channel, because the setting " +
				"`ALLSWELL_SMS_CHANNEL` has its id or name. It cannot be deleted, " +
				"nor renamed if the setting has its name"),
		field.Parts("used_by", 0, ChannelUse, func(c *channel) *[]alert.ChannelUse {
			return &c.UsedBy
		}).ReadOnly().NoColumn().
			Doc("What uses the channel. It can be deleted if that is nothing, or only other channels whose fallback " +
				"it is"),
		field.Text("title_template", func(c *channel) *string {
			return &c.TitleTemplate
		}).Nullable().Max(alert.MaxTitleTemplate).
			Check(func(c *channel, bad *kernel.ValidationError) {
				alert.CheckTemplate(bad, "title_template", c.TitleTemplate)
			}).
			Doc("Template for message titles (Go text/template), checked with an example").Empty("the standard text").
			Form("Title", "Go template. Default: standard text.", "[{{.Severity}}] {{.Title}}"),
		field.Text("text_template", func(c *channel) *string {
			return &c.TextTemplate
		}).Nullable().Max(alert.MaxTextTemplate).
			Check(func(c *channel, bad *kernel.ValidationError) {
				alert.CheckTemplate(bad, "text_template", c.TextTemplate)
			}).
			Doc("Template for message texts (Go text/template), checked with an example").Empty("the standard text").
			Form("Text", "", "{{range .Alerts}}{{.Name}}: {{.Reason}}\n{{end}}"),
		field.Texts("secrets", func(c *channel) *[]string { return &c.SecretFields }).ReadOnly().Audited().NoColumn().
			Doc("Fields that have a secret"),
		field.Text("url_host", func(c *channel) *string {
			return &c.URLHost
		}).Nullable().ReadOnly().Audited().NoColumn().
			Doc("Host of the `url`, which is a secret, with the port if it has one").Empty("there is none, or it " +
			"cannot be decrypted"),
		field.Shown("health", ChannelHealth, func(c *channel) alert.Health { return c.Health }).
			Doc("What the last attempts to use the channel have shown"),
		field.Time("created_at", func(c *channel) *time.Time { return &c.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(c *channel) *time.Time { return &c.UpdatedAt }).ReadOnly(),
		field.Config(ChannelTypes.Fields(), channelConfig, setChannelConfig, ConfigureChannel),
	},
})

// ChannelTypes are the types of channels with their fields.
var ChannelTypes = func() configfield.Types {
	types := configfield.Types{Noun: "channel", Size: alert.MaxChannelConfig}
	for _, t := range alertchannel.Types {
		types.All = append(types.All, configfield.Type{
			Name: t.Name, Fields: t.Fields, New: func() configfield.Destined {
				return t.New()
			},
		})
	}
	return types
}()

func channelOptions() (all []field.Option) {
	for _, t := range alertchannel.Types {
		all = append(all, field.Of(t.Name, t.Label))
	}
	return all
}

func channelConfig(c *channel) configfield.Config {
	return configfield.Config{
		Type: c.Type, Shown: c.Config, Secrets: c.Secrets, SecretFields: c.SecretFields, Versions: c.SecretVersions,
	}
}

func setChannelConfig(c *channel, to configfield.Config) {
	c.Config, c.Secrets, c.SecretFields, c.SecretVersions = to.Shown, to.Secrets, to.SecretFields, to.Versions
	c.URLHost = alert.URLHost(c.Secrets)
}

// ConfigureChannel returns the change of a channel that sets given fields of its type: see configfield.Types.Change.
func ConfigureChannel(given map[string]json.RawMessage, replace bool) field.Change[channel] {
	return func(c *channel) error {
		config := channelConfig(c)
		err := ChannelTypes.Change(&config, given, replace)
		setChannelConfig(c, config)
		return err
	}
}

// ChannelToTest applies a change to a stored or an empty channel, to send a test through the result. A channel without
// a name gets one.
func ChannelToTest(c *channel, change field.Change[channel], now time.Time) error {
	if c.ID != "" {
		return Channel.Apply(c, named(change), now)
	}
	Channel.Begin(c, "", now)
	return Channel.Create(c, named(change), now)
}

// named returns a change that also gives a channel without a name the name of its type.
func named(change field.Change[channel]) field.Change[channel] {
	return func(c *channel) error {
		err := change(c)
		if c.Name == "" {
			t, _ := alertchannel.TypeOf(c.Type)
			c.Name = cmp.Or(t.Label, "New channel")
		}
		return err
	}
}

// channelRules checks that a channel keeps its type, and is not its own fallback.
func channelRules(c, before *channel, _ time.Time, bad *kernel.ValidationError) {
	if before != nil && c.Type != "" && c.Type != before.Type {
		bad.Add("type", "The type of a channel cannot be changed. Create another channel.")
	}
	if c.FallbackID != "" && c.FallbackID == c.ID {
		bad.Add("fallback_id", "A channel cannot be its own fallback.")
	}
}

type channelUse = alert.ChannelUse

// ChannelUse describes what uses a channel.
var ChannelUse = field.NewPart(field.Resource[channelUse]{
	Noun: "channel use", Example: exampleUse, Doc: "something that uses a channel",
	Fields: []*field.Field[channelUse]{
		field.Choice("kind", func(u *channelUse) *alert.ChannelUseKind { return &u.Kind },
			field.Of(alert.UseRule, ""), field.Of(alert.UseOnCall, ""), field.Of(alert.UseFallback, ""),
			field.Of(alert.UseSMS, "")).ReadOnly().
			Doc("`rule`: an alert rule notifies it. `on_call`: an on-call schedule has a participant with it. " +
				"`fallback_of`: it is the fallback of another " +
				"channel. `subscriber_sms`: subscribers of pages get SMS through it; `id` and `name` are null"),
		field.Text("id", func(u *channelUse) *string { return &u.ID }).Nullable().ReadOnly().
			Doc("Id of the rule, the schedule or the other channel").Empty("it is `subscriber_sms`"),
		field.Text("name", func(u *channelUse) *string { return &u.Name }).Nullable().ReadOnly().
			Doc("Name of the rule, the schedule or the other channel").Empty("it is `subscriber_sms`"),
	},
})

type channelHealth = alert.Health

// ChannelHealth describes what the last attempts to use a channel have shown.
var ChannelHealth = field.NewPart(field.Resource[channelHealth]{
	Noun: "channel health", Example: exampleHealth, Doc: "what the last attempts to use a channel have shown",
	Fields: []*field.Field[channelHealth]{
		field.Time("attempted_at", func(h *channelHealth) *time.Time { return &h.AttemptedAt }).Nullable().ReadOnly().
			Doc("Time of the last attempt").Empty("it was never used"),
		field.Time("taken_at", func(h *channelHealth) *time.Time { return &h.AcceptedAt }).Nullable().ReadOnly().
			Doc("Time at which it last accepted a message").Empty("never"),
		field.Time("failing_since", func(h *channelHealth) *time.Time { return &h.FailingSince }).Nullable().ReadOnly().
			Doc("Time since which it has failed").Empty("the last attempt succeeded, or there was none"),
		field.Integer("failures", func(h *channelHealth) *int { return &h.Failures }).ReadOnly().
			Doc("Failed attempts in a row"),
		field.Text("reason", func(h *channelHealth) *string { return &h.Reason }).Nullable().ReadOnly().
			Doc("Why the last attempt failed. If failing_since is null, it was a test that someone sent").
			Empty("it did not fail"),
		field.Time("next_at", func(h *channelHealth) *time.Time { return &h.NextAt }).Nullable().ReadOnly().
			Doc("Time at which the channel is used next").Empty("nothing waits for it"),
		field.Time("tested_at", func(h *channelHealth) *time.Time { return &h.TestedAt }).Nullable().ReadOnly().
			Doc("Time of the last weekly test").Empty("there was none"),
		field.Text("template_error", func(h *channelHealth) *string { return &h.TemplateError }).Nullable().ReadOnly().
			Doc("Why the last message had the default text instead of the text of a template").Empty("it did not"),
		field.Bool("secrets_unreadable", func(h *channelHealth) *bool { return &h.SecretsUnreadable }).ReadOnly().
			Doc("Whether the secrets of the channel cannot be decrypted, because their key is missing or has " +
				"changed: the channel is not used"),
		field.Bool("command_missing", func(h *channelHealth) *bool { return &h.CommandMissing }).ReadOnly().
			Doc("Whether the channel runs a program, and the setting `ALLSWELL_ALERT_COMMAND` names none. Then no " +
				"such channel can be created"),
	},
})

// Values of examples.
var (
	exampleUse    = alert.ChannelUse{Kind: alert.UseRule, ID: "rul_068vq2r4b1ccu5a0d3e1", Name: "Night"}
	exampleHealth = alert.Health{AttemptedAt: exampleDay, AcceptedAt: exampleDay}
)
