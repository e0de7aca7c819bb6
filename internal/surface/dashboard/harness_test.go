package dashboard

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/signin/password"
	"github.com/allswell/allswell/internal/surface/web"
)

func init() { password.Weaken() }

// site is a dashboard with a store, served over HTTP.
type site struct {
	*testing.T
	store     *store.Store
	dashboard *Dashboard
	server    *httptest.Server
	base      string
	skipped   atomic.Int64 // by how many nanoseconds the clock of the store and the dashboard is ahead
}

// now is the clock of the store and of the dashboard.
func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.skipped.Load())) }

// skip lets time pass.
func (s *site) skip(d time.Duration) { s.skipped.Add(int64(d)) }

// onEachEngine runs f with a site on each engine.
func onEachEngine(t *testing.T, f func(s *site)) {
	t.Helper()
	eachSite(t, f, func(*site) store.Options { return store.Options{Hosts: statuspage.NewHosts("allswell.example")} })
}

// onEachEngineInTime runs f with a site on each engine whose time can be skipped.
func onEachEngineInTime(t *testing.T, f func(s *site)) {
	t.Helper()
	eachSite(t, func(s *site) {
		s.dashboard.now = s.now
		f(s)
	}, func(s *site) store.Options { return store.Options{Clock: s.now} })
}

func eachSite(t *testing.T, f func(s *site), options func(*site) store.Options) {
	t.Helper()
	s := new(site)
	storetest.RunWith(t, func(*testing.T) store.Options {
		s = new(site)
		return options(s)
	}, func(t *testing.T, st *store.Store) {
		server := httptest.NewUnstartedServer(nil)
		server.Start()
		t.Cleanup(server.Close)
		d := New(Config{Store: st, BaseURL: server.URL, Tests: web.NewCheckTester(runCheck, nil)})
		t.Cleanup(d.EndStreams)
		server.Config.Handler = clientaddr.NewResolver(clientaddr.Config{}).Middleware(d.Handler())
		s.T, s.store, s.dashboard, s.server, s.base = t, st, d, server, server.URL
		f(s)
	})
}

// runCheck runs a check once, as the service does.
func runCheck(
	ctx context.Context, _ string, kind monitor.MonitorType, spec monitor.CheckSpec,
) (r monitor.CheckResult, err error) {
	t, _ := check.TypeOf(kind)
	p, err := t.Probe(spec.Config, spec.Secrets)
	if err != nil {
		return r, err
	}
	o := check.Run(ctx, new(check.Network), p, spec.Timeout)
	r = monitor.CheckResult{Status: monitor.CheckOK, Reason: o.Failure, Phases: o.Phases, Body: o.Body}
	if o.Failure != "" {
		r.Status = monitor.CheckFailed
	}
	return r, nil
}

// visitor is a browser with cookies, which does not follow redirects.
type visitor struct {
	*site
	client *http.Client
}

func (s *site) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return &visitor{s, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body string
}

func (v *visitor) do(r *http.Request) answer {
	v.Helper()
	response, err := v.client.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.Fatal(err)
	}
	return answer{response, string(body)}
}

// get requests a path.
func (v *visitor) get(path string) answer {
	v.Helper()
	r, err := http.NewRequest("GET", v.base+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	return v.do(r)
}

// post sends a form as a browser does. fields are names and values in turn.
func (v *visitor) post(path string, fields ...string) answer {
	v.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequest("POST", v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", v.base)
	return v.do(r)
}

// wants checks the status of an answer, and that its body has all texts. A redirect has its Location in the body's
// place.
func (v *visitor) wants(a answer, status int, texts ...string) answer {
	v.Helper()
	body := a.body
	if a.StatusCode == http.StatusSeeOther {
		body = a.Header.Get("Location")
	}
	if a.StatusCode != status {
		v.Fatalf("%s %s: status %d, want %d: %s", a.Request.Method, a.Request.URL.Path, a.StatusCode, status, body)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			v.Errorf("%s %s lacks %q:\n%s", a.Request.Method, a.Request.URL.Path, text, body)
		}
	}
	return a
}

const goodPassword = "four words at random"

// owner is a visitor who has set the installation up.
func (s *site) owner() *visitor {
	s.Helper()
	code, err := s.store.IssueSetupCode(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	v := s.visitor()
	v.wants(v.post("/admin/setup", "code", code, "name", "Ada Lovelace", "email", "ada@example.com", "password",
		goodPassword), http.StatusSeeOther, "/admin/setup/page")
	return v
}

// member is a visitor who has accepted an invitation of the owner.
func (s *site) member(owner *visitor, role kernel.Role) *visitor {
	s.Helper()
	issued, err := s.store.Invite(s.Context(), owner.actor(), account.NewInvitation{
		Email: string(role) + "@example.com", Role: role,
	})
	if err != nil {
		s.Fatal(err)
	}
	v := s.visitor()
	v.wants(v.post("/admin/accept", "code", issued.Code, "name", "The "+string(role), "password", goodPassword),
		http.StatusSeeOther, "/admin")
	return v
}

// actor returns the actor of the visitor's session.
func (v *visitor) actor() kernel.Actor {
	v.Helper()
	at, err := url.Parse(v.base)
	if err != nil {
		v.Fatal(err)
	}
	for _, c := range v.client.Jar.Cookies(at) {
		if in, err := v.store.FindSession(v.Context(), c.Value); err == nil {
			return in.Actor("")
		}
	}
	v.Fatal("the visitor is not signed in")
	return kernel.Actor{}
}
