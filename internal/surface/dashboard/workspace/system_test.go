package workspace_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/workspace"
)

func TestSystem(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Dashboard.Workspace.Process = workspace.Process{
			Version: "v1.2.3", Database: "postgres://db.example/allswell", Replica: "here",
			Settings: []workspace.Setting{{"ALLSWELL_LISTEN", ":8080", "flag"}, {"ALLSWELL_SMTP_URL", "", "default"}},
		}
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/system"), http.StatusOK, "v1.2.3", "postgres://db.example/allswell",
			"No replica has recorded anything", `<p class="quiet">None.</p>`, "ALLSWELL_LISTEN", ">flag<")
		_, err := s.Store.RecordPings(s.Context(), nil, store.LivenessRecord{Replica: "here"}, store.PingOrigins{})
		if err != nil {
			s.Fatal(err)
		}
		owner.Wants(owner.Get("/admin/system"), http.StatusOK, "this one")
	})
}

// TestSystemOfAnotherWorkspace is seen by an admin who does not run the installation: without its settings, database
// and replicas.
func TestSystemOfAnotherWorkspace(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Dashboard.Workspace.Process = workspace.Process{
			Version: "v1.2.3", Go: "go1.99", Database: "postgres://db.example/allswell", Replica: "here",
			Settings: []workspace.Setting{{"ALLSWELL_LISTEN", ":8080", "flag"}},
		}
		owner := s.Owner()
		_, err := s.Store.IssueTokenFor(s.Context(), "Second",
			account.NewToken{Name: "first", Scope: kernel.ScopeAdmin})
		if err != nil {
			s.Fatal(err)
		}
		all, err := s.Store.AllTokens(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		second := all[len(all)-1].WorkspaceID
		issued, err := s.Store.Invite(s.Context(), kernel.SystemActor("test", second), account.NewInvitation{
			Email: "ada@example.com", Role: kernel.RoleOwner,
		})
		if err != nil {
			s.Fatal(err)
		}
		owner.Wants(owner.Post("/admin/accept", "code", issued.Code), http.StatusSeeOther, "/admin")
		screen := owner.Wants(owner.Get("/admin/system"), http.StatusOK, "v1.2.3", "Downtime of Allswell")
		for _, secret := range []string{"db.example", "ALLSWELL_LISTEN", "go1.99", "Replicas", "here", "Backup"} {
			if main := screen.Text[strings.Index(screen.Text, "<main"):]; strings.Contains(main, secret) {
				s.Errorf("an admin of another workspace sees %s", secret)
			}
		}
	})
}

// TestBackup downloads a backup and opens it as a database. Only owners of every workspace may, one at a time.
func TestBackup(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Dashboard.Workspace.Process.Database = "postgres://db.example/allswell"
		owner := s.Owner()
		screen := owner.Get("/admin/system")
		if s.Store.Shared() {
			owner.Wants(screen, http.StatusOK, "pg_dump", "postgres://db.example/allswell")
			owner.Wants(owner.Post("/admin/system/backup"), http.StatusNotFound)
			return
		}
		owner.Wants(screen, http.StatusOK, "Back up now")
		a := owner.Wants(owner.Post("/admin/system/backup"), http.StatusOK)
		if a.Header.Get("Content-Length") != strconv.Itoa(len(a.Text)) ||
			!strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment;") ||
			a.Header.Get("Cache-Control") != "no-store" {
			s.Errorf("the header of the backup: %v", a.Header)
		}
		path := filepath.Join(s.TempDir(), "copy.db")
		if err := os.WriteFile(path, []byte(a.Text), 0o600); err != nil {
			s.Fatal(err)
		}
		users, err := storetest.Open(s.T, "sqlite:"+path, store.Options{}).Users(s.Context())
		if err != nil || len(users) != 1 {
			s.Errorf("the backup has %d users: %v", len(users), err)
		}
		owner.Wants(owner.Get("/admin/audit?kind=database"), http.StatusOK, "downloaded")
		end := s.Dashboard.Workspace.BeginBackup()
		owner.Wants(owner.Post("/admin/system/backup"), http.StatusConflict, "One backup at a time")
		end()
		storetest.Workspace(s.T, s.Store, "other") // of others
		owner.Wants(owner.Post("/admin/system/backup"), http.StatusForbidden)
		screen = owner.Get("/admin/system")
		if strings.Contains(screen.Text, "Back up now") || !strings.Contains(screen.Text, "allswell backup FILE") {
			s.Error("the button is offered to an owner of one workspace")
		}
	})
}
