package page

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/htmltest"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// runMail is run in a world that can send mail, where Acme has two components
// in a group and one outside of it.
func runMail(t *testing.T, f func(w *mailWorld)) {
	run(t, func(w *world) {
		w.site.mail = true
		m := &mailWorld{world: w, components: map[string]string{}}
		group, err := w.store.CreateGroup(t.Context(), w.ws, "acme", allswell.NewGroup{Name: "Regions"})
		must(w, group, err)
		for i, name := range []string{"Website", "North", "South"} {
			n := allswell.NewComponent{Name: name, GroupID: []string{"", group.ID, group.ID}[i], Order: &i}
			c, err := w.store.CreateComponent(t.Context(), w.ws, "acme", n)
			m.components[name] = must(w, c, err).ID
		}
		f(m)
	})
}

type mailWorld struct {
	*world
	components map[string]string // name -> id
}

// post sends a form from our own page.
func (w *mailWorld) post(path string, form url.Values, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.send(path, form.Encode(), append([]string{"Sec-Fetch-Site", "same-origin"}, fields...)...)
}

// send posts a body as it is.
func (w *mailWorld) send(path, body string, fields ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "address" {
			r.RemoteAddr = fields[i+1]
		} else {
			r.Header.Set(fields[i], fields[i+1])
		}
	}
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

// answer checks what every answer to a form has, and returns it.
func (w *mailWorld) answer(rec *httptest.ResponseRecorder, status int) htmltest.Tree {
	w.t.Helper()
	h := rec.Header()
	if rec.Code != status || h.Get("Content-Type") != typeHTML {
		w.t.Fatalf("%d, want %d, %v", rec.Code, status, h)
	}
	if h.Get("Cache-Control") != web.CacheNever || h.Get("Etag") != "" || h.Get("Location") != "" || h["Set-Cookie"] != nil {
		w.t.Errorf("%d: %v", status, h)
	}
	p := htmltest.Parse(w.t, rec.Body.String())
	htmltest.CheckPage(w.t, "the answer", p)
	if want := web.PolicyPage(len(p.All("form")) > 0, false); h.Get("Content-Security-Policy") != string(want) {
		w.t.Errorf("%d forms, policy %q", len(p.All("form")), h.Get("Content-Security-Policy"))
	}
	return p
}

// subscribers are Acme's, by their targets.
func (w *mailWorld) subscribers() map[string]allswell.Subscriber {
	w.t.Helper()
	for more := true; more; {
		var err error
		more, err = w.store.ProcessSignUps(w.t.Context())
		must(w.world, more, err)
	}
	list, _, err := w.store.Subscribers(w.t.Context(), w.ws, "acme", "", store.Pagination{Page: 1, PerPage: 100})
	must(w.world, list, err)
	all := make(map[string]allswell.Subscriber)
	for _, s := range list {
		all[s.Target] = s
	}
	return all
}

func (w *mailWorld) ids(names ...string) (ids []string) {
	for _, name := range names {
		ids = append(ids, w.components[name])
	}
	slices.Sort(ids)
	return ids
}

func TestSubscribeForm(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		rec := w.do("GET", "/status/acme")
		if got := rec.Header().Get("Content-Security-Policy"); got != string(web.PolicyPage(true, true)) {
			t.Errorf("policy %q", got)
		}
		if again := w.do("GET", "/status/acme", "If-None-Match", rec.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("again: %d", again.Code)
		}
		p := w.get("/status/acme", 200)
		sections := p.All("main section")
		if last := sections[len(sections)-1]; last.Attr("aria-labelledby") != "subscribe" {
			t.Error("the subscription is not the last section")
		}
		if links := p.All("header nav a"); links[len(links)-1].Attr("href") != "#subscribe" || len(p.All("h2#subscribe")) != 1 {
			t.Error("no link leads to the form")
		}
		// Nor is it far from the other parts of the page.
		inc := w.incident("acme", allswell.NewIncident{Title: "Slow"})
		m := w.maintenance("acme", allswell.NewMaintenance{
			Title: "New disks", ScheduledFor: w.clock.now().Add(48 * time.Hour), ScheduledUntil: w.clock.now().Add(50 * time.Hour),
		})
		for _, part := range []string{"/history", "/incidents/" + inc.ID, "/components/" + w.components["North"], "/maintenances/" + m.ID, "/nothing"} {
			rec := w.do("GET", "/status/acme"+part+"?lang=ar")
			links := htmltest.Parse(t, rec.Body.String()).All("header nav a")
			if got := links[len(links)-1].Attr("href"); got != "/status/acme?lang=ar#subscribe" {
				t.Errorf("%s leads to %s", part, got)
			}
		}
		form := p.All("form")
		if len(form) != 1 || form[0].Attr("method") != "post" || form[0].Attr("action") != "/status/acme/subscribe" {
			t.Fatalf("%d forms", len(form))
		}
		if len(p.All("form input[type=email][name=email][autocomplete=email][inputmode=email][required]")) != 1 || p.One(t, "label[for=email]") != "E-mail address" {
			t.Error("the field is not what it should be")
		}
		if got := p.Texts("form details fieldset"); !slices.Equal(got, []string{"Components Website", "Regions North South"}) {
			t.Errorf("to choose from: %q", got)
		}
		for name, id := range w.components {
			if got := p.All("form details input[type=checkbox][name=component][value=" + id + "]"); len(got) != 1 {
				t.Errorf("%s cannot be chosen", name)
			}
		}
		if len(p.All("[checked]"))+len(p.All("details[open]"))+len(p.All("[aria-invalid]")) > 0 {
			t.Error("the form is not empty")
		}
		rec = w.do("GET", "/status/acme/subscribe")
		if rec.Code != 303 || rec.Header().Get("Location") != "/status/acme#subscribe" {
			t.Errorf("GET of the form's address: %d %v", rec.Code, rec.Header())
		}
	})
}

