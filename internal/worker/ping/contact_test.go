package ping

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// answers sends a GET and checks the answer, which need not be JSON.
func (w *testServer) answers(path string, status int, body string) {
	w.Helper()
	if got := w.send("GET", path, nil); got.StatusCode != status || got.body != body {
		w.Errorf("%s: %d %q, want %d %q", path, got.StatusCode, got.body, status, body)
	} else if strings.HasPrefix(path, Path) {
		if err := documented("GET", got.Request.URL.Path, status, body); err != nil {
			w.Errorf("%s is not as documented: %v", path, err)
		}
	}
}

// readWriteKey makes the page's ping key.
func (w *testServer) readWriteKey() string {
	w.Helper()
	access := monitor.PingAccessReadWrite
	return must(w.store.ChangePingKey(w.Context(), w.ws, "acme", monitor.PingKeyChange{Access: &access}))(w).Key
}

// path is a path with its answers, and what it records.
type path struct {
	path   string // with {token}, {key} and {slug}
	status int
	body   string
	kind   monitor.SignalKind // "": a plain ping, or nothing
	code   int                // -1: none
	run    bool
	output string
}

const kumaNotFound = `{"ok":false,"msg":"Monitor not found or not active."}`

// contactPaths are all forms of requests, with their answers and what they record.
var contactPaths = []path{
	{"/api/v1/heartbeat/{key}/{slug}", 200, okBody, "", -1, false, ""},
	{"/api/v1/heartbeat/{key}/{slug}?create=1&interval=x", 200, okBody, "", -1, false, ""}, // it exists
	{"/api/v1/heartbeat/{key}/{slug}/start?rid=f618072a-7bde-4eee-af63-71a77c5723bc", 200, okBody, "start", -1, true,
		"BODY"},
	{"/api/v1/heartbeat/{key}/{slug}/success", 200, okBody, "success", -1, false, "BODY"},
	{"/api/v1/heartbeat/{key}/{slug}/fail", 200, okBody, "fail", -1, false, "BODY"},
	{"/api/v1/heartbeat/{key}/{slug}/log", 200, okBody, "log", -1, false, "BODY"},
	{"/api/v1/heartbeat/{key}/{slug}/7", 200, okBody, "fail", 7, false, "BODY"},
	{"/api/v1/heartbeat/{key}/{slug}/log?rid=x", 422, string(badRun.body), "", 0, false, ""},
	{"/api/v1/heartbeat/{token}/", 200, okBody, "", -1, false, ""},              // a slash at the end changes no path
	{"/api/v1/heartbeat/{token}?status=down%;", 200, okBody, "", -1, false, ""}, // it has no query
	{"/api/v1/heartbeat/{token}/fail/", 200, okBody, "fail", -1, false, "BODY"},
	{"/api/v1/heartbeat/{token}/7/", 200, okBody, "fail", 7, false, "BODY"},
	{"/api/v1/heartbeat/{token}/fail//", 404, notFoundBody, "", 0, false, ""},
	{"/api/v1/heartbeat/{key}/{slug}/", 200, okBody, "", -1, false, ""},
	{"/api/v1/heartbeat/{key}/{slug}/start/", 200, okBody, "start", -1, false, "BODY"},
	{"/api/v1/heartbeat/{key}/{slug}/256", 404, notFoundBody, "", 0, false, ""},
	{"/api/v1/heartbeat/{key}/{slug}/start/x", 404, notFoundBody, "", 0, false, ""},
	{"/api/v1/heartbeat/{key}", 404, notFoundBody, "", 0, false, ""},
	{"/api/v1/heartbeat/{key}/", 404, notFoundBody, "", 0, false, ""},
	{"/api/v1/heartbeat/{key}/start", 404, notFoundBody, "", 0, false, ""}, // the slug of no monitor
	{"/api/v1/heartbeat/{token}/{slug}", 404, notFoundBody, "", 0, false, ""},

	{"/ping/{token}", 200, "OK", "BODY", -1, false, "BODY"}, // plain without a body
	{"/ping/{token}/", 200, "OK", "BODY", -1, false, "BODY"},
	{"/ping/{token}?rid=f618072a-7bde-4eee-af63-71a77c5723bc", 200, "OK", "success", -1, true, "BODY"},
	{"/ping/{token}/start?rid=f618072a-7bde-4eee-af63-71a77c5723bc", 200, "OK", "start", -1, true, "BODY"},
	{"/ping/{token}/fail", 200, "OK", "fail", -1, false, "BODY"},
	{"/ping/{token}/log", 200, "OK", "log", -1, false, "BODY"},
	{"/ping/{token}/0", 200, "OK", "success", 0, false, "BODY"},
	{"/ping/{token}/007", 200, "OK", "fail", 7, false, "BODY"},
	{"/ping/{token}/255", 200, "OK", "fail", 255, false, "BODY"},
	{"/ping/{token}/256", 400, "invalid url format", "", 0, false, ""},
	{"/ping/{token}/99999999999999999999", 400, "invalid url format", "", 0, false, ""},
	{"/ping/{token}?rid=x", 400, "invalid uuid format", "", 0, false, ""},
	{"/ping/{token}/success", 404, "not found", "", 0, false, ""},
	{"/ping/{token}/fail/", 200, "OK", "fail", -1, false, "BODY"},
	{"/ping/{token}/3/", 200, "OK", "fail", 3, false, "BODY"},
	{"/ping/{token}/log/?rid=f618072a-7bde-4eee-af63-71a77c5723bc&x=100%", 200, "OK", "log", -1, true, "BODY"},
	{"/ping/{key}/{slug}/fail/", 200, "OK", "fail", -1, false, "BODY"},
	{"/ping/{key}/{slug}/", 200, "OK", "BODY", -1, false, "BODY"},
	{"/ping/{token}/x", 404, "not found", "", 0, false, ""},
	{"/ping/", 404, "not found", "", 0, false, ""},
	{"/ping/{key}", 404, "not found", "", 0, false, ""},
	{"/ping/{key}/{slug}", 200, "OK", "BODY", -1, false, "BODY"},
	{"/ping/{key}/{SLUG}", 200, "OK", "BODY", -1, false, "BODY"}, // with capital letters and underscores
	{"/ping/{key}/{slug}/start", 200, "OK", "start", -1, false, "BODY"},
	{"/ping/{key}/{slug}/255?rid=f618072a-7bde-4eee-af63-71a77c5723bc", 200, "OK", "fail", 255, true, "BODY"},
	{"/ping/{key}/{slug}/256", 400, "invalid url format", "", 0, false, ""},
	{"/ping/{key}/{slug}/x", 404, "not found", "", 0, false, ""},
	{"/ping/{key}/{slug}/0/x", 404, "not found", "", 0, false, ""},
	{"/ping/{key}/{slug}x", 404, "not found", "", 0, false, ""},

	{"/api/push/{token}?status=up&msg=OK&ping=", 200, okBody, "", -1, false, ""},
	{"/api/push/{token}", 200, okBody, "", -1, false, ""},
	{"/api/push/{token}?status=up&msg=12%20files&ping=34", 200, okBody, "success", -1, false, "12 files"},
	{"/api/push/{token}?status=down&msg=disk%20full", 200, okBody, "fail", -1, false, "disk full"},
	{"/api/push/{token}?status=DOWN", 200, okBody, "fail", -1, false, ""}, // as there: what is not up is down
	{"/api/push/{token}/?status=down%&msg=x", 200, okBody, "fail", -1, false, "x"},
	{"/api/push/{token}?status=down;msg=x", 200, okBody, "fail", -1, false, ""},
	{"/api/push/{token}?msg=disk+95%+full", 200, okBody, "success", -1, false, "disk 95% full"},
	{"/api/push/{token}?STATUS=Down", 400, string(kumaStyle.unreadable.body), "", 0, false, ""},
	{"/api/push/{token}/x", 404, kumaNotFound, "", 0, false, ""},
	{"/api/push/{key}/{slug}", 404, kumaNotFound, "", 0, false, ""},

	{"/p/{key}/{slug}", 200, "OK", "", -1, false, ""},
	{"/p/{key}/{slug}?metric=count:1&host=a&env=b", 200, "OK", "", -1, false, ""},
	{"/p/{key}/{slug}?state=run&series=abc", 200, "OK", "start", -1, true, ""},
	{"/p/{key}/{slug}?state=complete&series=abc&status_code=0&message=done", 200, "OK", "success", 0, true, "done"},
	{"/p/{key}/{slug}?state=fail&status_code=3", 200, "OK", "fail", 3, false, ""},
	{"/p/{key}/{slug}?state=fail&status_code=0", 200, "OK", "fail", -1, false, ""},
	{"/p/{key}/{slug}?state=ok", 200, "OK", "success", -1, false, ""},
	{"/p/{key}/{slug}/?state=tick&msg=12+files", 200, "OK", "success", -1, false, "12 files"},
	{"/p/{key}/{slug}?state=complete&status_code=3", 200, "OK", "fail", 3, false, ""},
	{"/p/{key}/{slug}?state=complete&status_code=x", 400, string(badCronitorCode.body), "", 0, false, ""},
	{"/p/{key}/{slug}?status_code=1", 200, "OK", "fail", 1, false, ""},
	{"/p/{key}/{slug}?state=fail;message=x", 400, string(badCronitorState.body), "", 0, false, ""},
	{"/p/{key}/{slug}?state=x", 400, string(badCronitorState.body), "", 0, false, ""},
	{"/ping/{key}/{slug}?state=fail&message=no", 200, "OK", "fail", -1, false, "no"}, // the library for JavaScript
	{"/p/{token}", 404, "not found", "", 0, false, ""},

	{"/snitch/{key}/{slug}", 202, "Got it, thanks!", "", -1, false, ""},
	{"/snitch/{token}?m=done&s=0", 202, "Got it, thanks!", "success", 0, false, "done"},
	{"/snitch/{key}/{slug}?s=", 202, "Got it, thanks!", "", -1, false, ""},
	{"/snitch/{key}/{slug}?s=2&m=no", 202, "Got it, thanks!", "fail", 2, false, "no"},
	{"/snitch/{key}/{slug}?s=killed", 202, "Got it, thanks!", "fail", -1, false, ""},
	{"/snitch/{key}/{slug}?s=256", 202, "Got it, thanks!", "fail", -1, false, ""},
	{"/snitch/{key}/{slug}/?s=1;m=no", 202, "Got it, thanks!", "fail", 1, false, "no"},
	{"/snitch/{key}/{slug}?s=1%", 400, queryText, "", 0, false, ""},
	{"/snitch/{key}/{slug}?s=1&s=0", 400, queryText, "", 0, false, ""},
	{"/snitch/{token}/?s[]=1", 400, queryText, "", 0, false, ""},
	{"/snitch/{key}/{slug}/x", 404, "not found", "", 0, false, ""},
}

