package cli

import (
	"encoding/json"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
)

// TestAuditActor checks that only accounts, tokens and commands are shown by their bare names.
func TestAuditActor(t *testing.T) {
	for want, a := range map[string]client.AuditActor{
		"Ann":                           {Kind: allswell.ActorUser, Name: new("Ann")},
		"deploy (192.0.2.1)":            {Kind: allswell.ActorToken, Name: new("deploy"), Address: new("192.0.2.1")},
		"Ann (by link) (192.0.2.1)":     {Kind: allswell.ActorLink, Name: new("Ann"), Address: new("192.0.2.1")},
		"Somebody (by link)":            {Kind: allswell.ActorLink},
		"Ann in Slack":                  {Kind: allswell.ActorSlack, Name: new("Ann")},
		"Somebody in Slack (192.0.2.1)": {Kind: allswell.ActorSlack, Address: new("192.0.2.1")},
		"subscriber":                    {Kind: allswell.ActorSubscriber},
		"system":                        {Kind: allswell.ActorSystem},
	} {
		if got := auditActor(a); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}

// TestAuditKind checks that kinds of objects may be given by the nouns of commands.
func TestAuditKind(t *testing.T) {
	for given, want := range map[string]allswell.ObjectKind{
		"channel": allswell.ObjectAlertChannel, "rule": allswell.ObjectAlertRule, "schedule": allswell.ObjectOnCall, "oncall": allswell.ObjectOnCall, "on-call": allswell.ObjectOnCall,
		"silence": allswell.ObjectSilence, "incident-template": allswell.ObjectIncidentTemplate, "alert_channel": allswell.ObjectAlertChannel,
	} {
		if got := auditKind(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// TestAuditChanges checks that entries about new objects have the fields of these that are set.
func TestAuditChanges(t *testing.T) {
	for want, e := range map[string]client.AuditEntry{
		`status: operational → degraded`: {Action: allswell.AuditUpdate, Before: json.RawMessage(`{"status":"operational"}`), After: json.RawMessage(`{"status":"degraded"}`)},
		`interval: 300, tags: ["prod"]`:  {Action: allswell.AuditCreate, Before: json.RawMessage(`{}`), After: json.RawMessage(`{"name":"Shop","interval":300,"tags":["prod"],"pages":[],"hidden":false,"slug":"","page":null}`)},
		"":                               {Action: allswell.AuditDelete, Before: json.RawMessage(`{"name":"Shop"}`), After: json.RawMessage(`{}`)},
	} {
		if got := auditChanges(&e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
