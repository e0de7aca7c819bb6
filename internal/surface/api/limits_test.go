package api

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/limit"
)

// limitHeaders returns the two headers of every response of a limited route.
func (a answer) limitHeaders() (limit, remaining int) {
	a.t.Helper()
	limit, err := strconv.Atoi(a.header.Get("X-RateLimit-Limit"))
	if err != nil {
		a.t.Fatalf("%s: %v", a.asked, err)
	}
	remaining, err = strconv.Atoi(a.header.Get("X-RateLimit-Remaining"))
	if err != nil {
		a.t.Fatalf("%s: %v", a.asked, err)
	}
	return limit, remaining
}

func TestRateLimitPerToken(t *testing.T) {
	const most = 20
	eachWith(t, Config{Limits: limit.NewTokens(most)}, func(t *testing.T, c *client) {
		other := c.issue(kernel.ScopeRead)
		c.clock.Advance(time.Hour)
		start := c.clock.Now()
		targets := []struct {
			method, target string
			body           any
			status         int
		}{
			{"GET", "/api/v1/pages", nil, 200}, {"HEAD", "/api/v1/pages", nil, 200},
			{"GET", "/api/v1/pages/nowhere", nil, 404}, {"POST", "/api/v1/pages", "{}", 422},
		}
		for i := range most {
			tt := targets[i%len(targets)]
			a := c.do(tt.method, tt.target, tt.body).is(tt.status)
			if limit, remaining := a.limitHeaders(); limit != most || remaining != most-1-i {
				t.Errorf("request %d: limit %d, remaining %d", i+1, limit, remaining)
			}
			if a.header.Get("Retry-After") != "" || a.header.Get("X-RateLimit-Reset") != "" {
				t.Errorf("request %d: it was taken and says when to come again", i+1)
			}
			c.clock.Advance(time.Second)
		}
		a := c.get("/api/v1/pages").is(429).says("Too many requests.")
		if limit, remaining := a.limitHeaders(); limit != most || remaining != 0 {
			t.Errorf("429: limit %d, remaining %d", limit, remaining)
		}
		if got, want := a.header.Get("Retry-After"), fmt.Sprint(60-most); got != want {
			t.Errorf("Retry-After is %s, want %s", got, want)
		}
		if got, want := a.header.Get("X-RateLimit-Reset"), fmt.Sprint(start.Add(time.Minute).Unix()); got != want {
			t.Errorf("X-RateLimit-Reset is %s, want %s", got, want)
		}
		c.unchanged(func() { c.post("/api/v1/pages", `{"name":"x","slug":"x"}`).is(429) })

		// Another token has a limit of its own, even at the same address and in the same workspace.
		c.with(other).get("/api/v1/pages").is(200)
		// A request is accepted at the time in the headers, and not before.
		c.clock.Advance((60-most)*time.Second - time.Millisecond)
		c.get("/api/v1/pages").is(429)
		c.clock.Advance(time.Millisecond)
		c.get("/api/v1/pages").is(200)
		c.get("/api/v1/pages").is(429)
		// The document is not limited.
		if a := c.get("/api/v1/openapi.json").is(200); a.header.Get("X-RateLimit-Limit") != "" {
			t.Error("an open route has rate limit headers")
		}
	})
}

func TestRetryAfterIsNeverZero(t *testing.T) {
	eachWith(t, Config{Limits: limit.NewTokens(1)}, func(t *testing.T, c *client) {
		c.get("/api/v1/pages").is(200)
		c.clock.Advance(time.Minute - 300*time.Millisecond)
		a := c.get("/api/v1/pages").is(429)
		if got := a.header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After is %s", got)
		}
		got, want := a.header.Get("X-RateLimit-Reset"), fmt.Sprint(c.clock.Now().Add(time.Second).Unix())
		if got != want {
			t.Errorf("X-RateLimit-Reset is %s, want %s", got, want)
		}
	})
}

func TestFailedAuthenticationsAreLimitedPerAddress(t *testing.T) {
	eachWith(t, Config{Limits: limit.NewTokens(1000)}, func(t *testing.T, c *client) {
		c.clock.Advance(time.Hour)
		bad := []*client{c.with(""), c.with("wrong"), c.with("aw_" + fmt.Sprintf("%049d", 1))}
		for i := range limit.FailuresPerAddress {
			a := bad[i%len(bad)].get("/api/v1/pages").is(401)
			most, remaining := a.limitHeaders()
			if most != limit.FailuresPerAddress || remaining != limit.FailuresPerAddress-1-i {
				t.Fatalf("failure %d: limit %d, remaining %d", i+1, most, remaining)
			}
		}
		a := bad[1].get("/api/v1/pages").is(429).says("Too many requests.")
		if got := a.header.Get("Retry-After"); got != "60" {
			t.Errorf("Retry-After is %s", got)
		}
		bad[0].post("/api/v1/pages/x/incidents", "{").is(429)
		// Failed attempts never affect a valid token, which has its own count.
		if limit, _ := c.get("/api/v1/pages").is(200).limitHeaders(); limit != 1000 {
			t.Errorf("the valid token's limit is %d", limit)
		}
		// Nor do they affect another address. Another port is the same address.
		elsewhere := *bad[1]
		elsewhere.address = "192.0.2.2:4711"
		elsewhere.get("/api/v1/pages").is(401)
		elsewhere.address = "192.0.2.1:9"
		elsewhere.get("/api/v1/pages").is(429)
		c.clock.Advance(time.Minute)
		bad[1].get("/api/v1/pages").is(401)
	})
}

func TestFailedAuthenticationsOfOneIPv6Network(t *testing.T) {
	eachWith(t, Config{Limits: limit.NewTokens(1)}, func(t *testing.T, c *client) {
		bad := *c.with("")
		for i := range 10 * limit.FailuresPerAddress {
			bad.address = fmt.Sprintf("[2001:db8:1:2::%x]:1", i+1)
			bad.get("/api/v1/pages").is(401)
		}
		bad.address = "[2001:db8:1:2:ffff::1]:1"
		bad.get("/api/v1/pages").is(429)
		bad.address = "[2001:db8:1:3::1]:1"
		bad.get("/api/v1/pages").is(401)
	})
}

func TestZeroDisablesLimits(t *testing.T) {
	eachWith(t, Config{Limits: limit.NewTokens(0)}, func(t *testing.T, c *client) {
		for range limit.FailuresPerAddress + 1 {
			if a := c.with("wrong").get("/api/v1/pages").is(401); a.header.Get("X-RateLimit-Limit") != "" {
				t.Fatal("there is no limit, and a header that names one")
			}
		}
		for range 700 {
			if a := c.get("/api/v1/pages/nowhere").is(404); a.header.Get("X-RateLimit-Remaining") != "" {
				t.Fatal("there is no limit, and a header that names one")
			}
		}
	})
}
