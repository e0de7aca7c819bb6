package notify

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/hostname"
	"github.com/wneessen/go-mail/smtp"
)

// Limits of the connections to the mail server.
const (
	smtpIdleTime  = 30 * time.Second // after which an idle connection is closed
	smtpMails     = 100              // mails per connection
	smtpRead      = 64 << 10         // bytes of the server's replies to one mail
	smtpQuitTime  = time.Second      // timeout of QUIT
	smtpReasonMax = 300              // characters of a reason
)

// mailLetters is how many letters are kept: many deliveries of few events are sent together.
const mailLetters = 8

// mailer sends mail through the operator's mail server. It is safe for concurrent use, and uses one connection for each
// mail that is being sent.
type mailer struct {
	url                        *url.URL
	base, address, host, hello string
	from                       mail.Address
	user, password             string
	implicit                   bool // TLS from the first byte
	requireTLS                 bool // no mail is sent without TLS
	loopback                   bool
	tls                        *tls.Config
	secrets                    *strings.Replacer // removes credentials from the server's replies

	mu      sync.Mutex
	idle    []*session // the most recently used is the last
	letters []*letter  // the newest first, at most mailLetters
	closed  bool
}

// newMailer returns a mailer for the server at u, the setting ALLSWELL_SMTP_URL:
// smtp://user:password@host:port or smtps://…. The links in its mails begin with base,
// which has no trailing slash. hello is the name of this machine in EHLO; "": its address.
//
// With smtp, the mailer uses STARTTLS if the server offers it, and requires it if there are credentials and the host is
// not this machine. Where TLS is not required, the certificate is not verified: an attacker who can forge it can also
// remove the offer of STARTTLS.
func newMailer(u *url.URL, base, hello string, from mail.Address) *mailer {
	m := &mailer{url: u, base: base, hello: hello, host: u.Hostname(), from: from, implicit: u.Scheme == "smtps"}
	m.user = u.User.Username()
	m.password, _ = u.User.Password()
	ip := net.ParseIP(m.host)
	m.loopback = m.host == "localhost" || strings.HasSuffix(m.host, ".localhost") || ip != nil && ip.IsLoopback()
	m.requireTLS = m.implicit || m.user != "" && !m.loopback
	m.tls = &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: !m.requireTLS}
	port := u.Port()
	switch {
	case port != "":
	case m.implicit:
		port = "465"
	case m.user != "":
		port = "587"
	default:
		port = "25"
	}
	m.address = net.JoinHostPort(m.host, port)
	encode := base64.StdEncoding.EncodeToString
	secrets := []string{encode([]byte("\x00" + m.user + "\x00" + m.password)), encode([]byte(m.password)), m.password}
	var pairs []string
	for _, secret := range secrets {
		if m.password != "" {
			pairs = append(pairs, secret, "…")
		}
	}
	m.secrets = strings.NewReplacer(pairs...)
	return m
}

// send makes one attempt to send the mail of a notification. It ends with ctx, or after audience.SendTimeout.
func (m *mailer) send(ctx context.Context, n audience.Notification) audience.SendOutcome {
	o := m.attempt(ctx, n)
	o.Detail = m.reason(o.Detail, n.Subscriber.Target)
	o.Reason = m.withoutNames(m.reason(o.Reason, n.Subscriber.Target))
	return o
}

// attempt is send without removing confidential details from the reason.
func (m *mailer) attempt(ctx context.Context, n audience.Notification) audience.SendOutcome {
	if m.base == "" {
		return audience.SendOutcome{
			Result: audience.SendServerUnavailable, Reason: "The links of a mail need the setting ALLSWELL_BASE_URL.",
			Unreachable: true,
		}
	}
	e, err := m.compose(n)
	if err != nil {
		return audience.SendOutcome{
			Result: audience.SendUndeliverable, Reason: fmt.Sprintf("The mail cannot be composed: %v.", err),
		}
	}
	return m.deliver(ctx, e)
}

