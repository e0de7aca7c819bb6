package alertchannel

import (
	"context"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// teamsType posts an Adaptive Card to a workflow, as described at
// https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using and
// https://adaptivecards.io/explorer/RichTextBlock.html: the texts of its runs are never Markdown.
var teamsType = Type{
	Name: "teams", Label: "Microsoft Teams", Help: "Teams channel or chat, via workflow.",
	Fields: []configfield.Field{urlField("https://prod-00.westeurope.logic.azure.com/workflows/…")},
	New:    func() Channel { return new(teams) },
}

// Limits of a card, in characters. Teams accepts messages of up to 28 KB.
const (
	teamsHeadline = 500
	teamsText     = 4000
)

type teams struct {
	URL string `json:"url"`
}

// Destination returns the server.
func (c *teams) Destination() configfield.Destination { return serverDestination(c.URL) }

func (c *teams) Validate(bad *kernel.ValidationError) { checkURL(bad, "url", &c.URL) }

type teamsBlock struct {
	Type    string     `json:"type"`
	Inlines []teamsRun `json:"inlines"`
}

type teamsRun struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
	Size   string `json:"size,omitempty"`
	Color  string `json:"color,omitempty"`
}

type teamsAction struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// teamsMessage wraps a card in the message that the trigger of a workflow expects.
func teamsMessage(body []teamsBlock, actions []teamsAction) map[string]any {
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"body": body, "msteams": map[string]any{"width": "Full"},
	}
	if len(actions) > 0 {
		card["actions"] = actions
	}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
	}}}
}

func (c *teams) host() string { return hostOf(c.URL) }

func (c *teams) send(ctx context.Context, s *Sender, m alert.Message) Result {
	return c.post(ctx, s, postOf(m))
}

func (c *teams) post(ctx context.Context, s *Sender, p Post) Result {
	blocks := []teamsBlock{
		{"RichTextBlock",
			[]teamsRun{
				{
					Type: "TextRun", Text: fit(p.Title, teamsHeadline, nil), Weight: "bolder", Size: "medium",
					Color: p.Color.Named,
				},
			}},
	}
	if p.Text != "" {
		blocks = append(blocks, teamsBlock{
			"RichTextBlock", []teamsRun{{Type: "TextRun", Text: fit(p.Text, teamsText, nil)}},
		})
	}
	var actions []teamsAction
	for _, l := range p.Links {
		actions = append(actions, teamsAction{"Action.OpenUrl", l.Label, l.URL})
	}
	plain := teamsMessage([]teamsBlock{{"RichTextBlock", []teamsRun{{Type: "TextRun", Text: p.plain(teamsText, nil)}}}},
		nil)
	return s.deliver(ctx, request{url: c.URL, body: teamsMessage(blocks, actions), name: "Teams"}, plain)
}
