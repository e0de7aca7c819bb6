package notify

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// site is a store with one page.
type site struct {
	*testing.T
	*store.Store
	ws  kernel.Actor
	dsn string // of the store; "": not needed

	visitors func(*webhookConnections) // changes the connections to webhooks of visitors; nil: does not
}

// runOnSites runs f once per engine, in parallel with other tests.
func runOnSites(t *testing.T, f func(s *site)) {
	t.Parallel()
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		f(newSite(t, storetest.Open(t, dsn, storetest.WithKey(t, dsn, store.Options{}))))
	})
}

// newSite creates the page.
func newSite(t *testing.T, st *store.Store) *site {
	s := &site{T: t, Store: st}
	s.ws, _ = storetest.Workspace(t, st, "default")
	_, err := st.CreatePage(t.Context(), s.ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	s.ok(err)
	return s
}

func (s *site) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) subscribe(channel audience.Channel, target string) audience.Subscriber {
	s.Helper()
	sub, err := s.CreateSubscriber(s.Context(), s.ws, "acme",
		audience.NewSubscriber{Channel: channel, Target: target, Confirmed: true}, nil)
	s.ok(err)
	return sub
}

// openIncident opens an incident with a message.
func (s *site) openIncident(message string) {
	s.Helper()
	_, err := s.CreateIncident(s.Context(), s.ws, "acme", statuspage.Incident{Title: "Checkout is slow"},
		statuspage.IncidentUpdate{Message: message}, nil)
	s.ok(err)
}

// start runs a notifier. stop stops it and waits for its end; the end of the test calls
// it too.
func (s *site) start(smtp string) (stop func()) {
	s.Helper()
	c := Config{
		Store: s.Store, BaseURL: "https://status.example.com", From: mail.Address{Address: "status@example.com"},
		AllowPrivate: true,
	}
	if smtp != "" {
		c.SMTP = &url.URL{Scheme: "smtp", Host: smtp}
	}
	n := New(c)
	for _, q := range n.queues {
		if w, ok := q.sender.(*webhooks); ok && s.visitors != nil {
			s.visitors(&w.visitors)
		}
		if p, ok := q.sender.(*push); ok && s.visitors != nil {
			s.visitors(&p.visitors)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	s.Cleanup(stop)
	return stop
}

// states counts the deliveries in each state.
func (s *site) states() string {
	s.Helper()
	count := make(map[audience.DeliveryState]int)
	for _, d := range s.deliveries() {
		count[d.State]++
	}
	return fmt.Sprint(count)
}

func (s *site) deliveries() []audience.DeliveryLogEntry {
	s.Helper()
	list, _, err := s.Deliveries(s.Context(), s.ws, "acme", store.DeliveryFilter{},
		store.Pagination{Page: 1, PerPage: 100})
	s.ok(err)
	return list
}

// waitFor waits until a condition holds. what names the condition.
func (s *site) waitFor(what string, holds func() bool) {
	s.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(testTimeout); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			s.Fatalf("not within %v: %s; deliveries: %s", testTimeout, what, s.states())
		}
	}
}

// gate is a host of webhooks that does not respond until it is opened.
type gate struct {
	*httptest.Server
	opened chan struct{}
	open   func()

	calls, inside, most atomic.Int32
}

func newGate(t *testing.T) *gate {
	g := &gate{opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	g.Server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		g.calls.Add(1)
		if now := g.inside.Add(1); now > g.most.Load() {
			g.most.Store(now) // a race can only make the maximum too small
		}
		defer g.inside.Add(-1)
		<-g.opened
	}))
	t.Cleanup(func() {
		g.open()
		g.Close()
	})
	return g
}

func TestNotifierDelivers(t *testing.T) {
	runOnSites(t, func(s *site) {
		peer := newSMTPPeer(t, "plain")
		address, seen := webhookSink(t)
		s.start(peer.address)
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		s.subscribe(audience.ChannelWebhook, address)
		s.openIncident("Payments take up to a minute.")
		select {
		case got := <-seen:
			if !strings.Contains(string(got.Body), "Payments take up to a minute.") {
				t.Errorf("the webhook received %s", got.Body)
			}
		case <-time.After(testTimeout):
			t.Fatal("no webhook was called")
		}
		s.waitFor("both are sent", func() bool { return s.states() == "map[sent:2]" })
		mails := peer.received()
		if len(mails) != 1 || mails[0].to != "ann@example.com" ||
			!strings.Contains(mails[0].content, "Payments take up to a minute.") {
			t.Errorf("mails: %+v", mails)
		}
	})
}

