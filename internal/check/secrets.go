package check

import (
	"encoding/json"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/redact"
)

// CheckKeptSecrets returns an *allswell.ValidationError on each secret that a change keeps but sends elsewhere: see
// configfield.CheckKeptSecrets.
func (t Type) CheckKeptSecrets(c configfield.Change) error {
	return configfield.CheckKeptSecrets(func() configfield.Destined { return t.New() }, c)
}

// routingHeaders are the headers by which servers and proxies choose who gets a request, in their canonical form.
var routingHeaders = []string{
	"Host", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Server", "X-Host", "X-Original-Host", "X-Original-Url", "X-Rewrite-Url",
}

// headerDestination returns the routingHeaders among headers.
func headerDestination(all ...map[string]string) (d configfield.Destination) {
	for _, headers := range all {
		for name, value := range headers {
			if name = textproto.CanonicalMIMEHeaderKey(name); slices.Contains(routingHeaders, name) {
				d = append(d, name+": "+strings.ToLower(strings.TrimSpace(value)))
			}
		}
	}
	slices.Sort(d)
	return d
}

// hostDestination returns the destination of a probe that connects to a port; secure says whether and how it speaks TLS.
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

// destination returns how well the destination is verified.
func (o *tlsOptions) destination() configfield.Destination {
	return configfield.Destination{strconv.FormatBool(o.Insecure), strings.TrimSpace(o.CACertificates)}
}

// HideSecrets returns what a target said without the secrets of the check, which a debugging page may repeat.
func HideSecrets(text string, spec allswell.CheckSpec) string {
	var config struct {
		Username string `json:"username"`
	}
	_ = json.Unmarshal(spec.Config, &config) // without a name there is no such header
	var all []string
	for _, field := range spec.Secrets {
		for _, value := range redact.Values(field) {
			all = append(all, value, redact.BasicAuth(config.Username, value))
		}
	}
	return redact.New(all...).Hide(text)
}
