package allswell

import (
	"strconv"
	"time"
)

// DeliveryState says how far a delivery is.
type DeliveryState string

// The states of a delivery. The last five are final, except that dead and
// expired ones may be tried again by hand.
const (
	DeliveryPending    DeliveryState = "pending"    // to be sent, or sent again
	DeliverySending    DeliveryState = "sending"    // claimed by a replica, until its lease ends
	DeliverySent       DeliveryState = "sent"       // taken by the other side
	DeliverySuperseded DeliveryState = "superseded" // a later message of the same thread carries what it tells
	DeliveryCancelled  DeliveryState = "cancelled"  // its subscription ended or was suspended
	DeliveryExpired    DeliveryState = "expired"    // not taken within DeliveryLifetime
	DeliveryDead       DeliveryState = "dead"       // refused for good
)

// DeliveryStates are all of them.
var DeliveryStates = []DeliveryState{DeliveryPending, DeliverySending, DeliverySent, DeliverySuperseded, DeliveryCancelled, DeliveryExpired, DeliveryDead}

// Purpose is why something is delivered.
type DeliveryPurpose string

// The purposes.
const (
	PurposeEvent        DeliveryPurpose = "event"        // what happened on the page
	PurposeConfirmation DeliveryPurpose = "confirmation" // whether the address wants to be subscribed
	PurposeLink         DeliveryPurpose = "link"         // to the subscription, because its holder asked for it
)

// The times of deliveries (design section 7, point 8).
const (
	DeliveryLifetime = 24 * time.Hour   // from the event to giving up; nothing older is sent
	SendTimeout      = 20 * time.Second // one attempt, from connecting to the last answer
	LeaseDuration    = 30 * time.Second // how long a claim holds; a replica that died loses its claims by then
)

// Delivery is one event, or one question, for one subscriber. Its ID is stable
// over all attempts: it is the webhook-id, and in the Message-ID of the mail.
type Delivery struct {
	ID           string
	PageID       string
	SubscriberID string
	EventID      string // "" unless Purpose is PurposeEvent
	Purpose      DeliveryPurpose
	Channel      Channel

	// Of one lane, one delivery is sent at a time, in the order of Position. A
	// mail subscriber is one lane; of a webhook each incident is.
	OrderingKey string
	Position    int64
	// For mail, a later delivery of the same thread supersedes an earlier one,
	// and those of the same bundle are told together. "": no bundle.
	CollapseKey, DigestKey string

	State         DeliveryState
	HappenedAt    time.Time // of the event; what is older than DeliveryLifetime is not sent
	HeldUntil     time.Time // notices of a flapping monitor wait
	NextAttemptAt time.Time
	Attempts      int
	FencingToken  int64     // moves with each claim
	LeaseUntil    time.Time // while Sending
	MergedInto    string    // while Superseded: the delivery that tells it
	Reason        string    // why the last attempt failed, or why it ended, in words
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// SendResult is what became of one attempt.
type SendResult int

// The results.
const (
	SendFailed        SendResult = iota // trying again may help
	SendAccepted                        // the other side has it
	SendRejected                        // for good, by the receiver: counts against the subscription
	SendUndeliverable                   // for good, and not the receiver's doing
	SendGone                            // the receiver says that the subscription is over
	SendNotAttempted                    // nothing was tried: the claim is given back
)

// String returns the result in one word.
func (r SendResult) String() string {
	return [...]string{SendFailed: "failed", SendAccepted: "taken", SendRejected: "refused", SendUndeliverable: "broken", SendGone: "gone", SendNotAttempted: "unsent"}[r]
}

// Outcome is a result with what goes with it.
type SendOutcome struct {
	Result     SendResult
	RetryAfter time.Duration // Failed: not to be tried again before; 0: the receiver did not say
	Reason     string        // in words, for the workspace; "" if taken
	Detail     string        // for the operator's log alone, and not saved: what the workspace must not learn

	Unreachable bool // the destination as a whole is in trouble, not this message
}

// backOff is the wait after each failed attempt; the last one repeats.
var backOff = []time.Duration{
	5 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
}

// Settle is what an attempt's outcome makes of a claimed delivery. jitter, from
// 0 to 1, spreads the next attempt over a fifth of the wait to either side.
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
		wait := backOff[max(0, min(d.Attempts, len(backOff))-1)]
		wait = time.Duration(float64(wait) * (0.8 + 0.4*jitter))
		d.State, d.NextAttemptAt = DeliveryPending, now.Add(max(wait, min(o.RetryAfter, DeliveryLifetime)))
		if end := d.HappenedAt.Add(DeliveryLifetime); d.NextAttemptAt.After(end) {
			d.NextAttemptAt = end // when it expires
		}
	}
}

// DeliveryPlan is what to do with the deliveries of one lane.
type DeliveryPlan struct {
	Claim  int   // index of the delivery to send now; -1: none
	Merge  []int // superseded by it
	Expire []int // too old
	// Defer is when to look at the lane again if nothing is claimed; zero: only
	// when something changes.
	Defer time.Time
}

