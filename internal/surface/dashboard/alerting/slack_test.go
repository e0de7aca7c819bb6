package alerting_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/alerting"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5"

// slackPress is a report of a button in Slack with what is wrong with it.
type slackPress struct {
	body   string
	secret *string       // nil: signingSecret
	age    time.Duration // of the signature
	header func(http.Header)
}

// press reports a button.
func press(v *dashboardtest.Visitor, p slackPress) dashboardtest.Answer {
	v.Helper()
	key := signingSecret
	if p.secret != nil {
		key = *p.secret
	}
	stamp := strconv.FormatInt(v.Now().Add(-p.age).Unix(), 10)
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte("v0:" + stamp + ":" + p.body))
	r, err := http.NewRequest("POST", v.Base+alert.SlackPath, strings.NewReader(p.body))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(sum.Sum(nil)))
	if p.header != nil {
		p.header(r.Header)
	}
	return v.Do(r)
}

// pressed returns the body of a report, as Slack documents it.
func pressed(t *testing.T, action, key, user string) string {
	t.Helper()
	payload, err := json.Marshal(map[string]any{
		"type": "block_actions",
		"user": map[string]string{"id": "U1", "username": "grace", "name": user, "team_id": "T1"}, "api_app_id": "A1",
		"token": "x",
		"container": map[string]any{
			"type": "message", "message_ts": "1548261231.000200", "channel_id": "C0123", "is_ephemeral": false,
		},
		"trigger_id": "1.2.3", "team": map[string]string{"id": "T1", "domain": "acme"},
		"channel":      map[string]string{"id": "C0123", "name": "ops"},
		"message":      map[string]any{"bot_id": "B1", "type": "message", "text": "x", "ts": "1548261231.000200"},
		"response_url": "https://hooks.slack.com/actions/T1/1/x",
		"actions": []map[string]any{
			{
				"action_id": action, "block_id": "=qXel",
				"text": map[string]any{"type": "plain_text", "text": "Acknowledge"}, "value": key, "type": "button",
				"action_ts": "1548426417.840180",
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return url.Values{"payload": {string(payload)}}.Encode()
}

// slackAlert is an alert whose message has a button in Slack.
type slackAlert struct {
	*dashboardtest.Site
	owner, slack *dashboardtest.Visitor
	monitor      monitor.Monitor
	key          string // of the thread
	good         string // the report of the button
}

func newSlackAlert(s *dashboardtest.Site) *slackAlert {
	s.Helper()
	a := &slackAlert{Site: s, owner: s.Owner(), slack: s.Visitor()}
	signed, err := s.Store.AlertChannels().Create(s.Context(), a.owner.Actor(), "",
		resource.Channel.From(alert.Channel{
			Type: "slack_bot", Name: "Signed", Enabled: true, MaxPerMinute: 10,
			Config: json.RawMessage(`{"channel":"C0123","server_url":"https://slack.com/api"}`),
			Secrets: map[string]json.RawMessage{
				"bot_token": json.RawMessage(`"xoxb-1"`), "signing_secret": json.RawMessage(`"` + signingSecret + `"`),
			},
		}))
	if err != nil {
		s.Fatal(err)
	}
	a.monitor = failingJob(a.owner, func(r *alert.Rule) { r.ChannelIDs = []string{signed.ID} })
	first := alertMessage(a.owner)
	sent := store.MessageResult{
		ClaimedMessage: first, Outcome: audience.SendOutcome{Result: audience.SendAccepted}, Reference: "C0123 1.2",
	}
	if err := s.Store.SaveMessageResult(s.Context(), sent); err != nil {
		s.Fatal(err)
	}
	a.key = first.Thread.Key
	a.good = pressed(s.T, "acknowledge", a.key, "Grace Hopper")
	return a
}

// state returns the state of the alert, and who acknowledged it.
func (a *slackAlert) state() (alert.State, string) {
	a.Helper()
	all, _, err := a.Store.Alerts(a.Context(), a.owner.Actor(), store.AlertFilter{},
		store.Pagination{Page: 1, PerPage: 1})
	if err != nil {
		a.Fatal(err)
	}
	return all[0].State(), all[0].AcknowledgedBy
}

// TestForgedSlackReports sends reports that Slack has not made.
func TestForgedSlackReports(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		a := newSlackAlert(s)
		for name, p := range map[string]slackPress{
			"another secret":    {body: a.good, secret: new("x")},
			"an old signature":  {body: a.good, age: 5*time.Minute + 2*time.Second},
			"one of the future": {body: a.good, age: -5*time.Minute - 2*time.Second},
			"no signature":      {body: a.good, header: func(h http.Header) { h.Del("X-Slack-Signature") }},
			"no time":           {body: a.good, header: func(h http.Header) { h.Del("X-Slack-Request-Timestamp") }},
			"another time": {body: a.good, header: func(h http.Header) {
				h.Set("X-Slack-Request-Timestamp", strconv.FormatInt(s.Now().Unix()-7, 10))
			}},
			"another version": {body: a.good, header: func(h http.Header) {
				h.Set("X-Slack-Signature", "v1"+h.Get("X-Slack-Signature")[2:])
			}},
			"an unknown key":        {body: pressed(t, "acknowledge", "x"+a.key[1:], "Grace")},
			"a key that is no text": {body: pressed(t, "acknowledge", "\x00", "Grace")},
			"no JSON":               {body: "payload=x"},
			"another interaction":   {body: url.Values{"payload": {`{"type":"view_submission"}`}}.Encode()},
			"nothing":               {},
		} {
			if res := press(a.slack, p); res.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %d %s", name, res.StatusCode, res.Text)
			}
		}
		for range alerting.MaxSlackFaults {
			press(a.slack, slackPress{body: a.good, secret: new("x")})
		}
		a.slack.Wants(press(a.slack, slackPress{body: a.good, secret: new("x")}), http.StatusTooManyRequests)
		a.slack.Wants(press(a.slack, slackPress{body: pressed(t, "details", a.key, "Grace Hopper")}), http.StatusOK)
		if a.owner.Get("/admin/sign-in").StatusCode == http.StatusTooManyRequests {
			t.Error("reports that are not signed keep people from signing in")
		}
		s.Dashboard.Alerting.ForgetSlackFaults()
		a.slack.Wants(press(a.slack, slackPress{body: a.good + strings.Repeat("&x=y", alerting.MaxSlackBytes/4)}),
			http.StatusRequestEntityTooLarge)
		if is, _ := a.state(); is != alert.Open {
			t.Errorf("the alert is %s", is)
		}
	})
}

// TestSlackButton presses the button of a message in Slack.
func TestSlackButton(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		a := newSlackAlert(s)
		a.slack.Wants(press(a.slack, slackPress{body: pressed(t, "details", a.key, "Grace Hopper")}), http.StatusOK)
		if is, _ := a.state(); is != alert.Open {
			t.Errorf("a link has made it %s", is)
		}
		a.slack.Wants(press(a.slack, slackPress{body: a.good}), http.StatusOK)
		a.slack.Wants(press(a.slack, slackPress{body: a.good}), http.StatusOK) // a replay
		a.slack.Wants(press(a.slack, slackPress{body: pressed(t, "acknowledge", a.key, "Eve")}), http.StatusOK)
		if is, by := a.state(); is != alert.Acknowledged || by != "Grace Hopper in Slack" {
			t.Errorf("the alert after the button was pressed: %s by %s", is, by)
		}
		wantsAcknowledgement(a.owner, kernel.Actor{Kind: kernel.ActorSlack, Name: "Grace Hopper", Address: "127.0.0.1"})
		message := alertMessage(a.owner)
		now := message.Current().Headline()
		if !message.Outdates() || !strings.HasPrefix(now, "Acknowledged by Grace Hopper in Slack: ") {
			t.Errorf("the first message becomes %q", now)
		}
		signal(a.owner, a.monitor, monitor.SignalSuccess)
		a.slack.Wants(press(a.slack, slackPress{body: a.good}), http.StatusOK)
		if is, _ := a.state(); is != alert.Resolved {
			t.Errorf("after its end: %s", is)
		}
	})
}

// TestSlackButtonWithoutSecret checks that nobody can sign for a channel that has no signing secret.
func TestSlackButtonWithoutSecret(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner, slack := s.Owner(), s.Visitor()
		c, err := s.Store.AlertChannels().Create(t.Context(), owner.Actor(), "", resource.Channel.From(alert.Channel{
			Type: "slack_bot", Name: "Bot", Enabled: true, MaxPerMinute: 10,
			Config:  json.RawMessage(`{"channel":"C0123","server_url":"https://slack.com/api"}`),
			Secrets: map[string]json.RawMessage{"bot_token": json.RawMessage(`"xoxb-1"`)},
		}))
		if err != nil {
			t.Fatal(err)
		}
		failingJob(owner, func(r *alert.Rule) { r.ChannelIDs = []string{c.ID} })
		key := alertMessage(owner).Thread.Key
		slack.Wants(press(slack, slackPress{body: pressed(t, "acknowledge", key, "Eve"), secret: new("")}),
			http.StatusUnauthorized)
	})
}
