package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

// Limits of one message to a browser.
const (
	pushPlaces       = 256
	pushPerWorkspace = 32
	pushPerHost      = 16  // most browsers of one kind have the same push service
	pushTitle        = 150 // characters
	pushBody         = 300 // characters; a message may have some 3,900 bytes
)

// pushChannel notifies browsers by the push services of their makers (RFC 8030), encrypted for the browser (RFC 8291).
var pushChannel = channel{
	name: audience.ChannelPush, places: pushPlaces, perWorkspace: pushPerWorkspace, perHost: pushPerHost,
	minPause: 10 * time.Second, maxPause: 5 * time.Minute, open: func(c Config) sender { return newPush(c) },
}

// push sends messages to browsers.
type push struct {
	*webhooks // whose connections for visitors it uses

	key     func(context.Context) (store.PushKey, error)
	contact string // by which a push service can reach the operator
}

func newPush(c Config) *push {
	p := &push{webhooks: newWebhooks(c), key: c.Store.PushKey, contact: "postmaster@localhost"}
	switch {
	case c.From.Address != "":
		p.contact = c.From.Address
	case strings.HasPrefix(c.BaseURL, "https://"):
		p.contact = c.BaseURL
	}
	return p
}

// pushMessage is what the page's worker.js shows.
type pushMessage struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	URL   string `json:"url"`
	Tag   string `json:"tag"` // a newer message replaces one with the same
	Lang  string `json:"lang"`
	Dir   string `json:"dir"`
}

// newPushMessage returns the message of a notification, in the language of its page.
func newPushMessage(n audience.Notification, base string) (m pushMessage, err error) {
	p, err := chatPost(n, base)
	if err != nil {
		return m, err
	}
	l := i18n.Or(n.Page.DefaultLanguage())
	m = pushMessage{
		Title: oneLine(p.Title, pushTitle), URL: p.URL, Tag: n.Subscriber.IncidentID, Lang: l.Tag, Dir: l.Dir,
	}
	m.Body, _ = truncate(p.Text, pushBody)
	return m, nil
}

// Do sends a request as visitors' webhooks are sent: to public addresses only, without redirects.
func (p *push) Do(r *http.Request) (*http.Response, error) { return p.visitors.transport.RoundTrip(r) }

// send makes one attempt to notify a browser. It takes at most webhookTimeout.
func (p *push) send(ctx context.Context, n audience.Notification) audience.SendOutcome {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	target, ok := audience.ParsePushTarget(n.Subscriber.Address)
	key, err := p.key(ctx)
	if !ok || err != nil || key.Private == "" {
		return audience.SendOutcome{
			Result: audience.SendFailed,
			Reason: "The browser cannot be notified, because the server does not have the key that encrypted its " +
				"address.",
		}
	}
	m, err := newPushMessage(n, p.base)
	var body []byte
	if err == nil {
		body, err = json.Marshal(m)
	}
	if err != nil {
		return audience.SendOutcome{
			Result: audience.SendUndeliverable, Reason: webhookReason("The message cannot be composed: %v.", err),
		}
	}
	resp, err := webpush.SendNotificationWithContext(ctx, body, &webpush.Subscription{
		Endpoint: target.Endpoint, Keys: webpush.Keys{Auth: target.Auth, P256dh: target.P256DH},
	}, &webpush.Options{
		HTTPClient: p, Subscriber: p.contact, TTL: int(audience.DeliveryLifetime / time.Second),
		Urgency: webpush.UrgencyHigh, VAPIDPublicKey: key.Public, VAPIDPrivateKey: key.Private,
	})
	if err != nil {
		return audience.SendOutcome{
			Result: audience.SendFailed, Reason: "The browser's push service gave no HTTP answer.",
			Detail: webhookReason("%v", withoutAddress(err, target.Endpoint)), Unreachable: true,
		}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, webhookRead))
	_ = resp.Body.Close()
	return pushOutcome(resp, p.now())
}

// withoutAddress returns the text of an error without the URL of the browser, which is a secret.
func withoutAddress(err error, address string) string {
	return strings.ReplaceAll(err.Error(), address, "…")
}

// pushOutcome returns what the answer of a push service means (RFC 8030).
func pushOutcome(resp *http.Response, now time.Time) audience.SendOutcome {
	reason := fmt.Sprintf("The browser's push service answered %d.", resp.StatusCode)
	switch code := resp.StatusCode; {
	case code >= 200 && code <= 299:
		return audience.SendOutcome{Result: audience.SendAccepted}
	case code == http.StatusNotFound || code == http.StatusGone:
		return audience.SendOutcome{Result: audience.SendGone, Reason: "The browser's subscription has ended."}
	case code == http.StatusTooManyRequests || code >= 500:
		return audience.SendOutcome{
			Result: audience.SendFailed, Reason: reason, RetryAfter: webhookAfter(resp.Header.Get("Retry-After"), now),
			Unreachable: code >= 500,
		}
	}
	return audience.SendOutcome{Result: audience.SendRejected, Reason: reason}
}
