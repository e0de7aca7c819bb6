package resource

import (
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
)

type subscriber = audience.Subscriber

// Subscriber describes the subscribers of pages. audience.NewSubscriber and audience.Subscriber.Change have the rules,
// because visitors and imports add subscribers, too.
var Subscriber = field.New(field.Resource[subscriber]{
	Noun: "subscriber", Path: "subscribers", OnPage: true, Object: kernel.ObjectSubscriber,
	Nested: true, Calls: []string{"create", "get", "change", "delete"},
	Doc: "an address that is notified about a page",
	Example: subscriber{
		ID: "sub_068vq2r4b1ccu5a0d3e1", Channel: audience.ChannelWebhook, Target: "https://example.com/hooks/status",
		AddedByOperator: true, WholePage: true, CreatedAt: exampleDay, UpdatedAt: exampleDay,
		ConfirmedAt: exampleDay, Secret: "whsec_0eX4mPlE0eX4mPlE0eX4mPlE0eX4mPlE",
	},
	Fields: []*field.Field[subscriber]{
		field.ID("id", kernel.PrefixSubscriber, func(s *subscriber) *string { return &s.ID }),
		field.Choice("channel", func(s *subscriber) *audience.Channel {
			return &s.Channel
		}, field.Options(audience.Channels, audience.Channel.Name)...).
			Required().AtCreation().
			Doc("Channel of the messages").
			Form("Channel", "", ""),
		field.Text("target", func(s *subscriber) *string { return &s.Target }).
			Required().AtCreation().Max(kernel.MaxURLLength).
			Doc("Email address, phone number or URL, normalised. Of the URL of a chat, only the host and the last "+
				"four characters are shown").
			Form("Email address, URL or phone number", "", "ada@example.com"),
		field.ChoiceBy("added_by", (*subscriber).AddedBy, func(*subscriber, string) {},
			addedBy...).ReadOnly().Schema("AddedBy").
			Doc("Who added it"),
		field.BoolBy("confirmed", (*subscriber).Confirmed, (*subscriber).SetConfirmed).AtCreation().
			Doc("Whether its owner has agreed to the subscription. Until then, only the request for confirmation is "+
				"sent").
			Form("Consent", "", ""),
		field.Bool("whole_page", func(s *subscriber) *bool { return &s.WholePage }).ReadOnly().
			Doc("Whether it is notified of everything on the page. If not, of the chosen components, and of events " +
				"that affect no component"),
		field.ReferencesBy("components", "component", func(s *subscriber) []string {
			return s.Components
		}, (*subscriber).Choose).
			AtMost(audience.MaxChosenComponents).
			Doc("Chosen components that still exist. A hidden one cannot be chosen").Empty("all components").
			Form("Components", "", ""),
		field.Bool("warnings", func(s *subscriber) *bool { return &s.Warnings }).
			Doc("Whether it is notified of the warnings of monitors, which the page does not show. Only a webhook "+
				"that an operator added can be").
			Form("Warnings", "", ""),
		field.Time("suspended_at", func(s *subscriber) *time.Time { return &s.SuspendedAt }).Nullable().ReadOnly().
			Doc("Since when notifications are suspended, because the receiver rejected too many").
			Empty("it is not suspended"),
		field.Text("suspended_for", func(s *subscriber) *string { return &s.SuspendedFor }).Nullable().ReadOnly().
			Doc("Reason of the suspension, as text"),
		field.Integer("refusals", func(s *subscriber) *int { return &s.Rejections }).ReadOnly().
			Doc("Number of consecutive messages that the receiver rejected permanently"),
		field.Time("created_at", func(s *subscriber) *time.Time { return &s.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(s *subscriber) *time.Time { return &s.UpdatedAt }).ReadOnly(),
		field.Time("confirmed_at", func(s *subscriber) *time.Time { return &s.ConfirmedAt }).Nullable().ReadOnly().
			Doc("Time of the confirmation").Empty("it is not confirmed"),
		field.Shown("consent", consentPart, consentOf).Nullable().
			Doc("Where the consent of the owner of an imported address comes from").Empty("it was not imported"),
		field.Text("secret", func(s *subscriber) *string { return &s.Secret }).Once().
			Doc("Key of the signatures of a webhook (Standard Webhooks)"),
	},
})

var addedBy = []field.Option{{Value: "operator", Label: "Operator"}, {Value: "visitor", Label: "Visitor"}}

// consent says where the consent of the owner of an imported address comes from.
type consent struct {
	Text, By string
	At       time.Time
}

func consentOf(s *subscriber) consent {
	if s.Consent == "" {
		return consent{}
	}
	return consent{s.Consent, s.ConsentBy, s.CreatedAt}
}

var consentPart = field.NewPart(field.Resource[consent]{
	Noun: "consent", Doc: "where the consent of the owner of an imported address comes from",
	Example: consent{"Form on example.com/news, 2026", "Ada", exampleDay},
	Fields: []*field.Field[consent]{
		field.Text("text", func(c *consent) *string { return &c.Text }).ReadOnly().Doc("What the importer stated"),
		field.Text("by", func(
			c *consent,
		) *string {
			return &c.By
		}).ReadOnly().Doc("Name of the person or of the token"),
		field.Time("at", func(c *consent) *time.Time { return &c.At }).ReadOnly().Doc("When it was stated"),
	},
})