// TestContactPaths checks every form of a request: its answer for a valid, an unknown and a disabled monitor, and what
// it records.
func TestContactPaths(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		key, other := w.readWriteKey(),
			must(w.store.CreatePage(w.Context(), w.ws,
				resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		foreign := must(w.store.CreateMonitor(w.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "Foreign job", Interval: time.Hour, PageSlug: other.Slug,
		})))(w)
		off := must(w.store.CreateMonitor(w.Context(), w.ws, disabled(monitor.MonitorOf(monitor.MonitorConfig{
			Name: "off", Interval: time.Hour, PageSlug: "acme",
		}))))(w)
		var group sync.WaitGroup
		limit := make(chan struct{}, 8)
		for i, p := range contactPaths {
			group.Go(func() {
				limit <- struct{}{}
				defer func() { <-limit }()
				w.checkPath(p, key, fmt.Sprintf("a-job-%d", i), off, foreign)
			})
		}
		group.Wait()
		for _, m := range []monitor.Monitor{foreign, off} {
			got := w.now(m.ID)
			if !got.LastPingAt.IsZero() || got.State != monitor.MonitorUp || len(w.signals(m.ID)) > 0 {
				w.Errorf("%s was pinged: %+v", m.Name, got)
			}
		}
	})
}

// checkPath sends all methods to a path.
func (w *testServer) checkPath(p path, key, slug string, off, foreign monitor.Monitor) {
	m, err := w.store.CreateMonitor(w.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: slug, Slug: slug, Interval: time.Hour, PageSlug: "acme",
	}))
	if err != nil {
		w.Error(err)
		return
	}
	to := func(token, key, slug string) string {
		return strings.NewReplacer("{token}", token, "{key}", key, "{slug}", slug, "{SLUG}",
			strings.ToUpper(strings.ReplaceAll(slug, "-", "_"))).Replace(p.path)
	}
	for n, method := range []string{"GET", "POST", "HEAD"} {
		body := strings.NewReader("")
		if method == "POST" {
			body = strings.NewReader("BODY")
		}
		w.wantFrom(method, to(m.Token, key, slug), body, p.status, p.body)
		kind, output := p.kind, p.output
		if kind == "BODY" {
			if kind = ""; method == "POST" {
				kind = monitor.SignalSuccess
			}
		}
		if output == "BODY" && method != "POST" {
			output = ""
		}
		if p.status >= 300 {
			if got := w.now(m.ID); !got.LastPingAt.IsZero() || len(w.signals(m.ID)) > 0 {
				w.Errorf("%s %s recorded something", method, p.path)
			}
			continue
		}
		if all := w.signals(m.ID); kind == "" {
			if now := w.now(m.ID); now.LastPingAt.IsZero() || len(all) != n+1 || all[0].Kind != monitor.SignalPing {
				w.Errorf("%s %s: %v, %v", method, p.path, now.LastPingAt, all)
			}
		} else if len(all) == 0 || n == 0 && len(all) != 1 || all[0].Kind != kind || (all[0].RunID != "") != p.run ||
			string(all[0].Output) != output || codeOf(all[0]) != p.code {
			w.Errorf("%s %s recorded %+v, want %s, %d, output %q", method, p.path, all, kind, p.code, output)
		}
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS"} {
		got := w.send(method, to(m.Token, key, slug), nil)
		if got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD, POST" {
			w.Errorf("%s %s: %d", method, p.path, got.StatusCode)
		}
	}
	if p.status < 400 {
		w.knowsNoOther(p, []string{
			to(kernel.NewPingToken(), key, "none"), to(kernel.NewPingToken(), monitor.NewPingKey(), slug),
			to(off.Token, key, off.Slug), to("x", key, foreign.Slug), to("", "", ""),
		})
	}
}

