package alertchannel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestAnswersOfServices checks answers that only one service gives.
func TestAnswersOfServices(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for _, c := range []struct {
		typ, body string
		status    int
		result    audience.SendResult
		after     time.Duration
		count     int
	}{
		{"slack_bot", `{"ok":false,"error":"channel_not_found"}`, 200, audience.SendRejected, 0, 1},
		{"slack_bot", `{"ok":false,"error":"ratelimited"}`, 200, audience.SendFailed, 0, 1},
		{"slack_bot", `{"ok":false,"error":"invalid_blocks"}`, 200, audience.SendRejected, 0, 2},
		{"slack_bot", `{"ok":false,"error":"thread_not_found"}`, 200, audience.SendRejected, 0, 2},
		{"slack_bot", `{"ok":true}`, 200, audience.SendAccepted, 0, 1},
		{"telegram", `{"ok":false,"description":"chat not found"}`, 200, audience.SendRejected, 0, 1},
		{"telegram", `{"ok":false,"description":"Too Many Requests","parameters":{"retry_after":35}}`, 429,
			audience.SendFailed, 35 * time.Second, 1},
		{"telegram", `{"ok":false,"description":"Too Many Requests","parameters":{"retry_after":35}}`, 200,
			audience.SendFailed, 35 * time.Second, 1},
		{"telegram", `{"ok":false,"description":"Forbidden: bot was blocked by the user"}`, 403, audience.SendRejected,
			0, 1},
		{"discord", `{"message":"You are being rate limited.","retry_after":64.5}`, 429, audience.SendFailed,
			64500 * time.Millisecond, 1},
		{"discord", `{"retry_after":1e9}`, 429, audience.SendFailed, time.Hour, 1},
		{"matrix", `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":2500}`, 429, audience.SendFailed,
			2500 * time.Millisecond, 1},
		{"zulip", `{"result":"error","code":"RATE_LIMIT_HIT","retry-after":28.7}`, 429, audience.SendFailed,
			28700 * time.Millisecond, 1},
		{"zulip", `{"result":"error","msg":"Channel does not exist"}`, 200, audience.SendRejected, 0, 1},
		{"pushover", `{"status":0,"errors":["user identifier is invalid"]}`, 200, audience.SendRejected, 0, 1},
		{"rocket_chat", `{"success":false,"error":"Invalid integration"}`, 200, audience.SendRejected, 0, 1},
	} {
		peer := newSink(t)
		peer.reset(func(w http.ResponseWriter, _ int) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		r := sender.Send(t.Context(), newChannel(t, c.typ, services[c.typ].config, peer.URL), messages("")["one"])
		if r.Result != c.result || r.RetryAfter != c.after || len(peer.taken()) != c.count {
			t.Errorf("%s: %s: %+v after %d requests", c.typ, c.body, r, len(peer.taken()))
		}
		peer.Close()
	}
}

// TestFollowing checks what services that keep an object for each thread are asked for.
func TestFollowing(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	for _, c := range []struct{ message, pagerDuty, opsgenie, onCall string }{
		{"one", "trigger thr", "thr", "alerting thr"},
		{"repeated", "trigger thr", "thr", "alerting thr"},
		{"acknowledged", "acknowledge thr", "acknowledge", "alerting thr"},
		{"resolved", "resolve thr", "close", "ok thr"},
		{"brief", "trigger thr,resolve thr", "thr,close", "alerting thr,ok thr"},
		{"test", "trigger msg,resolve msg", "msg,close", "alerting msg,ok msg"},
	} {
		for typ, want := range map[string]string{
			"pagerduty": c.pagerDuty, "opsgenie": c.opsgenie, "oncall_webhook": c.onCall,
		} {
			peer.reset(services[typ].success)
			r := sender.Send(t.Context(), newChannel(t, typ, services[typ].config, peer.URL), messages("")[c.message])
			if r.Result != audience.SendAccepted {
				t.Fatalf("%s: %s: %+v", typ, c.message, r)
			}
			var got []string
			for _, e := range peer.taken() {
				var b struct {
					Action string `json:"event_action"`
					Key    string `json:"dedup_key"`
					Alias  string `json:"alias"`
					UID    string `json:"alert_uid"`
					State  string `json:"state"`
				}
				if err := json.Unmarshal(e.body, &b); err != nil {
					t.Fatal(err)
				}
				prefix, _, _ := strings.Cut(b.Key+b.Alias+b.UID, "_")
				last := e.path[strings.LastIndex(e.path, "/")+1:]
				if typ == "opsgenie" && last != "alerts" {
					prefix = last
				}
				got = append(got, strings.TrimSpace(b.Action+b.State+" "+prefix))
			}
			if strings.Join(got, ",") != want {
				t.Errorf("%s of %s: %q, want %s", c.message, typ, got, want)
			}
		}
	}
}

// TestFirstMessageIsUpdated checks that services which can change messages say on the first one that its alerts are
// over.
func TestFirstMessageIsUpdated(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	for typ, second := range map[string]string{
		"slack_bot": "POST /api/chat.update", "discord": "PATCH /api/webhooks/1/secret/messages/77",
		"telegram": "POST /bot1:secret/editMessageText",
	} {
		svc := services[typ]
		channel := newChannel(t, typ, svc.config, peer.URL)
		for title, want := range map[string]int{
			"one": 1, "repeated": 1, "acknowledged": 2, "resolved": 2, "brief": 1, "test": 1,
		} {
			// The message was accepted even if the first one cannot be changed.
			peer.reset(func(w http.ResponseWriter, n int) {
				if n > 1 {
					w.WriteHeader(http.StatusNotFound)
				}
				svc.success(w, n)
			})
			r := sender.Send(t.Context(), channel, messages(svc.ref)[title])
			if r.Result != audience.SendAccepted || r.Reference != svc.ref {
				t.Errorf("%s: %s: %+v", typ, title, r)
			}
			got := peer.taken()
			if len(got) != want || want == 2 && got[1].method+" "+got[1].path != second {
				t.Errorf("%s: %s: %d requests", typ, title, len(got))
			}
		}
	}
}

// TestChangeOfFirstMessageIsRepeated checks that a change which a service cannot make now is repeated, and that the
// message counts as accepted, whatever the outcome of the change.
func TestChangeOfFirstMessageIsRepeated(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	for _, typ := range []string{"slack_bot", "discord", "telegram"} {
		svc := services[typ]
		channel := newChannel(t, typ, svc.config, peer.URL)
		for name, c := range map[string]struct {
			later string // Retry-After of two failures
			want  int    // requests
		}{"it works later": {"0.001", 4}, "it would work too late": {"60", 2}} {
			peer.reset(func(w http.ResponseWriter, n int) {
				if n == 2 || n == 3 {
					w.Header().Set("Retry-After", c.later)
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				svc.success(w, n)
			})
			r := sender.Send(t.Context(), channel, messages(svc.ref)["resolved"])
			if r.Result != audience.SendAccepted || r.Reference != svc.ref {
				t.Errorf("%s: %s: %+v", typ, name, r)
			}
			got := peer.taken()
			if len(got) != c.want {
				t.Errorf("%s: %s: %d requests, want %d", typ, name, len(got), c.want)
			}
			for _, change := range got[2:] {
				if change.path != got[1].path || string(change.body) != string(got[1].body) {
					t.Errorf("%s: %s: another request", typ, name)
				}
			}
		}
	}
}

// TestZulipTopics checks that an alert keeps its topic.
func TestZulipTopics(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	channel := newChannel(t, "zulip", strings.Replace(services["zulip"].config, `,"topic":"alerts"`, "", 1), peer.URL)
	peer.reset(services["zulip"].success)
	first := sender.Send(t.Context(), channel, messages("")["one"])
	later := sender.Send(t.Context(), channel, messages(first.Reference)["resolved"])
	if first.Reference != "Nightly backup is down" || later.Reference != first.Reference {
		t.Errorf("the topics are %q and %q", first.Reference, later.Reference)
	}
}

// TestSMSTemplates checks that values are encoded for where they are, and cannot contain each other.
func TestSMSTemplates(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	m := newMessage(nil, alert.NoticeOpened, func(a *alert.Alert) { a.Reason = "" }, `{secret} "a" & b=c`)
	m.Links = alert.Links{}
	for config, want := range map[string]string{
		`{"to":"+49151123","url":"SERVER/s","secret":"k"}`:                                                        "POST /s  to=%2B49151123&text=%7Bsecret%7D+%22a%22+%26+b%3Dc+is+down",
		`{"to":"+49151123","url":"SERVER/s?t={text}&k={secret}","method":"GET","secret":"k y"}`:                   "GET /s t=%7Bsecret%7D+%22a%22+%26+b%3Dc+is+down&k=k+y ",
		`{"to":"+49151123","url":"SERVER/s","method":"PUT","encoding":"text","body":"{text}"}`:                    `PUT /s  {secret} "a" & b=c is down`,
		`{"to":"+49151123","url":"SERVER/s","encoding":"json","body":"[\"{text}\",\"{secret}\"]","secret":"\"]"}`: `POST /s  ["{secret} \"a\" \u0026 b=c is down","\"]"]`,
	} {
		peer.reset(services["slack"].success)
		if r := sender.Send(t.Context(), newChannel(t, "sms", config, peer.URL), m); r.Result != audience.SendAccepted {
			t.Fatalf("%s: %+v", config, r)
		}
		e := peer.taken()[0]
		if got := e.method + " " + e.path + " " + e.query + " " + string(e.body); got != want {
			t.Errorf("%s:\n%s, want\n%s", config, got, want)
		}
	}
}

// TestInvalidChannels checks that bad fields are named.
func TestInvalidChannels(t *testing.T) {
	for _, c := range []struct{ typ, fields, field string }{
		{"slack", `{"url":"ftp://example.com"}`, "url"},
		{"slack", `{}`, "url"},
		{"slack_bot", `{"channel":"","bot_token":"x"}`, "channel"},
		{"telegram", `{"chat_id":"1","bot_token":"a/b"}`, "bot_token"},
		{"telegram", `{"chat_id":"1","bot_token":"a","topic_id":-1}`, "topic_id"},
		{"pagerduty", `{"routing_key":"short"}`, "routing_key"},
		{"opsgenie", `{"api_key":"x","server_url":"https://api.eu.opsgenie.com/?a=b"}`, "server_url"},
		{"matrix", `{"server_url":"https://m.example.com","room_id":"#ops:example.com","access_token":"x"}`, "room_id"},
		{"zulip", `{"server_url":"https://z.example.com","bot_email":"a:b","api_key":"x","channel":"ops"}`,
			"bot_email"},
		{"twilio", `{"account_sid":"AC1","auth_token":"x","from":"+1500","to":"+49151123"}`, "account_sid"},
		{"twilio",
			`{"account_sid":"AC0123456789abcdef0123456789abcdef","auth_token":"x","from":"+15005550006","to":"0151"}`,
			"to"},
		{"sms", `{"to":"+49151123","url":"https://{text}.example.com/"}`, "url"},
		{"sms", `{"to":"+49151123","url":"https://sms.example.com/","body":"no place"}`, "body"},
		{"sms", `{"to":"+49151123","url":"https://sms.example.com/","encoding":"json","body":"{text}"}`, "body"},
		{"sms", `{"to":"+49151123","url":"https://sms.example.com/","headers":{"A b":"c"}}`, "headers"},
		{"sms", `{"to":"+49151123","url":"https://sms.example.com/","headers":{"host":"c"}}`, "headers"},
		{"sms", `{"to":"+49151123","url":"https://sms.example.com/","headers":{"content-length":"1"}}`, "headers"},
		{"webhook", `{"url":"http://169.254.169.254/latest/meta-data/"}`, "url"},
		{"webhook", `{"url":"http://[::ffff:169.254.169.254]/"}`, "url"},
		{"webhook", `{"url":"https://ops.example.com:65536/"}`, "url"},
		{"gotify", `{"server_url":"https://100.100.100.200","app_token":"x"}`, "server_url"},
		{"oncall_webhook", `{"url":"https://example.com/","format":"x"}`, "format"},
		{"home_assistant", `{"server_url":"https://ha.example.com"}`, "webhook_id"},
		{"home_assistant", `{"server_url":"https://ha.example.com","webhook_id":"../x"}`, "webhook_id"},
		{"home_assistant", `{"server_url":"https://ha.example.com","notify_action":"phone"}`, "access_token"},
	} {
		typ, _ := TypeOf(c.typ)
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.fields), &given); err != nil {
			t.Fatal(err)
		}
		_, _, err := typ.Read(given)
		if invalid, ok := err.(*kernel.ValidationError); !ok || !invalid.Has(c.field) {
			t.Errorf("%s: %s: %v", c.typ, c.fields, err)
		}
	}
}

