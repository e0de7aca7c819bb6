package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestSubscriberRequests compares the requests of these commands.
func TestSubscriberRequests(t *testing.T) {
	const listed = `{"data": [{"id": "sub_1", "target": "ada@example.com"}, {"id": "sub_2", "target": ` +
		`"https://example.com/a,b"}], "meta": {"total": 2}}`
	const room = `{"data": [{"id": "sub_3", "channel": "slack", "target": "https://hooks.slack.com/…cret"}], "meta": ` +
		`{"total": 1}}`
	for _, c := range []struct {
		args, want string
	}{
		{"subscriber add|--page=acme|--email=ada@example.com",
			`POST /api/v1/pages/acme/subscribers {"channel":"email","target":"ada@example.com"}`},
		{"subscriber add|--page=acme|--email=ada@example.com|--confirmed",
			`POST /api/v1/pages/acme/subscribers {"channel":"email","confirmed":true,"target":"ada@example.com"}`},
		{"subscriber add|--page=acme|--webhook=https://example.com/a,b|--component=comp_1|--component=comp_2",
			`POST /api/v1/pages/acme/subscribers {"channel":"webhook","components":["comp_1","comp_2"],` +
				`"target":"https://example.com/a,b"}`},
		{"subscriber add|--page=acme|--webhook=https://example.com/|--warnings",
			`POST /api/v1/pages/acme/subscribers {"channel":"webhook","target":"https://example.com/",` +
				`"warnings":true}`},
		{"subscriber edit|--page=acme|https://example.com/a,b|--warnings",
			`PATCH /api/v1/pages/acme/subscribers/sub_2 {"warnings":true}`},
		{"subscriber edit|--page=acme|sub_1|--no-warnings",
			`PATCH /api/v1/pages/acme/subscribers/sub_1 {"warnings":false}`},
		{"subscriber edit|--page=acme|sub_1|--component=comp_1|--component=comp_2|--warnings",
			`PATCH /api/v1/pages/acme/subscribers/sub_1 {"components":["comp_1","comp_2"],"warnings":true}`},
		{"subscriber edit|--page=acme|sub_1|--whole-page",
			`PATCH /api/v1/pages/acme/subscribers/sub_1 {"components":[]}`},
		{"subscriber list|--page=acme", `GET /api/v1/pages/acme/subscribers?page=1&per_page=100 `},
		{"subscriber show|--page=acme|sub_1", `GET /api/v1/pages/acme/subscribers/sub_1 `},
		{"subscriber show|--page=acme|https://hooks.slack.com/services/T0/B0/secret",
			`GET /api/v1/pages/acme/subscribers/sub_3 `},
		{"subscriber rotate|--page=acme|https://example.com/a,b", `POST /api/v1/pages/acme/subscribers/sub_2/rotate `},
		{"subscriber remove|--page=acme|ada@example.com", `DELETE /api/v1/pages/acme/subscribers/sub_1 `},
		{"delivery list|--page=acme", `GET /api/v1/pages/acme/deliveries?page=1&per_page=100 `},
		{"delivery list|--page=acme|--state=dead,expired|--state=pending|--limit=7",
			`GET /api/v1/pages/acme/deliveries?page=1&per_page=7&state=dead%2Cexpired%2Cpending `},
		{"delivery retry|dlv_1", `POST /api/v1/deliveries/dlv_1/retry `},
	} {
		var last string
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			sent, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			last = r.Method + " " + r.RequestURI + " " + canonical(sent)
			switch {
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case strings.HasPrefix(r.URL.Query().Get("target"), "https://hooks.slack.com/"):
				io.WriteString(w, room)
			case strings.HasSuffix(r.URL.Path, "s") && r.Method == http.MethodGet:
				io.WriteString(w, listed)
			default:
				io.WriteString(w, `{"data": {}}`)
			}
		}, expand(c.args)...)
		if status != console.ExitDone || last != c.want {
			t.Errorf("%s: status %d %s\ngot  %q\nwant %q", c.args, status, stderr, last, c.want)
		}
	}
}

// TestChannelFlags subscribes a target of each channel.
func TestChannelFlags(t *testing.T) {
	for _, channel := range audience.OperatorChannels {
		if channel.TargetLabel() == "" {
			t.Errorf("the channel %s has no label", channel)
		}
		body, flag := "", "--"+strings.ReplaceAll(string(channel), "_", "-")
		_, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			sent, _ := io.ReadAll(r.Body)
			body = canonical(sent)
			refusal(t, kernel.Problem{Field: "target", Code: "must be better"})(w, r)
		}, "subscriber", "add", "--page=acme", flag+"=x")
		if want := `{"channel":"` + string(channel) + `","target":"x"}`; body != want {
			t.Errorf("%s: the request is %s, want %s", channel, body, want)
		}
		if want := "  " + flag + ": must be better.\n"; !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: %q, want %q", channel, stderr, want)
		}
	}
}

