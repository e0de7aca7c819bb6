package alertchannel

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// alertmanagerType posts alerts to Prometheus Alertmanager, as described at
// https://prometheus.io/docs/alerting/latest/alerts_api/.
var alertmanagerType = Type{
	Name: "alertmanager", Label: "Prometheus Alertmanager", Help: "Posts alerts to Alertmanager, which routes them.",
	Fields: []configfield.Field{
		{
			Name: "server_url", Label: "Server", Help: "The URL of Alertmanager, with its route prefix.",
			Kind: configfield.KindText, Required: true, Max: 500, Example: "https://alertmanager.example.com",
		},
		{
			Name: "username", Label: "User name", Help: "For basic authentication.", Kind: configfield.KindText,
			Max: 200, Advanced: true,
		},
		{
			Name: "password", Label: "Password",
			Help: "For basic authentication, or the bearer token if there is no user name.",
			Kind: configfield.KindText, Secret: true, Max: 500, Advanced: true,
		},
	},
	Follows: true,
	New:     func() Channel { return new(alertmanager) },
}

// How long Alertmanager regards an alert as open without another message about it.
const (
	alertmanagerOpen = 365 * 24 * time.Hour
	alertmanagerTest = 5 * time.Minute
)

// alertmanagerBatch is the maximum number of alerts in a request.
const alertmanagerBatch = 200

type alertmanager struct {
	Server   string `json:"server_url"`
	Username string `json:"username"`
	Password string `json:"password,omitzero"`
}

// Destination returns the server.
func (c *alertmanager) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *alertmanager) Validate(bad *kernel.ValidationError) { checkServer(bad, &c.Server) }

type postableAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// newPostableAlert returns an alert with labels that are the same over its life.
func newPostableAlert(i alert.Item, m alert.Message) postableAlert {
	ends := m.At.Add(alertmanagerOpen)
	switch {
	case i.Event == alert.ChannelTest:
		ends = m.At.Add(alertmanagerTest)
	case !i.ResolvedAt.IsZero():
		ends = i.ResolvedAt
	}
	p := postableAlert{
		Labels: map[string]string{
			"alertname": string(i.Event), "alert_id": i.ID, "name": i.Name, "severity": string(i.Severity),
		},
		Annotations: map[string]string{"summary": i.Alert.Outcome()},
		StartsAt:    i.OpenedAt.UTC().Format(time.RFC3339Nano), EndsAt: ends.UTC().Format(time.RFC3339Nano),
		GeneratorURL: m.Details(),
	}
	for label, value := range map[string]string{"page": i.PageSlug, "monitor": i.MonitorSlug} {
		if value != "" {
			p.Labels[label] = value
		}
	}
	if i.Reason != "" {
		p.Annotations["description"] = i.Reason
	}
	if i.AcknowledgedBy != "" {
		p.Annotations["acknowledged_by"] = i.AcknowledgedBy
	}
	return p
}

func (c *alertmanager) host() string { return hostOf(c.Server) }

func (c *alertmanager) send(ctx context.Context, s *Sender, m alert.Message) Result {
	header := map[string]string{}
	switch {
	case c.Username != "":
		header["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
	case c.Password != "":
		header["Authorization"] = "Bearer " + c.Password
	}
	for rest := m.Items; len(rest) > 0; {
		batch := rest[:min(len(rest), alertmanagerBatch)]
		rest = rest[len(batch):]
		var posted []postableAlert
		for _, i := range batch {
			posted = append(posted, newPostableAlert(i, m))
		}
		a, bad := s.call(ctx, request{
			url: c.Server + "/api/v2/alerts", header: header, body: posted, name: "Alertmanager",
		})
		if bad != nil {
			return *bad
		}
		if r := a.outcome("Alertmanager"); r.Result != audience.SendAccepted {
			return r
		}
	}
	return sent("")
}