// TestPushoverPriorities checks which messages sound on devices: messages about what is open and major or critical.
// They sound again and again only if it is critical and the channel asks for it.
func TestPushoverPriorities(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	defer peer.Close()
	for _, c := range []struct {
		message   string
		severity  kernel.Impact
		emergency bool
		want      string
	}{
		{"one", kernel.ImpactMinor, true, "0"},
		{"one", kernel.ImpactMajor, true, "1"},
		{"one", kernel.ImpactCritical, true, "2"},
		{"one", kernel.ImpactCritical, false, "1"},
		{"repeated", kernel.ImpactCritical, true, "2"},
		{"unthreaded", kernel.ImpactCritical, true, "2"},
		{"acknowledged", kernel.ImpactCritical, true, "0"},
		{"acknowledged", kernel.ImpactMajor, false, "0"},
		{"resolved", kernel.ImpactCritical, true, "0"},
		{"brief", kernel.ImpactCritical, false, "0"},
	} {
		peer.reset(func(w http.ResponseWriter, _ int) { io.WriteString(w, services["pushover"].answer) })
		m := messages("1")[c.message]
		for i := range m.Items {
			m.Items[i].Severity = c.severity
		}
		config := strings.Replace(services["pushover"].config, `"emergency":true`,
			fmt.Sprintf(`"emergency":%t`, c.emergency), 1)
		r := sender.Send(t.Context(), newChannel(t, "pushover", config, peer.URL), m)
		if r.Result != audience.SendAccepted {
			t.Fatalf("result: %+v", r)
		}
		form, err := url.ParseQuery(string(peer.taken()[0].body))
		if err != nil || form.Get("priority") != c.want || (form.Get("retry") != "") != (c.want == "2") ||
			(form.Get("expire") != "") != (c.want == "2") {
			t.Errorf("%s, %s, emergency %t: %v, %v", c.message, c.severity, c.emergency, form, err)
		}
	}
}

