package alertchannel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/addressguard"
	"github.com/allswell/allswell/internal/shared/hostname"
)

// Limits of one attempt.
const (
	sendTimeout   = 20 * time.Second // of all requests of an attempt together
	maxAnswer     = 64 << 10         // bytes of the header and of the body of an answer
	maxReason     = 300              // characters
	maxUncleaned  = 2000             // characters of a reason from which secrets are removed, and the end, if it is cut
	maxRetryAfter = time.Hour
)

// Config configures a Sender.
type Config struct {
	Denied       []netip.Prefix // ALLSWELL_WEBHOOK_DENY
	AllowPrivate bool           // ALLSWELL_WEBHOOK_ALLOW_PRIVATE
	Command      string         // ALLSWELL_ALERT_COMMAND, an absolute path; "": channels run no program

	// Mail sends a mail in one attempt; nil: mail is off.
	Mail func(context.Context, Mail) audience.SendOutcome
}

// Mail is a mail about alerts.
type Mail struct {
	ID       string // of the message, from which its Message-ID is made
	ThreadID string // mails of a thread have the same; "": none
	To       string // email address
	Subject  string
	Text     string
}

// Sender sends messages. It is safe for concurrent use.
type Sender struct {
	Config
	guard  *addressguard.OutgoingGuard
	client *http.Client
}

// NewSender returns a sender that connects only to addresses that c allows.
func NewSender(c Config) *Sender {
	guard := addressguard.NewOutgoingGuard(c.Denied, c.AllowPrivate)
	// a dial continues after its request is cancelled
	dialer := &net.Dialer{Timeout: sendTimeout, Control: guard.Control}
	return &Sender{Config: c, guard: guard, client: &http.Client{
		// redirects are not followed: nobody configured their targets
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:       nil, // a proxy would bypass the guard
			DialContext: dialer.DialContext, TLSHandshakeTimeout: sendTimeout, MaxResponseHeaderBytes: maxAnswer,
			DisableCompression: true, MaxIdleConns: 16, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
		},
	}}
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Host returns the server that takes the messages of a channel with its secrets; "": it cannot be sent any. Channels
// with the same host share its capacity and its failures.
func Host(c alert.Channel) string {
	t, ok := TypeOf(c.Type)
	if !ok {
		return ""
	}
	channel := t.New()
	if err := configfield.Configure(channel, c.Config, c.Secrets); err != nil {
		return ""
	}
	return channel.host()
}

// hostOf returns the host of a URL in lower case and its port, or its scheme if that implies the port.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		port = ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + cmp.Or(port, u.Scheme)
}

