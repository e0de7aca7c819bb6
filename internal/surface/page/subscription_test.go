package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/htmltest"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// subscriber creates a confirmed subscriber of the whole page.
func (w *mailFixture) subscriber(address string) audience.Subscriber {
	w.t.Helper()
	s, err := w.store.CreateSubscriber(w.t.Context(), w.ws, "acme",
		audience.NewSubscriber{Channel: audience.ChannelEmail, Target: address, Confirmed: true}, nil)
	return must(w.fixture, s, err)
}

// secret checks what all responses at a URL with a key have in common.
func (w *mailFixture) secret(rec *httptest.ResponseRecorder, status int, key string) htmltest.Tree {
	w.t.Helper()
	p := w.answer(rec, status)
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"} {
		if got := rec.Header().Get(name); got != want {
			w.t.Errorf("the header: %s is %q", name, got)
		}
	}
	if strings.Contains(fmt.Sprint(rec.Header(), rec.Body), key) {
		w.t.Error("the key is in the answer")
	}
	return p
}

func actions(p htmltest.Tree) (names []string) {
	for _, b := range p.All("main button") {
		names = append(names, b.Attr("value"))
	}
	return names
}

func TestSubscriptionIsConfirmed(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t, s := w.t, newSubscription(w)
		p := s.get()
		got := actions(p)
		if !slices.Equal(got, []string{actConfirm, actUnsubscribe}) || p.One(t, "h1") != "Confirm your subscription" {
			t.Errorf("unconfirmed: %v", got)
		}
		text := p.One(t, "main")
		if !strings.Contains(text, "ann@example.com") ||
			!strings.Contains(text, "affect North") || len(p.All("[role=status]")) > 0 {
			t.Errorf("unconfirmed: %q", text)
		}
		if s.get(); !w.subscribers()["ann@example.com"].ConfirmedAt.IsZero() {
			t.Fatal("looking at it has confirmed it")
		}
		p = s.post("action=confirm", "Thank you. Your subscription is confirmed.")
		if now := w.subscribers()["ann@example.com"]; !now.Active() || len(p.All("button[value=confirm]")) > 0 {
			t.Errorf("confirmed: %+v", now)
		}
		s.post("action=confirm", "Thank you. Your subscription is confirmed.")
	})
}

// subscription is a subscription of Ann to the component North.
type subscription struct {
	*mailFixture
	audience.Subscriber
	path string
}

// newSubscription subscribes Ann, who has not confirmed it yet.
func newSubscription(w *mailFixture) *subscription {
	w.t.Helper()
	w.answer(w.send("/status/acme/subscribe", "email=ann@example.com&component="+w.components["North"]), 200)
	sub := w.subscribers()["ann@example.com"]
	return &subscription{mailFixture: w, Subscriber: sub, path: "/status/acme/subscription/" + sub.Key}
}

// get returns the page of the subscription.
func (s *subscription) get() htmltest.Tree {
	s.t.Helper()
	rec, head := s.do("GET", s.path), s.do("HEAD", s.path)
	if head.Code != rec.Code || head.Body.Len() != 0 || fmt.Sprint(head.Header()) != fmt.Sprint(rec.Header()) {
		s.t.Errorf("HEAD: %d %v", head.Code, head.Header())
	}
	return s.secret(rec, 200, s.Key)
}

// post sends a form of the page, and checks what it says then.
func (s *subscription) post(body, done string) htmltest.Tree {
	s.t.Helper()
	p := s.secret(s.send(s.path, body), 200, s.Key)
	if got := p.One(s.t, "[role=status]"); got != done {
		s.t.Errorf("%s: %q, want %q", body, got, done)
	}
	return p
}

