package alertchannel

import (
	"context"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// rocketChatType posts to an incoming webhook, as described at https://docs.rocket.chat/docs/integrations.
var rocketChatType = Type{
	Name: "rocket_chat", Label: "Rocket.Chat", Help: "Rocket.Chat, via incoming webhook.",
	Fields: []configfield.Field{urlField("https://chat.example.com/hooks/XXXX/XXXX")},
	New:    func() Channel { return new(rocketChat) },
}

// rocketChatText is the maximum length of a message in characters, unless the server allows another one.
const rocketChatText = 5000

type rocketChat struct {
	URL string `json:"url"`
}

// Destination returns the server.
func (c *rocketChat) Destination() configfield.Destination { return serverDestination(c.URL) }

func (c *rocketChat) Validate(bad *kernel.ValidationError) { checkURL(bad, "url", &c.URL) }

// rocketChatEscape writes text in which nothing is markup or a mention. Only some signs can be escaped.
var rocketChatEscape = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "#", `\#`, "@", "@"+zeroWidth, "<", "<"+zeroWidth, "](",
	"]"+zeroWidth+"(",
)

func (c *rocketChat) host() string { return hostOf(c.URL) }

func (c *rocketChat) send(ctx context.Context, s *Sender, m alert.Message) Result {
	text := "*" + fit(m.Headline(), rocketChatText/4, rocketChatEscape.Replace) + "*"
	if more := details(m); more != "" {
		text += "\n" + fit(more, rocketChatText/2, rocketChatEscape.Replace)
	}
	if links := markdownLinks(m.Buttons()); links != "" {
		text += "\n" + links
	}
	plain := map[string]any{"text": plainText(m, rocketChatText/4, rocketChatEscape.Replace)}
	a, bad := s.callTwice(ctx, request{url: c.URL, body: map[string]any{"text": text}, name: "Rocket.Chat"}, plain)
	if bad != nil {
		return *bad
	}
	r := a.outcome("Rocket.Chat")
	var said struct {
		Success *bool `json:"success"`
	}
	switch {
	case r.Result != audience.SendAccepted:
		return r
	case !a.decode(&said) || said.Success == nil:
		return a.unclear("Rocket.Chat")
	case !*said.Success:
		return failed(audience.SendRejected, "Rocket.Chat answered%s", a.explanation())
	}
	return r
}
