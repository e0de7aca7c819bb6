package demo

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
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

const (
	demoReader  = "ann@example.com" // the subscriber
	demoMaxMail = 1 << 20           // bytes
)

// mailbox is an SMTP server that prints mails. It implements only what the service's own sender uses, so that the
// program does not link a complete mail server.
type mailbox struct {
	listener net.Listener
	url      *url.URL
	show     func(to, subject, text string)
}

// openMailbox serves SMTP on a free port of this machine. show gets each mail's recipient, subject and plain text.
func openMailbox(show func(to, subject, text string)) (*mailbox, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mailbox{l, &url.URL{Scheme: "smtp", Host: l.Addr().String()}, show}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go m.serve(conn)
		}
	}()
	return m, nil
}

func (m *mailbox) close() { m.listener.Close() }

// serve answers one connection. It ends when the client quits or is silent for a minute.
func (m *mailbox) serve(conn net.Conn) {
	defer conn.Close()
	c := textproto.NewConn(conn)
	reply := func(line string) error { return c.PrintfLine("%s", line) }
	to := ""
	for err := reply("220 localhost"); err == nil; {
		conn.SetDeadline(time.Now().Add(time.Minute))
		var line string
		if line, err = c.ReadLine(); err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "RCPT":
			_, address, _ := strings.Cut(rest, "<")
			to, _, _ = strings.Cut(address, ">")
			err = reply("250 OK")
		case "DATA":
			if err = reply("354 Go ahead"); err == nil {
				err = reply(m.receive(to, c.DotReader()))
			}
		case "QUIT":
			reply("221 Bye")
			return
		default: // HELO, EHLO, MAIL, RSET and NOOP; extensions are not offered
			err = reply("250 OK")
		}
	}
}

// receive shows a mail and returns the reply.
func (m *mailbox) receive(to string, r io.Reader) string {
	subject, text, err := readMail(io.LimitReader(r, demoMaxMail))
	io.Copy(io.Discard, r)
	if err != nil {
		return "554 The mail cannot be read"
	}
	m.show(to, subject, text)
	return "250 OK"
}

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

// received prints a mail: the subject, and the first lines of the text.
func (d *demo) received(to, subject, text string) {
	const most = 5
	lines := []string{"Mail to " + to + ": " + subject}
	head := strings.TrimPrefix(subject, "[Example Shop] ")
	text, _, _ = strings.Cut(text, "\n-- ") // the footer of all mails
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
