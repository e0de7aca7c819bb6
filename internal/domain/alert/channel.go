package alert

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits and defaults of channels.
const (
	MaxChannels         = 1000 // of a workspace, at most
	DefaultMaxChannels  = 200
	DefaultMaxPerMinute = 10
	HighestMaxPerMinute = 300
	MaxChannelConfig    = 16 << 10 // bytes of Config and Secrets
	FallbackAfter       = 2        // failed attempts in a row after which the fallback is notified, too
	TestInterval        = 7 * 24 * time.Hour
)

// Channel is a way to notify people, such as a room of a chat or the pager of a person.
type Channel struct {
	ID          string
	WorkspaceID string
	Slug        string // unique in the workspace
	Type        string // see the package alertchannel
	Name        string // unique in the workspace
	Enabled     bool
	Config      json.RawMessage // the values of the type's fields, without secrets
	// values by field, which are never shown; secrets that cannot be decrypted are missing
	Secrets        map[string]json.RawMessage
	Sealed         []byte   // Secrets, encrypted; the store alone sets it
	SecretFields   []string // the fields that have a secret, in order
	SecretVersions kernel.SecretVersions
	// host of the URL that is a secret, with the port if it has one; "": none, or it cannot be opened
	URLHost      string
	MaxPerMinute int    // messages; what is more is sent together
	FallbackID   string // the channel that gets what this one does not accept; "": none
	TestWeekly   bool   // a test is sent every TestInterval
	Templates
	Health Health
	// AddressConfirmed reports whether the email address of the channel may be sent alerts. The store alone sets it:
	// see UnconfirmedAddress.
	AddressConfirmed bool
	WorkspaceName    string // for test messages
	// SubscriberSMS reports whether the setting ALLSWELL_SMS_CHANNEL names the channel, so that subscribers get SMS
	// through it.
	SubscriberSMS bool
	// subscribers' SMS first, then rules, on-call schedules and other channels, the oldest first
	UsedBy    []ChannelUse
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Templates make the words of a channel's messages: see TemplateMessage. "": the default.
type Templates struct{ TitleTemplate, TextTemplate string }

// Health is what the last attempts to use a channel have shown.
type Health struct {
	AttemptedAt  time.Time // zero: never
	AcceptedAt   time.Time // the last message that was accepted; zero: none
	FailingSince time.Time // zero: the last attempt succeeded, or there was none
	Failures     int       // failed attempts in a row
	Reason       string    // why the last attempt failed, in English; "": it did not. See TestFailed
	NextAt       time.Time // when the channel is used next; zero: nothing waits for it
	TestedAt     time.Time // the last weekly test; zero: none

	SecretsUnreadable bool // the secrets of the channel cannot be decrypted, so that it is not used
	CommandMissing    bool // it runs a program, and the setting ALLSWELL_ALERT_COMMAND names none

	TemplateError string // why the last message had the default text instead of the template's; "": it did not
}

// TestFailed reports whether the last attempt was a test that somebody sent, and failed. The channel is not failing
// because of that.
func (h Health) TestFailed() bool { return h.FailingSince.IsZero() && h.Reason != "" }

// CheckReserved adds an error to bad if the name of an object is a reserved word in URLs, or begins like an id.
func CheckReserved(bad *kernel.ValidationError, name, prefix string) {
	switch {
	case name == "test" || name == "new":
		bad.Add("name", "must not be %s, because URLs reserve this word", name)
	case name == "." || name == "..":
		bad.Add("name", "must not be %s, which a URL cannot contain", name)
	case strings.HasPrefix(name, prefix):
		bad.Add("name", "must not begin with %s, as ids do", prefix)
	}
}

// How long a message waits for further notices, so that notices of one moment are sent together.
const (
	gatherQuiet = 2 * time.Second // after the last notice
	gatherLimit = 6 * time.Second // after the first one
)

// Gathered returns when the notices of a channel are to be sent, given the times of the first and the last of them.
func Gathered(first, last time.Time) time.Time {
	limit := first.Add(gatherLimit)
	if quiet := last.Add(gatherQuiet); quiet.Before(limit) {
		return quiet
	}
	return limit
}

// MessageLifetime is how long a message is tried before it counts as lost.
const MessageLifetime = 24 * time.Hour

// LeaseDuration is how long a replica may use a channel that it has claimed.
const LeaseDuration = 40 * time.Second

// backOff is the time until the next attempt after the first, second … failed one. The last repeats.
var backOff = []time.Duration{
	3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute,
}

// RetryAt returns when a channel is tried again after a number of failures in a row. least is the wait that the service
// asked for, which counts up to an hour. jitter, from 0 to 1, adds up to a fifth to the channel's own wait.
func RetryAt(failures int, least time.Duration, jitter float64, now time.Time) time.Time {
	wait := backOff[max(0, min(failures, len(backOff))-1)]
	wait += time.Duration(float64(wait) / 5 * jitter)
	return now.Add(max(wait, min(least, time.Hour)))
}

// CommandType is the type of channels that run the program of the setting ALLSWELL_ALERT_COMMAND.
const CommandType = "command"

// SMSTypes are the types of channels that can send an SMS to any number: see alertchannel.Sender.SMS.
var SMSTypes = []string{"twilio", "sms"}

// HasSecrets returns a *kernel.ValidationError with every field whose secret is missing, because it could not be
// decrypted.
func (c Channel) HasSecrets() error {
	var bad kernel.ValidationError
	for _, field := range c.SecretFields {
		if c.Secrets[field] == nil {
			bad.Add(field,
				"cannot be decrypted, because the key of the secrets is missing or has changed. Enter it again")
		}
	}
	return bad.Err()
}
