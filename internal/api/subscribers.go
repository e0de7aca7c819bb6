package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// subscriberRoutes are the routes of subscribers.
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
			{name: "state", schema: values("subscriberStates"),
				text: "Only subscribers in this state. `unconfirmed`: the address has not confirmed the " +
					"subscription. `suspended`: the receiver has rejected too many messages."},
		},
		returns: list("Subscriber"),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers", rights.SubscriberChange, (*api).createSubscriber, operation{
		id:      "createSubscriber",
		summary: "Subscribe an address to a page. The secret of a webhook is shown only once.",
		text: "An e-mail address must confirm the subscription before it is notified. A chat or a phone is sent a " +
			"message with a code, which somebody has to enter on the page. `sms` is 422 unless the server has a " +
			"gateway for the pages of the workspace (`ALLSWELL_SMS_CHANNEL`). A webhook needs no confirmation. " +
			"`push` is 422: a browser subscribes itself, on the page of an incident.",
		returns: created("NewSubscriber", "The new subscriber."),
	}},
	{"GET", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", rights.SubscriberRead, (*api).getSubscriber, operation{
		id:      "getSubscriber",
		summary: "Get a subscriber, without its secret.",
		text:    "Needs the scope write, as the list does.",
		returns: one("Subscriber", "The subscriber."),
	}},
	{"PATCH", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", rights.SubscriberChange, (*api).changeSubscriber, operation{
		id: "changeSubscriber",
		summary: "Change the components of a subscriber, or whether a webhook is notified of the warnings of " +
			"monitors.",
		text: "Messages that are waiting to be sent are not affected. Changing the components of a `push` " +
			"subscriber is 422: a browser is only notified of the end of one incident.",
		returns: one("Subscriber", "The subscriber."),
	}},
	{"DELETE", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", rights.SubscriberChange, (*api).deleteSubscriber, operation{
		id:      "deleteSubscriber",
		summary: "End a subscription immediately and delete its address.",
	}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/rotate", rights.SubscriberChange, (*api).rotateSubscriber, operation{
		id:      "rotateSubscriber",
		summary: "Replace the secret of a webhook. The new secret is shown only once.",
		text: "For 24 hours messages are signed with the old secret as well. The body is ignored. An e-mail " +
			"subscriber has no secret: 422.",
		returns: one("SubscriberWithSecret", "The subscriber with its new secret."),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/resume", rights.SubscriberChange, (*api).resumeSubscriber, operation{
		id:      "resumeSubscriber",
		summary: "End the suspension of a subscriber.",
		text:    "One that is not suspended stays as it is. The body is ignored.",
		returns: one("Subscriber", "The subscriber."),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/test", rights.SubscriberChange, (*api).testSubscriber, operation{
		id:      "testSubscriber",
		summary: "Send a test message to a subscriber.",
		text: "It is marked as a test and delivered like any other message. A subscriber that is unconfirmed or " +
			"suspended, or was sent one less than a minute ago, is 422. The body is ignored.",
		returns: created("Delivery", "The delivery."),
	}},
}

// subscriberJSON contains neither the key of the subscription's links nor a secret.
type subscriberJSON struct {
	ID           string           `json:"id"`
	Channel      allswell.Channel `json:"channel"`
	Target       string           `json:"target"`
	AddedBy      string           `json:"added_by"`
	Confirmed    bool             `json:"confirmed"`
	WholePage    bool             `json:"whole_page"`
	Components   []string         `json:"components"` // if not the whole page
	Warnings     bool             `json:"warnings"`   // notified of the warnings of monitors
	SuspendedAt  *string          `json:"suspended_at"`
	SuspendedFor *string          `json:"suspended_for"`
	Refusals     int              `json:"refusals"`
	CreatedAt    string           `json:"created_at"`
	UpdatedAt    string           `json:"updated_at"`
	ConfirmedAt  *string          `json:"confirmed_at"`
	Consent      *consentJSON     `json:"consent"`
}

// consentJSON is where the consent of the owner of an imported address comes from.
type consentJSON struct {
	Text string `json:"text"`
	By   string `json:"by"`
	At   string `json:"at"`
}

