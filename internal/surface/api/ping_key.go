package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var pingKeyRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/ping-key", rights.PingKeyRead, (*api).getPingKey, operation{
		id:      "getPingKey",
		summary: "Get the ping key of a page.",
		text:    "Needs the scope write: the key is a credential.",
		returns: one("PingKey", "The ping key."),
	}},
	{"PATCH", "/api/v1/pages/{pageSlug}/ping-key", rights.PingKeyChange, (*api).changePingKey, operation{
		id:      "changePingKey",
		summary: "Make the ping key of a page, change what it allows, or remove it.",
		text: "With the key and the slug of a monitor of the page, jobs ping at `/api/v1/heartbeat/{key}/{slug}`. " +
			"With `access` alone, a page without a key gets a random one. `off` invalidates every key of the page " +
			"at once.",
		returns: one("PingKey", "The ping key."),
	}},
	{"POST", "/api/v1/pages/{pageSlug}/ping-key/rotate", rights.PingKeyChange, (*api).rotatePingKey, operation{
		id:      "rotatePingKey",
		summary: "Replace the ping key of a page.",
		text: "The old key keeps working for 24 hours; one that was replaced before does not. The body is ignored. " +
			"404 if the page has no key.",
		returns: one("PingKey", "The new key."),
	}},
}

// pingKeyJSON is the ping key of a page. The key is a credential, so the routes need the scope write.
type pingKeyJSON struct {
	Key           *string            `json:"key"` // null: there is none
	Access        monitor.PingAccess `json:"access"`
	PingURL       *string            `json:"ping_url"` // to which the slug of a monitor is appended
	CreatedAt     *string            `json:"created_at"`
	PreviousUntil *string            `json:"previous_until"` // until when the key before the last rotation is valid
}

func (c *call) newPingKeyJSON(k monitor.PingKey) pingKeyJSON {
	out := pingKeyJSON{
		Key: optional.Ptr(k.Key), Access: k.Access, CreatedAt: timePtr(k.CreatedAt),
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
	ch := monitor.PingKeyChange{Access: jsonobject.Enum(o, "access", monitor.PingAccesses), Key: o.Text("key")}
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