// knowsNoOther checks that requests for other monitors are answered as unknown, unless they create monitors.
func (w *testServer) knowsNoOther(p path, others []string) {
	unknown := string(readContact(&http.Request{URL: must(url.Parse(p.path))(w)}, "").style.unknown.body)
	for _, other := range others {
		creates := strings.Contains(other, "create=1") || strings.HasPrefix(other, "/p/") ||
			strings.Contains(other, "state=")
		if !creates {
			w.wantFrom("POST", other, strings.NewReader("x"), 404, unknown)
		}
	}
}

func (w *testServer) wantFrom(method, path string, body *strings.Reader, status int, want string) {
	got := w.send(method, path, body)
	if method == "HEAD" {
		want = ""
	}
	if got.StatusCode != status || got.body != want {
		w.Errorf("%s %s: %d %q, want %d %q", method, path, got.StatusCode, got.body, status, want)
	}
	if strings.HasPrefix(path, Path) {
		if err := documented(method, got.Request.URL.Path, status, got.body); err != nil {
			w.Errorf("%s %s is not as documented: %v", method, path, err)
		}
	}
	if cache := got.Header.Get("Cache-Control"); cache != "no-store" {
		w.Errorf("%s %s: Cache-Control %q", method, path, cache)
	}
	limit, origin := got.Header.Get("Ping-Body-Limit"), got.Header.Get("Access-Control-Allow-Origin")
	own := strings.HasPrefix(path, "/ping/") && !strings.Contains(path, "state=")
	if own != (limit == "100000") || own != (origin == "*") {
		w.Errorf("%s %s: Ping-Body-Limit %q, Access-Control-Allow-Origin %q", method, path, limit, origin)
	}
}

