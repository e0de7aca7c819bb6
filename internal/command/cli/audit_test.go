package cli

import (
	"encoding/json"
	"testing"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestAuditActor checks that only accounts, tokens and commands are shown by their bare names.
func TestAuditActor(t *testing.T) {
	for want, a := range map[string]client.AuditActor{
		"Ann":                           {Kind: kernel.ActorUser, Name: new("Ann")},
		"deploy (192.0.2.1)":            {Kind: kernel.ActorToken, Name: new("deploy"), Address: new("192.0.2.1")},
		"Ann (by link) (192.0.2.1)":     {Kind: kernel.ActorLink, Name: new("Ann"), Address: new("192.0.2.1")},
		"Somebody (by link)":            {Kind: kernel.ActorLink},
		"Ann in Slack":                  {Kind: kernel.ActorSlack, Name: new("Ann")},
		"Somebody in Slack (192.0.2.1)": {Kind: kernel.ActorSlack, Address: new("192.0.2.1")},
		"subscriber":                    {Kind: kernel.ActorSubscriber},
		"system":                        {Kind: kernel.ActorSystem},
	} {
		if got := auditActor(a); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}

// TestAuditKind checks that kinds of objects may be given by the nouns of commands.
func TestAuditKind(t *testing.T) {
	for given, want := range map[string]kernel.ObjectKind{
		"channel": kernel.ObjectAlertChannel, "rule": kernel.ObjectAlertRule, "schedule": kernel.ObjectOnCall,
		"oncall": kernel.ObjectOnCall, "on-call": kernel.ObjectOnCall,
		"silence": kernel.ObjectSilence, "incident-template": kernel.ObjectIncidentTemplate,
		"alert_channel": kernel.ObjectAlertChannel,
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
			Action: kernel.AuditUpdate, Before: json.RawMessage(`{"status":"operational"}`),
			After: json.RawMessage(`{"status":"degraded"}`),
		},
		`interval: 300, tags: ["prod"]`: {
			Action: kernel.AuditCreate, Before: json.RawMessage(`{}`),
			After: json.RawMessage(
				`{"name":"Shop","interval":300,"tags":["prod"],"pages":[],"hidden":false,"slug":"","page":null}`,
			),
		},
		"": {Action: kernel.AuditDelete, Before: json.RawMessage(`{"name":"Shop"}`), After: json.RawMessage(`{}`)},
	} {
		if got := auditChanges(&e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
