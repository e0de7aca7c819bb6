package check

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/check/jsonpath"
	"github.com/allswell/allswell/internal/check/pattern"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// Limits of an HTTP check.
const (
	maxResponseHeader  = 64 << 10
	defaultMaxBodySize = 1 << 20
	maxMaxBodySize     = 10 << 20
)

var httpType = Type{
	Name: "http", Label: "HTTP",
	Help: "Requests a URL, and checks the status, the headers and the body of the response.",
	Fields: []Field{
		{
			Name: "url", Label: "URL", Help: "http or https URL.",
			NoHint: true, Kind: configfield.KindText, Required: true,
			Max: kernel.MaxURLLength, Example: "https://www.example.com/health",
		},
		{
			Name: "method", Label: "Method", Help: "Method of the request.", NoHint: true, Kind: configfield.KindText,
			Choices: httpMethods, Default: http.MethodGet,
		},
		{
			Name: "expected_statuses", Label: "Expected status codes",
			Help: "Status codes or ranges, such as 200-299 and 401.", Kind: configfield.KindList, Default: "200-299",
			Max: 7,
		},
		{
			Name: "body_contains", Label: "Body contains", Help: "Text that the body must contain.", NoHint: true,
			Kind: configfield.KindText,
		},
		{
			Name: "body_not_contains", Label: "Body does not contain", Help: "Text that the body must not contain.",
			NoHint: true, Kind: configfield.KindText, Advanced: true,
		},
		{
			Name: "body_matches", Label: "Body matches", Help: "Regular expression (RE2) that the body must match.",
			Kind: configfield.KindText, Advanced: true, Max: 1000, Example: `"status":\s*"ok"`,
		},
		{
			Name: "json_path", Label: "JSON path", Help: "JSONPath (RFC 9535) of a value that the body must have.",
			Kind: configfield.KindText, Advanced: true, Syntax: true, Max: maxJSONPath, Example: "$.checks[0].status",
		},
		{
			Name: "json_value", Label: "JSON value",
			Help: "Expected value at the JSON path: text, number, true, false or null; empty: any.",
			Kind: configfield.KindText, Advanced: true, Example: "ok",
		},
		{
			Name: "expected_headers", Label: "Expected headers",
			Help: "Headers that the response must have, with a text that each must contain.", Kind: configfield.KindMap,
			Advanced: true, Example: "Content-Type: text/html",
		},
		{
			Name: "headers", Label: "Headers", Help: "Headers of the request.", NoHint: true, Kind: configfield.KindMap,
			Advanced: true, Example: "Accept: application/json",
		},
		{
			Name: "secret_headers", Label: "Secret headers",
			Help: "Secret headers of the request, which are write-only.", Kind: configfield.KindMap, Secret: true,
			Advanced: true, Example: "X-Api-Key: 1234",
		},
		{
			Name: "body", Label: "Body", Help: "Body of the request.",
			NoHint: true, Kind: configfield.KindLongText, Advanced: true,
		},
		{
			Name: "username", Label: "User name", Help: "User name for basic or Digest authentication.", NoHint: true,
			Kind: configfield.KindText, Advanced: true, Max: 255,
		},
		{
			Name: "password", Label: "Password", Help: "Password for basic or Digest authentication.", NoHint: true,
			Kind: configfield.KindText, Secret: true, Advanced: true,
		},
		{
			Name: "digest", Label: "Digest authentication",
			Help: "Whether to use Digest authentication (MD5, SHA-256) instead of basic.",
			Kind: configfield.KindFlag, Advanced: true, Default: "false",
		},
		{
			Name: "bearer_token", Label: "Bearer token", Help: "Token for the Authorization header.", NoHint: true,
			Kind: configfield.KindText, Secret: true, Advanced: true, Max: 8192,
		},
		oauthTokenURLField, oauthClientIDField, oauthClientSecretField, oauthScopesField, oauthAudienceField,
		oauthResourceField, warnDaysField, downDaysField, insecureField, caField, clientCertificateField,
		{
			Name: "follow_redirects", Label: "Follow redirects", Help: "Whether to follow up to 10 redirects.",
			NoHint: true, Kind: configfield.KindFlag, Advanced: true, Default: "true",
		},
		{
			Name: "http_version", Label: "HTTP version", Help: "Use only this version of HTTP: 1.1 or 2.",
			Kind: configfield.KindText, Advanced: true, Choices: []string{"1.1", "2"},
		},
		{
			Name: "max_body_size", Label: "Maximum size",
			Help: "How many bytes of the body are read, before and after decompression.",
			Kind: configfield.KindInteger, Advanced: true, Min: 0, Max: maxMaxBodySize,
			Default: strconv.Itoa(defaultMaxBodySize),
		},
		{
			Name: "proxy", Label: "Proxy", Help: "http, https or socks5 URL of a proxy.", Kind: configfield.KindText,
			Advanced: true, Example: "http://proxy.example.com:3128",
		},
		{
			Name: "proxy_username", Label: "Proxy user name", Help: "User name for the proxy.", NoHint: true,
			Kind: configfield.KindText, Advanced: true, Max: 255,
		},
		{
			Name: "proxy_password", Label: "Proxy password", Help: "Password for the proxy.", NoHint: true,
			Kind: configfield.KindText, Secret: true, Advanced: true,
		},
		ipVersionField,
	},
	New: func() Probe {
		return &httpProbe{
			Method: http.MethodGet, ExpectedStatuses: []string{"200-299"}, FollowRedirects: true,
			MaxBodySize: defaultMaxBodySize, tlsOptions: defaultTLS,
		}
	},
}

var httpMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions,
}

type httpProbe struct {
	URL              string            `json:"url"`
	Method           string            `json:"method"`
	ExpectedStatuses []string          `json:"expected_statuses"`
	BodyContains     string            `json:"body_contains,omitzero"`
	BodyNotContains  string            `json:"body_not_contains,omitzero"`
	BodyMatches      string            `json:"body_matches,omitzero"`
	JSONPath         string            `json:"json_path,omitzero"`
	JSONValue        string            `json:"json_value,omitzero"`
	ExpectedHeaders  map[string]string `json:"expected_headers,omitempty"`
	Headers          map[string]string `json:"headers,omitempty"`
	SecretHeaders    map[string]string `json:"secret_headers,omitempty"`
	Body             string            `json:"body,omitzero"`
	Username         string            `json:"username,omitzero"`
	Password         string            `json:"password,omitzero"`
	Digest           bool              `json:"digest"`
	BearerToken      string            `json:"bearer_token,omitzero"`
	FollowRedirects  bool              `json:"follow_redirects"`
	HTTPVersion      string            `json:"http_version,omitzero"`
	MaxBodySize      int               `json:"max_body_size"`
	Proxy            string            `json:"proxy,omitzero"`
	ProxyUsername    string            `json:"proxy_username,omitzero"`
	ProxyPassword    string            `json:"proxy_password,omitzero"`
	IPVersion        string            `json:"ip_version,omitzero"`
	oauth
	tlsOptions

	url      *url.URL
	proxy    *url.URL // nil: none
	statuses []statusRange
	matches  *pattern.Pattern // nil: none
	json     *jsonpath.Path   // nil: none
}

// statusRange is a range of statuses, including both ends.
type statusRange struct{ first, last int }

