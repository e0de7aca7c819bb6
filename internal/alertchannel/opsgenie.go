package alertchannel

import (
	"context"
	"net/url"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// opsgenieType creates, acknowledges and closes alerts, as described at https://docs.opsgenie.com/docs/alert-api.
var opsgenieType = Type{
	Name: "opsgenie", Label: "Opsgenie", Help: "Creates, acknowledges and closes Opsgenie alerts.",
	Fields: []configfield.Field{
		secretField("api_key", "API key", "The key of an API integration."),
		serverField("https://api.opsgenie.com", "https://api.eu.opsgenie.com for accounts in the EU."),
	},
	Follows: true,
	New:     func() Channel { return &opsgenie{Server: "https://api.opsgenie.com"} },
}

// Limits of an alert, in characters.
const (
	opsgenieMessage     = 130
	opsgenieDescription = 15_000
	opsgenieNote        = 1000
)

type opsgenie struct {
	APIKey string `json:"api_key,omitzero"`
	Server string `json:"server_url"`
}

// Destination returns the server.
func (c *opsgenie) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *opsgenie) Validate(bad *kernel.ValidationError) { checkServer(bad, &c.Server) }

// opsgeniePriorities are the priorities of impacts.
var opsgeniePriorities = map[kernel.Impact]string{
	kernel.ImpactCritical: "P1", kernel.ImpactMajor: "P2", kernel.ImpactMinor: "P3", kernel.ImpactNone: "P5",
}

func (c *opsgenie) host() string { return hostOf(c.Server) }

func (c *opsgenie) send(ctx context.Context, s *Sender, m alert.Message) Result {
	alias := threadKey(m)
	for _, phase := range phases(m) {
		r := request{
			url: c.Server + "/v2/alerts", name: "Opsgenie",
			header: map[string]string{"Authorization": "GenieKey " + c.APIKey},
		}
		plain := map[string]any{}
		switch phase {
		case alert.PhaseTrigger:
			r.body = map[string]any{
				"message": fit(m.Headline(), opsgenieMessage, nil), "alias": alias,
				"description": plainText(m, opsgenieDescription, nil),
				"priority":    opsgeniePriorities[m.Severity()], "source": "Allswell",
			}
			plain = map[string]any{"message": fit(m.Headline(), opsgenieMessage, nil), "alias": alias}
		default:
			action := map[alert.Phase]string{alert.PhaseAcknowledge: "acknowledge", alert.PhaseResolve: "close"}[phase]
			r.url += "/" + url.PathEscape(alias) + "/" + action + "?identifierType=alias"
			r.body = map[string]any{"source": "Allswell", "note": fit(m.Headline(), opsgenieNote, nil)}
		}
		if result := s.deliver(ctx, r, plain); result.Result != audience.SendAccepted {
			return result
		}
	}
	return sent("")
}
