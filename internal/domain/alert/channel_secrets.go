package alert

import (
	"encoding/json"
	"net/url"
	"strings"
)

// LateSecrets maps types of channels to the field that became a secret after channels of the type existed. Older rows
// have its value in the configuration until the store has encrypted it.
var LateSecrets = map[string]string{"ntfy": "topic", "webhook": "url", "sms": "url"}

// SplitConfig removes the secret of LateSecrets from the configuration of a channel of a type. It returns the
// configuration without it, and the secret by its field; nil: there is none.
func SplitConfig(kind string, config json.RawMessage) (shown json.RawMessage, plain map[string]json.RawMessage) {
	var fields map[string]json.RawMessage
	name, ok := LateSecrets[kind]
	if !ok || json.Unmarshal(config, &fields) != nil || fields[name] == nil {
		return config, nil
	}
	plain = map[string]json.RawMessage{name: fields[name]}
	delete(fields, name)
	shown, err := json.Marshal(fields)
	if err != nil {
		panic(err) // what was decoded can be encoded
	}
	return shown, plain
}

// URLHost returns the part of a secret URL that is shown: its host, with the port if it has one; "": the secrets have
// no URL.
func URLHost(secrets map[string]json.RawMessage) string {
	var text string
	if json.Unmarshal(secrets["url"], &text) != nil {
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
