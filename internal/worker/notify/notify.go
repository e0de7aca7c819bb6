// Package notify sends the events of the store to subscribers.
//
// The store writes an event in the transaction of the change. From there on, each step is durable before the next one
// starts: the fan-out creates a delivery for each subscriber (Store.FanOut), a replica claims deliveries that are due
// (Store.ClaimDeliveries), sends them, and saves the results (Store.SaveDeliveryResults). A step that a crash
// interrupts is repeated. So no delivery is lost, and a subscriber may receive a message twice, with the same id. See
// docs/design.md.
//
// channels.go is the registry of channels, and queue.go sends the deliveries of one channel. The files email*.go,
// webhook*.go, chat.go, sms*.go and push.go have the channels.
package notify

import (
	"context"
	"log/slog"
	"net/mail"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/trigger"
	"github.com/allswell/allswell/internal/store"
)

const (
	// pollInterval is how often the store is polled for events of other replicas and
	// for deliveries whose next attempt is due.
	pollInterval = time.Second

	// DrainTimeout is how long a stop waits for messages that are being sent.
	DrainTimeout = 4 * time.Second
)

// Config configures a Notifier. Settings of one channel are named after it.
type Config struct {
	Store   *store.Store
	Logger  *slog.Logger // nil: no log
	BaseURL string       // base URL of links, without a slash at the end

	SMTP  *url.URL     // mail server; nil: mail is disabled
	Hello string       // the name of this machine in EHLO; "": its address
	From  mail.Address // sender of all mail

	AllowPrivate bool           // whether webhooks and chats may be at private addresses
	Deny         []netip.Prefix // networks in which no webhook, chat or push service may be

	// Settled is called after each attempt, once its outcome is saved or saving it has failed. nil: not called.
	Settled func(channel audience.Channel, result audience.SendResult)
}

// Notifier sends the deliveries of one store. Each replica may run one.
type Notifier struct {
	Config
	queues []*queue
	events trigger.Trigger // fired when there may be events to fan out or deliveries to send
}

// New returns a Notifier, which is idle until Run is called. It must be called before the store is used.
func New(c Config) *Notifier {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{Config: c, events: trigger.New()}
	for _, ch := range channels {
		n.queues = append(n.queues, newQueue(n, ch, ch.open(c)))
	}
	c.Store.OnDeliveriesPending(n.events.Fire)
	return n
}

// CheckTarget returns a *kernel.ValidationError if no message of a channel is sent to a valid
// target, because the settings do not allow its address. It may wait for the DNS for a short time.
func (n *Notifier) CheckTarget(ctx context.Context, channel audience.Channel, target string) error {
	for _, q := range n.queues {
		if q.name != channel {
			continue
		}
		if err := q.sender.refuses(ctx, target); err != nil {
			var bad kernel.ValidationError
			bad.Add("target", "is not allowed: %v", err)
			return bad.Err()
		}
	}
	return nil
}

// pageURL returns the public URL of a page: at its own domain, or else below base, the
// base URL of this service. It returns "" if the page has no domain and base is "".
func pageURL(p statuspage.Page, base string) string {
	if p.Host == "" && base == "" {
		return ""
	}
	return p.URL(base)
}

// subscriptionsURL returns the URL below which the subscriptions of a page are managed. It is never at the page's own
// domain: mails are kept for years, and their links must work when that domain no longer points here, or does not yet.
func subscriptionsURL(p statuspage.Page, base string) string {
	return base + "/status/" + url.PathEscape(p.Slug)
}

// Run sends deliveries until ctx ends. Then it claims no more, waits up to DrainTimeout for messages that are being
// sent, saves their results, and returns. Deliveries that are still unfinished are sent again, by any replica, when
// their lease has expired.
func (n *Notifier) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, q := range n.queues {
		all.Go(func() { q.run(ctx) })
	}
	n.fanOut(ctx)
	all.Wait()
}

// fanOut processes sign-ups and creates deliveries from events until ctx ends.
func (n *Notifier) fanOut(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		n.takeSignUps(ctx)
		more, err := n.Store.FanOut(ctx)
		if err != nil && ctx.Err() == nil {
			n.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "creating deliveries failed; retrying", "error", err)
		}
		if more || err != nil {
			for _, q := range n.queues {
				q.due.Fire()
			}
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-n.events: // confirmations have a delivery without an event
			for _, q := range n.queues {
				q.due.Fire()
			}
		case <-ticker.C:
		}
	}
}

// takeSignUps processes all pending requests to subscribe.
func (n *Notifier) takeSignUps(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = n.Store.ProcessSignUps(ctx); err != nil && ctx.Err() == nil {
			n.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "processing sign-ups failed; retrying", "error", err)
		}
	}
}
