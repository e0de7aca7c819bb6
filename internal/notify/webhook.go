package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/allswell/allswell"
)

// Limits of one attempt to call a webhook.
const (
	webhookTimeout    = 10 * time.Second // from looking up the name to the end of the answer
	webhookRead       = 64 << 10         // bytes of the answer's header, and of its body
	webhookRetryAfter = 24 * time.Hour   // the most that a Retry-After counts
	webhookReasonMax  = 300              // characters of a reason

	webhookWorkers = 64
	webhookPerHost = 4 // so that one slow host does not take all workers

	// Idle connections are kept for webhookIdleTime, at most webhookPerHost per host and
	// webhookIdle in total.
	webhookIdle     = 64
	webhookIdleTime = 30 * time.Second
)

// webhookChannel calls the URLs of subscribers, as described in docs/webhooks.md.
var webhookChannel = channel{
	name:    allswell.ChannelWebhook,
	workers: webhookWorkers, perHost: webhookPerHost,
	minPause: 10 * time.Second, maxPause: 5 * time.Minute,
	open: func(c Config) sender { return newWebhooks(c) },
}

// webhookMessage is the documented JSON (docs/webhooks.md). All types have the
// same members; what does not apply is null.
type webhookMessage struct {
	Type      allswell.EventKind `json:"type"`
	Timestamp string             `json:"timestamp"` // when it happened
	Data      webhookData        `json:"data"`
}

type webhookData struct {
	Page        webhookPage         `json:"page"`
	Incident    *webhookIncident    `json:"incident"`
	Maintenance *webhookMaintenance `json:"maintenance"`
	Update      *webhookUpdate      `json:"update"`
	Component   *webhookComponent   `json:"component"`
	MonitorID   *string             `json:"monitor_id"`
}

type webhookPage struct {
	Slug string  `json:"slug"`
	Name string  `json:"name"`
	URL  *string `json:"url"`
}

type webhookIncident struct {
	ID         string                 `json:"id"`
	Title      string                 `json:"title"`
	Impact     allswell.Impact        `json:"impact"`
	State      allswell.IncidentState `json:"state"`
	Resolved   bool                   `json:"resolved"`
	URL        *string                `json:"url"`
	Components []webhookAffected      `json:"components"`
}

type webhookAffected struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Status allswell.Status `json:"status"`
}

type webhookMaintenance struct {
	ID             string                    `json:"id"`
	Title          string                    `json:"title"`
	State          allswell.MaintenanceState `json:"state"`
	ScheduledFor   string                    `json:"scheduled_for"`
	ScheduledUntil string                    `json:"scheduled_until"`
	URL            *string                   `json:"url"`
	Components     []webhookNamed            `json:"components"`
}

type webhookNamed struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type webhookUpdate struct {
	ID      string `json:"id"`
	Message string `json:"message"` // Markdown, as it was typed
}

type webhookComponent struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	OldStatus allswell.Status `json:"old_status"`
	Status    allswell.Status `json:"status"`
}

// webhookBody returns the JSON that tells the last event of n. base is the
// address of this service without a slash at its end; if it is "" the URLs of a
// page without a domain are null. The error is for an event that has no documented form.
func webhookBody(n allswell.Notification, base string) ([]byte, error) {
	if len(n.Events) == 0 {
		return nil, errors.New("there is no event to tell")
	}
	e := n.Events[len(n.Events)-1]
	page := pageURL(n.Page, base)
	data := webhookData{
		Page:      webhookPage{Slug: n.Page.Slug, Name: n.Page.Name, URL: webhookOptional(page)},
		MonitorID: webhookOptional(e.MonitorID),
	}
	switch e.Kind {
	case allswell.EventIncidentCreated, allswell.EventIncidentUpdated, allswell.EventIncidentResolved:
		data.Incident = webhookIncidentOf(e, page)
	case allswell.EventMaintenanceScheduled, allswell.EventMaintenanceReminder, allswell.EventMaintenanceBegun,
		allswell.EventMaintenanceUpdated, allswell.EventMaintenanceEnded, allswell.EventMaintenanceCancelled:
		data.Maintenance = webhookMaintenanceOf(e, page)
	case allswell.EventComponentStatusChanged:
		data.Component = &webhookComponent{
			ID: e.ComponentID, Name: e.Data.Component, OldStatus: e.Data.OldStatus, Status: e.Data.NewStatus,
		}
	default:
		return nil, fmt.Errorf("a webhook does not know the event %q", e.Kind)
	}
	if e.UpdateID != "" {
		data.Update = &webhookUpdate{ID: e.UpdateID, Message: e.Data.Message}
	}
	return json.Marshal(webhookMessage{Type: e.Kind, Timestamp: allswell.FormatTime(e.CreatedAt), Data: data})
}

