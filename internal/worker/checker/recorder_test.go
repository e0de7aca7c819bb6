package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestRefusedResults checks that a result that the database refuses is dropped immediately, and the others are saved.
func TestRefusedResults(t *testing.T) {
	s := storetest.Open(t, storetest.PostgreSQL(t), store.Options{})
	actor, _ := storetest.Workspace(t, s, "acme")
	dropped := 0
	c := newChecker(t, s, "x", nil, func(c *Config) { c.ObserveDropped = func(results int) { dropped += results } })
	bad, good := create(t, s, actor, "bad", "http://127.0.0.1"), create(t, s, actor, "good", "http://127.0.0.1")
	claimed, _, err := s.ClaimChecks(t.Context(), store.CheckClaim{Replica: "x", Limit: 10})
	if err != nil || len(claimed) != 2 {
		t.Fatalf("claimed %d, %v", len(claimed), err)
	}
	results := make(map[string]monitor.CheckResult)
	for _, claim := range claimed {
		r := c.unknown(claim, "")
		r.Status = monitor.CheckOK
		if claim.MonitorID == bad.ID {
			r.Reason = "\x00" // which PostgreSQL refuses
		}
		results[claim.MonitorID] = r
	}
	r := &recorder{checker: c}
	for want, batch := range [][]monitor.CheckResult{{}, {results[bad.ID]}, {results[bad.ID], results[good.ID]}} {
		r.batch = append(r.batch, batch...)
		r.save(t.Context())
		if dropped != want || len(r.batch) != 0 {
			t.Errorf("%d results are dropped, expected %d; %d are left", dropped, want, len(r.batch))
		}
	}
	refused := s.RecordCheckResults(t.Context(), []monitor.CheckResult{results[bad.ID]})
	for _, c := range []struct {
		err           error
		done, dropped int
	}{
		{refused, 1, 1}, {fmt.Errorf("commit: %w", kernel.ErrUnknownOutcome), 3, 3}, {kernel.ErrBusy, 0, 0},
		{errors.New("a bug"), 3, 3},
		{&store.ResultsError{Done: 2, Dropped: 1, Err: kernel.ErrBusy}, 2, 1},
	} {
		if done, dropped := whatWasDone(c.err, 3); done != c.done || dropped != c.dropped {
			t.Errorf("%v: %d are done, %d dropped", c.err, done, dropped)
		}
	}
	kept, _, err := s.CheckResults(t.Context(), actor, good.ID, store.Pagination{PerPage: 10, Page: 1})
	if err != nil || len(kept) != 1 {
		t.Errorf("%d results of the other, %v", len(kept), err)
	}
}

// TestBatches checks that results are saved whatever their number, however they are divided into batches.
func TestBatches(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	actor, _ := storetest.Workspace(t, s, "acme")
	for _, n := range []int{
		1, store.MaxCheckResults - 1, store.MaxCheckResults, store.MaxCheckResults + 1, 2*store.MaxCheckResults + 1,
	} {
		m := create(t, s, actor, fmt.Sprint(n), "http://127.0.0.1")
		claimed, _, err := s.ClaimChecks(t.Context(), store.CheckClaim{Replica: "x", Limit: 10})
		// others may be due again
		i := slices.IndexFunc(claimed, func(c store.ClaimedCheck) bool { return c.MonitorID == m.ID })
		if err != nil || i < 0 {
			t.Fatalf("the new check is not among %d, %v", len(claimed), err)
		}
		observed, dropped := 0, 0
		c := newChecker(t, s, "x", nil, func(c *Config) {
			c.Observe, c.ObserveDropped = func(monitor.CheckStatus, time.Duration) { observed++ }, func(results int) {
				dropped += results
			}
		})
		r := c.unknown(claimed[i], "")
		for range n {
			r.Status, r.StartedAt = monitor.CheckOK, r.StartedAt.Add(time.Millisecond)
			c.results <- r
		}
		close(c.results)
		(&recorder{checker: c}).run(t.Context())
		_, saved, err := s.CheckResults(t.Context(), actor, m.ID, store.Pagination{PerPage: 1, Page: 1})
		if err != nil || saved != n || observed != n || dropped != 0 {
			t.Errorf("of %d results %d are saved, %d observed, %d dropped: %v", n, saved, observed, dropped, err)
		}
	}
}

