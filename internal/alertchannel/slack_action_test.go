package alertchannel

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestVerifySlack checks the example of Slack's documentation.
func TestVerifySlack(t *testing.T) {
	body :=
		"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner" +
			"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	c := alert.Channel{
		Type: "slack_bot", Config: json.RawMessage(`{"channel":"C1","server_url":"https://slack.com/api"}`),
		Secrets: map[string]json.RawMessage{
			"bot_token":      json.RawMessage(`"xoxb-1"`),
			"signing_secret": json.RawMessage(`"8f742231b10e8888abcd99yyyzzz85a5"`)},
	}
	header := http.Header{
		"X-Slack-Request-Timestamp": {"1531420618"},
		"X-Slack-Signature":         {"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
	}
	at := time.Unix(1531420618, 0)
	for offset, want := range map[time.Duration]bool{
		0: true, 5 * time.Minute: true, -5 * time.Minute: true, 5*time.Minute + time.Second: false,
		-5*time.Minute - time.Second: false,
	} {
		if got := VerifySlack(c, header, []byte(body), at.Add(offset)); got != want {
			t.Errorf("%s later: %v", offset, got)
		}
	}
	if VerifySlack(c, header, []byte(body+"x"), at) {
		t.Error("another body is accepted")
	}
	for _, typ := range []string{"slack", "webhook", ""} {
		other := c
		other.Type = typ
		if VerifySlack(other, header, []byte(body), at) {
			t.Errorf("accepted for the type %q", typ)
		}
	}
}

// TestSlackButtons checks that only with a signing secret Slack reports the button Acknowledge.
func TestSlackButtons(t *testing.T) {
	m := messages("")["one"]
	for signing, want := range map[string][]slackLink{
		"": {{Type: "button", Text: slackText{"plain_text", "Acknowledge"}, URL: m.Links.Acknowledge},
			{Type: "button", Text: slackText{"plain_text", "Details"}, URL: m.Details()}},
		"s": {{
			Type: "button", Text: slackText{"plain_text", "Acknowledge"}, ActionID: "acknowledge", Value: m.Thread.Key,
		},
			{
				Type: "button", Text: slackText{"plain_text", "Details"}, URL: m.Details(), ActionID: "details",
				Value: m.Thread.Key,
			}},
	} {
		blocks := (&slackBot{Signing: signing}).message(m)["blocks"].([]slackBlock)
		got := blocks[len(blocks)-1].Elements
		if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("buttons with signing secret %q: %+v", signing, got)
		}
	}
}

// TestFirstMessageSaysHowAlertsAre checks what takes the place of the first message of a thread while some of its
// alerts have ended.
func TestFirstMessageSaysHowAlertsAre(t *testing.T) {
	m := newMessage(&alert.Thread{ID: "thr_1", Key: "k", Reference: "C0123 1.2", Open: 1, Known: 1},
		alert.NoticeResolved, func(a *alert.Alert) {
			a.ResolvedAt = moment(25)
		}, "Shop")
	for i, state := range []alert.State{alert.Open, alert.Acknowledged, alert.Resolved} {
		a := alert.Alert{
			ID: string(rune('a' + i)), OpenedAt: moment(10),
			Subject: alert.Subject{
				Event: alert.MonitorDown, Name: []string{"Mail", "Backup", "Shop"}[i], Severity: kernel.ImpactMajor,
			},
		}
		if state == alert.Acknowledged {
			a.AcknowledgedAt, a.AcknowledgedBy = moment(20), "Grace"
		}
		if state == alert.Resolved {
			a.ResolvedAt = moment(25)
		}
		m.Thread.Alerts = append(m.Thread.Alerts, a)
	}
	peer := newSink(t)
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for typ, svc := range map[string]service{
		"slack_bot": services["slack_bot"], "discord": services["discord"], "telegram": services["telegram"],
	} {
		peer.reset(svc.success)
		m.Thread.Reference = svc.ref
		r := sender.Send(t.Context(), newChannel(t, typ, svc.config, peer.URL), m)
		if r.Result != audience.SendAccepted {
			t.Fatalf("%s: %+v", typ, r)
		}
		got := peer.taken()
		if len(got) != 2 || !strings.Contains(string(got[0].body), "Shop is up again") ||
			!strings.Contains(string(got[1].body), "2 monitors are down, Shop is up again") ||
			!strings.Contains(string(got[1].body), "Acknowledge") {
			t.Errorf("%s: %d requests, %s", typ, len(got), got[len(got)-1].body)
		}
	}

	svc := services["slack_bot"]
	peer.reset(svc.success)
	m.Thread.Reference = svc.ref
	channel := newChannel(t, "slack_bot", svc.config, peer.URL)
	channel.TitleTemplate = "ACME: {{len .Alerts}}"
	sender.Send(t.Context(), channel, m)
	got := peer.taken()
	if len(got) != 2 || !strings.Contains(string(got[0].body), "ACME: 1") ||
		!strings.Contains(string(got[1].body), "ACME: 3") {
		t.Errorf("with a template: %d requests", len(got))
	}
}

// TestHeadlineSaysWhoAcknowledgedAll checks the headline of several alerts that one person has acknowledged.
func TestHeadlineSaysWhoAcknowledgedAll(t *testing.T) {
	by := func(who ...string) alert.Message {
		m := newMessage(nil, alert.NoticeAcknowledged, nil, "Mail", "Shop")
		for i := range m.Items {
			m.Items[i].AcknowledgedAt, m.Items[i].AcknowledgedBy = moment(20), who[i]
		}
		return m
	}
	if got := by("Grace", "Grace").Headline(); got != "Acknowledged by Grace: 2 monitors are down" {
		t.Errorf("headline with one person: %q", got)
	}
	if got := by("Grace", "Ada").Headline(); got != "2 monitors are down" {
		t.Errorf("headline with two people: %q", got)
	}
}
