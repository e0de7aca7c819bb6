package page

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// runSMS runs f once per engine, on a page that offers SMS.
func runSMS(t *testing.T, o store.SMSOptions, f func(w *mailFixture)) {
	o.Channel = "phones"
	storetest.Each(t, func(t *testing.T, dsn string) {
		c := new(clock)
		c.set(day)
		s := storetest.Open(t, dsn,
			storetest.WithKey(t, dsn, store.Options{
				Clock: c.now, Hosts: statuspage.NewHosts("localhost:8080"), SMS: o,
			}))
		ws, _ := storetest.Workspace(t, s, account.DefaultWorkspace)
		w := &fixture{
			t, s,
			New(Config{Store: s, Now: c.now, Mail: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}), c,
			ws,
		}
		ch, err := s.AlertChannels().Create(t.Context(), ws, "", resource.Channel.From(alert.Channel{
			Type: "sms", Name: "phones", Enabled: true, MaxPerMinute: 30,
			Config: json.RawMessage(`{"to":"+15550000000","url":"https://sms.example.com/"}`),
		}))
		must(w, ch, err)
		w.page("acme", "Acme")
		m := &mailFixture{fixture: w, components: map[string]string{}}
		for _, name := range []string{"North", "South"} {
			c, err := s.Components().Create(t.Context(), ws, "acme",
				resource.Component.From(statuspage.Component{Name: name}))
			m.components[name] = must(w, c, err).ID
		}
		f(m)
	})
}

const subscribePath = "/status/acme/subscribe"

// TestSMSSignUp walks from the panel to a confirmed subscription, and by the links of messages, without JavaScript.
func TestSMSSignUp(t *testing.T) {
	runSMS(t, store.SMSOptions{}, func(w *mailFixture) {
		unknown := w.post(subscribePath, url.Values{fieldPhone: {"+4915112345678"}, fieldCode: {"BBBB-BBBB"}})
		asked := w.answer(w.post(subscribePath, url.Values{
			fieldPhone: {"0049 151 / 123 456 78"}, fieldComponent: w.ids("North"),
		}), 200)
		if asked.One(t, "h1") != "Enter the code" || !strings.Contains(asked.Text(), "+4915112345678") {
			t.Fatalf("the form for the code: %s", asked.Text())
		}
		sub := w.subscribers()["+4915112345678"]
		if sub.Channel != audience.ChannelSMS || !sub.ConfirmedAt.IsZero() || len(sub.Components) != 1 ||
			sub.Code == "" {
			t.Fatalf("the subscribers after the sign-up: %+v", w.subscribers())
		}
		wrong := w.post(subscribePath, url.Values{fieldPhone: {"+4915112345678"}, fieldCode: {"BBBB-BBBB"}})
		if w.answer(wrong, 422); wrong.Body.String() != unknown.Body.String() {
			t.Error("the answer to a wrong code says whether the number is subscribed")
		}
		form := wrong.Body.String()
		if !strings.Contains(form, `<input type="hidden" name="phone" value="&#43;4915112345678">`) {
			t.Errorf("the form for the code has lost the number: %s", form)
		}
		path := "/status/acme/subscription/" + sub.Key
		w.shortLinks(sub.Key)
		if w.subscribers()["+4915112345678"].ID == "" || !w.subscribers()["+4915112345678"].ConfirmedAt.IsZero() {
			t.Fatal("opening a link has changed something")
		}
		if p := w.answer(w.do("GET", path+"?confirmed"), 200); strings.Contains(p.Text(), "Thank you") {
			t.Errorf("before the code: %s", p.Text())
		}
		rec := w.post(subscribePath, url.Values{fieldPhone: {"+49 151 12345678"}, fieldCode: {sub.ShownCode()}})
		if rec.Code != 303 || !strings.HasSuffix(rec.Header().Get("Location"), path+"?confirmed") ||
			rec.Header().Get("Cache-Control") != "no-store" || w.subscribers()["+4915112345678"].ConfirmedAt.IsZero() {
			t.Errorf("the confirmation with the code: %d %v", rec.Code, rec.Header())
		}
		p := w.answer(w.do("GET", path+"?confirmed"), 200)
		if !strings.Contains(p.Text(), "Thank you. Your subscription is confirmed.") {
			t.Errorf("after the code: %s", p.Text())
		}
		if p := w.answer(w.do("GET", path), 200); strings.Contains(p.Text(), "Thank you") {
			t.Errorf("later: %s", p.Text())
		}
		rec = w.post(subscribePath+"?lang=de", url.Values{
			fieldPhone: {"+49 151 12345678"}, fieldCode: {sub.ShownCode()},
		})
		if rec.Code != 303 || !strings.HasSuffix(rec.Header().Get("Location"), path+"?lang=de&confirmed") {
			t.Errorf("in another language: %d %v", rec.Code, rec.Header())
		}
		w.answer(w.post("/status/acme/unsubscribe/"+sub.Key, url.Values{}), 200)
		if len(w.subscribers()) != 0 {
			t.Error("still subscribed")
		}
	})
}

