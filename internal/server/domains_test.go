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

// ownNames returns settings with several names of the installation.
func ownNames(dns *dnsserver.Server) Settings {
	return Settings{
		BaseURL: "https://Bücher.Example:8443", OwnHosts: "Alias.Example., status.example.net:443",
		DNSServer: dns.Address(), PageIndex: "on",
	}
}

func createPage(t *testing.T, s *Server, token, slug string) {
	t.Helper()
	if w := ask(s, "POST", "x", "/api/v1/pages", token, `{"name":"Mine","slug":"`+slug+`"}`); w.Code != 201 {
		t.Fatalf("creating the page %s: %d %s", slug, w.Code, w.Body)
	}
}

// verifyDomain sets the DNS record for the domain of the page two, and verifies the domain.
func verifyDomain(t *testing.T, s *Server, dns *dnsserver.Server, token string) {
	t.Helper()
	var claim struct {
		Data struct {
			Status string
			Record struct{ Name, Value string }
		}
	}
	w := ask(s, "GET", "x", "/api/v1/pages/two/domain", token, "")
	if err := json.Unmarshal(w.Body.Bytes(), &claim); err != nil {
		t.Fatalf("the domain: %v in %s", err, w.Body)
	}
	dns.Set(claim.Data.Record.Name, claim.Data.Record.Value)
	w = ask(s, "POST", "x", "/api/v1/pages/two/domain/verify", token, "")
	if err := json.Unmarshal(w.Body.Bytes(), &claim); err != nil || w.Code != 200 || claim.Data.Status != "verified" {
		t.Fatalf("verifying the domain: %d %s", w.Code, w.Body)
	}
}

// TestOwnHostsNeverServeAPage checks that no page is served at the names of the installation, whatever the token and
// the contents of the database.
func TestOwnHostsNeverServeAPage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, database string) {
		dns := dnsserver.New(t)
		s, _ := newServerOn(t, database, ownNames(dns))
		_, first := storetest.Workspace(t, s.store, account.DefaultWorkspace)
		_, second := storetest.Workspace(t, s.store, "second")
		pages := map[string]string{first: "one", second: "two"}
		for token, slug := range pages {
			createPage(t, s, token, slug)
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
				w := ask(s, "PATCH", "x", "/api/v1/pages/"+slug, token, string(body))
				if w.Code != 422 || !strings.Contains(w.Body.String(), `"domain":[`) {
					t.Errorf("the domain %s: %d %s", host, w.Code, w.Body)
				}
				w = ask(s, "GET", host, "/", "", "")
				if w.Code != 200 || !strings.Contains(w.Body.String(), "Status pages") {
					t.Errorf("the list of pages at %s: %d", host, w.Code)
				}
			}
		}

		s.Close()
	})
}

// TestOwnHostsTakePrecedence serves the page of another workspace at its domain once the DNS has its record. When the
// domain becomes a name of the installation, the page is not served there, but keeps its domain.
func TestOwnHostsTakePrecedence(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, database string) {
		dns := dnsserver.New(t)
		own := ownNames(dns)
		s, _ := newServerOn(t, database, own)
		_, token := storetest.Workspace(t, s.store, account.DefaultWorkspace)
		_, second := storetest.Workspace(t, s.store, "second")
		createPage(t, s, token, "one")
		createPage(t, s, second, "two")
		const domain = "status.acme.example"
		at := func(want string) {
			t.Helper()
			w := ask(s, "GET", domain, "/", "", "")
			_, heading, _ := strings.Cut(w.Body.String(), "<h1")
			if w.Code != 200 || !strings.Contains(heading[:min(len(heading), 300)], want) {
				t.Errorf("the page at %s: %d, not %q", domain, w.Code, want)
			}
		}
		w := ask(s, "PATCH", "x", "/api/v1/pages/two", second, `{"domain":"`+domain+`"}`)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"domain_status":"pending"`) {
			t.Fatalf("setting the domain: %s", w.Body)
		}
		at("Status pages")
		verifyDomain(t, s, dns, second)
		at("Mine")
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
			warned := strings.Contains(log.String(), "page is not served at its domain") &&
				strings.Contains(log.String(), "domain="+domain)
			if warned != c.warning {
				t.Errorf("%+v: a warning %t, want %t; the log says %s", c.settings, warned, c.warning, log)
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
		t.Errorf("the page after the check: %+v, %v", p, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
