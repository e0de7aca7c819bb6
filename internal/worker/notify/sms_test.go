package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// message is an SMS that a gateway got.
type message struct{ to, text string }

// fakeGateway is an SMS gateway, as Twilio answers.
type fakeGateway struct {
	*httptest.Server
	taken chan message

	mu     sync.Mutex
	answer func(w http.ResponseWriter, m message) (taken bool) // nil: takes all
}

func (g *fakeGateway) set(answer func(w http.ResponseWriter, m message) bool) {
	g.mu.Lock()
	g.answer = answer
	g.mu.Unlock()
}

func newFakeGateway(t *testing.T) *fakeGateway {
	g := &fakeGateway{taken: make(chan message, 64)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := message{r.PostFormValue("To"), r.PostFormValue("Body")}
		g.mu.Lock()
		answer := g.answer
		g.mu.Unlock()
		if answer != nil && !answer(w, m) {
			return
		}
		g.taken <- m
		_, _ = io.WriteString(w, `{"sid":"SM1","status":"queued"}`)
	}))
	t.Cleanup(g.Close)
	return g
}

// runOnPhones runs f once per engine, in parallel with other tests, with a gateway, and a store whose settings name its
// channel.
func runOnPhones(t *testing.T, o store.SMSOptions, f func(s *site, g *fakeGateway)) {
	t.Parallel()
	o.Channel = "phones"
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		g := newFakeGateway(t)
		s := newSite(t, storetest.Open(t, dsn, storetest.WithKey(t, dsn, store.Options{SMS: o})))
		s.dsn = dsn
		s.addGateway(g)
		f(s, g)
	})
}

// addGateway creates the channel of the settings.
func (s *site) addGateway(g *fakeGateway) alert.Channel {
	s.Helper()
	config := fmt.Sprintf(`{"account_sid":"AC0123456789abcdef0123456789abcdef","from":"+15005550006",`+
		`"to":"+15550000000","server_url":%q}`, g.URL)
	ch, err := s.AlertChannels().Create(s.Context(), s.ws, "", resource.Channel.From(alert.Channel{
		Type: "twilio", Name: "phones", Enabled: true, MaxPerMinute: 30, Config: json.RawMessage(config),
		Secrets: map[string]json.RawMessage{"auth_token": json.RawMessage(`"t0ken"`)},
	}))
	s.ok(err)
	return ch
}

const (
	phoneA = "+4915112345678"
	phoneB = "+436601234567"
)

// TestSMS subscribes a phone: it is sent a code, nothing else before that is entered, then news with links, and nothing
// after the end.
func TestSMS(t *testing.T) {
	runOnPhones(t, store.SMSOptions{}, func(s *site, g *fakeGateway) {
		s.start("")
		sub, err := s.CreateSubscriber(s.Context(), s.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelSMS, Target: "0049 151 12345678"}, nil)
		s.ok(err)
		first := s.next(g)
		code := regexp.MustCompile(`[B-Z2-9]{4}-[B-Z2-9]{4}`).FindString(first.text)
		if first.to != phoneA || code == "" ||
			!strings.HasSuffix(first.text, "\nhttps://status.example.com/s/"+sub.Key) {
			s.Fatalf("the request for confirmation: %+v", first)
		}
		s.openIncident("before")
		s.fanOutAll()
		var wrong *kernel.ValidationError
		if _, err := s.ConfirmSubscription(s.Context(), "acme", sub.Key); !errors.As(err, &wrong) {
			s.Errorf("confirmed without a code: %v", err)
		}
		_, err = s.ConfirmWithCode(s.Context(), store.CodeTry{
			Slug: "acme", Channel: audience.ChannelSMS, Target: "+49 (151) 12345678", Code: code,
		})
		s.ok(err)
		s.openIncident("Orders take long.")
		news := s.next(g)
		want := "Acme: Investigating: Checkout is slow\nhttps://status.example.com/status/acme\nUnsubscribe: " +
			"https://status.example.com/u/" + sub.Key
		if news.text != want {
			s.Errorf("SMS about an incident: %q, want %q", news.text, want)
		}
		s.waitFor("both are sent", func() bool { return s.states() == "map[sent:2]" })
		s.ok(s.Unsubscribe(s.Context(), "acme", sub.Key))
		s.openIncident("after")
		s.fanOutAll()
		if len(g.taken) != 0 || s.states() != "map[sent:2]" {
			s.Errorf("%d more, %s", len(g.taken), s.states())
		}
	})
}

