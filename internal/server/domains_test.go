package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/dnsserver"
)

// newServerOn returns a server on a database that outlives it.
func newServerOn(t testing.TB, database string, s Settings) (*Server, *bytes.Buffer) {
	t.Helper()
	s.Listen, s.DatabaseSetting.Database = "127.0.0.1:0", database
	cfg, err := s.Parse()
	if err != nil {
		t.Fatal(err)
	}
	log := new(bytes.Buffer)
	svc, err := New(t.Context(), cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	svc.openHandlers()
	return svc, log
}

// ask sends one request to the service's handler, with a Host header.
func ask(s *Server, method, host, path, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.servers[0].Handler.ServeHTTP(w, r)
	return w
}

// TestOwnHostsNeverServeAPage checks that no page is served at the names of the installation, whatever the token and
// the contents of the database.
func TestOwnHostsNeverServeAPage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, database string) {
		dns := dnsserver.New(t)
		own := Settings{
			BaseURL: "https://Bücher.Example:8443", OwnHosts: "Alias.Example., status.example.net:443",
			DNSServer: dns.Address(), PageIndex: "on",
		}
		s, _ := newServerOn(t, database, own)
		_, first := storetest.Workspace(t, s.store, account.DefaultWorkspace)
		_, second := storetest.Workspace(t, s.store, "second")
		pages := map[string]string{first: "one", second: "two"}
		for token, slug := range pages {
			if w := ask(s, "POST", "x", "/api/v1/pages", token, `{"name":"Mine","slug":"`+slug+`"}`); w.Code != 201 {
				t.Fatal(w.Body)
			}
		}
		for token, slug := range pages {
			for _, host := range []string{
				"xn--bcher-kva.example", "alias.example", "status.example.net", // its names
				// and their other forms
				"XN--bcher-kva.example", "alias.example.", "alias.example:8443", "bücher.example", "Alias.example",
				"localhost", "127.0.0.1", "[::1]", "0x7f.1", "2130706433", "app.localhost", // this machine
			} {
				body, err := json.Marshal(map[string]string{"domain": host})
				if err != nil {
					t.Fatal(err)
				}
				if w := ask(s, "PATCH", "x", "/api/v1/pages/"+slug, token, string(body)); w.Code != 422 ||
					!strings.Contains(w.Body.String(), `"domain":[`) {
					t.Errorf("the domain %s: %d %s", host, w.Code, w.Body)
				}
				if w := ask(s, "GET", host, "/", "", ""); w.Code != 200 ||
					!strings.Contains(w.Body.String(), "Status pages") {
					t.Errorf("at %s: %d", host, w.Code)
				}
			}
		}

		// The page of another workspace is served once the DNS has its record.
		const domain = "status.acme.example"
		at := func(want string) {
			t.Helper()
			w := ask(s, "GET", domain, "/", "", "")
			if _, heading, _ := strings.Cut(w.Body.String(), "<h1"); w.Code != 200 ||
				!strings.Contains(heading[:min(len(heading), 300)], want) {
				t.Errorf("at %s: %d, not %q", domain, w.Code, want)
			}
		}
		var claim struct {
			Data struct {
				Status string
				Record struct{ Name, Value string }
			}
		}
		verify := func(want string) {
			t.Helper()
			w := ask(s, "POST", "x", "/api/v1/pages/two/domain/verify", second, "")
			if err := json.Unmarshal(w.Body.Bytes(), &claim); err != nil || w.Code != 200 || claim.Data.Status != want {
				t.Fatalf("%d %s, want %s", w.Code, w.Body, want)
			}
		}
		if w := ask(s, "PATCH", "x", "/api/v1/pages/two", second, `{"domain":"`+domain+`"}`); w.Code != 200 ||
			!strings.Contains(w.Body.String(), `"domain_status":"pending"`) {
			t.Fatal(w.Body)
		}
		at("Status pages")
		if w := ask(
			s, "GET", "x", "/api/v1/pages/two/domain", second, "",
		); json.Unmarshal(w.Body.Bytes(), &claim) != nil {
			t.Fatal(w.Body)
		}
		dns.Set(claim.Data.Record.Name, claim.Data.Record.Value)
		verify("verified")
		at("Mine")

		// The settings change: the installation takes precedence, and the page keeps its domain.
		for _, c := range []struct {
			settings Settings
			want     string
			warning  bool
		}{
			{Settings{BaseURL: own.BaseURL, OwnHosts: domain, PageIndex: "on"}, "Status pages", true},
			{Settings{BaseURL: "https://" + domain, PageIndex: "on"}, "Status pages", true},
			{Settings{PageIndex: "on"}, "Status pages", true},
			{own, "Mine", false},
		} {
			s.Close()
			var log *bytes.Buffer
			s, log = newServerOn(t, database, c.settings)
			at(c.want)
			if warned := strings.Contains(log.String(), "page is not served at its domain") &&
				strings.Contains(log.String(), "domain="+domain); warned != c.warning {
				t.Errorf("%+v: the log says %s", c.settings, log)
			}
		}
		s.Close()
	})
}

// TestServeChecksDomains runs a server until it has checked a claim.
func TestServeChecksDomains(t *testing.T) {
	t.Parallel()
	dns := dnsserver.New(t)
	s, _ := newServerOn(t, "sqlite:"+t.TempDir()+"/allswell.db", Settings{
		BaseURL: "https://allswell.example", DNSServer: dns.Address(), FailureThreshold: "3", CheckInterval: "1m",
	})
	defer s.Close()
	ws, _ := storetest.Workspace(t, s.store, "second")
	name := "status.acme.example"
	p, err := s.store.CreatePage(t.Context(), ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	if err != nil {
		t.Fatal(err)
	}
	record := statuspage.NewDomainRecord(p.ID, name)
	dns.Set(record.Name, record.Value)
	changed := make(chan struct{}, 10)
	s.store.OnPageChange(func(string) { changed <- struct{}{} })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if _, err := s.store.ChangePage(t.Context(), ws, "acme", func(p *statuspage.Page) error {
		p.Domain = name
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	<-changed // the claim
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Error("no check in a minute")
	}
	if p, err := s.store.Page(t.Context(), ws, "acme"); err != nil || p.Host != name {
		t.Errorf("%+v, %v", p, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