// TestBadHostsDelayNobody checks that neither a host that hangs nor one that is down
// delays other hosts.
func TestBadHostsDelayNobody(t *testing.T) {
	runOnSites(t, func(s *site) {
		hanging, dead := newGate(t), httptest.NewServer(nil)
		dead.Close()
		address, seen := webhookSink(t)
		const many = 3 * webhookPerHost
		for n := range many {
			s.subscribe(audience.ChannelWebhook, fmt.Sprint(hanging.URL, "/", n))
			s.subscribe(audience.ChannelWebhook, fmt.Sprint(dead.URL, "/", n))
		}
		s.subscribe(audience.ChannelWebhook, address)
		s.openIncident("It is slow.")
		s.start("")
		select {
		case <-seen:
		case <-time.After(testTimeout):
			t.Fatal("a good host waits for bad ones")
		}
		if n := hanging.calls.Load(); n > webhookPerHost {
			t.Errorf("%d calls of a host that does not respond", n)
		}
		s.waitFor("the hanging host has its maximum of calls", func() bool {
			return hanging.inside.Load() == webhookPerHost
		})
		hanging.open()
		s.waitFor("the hanging host has received all messages", func() bool {
			return strings.Contains(s.states(), fmt.Sprint("sent:", many+1))
		})
		if n := hanging.most.Load(); n != webhookPerHost {
			t.Errorf("%d calls of one host at the same time, want %d", n, webhookPerHost)
		}
		if n := hanging.calls.Load(); n != many {
			t.Errorf("%d calls for %d webhooks", n, many)
		}
	})
}

// TestStopLetsSendsEnd checks that a stop waits for running sends, saves their results,
// and starts no others.
func TestStopLetsSendsEnd(t *testing.T) {
	runOnSites(t, func(s *site) {
		slow := newGate(t)
		for n := range webhookPerHost + 2 {
			s.subscribe(audience.ChannelWebhook, fmt.Sprint(slow.URL, "/", n))
		}
		stop := s.start("")
		s.openIncident("It is slow.")
		s.waitFor("some are being sent", func() bool { return slow.inside.Load() == webhookPerHost })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			stop()
		}()
		// A message that is sent after the stop began would be another call.
		s.openIncident("It is slower.")
		slow.open()
		<-ended
		if n := slow.calls.Load(); n < webhookPerHost {
			t.Errorf("%d calls", n)
		}
		got := s.states()
		sent := fmt.Sprint("sent:", slow.calls.Load())
		if !strings.Contains(got, sent) || strings.Contains(got, "sending") {
			t.Errorf("after the stop: %s, want %s and none being sent", got, sent)
		}
	})
}

func TestMailIsOff(t *testing.T) {
	runOnSites(t, func(s *site) {
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		s.start("")
		s.openIncident("It is slow.")
		s.waitFor("the delivery log has the reason", func() bool {
			list := s.deliveries()
			return len(list) == 1 && list[0].State == audience.DeliveryPending &&
				strings.HasPrefix(list[0].Reason, "Mail is off")
		})
	})
}

// claimed returns a queue that counts the messages it sends, and a queued delivery for it.
func (s *site) claimed(sent *int) (*queue, queuedDelivery) {
	s.Helper()
	s.openIncident("It is slow.")
	for more := true; more; {
		var err error
		more, err = s.FanOut(s.Context())
		s.ok(err)
	}
	n := &Notifier{Config: Config{Store: s.Store, Logger: slog.New(slog.DiscardHandler)}}
	q := testQueue(n, func(context.Context) audience.SendOutcome {
		*sent++
		return audience.SendOutcome{Result: audience.SendAccepted}
	})
	before := time.Now()
	got, _ := q.claimSome(s.Context())
	if len(got) != 1 || got[0].claimed.Before(before) {
		s.Fatalf("claimed %v", got)
	}
	return q, got[0]
}

// fakeSender calls a function for each message.
type fakeSender func(context.Context) audience.SendOutcome

func (f fakeSender) send(ctx context.Context, _ audience.Notification) audience.SendOutcome {
	return f(ctx)
}
func (f fakeSender) refuses(context.Context, string) error { return nil }
func (f fakeSender) server() string                        { return "" }
func (f fakeSender) close()                                {}

// testQueue returns a queue for mail with one place and a fake sender.
func testQueue(n *Notifier, send fakeSender) *queue {
	c := emailChannel
	c.places, c.ahead = 1, 1
	return newQueue(n, c, send)
}

// TestNothingIsSentAfterTheEnd checks that a message is not sent if its subscription ends
// after the claim.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	runOnSites(t, func(s *site) {
		ann := s.subscribe(audience.ChannelEmail, "ann@example.com")
		sent := 0
		q, j := s.claimed(&sent)
		s.ok(s.Unsubscribe(s.Context(), "acme", ann.Key))
		work(q, s.Context(), s.Context(), j)
		if o := (<-q.results).Outcome; sent != 0 || o.Result != audience.SendGone || o.Reason == "" {
			t.Errorf("%d mails were sent: %+v", sent, o)
		}
	})
}

