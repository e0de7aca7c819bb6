package page

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/fair"
)

// occupy takes all places of pools, each for a key of its own, and returns the function that gives them back.
func occupy(pools ...*fair.Pool) (free func()) {
	var releases []func()
	for _, p := range pools {
		for i := 0; p.Free() > 0; i++ {
			if release, ok := p.TryAcquire(fair.User(fmt.Sprint(i))); ok {
				releases = append(releases, release)
			}
		}
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

func unknownIncident(i int) string {
	return fmt.Sprintf("/status/acme/incidents/01a1fc53-1977-7f37-b83c-%012d", i)
}

func unknownKey(i int) string { return fmt.Sprintf("%032d", i) }

// TestPoolsAreIndependent occupies all pools except the pools of one kind of request, which must succeed.
func TestPoolsAreIndependent(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t, all := w.t, &w.site.forms
		sub := w.subscriber("ann@example.com")
		subscription, unsubscribe := "/status/acme/subscription/"+sub.Key, "/status/acme/unsubscribe/"+sub.Key
		w.get("/status/acme", 200)
		for _, c := range []struct {
			name   string
			needed []*fair.Pool // by the request
			ask    func() *httptest.ResponseRecorder
		}{
			{"sign-up", []*fair.Pool{all.signUps}, func() *httptest.ResponseRecorder {
				return w.post("/status/acme/subscribe", url.Values{fieldEmail: {"bob@example.com"}})
			}},
			{"showing", []*fair.Pool{all.keys, all.subscriptions}, func() *httptest.ResponseRecorder {
				return w.do("GET", subscription)
			}},
			{"confirming", []*fair.Pool{all.keys, all.subscriptions}, func() *httptest.ResponseRecorder {
				return w.post(subscription, url.Values{fieldAction: {actConfirm}})
			}},
			{"one click", []*fair.Pool{all.keys, all.unsubscribes}, func() *httptest.ResponseRecorder {
				return w.send(unsubscribe, "List-Unsubscribe=One-Click")
			}},
		} {
			var others []*fair.Pool
			for _, p := range []*fair.Pool{
				w.site.loads, all.signUps, all.keys, all.limitedKeys, all.subscriptions, all.unsubscribes, all.tokens,
				all.limitedTokens,
			} {
				if !slices.Contains(c.needed, p) {
					others = append(others, p)
				}
			}
			free := occupy(others...)
			if rec := c.ask(); rec.Code != 200 {
				t.Errorf("%s: %d while the other pools are occupied", c.name, rec.Code)
			}
			free()
		}
		if _, ok := w.subscribers()["ann@example.com"]; ok {
			t.Error("the one-click request did not unsubscribe")
		}
	})
}

// TestNotFoundLimit checks that an address above the limit causes no queries, and
// that other addresses, and what is in memory, are not affected.
func TestNotFoundLimit(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		known, other := w.incident("acme", statuspage.Incident{Title: "One"}, ""),
			w.incident("acme", statuspage.Incident{Title: "Two"}, "")
		known.ID, other.ID = "/status/acme/incidents/"+known.ID, "/status/acme/incidents/"+other.ID
		w.get(known.ID, 200)
		for i := range maxNotFoundPerAddress {
			if rec := w.from("192.0.2.7", "GET", unknownIncident(i)); rec.Code != 404 {
				t.Fatalf("request %d: %d", i, rec.Code)
			}
		}
		free := occupy(w.site.loads) // from here on nothing is loaded
		for i := range 100 {
			rec := w.from("192.0.2.7", "GET", unknownIncident(1000+i))
			if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "60" {
				t.Fatalf("request %d above the limit: %d, %q", i, rec.Code, rec.Header().Get("Retry-After"))
			}
		}
		rec := w.from("192.0.2.7", "GET", "/status/acme/maintenances/mnt_00000000000000000000")
		if rec.Code != http.StatusTooManyRequests {
			t.Errorf("a maintenance: %d", rec.Code)
		}
		for path, want := range map[string]int{
			other.ID: http.StatusTooManyRequests, known.ID: 200, "/status/acme": 200,
		} {
			if rec := w.from("192.0.2.7", "GET", path); rec.Code != want {
				t.Errorf("%s from the limited address: %d, want %d", path, rec.Code, want)
			}
		}
		free()
		for path, want := range map[string]int{other.ID: 200, unknownIncident(1): 404} {
			if rec := w.from("192.0.2.8", "GET", path); rec.Code != want {
				t.Errorf("%s from another address: %d, want %d", path, rec.Code, want)
			}
		}
		w.clock.move(notFoundWindow)
		if rec := w.from("192.0.2.7", "GET", unknownIncident(1)); rec.Code != 404 {
			t.Errorf("a minute later: %d", rec.Code)
		}
	})
}

