package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// subscribeForm is the form for a new subscription. After an error it has the values that were
// sent. In the panel of a page, it has no components to choose.
type subscribeForm struct {
	Action     string
	Email      string
	EmailError string
	Choice     choice
}

// smsForm is subscribeForm for a phone. It is not in the panel of a page.
type smsForm struct {
	Action string
	Phone  string
	Error  string
	Choice choice
}

// phoneExample is a phone number that is reserved for examples, isolated so that it is written from left to right in
// any language.
const phoneExample = "\u2066+44 7700 900123\u2069"

// webhookForm is subscribeForm for a webhook or a chat. It is not in the panel of a page.
type webhookForm struct {
	Action string
	Chats  []chatOption // none: only webhooks
	URL    string
	Error  string
	Choice choice
}

// chatOption is a channel of the form. The first is the webhook.
type chatOption struct {
	Channel  audience.Channel
	Name     string
	Selected bool
}

// newWebhookForm returns the form with a channel selected.
func newWebhookForm(at Presentation, selected audience.Channel, choice choice) *webhookForm {
	f := &webhookForm{Action: at.subscribe(), Choice: choice}
	if at.Chats || selected.Chat() {
		for _, c := range audience.ChatChannels {
			f.Chats = append(f.Chats, chatOption{c, c.Name(), c == selected})
		}
		f.Chats = append(f.Chats, chatOption{
			audience.ChannelWebhook, at.lang.T("subscribe.own_webhook"), selected == audience.ChannelWebhook,
		})
	}
	return f
}

// codeBody asks for the code that was sent to a target.
type codeBody struct {
	Action  string
	Channel audience.Channel
	Name    string // of the channel, or the phone number
	Target  string
	Code    string // that was wrong; "": none
	Hours   int    // that a code is valid
}

// EnterCode returns the page that asks for the code that was sent to the target of a sign-up. wrong is a code that was
// not accepted; "": none.
func EnterCode(l Layout, n audience.NewSubscriber, wrong string) Model {
	l.setTitle(l.At.lang.T("subscribe.code.heading"))
	name := n.Channel.Name()
	if n.Channel == audience.ChannelSMS {
		name = "\u2066" + strings.ToValidUTF8(n.Target, "\ufffd") + "\u2069"
	}
	return Model{l, "code", codeBody{
		Action: l.At.subscribe(), Channel: n.Channel, Name: name, Target: n.Target,
		Code:  strings.ToValidUTF8(wrong, "\ufffd"),
		Hours: int(audience.CodeLifetime / time.Hour),
	}}
}

// choice is the part of a form that selects components.
type choice struct {
	Blocks []statuspage.Block
	Chosen []string // ids
	Error  string
}

// Has reports whether a component is chosen.
func (c choice) Has(id string) bool { return slices.Contains(c.Chosen, id) }

// Offered reports whether there is anything to choose.
func (c choice) Offered() bool {
	n := 0
	for _, block := range c.Blocks {
		n += len(block.Components)
	}
	return n > 1 || n > 0 && len(c.Chosen) > 0
}

// subscribeBody has the forms for subscribing on a page of their own.
type subscribeBody struct {
	Form    *subscribeForm // nil: mail is off
	SMS     *smsForm       // nil: the page does not offer SMS
	Webhook *webhookForm   // nil: the page does not offer webhooks
	Refused bool           // one has the values that were sent, and errors
}

func newSubscribeBody(at Presentation, blocks []statuspage.Block) (b subscribeBody) {
	if at.Mail {
		b.Form = &subscribeForm{Action: at.subscribe(), Choice: choice{Blocks: blocks}}
	}
	if at.SMS {
		b.SMS = &smsForm{Action: at.subscribe(), Choice: choice{Blocks: blocks}}
	}
	if at.Webhooks {
		b.Webhook = newWebhookForm(at, "", choice{Blocks: blocks})
	}
	return b
}

// SignUp returns the forms for subscribing to the page or to some of its components.
func SignUp(l Layout, blocks []statuspage.Block) Model {
	l.Path = "/subscribe"
	l.Site.Form = nil // it is below the panel
	l.setTitle(l.At.lang.T("subscribe.heading"))
	return Model{l, "subscribe", newSubscribeBody(l.At, blocks)}
}

