package check

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/hostname"
)

var smtpType = Type{
	Name: "smtp", Label: "SMTP", Help: "Greets a mail server, and can switch to TLS.",
	Fields: []Field{
		hostField("mail.example.com"), standardPort(25),
		{
			Name: "security", Label: "Security", Help: "none, starttls, or tls from the beginning.",
			Kind: configfield.KindText, Choices: []string{"none", "starttls", "tls"}, Default: "none",
		},
		warnDaysField, downDaysField, insecureField, caField, clientCertificateField, ipVersionField,
	},
	New: func() Probe { return &smtpProbe{Port: 25, Security: "none", tlsOptions: defaultTLS} },
}

type smtpProbe struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	Security  string `json:"security"`
	IPVersion string `json:"ip_version,omitzero"`
	tlsOptions
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *smtpProbe) Validate(bad *kernel.ValidationError) {
	checkHost(bad, "host", &p.Host)
	p.prepare(bad, p.Host)
}

// Destination returns where secrets are sent.
func (p *smtpProbe) Destination() configfield.Destination {
	return hostDestination(p.Host, p.Port, p.Security, &p.tlsOptions)
}

// Target returns the target.
func (p *smtpProbe) Target() Target { return Target{p.Host, p.Port} }

func (p *smtpProbe) run(ctx context.Context, r *run) Outcome {
	conn, err := r.connect(ctx, "tcp"+p.IPVersion, joinHostPort(p.Host, p.Port), p.Security == "tls", p.config)
	if err != nil {
		return r.fail(err)
	}
	defer func() { conn.Close() }()
	r.enter(stageWaiting)
	hello := cmp.Or(r.network.Hello, hostname.HelloFrom(conn.LocalAddr()))
	session := newSMTPSession(conn)
	if _, err := session.read(220); err != nil {
		return smtpFailure(r, "the greeting", err)
	}
	r.gotFirstByte()
	extensions, err := session.hello(hello)
	if err != nil {
		return smtpFailure(r, "EHLO", err)
	}
	if p.Security == "starttls" {
		if !strings.Contains("\n"+strings.ToUpper(extensions)+"\n", "\nSTARTTLS\n") {
			return Outcome{Answered: true, Failure: "the server does not offer STARTTLS"}
		}
		if err := session.command(220, "STARTTLS"); err != nil {
			return smtpFailure(r, "STARTTLS", err)
		}
		secured, err := r.startTLS(ctx, conn, p.config)
		if err != nil {
			return r.fail(err)
		}
		conn = secured
		session = newSMTPSession(conn)
		if _, err := session.hello(hello); err != nil {
			return smtpFailure(r, "EHLO", err)
		}
	}
	_ = session.command(221, "QUIT") // the server has answered already
	return Outcome{Answered: true}
}

// smtpSession is a conversation with a mail server.
type smtpSession struct {
	reader *textproto.Reader
	conn   net.Conn
}

func newSMTPSession(conn net.Conn) *smtpSession {
	return &smtpSession{textproto.NewReader(bufio.NewReader(conn)), conn}
}

// read returns the text of an answer, whose code must be the expected one.
func (s *smtpSession) read(code int) (string, error) {
	_, text, err := s.reader.ReadResponse(code)
	return text, err
}

func (s *smtpSession) command(code int, line string) error {
	if _, err := fmt.Fprintf(s.conn, "%s\r\n", line); err != nil {
		return err
	}
	_, err := s.read(code)
	return err
}

// hello returns the lines of the answer to EHLO.
func (s *smtpSession) hello(name string) (string, error) {
	if _, err := fmt.Fprintf(s.conn, "EHLO %s\r\n", name); err != nil {
		return "", err
	}
	return s.read(250)
}

// smtpFailure returns the outcome of an unexpected answer.
func smtpFailure(r *run, to string, err error) Outcome {
	var answer *textproto.Error
	if errors.As(err, &answer) {
		return Outcome{
			Answered: true,
			Failure:  shorten(fmt.Sprintf("the mail server answered %s with %d %s", to, answer.Code, answer.Msg)),
		}
	}
	var protocol textproto.ProtocolError
	if errors.As(err, &protocol) {
		return Outcome{Answered: true, Failure: "the answer to " + to + " is not one of SMTP"}
	}
	return r.fail(err)
}
