package check

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/configfield"
)

var websocketType = Type{
	Name: "websocket", Label: "WebSocket", Help: "Opens a WebSocket, and can send a message and expect one.",
	Fields: []Field{
		{
			Name: "url", Label: "URL", Help: "ws or wss URL.", Kind: configfield.KindText, Required: true,
			Max: allswell.MaxURLLength, Example: "wss://www.example.com/socket",
		},
		{Name: "send", Label: "Send", Help: "Text message to send.", Kind: configfield.KindLongText, Example: "ping"},
		{
			Name: "expect", Label: "Expect",
			Help: "Text that a message of the server must contain; empty: the answer to a ping.",
			Kind: configfield.KindText, Example: "pong",
		},
		{
			Name: "subprotocol", Label: "Subprotocol", Help: "Subprotocol that the server must choose.",
			Kind: configfield.KindText, Advanced: true, Max: 100,
		},
		{
			Name: "headers", Label: "Headers", Help: "Headers of the request.", Kind: configfield.KindMap,
			Advanced: true, Example: "Origin: https://www.example.com",
		},
		{
			Name: "secret_headers", Label: "Secret headers",
			Help: "Secret headers of the request, which are write-only.", Kind: configfield.KindMap, Secret: true,
			Advanced: true, Example: "Authorization: Bearer 1234",
		},
		warnDaysField, downDaysField, insecureField, caField, clientCertificateField, ipVersionField,
	},
	New: func() Probe { return &websocketProbe{tlsOptions: defaultTLS} },
}

type websocketProbe struct {
	URL           string            `json:"url"`
	Send          string            `json:"send,omitzero"`
	Expect        string            `json:"expect,omitzero"`
	Subprotocol   string            `json:"subprotocol,omitzero"`
	Headers       map[string]string `json:"headers,omitempty"`
	SecretHeaders map[string]string `json:"secret_headers,omitempty"`
	IPVersion     string            `json:"ip_version,omitzero"`
	tlsOptions

	url *url.URL
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *websocketProbe) Validate(bad *allswell.ValidationError) {
	p.url = checkURL(bad, "url", &p.URL, "ws", "wss")
	checkHostHeader(bad, "headers", p.Headers)
	checkHostHeader(bad, "secret_headers", p.SecretHeaders)
	configfield.CheckHeaders(bad, "headers", p.Headers)
	configfield.CheckHeaders(bad, "secret_headers", p.SecretHeaders)
	if strings.ContainsAny(p.Subprotocol, " ,") {
		bad.Add("subprotocol", "The subprotocol must be one name.")
	}
	p.prepare(bad, "")
}

// Destination returns where secrets are sent.
func (p *websocketProbe) Destination() configfield.Destination {
	d := append(configfield.Destination{configfield.Server(p.URL)}, p.tlsOptions.destination()...)
	return append(d, headerDestination(p.Headers, p.SecretHeaders)...)
}

// Target returns the host of the URL.
func (p *websocketProbe) Target() Target { return urlTarget(p.url) }

func (p *websocketProbe) run(ctx context.Context, r *run) Outcome {
	began := time.Now()
	hops := &requests{run: r, url: p.url}
	transport := newTransport(r, p.IPVersion, p.config)
	transport.Protocols.SetHTTP1(true)
	defer transport.CloseIdleConnections()
	options := &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader: http.Header{"User-Agent": {"Allswell"}},
	}
	for _, headers := range []map[string]string{p.Headers, p.SecretHeaders} {
		for name, value := range headers {
			options.HTTPHeader.Set(name, value)
		}
	}
	options.Host = options.HTTPHeader.Get("Host")
	if p.Subprotocol != "" {
		options.Subprotocols = []string{p.Subprotocol}
	}
	conn, response, err := websocket.Dial(httptrace.WithClientTrace(ctx, hops.trace()), p.URL, options)
	switch {
	case err != nil && response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return Outcome{Answered: true, Failure: fmt.Sprintf("status %d, expected 101", response.StatusCode)}
	case err != nil && response != nil:
		return Outcome{Answered: true, Failure: "the response is not that of a WebSocket"}
	case err != nil:
		return hops.fail(err)
	}
	defer conn.CloseNow()
	if conn.Subprotocol() != p.Subprotocol {
		return Outcome{Answered: true, Failure: "the server did not choose the subprotocol " + p.Subprotocol}
	}
	o := p.talk(ctx, r, conn)
	r.mu.Lock()
	r.phases.Total = time.Since(began) // without the end, for which the server may take its time
	r.mu.Unlock()
	if o.Failure == "" {
		_ = conn.Close(websocket.StatusNormalClosure, "") // the check is over already
	}
	return o
}

// talk exchanges messages on an open WebSocket.
func (p *websocketProbe) talk(ctx context.Context, r *run, conn *websocket.Conn) Outcome {
	conn.SetReadLimit(maxExpect)
	r.enter(stageWaiting)
	if p.Send != "" {
		if err := conn.Write(ctx, websocket.MessageText, []byte(p.Send)); err != nil {
			return r.fail(err)
		}
	}
	if p.Expect == "" {
		if err := conn.Ping(conn.CloseRead(ctx)); err != nil {
			return r.fail(err)
		}
		return Outcome{Answered: true}
	}
	hidden := newGuard(slices.Collect(maps.Values(p.SecretHeaders))...)
	for read := 0; read < maxExpect; {
		_, message, err := conn.Read(ctx)
		switch {
		case err != nil && read > 0:
			return Outcome{Answered: true, Failure: "no message contains the expected text"}
		case websocket.CloseStatus(err) >= 0:
			return Outcome{
				Answered: true,
				Failure:  fmt.Sprintf("the server closed the WebSocket with status %d", websocket.CloseStatus(err)),
			}
		case err != nil:
			return r.fail(err)
		case strings.Contains(string(hidden.hide(message)), p.Expect):
			return Outcome{Answered: true}
		}
		read += len(message) + 1
	}
	return Outcome{
		Answered: true,
		Failure:  fmt.Sprintf("the first %d kB of messages do not contain the expected text", maxExpect>>10),
	}
}
