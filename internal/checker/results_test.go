package checker

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestResultsHideSecrets checks that no result has a secret that the target repeats, whatever it is.
func TestResultsHideSecrets(t *testing.T) {
	const secret = "SEKRIT-1234"
	spec := allswell.CheckSpec{Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"` + secret + `"`)}}
	for _, unknown := range []bool{false, true} {
		r := resultOf(check.Outcome{Failure: "the server refused: " + secret, Body: "<p>" + secret, Unknown: unknown}, spec)
		if r.Status == allswell.CheckOK || !strings.HasPrefix(r.Reason, "the server refused: ") || strings.Contains(r.Reason+r.Body, secret) {
			t.Errorf("unknown %t: %+v", unknown, r)
		}
	}
}

// TestEveryClaimEnds: a claimed check without a place is given back or, if the database does not take it, has a result.
func TestEveryClaimEnds(t *testing.T) {
	for _, works := range []bool{true, false} {
		s := storetest.Open(t, storetest.SQLite(t), store.Options{})
		actor, _ := storetest.Workspace(t, s, "acme")
		m := create(t, s, actor, "a", "http://127.0.0.1:1")
		c := newChecker(t, s, "x", nil, func(c *Config) { c.Concurrency = 1 })
		d := newDispatcher(c, t.Context())
		if d.places.take(actor.WorkspaceID, "127.0.0.1") == nil {
			t.Fatal("there is no place")
		}
		claim := func() []store.ClaimedCheck {
			claimed, _, err := s.ClaimChecks(t.Context(), store.CheckClaim{Replica: "x", Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return claimed
		}
		claimed := claim()
		if !works {
			s.Close()
		}
		returned := d.startAll(t.Context(), claimed)
		if works {
			if again := claim(); returned != 1 || len(again) != 1 || c.Waiting() != 0 {
				t.Errorf("given back: %d, claimed again: %d, results: %d", returned, len(again), c.Waiting())
			}
			continue
		}
		if returned != 0 || c.Waiting() != 1 {
			t.Fatalf("given back: %d, results: %d", returned, c.Waiting())
		}
		if r := <-c.results; r.MonitorID != m.ID || r.Status != allswell.CheckUnknown || r.Reason != "too many checks of 127.0.0.1 were running" {
			t.Errorf("the result is %+v", r)
		}
	}
}