// Validate adds what is invalid, and prepares the probe to run.
func (p *httpProbe) Validate(bad *kernel.ValidationError) {
	p.url = checkURL(bad, "url", &p.URL, "http", "https")
	p.Method = cmp.Or(p.Method, http.MethodGet)
	if len(p.ExpectedStatuses) == 0 {
		p.ExpectedStatuses = []string{"200-299"}
	}
	p.statuses = nil
	for _, text := range p.ExpectedStatuses {
		r, ok := parseStatusRange(text)
		if !ok {
			bad.Add("expected_statuses", "must be statuses from 100 to 599 or ranges, such as 200-299")
			break
		}
		p.statuses = append(p.statuses, r)
	}
	if p.BodyMatches != "" {
		p.matches = checkPattern(bad, "body_matches", p.BodyMatches)
	}
	checkHostHeader(bad, "headers", p.Headers)
	checkHostHeader(bad, "secret_headers", p.SecretHeaders)
	configfield.CheckHeaders(bad, "headers", p.Headers)
	configfield.CheckHeaders(bad, "secret_headers", p.SecretHeaders)
	configfield.CheckHeaders(bad, "expected_headers", p.ExpectedHeaders)
	if p.JSONPath != "" {
		p.json = checkJSONPath(bad, p.JSONPath)
	} else if p.JSONValue != "" {
		bad.Add("json_value", "needs a %s", kernel.Name("json_path"))
	}
	if p.Proxy != "" {
		p.proxy = checkURL(bad, "proxy", &p.Proxy, "http", "https", "socks5")
		if p.ProxyUsername != "" {
			p.proxy.User = url.UserPassword(p.ProxyUsername, p.ProxyPassword)
		}
	}
	p.prepare(bad, "")
	p.checkCredentials(bad)
}

// checkCredentials checks that there is one way to authenticate.
func (p *httpProbe) checkCredentials(bad *kernel.ValidationError) {
	p.checkOAuth(bad)
	if p.Digest && p.Username == "" {
		bad.Add("digest", "needs a %s", kernel.Name("username"))
	}
	if p.Username != "" && p.BearerToken != "" {
		bad.Add("bearer_token", "cannot be used together with the %s", kernel.Name("username"))
	}
	if p.OAuthTokenURL != "" && (p.Username != "" || p.BearerToken != "") {
		bad.Add("oauth2_token_url", "cannot be used together with the %s or the %s", kernel.Name("username"),
			kernel.Name("bearer_token"))
	}
}

// Destination returns where secrets are sent.
// Digest is a part of it, because basic authentication would send the password in clear text.
func (p *httpProbe) Destination() configfield.Destination {
	d := configfield.Destination{
		configfield.Server(p.URL), configfield.Server(p.Proxy), strings.TrimSpace(p.OAuthTokenURL),
		strconv.FormatBool(p.Digest),
	}
	return append(append(d, p.tlsOptions.destination()...), headerDestination(p.Headers, p.SecretHeaders)...)
}

// Target returns the host of the URL. Through a proxy it has no port, because it may not be reached otherwise.
func (p *httpProbe) Target() Target {
	t := urlTarget(p.url)
	if p.proxy != nil {
		t.Port = 0
	}
	return t
}

func urlTarget(u *url.URL) Target {
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"https": 443, "wss": 443}[u.Scheme]
		port = cmp.Or(port, 80)
	}
	return Target{u.Hostname(), port}
}

// parseStatusRange parses a range such as 200-299, or one status.
func parseStatusRange(text string) (statusRange, bool) {
	first, last, ranged := strings.Cut(strings.TrimSpace(text), "-")
	if !ranged {
		last = first
	}
	a, err1 := strconv.Atoi(strings.TrimSpace(first))
	b, err2 := strconv.Atoi(strings.TrimSpace(last))
	return statusRange{a, b}, err1 == nil && err2 == nil && a >= 100 && b <= 599 && a <= b
}

func (p *httpProbe) run(ctx context.Context, r *run) Outcome {
	r.limit += int64(p.MaxBodySize)
	hops := &requests{run: r, url: p.url}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, hops.trace()), p.Method, p.URL,
		strings.NewReader(p.Body))
	if err != nil {
		return Outcome{Failure: "the request is not valid"}
	}
	if o := p.addHeaders(ctx, r, request); o.Failure != "" {
		return o
	}
	transport := p.transport(r)
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport: p.authenticating(transport), CheckRedirect: p.redirect(transport, hops), Jar: newJar(),
	}
	response, err := client.Do(request)
	if err != nil {
		return hideToken(request, hops.fail(err))
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized {
		p.forget(r.network)
	}
	return hideToken(response.Request, hideToken(request, p.judge(ctx, hops, response)))
}

