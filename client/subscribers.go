package client

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// Subscriber is an e-mail address, a webhook or a chat that is notified about a page.
type Subscriber struct {
	Meta
	ID           string           `json:"id"`
	Channel      allswell.Channel `json:"channel"`
	Target       string           `json:"target"`   // the e-mail address, or the webhook's URL; of a chat's, the host and the end
	AddedBy      string           `json:"added_by"` // "operator" or "visitor"
	Confirmed    bool             `json:"confirmed"`
	WholePage    bool             `json:"whole_page"`
	Components   []string         `json:"components"`   // ids, unless it is subscribed to the whole page
	Warnings     bool             `json:"warnings"`     // notified of the warnings of monitors
	SuspendedAt  *time.Time       `json:"suspended_at"` // nil: not suspended
	SuspendedFor *string          `json:"suspended_for"`
	Refusals     int              `json:"refusals"` // messages in a row that the receiver refused
	CreatedAt    time.Time        `json:"created_at"`
	UpdatedAt    time.Time        `json:"updated_at"`
	ConfirmedAt  *time.Time       `json:"confirmed_at"`
	Consent      *Consent         `json:"consent"` // nil unless the subscriber was imported
	Secret       string           `json:"secret"`  // signs messages to a webhook; only after CreateSubscriber and RotateSubscriber
}

// Consent says where the consent of the owner of an imported address comes from.
type Consent struct {
	Text string    `json:"text"`
	By   string    `json:"by"` // the name of the person or of the token
	At   time.Time `json:"at"`
}

// SubscriberImport is a list of e-mail addresses to subscribe.
type SubscriberImport struct {
	CSV       string `json:"csv"`     // one address per line, or CSV whose first line names the columns
	Consent   string `json:"consent"` // where the consent of the owners comes from
	Confirmed *bool  `json:"confirmed,omitempty"`
	DryRun    *bool  `json:"dry_run,omitempty"`
}

// SubscriberImportReport says what an import did, or what it would do.
type SubscriberImportReport struct {
	Meta
	DryRun       bool         `json:"dry_run"`
	Added        int          `json:"added"`
	Subscribed   int          `json:"subscribed"`
	Unsubscribed int          `json:"unsubscribed"`
	Invalid      int          `json:"invalid"`
	Lines        []ImportLine `json:"lines"`
}

// ImportLine is one line of an import.
type ImportLine struct {
	Line   int                   `json:"line"` // from 1
	Target string                `json:"target"`
	Result allswell.ImportResult `json:"result"`
	Reason *string               `json:"reason"` // nil: it is added
}

// NewSubscriber describes a subscriber to add.
type NewSubscriber struct {
	Channel    allswell.Channel `json:"channel"`
	Target     string           `json:"target"`
	Confirmed  *bool            `json:"confirmed,omitempty"`  // true: the e-mail address or the chat is not asked to confirm
	Components []string         `json:"components,omitempty"` // ids or slugs; none: the whole page
	Warnings   *bool            `json:"warnings,omitempty"`   // true: the webhook is notified of the warnings of monitors
}

// SubscriberChange has the new values of a subscriber. Nil fields do not change.
type SubscriberChange struct {
	Components *[]string `json:"components,omitempty"` // ids or slugs; empty: the whole page
	Warnings   *bool     `json:"warnings,omitempty"`   // whether a webhook that an operator added is notified of warnings
}

// Delivery is a message to a subscriber.
type Delivery struct {
	Meta
	ID            string                   `json:"id"`
	Purpose       allswell.DeliveryPurpose `json:"purpose"`
	Channel       allswell.Channel         `json:"channel"`
	Target        *string                  `json:"target"` // nil: the subscription has ended
	Event         *allswell.EventKind      `json:"event"`  // nil unless Purpose is an event
	IncidentID    *string                  `json:"incident_id"`
	MaintenanceID *string                  `json:"maintenance_id"`
	MonitorID     *string                  `json:"monitor_id"` // of a warning
	State         allswell.DeliveryState   `json:"state"`
	Attempts      int                      `json:"attempts"`
	Reason        *string                  `json:"reason"` // why the last attempt failed, or why the delivery ended
	NextAttemptAt *time.Time               `json:"next_attempt_at"`
	CreatedAt     time.Time                `json:"created_at"`
	UpdatedAt     time.Time                `json:"updated_at"`
	SubscriberID  string                   `json:"subscriber_id"`
	CarriedBy     *string                  `json:"carried_by"` // the delivery that this one was merged into
	WaitsFor      *string                  `json:"waits_for"`  // the delivery to the same receiver that is sent first
}

