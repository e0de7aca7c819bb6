package dashboard

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

func TestSystem(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.dashboard.process = Process{
			Version: "v1.2.3", Database: "postgres://db.example/allswell", Replica: "here",
			Settings: []Setting{{"ALLSWELL_LISTEN", ":8080", "flag"}, {"ALLSWELL_SMTP_URL", "", "default"}},
		}
		owner := s.owner()
		owner.wants(owner.get("/admin/system"), http.StatusOK, "v1.2.3", "postgres://db.example/allswell",
			"None has recorded anything", `<p class="quiet">None.</p>`, "ALLSWELL_LISTEN", ">flag<")
		if _, err := s.store.RecordPings(
			s.Context(), nil, store.LivenessRecord{Replica: "here"}, store.PingOrigins{},
		); err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.get("/admin/system"), http.StatusOK, "this one")
	})
}

// TestSystemOfAnotherWorkspace is seen by an admin who does not run the installation: without its settings, database
// and replicas.
func TestSystemOfAnotherWorkspace(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.dashboard.process = Process{
			Version: "v1.2.3", Go: "go1.99", Database: "postgres://db.example/allswell", Replica: "here",
			Settings: []Setting{{"ALLSWELL_LISTEN", ":8080", "flag"}},
		}
		owner := s.owner()
		if _, err := s.store.IssueTokenFor(
			s.Context(), "Second", account.NewToken{Name: "first", Scope: kernel.ScopeAdmin},
		); err != nil {
			s.Fatal(err)
		}
		all, err := s.store.AllTokens(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		second := all[len(all)-1].WorkspaceID
		issued, err := s.store.Invite(s.Context(), kernel.SystemActor("test", second), account.NewInvitation{
			Email: "ada@example.com", Role: kernel.RoleOwner,
		})
		if err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.post("/admin/accept", "code", issued.Code), http.StatusSeeOther, "/admin")
		screen := owner.wants(owner.get("/admin/system"), http.StatusOK, "v1.2.3", "Listening gaps")
		for _, secret := range []string{"db.example", "ALLSWELL_LISTEN", "go1.99", "Replicas", "here", "Backup"} {
			if main := screen.body[strings.Index(screen.body, "<main"):]; strings.Contains(main, secret) {
				s.Errorf("an admin of another workspace sees %s", secret)
			}
		}
	})
}

// TestOnlyScreensAreLive asks for paths as event streams do: all but the screens that show changes are unknown.
func TestOnlyScreensAreLive(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		for _, route := range s.dashboard.routes() {
			method, path, _ := strings.Cut(route.pattern, " ")
			if method != http.MethodGet || slices.Contains(liveScreens, route.pattern) {
				continue
			}
			for _, part := range []string{"page", "monitor", "incident", "alert", "channel"} {
				path = strings.ReplaceAll(path, "{"+part+"}", part)
			}
			_, pattern := s.dashboard.newMux(true).(*http.ServeMux).Handler(httptest.NewRequest(method, path, nil))
			if pattern == route.pattern {
				s.Errorf("an event stream can name %s", route.pattern)
			}
		}
		for _, pattern := range liveScreens {
			path := strings.TrimPrefix(pattern, "GET ")
			if strings.Contains(path, "{") {
				continue
			}
			if body := owner.wants(owner.get(path), http.StatusOK).body; !strings.Contains(body, "/admin/live?of=") {
				s.Errorf("%s is not kept current", path)
			}
		}
	})
}

// TestBackup downloads a backup and opens it as a database. Only owners of every workspace may, one at a time.
func TestBackup(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.dashboard.process.Database = "postgres://db.example/allswell"
		owner := s.owner()
		screen := owner.get("/admin/system")
		if s.store.Shared() {
			owner.wants(screen, http.StatusOK, "pg_dump", "postgres://db.example/allswell")
			owner.wants(owner.post("/admin/system/backup"), http.StatusNotFound)
			return
		}
		owner.wants(screen, http.StatusOK, "Back up now")
		a := owner.wants(owner.post("/admin/system/backup"), http.StatusOK)
		if a.Header.Get("Content-Length") != strconv.Itoa(len(a.body)) ||
			!strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment;") ||
			a.Header.Get("Cache-Control") != "no-store" {
			s.Errorf("%v", a.Header)
		}
		path := filepath.Join(s.TempDir(), "copy.db")
		if err := os.WriteFile(path, []byte(a.body), 0o600); err != nil {
			s.Fatal(err)
		}
		users, err := storetest.Open(s.T, "sqlite:"+path, store.Options{}).Users(s.Context())
		if err != nil || len(users) != 1 {
			s.Errorf("the backup has %d users: %v", len(users), err)
		}
		owner.wants(owner.get("/admin/audit?kind=database"), http.StatusOK, "downloaded")
		s.dashboard.backingUp.Lock()
		owner.wants(owner.post("/admin/system/backup"), http.StatusConflict, "One backup at a time")
		s.dashboard.backingUp.Unlock()
		storetest.Workspace(s.T, s.store, "other") // of others
		owner.wants(owner.post("/admin/system/backup"), http.StatusForbidden)
		if screen := owner.get("/admin/system"); strings.Contains(screen.body, "Back up now") ||
			!strings.Contains(screen.body, "allswell backup FILE") {
			s.Error("the button is offered to an owner of one workspace")
		}
	})
}
