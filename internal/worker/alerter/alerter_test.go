package alerter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// received is what a webhook got.
type received struct {
	ID       string      `json:"id"`
	ThreadID string      `json:"thread_id"`
	Phase    alert.Phase `json:"phase"`
	Headline string      `json:"headline"`
	Text     string      `json:"text"`
	Total    int         `json:"total"`
	Alerts   []any       `json:"alerts"`
}

// runParallel runs f once per engine, in parallel with other tests: most of them wait.
func runParallel(t *testing.T, f func(t *testing.T, s *store.Store)) {
	t.Parallel()
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		f(t, storetest.Open(t, dsn, storetest.WithKey(t, dsn, store.Options{})))
	})
}

// TestStorm checks that many simultaneous outages reach a webhook as one message, which is repeated with the same id
// until it is accepted, and that their end is reported in the same thread.
func TestStorm(t *testing.T) {
	runParallel(t, func(t *testing.T, s *store.Store) {
		messages := make(chan received, 100)
		var refusals atomic.Int64
		refusals.Store(1)
		sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m received
			if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
				t.Error(err)
			}
			messages <- m
			if refusals.Add(-1) >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		defer sink.Close()
		ws, _ := storetest.Workspace(t, s, "acme")
		tokens := storm(t, s, ws, sink.URL, 600) // more than the store asks rules about in one transaction

		run := func(receive func()) {
			a := New(Config{
				Store: s, Sender: alertchannel.NewSender(alertchannel.Config{AllowPrivate: true}),
				BaseURL: "https://status.example.com",
			})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				a.Run(ctx)
			}()
			receive()
			stop()
			<-ended
		}
		var first, again, up received
		send(t, s, monitor.SignalFail, tokens)
		run(func() { first, again = next(t, messages), next(t, messages) })
		if first.Total != 600 || len(first.Alerts) != alert.MaxLines || first.Headline != "600 monitors are down" ||
			!strings.Contains(first.Text, "\nand 580 more") || first.Phase != alert.PhaseTrigger ||
			first.ThreadID == "" {
			t.Errorf("first: %+v", first)
		}
		if again.ID != first.ID || again.Total != first.Total {
			t.Errorf("again: %+v, want %s", again, first.ID)
		}
		send(t, s, monitor.SignalSuccess, tokens)
		run(func() { up = next(t, messages) })
		if up.ThreadID != first.ThreadID || up.Phase != alert.PhaseResolve ||
			up.Headline != "600 monitors are up again" || up.Total != 600 {
			t.Errorf("up: %+v", up)
		}
		select {
		case m := <-messages:
			t.Errorf("another message: %+v", m)
		default:
		}
	})
}

// TestTemplates checks that messages have the words of templates, and that a template which fails is shown with the
// channel.
func TestTemplates(t *testing.T) {
	runParallel(t, func(t *testing.T, s *store.Store) {
		messages := make(chan received, 100)
		sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var m received
			if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
				t.Error(err)
			}
			messages <- m
		}))
		defer sink.Close()
		ws, _ := storetest.Workspace(t, s, "acme")
		tokens := storm(t, s, ws, sink.URL, 2)
		a := New(Config{Store: s, Sender: alertchannel.NewSender(alertchannel.Config{AllowPrivate: true})})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.Run(ctx)
		}()
		set := func(templates alert.Templates) {
			t.Helper()
			if _, err := s.AlertChannels().Change(ctx, ws, "", "ops", func(c *alert.Channel) error {
				c.Templates = templates
				return nil
			}, kernel.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
		set(alert.Templates{TitleTemplate: "{{.Count}}x {{(index .Alerts 1).Name}}", TextTemplate: "{{.Phase}}"})
		send(t, s, monitor.SignalFail, tokens)
		if m := next(t, messages); m.Headline != "2x job 1" || m.Text != "2x job 1\ntrigger" {
			t.Errorf("message of the templates: %+v", m)
		}
		// The title needs a second alert, which the next message does not have.
		send(t, s, monitor.SignalSuccess, tokens[:1])
		m := next(t, messages)
		if !strings.HasPrefix(m.Headline, "job 0 is up again after ") || !strings.HasSuffix(m.Text, "\ntrigger") {
			t.Errorf("message whose title cannot be made: %+v", m)
		}
		stop()
		<-ended
		c, err := s.AlertChannels().Get(t.Context(), ws, "", "ops")
		if err != nil || !strings.Contains(c.Health.TemplateError, "the title_template is not valid: line 1: ") ||
			c.Health.AcceptedAt.IsZero() {
			t.Errorf("health with a broken template: %+v, %v", c.Health, err)
		}
		ctx = t.Context()
		set(alert.Templates{})
		if c, err = s.AlertChannels().Get(t.Context(), ws, "", "ops"); err != nil || c.Health.TemplateError != "" {
			t.Errorf("health without templates: %+v, %v", c.Health, err)
		}
	})
}