// TestAttemptsEnd checks when a batch is given up.
func TestAttemptsEnd(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		ctx     context.Context
		attempt int
		last    bool
	}{
		{t.Context(), 1, false}, {t.Context(), maxAttempts - 1, false}, {t.Context(), maxAttempts, true},
		{stopped, 1, true},
	} {
		if last := isLast(c.ctx, c.attempt); last != c.last {
			t.Errorf("attempt %d, stopped %t: it is the last one: %t", c.attempt, c.ctx.Err() != nil, last)
		}
	}
}

// TestFewClaimsWhileCutOff checks that a replica that reaches nothing runs one check at a time, and leaves the others
// to other replicas.
func TestFewClaimsWhileCutOff(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	actor, _ := storetest.Workspace(t, s, "acme")
	for _, name := range []string{"a", "b", "c"} {
		create(t, s, actor, name, "http://"+silent(t, "127.0.0.1"))
	}
	c := newChecker(t, s, "x", nil, func(c *Config) { c.Private = PrivateOn })
	work, stop := context.WithCancel(t.Context())
	d := newDispatcher(c, work)
	d.refreshed = time.Now()
	c.verdicts.cutOff = time.Now()
	for range 2 {
		if d.claim(t.Context()); d.places.taken() != 1 {
			t.Fatalf("while cut off: %d checks run", d.places.taken())
		}
	}
	c.verdicts.cutOff = time.Time{}
	if d.claim(t.Context()); d.places.taken() != 3 {
		t.Errorf("with a network: %d checks run", d.places.taken())
	}
	stop()
	d.drain(stop)
}

// TestInterruptedChecksHaveNoResult checks that a check which a stop cancels says nothing of its target.
func TestInterruptedChecksHaveNoResult(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	actor, _ := storetest.Workspace(t, s, "acme")
	create(t, s, actor, "a", "http://"+silent(t, "127.0.0.1"))
	c := newChecker(t, s, "x", nil, func(c *Config) { c.Private = PrivateOn })
	work, stop := context.WithCancel(t.Context())
	d := newDispatcher(c, work)
	if d.claim(t.Context()); d.places.taken() != 1 {
		t.Fatalf("%d checks run", d.places.taken())
	}
	stop()
	d.drain(stop)
	if n := c.Waiting(); n != 0 || d.places.taken() != 0 {
		t.Errorf("%d results, %d checks run", n, d.places.taken())
	}
}

// TestResultsSayWhoChecked checks that every result, however it came about, has the replica and its location.
func TestResultsSayWhoChecked(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	actor, _ := storetest.Workspace(t, s, "acme")
	c := newChecker(t, s, "x", nil, func(c *Config) { c.Location, c.Private = "here", PrivateOn })
	web := newSite(t)
	claim, p := claimed(t, web.URL)
	claim.WorkspaceID = actor.WorkspaceID
	once, err := c.Once(t.Context(), actor.WorkspaceID, "http", urlSpec(web.URL))
	if err != nil {
		t.Fatal(err)
	}
	for way, r := range map[string]monitor.CheckResult{
		"a check": c.check(t.Context(), claim, p), "one that cannot run": c.unknown(claim, "no reason"), "a test": once,
	} {
		if r.Replica != "x" || r.Location != "here" {
			t.Errorf("%s was made by %q at %q", way, r.Replica, r.Location)
		}
	}
}

// TestFullQueue checks that no checks are claimed while too many results wait, so that each has a place.
func TestFullQueue(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t), store.Options{})
	actor, _ := storetest.Workspace(t, s, "acme")
	create(t, s, actor, "a", "http://127.0.0.1:1")
	c := newChecker(t, s, "x", nil)
	d := newDispatcher(c, t.Context())
	for range maxResults {
		c.results <- monitor.CheckResult{}
	}
	if wait := d.claim(t.Context()); wait != claimInterval || d.places.taken() != 0 || c.Waiting() != maxResults {
		t.Errorf("a full queue: %d checks run, %d results wait, next claim in %s", d.places.taken(), c.Waiting(), wait)
	}
	<-c.results
	d.claim(t.Context())
	d.running.Wait()
	if c.Waiting() != maxResults || cap(c.results) < maxResults+c.Concurrency {
		t.Errorf("%d results wait, of %d", c.Waiting(), cap(c.results))
	}
}
