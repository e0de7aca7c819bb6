package client

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// SubscriberImport is a list of e-mail addresses, phone numbers and chats to subscribe.
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
	Line   int          `json:"line"` // from 1
	Target string       `json:"target"`
	Result ImportResult `json:"result"`
	Reason *string      `json:"reason"` // nil: it is added
}

// Delivery is a message to a subscriber.
type Delivery struct {
	Meta
	ID            string            `json:"id"`
	Purpose       DeliveryPurpose   `json:"purpose"`
	Channel       SubscriberChannel `json:"channel"`
	Target        *string           `json:"target"` // nil: the subscription has ended
	Event         *EventKind        `json:"event"`  // nil unless Purpose is an event
	IncidentID    *string           `json:"incident_id"`
	MaintenanceID *string           `json:"maintenance_id"`
	MonitorID     *string           `json:"monitor_id"` // of a warning
	State         DeliveryState     `json:"state"`
	Attempts      int               `json:"attempts"`
	Reason        *string           `json:"reason"` // why the last attempt failed, or why the delivery ended
	NextAttemptAt *time.Time        `json:"next_attempt_at"`
	CreatedAt     time.Time         `json:"created_at"`
	UpdatedAt     time.Time         `json:"updated_at"`
	SubscriberID  string            `json:"subscriber_id"`
	CarriedBy     *string           `json:"carried_by"` // the delivery that this one was merged into
	WaitsFor      *string           `json:"waits_for"`  // the delivery to the same receiver that is sent first
}

// DeliveryFilter selects deliveries.
type DeliveryFilter struct {
	States     []DeliveryState // none: all
	Subscriber string          // id; "": all
}

// SubscriberFilter selects subscribers.
type SubscriberFilter struct {
	Target   string // exactly as in Subscriber.Target; "": all
	Contains string // a part of the target; "": all
	Channel  SubscriberChannel
	State    SubscriberState
}

// ListSubscribers returns the subscribers of a page, the newest first, without their secrets.
func (c *Client) ListSubscribers(page string, filter SubscriberFilter) *List[Subscriber] {
	query := make(url.Values)
	for name, value := range map[string]string{
		"target": filter.Target, "contains": filter.Contains, "channel": string(filter.Channel),
		"state": string(filter.State),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return &List[Subscriber]{client: c, path: pathOf("pages", page, "subscribers"), query: query}
}

// ImportSubscribers subscribes the e-mail addresses, phone numbers and chats of a list. Lines that cannot be added do
// not affect the others.
func (c *Client) ImportSubscribers(
	ctx context.Context, page string, list SubscriberImport, options ...CallOption,
) (*SubscriberImportReport, error) {
	return post[SubscriberImportReport](ctx, c, pathOf("pages", page, "subscribers", "import"), list, options...)
}

// RotateSubscriber gives a webhook another secret and returns it. Messages are signed with both for another 24 hours.
func (c *Client) RotateSubscriber(ctx context.Context, page, id string, options ...CallOption) (*Subscriber, error) {
	return post[Subscriber](ctx, c, pathOf("pages", page, "subscribers", id, "rotate"), nil, options...)
}

// ResumeSubscriber ends the suspension of a subscriber.
func (c *Client) ResumeSubscriber(ctx context.Context, page, id string, options ...CallOption) (*Subscriber, error) {
	return post[Subscriber](ctx, c, pathOf("pages", page, "subscribers", id, "resume"), nil, options...)
}

// TestSubscriber sends a test message to a subscriber, at most one per minute. It returns the delivery, which is sent
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

// RetryDelivery sends a dead, expired or pending delivery again, immediately, or after the delivery that it waits for.
func (c *Client) RetryDelivery(ctx context.Context, id string, options ...CallOption) (*Delivery, error) {
	return post[Delivery](ctx, c, pathOf("deliveries", id, "retry"), nil, options...)
}
