package alertchannel

import (
	"context"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/configfield"
)

// slackType posts to an incoming webhook, as described at https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
var slackType = Type{
	Name: "slack", Label: "Slack", Help: "Posts to a channel of Slack by an incoming webhook.",
	Fields: []configfield.Field{
		{Name: "url", Label: "Webhook URL", Help: "The URL of an incoming webhook.", Kind: configfield.KindText, Secret: true, Required: true, Max: 500, Example: "https://hooks.slack.com/services/T000/B000/XXXX"},
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

func (c *slack) Validate(bad *allswell.ValidationError) { checkURL(bad, "url", &c.URL) }

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
	URL  string    `json:"url"`
}

// slackMessage returns a message with blocks, and with text for notifications.
func slackMessage(m alert.Message) map[string]any {
	headline := m.Headline()
	blocks := []slackBlock{{Type: "header", Text: &slackText{"plain_text", alert.Shorten(headline, slackHeader)}}}
	lines, more := m.Lines()
	text := ""
	for _, line := range lines {
		text += "• " + line + "\n"
	}
	if len(lines) == 1 && more == 0 {
		text = lines[0]
	}
	if more > 0 {
		text += alert.MoreLine(more)
	}
	if text != "" {
		blocks = append(blocks, slackBlock{Type: "section", Text: &slackText{"plain_text", alert.Shorten(text, slackSection)}})
	}
	var buttons []slackLink
	for _, l := range m.Buttons() {
		buttons = append(buttons, slackLink{"button", slackText{"plain_text", l.Label}, l.URL})
	}
	if len(buttons) > 0 {
		blocks = append(blocks, slackBlock{Type: "actions", Elements: buttons})
	}
	return map[string]any{"text": slackEscape.Replace(headline), "blocks": blocks}
}

func (c *slack) send(ctx context.Context, s *Sender, m alert.Message) Result {
	a, bad := s.call(ctx, request{url: c.URL, body: slackMessage(m), name: "Slack"})
	if bad == nil && a.malformed() {
		a, bad = s.call(ctx, request{url: c.URL, body: map[string]any{"text": slackEscape.Replace(m.Text(slackSection))}, name: "Slack"})
	}
	if bad != nil {
		return *bad
	}
	return a.outcome("Slack")
}
