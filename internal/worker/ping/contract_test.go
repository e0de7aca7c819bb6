package ping

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"pgregory.net/rapid"
)

// TestContractOfPings checks the rules of docs/api.md#pings, row by row.
func TestContractOfPings(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.Run("success: 200, one key ok, true; no header and no body needed", func(t *testing.T) {
			in := w.in(t)
			got := in.ping(w.monitor.Token)
			in.want(got, 200, okBody)
			if cache := got.Header.Get("Cache-Control"); cache != "no-store" {
				t.Errorf("Cache-Control %q", cache)
			}
		})
		w.Run("the effects on the monitor: next_check_at = now + interval, no failures, up", func(t *testing.T) {
			in, before := w.in(t), time.Now().Add(-time.Second)
			in.want(in.ping(w.monitor.Token), 200, okBody)
			m := in.now(w.monitor.ID)
			if m.State != monitor.MonitorUp || m.ConsecutiveFailures != 0 || m.LastPingAt.Before(before) ||
				!m.NextCheckAt.Equal(m.LastPingAt.Add(m.Interval)) {
				t.Errorf("monitor after the ping: %+v", m)
			}
		})
		w.Run("headers are ignored", func(t *testing.T) {
			in := w.in(t)
			for _, h := range [][]string{
				{"Content-Type", "image/png"}, {"Content-Type", "nonsense"}, {"Authorization", "Bearer aw_wrong"},
				{"Accept", "text/html"},
				{"Content-Encoding", "gzip"}, {"Idempotency-Key", "k"}, {"X-Http-Method-Override", "DELETE"},
				{"If-None-Match", "*"},
				{"Origin", "https://example.com"}, {"Sec-Fetch-Site", "cross-site"}, {"Range", "bytes=0-1"},
			} {
				in.want(in.send("POST", Path+w.monitor.Token, strings.NewReader("{"), h...), 200, okBody)
			}
		})
		w.Run("GET does the same", func(t *testing.T) {
			in := w.in(t)
			m := in.newMonitor()
			in.want(in.send("GET", Path+m.Token+"?a=b", nil), 200, okBody)
			if in.now(m.ID).LastPingAt.IsZero() {
				t.Error("the ping was not recorded")
			}
		})
		w.Run("a slash at the end does not matter", func(t *testing.T) {
			in := w.in(t)
			in.want(in.send("POST", Path+w.monitor.Token+"/", nil), 200, okBody)
		})
		w.Run("HEAD does the same", func(t *testing.T) {
			in := w.in(t)
			m := in.newMonitor()
			got := in.send("HEAD", Path+m.Token, nil)
			if got.StatusCode != 200 || got.body != "" || got.ContentLength != int64(len(okBody)) ||
				in.now(m.ID).LastPingAt.IsZero() {
				t.Errorf("%s, length %d, %+v", got.Status, got.ContentLength, in.now(m.ID))
			}
			if got := in.send("HEAD", Path+kernel.NewPingToken(), nil); got.StatusCode != 404 || got.body != "" {
				t.Errorf("an unknown token: %s %q", got.Status, got.body)
			}
		})
	})
}

// TestContractOfTokens checks the answers for tokens that are unknown, malformed, disabled, deleted or rotated.
func TestContractOfTokens(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.Run("unknown token: 404, one key message", func(t *testing.T) {
			in := w.in(t)
			in.want(in.ping(kernel.NewPingToken()), 404, notFoundBody)
		})
		w.Run("a malformed token: the same", func(t *testing.T) {
			in, token := w.in(t), w.monitor.Token
			for _, path := range []string{
				"", "x", token + "x", token[:31], token + "/x", "/" + token, token + "%00", "%20" + token,
				strings.Repeat("a", 8000), "%FF%FE" + token[2:], token[:31] + "é", w.monitor.ID, token + "//",
			} {
				in.want(in.send("POST", Path+path, nil), 404, notFoundBody)
			}
			if swapped := swapCase(token); swapped != token {
				in.want(in.ping(swapped), 404, notFoundBody)
			}
		})
		w.Run("a disabled monitor: the same, until it is enabled", func(t *testing.T) {
			in := w.in(t)
			m := in.newMonitor()
			must(w.store.ChangeMonitor(t.Context(), w.ws, m.ID, func(c *monitor.MonitorConfig) error {
				c.Enable(false)
				return nil
			}))(t)
			in.want(in.ping(m.Token), 404, notFoundBody)
			if !in.now(m.ID).LastPingAt.IsZero() {
				t.Error("recorded nevertheless")
			}
			must(w.store.ChangeMonitor(t.Context(), w.ws, m.ID, func(c *monitor.MonitorConfig) error {
				c.Enable(true)
				return nil
			}))(t)
			in.want(in.ping(m.Token), 200, okBody)
		})
		w.Run("a deleted monitor: the same", func(t *testing.T) {
			in := w.in(t)
			m := in.newMonitor()
			if err := w.store.DeleteMonitor(t.Context(), w.ws, m.ID); err != nil {
				t.Fatal(err)
			}
			in.want(in.ping(m.Token), 404, notFoundBody)
		})
		w.Run("a rotated token: both, for a while", func(t *testing.T) {
			in := w.in(t)
			m := in.newMonitor()
			rotated := must(w.store.RotateMonitor(t.Context(), w.ws, m.ID))(t)
			in.want(in.ping(m.Token), 200, okBody)
			in.want(in.ping(rotated.Token), 200, okBody)
		})
	})
}

