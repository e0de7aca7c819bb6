package alertchannel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// hostile is a name that would mention people or be markup somewhere.
const hostile = "@everyone <!channel> <@U1> [x](http://evil) *b* `c` _d_ @room"

// exchange is what a service got.
type exchange struct {
	method, path, query string
	header              http.Header
	body                []byte
}

// service is the documented side of a type: how it is configured, what it accepts and how it answers.
type service struct {
	config   string // fields; SERVER is its address
	path     string // pattern of the path and the query
	auth     string // the header Authorization; "": none
	shape    shape  // of a JSON body, or of a form as an object
	form     bool   // the body is a form
	header   func(exchange) error
	answer   string // a body that means accepted
	status   int    // of it; 0: 200
	plain    bool   // a message that is refused as malformed is sent once more
	strict   bool   // an answer of 200 that is not the documented one is not accepted
	headline string // pattern that must be in the body of the hostile message
	ref      string // the reference that the answer gives
}

func moment(minutes int) time.Time {
	return time.Date(2026, 11, 24, 2, minutes, 0, 0, time.UTC)
}

// newMessage returns a message about alerts of some names.
func newMessage(thread *alert.Thread, kind alert.NoticeKind, change func(*alert.Alert), names ...string) alert.Message {
	m := alert.Message{
		ID: "msg_06eaih8a01q2huhtdq6u", ChannelID: "chn_06eaih8a01q2huhtdq6u", Thread: thread, At: moment(30),
		Links: alert.Links{
			Alerts:      "https://status.example.com/admin/alerts",
			Acknowledge: "https://status.example.com/alerts/0123456789abcdef0123456789",
		},
	}
	for i, name := range names {
		a := alert.Alert{ID: fmt.Sprintf("alt_%020d", i), OpenedAt: moment(10), Subject: alert.Subject{
			Event: alert.MonitorDown, Name: name, Severity: kernel.ImpactCritical, Reason: "no ping since 02:00",
			PageSlug: "acme", MonitorSlug: "nightly-backup",
		}}
		if change != nil {
			change(&a)
		}
		m.Items = append(m.Items, alert.Item{Alert: a, Kinds: []alert.NoticeKind{kind}})
	}
	return m
}

// messages are the messages that every type has to send well. ref is the reference of the first message of a thread.
func messages(ref string) map[string]alert.Message {
	first := func(open int) *alert.Thread {
		return &alert.Thread{ID: "thr_06eaih8a01khtdim35as", Key: "0123456789abcdef0123456789", First: true, Open: open}
	}
	later := &alert.Thread{ID: "thr_06eaih8a01khtdim35as", Key: "0123456789abcdef0123456789", Reference: ref}
	known := &alert.Thread{ID: "thr_06eaih8a01khtdim35as", Key: "0123456789abcdef0123456789", Reference: ref, Known: 1}
	resolved := func(a *alert.Alert) { a.ResolvedAt = moment(25) }
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("Server %04d", i))
	}
	long := strings.Repeat("Ω😀<&*", kernel.MaxNameLength/5)
	brief := newMessage(first(0), alert.NoticeOpened, resolved, "Nightly backup")
	brief.Items[0].Kinds = append(brief.Items[0].Kinds, alert.NoticeResolved)
	noLinks := newMessage(first(1), alert.NoticeOpened, func(a *alert.Alert) {
		a.Reason, a.PageSlug, a.MonitorSlug = "", "", ""
	}, "Nightly backup")
	noLinks.Links = alert.Links{}
	var longs []string
	for range 30 {
		longs = append(longs, long)
	}
	return map[string]alert.Message{
		"one":      newMessage(first(1), alert.NoticeOpened, nil, "Nightly backup"),
		"thousand": newMessage(first(1000), alert.NoticeOpened, nil, many...),
		"brief":    brief,
		"resolved": newMessage(later, alert.NoticeResolved, resolved, "Nightly backup"),
		"acknowledged": newMessage(known, alert.NoticeAcknowledged, func(a *alert.Alert) {
			a.AcknowledgedAt, a.AcknowledgedBy = moment(20), "Grace"
		}, "Nightly backup"),
		"test":   TestMessage(alert.Channel{Name: "Ops", WorkspaceName: "Acme"}, "Grace", moment(0)),
		"weekly": TestMessage(alert.Channel{Name: "Ops", WorkspaceName: "Acme"}, "", moment(0)),
		"hostile": newMessage(first(1), alert.NoticeOpened, func(a *alert.Alert) {
			a.Reason = "connection to " + hostile + " refused"
		}, hostile),
		"emoji": newMessage(first(1), alert.NoticeOpened, nil, "\U0001F600 Backup"),
		"right": newMessage(first(1), alert.NoticeOpened, nil, "גיבוי לילי"),
		"long": newMessage(first(1), alert.NoticeOpened, func(a *alert.Alert) {
			a.Reason = strings.Repeat("é😀", 1000)
		}, long),
		"long list": newMessage(first(30), alert.NoticeOpened, func(a *alert.Alert) {
			a.Reason = strings.Repeat("é😀\\_", 400)
		}, longs...),
		"repeated": newMessage(&alert.Thread{ID: "thr_06eaih8a01khtdim35as", Reference: ref, Open: 1},
			alert.NoticeRepeated, nil, "Nightly backup"),
		"no links":   noLinks,
		"unthreaded": newMessage(nil, alert.NoticeOpened, nil, "Nightly backup", "Shop"),
	}
}

