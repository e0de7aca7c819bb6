package api

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/google/go-cmp/cmp"
)

const subscribersPath = "/api/v1/pages/acme/subscribers"

var (
	subscriberKeys = []string{
		"id", "channel", "target", "added_by", "confirmed", "whole_page", "components", "warnings", "suspended_at",
		"suspended_for", "refusals",
		"created_at", "updated_at", "confirmed_at", "consent",
	}
	secretKeys = append([]string{"secret"}, subscriberKeys...)
)

// acme creates a page with a component and returns the component's id.
func (c *client) acme() (component string) {
	c.t.Helper()
	c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
	return c.post("/api/v1/pages/acme/components", `{"name":"API"}`).is(201).id()
}

// subscribe adds a subscriber and returns its id.
func (c *client) subscribe(channel, target string, more ...any) string {
	c.t.Helper()
	body := map[string]any{"channel": channel, "target": target}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return c.post(subscribersPath, body).is(201).id()
}

func TestEmailSubscribers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		component := c.acme()
		now := stamp(c.clock.Now())
		a := c.post(subscribersPath, `{"channel":"email","target":" Ada@Example.COM "}`).is(201)
		keys(t, a.data(), subscriberKeys...)
		if !regexp.MustCompile(`^sub_[0-9a-v]{20}$`).MatchString(a.id()) {
			t.Errorf("the id is %s", a.id())
		}
		want := map[string]any{
			"channel": "email", "target": "ada@example.com", "added_by": "operator", "confirmed": false,
			"confirmed_at": nil, "components": []any{},
			"suspended_at": nil, "suspended_for": nil, "refusals": 0.0, "created_at": now, "updated_at": now,
		}
		a.has(want)
		one := c.get(subscribersPath + "/" + a.id()).is(200).has(want)
		keys(t, one.data(), subscriberKeys...)

		c.post(subscribersPath,
			`{"channel":"email","target":"b@example.com","confirmed":true,"components":null}`).is(201).
			has(map[string]any{"confirmed": true, "confirmed_at": now, "components": []any{}})
		c.post(subscribersPath,
			`{"channel":"email","target":"c@example.com","confirmed":null,"components":[]}`).is(201).
			has(map[string]any{"confirmed": false, "components": []any{}})
		chosen := c.post(subscribersPath, map[string]any{
			"channel": "email", "target": "d@example.com", "confirmed": false,
			"components": []string{component, component},
		}).is(201).has(map[string]any{"confirmed": false, "components": []any{component}})
		c.get(subscribersPath + "/" + chosen.id()).is(200).has(map[string]any{"components": []any{component}})

		// Only unconfirmed subscribers get a confirmation mail, and only one.
		asked := make(map[any]int)
		for _, row := range c.get("/api/v1/pages/acme/deliveries").is(200).rows() {
			if row["purpose"] != "confirmation" {
				t.Errorf("a delivery is %v", row)
			}
			asked[row["target"]]++
		}
		diff := cmp.Diff(map[any]int{"ada@example.com": 1, "c@example.com": 1, "d@example.com": 1}, asked)
		if diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}

		c.unchanged(func() { c.post(subscribersPath+"/"+a.id()+"/rotate", nil).complains("channel") })
		c.delete(subscribersPath + "/" + a.id()).is(204)
		c.delete(subscribersPath + "/" + a.id()).is(404)
		c.get(subscribersPath + "/" + a.id()).is(404)
		c.post(subscribersPath+"/"+a.id()+"/rotate", nil).is(404)
		c.subscribe("email", "ada@example.com") // the address is free again
	})
}

// TestComponentsOfSubscribers changes of what a subscriber is notified.
func TestComponentsOfSubscribers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		one := c.acme()
		two := c.post("/api/v1/pages/acme/components", `{"name":"Web"}`).is(201).id()
		// as they are listed: ids of one millisecond are in any order
		ids := slices.Sorted(slices.Values([]string{one, two}))
		path := subscribersPath + "/" + c.subscribe("email", "ada@example.com", "confirmed", true)
		for _, change := range []struct {
			body  string
			whole bool
			want  []any
		}{
			{`{"components":["` + two + `"]}`, false, []any{two}},
			{`{}`, false, []any{two}},
			{`{"components":null}`, false, []any{two}},
			{`{"components":["web","api","` + one + `"]}`, false, []any{ids[0], ids[1]}},
			{`{"components":[]}`, true, []any{}},
		} {
			want := map[string]any{"whole_page": change.whole, "components": change.want}
			keys(t, c.patch(path, change.body).is(200).has(want).data(), subscriberKeys...)
			c.get(path).is(200).has(want)
		}
		c.unchanged(func() {
			c.patch(path, `{"components":["nothing"]}`).complains("components")
			c.patch(path, `{"components":"api"}`).complains("components")
			// so that the secret of a webhook stays with it
			c.patch(path, `{"target":"https://elsewhere.example.com/"}`).complains("target")
			c.patch(path, `{"components":["api"],"warnings":true}`).complains("warnings")
		})
	})
}

