package api

import (
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var channelActions = resourceActions[alert.Channel]{
	Resource: resource.Channel, objects: (*store.Store).AlertChannels, id: "channelId",
	reading: rights.ChannelRead, changing: rights.ChannelChange,
	putText: "Secrets that are absent are kept; null removes one. A secret that would be sent to another server has " +
		"to be given again. " +
		"The type cannot be changed (422).",
	changeText: "Null of a field of the type stands for its default, and removes a secret. A secret that would be " +
		"sent to another server has to be given again. The type cannot be changed, nor the name while the " +
		"setting `ALLSWELL_SMS_CHANNEL` has it (422).",
	deletion: "What waits for it is not sent. If a rule, an on-call schedule or the setting `ALLSWELL_SMS_CHANNEL` " +
		"needs it, that is 422.",
}

var channelRoutes = append(channelActions.routes(
	operation{summary: "List the channels to which alerts are sent, the oldest first."},
	operation{
		summary: "Create a channel.",
		text: "The fields of its `type` stand beside the others; fields of other types are 422. A workspace can have " +
			"200 channels, each with a name of its own. Secrets are never shown.",
	},
), []route{
	{"POST", "/api/v1/channels/test", rights.ChannelChange, (*api).testNewChannel, operation{
		id:      "testNewChannel",
		summary: "Send a test message to what a new channel would be. Nothing is saved.",
		text: "The body is the same as for `createChannel`; the fields that have nothing to do with the message are " +
			"ignored. A message that is not accepted is a result, and not an error. A workspace may run 30 tests in " +
			"any minute; more are 429.",
		returns:   one("ChannelTest", "The result."),
		rehearsal: true,
	}},
	{"POST", "/api/v1/channels/{channelId}/test", rights.ChannelChange, (*api).testChannel, operation{
		id:        "testChannel",
		summary:   "Send a test message to a channel.",
		text:      "The limits of `testNewChannel` apply.",
		returns:   one("ChannelTest", "The result."),
		rehearsal: true,
	}},
}...)

type channelTestJSON struct {
	Taken  bool    `json:"taken"`
	Reason *string `json:"reason"` // null: it was accepted
}

func newChannelTestJSON(o audience.SendOutcome) channelTestJSON {
	return channelTestJSON{o.Result == audience.SendAccepted, optional.Ptr(o.Reason)}
}

// testChannel sends a test message to a channel, and saves the result in its health. It reads no body.
func (a *api) testChannel(c *call) (store.Response, error) {
	ch, err := a.store.AlertChannels().Get(c.Context(), c.actor(), "", c.PathValue("channelId"))
	if err == nil {
		err = ch.HasSecrets()
	}
	if err == nil {
		ch, err = a.store.PrepareTest(c.Context(), c.actor(), ch)
	}
	if err != nil {
		return store.Response{}, err
	}
	outcome, err := a.channelTests.Test(c.Context(), c.actor(), ch)
	if err == nil {
		err = a.store.RecordRequestedTest(c.Context(), ch.ID, outcome)
	}
	return resourceResponse(outcome, err, newChannelTestJSON)
}

// testNewChannel sends a test message to the channel that the body describes. Nothing is saved.
func (a *api) testNewChannel(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	if err := rights.ChannelChange.CheckLimit(c.actor()); err != nil {
		return store.Response{}, err
	}
	o.AllowReadOnly(resource.Channel.ReadOnly()...)
	var ch alert.Channel
	if err := resource.ChannelToTest(&ch, resource.Channel.Read(o, field.Creation), a.now()); err != nil {
		return store.Response{}, err
	}
	if ch, err = a.store.PrepareTest(c.Context(), c.actor(), ch); err != nil {
		return store.Response{}, err
	}
	outcome, err := a.channelTests.Test(c.Context(), c.actor(), ch)
	return resourceResponse(outcome, err, newChannelTestJSON)
}