// TestEveryRequestOfAMessageMustBeAccepted checks that a message that takes several requests is not accepted if one of
// them is not, whichever it is, and that none follows it.
func TestEveryRequestOfAMessageMustBeAccepted(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := newSink(t)
	several := make(map[string]bool) // types
	for _, typ := range Following() {
		svc := services[typ]
		for _, title := range []string{"brief", "test", "thousand"} {
			m := messages(svc.ref)[title]
			if len(m.Items) == 0 {
				t.Fatalf("there is no message %s", title)
			}
			channel := newChannel(t, typ, svc.config, peer.URL)
			peer.reset(svc.success)
			if r := sender.Send(t.Context(), channel, m); r.Result != audience.SendAccepted {
				t.Fatalf("%s: %s: %+v", typ, title, r)
			}
			requests := len(peer.taken())
			several[typ] = several[typ] || requests > 1
			for bad := 1; bad <= requests; bad++ {
				for status, want := range map[int]audience.SendResult{
					http.StatusForbidden: audience.SendRejected, http.StatusServiceUnavailable: audience.SendFailed,
				} {
					peer.reset(func(w http.ResponseWriter, n int) {
						if n == bad {
							w.WriteHeader(status)
							return
						}
						svc.success(w, n)
					})
					if r := sender.Send(t.Context(), channel, m); r.Result != want || len(peer.taken()) != bad {
						t.Errorf("%s: %s: request %d of %d was answered %d: %+v after %d requests", typ, title, bad,
							requests, status, r, len(peer.taken()))
					}
				}
			}
		}
		if !several[typ] {
			t.Errorf("%s: no message takes several requests", typ)
		}
	}
}
