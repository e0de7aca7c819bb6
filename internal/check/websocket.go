package check

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"
)

var websocketType = Type{
	Name: "websocket", Label: "WebSocket", Help: "Opens a WebSocket, and can send a message and expect one.",
	Fields: []Field{
		{
			Name: "url", Label: "URL", Help: "ws or wss URL.", NoHint: true, Kind: configfield.KindText, Required: true,
			Max: kernel.MaxURLLength, Example: "wss://www.example.com/socket",
		},
		{Name: "send", Label: "Send", Help: "Text message to send.", Kind: configfield.KindLongText, Example: "ping"},
		{
			Name: "expect", Label: "Expect",
			Help: "Text that a message of the server must contain; empty: the answer to a ping.",
			Kind: configfield.KindText, Example: "pong",
		},
		{
			Name: "subprotocol", Label: "Subprotocols",
			Help: "Subprotocols, separated by commas. The server must choose one of them.",
			Kind: configfield.KindText, Advanced: true, Max: 500, Example: "graphql-transport-ws, graphql-ws",
		},
		{
			Name: "allow_missing_accept", Label: "Allow a missing Sec-WebSocket-Accept",
			Help: "Accept servers that do not prove with Sec-WebSocket-Accept that they read the request.",
			Kind: configfield.KindFlag, Advanced: true, Default: "false",
		},
		{
			Name: "headers", Label: "Headers", Help: "Headers of the request.", NoHint: true, Kind: configfield.KindMap,
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
	NoAccept      bool              `json:"allow_missing_accept"`
	Headers       map[string]string `json:"headers,omitempty"`
	SecretHeaders map[string]string `json:"secret_headers,omitempty"`
	IPVersion     string            `json:"ip_version,omitzero"`
	tlsOptions

	url          *url.URL
	subprotocols []string // that are offered
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *websocketProbe) Validate(bad *kernel.ValidationError) {
	p.url = checkURL(bad, "url", &p.URL, "ws", "wss")
	checkHostHeader(bad, "headers", p.Headers)
	checkHostHeader(bad, "secret_headers", p.SecretHeaders)
	configfield.CheckHeaders(bad, "headers", p.Headers)
	configfield.CheckHeaders(bad, "secret_headers", p.SecretHeaders)
	p.subprotocols = nil
	for name := range strings.SplitSeq(p.Subprotocol, ",") {
		name = strings.TrimSpace(name)
		if p.Subprotocol != "" && (!httpguts.ValidHeaderFieldName(name) || slices.Contains(p.subprotocols, name)) {
			bad.Add("subprotocol", "must be different names without spaces, separated by commas")
			break
		} else if name != "" {
			p.subprotocols = append(p.subprotocols, name)
		}
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
			Transport:     p.accepting(transport),
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
	options.Subprotocols = p.subprotocols
	conn, response, err := websocket.Dial(httptrace.WithClientTrace(ctx, hops.trace()), p.URL, options)
	switch {
	case err != nil && response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return Outcome{Answered: true, Failure: fmt.Sprintf("HTTP %d (expected 101)", response.StatusCode)}
	case err != nil && response != nil:
		return Outcome{Answered: true, Failure: p.notWebSocket(response.Header)}
	case err != nil:
		return hops.fail(err)
	}
	defer conn.CloseNow()
	if len(p.subprotocols) > 0 && !slices.Contains(p.subprotocols, conn.Subprotocol()) {
		return Outcome{
			Answered: true,
			Failure:  "the server did not choose the subprotocol " + strings.Join(p.subprotocols, " or "),
		}
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

// accepting returns what sends the request.
func (p *websocketProbe) accepting(transport *http.Transport) http.RoundTripper {
	if p.NoAccept {
		return acceptTransport{transport}
	}
	return transport
}

// acceptTransport adds what servers of old libraries leave out: the proof that they read the key of the request. It
// does not replace a wrong proof.
type acceptTransport struct{ http.RoundTripper }

// RoundTrip sends the request.
func (t acceptTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols &&
		len(response.Header.Values("Sec-WebSocket-Accept")) == 0 {
		response.Header.Set("Sec-WebSocket-Accept", acceptOf(request.Header.Get("Sec-WebSocket-Key")))
	}
	return response, err
}

// acceptOf returns the proof for a key (RFC 6455, section 4.2.2).
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// notWebSocket says why a response with the status 101 does not begin a WebSocket.
func (p *websocketProbe) notWebSocket(h http.Header) string {
	chosen := h.Get("Sec-WebSocket-Protocol")
	switch {
	case !httpguts.HeaderValuesContainsToken(h.Values("Connection"), "upgrade"):
		return "the response does not accept a WebSocket: it has no header Connection: Upgrade"
	case !httpguts.HeaderValuesContainsToken(h.Values("Upgrade"), "websocket"):
		return "the response does not accept a WebSocket: it has no header Upgrade: websocket"
	case len(h.Values("Sec-WebSocket-Accept")) == 0:
		return "the response does not accept a WebSocket: it has no header Sec-WebSocket-Accept, which a check with " +
			"allow_missing_accept accepts"
	case chosen != "" && !slices.ContainsFunc(p.subprotocols, func(s string) bool {
		return strings.EqualFold(s, chosen)
	}):
		return "the server chose a subprotocol that was not offered: " + quote(chosen)
	case h.Get("Sec-WebSocket-Extensions") != "":
		return "the server uses an extension that was not offered: " + quote(h.Get("Sec-WebSocket-Extensions"))
	}
	return "the response does not accept a WebSocket: its header Sec-WebSocket-Accept is wrong"
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