// DeliveryFilter selects deliveries.
type DeliveryFilter struct {
	States     []allswell.DeliveryState // none: all
	Subscriber string                   // id; "": all
}

// SubscriberFilter selects subscribers.
type SubscriberFilter struct {
	Target   string // exactly as in Subscriber.Target; "": all
	Contains string // a part of the target; "": all
	Channel  allswell.Channel
	State    allswell.SubscriberState
}

// ListSubscribers returns the subscribers of a page, the newest first, without their secrets.
func (c *Client) ListSubscribers(page string, filter SubscriberFilter) *List[Subscriber] {
	query := make(url.Values)
	for name, value := range map[string]string{
		"target": filter.Target, "contains": filter.Contains, "channel": string(filter.Channel), "state": string(filter.State),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return &List[Subscriber]{client: c, path: pathOf("pages", page, "subscribers"), query: query}
}

// CreateSubscriber subscribes an e-mail address or a webhook to a page. The secret of a webhook is returned only here.
func (c *Client) CreateSubscriber(
	ctx context.Context, page string, subscriber NewSubscriber, options ...CallOption,
) (*Subscriber, error) {
	return post[Subscriber](ctx, c, pathOf("pages", page, "subscribers"), subscriber, options...)
}

// ImportSubscribers subscribes the e-mail addresses of a list. Lines that cannot be added do not affect the others.
func (c *Client) ImportSubscribers(
	ctx context.Context, page string, list SubscriberImport, options ...CallOption,
) (*SubscriberImportReport, error) {
	return post[SubscriberImportReport](ctx, c, pathOf("pages", page, "subscribers", "import"), list, options...)
}

// GetSubscriber returns a subscriber.
func (c *Client) GetSubscriber(ctx context.Context, page, id string) (*Subscriber, error) {
	return get[Subscriber](ctx, c, pathOf("pages", page, "subscribers", id))
}

// ChangeSubscriber changes the components of a subscriber, or whether a webhook is notified of warnings. The option
// IfMatch applies.
func (c *Client) ChangeSubscriber(
	ctx context.Context, page, id string, change SubscriberChange, options ...CallOption,
) (*Subscriber, error) {
	return patch[Subscriber](ctx, c, pathOf("pages", page, "subscribers", id), change, options...)
}

// DeleteSubscriber ends a subscription. The server forgets its address. The option IfMatch applies.
func (c *Client) DeleteSubscriber(ctx context.Context, page, id string, options ...CallOption) error {
	return c.remove(ctx, pathOf("pages", page, "subscribers", id), options...)
}

// RotateSubscriber gives a webhook another secret and returns it. Messages are signed with both for another 24 hours.
func (c *Client) RotateSubscriber(ctx context.Context, page, id string, options ...CallOption) (*Subscriber, error) {
	return post[Subscriber](ctx, c, pathOf("pages", page, "subscribers", id, "rotate"), nil, options...)
}

// ResumeSubscriber ends the suspension of a subscriber.
func (c *Client) ResumeSubscriber(ctx context.Context, page, id string, options ...CallOption) (*Subscriber, error) {
	return post[Subscriber](ctx, c, pathOf("pages", page, "subscribers", id, "resume"), nil, options...)
}

// TestSubscriber sends a test message to a subscriber: at most one in a minute. The result is its delivery, which is sent
// like any other.
func (c *Client) TestSubscriber(ctx context.Context, page, id string, options ...CallOption) (*Delivery, error) {
	return post[Delivery](ctx, c, pathOf("pages", page, "subscribers", id, "test"), nil, options...)
}

// ListDeliveries returns the messages to the subscribers of a page, the newest first.
func (c *Client) ListDeliveries(page string, filter DeliveryFilter) *List[Delivery] {
	query := make(url.Values)
	if len(filter.States) > 0 {
		states := make([]string, len(filter.States))
		for i, state := range filter.States {
			states[i] = string(state)
		}
		query.Set("state", strings.Join(states, ","))
	}
	if filter.Subscriber != "" {
		query.Set("subscriber", filter.Subscriber)
	}
	return &List[Delivery]{client: c, path: pathOf("pages", page, "deliveries"), query: query}
}

// RetryDelivery sends a dead, expired or pending delivery again, at once, or after the delivery
// that it waits for.
func (c *Client) RetryDelivery(ctx context.Context, id string, options ...CallOption) (*Delivery, error) {
	return post[Delivery](ctx, c, pathOf("deliveries", id, "retry"), nil, options...)
}