func codeOf(s monitor.Signal) int {
	if s.ExitCode == nil {
		return -1
	}
	return *s.ExitCode
}

// TestSlugsNeverMeanAnotherMonitor checks that a key and a slug mean the monitor that has the slug on the page of the
// key when the ping arrives.
func TestSlugsNeverMeanAnotherMonitor(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		key, token := w.readWriteKey(), "f618072a-7bde-4eee-af63-71a77c5723bc"
		must(w.store.CreatePage(w.Context(), w.ws,
			resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		first := w.createWithToken("job", "acme", token)
		w.pingsPath("/ping/"+key+"/job", 200)
		w.pingsPath(Path+key+"/job/start", 200)
		must(w.store.RotateMonitor(w.Context(), w.ws, first.ID))(w)
		w.pingsPath("/ping/"+key+"/job", 200)
		must(w.store.ChangeMonitor(w.Context(), w.ws, first.ID, func(c *monitor.MonitorConfig) error {
			c.Slug = "task"
			return nil
		}))(w)
		w.pingsPath(Path+key+"/job", 404)
		w.pingsPath(Path+key+"/task", 200)
		must(w.store.ChangeMonitor(w.Context(), w.ws, first.ID, func(c *monitor.MonitorConfig) error {
			c.Slug = "job"
			return nil
		}))(w)
		must(w.store.ChangeMonitor(w.Context(), w.ws, first.ID, func(c *monitor.MonitorConfig) error {
			c.PageSlug = "other"
			return nil
		}))(w)
		w.pingsPath("/ping/"+key+"/job", 404)
		w.pingsPath("/ping/"+key+"/job?create=1", 409)
		w.pingsPath(Path+key+"/job?create=1", 409)
		if err := w.store.DeleteMonitor(w.Context(), w.ws, first.ID); err != nil {
			w.Fatal(err)
		}
		second := w.createWithToken("another", "acme", token) // with the token of the first
		w.pingsPath("/ping/"+key+"/job", 404)
		w.pingsPath(Path+key+"/job/fail", 404)
		if got := w.now(second.ID); !got.LastPingAt.IsZero() || got.State == monitor.MonitorDown {
			w.Error("the ping of a deleted monitor was recorded for another one")
		}
		rotated := must(w.store.RotatePingKey(w.Context(), w.ws, "acme"))(w)
		w.pingsPath("/ping/"+key+"/another", 200)
		w.pingsPath("/ping/"+rotated.Key+"/another", 200)
		must(w.store.RotatePingKey(w.Context(), w.ws, "acme"))(w)
		w.pingsPath("/ping/"+key+"/another", 404)
		w.pingsPath("/ping/"+rotated.Key+"/another", 200)
		no := monitor.PingAccessOff
		must(w.store.ChangePingKey(w.Context(), w.ws, "acme", monitor.PingKeyChange{Access: &no}))(w)
		w.pingsPath("/ping/"+rotated.Key+"/another", 404)
	})
}