func TestMailIsOff(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		w.site.mail = false
		p := w.get("/status/acme", 200)
		if len(p.All("form")) > 0 || len(p.All("#subscribe")) > 0 || len(p.All("header nav a")) != 1 {
			w.t.Error("a subscription is offered")
		}
		if got := w.get("/status/acme/history", 200).All("header nav a"); len(got) != 1 {
			w.t.Errorf("the history leads to %q", got[1].Attr("href"))
		}
		p = w.answer(w.post("/status/acme/subscribe", url.Values{fieldEmail: {"ann@example.com"}}), 404)
		if got := p.One(w.t, "h1"); got != "E-mail is not set up here" {
			w.t.Errorf("%q", got)
		}
		w.get("/status/acme/subscribe", 404)
		if got := w.subscribers(); len(got) != 0 {
			w.t.Errorf("%v", got)
		}
	})
}

// TestAnswersAreAlike signs up an unknown, an unconfirmed, a confirmed and a
// suspended address.
func TestAnswersAreAlike(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		ann := url.Values{fieldEmail: {" Ann@Example.com "}, fieldComponent: w.ids("North", "South")}
		var answers []string
		signUp := func(form url.Values) {
			t.Helper()
			rec := w.post("/status/acme/subscribe", form)
			if got := w.answer(rec, 200).One(t, "h1"); got != "Check your mail" {
				t.Errorf("%q", got)
			}
			answers = append(answers, fmt.Sprint(rec.Header(), rec.Body))
		}
		signUp(ann)
		sub := w.subscribers()["ann@example.com"]
		if sub.Channel != allswell.ChannelEmail || !sub.ConfirmedAt.IsZero() || !slices.Equal(sub.Components, w.ids("North", "South")) {
			t.Errorf("%+v", sub)
		}
		signUp(ann)
		signUp(url.Values{fieldEmail: {"bob@example.com"}})
		confirmed, err := w.store.ConfirmSubscription(t.Context(), "acme", sub.Key)
		must(w.world, confirmed, err)
		signUp(ann)
		w.clock.move(2 * allswell.RepeatMailInterval)
		signUp(ann)
		for i, a := range answers {
			if a != answers[0] {
				t.Errorf("answer %d differs:\n%s\n%s", i, a, answers[0])
			}
		}
		if got := slices.Sorted(maps.Keys(w.subscribers())); !slices.Equal(got, []string{"ann@example.com", "bob@example.com"}) {
			t.Errorf("%v", got)
		}
	})
}

