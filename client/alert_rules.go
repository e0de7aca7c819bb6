package client

import (
	"context"
	"time"

	"github.com/allswell/allswell"
)

// AlertTarget is who is notified: channels, and the people on call at that moment.
type AlertTarget struct {
	ChannelIDs []string `json:"channel_ids,omitempty"`
	OnCallIDs  []string `json:"on_call_ids,omitempty"`
}

// AlertRule says who is notified of which alerts.
type AlertRule struct {
	Meta
	ID      string `json:"id"`
	Name    string `json:"name"` // unique in the workspace
	Enabled bool   `json:"enabled"`
	AlertMatch
	AlertTarget
	Delay      Seconds          `json:"delay"`       // only alerts that last longer are sent
	Repeat     Seconds          `json:"repeat"`      // until somebody acknowledges the alert; 0: no repetition
	QuietHours *QuietHours      `json:"quiet_hours"` // nil: none
	Escalation []EscalationStep `json:"escalation"`
	Summary    string           `json:"summary"` // what the rule does, in one sentence; read-only
	CreatedAt  time.Time        `json:"created_at"`
	UpdatedAt  time.Time        `json:"updated_at"`
}

// QuietHours are a part of the day in which a rule notifies only their target or, without one, nobody until they end.
type QuietHours struct {
	Zone  string   `json:"zone"`  // IANA name
	From  string   `json:"from"`  // such as 22:00
	Until string   `json:"until"` // of the next day if it is not later than From
	Days  []string `json:"days,omitempty"`
	AlertTarget
}

// EscalationStep is who is notified next unless somebody acknowledges an alert.
type EscalationStep struct {
	After Seconds `json:"after"` // the step before
	AlertTarget
}

// NewAlertRule describes a rule to create.
type NewAlertRule struct {
	Name    string `json:"name"`
	Enabled *bool  `json:"enabled,omitempty"` // nil: true
	AlertMatch
	AlertTarget
	Delay      Seconds          `json:"delay,omitempty"`
	Repeat     Seconds          `json:"repeat,omitempty"`
	QuietHours *QuietHours      `json:"quiet_hours,omitempty"`
	Escalation []EscalationStep `json:"escalation,omitempty"`
}

// AlertRuleChange is a change of a rule. Nil fields keep their values.
type AlertRuleChange struct {
	Name    *string `json:"name,omitempty"`
	Enabled *bool   `json:"enabled,omitempty"`
	AlertMatchChange
	ChannelIDs *[]string            `json:"channel_ids,omitempty"`
	OnCallIDs  *[]string            `json:"on_call_ids,omitempty"`
	Delay      *Seconds             `json:"delay,omitempty"`
	Repeat     *Seconds             `json:"repeat,omitempty"`
	QuietHours Nullable[QuietHours] `json:"quiet_hours,omitzero"` // null: none
	Escalation *[]EscalationStep    `json:"escalation,omitempty"`
}

// AlertQuestion is an event that may happen.
type AlertQuestion struct {
	Event    string           `json:"event"`
	Monitor  string           `json:"monitor,omitempty"`  // id or slug
	Page     string           `json:"page,omitempty"`     // id or slug; "": that of the monitor
	Tags     []string         `json:"tags,omitempty"`     // nil: those of the monitor
	Severity *allswell.Impact `json:"severity,omitempty"` // nil: that of the event
	At       *time.Time       `json:"at,omitempty"`       // nil: now
}

// AlertForecast says who would be notified of an event.
type AlertForecast struct {
	Meta
	Event     string          `json:"event"`
	MonitorID *string         `json:"monitor_id"`
	PageID    *string         `json:"page_id"`
	Severity  allswell.Impact `json:"severity"`
	At        time.Time       `json:"at"`
	Rules     []RuleForecast  `json:"rules"`
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

// ForecastRepeat says how a rule repeats an alert until somebody acknowledges it.
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
	Disabled []ChannelName     `json:"disabled"` // which would be notified if they were enabled
	Informed []ChannelName     `json:"informed"` // which are not notified, because another rule has notified them by then
}

// ForecastChannel is a channel that would be notified.
type ForecastChannel struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	OnCall *string `json:"on_call"` // who is then on call and has the channel

	Fallbacks []ChannelName `json:"fallbacks"` // which are notified, in this order, of what the channel does not accept
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

// CreateAlertRule creates a rule for alerts that begin afterwards.
func (c *Client) CreateAlertRule(ctx context.Context, rule NewAlertRule, options ...CallOption) (*AlertRule, error) {
	return post[AlertRule](ctx, c, pathOf("alert-rules"), rule, options...)
}

// GetAlertRule returns a rule, given its id.
func (c *Client) GetAlertRule(ctx context.Context, id string) (*AlertRule, error) {
	return get[AlertRule](ctx, c, pathOf("alert-rules", id))
}

// ChangeAlertRule changes a rule. The option IfMatch applies.
func (c *Client) ChangeAlertRule(
	ctx context.Context, id string, change AlertRuleChange, options ...CallOption,
) (*AlertRule, error) {
	return patch[AlertRule](ctx, c, pathOf("alert-rules", id), change, options...)
}

// DeleteAlertRule deletes a rule. Its pending notifications are not sent. The option IfMatch applies.
func (c *Client) DeleteAlertRule(ctx context.Context, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("alert-rules", id), options...)
}

// TestAlertRules says who would be notified of an event, when and why. Nothing is sent.
func (c *Client) TestAlertRules(ctx context.Context, question AlertQuestion) (*AlertForecast, error) {
	return post[AlertForecast](ctx, c, pathOf("alert-rules", "test"), question, IdempotencyKey(""))
}
