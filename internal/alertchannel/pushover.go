package alertchannel

import (
	"context"
	"net/url"
	"strconv"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// pushoverType sends a message, as described at https://pushover.net/api.
var pushoverType = Type{
	Name: "pushover", Label: "Pushover", Help: "Push notifications to a person or a group.",
	Fields: []configfield.Field{
		secretField("app_token", "Application token", "The API token of an application."),
		secretField("user_key", "User key", "The key of a person or of a group."),
		{
			Name: "emergency", Label: "Emergency",
			Help: "Whether critical alerts sound every minute for an hour until someone confirms them on a device.",
			Kind: configfield.KindFlag, Default: "false",
		},
		serverField("https://api.pushover.net", "URL of the API."),
	},
	New: func() Channel { return &pushover{Server: "https://api.pushover.net"} },
}

// Limits of a message, in characters.
const (
	pushoverTitle   = 250
	pushoverMessage = 1024
	pushoverURL     = 512
)

type pushover struct {
	AppToken  string `json:"app_token,omitzero"`
	UserKey   string `json:"user_key,omitzero"`
	Emergency bool   `json:"emergency"`
	Server    string `json:"server_url"`
}

// Destination returns the server.
func (c *pushover) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *pushover) Validate(bad *kernel.ValidationError) { checkServer(bad, &c.Server) }

// pushoverPriorities are the priorities of severities: 1 ignores quiet hours.
var pushoverPriorities = map[kernel.Impact]int{kernel.ImpactCritical: 1, kernel.ImpactMajor: 1}

func (c *pushover) host() string { return hostOf(c.Server) }

func (c *pushover) send(ctx context.Context, s *Sender, m alert.Message) Result {
	form := url.Values{"token": {c.AppToken}, "user": {c.UserKey}, "timestamp": {strconv.FormatInt(m.At.Unix(), 10)}}
	headline := fit(m.Headline(), pushoverTitle, nil)
	form.Set("message", headline)
	if text := details(m); text != "" {
		form.Set("title", headline)
		form.Set("message", fit(text, pushoverMessage, nil))
	}
	priority := pushoverPriorities[m.Severity()]
	if m.Phase() != alert.PhaseTrigger {
		priority = 0
	}
	if c.Emergency && priority > 0 && m.Severity() == kernel.ImpactCritical {
		priority = 2
		form.Set("retry", "60")
		form.Set("expire", "3600")
	}
	form.Set("priority", strconv.Itoa(priority))
	if all := m.Buttons(); len(all) > 0 && len(all[0].URL) <= pushoverURL {
		form.Set("url", all[0].URL)
		form.Set("url_title", all[0].Label)
	}
	a, bad := s.call(ctx, request{url: c.Server + "/1/messages.json", body: form, name: "Pushover"})
	if bad != nil {
		return *bad
	}
	r := a.outcome("Pushover")
	var said struct {
		Status *int `json:"status"`
	}
	switch {
	case r.Result != audience.SendAccepted:
		return r
	case !a.decode(&said) || said.Status == nil:
		return a.unclear("Pushover")
	case *said.Status != 1:
		return failed(audience.SendRejected, "Pushover answered%s", a.explanation())
	}
	return r
}