// addHeaders adds headers and credentials. It returns a failure if no access token could be obtained.
func (p *httpProbe) addHeaders(ctx context.Context, r *run, request *http.Request) Outcome {
	request.Header.Set("User-Agent", "Allswell")
	for _, headers := range []map[string]string{p.Headers, p.SecretHeaders} {
		for name, value := range headers {
			request.Header.Set(name, value)
		}
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	switch {
	case p.Digest: // after a challenge
	case p.Username != "":
		request.SetBasicAuth(p.Username, p.Password)
	case p.BearerToken != "":
		request.Header.Set("Authorization", "Bearer "+p.BearerToken)
	case p.OAuthTokenURL != "":
		token, o := p.token(ctx, r, func(r *run) *http.Transport { return p.transport(r) })
		if o.Failure != "" {
			return o
		}
		token.SetAuthHeader(request)
	}
	return Outcome{}
}

// transport returns the transport for one run.
func (p *httpProbe) transport(r *run) *http.Transport {
	t := newTransport(r, p.IPVersion, p.config)
	if p.proxy != nil {
		r.proxy, t.Proxy = p.proxy.Scheme, http.ProxyURL(p.proxy)
	}
	t.Protocols.SetHTTP1(p.HTTPVersion != "2")
	t.Protocols.SetHTTP2(p.HTTPVersion != "1.1")
	t.Protocols.SetUnencryptedHTTP2(p.HTTPVersion == "2")
	return t
}

// newTransport returns a transport for one run, so that each measures a connection of its own. Responses are not
// decompressed: nothing that is small on the network becomes large in memory.
func newTransport(r *run, ipVersion string, config *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := r.dialOnly(ctx, network+ipVersion, address)
			if err != nil {
				return nil, err
			}
			conn.spoken = make(chan struct{})
			return conn, nil
		},
		TLSClientConfig: config.Clone(), DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: maxResponseHeader, Protocols: new(http.Protocols),
		OnProxyConnectResponse: func(
			_ context.Context, _ *url.URL, connect *http.Request, response *http.Response,
		) error {
			if response.StatusCode != http.StatusOK {
				return proxyError(response.StatusCode)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.past, r.address = true, connect.Host
			return nil
		},
	}
}

// proxyError is the status with which a proxy refused to connect to the target.
type proxyError int

func (e proxyError) Error() string { return fmt.Sprintf("the proxy refused: HTTP %d", int(e)) }

// requests measures the requests of one run: the first, and one for each redirect.
type requests struct {
	run *run
	url *url.URL // of the last one; guarded by run.mu
}

func (q *requests) goTo(u *url.URL) {
	q.run.mu.Lock()
	defer q.run.mu.Unlock()
	q.url = u
}

// throughSOCKS notes that a SOCKS proxy has connected to the target, so that what follows is between the run and the
// target. It does nothing for other proxies.
func (q *requests) throughSOCKS() {
	r := q.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isProxy() && strings.HasPrefix(r.proxy, "socks") {
		t := urlTarget(q.url)
		r.past, r.address = true, joinHostPort(t.Host, t.Port)
	}
}

func (q *requests) trace() *httptrace.ClientTrace {
	r := q.run
	return &httptrace.ClientTrace{
		TLSHandshakeStart: func() {
			q.throughSOCKS()
			r.enter(stageTLS)
		},
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			if err != nil {
				return // the stage remains
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			took := r.enterLocked(stageWaiting)
			if !r.isProxy() {
				r.phases.TLS += took
				r.sawCertificates(s)
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			q.throughSOCKS()
			r.enter(stageWaiting)
		},
		GotFirstResponseByte: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.phases.FirstByte += r.enterLocked(stageReading)
		},
	}
}

