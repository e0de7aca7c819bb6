package client

import (
	"context"
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/allswell/allswell"
)

// Channel is a way to notify people of alerts, such as a room of a chat.
type Channel struct {
	Meta
	ID           string  `json:"id"`
	Type         string  `json:"type"` // such as webhook
	Name         string  `json:"name"` // unique in the workspace
	Enabled      bool    `json:"enabled"`
	MaxPerMinute int     `json:"max_per_minute"` // messages; further alerts share a message
	FallbackID   *string `json:"fallback_id"`    // the channel that receives what this one fails to deliver
	TestWeekly   bool    `json:"test_weekly"`

	// UnconfirmedAddress is the e-mail address that has to confirm first that it may be sent alerts; nil: none.
	UnconfirmedAddress *string `json:"unconfirmed_address"`

	SubscriberSMS bool `json:"subscriber_sms"` // subscribers get SMS through it, because ALLSWELL_SMS_CHANNEL names it

	UsedBy []ChannelUse `json:"used_by"` // what uses it

	TitleTemplate *string `json:"title_template"` // nil: the default words
	TextTemplate  *string `json:"text_template"`

	Secrets   []string      `json:"secrets"`  // the fields that have a secret, which is never shown
	URLHost   *string       `json:"url_host"` // host of the url, which is a secret; nil: there is none
	Health    ChannelHealth `json:"health"`
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`
	Fields    ChannelFields `json:"-"` // of the Type, such as url
}

// ChannelUse is something that uses a channel.
type ChannelUse struct {
	Kind string `json:"kind"` // rule, on_call, fallback_of or subscriber_sms
	ID   string `json:"id"`   // of the rule, the schedule or the other channel; "" for subscriber_sms
	Name string `json:"name"`
}

// ChannelHealth is what the last attempts to use a channel have shown.
type ChannelHealth struct {
	AttemptedAt  *time.Time `json:"attempted_at"`
	TakenAt      *time.Time `json:"taken_at"`
	FailingSince *time.Time `json:"failing_since"` // nil: the last attempt succeeded, or there was none
	Failures     int        `json:"failures"`      // in a row
	Reason       *string    `json:"reason"`        // why the last attempt failed; if FailingSince is nil, it was a test that somebody sent
	NextAt       *time.Time `json:"next_at"`       // when the channel is used next; nil: nothing waits for it
	TestedAt     *time.Time `json:"tested_at"`     // the last weekly test

	TemplateError     *string `json:"template_error"`     // why the last message had the default words in place of those of a template
	SecretsUnreadable bool    `json:"secrets_unreadable"` // the secrets cannot be decrypted, so that the channel is not used
	CommandMissing    bool    `json:"command_missing"`    // it runs a program, and the setting ALLSWELL_ALERT_COMMAND names none
}

// ChannelFields has the fields of a type of channels by name. In the API they stand beside the other fields of a
// channel. Values are those of encoding/json: texts, numbers, booleans, lists and objects.
type ChannelFields map[string]any

// UnmarshalJSON reads a channel. Fields that this package does not know belong to Fields.
func (ch *Channel) UnmarshalJSON(raw []byte) error {
	type plain Channel
	if err := json.Unmarshal(raw, (*plain)(ch)); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &ch.Fields); err != nil {
		return err
	}
	for _, name := range fieldNames(reflect.TypeFor[Channel]()) {
		delete(ch.Fields, name)
	}
	return nil
}

// NewChannel describes a channel to create.
type NewChannel struct {
	Type         string `json:"type"`
	Name         string `json:"name"`
	Enabled      *bool  `json:"enabled,omitempty"`        // nil: true
	MaxPerMinute *int   `json:"max_per_minute,omitempty"` // nil: 10
	FallbackID   string `json:"fallback_id,omitempty"`
	TestWeekly   bool   `json:"test_weekly,omitempty"`

	TitleTemplate string `json:"title_template,omitempty"`
	TextTemplate  string `json:"text_template,omitempty"`

	Fields ChannelFields `json:"-"` // of the Type, with secrets
}

// MarshalJSON returns the channel with its Fields beside the others.
func (n NewChannel) MarshalJSON() ([]byte, error) {
	type plain NewChannel
	return marshalFlat(plain(n), n.Fields)
}

// ChannelChange is a change of a channel. Nil fields keep their values.
type ChannelChange struct {
	Type         *string `json:"type,omitempty"` // if it is given, that of the channel: it cannot be changed
	Name         *string `json:"name,omitempty"`
	Enabled      *bool   `json:"enabled,omitempty"`
	MaxPerMinute *int    `json:"max_per_minute,omitempty"`
	FallbackID   *string `json:"fallback_id,omitempty"` // "": none
	TestWeekly   *bool   `json:"test_weekly,omitempty"`

	TitleTemplate *string `json:"title_template,omitempty"` // "": the default words
	TextTemplate  *string `json:"text_template,omitempty"`

	Fields ChannelFields `json:"-"` // nil values stand for the default, or remove a secret
}

// MarshalJSON returns the change with its Fields beside the others.
func (ch ChannelChange) MarshalJSON() ([]byte, error) {
	type plain ChannelChange
	return marshalFlat(plain(ch), ch.Fields)
}

// ChannelTest describes a channel to which a test is sent, and which is not saved.
type ChannelTest struct {
	Type   string        `json:"type"`
	Fields ChannelFields `json:"-"` // of the Type, with secrets
}

// MarshalJSON returns the test with its Fields beside the others.
func (t ChannelTest) MarshalJSON() ([]byte, error) {
	type plain ChannelTest
	return marshalFlat(plain(t), t.Fields)
}

// ChannelTestResult is the outcome of a test message.
type ChannelTestResult struct {
	Meta
	Taken  bool    `json:"taken"`
	Reason *string `json:"reason"` // why it was not accepted
}

// ListChannels returns the channels of the workspace, the oldest first.
func (c *Client) ListChannels() *List[Channel] {
	return &List[Channel]{client: c, path: pathOf("channels")}
}

// CreateChannel creates a channel.
func (c *Client) CreateChannel(ctx context.Context, channel NewChannel, options ...CallOption) (*Channel, error) {
	return post[Channel](ctx, c, pathOf("channels"), channel, options...)
}

// GetChannel returns a channel, given its id.
func (c *Client) GetChannel(ctx context.Context, id string) (*Channel, error) {
	return get[Channel](ctx, c, pathOf("channels", id))
}

// ChangeChannel changes a channel. The option IfMatch applies.
func (c *Client) ChangeChannel(ctx context.Context, id string, change ChannelChange, options ...CallOption) (*Channel, error) {
	return patch[Channel](ctx, c, pathOf("channels", id), change, options...)
}

// DeleteChannel deletes a channel that no rule and no on-call schedule needs. The option IfMatch applies.
func (c *Client) DeleteChannel(ctx context.Context, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("channels", id), options...)
}

// TestChannel sends a test message to a channel. A message that is not accepted is a result, not an error.
func (c *Client) TestChannel(ctx context.Context, id string) (*ChannelTestResult, error) {
	return post[ChannelTestResult](ctx, c, pathOf("channels", id, "test"), nil, IdempotencyKey(""))
}

// TestNewChannel sends a test message to what a new channel would be, and creates nothing. A message that is not accepted
// is a result, not an error.
func (c *Client) TestNewChannel(ctx context.Context, test ChannelTest) (*ChannelTestResult, error) {
	return post[ChannelTestResult](ctx, c, pathOf("channels", "test"), test, IdempotencyKey(""))
}

// Alert is the thread of one problem, from its beginning to its end.
type Alert struct {
	Meta
	ID             string          `json:"id"`
	Event          string          `json:"event"` // such as monitor.down
	State          string          `json:"state"` // open, acknowledged or resolved
	Title          string          `json:"title"` // what has happened, also after its end
	Name           string          `json:"name"`  // of what it is about
	MonitorID      *string         `json:"monitor_id"`
	Page           *string         `json:"page"` // slug
	Severity       allswell.Impact `json:"severity"`
	Tags           []string        `json:"tags"`
	Reason         *string         `json:"reason"`
	OpenedAt       time.Time       `json:"opened_at"`
	AcknowledgedAt *time.Time      `json:"acknowledged_at"`
	AcknowledgedBy *string         `json:"acknowledged_by"`
	ResolvedAt     *time.Time      `json:"resolved_at"`
	EndReason      *string         `json:"end_reason"` // why it ended although the problem may last
	Notices        []AlertNotice   `json:"notices"`    // only of GetAlert, the oldest first
	Holds          []AlertHold     `json:"holds"`      // only of GetAlert, the oldest first
	Plans          []AlertPlan     `json:"plans"`      // only of GetAlert
}

// AlertNotice is what a channel was sent about an alert.
type AlertNotice struct {
	Kind      string     `json:"kind"` // opened, repeated, escalated, acknowledged or resolved
	ChannelID string     `json:"channel_id"`
	Channel   string     `json:"channel"`         // name
	Type      string     `json:"channel_type"`    // such as webhook
	Deleted   bool       `json:"channel_deleted"` // the channel was deleted since
	Rule      *string    `json:"rule"`            // name
	InPlaceOf *string    `json:"in_place_of"`     // name of the channel whose fallback it is; nil: none
	At        time.Time  `json:"at"`
	SentAt    *time.Time `json:"sent_at"` // when the channel accepted it
	Failed    bool       `json:"failed"`  // it is not tried again
	Reason    *string    `json:"reason"`
}

// AlertPlan is what a rule will do next about an alert.
type AlertPlan struct {
	RuleID string    `json:"rule_id"`
	Rule   string    `json:"rule"` // name
	DueAt  time.Time `json:"due_at"`
	Held   *string   `json:"held"` // delay, flapping, silence or quiet_hours

	Steps []ForecastStep `json:"steps"` // the next ones, as long as nobody acknowledges the alert and it lasts
}

// AlertHold is a time in which a rule held an alert back.
type AlertHold struct {
	Rule   *string   `json:"rule"`   // name; nil: it was deleted
	Reason string    `json:"reason"` // delay, flapping, silence or quiet_hours
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"` // the planned end, or when it was over
	Over   bool      `json:"over"`  // the rule does not hold the alert back any more
}

