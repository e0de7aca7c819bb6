package client

import (
	"context"
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"
	"time"
)

// ChannelFields has the fields of a type of channels by name. In the API they stand beside the other fields of a
// channel. Values are as from encoding/json: texts, numbers, booleans, lists and objects.
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

// MarshalJSON returns the channel with its Fields beside the others.
func (n NewChannel) MarshalJSON() ([]byte, error) {
	type plain NewChannel
	return marshalFlat(plain(n), n.Fields)
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

// TestChannel sends a test message to a channel. A message that is not accepted is a result, not an error.
func (c *Client) TestChannel(ctx context.Context, id string) (*ChannelTestResult, error) {
	return post[ChannelTestResult](ctx, c, pathOf("channels", id, "test"), nil, IdempotencyKey(""))
}

// TestNewChannel sends a test message to what a new channel would be, and creates nothing. A message that is not
// accepted is a result, not an error.
func (c *Client) TestNewChannel(ctx context.Context, test ChannelTest) (*ChannelTestResult, error) {
	return post[ChannelTestResult](ctx, c, pathOf("channels", "test"), test, IdempotencyKey(""))
}

// Alert is the thread of one problem, from its beginning to its end.
type Alert struct {
	Meta
	ID             string        `json:"id"`
	Event          string        `json:"event"` // such as monitor.down
	State          string        `json:"state"` // open, acknowledged or resolved
	Title          string        `json:"title"` // what has happened, also after its end
	Name           string        `json:"name"`  // of what it is about
	MonitorID      *string       `json:"monitor_id"`
	Page           *string       `json:"page"` // slug
	Severity       Impact        `json:"severity"`
	Tags           []string      `json:"tags"`
	Reason         *string       `json:"reason"`
	OpenedAt       time.Time     `json:"opened_at"`
	AcknowledgedAt *time.Time    `json:"acknowledged_at"`
	AcknowledgedBy *string       `json:"acknowledged_by"`
	ResolvedAt     *time.Time    `json:"resolved_at"`
	EndReason      *string       `json:"end_reason"` // why it ended although the problem may last
	Notices        []AlertNotice `json:"notices"`    // only of GetAlert, the oldest first
	Holds          []AlertHold   `json:"holds"`      // only of GetAlert, the oldest first
	Plans          []AlertPlan   `json:"plans"`      // only of GetAlert
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
	for name, value := range map[string]string{
		"state": filter.State, "event": filter.Event, "monitor": filter.Monitor,
	} {
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
