package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/store/storetest"
)

// startReplica starts a server on a database that others use, too.
func startReplica(t *testing.T, database string) *Server {
	t.Helper()
	s, _ := newServerOn(t, database, Settings{})
	work, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.site.Run(work)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		s.Close()
	})
	return s
}

// awaitPage waits until a server shows what is expected: each word with "-" in front is absent.
func awaitPage(t *testing.T, s *Server, status int, words ...string) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; {
		w := ask(s, "GET", "x", "/status/acme", "", "")
		as := w.Code == status
		for _, word := range words {
			absent := strings.HasPrefix(word, "-")
			as = as && strings.Contains(w.Body.String(), strings.TrimPrefix(word, "-")) != absent
		}
		if as {
			t.Logf("%d %q after %s", status, words, time.Since(began).Round(time.Millisecond))
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d, want %d with %q:\n%s", w.Code, status, words, w.Body)
		case <-tick.C:
		}
	}
}

// TestVisibilityReachesOtherReplicas changes at one replica who can see a page and what is on it: another replica
// follows, and nothing of what was hidden stays in its memory.
func TestVisibilityReachesOtherReplicas(t *testing.T) {
	t.Parallel()
	database := storetest.PostgreSQL(t)
	writer, reader := startReplica(t, database), startReplica(t, database)
	_, token := storetest.Workspace(t, writer.store, account.DefaultWorkspace)
	change := func(method, path, body string) (id string) {
		t.Helper()
		w := ask(writer, method, "x", "/api/v1"+path, token, body)
		if w.Code/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		var answer struct{ Data struct{ ID string } }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Data.ID
	}
	see := func(status int, words ...string) {
		t.Helper()
		awaitPage(t, reader, status, words...)
	}
	change("POST", "/pages", `{"name":"Acme","slug":"acme"}`)
	change("POST", "/pages/acme/components", `{"name":"Website"}`)
	vault := "/components/" + change("POST", "/pages/acme/components", `{"name":"Vault"}`)
	see(http.StatusOK, "Website", "Vault")
	for range 3 {
		change("PATCH", "/pages/acme", `{"visibility":"private"}`)
		see(http.StatusNotFound, "-Acme", "-Website")
		change("PATCH", "/pages/acme", `{"visibility":"public"}`)
		see(http.StatusOK, "Acme", "Website")
	}
	change("PATCH", vault, `{"hidden":true}`)
	see(http.StatusOK, "Website", "-Vault")
	draft := change("POST", "/pages/acme/incidents", `{"title":"Nothing to see yet","draft":true}`)
	change("PATCH", "/pages/acme", `{"name":"Acme after the draft"}`)
	see(http.StatusOK, "Acme after the draft", "-Nothing to see yet")
	change("POST", "/incidents/"+draft+"/publish", "")
	see(http.StatusOK, "Nothing to see yet")
	change("PATCH", vault, `{"hidden":false}`)
	see(http.StatusOK, "Vault")
}