// sink is a service that records what it gets, and answers.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	got    []exchange
	answer func(w http.ResponseWriter, n int) // n counts from 1
}

func newSink(t testing.TB) *sink {
	s := new(sink)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.got = append(s.got, exchange{r.Method, r.URL.Path, r.URL.RawQuery, r.Header, body})
		n, answer := len(s.got), s.answer
		s.mu.Unlock()
		answer(w, n)
	}))
	s.Server.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s
}

// reset forgets what the sink got, and sets how it answers.
func (s *sink) reset(answer func(w http.ResponseWriter, n int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got, s.answer = nil, answer
}

func (s *sink) taken() []exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]exchange(nil), s.got...)
}

// newChannel returns a channel as the store keeps it.
func newChannel(t testing.TB, typeName, config, server string) alert.Channel {
	t.Helper()
	typeName, _, _ = strings.Cut(typeName, " ")
	typ, ok := TypeOf(typeName)
	if !ok {
		t.Fatalf("there is no type %s", typeName)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.ReplaceAll(config, "SERVER", server)), &given); err != nil {
		t.Fatal(err)
	}
	for name := range given {
		if _, ok := typ.Field(name); !ok {
			t.Fatalf("%s has no field %s", typeName, name)
		}
	}
	public, secrets, err := typ.Read(given)
	if err != nil {
		t.Fatalf("%s: %v", typeName, err)
	}
	for name := range secrets {
		if bytes.Contains(public, secrets[name]) {
			t.Errorf("%s shows its secret %s", typeName, name)
		}
	}
	return alert.Channel{Type: typeName, Config: public, Secrets: secrets}
}

// check returns what is wrong with a request.
func (svc service) check(e exchange) error {
	if err := like(svc.path)(e.path + map[bool]string{true: "?"}[e.query != ""] + e.query); err != nil {
		return err
	}
	if got := e.header.Get("Authorization"); got != svc.auth {
		return fmt.Errorf("Authorization: %q", got)
	}
	if svc.header != nil {
		if err := svc.header(e); err != nil {
			return err
		}
	}
	var body any
	if svc.form {
		if e.header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			return fmt.Errorf("Content-Type %s", e.header.Get("Content-Type"))
		}
		values, err := url.ParseQuery(string(e.body))
		if err != nil {
			return err
		}
		o := make(map[string]any)
		for name, list := range values {
			if len(list) != 1 {
				return fmt.Errorf("%d values of %s", len(list), name)
			}
			o[name] = list[0]
		}
		body = o
	} else {
		if !strings.HasPrefix(e.header.Get("Content-Type"), "application/json") {
			return fmt.Errorf("Content-Type %s", e.header.Get("Content-Type"))
		}
		var err error
		if body, err = decodeJSON(e.body); err != nil {
			return err
		}
	}
	return svc.shape(body)
}

func (svc service) success(w http.ResponseWriter, _ int) {
	if svc.status != 0 {
		w.WriteHeader(svc.status)
	}
	io.WriteString(w, svc.answer)
}

