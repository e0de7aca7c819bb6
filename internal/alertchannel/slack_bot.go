package alertchannel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// slackBotType posts as a bot, which can reply in threads and edit its messages, as described at
// https://docs.slack.dev/reference/methods/chat.postMessage and https://docs.slack.dev/reference/methods/chat.update.
var slackBotType = Type{
	Name: "slack_bot", Label: "Slack bot", Help: "Slack, as a bot, with one thread per alert.",
	Fields: []configfield.Field{
		{
			Name: "channel", Label: "Channel", Help: "The id of the channel, to which the bot is invited.",
			Kind: configfield.KindText, Required: true, Max: 100, Example: "C0123456789",
		},
		secretField("bot_token", "Bot token", "The bot user OAuth token, which begins with xoxb-."),
		{
			Name: "signing_secret", Label: "Signing secret",
			Help: "Signing secret of the app. With it, the button Acknowledge works within Slack.",
			Kind: configfield.KindText, Secret: true, Max: 200,
		},
		serverField("https://slack.com/api", "URL of the API."),
	},
	New: func() Channel { return &slackBot{Server: "https://slack.com/api"} },
}

type slackBot struct {
	Channel string `json:"channel"`
	Token   string `json:"bot_token,omitzero"`
	Signing string `json:"signing_secret,omitzero"`
	Server  string `json:"server_url"`
}

// Destination returns the server.
func (c *slackBot) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *slackBot) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	kernel.CheckText(bad, "channel", c.Channel, 100)
}

// slackAnswer is the answer of a method. Slack reports failures with the status 200, too.
type slackAnswer struct {
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

// Errors of Slack that may pass, and errors that a simpler message may avoid. All others are final.
var (
	slackLater = []string{
		"ratelimited", "rate_limited", "message_limit_exceeded", "service_unavailable", "internal_error",
		"fatal_error", "request_timeout",
	}
	slackMalformed = []string{
		"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "invalid_arguments",
		"invalid_thread_ts", "thread_not_found", "cannot_reply_to_message",
	}
)

func (c *slackBot) host() string { return hostOf(c.Server) }

func (c *slackBot) send(ctx context.Context, s *Sender, m alert.Message) Result {
	body := c.message(m)
	room, first, threaded := strings.Cut(reference(m), " ")
	if threaded {
		body["thread_ts"] = first
	}
	r, refused := c.call(ctx, s, "chat.postMessage", c.Channel, body)
	if refused {
		r, _ = c.call(ctx, s, "chat.postMessage", c.Channel, slackPlain(postOf(m)))
	}
	if threaded && r.Result == audience.SendAccepted && m.Outdates() {
		update := c.message(m.Current())
		update["ts"] = first
		change(ctx, func() Result { r, _ := c.call(ctx, s, "chat.update", room, update); return r })
	}
	return r
}

// message returns a message whose buttons Slack reports, if the app has a signing secret. Slack reports links, too.
func (c *slackBot) message(m alert.Message) map[string]any {
	body := slackMessage(postOf(m))
	blocks, _ := body["blocks"].([]slackBlock)
	if c.Signing == "" || m.Thread == nil {
		return body
	}
	for _, b := range blocks {
		for i := range b.Elements {
			button := &b.Elements[i]
			button.ActionID, button.Value = "details", m.Thread.Key
			if button.URL == m.Links.Acknowledge {
				button.ActionID, button.URL = slackAcknowledge, ""
			}
		}
	}
	return body
}

// call calls a method. refused reports whether the message may be accepted in a simpler form.
func (c *slackBot) call(
	ctx context.Context, s *Sender, method, room string, body map[string]any,
) (r Result, refused bool) {
	body["channel"] = room
	if method == "chat.postMessage" {
		body["unfurl_links"], body["unfurl_media"] = false, false
	} else {
		delete(body, "mrkdwn")
	}
	a, bad := s.call(ctx, request{
		url: c.Server + "/" + method, body: body, name: "Slack",
		header: map[string]string{
			"Authorization": "Bearer " + c.Token, "Content-Type": "application/json; charset=utf-8",
		},
	})
	if bad != nil {
		return *bad, false
	}
	if r := a.outcome("Slack"); r.Result != audience.SendAccepted {
		return r, a.malformed()
	}
	var said slackAnswer
	switch {
	case !a.decode(&said) || !said.OK && said.Error == "":
		return a.unclear("Slack"), false
	case said.OK && (said.Channel == "" || said.TS == ""):
		return sent(""), false
	case said.OK:
		return sent(said.Channel + " " + said.TS), false
	case slices.Contains(slackLater, said.Error):
		r := failed(audience.SendFailed, "Slack answered: %s.", said.Error)
		r.RetryAfter = a.retryAfter(time.Now())
		return r, false
	}
	return failed(audience.SendRejected, "Slack answered: %s.", said.Error), slices.Contains(slackMalformed, said.Error)
}
