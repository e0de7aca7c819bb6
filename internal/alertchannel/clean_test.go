package alertchannel

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/shared/redact"
)

// TestAnswersAreClean checks that nothing of an answer keeps a result from being stored, or changes the text around it.
func TestAnswersAreClean(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	const odd = "a\x00b\x1b[31m \xff\u202ed\r\ne"
	for _, c := range []struct {
		typ, body         string
		status            int
		reason, reference string
	}{
		{"slack_bot", `{"ok":true,"channel":"C1","ts":"1\u00001"}`, 200, "", ""},
		{"slack_bot", `{"ok":true,"channel":"C1","ts":"1.1"}`, 200, "", "C1 1.1"},
		{"slack_bot", `{"ok":false,"error":"a\u0000b\u202ec"}`, 200, "Slack answered: abc.", ""},
		{"telegram", `{"ok":false,"description":"a\u0000b\nc"}`, 400, "Telegram answered 400: ab c.", ""},
		{"discord", `{"id":"1\u00001"}`, 200, "", ""},
		{"discord", `{"id":"` + strings.Repeat("1", 501) + `"}`, 200, "", ""},
		{"matrix", `{"event_id":"$\u202e1"}`, 200, "", ""},
		{"gotify", odd, 400, "Gotify answered 400: ab[31m d e", ""},
		{"webhook", odd, 503, "The webhook answered 503: ab[31m d e", ""},
	} {
		peer := newSink(t)
		peer.reset(func(w http.ResponseWriter, _ int) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		r := sender.Send(t.Context(), newChannel(t, c.typ, services[c.typ].config, peer.URL), messages("")["one"])
		if r.Reason != c.reason || r.Reference != c.reference {
			t.Errorf("%s: %q: reason %q, reference %q", c.typ, c.body, r.Reason, r.Reference)
		}
		peer.Close()
	}
}

// echoes are servers that repeat a request, or a part of it, in different ways.
var echoes = map[string]func(r *http.Request) string{
	"the path":     func(r *http.Request) string { return r.URL.String() },
	"the host":     func(r *http.Request) string { return "no route: http://" + r.Host + r.URL.RequestURI() + "!" },
	"a long start": func(r *http.Request) string { return strings.Repeat("x", 100) + r.URL.String() },
	"the header": func(r *http.Request) string {
		r.Header.Del("Content-Type")
		r.Header.Del("User-Agent")
		r.Header.Del("Accept-Encoding")
		r.Header.Del("Content-Length")
		dump, _ := httputil.DumpRequest(r, false)
		return string(dump)
	},
	"the query":       func(r *http.Request) string { return url.QueryEscape(r.URL.String()) },
	"the credentials": func(r *http.Request) string { return r.Header.Get("Authorization") },
	"the body": func(r *http.Request) string {
		body, _ := io.ReadAll(r.Body)
		return string(body)
	},
	"the end of the body": func(r *http.Request) string {
		body, _ := io.ReadAll(r.Body)
		return string(body[max(0, len(body)-140):])
	},
}

// TestSecretsInAnswers checks that no reason has a secret of its channel that the service repeats.
func TestSecretsInAnswers(t *testing.T) {
	t.Parallel()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for name, echo := range echoes {
		peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text := echo(r)
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, text)
		}))
		for variant, service := range services {
			c := newChannel(t, variant, service.config, peer.URL)
			message := messages("")["one"]
			r := sender.Send(t.Context(), c, message)
			if r.Result == audience.SendAccepted || r.Reason == "" {
				t.Errorf("%s: %s: %+v", variant, name, r)
			}
			r.Reason = strings.NewReplacer(redact.Mark, "***", "[secret…", "***").Replace(r.Reason)
			for field, secret := range c.Secrets {
				text := strings.Trim(string(secret), `"`)
				if u, err := url.Parse(text); err == nil && u.Host != "" {
					text = u.RequestURI()
				}
				encoded := base64.StdEncoding.EncodeToString([]byte(text))
				if strings.Contains(r.Reason, text) || strings.Contains(r.Reason, url.QueryEscape(text)) ||
					strings.Contains(r.Reason, strings.TrimRight(encoded, "=")) {
					t.Errorf("%s: %s: %s: the reason is %s", variant, name, field, r.Reason)
				}
			}
			if message.Thread != nil && strings.Contains(r.Reason, message.Thread.Key) {
				t.Errorf("%s: %s: the key of the link is in %s", variant, name, r.Reason)
			}
		}
		for _, service := range []string{"slack", "discord", "teams", "google_chat", "mattermost"} {
			post := Post{
				ID: "msg_1", Title: "News",
				Links: []alert.Button{
					{Label: "Manage", URL: "https://status.example.com/subscription/KEYOFSUBSCRIPTION"},
				},
			}
			o := sender.Post(t.Context(), service, peer.URL+"/services/T0/B0/XXSECRETXX?token=YYSECRETYY", post)
			if strings.Contains(o.Reason, "SECRET") || strings.Contains(o.Reason, "KEYOF") || o.Reason == "" {
				t.Errorf("%s: %s: %+v", service, name, o)
			}
		}
		peer.Close()
	}
}

// TestQueriesInAnswers checks that no reason has a value of the query of a channel's URL, however short, typed or
// decoded.
func TestQueriesInAnswers(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		q := r.URL.Query()
		io.WriteString(w, q.Get("user")+" is not "+q.Get("key")+": "+r.URL.RawQuery)
	}))
	defer peer.Close()
	for kind, config := range map[string]string{
		"webhook": `{"url":"SERVER/x?user=ops1&key=p%2fq1"}`,
		"slack":   `{"url":"SERVER/x?user=ops1&key=p%2fq1"}`,
		"sms":     `{"to":"+49151123","url":"SERVER/x?user=ops1&key=p%2fq1&to={to}&text={text}","method":"GET"}`,
	} {
		r := sender.Send(t.Context(), newChannel(t, kind, config, peer.URL), messages("")["one"])
		if !strings.Contains(r.Reason, "[secret] is not [secret]") || strings.Contains(r.Reason, "ops1") ||
			strings.Contains(r.Reason, "q1") {
			t.Errorf("%s: %s", kind, r.Reason)
		}
	}
}