func TestContractOfMethods(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.Run("other methods: 405 with Allow, nothing recorded", func(t *testing.T) {
			in := w.in(t)
			m := in.newMonitor()
			for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "post"} {
				got := in.send(method, Path+m.Token, nil)
				in.want(got, 405, `{"message":"Method not allowed."}`)
				if allow := got.Header.Get("Allow"); allow != "GET, HEAD, POST" {
					t.Errorf("%s: Allow %q", method, allow)
				}
			}
			if !in.now(m.ID).LastPingAt.IsZero() {
				t.Error("recorded")
			}
		})
	})
}

func (w *testServer) in(t *testing.T) *testServer {
	in := *w
	in.T = t
	return &in
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if upper := strings.ToUpper(string(r)); upper != string(r) {
			return []rune(upper)[0]
		}
		return []rune(strings.ToLower(string(r)))[0]
	}, s)
}

// TestPingEndsOutage checks that a valid ping ends the outage of a monitor that is down.
func TestPingEndsOutage(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		component := must(w.store.Components().Create(w.Context(), w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "Backups"})))(w)
		m := must(w.store.CreateMonitor(w.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "backup", Interval: time.Second, PageSlug: "acme", ComponentID: component.ID,
			FailureThreshold: 1})))(w)
		w.want(w.ping(m.Token), 200, okBody)
		w.stop() // so that no liveness record is written in between
		// Move the last ping into the past.
		must(w.beside().Exec(`UPDATE monitors SET last_ping_at = last_ping_at - 600000,
			waiting_since_at = waiting_since_at - 600000,
			next_check_at = next_check_at - 600000`))(w)
		must(w.store.Tick(w.Context(), time.Now().Truncate(time.Minute), "a", 0))(w)
		if now := w.now(m.ID); now.State != monitor.MonitorDown {
			w.Fatalf("not down: %+v", now)
		}
		w.start()
		w.want(w.ping(m.Token), 200, okBody)
		got := must(w.store.Components().Get(w.Context(), w.ws, "acme", component.ID))(w)
		if now := w.now(m.ID); now.State != monitor.MonitorUp || got.Status() != kernel.StatusOperational {
			w.Errorf("after the ping: %+v, component %s", now, got.Status())
		}
	})
}

// TestRateLimit checks that one address may send 60 requests in any 60 s and then gets
// 429 with its headers. All requests count, whatever their answer.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{RateLimit: 60}, func(w *testServer) {
		var paths []string
		for i := range 60 {
			path := Path + w.monitor.Token
			switch i % 5 {
			case 1:
				path = Path + kernel.NewPingToken()
			case 2:
				path = Path + "nonsense"
			}
			paths = append(paths, path)
		}
		for i, path := range paths {
			got := w.send("POST", path, nil)
			if got.StatusCode == 429 {
				w.Fatalf("request %d was refused", i+1)
			}
			limit, left := got.Header.Get("X-RateLimit-Limit"), got.Header.Get("X-RateLimit-Remaining")
			if limit != "60" || left != strconv.Itoa(59-i) {
				w.Errorf("request %d: %s of %s left", i+1, left, limit)
			}
			for _, name := range []string{"Retry-After", "X-RateLimit-Reset"} {
				if got.Header.Get(name) != "" {
					w.Errorf("request %d has %s", i+1, name)
				}
			}
		}
		for _, forged := range [][]string{
			nil, {"X-Forwarded-For", "192.0.2.77"}, {"Forwarded", "for=192.0.2.77"}, {"X-Real-IP", "192.0.2.77"},
			{"Authorization", "Bearer x"},
		} {
			got := w.send("POST", Path+w.monitor.Token, nil, forged...)
			w.want(got, 429,
				`{"message":"Too many requests: at most 60 pings a minute from one address. ALLSWELL_PING_EXEMPT `+
					`exempts networks."}`)
			wait := must(strconv.Atoi(got.Header.Get("Retry-After")))(w)
			reset := must(strconv.ParseInt(got.Header.Get("X-RateLimit-Reset"), 10, 64))(w)
			if wait < 1 || wait > 60 || reset < time.Now().Unix() || reset > time.Now().Unix()+61 ||
				got.Header.Get("X-RateLimit-Remaining") != "0" {
				w.Errorf("headers with %v: %v", forged, got.Header)
			}
		}
		// Other addresses are not affected. Requests with a wrong method count as well.
		w.from("192.0.2.1:1", "PUT", 60, 405)
		w.from("192.0.2.1:2", "POST", 1, 429)
		w.from("[::ffff:192.0.2.1]:2", "POST", 1, 429)
		w.from("192.0.2.2", "POST", 60, 200)
		w.from("192.0.2.2:80", "POST", 1, 429)
		w.from("[2001:db8::1]:1", "GET", 60, 200)
		w.from("[2001:db8::1%eth0]:1", "GET", 1, 429)
		w.from("@", "POST", 60, 200)
		w.from("nonsense", "POST", 1, 429)
	})
}