// compose returns the mail of a notification. An error means that no attempt to send it can succeed.
func (m *mailer) compose(n audience.Notification) (envelope, error) {
	l, err := m.letter(n)
	if err != nil {
		return envelope{}, err
	}
	return l.mail(n, m.from)
}

// letter returns the letter of a notification: a kept one if its making is equal, or a new one.
func (m *mailer) letter(n audience.Notification) (*letter, error) {
	m.mu.Lock()
	last := slices.Clone(m.letters)
	m.mu.Unlock()
	made := makingOf(n)
	for _, l := range last {
		if reflect.DeepEqual(l.made, made) {
			return l, nil
		}
	}
	l, err := newLetter(n, m.base)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.letters = append([]*letter{l}, m.letters[:min(len(m.letters), mailLetters-1)]...)
	return l, nil
}

// deliver makes one attempt to send a mail.
func (m *mailer) deliver(ctx context.Context, e envelope) audience.SendOutcome {
	ctx, cancel := context.WithTimeout(ctx, audience.SendTimeout)
	defer cancel()
	s := m.take()
	if s != nil {
		err := m.over(ctx, s, e)
		if !isStale(err) || ctx.Err() != nil {
			return m.outcome(ctx, e.to, err)
		}
		// The idle connection was dead, and the server does not have the mail.
	}
	dialer := net.Dialer{}
	conn, err := dialer.DialContext(ctx, "tcp", m.address)
	if err != nil {
		return m.outcome(ctx, e.to, &failure{"connecting", err})
	}
	return m.outcome(ctx, e.to, m.over(ctx, &session{conn: &boundedConn{Conn: conn}}, e))
}

// over sends one mail over a connection, and then keeps the connection or closes it.
func (m *mailer) over(ctx context.Context, s *session, e envelope) error {
	s.conn.left = smtpRead
	// When ctx ends, all reads and writes fail.
	release := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	err := m.greet(s)
	if err == nil {
		err = s.deliver(e)
	}
	var f *failure
	var protocolErr textproto.ProtocolError
	if errors.As(err, &f) && s.conn.err != nil && errors.As(err, &protocolErr) {
		f.err = s.conn.err // the line is incomplete because the connection failed
	}
	var answer *textproto.Error
	// A rejected mail does not affect the next one. If an earlier step fails, the server
	// may reject everything on this connection.
	usable := err == nil || f.late() && errors.As(err, &answer) && answer.Code != 421
	if release() && usable {
		m.keep(s)
	} else {
		_ = s.conn.Close()
	}
	return err
}

// greet prepares a new connection: TLS, EHLO and authentication.
func (m *mailer) greet(s *session) (err error) {
	if s.ready {
		return nil
	}
	conn := net.Conn(s.conn)
	if m.implicit {
		secure := tls.Client(conn, m.tls)
		if err := secure.Handshake(); err != nil {
			return &failure{"TLS", err}
		}
		conn = secure
	}
	if s.client, err = smtp.NewClient(conn, m.host); err != nil {
		return &failure{"the greeting", err}
	}
	// Only a sender address in Unicode needs SMTPUTF8. If it is requested without need, a
	// later server may return the mail.
	s.client.SkipSMTPUTF8(isASCII(m.from.Address))
	hello := m.hello
	if hello == "" {
		hello = hostname.HelloFrom(s.conn.LocalAddr())
	}
	if err := s.client.Hello(hello); err != nil {
		return &failure{"EHLO", err}
	}
	if !m.implicit {
		if offered, _ := s.client.Extension("STARTTLS"); offered {
			err = s.client.StartTLS(m.tls)
		} else if m.requireTLS {
			err = errNoTLS
		}
		if err != nil {
			return &failure{"STARTTLS", err}
		}
	}
	if m.user != "" {
		if err := m.authenticate(s.client); err != nil {
			return &failure{"AUTH", err}
		}
	}
	s.ready = true
	return nil
}

