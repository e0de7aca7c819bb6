package notify

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/addressguard"
	"github.com/allswell/allswell/internal/store"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestVisitorsWebhooksAreGuarded checks that a webhook of a visitor never goes to a private address, whatever the
// settings allow for operators, not even over a connection to the same host that is open for an operator.
func TestVisitorsWebhooksAreGuarded(t *testing.T) {
	address, accepted := serveConnections(t, func(conn net.Conn, _ int) {
		for webhookReadRequest(conn) == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	_, port, _ := net.SplitHostPort(address)
	w := webhookSender(t) // private addresses are allowed
	resolver := webhookResolver(t, func(string) []string { return []string{"127.0.0.1"} })
	w.dialer.Resolver, w.visitors.dialer.Resolver = resolver, resolver
	n := visitorsConfirmation("http://intranet.test:" + port + "/")
	n.Subscriber.AddedByOperator = true
	if o := w.send(t.Context(), n); o.Result != audience.SendAccepted || accepted.Load() != 1 {
		t.Fatalf("an operator's: %+v, %d connections", o, accepted.Load())
	}
	n.Subscriber.AddedByOperator = false
	for _, host := range []string{"intranet.test", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"} {
		n.Subscriber.Target = "http://" + host + ":" + port + "/"
		o := w.send(t.Context(), n)
		if o.Result != audience.SendFailed ||
			!strings.Contains(o.Detail, addressguard.ErrRefused.Error()) ||
			strings.Contains(o.Reason, "127.0.0.1") && host == "intranet.test" {
			t.Errorf("%s: %+v", host, o)
		}
	}
	if accepted.Load() != 1 {
		t.Errorf("%d connections", accepted.Load())
	}
}

// TestConfirmationAttempts checks that few requests for confirmation are sent to a receiver that does not accept them.
func TestConfirmationAttempts(t *testing.T) {
	w := webhookSender(t)
	n := visitorsConfirmation("http://127.0.0.1:1/")
	for attempts, want := range map[int]audience.SendResult{
		1: audience.SendFailed, 2: audience.SendFailed, 3: audience.SendUndeliverable,
	} {
		n.Delivery.Attempts = attempts
		if o := w.send(t.Context(), n); o.Result != want {
			t.Errorf("attempt %d: %+v, want result %d", attempts, o, want)
		}
	}
	n.Delivery.Purpose, n.Delivery.Attempts, n.Events = audience.PurposeEvent, 9,
		webhookNotifications()[statuspage.EventIncidentCreated].Events
	if o := w.send(t.Context(), n); o.Result != audience.SendFailed {
		t.Errorf("an event: %+v", o)
	}
}

// visitorsMessage is what a receiver reads of a message.
type visitorsMessage struct {
	Type string
	Data struct {
		Subscription struct {
			ConfirmURL     *string `json:"confirm_url"`
			URL            string  `json:"url"`
			UnsubscribeURL string  `json:"unsubscribe_url"`
		}
	}
}

// TestVisitorSubscribesWebhook signs a webhook up and checks that it receives one request for confirmation, then
// nothing until it is confirmed, and then events with a link to unsubscribe, all signed with its secret.
func TestVisitorSubscribesWebhook(t *testing.T) {
	runOnSites(t, func(s *site) {
		seen := s.visitorsWebhook()
		s.start("")
		var sub audience.Subscriber
		receive := func(kind string) visitorsMessage {
			s.Helper()
			r := <-seen
			var m visitorsMessage
			if err := json.Unmarshal(r.Body, &m); err != nil || m.Type != kind {
				s.Fatalf("request %s, want the kind %s: %v", r.Body, kind, err)
			}
			if sub.ID == "" {
				list, _, err := s.Subscribers(s.Context(), s.ws, "acme", store.SubscriberFilter{},
					store.Pagination{Page: 1, PerPage: 10})
				s.ok(err)
				sub = list[0]
			}
			verifier, err := standardwebhooks.NewWebhook(sub.Secret)
			s.ok(err)
			s.ok(verifier.Verify(r.Body, r.Header))
			return m
		}
		s.ok(s.RequestSignUp(s.Context(), store.SignUp{
			Slug:       "acme",
			Subscriber: audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://example.com/hook"},
		}))
		m := receive(webhookConfirmation)
		const at = "https://status.example.com/status/acme/"
		got := m.Data.Subscription
		if got.ConfirmURL == nil || *got.ConfirmURL != at+"subscription/"+sub.Key ||
			got.URL != *got.ConfirmURL || got.UnsubscribeURL != at+"unsubscribe/"+sub.Key {
			s.Fatalf("subscription in the request for confirmation: %+v", got)
		}
		s.openTitled("before")
		s.fanOutAll()
		_, err := s.ConfirmSubscription(s.Context(), "acme", sub.Key)
		s.ok(err)
		s.openTitled("after")
		m = receive(string(statuspage.EventIncidentCreated)) // the only one
		if got := m.Data.Subscription; got.ConfirmURL != nil || got.UnsubscribeURL != at+"unsubscribe/"+sub.Key {
			s.Errorf("subscription in the message: %+v", got)
		}
		s.waitFor("both are sent", func() bool { return s.states() == "map[sent:2]" })
		s.ok(s.Unsubscribe(s.Context(), "acme", sub.Key))
		s.openTitled("at last")
		s.fanOutAll()
		if got := s.states(); got != "map[sent:2]" || len(seen) != 0 {
			s.Errorf("deliveries after the unsubscription: %s, %d more messages", got, len(seen))
		}
	})
}

// openTitled opens an incident without a message.
func (s *site) openTitled(title string) {
	_, err := s.CreateIncident(s.Context(), s.ws, "acme", statuspage.Incident{Title: title},
		statuspage.IncidentUpdate{}, nil)
	s.ok(err)
}

// visitorsWebhook starts a receiver to which all webhooks of visitors are sent, and returns its requests.
func (s *site) visitorsWebhook() <-chan receivedRequest {
	seen := make(chan receivedRequest, 16)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- receivedRequest{r.Method, r.RequestURI, r.Header, body}
	}))
	s.Cleanup(receiver.Close)
	s.visitors = func(c *webhookConnections) {
		c.transport.TLSClientConfig = &tls.Config{
			RootCAs: receiver.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
		}
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", receiver.Listener.Addr().String())
		}
	}
	return seen
}
