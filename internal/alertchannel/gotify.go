package alertchannel

import (
	"context"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// gotifyType sends to an application, as described at https://gotify.net/docs/pushmsg and
// https://gotify.net/docs/msgextras.
var gotifyType = Type{
	Name: "gotify", Label: "Gotify", Help: "Push notifications via your Gotify server.",
	Fields: []configfield.Field{
		{
			Name: "server_url", Label: "Server", Help: "The URL of the server.", Kind: configfield.KindText,
			Required: true, Max: 500, Example: "https://gotify.example.com",
		},
		secretField("app_token", "Application token", "The token of an application."),
	},
	New: func() Channel { return new(gotify) },
}

// gotifyText is the maximum length of a message in characters, which the server does not limit.
const gotifyText = 4000

type gotify struct {
	Server   string `json:"server_url"`
	AppToken string `json:"app_token,omitzero"`
}

// Destination returns the server.
func (c *gotify) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *gotify) Validate(bad *kernel.ValidationError) { checkServer(bad, &c.Server) }

// gotifyPriorities are the priorities of severities: from 8, a phone makes a noise.
var gotifyPriorities = map[kernel.Impact]int{
	kernel.ImpactCritical: 10, kernel.ImpactMajor: 8, kernel.ImpactMinor: 5, kernel.ImpactNone: 5,
}

func (c *gotify) host() string { return hostOf(c.Server) }

func (c *gotify) send(ctx context.Context, s *Sender, m alert.Message) Result {
	priority := gotifyPriorities[m.Severity()]
	if m.Phase() != alert.PhaseTrigger {
		priority = 4
	}
	extras := map[string]any{"client::display": map[string]any{"contentType": "text/plain"}}
	if m.Details() != "" {
		extras["client::notification"] = map[string]any{"click": map[string]any{"url": m.Details()}}
	}
	text := plainText(m, gotifyText, nil)
	body := map[string]any{
		"title": fit(m.Headline(), 250, nil), "message": text, "priority": priority, "extras": extras,
	}
	r := request{
		url: c.Server + "/message", body: body, name: "Gotify", header: map[string]string{"X-Gotify-Key": c.AppToken},
	}
	return s.deliver(ctx, r, map[string]any{"message": text, "priority": priority})
}
