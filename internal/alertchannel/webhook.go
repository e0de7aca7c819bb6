package alertchannel

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/optional"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// webhookType posts messages as JSON, signed as described at https://www.standardwebhooks.com.
var webhookType = Type{
	Name: "webhook", Label: "Webhook", Help: "Posts signed JSON to your URL.",
	Fields: []configfield.Field{
		{
			Name: "url", Label: "URL", Help: "Where messages are posted.", Kind: configfield.KindText, Secret: true,
			Required: true, Max: 2000, Example: "https://ops.example.com/alerts",
		},
		{
			Name: "secret", Label: "Secret", Help: "Signs messages: whsec_ and 24 to 64 bytes in base64.",
			Kind: configfield.KindText, Secret: true, Max: 200,
		},
	},
	New: func() Channel { return new(webhook) },
}

type webhook struct {
	URL    string `json:"url"`
	Secret string `json:"secret,omitzero"`
}

// Destination returns the server that gets signatures.
func (w *webhook) Destination() configfield.Destination {
	return configfield.Destination{configfield.Server(w.URL)}
}

func (w *webhook) Validate(bad *kernel.ValidationError) {
	checkURL(bad, "url", &w.URL)
	if w.Secret != "" {
		encoded, marked := strings.CutPrefix(w.Secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !marked || len(key) < 24 || len(key) > 64 {
			bad.Add("secret", "must be whsec_ followed by 24 to 64 bytes in base64")
		}
	}
}

// webhookMessage is the JSON in docs/alerts/webhook.md.
type webhookMessage struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"` // always alert
	ThreadID *string        `json:"thread_id"`
	Phase    alert.Phase    `json:"phase"`
	Severity kernel.Impact  `json:"severity"`
	Headline string         `json:"headline"`
	Text     string         `json:"text"`
	At       string         `json:"at"`
	Total    int            `json:"total"`
	Alerts   []webhookAlert `json:"alerts"` // the first alert.MaxLines
}

type webhookAlert struct {
	ID         string             `json:"id"`
	Event      alert.Event        `json:"event"`
	Kinds      []alert.NoticeKind `json:"kinds"`
	State      alert.State        `json:"state"`
	Title      string             `json:"title"`
	Name       string             `json:"name"`
	MonitorID  *string            `json:"monitor_id"`
	Page       *string            `json:"page"`
	Severity   kernel.Impact      `json:"severity"`
	Tags       []string           `json:"tags"`
	Reason     string             `json:"reason"`
	OpenedAt   string             `json:"opened_at"`
	ResolvedAt *string            `json:"resolved_at"`
}

func newWebhookMessage(m alert.Message) webhookMessage {
	out := webhookMessage{
		ID: m.ID, Type: "alert", Phase: m.Phase(), Severity: m.Severity(), Headline: m.Headline(), Text: m.Text(4000),
		At: kernel.FormatTime(m.At), Total: len(m.Items), Alerts: []webhookAlert{},
	}
	if m.Thread != nil {
		out.ThreadID = &m.Thread.ID
	}
	for _, i := range m.Items[:min(len(m.Items), alert.MaxLines)] {
		a := webhookAlert{
			ID: i.ID, Event: i.Event, Kinds: i.Kinds, State: i.State(), Title: i.Title(m.At), Name: i.Name,
			MonitorID: optional.Ptr(i.MonitorID), Page: optional.Ptr(i.PageSlug),
			Severity: i.Severity, Tags: append([]string{}, i.Tags...), Reason: i.Reason,
			OpenedAt: kernel.FormatTime(i.OpenedAt),
		}
		if !i.ResolvedAt.IsZero() {
			a.ResolvedAt = new(kernel.FormatTime(i.ResolvedAt))
		}
		out.Alerts = append(out.Alerts, a)
	}
	return out
}

func (w *webhook) host() string { return hostOf(w.URL) }

func (w *webhook) send(ctx context.Context, s *Sender, m alert.Message) Result {
	body, err := json.Marshal(newWebhookMessage(m))
	if err != nil {
		return failed(audience.SendUndeliverable, "The message cannot be composed: %v.", err)
	}
	header := map[string]string{standardwebhooks.HeaderWebhookID: m.ID}
	if w.Secret != "" {
		now := time.Now()
		signer, err := standardwebhooks.NewWebhook(w.Secret)
		if err != nil {
			return failed(audience.SendUndeliverable, "The secret is damaged: give it again.")
		}
		signature, err := signer.Sign(m.ID, now, body)
		if err != nil {
			return failed(audience.SendUndeliverable, "The message cannot be signed.")
		}
		header[standardwebhooks.HeaderWebhookTimestamp], header[standardwebhooks.HeaderWebhookSignature] =
			strconv.FormatInt(now.Unix(), 10), signature
	}
	a, bad := s.call(ctx, request{url: w.URL, header: header, body: json.RawMessage(body), name: "The webhook"})
	if bad != nil {
		return *bad
	}
	return a.outcome("The webhook")
}
