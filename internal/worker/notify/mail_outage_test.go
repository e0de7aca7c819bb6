package notify

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/freeport"
)

// runTogether runs each scenario on each engine, all at the same time: they mostly wait.
func runTogether(t *testing.T, scenarios map[string]func(s *site)) {
	var running sync.WaitGroup
	defer running.Wait()
	for name, f := range scenarios {
		for engine, dsn := range map[string]string{"sqlite": storetest.SQLite(t), "postgres": storetest.PostgreSQL(t)} {
			running.Go(func() {
				t.Run(name+"/"+engine, func(t *testing.T) { f(newSite(t, storetest.Open(t, dsn, store.Options{}))) })
			})
		}
	}
}

// faultyServer is a mail server that fails at one step until it works.
type faultyServer struct {
	address  string
	failures atomic.Int32 // at the step
	working  atomic.Bool
}

// newFaultyServer starts one that fails in a way at a step of each session.
func newFaultyServer(t *testing.T, step string, fail func(net.Conn, int) error) *faultyServer {
	f := new(faultyServer)
	f.address, _ = smtpScript{step: step, act: func(conn net.Conn, nth int) error {
		if !f.working.Load() {
			f.failures.Add(1)
			return fail(conn, nth)
		}
		usual := map[string]string{"greeting": "220 mail.test\r\n", "DATA": "354 go on\r\n"}[step]
		if usual == "" {
			usual = "250 fine\r\n"
		}
		return smtpReply(usual)(conn, nth)
	}}.serve(t)
	return f
}

// TestMailServerOutage opens incidents while the mail server cannot be used. They cause no attempts, the outage uses up
// no attempts of the mails, and all of them are sent soon after it. If only the recipient's server is out, the mails
// are attempted on schedule.
func TestMailServerOutage(t *testing.T) {
	t.Parallel()
	runTogether(t, map[string]func(*site){
		"it answers 421":                          outage("greeting", smtpReply("421 not now\r\n"), 1),
		"it answers 452 to the sender":            outage("MAIL", smtpReply("452 no space\r\n"), 1),
		"it answers 421 to the recipient":         outage("RCPT", smtpReply("421 not now\r\n"), 2),
		"it drops connections before the message": outage("DATA", smtpDrop, 2),
		"it refuses connections":                  outageWithoutServer,
		"the recipient is deferred":               deferredRecipient,
	})
}

const outageMails = 8

// incidents opens incidents one after the other, the later ones after the first attempt failed.
func (s *site) incidents(failed func() bool) {
	s.Helper()
	for range outageMails {
		s.openIncident("It is slow.")
		s.waitFor("the first attempt fails", failed)
	}
}

// allSent waits until all mails of incidents are sent.
func (s *site) allSent() {
	s.Helper()
	s.waitFor("all are sent", func() bool { return s.states() == fmt.Sprintf("map[sent:%d]", outageMails) })
}

// outage is a scenario in which two attempts fail at a step. The first failure after the server
// has the recipient counts, as it may be due to the recipient.
func outage(step string, fail func(net.Conn, int) error, maxAttempts int) func(*site) {
	return func(s *site) {
		server := newFaultyServer(s.T, step, fail)
		s.subscribe(audience.ChannelEmail, "ann@example.com")
		s.start(server.address)
		began := time.Now()
		s.incidents(func() bool { return server.failures.Load() > 0 })
		s.waitFor("the second attempt fails", func() bool { return server.failures.Load() > 1 })
		if took := time.Since(began); took < 4*time.Second {
			s.Errorf("the second attempt came after %v", took)
		}
		server.working.Store(true)
		s.allSent()
		for _, d := range s.deliveries() {
			if d.Attempts > maxAttempts {
				s.Errorf("%d attempts, want %d at most", d.Attempts, maxAttempts)
			}
		}
	}
}

// outageWithoutServer is a scenario in which nothing listens at the mail server's address.
func outageWithoutServer(s *site) {
	address := freeport.Address(s.T)
	s.subscribe(audience.ChannelEmail, "ann@example.com")
	s.start(address)
	s.incidents(func() bool {
		list := s.deliveries()
		return len(list) > 0 && list[len(list)-1].Reason == smtpUnusable
	})
	newSMTPPeerAt(s.T, "plain", address)
	s.allSent()
	for _, d := range s.deliveries() {
		if d.Attempts != 1 {
			s.Errorf("%d attempts, want 1", d.Attempts)
		}
	}
}

// deferredRecipient is a scenario in which the recipient's server answers 451.
func deferredRecipient(s *site) {
	server := newFaultyServer(s.T, "RCPT", smtpReply("451 4.7.1 greylisted\r\n"))
	s.subscribe(audience.ChannelEmail, "ann@example.com")
	s.start(server.address)
	began := time.Now()
	s.incidents(func() bool { return server.failures.Load() > 0 })
	s.waitFor("the second attempt fails", func() bool { return server.failures.Load() > 1 })
	if took := time.Since(began); took < 4*time.Second {
		s.Errorf("the second attempt came after %v", took)
	}
	attempts := 0
	s.waitFor("its result is saved", func() bool {
		attempts = 0
		for _, d := range s.deliveries() {
			attempts += d.Attempts
		}
		return attempts > 1 && !strings.Contains(s.states(), "sending")
	})
	list := s.deliveries()
	first := list[len(list)-1]
	wait := first.NextAttemptAt.Sub(first.UpdatedAt)
	if attempts != 2 || wait < 16*time.Second || wait > 24*time.Second || !strings.Contains(first.Reason, "451") {
		s.Errorf("after %d attempts, the next one comes after %v: %s", attempts, wait, first.Reason)
	}
}

// TestFailureOfOneMessage: a server that ends each session about one recipient does not delay
// mail to others, and that recipient's attempts count.
func TestFailureOfOneMessage(t *testing.T) {
	q := testQueue(&Notifier{}, nil)
	now := time.Now()
	outcome := func(o audience.SendOutcome) audience.SendResult {
		batch := []store.DeliveryResult{{ClaimedDelivery: store.ClaimedDelivery{Host: "mail"}, Outcome: o}}
		q.noteResults(batch, now)
		return batch[0].Outcome.Result
	}
	ended := audience.SendOutcome{Result: audience.SendFailed, Unreachable: true}
	for range 3 {
		if got := outcome(ended); got != audience.SendFailed {
			t.Errorf("the first failure counts as %d", got)
		}
		for range 3 {
			if got := outcome(ended); got != audience.SendServerUnavailable {
				t.Errorf("one after it counts as %d", got)
			}
		}
		got := outcome(audience.SendOutcome{Result: audience.SendFailed, Reason: "451"})
		if got != audience.SendFailed {
			t.Errorf("an answer counts as %d", got)
		}
		outcome(audience.SendOutcome{Result: audience.SendAccepted})
	}
}