func TestFormForSMS(t *testing.T) {
	runSMS(t, store.SMSOptions{}, func(w *mailFixture) {
		panel := w.do("GET", "/status/acme").Body.String()
		if !strings.Contains(panel, `href="/status/acme/subscribe#sms"`) {
			t.Error("the panel does not offer SMS")
		}
		form := w.do("GET", subscribePath).Body.String()
		for _, want := range []string{
			`id="sms"`, `type="tel"`, `name="phone"`, `autocomplete="tel"`, `inputmode="tel"`,
		} {
			if !strings.Contains(form, want) {
				t.Errorf("the form has no %s", want)
			}
		}
		for _, typed := range []string{"", "0151 12345678", "ada@example.com", "+49 x"} {
			p := w.answer(w.post(subscribePath, url.Values{fieldPhone: {typed}, fieldComponent: w.ids("North")}), 422)
			if !strings.Contains(p.Text(), "with its country code, such as") || !strings.Contains(p.Text(), "North") {
				t.Errorf("%q: %s", typed, p.Text())
			}
		}
	})
}

// shortLinks follows the links in messages, which change nothing.
func (w *mailFixture) shortLinks(key string) {
	w.t.Helper()
	path := "/status/acme/subscription/" + key
	for short, long := range map[string]string{"/s/": path, "/u/": "/status/acme/unsubscribe/" + key} {
		rec := w.do("GET", short+key)
		if rec.Code != 302 || rec.Header().Get("Location") != long ||
			rec.Header().Get("Cache-Control") != "no-store" {
			w.t.Errorf("%s: %d %v", short, rec.Code, rec.Header())
		}
		for _, bad := range []string{"", "x", strings.Repeat("k", kernel.PingTokenLength), key + "/x"} {
			if rec := w.do("GET", short+bad); rec.Code != 404 {
				w.t.Errorf("a wrong short link: %s%s: %d", short, bad, rec.Code)
			}
		}
		if rec := w.post(short+key, url.Values{}); rec.Code != 405 {
			w.t.Errorf("POST %s: %d", short, rec.Code)
		}
	}
}

// TestSMSSignUpsAreLimited checks the limits for an address and for the day, and the countries.
func TestSMSSignUpsAreLimited(t *testing.T) {
	runSMS(t, store.SMSOptions{SignUpLimit: smsPerAddress + 2, Countries: []string{"49"}}, func(w *mailFixture) {
		p := w.answer(w.post(subscribePath, url.Values{fieldPhone: {"+15558675309"}}, "address", "192.0.2.200:1"), 422)
		if !strings.Contains(p.Text(), "Phone numbers of this country cannot be subscribed here.") {
			t.Errorf("another country: %s", p.Text())
		}
		number := 0
		next := func(address string) int {
			number++
			return w.post(subscribePath, url.Values{fieldPhone: {fmt.Sprintf("+49151%08d", number)}}, "address",
				address).Code
		}
		for i := range smsPerAddress {
			if got := next("192.0.2.1:1"); got != 200 {
				t.Errorf("sign-up %d: %d", i+1, got)
			}
		}
		if got := next("192.0.2.1:1"); got != 429 {
			t.Errorf("one more from the address: %d", got)
		}
		got := w.post(subscribePath, url.Values{fieldEmail: {"ada@example.com"}}, "address", "192.0.2.1:1").Code
		if got != 200 {
			t.Errorf("mail from the address: %d", got)
		}
		for range 2 {
			if got := next("198.51.100.1:1"); got != 200 {
				t.Errorf("from another address: %d", got)
			}
		}
		full := w.post(subscribePath, url.Values{fieldPhone: {"+4915199999999"}}, "address", "203.0.113.1:1")
		midnight := w.clock.now().Truncate(24 * time.Hour).Add(24 * time.Hour) // the limits are of UTC days
		wait := strconv.Itoa(int(math.Ceil(midnight.Sub(w.clock.now()).Seconds())))
		p = w.answer(full, 429)
		if !strings.Contains(p.Text(), "No more phone numbers can be subscribed today") ||
			full.Header().Get("Retry-After") != wait {
			t.Errorf("a sign-up above the limit: %v, %s", full.Header(), p.Text())
		}
	})
}

// TestSMSIsNotOffered checks pages without a gateway, and pages that leave sign-ups to operators.
func TestSMSIsNotOffered(t *testing.T) {
	phone := url.Values{fieldPhone: {"+4915112345678"}}
	refused := func(w *mailFixture) {
		t.Helper()
		if strings.Contains(w.do("GET", subscribePath).Body.String(), `name="phone"`) {
			t.Error("SMS is offered")
		}
		if p := w.answer(w.post(subscribePath, phone), 404); !strings.Contains(p.Text(), "cannot send SMS") {
			t.Errorf("a sign-up without a gateway: %s", p.Text())
		}
		if len(w.subscribers()) != 0 {
			t.Error("subscribed")
		}
	}
	runMail(t, refused)
	runSMS(t, store.SMSOptions{}, func(w *mailFixture) {
		w.changePage(func(p *statuspage.Page) { p.WebhookSignUps = false })
		refused(w)
		w.changePage(func(p *statuspage.Page) { p.WebhookSignUps = true })
		w.do("GET", subscribePath)
		ch, err := w.store.AlertChannels().Change(t.Context(), w.ws, "", "phones", func(c *alert.Channel) error {
			c.Enabled = false
			return nil
		}, kernel.Precondition{})
		must(w.fixture, ch, err)
		// The page in memory still offers it.
		if p := w.answer(w.post(subscribePath, phone), 404); !strings.Contains(p.Text(), "cannot send SMS") {
			t.Errorf("a sign-up at a page in memory: %s", p.Text())
		}
		w.clock.set(day.Add(2 * maxAge))
		w.do("GET", "/status/acme")
		refused(w)
	})
}
