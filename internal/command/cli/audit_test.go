package cli

import (
	"encoding/json"
	"testing"

	"github.com/allswell/allswell/client"
)

// TestAuditActor checks that only accounts, tokens and commands are shown by their bare names.
func TestAuditActor(t *testing.T) {
	for want, a := range map[string]client.AuditActor{
		"Ann":                          {Kind: client.ActorUser, Name: new("Ann")},
		"deploy (192.0.2.1)":           {Kind: client.ActorToken, Name: new("deploy"), Address: new("192.0.2.1")},
		"Ann (by link) (192.0.2.1)":    {Kind: client.ActorLink, Name: new("Ann"), Address: new("192.0.2.1")},
		"Someone (by link)":            {Kind: client.ActorLink},
		"Ann in Slack":                 {Kind: client.ActorSlack, Name: new("Ann")},
		"Someone in Slack (192.0.2.1)": {Kind: client.ActorSlack, Address: new("192.0.2.1")},
		"subscriber":                   {Kind: client.ActorSubscriber},
		"system":                       {Kind: client.ActorSystem},
	} {
		if got := auditActor(a); got != want {
			t.Errorf("the actor of %+v: %q, want %q", a, got, want)
		}
	}
}

// TestAuditKind checks that kinds of objects may be given by the nouns of commands.
func TestAuditKind(t *testing.T) {
	for given, want := range map[string]client.ObjectKind{
		"channel": client.ObjectAlertChannel, "rule": client.ObjectAlertRule, "schedule": client.ObjectOnCall,
		"oncall": client.ObjectOnCall, "on-call": client.ObjectOnCall,
		"silence": client.ObjectSilence, "incident-template": client.ObjectIncidentTemplate,
		"alert_channel": client.ObjectAlertChannel,
	} {
		if got := auditKind(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// TestAuditChanges checks that entries about new objects have the fields of these that are set.
func TestAuditChanges(t *testing.T) {
	for want, e := range map[string]client.AuditEntry{
		`status: operational → degraded`: {
			Action: client.AuditUpdate, Before: json.RawMessage(`{"status":"operational"}`),
			After: json.RawMessage(`{"status":"degraded"}`),
		},
		`interval: 300, tags: ["prod"]`: {
			Action: client.AuditCreate, Before: json.RawMessage(`{}`),
			After: json.RawMessage(
				`{"name":"Shop","interval":300,"tags":["prod"],"pages":[],"hidden":false,"slug":"","page":null}`,
			),
		},
		"": {Action: client.AuditDelete, Before: json.RawMessage(`{"name":"Shop"}`), After: json.RawMessage(`{}`)},
	} {
		if got := auditChanges(&e); got != want {
			t.Errorf("the changes: %q, want %q", got, want)
		}
	}
}
