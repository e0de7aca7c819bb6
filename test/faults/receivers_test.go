package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// delay makes a receiver slow, so that kills come while messages are sent.
func delay() { time.Sleep(time.Millisecond + rand.N(9*time.Millisecond)) }

// receivedMail is a mail that the mail server accepted.
type receivedMail struct {
	id, to string
	text   string // the plain text part
}

// mailServer is a mail server that is slow before it accepts a mail and before it confirms it.
type mailServer struct {
	address string
	server  *smtp.Server

	mu     sync.Mutex
	mails  []receivedMail // in the order of arrival
	broken []error        // messages that cannot be parsed
}

func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	p := new(mailServer)
	p.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &mailSession{mail: p}, nil
	}))
	p.server.Domain, p.server.ErrorLog = "mail.test", discardLog{}
	l := listen(t)
	p.address = l.Addr().String()
	serve(t, func() { _ = p.server.Serve(l) }, p.server.Close)
	return p
}

// received returns the mails so far.
func (p *mailServer) received(t *testing.T) []receivedMail {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, err := range p.broken {
		t.Errorf("invalid mail: %v", err)
	}
	return p.mails
}

// discardLog drops the mail server's log, because clients are killed.
type discardLog struct{}

func (discardLog) Printf(string, ...any) {}
func (discardLog) Println(...any)        {}

// mailSession serves one connection.
type mailSession struct {
	mail *mailServer
	to   string
}

func (c *mailSession) Mail(string, *smtp.MailOptions) error {
	delay()
	return nil
}

func (c *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = to
	return nil
}
func (c *mailSession) Reset()        {}
func (c *mailSession) Logout() error { return nil }

func (c *mailSession) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err // its sender was killed
	}
	read, err := parseMail(content)
	read.to = c.to
	c.mail.mu.Lock()
	if err == nil {
		c.mail.mails = append(c.mail.mails, read)
	} else {
		c.mail.broken = append(c.mail.broken, fmt.Errorf("%w\n%.2000s", err, content))
	}
	c.mail.mu.Unlock()
	delay()
	return nil
}

func parseMail(content []byte) (receivedMail, error) {
	m, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return receivedMail{}, err
	}
	read := receivedMail{id: m.Header.Get("Message-ID")}
	_, form, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return read, err
	}
	plain, err := multipart.NewReader(m.Body, form["boundary"]).NextPart() // it is decoded
	if err != nil {
		return read, err
	}
	text, err := io.ReadAll(plain)
	read.text = strings.ReplaceAll(string(text), "\r\n", "\n")
	return read, err
}

// call is a request to a webhook.
type call struct {
	hook string // the path
	id   string // webhook-id
	body webhookBody
}

// webhookBody is the part of a call's body that is checked.
type webhookBody struct {
	Type string
	Data struct {
		Page     struct{ URL string }
		Incident struct{ ID string }
		Update   *struct{ Message string }
	}
	Alerts []struct { // of a message of a channel of alerts
		ID    string
		Kinds []string
	}
}

// what names the event within its incident, like incidentHistory.events.
func (n webhookBody) what() string {
	if n.Data.Update == nil {
		return n.Type
	}
	return n.Data.Update.Message
}

// webhookServers receives webhooks on several hosts. It is slow before it records a call and
// before it responds.
type webhookServers struct {
	hosts []string
	slow  time.Duration // at most this much slower, each time

	mu     sync.Mutex
	calls  []call // in the order of arrival
	broken []error
}

func newWebhookServers(t *testing.T, hosts int) *webhookServers {
	t.Helper()
	x := new(webhookServers)
	server := &http.Server{Handler: x, ReadHeaderTimeout: time.Minute}
	for range hosts {
		l := listen(t)
		x.hosts = append(x.hosts, "http://"+l.Addr().String())
		serve(t, func() { _ = server.Serve(l) }, server.Close)
	}
	return x
}

func (x *webhookServers) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender was killed
	}
	x.delay()
	c := call{hook: r.URL.Path, id: r.Header.Get("webhook-id")}
	err = json.Unmarshal(content, &c.body)
	x.mu.Lock()
	if err == nil {
		x.calls = append(x.calls, c)
	} else {
		x.broken = append(x.broken, fmt.Errorf("%w\n%.2000s", err, content))
	}
	x.mu.Unlock()
	x.delay()
}

func (x *webhookServers) delay() {
	delay()
	if x.slow > 0 {
		time.Sleep(rand.N(x.slow))
	}
}

// received returns the calls so far.
func (x *webhookServers) received(t *testing.T) []call {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, err := range x.broken {
		t.Errorf("invalid webhook: %v", err)
	}
	return x.calls
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve serves until the test ends.
func serve(t *testing.T, serve func(), stop func() error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve()
	}()
	t.Cleanup(func() {
		_ = stop() // a listener may be closed already
		<-done
	})
}
