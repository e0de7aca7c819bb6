package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// replicated returns a world on a primary with a synchronous standby.
func replicated(t *testing.T) (w *world, primary, standby *storetest.Cluster) {
	t.Helper()
	primary = storetest.NewCluster(t)
	standby = storetest.NewStandby(t, primary)
	primary.Exec(`CREATE DATABASE world`) // gone with its server, in whatever state that ends
	return newWorld(t, primary.Address("world"), ""), primary, standby
}

// TestReplayWaitsForTheStandby: the commit of an update waits for a standby that
// does not answer. The client gives up, and PostgreSQL commits the update on the
// primary alone. A repetition must not acknowledge it.
func TestReplayWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	w, _, standby := replicated(t)
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	key := w.answerKey("k")
	standby.Pause()
	ctx, giveUp := context.WithCancel(w.ctx)
	posted := make(chan error, 1)
	go func() {
		posted <- second(w.PostUpdate(ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil,
			saveID(key)))
	}()
	w.until("1", `SELECT least(count(*), 1) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	giveUp()
	if err := <-posted; !errors.Is(err, kernel.ErrUnknownOutcome) || errors.Is(err, kernel.ErrBusy) {
		t.Errorf("without the standby: error %v, want ErrUnknownOutcome alone", err)
	}
	w.until("1", `SELECT least(count(*), 1) FROM idempotency_keys`) // the driver has cancelled the commit
	ctx, cancel := context.WithTimeout(w.ctx, time.Second)
	defer cancel()
	if answer, ok, err := w.FindResponse(ctx, key); err == nil {
		t.Errorf("an answer that is not replicated was given: %+v, %t", answer, ok)
	}
	standby.Resume()
	if _, ok, err := w.FindResponse(w.ctx, key); !ok || err != nil {
		t.Errorf("with the standby: %t, %v", ok, err)
	}
}

// TestUnchangedIsReplicatedToo calls verbs that find nothing to change while no
// commit is replicated. What they find may be lost in a failover.
func TestUnchangedIsReplicatedToo(t *testing.T) {
	t.Parallel()
	w, _, standby := replicated(t)
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	token := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "old", Scope: kernel.ScopeRead}))(w)
	w.ok(w.RevokeToken(w.ctx, w.ws, token.ID))
	gone := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Gone"}, statuspage.IncidentUpdate{},
		nil))(w)
	w.ok(w.DeleteIncident(w.ctx, w.ws, gone.ID))
	secret := "bootstrap-token-of-more-than-32-characters"
	must(w.Bootstrap(w.ctx, secret))(w)
	w.ping(w.monitor.Token)
	standby.Pause()
	verbs := w.unchangingVerbs(i.ID, gone.ID, token.ID, secret)
	var all sync.WaitGroup
	for name, verb := range verbs {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second)
			defer cancel()
			if err := verb(ctx); !errors.Is(err, kernel.ErrBusy) && !errors.Is(err, kernel.ErrUnknownOutcome) {
				t.Errorf("%s: answered (error %v) with what is not replicated", name, err)
			}
		})
	}
	all.Wait()
	standby.Resume()
	w.ok(verbs["a token that is revoked"](w.ctx))
	if err := verbs["deleting what is deleted"](w.ctx); !errors.Is(err, kernel.ErrNotFound) {
		t.Errorf("with the standby: error %v, want ErrNotFound", err)
	}
}

// unchangingVerbs are calls that find nothing to change. They get the ids of an incident, of one that is deleted, and
// of a token that is revoked, and the secret of a token that exists.
func (w *world) unchangingVerbs(incident, gone, token, secret string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"an empty change of an incident": func(ctx context.Context) error {
			_, err := w.ChangeIncident(ctx, w.ws, incident, nil, statuspage.IncidentUpdate{}, "")
			return err
		},
		"the status that a component has": func(ctx context.Context) error {
			_, err := w.Components().Change(ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusOperational),
				kernel.Precondition{})
			return err
		},
		"an empty change of a monitor": func(ctx context.Context) error {
			_, err := w.ChangeMonitor(ctx, w.ws, w.monitor.ID, func(*monitor.MonitorConfig) error { return nil })
			return err
		},
		"a ping of the same instant": func(ctx context.Context) error {
			_, err := w.RecordPings(ctx, []string{w.monitor.Token}, store.LivenessRecord{Replica: "a"},
				store.PingOrigins{})
			return err
		},
		"a token that is revoked":  func(ctx context.Context) error { return w.RevokeToken(ctx, w.ws, token) },
		"a bootstrap token again":  func(ctx context.Context) error { return second(w.Bootstrap(ctx, secret)) },
		"deleting what is deleted": func(ctx context.Context) error { return w.DeleteIncident(ctx, w.ws, gone) },
		"deleting a page again":    func(ctx context.Context) error { return w.DeletePage(ctx, w.ws, "other") },
		"a slug that is taken": func(ctx context.Context) error {
			return second(w.CreatePage(ctx, w.ws, resource.Page.From(statuspage.Page{Name: "A", Slug: "acme"})))
		},
		"the link of a subscription that ended": func(ctx context.Context) error {
			return second(w.SubscriptionPageSlug(ctx, "sub_none"))
		},
		"a subscription that ended": func(ctx context.Context) error { return w.Unsubscribe(ctx, "acme", "sub_none") },
	}
}

func second[T any](_ T, err error) error { return err }

// TestCancelledWaitIsAnUnknownOutcome: an operator, or statement_timeout, ends
// the wait for the standby. PostgreSQL then answers that it has committed, with
// a warning.
func TestCancelledWaitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	w, primary, standby := replicated(t)
	primary.Exec(`ALTER ROLE allswell SET client_min_messages = error`) // would hide the warning
	other := w.replica()
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	standby.Pause()
	posted := make(chan error, 1)
	go func() {
		posted <- second(other.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))
	}()
	w.until("1", `SELECT least(count(*), 1) FROM (SELECT pg_cancel_backend(pid) FROM pg_stat_activity
			WHERE wait_event = 'SyncRep') AS waiting`)
	if err := <-posted; !errors.Is(err, kernel.ErrUnknownOutcome) {
		t.Errorf("error %v, want ErrUnknownOutcome", err)
	}
	standby.Resume()
	must(other.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "And mended it."}, nil))(w)
}
