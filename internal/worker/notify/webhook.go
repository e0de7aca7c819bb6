package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/addressguard"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Limits of one attempt to call a webhook.
const (
	webhookTimeout    = 10 * time.Second // from the DNS lookup to the end of the response
	webhookRead       = 64 << 10         // bytes of the response's header, and of its body
	webhookRetryAfter = 24 * time.Hour   // the maximum accepted Retry-After
	webhookReasonMax  = 300              // characters of a reason

	// Thirteen workspaces whose webhooks all hang leave a place to another one.
	webhookPlaces       = 512
	webhookPerWorkspace = 64
	webhookPerHost      = 4 // so that one slow host does not take all places

	// Idle connections are kept for webhookIdleTime, at most webhookPerHost per host and webhookIdle in total.
	webhookIdle     = 64
	webhookIdleTime = 30 * time.Second
)

// webhookChannel calls the URLs of subscribers, as described in docs/webhooks.md.
var webhookChannel = channel{
	name:   audience.ChannelWebhook,
	places: webhookPlaces, perWorkspace: webhookPerWorkspace, perHost: webhookPerHost,
	minPause: 10 * time.Second, maxPause: 5 * time.Minute,
	open: func(c Config) sender { return newWebhooks(c) },
}

// webhooks sends notifications to webhooks. It is safe for concurrent use.
type webhooks struct {
	webhookConnections // of webhooks that operators added

	visitors webhookConnections // never to private addresses; connections are not shared with operators' webhooks

	base    string
	timeout time.Duration
	now     func() time.Time
}

// newWebhooks returns a sender whose messages link to c.BaseURL. It connects only to
// addresses that c allows, and for visitors only to public ones.
func newWebhooks(c Config) *webhooks {
	public := c
	public.AllowPrivate = false
	return &webhooks{
		webhookConnections: newWebhookConnections(c), visitors: newWebhookConnections(public),
		base: c.BaseURL, timeout: webhookTimeout, now: time.Now,
	}
}

// webhookConnections are the connections to webhooks, which a guard allows.
type webhookConnections struct {
	guard     *addressguard.OutgoingGuard
	dialer    *net.Dialer
	transport *http.Transport
}

func newWebhookConnections(c Config) webhookConnections {
	// A dial continues after its request is cancelled, so it needs its own timeout.
	guard := addressguard.NewOutgoingGuard(c.Deny, c.AllowPrivate)
	dialer := &net.Dialer{Timeout: webhookTimeout, Control: guard.Control}
	// With HTTP/1, a request that times out closes its connection. With HTTP/2, a dead
	// connection would fail the next requests too.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return webhookConnections{
		guard: guard, dialer: dialer,
		transport: &http.Transport{
			Proxy:                  nil, // a proxy would bypass the guard
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
func (w *webhooks) close() {
	w.transport.CloseIdleConnections()
	w.visitors.transport.CloseIdleConnections()
}

// webhookLookupTimeout limits the lookup of a host name when a webhook is subscribed.
const webhookLookupTimeout = 2 * time.Second

// refuses returns an error if the host of a URL is an IP address that webhooks may not go to, or a name that has only
// such addresses now. A name that cannot be resolved now is not refused. The error is safe to show: it has no address
// that is not in the URL.
func (w *webhooks) refuses(ctx context.Context, target string) error {
	if err := w.refusesAddress(target); err != nil {
		return err
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, webhookLookupTimeout)
	defer cancel()
	addresses, err := cmp.Or(w.dialer.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(addresses) == 0 || slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		return w.guard.Literal(a.String()) == nil
	}) {
		return nil
	}
	return webhookNotAllowedError(u.Hostname())
}

// refusesAddress returns an error if the host of a URL is an IP address that webhooks may not go to.
func (w *webhooks) refusesAddress(target string) error {
	u, err := url.Parse(target)
	if err != nil || w.guard.Literal(u.Hostname()) == nil {
		return nil
	}
	return webhookNotAllowedError(u.Hostname())
}

func webhookNotAllowedError(host string) error {
	return fmt.Errorf("webhooks may not go to %s (ALLSWELL_WEBHOOK_ALLOW_PRIVATE, ALLSWELL_WEBHOOK_DENY)", host)
}

// server returns "": each webhook has its own server.
func (w *webhooks) server() string { return "" }

// send makes one attempt to deliver a notification. It takes at most webhookTimeout, and ends early with ctx.
func (w *webhooks) send(ctx context.Context, n audience.Notification) audience.SendOutcome {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	req, err := w.request(ctx, n)
	if err != nil {
		return audience.SendOutcome{
			Result: audience.SendUndeliverable, Reason: webhookReason("The message cannot be composed: %v.", err),
		}
	}
	return limitConfirmations(n, w.roundTrip(ctx, req, n.Subscriber))
}

// limitConfirmations returns the outcome of an attempt, which is final for the last request for confirmation.
func limitConfirmations(n audience.Notification, o audience.SendOutcome) audience.SendOutcome {
	if o.Result == audience.SendFailed && n.Delivery.Purpose == audience.PurposeConfirmation &&
		n.Delivery.Attempts >= confirmationAttempts {
		o.Result = audience.SendUndeliverable
	}
	return o
}

// roundTrip sends a request to the webhook of a subscriber and returns what the response means.
func (w *webhooks) roundTrip(ctx context.Context, req *http.Request, sub audience.Subscriber) audience.SendOutcome {
	connections := &w.webhookConnections
	if !sub.AddedByOperator {
		connections = &w.visitors
	}
	// Unlike a client, the transport does not follow redirects: nobody subscribed their targets.
	resp, err := connections.transport.RoundTrip(req)
	if err != nil {
		return audience.SendOutcome{
			Result: audience.SendFailed, Reason: w.failure(ctx, sub.Target), Detail: webhookReason("%v", err),
			Unreachable: true,
		}
	}
	// Reading the whole body makes the connection reusable. If the body is too long or too slow, the connection is
	// closed; only the status counts. Reading after a 101 would not end with ctx.
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, webhookRead))
	}
	_ = resp.Body.Close()
	return w.outcome(resp)
}