// TestNotFoundLimitOfTokens checks that wrong tokens are limited on all kinds of paths of a page
// that a token could open.
func TestNotFoundLimitOfTokens(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		for range maxNotFoundPerAddress {
			w.do("GET", "/status/nothing", "Authorization", "Bearer aw_wrong")
		}
		for _, part := range []string{
			"", "/history", "/feed.atom", "/feed.rss", "/calendar.ics", "/badge.svg", "/badge.json", "/picture.png",
			"/events", "/subscribe", "/api/v2/summary.json", "/api/v2/nothing",
		} {
			rec := w.do("GET", "/status/nothing"+part, "Authorization", "Bearer aw_wrong")
			if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "60" {
				t.Errorf("%q: %d, Retry-After %q", part, rec.Code, rec.Header().Get("Retry-After"))
			}
		}
	})
}

// TestNotFoundLimitOfKeys checks that unknown keys get 404 and then 429 and never
// begin a write transaction, and that a valid key works from the same address.
func TestNotFoundLimitOfKeys(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		sub := w.subscriber("ann@example.com")
		free := occupy(w.site.forms.unsubscribes, w.site.forms.subscriptions) // nothing is read or written
		codes := map[int]int{}
		for i := range 3 * maxNotFoundPerAddress {
			path := "/status/acme/" + []string{"subscription/", "unsubscribe/"}[i%2] + unknownKey(i)
			method := []string{"GET", "GET", "POST", "POST"}[i%4]
			codes[w.from("192.0.2.7", method, path).Code]++
		}
		if codes[404] != maxNotFoundPerAddress/2 || codes[200] != maxNotFoundPerAddress/2 ||
			codes[429] != 2*maxNotFoundPerAddress {
			t.Errorf("the responses by status %v", codes)
		}
		free()
		rec := w.from("192.0.2.7", "POST", "/status/acme/unsubscribe/"+sub.Key)
		if rec.Code != 200 || len(w.subscribers()) != 0 {
			t.Errorf("the valid key: %d, %d subscribers", rec.Code, len(w.subscribers()))
		}
	})
}

// TestUnsubscribeUnderFlood checks that everybody can unsubscribe while many
// connections request unknown incidents, keys and pages, from the same address and
// from others.
func TestUnsubscribeUnderFlood(t *testing.T) {
	t.Parallel()
	runMail(t, func(w *mailFixture) {
		t := w.t
		w.get("/status/acme", 200)
		var keys []string
		for i := range 40 {
			keys = append(keys, w.subscriber(fmt.Sprintf("s%d@example.com", i)).Key)
		}
		stop := make(chan struct{})
		var flood sync.WaitGroup
		for n := range 24 {
			flood.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					path := []string{
						unknownIncident(n*1_000_000 + i), "/status/acme/subscription/" + unknownKey(n*1_000_000+i),
						"/status/acme/unsubscribe/" + unknownKey(n*1_000_000+i),
						fmt.Sprintf("/status/page-%d-%d", n, i),
					}[i%4]
					address := []string{"192.0.2.1", fmt.Sprintf("198.51.%d.%d", n, i/100%256)}[i/4%2]
					rec := w.from(address, []string{"GET", "GET", "POST", "GET"}[i%4], path)
					if rec.Code >= 500 && !strings.Contains(path, "/incidents/") {
						t.Errorf("%s: %d", path, rec.Code)
						return
					}
				}
			})
		}
		for _, key := range keys {
			if rec := w.send("/status/acme/unsubscribe/"+key, "List-Unsubscribe=One-Click"); rec.Code != 200 {
				t.Errorf("one click: %d", rec.Code)
			}
		}
		close(stop)
		flood.Wait()
		if n := len(w.subscribers()); n != 0 {
			t.Errorf("%d subscribers are left", n)
		}
	})
}