// TestLateDeliveriesAreGivenBack checks that a delivery that cannot be sent before its lease ends,
// or is queued when the service stops, is given back without an attempt.
func TestLateDeliveriesAreGivenBack(t *testing.T) {
	runOnSites(t, func(s *site) {
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		sent := 0
		q, j := s.claimed(&sent)
		stopped, stop := context.WithCancel(s.Context())
		stop()
		work(q, stopped, s.Context(), j)
		late := j
		late.claimed = late.claimed.Add(-maxQueued)
		work(q, s.Context(), s.Context(), late)
		for range 2 {
			if o := (<-q.results).Outcome; sent != 0 || o.Result != audience.SendNotAttempted {
				t.Errorf("%d were sent, %+v", sent, o)
			}
		}
		work(q, s.Context(), s.Context(), j)
		if o := (<-q.results).Outcome; sent != 1 || o.Result != audience.SendAccepted {
			t.Errorf("in time: %d were sent, %+v", sent, o)
		}
	})
}

// work lets a queue work on one delivery.
func work(q *queue, ctx, sending context.Context, d queuedDelivery) {
	var loader sync.WaitGroup
	q.loads = make(chan load)
	loader.Go(func() { q.loadAll(sending) })
	q.work(ctx, sending, d)
	close(q.loads)
	loader.Wait()
}

// TestFailedLoadIsNotInFlight checks that a delivery that cannot be loaded is not in
// flight while its lease lasts.
func TestFailedLoadIsNotInFlight(t *testing.T) {
	runOnSites(t, func(s *site) {
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		sent := 0
		q, j := s.claimed(&sent)
		gone, cancel := context.WithCancel(s.Context())
		cancel() // loading fails
		work(q, s.Context(), gone, j)
		if free := q.gate.Free(); sent != 0 || len(q.results) != 0 || free != q.claims() {
			t.Errorf("sent %d, settled %d; %d places are free, want all %d", sent, len(q.results), free, q.claims())
		}
	})
}

// TestUnreachableDestinationIsPaused checks that failures of the destination open its
// circuit breaker, also for mail, and that failures of single messages do not.
func TestUnreachableDestinationIsPaused(t *testing.T) {
	runOnSites(t, func(s *site) {
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		sent := 0
		q, j := s.claimed(&sent)
		q.leave(j.ID)
		save := func(o audience.SendOutcome) (paused bool) {
			o.Result = audience.SendFailed
			for range fair.BreakAfter {
				q.enter([]store.ClaimedDelivery{j.ClaimedDelivery})
				q.save([]store.DeliveryResult{{ClaimedDelivery: j.ClaimedDelivery, Outcome: o}})
			}
			return !q.gate.Plan(time.Now()).Admits(target(j.ClaimedDelivery))
		}
		if save(audience.SendOutcome{Reason: "No."}) {
			t.Error("failures of single messages paused the destination")
		}
		if !save(mailDisabled{}.send(t.Context(), audience.Notification{})) {
			t.Error("mail is not paused without a mail server")
		}
		if save(audience.SendOutcome{Reason: "No."}) {
			t.Error("a response does not end the pause")
		}
	})
}

// TestSendsEndBeforeTheLease checks that an attempt ends after SendTimeout, and before
// the lease.
func TestSendsEndBeforeTheLease(t *testing.T) {
	t.Parallel()
	var end time.Time
	q := testQueue(&Notifier{}, func(ctx context.Context) audience.SendOutcome {
		end, _ = ctx.Deadline()
		return audience.SendOutcome{Result: audience.SendAccepted}
	})
	for waited, left := range map[time.Duration]time.Duration{
		0: audience.SendTimeout, 4 * time.Second: audience.SendTimeout, 18 * time.Second: 7 * time.Second,
	} {
		before := time.Now()
		q.attempt(t.Context(), before.Add(-waited), audience.Notification{})
		if end.Before(before.Add(left)) || end.After(time.Now().Add(left)) {
			t.Errorf("%v after the claim an attempt has %v, want %v", waited, end.Sub(before), left)
		}
	}
	if maxQueued != 5*time.Second || saveTimeout < audience.LeaseDuration {
		t.Errorf("a delivery is queued for up to %v, saving is retried for %v", maxQueued, saveTimeout)
	}
}

func TestPanicIsAnOutcome(t *testing.T) {
	n := &Notifier{Config: Config{Logger: slog.New(slog.DiscardHandler)}}
	q := testQueue(n, func(context.Context) audience.SendOutcome { panic("no") })
	o := q.attempt(t.Context(), time.Now(), audience.Notification{})
	d := audience.Delivery{State: audience.DeliverySending}
	d.ApplyOutcome(o, time.Now(), 0)
	if d.State != audience.DeliveryDead || !strings.Contains(d.Reason, "internal error") {
		t.Errorf("delivery after a panic: %+v", d)
	}
}
