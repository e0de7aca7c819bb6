package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

// channelRoutes are the routes of channels.
var channelRoutes = []route{
	{"GET", "/api/v1/channels", rights.ChannelRead, (*api).listChannels, operation{
		id:      "listChannels",
		summary: "List the channels to which alerts are sent, the oldest first.",
		returns: list("AlertChannel"),
	}},
	{"POST", "/api/v1/channels", rights.ChannelChange, (*api).createChannel, operation{
		id:      "createChannel",
		summary: "Create a channel.",
		text: "The fields of its `type` stand beside the others; those of other types are 422. A workspace can have " +
			"200 channels, each with a name of its own. Secrets are never shown.",
		returns: created("AlertChannel", "The channel."),
	}},
	{"POST", "/api/v1/channels/test", rights.ChannelChange, (*api).testNewChannel, operation{
		id:      "testNewChannel",
		summary: "Send a test message to what a new channel would be. Nothing is saved.",
		text: "The body is that of `createChannel`; the fields that have nothing to do with the message are " +
			"ignored. A message that is not accepted is a result, and not an error. A workspace may run 30 tests in " +
			"any minute; more are 429.",
		returns:   one("ChannelTest", "The result."),
		rehearsal: true,
	}},
	{"GET", "/api/v1/channels/{channelId}", rights.ChannelRead, (*api).getChannel, operation{
		id:      "getChannel",
		summary: "Get a channel.",
		returns: one("AlertChannel", "The channel."),
	}},
	{"PATCH", "/api/v1/channels/{channelId}", rights.ChannelChange, (*api).changeChannel, operation{
		id:      "changeChannel",
		summary: "Change a channel; absent fields keep their values.",
		text: "Null of a field of the type stands for its default, and removes a secret. A secret that would be " +
			"sent to another server has to be given again. The type cannot be changed, nor the name while the " +
			"setting `ALLSWELL_SMS_CHANNEL` has it (422).",
		returns: one("AlertChannel", "The channel."),
	}},
	{"DELETE", "/api/v1/channels/{channelId}", rights.ChannelChange, (*api).deleteChannel, operation{
		id:      "deleteChannel",
		summary: "Delete a channel with what waits for it.",
		text:    "If a rule, an on-call schedule or the setting `ALLSWELL_SMS_CHANNEL` needs it, that is 422.",
	}},
	{"POST", "/api/v1/channels/{channelId}/test", rights.ChannelChange, (*api).testChannel, operation{
		id:        "testChannel",
		summary:   "Send a test message to a channel.",
		text:      "The limits are those of `testNewChannel`.",
		returns:   one("ChannelTest", "The result."),
		rehearsal: true,
	}},
}

type channelJSON struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Name         string  `json:"name"`
	Enabled      bool    `json:"enabled"`
	MaxPerMinute int     `json:"max_per_minute"`
	FallbackID   *string `json:"fallback_id"`
	TestWeekly   bool    `json:"test_weekly"`

	UnconfirmedAddress *string `json:"unconfirmed_address"`

	SubscriberSMS bool             `json:"subscriber_sms"`
	UsedBy        []channelUseJSON `json:"used_by"`

	TitleTemplate *string `json:"title_template"`
	TextTemplate  *string `json:"text_template"`

	Secrets   []string   `json:"secrets"`
	URLHost   *string    `json:"url_host"`
	Health    healthJSON `json:"health"`
	CreatedAt string     `json:"created_at"`
	UpdatedAt string     `json:"updated_at"`

	config json.RawMessage // the fields of the type, which stand beside the others
}

// channelUseJSON is something that uses a channel. Subscribers' SMS have no id and no name.
type channelUseJSON struct {
	Kind string  `json:"kind"`
	ID   *string `json:"id"`
	Name *string `json:"name"`
}

type healthJSON struct {
	AttemptedAt  *string `json:"attempted_at"`
	TakenAt      *string `json:"taken_at"`
	FailingSince *string `json:"failing_since"`
	Failures     int     `json:"failures"`
	Reason       *string `json:"reason"`
	NextAt       *string `json:"next_at"`
	TestedAt     *string `json:"tested_at"`

	TemplateError     *string `json:"template_error"`
	SecretsUnreadable bool    `json:"secrets_unreadable"`
	CommandMissing    bool    `json:"command_missing"`
}

// MarshalJSON returns the fields of all channels and those of the type.
func (j channelJSON) MarshalJSON() ([]byte, error) {
	type plain channelJSON
	body, err := jsonobject.Marshal(plain(j))
	return withFields(body, j.config), err
}