// next returns the next SMS that the gateway takes.
func (s *site) next(g *fakeGateway) message {
	s.Helper()
	select {
	case m := <-g.taken:
		return m
	case <-time.After(testTimeout):
		s.Fatalf("no SMS within %v: %+v", testTimeout, s.deliveries())
	}
	return message{}
}

// fanOutAll creates the deliveries of all events.
func (s *site) fanOutAll() {
	s.Helper()
	for more := true; more; {
		var err error
		more, err = s.FanOut(s.Context())
		s.ok(err)
	}
}

// TestSMSWhatGatewaysAnswer checks that subscribers survive all that is wrong with a gateway, and that only what it
// says about a number ends or suspends a subscription.
func TestSMSWhatGatewaysAnswer(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter, message) bool {
		return func(w http.ResponseWriter, _ message) bool {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
			return false
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, message) bool
		state  audience.DeliveryState
		says   string
		ends   bool
		counts int // rejections
	}{
		"wrong password": {status(401, `{"code":20003}`), audience.DeliveryPending, "answered 401", false, 0},
		"forbidden":      {status(403, `{"code":20005}`), audience.DeliveryPending, "answered 403", false, 0},
		"too many":       {status(429, `{"code":20429}`), audience.DeliveryPending, "answered 429", false, 0},
		"outage":         {status(500, ``), audience.DeliveryPending, "answered 500", false, 0},
		"malformed":      {status(200, `<html>`), audience.DeliveryPending, "answered 200", false, 0},
		"no region":      {status(400, `{"code":21408}`), audience.DeliveryPending, "error 21408", false, 0},
		"invalid": {status(400, `{"code":21211,"message":"`+phoneA+`"}`), audience.DeliveryDead, "error 21211",
			false, 1},
		"opted out": {status(400, `{"code":21610}`), audience.DeliveryCancelled, "STOP", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			runOnPhones(t, store.SMSOptions{}, func(s *site, g *fakeGateway) {
				g.set(c.answer)
				s.start("")
				sub := s.subscribe(audience.ChannelSMS, phoneA)
				s.openIncident("Orders take long.")
				s.waitFor("an attempt fails", func() bool {
					list := s.deliveries()
					return len(list) == 1 && list[0].State == c.state && strings.Contains(list[0].Reason, c.says)
				})
				if d := s.deliveries()[0]; strings.Contains(d.Reason, phoneA) {
					s.Errorf("the number is in %q", d.Reason)
				}
				got, err := s.Subscriber(s.Context(), s.ws, "acme", sub.ID)
				if c.ends {
					if !errors.Is(err, kernel.ErrNotFound) {
						s.Errorf("still subscribed: %v", err)
					}
					return
				}
				s.ok(err)
				if got.Rejections != c.counts || !got.Active() {
					s.Errorf("subscriber after the answer: %+v", got)
				}
				if name == "wrong password" || name == "outage" {
					g.set(nil)
					s.waitFor("it is sent later", func() bool { return s.states() == "map[sent:1]" })
				}
			})
		})
	}
}