// InvalidSignUp returns the form of a channel with the values that were sent and the errors in them.
func InvalidSignUp(
	l Layout, blocks []statuspage.Block, n audience.NewSubscriber, invalid *kernel.ValidationError,
) Model {
	lang := l.At.lang
	typed, chosen := strings.ToValidUTF8(n.Target, "\ufffd"), choice{Blocks: blocks, Chosen: n.Components}
	if invalid.Has("components") {
		chosen.Error = lang.T("subscribe.component_gone")
	}
	missing, wrong := strings.TrimSpace(n.Target) == "", invalid.Has("target") || chosen.Error == ""
	b := subscribeBody{Refused: true}
	switch {
	case n.Channel == audience.ChannelSMS:
		b.SMS = &smsForm{Action: l.At.subscribe(), Phone: typed, Choice: chosen}
		if invalid.Has("country") {
			b.SMS.Error = lang.T("subscribe.phone_country")
		} else if missing || wrong {
			b.SMS.Error = lang.T("subscribe.phone_wrong", "example", phoneExample)
		}
	case n.Channel != audience.ChannelEmail:
		b.Webhook = newWebhookForm(l.At, n.Channel, chosen)
		b.Webhook.URL = typed
		if missing || wrong {
			b.Webhook.Error = urlError(n.Channel, lang)
		}
	default:
		b.Form = &subscribeForm{Action: l.At.subscribe(), Email: typed, Choice: chosen}
		if missing {
			b.Form.EmailError = lang.T("subscribe.email_missing")
		} else if wrong {
			b.Form.EmailError = lang.T("subscribe.email_wrong", "example", "name@example.com")
		}
	}
	l.setTitle(lang.T("subscribe.refused.heading"))
	return Model{l, "subscribe", b}
}

// urlError returns the text about an invalid URL of a channel.
func urlError(c audience.Channel, l *i18n.Language) string {
	if c.Chat() {
		return l.T("subscribe.chat_url_wrong", "name", c.Name())
	}
	return l.T("subscribe.url_wrong", "example", "https://hooks.example.com/status")
}

// subscriptionBody is a subscription, for its subscriber. Its forms have no action attribute, so that they are sent to
// the URL of the page and the HTML does not contain the key.
type subscriptionBody struct {
	Page string
	SubscriptionChange
	Target       string
	Confirmed    bool
	Coded        bool   // it is confirmed by a code
	Code         string // that was wrong; "": none
	Since        moment // when it was confirmed
	Suspended    moment // zero: it is not
	SuspendedFor string
	WholePage    bool
	Chosen       []string // names, if not the whole page
	NotShown     bool     // components are chosen, and the page shows none of them
	Choice       choice
	KeptDays     int // after which an unconfirmed subscription is deleted
}

// SubscriptionChange is what the visitor has just done.
type SubscriptionChange struct {
	Done   string // a sentence; "": nothing
	Secret string // the secret of a webhook that was just confirmed; "": it is not shown
}

// Subscription returns the page of a subscription after a change.
func Subscription(l Layout, blocks []statuspage.Block, sub audience.Subscriber, done SubscriptionChange) Model {
	return subscription(l, subscriptionOf(l, blocks, sub, done))
}

// InvalidChange returns the page of a subscription after an invalid change of its components.
func InvalidChange(l Layout, blocks []statuspage.Block, sub audience.Subscriber, components []string) Model {
	b := subscriptionOf(l, blocks, sub, SubscriptionChange{})
	b.Choice.Chosen = components
	b.Choice.Error = l.At.lang.T("subscribe.component_gone")
	if len(components) == 0 {
		b.Choice.Error = l.At.lang.T("subscribe.choose_one")
	}
	return subscription(l, b)
}

// WrongCode returns the page of a subscription that was not confirmed, because the code was wrong.
func WrongCode(l Layout, blocks []statuspage.Block, sub audience.Subscriber, code string) Model {
	b := subscriptionOf(l, blocks, sub, SubscriptionChange{})
	b.Code = strings.ToValidUTF8(cmp.Or(code, " "), "\ufffd")
	return subscription(l, b)
}

func subscription(l Layout, b subscriptionBody) Model {
	heading := "subscription.heading"
	if !b.Confirmed {
		heading = "subscription.ask.heading"
	}
	l.setTitle(l.At.lang.T(heading))
	return Model{l, "subscription", b}
}

func subscriptionOf(
	l Layout, blocks []statuspage.Block, sub audience.Subscriber, done SubscriptionChange,
) subscriptionBody {
	b := subscriptionBody{
		Page: l.Site.Name, SubscriptionChange: done, Target: sub.Target,
		Confirmed: !sub.ConfirmedAt.IsZero(), Coded: sub.Channel.Coded(), Since: l.At.moment(sub.ConfirmedAt),
		Suspended: l.At.moment(sub.SuspendedAt), SuspendedFor: markdown.Line(sub.SuspendedFor),
		WholePage: sub.WholePage, Choice: choice{Blocks: blocks, Chosen: sub.Components},
		KeptDays: int(audience.UnconfirmedLifetime / (24 * time.Hour)),
	}
	for _, block := range blocks {
		for _, c := range block.Components {
			if slices.Contains(sub.Components, c.ID) {
				b.Chosen = append(b.Chosen, c.Name)
			}
		}
	}
	b.NotShown = len(sub.Components) > 0 && len(b.Chosen) == 0
	return b
}

// unsubscribeBody asks for confirmation.
type unsubscribeBody struct{ Page string }

// Unsubscribe returns the page that asks for confirmation before a subscription ends.
func Unsubscribe(l Layout) Model {
	l.setTitle(l.At.lang.T("unsubscribe.title"))
	return Model{l, "unsubscribe", unsubscribeBody{l.Site.Name}}
}