func newConsentJSON(s allswell.Subscriber) *consentJSON {
	if s.Consent == "" {
		return nil
	}
	return &consentJSON{s.Consent, s.ConsentBy, allswell.FormatTime(s.CreatedAt)}
}

func newSubscriberJSON(s allswell.Subscriber) subscriberJSON {
	return subscriberJSON{
		ID: s.ID, Channel: s.Channel, Target: s.Target, AddedBy: s.AddedBy(), Confirmed: !s.ConfirmedAt.IsZero(),
		WholePage: s.WholePage, Components: append([]string{}, s.Components...), // [], never null
		Warnings:    s.Warnings,
		SuspendedAt: timePtr(s.SuspendedAt), SuspendedFor: ptrOrNil(s.SuspendedFor), Refusals: s.Rejections,
		CreatedAt: allswell.FormatTime(s.CreatedAt), UpdatedAt: allswell.FormatTime(s.UpdatedAt), ConfirmedAt: timePtr(s.ConfirmedAt),
		Consent: newConsentJSON(s),
	}
}

// subscriberWithSecretJSON is a subscriber with a new secret, which is shown only
// once. E-mail subscribers have none.
type subscriberWithSecretJSON struct {
	subscriberJSON
	Secret string `json:"secret,omitempty"`
}

func newSubscriberWithSecretJSON(s allswell.Subscriber) subscriberWithSecretJSON {
	return subscriberWithSecretJSON{newSubscriberJSON(s), s.Secret}
}

// listSubscribers returns subscribers without their secrets. It filters by ?target, ?contains, ?channel and ?state.
func (a *api) listSubscribers(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.SubscriberFilter{Target: q.Text("target"), Contains: q.Text("contains")}
	f.Channel, f.State = web.Choice(q, "channel", allswell.Channels), web.Choice(q, "state", allswell.SubscriberStates)
	return servePage(q, newSubscriberJSON, func(r store.Pagination) ([]allswell.Subscriber, int, error) {
		return a.store.Subscribers(c.Context(), c.actor(), c.PathValue("pageSlug"), f, r)
	})
}

func (a *api) createSubscriber(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("channel", "target")
	n, invalid := allswell.NewSubscriber{
		Channel:    orZero(jsonobject.Enum(o, "channel", allswell.Channels)),
		Target:     orZero(o.Text("target")),
		Components: o.Texts("components"),
		Confirmed:  orZero(o.Flag("confirmed")),
		Warnings:   orZero(o.Flag("warnings")),
	}.Check()
	if invalid == nil && a.target != nil {
		invalid = a.target(c.Context(), n.Channel, n.Target)
	}
	if err := o.Check(invalid); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newSubscriberWithSecretJSON)
	return r.respond(a.store.CreateSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
}

func (a *api) getSubscriber(c *call) (store.Response, error) {
	subscriber, err := a.store.Subscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"))
	return taggedResponse(c, subscriber, err, newSubscriberJSON)
}

// changeSubscriber changes the components that a subscriber has chosen, and whether a webhook is notified of warnings.
func (a *api) changeSubscriber(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	warnings, components := o.Flag("warnings"), o.Texts("components")
	invalid := o.Check(nil)
	subscriber, err := a.store.ChangeSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"), c.cond,
		func(s *allswell.Subscriber) error {
			err := invalid
			if warnings != nil {
				s.Warnings = *warnings
			}
			if components != nil {
				err = allswell.JoinInvalid(err, s.Choose(components))
			}
			return err
		})
	return taggedResponse(c, subscriber, err, newSubscriberJSON)
}

func (a *api) deleteSubscriber(c *call) (store.Response, error) {
	return noContent(a.store.DeleteSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"), c.cond))
}

// rotateSubscriber replaces the secret of a webhook. It reads no body.
func (a *api) rotateSubscriber(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, newSubscriberWithSecretJSON)
	return r.respond(a.store.RotateSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"), r.save...))
}

// resumeSubscriber ends a suspension. It reads no body.
func (a *api) resumeSubscriber(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, newSubscriberJSON)
	return r.respond(a.store.ResumeSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"), r.save...))
}

// testSubscriber queues a test message. It reads no body.
func (a *api) testSubscriber(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusCreated, newDeliveryJSON)
	return r.respond(a.store.SendTestMessage(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"), r.save...))
}
