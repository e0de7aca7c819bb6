package audience

import (
	"slices"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// DeliveryState is the progress of a delivery.
type DeliveryState string

// The states of a delivery. The last five are final, except that a dead or expired delivery can be retried by hand.
const (
	DeliveryPending    DeliveryState = "pending"    // waiting to be sent, or to be retried
	DeliverySending    DeliveryState = "sending"    // claimed by a replica until the lease ends
	DeliverySent       DeliveryState = "sent"       // accepted by the receiver
	DeliverySuperseded DeliveryState = "superseded" // merged into a later message; see Delivery.CollapseKey
	DeliveryCancelled  DeliveryState = "cancelled"  // the subscription ended or was suspended
	DeliveryExpired    DeliveryState = "expired"    // not accepted within DeliveryLifetime
	DeliveryDead       DeliveryState = "dead"       // rejected permanently
)

// DeliveryStates lists all delivery states.
var DeliveryStates = []DeliveryState{
	DeliveryPending, DeliverySending, DeliverySent, DeliverySuperseded, DeliveryCancelled, DeliveryExpired,
	DeliveryDead,
}

// DeliveryPurpose is the reason for a delivery.
type DeliveryPurpose string

// The purposes of deliveries.
const (
	PurposeEvent        DeliveryPurpose = "event"        // notifies the subscriber of an event
	PurposeConfirmation DeliveryPurpose = "confirmation" // asks the address to confirm the subscription
	PurposeLink         DeliveryPurpose = "link"         // sends the link that manages the subscription, on request
	PurposeTest         DeliveryPurpose = "test"         // shows that messages arrive, on request of an operator
)

// DeliveryPurposes lists all purposes.
var DeliveryPurposes = []DeliveryPurpose{PurposeEvent, PurposeConfirmation, PurposeLink, PurposeTest}

// Time limits of deliveries.
const (
	DeliveryLifetime = 24 * time.Hour   // from the event until the delivery expires
	SendTimeout      = 20 * time.Second // one attempt, from connecting to the final response
	LeaseDuration    = 30 * time.Second // how long a claim lasts; a crashed replica loses its claims after this
)

// Delivery is one message to one subscriber. Its ID is the same for all attempts; it is the
// webhook-id header, and part of a mail's Message-ID.
type Delivery struct {
	ID           string
	PageID       string
	SubscriberID string
	EventID      string // "" unless Purpose is PurposeEvent
	Purpose      DeliveryPurpose
	Channel      Channel

	// Deliveries with the same ordering key are sent one at a time, in the order of Position. A subscriber on a merged
	// channel has one ordering key; any other has one per incident, maintenance, component or monitor.
	OrderingKey string
	Position    int64
	// On merged channels, a later delivery supersedes an earlier one with the same collapse key, and deliveries with
	// the same digest key are sent as one message; a DigestKey of "" is none.
	CollapseKey, DigestKey string

	State         DeliveryState
	HappenedAt    time.Time // time of the event
	HeldUntil     time.Time // notifications of a flapping monitor are delayed
	NextAttemptAt time.Time
	Attempts      int
	FencingToken  int64     // increases with each claim
	LeaseUntil    time.Time // set while State is DeliverySending
	MergedInto    string    // id of the delivery that superseded it; "": none
	Reason        string    // why the last attempt failed or the delivery ended, in English
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// SendResult is the result of one attempt to send a delivery.
type SendResult int

// The results of an attempt.
const (
	SendFailed   SendResult = iota // temporary failure
	SendAccepted                   // accepted by the receiver
	// rejected permanently by the receiver; counts towards suspending the subscription
	SendRejected
	SendUndeliverable // permanent failure that is not the receiver's fault
	SendGone          // the receiver says that the subscription is over
	SendNotAttempted  // the claim is returned unused
	// SendServerUnavailable is a temporary failure of the service's own server for the channel. It
	// says nothing about the message, so it does not count as an attempt.
	SendServerUnavailable
)

// String returns the result as a single word for metrics.
func (r SendResult) String() string {
	return [...]string{
		SendFailed: "failed", SendAccepted: "taken", SendRejected: "refused", SendUndeliverable: "broken",
		SendGone: "gone", SendNotAttempted: "unsent", SendServerUnavailable: "failed",
	}[r]
}

// SendOutcome is a SendResult with its details.
type SendOutcome struct {
	Result     SendResult
	RetryAfter time.Duration // minimum delay before the next attempt, as requested by the receiver; 0: none
	Reason     string        // in English, for the workspace; "" if accepted
	Detail     string        // for the operator's log only; never stored or shown to the workspace

	Unreachable bool // the destination failed, not just this message
}

// WithoutTexts returns the outcome with a generic reason in place of the receiver's reply.
func (o SendOutcome) WithoutTexts() SendOutcome {
	o.Detail = ""
	if o.Reason != "" {
		o.Reason = "The receiver's answer could not be saved."
	}
	return o
}

// backOff is the delay after each failed attempt. The last one repeats.
var backOff = []time.Duration{
	5 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
}

// serverRetry is the delay after each failure of the channel's server. It does not grow: the sender pauses while its
// server fails, and afterwards all delayed deliveries are due.
const serverRetry = 5 * time.Second

// ApplyOutcome applies the outcome of an attempt to a claimed delivery. jitter, from 0 to 1,
// spreads the next attempt by up to a fifth of the delay in either direction.
func (d *Delivery) ApplyOutcome(o SendOutcome, now time.Time, jitter float64) {
	d.Reason, d.LeaseUntil, d.UpdatedAt = o.Reason, time.Time{}, now
	switch o.Result {
	case SendAccepted:
		d.State = DeliverySent
	case SendRejected, SendUndeliverable:
		d.State = DeliveryDead
	case SendGone:
		d.State = DeliveryCancelled
	case SendNotAttempted:
		d.State, d.NextAttemptAt, d.Attempts = DeliveryPending, now, d.Attempts-1
	case SendFailed:
		d.retryAfter(backOff[max(0, min(d.Attempts, len(backOff))-1)], o.RetryAfter, now, jitter)
	case SendServerUnavailable:
		d.Attempts--
		d.retryAfter(serverRetry, o.RetryAfter, now, jitter)
	}
}

// retryAfter sets the next attempt: after wait, spread by jitter, but not before least has passed.
func (d *Delivery) retryAfter(wait, least time.Duration, now time.Time, jitter float64) {
	wait = time.Duration(float64(wait) * (0.8 + 0.4*jitter))
	d.State, d.NextAttemptAt = DeliveryPending, now.Add(max(wait, min(least, DeliveryLifetime)))
	if end := d.HappenedAt.Add(DeliveryLifetime); d.NextAttemptAt.After(end) {
		d.NextAttemptAt = end // when it expires
	}
}

// DeliveryPlan is the next step for the deliveries with one ordering key.
type DeliveryPlan struct {
	Claim    int   // index of the delivery to send now; -1: none
	Merge    []int // superseded by it
	Attempts int   // earlier attempts of the claimed delivery, or of one that is merged into it, whichever has more
	Expire   []int // deliveries older than DeliveryLifetime
	// Defer is when to plan again if Claim is -1. Zero: when a delivery changes.
	Defer time.Time
}

// PlanDeliveries plans the open deliveries with one ordering key, sorted by position. At most one delivery is being
// sent at a time. The oldest is sent first; the others wait while it is being retried, so a new delivery never causes
// an attempt before the back-off ends. On a merged channel, deliveries that share the collapse key or the digest key of
// the oldest are sent as one message: the newest, which includes the others.
func PlanDeliveries(open []Delivery, now time.Time) DeliveryPlan {
	plan := DeliveryPlan{Claim: -1}
	var live []int
	for i, d := range open {
		switch {
		case d.State == DeliverySending && d.LeaseUntil.After(now):
			return DeliveryPlan{Claim: -1, Defer: d.LeaseUntil}
		case !now.Before(d.HappenedAt.Add(DeliveryLifetime)):
			plan.Expire = append(plan.Expire, i)
		default:
			live = append(live, i)
		}
	}
	for _, i := range live {
		d := open[i]
		if d.HeldUntil.After(now) {
			plan.deferUntil(d.HeldUntil)
			continue
		}
		if d.NextAttemptAt.After(now) {
			plan.deferUntil(d.NextAttemptAt)
			return plan
		}
		plan.Claim, plan.Attempts, plan.Defer = i, d.Attempts, time.Time{}
		if d.Channel.Merged() {
			plan.merge(open, live, now)
		}
		return plan
	}
	return plan
}

func (p *DeliveryPlan) deferUntil(until time.Time) {
	if p.Defer.IsZero() || until.Before(p.Defer) {
		p.Defer = until
	}
}

// merge claims the newest delivery that shares the collapse key or the digest key of the claimed
// one, and merges the others into it. A delivery that is held is merged only if a later one with
// its collapse key is sent, so that messages never arrive out of order.
func (p *DeliveryPlan) merge(open []Delivery, live []int, now time.Time) {
	head := open[p.Claim]
	last := make(map[string]int64) // collapse key -> position of its newest delivery that is not held
	for _, i := range live {
		if d := open[i]; d.sharesMessage(head) && !d.HeldUntil.After(now) {
			last[d.CollapseKey] = max(last[d.CollapseKey], d.Position)
			p.Claim, p.Attempts = i, max(p.Attempts, d.Attempts)
		}
	}
	for _, i := range live {
		if newest, ok := last[open[i].CollapseKey]; i != p.Claim && ok && open[i].Position <= newest {
			p.Merge = append(p.Merge, i)
			p.Attempts = max(p.Attempts, open[i].Attempts)
		}
	}
}

// sharesMessage reports whether two deliveries of a merged channel are sent as one message.
func (d Delivery) sharesMessage(o Delivery) bool {
	return d.CollapseKey == o.CollapseKey || d.DigestKey != "" && d.DigestKey == o.DigestKey
}

// DeliveryAhead returns the id of the delivery that is sent before the pending delivery with the given id, or "" if the
// pending one is next, held or not found. open are the open deliveries with its ordering key, as for PlanDeliveries.
func DeliveryAhead(open []Delivery, id string, now time.Time) string {
	i := slices.IndexFunc(open, func(d Delivery) bool { return d.ID == id })
	if i < 0 || open[i].State != DeliveryPending || open[i].HeldUntil.After(now) {
		return ""
	}
	for _, d := range open {
		if d.State == DeliverySending && d.LeaseUntil.After(now) {
			return d.ID
		}
	}
	for _, d := range open[:i] {
		if d.HeldUntil.After(now) || !now.Before(d.HappenedAt.Add(DeliveryLifetime)) {
			continue
		}
		if d.Channel.Merged() && d.sharesMessage(open[i]) {
			return ""
		}
		return d.ID
	}
	return ""
}

// Throttling of notifications about a flapping monitor; see NotificationTime.
const (
	throttleBurst    = 4
	throttleInterval = time.Hour
)

// NotificationTime returns when to send a notification about a monitor. earlier lists when its previous notifications
// were sent, oldest first, without duplicates. The first throttleBurst notifications within an hour are sent
// immediately and later ones once per hour, until an hour passes without any. Instants more than an hour ahead come
// from a clock that was wrong and are ignored.
func NotificationTime(earlier []time.Time, happened time.Time) time.Time {
	for len(earlier) > 0 && earlier[len(earlier)-1].After(happened.Add(throttleInterval)) {
		earlier = earlier[:len(earlier)-1]
	}
	if len(earlier) == 0 {
		return happened
	}
	latest := earlier[len(earlier)-1]
	if latest.After(happened) {
		return latest // join the notification that is already delayed
	}
	if happened.Sub(latest) > throttleInterval {
		return happened
	}
	first, count := latest, 1 // of the notifications since the last hour without any
	for i := len(earlier) - 2; i >= 0 && earlier[i+1].Sub(earlier[i]) <= throttleInterval; i-- {
		first, count = earlier[i], count+1
	}
	if count < throttleBurst && happened.Sub(first) < throttleInterval {
		return happened
	}
	return latest.Add(throttleInterval)
}

// DigestWait is how long a message waits for others with its digest key, and how long the message about a resolved
// incident waits for a final update.
const DigestWait = 3 * time.Second

// MonitorCollapseKey returns the collapse key of a monitor's notifications.
func MonitorCollapseKey(monitorID string) string { return "monitor:" + monitorID }

// DownDigestKey returns the digest key shared by all monitors that go down in one tick.
func DownDigestKey(tick time.Time) string { return "down:" + strconv.FormatInt(tick.UnixMilli(), 10) }

// RecoveryDigestKey returns the digest key shared by all monitors that recover in one minute.
func RecoveryDigestKey(now time.Time) string {
	return "up:" + strconv.FormatInt(now.Truncate(time.Minute).UnixMilli(), 10)
}

// Notification is the content of a message: a claimed delivery, its subscriber and its events.
type Notification struct {
	Delivery   Delivery
	Subscriber Subscriber
	Page       statuspage.Page // its current state
	Events     []Event         // oldest first, the delivery's own event last; empty unless the purpose is PurposeEvent
}

// DeliveryLogEntry is a delivery as the log shows it.
type DeliveryLogEntry struct {
	Delivery
	Target     string               // "": the subscription has ended and its address was deleted
	Kind       statuspage.EventKind // "" unless Purpose is PurposeEvent
	IncidentID string               // "": none

	MaintenanceID string // "": none
	MonitorID     string // of a warning; "": none
	ComponentID   string // whose status has changed; "": none
	// current title of the incident or the maintenance, or name of the monitor or component; "": it was deleted, or
	// there is none
	Title string

	WaitsFor string // id of the delivery to the same receiver that is sent first; "": none
}

// AuditObject returns the form of a delivery in the audit log.
func (d Delivery) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{Kind: kernel.ObjectDelivery, ID: d.ID, Fields: map[string]any{"state": d.State}}
}