func TestRefusedSignUps(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		other := w.page("beta", "Beta")
		theirs := w.component("beta", "Theirs", "").ID
		for _, c := range []struct {
			name          string
			form          url.Values
			email, choice string
		}{
			{"nothing", nil, "Please enter your e-mail address.", ""},
			{"blank", url.Values{fieldEmail: {" \t"}}, "Please enter your e-mail address.", ""},
			{"no address", url.Values{fieldEmail: {"ann"}, fieldComponent: w.ids("North")}, "Please enter a complete e-mail address, such as name@example.com.", ""},
			{"hostile", url.Values{fieldEmail: {hostile}}, "Please enter a complete e-mail address, such as name@example.com.", ""},
			{"no text", url.Values{fieldEmail: {"\xff\x00@"}}, "Please enter a complete e-mail address, such as name@example.com.", ""},
			{"two headers", url.Values{fieldEmail: {"ann@example.com\r\nBcc: bob@example.com"}}, "Please enter a complete e-mail address, such as name@example.com.", ""},
			{"another page's component", url.Values{fieldEmail: {"ann@example.com"}, fieldComponent: {theirs}}, "", "A component that you chose is no longer on this page. Please choose again."},
			{"a hostile component", url.Values{fieldEmail: {"ann@example.com"}, fieldComponent: {hostile, w.components["North"]}}, "", "A component that you chose is no longer on this page. Please choose again."},
		} {
			p := w.answer(w.post("/status/acme/subscribe", c.form), 422)
			if got := strings.Join(p.Texts("#email-error"), ""); got != c.email {
				t.Errorf("%s: the address is said to be %q", c.name, got)
			}
			if invalid := p.All("input#email[aria-invalid=true][aria-describedby=email-error]"); len(invalid) == 1 != (c.email != "") {
				t.Errorf("%s: the field is marked %d times", c.name, len(invalid))
			}
			if got := strings.Join(p.Texts(".choice .wrong"), ""); got != c.choice {
				t.Errorf("%s: the components are said to be %q", c.name, got)
			}
			want := strings.ReplaceAll(strings.ToValidUTF8(c.form.Get(fieldEmail), "\ufffd"), "\r\n", "\n")
			if got := p.All("#email")[0].Attr("value"); got != strings.ReplaceAll(want, "\x00", "\ufffd") {
				t.Errorf("%s: the field holds %q", c.name, got)
			}
			known := slices.Contains(c.form[fieldComponent], w.components["North"])
			if got := len(p.All("[checked]")); got == 1 != known {
				t.Errorf("%s: %d components are ticked", c.name, got)
			}
			if open := len(p.All("details[open]")) == 1; open != (len(c.form[fieldComponent]) > 0) {
				t.Errorf("%s: the components are open: %v", c.name, open)
			}
			if len(p.All("script"))+len(p.All("img")) > 0 {
				t.Errorf("%s breaks out", c.name)
			}
		}
		if got := w.subscribers(); len(got) != 0 {
			t.Errorf("%v of %s", got, other.ID)
		}
		w.answer(w.post("/status/nope/subscribe", url.Values{fieldEmail: {"ann@example.com"}}), 404)
	})
}

func TestUnreadableForms(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		for _, path := range []string{"/status/acme/subscribe", "/status/acme/subscription/" + strings.Repeat("k", 32)} {
			for body, want := range map[string]int{
				"email=%zz": 400,
				"a;b=c":     400,
				"email=a@example.com" + strings.Repeat("&a", 500):                                       400,
				"email=a@example.com&x=" + strings.Repeat("x", maxForm):                                 413,
				"email=a@example.com&x=" + strings.Repeat("x", maxForm-len("email=a@example.com&x=")+1): 413,
			} {
				if got := w.send(path, body).Code; got != want {
					w.t.Errorf("%s, %.40s: %d, want %d", path, body, got, want)
				}
			}
		}
		full := "email=a@example.com&x="
		w.answer(w.send("/status/acme/subscribe", full+strings.Repeat("x", maxForm-len(full))), 200)
		w.answer(w.send("/status/acme/subscribe", "email=b@example.com"+strings.Repeat("&a", 499)), 200)
	})
}

func TestFormMethods(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		key := strings.Repeat("k", 32)
		for _, path := range []string{"/status/acme/subscribe", "/status/acme/subscription/" + key, "/status/acme/unsubscribe/" + key} {
			for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post"} {
				if rec := w.do(method, path); rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD, POST" {
					w.t.Errorf("%s %s: %d, allow %q", method, path, rec.Code, rec.Header().Get("Allow"))
				}
			}
		}
		for _, path := range []string{"/status/acme/subscribe/", "/status/acme/subscription", "/status/acme/unsubscribe", "/status/acme/subscriptions/" + key} {
			w.get(path, 404)
			if rec := w.send(path, ""); rec.Code != 405 {
				w.t.Errorf("POST %s: %d", path, rec.Code)
			}
		}
	})
}

