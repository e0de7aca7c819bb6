package alertchannel

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// zulipType sends to a topic of a channel, as described at https://zulip.com/api/send-message.
var zulipType = Type{
	Name: "zulip", Label: "Zulip", Help: "Zulip channel, with one topic per alert.",
	Fields: []configfield.Field{
		{
			Name: "server_url", Label: "Server", Help: "The URL of the organization.", Kind: configfield.KindText,
			Required: true, Max: 500, Example: "https://acme.zulipchat.com",
		},
		{
			Name: "bot_email", Label: "Bot email", Help: "Email address of the bot.",
			Kind: configfield.KindText, Required: true, Max: 254, Example: "alerts-bot@acme.zulipchat.com",
		},
		secretField("api_key", "API key", "The key of the bot."),
		{
			Name: "channel", Label: "Channel", Help: "The name of the channel.", Kind: configfield.KindText,
			Required: true, Max: 100, Example: "ops",
		},
		{
			Name: "topic", Label: "Topic", Help: "One topic for all alerts. Without it each alert has its own.",
			Kind: configfield.KindText, Max: zulipTopic, Advanced: true,
		},
	},
	New: func() Channel { return new(zulip) },
}

// Limits of a message, in characters.
const (
	zulipTopic   = 60
	zulipContent = 10_000
)

// zulipFence begins and ends a block of text in which nothing is markup or a mention. No line of a message consists of
// it, because other text follows each name.
const zulipFence = "``````````"

type zulip struct {
	Server   string `json:"server_url"`
	BotEmail string `json:"bot_email"`
	APIKey   string `json:"api_key,omitzero"`
	Channel  string `json:"channel"`
	Topic    string `json:"topic"`
}

// Destination returns the server.
func (c *zulip) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *zulip) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	kernel.CheckText(bad, "channel", c.Channel, 100)
	if !strings.Contains(c.BotEmail, "@") || strings.Contains(c.BotEmail, ":") {
		bad.Add("bot_email", "must be an email address")
	}
}

func (c *zulip) host() string { return hostOf(c.Server) }

func (c *zulip) send(ctx context.Context, s *Sender, m alert.Message) Result {
	topic := cmp.Or(c.Topic, reference(m), fit(m.Headline(), zulipTopic, nil))
	content := zulipFence + "text\n" + fit(m.WithoutLinks().Text(zulipContent/2), zulipContent/2, nil) + "\n" +
		zulipFence
	if links := markdownLinks(m.Buttons()); links != "" {
		content += "\n" + links
	}
	form := url.Values{"type": {"stream"}, "to": {c.Channel}, "topic": {topic}, "content": {content}}
	a, bad := s.call(ctx, request{
		url: c.Server + "/api/v1/messages", body: form, name: "Zulip",
		header: map[string]string{
			"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(c.BotEmail+":"+c.APIKey)),
		},
	})
	if bad != nil {
		return *bad
	}
	var said struct {
		Result     string  `json:"result"`
		RetryAfter float64 `json:"retry-after"`
	}
	decoded := a.decode(&said)
	r := a.outcome("Zulip")
	switch {
	case r.Result != audience.SendAccepted:
		return r.wait(said.RetryAfter)
	case !decoded || said.Result == "":
		return a.unclear("Zulip")
	case said.Result != "success":
		return failed(audience.SendRejected, "Zulip answered%s", a.explanation())
	}
	return sent(topic)
}
