package dashboardtest

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
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/signin/password"
	"github.com/allswell/allswell/internal/surface/web"
)

func init() { password.Weaken() }

// Site is a dashboard with a store, served over HTTP.
type Site struct {
	*testing.T
	Store     *store.Store
	Dashboard *dashboard.Dashboard
	Server    *httptest.Server
	Base      string
	skipped   atomic.Int64 // nanoseconds by which the clock of the store and the dashboard is ahead
}

// Now is the clock of the store and of the dashboard.
func (s *Site) Now() time.Time { return time.Now().Add(time.Duration(s.skipped.Load())) }

// Advance moves the clock forward.
func (s *Site) Advance(d time.Duration) { s.skipped.Add(int64(d)) }

// OnEachEngine runs f with a site on each engine.
func OnEachEngine(t *testing.T, f func(s *Site)) {
	t.Helper()
	EachSite(t, f, func(*Site) store.Options { return store.Options{Hosts: statuspage.NewHosts("allswell.example")} })
}

// OnEachEngineInTime runs f on each engine, with a site whose clock can be moved by Advance.
func OnEachEngineInTime(t *testing.T, f func(s *Site)) {
	t.Helper()
	EachSite(t, func(s *Site) {
		s.Dashboard.Now = s.Now
		f(s)
	}, func(s *Site) store.Options { return store.Options{Clock: s.Now} })
}

// EachSite runs f with a site on each engine, with the store options that options returns for the site.
func EachSite(t *testing.T, f func(s *Site), options func(*Site) store.Options) {
	t.Helper()
	s := new(Site)
	storetest.RunWith(t, func(*testing.T) store.Options {
		s = new(Site)
		return options(s)
	}, func(t *testing.T, st *store.Store) {
		server := httptest.NewUnstartedServer(nil)
		server.Start()
		t.Cleanup(server.Close)
		d := dashboard.New(dashboard.Config{Store: st, BaseURL: server.URL, Tests: web.NewCheckTester(runCheck, nil)})
		t.Cleanup(d.EndStreams)
		server.Config.Handler = clientaddr.NewResolver(clientaddr.Config{}).Middleware(d.Handler())
		s.T, s.Store, s.Dashboard, s.Server, s.Base = t, st, d, server, server.URL
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

// Visitor is a browser with cookies, which does not follow redirects.
type Visitor struct {
	*Site
	Client *http.Client
}

func (s *Site) Visitor() *Visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return &Visitor{s, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// Answer is a response with its body.
type Answer struct {
	*http.Response
	Text string
}

func (v *Visitor) Do(r *http.Request) Answer {
	v.Helper()
	response, err := v.Client.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.Fatal(err)
	}
	return Answer{response, string(body)}
}

// Get requests a path.
func (v *Visitor) Get(path string) Answer {
	v.Helper()
	r, err := http.NewRequest("GET", v.Base+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	return v.Do(r)
}

// Post sends a form as a browser does. fields alternates between names and values.
func (v *Visitor) Post(path string, fields ...string) Answer {
	v.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequest("POST", v.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", v.Base)
	return v.Do(r)
}

// Wants checks the status of an answer, and that its body contains all texts; for a redirect, that its Location does.
func (v *Visitor) Wants(a Answer, status int, texts ...string) Answer {
	v.Helper()
	body := a.Text
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

const GoodPassword = "four words at random"

// Owner is a visitor who has set the installation up.
func (s *Site) Owner() *Visitor {
	s.Helper()
	code, err := s.Store.IssueSetupCode(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	v := s.Visitor()
	v.Wants(v.Post("/admin/setup", "code", code, "name", "Ada Lovelace", "email", "ada@example.com", "password",
		GoodPassword), http.StatusSeeOther, "/admin/setup/page")
	return v
}

// Member is a visitor who has accepted an invitation of the owner.
func (s *Site) Member(owner *Visitor, role kernel.Role) *Visitor {
	s.Helper()
	issued, err := s.Store.Invite(s.Context(), owner.Actor(), account.NewInvitation{
		Email: string(role) + "@example.com", Role: role,
	})
	if err != nil {
		s.Fatal(err)
	}
	v := s.Visitor()
	v.Wants(v.Post("/admin/accept", "code", issued.Code, "name", "The "+string(role), "password", GoodPassword),
		http.StatusSeeOther, "/admin")
	return v
}

// Actor returns the actor of the visitor's session.
func (v *Visitor) Actor() kernel.Actor {
	v.Helper()
	at, err := url.Parse(v.Base)
	if err != nil {
		v.Fatal(err)
	}
	for _, c := range v.Client.Jar.Cookies(at) {
		if in, err := v.Store.FindSession(v.Context(), c.Value); err == nil {
			return in.Actor("")
		}
	}
	v.Fatal("the visitor is not signed in")
	return kernel.Actor{}
}
