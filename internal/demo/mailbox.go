package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
)

// The demo's reader of mail, and the most of one mail that is looked at.
const (
	demoReader  = "ann@example.com"
	demoMaxMail = 1 << 20
)

// demoMailbox is a mail server that shows what it is given and forgets it.
type demoMailbox struct {
	server *smtp.Server
	url    *url.URL
}

// openMailbox serves SMTP on a free port of this machine; show gets each mail's
// recipient, subject and plain text.
func openMailbox(show func(to, subject, text string)) (*demoMailbox, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &demoSession{show: show}, nil }))
	server.Domain, server.MaxMessageBytes, server.MaxRecipients = "localhost", demoMaxMail, 1
	server.ReadTimeout, server.WriteTimeout = time.Minute, time.Minute
	go server.Serve(l)
	return &demoMailbox{server, &url.URL{Scheme: "smtp", Host: l.Addr().String()}}, nil
}

func (m *demoMailbox) close() { m.server.Close() }

// demoSession is one connection to the mailbox.
type demoSession struct {
	show func(to, subject, text string)
	to   string
}

// Mail, Rcpt, Data, Reset and Logout make it an smtp.Session.
func (s *demoSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s *demoSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

func (s *demoSession) Data(r io.Reader) error {
	subject, text, err := readMail(io.LimitReader(r, demoMaxMail))
	if err == nil {
		s.show(s.to, subject, text)
	}
	return err
}

func (s *demoSession) Reset()        { s.to = "" }
func (s *demoSession) Logout() error { return nil }

// readMail returns the subject of a mail and its part in plain text.
func readMail(r io.Reader) (subject, text string, err error) {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return "", "", err
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return "", "", err
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return "", "", err
	}
	for parts := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err != nil {
			return "", "", errors.Join(errors.New("there is no part in plain text"), err)
		}
		if !strings.HasPrefix(part.Header.Get("Content-Type"), "text/plain") {
			continue
		}
		var body io.Reader = part
		switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
		case "quoted-printable":
			body = quotedprintable.NewReader(part)
		case "base64":
			body = base64.NewDecoder(base64.StdEncoding, part)
		}
		raw, err := io.ReadAll(body)
		return subject, string(bytes.TrimSpace(raw)), err
	}
}

// received tells of a mail in the demo's story: the subject, and the first lines
// of what it says.
func (d *demo) received(to, subject, text string) {
	const most = 5
	lines := []string{"Mail to " + to + ": " + subject}
	head := strings.TrimPrefix(subject, "[Example Shop] ")
	text, _, _ = strings.Cut(text, "\n-- ") // what all mails end with
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line == head || strings.HasPrefix(line, "http") {
			continue
		}
		if len(lines) > most {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, line)
	}
	d.say("%s", strings.Join(lines, "\n            | "))
}
