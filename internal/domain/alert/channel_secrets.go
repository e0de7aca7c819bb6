package alert

import (
	"encoding/json"
	"net/url"
	"strings"
)

// LateSecrets are the fields of types of channels that became secrets when there were channels already. Rows from
// before have them in the configuration until the store has encrypted them.
var LateSecrets = map[string]string{"ntfy": "topic", "webhook": "url", "sms": "url"}

// SplitConfig returns the configuration of a channel of a type without the secret that it has in the clear, and that
// secret by its field; nil: there is none. See LateSecrets.
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

// URLHost returns what is shown of the URL among the secrets of a channel: its host, with the port if it has one; "":
// none.
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