// TestResetOfTheRateLimit checks that a client which waits until the X-RateLimit-Reset, or for the Retry-After, is not
// refused again, and that one which comes a second earlier is, whatever the fraction of the second.
func TestResetOfTheRateLimit(t *testing.T) {
	for _, fraction := range []time.Duration{0, 1, time.Millisecond, 500 * time.Millisecond, time.Second - 1} {
		s := New(Config{RateLimit: 1})
		at := time.Unix(time.Now().Unix(), 0).Add(fraction)
		allowed := func(from string, now time.Time) (http.Header, bool) {
			r := request("POST", Path, nil)
			r.RemoteAddr = from
			h := http.Header{}
			return h, s.allowed(h, r, now)
		}
		for _, wait := range []struct {
			from   string
			header string
			until  func(seconds int) time.Time
		}{
			{"192.0.2.1:1", "X-RateLimit-Reset", func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }},
			{"192.0.2.2:1", "Retry-After", func(seconds int) time.Time {
				return at.Add(time.Duration(seconds) * time.Second)
			}},
		} {
			if _, ok := allowed(wait.from, at); !ok {
				t.Fatal("the first request is refused")
			}
			h, _ := allowed(wait.from, at)
			until := wait.until(must(strconv.Atoi(h.Get(wait.header)))(t))
			if _, ok := allowed(wait.from, until.Add(-time.Second)); ok {
				t.Errorf("after %v: a second before the %s of %s, a request is accepted", fraction, wait.header,
					h.Get(wait.header))
			}
			if _, ok := allowed(wait.from, until); !ok {
				t.Errorf("after %v: at the %s of %s, a request is refused", fraction, wait.header, h.Get(wait.header))
			}
		}
	}
}

// from passes requests to the handler, with remote as the client address.
func (w *testServer) from(remote, method string, n, status int) {
	w.Helper()
	for i := range n {
		r := request(method, Path+w.monitor.Token, nil)
		r.RemoteAddr = remote
		if rec := w.serve(r); rec.Code != status {
			w.Errorf("%s %s, request %d: %d, want %d", method, remote, i+1, rec.Code, status)
		}
	}
}

func TestExemptFromTheRateLimit(t *testing.T) {
	t.Parallel()
	exempt := func(r *http.Request) bool { return strings.HasPrefix(r.RemoteAddr, "10.") }
	onEachEngine(t, Config{RateLimit: 1, Exempt: exempt}, func(w *testServer) {
		w.from("10.1.2.3:1", "POST", 5, 200)
		w.from("11.1.2.3:1", "POST", 1, 200)
		w.from("11.1.2.3:1", "POST", 1, 429)
	})
}

func TestNoRateLimit(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		w.from("192.0.2.1:1", "POST", 100, 200)
		if got := w.ping(w.monitor.Token); got.Header.Get("X-RateLimit-Limit") != "" {
			w.Errorf("headers: %+v", got.Header)
		}
	})
}

// TestUnknownTokensLookAlike checks that the answers for a disabled monitor, an unknown
// token and a malformed token are the same.
func TestUnknownTokensLookAlike(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		describe := func(r reply) string {
			h := r.Header.Clone()
			h.Del("Date")
			return fmt.Sprint(r.StatusCode, r.body, h)
		}
		no := false
		m := w.newMonitor()
		must(w.store.ChangeMonitor(w.Context(), w.ws, m.ID, func(c *monitor.MonitorConfig) error {
			c.Enable(no)
			return nil
		}))(w)
		unknown := describe(w.ping(kernel.NewPingToken()))
		for _, token := range []string{m.Token, "x", ""} {
			if got := describe(w.ping(token)); got != unknown {
				w.Errorf("answer to the token %q:\ngot  %s\nwant %s", token, got, unknown)
			}
		}
	})
}

// TestRetryAfterIsLongEnough checks that a client over the limit is served if it waits as long as it is told, and that
// it is not told to wait a second longer than necessary.
func TestRetryAfterIsLongEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Config{RateLimit: 2})
		r := httptest.NewRequest("GET", Path, nil)
		now := time.Unix(1_800_000_000, 0)
		for range 20 {
			now = now.Add(time.Duration(rapid.IntRange(0, 25_000).Draw(t, "pause ms")) * time.Millisecond)
			h := make(http.Header)
			if s.allowed(h, r, now) {
				continue
			}
			seconds, err := strconv.Atoi(h.Get("Retry-After"))
			wait, address := time.Duration(seconds)*time.Second, clientaddr.Of(r)
			tooEarly := wait <= time.Second || s.limits.Full(address, now.Add(wait-time.Second))
			if err != nil || !tooEarly || s.limits.Full(address, now.Add(wait)) {
				t.Fatalf("Retry-After is %v", wait)
			}
			now = now.Add(wait)
		}
	})
}
