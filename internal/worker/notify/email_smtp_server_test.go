package notify

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	gosmtp "github.com/emersion/go-smtp"
)

// smtpCertificate returns a certificate for 127.0.0.1 and example.com, and a pool that
// trusts it.
var smtpCertificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s.TLS.Certificates[0], pool
})

// smtpPeer is a real mail server that accepts all mail.
type smtpPeer struct {
	address string
	conns   atomic.Int32

	mu    sync.Mutex
	mails []smtpMail
}

// smtpMail is a mail that the server accepted.
type smtpMail struct {
	from, to, user, content, hello string
	secure, utf8                   bool
}

// newSMTPPeer starts a mail server. way is "plain", "starttls" or "tls"; ways are the
// authentication mechanisms.
func newSMTPPeer(t *testing.T, way string, ways ...string) *smtpPeer {
	t.Helper()
	return newSMTPPeerAt(t, way, "127.0.0.1:0", ways...)
}

// newSMTPPeerAt is newSMTPPeer at an address.
func newSMTPPeerAt(t *testing.T, way, address string, ways ...string) *smtpPeer {
	t.Helper()
	p := new(smtpPeer)
	s := gosmtp.NewServer(gosmtp.BackendFunc(func(c *gosmtp.Conn) (gosmtp.Session, error) {
		return &smtpSession{peer: p, conn: c, ways: ways}, nil
	}))
	s.Domain, s.AllowInsecureAuth, s.EnableSMTPUTF8, s.ErrorLog = "mail.test", true, true, smtpNoLog{}
	certificate, _ := smtpCertificate()
	if way != "plain" {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	l = &smtpCounter{l, &p.conns}
	if way == "tls" {
		l, s.TLSConfig = tls.NewListener(l, s.TLSConfig), nil
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return p
}

type smtpNoLog struct{}

func (smtpNoLog) Printf(string, ...any) {}
func (smtpNoLog) Println(...any)        {}

// smtpCounter counts connections.
type smtpCounter struct {
	net.Listener
	count *atomic.Int32
}

func (l *smtpCounter) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.count.Add(1)
	}
	return c, err
}

// received returns the mails so far.
func (p *smtpPeer) received() []smtpMail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mails)
}

type smtpSession struct {
	peer *smtpPeer
	conn *gosmtp.Conn
	ways []string
	mail smtpMail
	open bool // a mail was begun and not ended
}

func (s *smtpSession) AuthMechanisms() []string { return s.ways }
func (s *smtpSession) Auth(way string) (sasl.Server, error) {
	check := func(user, password string) error {
		if user != "ann" || password != "s3cr:t" {
			return &gosmtp.SMTPError{Code: 535, Message: "wrong password " + password}
		}
		s.mail.user = user
		return nil
	}
	if way == "LOGIN" {
		return &smtpLogin{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return check(user, password) }), nil
}
func (s *smtpSession) Reset()        { s.open = false }
func (s *smtpSession) Logout() error { return nil }
func (s *smtpSession) Mail(from string, o *gosmtp.MailOptions) error {
	if s.open {
		return &gosmtp.SMTPError{Code: 503, Message: "A mail has begun already"}
	}
	s.open = true
	_, s.mail.secure = s.conn.TLSConnectionState()
	s.mail.from, s.mail.utf8, s.mail.hello = from, o.UTF8, s.conn.Hostname()
	return nil
}
func (s *smtpSession) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	if strings.HasPrefix(to, "nobody@") {
		return &gosmtp.SMTPError{Code: 550, EnhancedCode: gosmtp.EnhancedCode{5, 1, 1}, Message: "No such user"}
	}
	s.mail.to = to
	return nil
}
func (s *smtpSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	s.mail.content = string(raw)
	s.peer.mu.Lock()
	s.peer.mails = append(s.peer.mails, s.mail)
	s.peer.mu.Unlock()
	return err
}

// smtpLogin is the server's side of LOGIN, which go-sasl no longer has.
type smtpLogin struct {
	check func(user, password string) error
	said  []string
}

func (l *smtpLogin) Next(response []byte) ([]byte, bool, error) {
	if response != nil {
		l.said = append(l.said, string(response))
	}
	if len(l.said) == 2 {
		return nil, true, l.check(l.said[0], l.said[1])
	}
	return []byte([]string{"Username:", "Password:"}[len(l.said)]), false, nil
}

// smtpScript is a mail server that misbehaves at one step.
type smtpScript struct {
	step  string                             // greeting, EHLO, STARTTLS, AUTH, MAIL, RCPT, DATA or message
	act   func(conn net.Conn, nth int) error // in place of the usual reply; nth counts the connections from 1
	offer string                             // an extension
	reset string                             // the reply to RSET; "": the usual one
}

// serve starts the script and returns its address.
func (s smtpScript) serve(t *testing.T) (address string, conns *atomic.Int32) {
	t.Helper()
	// The clients of other tests that look for a server which has ended connect to 127.0.0.1, perhaps to the same port.
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil { // not on every system
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	conns = new(atomic.Int32)
	var running sync.WaitGroup
	stop := make(chan struct{})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			nth := int(conns.Add(1))
			finished := make(chan struct{})
			running.Go(func() {
				select {
				case <-stop:
				case <-finished:
				}
				_ = conn.Close()
			})
			running.Go(func() { defer close(finished); _ = s.serveConn(conn, nth) })
		}
	})
	t.Cleanup(func() { l.Close(); close(stop); running.Wait() })
	return l.Addr().String(), conns
}

// serveConn serves one SMTP session.
func (s smtpScript) serveConn(conn net.Conn, nth int) error {
	answer := func(step, usual string) error {
		if step == s.step {
			return s.act(conn, nth)
		}
		_, err := io.WriteString(conn, usual+"\r\n")
		return err
	}
	err := answer("greeting", "220 mail.test")
	data := false
	for lines := bufio.NewScanner(conn); err == nil && lines.Scan(); {
		verb, _, _ := strings.Cut(lines.Text(), " ")
		switch {
		case data:
			if lines.Text() == "." {
				data, err = false, answer("message", "250 queued")
			}
		case verb == "EHLO" || verb == "HELO":
			err = answer("EHLO", "250-mail.test\r\n250 "+s.offer)
		case verb == "DATA":
			data, err = true, answer("DATA", "354 go on")
		case verb == "QUIT":
			return nil
		case verb == "RSET" && s.reset != "":
			_, err = io.WriteString(conn, s.reset+"\r\n")
		default:
			err = answer(verb, "250 fine")
		}
	}
	return err
}

func smtpReply(text string) func(net.Conn, int) error {
	return func(conn net.Conn, _ int) error {
		_, err := io.WriteString(conn, text)
		return err
	}
}

func smtpHang(conn net.Conn, _ int) error {
	_, err := io.Copy(io.Discard, conn)
	return errors.Join(io.EOF, err)
}

func smtpDrop(net.Conn, int) error { return io.EOF }

// smtpDrip sends an endless reply, one byte at a time.
func smtpDrip(conn net.Conn, _ int) error {
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		if _, err := io.WriteString(conn, "2"); err != nil {
			return err
		}
	}
}

// smtpFlood sends an endless reply as fast as it can.
func smtpFlood(conn net.Conn, _ int) error {
	for {
		if _, err := io.WriteString(conn, strings.Repeat("250-more\r\n", 100)); err != nil {
			return err
		}
	}
}
