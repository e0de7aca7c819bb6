package alertchannel

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
)

// TestReadSlackAction checks what a report of Slack says, and which requests are none.
func TestReadSlackAction(t *testing.T) {
	const button = `{"action_id":"acknowledge","value":"key_1"}`
	for payload, want := range map[string]SlackAction{
		`{"type":"block_actions","user":{"name":"Grace","username":"grace"},"actions":[` + button +
			`]}`: {"key_1", "Grace", true},
		`{"type":"block_actions","user":{"username":"grace"},"actions":[` + button + `]}`: {"key_1", "grace", true},

		`{"type":"block_actions","actions":[` + button + `]}`: {"key_1", "", true},

		`{"type":"block_actions","user":{"name":"Grace"},"actions":[{"action_id":"details","value":"key_1"}]}`: {"key_1", "Grace", false},
		`{"type":"block_actions","user":{"name":"Grace"},"actions":[{"value":"key_1"}],` +
			`"response_url":"https://hooks.slack.com/"}`: {"key_1", "Grace", false},
	} {
		got, err := ReadSlackAction([]byte(url.Values{"payload": {payload}}.Encode()))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", payload, got, err)
		}
	}
	bodies := []string{"", "payload=%zz", "payload=%7B", "payload=", button}
	for _, payload := range []string{
		`[]`, `{}`, `{"type":"block_actions"}`, `{"type":"block_actions","actions":[]}`,
		`{"type":"view_submission","actions":[` + button + `]}`, `{"actions":[` + button + `]}`,
		`{"type":"block_actions","actions":[` + button + `,` + button + `]}`,
		`{"type":"block_actions","actions":[{"action_id":"acknowledge","value":""}]}`,
		`{"type":"block_actions","actions":[{"action_id":"acknowledge","value":7}]}`,
	} {
		bodies = append(bodies, url.Values{"payload": {payload}}.Encode())
	}
	for _, body := range bodies {
		if got, err := ReadSlackAction([]byte(body)); err == nil || got != (SlackAction{}) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

// TestUnsignedReportsOfSlack checks that nothing but the signature of the channel's secret over the time and the body
// is accepted.
func TestUnsignedReportsOfSlack(t *testing.T) {
	at, body := time.Unix(1_800_000_000, 0), []byte("payload=x")
	sign := func(secret, stamp string) http.Header {
		sum := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(sum, "v0:%s:%s", stamp, body)
		return http.Header{
			"X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(sum.Sum(nil))},
		}
	}
	bot := func(secret string) alert.Channel {
		c := alert.Channel{
			Type: "slack_bot", Config: json.RawMessage(`{"channel":"C1","server_url":"https://slack.com/api"}`),
			Secrets: map[string]json.RawMessage{"bot_token": json.RawMessage(`"xoxb-1"`)},
		}
		if secret != "" {
			c.Secrets["signing_secret"] = json.RawMessage(`"` + secret + `"`)
		}
		return c
	}
	const secret, stamp = "8f742231b10e8888abcd99yyyzzz85a5", "1800000000"
	without := func(name string) http.Header {
		h := sign(secret, stamp)
		h.Del(name)
		return h
	}
	bare := sign(secret, stamp)
	bare.Set("X-Slack-Signature", bare.Get("X-Slack-Signature")[len("v0="):])
	invalid := bot(secret)
	invalid.Config = json.RawMessage(`[]`)
	for what, c := range map[string]struct {
		channel alert.Channel
		header  http.Header
		want    bool
	}{
		"signed":                          {bot(secret), sign(secret, stamp), true},
		"with another secret":             {bot(secret), sign("8f742231b10e8888abcd99yyyzzz85a6", stamp), false},
		"a channel without a secret":      {bot(""), sign("", stamp), false},
		"without a time":                  {bot(secret), without("X-Slack-Request-Timestamp"), false},
		"without a signature":             {bot(secret), without("X-Slack-Signature"), false},
		"a signature without its version": {bot(secret), bare, false},
		"a time that is none":             {bot(secret), sign(secret, "now"), false},
		"a fraction of a second":          {bot(secret), sign(secret, "1800000000.5"), false},
		"another time": {bot(secret),
			http.Header{
				"X-Slack-Request-Timestamp": {"1800000001"},
				"X-Slack-Signature":         sign(secret, stamp)["X-Slack-Signature"],
			},
			false},
		"a channel that is not valid": {invalid, sign(secret, stamp), false},
	} {
		if got := VerifySlack(c.channel, c.header, body, at); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestWhatEveryStatusOfAGatewayMeans checks what each HTTP status of a gateway for SMS, and each code of Twilio's
// errors, means for the owner of the number.
func TestWhatEveryStatusOfAGatewayMeans(t *testing.T) {
	ours := []int{401, 402, 407, 408, 425, 429} // of the account or the gateway
	for status := 200; status <= 599; status++ {
		o := answer{status: status, header: http.Header{"Retry-After": {"30"}}}.smsOutcome()
		want := audience.SendOutcome{Result: audience.SendFailed, RetryAfter: 30 * time.Second}
		switch {
		case status <= 299:
			want = audience.SendOutcome{Result: audience.SendAccepted}
		case status >= 500:
			want.Unreachable = true
		case status <= 399 || slices.Contains(ours, status):
			want.Result, want.Unreachable = audience.SendServerUnavailable, true
		}
		if want.Result != audience.SendAccepted {
			want.Reason = fmt.Sprintf("The SMS gateway answered %d.", status)
			want.Detail = want.Reason
		}
		if o != want {
			t.Errorf("status %d: %+v, want %+v", status, o, want)
		}
	}
	ended := map[int]audience.SendResult{21610: audience.SendGone}
	for _, code := range []int{21211, 21214, 21217, 21614, 21635} {
		ended[code] = audience.SendRejected
	}
	for code := 21000; code < 22000; code++ {
		body := fmt.Appendf(nil, `{"code":%d,"status":400}`, code)
		want, known := ended[code]
		if !known {
			want = audience.SendFailed
		}
		o, ok := new(twilio).read(answer{status: 400, body: body})
		if !ok || o.Result != want || o.Reason == "" || o.Unreachable || o.RetryAfter != 0 {
			t.Errorf("the error %d: %+v", code, o)
		}
		for _, status := range []int{401, 404, 429, 500} {
			if o, ok := new(twilio).read(answer{status: status, body: body}); ok {
				t.Errorf("the error %d with the status %d: %+v", code, status, o)
			}
		}
	}
	for body, accepted := range map[string]bool{
		`{"sid":"SM1","status":"queued"}`: true, `{"sid":"SM1","status":"sent"}`: true, `{"sid":"SM1"}`: true,
		`{"sid":"SM1","status":"failed"}`:      false,
		`{"sid":"SM1","status":"undelivered"}`: false, `{"status":"queued"}`: false,
		`{"sid":"","status":"queued"}`: false, `{"sid":"SM1","status":"queued"`: false,
	} {
		for _, status := range []int{200, 201, 299} {
			o, ok := new(twilio).read(answer{status: status, body: []byte(body)})
			if ok == accepted || ok && (o.Result != audience.SendFailed || o.Reason == "") {
				t.Errorf("status %d %s: %+v", status, body, o)
			}
		}
	}
}
