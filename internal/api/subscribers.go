package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// listSubscribers returns subscribers without their secrets. It filters by ?target.
func (a *api) listSubscribers(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	target := q.Text("target")
	return servePage(q, newSubscriberJSON, func(r store.Pagination) ([]allswell.Subscriber, int, error) {
		return a.store.Subscribers(c.Context(), c.actor(), c.PathValue("pageSlug"), target, r)
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
	return resourceResponse(subscriber, err, newSubscriberJSON)
}

func (a *api) deleteSubscriber(c *call) (store.Response, error) {
	return noContent(a.store.DeleteSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId")))
}

// rotateSubscriber replaces the secret of a webhook. It reads no body.
func (a *api) rotateSubscriber(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, newSubscriberWithSecretJSON)
	return r.respond(a.store.RotateSubscriber(c.Context(), c.actor(), c.PathValue("pageSlug"), c.PathValue("subscriberId"), r.save...))
}