func TestComponentsOfSubscriptionChange(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t, s := w.t, newSubscription(w)
		s.post("action=confirm", "Thank you. Your subscription is confirmed.")
		p := s.get()
		if got := actions(p); !slices.Equal(got, []string{actSave, actUnsubscribe}) {
			t.Errorf("confirmed: %v", got)
		}
		facts := []string{"ann@example.com", "Active since 21 Nov 2020, 15:04 UTC", "North"}
		if got := p.Texts(".facts dd"); !slices.Equal(got, facts) {
			t.Errorf("confirmed: %q, want %q", got, facts)
		}
		if len(p.All("input[checked]")) != 2 || len(p.All("input[name=scope][value=components][checked]")) != 1 ||
			len(p.All("input[value="+w.components["North"]+"][checked]")) != 1 {
			t.Error("the form does not show what is chosen")
		}
		for _, c := range []struct {
			body string
			want []string
		}{
			{"action=save&scope=components&component=" + strings.Join(w.ids("South", "Website"), "&component="),
				w.ids("South", "Website")},
			{"action=save&component=" + w.components["North"], w.ids("North")},
			{"action=save&scope=page&component=" + w.components["South"], nil},
			{"action=save&component=" + w.components["North"], w.ids("North")},
			{"action=save", nil},
		} {
			p := s.post(c.body, "Your choice is saved.")
			if got := w.subscribers()["ann@example.com"].Components; !slices.Equal(got, c.want) {
				t.Errorf("%s: %v", c.body, got)
			}
			if whole := len(p.All("input[value=page][checked]")) == 1; whole != (c.want == nil) {
				t.Errorf("%s: the whole page is chosen: %v", c.body, whole)
			}
		}
	})
}

func TestSubscriptionEnds(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t, s := w.t, newSubscription(w)
		p := w.secret(w.send(s.path, "action=unsubscribe"), 200, s.Key)
		if got := p.One(t, "h1"); got != "You are unsubscribed" || len(w.subscribers()) != 0 {
			t.Errorf("after unsubscribing: %q, %v", got, w.subscribers())
		}
		for _, rec := range []*httptest.ResponseRecorder{
			w.do("GET", s.path), w.send(s.path, "action=confirm"), w.send(s.path, "action=save"),
			w.send(s.path, "action=resume"), w.send(s.path, "action=unsubscribe"),
		} {
			if got := w.secret(rec, 404, s.Key).One(t, "h1"); got != "This subscription does not exist" {
				t.Errorf("ended: %q", got)
			}
		}
	})
}

func TestInvalidChanges(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		w.page("beta", "Beta")
		theirs := w.component("beta", "Theirs", "").ID
		sub := w.subscriber("ann@example.com")
		path := "/status/acme/subscription/" + sub.Key
		for body, want := range map[string]string{
			"action=save&scope=components": "Please choose at least one component, or all components.",
			"action=save&scope=components&component=" + theirs + "&component=" +
				w.components["North"]: "A component that you chose is no longer on this page. Please choose again.",
		} {
			p := w.secret(w.send(path, body), 422, sub.Key)
			if got := p.One(t, ".choice .wrong"); got != want {
				t.Errorf("%s: %q", body, got)
			}
			kept := len(p.All("input[value="+w.components["North"]+"][checked]")) == 1
			if kept != strings.Contains(body, theirs) {
				t.Errorf("%s: the choice is kept: %v", body, kept)
			}
			if len(p.All("input[value=components][checked]")) != 1 {
				t.Errorf("%s: the choice is not shown", body)
			}
		}
		for _, body := range []string{"", "action=", "action=delete", "action=CONFIRM"} {
			w.answer(w.send(path, body), 400)
		}
		if got := w.subscribers()["ann@example.com"]; len(got.Components) != 0 || !got.Active() {
			t.Errorf("the subscriber after invalid changes: %+v", got)
		}
		// A link outlives its page's slug.
		for _, path := range []string{"/status/beta/subscription/", "/status/former/subscription/"} {
			w.secret(w.do("GET", path+sub.Key), 200, sub.Key)
		}
		// What is no key.
		for _, path := range []string{"/status/acme/subscription/", "/status/acme/subscription/" + sub.Key + "/",
			"/status/acme/subscription/" + strings.ToLower(sub.Key[:31]) + "-",
			"/status/acme/subscription/" + strings.Repeat("0", 32)} {
			w.secret(w.do("GET", path), 404, sub.Key)
			w.secret(w.send(path, "action=unsubscribe"), 404, sub.Key)
		}
		if len(w.subscribers()) != 1 {
			t.Error("a wrong address ended it")
		}
		w.get("/status/nope/subscription/"+strings.Repeat("0", 32), 404)
	})
}

