package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// occupy takes all of some places for the rest of the test.
func occupy(taken ...semaphore) {
	for _, p := range taken {
		for range cap(p) {
			p <- struct{}{}
		}
	}
}

// from asks for a path from an address.
func (w *world) from(address, method, path string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = address + ":1"
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec
}

func guessedIncident(i int) string {
	return fmt.Sprintf("/status/acme/incidents/01a1fc53-1977-7f37-b83c-%012d", i)
}

func guessedKey(i int) string { return fmt.Sprintf("%032d", i) }

// TestPlacesOfTheirOwn fills the places of all kinds of requests but one, which
// has to work all the same.
func TestPlacesOfTheirOwn(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t, all := w.t, &w.site.forms
		sub := w.subscriber("ann@example.com")
		subscription, unsubscribe := "/status/acme/subscription/"+sub.Key, "/status/acme/unsubscribe/"+sub.Key
		w.get("/status/acme", 200)
		for _, c := range []struct {
			name   string
			spared []semaphore // what the request itself may use
			ask    func() *httptest.ResponseRecorder
		}{
			{"sign-up", []semaphore{all.signUps}, func() *httptest.ResponseRecorder {
				return w.post("/status/acme/subscribe", url.Values{fieldEmail: {"bob@example.com"}})
			}},
			{"showing", []semaphore{all.keys, all.subscriptions}, func() *httptest.ResponseRecorder { return w.do("GET", subscription) }},
			{"confirming", []semaphore{all.keys, all.subscriptions}, func() *httptest.ResponseRecorder {
				return w.post(subscription, url.Values{fieldAction: {actConfirm}})
			}},
			{"one click", []semaphore{all.keys, all.unsubscribes}, func() *httptest.ResponseRecorder {
				return w.send(unsubscribe, "List-Unsubscribe=One-Click")
			}},
		} {
			kinds := []*semaphore{&w.site.loads, &all.signUps, &all.keys, &all.limitedKeys, &all.subscriptions, &all.unsubscribes}
			for _, kind := range kinds {
				if !slices.Contains(c.spared, *kind) {
					occupy(*kind)
				}
			}
			if rec := c.ask(); rec.Code != 200 {
				t.Errorf("%s: %d while all others wait", c.name, rec.Code)
			}
			for _, kind := range kinds {
				for len(*kind) > 0 {
					<-*kind
				}
			}
		}
		if _, ok := w.subscribers()["ann@example.com"]; ok {
			t.Error("the one click did nothing")
		}
	})
}

// TestGuesses: an address that asks for what does not exist is told so a limited
// number of times, and costs the database nothing from then on. Others, and what
// is in memory already, are served as before.
func TestGuesses(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		known, other := w.incident("acme", allswell.NewIncident{Title: "One"}), w.incident("acme", allswell.NewIncident{Title: "Two"})
		known.ID, other.ID = "/status/acme/incidents/"+known.ID, "/status/acme/incidents/"+other.ID
		w.get(known.ID, 200)
		for i := range maxNotFoundPerAddress {
			if rec := w.from("192.0.2.7", "GET", guessedIncident(i)); rec.Code != 404 {
				t.Fatalf("guess %d: %d", i, rec.Code)
			}
		}
		occupy(w.site.loads) // nothing is looked up from here on
		for i := range 100 {
			rec := w.from("192.0.2.7", "GET", guessedIncident(1000+i))
			if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "60" {
				t.Fatalf("guess %d above the limit: %d, %q", i, rec.Code, rec.Header().Get("Retry-After"))
			}
		}
		if rec := w.from("192.0.2.7", "GET", "/status/acme/maintenances/mnt_00000000000000000000"); rec.Code != http.StatusTooManyRequests {
			t.Errorf("a maintenance: %d", rec.Code)
		}
		for path, want := range map[string]int{other.ID: http.StatusTooManyRequests, known.ID: 200, "/status/acme": 200} {
			if rec := w.from("192.0.2.7", "GET", path); rec.Code != want {
				t.Errorf("%s for who notFound: %d, want %d", path, rec.Code, want)
			}
		}
		for len(w.site.loads) > 0 {
			<-w.site.loads
		}
		for path, want := range map[string]int{other.ID: 200, guessedIncident(1): 404} {
			if rec := w.from("192.0.2.8", "GET", path); rec.Code != want {
				t.Errorf("%s for another address: %d, want %d", path, rec.Code, want)
			}
		}
		w.clock.move(notFoundWindow)
		if rec := w.from("192.0.2.7", "GET", guessedIncident(1)); rec.Code != 404 {
			t.Errorf("a minute later: %d", rec.Code)
		}
	})
}

// TestGuessedKeys: unknown keys are answered 404 and then 429. They never begin
// a transaction that writes, and a key that is known works from the same
// address.
func TestGuessedKeys(t *testing.T) {
	runMail(t, func(w *mailWorld) {
		t := w.t
		sub := w.subscriber("ann@example.com")
		occupy(w.site.forms.unsubscribes, w.site.forms.subscriptions) // nothing is shown or written
		codes := map[int]int{}
		for i := range 3 * maxNotFoundPerAddress {
			path := "/status/acme/" + []string{"subscription/", "unsubscribe/"}[i%2] + guessedKey(i)
			method := []string{"GET", "GET", "POST", "POST"}[i%4]
			codes[w.from("192.0.2.7", method, path).Code]++
		}
		if codes[404] != maxNotFoundPerAddress/2 || codes[200] != maxNotFoundPerAddress/2 || codes[429] != 2*maxNotFoundPerAddress {
			t.Errorf("%v", codes)
		}
		for len(w.site.forms.unsubscribes) > 0 {
			<-w.site.forms.unsubscribes
		}
		if rec := w.from("192.0.2.7", "POST", "/status/acme/unsubscribe/"+sub.Key); rec.Code != 200 || len(w.subscribers()) != 0 {
			t.Errorf("the true key: %d, %d subscribers", rec.Code, len(w.subscribers()))
		}
	})
}

// TestUnsubscribeUnderFlood: all who unsubscribe succeed while many connections
// guess incidents, keys and pages, from the same address and from others.
func TestUnsubscribeUnderFlood(t *testing.T) {
	runMail(t, func(w *mailWorld) {
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
						guessedIncident(n*1_000_000 + i), "/status/acme/subscription/" + guessedKey(n*1_000_000+i),
						"/status/acme/unsubscribe/" + guessedKey(n*1_000_000+i), fmt.Sprintf("/status/page-%d-%d", n, i),
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
			t.Errorf("%d are still subscribed", n)
		}
	})
}

func TestPlacesAreFreedInTurn(t *testing.T) {
	p := make(semaphore, 1)
	release, ok := p.acquire(t.Context(), time.Minute)
	if !ok {
		t.Fatal("a free place is refused")
	}
	if _, ok := p.acquire(t.Context(), 0); ok {
		t.Error("a taken place is given away")
	}
	release()
	if err := p.run(t.Context(), func() error { return nil }); err != nil || len(p) != 0 {
		t.Errorf("%v, %d taken", err, len(p))
	}
}
