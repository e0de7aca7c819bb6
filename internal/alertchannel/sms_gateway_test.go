package alertchannel

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
)

// The configurations of gateways, whose own numbers must not get the messages to others.
const (
	twilioGateway = `{"account_sid":"AC0123456789abcdef0123456789abcdef","auth_token":"t0ken","from":"+15005550006",` +
		`"to":"+15550000000","server_url":"SERVER"}`
	genericGateway = `{"url":"SERVER/send","to":"+15550000000","secret":"k3y",` +
		`"body":"to={to}&text={text}&key={secret}"}`
)

// TestSMSToNumbers checks that an SMS goes to the number of a subscriber, not to the channel's.
func TestSMSToNumbers(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	peer.reset(func(w http.ResponseWriter, _ int) { io.WriteString(w, `{"sid":"SM1","status":"queued"}`) })
	const number, text = "+4915112345678", "Acme: 50 % & more?\nhttps://example.com/status/acme"
	for typ, config := range map[string]string{"twilio": twilioGateway, "sms": genericGateway} {
		peer.reset(peer.answer)
		o := sender.SMS(t.Context(), newChannel(t, typ, config, peer.URL), number, text)
		if o.Result != audience.SendAccepted || o.Reason != "" {
			t.Errorf("%s: %+v", typ, o)
		}
		got := peer.taken()
		if len(got) != 1 {
			t.Fatalf("%s: %d requests", typ, len(got))
		}
		form, err := url.ParseQuery(string(got[0].body))
		to, body := form.Get("To")+form.Get("to"), form.Get("Body")+form.Get("text")
		if err != nil || to != number || body != text || strings.Contains(string(got[0].body), "5550000000") {
			t.Errorf("%s: %s", typ, got[0].body)
		}
	}
	for _, typ := range alert.SMSTypes {
		if found, ok := TypeOf(typ); !ok {
			t.Errorf("there is no type %s", typ)
		} else if _, ok := found.New().(smsGateway); !ok {
			t.Errorf("%s sends no SMS", typ)
		}
	}
}

const smsNumber = "+4915112345678"

// twilioError returns an answer of Twilio with the number in its message.
func twilioError(code string) string {
	return `{"code":` + code + `,"message":"The number ` + smsNumber + ` is bad.","status":400}`
}

// smsAnswers are answers of gateways, and what comes of the message.
var smsAnswers = []struct {
	typ, body   string
	status      int
	after       string // Retry-After
	result      audience.SendResult
	unreachable bool
}{
	{"twilio", `{"sid":"SM1","status":"queued"}`, 201, "", audience.SendAccepted, false},
	{"twilio", `{"sid":"SM1","status":"failed"}`, 201, "", audience.SendFailed, false},
	{"twilio", `<html>Welcome</html>`, 200, "", audience.SendFailed, false},
	{"twilio", ``, 200, "", audience.SendFailed, false},
	{"twilio", twilioError("21610"), 400, "", audience.SendGone, false},
	{"twilio", twilioError("21211"), 400, "", audience.SendRejected, false},
	{"twilio", twilioError("21614"), 400, "", audience.SendRejected, false},
	// The account may not send to the country.
	{"twilio", twilioError("21408"), 400, "", audience.SendFailed, false},
	{"twilio", twilioError("21606"), 400, "", audience.SendFailed, false}, // the sender is wrong
	{"twilio", twilioError("21610"), 401, "", audience.SendServerUnavailable, true},
	{"twilio", twilioError("21211"), 500, "", audience.SendFailed, true},
	{"twilio", `{"code":20003,"status":401}`, 401, "", audience.SendServerUnavailable, true},
	{"twilio", `{"code":20005,"status":403}`, 403, "", audience.SendFailed, false},
	{"twilio", `{"code":20429,"status":429}`, 429, "30", audience.SendServerUnavailable, true},
	{"twilio", `not JSON`, 400, "", audience.SendFailed, false},
	{"sms", "OK", 200, "", audience.SendAccepted, false},
	{"sms", smsNumber, 400, "", audience.SendFailed, false},
	{"sms", "", 401, "", audience.SendServerUnavailable, true},
	{"sms", "", 402, "", audience.SendServerUnavailable, true},
	{"sms", "", 403, "", audience.SendFailed, false},
	{"sms", "", 404, "", audience.SendFailed, false},
	{"sms", "", 410, "", audience.SendFailed, false}, // the gateway may have moved
	{"sms", "", 422, "", audience.SendFailed, false},
	{"sms", "", 429, "120", audience.SendServerUnavailable, true},
	{"sms", "", 302, "", audience.SendServerUnavailable, true},
	{"sms", "", 500, "", audience.SendFailed, true},
	{"sms", "", 503, "7", audience.SendFailed, true},
}

// TestSMSOutcomes checks that only what a gateway says about a number counts against its owner.
func TestSMSOutcomes(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for _, c := range smsAnswers {
		peer := newSink(t)
		peer.reset(func(w http.ResponseWriter, _ int) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		config := map[string]string{"twilio": twilioGateway, "sms": genericGateway}[c.typ]
		o := sender.SMS(t.Context(), newChannel(t, c.typ, config, peer.URL), smsNumber, "hello")
		after, _ := time.ParseDuration(c.after + "s")
		if o.Result != c.result || o.Unreachable != c.unreachable || o.RetryAfter != after ||
			(o.Reason == "") != (c.result == audience.SendAccepted) {
			t.Errorf("%s: %d %s: %+v", c.typ, c.status, c.body, o)
		}
		if strings.Contains(o.Reason+o.Detail, smsNumber) {
			t.Errorf("%s: %d: the number is in %q", c.typ, c.status, o.Reason)
		}
		peer.Close()
	}
}

// TestSMSWithoutGateway checks gateways that do not answer, and channels that cannot send.
func TestSMSWithoutGateway(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	peer.Close()
	o := sender.SMS(t.Context(), newChannel(t, "sms", genericGateway, peer.URL), "+4915112345678", "x")
	if o.Result != audience.SendServerUnavailable || !o.Unreachable {
		t.Errorf("nobody answers: %+v", o)
	}
	strict := NewSender(Config{})
	defer strict.Close()
	o = strict.SMS(t.Context(), newChannel(t, "sms", genericGateway, "http://127.0.0.1:1"), "+4915112345678", "x")
	if o.Result != audience.SendServerUnavailable || !strings.Contains(o.Reason, "ALLSWELL_WEBHOOK_ALLOW_PRIVATE") {
		t.Errorf("a private address: %+v", o)
	}
	broken := newSink(t)
	broken.reset(func(w http.ResponseWriter, _ int) { panic(http.ErrAbortHandler) })
	o = sender.SMS(t.Context(), newChannel(t, "sms", genericGateway, broken.URL), "+4915112345678", "x")
	if o.Result != audience.SendFailed || !o.Unreachable {
		t.Errorf("the connection ends without an answer, so the message may have been sent: %+v", o)
	}
	for name, c := range map[string]alert.Channel{
		"another type": newChannel(t, "email", `{"to":"ada@example.com"}`, ""),
		"unknown":      {Type: "carrier_pigeon"},
		"invalid":      {Type: "twilio", Config: json.RawMessage(`{"account_sid":"x"}`)},
		"not readable": {Type: "sms", Config: json.RawMessage(`[]`)},
	} {
		o := sender.SMS(t.Context(), c, "+4915112345678", "x")
		if o.Result != audience.SendServerUnavailable || o.Reason == "" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