// fail returns the outcome of requests without a response.
func (q *requests) fail(err error) Outcome {
	var refused proxyError
	switch {
	case errors.As(err, &refused):
		return Outcome{Failure: fmt.Sprintf("the proxy refused to connect: HTTP %d", int(refused))}
	case errors.Is(err, errRedirects):
		return Outcome{Failure: fmt.Sprintf("more than %d redirects", maxRedirects), Answered: true}
	case errors.Is(err, errRedirectScheme):
		return Outcome{Failure: "the target redirects to a URL that is neither http nor https", Answered: true}
	case errors.Is(err, errRedirectTarget):
		return Outcome{Failure: "the target redirects to a URL without a host", Answered: true}
	case errors.Is(err, errRedirectLoop):
		return Outcome{Failure: fmt.Sprintf("more than %d redirects, in a circle", maxRedirects), Answered: true}
	}
	return q.run.fail(err)
}

// judge compares a response with what is expected.
func (p *httpProbe) judge(ctx context.Context, q *requests, response *http.Response) Outcome {
	o := Outcome{Answered: true}
	isExpected := slices.ContainsFunc(p.statuses, func(s statusRange) bool {
		return s.first <= response.StatusCode && response.StatusCode <= s.last
	})
	body, err := p.receive(ctx, q.run, response, isExpected && p.judgesText())
	defer func() { body.release() }()
	q.run.finish()
	switch {
	case !isExpected:
		if why := p.proxyFailure(q, response); why != "" {
			return Outcome{Failure: why}
		}
		o.Body, o.BodyCut = body.excerpt(ctx, q.run)
		o.Failure = fmt.Sprintf("HTTP %d (expected %s)", response.StatusCode, p.expected()) +
			statusHint(response, o.Body) + p.authenticationHint(response)
	case p.HTTPVersion == "2" && response.ProtoMajor != 2:
		o.Failure = "the response is HTTP/1.1, expected HTTP/2"
	case errors.Is(err, errBusy):
		q.run.notJudged(ctx, err, &o)
	case err != nil:
		o.Failure = q.run.fail(err).Failure
	default:
		if o.Failure = p.judgeHeaders(response.Header, p.guard(response.Request)); o.Failure == "" && p.judgesText() {
			p.judgeBody(ctx, q.run, &body, &o)
		}
	}
	if o.Failure != "" {
		o.Failure += afterRedirects(response.Request)
		if o.Body == "" && !o.Unknown {
			o.Body, o.BodyCut = body.excerpt(ctx, q.run)
		}
		return o
	}
	o.Body = ""
	return o
}

// expected lists the expected statuses for people: "200–299, 404".
func (p *httpProbe) expected() string {
	return strings.ReplaceAll(strings.Join(p.ExpectedStatuses, ", "), "-", "–")
}

// proxyFailure returns the failure if a response comes, or may come, from the proxy instead of the target, and
// otherwise "". This can happen to requests over http, which a proxy forwards. It then resets the time to the first
// byte, which is not one of the target.
func (p *httpProbe) proxyFailure(q *requests, response *http.Response) string {
	r := q.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isProxy() {
		return ""
	}
	why := ""
	switch {
	case response.StatusCode == http.StatusProxyAuthRequired:
		why = "the proxy refused to connect: HTTP 407"
	case strings.Contains(response.Header.Get("Proxy-Status"), "error="): // RFC 9209
		why = fmt.Sprintf("the proxy failed: HTTP %d", response.StatusCode)
	case response.StatusCode == http.StatusBadGateway, response.StatusCode == http.StatusServiceUnavailable,
		response.StatusCode == http.StatusGatewayTimeout:
		why = fmt.Sprintf("HTTP %d from the proxy or the target (expected %s)", response.StatusCode, p.expected())
	default:
		return ""
	}
	r.phases.FirstByte = 0
	return why
}

func (p *httpProbe) judgeHeaders(headers http.Header, g guard) string {
	names := make([]string, 0, len(p.ExpectedHeaders))
	for name := range p.ExpectedHeaders {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := headers.Values(name)
		if len(values) == 0 {
			return "the response has no header " + name
		}
		if want := strings.ToLower(p.ExpectedHeaders[name]); !slices.ContainsFunc(values, func(v string) bool {
			return strings.Contains(strings.ToLower(string(g.hide([]byte(v)))), want)
		}) {
			return "the header " + name + " does not contain the expected text"
		}
	}
	return ""
}
