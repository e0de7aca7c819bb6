package allswell

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"
)

// Limits of subscriptions.
const (
	MaxEmailLength      = 254   // characters (RFC 5321)
	MaxURLLength        = 2_000 // characters
	MaxChosenComponents = 200   // components that one subscriber may choose

	// MaxRejections is how many messages in a row a subscriber's side may refuse
	// for good before the subscription is suspended.
	MaxRejections = 3

	// SecretOverlap is how long a webhook's old secret signs beside the new one.
	SecretOverlap = 24 * time.Hour

	// RepeatMailInterval is how long a subscriber is not sent another confirmation, or
	// another link, because somebody typed the address into a form again.
	RepeatMailInterval = time.Hour

	// UnconfirmedLifetime is how long an address that nobody confirms is kept.
	UnconfirmedLifetime = 7 * 24 * time.Hour
)

// Subscriber is somebody who is told what happens on a page.
type Subscriber struct {
	ID             string
	PageID         string
	Channel        Channel
	Target         string   // normalised e-mail address or URL
	Key            string   // what the links to see, change and end the subscription carry; its holder may do all three
	WholePage      bool     // told of all of it
	Components     []string // the chosen ones' ids, if not the whole page; those that still exist
	Secret         string   // webhook: signs what is sent; "" for e-mail
	OldSecret      string   // signs as well until OldSecretUntil
	OldSecretUntil time.Time
	ConfirmedAt    time.Time // zero: not yet, so told nothing
	SuspendedAt    time.Time // zero: not suspended
	SuspendedFor   string    // why, in words
	Rejections     int       // messages in a row that were refused for good
	MailedAt       time.Time // when a confirmation or a link was last sent on request
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Active reports whether the subscriber is told anything.
func (s Subscriber) Active() bool { return !s.ConfirmedAt.IsZero() && s.SuspendedAt.IsZero() }

// Secrets are what a webhook is signed with at now: the new secret first, and
// the old one while it still counts.
func (s Subscriber) Secrets(now time.Time) []string {
	if s.OldSecret != "" && now.Before(s.OldSecretUntil) {
		return []string{s.Secret, s.OldSecret}
	}
	return []string{s.Secret}
}

// Refuse notes that a message was refused for good, with the reason; after
// MaxRejections in a row the subscription is suspended.
func (s *Subscriber) RecordRejection(reason string, now time.Time) {
	s.Rejections++
	if s.Rejections >= MaxRejections && s.SuspendedAt.IsZero() {
		s.SuspendedAt, s.SuspendedFor = now, reason
	}
}

// Resume ends a suspension.
func (s *Subscriber) Resume() { s.SuspendedAt, s.SuspendedFor, s.Rejections = time.Time{}, "", 0 }

// NewSubscriber is what a subscription is made of.
type NewSubscriber struct {
	Channel    Channel
	Target     string
	Components []string // none: the whole page
	Confirmed  bool     // somebody else's word that consent exists; a webhook needs none
}

// Check refuses what cannot be subscribed, with every bad field at once, and
// returns n with its target normalised.
func (n NewSubscriber) Check() (NewSubscriber, error) {
	bad := new(ValidationError)
	if rules, ok := n.Channel.rules(); ok {
		n.Target = rules.checkTarget(bad, "target", n.Target)
	} else {
		bad.Add("channel", "The channel must be one of: %s.", joinValues(Channels))
	}
	n.Components = slices.Compact(slices.Sorted(slices.Values(n.Components)))
	if len(n.Components) > MaxChosenComponents {
		bad.Add("components", "At most %d components may be chosen.", MaxChosenComponents)
	}
	return n, bad.Err()
}

// NewWebhookSecret returns a secret of 24 random bytes in the form of the
// Standard Webhooks specification.
func NewWebhookSecret() string {
	raw := make([]byte, 24)
	rand.Read(raw)
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// NewSubscriberKey returns 32 random characters of base62.
func NewSubscriberKey() string { return NewPingToken() }

// ValidSubscriberKey reports whether key has that form.
func ValidSubscriberKey(key string) bool { return IsPingToken(key) }

// Wants reports whether s is told of an event that concerns these components;
// none means the whole page.
func (s Subscriber) Wants(kind EventKind, components []string) bool {
	if kind == EventComponentStatusChanged && !s.Channel.ComponentChanges() {
		return false
	}
	if s.WholePage || len(components) == 0 {
		return true
	}
	return slices.ContainsFunc(s.Components, func(id string) bool { return slices.Contains(components, id) })
}