func (w *testServer) createWithToken(slug, page, token string) monitor.Monitor {
	w.Helper()
	return must(w.store.CreateMonitor(w.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: slug, Slug: slug, Token: token, Interval: time.Hour, PageSlug: page,
	})))(w)
}

// pingsPath requests a path, and compares the status of the answer.
func (w *testServer) pingsPath(path string, status int) {
	w.Helper()
	if got := w.send("GET", path, nil); got.StatusCode != status {
		w.Errorf("%s: %d, want %d", path, got.StatusCode, status)
	}
}

// TestReservedSlugs: after a ping key, a word is a slug even if it is the name of a signal. Pings create no such
// monitor.
func TestReservedSlugs(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		key := w.readWriteKey()
		for _, slug := range []string{"start", "success", "fail", "log", "0", "255"} {
			w.answers(Path+key+"/"+slug+"?create=1", 404, notFoundBody)
			m := must(w.store.CreateMonitor(w.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: slug, Slug: slug, Interval: time.Hour, PageSlug: "acme",
			})))(w)
			w.answers(Path+key+"/"+slug, 200, okBody)
			if got := w.now(m.ID); got.LastPingAt.IsZero() {
				w.Errorf("%s was not pinged", slug)
			}
			w.answers(Path+key+"/"+slug+"/"+slug, 200, okBody)
		}
	})
}