// Send makes one attempt to send a message to a channel with its secrets. It takes at most 20 seconds.
func (s *Sender) Send(ctx context.Context, c alert.Channel, m alert.Message) Result {
	t, ok := TypeOf(c.Type)
	if !ok {
		return failed(audience.SendUndeliverable, "Channels of the type %s are not supported by this version.", c.Type)
	}
	channel := t.New()
	if err := configfield.Configure(channel, c.Config, c.Secrets); err != nil {
		return failed(audience.SendUndeliverable, "The channel's configuration is not valid any more: %v.", err)
	}
	if to := c.UnconfirmedAddress(); to != "" {
		return failed(audience.SendFailed, "The channel waits for the confirmation of %s, which is asked for by mail.",
			to)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if m.Outdates() {
		thread := *m.Thread
		thread.Words, _ = c.Words(m.Current()) // if it fails, so does the next call
		m.Thread = &thread
	}
	var bad error
	m.Words, bad = c.Words(m)
	result := channel.send(ctx, s, m)
	if bad != nil {
		result.TemplateError = bad.Error()
	}
	return result.clean(secretsOf(c, m))
}

// Test makes one attempt to send the message that tests a channel. by is who asked for it.
func (s *Sender) Test(ctx context.Context, c alert.Channel, by string) audience.SendOutcome {
	return s.Send(ctx, c, TestMessage(c, by, time.Now())).SendOutcome
}

// Confirmation makes one attempt to send the mail that asks whether an address may be sent alerts. It contains no text
// of a workspace, so that nobody can use it to send texts to strangers. Config.Mail must be set.
func (s *Sender) Confirmation(ctx context.Context, to, base, link string) audience.SendOutcome {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return s.Mail(ctx, Mail{
		ID: kernel.NewID(alert.PrefixMessage, time.Now()), To: to,
		Subject: "Confirm that alerts may be sent to this address",
		Text:    fmt.Sprintf(confirmationText, base, int(alert.ConfirmationLifetime/time.Hour), link),
	})
}

// confirmationText is the text of the mail that asks for a confirmation: the address of this service, hours, the link.
const confirmationText = `Someone (hopefully you) entered this address for alerts from the monitoring service at %s.

To receive alerts, open this link within %d hours and press the button:

%s

Otherwise ignore this email: no alerts are sent to this address.
`

// failed returns a result with a reason.
func failed(r audience.SendResult, format string, args ...any) Result {
	return Result{
		SendOutcome: audience.SendOutcome{Result: r, Reason: alert.Shorten(fmt.Sprintf(format, args...), maxUncleaned)},
	}
}

// sent returns the result of a message that was accepted.
func sent(reference string) Result {
	return Result{SendOutcome: audience.SendOutcome{Result: audience.SendAccepted}, Reference: reference}
}

// changeWait is how long a change waits after its first failure, and then twice as long after each.
const changeWait = time.Second

// change changes the first message of a thread. It repeats the attempt while its result is audience.SendFailed, until
// the deadline of ctx. The outcome does not matter: the message that makes the change necessary was accepted.
func change(ctx context.Context, attempt func() Result) {
	for wait := changeWait; ; wait *= 2 {
		r := attempt()
		if r.RetryAfter > 0 {
			wait = r.RetryAfter
		}
		if end, ok := ctx.Deadline(); r.Result != audience.SendFailed || ok && time.Until(end) < wait {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// request is an HTTP request to a service.
type request struct {
	method string // "": POST
	url    string
	header map[string]string
	body   any    // encoded as JSON; an url.Values as a form; a string as text
	name   string // of the service, for reasons
}

// answer is the answer of a service.
type answer struct {
	status int
	header http.Header
	body   []byte // the first maxAnswer bytes
}

// call sends a request. The error is the result of the attempt if there was no answer.
func (s *Sender) call(ctx context.Context, r request) (answer, *Result) {
	req, err := r.build(ctx)
	if err != nil {
		return answer{},
			new(failed(audience.SendUndeliverable, "The request to %s is not valid: %v.", r.name, withoutURL(err)))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, new(s.noAnswer(ctx, r, err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, new(s.noAnswer(ctx, r, err))
	}
	return answer{resp.StatusCode, resp.Header, body}, nil
}

func (r request) build(ctx context.Context) (*http.Request, error) {
	var body []byte
	kind := "application/json"
	switch b := r.body.(type) {
	case nil:
		kind = ""
	case string:
		body, kind = []byte(b), "text/plain; charset=utf-8"
	case url.Values:
		body, kind = []byte(b.Encode()), "application/x-www-form-urlencoded"
	default:
		var encoded bytes.Buffer
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(b); err != nil {
			return nil, err
		}
		body = bytes.TrimSuffix(encoded.Bytes(), []byte("\n"))
	}
	method := r.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "Allswell")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// noAnswer returns the result of a request without an answer. It does not say why, except for an address that is not
// allowed: otherwise a workspace could explore the server's network.
func (s *Sender) noAnswer(ctx context.Context, r request, err error) Result {
	if errors.Is(ctx.Err(), context.Canceled) {
		return failed(audience.SendNotAttempted, "The attempt was interrupted.")
	}
	o := failed(audience.SendFailed,
		"%s gave no HTTP answer. Its name must resolve, it must answer within %g seconds, and the certificate of an "+
			"https URL must be valid.",
		r.name, sendTimeout.Seconds())
	if u, parseErr := url.Parse(r.url); parseErr == nil && s.guard.Literal(u.Hostname()) != nil {
		o = failed(audience.SendFailed,
			"Messages may not go to %s (ALLSWELL_WEBHOOK_ALLOW_PRIVATE, ALLSWELL_WEBHOOK_DENY).", u.Hostname())
	}
	o.Detail, o.Unreachable = alert.Shorten(withoutURL(err).Error(), maxReason), true
	return o
}

// withoutURL returns an error without the URL that it is about, which may contain secrets.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// outcome returns what an answer means: accepted (2xx), to be sent again (408, 425, 429, 5xx, after Retry-After) or
// rejected (others).
func (a answer) outcome(service string) Result {
	switch {
	case a.status >= 200 && a.status <= 299:
		return sent("")
	case a.status >= 300 && a.status <= 399:
		return failed(audience.SendRejected, "%s answered %d, and redirects are not followed.", service, a.status)
	case a.status == http.StatusRequestTimeout, a.status == http.StatusTooEarly, a.status == http.StatusTooManyRequests,
		a.status >= 500:
		o := failed(audience.SendFailed, "%s answered %d%s", service, a.status, a.explanation())
		o.RetryAfter = a.retryAfter(time.Now())
		return o
	}
	return failed(audience.SendRejected, "%s answered %d%s", service, a.status, a.explanation())
}

// malformed reports whether the service may take the message in a simpler form.
func (a answer) malformed() bool {
	return a.status == http.StatusBadRequest || a.status == http.StatusRequestEntityTooLarge ||
		a.status == http.StatusUnprocessableEntity
}

// explanation returns the answer's text, to follow its status.
func (a answer) explanation() string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(a.body), "")), " ")
	if text == "" || strings.HasPrefix(text, "<") {
		return "."
	}
	return ": " + text
}

// retryAfter returns the delay of a Retry-After header: a number of seconds, which may have a fraction, or a date; 0 if
// there is none.
func (a answer) retryAfter(now time.Time) time.Duration {
	value := a.header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(seconds) {
		return time.Duration(max(0, min(seconds, maxRetryAfter.Seconds())) * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), maxRetryAfter))
}

// decode reads the answer as JSON into v, and reports whether that succeeded.
func (a answer) decode(v any) bool { return json.Unmarshal(a.body, v) == nil }

// checkURL checks the URL of a service, which may be http or https. Addresses that are never allowed are refused here
// and when a message is sent. Addresses that the settings of the server forbid are refused only when a message is sent.
func checkURL(bad *kernel.ValidationError, field string, text *string) {
	*text = strings.TrimSpace(*text)
	if !strings.Contains(*text, "://") {
		bad.Add(field, "must begin with https:// or http://, such as https://www.example.com")
		return
	}
	ascii, ok := hostname.InURL(*text)
	*text = ascii
	u, err := url.Parse(ascii)
	if !ok || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.Fragment != "" {
		bad.Add(field, "must be an http(s) URL without user name or fragment")
		return
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		if why := addressguard.WhyNever(addr); why != "" {
			bad.Add(field, "may not be at %s: %s", addr, why)
		}
	}
	kernel.CheckPort(bad, field, u)
}
