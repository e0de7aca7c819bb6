package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestRepeatedPOST sends every POST that changes something twice with the same key.
func TestRepeatedPOST(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for i, rt := range routes() {
			if rt.method != "POST" || ofMonitors(rt) || rt.ignoresIdempotencyKey() {
				continue
			}
			key := fmt.Sprintf("key %d", i)
			first := c.do("POST", w.path(rt), validBody(t, rt, w), idempotencyKeyHeader, key)
			if first.status >= 300 || first.header.Get(replayedHeader) != "" {
				t.Fatalf("%s = %d %v", first.asked, first.status, first.header)
			}
			c.clock.Advance(time.Minute)
			c.unchanged(func() {
				second := c.do("POST", w.path(rt), validBody(t, rt, w), idempotencyKeyHeader, key).is(first.status)
				if !bytes.Equal(second.body, first.body) {
					t.Errorf("%s: the second answer is another:\n%s%s", first.asked, first.body, second.body)
				}
				if second.header.Get(replayedHeader) != "true" {
					t.Errorf("%s: the second answer is not marked", first.asked)
				}
			})
		}
	})
}

// TestRepeatedPOSTOfAMoment repeats a POST whose response shows what is so at the moment: who is on call from now on.
func TestRepeatedPOSTOfAMoment(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.clock.runs = true
		body := map[string]any{
			"name": "Ops", "participants": []map[string]any{{"name": "Ann", "channel_ids": []string{w.channel}}},
		}
		first := c.do("POST", "/api/v1/on-call", body, idempotencyKeyHeader, "k").is(201)
		second := c.do("POST", "/api/v1/on-call", body, idempotencyKeyHeader, "k").is(201)
		if !bytes.Equal(second.body, first.body) || !bytes.Contains(first.body, []byte(`"next":[{`)) {
			t.Errorf("the second answer is another:\n%s%s", first.body, second.body)
		}
	})
}

// postIncident creates an incident of the page acme with an idempotency key.
func (c *client) postIncident(key, body string) answer {
	c.t.Helper()
	return c.do("POST", incidentsPath, body, idempotencyKeyHeader, key)
}

func TestIdempotencyKey(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		t.Run("another body is 422", func(t *testing.T) {
			c := c.in(t)
			c.postIncident("a", `{"title":"x"}`).is(201)
			c.unchanged(func() {
				c.postIncident("a", `{"title":"y"}`).complains(idempotencyKeyHeader)
				c.postIncident("a", `{"title":"x"} `).complains(idempotencyKeyHeader)
				c.do("POST", "/api/v1/pages", `{"title":"x"}`, idempotencyKeyHeader, "a").
					complains(idempotencyKeyHeader)
			})
		})
		t.Run("a refused request is not remembered", func(t *testing.T) {
			c := c.in(t)
			c.postIncident("b", `{}`).complains("title")
			c.postIncident("b", `{"title":"x"}`).is(201)
			c.do("POST", "/api/v1/pages/later/incidents", `{"title":"x"}`, idempotencyKeyHeader, "c").is(404)
			c.post("/api/v1/pages", `{"name":"x","slug":"later"}`).is(201)
			c.do("POST", "/api/v1/pages/later/incidents", `{"title":"x"}`, idempotencyKeyHeader, "c").is(201)
		})
		t.Run("keys are a token's own", func(t *testing.T) {
			c := c.in(t)
			first := c.postIncident("d", `{"title":"x"}`).is(201)
			second := c.with(c.issue(kernel.ScopeWrite)).postIncident("d", `{"title":"x"}`).is(201)
			if first.id() == second.id() {
				t.Error("one token's key gave another's answer")
			}
		})
		t.Run("another key is another request", func(t *testing.T) {
			c := c.in(t)
			if c.postIncident("e", `{"title":"x"}`).is(201).id() == c.postIncident("E", `{"title":"x"}`).is(201).id() {
				t.Error("keys are compared without case")
			}
		})
		t.Run("after 24 hours it is a new request", func(t *testing.T) {
			c := c.in(t)
			first := c.postIncident("f", `{"title":"x"}`).is(201)
			c.clock.Advance(24*time.Hour - time.Millisecond)
			if c.postIncident("f", `{"title":"x"}`).is(201).id() != first.id() {
				t.Error("it was forgotten too soon")
			}
			c.clock.Advance(time.Millisecond)
			if c.postIncident("f", `{"title":"x"}`).is(201).id() == first.id() {
				t.Error("it was not forgotten")
			}
		})
	})
}

func TestIdempotencyKeysThatAreRefused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		for name, keys := range map[string][]string{
			"empty": {""}, "blank": {" "}, "of 256 characters": {strings.Repeat("k", 256)}, "beyond ASCII": {"é"},
			"with a control character": {"a\tb"}, "given twice": {"a", "a"},
		} {
			t.Run("a key "+name+" is 422", func(t *testing.T) {
				c := c.in(t)
				var headers []string
				for _, key := range keys {
					headers = append(headers, idempotencyKeyHeader, key)
				}
				if name == "blank" { // as net/http reads it from the wire
					headers[1] = ""
				}
				c.unchanged(func() {
					c.do("POST", incidentsPath, `{"title":"x"}`, headers...).complains(idempotencyKeyHeader)
				})
			})
		}
		t.Run("a key of 255 characters", func(t *testing.T) {
			c.in(t).postIncident(strings.Repeat("~", 255), `{"title":"x"}`).is(201)
		})
		t.Run("a PATCH takes no notice of it", func(t *testing.T) {
			c := c.in(t)
			incident := "/api/v1/incidents/" + c.post(incidentsPath, `{"title":"x"}`).is(201).id()
			c.do("PATCH", incident, `{"title":"y"}`, idempotencyKeyHeader, "g").is(200)
			c.do("PATCH", incident, `{"title":"z"}`, idempotencyKeyHeader, "g").is(200).has(map[string]any{
				"title": "z",
			})
		})
		t.Run("a token without the scope is refused first", func(t *testing.T) {
			c := c.in(t)
			c.with(c.issue(kernel.ScopeRead)).postIncident("a", `{"title":"x"}`).is(403)
		})
	})
}

