package alertchannel

import (
	"context"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// The formats of webhooks that take alerts.
const (
	onCallGrafana    = "grafana"
	onCallIncidentIO = "incident_io"
)

// onCallWebhookType posts to services that take alerts by a webhook:
// https://grafana.com/docs/oncall/latest/configure/integrations/references/webhook/ (formatted webhook) and
// https://docs.incident.io/api-reference/alert-events-v2/createhttp.
var onCallWebhookType = Type{
	Name: "oncall_webhook", Label: "Grafana OnCall, incident.io",
	Help: "Incident service that receives alerts via webhook.",
	Fields: []configfield.Field{
		urlField("https://oncall.example.com/integrations/v1/formatted_webhook/XXXX/"),
		{
			Name: "format", Label: "Format", Help: "What the service expects.", Kind: configfield.KindText,
			Default: onCallGrafana, Choices: []string{onCallGrafana, onCallIncidentIO},
		},
	},
	Follows: true,
	New:     func() Channel { return &onCallWebhook{Format: onCallGrafana} },
}

// Limits of an alert, in characters.
const (
	onCallTitle = 250
	onCallText  = 4000
)

type onCallWebhook struct {
	URL    string `json:"url"`
	Format string `json:"format"`
}

// Destination returns the server.
func (c *onCallWebhook) Destination() configfield.Destination { return serverDestination(c.URL) }

func (c *onCallWebhook) Validate(bad *kernel.ValidationError) { checkURL(bad, "url", &c.URL) }

// body returns an alert. The services know only whether it is over.
func (c *onCallWebhook) body(phase alert.Phase, m alert.Message) map[string]any {
	title, text := fit(m.Headline(), onCallTitle, nil), plainText(m, onCallText, nil)
	if c.Format == onCallIncidentIO {
		text = plainText(m, onCallText, mattermostEscape)
	}
	over := phase == alert.PhaseResolve
	names := [5]string{"alert_uid", "title", "message", "state", "link_to_upstream_details"}
	state := map[bool]string{true: "ok", false: "alerting"}[over]
	if c.Format == onCallIncidentIO {
		names = [5]string{"deduplication_key", "title", "description", "status", "source_url"}
		state = map[bool]string{true: "resolved", false: "firing"}[over]
	}
	body := map[string]any{names[0]: threadKey(m), names[1]: title, names[2]: text, names[3]: state}
	if m.Details() != "" {
		body[names[4]] = m.Details()
	}
	return body
}

func (c *onCallWebhook) host() string { return hostOf(c.URL) }

func (c *onCallWebhook) send(ctx context.Context, s *Sender, m alert.Message) Result {
	for _, phase := range phases(m) {
		a, bad := s.call(ctx, request{url: c.URL, body: c.body(phase, m), name: "The service"})
		if bad != nil {
			return *bad
		}
		if r := a.outcome("The service"); r.Result != audience.SendAccepted {
			return r
		}
	}
	return sent("")
}