// PlanDeliveries decides what to do with the open deliveries of one lane, in the
// order of their positions, at now. At most one of a lane is on its way. The
// oldest goes first, and while it waits to be tried again the others wait
// behind it, except that fresh news for a mailbox tries it again at once: the
// newest of the thread then carries what the older ones would have told.
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
	head, due := -1, false
	for _, i := range live {
		d := open[i]
		if d.HeldUntil.After(now) {
			plan.deferUntil(d.HeldUntil)
			continue
		}
		if head < 0 {
			head = i
		}
		due = due || !d.NextAttemptAt.After(now)
	}
	switch {
	case head < 0:
		return plan
	case open[head].NextAttemptAt.After(now) && (!due || !open[head].Channel.Merged()):
		plan.deferUntil(open[head].NextAttemptAt)
		return plan
	}
	plan.Claim, plan.Defer = head, time.Time{}
	if open[head].Channel.Merged() {
		plan.merge(open, live, now)
	}
	return plan
}

func (p *DeliveryPlan) deferUntil(until time.Time) {
	if p.Defer.IsZero() || until.Before(p.Defer) {
		p.Defer = until
	}
}

// gather lets the newest delivery that goes with the claimed one carry it and
// the others that do. One that is held goes along if a later one of its thread
// is not: nobody is told the end before the beginning.
func (p *DeliveryPlan) merge(open []Delivery, live []int, now time.Time) {
	head := open[p.Claim]
	with := func(d Delivery) bool {
		return d.CollapseKey == head.CollapseKey || head.DigestKey != "" && d.DigestKey == head.DigestKey
	}
	last := make(map[string]int64) // thread -> position of its newest that may go
	for _, i := range live {
		if d := open[i]; with(d) && !d.HeldUntil.After(now) {
			last[d.CollapseKey] = max(last[d.CollapseKey], d.Position)
			p.Claim = i
		}
	}
	for _, i := range live {
		if newest, ok := last[open[i].CollapseKey]; i != p.Claim && ok && open[i].Position <= newest {
			p.Merge = append(p.Merge, i)
		}
	}
}

// Folding of a flapping monitor's notices: as many in the first hour, then one
// an hour.
const (
	throttleBurst    = 4
	throttleInterval = time.Hour
)

// NotificationTime returns when a notice of what happened to a monitor is sent, given
// when its earlier ones were, oldest first, each instant once. A quiet hour
// starts over. No notice is ever held for longer than that, so a later instant is
// the work of a clock that was ahead, and counts for nothing.
func NotificationTime(earlier []time.Time, happened time.Time) time.Time {
	for len(earlier) > 0 && earlier[len(earlier)-1].After(happened.Add(throttleInterval)) {
		earlier = earlier[:len(earlier)-1]
	}
	if len(earlier) == 0 {
		return happened
	}
	latest := earlier[len(earlier)-1]
	if latest.After(happened) {
		return latest // wait together
	}
	if happened.Sub(latest) > throttleInterval {
		return happened
	}
	first, count := latest, 1 // of this run of notices without a quiet hour
	for i := len(earlier) - 2; i >= 0 && earlier[i+1].Sub(earlier[i]) <= throttleInterval; i-- {
		first, count = earlier[i], count+1
	}
	if count < throttleBurst && happened.Sub(first) < throttleInterval {
		return happened
	}
	return latest.Add(throttleInterval)
}

// DigestWait is how long mail of what belongs to a bundle waits for the rest of
// it, and that of a resolved incident for its last update.
const DigestWait = 3 * time.Second

// MonitorCollapseKey names the thread of a monitor's notices.
func MonitorCollapseKey(monitorID string) string { return "monitor:" + monitorID }

// DownDigestKey names what went down in one tick, RecoveryDigestKey what came back in one
// minute: to be told together.
func DownDigestKey(tick time.Time) string { return "down:" + strconv.FormatInt(tick.UnixMilli(), 10) }

// RecoveryDigestKey: see DownDigestKey.
func RecoveryDigestKey(now time.Time) string {
	return "up:" + strconv.FormatInt(now.Truncate(time.Minute).UnixMilli(), 10)
}

// Notice is all that a message is made of: the claimed delivery, whom it is
// for, and what it tells.
type Notification struct {
	Delivery   Delivery
	Subscriber Subscriber
	Page       Page    // as it is now
	Events     []Event // oldest first; the last is the delivery's own; none for a question
}

// DeliveryLogEntry is a delivery as the log shows it.
type DeliveryLogEntry struct {
	Delivery
	Target     string    // "": the subscription has ended, and its address is forgotten
	Kind       EventKind // "" unless Purpose is PurposeEvent
	IncidentID string    // "": not about an incident

	MaintenanceID string // "": not about a maintenance
}
