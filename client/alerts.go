package client

import (
	"context"
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"
	"time"
)

// ChannelFields holds the fields that depend on the type of a channel, by name. In the JSON of a channel they stand
// beside its other fields. The values have the types that encoding/json decodes into an any.
type ChannelFields map[string]any

// UnmarshalJSON reads a channel. Fields receives everything that is not a field of Channel.
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

// ChannelTest describes a channel that is tested before it is created.
type ChannelTest struct {
	Type   string        `json:"type"`
	Fields ChannelFields `json:"-"` // the fields of the Type, with secrets
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

// TestNewChannel sends a test message to a channel that does not exist yet, and creates nothing. A message that is not
// accepted is a result, not an error.
func (c *Client) TestNewChannel(ctx context.Context, test ChannelTest) (*ChannelTestResult, error) {
	return post[ChannelTestResult](ctx, c, pathOf("channels", "test"), test, IdempotencyKey(""))
}

// Alert follows one problem from its beginning to its end.
type Alert struct {
	Meta
	ID             string        `json:"id"`
	Event          string        `json:"event"` // such as monitor.down
	State          string        `json:"state"` // open, acknowledged or resolved
	Title          string        `json:"title"` // what happened; it does not change when the alert ends
	Name           string        `json:"name"`  // the name of the monitor, page or channel with the problem
	MonitorID      *string       `json:"monitor_id"`
	Page           *string       `json:"page"` // slug
	Severity       Impact        `json:"severity"`
	Tags           []string      `json:"tags"`
	Reason         *string       `json:"reason"`
	OpenedAt       time.Time     `json:"opened_at"`
	AcknowledgedAt *time.Time    `json:"acknowledged_at"`
	AcknowledgedBy *string       `json:"acknowledged_by"`
	ResolvedAt     *time.Time    `json:"resolved_at"`
	EndReason      *string       `json:"end_reason"` // why the alert ended although the problem may persist
	Notices        []AlertNotice `json:"notices"`    // only from GetAlert, the oldest first
	Holds          []AlertHold   `json:"holds"`      // only from GetAlert, the oldest first
	Plans          []AlertPlan   `json:"plans"`      // only from GetAlert
}

// AlertNotice is what a channel was sent about an alert.
type AlertNotice struct {
	Kind      string     `json:"kind"` // opened, repeated, escalated, acknowledged or resolved
	ChannelID string     `json:"channel_id"`
	Channel   string     `json:"channel"`         // name
	Type      string     `json:"channel_type"`    // such as webhook
	Deleted   bool       `json:"channel_deleted"` // the channel does not exist any more
	Rule      *string    `json:"rule"`            // name
	InPlaceOf *string    `json:"in_place_of"`     // name of the channel that failed, if this one is its fallback
	At        time.Time  `json:"at"`
	SentAt    *time.Time `json:"sent_at"` // when the channel accepted it
	Failed    bool       `json:"failed"`  // sending failed for good
	Reason    *string    `json:"reason"`
}

// AlertPlan is what a rule will do next about an alert.
type AlertPlan struct {
	RuleID string    `json:"rule_id"`
	Rule   string    `json:"rule"` // name
	DueAt  time.Time `json:"due_at"`
	Held   *string   `json:"held"` // delay, flapping, silence or quiet_hours

	Steps []ForecastStep `json:"steps"` // what follows if nobody acknowledges the alert and it does not end
}

// AlertHold is a period in which a rule held an alert back.
type AlertHold struct {
	Rule   *string   `json:"rule"`   // name; nil: it was deleted
	Reason string    `json:"reason"` // delay, flapping, silence or quiet_hours
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"` // the planned end; if the period ended early, its actual end
	Over   bool      `json:"over"`  // the period has ended
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

// ListSilences returns the silences that have not ended and, if ended is true, the silences that ended in the last 90
// days.
func (c *Client) ListSilences(ended bool) *List[Silence] {
	return &List[Silence]{client: c, path: pathOf("silences"), query: url.Values{"ended": {strconv.FormatBool(ended)}}}
}

// EndSilence ends a silence now. Alerts that it held back are sent, if they are still open. The option IfMatch applies.
func (c *Client) EndSilence(ctx context.Context, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("silences", id), options...)
}
