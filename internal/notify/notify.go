// Package notify delivers to subscribers what the store's events tell.
//
// The store writes an event in the transaction of what happened. From there on
// each step is durable before the next begins: the fan-out gives every
// subscriber a delivery (store.FanOut), a replica claims those that are due
// (store.Claim), sends them, and saves what became of them (store.Settle). What
// a crash interrupts is done again: a delivery may reach its receiver twice,
// with the same id, and is never forgotten (design section 7, point 8).
//
// queue.go runs one channel; the email_*.go files and words.go are the
// channel of mail, webhook.go is that of webhooks.
package notify

import (
	"context"
	"log/slog"
	"net/mail"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/failurelog"
	"github.com/allswell/allswell/internal/store"
)

// How much is sent at a time, and for how long who is in trouble is left alone.
// Mail goes to one server, which may allow few connections, and for which
// everybody waits; webhooks go to many, of which none may take all places.
const (
	mailWorkers    = 8
	mailPerHost    = 2 * mailWorkers // all that is claimed at a time
	mailBreakFirst = 5 * time.Second
	mailBreakMost  = 2 * time.Minute

	webhookWorkers    = 64
	webhookPerHost    = 4
	webhookBreakFirst = 10 * time.Second
	webhookBreakMost  = 5 * time.Minute
)

const (
	// pollInterval is how often the store is asked whether there is something
	// to do when nobody has said so: another replica's event, or an attempt
	// whose time has come.
	pollInterval = time.Second

	// DrainTimeout is how long a stop waits for messages that are on their way.
	DrainTimeout = 4 * time.Second
)

// Config is what a Notifier needs.
type Config struct {
	Store   *store.Store
	Logger  *slog.Logger // nil: discard
	BaseURL string       // what links begin with, without a slash at the end

	SMTP *url.URL     // the mail server; nil: mail is off
	From mail.Address // of all mail

	AllowPrivate bool           // webhooks may go to addresses that are not public
	Deny         []netip.Prefix // where webhooks may not go in any case

	// Settled, if not nil, is called for each attempt that is over.
	Settled func(channel allswell.Channel, result allswell.SendResult)
}

// Notifier delivers what one store tells. Any number of replicas may each run
// one.
type Notifier struct {
	Config
	queues []*queue
	told   chan struct{} // holds a value if there may be something to fan out
}

// New returns a Notifier that does nothing before Run. It is to be called
// before the store serves.
func New(c Config) *Notifier {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{Config: c, told: make(chan struct{}, 1)}
	send, end := mailIsOff, func() {}
	if c.SMTP != nil {
		m := newMailer(c.SMTP, c.BaseURL, c.From)
		send, end = m.send, m.close
	}
	mails := newQueue(n, allswell.ChannelEmail, mailWorkers, newBreakers(mailPerHost, mailBreakFirst, mailBreakMost), send, end)
	if c.SMTP != nil {
		mails.server = c.SMTP.Host
		mails.outages = &failurelog.Log{Logger: c.Logger, Failing: "the mail server cannot be used", Working: "the mail server can be used again"}
	}
	n.queues = append(n.queues, mails)
	hooks := newWebhooks(c)
	n.queues = append(n.queues, newQueue(n, allswell.ChannelWebhook, webhookWorkers,
		newBreakers(webhookPerHost, webhookBreakFirst, webhookBreakMost), hooks.send, hooks.close))
	c.Store.OnDeliveriesPending(func() { rouse(n.told) })
	return n
}

// mailIsOff is what becomes of mail without a server: it waits for one, and
// says so.
func mailIsOff(context.Context, allswell.Notification) allswell.SendOutcome {
	return allswell.SendOutcome{Result: allswell.SendFailed, Reason: "Mail is off: ALLSWELL_SMTP_URL is not set.", Unreachable: true}
}

// pageURL is where people see a page: at its own domain, or else under base, the
// address of this service; "" if there is neither. What belongs to the page
// follows it; subscriptions are at the base address only.
func pageURL(p allswell.Page, base string) string {
	if p.Host == "" && base == "" {
		return ""
	}
	return p.URL(base)
}

// subscribedAt is the page's address below which its subscriptions are. It is
// never at the page's own domain: a mail is kept for years, and who holds one
// must be able to end the subscription when that domain leads here no longer, or
// does not lead here yet.
func subscribedAt(p allswell.Page, base string) string {
	return base + "/status/" + url.PathEscape(p.Slug)
}

// rouse makes whoever waits for the channel look for work.
func rouse(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends. Then it takes nothing more, gives what is on its
// way DrainTimeout, and returns. What is not over by then is another replica's,
// or the next start's, when its lease has ended.
func (n *Notifier) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, q := range n.queues {
		all.Go(func() { q.run(ctx) })
	}
	n.fanOut(ctx)
	all.Wait()
}

// fanOut acts on sign-ups and gives subscribers their deliveries until ctx ends.
func (n *Notifier) fanOut(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		n.takeSignUps(ctx)
		more, err := n.Store.FanOut(ctx)
		if err != nil && ctx.Err() == nil {
			n.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "what happened could not be handed to subscribers; it is tried again", "error", err)
		}
		if more || err != nil {
			for _, q := range n.queues {
				rouse(q.wake)
			}
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-n.told: // a question is no event, and has its delivery already
			for _, q := range n.queues {
				rouse(q.wake)
			}
		case <-ticker.C:
		}
	}
}

// takeSignUps acts on all requests to subscribe that there are.
func (n *Notifier) takeSignUps(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = n.Store.ProcessSignUps(ctx); err != nil && ctx.Err() == nil {
			n.Logger.Log(ctx, store.LogLevel(err, slog.LevelWarn), "sign-ups could not be completed; retrying", "error", err)
		}
	}
}