// TestRejectedSlugPings: a ping with a key and a slug over the rate limit is a sign of life, as one with a token is.
func TestRejectedSlugPings(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{RateLimit: 3}, func(w *testServer) {
		key := w.readWriteKey()
		m := w.newMonitor()
		for range 3 {
			w.send("GET", "/ping/"+key+"/nothing", nil)
		}
		for path, body := range map[string]string{
			"/ping/" + key + "/" + m.Slug: "rate limit exceeded",
			"/api/push/" + m.Token:        string(kumaStyle.tooMany.body),
			"/p/" + key + "/" + m.Slug:    "rate limit exceeded",
		} {
			got := w.send("GET", path, nil)
			if got.StatusCode != 429 || got.body != body {
				w.Errorf("%s: %d %s", path, got.StatusCode, got.body)
			}
			if got.Header.Get("Retry-After") == "" {
				w.Errorf("%s: no Retry-After", path)
			}
		}
		w.stop()
		if got := w.now(m.ID); got.RejectedAt.IsZero() || !got.LastPingAt.IsZero() {
			w.Errorf("rejected at %v, pinged at %v", got.RejectedAt, got.LastPingAt)
		}
	})
}

// provisioned are first pings, and the schedules of the monitors that they create. A grace of 0 is not compared.
var provisioned = map[string]monitor.MonitorConfig{
	"a?create=1":                        {Interval: 24 * time.Hour, Grace: time.Hour},
	"b?create=1&interval=3600&grace=5m": {Interval: time.Hour, Grace: 5 * time.Minute},
	"c/start?create=1&cron=0+2+*+*+*&tz=Europe/Berlin": {
		Cron: schedule.Cron{Expression: "0 2 * * *", TimeZone: "Europe/Berlin"}, Grace: monitor.DefaultCronGrace,
	},
	"g?create=1&calendar=Mon..Fri+06:30+Europe/Berlin&grace=1h": {
		Cron: schedule.NewCalendar("Mon..Fri 06:30", "Europe/Berlin"), Grace: time.Hour,
	},
	"h?create=1&calendar=06:30&tz=Asia/Tokyo":   {Cron: schedule.NewCalendar("06:30", "Asia/Tokyo")},
	"l?create=1&calendar=Mon+06:00%0ATue+07:00": {Cron: schedule.NewCalendar("Mon 06:00\nTue 07:00", "")},
	"k?create=1&cron=0+2+*+*+?&kubernetes=1": {
		Cron: schedule.Cron{Expression: "0 2 * * ?", TimeZone: "UTC", Kubernetes: true},
	},
}

// wrongProvisions are queries that create no monitor, and the fields that are wrong.
var wrongProvisions = map[string]string{
	"interval=0": "interval", "interval=x": "interval", "interval=1h&interval=2h": "interval", "cron=x": "cron",
	"cron=@daily&tz=Mars": "tz", "tz=UTC": "tz",
	"cron=@daily&interval=1h": "interval", "grace=-1s": "grace", "interval=1h&grace=366d": "grace",
	"cron=0+0+30+2+*": "cron",
	"calendar=x":      "calendar", "calendar=daily&tz=Mars": "tz", "calendar=daily&cron=@daily": "calendar",
	"cron=0+0+*+*+7&kubernetes=1": "cron", "cron=0+0+*+*+?&kubernetes=0": "cron",
	"cron=@daily&kubernetes=yes": "kubernetes", "calendar=daily&kubernetes=1": "kubernetes",
	"kubernetes=1": "kubernetes", "calendar=daily&interval=1h": "interval",
}