// TestWebhookAndSuspendedSubscriptions checks the pages of a webhook and of a
// suspended address.
func TestWebhookAndSuspendedSubscriptions(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		s, err := w.store.CreateSubscriber(t.Context(), w.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: "https://hooks.example/a?b=c"}, nil)
		hook := must(w.fixture, s, err)
		p := w.secret(w.do("GET", "/status/acme/subscription/"+hook.Key), 200, hook.Key)
		got := p.Texts(".facts div")
		if len(got) != 3 || got[0] != "Notifications tohttps://hooks.example/a?b=c" ||
			strings.Contains(p.RawText(), "whsec_") {
			t.Errorf("the facts: %q", got)
		}
		req := pageRequest{
			snap:    &snapshot{page: statuspage.Page{Name: "Acme", Slug: "acme"}},
			variant: view.Variant{Language: i18n.English()},
		}
		sub := audience.Subscriber{
			Channel: audience.ChannelEmail, Target: "ann@example.com", ConfirmedAt: day, SuspendedAt: day,
			SuspendedFor: "550 no such mailbox",
		}
		out, err := view.Subscription(w.site.secretLayout(req), nil, sub, view.SubscriptionChange{}).Render(t.Context())
		must(w.fixture, out, err)
		p = htmltest.Parse(t, string(out))
		if got := actions(p); !slices.Equal(got, []string{actResume, actUnsubscribe}) {
			t.Errorf("suspended: %v", got)
		}
		if got := p.Texts(".facts dd")[1]; got != "Suspended since 21 Nov 2020, 15:04 UTC 550 no such mailbox Resume" {
			t.Errorf("suspended: %q", got)
		}
		// Resuming keeps the choice.
		ann := w.subscriber("ann@example.com")
		chosen, err := w.store.ChangeSubscription(t.Context(), "acme", ann.Key, w.ids("South"))
		must(w.fixture, chosen, err)
		p = w.secret(w.send("/status/acme/subscription/"+ann.Key, "action=resume"), 200, ann.Key)
		got = w.subscribers()["ann@example.com"].Components
		if !slices.Equal(got, w.ids("South")) || p.One(t, "[role=status]") != "Notifications resumed." {
			t.Errorf("resumed: %v", got)
		}
	})
}

func TestUnsubscribe(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		w.page("beta", "Beta")
		w.site.mail = false // what was sent before still works
		unknown := strings.Repeat("0", 32)
		const form = "application/x-www-form-urlencoded"
		bounds := "multipart/form-data; boundary=b"
		for contentType, body := range map[string]string{
			form: "List-Unsubscribe=One-Click",
			bounds: "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\n" +
				"One-Click\r\n--b--\r\n",
			"text/plain":               "%zz",
			"":                         "",
			"application/octet-stream": strings.Repeat("\xff", 1<<20),
		} {
			ann := w.subscriber("ann@example.com")
			if w.looksAtUnsubscribe(ann.Key) != w.looksAtUnsubscribe(unknown) {
				t.Error("GET reveals whether the subscription exists")
			}
			if len(w.subscribers()) != 1 {
				t.Fatal("looking ended it")
			}
			first := w.unsubscribe(ann.Key, contentType, body)
			if len(w.subscribers()) != 0 {
				t.Fatalf("%s did nothing", contentType)
			}
			second := w.unsubscribe(ann.Key, contentType, body)
			if second != first ||
				w.unsubscribe(unknown, contentType, body) != first ||
				w.looksAtUnsubscribe(ann.Key) != w.looksAtUnsubscribe(unknown) {
				t.Error("POST reveals whether the subscription existed")
			}
		}
		w.unsubscribe("no-key-at-all", form, "")
		// By the slug that the page had when the mail was sent.
		w.answer(w.send("/status/former/unsubscribe/"+w.subscriber("ann@example.com").Key,
			"List-Unsubscribe=One-Click"), 200)
		if len(w.subscribers()) != 0 {
			t.Error("the old slug's link did nothing")
		}
		w.get("/status/nope/unsubscribe/"+unknown, 404)
	})
}

