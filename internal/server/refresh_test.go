package server

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestAcknowledgedUpdateShowsWithoutTheDatabase checks that a page shows an acknowledged incident although the database
// has become unavailable.
func TestAcknowledgedUpdateShowsWithoutTheDatabase(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database string) {
		s, _ := newServerOn(t, database, Settings{})
		t.Cleanup(s.Close)
		_, token := storetest.Workspace(t, s.store, account.DefaultWorkspace)
		if w := ask(s, "POST", "x", "/api/v1/pages", token, `{"name":"Acme","slug":"acme"}`); w.Code != 201 {
			t.Fatalf("creating a page: %s", w.Body)
		}
		if w := ask(s, "GET", "x", "/status/acme", "", ""); w.Code != 200 {
			t.Fatalf("the page: %s", w.Body)
		}
		w := ask(s, "POST", "x", "/api/v1/pages/acme/incidents", token, `{"title":"The website is down"}`)
		if w.Code != 201 {
			t.Fatalf("opening an incident: %s", w.Body)
		}
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		w = ask(s, "GET", "x", "/status/acme", "", "")
		if w.Code != 200 || !strings.Contains(w.Body.String(), "The website is down") {
			t.Errorf("the page: %d, without the incident", w.Code)
		}
	})
}
