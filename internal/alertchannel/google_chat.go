package alertchannel

import (
	"context"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// googleChatType posts to an incoming webhook, as described at
// https://developers.google.com/workspace/chat/quickstart/webhooks and
// https://developers.google.com/workspace/chat/format-messages.
var googleChatType = Type{
	Name: "google_chat", Label: "Google Chat", Help: "Google Chat space, via incoming webhook.",
	Fields: []configfield.Field{urlField("https://chat.googleapis.com/v1/spaces/AAAA/messages?key=XXXX&token=XXXX")},
	New:    func() Channel { return new(googleChat) },
}

// Limits of a message, in characters. A message may have 32,000 bytes.
const (
	googleChatTitle = 500
	googleChatText  = 4000
)

type googleChat struct {
	URL string `json:"url"`
}

// Destination returns the server.
func (c *googleChat) Destination() configfield.Destination { return serverDestination(c.URL) }

func (c *googleChat) Validate(bad *kernel.ValidationError) { checkURL(bad, "url", &c.URL) }

// googleChatLines writes text of several lines in which nothing is HTML.
func googleChatLines(text string) string {
	return strings.ReplaceAll(htmlEscape.Replace(text), "\n", "<br>")
}

// googleChatPlain writes a text message without mentions and markup; there are no escapes for these.
var googleChatPlain = strings.NewReplacer("<", "<"+zeroWidth, "@", "@"+zeroWidth, "*", "∗", "_", "_"+zeroWidth, "~",
	"∼", "`", "ˋ")

func (c *googleChat) host() string { return hostOf(c.URL) }

func (c *googleChat) send(ctx context.Context, s *Sender, m alert.Message) Result {
	return c.post(ctx, s, postOf(m))
}

func (c *googleChat) post(ctx context.Context, s *Sender, p Post) Result {
	address := c.URL
	plain := map[string]any{"text": p.plain(googleChatText, googleChatPlain.Replace)}
	widgets := []any{
		map[string]any{
			"textParagraph": map[string]any{"text": "<b>" + fit(p.Title, googleChatTitle, htmlEscape.Replace) + "</b>"},
		},
	}
	if p.Text != "" {
		widgets = append(widgets, map[string]any{
			"textParagraph": map[string]any{"text": fit(p.Text, googleChatText, googleChatLines)},
		})
	}
	var buttons []any
	for _, l := range p.Links {
		buttons = append(buttons, map[string]any{
			"text": l.Label, "onClick": map[string]any{"openLink": map[string]any{"url": l.URL}},
		})
	}
	if len(buttons) > 0 {
		widgets = append(widgets, map[string]any{"buttonList": map[string]any{"buttons": buttons}})
	}
	body := map[string]any{
		"cardsV2": []any{
			map[string]any{
				"cardId": p.ID, "card": map[string]any{"sections": []any{map[string]any{"widgets": widgets}}},
			},
		},
		"fallbackText": fit(p.Title, googleChatTitle, googleChatPlain.Replace),
	}
	if u, err := url.Parse(c.URL); err == nil && p.threadID != "" {
		q := u.Query()
		q.Set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
		u.RawQuery = q.Encode()
		address = u.String()
		thread := map[string]any{"threadKey": p.threadID}
		body["thread"], plain["thread"] = thread, thread
	}
	return s.deliver(ctx, request{url: address, body: body, name: "Google Chat"}, plain)
}