// TestSubscriberUsage checks that invalid command lines send nothing.
func TestSubscriberUsage(t *testing.T) {
	for _, args := range []string{
		"subscriber add|--page=acme",
		"subscriber add|--page=acme|--email=a@example.com|--webhook=https://example.com/",
		"subscriber edit|--page=acme|sub_1",
		"subscriber edit|--page=acme|sub_1|--component=comp_1|--whole-page",
		"delivery retry",
	} {
		status, stdout, stderr := against(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s: %s %s was sent", args, r.Method, r.URL)
		}, expand(args)...)
		if status != console.ExitUsage || stdout != "" || stderr == "" {
			t.Errorf("%s: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}

// TestTargetErrors checks that errors name the given flag.
func TestTargetErrors(t *testing.T) {
	for _, flag := range []string{"--email", "--webhook"} {
		status, _, stderr := against(t, refusal(t, kernel.Problem{Field: "target", Code: "must be right"}),
			"subscriber", "add", "--page=p", flag+"=x")
		if status != console.ExitFailed || !strings.HasSuffix(stderr, "\n  "+flag+": must be right.\n") {
			t.Errorf("%s: status %d, %s", flag, status, stderr)
		}
	}
}

// The beginnings of answers.
const subscriberJSON = `{"id": "sub_1", "channel": "email", "target": "a@example.com", "added_by": "operator", `
const deliveryJSON = `{"id": "dlv_1", "purpose": "event", "event": "incident.created", "target": "a@example.com", ` +
	`"created_at": "2026-11-21T04:00:00.000Z", "attempts": 2, `

// subscriberOutputs are answers, and what commands print about them.
var subscriberOutputs = []struct {
	args, data, want string
}{
	{"subscriber add|--page=p|--email=x", subscriberJSON + `"confirmed": false}`,
		"Added the subscriber sub_1: a@example.com is asked to confirm first, if the server sends mail. To see " +
			"the delivery: allswell delivery list --page p\n"},
	{"subscriber add|--page=p|--email=x", subscriberJSON + `"confirmed": true}`,
		"Added the subscriber sub_1: a@example.com is notified from now on, if the server sends mail.\n"},
	{"subscriber add|--page=p|--webhook=x", subscriberJSON + `"confirmed": true, "secret": "whsec_7"}`,
		"Added the subscriber sub_1: a@example.com is called from now on.\n" +
			"Messages are signed with this secret, which is shown only this once:\n\n  whsec_7\n"},
	{"subscriber rotate|--page=p|sub_1", subscriberJSON + `"secret": "whsec_8"}`,
		"Messages are signed with this secret, which is shown only this once:\n\n  whsec_8\n\nMessages are " +
			"signed with the old secret too for another 24 hours.\n"},
	{"subscriber list|--page=p", `[]`, "No subscribers yet.\n"},
	{"subscriber list|--page=p",
		`[` + subscriberJSON + `"confirmed": true, "whole_page": true}, ` + subscriberJSON +
			`"confirmed": false, "components": ["comp_1", "comp_2"]}, ` + subscriberJSON +
			`"confirmed": true, "components": ["comp_1"]}, ` +
			`{"id": "sub_2", "channel": "webhook", "target": "\u001b[31m", "added_by": "visitor", "confirmed": ` +
			`true, "whole_page": false, "suspended_at": "2026-11-21T04:00:00.000Z"}]`,
		"SUBSCRIBER  CHANNEL  STATE        ADDED BY  ABOUT                        TARGET\n" +
			"sub_1       Email    active       operator  all components               a@example.com\n" +
			"sub_1       Email    unconfirmed  operator  2 components                 a@example.com\n" +
			"sub_1       Email    active       operator  1 component                  a@example.com\n" +
			"sub_2       Webhook  suspended    visitor   components that are deleted  \ufffd[31m\n"},
	{"subscriber show|--page=p|sub_1",
		subscriberJSON +
			`"confirmed": true, "refusals": 3, "suspended_at": "2026-11-21T04:00:00.000Z", "suspended_for": "No ` +
			`such mailbox."}`,
		"Target:         a@example.com\nId:             sub_1\nChannel:        Email\nState:          suspended\n" +
			"Added by:       operator\nSubscribed to:  components that are deleted\n" +
			"Suspended:      2026-11-21 04:00:00 +00:00: No such mailbox.\nRefusals:       3\n"},
	{"delivery list|--page=p", `[]`, "No deliveries.\n"},
	{"delivery list|--page=p",
		`[` + deliveryJSON +
			`"state": "pending", "reason": "It was slow.", "next_attempt_at": "2026-11-21T04:00:00.000Z"}]`,
		"DELIVERY  STATE    TRIED  CREATED                     ABOUT             TARGET         NOTE\n" +
			"dlv_1     pending  2      2026-11-21 04:00:00 +00:00  incident.created  a@example.com  It was slow. " +
			"Next attempt: 2026-11-21 04:00:00 +00:00.\n"},
	{"delivery list|--page=p",
		`[` + deliveryJSON +
			`"state": "pending", "reason": "451 4.7.1 greylisted", "next_attempt_at": ` +
			`"2026-11-21T04:00:00.000Z"}, ` +
			deliveryJSON +
			`"state": "pending", "next_attempt_at": "2026-11-21T04:00:00.000Z", "waits_for": "dlv_0"}, ` +
			deliveryJSON + `"state": "superseded", "reason": "451 4.7.1 greylisted", "carried_by": "dlv_0"}]`,
		"DELIVERY  STATE       TRIED  CREATED                     ABOUT             TARGET         NOTE\n" +
			"dlv_1     pending     2      2026-11-21 04:00:00 +00:00  incident.created  a@example.com  451 4.7.1 " +
			"greylisted. Next attempt: 2026-11-21 04:00:00 +00:00.\n" +
			"dlv_1     pending     2      2026-11-21 04:00:00 +00:00  incident.created  a@example.com  Waits for " +
			"dlv_0.\n" +
			"dlv_1     superseded  2      2026-11-21 04:00:00 +00:00  incident.created  a@example.com  451 4.7.1 " +
			"greylisted. Merged into dlv_0.\n"},
	{"delivery list|--page=p",
		`[{"id": "dlv_2", "purpose": "link", "state": "superseded", "created_at": "2026-11-21T04:00:00.000Z", ` +
			`"carried_by": "dlv_1"}]`,
		"DELIVERY  STATE       TRIED  CREATED                     ABOUT  TARGET  NOTE\n" +
			"dlv_2     superseded  0      2026-11-21 04:00:00 +00:00  link   (gone)  Merged into dlv_1.\n"},
	{"delivery retry|dlv_1", deliveryJSON + `"state": "pending"}`, "Sending the delivery dlv_1 again now.\n"},
	{"delivery retry|dlv_1", deliveryJSON + `"state": "pending", "waits_for": "dlv_0"}`,
		"Sending dlv_0 now, which is for the same receiver and comes first. Then the delivery dlv_1 is sent.\n"},
}

// TestSubscriberOutput checks what is printed about subscribers and deliveries. Control characters are not printed.
func TestSubscriberOutput(t *testing.T) {
	for _, c := range subscriberOutputs {
		status, stdout, stderr := against(t, answer(200, "", "", `{"data": `+c.data+`, "meta": {"total": 1}}`),
			expand(c.args)...)
		if status != console.ExitDone || stdout != c.want || stderr != "" {
			t.Errorf("%s: status %d %s\ngot\n%swant\n%s", c.args, status, stderr, stdout, c.want)
		}
	}
}

// TestComponentsOfSubscribersHaveNames checks that people see the names of components, and programs their ids.
func TestComponentsOfSubscribersHaveNames(t *testing.T) {
	const subscriber = `{"id": "sub_1", "target": "a@example.com", "components": ["comp_2", "comp_3", "comp_1"]}`
	for _, c := range []struct {
		args, want string
		lists      bool
	}{
		{"subscriber show|--page=p|sub_1", "Subscribed to:  Web, comp_3, API\n", true},
		{"subscriber edit|--page=p|sub_1|--component=comp_2",
			"The subscriber a@example.com is notified of: Web, comp_3, API.\n", true},
		{"subscriber show|--page=p|sub_1|--json", `"comp_3"`, false},
	} {
		listed := false
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/components") {
				listed = true
				io.WriteString(w,
					`{"data": [{"id": "comp_1", "name": "API"}, {"id": "comp_2", "name": "Web"}], "meta": {"total": `+
						`2}}`)
				return
			}
			io.WriteString(w, `{"data": `+subscriber+`}`)
		}, expand(c.args)...)
		if status != console.ExitDone || !strings.Contains(stdout, c.want) || listed != c.lists {
			t.Errorf("%s: status %d %s, components were listed: %v\n%s", c.args, status, stderr, listed, stdout)
		}
	}
}