// TestShapes sends every message by every type to a service that accepts only what its documentation describes.
func TestShapes(t *testing.T) {
	t.Parallel()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for name, svc := range services {
		t.Run(name, func(t *testing.T) {
			peer := newSink(t)
			channel := newChannel(t, name, svc.config, peer.URL)
			for title, m := range messages(svc.ref) {
				peer.reset(svc.success)
				r := sender.Send(t.Context(), channel, m)
				if r.Result != audience.SendAccepted || r.Reason != "" {
					t.Errorf("%s: %+v", title, r)
				}
				got := peer.taken()
				if len(got) == 0 {
					t.Errorf("%s: nothing was sent", title)
				}
				for _, e := range got {
					if err := svc.check(e); err != nil {
						t.Errorf("%s: %s %s: %v\n%.2000s", title, e.method, e.path, err, e.body)
					}
				}
				if svc.ref != "" && r.Reference != svc.ref {
					t.Errorf("%s: the reference %q", title, r.Reference)
				}
				if title == "hostile" {
					body := string(got[0].body)
					if svc.form {
						values, _ := url.ParseQuery(body)
						body = fmt.Sprint(values)
					}
					if !strings.Contains(body, svc.headline) || svc.headline == "" {
						t.Errorf("the name is not written as %s: %s", svc.headline, body)
					}
				}
				// What the service refuses as malformed is sent once more in a simple form.
				if svc.plain {
					peer.reset(func(w http.ResponseWriter, n int) {
						if n == 1 {
							w.WriteHeader(http.StatusBadRequest)
							return
						}
						svc.success(w, n)
					})
					if r := sender.Send(t.Context(), channel, m); r.Result != audience.SendAccepted {
						t.Errorf("%s, plain: %+v", title, r)
					}
					got := peer.taken()
					if len(got) < 2 {
						t.Fatalf("%s, plain: %d requests", title, len(got))
					}
					if err := svc.check(got[1]); err != nil {
						t.Errorf("%s, plain: %v\n%.2000s", title, err, got[1].body)
					}
				}
			}
		})
	}
}

// answerStatus returns a handler that answers with a status and headers.
func answerStatus(code int, header ...string) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// TestFaults checks what answers mean.
func TestFaults(t *testing.T) {
	t.Parallel()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for name, svc := range services {
		t.Run(name, func(t *testing.T) {
			peer := newSink(t)
			channel := newChannel(t, name, svc.config, peer.URL)
			m := messages(svc.ref)["one"]
			for _, fault := range []struct {
				title  string
				answer func(http.ResponseWriter, int)
				result audience.SendResult
				after  time.Duration
				count  int
			}{
				{"429", answerStatus(429, "Retry-After", "7"), audience.SendFailed, 7 * time.Second, 1},
				{"500", answerStatus(500), audience.SendFailed, 0, 1},
				{"503 for a day", answerStatus(503, "Retry-After", "86400"), audience.SendFailed, time.Hour, 1},
				{"404", answerStatus(404), audience.SendRejected, 0, 1},
				{"403", answerStatus(403), audience.SendRejected, 0, 1},
				{"redirect", answerStatus(307, "Location", peer.URL+"/elsewhere"), audience.SendRejected, 0, 1},
				{"malformed for ever", answerStatus(400), audience.SendRejected, 0,
					map[bool]int{true: 2, false: 1}[svc.plain]},
				{"closed", func(http.ResponseWriter, int) { panic(http.ErrAbortHandler) }, audience.SendFailed, 0, 1},
			} {
				peer.reset(fault.answer)
				r := sender.Send(t.Context(), channel, m)
				if r.Result != fault.result || r.RetryAfter != fault.after || r.Reason == "" ||
					len([]rune(r.Reason)) > maxReason || r.Reference != "" {
					t.Errorf("%s: %+v", fault.title, r)
				}
				if got := len(peer.taken()); got != fault.count {
					t.Errorf("%s: %d requests", fault.title, got)
				}
				for _, secret := range channel.Secrets {
					if s := strings.Trim(string(secret), `"`); strings.Contains(r.Reason+r.Detail, s) {
						t.Errorf("%s: the reason shows a secret: %+v", fault.title, r)
					}
				}
			}
		})
	}
}

// TestUnknownAnswers sends messages to services whose answer is not what the service documents.
func TestUnknownAnswers(t *testing.T) {
	t.Parallel()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for name, svc := range services {
		t.Run(name, func(t *testing.T) {
			peer := newSink(t)
			channel := newChannel(t, name, svc.config, peer.URL)
			m := messages(svc.ref)["one"]
			for _, body := range []string{"<html>Sign in</html>", "", "null", "[]", `{"ok":"yes"}`, "{"} {
				peer.reset(func(w http.ResponseWriter, _ int) { io.WriteString(w, body) })
				r := sender.Send(t.Context(), channel, m)
				want := audience.SendAccepted
				if svc.strict {
					want = audience.SendFailed
				}
				if r.Result != want {
					t.Errorf("the answer %q: %+v, want the result %v", body, r, want)
				}
			}
		})
	}
}

// TestNoAnswer sends messages to services that never answer: the attempt ends with its context.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for name, svc := range services {
		t.Run(name, func(t *testing.T) {
			peer := newSink(t)
			channel := newChannel(t, name, svc.config, peer.URL)
			m := messages(svc.ref)["one"]
			hang := make(chan struct{})
			peer.reset(func(http.ResponseWriter, int) { <-hang })
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			r := sender.Send(ctx, channel, m)
			cancel()
			close(hang)
			if r.Result != audience.SendFailed || !r.Unreachable {
				t.Errorf("hang: %+v", r)
			}
		})
	}
}

