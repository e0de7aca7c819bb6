package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

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
		Channel:    orZero(web.Enum(o, "channel", allswell.Channels)),
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
	ch := allswell.SubscriberChange{Warnings: o.Flag("warnings")}
	if components := o.Texts("components"); components != nil {
		ch.Components = &components
	}
	if err := o.Check(nil); err != nil {
		return store.Response{}, err
	}
	subscriber, err := a.store.ChangeSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"), c.cond, ch)
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