func TestWebhookSubscribers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		now := stamp(c.clock.Now())
		a := c.post(subscribersPath, `{"channel":"webhook","target":"HTTPS://Example.com:443#x"}`).is(201)
		keys(t, a.data(), secretKeys...)
		a.has(map[string]any{
			"channel": "webhook", "target": "https://example.com/", "confirmed": true, "confirmed_at": now,
		})
		secret := a.data()["secret"].(string)
		target := subscribersPath + "/" + a.id()

		// The secret is shown once, and the key in the subscription's links never.
		by, err := c.store.Authenticate(t.Context(), c.token)
		if err != nil {
			t.Fatal(err)
		}
		hidden := func(a answer) {
			t.Helper()
			kept, err := c.store.Subscriber(t.Context(), by.Actor(""), "acme",
				strings.TrimPrefix(target, subscribersPath+"/"))
			if err != nil || kept.Key == "" || kept.Secret == "" {
				t.Fatalf("Subscriber = %v, %v", kept, err)
			}
			for _, text := range []string{kept.Key, kept.Secret, secret, "whsec_"} {
				if bytes.Contains(a.body, []byte(text)) {
					t.Errorf("%s shows %s", a.asked, text)
				}
			}
		}
		one := c.get(target).is(200)
		keys(t, one.data(), subscriberKeys...)
		hidden(one)
		hidden(c.get(subscribersPath).is(200))
		hidden(c.get("/api/v1/pages/acme/deliveries").is(200))
		hidden(c.post(subscribersPath, `{"channel":"webhook","target":"https://example.com/"}`).complains("target"))

		c.clock.Advance(time.Minute)
		rotated := c.post(target+"/rotate", "no JSON at all").is(200)
		keys(t, rotated.data(), secretKeys...)
		rotated.has(map[string]any{"id": a.id(), "created_at": now, "updated_at": stamp(c.clock.Now())})
		kept, err := c.store.Subscriber(t.Context(), by.Actor(""), "acme", a.id())
		if err != nil {
			t.Fatal(err)
		}
		fresh := rotated.data()["secret"].(string)
		if diff := cmp.Diff([]string{fresh, secret}, kept.Secrets(c.clock.Now())); diff != "" || fresh == secret {
			t.Errorf("what signs now (-want +got):\n%s", diff)
		}
		hidden(c.get(target).is(200))
		for _, a := range []answer{a, rotated} {
			if bytes.Contains(a.body, []byte(kept.Key)) {
				t.Errorf("%s shows the key", a.asked)
			}
		}
	})
}

func TestSubscribersAreUnique(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		c.post("/api/v1/pages", `{"name":"Other","slug":"other"}`).is(201)
		c.subscribe("email", "ada@example.com")
		c.subscribe("webhook", "https://example.com/a")
		c.unchanged(func() {
			c.post(subscribersPath,
				`{"channel":"email","target":"ADA@example.com","confirmed":true}`).complains("target").
				sentence("The target is already subscribed to this page.")
			c.post(subscribersPath, `{"channel":"webhook","target":"https://EXAMPLE.com:443/a"}`).complains("target")
		})
		c.subscribe("webhook", "https://example.com/A")
		c.post("/api/v1/pages/other/subscribers", `{"channel":"email","target":"ada@example.com"}`).is(201)
	})
}

