package notify

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/test/freeport"
)

// newTestMailer returns a mailer for a value of ALLSWELL_SMTP_URL whose host is at address.
func newTestMailer(t *testing.T, setting, address string) *mailer {
	t.Helper()
	u, err := url.Parse(setting)
	if err != nil {
		t.Fatal(err)
	}
	m := newMailer(u, mailBase, "status.example.net", mailFrom)
	m.address = address
	t.Cleanup(m.close)
	return m
}

// sendWithin makes one attempt with a timeout.
func sendWithin(t *testing.T, m *mailer, d time.Duration, n audience.Notification) audience.SendOutcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	o := m.send(ctx, n)
	if len([]rune(o.Reason)) > smtpReasonMax || strings.ContainsAny(o.Reason, "\r\n\x00\x1b") ||
		(o.Reason == "") != (o.Result == audience.SendAccepted) {
		t.Errorf("%d with the reason %q", o.Result, o.Reason)
	}
	return o
}

// smtpUnusable is the reason that a workspace sees if the server cannot be used.
const smtpUnusable = "The mail server cannot be used at the moment. The log of the service has the cause."

const smtpTestTimeout = 20 * time.Second // longer than any attempt that does not hang

func TestSMTPTaken(t *testing.T) {
	_, trusted := smtpCertificate()
	for _, c := range []struct {
		name, setting, way string
		ways               []string
		roots              *x509.CertPool
		want               smtpMail
	}{
		{"plain", "smtp://127.0.0.1", "plain", nil, nil, smtpMail{}},
		{"plain elsewhere", "smtp://example.com", "plain", nil, nil, smtpMail{}},
		{"STARTTLS of an unknown issuer", "smtp://example.com", "starttls", nil, nil, smtpMail{secure: true}},
		{"STARTTLS, PLAIN", "smtp://ann:s3cr%3At@example.com", "starttls", []string{"LOGIN", "PLAIN"}, trusted,
			smtpMail{secure: true, user: "ann"}},
		{"TLS, LOGIN", "smtps://ann:s3cr%3At@example.com", "tls", []string{"LOGIN"}, trusted,
			smtpMail{secure: true, user: "ann"}},
		{"TLS without authentication", "smtps://example.com", "tls", []string{"PLAIN"}, trusted,
			smtpMail{secure: true}},
		{"PLAIN on this host", "smtp://ann:s3cr%3At@127.0.0.1", "plain", []string{"PLAIN"}, nil, smtpMail{user: "ann"}},
		{"LOGIN on this host", "smtp://ann:s3cr%3At@localhost", "plain", []string{"LOGIN"}, nil, smtpMail{user: "ann"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			peer := newSMTPPeer(t, c.way, c.ways...)
			m := newTestMailer(t, c.setting, peer.address)
			m.tls.RootCAs = c.roots
			n := mailNotification(audience.PurposeEvent, mailDatabase()...)
			if o := sendWithin(t, m, smtpTestTimeout, n); o.Result != audience.SendAccepted {
				t.Fatalf("outcome: %+v", o)
			}
			mails := peer.received()
			if len(mails) != 1 {
				t.Fatalf("%d mails", len(mails))
			}
			got := mails[0]
			if p := parseMail(t, []byte(got.content)); p.subject != "[Acme] Resolved: Database <down>" {
				t.Errorf("subject %q", p.subject)
			}
			if got.hello != "status.example.net" {
				t.Errorf("the server was greeted as %q", got.hello)
			}
			got.content, got.hello = "", ""
			c.want.from, c.want.to = "status@example.com", "ann@example.org"
			if got != c.want {
				t.Errorf("mail that arrived: %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestSMTPMisconfigured checks that failures that the operator can correct are retried,
// and that the password is not logged and not sent to an unverified server.
func TestSMTPMisconfigured(t *testing.T) {
	_, trusted := smtpCertificate()
	for _, c := range []struct {
		name, setting, way, reason string
		ways                       []string
		roots                      *x509.CertPool
	}{
		{"TLS is required", "smtp://ann:s3cr%3At@example.com", "plain", "does not offer TLS", []string{"PLAIN"}, nil},
		{"STARTTLS, an unknown issuer", "smtp://ann:s3cr%3At@example.com", "starttls", "certificate", []string{"PLAIN"},
			nil},
		{"TLS, an unknown issuer", "smtps://example.com", "tls", "certificate", nil, nil},
		{"TLS, another name", "smtps://mail.invalid", "tls", "certificate", nil, trusted},
		{"no TLS where it is expected", "smtps://example.com", "plain", "need smtp://", nil, trusted},
		{"no authentication", "smtp://ann:s3cr%3At@127.0.0.1", "plain", "PLAIN, LOGIN", nil, nil},
		{"only unknown mechanisms", "smtp://ann:s3cr%3At@127.0.0.1", "plain", "PLAIN, LOGIN", []string{"GSSAPI"}, nil},
		{"a wrong password", "smtp://ann:hunter22@127.0.0.1", "plain",
			"answered 535 at AUTH: 5.0.0 wrong password … (Check user", []string{"PLAIN"}, nil},
		{"a wrong password, LOGIN", "smtp://ann:hunter22@127.0.0.1", "plain",
			"answered 535 at AUTH: 5.0.0 wrong password …", []string{"LOGIN"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			peer := newSMTPPeer(t, c.way, c.ways...)
			m := newTestMailer(t, c.setting, peer.address)
			m.tls.RootCAs = c.roots
			o := sendWithin(t, m, smtpTestTimeout, mailNotification(audience.PurposeLink))
			if o.Result != audience.SendServerUnavailable || !strings.Contains(o.Detail, c.reason) ||
				strings.Contains(o.Detail+o.Reason, "hunter22") || o.Reason != smtpUnusable {
				t.Errorf("outcome: %+v, want %q", o, c.reason)
			}
			if mails := peer.received(); len(mails) != 0 {
				t.Errorf("received %+v", mails)
			}
		})
	}
}

func TestSMTPPorts(t *testing.T) {
	for setting, want := range map[string]string{
		"smtp://mail.example": "mail.example:25", "smtp://a:b@mail.example": "mail.example:587",
		"smtps://mail.example":     "mail.example:465",
		"smtp://mail.example:2525": "mail.example:2525", "smtps://a:b@[::1]:1465": "[::1]:1465",
	} {
		u, err := url.Parse(setting)
		if err != nil {
			t.Fatal(err)
		}
		if got := newMailer(u, mailBase, "", mailFrom).address; got != want {
			t.Errorf("%s is at %s, want %s", setting, got, want)
		}
	}
}

func TestSMTPBroken(t *testing.T) {
	m := newTestMailer(t, "smtp://127.0.0.1", "127.0.0.1:1")
	n := mailNotification(audience.PurposeLink)
	n.Subscriber.Target = "ann@example.org\r\nRCPT TO:<eve@example.net>"
	o := sendWithin(t, m, smtpTestTimeout, n)
	if o.Result != audience.SendUndeliverable || !strings.Contains(o.Reason, "not an email address") {
		t.Errorf("outcome of an invalid address: %+v", o)
	}
	m.base = ""
	o = sendWithin(t, m, smtpTestTimeout, n)
	if o.Result != audience.SendServerUnavailable || !strings.Contains(o.Reason, "ALLSWELL_BASE_URL") {
		t.Errorf("without a base address: %+v", o)
	}
}

func TestSMTPUnreachable(t *testing.T) {
	address := freeport.Address(t)
	m := newTestMailer(t, "smtp://127.0.0.1", address)
	o := sendWithin(t, m, smtpTestTimeout, mailNotification(audience.PurposeLink))
	if o.Result != audience.SendServerUnavailable || !o.Unreachable || o.Reason != smtpUnusable ||
		!strings.Contains(o.Detail, syscall.ECONNREFUSED.Error()) {
		t.Errorf("outcome without a server: %+v", o)
	}
}

// smtpSteps are the steps at which a server may misbehave, and their names in reasons.
var smtpSteps = []struct {
	name, reason string
	early        bool // before the server has the recipient
}{
	{"greeting", "the greeting", true}, {"EHLO", "EHLO", true}, {"STARTTLS", "STARTTLS", true},
	{"AUTH", "AUTH", true},
	{"MAIL", "MAIL FROM", true}, {"RCPT", "RCPT TO", false}, {"DATA", "DATA", false},
	{"message", "the message", false},
}

// smtpActs are the ways to misbehave.
var smtpActs = []struct {
	name, reason string
	act          func(net.Conn, int) error
	limit        time.Duration
}{
	{"hangs", "too slow", smtpHang, 2 * time.Second},
	{"drips", "too slow", smtpDrip, 2 * time.Second},
	{"drops", "dropped the connection", smtpDrop, smtpTestTimeout},
	{"floods", "too long", smtpFlood, smtpTestTimeout},
	{"sends other text", "not SMTP", smtpReply("hello there\r\n"), smtpTestTimeout},
	{"4xx", "answered 451", smtpReply("451 4.3.0 try \x1b[31mlater\r\n"), smtpTestTimeout},
	{"421", "answered 421", smtpReply("421 closing\r\n"), smtpTestTimeout},
	{"5xx", "answered 554", smtpReply("554-5.0.0 no\r\n554 5.0.0 " + strings.Repeat("never ", 200) + "\r\n"),
		smtpTestTimeout},
}

// TestSMTPSteps checks that an attempt ends in time with the right outcome, whatever the
// server does at any step.
func TestSMTPSteps(t *testing.T) {
	t.Parallel()
	// In parallel, because most of them only wait.
	var running sync.WaitGroup
	defer running.Wait()
	for _, step := range smtpSteps {
		for _, act := range smtpActs {
			running.Go(func() {
				t.Run(step.name+" "+act.name, func(t *testing.T) {
					script, setting := smtpScript{step: step.name, act: act.act, offer: "8BITMIME"}, "smtp://127.0.0.1"
					switch step.name {
					case "STARTTLS":
						script.offer = "STARTTLS"
					case "AUTH":
						script.offer, setting = "AUTH PLAIN", "smtp://ann:s3cr%3At@127.0.0.1"
					}
					address, conns := script.serve(t)
					want := audience.SendFailed
					switch {
					case step.early:
						want = audience.SendServerUnavailable
					case act.name == "5xx":
						want = audience.SendRejected
					}
					m := newTestMailer(t, setting, address)
					o := sendWithin(t, m, act.limit, mailNotification(audience.PurposeEvent, mailDatabase()...))
					if o.Result != want || !strings.Contains(o.Detail, act.reason) ||
						!strings.Contains(o.Detail, step.reason) {
						t.Errorf("outcome: %+v, want %d for %q at %q", o, want, act.reason, step.reason)
					}
					if hidden := step.early && step.name != "MAIL"; hidden && o.Reason != smtpUnusable {
						t.Errorf("the reason %q reveals more than that the server cannot be used", o.Reason)
					} else if !hidden && !strings.Contains(o.Reason, act.reason) {
						t.Errorf("the reason %q lacks %q", o.Reason, act.reason)
					}
					answered := act.name == "4xx" || act.name == "5xx"
					trouble := step.early || act.name == "421" || !answered && step.name != "message"
					if o.Unreachable != trouble {
						t.Errorf("unreachable: %t, want %t", o.Unreachable, trouble)
					}
					if conns.Load() != 1 {
						t.Errorf("%d connections for one attempt", conns.Load())
					}
					if len(m.idle) > 0 && (act.name == "421" || act.limit < smtpTestTimeout || step.early) {
						t.Error("the connection is kept")
					}
				})
			})
		}
	}
}

// TestSMTPWithoutReset checks that a server without RSET gets a new connection after each
// refusal.
func TestSMTPWithoutReset(t *testing.T) {
	address, conns := smtpScript{step: "RCPT", reset: "502 what?", act: func(conn net.Conn, nth int) error {
		return smtpReply([]string{"550 no\r\n", "250 fine\r\n"}[nth-1])(conn, nth)
	}}.serve(t)
	m := newTestMailer(t, "smtp://127.0.0.1", address)
	for i, want := range []audience.SendResult{audience.SendRejected, audience.SendAccepted, audience.SendAccepted} {
		if o := sendWithin(t, m, smtpTestTimeout, mailNotification(audience.PurposeLink)); o.Result != want {
			t.Errorf("mail %d: %+v", i, o)
		}
	}
	if conns.Load() != 2 {
		t.Errorf("%d connections", conns.Load())
	}
}

// TestSMTPRelay checks that a relay's refusal of our mail is not counted against the
// recipient.
func TestSMTPRelay(t *testing.T) {
	for answer, want := range map[string]audience.SendResult{
		"554 5.7.1 looks like spam":  audience.SendUndeliverable,
		"550 5.1.1 nobody after all": audience.SendRejected,
	} {
		address, _ := smtpScript{step: "message", act: smtpReply(answer + "\r\n")}.serve(t)
		o := sendWithin(t, newTestMailer(t, "smtp://127.0.0.1", address), smtpTestTimeout,
			mailNotification(audience.PurposeLink))
		if o.Result != want {
			t.Errorf("%s after the message: %+v", answer, o)
		}
	}
	for answer, want := range map[string]audience.SendResult{
		"554 5.7.1 <ann@example.org>: Relay access denied": audience.SendFailed,
		"550 relay not permitted":                          audience.SendFailed,
		"551 we do not relay":                              audience.SendFailed,
		"550 5.1.1 User unknown in relay recipient table":  audience.SendRejected,
		"550 User 5.7.1 unknown":                           audience.SendRejected,
		"530 5.7.0 Authentication required":                audience.SendFailed,
		"530 5.5.1 Authentication required":                audience.SendFailed,
		"550 5.1.1 No such user":                           audience.SendRejected,
		"552 5.2.2 Mailbox full":                           audience.SendRejected,

		"550 5.7.1 Our policy":                         audience.SendFailed,
		"554-5.7.23 SPF\r\n554 5.7.23 says no":         audience.SendFailed,
		"553 5.1.7 A bad address":                      audience.SendFailed,
		"550 5.1.8 An unknown domain":                  audience.SendFailed,
		"550 #5.7.1 Our policy":                        audience.SendFailed,
		"550 5.1.10 Null MX":                           audience.SendRejected,
		"550 5.1.1 Sender blocked by nobody":           audience.SendRejected,
		"550 Sender verify failed":                     audience.SendFailed,
		"553 you are blocked":                          audience.SendFailed,
		"554 on a blacklist":                           audience.SendFailed,
		"554 on a Blocklist":                           audience.SendFailed,
		"550 see spamhaus.org":                         audience.SendFailed,
		"554 5.9.12.3 is listed at Spamhaus":           audience.SendFailed,
		"554 Client host rejected":                     audience.SendFailed,
		"551 the sender is told: User not local":       audience.SendRejected,
		"550 No such user":                             audience.SendRejected,
		"550 <relay.sender@example.org>: No such user": audience.SendRejected,
	} {
		address, _ := smtpScript{step: "RCPT", act: smtpReply(answer + "\r\n")}.serve(t)
		n := mailNotification(audience.PurposeLink)
		if strings.Contains(answer, "relay.sender@") {
			n.Subscriber.Target = "relay.sender@example.org"
		}
		if o := sendWithin(t, newTestMailer(t, "smtp://127.0.0.1", address), smtpTestTimeout, n); o.Result != want {
			t.Errorf("%s: %+v", answer, o)
		}
	}
}

// TestSMTPReasonWithoutAddress checks that the stored reason omits the address, which
// servers quote and which is deleted before the reason.
func TestSMTPReasonWithoutAddress(t *testing.T) {
	for step, name := range map[string]string{"RCPT": "RCPT TO", "message": "the message"} {
		for answer, want := range map[string]string{
			"550 5.1.1 <ann@example.org>: unknown": "550 at " + name + ": 5.1.1 <…>: unknown",
			"450 Ann@Example.ORG, ANN@EXAMPLE.ORG": "450 at " + name + ": …, …",
			"550-no ann@example.org\r\n550 here":   "550 at " + name + ": no … here",
			// No half of it is left where the reason is cut off.
			"550 " + strings.Repeat("x", smtpReasonMax-60) + strings.Repeat(" ann@example.org", 9): "…",
		} {
			address, _ := smtpScript{step: step, act: smtpReply(answer + "\r\n")}.serve(t)
			o := sendWithin(t, newTestMailer(t, "smtp://127.0.0.1", address), smtpTestTimeout,
				mailNotification(audience.PurposeLink))
			if !strings.HasSuffix(o.Reason, want) || strings.Contains(strings.ToLower(o.Reason+o.Detail), "ann") {
				t.Errorf("%q at %s, want %q", o.Reason, step, want)
			}
		}
	}
}

// TestSMTPReasonWithoutNames checks that the workspace does not see the names of machines
// that mail servers mention; the operator may.
func TestSMTPReasonWithoutNames(t *testing.T) {
	for answer, want := range map[string]string{
		"550 5.1.1 mx3.corp.example.com[10.1.2.3]:25 said: 550 unknown": "5.1.1 …[…]:25 said: 550 unknown",
		"550 5.1.1 smtp.CORP.example.com: unknown at 12:30:45":          "5.1.1 …: unknown at 12:30:45",
		"550 no, says fd00::1:2, and ::ffff:10.0.0.1, and 10.0.0.5:":    "no, says …, and …, and …:",
		"550 5.1.1 see https://support.example.net/a?p=NoSuchUser":      "5.1.1 see https://support.example.net/a?p=NoSuchUser",
	} {
		address, _ := smtpScript{step: "RCPT", act: smtpReply(answer + "\r\n")}.serve(t)
		o := sendWithin(t, newTestMailer(t, "smtp://smtp.corp.example.com", address), smtpTestTimeout,
			mailNotification(audience.PurposeLink))
		if o.Reason != "The mail server answered 550 at RCPT TO: "+want {
			t.Errorf("reason: %q, want %q", o.Reason, want)
		}
		if !strings.HasSuffix(o.Detail, answer[4:]) {
			t.Errorf("the log has %q of %q", o.Detail, answer)
		}
	}
}

// TestSMTPEvery2xxReplyIsAcceptance checks that any 2xx reply after the message means that the
// server has accepted it.
func TestSMTPEvery2xxReplyIsAcceptance(t *testing.T) {
	address, _ := smtpScript{step: "message", act: smtpReply("252 I have it\r\n")}.serve(t)
	o := sendWithin(t, newTestMailer(t, "smtp://127.0.0.1", address), smtpTestTimeout,
		mailNotification(audience.PurposeLink))
	if o.Result != audience.SendAccepted {
		t.Errorf("outcome: %+v", o)
	}
}

// TestSMTPInterrupted checks that no SMTP session delays a stop of the service.
func TestSMTPInterrupted(t *testing.T) {
	at := make(chan struct{})
	address, _ := smtpScript{step: "RCPT", act: func(conn net.Conn, _ int) error {
		close(at)
		return smtpHang(conn, 0)
	}}.serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := newTestMailer(t, "smtp://127.0.0.1", address)
	done := make(chan audience.SendOutcome, 1)
	go func() { done <- m.send(ctx, mailNotification(audience.PurposeLink)) }()
	<-at
	cancel()
	select {
	case o := <-done:
		if o.Result != audience.SendFailed || o.Reason != "The attempt was cancelled at RCPT TO." {
			t.Errorf("outcome of an interrupted attempt: %+v", o)
		}
	case <-time.After(smtpTestTimeout):
		t.Error("the session did not end")
	}
}

func TestSMTPReuse(t *testing.T) {
	peer := newSMTPPeer(t, "plain")
	m := newTestMailer(t, "smtp://127.0.0.1", peer.address)
	n := mailNotification(audience.PurposeLink)
	nobody := n
	nobody.Subscriber.Target = "nobody@example.org"
	for i, c := range []struct {
		n    audience.Notification
		want audience.SendResult
	}{{n, audience.SendAccepted}, {nobody, audience.SendRejected}, {n, audience.SendAccepted}} {
		if o := sendWithin(t, m, smtpTestTimeout, c.n); o.Result != c.want {
			t.Errorf("mail %d: %+v", i, o)
		}
	}
	if conns := peer.conns.Load(); conns != 1 || len(peer.received()) != 2 {
		t.Errorf("%d connections, %d mails", conns, len(peer.received()))
	}
	for range smtpMails - 1 {
		if o := sendWithin(t, m, smtpTestTimeout, n); o.Result != audience.SendAccepted {
			t.Fatalf("outcome on the kept connection: %+v", o)
		}
	}
	if conns := peer.conns.Load(); conns != 2 || len(m.idle) != 1 {
		t.Errorf("%d connections for %d mails, %d kept", conns, len(peer.received()), len(m.idle))
	}
	m.drop(m.idle[0]) // as after smtpIdleTime
	if o := sendWithin(t, m, smtpTestTimeout, n); o.Result != audience.SendAccepted || peer.conns.Load() != 3 {
		t.Errorf("outcome on a new connection: %+v, %d connections", o, peer.conns.Load())
	}
	m.close()
	if o := sendWithin(t, m, smtpTestTimeout, n); o.Result != audience.SendAccepted || len(m.idle) != 0 {
		t.Errorf("after the end: %+v, %d kept", o, len(m.idle))
	}
}

// TestSMTPConcurrent checks that concurrent sends share kept connections.
func TestSMTPConcurrent(t *testing.T) {
	peer := newSMTPPeer(t, "starttls")
	m := newTestMailer(t, "smtp://127.0.0.1", peer.address)
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			for i := range 20 {
				n := mailNotification(audience.PurposeLink)
				n.Subscriber.Target = fmt.Sprintf("ann%d-%d@example.org", worker, i)
				if o := m.send(t.Context(), n); o.Result != audience.SendAccepted {
					t.Errorf("outcome: %+v", o)
				}
			}
		})
	}
	running.Wait()
	to := make(map[string]bool)
	for _, mail := range peer.received() {
		to[mail.to] = true
		if got := parseMail(t, []byte(mail.content)).header.Get("To"); got != "<"+mail.to+">" {
			t.Errorf("to %s, in the header %s", mail.to, got)
		}
	}
	if len(to) != 160 || len(peer.received()) != 160 || peer.conns.Load() > 8 {
		t.Errorf("%d recipients, %d mails, %d connections", len(to), len(peer.received()), peer.conns.Load())
	}
}

// TestSMTPStale checks that a kept connection which the server has closed costs no
// attempt. A connection that ends after the message does, because the server may have the
// message.
func TestSMTPStale(t *testing.T) {
	for _, c := range []struct {
		step string
		act  func(net.Conn, int) error // at the second mail of the first connection
		want audience.SendResult
	}{
		{"MAIL", smtpDrop, audience.SendAccepted},
		{"MAIL", smtpReply("421 bye\r\n"), audience.SendAccepted},
		{"RCPT", smtpDrop, audience.SendAccepted},
		{"DATA", smtpDrop, audience.SendAccepted},
		{"MAIL", smtpReply("451 later\r\n"), audience.SendServerUnavailable},
		{"message", smtpDrop, audience.SendFailed},
	} {
		mails := 0 // of the first connection, which is served by one goroutine
		address, conns := smtpScript{step: c.step, act: func(conn net.Conn, nth int) error {
			if nth == 1 {
				if mails++; mails == 2 {
					return c.act(conn, nth)
				}
			}
			usual := "250 fine\r\n"
			if c.step == "DATA" {
				usual = "354 go on\r\n"
			}
			return smtpReply(usual)(conn, nth)
		}}.serve(t)
		m := newTestMailer(t, "smtp://127.0.0.1", address)
		first, second := sendWithin(t, m, smtpTestTimeout, mailNotification(audience.PurposeLink)),
			sendWithin(t, m, smtpTestTimeout, mailNotification(audience.PurposeLink))
		want := int32(1)
		if c.want == audience.SendAccepted {
			want = 2
		}
		if first.Result != audience.SendAccepted || second.Result != c.want || conns.Load() != want {
			t.Errorf("%s: %+v, %+v, %d connections", c.step, first, second, conns.Load())
		}
	}
}
