package check

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/redact"
)

// routingHeaders are the headers by which servers and proxies choose who gets a request, in their canonical form.
var routingHeaders = []string{
	"Host", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Server", "X-Host", "X-Http-Host-Override",
	"X-Original-Host", "X-Original-Url", "X-Proxy-Url", "X-Real-Host", "X-Rewrite-Url",
}

// headerDestination returns the routingHeaders among headers.
func headerDestination(all ...map[string]string) (d configfield.Destination) {
	for _, headers := range all {
		for name, value := range headers {
			name = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-")) // CGI treats both alike
			if slices.Contains(routingHeaders, name) {
				d = append(d, name+": "+strings.ToLower(strings.TrimSpace(value)))
			}
		}
	}
	slices.Sort(d)
	return d
}

// hostDestination returns the destination of a probe that connects to a port; secure says whether and how it speaks
// TLS.
func hostDestination(host string, port int, secure string, o *tlsOptions) configfield.Destination {
	return append(configfield.Destination{strings.ToLower(host), strconv.Itoa(port), secure}, o.destination()...)
}

// onOff says whether a probe speaks TLS.
func onOff(secure bool) string {
	if secure {
		return "tls"
	}
	return "plain"
}

// destination returns the options that decide how the destination is verified.
func (o *tlsOptions) destination() configfield.Destination {
	return configfield.Destination{strconv.FormatBool(o.Insecure), strings.TrimSpace(o.CACertificates)}
}

// WithoutSecrets returns an outcome without the secrets of the check, which a target may repeat: a debugging page does.
func (o Outcome) WithoutSecrets(spec monitor.CheckSpec) Outcome {
	if len(spec.Secrets) == 0 || o.Failure == "" && o.Warning == "" && o.Body == "" { // as in most checks
		return o
	}
	var config struct {
		Username      string `json:"username"`
		ProxyUsername string `json:"proxy_username"`
	}
	_ = json.Unmarshal(spec.Config, &config) // without a user name there is no such header
	var all []string
	for _, field := range spec.Secrets {
		for _, value := range redact.Values(field) {
			all = append(append(all, value), redact.Parts(value)...)
			all = append(all, redact.BasicAuth(config.Username, value), redact.BasicAuth(config.ProxyUsername, value))
		}
	}
	return o.without(redact.New(all...))
}

// without returns an outcome without secrets.
func (o Outcome) without(secrets redact.Secrets) Outcome {
	o.Failure, o.Warning = secrets.HideShortened(o.Failure), secrets.HideShortened(o.Warning)
	if o.BodyCut {
		o.Body = secrets.HideCut(o.Body)
	} else {
		o.Body = secrets.Hide(o.Body)
	}
	return o
}

// guard hides the secrets of a check from what judges a response: a target that repeats them would otherwise let
// anyone who can change the conditions of a check guess them.
type guard struct {
	redact.Secrets
	replacer *strings.Replacer // nil: there are no secrets
}

// newGuard returns a guard of secrets, which may be empty.
func newGuard(secrets ...string) guard {
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	for _, s := range slices.Clone(secrets) {
		secrets = append(append(secrets, redact.Parts(s)...), base64.StdEncoding.EncodeToString([]byte(s)),
			base64.RawURLEncoding.EncodeToString([]byte(s)))
	}
	g := guard{Secrets: redact.New(secrets...)}
	if len(g.Secrets) == 0 {
		return g
	}
	var pairs []string
	for _, s := range g.Secrets { // the longest first
		pairs = append(pairs, s, redact.Mark)
	}
	g.replacer = strings.NewReplacer(pairs...)
	return g
}

// hide is Hide for a text that may be long.
func (g guard) hide(text []byte) []byte {
	if g.replacer == nil {
		return text
	}
	return []byte(g.replacer.Replace(string(text)))
}

// guard returns what hides the secrets of a check and of the request that was sent.
func (p *httpProbe) guard(request *http.Request) guard {
	secrets := []string{p.Password, p.BearerToken, p.ProxyPassword, p.OAuthClientSecret}
	for _, value := range p.SecretHeaders {
		secrets = append(secrets, value)
	}
	if p.Password != "" {
		secrets = append(secrets, redact.BasicAuth(p.Username, p.Password))
	}
	if p.ProxyPassword != "" {
		secrets = append(secrets, redact.BasicAuth(p.ProxyUsername, p.ProxyPassword))
	}
	if p.OAuthTokenURL != "" || p.Digest {
		secrets = append(secrets, answerOf(request)...)
	}
	return newGuard(secrets...)
}
