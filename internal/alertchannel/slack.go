package alertchannel

import (
	"context"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// slackType posts to an incoming webhook, as described at
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
var slackType = Type{
	Name: "slack", Label: "Slack", Help: "Slack, via incoming webhook.",
	Fields: []configfield.Field{
		{
			Name: "url", Label: "Webhook URL", Help: "The URL of an incoming webhook.", Kind: configfield.KindText,
			Secret: true, Required: true, Max: 500, Example: "https://hooks.slack.com/services/T000/B000/XXXX",
		},
	},
	New: func() Channel { return new(slack) },
}

// Limits of Slack's blocks, in characters.
const (
	slackHeader  = 150
	slackSection = 3000
)

type slack struct {
	URL string `json:"url"`
}

// Destination returns the server.
func (c *slack) Destination() configfield.Destination { return serverDestination(c.URL) }

func (c *slack) Validate(bad *kernel.ValidationError) { checkURL(bad, "url", &c.URL) }

// slackEscape writes text in which nothing is markup: without it a name could mention everybody in the channel.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackLink `json:"elements,omitempty"`
}

type slackLink struct {
	Type string    `json:"type"`
	Text slackText `json:"text"`
	URL  string    `json:"url,omitempty"`

	// Of a button that Slack reports: see SlackAction.
	ActionID string `json:"action_id,omitempty"`
	Value    string `json:"value,omitempty"`
}

// slackMessage returns a message with blocks, and with text for notifications.
func slackMessage(p Post) map[string]any {
	blocks := []slackBlock{{Type: "header", Text: &slackText{"plain_text", fit(p.Title, slackHeader, nil)}}}
	if p.Text != "" {
		blocks = append(blocks, slackBlock{
			Type: "section", Text: &slackText{"plain_text", fit(p.Text, slackSection, nil)},
		})
	}
	var buttons []slackLink
	for _, l := range p.Links {
		buttons = append(buttons, slackLink{Type: "button", Text: slackText{"plain_text", l.Label}, URL: l.URL})
	}
	if len(buttons) > 0 {
		blocks = append(blocks, slackBlock{Type: "actions", Elements: buttons})
	}
	return map[string]any{"text": fit(p.Title, slackSection, slackEscape.Replace), "blocks": blocks, "mrkdwn": false}
}

// slackPlain returns a message in the simplest form.
func slackPlain(p Post) map[string]any {
	return map[string]any{"text": p.plain(slackSection, slackEscape.Replace), "mrkdwn": false}
}

func (c *slack) host() string { return hostOf(c.URL) }

func (c *slack) send(ctx context.Context, s *Sender, m alert.Message) Result {
	return c.post(ctx, s, postOf(m))
}

func (c *slack) post(ctx context.Context, s *Sender, p Post) Result {
	return s.deliver(ctx, request{url: c.URL, body: slackMessage(p), name: "Slack"}, slackPlain(p))
}
