package dashboard

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

func TestSystem(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.dashboard.process = Process{
			Version: "v1.2.3", Database: "postgres://db.example/allswell", Replica: "here", Settings: []Setting{{"ALLSWELL_LISTEN", ":8080", "flag"}, {"ALLSWELL_SMTP_URL", "", "default"}},
		}
		owner := s.owner()
		owner.wants(owner.get("/admin/system"), http.StatusOK, "v1.2.3", "postgres://db.example/allswell", "None has recorded anything", `<p class="quiet">None.</p>`, "ALLSWELL_LISTEN", ">flag<")
		if _, err := s.store.RecordPings(s.Context(), nil, store.LivenessRecord{Replica: "here"}); err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.get("/admin/system"), http.StatusOK, "this one")
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
		if a.Header.Get("Content-Length") != strconv.Itoa(len(a.body)) || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment;") || a.Header.Get("Cache-Control") != "no-store" {
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
		if screen := owner.get("/admin/system"); strings.Contains(screen.body, "Back up now") || !strings.Contains(screen.body, "allswell backup FILE") {
			s.Error("the button is offered to an owner of one workspace")
		}
	})
}

func TestRate(t *testing.T) {
	var r rate
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if r.perSecond() != 0 {
		t.Error("a rate without samples")
	}
	for i := range 100 {
		total := 0.0
		if i > 60 {
			total = float64(i-60) * 10 // five per second
		}
		r.observe(start.Add(time.Duration(i)*watchInterval), total)
	}
	if got := r.perSecond(); got != 5 {
		t.Errorf("%v per second, want 5", got)
	}
	if got := r.peak(); got != 5 {
		t.Errorf("the peak is %v, want 5", got)
	}
	r.observe(start.Add(3*time.Hour), 195)
	if got := r.peak(); got > 1 || len(r.peaks) != 1 {
		t.Errorf("hours later, the peak is %v of %d minutes", got, len(r.peaks))
	}
	if len(r.samples) != rateSamples {
		t.Errorf("%d samples", len(r.samples))
	}
}
