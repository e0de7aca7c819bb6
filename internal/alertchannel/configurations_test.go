package alertchannel

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

func onlyDigits(n int) string { return strings.Repeat("1", n) }

// hookSecret returns the secret of a webhook with n bytes.
func hookSecret(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }

var twilioID = strings.Repeat("0f", 16)

var validConfigurations = map[string]map[string]any{
	"ntfy":     {"server_url": "https://a.example", "topic": "t"},
	"twilio":   {"account_sid": "AC" + twilioID, "auth_token": "x", "from": "+1500", "to": "+49151"},
	"sms":      {"to": "+49151", "url": "https://a.example/?t={text}"},
	"telegram": {"chat_id": "1", "bot_token": "x"},
	"matrix":   {"server_url": "https://a.example", "room_id": "!a:a.example", "access_token": "x"},
	"zulip": {
		"server_url": "https://a.example", "bot_email": "a@a.example", "api_key": "x", "channel": "ops",
	},
	"home_assistant": {"server_url": "https://a.example", "webhook_id": "x"},
	"pagerduty":      {"routing_key": onlyDigits(32)},
	"webhook":        {"url": "https://a.example/"},
	"command":        {"arguments": []string{"x"}},
	"slack_bot":      {"channel": "ops", "bot_token": "x"},
}

// changedConfigurations are changes of a field of a valid configuration, and what they are told.
var changedConfigurations = []struct {
	typ, field  string
	value       any
	about       string // the field with the message, if it is another one
	wrong, kept string // kept is what is saved of an accepted text; "": the same
}{
	{"ntfy", "topic", strings.Repeat("a", 64), "", "", ""},
	{"ntfy", "topic", strings.Repeat("a", 65), "", "longer than 64", ""},
	{"ntfy", "topic", "a-B_9", "", "", ""},
	{"ntfy", "topic", "a.b", "", "letters, digits, hyphens and underscores", ""},
	{"ntfy", "topic", " ops ", "", "", ""},
	{"ntfy", "server_url", "https://a.example/", "", "", "https://a.example"},
	{"ntfy", "server_url", "https://a.example/b", "", "must not have a path", ""},
	{"twilio", "account_sid", "AC" + twilioID, "", "", ""},
	{"twilio", "account_sid", "AD" + twilioID, "", "32 hexadecimal digits", ""},
	{"twilio", "account_sid", "AC" + twilioID[1:], "", "32 hexadecimal digits", ""},
	{"twilio", "from", "+" + onlyDigits(15), "", "", ""}, {"twilio", "from", onlyDigits(3), "", "", ""},
	{"twilio", "from", "+" + onlyDigits(16), "", "must be a telephone number", ""},
	{"twilio", "from", "+12", "", "must be a telephone number", ""},
	{"twilio", "from", "Allswell 01", "", "", ""},
	{"twilio", "from", "Allswell 012", "", "must be a telephone number", ""},
	{"twilio", "from", "MG" + twilioID, "", "", ""},
	{"twilio", "from", "MG" + twilioID[1:], "", "must be a telephone number", ""},
	{"twilio", "to", "+1" + onlyDigits(14), "", "", ""},
	{"twilio", "to", "+1" + onlyDigits(15), "", "country code", ""},
	{"twilio", "to", "+11111", "", "", ""}, {"twilio", "to", "+1111", "", "country code", ""},
	{"twilio", "to", "+01111", "", "country code", ""},
	{"twilio", "to", "+49 (151) 12-34/5", "", "", "+4915112345"},
	{"sms", "to", "+49 (151) 12-34/5", "", "", "+4915112345"}, {"sms", "to", "0151", "", "country code", ""},
	{"sms", "url", "https://a.example/{to}?t={text}", "", "only in its query", ""},
	{"sms", "url", "https://a.example/", "", "", ""}, {"sms", "body", "x", "", "", ""},
	{"telegram", "chat_id", strings.Repeat("a", 100), "", "", ""},
	{"telegram", "chat_id", strings.Repeat("a", 101), "", "100", ""},
	{"telegram", "bot_token", "a?", "", "slashes and signs of URLs", ""},
	{"telegram", "bot_token", "a#", "", "signs of URLs", ""},
	{"telegram", "bot_token", "a%", "", "signs of URLs", ""},
	{"telegram", "bot_token", "a b", "", "signs of URLs", ""},
	{"telegram", "bot_token", `a\\`, "", "signs of URLs", ""}, {"telegram", "topic_id", 2_000_000_000, "", "", ""},
	{"telegram", "topic_id", 2_000_000_001, "", "2000000000", ""},
	{"matrix", "room_id", "#a:a.example", "", "internal id", ""},
	{"matrix", "server_url", "https://a.example/?a=b", "", "query or a fragment", ""},
	{"matrix", "server_url", "https://a.example/b//", "", "", "https://a.example/b"},
	{"zulip", "bot_email", "a", "", "email address", ""},
	{"zulip", "bot_email", "a:b@a.example", "", "email address", ""},
	{"home_assistant", "notify_action", "phone", "webhook_id", "Either", ""},
	{"home_assistant", "webhook_id", "", "webhook_id", "Either", ""},
	{"home_assistant", "webhook_id", "a/b", "", "signs of URLs", ""},
	{"pagerduty", "routing_key", onlyDigits(31), "", "32 characters", ""},
	{"pagerduty", "routing_key", onlyDigits(33), "", "32 characters", ""},
	{"webhook", "secret", hookSecret(24), "", "", ""},
	{"webhook", "secret", hookSecret(23), "", "24 to 64 bytes", ""},
	{"webhook", "secret", hookSecret(64), "", "", ""},
	{"webhook", "secret", hookSecret(65), "", "24 to 64 bytes", ""},
	{"webhook", "secret", hookSecret(24)[6:], "", "24 to 64 bytes", ""},
	{"webhook", "secret", "whsec_" + strings.Repeat("!", 32), "", "24 to 64 bytes", ""},
	{"command", "arguments", []string{"a-b", "c"}, "", "", ""},
	{"command", "arguments", []string{"a", "-b"}, "", "begin with a hyphen", ""},
	{"slack_bot", "channel", strings.Repeat("a", 100), "", "", ""},
	{"slack_bot", "channel", strings.Repeat("a", 101), "", "100", ""},
}

