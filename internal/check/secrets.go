package check

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/configfield"
)

// destinationFields are the fields that say where a probe sends its secrets, and how well that is verified.
var destinationFields = []string{"url", "host", "port", "proxy", "oauth2_token_url", "tls", "insecure", "ca_certificates"}

// CheckKeptSecrets returns an *allswell.ValidationError on each secret that a change keeps but sends elsewhere: see configfield.CheckKeptSecrets.
func (t Type) CheckKeptSecrets(before, after json.RawMessage, kept []string, given map[string]json.RawMessage) error {
	return configfield.CheckKeptSecrets(destinationFields, before, after, kept, given)
}

// hiddenSecret is shown in place of a secret that a target repeats.
const hiddenSecret = "[secret]"

// minHidden is the length of the shortest secret that is hidden: shorter ones would hide ordinary text.
const minHidden = 4

// HideSecrets returns what a target said without the secrets of the check, which a debugging page may repeat. A secret that
// the end of the text, or shorten, cuts is hidden, too.
func HideSecrets(text string, spec allswell.CheckSpec) string {
	return hide(text, secretTexts(spec))
}

// hide returns a text without secrets, which are in order from the longest.
func hide(text string, secrets []string) string {
	shortened := strings.Contains(text, cutMark)
	for _, secret := range secrets {
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

// inDocuments are how pages write a text: in HTML, in JSON and in URLs.
var inDocuments = []func(string) string{
	html.EscapeString,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;").Replace,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace,
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace,
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "/", `\/`).Replace,
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace,
	url.QueryEscape,
	func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
}

// secretTexts returns the secrets of a check as they are sent, and as documents write them, the longest first.
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
	for _, text := range slices.Clone(all) {
		for _, write := range inDocuments {
			all = append(all, write(text))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < minHidden })
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
