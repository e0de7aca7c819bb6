package dashboard

import (
	"net/http"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
)

func TestSystem(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.dashboard.process = Process{
			Version: "v1.2.3", Database: "postgres://db.example/allswell", Replica: "here", Settings: []Setting{{"ALLSWELL_LISTEN", ":8080", "flag"}, {"ALLSWELL_SMTP_URL", "", "default"}},
		}
		owner := s.owner()
		owner.wants(owner.get("/admin/system"), http.StatusOK, "v1.2.3", "postgres://db.example/allswell", "None has recorded anything", "Never.", "ALLSWELL_LISTEN", ">flag<")
		if _, err := s.store.RecordPings(s.Context(), nil, store.LivenessRecord{Replica: "here"}); err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.get("/admin/system"), http.StatusOK, "this one")
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
	if len(r.samples) != rateSamples {
		t.Errorf("%d samples", len(r.samples))
	}
}