// authenticate signs in with a mechanism that the server offers. Without TLS, it sends
// the password only to this machine.
func (m *mailer) authenticate(client *smtp.Client) error {
	_, offered := client.Extension("AUTH")
	mechanisms := strings.Fields(strings.ToUpper(offered))
	switch {
	case slices.Contains(mechanisms, "PLAIN"):
		return client.Auth(smtp.PlainAuth("", m.user, m.password, m.host, m.loopback))
	case slices.Contains(mechanisms, "LOGIN"):
		return client.Auth(smtp.LoginAuth(m.user, m.password, m.host, m.loopback))
	}
	return errNoAuth
}

// take returns an idle connection, or nil.
func (m *mailer) take() *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.idle) == 0 {
		return nil
	}
	s := m.idle[len(m.idle)-1]
	m.idle = m.idle[:len(m.idle)-1]
	s.timer.Stop()
	return s
}

// keep makes a connection idle. It is closed after smtpIdleTime.
func (m *mailer) keep(s *session) {
	m.mu.Lock()
	kept := !m.closed && s.mails < smtpMails
	if kept {
		m.idle = append(m.idle, s)
		s.timer = time.AfterFunc(smtpIdleTime, func() { m.drop(s) })
	}
	m.mu.Unlock()
	if !kept {
		s.quit()
	}
}

// drop closes a connection if it is still idle.
func (m *mailer) drop(s *session) {
	m.mu.Lock()
	i := slices.Index(m.idle, s)
	if i >= 0 {
		m.idle = slices.Delete(m.idle, i, i+1)
	}
	m.mu.Unlock()
	if i >= 0 {
		s.quit()
	}
}

// refuses returns nil: the mail server decides.
func (m *mailer) refuses(context.Context, string) error { return nil }

// server returns the address of the mail server, for the log.
func (m *mailer) server() string { return m.url.Host }

// close closes the idle connections. Connections that are in use are closed after their mail.
func (m *mailer) close() {
	m.mu.Lock()
	idle := m.idle
	m.idle, m.closed = nil, true
	m.mu.Unlock()
	for _, s := range idle {
		s.timer.Stop()
		s.quit()
	}
}

// session is one connection to the server.
type session struct {
	conn   *boundedConn
	client *smtp.Client
	timer  *time.Timer // runs while the session is idle
	mails  int         // number of mails that the server accepted
	ready  bool        // greet has succeeded
	begun  bool        // a mail was begun and not accepted
}

// deliver sends one mail.
func (s *session) deliver(e envelope) error {
	if s.begun {
		if err := s.client.Reset(); err != nil {
			return &failure{"RSET", err}
		}
	}
	s.begun = true
	if err := s.client.Mail(angle(e.from)); err != nil {
		return &failure{"MAIL FROM", err}
	}
	if err := s.client.Rcpt(angle(e.to)); err != nil {
		return &failure{"RCPT TO", err}
	}
	w, err := s.client.Data()
	if err != nil {
		return &failure{"DATA", err}
	}
	if _, err = w.Write(e.content); err == nil {
		err = w.Close()
	}
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code/100 == 2 {
		err = nil // any 2xx reply accepts the mail
	}
	if err != nil {
		return &failure{"the message", err}
	}
	s.begun = false
	s.mails++
	return nil
}

// quit sends QUIT and closes the connection without waiting for the reply.
func (s *session) quit() {
	_ = s.conn.SetDeadline(time.Now().Add(smtpQuitTime))
	_ = s.client.Text.PrintfLine("QUIT")
	_ = s.conn.Close()
}

// boundedConn is a connection that reads at most left bytes. err is the last error of Read.
type boundedConn struct {
	net.Conn
	left int
	err  error
}

func (c *boundedConn) Read(p []byte) (n int, err error) {
	if c.left <= 0 {
		c.err = errTooLong
		return 0, c.err
	}
	n, err = c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	if err != nil {
		c.err = err
	}
	return n, err
}

// angle returns an address in angle brackets, as SMTP commands require.
func angle(address string) string { return (&mail.Address{Address: address}).String() }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
