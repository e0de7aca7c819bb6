package notify

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/i18n"
)

// Limits of the messages to one chat.
const (
	chatPlaces       = 128
	chatPerWorkspace = 16
	chatPerHost      = 8 // most chats of a service have one host

	chatThreads = 5     // threads of one message
	chatEntries = 3     // entries of one thread
	chatText    = 3_000 // characters of all messages together; services cut again
)

// chatChannel returns the channel of a chat with incoming webhooks. Package alertchannel has the formats.
func chatChannel(name audience.Channel) channel {
	return channel{
		name: name, places: chatPlaces, perWorkspace: chatPerWorkspace, perHost: chatPerHost,
		minPause: 10 * time.Second, maxPause: 5 * time.Minute, open: func(c Config) sender { return newChat(name, c) },
	}
}

// chat sends notifications to rooms of one service.
type chat struct {
	service   audience.Channel
	base      string
	strict    bool      // only the hosts of the service
	addresses *webhooks // knows which addresses are allowed
	operators *alertchannel.Sender
	visitors  *alertchannel.Sender // never to private addresses
}

func newChat(service audience.Channel, c Config) *chat {
	return &chat{
		service: service, base: c.BaseURL, strict: !c.AllowPrivate, addresses: newWebhooks(c),
		operators: alertchannel.NewSender(alertchannel.Config{Denied: c.Deny, AllowPrivate: c.AllowPrivate}),
		visitors:  alertchannel.NewSender(alertchannel.Config{Denied: c.Deny}),
	}
}

// refuses returns an error if the URL is at no host of the service, unless private addresses are allowed, or at an
// address that is not allowed.
func (c *chat) refuses(ctx context.Context, target string) error {
	if c.strict && !c.service.AtService(target) {
		return fmt.Errorf("it is no incoming-webhook URL of %s (ALLSWELL_WEBHOOK_ALLOW_PRIVATE)", c.service.Name())
	}
	return c.addresses.refuses(ctx, target)
}

func (c *chat) server() string { return "" }

func (c *chat) close() {
	c.addresses.close()
	c.operators.Close()
	c.visitors.Close()
}

// send makes one attempt to post a notification. It takes at most audience.SendTimeout.
func (c *chat) send(ctx context.Context, n audience.Notification) audience.SendOutcome {
	if n.Subscriber.Address == "" {
		return audience.SendOutcome{
			Result: audience.SendFailed,
			Reason: "The URL cannot be read, because the server does not have the key that encrypted it.",
		}
	}
	p, err := chatPost(n, c.base)
	if err != nil {
		return audience.SendOutcome{
			Result: audience.SendUndeliverable, Reason: webhookReason("The message cannot be composed: %v.", err),
		}
	}
	sender := c.operators
	if !n.Subscriber.AddedByOperator {
		sender = c.visitors
	}
	return limitConfirmations(n, sender.Post(ctx, string(c.service), n.Subscriber.Address, p))
}

