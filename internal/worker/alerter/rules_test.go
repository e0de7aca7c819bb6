package alerter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestOnlyAttemptsAreNoted checks that an attempt which was not made says nothing about a host that fails.
func TestOnlyAttemptsAreNoted(t *testing.T) {
	to := fair.Target{Workspace: "acme", Host: "chat.example.com"}
	for result, failing := range map[audience.SendResult]bool{
		audience.SendNotAttempted: true, audience.SendAccepted: false, audience.SendRejected: false,
	} {
		a := &Alerter{gate: newGate()}
		var unreachable, other alertchannel.Result
		unreachable.Result, unreachable.Unreachable, other.Result = audience.SendFailed, true, result
		a.note(to, unreachable)
		a.note(to, other)
		if a.gate.Failing(to) != failing {
			t.Errorf("after %v, the host counts as failing: %t", result, !failing)
		}
	}
}

// TestHostOfChangedChannel checks that the host of a channel follows its present configuration.
func TestHostOfChangedChannel(t *testing.T) {
	runParallel(t, func(t *testing.T, s *store.Store) {
		ws, _ := storetest.Workspace(t, s, "acme")
		tokens := storm(t, s, ws, "http://a.example.com/hook", 1)
		a := New(Config{Store: s, Sender: alertchannel.NewSender(alertchannel.Config{})})
		send(t, s, monitor.SignalFail, tokens)
		a.advance(t.Context())
		full := fair.NewGate(fair.GateConfig{Places: 100, PerHost: 1}) // at both hosts, so that the channel stays due
		for n := range 8 {
			full.Enter(fair.Target{Workspace: "other", Host: []string{"a.example.com:http", "b.example.com:http"}[n%2]})
		}
		host := func() (name string) {
			t.Helper()
			for range 300 { // until a message is due
				_, next, err := s.ClaimMessages(t.Context(), store.MessageClaim{
					Limit: 1, Plan: full.Plan(time.Now()), Host: func(d store.DueChannel) string {
						name = a.hostOf(d)
						return name
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				if name != "" {
					break
				}
				<-time.After(max(10*time.Millisecond, min(time.Until(next), time.Second)))
			}
			return name
		}
		before := host()
		_, err := s.AlertChannels().Change(t.Context(), ws, "",
			"ops", setURL("http://b.example.com/hook"), kernel.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		if after := host(); before != "a.example.com:http" || after != "b.example.com:http" {
			t.Errorf("the host was %q, and is %q", before, after)
		}
	})
}

// TestHostIsNotRememberedWithoutTheKey plans messages without the key of the secrets, and after it was put back.
func TestHostIsNotRememberedWithoutTheKey(t *testing.T) {
	dsn, now := storetest.SQLite(t), time.Now()
	var a *Alerter
	with := func(key string, f func(s *store.Store)) {
		t.Helper()
		keys, err := secret.New(strings.Repeat(key, secret.MinLength))
		if err != nil {
			t.Fatal(err)
		}
		s := storetest.Open(t, dsn, store.Options{SecretKeys: keys, Clock: func() time.Time { return now }})
		if a == nil {
			a = New(Config{Store: s, Sender: alertchannel.NewSender(alertchannel.Config{})})
		}
		f(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	with("k", func(s *store.Store) {
		ws, _ := storetest.Workspace(t, s, "acme")
		tokens := storm(t, s, ws, "http://b.example.com/hook", 1)
		_, err := s.AlertChannels().Change(t.Context(), ws, "",
			"ops", setURL("http://a.example.com/hook"), kernel.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		send(t, s, monitor.SignalFail, tokens)
		a.advance(t.Context())
	})
	now = now.Add(10 * time.Minute)
	full := fair.NewGate(fair.GateConfig{Places: 100, PerHost: 1}) // at both hosts, so that the channel stays due
	for n := range 8 {
		full.Enter(fair.Target{Workspace: "other", Host: []string{"a.example.com:http", ""}[n%2]})
	}
	for _, c := range []struct{ key, want string }{{"l", ""}, {"k", "a.example.com:http"}} {
		with(c.key, func(s *store.Store) {
			host := "not asked"
			if _, _, err := s.ClaimMessages(
				t.Context(),
				store.MessageClaim{Limit: 1, Plan: full.Plan(now), Host: func(d store.DueChannel) string {
					host = a.hostOf(d)
					return host
				}},
			); err != nil {
				t.Fatal(err)
			}
			if host != c.want {
				t.Errorf("with the key %s, the host is %q, want %q", c.key, host, c.want)
			}
		})
	}
}

// setURL sets the URL of a webhook.
func setURL(url string) field.Change[alert.Channel] {
	text, _ := json.Marshal(url)
	return resource.ConfigureChannel(map[string]json.RawMessage{"url": text}, false)
}

// TestConfirmationsWaitForTheMailServer checks that a mail which asks for a confirmation is sent again where it was not
// accepted, and may be later.
func TestConfirmationsWaitForTheMailServer(t *testing.T) {
	for result, again := range map[audience.SendResult]int{
		audience.SendServerUnavailable: 1, audience.SendFailed: 1, audience.SendNotAttempted: 1,
		audience.SendAccepted: 0, audience.SendRejected: 0,
	} {
		dsn, now := storetest.SQLite(t), time.Now()
		s := storetest.Open(t, dsn, storetest.WithKey(t, dsn, store.Options{Clock: func() time.Time { return now }}))
		ws, _ := storetest.Workspace(t, s, "acme")
		_, err := s.AlertChannels().Create(t.Context(), ws, "", resource.Channel.From(alert.Channel{
			Type: alert.EmailType, Name: "Mail", Enabled: true, MaxPerMinute: 10,
			Config: json.RawMessage(`{"to":"stranger@example.com"}`),
		}))
		if err != nil {
			t.Fatal(err)
		}
		a := New(Config{Store: s, Sender: alertchannel.NewSender(alertchannel.Config{
			Mail: func(context.Context, alertchannel.Mail) audience.SendOutcome {
				return audience.SendOutcome{Result: result}
			},
		})})
		take := func() []store.AddressConfirmation {
			t.Helper()
			now = now.Add(alert.ConfirmationRetry)
			all, err := s.TakeConfirmations(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		first := take()
		if len(first) != 1 {
			t.Fatalf("%d mails ask for a confirmation", len(first))
		}
		a.askForConfirmation(t.Context(), first[0])
		if next := take(); len(next) != again {
			t.Errorf("after %v, the mail is sent again %d times, not %d", result, len(next), again)
		}
	}
}
