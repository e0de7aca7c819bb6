package alertchannel

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// The encodings of a gateway's request.
const (
	smsForm = "form"
	smsJSON = "json"
	smsRaw  = "text"
)

// smsType sends an SMS by the HTTP request that a gateway expects.
var smsType = Type{
	Name: "sms", Label: "SMS gateway", Help: "Any SMS gateway with an HTTP API.",
	Fields: []configfield.Field{
		phoneField,
		{
			Name: "url", Label: "URL",
			Help: "URL of the gateway. {to}, {text} and {secret} are replaced in its query.",
			Kind: configfield.KindText, Secret: true, Required: true, Max: 2000,
			Example: "https://sms.example.com/send",
		},
		{
			Name: "method", Label: "Method", Help: "Method of the request. GET has no body.",
			Kind: configfield.KindText, Default: http.MethodPost,
			Choices: []string{http.MethodPost, http.MethodPut, http.MethodGet},
		},
		{
			Name: "encoding", Label: "Encoding", Help: "Format of the body, and how values are escaped in it.",
			Kind: configfield.KindText, Default: smsForm, Choices: []string{smsForm, smsJSON, smsRaw},
		},
		{
			Name: "body", Label: "Body", Help: "Body, in which {to}, {text} and {secret} are replaced.",
			Kind: configfield.KindLongText, Default: smsBody, Max: 4000,
		},
		{
			Name: "headers", Label: "Headers", Help: "Headers of the request, such as Authorization.",
			Kind: configfield.KindMap, Secret: true, Max: 2000,
		},
		{
			Name: "secret", Label: "Secret", Help: "Value that replaces {secret}.", Kind: configfield.KindText,
			Secret: true, Max: 500,
		},
	},
	New: func() Channel { return &sms{Method: http.MethodPost, Encoding: smsForm, Body: smsBody} },
}

const smsBody = "to={to}&text={text}"

type sms struct {
	To       string            `json:"to"`
	URL      string            `json:"url"`
	Method   string            `json:"method"`
	Encoding string            `json:"encoding"`
	Body     string            `json:"body"`
	Headers  map[string]string `json:"headers,omitzero"`
	Secret   string            `json:"secret,omitzero"`
}

// Destination returns the whole request: it can send the secret as the text of a message to any number.
func (c *sms) Destination() configfield.Destination {
	return configfield.Destination{c.URL, c.Method, c.Encoding, c.Body, c.To}
}

func (c *sms) Validate(bad *kernel.ValidationError) {
	checkURL(bad, "url", &c.URL)
	checkPhone(bad, &c.To)
	address, _, _ := strings.Cut(c.URL, "?")
	if strings.ContainsAny(address, "{}") {
		bad.Add("url", "can have {to}, {text} and {secret} only in its query")
	}
	if !strings.Contains(c.URL+map[bool]string{false: c.Body}[c.Method == http.MethodGet], "{text}") {
		bad.Add("body", "The %s or the %s must contain {text}.", kernel.Name("body"), kernel.Name("url"))
	}
	configfield.CheckHeaders(bad, "headers", c.Headers, "Host")
	if c.Encoding == smsJSON && c.Method != http.MethodGet &&
		!json.Valid([]byte(c.fill(c.Body, c.To, "x", jsonInner))) {
		bad.Add("body", "must be valid JSON; {to}, {text} and {secret} must be inside quotation marks")
	}
}

// jsonInner returns text as the content of a JSON string, without the quotation marks.
func jsonInner(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		return ""
	}
	return string(encoded[1 : len(encoded)-1])
}

// fill replaces all placeholders of a template in one pass, so that a value that looks like a placeholder is not
// replaced again.
func (c *sms) fill(template, to, text string, encode func(string) string) string {
	return strings.NewReplacer("{to}", encode(to), "{text}", encode(text), "{secret}",
		encode(c.Secret)).Replace(template)
}

func (c *sms) host() string { return hostOf(c.URL) }

func (c *sms) send(ctx context.Context, s *Sender, m alert.Message) Result {
	a, bad := c.text(ctx, s, c.To, plainText(m, smsText, nil))
	if bad != nil {
		return *bad
	}
	return a.outcome("The gateway")
}

// text sends an SMS to a number: see smsGateway.
func (c *sms) text(ctx context.Context, s *Sender, to, text string) (answer, *Result) {
	r := request{
		method: c.Method, url: c.fill(c.URL, to, text, url.QueryEscape), name: "The gateway",
		header: map[string]string{},
	}
	encode, kind := url.QueryEscape, "application/x-www-form-urlencoded"
	switch c.Encoding {
	case smsJSON:
		encode, kind = jsonInner, "application/json"
	case smsRaw:
		encode, kind = func(s string) string { return s }, "text/plain; charset=utf-8"
	}
	if c.Method != http.MethodGet {
		r.body, r.header["Content-Type"] = c.fill(c.Body, to, text, encode), kind
	}
	for name, value := range c.Headers {
		r.header[name] = value
	}
	return s.call(ctx, r)
}
