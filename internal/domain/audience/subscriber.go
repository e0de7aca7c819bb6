package audience

import (
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// Limits of subscriptions.
const (
	MaxChosenComponents = 200 // of one subscriber

	// MaxRejections is the number of consecutive messages that a receiver can reject permanently
	// before the subscription is suspended.
	MaxRejections = 3

	// SecretOverlap is how long the old secret of a webhook stays valid after a rotation.
	SecretOverlap = 24 * time.Hour

	// RepeatMailInterval is the minimum time between two mails that the public form sends to one subscriber.
	RepeatMailInterval = time.Hour

	// TestMessageInterval is the minimum time between two test messages to one subscriber.
	TestMessageInterval = time.Minute

	// UnconfirmedLifetime is how long an unconfirmed address is stored.
	UnconfirmedLifetime = 7 * 24 * time.Hour
)

// Subscriber receives notifications about a page.
type Subscriber struct {
	ID      string
	PageID  string
	Channel Channel
	Target  string // normalized email address, phone number or URL, or what is shown of it: see Channel.Shown
	// the whole address of the target, to which messages go. Only a Notification has it; "": it cannot be decrypted
	Address        string
	TargetKey      string   // identifies the target if Target does not show all of it; otherwise ""
	Key            string   // secret of the links that show, change and end the subscription
	WholePage      bool     // notified of all events
	Components     []string // empty: the whole page
	Code           string   // confirms the subscription by some channels until CodeUntil; see TryCode
	CodeUntil      time.Time
	CodeAttempts   int    // wrong codes
	Secret         string // signing secret of a webhook; "" for other channels
	OldSecret      string // also valid until OldSecretUntil
	OldSecretUntil time.Time
	SecretVersions kernel.SecretVersions
	ConfirmedAt    time.Time // zero: not confirmed, so not notified
	SuspendedAt    time.Time // zero: not suspended
	SuspendedFor   string    // reason of the suspension, in English
	Rejections     int       // consecutive permanent rejections
	MailedAt       time.Time // last confirmation or link sent on request
	CreatedAt      time.Time
	UpdatedAt      time.Time

	// Consent says where the consent of the owner of an imported address comes from, and ConsentBy who said so, at
	// CreatedAt. Both are "" for other subscribers.
	Consent, ConsentBy string

	IncidentID string // the incident whose end is the only event it is notified of; "": no such limit

	Warnings        bool // notified of the warnings of monitors; false unless AddedByOperator
	AddedByOperator bool // and not by a visitor of the page; events of private pages may be sent to the target
}

// Invited reports whether an operator added the subscriber and nobody has entered the address on the page since.
func (s Subscriber) Invited() bool { return s.AddedByOperator && !s.MailedAt.After(s.CreatedAt) }

// AddedBy returns who added the subscriber: "operator" or "visitor".
func (s Subscriber) AddedBy() string {
	if s.AddedByOperator {
		return "operator"
	}
	return "visitor"
}

// Destination returns where messages to the subscriber go. Limits, and pauses after failures, apply to all deliveries
// of a channel to one destination. Visitors' webhooks and chats have destinations of their own, so that they do not
// delay the operators'.
func (s Subscriber) Destination() string {
	if !s.Channel.Gateway() && !s.AddedByOperator {
		return "visitors/" + s.Channel.Host(s.Target)
	}
	return s.Channel.Host(s.Target)
}

// Confirmed reports whether the subscription is confirmed.
func (s Subscriber) Confirmed() bool { return !s.ConfirmedAt.IsZero() }

// SetConfirmed sets whether a new subscription is confirmed from the beginning.
func (s *Subscriber) SetConfirmed(confirmed bool) {
	s.ConfirmedAt = time.Time{}
	if confirmed {
		s.ConfirmedAt = s.CreatedAt
	}
}

// Active reports whether the subscriber receives notifications.
func (s Subscriber) Active() bool { return s.Confirmed() && s.SuspendedAt.IsZero() }

// SubscriberState says whether a subscriber is notified.
type SubscriberState string

// The states of subscribers.
const (
	SubscriberActive      SubscriberState = "active"
	SubscriberUnconfirmed SubscriberState = "unconfirmed" // the address has not confirmed the subscription
	SubscriberSuspended   SubscriberState = "suspended"   // the receiver has rejected too many messages
)

// SubscriberStates lists all states.
var SubscriberStates = []SubscriberState{SubscriberActive, SubscriberUnconfirmed, SubscriberSuspended}

// State returns the state of the subscriber.
func (s Subscriber) State() SubscriberState {
	switch {
	case !s.Confirmed():
		return SubscriberUnconfirmed
	case !s.SuspendedAt.IsZero():
		return SubscriberSuspended
	default:
		return SubscriberActive
	}
}

// SubscriberCSVHeader has the columns of subscribers in CSV. The components are ids; none means the whole page.
var SubscriberCSVHeader = []string{
	"target", "channel", "state", "components", "created_at", "confirmed_at", "suspended_at", "suspended_for",
	"consent", "consent_by", "warnings",
}

// Secrets returns the secrets that sign a webhook at now: the present one, followed by the old one while it is valid.
func (s Subscriber) Secrets(now time.Time) []string {
	if s.OldSecret != "" && now.Before(s.OldSecretUntil) {
		return []string{s.Secret, s.OldSecret}
	}
	return []string{s.Secret}
}

// RecordRejection records a permanent rejection. After MaxRejections in a row it suspends the
// subscription with this reason.
func (s *Subscriber) RecordRejection(reason string, now time.Time) {
	s.Rejections++
	if s.Rejections >= MaxRejections && s.SuspendedAt.IsZero() {
		s.SuspendedAt, s.SuspendedFor = now, reason
	}
}

// Resume ends a suspension.
func (s *Subscriber) Resume() { s.SuspendedAt, s.SuspendedFor, s.Rejections = time.Time{}, "", 0 }

// NewSubscriber is the input for creating a subscriber.
type NewSubscriber struct {
	Channel    Channel
	Target     string
	Components []string // empty: the whole page
	Confirmed  bool     // the caller has obtained consent; webhooks that an operator adds need none
	Warnings   bool     // asks for the warnings of monitors
	IncidentID string   // of a browser: the incident whose end it is notified of
}

// Check returns n with its target normalized, or a *ValidationError with every invalid field.
func (n NewSubscriber) Check() (NewSubscriber, error) {
	bad := new(kernel.ValidationError)
	if rules, ok := n.Channel.rules(); ok {
		n.Target = rules.checkTarget(bad, "target", n.Target)
	} else {
		bad.Add("channel", "must be one of: %s", kernel.JoinValues(OperatorChannels))
	}
	if n.Channel == ChannelPush && n.IncidentID == "" {
		bad.Add("channel", "A browser can only subscribe itself, on the page of an incident.")
	}
	if n.Warnings && !n.Channel.Warnings() {
		bad.Add("warnings", warningsRefused)
	}
	n.Components = checkChosenComponents(bad, n.Components)
	return n, bad.Err()
}

// warningsRefused is the message to an operator whose subscriber cannot be notified of warnings.
const warningsRefused = "Only webhooks that you add are notified of warnings."

// Change changes the subscriber on behalf of an operator. The error is a *ValidationError.
func (s *Subscriber) Change(change func(*Subscriber) error) error {
	err := change(s)
	bad := new(kernel.ValidationError)
	if s.Warnings && !s.CanAskForWarnings() {
		bad.Add("warnings", warningsRefused)
	}
	return kernel.JoinInvalid(err, bad.Err())
}

// Choose sets the components that the subscriber is notified of; none: the whole page. The error is a *ValidationError.
func (s *Subscriber) Choose(components []string) error {
	bad := new(kernel.ValidationError)
	s.Components = checkChosenComponents(bad, components)
	s.WholePage = len(s.Components) == 0
	if s.IncidentID != "" {
		bad.Add("components", "A browser is only notified of the end of its incident.")
	}
	return bad.Err()
}

// CanAskForWarnings reports whether the subscriber can be notified of the warnings of monitors. Visitors must not learn
// of monitors.
func (s Subscriber) CanAskForWarnings() bool { return s.AddedByOperator && s.Channel.Warnings() }

// CheckSignUp is Check for a subscriber that a visitor adds, and ignores Warnings. A URL must have https, a public host
// name and the default port. The URL of a chat must have a host and a path of its service.
func (n NewSubscriber) CheckSignUp() (NewSubscriber, error) {
	n.Warnings = false
	n, err := n.Check()
	if err != nil || n.Channel.Gateway() {
		return n, err
	}
	if !n.Channel.AtService(n.Target) {
		bad := new(kernel.ValidationError)
		bad.Add("target", "must be an incoming-webhook URL of %s", n.Channel.Name())
		return n, bad
	}
	if n.Channel == ChannelPush {
		return n, nil
	}
	u, err := url.Parse(n.Target)
	if err != nil || u.Scheme != "https" || u.Port() != "" || !statuspage.ValidDomain(u.Host) {
		bad := new(kernel.ValidationError)
		bad.Add("target", "must be an https URL with a public host name, without a port")
		return n, bad
	}
	return n, nil
}

// CheckChosenComponents returns the components of a subscription sorted and without duplicates, or a
// *ValidationError if there are too many.
func CheckChosenComponents(components []string) ([]string, error) {
	bad := new(kernel.ValidationError)
	components = checkChosenComponents(bad, components)
	return components, bad.Err()
}

func checkChosenComponents(bad *kernel.ValidationError, components []string) []string {
	components = slices.Compact(slices.Sorted(slices.Values(components)))
	if len(components) > MaxChosenComponents {
		bad.Add("components", "At most %d components may be chosen.", MaxChosenComponents)
	}
	return components
}

// NewWebhookSecret returns a secret of 24 random bytes in the form of the Standard Webhooks specification.
func NewWebhookSecret() string {
	raw := make([]byte, 24)
	rand.Read(raw)
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// NewSubscriberKey returns 32 random characters of base62.
func NewSubscriberKey() string { return kernel.NewPingToken() }

// ValidSubscriberKey reports whether key has the form of a subscriber's key.
func ValidSubscriberKey(key string) bool {
	return len(key) == kernel.PingTokenLength && kernel.IsPingToken(key) && !strings.Contains(key, "-")
}

// Wants reports whether s is notified of events of this kind that concern these components. Without components, an
// event concerns the whole page, and a warning comes from a monitor without a component. The store restates this rule
// in SQL; a test compares both.
func (s Subscriber) Wants(kind statuspage.EventKind, components []string) bool {
	if kind == statuspage.EventComponentStatusChanged && !s.Channel.ComponentChanges() {
		return false
	}
	if kind.AboutWarning() && !(s.Warnings && s.AddedByOperator) {
		return false
	}
	if s.WholePage || len(components) == 0 && !kind.AboutWarning() {
		return true
	}
	return slices.ContainsFunc(s.Components, func(id string) bool { return slices.Contains(components, id) })
}

// AuditObject returns the form of a subscriber in the audit log: everything but the address, which is deleted when the
// subscription ends.
func (s Subscriber) AuditObject() kernel.AuditObject {
	components := append([]string{}, s.Components...)
	slices.Sort(components)
	return kernel.AuditObject{
		Kind: kernel.ObjectSubscriber, ID: s.ID, Secrets: s.SecretVersions, Fields: map[string]any{
			"channel": s.Channel, "confirmed": s.Confirmed(), "suspended": !s.SuspendedAt.IsZero(),
			"whole_page": s.WholePage, "components": components, "warnings": s.Warnings,
		}, Unset: map[string]bool{"warnings": !s.Warnings},
	}
}