// looksAtUnsubscribe returns the response of the link to unsubscribe.
func (w *mailFixture) looksAtUnsubscribe(key string) string {
	t := w.t
	t.Helper()
	path := "/status/acme/unsubscribe/" + key
	rec, head := w.do("GET", path), w.do("HEAD", path)
	if head.Code != 200 || head.Body.Len() != 0 || fmt.Sprint(head.Header()) != fmt.Sprint(rec.Header()) {
		t.Errorf("HEAD: %d %v", head.Code, head.Header())
	}
	p := w.secret(rec, 200, key)
	if len(p.All("form")) != 1 || len(p.All("form[method=post] button")) != 1 || len(p.All("input")) != 0 {
		t.Error("there is not just a button")
	}
	return fmt.Sprint(rec.Header(), rec.Body)
}

// unsubscribe unsubscribes as a mail program does, and returns the response.
func (w *mailFixture) unsubscribe(key, contentType, body string) string {
	t := w.t
	t.Helper()
	rec := w.send("/status/acme/unsubscribe/"+key, body, "Content-Type", contentType, "Origin", "https://mail.example")
	if got := w.secret(rec, 200, key).One(t, "h1"); got != "You are unsubscribed" {
		t.Errorf("after unsubscribing: %q", got)
	}
	return fmt.Sprint(rec.Header(), rec.Body)
}

// TestKeysAreNotLogged causes all errors that are logged.
func TestKeysAreNotLogged(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		var log strings.Builder
		w.site.log = slog.New(slog.NewTextHandler(&log, nil))
		sub := w.subscriber("ann@example.com")
		w.get("/status/acme", 200)
		w.store.Close()
		for _, action := range []string{actConfirm, actSave, actResume, actUnsubscribe} {
			w.send("/status/acme/subscription/"+sub.Key, "action="+action)
		}
		w.do("GET", "/status/acme/subscription/"+sub.Key)
		w.send("/status/acme/unsubscribe/"+sub.Key, "")
		w.send("/status/acme/subscribe", "email=bob@example.com")
		w.site.logError("a line", nil, context.DeadlineExceeded)
		text := log.String()
		if text == "" || strings.Contains(text, sub.Key) || strings.Contains(text, "@example.com") {
			w.t.Errorf("the log:\n%s", text)
		}
	})
}

// TestSubscriptionLinkAfterDomainChange checks that links in old mails work after
// the page got a domain, and after it lost it.
func TestSubscriptionLinkAfterDomainChange(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		domain, slug := "status.acme.example", "acme-2"
		changes := []func(*statuspage.Page){func(*statuspage.Page) {}, func(p *statuspage.Page) {
			p.Domain = domain
		}, func(p *statuspage.Page) { p.Domain = "" }, func(p *statuspage.Page) { p.Slug = slug }}
		var subs []audience.Subscriber
		for i := range changes {
			sub, err := w.store.CreateSubscriber(w.t.Context(), w.ws, "acme",
				audience.NewSubscriber{Channel: audience.ChannelEmail, Target: fmt.Sprint(i, "@example.com")}, nil)
			subs = append(subs, must(w.fixture, sub, err))
		}
		for i, ch := range changes {
			p, err := w.store.ChangePage(w.t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
				ch(p)
				return nil
			})
			must(w.fixture, p, err)
			key := subs[i].Key
			path := "/status/acme/subscription/" + key
			if got := actions(w.secret(w.do("GET", path), 200, key)); !slices.Contains(got, actConfirm) {
				w.t.Errorf("%d: it offers %q", i, got)
			}
			if got := actions(w.secret(w.send(path, "action=confirm"), 200, key)); !slices.Contains(got, actSave) {
				w.t.Errorf("%d: confirmed, it offers %q", i, got)
			}
			w.answer(w.send("/status/acme/unsubscribe/"+key, "List-Unsubscribe=One-Click", "Origin",
				"https://mail.example"), 200)
			w.secret(w.do("GET", path), 404, key)
		}
	})
}
