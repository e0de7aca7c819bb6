package view

import (
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/markdown"
)

// subscribeForm is the form for a new subscription. After an error it has the values that were
// sent. In the panel of a page, it has no components to choose.
type subscribeForm struct {
	Action     string
	Email      string
	EmailError string
	Choice     choice
}

// choice is the part of a form that selects components.
type choice struct {
	Blocks []allswell.Block
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

// subscribeBody is the form on a page of its own.
type subscribeBody struct {
	Form    *subscribeForm
	Refused bool // it has the values that were sent, and errors
}

// SignUp returns the form for subscribing to the page or to some of its components.
func SignUp(l Layout, blocks []allswell.Block) Model {
	l.Path = "/subscribe"
	l.Site.Form = nil // the page has one form
	l.setTitle(l.At.lang.T("subscribe.heading"))
	return Model{l, "subscribe", subscribeBody{Form: &subscribeForm{Action: l.At.subscribe(), Choice: choice{Blocks: blocks}}}}
}

// InvalidSignUp returns the form for subscribing with the values that were sent
// and the errors in them.
func InvalidSignUp(l Layout, blocks []allswell.Block, n allswell.NewSubscriber, invalid *allswell.ValidationError) Model {
	lang := l.At.lang
	form := &subscribeForm{
		Action: l.At.subscribe(), Email: strings.ToValidUTF8(n.Target, "\ufffd"),
		Choice: choice{Blocks: blocks, Chosen: n.Components},
	}
	if len(invalid.Fields["components"]) > 0 {
		form.Choice.Error = lang.T("subscribe.component_gone")
	}
	switch {
	case strings.TrimSpace(n.Target) == "":
		form.EmailError = lang.T("subscribe.email_missing")
	case len(invalid.Fields["target"]) > 0 || form.Choice.Error == "":
		form.EmailError = lang.T("subscribe.email_wrong", "example", "name@example.com")
	}
	l.setTitle(lang.T("subscribe.refused.heading"))
	return Model{l, "subscribe", subscribeBody{form, true}}
}

// subscriptionBody is a subscription, for its subscriber. Its forms have no action
// attribute, so that they are sent to the URL of the page and the HTML does not
// contain the key.
type subscriptionBody struct {
	Page         string
	Done         string // what the visitor has just done; "": nothing
	Target       string
	Confirmed    bool
	Since        moment // when it was confirmed
	Suspended    moment // zero: it is not
	SuspendedFor string
	WholePage    bool
	Chosen       []string // names, if not the whole page
	NotShown     bool     // components are chosen, and the page shows none of them
	Choice       choice
	KeptDays     int // after which an unconfirmed subscription is deleted
}

// Subscription returns the page of a subscription. done says what was done just
// now; "": nothing.
func Subscription(l Layout, blocks []allswell.Block, sub allswell.Subscriber, done string) Model {
	return subscription(l, subscriptionOf(l, blocks, sub, done))
}

// InvalidChange returns the page of a subscription after a change of its
// components that was not valid.
func InvalidChange(l Layout, blocks []allswell.Block, sub allswell.Subscriber, components []string) Model {
	b := subscriptionOf(l, blocks, sub, "")
	b.Choice.Chosen = components
	b.Choice.Error = l.At.lang.T("subscribe.component_gone")
	if len(components) == 0 {
		b.Choice.Error = l.At.lang.T("subscribe.choose_one")
	}
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

func subscriptionOf(l Layout, blocks []allswell.Block, sub allswell.Subscriber, done string) subscriptionBody {
	b := subscriptionBody{
		Page: l.Site.Name, Done: done, Target: sub.Target,
		Confirmed: !sub.ConfirmedAt.IsZero(), Since: l.At.moment(sub.ConfirmedAt),
		Suspended: l.At.moment(sub.SuspendedAt), SuspendedFor: markdown.Line(sub.SuspendedFor),
		WholePage: sub.WholePage,
		Choice:    choice{Blocks: blocks, Chosen: sub.Components},
		KeptDays:  int(allswell.UnconfirmedLifetime / (24 * time.Hour)),
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

// Unsubscribe returns the page that asks for confirmation before a subscription
// ends.
func Unsubscribe(l Layout) Model {
	l.setTitle(l.At.lang.T("unsubscribe.title"))
	return Model{l, "unsubscribe", unsubscribeBody{l.Site.Name}}
}