// chatPost returns the message of a notification, in the language and the time zone of its page.
func chatPost(n audience.Notification, base string) (p alertchannel.Post, err error) {
	l := i18n.Or(n.Page.DefaultLanguage())
	name := l.Isolate(oneLine(n.Page.Name, mailNameInLine))
	page := pageInfo{url: pageURL(n.Page, base), zone: n.Page.Location(), lang: l, style: strings.NewReplacer()}
	p = alertchannel.Post{ID: n.Delivery.ID, URL: page.url, Color: alertchannel.ColorNeutral, At: n.Delivery.HappenedAt}
	manage, end := subscriptionLinks(n, base)
	leave := alert.Button{Label: l.T("unsubscribe.title"), URL: end}
	switch n.Delivery.Purpose {
	case audience.PurposeConfirmation:
		p.Title = l.T("mail.confirmation.heading", "page", name)
		p.Text = l.T("chat.confirmation.text", "page", name, "code", n.Subscriber.ShownCode())
		p.Links = []alert.Button{
			{Label: l.T("chat.confirmation.enter"), URL: manage}, {Label: l.T("subscription.ask.forget"), URL: end},
		}
	case audience.PurposeLink:
		p.Title, p.Text = l.T("mail.link.heading", "page", name), l.T("chat.link.text", "page", name)
		p.Links = []alert.Button{{Label: l.T("mail.link.button"), URL: manage}, leave}
	case audience.PurposeTest:
		p.Title, p.Text = l.T("mail.test.heading", "page", name), l.T("mail.test.text", "page", name)
		p.Links = []alert.Button{{Label: l.T("mail.manage"), URL: manage}, leave}
	case audience.PurposeEvent:
		threads := threadsOf(n.Events, page)
		if len(threads) == 0 {
			return p, fmt.Errorf("no event of the notification is reported to chats")
		}
		p.Title, p.Text = "["+name+"] "+headline(threads, l, mailTitle), chatThreadsText(threads, l)
		p.URL, p.Color = threads[0].URL, chatColor(threads)
		p.Links = []alert.Button{
			{Label: threads[0].Link, URL: threads[0].URL}, {Label: l.T("mail.manage"), URL: manage}, leave,
		}
	default:
		return p, fmt.Errorf("unknown purpose of a message to a chat: %q", n.Delivery.Purpose)
	}
	return p, nil
}

// subscriptionLinks returns the URLs to manage and to end the subscription.
func subscriptionLinks(n audience.Notification, base string) (manage, end string) {
	at, key := subscriptionsURL(n.Page, base), url.PathEscape(n.Subscriber.Key)
	return at + "/subscription/" + key, at + "/unsubscribe/" + key
}

// chatColor returns the color of the worst of the threads that are not over.
func chatColor(threads []thread) alertchannel.PostColor {
	color, rank := alertchannel.ColorOver, 0
	for _, t := range threads {
		c, r := alertchannel.ColorNeutral, 1
		switch {
		case t.resolved, t.Tone == kernel.StatusOperational.Tone():
			continue
		case t.planned:
			c, r = alertchannel.ColorCalm, 2
		case t.Tone == kernel.ImpactMinor.Tone():
			c, r = alertchannel.ColorMinor, 3
		case t.Tone == kernel.ImpactMajor.Tone():
			c, r = alertchannel.ColorMajor, 4
		case t.Tone == kernel.ImpactCritical.Tone():
			c, r = alertchannel.ColorCritical, 5
		}
		if r > rank {
			color, rank = c, r
		}
	}
	return color
}

// chatThreadsText returns what follows the headline: the newest entries of each thread, the newest first.
func chatThreadsText(threads []thread, l *i18n.Language) string {
	var parts []string
	left := chatText
	for i, t := range threads[:min(len(threads), chatThreads)] {
		var lines []string
		add := func(line string) {
			if line != "" {
				lines = append(lines, line)
			}
		}
		if len(threads) > 1 {
			add(t.State + ": " + t.Title)
		}
		add(t.Impact)
		add(t.When)
		if t.Affected != "" {
			add(l.T("mail.affected", "components", t.Affected))
		}
		if t.Outages > 1 {
			add(l.T("mail.outages_since", "n", t.Outages, "time", t.Since))
		}
		for _, e := range t.Entries[:min(len(t.Entries), chatEntries)] {
			text, cut := truncate(e.Text, max(left, 1))
			left -= len([]rune(text))
			add(e.State + " · " + e.At)
			add(text)
			if cut || e.Short {
				add("(" + l.T("mail.cut") + ")")
			}
		}
		if hidden := t.Hidden + max(0, len(t.Entries)-chatEntries); hidden > 0 {
			add(l.T("mail.earlier", "n", hidden))
		}
		if i > 0 {
			add(t.URL)
		}
		parts = append(parts, strings.Join(lines, "\n"))
	}
	if more := len(threads) - chatThreads; more > 0 {
		parts = append(parts, l.T("mail.more", "n", more))
	}
	return strings.Join(parts, "\n\n")
}