// TestBrokenServices checks that an attempt ends with its time, and counts as one to repeat, wherever a service stops
// or talks nonsense.
func TestBrokenServices(t *testing.T) {
	t.Parallel()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for title, c := range map[string]struct {
		scheme, answer string
		hangs          bool
	}{
		"no handshake of TLS":    {"https://", "", true},
		"no TLS":                 {"https://", "HTTP/1.1 200 OK\r\n\r\n", false},
		"no answer":              {"http://", "", true},
		"half a line":            {"http://", "HTTP/1.1 20", true},
		"half a header":          {"http://", "HTTP/1.1 200 OK\r\nContent-Le", true},
		"half a body":            {"http://", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":true", true},
		"half a body, and ended": {"http://", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":true", false},
		"another protocol":       {"http://", "SSH-2.0-OpenSSH_9.9\r\n", false},
		"a broken chunk":         {"http://", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false},
		"a header without end":   {"http://", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 2*maxAnswer), false},
		"nothing":                {"http://", "", false},
	} {
		address := rawServer(t, c.answer, c.hangs)
		for name, svc := range services {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if c.hangs {
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			}
			r := sender.Send(ctx, newChannel(t, name, svc.config, c.scheme+address), messages(svc.ref)["one"])
			cancel()
			if r.Result != audience.SendFailed || !r.Unreachable || r.Reason == "" || r.Reference != "" {
				t.Errorf("%s: %s: %+v", title, name, r)
			}
		}
	}
}

// rawServer answers each connection with some bytes once it has said something, and then ends it or hangs.
func rawServer(t *testing.T, answer string, hangs bool) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Read(make([]byte, 64<<10))
				io.WriteString(c, answer)
				if hangs {
					io.Copy(io.Discard, c) // until the client ends the connection
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestEveryTypeIsTested keeps the list of services complete, and its pages.
func TestEveryTypeIsTested(t *testing.T) {
	alone := map[string]bool{"email": true, "command": true} // have tests of their own
	for _, typ := range Types {
		if _, ok := services[typ.Name]; !ok && !alone[typ.Name] {
			t.Errorf("the type %s has no service in the tests", typ.Name)
		}
		page, err := os.ReadFile("../../docs/alerts/" + typ.Name + ".md")
		if err != nil {
			t.Errorf("the type %s has no page: %v", typ.Name, err)
			continue
		}
		for _, f := range typ.Fields {
			if !bytes.Contains(page, []byte("`"+f.Name+"`")) &&
				!bytes.Contains(page, []byte("--"+strings.ReplaceAll(f.Name, "_", "-"))) && typ.Name != "webhook" {
				t.Errorf("the page of %s does not say what %s is", typ.Name, f.Name)
			}
			if f.Label == "" || f.Help == "" || f.Default != "" && f.Required {
				t.Errorf("%s: the field %+v is not complete", typ.Name, f)
			}
		}
	}
}

// round is a transport of tests.
type round func(*http.Request) (*http.Response, error)

func (f round) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzAnswers checks that no answer of a service stops the program, and that the result makes sense.
func FuzzAnswers(f *testing.F) {
	for _, svc := range services {
		f.Add(200, svc.answer, "3")
	}
	f.Add(429,
		`{"ok":false,"error":"ratelimited","parameters":{"retry_after":1e300},"retry_after":-1,"retry_after_ms":"x"}`,
		"NaN")
	f.Add(400, `{"ok":false,"status":0,"errors":[]}`, "Wed, 21 Oct 2099 07:28:00 GMT")
	sender := NewSender(Config{AllowPrivate: true})
	channels := make(map[string]alert.Channel)
	sent := make(map[string]map[string]alert.Message)
	for name, svc := range services {
		channels[name], sent[name] = newChannel(f, name, svc.config, "http://192.0.2.1"), messages(svc.ref)
	}
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		sender.client.Transport = round(func(r *http.Request) (*http.Response, error) {
			if status < 100 || status > 999 {
				return nil, errors.New("no answer")
			}
			return &http.Response{
				StatusCode: status, Header: http.Header{"Retry-After": {after}},
				Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, nil
		})
		for name, channel := range channels {
			for _, title := range []string{"one", "resolved", "test"} {
				r := sender.Send(t.Context(), channel, sent[name][title])
				accepted := r.Result == audience.SendAccepted
				if accepted != (r.Reason == "") || accepted && (status < 200 || status > 299) || r.RetryAfter < 0 ||
					r.RetryAfter > time.Hour || !accepted && r.Reference != "" {
					t.Fatalf("%s: %d %q: %+v", name, status, body, r)
				}
			}
		}
	})
}