// webhookIncidentOf is the incident as it was right after the event. What it
// concerned is operational, as far as it goes, once it is resolved.
func webhookIncidentOf(e allswell.Event, page string) *webhookIncident {
	i := &webhookIncident{
		ID: e.IncidentID, Title: e.Data.Title, Impact: e.Data.Impact, State: e.Data.State,
		Resolved: e.Data.Resolved, URL: webhookLink(page, "/incidents/"+e.IncidentID),
		Components: make([]webhookAffected, len(e.Data.Affected)),
	}
	for n, a := range e.Data.Affected {
		i.Components[n] = webhookAffected{a.ComponentID, a.Name, a.New}
		if isResolved(e) {
			i.Components[n].Status = allswell.StatusOperational
		}
	}
	return i
}

// webhookMaintenanceOf is the maintenance as it was right after the event, or
// before it was cancelled; then no address has it any more.
func webhookMaintenanceOf(e allswell.Event, page string) *webhookMaintenance {
	d := e.Data.Maintenance
	m := &webhookMaintenance{
		ID: e.MaintenanceID, Title: e.Data.Title, State: d.State,
		ScheduledFor: allswell.FormatTime(d.ScheduledFor), ScheduledUntil: allswell.FormatTime(d.ScheduledUntil),
		Components: make([]webhookNamed, len(d.Components)),
	}
	if e.Kind != allswell.EventMaintenanceCancelled {
		m.URL = webhookLink(page, "/maintenances/"+e.MaintenanceID)
	}
	for n, c := range d.Components {
		m.Components[n] = webhookNamed(c)
	}
	return m
}

// webhookLink is an address below the page's; nil if that is "".
func webhookLink(page, path string) *string {
	if page == "" {
		return nil
	}
	link := page + path
	return &link
}

// webhookOptional is s as JSON has it: null instead of "".
func webhookOptional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// webhooks calls webhooks. It may be used by many at once.
type webhooks struct {
	base      string
	timeout   time.Duration
	now       func() time.Time
	dialer    *net.Dialer
	transport *http.Transport
}

// newWebhooks returns a sender whose messages link to c.BaseURL. It connects only
// to the addresses that c allows.
func newWebhooks(c Config) *webhooks {
	// A dial goes on when its request is given up, so it needs a bound of its own.
	dialer := &net.Dialer{Timeout: webhookTimeout, Control: newGuard(c).control}
	// A request that times out takes its connection with it. That is so of
	// HTTP/1 alone: a dead connection of HTTP/2 would fail the next ones too.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &webhooks{
		base: c.BaseURL, timeout: webhookTimeout, now: time.Now, dialer: dialer,
		transport: &http.Transport{
			Proxy:                  nil, // it would connect past the guard
			DialContext:            dialer.DialContext,
			Protocols:              protocols,
			TLSHandshakeTimeout:    webhookTimeout,
			MaxResponseHeaderBytes: webhookRead,
			DisableCompression:     true,
			MaxIdleConns:           webhookIdle,
			MaxIdleConnsPerHost:    webhookPerHost,
			IdleConnTimeout:        webhookIdleTime,
		},
	}
}

// close closes idle connections.
func (w *webhooks) close() { w.transport.CloseIdleConnections() }

// server returns "": each webhook has its own server.
func (w *webhooks) server() string { return "" }