// TestOrigins: forms are taken from our own pages alone.
func TestOrigins(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		w.site.origins = originsOf("https://status.example/below")
		sub := w.subscriber("ann@example.com")
		paths := map[string]string{
			"/status/acme/subscribe":               "email=bob@example.com",
			"/status/acme/subscription/" + sub.Key: "action=save",
		}
		for path, body := range paths {
			keyed := strings.Contains(path, "subscription")
			for _, c := range []struct {
				fields []string
				taken  bool
			}{
				{nil, true}, // no browser
				{[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"}, true},
				{[]string{"Sec-Fetch-Site", "same-origin", "Origin", "null"}, true},
				{[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, false},
				{[]string{"Sec-Fetch-Site", "same-site", "Origin", "http://other.example.com"}, false},
				{[]string{"Sec-Fetch-Site", "cross-site", "Origin", "null"}, false},
				{[]string{"Origin", "http://example.com"}, true},
				{[]string{"Origin", "https://status.example"}, true}, // behind a proxy that names itself in Host
				{[]string{"Origin", "http://evil.example"}, false},
				{[]string{"Origin", "null"}, keyed},
			} {
				rec := w.send(path, body, c.fields...)
				if taken := rec.Code == 200; taken != c.taken || !taken && rec.Code != 403 {
					w.t.Errorf("%s from %v: %d", path, c.fields, rec.Code)
				}
			}
		}
		w.answer(w.send("/status/acme/unsubscribe/"+sub.Key, "List-Unsubscribe=One-Click", "Sec-Fetch-Site", "cross-site", "Origin", "https://mail.example"), 200)
		if _, ok := w.subscribers()["ann@example.com"]; ok {
			w.t.Error("the one click from elsewhere did nothing")
		}
	})
}

func TestSignUpLimits(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		n := 0
		signUp := func(address string) *httptest.ResponseRecorder {
			n++
			return w.post("/status/acme/subscribe", url.Values{fieldEmail: {fmt.Sprintf("s%d@example.com", n)}}, "address", address)
		}
		for range 30 { // what is no address counts for nobody
			w.answer(w.post("/status/acme/subscribe", nil, "address", "192.0.2.1:1"), 422)
		}
		for range signUpsPerAddress {
			w.answer(signUp("192.0.2.1:1"), 200)
		}
		w.clock.move(20*time.Minute - time.Second)
		rec := signUp("192.0.2.1:2")
		p := w.answer(rec, 429)
		if got := rec.Header().Get("Retry-After"); got != "2401" {
			t.Errorf("Retry-After %q", got)
		}
		if got := p.Texts(".sorry p")[0]; !strings.Contains(got, "41 minutes") {
			t.Errorf("%q", got)
		}
		if got := len(w.subscribers()); got != signUpsPerAddress {
			t.Errorf("%d subscribers", got)
		}
		w.answer(signUp("192.0.2.2:1"), 200)
		w.clock.move(40*time.Minute + time.Second)
		w.answer(signUp("192.0.2.1:1"), 200)
	})
}

// TestNobodyIsBuried: who ends what others began is asked a few times an hour at
// most, whoever asks, and the answers do not tell.
func TestNobodyIsBuried(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		asked, answers := 0, make(map[string]bool)
		for i := range 2 * signUpsPerMailbox {
			rec := w.post("/status/acme/subscribe", url.Values{fieldEmail: {" Ann@example.com"}}, "address", fmt.Sprintf("192.0.%d.1:1", i))
			w.answer(rec, 200)
			answers[rec.Body.String()] = true
			for _, sub := range w.subscribers() {
				asked++
				if err := w.store.Unsubscribe(t.Context(), "acme", sub.Key); err != nil {
					t.Fatal(err)
				}
			}
		}
		if asked != signUpsPerMailbox || len(answers) != 1 {
			t.Errorf("asked %d times, with %d answers", asked, len(answers))
		}
	})
}

