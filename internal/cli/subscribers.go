package main

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/allswell/allswell"
)

type subscriberCommands struct {
	clientSettings `embed:""`

	Add    subscriberAdd    `cmd:"" help:"Subscribe an e-mail address or a webhook to a page."`
	List   subscriberList   `cmd:"" help:"List a page's subscribers, newest first."`
	Show   subscriberShow   `cmd:"" help:"Show a subscriber."`
	Rotate subscriberRotate `cmd:"" help:"Give a webhook another secret. The old one signs beside it for a day more."`
	Remove subscriberRemove `cmd:"" help:"End a subscription. Its address is forgotten."`
}

type subscriberAdd struct {
	Page       string   `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Email      *string  `required:"" placeholder:"ADDRESS" xor:"target" help:"E-mail address. It is asked for its confirmation, and told nothing else before that."`
	Webhook    *string  `required:"" placeholder:"URL" xor:"target" help:"Address that is called. Its secret is printed once."`
	Components []string `name:"component" sep:"none" placeholder:"COMPONENT" help:"Id or name of a component; several are several flags. The whole page if none is given."`
	Confirmed  *bool    `help:"On your word that the e-mail address agreed: it is not asked."`
}

func (cmd *subscriberAdd) Run(t *talk) error {
	fields := body{"channel": allswell.ChannelEmail}.text("target", cmd.Email).flag("confirmed", cmd.Confirmed)
	flag := "--email"
	if cmd.Webhook != nil {
		flag, fields["channel"], fields["target"] = "--webhook", allswell.ChannelWebhook, *cmd.Webhook
	}
	if len(cmd.Components) > 0 {
		ids, err := t.componentIDs(cmd.Components, cmd.Page)
		if err != nil {
			return err
		}
		fields["components"] = ids
	}
	raw, err := t.post(pathOf("pages", cmd.Page, "subscribers"), fields)
	if err != nil {
		return typedAs("target", flag, err)
	}
	return object(t.printer, raw, func(s apiSubscriber) {
		switch {
		case s.Secret != "":
			t.printf("The subscriber %s is added: %s is called from now on.\n", visible(s.ID), visible(s.Target))
			t.saySecret(s)
		case s.Confirmed:
			t.printf("The subscriber %s is added: %s is told from now on.\n", visible(s.ID), visible(s.Target))
		default:
			t.printf("The subscriber %s is added: %s is asked to confirm first, if this Allswell sends mail. What became of it: allswell delivery list --page %s\n",
				visible(s.ID), visible(s.Target), visible(cmd.Page))
		}
	})
}

// saySecret prints a webhook's new secret.
func (t *talk) saySecret(s apiSubscriber) {
	t.printf("Its messages are signed with this secret, which is shown only this once:\n\n  %s\n", visible(s.Secret))
}

type subscriberList struct {
	Page string `required:"" placeholder:"SLUG" help:"Slug of the page."`
	listing
}

func (cmd *subscriberList) Run(t *talk) error {
	subscribers, total, err := t.api.list(t.ctx, pathOf("pages", cmd.Page, "subscribers"), int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"SUBSCRIBER", "CHANNEL", "STATE", "ABOUT", "TARGET"}
	return table(t.printer, subscribers, total, "No subscribers yet.", header, func(s apiSubscriber) []string {
		about := "the page"
		if !s.WholePage {
			about = strconv.Itoa(len(s.Components)) + " of it"
		}
		return []string{s.ID, s.Channel, s.state(), about, s.Target}
	})
}

// state says in one word whether the subscriber is told anything.
func (s apiSubscriber) state() string {
	switch {
	case !s.Confirmed:
		return "unconfirmed"
	case s.SuspendedAt != nil:
		return "suspended"
	}
	return "active"
}

// subscriberOf is embedded by the commands that name a subscriber of a page.
type subscriberOf struct {
	Page       string `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Subscriber string `arg:"" help:"Id of the subscriber, or its address as it is listed."`
}