// withFields returns a JSON object with the fields of a configuration beside its own.
func withFields(object, config []byte) []byte {
	if len(object) == 0 || len(config) <= len("{}") {
		return object
	}
	return slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}")), []byte(","), config[1:])
}

func newChannelJSON(c alert.Channel) channelJSON {
	uses := make([]channelUseJSON, len(c.UsedBy))
	for i, u := range c.UsedBy {
		uses[i] = channelUseJSON{string(u.Kind), ptrOrNil(u.ID), ptrOrNil(u.Name)}
	}
	return channelJSON{
		ID: c.ID, Type: c.Type, Name: c.Name, Enabled: c.Enabled, MaxPerMinute: c.MaxPerMinute, FallbackID: ptrOrNil(c.FallbackID), TestWeekly: c.TestWeekly,
		UnconfirmedAddress: ptrOrNil(c.UnconfirmedAddress()), SubscriberSMS: c.SubscriberSMS, UsedBy: uses,
		TitleTemplate: ptrOrNil(c.TitleTemplate), TextTemplate: ptrOrNil(c.TextTemplate),
		Secrets: append([]string{}, c.SecretFields...), URLHost: ptrOrNil(c.URLHost),
		Health: healthJSON{
			AttemptedAt: timePtr(c.Health.AttemptedAt), TakenAt: timePtr(c.Health.TakenAt), FailingSince: timePtr(c.Health.FailingSince),
			Failures: c.Health.Failures, Reason: ptrOrNil(c.Health.Reason), NextAt: timePtr(c.Health.NextAt), TestedAt: timePtr(c.Health.TestedAt), TemplateError: ptrOrNil(c.Health.TemplateError),
			SecretsUnreadable: c.Health.SecretsUnreadable, CommandMissing: c.Health.CommandMissing,
		},
		CreatedAt: allswell.FormatTime(c.CreatedAt), UpdatedAt: allswell.FormatTime(c.UpdatedAt), config: c.Config,
	}
}

func (a *api) listChannels(c *call) (store.Response, error) {
	return serveList(c, newChannelJSON, func(r store.Pagination) ([]alert.Channel, int, error) {
		return a.store.AlertChannels(c.Context(), c.actor(), r)
	})
}

func (a *api) getChannel(c *call) (store.Response, error) {
	ch, err := a.store.AlertChannel(c.Context(), c.actor(), c.PathValue("channelId"))
	return taggedResponse(c, ch, err, newChannelJSON)
}

// readChannel reads the fields of all channels into ch.
func readChannel(o *jsonobject.Object, ch *alert.Channel) {
	set(&ch.Name, o.Text("name"))
	set(&ch.Enabled, o.Flag("enabled"))
	set(&ch.MaxPerMinute, o.Integer("max_per_minute"))
	set(&ch.FallbackID, nullableText(o, "fallback_id"))
	set(&ch.TestWeekly, o.Flag("test_weekly"))
	set(&ch.TitleTemplate, nullableText(o, "title_template"))
	set(&ch.TextTemplate, nullableText(o, "text_template"))
}

// set sets a field to a value that is given.
func set[T any](field *T, given *T) {
	if given != nil {
		*field = *given
	}
}

// readNewChannel reads a new channel, which has a name in any case, with the fields of its type, and with its secrets.
func readNewChannel(o *jsonobject.Object) (alert.Channel, error) {
	ch := alert.Channel{Name: "New channel", Enabled: true, MaxPerMinute: alert.DefaultMaxPerMinute}
	readChannel(o, &ch)
	t, ok := alertchannel.TypeOf(orZero(jsonobject.Enum(o, "type", alertchannel.Names())))
	if !ok {
		givenOf(o, allChannelFields)
		return ch, ch.Validate()
	}
	refuseOtherChannels(o, t)
	ch.Type = t.Name
	var invalid error
	ch.Config, ch.Secrets, invalid = t.Read(givenOf(o, t.Fields))
	return ch, allswell.JoinInvalid(ch.Validate(), invalid)
}

// allChannelFields are the fields of all types of channels, which are read of an unknown type, to find out which are
// not known.
var allChannelFields = func() (all []configfield.Field) {
	for _, f := range alertchannel.Fields() {
		all = append(all, f.Field)
	}
	return all
}()

