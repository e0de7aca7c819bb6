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

// dawdle makes a receiver slow. It is not a wait for anything.
func dawdle() { time.Sleep(time.Millisecond + rand.N(9*time.Millisecond)) }

// letter is a mail that a mail server has taken.
type letter struct {
	id, to string
	text   string // of the plain part
}

// postOffice is a mail server. It is slow before it takes a mail, and again
// before it says that it has.
type postOffice struct {
	address string
	server  *smtp.Server

	mu      sync.Mutex
	letters []letter // in the order of their arrival
	broken  []error  // what is no mail
}

func newPostOffice(t *testing.T) *postOffice {
	t.Helper()
	p := new(postOffice)
	p.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &counter{office: p}, nil }))
	p.server.Domain, p.server.ErrorLog = "mail.test", silence{}
	l := listen(t)
	p.address = l.Addr().String()
	serve(t, func() { _ = p.server.Serve(l) }, p.server.Close)
	return p
}

// taken returns the mails so far.
func (p *postOffice) taken(t *testing.T) []letter {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, err := range p.broken {
		t.Errorf("what came is no mail: %v", err)
	}
	return p.letters
}

// silence is a log that nobody reads: killed clients are no news.
type silence struct{}

func (silence) Printf(string, ...any) {}
func (silence) Println(...any)        {}

// counter serves one connection.
type counter struct {
	office *postOffice
	to     string
}

func (c *counter) Mail(string, *smtp.MailOptions) error {
	dawdle()
	return nil
}

func (c *counter) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = to
	return nil
}
func (c *counter) Reset()        {}
func (c *counter) Logout() error { return nil }

func (c *counter) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err // its sender was killed in the middle of it
	}
	read, err := readLetter(content)
	read.to = c.to
	c.office.mu.Lock()
	if err == nil {
		c.office.letters = append(c.office.letters, read)
	} else {
		c.office.broken = append(c.office.broken, fmt.Errorf("%w\n%.2000s", err, content))
	}
	c.office.mu.Unlock()
	dawdle()
	return nil
}

func readLetter(content []byte) (letter, error) {
	m, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return letter{}, err
	}
	read := letter{id: m.Header.Get("Message-ID")}
	_, form, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return read, err
	}
	plain, err := multipart.NewReader(m.Body, form["boundary"]).NextPart() // decodes it, too
	if err != nil {
		return read, err
	}
	text, err := io.ReadAll(plain)
	read.text = strings.ReplaceAll(string(text), "\r\n", "\n")
	return read, err
}

// call is a request that a webhook has got.
type call struct {
	hook string // the path that was called
	id   string // webhook-id
	body notice
}

// notice is what of a call's body is looked at.
type notice struct {
	Type string
	Data struct {
		Page     struct{ URL string }
		Incident struct{ ID string }
		Update   *struct{ Message string }
	}
}

// what names the event within its incident, as story.events does.
func (n notice) what() string {
	if n.Data.Update == nil {
		return n.Type
	}
	return n.Data.Update.Message
}

// exchange answers webhooks on several hosts, and is slow before it has a call
// and again before it says so.
type exchange struct {
	hosts []string

	mu     sync.Mutex
	calls  []call // in the order of their arrival
	broken []error
}

func newExchange(t *testing.T, hosts int) *exchange {
	t.Helper()
	x := new(exchange)
	server := &http.Server{Handler: x, ReadHeaderTimeout: time.Minute}
	for range hosts {
		l := listen(t)
		x.hosts = append(x.hosts, "http://"+l.Addr().String())
		serve(t, func() { _ = server.Serve(l) }, server.Close)
	}
	return x
}

func (x *exchange) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender was killed in the middle of it
	}
	dawdle()
	c := call{hook: r.URL.Path, id: r.Header.Get("webhook-id")}
	err = json.Unmarshal(content, &c.body)
	x.mu.Lock()
	if err == nil {
		x.calls = append(x.calls, c)
	} else {
		x.broken = append(x.broken, fmt.Errorf("%w\n%.2000s", err, content))
	}
	x.mu.Unlock()
	dawdle()
}

// got returns the calls so far.
func (x *exchange) got(t *testing.T) []call {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, err := range x.broken {
		t.Errorf("what came is no webhook: %v", err)
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
