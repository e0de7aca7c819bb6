package alertchannel

import (
	"context"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// pagerDutyType sends events of the Events API v2, as described at
// https://developer.pagerduty.com/docs/send-alert-event.
var pagerDutyType = Type{
	Name: "pagerduty", Label: "PagerDuty", Help: "Triggers, acknowledges and resolves PagerDuty alerts.",
	Fields: []configfield.Field{
		secretField("routing_key", "Integration key", "The key of an Events API v2 integration: 32 characters."),
		serverField("https://events.pagerduty.com", "https://events.eu.pagerduty.com for accounts in the EU."),
	},
	Follows: true,
	New:     func() Channel { return &pagerDuty{Server: "https://events.pagerduty.com"} },
}

// Limits of an event, in characters.
const (
	pagerDutySummary = 1024
	pagerDutyDetails = 8000
)

type pagerDuty struct {
	RoutingKey string `json:"routing_key,omitzero"`
	Server     string `json:"server_url"`
}

// Destination returns the server.
func (c *pagerDuty) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *pagerDuty) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	if c.RoutingKey != "" && len(c.RoutingKey) != 32 {
		bad.Add("routing_key", "must have 32 characters")
	}
}

// pagerDutySeverities are the severities of impacts.
var pagerDutySeverities = map[kernel.Impact]string{
	kernel.ImpactCritical: "critical", kernel.ImpactMajor: "error", kernel.ImpactMinor: "warning",
	kernel.ImpactNone: "info",
}

func (c *pagerDuty) event(phase alert.Phase, m alert.Message) map[string]any {
	event := map[string]any{"routing_key": c.RoutingKey, "event_action": string(phase), "dedup_key": threadKey(m)}
	if phase != alert.PhaseTrigger {
		return event
	}
	subject := m.Items[0]
	payload := map[string]any{
		"summary": fit(m.Headline(), pagerDutySummary, nil), "source": subject.Name,
		"severity":  pagerDutySeverities[m.Severity()],
		"timestamp": kernel.FormatTime(subject.OpenedAt), "class": string(subject.Event),
	}
	if subject.PageSlug != "" {
		payload["group"] = subject.PageSlug
	}
	if text := details(m); text != "" {
		payload["custom_details"] = map[string]any{"details": fit(text, pagerDutyDetails, nil)}
	}
	event["payload"], event["client"] = payload, "Allswell"
	if m.Details() != "" {
		event["client_url"] = m.Details()
	}
	return event
}

func (c *pagerDuty) host() string { return hostOf(c.Server) }

func (c *pagerDuty) send(ctx context.Context, s *Sender, m alert.Message) Result {
	for _, phase := range phases(m) {
		body := c.event(phase, m)
		plain := map[string]any{
			"routing_key": c.RoutingKey, "event_action": body["event_action"], "dedup_key": body["dedup_key"],
		}
		if phase == alert.PhaseTrigger {
			plain["payload"] = map[string]any{
				"summary": fit(m.Headline(), pagerDutySummary, nil), "source": "Allswell",
				"severity": pagerDutySeverities[m.Severity()],
			}
		}
		r := s.deliver(ctx, request{url: c.Server + "/v2/enqueue", body: body, name: "PagerDuty"}, plain)
		if r.Result != audience.SendAccepted {
			return r
		}
	}
	return sent("")
}
