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
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/allswell/allswell"
)

// Limits of the connections to the mail server.
const (
	smtpIdleTime  = 30 * time.Second // a connection is kept for the next mail
	smtpMails     = 100              // over one connection
	smtpRead      = 64 << 10         // bytes that the server may say about one mail
	smtpQuitTime  = time.Second      // to say goodbye
	smtpReasonMax = 300              // characters of a reason
)

// mailer hands mails to the operator's mail server. It may be used by many at
// once; it has no more connections than there are mails at the same moment.
type mailer struct {
	url                        *url.URL
	base, address, host, hello string
	from                       mail.Address
	user, password             string
	implicit                   bool // TLS from the first byte
	demanded                   bool // nothing is sent without TLS
	loopback                   bool
	tls                        *tls.Config
	secrets                    *strings.Replacer // takes them out of what the server says

	mu     sync.Mutex
	idle   []*session // the one used last is the last
	closed bool
}

// newMailer returns a mailer for the server at u: smtp://user:password@host:port
// or smtps://…, as the setting ALLSWELL_SMTP_URL has it. The links in its mails
// begin with base, which has no slash at its end.
//
// With smtp, STARTTLS is used if the server offers it, and demanded if there
// are credentials and the host is not this one. Where TLS is not demanded its
// certificate is not checked either: who could forge it could as well take away
// the offer.
func newMailer(u *url.URL, base string, from mail.Address) *mailer {
	m := &mailer{url: u, base: base, host: u.Hostname(), from: from, implicit: u.Scheme == "smtps"}
	m.user = u.User.Username()
	m.password, _ = u.User.Password()
	ip := net.ParseIP(m.host)
	m.loopback = m.host == "localhost" || strings.HasSuffix(m.host, ".localhost") || ip != nil && ip.IsLoopback()
	m.demanded = m.implicit || m.user != "" && !m.loopback
	m.tls = &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: !m.demanded}
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
	// A name without a dot is none that the server could look up.
	if name, err := os.Hostname(); err == nil && strings.Contains(name, ".") {
		m.hello = name
	}
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

// send makes one attempt to hand the mail of a notice to the server. All of it,
// from the first packet to the last answer, ends with ctx or after
// allswell.SendTimeout.
func (m *mailer) send(ctx context.Context, n allswell.Notification) allswell.SendOutcome {
	o := m.attempt(ctx, n)
	o.Detail = m.reason(o.Detail, n.Subscriber.Target)
	o.Reason = m.withoutNames(m.reason(o.Reason, n.Subscriber.Target))
	return o
}

// attempt is send, with a reason that is not yet fit to be kept.
func (m *mailer) attempt(ctx context.Context, n allswell.Notification) allswell.SendOutcome {
	if m.base == "" {
		return allswell.SendOutcome{Reason: "The links of a mail need the setting ALLSWELL_BASE_URL.", Unreachable: true}
	}
	e, err := compose(n, m.base, m.from)
	if err != nil {
		return allswell.SendOutcome{Result: allswell.SendUndeliverable, Reason: fmt.Sprintf("The mail cannot be made: %v.", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, allswell.SendTimeout)
	defer cancel()
	s := m.take()
	if s != nil {
		err := m.over(ctx, s, e)
		if !isStale(err) || ctx.Err() != nil {
			return m.outcome(ctx, e.to, err)
		}
		// The kept connection was dead, and the server has not seen the mail.
	}
	dialer := net.Dialer{}
	conn, err := dialer.DialContext(ctx, "tcp", m.address)
	if err != nil {
		return m.outcome(ctx, e.to, &failure{"connecting", err})
	}
	return m.outcome(ctx, e.to, m.over(ctx, &session{conn: &boundedConn{Conn: conn}}, e))
}

// over sends one mail over a connection, and then keeps or closes it.
func (m *mailer) over(ctx context.Context, s *session, e envelope) error {
	s.conn.left = smtpRead
	// When ctx ends, all that reads and writes fails at once, and from then on.
	release := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	err := m.greet(s)
	if err == nil {
		err = s.deliver(e)
	}
	var f *failure
	var odd textproto.ProtocolError
	if errors.As(err, &f) && s.conn.err != nil && errors.As(err, &odd) {
		f.err = s.conn.err // half a line came, because nothing more did
	}
	var answer *textproto.Error
	// What was refused for the mail's sake says nothing against the next one; a
	// server that refuses before it may have enough of this connection.
	usable := err == nil || f.late() && errors.As(err, &answer) && answer.Code != 421
	if release() && usable {
		m.keep(s)
	} else {
		_ = s.conn.Close()
	}
	return err
}

// greet does on a new connection what comes before the first mail.
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
	// Only an address of ours in Unicode needs it, and asking for it without
	// need can make a later server return the mail.
	s.client.SkipSMTPUTF8(isASCII(m.from.Address))
	hello := m.hello
	if hello == "" {
		hello = literalOf(s.conn.LocalAddr())
	}
	if err := s.client.Hello(hello); err != nil {
		return &failure{"EHLO", err}
	}
	if !m.implicit {
		if offered, _ := s.client.Extension("STARTTLS"); offered {
			err = s.client.StartTLS(m.tls)
		} else if m.demanded {
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

// authenticate signs in with what the server offers. Without TLS the password
// goes to this host alone.
func (m *mailer) authenticate(client *smtp.Client) error {
	_, offered := client.Extension("AUTH")
	ways := strings.Fields(strings.ToUpper(offered))
	switch {
	case slices.Contains(ways, "PLAIN"):
		return client.Auth(smtp.PlainAuth("", m.user, m.password, m.host, m.loopback))
	case slices.Contains(ways, "LOGIN"):
		return client.Auth(smtp.LoginAuth(m.user, m.password, m.host, m.loopback))
	}
	return errNoAuth
}

// take returns a connection that was kept, or nil.
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

// keep keeps a connection for the next mail, for smtpIdleTime.
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

// drop closes a connection unless somebody has taken it meanwhile.
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

// server returns the address of the mail server, for the log.
func (m *mailer) server() string { return m.url.Host }

// close closes the idle connections. Connections that are in use are closed after
// their mail.
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
	mails  int         // taken by the server
	ready  bool        // greeted, encrypted and signed in
	begun  bool        // a mail that has not been taken to its end
}

// deliver hands one mail to the server.
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
		err = nil // any of them says that it has the mail
	}
	if err != nil {
		return &failure{"the message", err}
	}
	s.begun = false
	s.mails++
	return nil
}

// quit says goodbye and closes the connection, without waiting for an answer.
func (s *session) quit() {
	_ = s.conn.SetDeadline(time.Now().Add(smtpQuitTime))
	_ = s.client.Text.PrintfLine("QUIT")
	_ = s.conn.Close()
}

// boundedConn is a connection that reads no more than what is left, and
// remembers why it reads no more.
type boundedConn struct {
	net.Conn
	left int
	err  error
}

func (c *boundedConn) Read(p []byte) (n int, err error) {
	if c.left <= 0 {
		c.err = errTooMuch
		return 0, c.err
	}
	n, err = c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	if err != nil {
		c.err = err
	}
	return n, err
}

// angle is an address as the commands want it.
func angle(address string) string { return (&mail.Address{Address: address}).String() }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// literalOf is an address of this host in the form that stands for a name.
func literalOf(local net.Addr) string {
	host, _, err := net.SplitHostPort(local.String())
	ip := net.ParseIP(host)
	switch {
	case err != nil || ip == nil:
		return "localhost"
	case ip.To4() != nil:
		return "[" + ip.To4().String() + "]"
	default:
		return "[IPv6:" + ip.String() + "]"
	}
}
