// Package alertchannel sends alerts to people: in chat rooms, on phones, by mail and through incident services. Each
// type of channel is one file and one entry of Groups. The package knows neither the store nor HTTP surfaces; these
// derive forms, flags and documents from the Fields of a Type.
package alertchannel

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// Type is a type of channels.
type Type struct {
	Name    string // such as "slack"
	Label   string // such as "Slack"
	Help    string // one line
	Fields  []configfield.Field
	Follows bool           // the service keeps an object for each thread, which has to be closed: see alert.Compose
	New     func() Channel // a channel with the defaults of its fields, into which JSON is decoded
}

// Group is types of channels of one kind.
type Group struct {
	Label string
	Types []Type
}

// Groups are all types, in the order in which people see them.
var Groups = []Group{
	{"Mail and phone", []Type{emailType, ntfyType, gotifyType, pushoverType, twilioType, smsType, homeAssistantType}},
	{"Chat", []Type{
		slackType, slackBotType, teamsType, discordType, googleChatType, mattermostType, rocketChatType, telegramType,
		matrixType, zulipType,
	}},
	{"Incident services", []Type{pagerDutyType, opsgenieType, onCallWebhookType, alertmanagerType}},
	{"Programs", []Type{webhookType, commandType}},
}

// Types are the types of all groups.
var Types = func() (all []Type) {
	for _, g := range Groups {
		all = append(all, g.Types...)
	}
	return all
}()

// TypeOf returns the type with a name, and false if there is none.
func TypeOf(name string) (Type, bool) {
	i := slices.IndexFunc(Types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return Types[i], true
}

// Names lists the names of all types.
func Names() (all []string) {
	for _, t := range Types {
		all = append(all, t.Name)
	}
	return all
}

// Following lists the names of the types whose services keep an object for each thread.
func Following() (all []string) {
	for _, t := range Types {
		if t.Follows {
			all = append(all, t.Name)
		}
	}
	return all
}

// Channel is a configured channel. Its type is a struct whose fields have the JSON keys of the Fields of its Type.
type Channel interface {
	configfield.Destined

	// host returns the server that takes the messages: a host with the port if the URL has one, or a fixed name.
	host() string

	// send makes one attempt to send a message. It ends soon after ctx does.
	send(ctx context.Context, s *Sender, m alert.Message) Result
}

// Result is what an attempt to send a message means.
type Result struct {
	audience.SendOutcome
	Reference string // what the service calls the message, for later messages of its thread; "": nothing

	TemplateError string // why the message has the default text: see alert.Channel.Words; "": it does not
}

// Read separates the fields of a channel in a request into the configuration that is shown, with defaults, and the
// secrets: see configfield.Read.
func (t Type) Read(
	fields map[string]json.RawMessage,
) (config json.RawMessage, secrets map[string]json.RawMessage, err error) {
	return configfield.Read(t.Fields, t.New(), fields, alert.MaxChannelConfig)
}

// Field returns the field of a name.
func (t Type) Field(name string) (configfield.Field, bool) { return configfield.Find(t.Fields, name) }

// maxTester is the maximum length of the name of a member or of a workspace in a test message, in characters.
const maxTester = 100

// TestMessage returns the message that tests a channel. by is who asked for it; "": the weekly test.
func TestMessage(c alert.Channel, by string, now time.Time) alert.Message {
	line := "the weekly test"
	if by != "" {
		line = alert.Shorten(kernel.OneLine(by), maxTester)
	}
	line = "Test message from Allswell, sent by " + line + " of " +
		alert.Shorten(kernel.OneLine(c.WorkspaceName), maxTester)
	reason := "the weekly test of this channel; nothing has happened"
	if by != "" {
		reason = by + " sent it to see whether alerts arrive; nothing has happened"
	}
	a := alert.Alert{
		ID: kernel.NewID(alert.PrefixAlert, now), OpenedAt: now, ResolvedAt: now,
		Subject: alert.Subject{
			Event: alert.ChannelTest, Name: "This alert", Severity: kernel.ImpactNone, Reason: reason,
		},
	}
	return alert.Message{
		ID:    kernel.NewID(alert.PrefixMessage, now),
		Items: []alert.Item{{Alert: a, Kinds: []alert.NoticeKind{alert.NoticeOpened}}}, At: now, TestLine: line,
	}
}

// Fields returns the fields of all types, each once, in the order of the types. A field may be a secret in some types
// only.
func Fields() (all []configfield.Shared) {
	for _, t := range Types {
		all = configfield.Share(all, t.Name, t.Fields)
	}
	return all
}