func TestNetworkLimits(t *testing.T) {
	for _, c := range []struct {
		name    string
		one     func(i int) netip.Addr // of one network, another address for each i
		next    string
		allowed int
	}{
		{"IPv4", func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }, "192.0.3.1", 100},
		{"IPv4 in IPv6", func(i int) netip.Addr { return netip.AddrFrom16(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).As16()) }, "192.0.3.1", 100},
		{"IPv6", func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1, 0, byte(i), 15: 1}) }, "2001:db8:2::1", 100},
		{"no address", func(int) netip.Addr { return netip.Addr{} }, "192.0.3.1", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, allowed := newSignUpLimits(0, slog.New(slog.DiscardHandler)), 0
			for i := range 200 {
				if l.take(c.one(i), day).Allowed {
					allowed++
				}
			}
			if !c.one(0).IsValid() {
				c.allowed = signUpsPerAddress // an IPv6 address like any other
			}
			if allowed != c.allowed {
				t.Errorf("%d allowed, want %d", allowed, c.allowed)
			}
			if !l.take(netip.MustParseAddr(c.next), day).Allowed {
				t.Error("another network is refused")
			}
			if !l.take(c.one(1), day.Add(time.Hour)).Allowed {
				t.Error("refused after an hour")
			}
		})
	}
	l := newSignUpLimits(0, slog.New(slog.DiscardHandler))
	for range 200 { // one address is refused, and takes nothing from its neighbours
		l.take(netip.MustParseAddr("192.0.2.1"), day)
	}
	if v := l.take(netip.MustParseAddr("192.0.2.2"), day); !v.Allowed || v.Remaining != signUpsPerNetwork-signUpsPerAddress-1 {
		t.Errorf("%+v", v)
	}
}

// TestFormsWithoutDatabase: the page still stands, and the forms say that they
// did nothing.
func TestFormsWithoutDatabase(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		sub := w.subscriber("ann@example.com")
		w.get("/status/acme", 200)
		w.store.Close()
		secret := "/status/acme/subscription/" + sub.Key
		for name, rec := range map[string]*httptest.ResponseRecorder{
			"sign-up":     w.send("/status/acme/subscribe", "email=bob@example.com"),
			"show":        w.do("GET", secret),
			"confirm":     w.send(secret, "action=confirm"),
			"save":        w.send(secret, "action=save"),
			"resume":      w.send(secret, "action=resume"),
			"unsubscribe": w.send(secret, "action=unsubscribe"),
			"one click":   w.send("/status/acme/unsubscribe/"+sub.Key, ""),
		} {
			w.answer(rec, http.StatusServiceUnavailable)
			if rec.Header().Get("Retry-After") == "" {
				w.t.Errorf("%s: no Retry-After", name)
			}
		}
		w.get("/status/acme/unsubscribe/"+sub.Key, 200)
	})
}

// TestFormsAreBounded: as with other loads, nobody waits long for the database.
func TestFormsAreBounded(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		at := w.site.forms.unsubscribes
		for range cap(at) {
			at <- struct{}{}
		}
		ctx, cancel := context.WithCancel(w.t.Context())
		cancel()
		if err := at.run(ctx, func() error { return nil }); err != allswell.ErrBusy {
			w.t.Errorf("%v", err)
		}
	})
}

// TestOneMailbox: the tags of an address, and the dots of one at Gmail, do not
// get more mail into a mailbox.
func TestOneMailbox(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		for i := range 3 * signUpsPerMailbox {
			address := []string{"a.nn+%d@gmail.com", "an.n+%d@googlemail.com", "a.n.n+%d@GMail.com"}[i%3]
			rec := w.post("/status/acme/subscribe", url.Values{fieldEmail: {fmt.Sprintf(address, i)}}, "address", fmt.Sprintf("192.0.%d.1:1", i))
			w.answer(rec, 200)
		}
		if got := len(w.subscribers()); got != signUpsPerMailbox {
			t.Errorf("%d subscriptions of one mailbox", got)
		}
	})
}

// TestAllSignUpsTogether: beyond the limit of all clients together sign-ups are
// refused, and one line of the log says so until an hour has passed.
func TestAllSignUpsTogether(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		var logged bytes.Buffer
		w.site.signUps = newSignUpLimits(20, slog.New(slog.NewTextHandler(&logged, nil)))
		signUp := func(i int) *httptest.ResponseRecorder {
			return w.post("/status/acme/subscribe", url.Values{fieldEmail: {fmt.Sprintf("s%d@example.com", i)}}, "address", fmt.Sprintf("198.%d.%d.1:1", i/250, i%250))
		}
		for round := range 2 {
			for i := range 20 {
				w.answer(signUp(1000*round+i), 200)
			}
			w.clock.move(10 * time.Minute)
			for i := range 20 {
				rec := signUp(1000*round + 100 + i)
				w.answer(rec, 429)
				if rec.Header().Get("Retry-After") != "3000" {
					t.Fatalf("Retry-After %q", rec.Header().Get("Retry-After"))
				}
			}
			if got := strings.Count(logged.String(), "\n"); got != round+1 {
				t.Errorf("%d lines: %s", got, logged.String())
			}
			w.clock.move(time.Hour)
		}
		if got := len(w.subscribers()); got != 40 {
			t.Errorf("%d subscribers", got)
		}
	})
}
