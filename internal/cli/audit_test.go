package cli

import (
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
