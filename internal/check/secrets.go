package check

import (
	"encoding/json"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/redact"
)

// destinationFields are the fields that say where a probe sends its secrets, and how well that is verified.
var destinationFields = []string{"url", "host", "port", "proxy", "oauth2_token_url", "tls", "insecure", "ca_certificates"}

// CheckKeptSecrets returns an *allswell.ValidationError on each secret that a change keeps but sends elsewhere: see
// configfield.CheckKeptSecrets.
func (t Type) CheckKeptSecrets(before, after json.RawMessage, kept []string, given map[string]json.RawMessage) error {
	return configfield.CheckKeptSecrets(destinationFields, before, after, kept, given)
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
