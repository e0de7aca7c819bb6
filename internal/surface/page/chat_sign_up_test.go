package page

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestChatSignUp walks from the form to a confirmed subscription: the visitor types the code that the room got.
func TestChatSignUp(t *testing.T) {
	const target = "https://hooks.slack.com/services/T000/B000/abcdefghijklmnop"
	runMail(t, func(w *mailFixture) {
		t := w.t
		form := w.do("GET", "/status/acme/subscribe")
		for _, c := range audience.ChatChannels {
			if !strings.Contains(form.Body.String(), `<option value="`+string(c)+`">`) {
				t.Errorf("%s is not offered", c)
			}
		}
		send := func(values url.Values) *httptest.ResponseRecorder {
			values[fieldURL], values[fieldChannel] = []string{target}, []string{"slack"}
			return w.post("/status/acme/subscribe", values)
		}
		elsewhere := url.Values{fieldURL: {"https://example.com/x"}, fieldChannel: {"slack"}}
		p := w.answer(w.post("/status/acme/subscribe", elsewhere), 422)
		if !strings.Contains(p.Text(), "incoming-webhook URL that Slack shows") {
			t.Errorf("a URL that is not of Slack: %s", p.Text())
		}
		before := send(url.Values{fieldCode: {"BBBB-BBBB"}}).Body.String() // of a room that nobody subscribed
		asked := w.answer(send(url.Values{fieldComponent: w.ids("North")}), 200)
		if got := asked.One(t, "h1"); got != "Enter the code" {
			t.Fatalf("the heading is %q", got)
		}
		shown := audience.ChannelSlack.Shown(target)
		sub := w.subscribers()[shown]
		if sub.ID == "" || !sub.ConfirmedAt.IsZero() || len(sub.Components) != 1 || sub.Address != "" ||
			sub.Code == "" {
			t.Fatalf("the subscribers after the sign-up: %+v", w.subscribers())
		}
		wrong := send(url.Values{fieldCode: {"BBBB-BBBB"}})
		if w.answer(wrong, 422); wrong.Body.String() != before {
			t.Error("the answer to a wrong code says whether the room is subscribed")
		}
		path := "/status/acme/subscription/" + sub.Key
		// The link in the message asks for the code, too.
		page := w.do("GET", path).Body.String()
		if !strings.Contains(page, `name="code"`) ||
			strings.Contains(page, sub.Code) || strings.Contains(page, "abcdefgh") {
			t.Errorf("the page of the link: %s", page)
		}
		w.answer(w.post(path, url.Values{fieldAction: {actConfirm}}), 422)
		w.answer(w.post(path, url.Values{fieldAction: {actConfirm}, fieldCode: {"wrong"}}), 422)
		if !w.subscribers()[shown].ConfirmedAt.IsZero() {
			t.Fatal("confirmed without the code")
		}
		for range 2 { // a double click
			rec := send(url.Values{fieldCode: {" " + strings.ToLower(sub.ShownCode())}})
			if rec.Code != 303 || !strings.HasSuffix(rec.Header().Get("Location"), path+"?confirmed") {
				t.Fatalf("the code: %d %v", rec.Code, rec.Header())
			}
		}
		if w.subscribers()[shown].ConfirmedAt.IsZero() {
			t.Error("not confirmed")
		}
		if page := w.answer(w.do("GET", path), 200); !strings.Contains(page.Text(), shown) {
			t.Errorf("the page of the subscription: %s", page.Text())
		}
	})
}

// TestChatCodesAreLimited checks that a code cannot be guessed by many attempts.
func TestChatCodesAreLimited(t *testing.T) {
	const target = "https://discord.com/api/webhooks/1/abcdefghijklmnop"
	runMail(t, func(w *mailFixture) {
		values := url.Values{fieldURL: {target}, fieldChannel: {"discord"}}
		w.answer(w.post("/status/acme/subscribe", values), 200)
		sub := w.subscribers()[audience.ChannelDiscord.Shown(target)]
		values.Set(fieldCode, "BBBBBBBB")
		for range audience.MaxCodeAttempts {
			w.answer(w.post("/status/acme/subscribe", values), 422)
		}
		values.Set(fieldCode, sub.Code)
		w.answer(w.post("/status/acme/subscribe", values), 422)
		for range maxNotFoundPerAddress {
			w.post("/status/acme/subscribe", values)
		}
		if rec := w.post("/status/acme/subscribe", values); rec.Code != 429 {
			w.t.Errorf("after many wrong codes: %d", rec.Code)
		}
	})
}

// TestChatsFollowWebhookSignUps checks that a page without sign-ups of webhooks takes no chats.
func TestChatsFollowWebhookSignUps(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		w.changePage(func(p *statuspage.Page) { p.WebhookSignUps = false })
		w.answer(w.post("/status/acme/subscribe", url.Values{
			fieldURL: {"https://hooks.slack.com/services/T/B/abcdefghijklmnop"}, fieldChannel: {"slack"},
		}), 404)
		if got := w.subscribers(); len(got) != 0 {
			w.t.Errorf("the subscribers: %v", got)
		}
	})
}
