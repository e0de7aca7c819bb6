package api

import (
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var subscriberRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/subscribers", rights.SubscriberRead, (*api).listSubscribers, operation{
		id:      "listSubscribers",
		summary: "List the subscribers of a page, newest first, without their secrets.",
		text: "Needs the scope write: addresses are personal data, and the URL of a webhook may contain a " +
			"credential. The URL of a chat is never shown in full.",
		query: []parameter{
			{name: "target", schema: anyText,
				text: "Only subscribers with exactly this target. A chat is found by its whole URL, and by what the " +
					"list shows of it."},
			{name: "contains", schema: anyText, text: "Only subscribers whose target contains this, in any case."},
			{name: "channel", schema: ref("Channel"), text: "Only subscribers of this channel."},
			{name: "state", schema: values(anyOf(audience.SubscriberStates)),
				text: "Only subscribers in this state. `unconfirmed`: the address has not confirmed the " +
					"subscription. `suspended`: the receiver has rejected too many messages."},
		},
		returns: list("Subscriber"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers", rights.SubscriberChange, (*api).createSubscriber, operation{
		id:      "createSubscriber",
		summary: "Subscribe an address to a page. The secret of a webhook is shown only once.",
		text: "An email address must confirm the subscription before it is notified. A chat or a phone is sent a " +
			"message with a code, which someone has to enter on the page. `sms` is 422 unless the server has a " +
			"gateway for the pages of the workspace (`ALLSWELL_SMS_CHANNEL`). A webhook needs no confirmation. " +
			"`push` is 422: a browser subscribes itself, on the page of an incident.\n\n" +
			"The `target` can subscribe to a page once. An email address has at most 254 characters, and is at a " +
			"domain " +
			"name. A phone number begins with its country code; spaces, dashes, dots, slashes, parentheses and a " +
			"leading " +
			"`00` are normalised. The URL of a chat is the URL of an incoming webhook, at a host of the service unless " +
			"the " +
			"server allows private addresses (`ALLSWELL_WEBHOOK_ALLOW_PRIVATE`). It is encrypted.",
		returns: created("SubscriberWithSecret", "The new subscriber. Only a webhook has a secret."),
	}},
	{"GET", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", rights.SubscriberRead, (*api).getSubscriber,
		operation{
			id:      "getSubscriber",
			summary: "Get a subscriber, without its secret.",
			text:    "Needs the scope write, as the list does.",
			returns: one("Subscriber", "The subscriber."),
		}},
	{"PATCH", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", rights.SubscriberChange, (*api).changeSubscriber,
		operation{
			id: "changeSubscriber",
			summary: "Change the components of a subscriber, or whether a webhook is notified of the warnings of " +
				"monitors.",
			text: "Messages that are waiting to be sent are not affected. Changing the components of a `push` " +
				"subscriber is 422: a browser is only notified of the end of one incident.",
			returns: one("Subscriber", "The subscriber."),
		}},
	{"DELETE", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", rights.SubscriberChange, (*api).deleteSubscriber,
		operation{
			id:      "deleteSubscriber",
			summary: "End a subscription immediately and delete its address.",
		}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/rotate", rights.SubscriberChange,
		(*api).rotateSubscriber, operation{
			id:      "rotateSubscriber",
			summary: "Replace the secret of a webhook. The new secret is shown only once.",
			text: "For 24 hours messages are signed with the old secret as well. The body is ignored. An email " +
				"subscriber has no secret: 422.",
			returns: one("SubscriberWithSecret", "The subscriber with its new secret."),
		}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/resume", rights.SubscriberChange,
		(*api).resumeSubscriber, operation{
			id:      "resumeSubscriber",
			summary: "End the suspension of a subscriber.",
			text:    "A subscriber that is not suspended does not change. The body is ignored.",
			returns: one("Subscriber", "The subscriber."),
		}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/test", rights.SubscriberChange, (*api).testSubscriber,
		operation{
			id:      "testSubscriber",
			summary: "Send a test message to a subscriber.",
			text: "It is marked as a test and delivered like any other message. A subscriber that is unconfirmed or " +
				"suspended, or was sent one less than a minute ago, is 422. The body is ignored.",
			returns: created("Delivery", "The delivery."),
		}},
}

// listSubscribers returns subscribers without their secrets. It filters by ?target, ?contains, ?channel and ?state.
func (a *api) listSubscribers(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.SubscriberFilter{Target: q.Text("target"), Contains: q.Text("contains")}
	f.Channel, f.State = web.Choice(q, "channel", audience.Channels), web.Choice(q, "state", audience.SubscriberStates)
	return servePage(q, resource.Subscriber.JSON, func(r store.Pagination) ([]audience.Subscriber, int, error) {
		return a.store.Subscribers(c.Context(), c.actor(), c.PathValue("pageSlug"), f, r)
	})
}

func (a *api) createSubscriber(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("channel", "target")
	given := audience.Subscriber{CreatedAt: time.Now()}
	unread := resource.Subscriber.Read(o, field.Creation)(&given)
	n, err := audience.NewSubscriber{
		Channel: given.Channel, Target: given.Target, Components: given.Components, Confirmed: given.Confirmed(),
		Warnings: given.Warnings,
	}.Check()
	if err == nil && a.target != nil {
		err = a.target(c.Context(), n.Channel, n.Target)
	}
	r := newResponder(c, http.StatusCreated, resource.Subscriber.DetailJSON)
	return r.respond(a.store.CreateSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), n,
		kernel.JoinUnread(unread, err), r.save...))
}

func (a *api) getSubscriber(c *call) (store.Response, error) {
	subscriber, err := a.store.Subscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"))
	return taggedResponse(c, subscriber, err, resource.Subscriber.JSON)
}

// changeSubscriber changes the components that a subscriber has chosen, and whether a webhook is notified of warnings.
func (a *api) changeSubscriber(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	subscriber, err := a.store.ChangeSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"),
		c.PathValue("subscriberId"), c.cond,
		resource.Subscriber.Read(o, field.Changing))
	return taggedResponse(c, subscriber, err, resource.Subscriber.JSON)
}

func (a *api) deleteSubscriber(c *call) (store.Response, error) {
	return noContent(a.store.DeleteSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"),
		c.PathValue("subscriberId"), c.cond))
}

// rotateSubscriber replaces the secret of a webhook. It reads no body.
func (a *api) rotateSubscriber(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, resource.Subscriber.DetailJSON)
	return r.respond(a.store.RotateSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"),
		c.PathValue("subscriberId"), r.save...))
}

// resumeSubscriber ends a suspension. It reads no body.
func (a *api) resumeSubscriber(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, resource.Subscriber.JSON)
	return r.respond(a.store.ResumeSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"),
		c.PathValue("subscriberId"), r.save...))
}

// testSubscriber queues a test message. It reads no body.
func (a *api) testSubscriber(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusCreated, newDeliveryJSON)
	return r.respond(a.store.SendTestMessage(c.Context(), c.actor(), c.PathValue("pageSlug"),
		c.PathValue("subscriberId"), r.save...))
}