// storm creates jobs, and a rule that notifies a webhook of their failures. It returns the tokens of the jobs.
func storm(t *testing.T, s *store.Store, ws kernel.Actor, url string, count int) (tokens []string) {
	t.Helper()
	ctx := t.Context()
	config, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.AlertChannels().Create(ctx, ws, "", resource.Channel.From(alert.Channel{
		Type: "webhook", Name: "ops", Enabled: true, Config: config, MaxPerMinute: 60,
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.AlertRules().Create(ctx, ws, "", resource.AlertRule.From(alert.Rule{
		Name: "all", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents},
		Target: alert.Target{ChannelIDs: []string{c.ID}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		m, err := s.CreateMonitor(ctx, ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: fmt.Sprint("job ", i), Interval: time.Hour,
		}))
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, m.Token)
	}
	return tokens
}

// send sends a signal of each job, as many in one transaction as the service does.
func send(t *testing.T, s *store.Store, kind monitor.SignalKind, tokens []string) {
	t.Helper()
	for batch := range slices.Chunk(tokens, 64) {
		var signals []store.NewSignal
		for _, token := range batch {
			signals = append(signals, store.NewSignal{Kind: kind, Token: token})
		}
		results, err := s.RecordSignals(t.Context(), signals)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r != store.PingRecorded {
				t.Fatalf("result %v", r)
			}
		}
	}
}

func next(t *testing.T, messages <-chan received) received {
	t.Helper()
	select {
	case m := <-messages:
		return m
	case <-time.After(2 * time.Minute): // a loaded machine takes its time for a storm
		t.Fatal("no message")
		return received{}
	}
}

// TestOutcomesThatCannotBeSaved checks that an outcome which the database refuses neither repeats the message nor loses
// the failure.
func TestOutcomesThatCannotBeSaved(t *testing.T) {
	runParallel(t, func(t *testing.T, s *store.Store) {
		ws, _ := storetest.Workspace(t, s, "acme")
		tokens := storm(t, s, ws, "http://127.0.0.1:9", 2)
		a := New(Config{Store: s, Sender: alertchannel.NewSender(alertchannel.Config{})})
		for _, c := range []struct {
			failed []string // whose jobs
			result alertchannel.Result
			reason string
		}{
			{tokens[:1],
				alertchannel.Result{SendOutcome: audience.SendOutcome{Result: audience.SendRejected, Reason: "no\x00"}},
				"The receiver's answer could not be saved."},
			{tokens[1:],
				alertchannel.Result{
					SendOutcome: audience.SendOutcome{Result: audience.SendAccepted}, Reference: "1\x00",
					TemplateError: "\x00",
				},
				""},
		} {
			send(t, s, monitor.SignalFail, c.failed)
			a.advance(t.Context())
			claimed := claimOne(t, s)
			began := time.Now()
			a.save(t.Context(), store.MessageResult{
				ClaimedMessage: claimed, Outcome: c.result.SendOutcome, Reference: c.result.Reference,
				TemplateError: c.result.TemplateError,
			})
			if took := time.Since(began); took > saveTimeout/4 {
				t.Errorf("it took %v", took)
			}
			channel, err := s.AlertChannels().Get(t.Context(), ws, "", "ops")
			if err != nil || channel.Health.AttemptedAt.IsZero() ||
				strings.ReplaceAll(channel.Health.Reason, "no\x00", c.reason) != c.reason ||
				(channel.Health.Failures > 0) != (c.reason != "") {
				t.Errorf("health: %+v, %v", channel.Health, err)
			}
			again, _, err := s.ClaimMessages(t.Context(), store.MessageClaim{Limit: 1})
			if err != nil || len(again) > 0 {
				t.Errorf("it is sent again: %+v, %v", again, err)
			}
		}
	})
}

// claimOne claims the only message that is due, as soon as its channel may be used.
func claimOne(t *testing.T, s *store.Store) store.ClaimedMessage {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		claimed, next, err := s.ClaimMessages(t.Context(), store.MessageClaim{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(claimed) == 1 {
			return claimed[0]
		}
		<-time.After(max(time.Millisecond, min(time.Until(next), time.Second)))
	}
	t.Fatal("no message")
	return store.ClaimedMessage{}
}
