package client

import (
	"context"
	"time"
)

// AlertQuestion describes an event that may happen.
type AlertQuestion struct {
	Event    string     `json:"event"`
	Monitor  string     `json:"monitor,omitempty"`  // id or slug
	Page     string     `json:"page,omitempty"`     // id or slug; "": the monitor's page
	Tags     []string   `json:"tags,omitempty"`     // nil: the monitor's tags
	Severity *Impact    `json:"severity,omitempty"` // nil: the event's severity
	At       *time.Time `json:"at,omitempty"`       // nil: now
}

// AlertForecast says who would be notified of an event, by rule.
type AlertForecast struct {
	Meta
	Event     string         `json:"event"`
	MonitorID *string        `json:"monitor_id"`
	PageID    *string        `json:"page_id"`
	Severity  Impact         `json:"severity"`
	At        time.Time      `json:"at"`
	Rules     []RuleForecast `json:"rules"`
}

// RuleForecast is what a rule would do.
type RuleForecast struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Matches bool            `json:"matches"`
	Differs *string         `json:"differs"` // the first field of the rule that does not match
	Reason  *string         `json:"reason"`  // why it does not match, as a sentence
	Repeat  *ForecastRepeat `json:"repeat"`  // nil: it does not repeat the alert
	Steps   []ForecastStep  `json:"steps"`   // only the first ones, if it repeats the alert
}

// ForecastRepeat says how a rule repeats an alert until it is acknowledged.
type ForecastRepeat struct {
	Every Seconds `json:"every"`
	Times int     `json:"times"` // at most
}

// ForecastStep is one thing that a rule would do.
type ForecastStep struct {
	At       time.Time         `json:"at"`
	Kind     *string           `json:"kind"` // opened, repeated or escalated; nil: nothing is sent
	Held     *string           `json:"held"` // flapping, silence or quiet_hours
	Channels []ForecastChannel `json:"channels"`
	Disabled []ChannelName     `json:"disabled"` // channels that would be notified if they were enabled
	// channels that are not notified, because another rule has notified them by then
	Informed []ChannelName `json:"informed"`
}

// ForecastChannel is a channel that would be notified.
type ForecastChannel struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	OnCall *string `json:"on_call"` // the person on call who has the channel; nil: the rule names it

	Fallbacks []ChannelName `json:"fallbacks"` // the channels that are notified, in this order, if this one fails
}

// ChannelName is a channel with its name.
type ChannelName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ListAlertRules returns the rules of the workspace, the oldest first.
func (c *Client) ListAlertRules() *List[AlertRule] {
	return &List[AlertRule]{client: c, path: pathOf("alert-rules")}
}

// TestAlertRules returns who would be notified of an event, when and why. Nothing is sent.
func (c *Client) TestAlertRules(ctx context.Context, question AlertQuestion) (*AlertForecast, error) {
	return post[AlertForecast](ctx, c, pathOf("alert-rules", "test"), question, IdempotencyKey(""))
}
