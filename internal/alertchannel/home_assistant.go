package alertchannel

import (
	"context"
	"net/url"
	"regexp"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// homeAssistantType starts an automation by a webhook, as described at
// https://www.home-assistant.io/docs/automation/trigger/#webhook-trigger, or calls a notify action:
// https://developers.home-assistant.io/docs/api/rest/.
var homeAssistantType = Type{
	Name: "home_assistant", Label: "Home Assistant", Help: "Webhook automation, or a device notification.",
	Fields: []configfield.Field{
		{
			Name: "server_url", Label: "Server", Help: "The URL of Home Assistant.", Kind: configfield.KindText,
			Required: true, Max: 500, Example: "https://home.example.com",
		},
		{
			Name: "webhook_id", Label: "Webhook", Help: "The id of an automation's webhook.",
			Kind: configfield.KindText, Secret: true, Max: 200,
		},
		{
			Name: "notify_action", Label: "Notify action",
			Help: "In place of a webhook, the part of a notify action after notify.", Kind: configfield.KindText,
			Max: 100, Example: "mobile_app_phone",
		},
		{
			Name: "access_token", Label: "Access token",
			Help: "A long-lived access token, which a notify action needs.", Kind: configfield.KindText, Secret: true,
			Max: 500,
		},
	},
	New: func() Channel { return new(homeAssistant) },
}

// homeAssistantText is the maximum length of a message in characters.
const homeAssistantText = 2000

var homeAssistantAction = regexp.MustCompile(`^[a-z0-9_]{1,100}$`)

type homeAssistant struct {
	Server       string `json:"server_url"`
	WebhookID    string `json:"webhook_id,omitzero"`
	NotifyAction string `json:"notify_action"`
	AccessToken  string `json:"access_token,omitzero"`
}

// Destination returns the server.
func (c *homeAssistant) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *homeAssistant) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	checkPathPart(bad, "webhook_id", c.WebhookID)
	switch {
	case (c.WebhookID == "") == (c.NotifyAction == ""):
		bad.Add("webhook_id", "Either the %s or the %s must be set.", kernel.Name("webhook_id"),
			kernel.Name("notify_action"))
	case c.NotifyAction != "" && !homeAssistantAction.MatchString(c.NotifyAction):
		bad.Add("notify_action", "must be the name of the action after \"notify.\", such as mobile_app_phone")
	case c.NotifyAction != "" && c.AccessToken == "":
		bad.Add("access_token", "is needed for a %s", kernel.Name("notify_action"))
	}
}

func (c *homeAssistant) host() string { return hostOf(c.Server) }

func (c *homeAssistant) send(ctx context.Context, s *Sender, m alert.Message) Result {
	title, text := fit(m.Headline(), 250, nil), plainText(m, homeAssistantText, nil)
	r := request{name: "Home Assistant", header: map[string]string{}}
	if c.WebhookID != "" {
		r.url = c.Server + "/api/webhook/" + url.PathEscape(c.WebhookID)
		r.body = map[string]any{
			"id": m.ID, "thread_id": threadKey(m), "phase": m.Phase(), "severity": m.Severity(), "title": title,
			"message": text, "test": isTest(m),
		}
	} else {
		r.url, r.header["Authorization"] = c.Server+"/api/services/notify/"+c.NotifyAction, "Bearer "+c.AccessToken
		// A device replaces the earlier message with the same tag.
		r.body = map[string]any{"title": title, "message": text, "data": map[string]any{"tag": threadKey(m)}}
	}
	a, bad := s.call(ctx, r)
	if bad != nil {
		return *bad
	}
	return a.outcome("Home Assistant")
}