// TestConfirmationAttemptsBySMS checks that few codes are sent to a phone, if each attempt may have sent one.
func TestConfirmationAttemptsBySMS(t *testing.T) {
	runOnPhones(t, store.SMSOptions{}, func(s *site, g *fakeGateway) {
		g.set(func(w http.ResponseWriter, _ message) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return false
		})
		phones := newSMS(Config{Store: s.Store, AllowPrivate: true, BaseURL: mailBase})
		defer phones.close()
		for attempts := 1; attempts <= confirmationAttempts; attempts++ {
			for purpose, want := range map[audience.DeliveryPurpose]bool{
				audience.PurposeConfirmation: attempts == confirmationAttempts, audience.PurposeTest: false,
			} {
				n := smsNotification(purpose)
				n.Page.WorkspaceID, n.Delivery.Attempts = s.ws.WorkspaceID, attempts
				o := phones.send(s.Context(), n)
				if (o.Result == audience.SendUndeliverable) != want || !want && o.Result != audience.SendFailed {
					s.Errorf("attempt %d, purpose %s: %+v", attempts, purpose, o)
				}
			}
		}
	})
}

// TestSMSHang checks that a gateway that does not answer delays, and that an attempt ends in time.
func TestSMSHang(t *testing.T) {
	runOnPhones(t, store.SMSOptions{}, func(s *site, g *fakeGateway) {
		sub := s.subscribe(audience.ChannelSMS, phoneA)
		release := make(chan struct{})
		defer close(release)
		asked := make(chan struct{}, 8)
		g.set(func(w http.ResponseWriter, _ message) bool {
			asked <- struct{}{}
			<-release
			return false
		})
		stop := s.start("")
		s.openIncident("Orders take long.")
		<-asked
		began := time.Now()
		stop() // which cancels the attempt
		if took := time.Since(began); took > DrainTimeout+5*time.Second {
			s.Errorf("the stop took %v", took)
		}
		if got, err := s.Subscriber(s.Context(), s.ws, "acme", sub.ID); err != nil || got.Rejections != 0 {
			s.Errorf("subscriber after the stop: %+v, %v", got, err)
		}
	})
}

// renameGateway gives the channel that the settings name another name, so that it is missing. Only a process with other
// settings can do that.
func (s *site) renameGateway() {
	s.Helper()
	other, err := store.OpenBeside(s.Context(), s.dsn, storetest.WithKey(s.T, s.dsn, store.Options{}))
	s.ok(err)
	_, err = other.AlertChannels().Change(s.Context(), s.ws, "", "phones", func(c *alert.Channel) error {
		c.Name = "former"
		return nil
	}, kernel.Precondition{})
	s.ok(errors.Join(err, other.Close()))
}

// TestSMSChannelIsMissing checks that deliveries wait while the channel of the settings is missing, and that nobody is
// suspended.
func TestSMSChannelIsMissing(t *testing.T) {
	runOnPhones(t, store.SMSOptions{}, func(s *site, g *fakeGateway) {
		sub := s.subscribe(audience.ChannelSMS, phoneA)
		s.renameGateway()
		s.start("")
		s.openIncident("Orders take long.")
		s.waitFor("an attempt fails", func() bool {
			list := s.deliveries()
			return len(list) == 1 && strings.Contains(list[0].Reason, "ALLSWELL_SMS_CHANNEL") &&
				list[0].State == audience.DeliveryPending
		})
		if d := s.deliveries()[0]; d.Attempts != 0 {
			s.Errorf("%d attempts are counted", d.Attempts)
		}
		got, err := s.Subscriber(s.Context(), s.ws, "acme", sub.ID)
		if err != nil || got.Rejections != 0 || !got.Active() {
			s.Errorf("subscriber without a gateway: %+v, %v", got, err)
		}
		s.addGateway(g)
		if got := s.next(g); got.to != phoneA {
			s.Errorf("SMS with the new gateway: %+v", got)
		}
	})
}