// TestSavedResponsesContainNoSecrets reads a saved response from the database without
// the token.
func TestSavedResponsesContainNoSecrets(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const body = `{"name":"x","scope":"admin"}`
		secret := c.do("POST", "/api/v1/tokens", body, idempotencyKeyHeader, "k").is(201).data()["token"].(string)
		by, err := c.store.Authenticate(t.Context(), c.token)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest("POST", "/api/v1/tokens", nil)
		if err != nil {
			t.Fatal(err)
		}
		key := store.IdempotencyKey{
			TokenID: by.ID, Key: "k", RequestHash: hashRequest(&call{Request: r, body: []byte(body)}),
		}
		kept, found, err := c.store.FindResponse(t.Context(), key)
		if err != nil || !found {
			t.Fatalf("FindAnswer = %v, %v", found, err)
		}
		if bytes.Contains(kept.Body, []byte(secret)) || bytes.Contains(kept.Body, []byte("aw_")) {
			t.Error("the secret of a token is kept in the clear")
		}
		c.with(secret).get("/api/v1/tokens").is(200)
	})
}

// TestSameKeyAtOnce sends the same request many times concurrently: one is executed, and the others get its response or
// have to retry later.
func TestSameKeyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		replica := New(Config{Store: c.store, Now: c.clock.Now})
		const n = 24
		answers := make([]answer, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				c := *c
				if i%2 == 0 { // as another process would: nothing in memory is shared
					c.service = &service{Handler: replica, store: c.store, clock: c.clock}
				}
				answers[i] = c.do("POST", "/api/v1/pages/acme/incidents", `{"title":"x","message":"y"}`,
					idempotencyKeyHeader, "k")
			})
		}
		wg.Wait()
		ids := make(map[string]bool)
		for _, a := range answers {
			switch a.status {
			case 201:
				ids[a.id()] = true
			case 409:
				a.says("A request with this Idempotency-Key is still being answered.")
			default:
				t.Errorf("the answer is %d: %s", a.status, a.body)
			}
		}
		if len(ids) != 1 {
			t.Errorf("%d incidents were answered", len(ids))
		}
		if rows := c.get("/api/v1/pages/acme/incidents").is(200).rows(); len(rows) != 1 {
			t.Errorf("there are %d incidents", len(rows))
		}
	})
}

// TestKeyInFlight repeats a request while the first one is being executed.
func TestKeyInFlight(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		_, secret := storetest.Workspace(t, s, "ours")
		a := &api{store: s, now: time.Now}
		entered, leave := make(chan struct{}), make(chan struct{})
		slow := route{method: "POST", path: "/x", do: func(*api, *call) (store.Response, error) {
			close(entered)
			<-leave
			return store.Response{}, kernel.ErrNotFound
		}}
		by, err := s.Authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(rt *route) error {
			r, err := http.NewRequest("POST", "/x", nil)
			if err != nil {
				return err
			}
			r.Header.Set(idempotencyKeyHeader, "k")
			_, err = a.serveOnce(rt, &call{Request: r, token: by, secret: secret}, http.Header{})
			return err
		}
		done := make(chan error)
		go func() { done <- ask(&slow) }()
		<-entered
		if err := ask(&slow); err != kernel.ErrInProgress {
			t.Errorf("meanwhile: %v", err)
		}
		_, others := storetest.Workspace(t, s, "theirs")
		theirs, err := s.Authenticate(t.Context(), others)
		if err != nil {
			t.Fatal(err)
		}
		quick := route{method: "POST", path: "/x", do: func(*api, *call) (store.Response, error) {
			return store.Response{Status: 200}, nil
		}}
		ours := by
		by, secret = theirs, others
		if err := ask(&quick); err != nil {
			t.Errorf("the same key of another token: %v", err)
		}
		by = ours
		close(leave)
		if err := <-done; err != kernel.ErrNotFound {
			t.Errorf("the first: %v", err)
		}
		if err := ask(&quick); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if len(a.inFlight.keys) != 0 {
			t.Errorf("keys are left over: %v", a.inFlight.keys)
		}
	})
}

// TestSameKeyOnAnotherReplica lets another process execute the same request after
// this one has found no saved response.
func TestSameKeyOnAnotherReplica(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		const body = `{"name":"Acme","slug":"acme"}`
		by, err := c.store.Authenticate(t.Context(), c.token)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest("POST", "/api/v1/pages", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(idempotencyKeyHeader, "k")
		a := &api{store: c.store, now: c.clock.Now}
		var theirs answer
		late := route{
			method: "POST", path: "/api/v1/pages", needs: rights.PageCreate,
			do: func(_ *api, ours *call) (store.Response, error) {
				theirs = c.do("POST", "/api/v1/pages", body, idempotencyKeyHeader, "k").is(201)
				return a.createPage(ours) // the slug is taken by now
			},
		}
		header := http.Header{}
		got, err := a.serveOnce(&late, &call{Request: r, token: by, secret: c.token, body: []byte(body)}, header)
		if err != nil || got.Status != 201 || !bytes.Equal(got.Body, theirs.body) ||
			header.Get(replayedHeader) != "true" {
			t.Errorf("once = %d %s, %v, want %s", got.Status, got.Body, err, theirs.body)
		}
	})
}