// TestProvisioning creates monitors by their first pings.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		key := w.readWriteKey()
		for path, want := range provisioned {
			slug, _, _ := strings.Cut(path, "?")
			slug = strings.TrimSuffix(slug, "/start")
			m := w.createsBy(Path+key+"/"+path, 201, okBody, slug)
			want.Grace = cmp.Or(want.Grace, m.Grace)
			if m.Name != slug || m.Cron != want.Cron || m.Grace != want.Grace ||
				m.Cron.IsZero() && m.Interval != want.Interval {
				w.Errorf("%s: %+v", path, m)
			}
		}
		for value, on := range map[string]bool{"true": true, "on": true, "0": false, "false": false, "Off": false} {
			slug := "k-" + strings.ToLower(value)
			m := w.createsBy(Path+key+"/"+slug+"?create=1&cron=@daily&kubernetes="+value, 201, okBody, slug)
			if m.Cron.Kubernetes != on {
				w.Errorf("kubernetes=%s: %+v", value, m.Cron)
			}
		}
		w.createsBy("/ping/"+key+"/D_1?create=1", 201, "Created", "d-1")
		w.createsBy("/ping/"+key+"/e/fail?create=1", 201, "Created", "e")
		w.createsBy("/p/"+key+"/f?state=complete", 200, "OK", "f")
		w.createsBy("/snitch/"+key+"/c2354d53d2?create=1", 202, "Got it, thanks!", "c2354d53d2")
	})
}

func TestWrongFirstPingsCreateNothing(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		key := w.readWriteKey()
		for query, fields := range wrongProvisions {
			got := w.send("GET", Path+key+"/wrong?create=1&"+query, nil)
			if got.StatusCode != 422 || !strings.Contains(got.body, `"errors":{"`+fields+`":[`) {
				w.Errorf("%s: %d %s", query, got.StatusCode, got.body)
			}
			got = w.send("GET", "/ping/"+key+"/wrong?create=1&"+query, nil)
			if got.StatusCode != 400 || got.body == "" {
				w.Errorf("%s: %d %s", query, got.StatusCode, got.body)
			}
		}
		// what can be read is a valid monitor
		for _, query := range []string{"interval=%zz", "a=1;b=2", "cron=%", "x=%ff"} {
			for _, signal := range []string{"", "/start", "/fail", "/0"} {
				if got := w.send("GET", Path+key+"/wrong"+signal+"?create=1&"+query, nil); got.StatusCode != 422 {
					w.Errorf("%s?%s: %d %s", signal, query, got.StatusCode, got.body)
				}
			}
		}
		w.answers(Path+key+"/wrong", 404, notFoundBody)
		w.answers(Path+key+"/wrong?create=0", 404, notFoundBody)
		w.answers(Path+monitor.NewPingKey()+"/wrong?create=1", 404, notFoundBody)
		w.answers(Path+monitor.NewPingKey()+"/wrong?create=1&interval=0", 404, notFoundBody) // it is not even read
		if w.store.Shared() {
			other := storetest.Open(w.T, w.dsn, store.Options{}) // of another replica
			must(other.CreatePage(w.Context(), w.ws,
				resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
			k := must(other.ChangePingKey(w.Context(), w.ws, "other", monitor.PingKeyChange{
				Access: new(monitor.PingAccessReadWrite),
			}))(w)
			w.answers(Path+k.Key+"/first?create=1", 201, okBody)
		}
		w.answers(Path+w.monitor.Token+"?create=1", 200, okBody)
	})
}