func TestInvalidSubscribers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		component := c.acme()
		c.post("/api/v1/pages", `{"name":"Other","slug":"other"}`).is(201)
		elsewhere := c.post("/api/v1/pages/other/components", `{"name":"x"}`).is(201).id()
		gone := c.subscribe("email", "gone@example.com")
		c.delete(subscribersPath + "/" + gone).is(204)
		many := make([]string, audience.MaxChosenComponents+1)
		for i := range many {
			many[i] = fmt.Sprintf("comp_%020d", i)
		}
		c.unchanged(func() {
			c.post(subscribersPath, `{}`).complains("channel", "target")
			c.post(subscribersPath, `{"channel":null,"target":null}`).complains("channel", "target")
			c.post(subscribersPath, `{"channel":"fax","target":"","confirmed":1,"components":"x"}`).complains("channel",
				"confirmed", "components")
			c.post(subscribersPath,
				`{"channel":"email","target":"","confirmed":"yes","components":[null]}`).complains("target",
				"confirmed", "components")
			for _, target := range []string{
				"example.com", "ftp://example.com/", "mailto:ada@example.com", "javascript:alert(1)", "https://",
				"https:///x", "https://user:pw@example.com/",
				"https://exa mple.com/", "https://example.com/\r\nX: y", "//example.com/", "https://example.com:/",
				"ada@example.com",
				"https://example.com/" + strings.Repeat("a", kernel.MaxURLLength),
			} {
				c.post(subscribersPath, map[string]any{"channel": "webhook", "target": target}).complains("target")
			}
			for _, chosen := range [][]string{{elsewhere}, {component, elsewhere}, {component, "x"}, {gone}, {""}} {
				c.post(subscribersPath, map[string]any{
					"channel": "email", "target": "x@example.com", "components": chosen,
				}).
					complains("components").sentence("The components must be of this page, and not hidden.")
			}
			c.post(subscribersPath, map[string]any{"channel": "email", "target": "x@example.com", "components": many}).
				complains("components").sentence("At most 200 components may be chosen.")
			c.post(subscribersPath, `{"channel":"email","target":"x@example.com","components":["x",7]}`).
				complains("components").sentence("Item 2 of the components must be a string.")
			c.post("/api/v1/pages/nowhere/subscribers", `{"channel":"email","target":"x@example.com"}`).is(404)
		})
		// Another page of the workspace does not have the subscriber.
		id := c.subscribe("webhook", "https://example.com/")
		c.unchanged(func() {
			c.get("/api/v1/pages/other/subscribers/" + id).is(404)
			c.post("/api/v1/pages/other/subscribers/"+id+"/rotate", nil).is(404)
			c.delete("/api/v1/pages/other/subscribers/" + id).is(404)
		})
	})
}

func TestSubscriberLists(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		component := c.acme()
		if a := c.get(subscribersPath).is(200); !strings.Contains(string(a.body), `"data":[]`) {
			t.Errorf("an empty list is %s", a.body)
		}
		for i := range 5 {
			if i == 3 {
				c.subscribe("webhook", "https://example.com/3", "components", []string{component})
			} else {
				c.subscribe("email", fmt.Sprintf("%d@example.com", i))
			}
			c.clock.Advance(time.Second)
		}
		digit := regexp.MustCompile(`\d`)
		for query, want := range map[string]string{
			"": "43210", "?per_page=2": "43", "?per_page=2&page=3": "0", "?page=2": "",
		} {
			a := c.get(subscribersPath + query).is(200)
			got := ""
			for _, row := range a.rows() {
				keys(t, row, subscriberKeys...)
				chosen := []any{}
				if row["channel"] == "webhook" {
					chosen = append(chosen, component)
				}
				if diff := cmp.Diff(any(chosen), row["components"]); diff != "" {
					t.Errorf("components (-want +got):\n%s", diff)
				}
				got += digit.FindString(row["target"].(string))
			}
			if total := a.object()["meta"].(map[string]any)["total"]; got != want || total != 5.0 {
				t.Errorf("%s lists %s of %v, want %s", query, got, total, want)
			}
		}
	})
}

// TestSavedResponsesContainNoSubscriberSecrets is TestSavedResponsesContainNoSecrets
// for the two calls that show a webhook's secret.
func TestSavedResponsesContainNoSubscriberSecrets(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.acme()
		by, err := c.store.Authenticate(t.Context(), c.token)
		if err != nil {
			t.Fatal(err)
		}
		once := func(target, body string) answer {
			t.Helper()
			first := c.do("POST", target, body, idempotencyKeyHeader, target)
			secret := first.data()["secret"].(string)
			r, err := http.NewRequest("POST", target, nil)
			if err != nil {
				t.Fatal(err)
			}
			key := store.IdempotencyKey{
				TokenID: by.ID, Key: target, RequestHash: hashRequest(&call{Request: r, body: []byte(body)}),
			}
			kept, found, err := c.store.FindResponse(t.Context(), key)
			if err != nil || !found {
				t.Fatalf("FindAnswer = %v, %v", found, err)
			}
			if bytes.Contains(kept.Body, []byte(secret)) || bytes.Contains(kept.Body, []byte("whsec_")) {
				t.Errorf("the secret is kept in the clear by %s", target)
			}
			c.unchanged(func() {
				again := c.do("POST", target, body, idempotencyKeyHeader, target).is(first.status)
				if !bytes.Equal(again.body, first.body) {
					t.Errorf("%s again: %s, first %s", target, again.body, first.body)
				}
			})
			return first
		}
		made := once(subscribersPath, `{"channel":"webhook","target":"https://example.com/"}`).is(201)
		once(subscribersPath+"/"+made.id()+"/rotate", "").is(200)
	})
}
