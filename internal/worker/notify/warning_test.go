package notify

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestWarningsArrive sends the beginning and the end of a warning to a webhook that asks for them, signed and in order,
// and nothing to others.
func TestWarningsArrive(t *testing.T) {
	runOnSites(t, func(s *site) {
		address, seen := webhookSink(t)
		hook, err := s.CreateSubscriber(t.Context(), s.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: address + "/on-call", Warnings: true}, nil)
		s.ok(err)
		s.subscribe(audience.ChannelWebhook, address+"/others")
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		peer := newSMTPPeer(t, "plain")
		s.start(peer.address)
		m, err := s.CreateMonitor(t.Context(), s.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Nightly", Interval: 24 * time.Hour, PageSlug: "acme",
			RunConditions: monitor.RunConditions{MinRuntime: time.Hour}}))
		s.ok(err)
		for _, kind := range []monitor.SignalKind{
			monitor.SignalStart, monitor.SignalSuccess, monitor.SignalStart, monitor.SignalSuccess,
		} {
			results, err := s.RecordSignals(t.Context(), []store.NewSignal{{Token: m.Token, Kind: kind}})
			if s.ok(err); results[0] != store.PingRecorded {
				t.Fatalf("results of the signals: %+v", results)
			}
		}
		_, err = s.ChangeMonitor(t.Context(), s.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(false)
			return nil
		})
		s.ok(err)

		verifier, err := standardwebhooks.NewWebhook(hook.Secret)
		s.ok(err)
		var kinds, warnings []string
		for timeout := time.After(testTimeout); len(kinds) < 2; {
			select {
			case got := <-seen:
				s.ok(verifier.Verify(got.Body, got.Header))
				kind, warning := s.aboutShortRun(got, m.ID)
				kinds, warnings = append(kinds, kind), append(warnings, warning)
			case <-timeout:
				t.Fatalf("only %q arrived", kinds)
			}
		}
		if !slices.Equal(kinds, []string{"monitor.warning", "monitor.warning_ended"}) || warnings[0] != warnings[1] ||
			warnings[0] == "" {
			t.Errorf("kinds of the events: %q, of the warnings %q", kinds, warnings)
		}
		s.waitFor("both are settled", func() bool { return s.states() == "map[sent:2]" })
		if got := peer.received(); len(got) != 0 {
			t.Errorf("%d mails", len(got))
		}
	})
}

// aboutShortRun checks the message about a run that was too short, and returns its type and the id of the warning.
func (s *site) aboutShortRun(got receivedRequest, monitorID string) (kind, warning string) {
	s.Helper()
	var message struct {
		Type string
		Data struct {
			Monitor, Warning struct{ ID, Name, Condition string }
		}
	}
	s.ok(json.Unmarshal(got.Body, &message))
	d := message.Data
	if got.URI != "/on-call" || d.Monitor.ID != monitorID || d.Monitor.Name != "Nightly" ||
		d.Warning.Condition != "min_runtime" {
		s.Errorf("%s: %s", got.URI, got.Body)
	}
	return message.Type, message.Data.Warning.ID
}