// send makes one attempt to hand the notice to its subscriber. It takes at most
// webhookTimeout, and less if ctx ends before.
func (w *webhooks) send(ctx context.Context, n allswell.Notification) allswell.SendOutcome {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	req, err := w.request(ctx, n)
	if err != nil {
		return allswell.SendOutcome{Result: allswell.SendUndeliverable, Reason: webhookReason("The message cannot be made: %v.", err)}
	}
	// The transport alone follows no redirect: each would be an address that
	// nobody subscribed.
	resp, err := w.transport.RoundTrip(req)
	if err != nil {
		return allswell.SendOutcome{Result: allswell.SendFailed, Reason: w.failure(ctx), Detail: webhookReason("%v", err), Unreachable: true}
	}
	// Read to its end, the connection can be used again. What is too long or too
	// slow is dropped with it, and does not change what the status said. What
	// follows a 101 would not end with ctx.
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, webhookRead))
	}
	_ = resp.Body.Close()
	return w.outcome(resp)
}

// request makes the signed request. Its errors never hold the secret or the URL.
func (w *webhooks) request(ctx context.Context, n allswell.Notification) (*http.Request, error) {
	body, err := webhookBody(n, w.base)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.Subscriber.Target, bytes.NewReader(body))
	if err != nil || req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, errors.New("the webhook's address is no URL of http or https")
	}
	now := w.now()
	signature, err := webhookSignature(n.Delivery.ID, now, body, n.Subscriber.Secrets(now))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Allswell")
	req.Header.Set(standardwebhooks.HeaderWebhookID, n.Delivery.ID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	// Sends nothing. It lets the transport repeat the request if the receiver
	// closes a kept connection at that moment: receivers know repeats by the id.
	req.Header["Idempotency-Key"] = nil
	return req, nil
}

// webhookSignature signs with each secret, so that a receiver who knows one of
// them can verify it.
func webhookSignature(id string, now time.Time, body []byte, secrets []string) (string, error) {
	var signatures []string
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil || strings.TrimPrefix(secret, "whsec_") == "" {
			return "", errors.New("the webhook's secret is damaged; rotate it")
		}
		signature, err := signer.Sign(id, now, body)
		if err != nil {
			return "", errors.New("the message cannot be signed")
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}

// outcome is what an answer means.
func (w *webhooks) outcome(resp *http.Response) allswell.SendOutcome {
	code := resp.StatusCode
	if code >= 200 && code <= 299 {
		return allswell.SendOutcome{Result: allswell.SendAccepted}
	}
	if code == http.StatusGone {
		return allswell.SendOutcome{Result: allswell.SendGone, Reason: "The webhook answered 410: it is gone."}
	}
	reason := webhookReason("The webhook answered %d.", code)
	if code >= 300 && code <= 399 {
		reason = webhookReason("The webhook answered %d, and redirects are not followed.", code)
	}
	after := webhookAfter(resp.Header.Get("Retry-After"), w.now())
	// Any other answer may be about the one URL of many that a host has.
	unreachable := code >= 500 && code <= 599 || code == http.StatusTooManyRequests
	return allswell.SendOutcome{Result: allswell.SendFailed, RetryAfter: after, Reason: reason, Unreachable: unreachable}
}

// webhookAfter is the wait that a Retry-After asks for, in seconds or until a
// date: at most webhookRetryAfter, and 0 for what says neither.
func webhookAfter(value string, now time.Time) time.Duration {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(webhookRetryAfter/time.Second) {
			return webhookRetryAfter // err: more seconds than a number holds
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), webhookRetryAfter))
}

// failure is the reason for all attempts that got no answer. It is the same for a
// name that does not exist, an address that is refused, closed or filtered, and a
// peer that does not speak HTTP: otherwise a workspace could explore the network
// that this machine is in.
func (w *webhooks) failure(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return "The attempt was interrupted before the webhook answered."
	}
	return webhookReason("The webhook gave no HTTP answer within %g seconds. Its name must resolve to a public address, "+
		"and the certificate of an https URL must be valid.", w.timeout.Seconds())
}

// webhookReason is a sentence of at most webhookReasonMax characters.
func webhookReason(format string, args ...any) string {
	text := []rune(fmt.Sprintf(format, args...))
	return string(text[:min(len(text), webhookReasonMax)])
}