// request returns the signed request. Its errors never contain the secret or the URL.
func (w *webhooks) request(ctx context.Context, n audience.Notification) (*http.Request, error) {
	body, err := webhookBody(n, w.base)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.Subscriber.Target, bytes.NewReader(body))
	if err != nil || req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, errors.New("the webhook's address is not an http or https URL")
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
	// The nil value sends no header, but lets the transport repeat the request if the
	// receiver closes an idle connection. Receivers detect repeats by the id.
	req.Header["Idempotency-Key"] = nil
	return req, nil
}

// webhookSignature signs with each secret, so that receivers can verify the message with any of them.
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

// outcome returns what a response means for the delivery.
func (w *webhooks) outcome(resp *http.Response) audience.SendOutcome {
	code := resp.StatusCode
	if code >= 200 && code <= 299 {
		return audience.SendOutcome{Result: audience.SendAccepted}
	}
	if code == http.StatusGone {
		return audience.SendOutcome{Result: audience.SendGone, Reason: "The webhook answered 410: it is gone."}
	}
	reason := webhookReason("The webhook answered %d.", code)
	if code >= 300 && code <= 399 {
		reason = webhookReason("The webhook answered %d, and redirects are not followed.", code)
	}
	after := webhookAfter(resp.Header.Get("Retry-After"), w.now())
	// Other statuses may concern only this URL of the host.
	unreachable := code >= 500 && code <= 599 || code == http.StatusTooManyRequests
	return audience.SendOutcome{
		Result: audience.SendFailed, RetryAfter: after, Reason: reason, Unreachable: unreachable,
	}
}

// webhookAfter returns the delay of a Retry-After header, which is a number of seconds or
// a date: at most webhookRetryAfter, and 0 if the value is invalid.
func webhookAfter(value string, now time.Time) time.Duration {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(webhookRetryAfter/time.Second) {
			return webhookRetryAfter // err: the number overflows
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), webhookRetryAfter))
}

// failure returns the reason for attempts without a response. It is the same for an unknown name, a rejected, closed or
// filtered address, and a peer that does not speak HTTP: otherwise a workspace could explore the server's network. Only
// a URL whose host is an IP address that webhooks may not go to has a reason of its own.
func (w *webhooks) failure(ctx context.Context, target string) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return "The attempt was interrupted before the webhook answered."
	}
	if err := w.refusesAddress(target); err != nil {
		return webhookReason("The address is not allowed: %v.", err)
	}
	return webhookReason("The webhook gave no HTTP answer. Its name must resolve to a public address, it must answer "+
		"within %g seconds, "+
		"and the certificate of an https URL must be valid.", w.timeout.Seconds())
}

// webhookReason formats a reason of at most webhookReasonMax characters.
func webhookReason(format string, args ...any) string {
	text := []rune(fmt.Sprintf(format, args...))
	return string(text[:min(len(text), webhookReasonMax)])
}