// TestLimitsOfConfigurations changes one field of a valid configuration of a type: to the last valid value, to the
// value beyond it, and to what is normalised. wrong is a part of the message; "": the value is accepted.
func TestLimitsOfConfigurations(t *testing.T) {
	for _, c := range changedConfigurations {
		given := make(map[string]json.RawMessage)
		changed := maps.Clone(validConfigurations[c.typ])
		changed[c.field] = c.value
		for name, value := range changed {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			given[name] = text
		}
		typ, _ := TypeOf(c.typ)
		public, secrets, err := typ.Read(given)
		invalid, _ := err.(*kernel.ValidationError)
		about := c.field
		if c.about != "" {
			about = c.about
		}
		switch {
		case c.wrong == "" && err != nil, c.wrong != "" && invalid == nil:
			t.Errorf("%s, %s %v: %v, want %q", c.typ, c.field, c.value, err, c.wrong)
		case c.wrong != "":
			named := slices.ContainsFunc(invalid.Messages()[about], func(s string) bool {
				return strings.Contains(s, c.wrong)
			})
			if len(invalid.Messages()) != 1 || !named {
				t.Errorf("%s, %s %v: %v, want %q about %s", c.typ, c.field, c.value, invalid.Messages(), c.wrong, about)
			}
		case c.kept != "":
			kept, _ := json.Marshal(c.kept)
			if !strings.Contains(string(public), string(kept)) && string(secrets[c.field]) != string(kept) {
				t.Errorf("%s, %s %v: saved as %s and %s", c.typ, c.field, c.value, public, secrets[c.field])
			}
		}
	}
}
