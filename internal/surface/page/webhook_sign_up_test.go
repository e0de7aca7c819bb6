package page

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// changePage changes settings of Acme.
func (w *mailFixture) changePage(change func(*statuspage.Page)) {
	w.t.Helper()
	page, err := w.store.ChangePage(w.t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
		change(p)
		return nil
	})
	must(w.fixture, page, err)
}

// hook posts the form for webhooks.
func (w *mailFixture) hook(target string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.post("/status/acme/subscribe", url.Values{fieldURL: {target}}, fields...)
}

// TestWebhookSignUp walks from the form to the secret, which is shown once.
func TestWebhookSignUp(t *testing.T) {
	const target = "https://hooks.example.com/status?token=1"
	runMail(t, func(w *mailFixture) {
		t := w.t
		form := url.Values{fieldURL: {" " + target + " "}, fieldComponent: w.ids("North")}
		p := w.answer(w.post("/status/acme/subscribe", form), 200)
		if got := p.One(t, "h1"); got != "Check your webhook" {
			t.Errorf("the heading after the sign-up: %q", got)
		}
		sub := w.subscribers()[target]
		if sub.Channel != audience.ChannelWebhook || sub.AddedByOperator || !sub.ConfirmedAt.IsZero() ||
			len(sub.Components) != 1 {
			t.Fatalf("the subscriber after the sign-up: %+v", sub)
		}
		path := "/status/acme/subscription/" + sub.Key
		shown := func(what string, rec *httptest.ResponseRecorder, want bool) {
			t.Helper()
			if w.answer(rec, 200); strings.Contains(rec.Body.String(), htmlText(sub.Secret)) != want {
				t.Errorf("%s: the secret is shown: %t", what, !want)
			}
		}
		confirm := url.Values{fieldAction: {actConfirm}}
		shown("before", w.do("GET", path), false)
		shown("the confirmation", w.post(path, confirm), true)
		shown("a double click", w.post(path, confirm), true)
		shown("the subscription", w.do("GET", path), false)
		shown("another button", w.post(path, url.Values{fieldAction: {actResume}}), false)
		w.clock.move(secretShown + time.Second)
		shown("later", w.post(path, confirm), false)
		if got := w.subscribers()[target]; got.ConfirmedAt.IsZero() {
			t.Error("not confirmed")
		}
		w.answer(w.send("/status/acme/unsubscribe/"+sub.Key, `{"type":"any"}`), 200)
		if got := w.subscribers(); len(got) != 0 {
			t.Errorf("the subscribers after unsubscribing: %v", got)
		}
	})
}

// TestWebhookSignUpResponsesAreEqual checks that a response does not depend on whether a URL is subscribed, and by
// whom.
func TestWebhookSignUpResponsesAreEqual(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		operators, err := w.store.CreateSubscriber(w.t.Context(), w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://operator.example.com/"}, nil)
		must(w.fixture, operators, err)
		var responses []string
		add := func(target string) {
			rec := w.hook(target)
			responses = append(responses, fmt.Sprint(rec.Code, rec.Header(), rec.Body))
		}
		add("https://new.example.com/")
		add(operators.Target)
		unconfirmed := w.subscribers()["https://new.example.com/"]
		add(unconfirmed.Target)
		confirmed, err := w.store.ConfirmSubscription(w.t.Context(), "acme", unconfirmed.Key)
		must(w.fixture, confirmed, err)
		w.clock.move(2 * time.Hour)
		add(unconfirmed.Target)
		for i, r := range responses {
			if r != responses[0] || !strings.HasPrefix(r, "200") {
				w.t.Errorf("response %d:\n%s\nwant\n%s", i, r, responses[0])
			}
		}
		all := w.subscribers()
		got := all[operators.Target]
		if len(all) != 2 || got.ID != operators.ID || got.Key != operators.Key || got.ConfirmedAt.IsZero() {
			w.t.Errorf("the subscribers: %v", all)
		}
		entries, _, err := w.store.Deliveries(w.t.Context(), w.ws, "acme", store.DeliveryFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		must(w.fixture, entries, err)
		if len(entries) != 1 {
			w.t.Errorf("%d messages, want one request for confirmation", len(entries))
		}
	})
}

// TestInvalidWebhookSignUps checks that nothing is recorded for URLs that visitors may not add, and that they can be
// corrected.
func TestInvalidWebhookSignUps(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		for _, target := range []string{
			"", "http://hooks.example.com/", "https://user@hooks.example.com/", "https://10.0.0.1/",
			"https://hooks.example.com:22/", "\xff",
		} {
			p := w.answer(w.hook(target), 422)
			got := p.All("input[name=url]")
			if len(got) != 1 || got[0].Attr("aria-invalid") != "true" ||
				got[0].Attr("value") != strings.ToValidUTF8(target, "\ufffd") {
				t.Errorf("%q: %v", target, got)
			}
			if got := p.One(t, "#url-error"); !strings.Contains(got, "https://hooks.example.com/status") {
				t.Errorf("%q: %s", target, got)
			}
		}
		rec := w.send("/status/acme/subscribe", "url=https://hooks.example.com/", "Sec-Fetch-Site", "cross-site")
		if rec.Code != 403 {
			t.Errorf("from another site: %d", rec.Code)
		}
		w.changePage(func(p *statuspage.Page) { p.WebhookSignUps = false })
		if got := w.answer(w.hook("https://hooks.example.com/"), 404).One(t, "h1"); got != "Webhook" {
			t.Errorf("switched off: %q", got)
		}
		p := w.get("/status/acme/subscribe", 200)
		if len(p.All("input[name=url]")) != 0 || len(p.All("#subscribe ul a")) != 3 ||
			len(p.All("#subscribe p.quiet")) != 1 {
			t.Error("webhooks are offered though they are switched off")
		}
		if got := w.subscribers(); len(got) != 0 {
			t.Errorf("the subscribers of invalid sign-ups: %v", got)
		}
	})
}

// TestWebhookSignUpLimits checks the limits for a client, a host and a page.
func TestWebhookSignUpLimits(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		from := func(i int) []string { return []string{"address", fmt.Sprintf("192.0.%d.1:1", i)} }
		for i := range signUpsPerAddress + 1 {
			want := 200
			if i == signUpsPerAddress {
				want = 429
			}
			w.answer(w.hook(fmt.Sprintf("https://h%d.example.com/", i), from(0)...), want)
		}
		for i := range webhooksPerHost + 5 {
			w.answer(w.hook(fmt.Sprintf("https://victim.example.com/%d", i), from(1+i)...), 200)
		}
		if got := len(w.subscribers()); got != signUpsPerAddress+webhooksPerHost {
			t.Errorf("%d subscribers", got)
		}
		for i := signUpsPerAddress + webhooksPerHost + 5; i < webhooksPerPage-1; i++ {
			w.answer(w.hook(fmt.Sprintf("https://p%d.example.com/", i), from(i)...), 200)
		}
		// which counts, too
		chat := url.Values{fieldURL: {"https://discord.com/api/webhooks/1/abcdefghijklmnop"}, fieldChannel: {"discord"}}
		w.answer(w.post("/status/acme/subscribe", chat, from(199)...), 200)
		w.answer(w.hook("https://last.example.com/", from(200)...), 429)
		w.answer(w.post("/status/acme/subscribe", url.Values{fieldEmail: {"ann@example.com"}}, from(200)...), 200)
		w.clock.move(time.Hour)
		w.answer(w.hook("https://last.example.com/", from(200)...), 200)
	})
}

// htmlText returns text as it appears in HTML.
func htmlText(s string) string { return strings.ReplaceAll(s, "+", "&#43;") }