// refuseOtherChannels records an error for each field that is given and belongs to other types.
func refuseOtherChannels(o *jsonobject.Object, t alertchannel.Type) {
	for _, f := range allChannelFields {
		if _, own := t.Field(f.Name); !own && o.Given(f.Name) {
			o.Add(f.Name, "A channel of the type %s has no %s.", t.Name, allswell.Name(f.Name))
		}
	}
}

func (a *api) createChannel(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("type", "name")
	ch, err := readNewChannel(o)
	if err := o.Check(err); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, newChannelJSON)
	return r.respond(a.store.CreateAlertChannel(c.Context(), c.actor(), ch, r.save...))
}

// changeChannel changes a channel. The given fields of its type are merged with those that it has, so that the change
// is made only if these have not been changed meanwhile.
func (a *api) changeChannel(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	for try := 1; ; try++ {
		before, err := a.store.AlertChannelWithSecrets(c.Context(), c.actor(), c.PathValue("channelId"))
		if err != nil {
			return store.Response{}, err
		}
		if err := c.cond.Check(before); err != nil {
			return store.Response{}, err
		}
		ch, err := readChannelChange(o, before)
		if try == 1 {
			err = o.Check(err)
		}
		if err != nil {
			return store.Response{}, err
		}
		ch, err = a.store.ChangeAlertChannel(c.Context(), c.actor(), before.ID, allswell.Precondition{Tags: []string{allswell.EntityTag(before)}}, func(now *alert.Channel) error {
			now.Name, now.Enabled, now.MaxPerMinute, now.FallbackID, now.TestWeekly = ch.Name, ch.Enabled, ch.MaxPerMinute, ch.FallbackID, ch.TestWeekly
			now.Templates = ch.Templates
			now.Config, now.Secrets = ch.Config, ch.Secrets
			return nil
		})
		if !errors.Is(err, allswell.ErrPreconditionFailed) || try == maxCheckChanges {
			return taggedResponse(c, ch, err, newChannelJSON)
		}
	}
}

// readChannelChange returns a channel with the given fields. Of its secrets it has only those that are given.
func readChannelChange(o *jsonobject.Object, before alert.Channel) (alert.Channel, error) {
	ch := before
	readChannel(o, &ch)
	if kind := o.Text("type"); kind != nil && *kind != before.Type {
		o.Add("type", "The type of a channel cannot be changed. Create another channel.")
	}
	t, ok := alertchannel.TypeOf(before.Type)
	refuseOtherChannels(o, t)
	given := givenOf(o, t.Fields)
	ch.Secrets = secretsOf(t.Fields, given)
	if !ok || len(given) == 0 {
		return ch, ch.Validate()
	}
	fields, err := configfield.Merge(before.Config, before.Secrets, given)
	if err != nil {
		return ch, err
	}
	config, _, invalid := t.Read(fields)
	if invalid == nil {
		ch.Config = config
		invalid = t.CheckKeptSecrets(configfield.Change{Before: before.Config, After: config, Secrets: before.Secrets, Kept: before.SecretFields, Given: given})
	}
	return ch, allswell.JoinInvalid(ch.Validate(), invalid)
}

func (a *api) deleteChannel(c *call) (store.Response, error) {
	return noContent(a.store.DeleteAlertChannel(c.Context(), c.actor(), c.PathValue("channelId"), c.cond))
}

type channelTestJSON struct {
	Taken  bool    `json:"taken"`
	Reason *string `json:"reason"` // null: it was accepted
}

func newChannelTestJSON(o allswell.SendOutcome) channelTestJSON {
	return channelTestJSON{o.Result == allswell.SendAccepted, ptrOrNil(o.Reason)}
}

// testChannel sends a test message to a channel, whose health then says whether it was accepted. It reads no body.
func (a *api) testChannel(c *call) (store.Response, error) {
	ch, err := a.store.AlertChannelWithSecrets(c.Context(), c.actor(), c.PathValue("channelId"))
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

// testNewChannel sends a test message to what a new channel would be.
func (a *api) testNewChannel(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	if err := rights.ChannelChange.CheckLimit(c.actor()); err != nil {
		return store.Response{}, err
	}
	allowReadOnly[channelJSON](o)
	o.Require("type")
	ch, err := readNewChannel(o)
	if err := o.Check(err); err != nil {
		return store.Response{}, err
	}
	if ch, err = a.store.PrepareTest(c.Context(), c.actor(), ch); err != nil {
		return store.Response{}, err
	}
	outcome, err := a.channelTests.Test(c.Context(), c.actor(), ch)
	return resourceResponse(outcome, err, newChannelTestJSON)
}
