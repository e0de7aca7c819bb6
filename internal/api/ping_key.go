package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// pingKeyJSON is the ping key of a page. The key is a credential, so that the routes need the scope write.
type pingKeyJSON struct {
	Key           *string             `json:"key"` // null: there is none
	Access        allswell.PingAccess `json:"access"`
	PingURL       *string             `json:"ping_url"` // what the slug of a monitor is appended to
	CreatedAt     *string             `json:"created_at"`
	PreviousUntil *string             `json:"previous_until"` // until when the key before the last rotation is valid
}

func (c *call) newPingKeyJSON(k allswell.PingKey) pingKeyJSON {
	out := pingKeyJSON{
		Key: ptrOrNil(k.Key), Access: k.Access, CreatedAt: timePtr(k.CreatedAt),
		PreviousUntil: timePtr(k.PreviousUntil),
	}
	if k.Key != "" {
		out.PingURL = new(c.base + "/api/v1/heartbeat/" + k.Key + "/")
	}
	return out
}

func (a *api) getPingKey(c *call) (store.Response, error) {
	k, err := a.store.PingKey(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return resourceResponse(k, err, c.newPingKeyJSON)
}

func (a *api) changePingKey(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ch := allswell.PingKeyChange{Access: web.Enum(o, "access", allswell.PingAccesses), Key: o.Text("key")}
	if err := o.Check(ch.Validate()); err != nil {
		return store.Response{}, err
	}
	k, err := a.store.ChangePingKey(c.Context(), c.actor(), c.PathValue("pageSlug"), ch)
	return resourceResponse(k, err, c.newPingKeyJSON)
}

func (a *api) rotatePingKey(c *call) (store.Response, error) {
	r := newResponder(c, http.StatusOK, c.newPingKeyJSON)
	return r.respond(a.store.RotatePingKey(c.Context(), c.actor(), c.PathValue("pageSlug"), r.save...))
}