// TestPoolBusy checks the error of a pool without a free place.
func TestPoolBusy(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		occupy(w.site.forms.unsubscribes)
		ctx, cancel := context.WithCancel(w.t.Context())
		cancel()
		if err := runIn(ctx, w.site.forms.unsubscribes, nil, func() error { return nil }); err != kernel.ErrBusy {
			w.t.Errorf("a request that has ended: %v", err)
		}
	})
}

// TestPoolsAreShared checks, for each pool, that neither a client nor a workspace keeps the others out.
func TestPoolsAreShared(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		forms := w.site.forms
		for i, p := range []*fair.Pool{
			forms.signUps, forms.keys, forms.subscriptions, forms.unsubscribes, forms.tokens, forms.sessions,
			w.site.loads,
		} {
			request := func(address string) *http.Request {
				r := httptest.NewRequest("GET", "/", nil)
				r.RemoteAddr = address
				return r
			}
			busy, other := &entry{workspace: "busy"}, &entry{workspace: "other"}
			for range 100 {
				p.TryAcquire(keysOf(request("192.0.2.1:1"), busy)...)
				p.TryAcquire(keysOf(request("192.0.2.1:1"), nil)...)
			}
			if err := runIn(
				w.t.Context(), p, keysOf(request("198.51.100.1:1"), other), func() error { return nil },
			); err != nil {
				w.t.Errorf("pool %d: a client and a workspace keep others out: %v", i, err)
			}
		}
	})
}

func TestSignUpsPerAddress(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		n := 0
		signUp := func(address string) *httptest.ResponseRecorder {
			n++
			return w.post("/status/acme/subscribe", url.Values{fieldEmail: {fmt.Sprintf("s%d@example.com", n)}},
				"address", address)
		}
		for range 30 { // invalid addresses do not count
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
			t.Errorf("the text about the limit: %q", got)
		}
		if got := len(w.subscribers()); got != signUpsPerAddress {
			t.Errorf("%d subscribers", got)
		}
		w.answer(signUp("192.0.2.2:1"), 200)
		w.clock.move(40*time.Minute + time.Second)
		w.answer(signUp("192.0.2.1:1"), 200)
	})
}

// TestSignUpsPerMailbox checks that a mailbox gets a limited number of mails per
// hour from all clients, and that the responses do not differ.
func TestSignUpsPerMailbox(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		mails, responses := 0, make(map[string]bool)
		for i := range 2 * signUpsPerMailbox {
			rec := w.post("/status/acme/subscribe", url.Values{fieldEmail: {" Ann@example.com"}}, "address",
				fmt.Sprintf("192.0.%d.1:1", i))
			w.answer(rec, 200)
			responses[rec.Body.String()] = true
			for _, sub := range w.subscribers() {
				mails++
				if err := w.store.Unsubscribe(t.Context(), "acme", sub.Key); err != nil {
					t.Fatal(err)
				}
			}
		}
		if mails != signUpsPerMailbox || len(responses) != 1 {
			t.Errorf("%d mails, %d different responses", mails, len(responses))
		}
	})
}

func TestSignUpsPerNetwork(t *testing.T) {
	for _, c := range []struct {
		name    string
		addr    func(i int) netip.Addr // addresses of one network
		next    string
		allowed int
	}{
		{"IPv4", func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }, "192.0.3.1", 100},
		{"IPv4 in IPv6", func(i int) netip.Addr {
			return netip.AddrFrom16(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).As16())
		}, "192.0.3.1", 100},
		{"IPv6", func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1, 0, byte(i), 15: 1})
		}, "2001:db8:2::1", 100},
		{"no address", func(int) netip.Addr { return netip.Addr{} }, "192.0.3.1", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, allowed := newSignUpLimits(0, slog.New(slog.DiscardHandler)), 0
			for i := range 200 {
				if l.take(c.addr(i), audience.ChannelEmail, "", day).Allowed {
					allowed++
				}
			}
			if !c.addr(0).IsValid() {
				c.allowed = signUpsPerAddress // counts as one IPv6 address
			}
			if allowed != c.allowed {
				t.Errorf("%d allowed, want %d", allowed, c.allowed)
			}
			if !l.take(netip.MustParseAddr(c.next), audience.ChannelEmail, "", day).Allowed {
				t.Error("another network is rejected")
			}
			if !l.take(c.addr(1), audience.ChannelEmail, "", day.Add(time.Hour)).Allowed {
				t.Error("rejected after an hour")
			}
		})
	}
	l := newSignUpLimits(0, slog.New(slog.DiscardHandler))
	for range 200 { // rejected sign-ups do not count towards the limit of the network
		l.take(netip.MustParseAddr("192.0.2.1"), audience.ChannelEmail, "", day)
	}
	v := l.take(netip.MustParseAddr("192.0.2.2"), audience.ChannelEmail, "", day)
	if !v.Allowed || v.Remaining != signUpsPerNetwork-signUpsPerAddress-1 {
		t.Errorf("another client of the network: %+v", v)
	}
}

