package check

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell"
)

// destinationFields are the fields that say where a probe sends its secrets, and how well that is verified.
var destinationFields = []string{"url", "host", "port", "proxy", "oauth2_token_url", "tls", "insecure", "ca_certificates"}

// CheckKeptSecrets returns an *allswell.ValidationError on each secret that a change keeps but sends elsewhere. Otherwise anyone who can
// change a check could read its secrets on a server of their own. before and after are configurations, kept the fields that
// have a secret, and given the fields of the change.
func (t Type) CheckKeptSecrets(before, after json.RawMessage, kept []string, given map[string]json.RawMessage) error {
	if len(kept) == 0 || sameDestination(before, after) {
		return nil
	}
	var bad allswell.ValidationError
	for _, name := range kept {
		if _, ok := given[name]; !ok {
			bad.Add(name, "The %s must be given again, or removed, because the check is sent elsewhere or verifies less.", name)
		}
	}
	return bad.Err()
}

func sameDestination(before, after json.RawMessage) bool {
	var old, changed map[string]json.RawMessage
	if json.Unmarshal(before, &old) != nil || json.Unmarshal(after, &changed) != nil {
		return false
	}
	return !slices.ContainsFunc(destinationFields, func(name string) bool { return !sameServer(old[name], changed[name]) })
}

// sameServer compares values of a destination. Of URLs only the scheme, the host and the port matter.
func sameServer(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y string
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	u, err := url.Parse(x)
	if err != nil {
		return false
	}
	v, err := url.Parse(y)
	return err == nil && u.Host != "" && u.Scheme == v.Scheme && strings.EqualFold(u.Host, v.Host)
}

// hiddenSecret is shown in place of a secret that a target repeats.
const hiddenSecret = "[secret]"

// minHidden is the length of the shortest secret that is hidden: shorter ones would hide ordinary text.
const minHidden = 4

// HideSecrets returns what a target said without the secrets of the check, which a debugging page may repeat. A secret that
// the end of the text, or shorten, cuts is hidden, too.
func HideSecrets(text string, spec allswell.CheckSpec) string {
	shortened := strings.Contains(text, cutMark)
	for _, secret := range secretTexts(spec) {
		text = strings.ReplaceAll(text, secret, hiddenSecret)
		for n := len(secret) - 1; shortened && n >= minHidden; n-- {
			text = strings.ReplaceAll(text, secret[:n]+cutMark, hiddenSecret+cutMark)
		}
		for n := len(secret) - 1; n >= minHidden; n-- {
			if rest, ok := strings.CutSuffix(text, secret[:n]); ok {
				text = rest + hiddenSecret
				break
			}
		}
	}
	return text
}

// secretTexts returns the secrets of a check as they are sent, the longest first.
func secretTexts(spec allswell.CheckSpec) (all []string) {
	var config struct {
		Username string `json:"username"`
	}
	_ = json.Unmarshal(spec.Config, &config) // without a name there is no such header
	for _, value := range spec.Secrets {
		var text string
		var entries map[string]string
		switch {
		case json.Unmarshal(value, &text) == nil:
			all = append(all, text, base64.StdEncoding.EncodeToString([]byte(config.Username+":"+text)))
		case json.Unmarshal(value, &entries) == nil:
			for _, entry := range entries {
				all = append(all, entry)
			}
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < minHidden })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