func (c subscriberOf) path(t *talk) (string, error) {
	id, err := t.find("subscriber", allswell.PrefixSubscriber, c.Subscriber, pathOf("pages", c.Page, "subscribers"))
	return pathOf("pages", c.Page, "subscribers", id), err
}

type subscriberShow struct{ subscriberOf }

func (cmd *subscriberShow) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	raw, err := t.get(path)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(s apiSubscriber) {
		about := "the whole page"
		switch {
		case s.WholePage:
		case len(s.Components) == 0:
			about = "components that are deleted"
		default:
			about = strings.Join(s.Components, ", ")
		}
		suspended := ""
		if s.SuspendedAt != nil {
			suspended = when(*s.SuspendedAt) + ": " + orEmpty(s.SuspendedFor)
		}
		t.facts([2]string{"Target", s.Target}, [2]string{"Id", s.ID}, [2]string{"Channel", s.Channel},
			[2]string{"State", s.state()}, [2]string{"About", about}, [2]string{"Suspended", suspended},
			[2]string{"Refusals", strconv.Itoa(s.Refusals)}, [2]string{"Created", when(s.CreatedAt)},
			[2]string{"Confirmed", when(orEmpty(s.ConfirmedAt))})
	})
}

type subscriberRotate struct{ subscriberOf }

func (cmd *subscriberRotate) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	raw, err := t.post(path+"/rotate", nil)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(s apiSubscriber) {
		t.saySecret(s)
		t.printf("\nThe old one signs beside it for a day more.\n")
	})
}

type subscriberRemove struct{ subscriberOf }

func (cmd *subscriberRemove) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	return t.remove(path, "subscriber", cmd.Subscriber)
}

type deliveryCommands struct {
	clientSettings `embed:""`

	List  deliveryList  `cmd:"" help:"List what a page's subscribers were sent, or are to be, newest first."`
	Retry deliveryRetry `cmd:"" help:"Try a dead, expired or pending delivery again, at once."`
}

type deliveryList struct {
	Page   string   `required:"" placeholder:"SLUG" help:"Slug of the page."`
	States []string `name:"state" placeholder:"STATE" help:"Only those in this state, or in these, separated by commas: pending, sending, sent, superseded, cancelled, expired or dead."`
	listing
}

func (cmd *deliveryList) Run(t *talk) error {
	path := pathOf("pages", cmd.Page, "deliveries")
	if len(cmd.States) > 0 {
		path += "?state=" + url.QueryEscape(strings.Join(cmd.States, ","))
	}
	deliveries, total, err := t.api.list(t.ctx, path, int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"DELIVERY", "STATE", "TRIED", "CREATED", "TELLS", "TARGET", "NOTE"}
	return table(t.printer, deliveries, total, "No deliveries.", header, func(d apiDelivery) []string {
		target := "(gone)"
		if d.Target != nil {
			target = *d.Target
		}
		return []string{d.ID, d.State, strconv.Itoa(d.Attempts), when(d.CreatedAt), d.tells(), target, d.note()}
	})
}

// tells says what the delivery is about: the event, or why there is one
// without.
func (d apiDelivery) tells() string {
	if d.Event != nil {
		return *d.Event
	}
	return d.Purpose
}

// note is the reason in words, with when it goes on, or who tells it instead.
func (d apiDelivery) note() string {
	notes := []string{}
	if d.Reason != nil {
		notes = append(notes, *d.Reason)
	}
	if d.NextAttemptAt != nil {
		notes = append(notes, "Next attempt: "+when(*d.NextAttemptAt)+".")
	}
	if d.CarriedBy != nil {
		notes = append(notes, "Told by "+*d.CarriedBy+".")
	}
	return strings.Join(notes, " ")
}

type deliveryRetry struct {
	Delivery string `arg:"" help:"Id of the delivery."`
}

func (cmd *deliveryRetry) Run(t *talk) error {
	raw, err := t.post(pathOf("deliveries", cmd.Delivery, "retry"), nil)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(d apiDelivery) { t.printf("The delivery %s is tried again now.\n", visible(d.ID)) })
}