// TestSignUpsPerMailboxOfTaggedAddresses checks that addresses with tags, and with
// dots at Gmail, count as one mailbox.
func TestSignUpsPerMailboxOfTaggedAddresses(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		for i := range 3 * signUpsPerMailbox {
			address := []string{"a.nn+%d@gmail.com", "an.n+%d@googlemail.com", "a.n.n+%d@GMail.com"}[i%3]
			rec := w.post("/status/acme/subscribe", url.Values{fieldEmail: {fmt.Sprintf(address, i)}}, "address",
				fmt.Sprintf("192.0.%d.1:1", i))
			w.answer(rec, 200)
		}
		if got := len(w.subscribers()); got != signUpsPerMailbox {
			t.Errorf("%d subscribers with one mailbox", got)
		}
	})
}

// TestRejectedSignUpsUseUpNothing: sign-ups that one limit rejects do not count towards the others, so that no client,
// network or page uses up what belongs to all.
func TestRejectedSignUpsUseUpNothing(t *testing.T) {
	at := func(network, host int) netip.Addr {
		return netip.AddrFrom4([4]byte{198, byte(network >> 8), byte(network), byte(host)})
	}
	for name, c := range map[string]struct {
		channel audience.Channel
		page    string
		addr    func(i int) netip.Addr
		allowed int
	}{
		"address":       {audience.ChannelEmail, "", func(int) netip.Addr { return at(0, 1) }, signUpsPerAddress},
		"phone address": {audience.ChannelSMS, "p", func(int) netip.Addr { return at(0, 1) }, smsPerAddress},
		"network":       {audience.ChannelEmail, "", func(i int) netip.Addr { return at(0, i%250) }, signUpsPerNetwork},
		"page":          {audience.ChannelWebhook, "p", func(i int) netip.Addr { return at(i, 1) }, webhooksPerPage},
	} {
		l, allowed := newSignUpLimits(c.allowed+1, slog.New(slog.DiscardHandler)), 0
		for i := range 3 * signUpsPerNetwork {
			if l.take(c.addr(i), c.channel, c.page, day).Allowed {
				allowed++
			}
		}
		if allowed != c.allowed {
			t.Errorf("%s: %d sign-ups are allowed, want %d", name, allowed, c.allowed)
		}
		if !l.take(at(1000, 1), audience.ChannelWebhook, "another page", day).Allowed {
			t.Errorf("%s: the rejected sign-ups use up the limit of all", name)
		}
		if l.take(at(1001, 1), audience.ChannelWebhook, "another page", day).Allowed {
			t.Errorf("%s: more sign-ups are allowed than for all together", name)
		}
	}
	l := newSignUpLimits(0, slog.New(slog.DiscardHandler))
	for i := range 3 * signUpsPerNetwork {
		page := "p"
		if i < signUpsPerNetwork {
			page = "another page" // uses up the limit of the network
		}
		l.take(at(0, i%250), audience.ChannelWebhook, page, day)
	}
	if v := l.pages.Take("p", day); v.Remaining != webhooksPerPage-1 {
		t.Errorf("sign-ups that the limit of their network rejects use up that of the page: %d are left", v.Remaining)
	}
}

// TestTotalSignUpLimit checks that sign-ups above the limit for all clients are
// rejected, and that one line per hour is logged.
func TestTotalSignUpLimit(t *testing.T) {
	runMail(t, func(w *mailFixture) {
		t := w.t
		var logged bytes.Buffer
		w.site.signUps = newSignUpLimits(20, slog.New(slog.NewTextHandler(&logged, nil)))
		signUp := func(i int) *httptest.ResponseRecorder {
			return w.post("/status/acme/subscribe", url.Values{fieldEmail: {fmt.Sprintf("s%d@example.com", i)}},
				"address", fmt.Sprintf("198.%d.%d.1:1", i/250, i%250))
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
