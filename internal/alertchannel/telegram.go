package alertchannel

import (
	"context"
	"strconv"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// telegramType sends as a bot, as described at https://core.telegram.org/bots/api#sendmessage and
// https://core.telegram.org/bots/api#editmessagetext.
var telegramType = Type{
	Name: "telegram", Label: "Telegram", Help: "Telegram chat, group or channel, as a bot.",
	Fields: []configfield.Field{
		{
			Name: "chat_id", Label: "Chat", Help: "The id of the chat, or @name of a public channel.",
			Kind: configfield.KindText, Required: true, Max: 100, Example: "-1001234567890",
		},
		secretField("bot_token", "Bot token", "The token that BotFather gave."),
		{
			Name: "topic_id", Label: "Topic", Help: "The id of a topic in a group with topics; 0: none.",
			Kind: configfield.KindInteger, Default: "0", Max: 2_000_000_000, Advanced: true,
		},
		serverField("https://api.telegram.org", "For a Bot API server of your own."),
	},
	New: func() Channel { return &telegram{Server: "https://api.telegram.org"} },
}

// telegramText is the maximum length of a message in characters.
const telegramText = 4096

type telegram struct {
	ChatID  string `json:"chat_id"`
	Token   string `json:"bot_token,omitzero"`
	TopicID int    `json:"topic_id"`
	Server  string `json:"server_url"`
}

// Destination returns the server.
func (c *telegram) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *telegram) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	kernel.CheckText(bad, "chat_id", c.ChatID, 100)
	checkPathPart(bad, "bot_token", c.Token)
}

// telegramEscape writes text in which nothing is HTML or a mention.
func telegramEscape(text string) string { return htmlEscape.Replace(noMentions.Replace(text)) }

// telegramAnswer is the answer of a method.
type telegramAnswer struct {
	OK          *bool  `json:"ok"`
	Description string `json:"description"`
	Result      struct {
		MessageID int64 `json:"message_id"`
	} `json:"result"`
	Parameters struct {
		RetryAfter float64 `json:"retry_after"`
	} `json:"parameters"`
}

// body returns the part of a request that all messages have.
func (c *telegram) body() map[string]any {
	body := map[string]any{"chat_id": c.ChatID, "link_preview_options": map[string]any{"is_disabled": true}}
	if c.TopicID > 0 {
		body["message_thread_id"] = c.TopicID
	}
	return body
}

// html returns a message with markup and buttons.
func (c *telegram) html(m alert.Message) map[string]any {
	body := c.body()
	headline := fit(m.Headline(), telegramText/4, telegramEscape)
	body["parse_mode"], body["text"] = "HTML", "<b>"+headline+"</b>"
	if text := details(m); text != "" {
		body["text"] = "<b>" + headline + "</b>\n" + fit(text, telegramText/2, telegramEscape)
	}
	var row []map[string]any
	for _, b := range m.Buttons() {
		row = append(row, map[string]any{"text": b.Label, "url": b.URL})
	}
	if len(row) > 0 {
		body["reply_markup"] = map[string]any{"inline_keyboard": []any{row}}
	}
	return body
}

func (c *telegram) host() string { return hostOf(c.Server) }

func (c *telegram) send(ctx context.Context, s *Sender, m alert.Message) Result {
	body, plain := c.html(m), c.body()
	first, err := strconv.ParseInt(reference(m), 10, 64)
	if err == nil {
		reply := map[string]any{"message_id": first, "allow_sending_without_reply": true}
		body["reply_parameters"], plain["reply_parameters"] = reply, reply
	}
	r := c.post(ctx, s, m, body, plain)
	if r.Result == audience.SendAccepted && err == nil && m.Outdates() {
		edit := c.html(m.Current())
		edit["message_id"] = first
		delete(edit, "message_thread_id")
		r := request{url: c.method("editMessageText"), body: edit, name: "Telegram"}
		change(ctx, func() Result { return s.try(ctx, r) })
	}
	return r
}

func (c *telegram) method(name string) string { return c.Server + "/bot" + c.Token + "/" + name }

// post sends a message, in its plain form if it is refused.
func (c *telegram) post(ctx context.Context, s *Sender, m alert.Message, body, plain map[string]any) Result {
	plain["text"] = plainText(m, telegramText, noMentions.Replace)
	a, bad := s.callTwice(ctx, request{url: c.method("sendMessage"), body: body, name: "Telegram"}, plain)
	if bad != nil {
		return *bad
	}
	var said telegramAnswer
	decoded := a.decode(&said)
	r := a.outcome("Telegram")
	switch {
	case r.Result != audience.SendAccepted:
		if decoded && said.Description != "" {
			r.Reason = "Telegram answered " + strconv.Itoa(a.status) + ": " + said.Description + "."
		}
		return r.wait(said.Parameters.RetryAfter)
	case !decoded || said.OK == nil:
		return a.unclear("Telegram")
	case !*said.OK && said.Parameters.RetryAfter > 0:
		return failed(audience.SendFailed, "Telegram answered: %s.", said.Description).wait(said.Parameters.RetryAfter)
	case !*said.OK:
		return failed(audience.SendRejected, "Telegram answered: %s.", said.Description)
	case said.Result.MessageID == 0:
		return sent("")
	}
	return sent(strconv.FormatInt(said.Result.MessageID, 10))
}