// AlertFilter selects alerts. Empty fields select all.
type AlertFilter struct {
	State   string
	Event   string
	Monitor string // id or slug
}

// ListAlerts returns the alerts that match the filter, the newest first.
func (c *Client) ListAlerts(filter AlertFilter) *List[Alert] {
	query := make(url.Values)
	for name, value := range map[string]string{"state": filter.State, "event": filter.Event, "monitor": filter.Monitor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return &List[Alert]{client: c, path: pathOf("alerts"), query: query}
}

// GetAlert returns an alert with its history.
func (c *Client) GetAlert(ctx context.Context, id string) (*Alert, error) {
	return get[Alert](ctx, c, pathOf("alerts", id))
}

// AcknowledgeAlert acknowledges an alert, which is then no longer repeated or escalated.
func (c *Client) AcknowledgeAlert(ctx context.Context, id string, options ...CallOption) (*Alert, error) {
	return post[Alert](ctx, c, pathOf("alerts", id, "acknowledge"), nil, options...)
}

// ListSilences returns the silences that have not ended, or all of the last 90 days.
func (c *Client) ListSilences(ended bool) *List[Silence] {
	return &List[Silence]{client: c, path: pathOf("silences"), query: url.Values{"ended": {strconv.FormatBool(ended)}}}
}

// EndSilence ends a silence now. Alerts that it held back are sent, if they are still open. The option IfMatch applies.
func (c *Client) EndSilence(ctx context.Context, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("silences", id), options...)
}
