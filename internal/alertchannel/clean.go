package alertchannel

import (
	"encoding/json"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/redact"
)

// maxReference is the length of the longest reference in bytes.
const maxReference = 500

// clean returns the result without secrets, and with texts that can be stored and shown: one line of limited length.
// Services write parts of them. A reference that would have to be changed is dropped, because it would name nothing.
func (r Result) clean(secrets redact.Secrets) Result {
	r.Reason = oneLine(secrets.HideShortened(r.Reason))
	r.Detail = oneLine(secrets.HideShortened(r.Detail))
	r.TemplateError = oneLine(r.TemplateError)
	if len(r.Reference) > maxReference || kernel.OneLine(r.Reference) != r.Reference {
		r.Reference = ""
	}
	return r
}

// oneLine returns the text of a service as one line of at most maxReason characters.
func oneLine(text string) string {
	return alert.Shorten(kernel.OneLine(strings.Join(strings.Fields(text), " ")), maxReason)
}

// secretsOf returns the secrets of a request that the service of a channel may repeat: the secrets of the channel,
// alone and as credentials of basic authentication, and the key of a link.
func secretsOf(c alert.Channel, m alert.Message) redact.Secrets {
	var config map[string]json.RawMessage
	_ = json.Unmarshal(c.Config, &config) // without names there are no credentials of basic authentication
	users := []string{""}
	for _, field := range config {
		users = append(users, redact.Values(field)...)
	}
	var all []string
	for _, field := range c.Secrets {
		for _, value := range redact.Values(field) {
			all = append(append(all, value), redact.Parts(value)...)
			for _, user := range users {
				all = append(all, redact.BasicAuth(user, value))
			}
		}
	}
	if m.Thread != nil {
		all = append(all, m.Thread.Key)
	}
	return redact.New(all...)
}