// TestSMSCodesWaitForTheGateway checks that a code is not lost while the gateway cannot be reached, and that these
// attempts do not use up the daily limit.
func TestSMSCodesWaitForTheGateway(t *testing.T) {
	runOnPhones(t, store.SMSOptions{DailyLimit: 1}, func(s *site, g *fakeGateway) {
		refusals := make(chan struct{}, 64)
		g.set(func(w http.ResponseWriter, _ message) bool {
			refusals <- struct{}{}
			w.WriteHeader(http.StatusUnauthorized)
			return false
		})
		s.start("")
		_, err := s.CreateSubscriber(s.Context(), s.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelSMS, Target: phoneA}, nil)
		s.ok(err)
		for range 2 {
			select {
			case <-refusals:
			case <-time.After(testTimeout):
				s.Fatalf("no attempt within %v: %+v", testTimeout, s.deliveries())
			}
		}
		g.set(nil)
		if got := s.next(g); got.to != phoneA {
			s.Errorf("SMS after the repair: %+v", got)
		}
	})
}

// TestOnlySMSThatMayBeSentCount checks that only attempts that may have sent an SMS count towards the daily limit.
func TestOnlySMSThatMayBeSentCount(t *testing.T) {
	for status, counts := range map[int]bool{200: true, 400: true, 401: false, 402: false, 429: false, 500: true} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			runOnPhones(t, store.SMSOptions{DailyLimit: 1}, func(s *site, g *fakeGateway) {
				phones := newSMS(Config{Store: s.Store, AllowPrivate: true, BaseURL: mailBase})
				defer phones.close()
				n := smsNotification(audience.PurposeTest)
				n.Page.WorkspaceID = s.ws.WorkspaceID
				g.set(func(w http.ResponseWriter, _ message) bool { w.WriteHeader(status); return status == 200 })
				phones.send(s.Context(), n)
				g.set(nil)
				if o := phones.send(s.Context(), n); (o.Result == audience.SendAccepted) == counts {
					s.Errorf("after an attempt with the answer %d: %+v", status, o)
				}
			})
		})
	}
}

// TestSMSDailyLimitDelays checks that what is over the limit waits with a reason, and does not reach the gateway.
func TestSMSDailyLimitDelays(t *testing.T) {
	runOnPhones(t, store.SMSOptions{DailyLimit: 1}, func(s *site, g *fakeGateway) {
		s.subscribe(audience.ChannelSMS, phoneA)
		s.subscribe(audience.ChannelSMS, phoneB)
		s.start("")
		s.openIncident("Orders take long.")
		s.waitFor("one waits", func() bool {
			waits := 0
			for _, d := range s.deliveries() {
				if strings.Contains(d.Reason, "ALLSWELL_SMS_DAILY_LIMIT") && d.State == audience.DeliveryPending &&
					d.Attempts == 0 && time.Until(d.NextAttemptAt) > 0 {
					waits++
				}
			}
			return waits == 1 && s.states() == "map[pending:1 sent:1]"
		})
		if len(g.taken) != 1 {
			s.Errorf("%d were sent", len(g.taken))
		}
	})
}

// TestSMSOfAnotherWorkspace checks that a gateway never sends for pages of another workspace than its own, also after
// the settings have changed.
func TestSMSOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		g := newFakeGateway(t)
		st := storetest.Open(t, dsn, storetest.WithKey(t, dsn, store.Options{SMS: store.SMSOptions{Channel: "phones"}}))
		s := newSite(t, st)
		s.dsn = dsn
		s.addGateway(g)
		s.subscribe(audience.ChannelSMS, phoneA)
		s.renameGateway()
		own := s.ws
		s.ws, _ = storetest.Workspace(t, st, "other")
		s.addGateway(g)
		s.ws = own
		s.start("")
		s.openIncident("Orders take long.")
		s.waitFor("an attempt fails", func() bool {
			list := s.deliveries()
			return len(list) == 1 && strings.Contains(list[0].Reason, "another workspace")
		})
		if len(g.taken) != 0 {
			s.Error("another workspace paid")
		}
	})
}
