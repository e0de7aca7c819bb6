package checker

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestResultsHideSecrets checks that no result has a secret that the target repeats, whatever it is.
func TestResultsHideSecrets(t *testing.T) {
	const secret = "SEKRIT-1234"
	spec := monitor.CheckSpec{Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"` + secret + `"`)}}
	for _, unknown := range []bool{false, true} {
		r := resultOf(check.Outcome{Failure: "the server refused: " + secret, Body: "<p>" + secret, Unknown: unknown},
			spec)
		if r.Status == monitor.CheckOK || !strings.HasPrefix(r.Reason, "the server refused: ") ||
			strings.Contains(r.Reason+r.Body, secret) {
			t.Errorf("unknown %t: %+v", unknown, r)
		}
	}
}

// TestStatusOfAResult checks what becomes of an outcome: its status, and what is kept of it.
func TestStatusOfAResult(t *testing.T) {
	const slow = time.Second
	phases := func(total time.Duration) monitor.CheckPhases {
		return monitor.CheckPhases{DNS: 1, Connect: 2, TLS: 3, FirstByte: 4, Total: total}
	}
	expires := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		outcome check.Outcome
		limit   time.Duration
		want    monitor.CheckResult
	}{
		"good": {check.Outcome{Phases: phases(slow), Answered: true, Body: "x"}, 0,
			monitor.CheckResult{Status: monitor.CheckOK, Answered: true}},
		"good, at the limit": {check.Outcome{Phases: phases(slow), Answered: true}, slow,
			monitor.CheckResult{Status: monitor.CheckOK, Answered: true}},
		"slow": {check.Outcome{Phases: phases(slow + 1), Answered: true, Body: "x"}, slow,
			monitor.CheckResult{Status: monitor.CheckSlow, Answered: true}},
		"a warning": {check.Outcome{Phases: phases(slow), Answered: true, Warning: "w"}, slow,
			monitor.CheckResult{Status: monitor.CheckOK, Answered: true, Reason: "w", Warning: true}},
		"slow, with a warning": {check.Outcome{Phases: phases(slow + 1), Answered: true, Warning: "w"}, slow,
			monitor.CheckResult{Status: monitor.CheckSlow, Answered: true, Reason: "w", Warning: true}},
		"failed": {check.Outcome{Phases: phases(slow), Answered: true, Failure: "f", Body: "x"}, 0,
			monitor.CheckResult{Status: monitor.CheckFailed, Answered: true, Reason: "f", Body: "x"}},
		"failed slowly, no answer": {check.Outcome{Phases: phases(slow + 1), Failure: "f"}, slow,
			monitor.CheckResult{Status: monitor.CheckFailed, Reason: "f"}},
		"failed, with a warning": {check.Outcome{Phases: phases(slow), Failure: "f", Warning: "w"}, 0,
			monitor.CheckResult{Status: monitor.CheckFailed, Reason: "f"}},
		"unknown": {check.Outcome{Phases: phases(slow + 1), Failure: "f", Unknown: true, Body: "x"}, slow,
			monitor.CheckResult{Status: monitor.CheckUnknown, Reason: "f", Body: "x"}},
	} {
		c.outcome.CertificateExpiresAt, c.want.CertificateExpiresAt, c.want.Phases = expires, expires, c.outcome.Phases
		if got := resultOf(c.outcome, monitor.CheckSpec{SlowAfter: c.limit}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestChecksThatCannotRun checks the results of claims without a check: they are unknown, and say whose they are.
func TestChecksThatCannotRun(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	c := newChecker(t, s, "x", nil, func(c *Config) { c.Location = "here" })
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	valid := monitor.CheckSpec{Config: json.RawMessage(`{"url":"http://127.0.0.1:1"}`)}
	for reason, claim := range map[string]store.ClaimedCheck{
		"the secrets of the check cannot be opened":  {Type: "http", Spec: valid, SecretsMissing: true},
		"this version does not know the type gopher": {Type: "gopher", Spec: valid},
		"the configuration of the check is not valid for this version: The expected_statuses must be statuses from " +
			"100 to 599 or ranges, such as 200-299": {
			Type: "http",
			Spec: monitor.CheckSpec{Config: json.RawMessage(`{"url":"http://127.0.0.1:1","expected_statuses":["x"]}`)},
		},
	} {
		claim.MonitorID, claim.Version, claim.DueAt = "mon_1", 7, due
		d := newDispatcher(c, t.Context())
		n := d.startAll(t.Context(), []store.ClaimedCheck{claim})
		if n != 0 || c.Waiting() != 1 || d.places.taken() != 0 {
			t.Fatalf("%s: %d given back, %d results", reason, n, c.Waiting())
		}
		r := <-c.results
		if r.StartedAt.IsZero() {
			t.Errorf("%s: it has not begun", reason)
		}
		r.StartedAt = time.Time{}
		want := monitor.CheckResult{
			MonitorID: "mon_1", Version: 7, DueAt: due, Replica: "x", Location: "here", Status: monitor.CheckUnknown,
			Reason: reason,
		}
		if r != want {
			t.Errorf("result: %+v, want %+v", r, want)
		}
	}
	for n := range 8 { // a long reason ends after a whole character
		got := notValid(errors.New(strings.Repeat("x", n) + strings.Repeat("é€", maxNotValid)))
		if !strings.HasSuffix(got, "…") || !utf8.ValidString(got) || len(got) > maxNotValid+len("…") ||
			len(got) <= maxNotValid-2 {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
	fits := strings.Repeat("x", maxNotValid-len(notValid(errors.New(""))))
	if got := notValid(errors.New(fits + ".")); len(got) != maxNotValid || strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
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
		r := <-c.results
		if r.MonitorID != m.ID || r.Status != monitor.CheckUnknown ||
			r.Reason != "too many checks of 127.0.0.1 were running" {
			t.Errorf("the result is %+v", r)
		}
	}
}