// TestFirstPingsCreateOneMonitor sends several first pings at the same time, and then some that the page does not
// allow.
func TestFirstPingsCreateOneMonitor(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		key := w.readWriteKey()
		var group sync.WaitGroup
		statuses := make([]int, 20)
		for i := range statuses {
			group.Go(func() { statuses[i] = w.send("GET", Path+key+"/fleet?create=1", nil).StatusCode })
		}
		group.Wait()
		made := 0
		for _, status := range statuses {
			if status == 201 {
				made++
			} else if status != 200 {
				w.Errorf("a first contact of several: %d", status)
			}
		}
		if made != 1 {
			w.Errorf("%d of several first contacts made the monitor", made)
		}
		pingOnly := monitor.PingAccessPingOnly
		must(w.store.ChangePingKey(w.Context(), w.ws, "acme", monitor.PingKeyChange{Access: &pingOnly}))(w)
		w.answers(Path+key+"/fleet?create=1", 200, okBody)
		w.answers(Path+key+"/new?create=1", 403, string(ownStyle.refused.body))
		w.answers("/p/"+key+"/new?state=run", 403, refusedText)
		w.readWriteKey()
		for i := range monitor.MaxProvisionedPerMinute + 1 {
			got := w.send("GET", Path+key+fmt.Sprintf("/fleet-%d?create=1", i), nil)
			if got.StatusCode != 201 {
				if got.StatusCode != 429 || got.Header.Get("Retry-After") != "60" || i < 80 {
					w.Errorf("monitor %d: %d %s", i, got.StatusCode, got.body)
				}
				return
			}
		}
		w.Error("no limit per minute")
	})
}

// createsBy pings a path, which creates a monitor with this slug.
func (w *testServer) createsBy(path string, status int, body, slug string) monitor.Monitor {
	w.Helper()
	w.answers(path, status, body)
	m := must(w.store.Monitor(w.Context(), w.ws, slug))(w)
	if m.LastPingAt.IsZero() && len(w.signals(slug)) == 0 || m.PageSlug != "acme" {
		w.Errorf("%s: %+v", path, m)
	}
	w.send("GET", path, nil)
	return m
}

// FuzzContact checks that whatever the path and the query are, they are read, and mean at most one monitor.
func FuzzContact(f *testing.F) {
	key, token := strings.Repeat("k", kernel.PingKeyLength), strings.Repeat("t", kernel.PingTokenLength)
	for _, prefix := range Prefixes {
		for _, rest := range []string{
			"", key, key + "/", key + "/job", key + "/job/start", key + "/job/0007", token, token + "/start",
			token + "/", token + "/256", "../" + token, key + "/\x00", key + "/é", key + "/start", "//", key + "//",
			key + "/a/b/c/d",
		} {
			f.Add(prefix+rest, "rid="+token+"&state=run&series=x&status_code=1&s=1&m=é&msg=%00&status=down&create=1")
			f.Add(prefix+rest, "%zz")
		}
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		c := readContact(&http.Request{URL: &url.URL{Path: path}}, query)
		if c.style == nil {
			t.Fatal("the contact has no style")
		}
		_, slug, bySlug := monitor.CutSlugAddress(c.address)
		if bySlug && !kernel.ValidSlug(slug) ||
			bySlug == kernel.IsPingToken(c.address) && monitor.IsPingAddress(c.address) {
			t.Fatalf("address %q", c.address)
		}
		if monitor.IsPingAddress(c.address) && c.invalid == nil {
			if c.kind == "" || c.plain && c.kind != monitor.SignalSuccess || c.runID != "" && len(c.runID) != 36 ||
				c.exitCode != nil &&
					(*c.exitCode < 0 || *c.exitCode > 255 || (*c.exitCode == 0) != (c.kind == monitor.SignalSuccess)) {
				t.Fatalf("contact: %+v", c)
			}
			if c.creates && c.style.invalid == nil {
				t.Fatalf("%s creates a monitor without an answer", path)
			}
		}
		_, _ = resource.NewMonitor(readMonitor(c.query.values(), "x"), time.Now())
		if c.style.of(store.PingFailed) == nil || c.style.of(store.PingUnknown) == nil {
			t.Fatal("the style has no answer to a failed or an unknown ping")
		}
	})
}

// disabled is a change that also disables the monitor.
func disabled(change monitor.MonitorChange) monitor.MonitorChange {
	return func(c *monitor.MonitorConfig) error {
		err := change(c)
		c.Enabled = false
		return err
	}
}
