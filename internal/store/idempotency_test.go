package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// saveID saves the id of an update as the response to its request.
func saveID(key store.IdempotencyKey) store.SaveResponse[statuspage.IncidentUpdate] {
	return store.SaveResponse[statuspage.IncidentUpdate]{
		Key: key, Render: func(u statuspage.IncidentUpdate) (store.Response, error) {
			return store.Response{Status: 201, Body: []byte(u.ID)}, nil
		},
	}
}

func TestResponseIsKeptForADay(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		key := w.answerKey("k")
		if _, ok, err := w.FindResponse(w.ctx, key); ok || err != nil {
			w.Errorf("before: %t, %v", ok, err)
		}
		u := must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "one"}, nil, saveID(key)))(w)
		answers := func(want bool) {
			w.Helper()
			a, ok, err := w.FindResponse(w.ctx, key)
			if ok != want || err != nil || want && (a.Status != 201 || string(a.Body) != u.ID) {
				w.Errorf("after %v: %+v, %t, %v", w.clock.now().Sub(began), a, ok, err)
			}
		}
		answers(true)
		w.clock.move(store.IdempotencyLifetime - time.Millisecond)
		answers(true)
		_, err := w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil, saveID(key))
		if !errors.Is(err, kernel.ErrInProgress) {
			w.Errorf("the same key within the day: %v", err)
		}
		w.ok(w.Prune(w.ctx))
		answers(true)
		w.clock.move(time.Millisecond)
		answers(false)
		u = must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "three"}, nil, saveID(key)))(w)
		answers(true)
		w.clock.move(store.IdempotencyLifetime)
		w.ok(w.Prune(w.ctx))
		if n := w.value(`SELECT count(*) FROM idempotency_keys`); n != "0" {
			w.Errorf("%s answers are left after their age", n)
		}
		if n := len(w.incident().Updates); n != 2 {
			w.Errorf("%d updates, want 2: the refused one did nothing", n)
		}
	})
}

func TestResponseBelongsToTokenKeyAndRequest(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		key := w.answerKey("k")
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "one"}, nil, saveID(key)))(w)
		other := key
		other.RequestHash = []byte("another")
		_, ok, err := w.FindResponse(w.ctx, other)
		if invalid := new(kernel.ValidationError); ok || !errors.As(err, &invalid) || !invalid.Has("Idempotency-Key") {
			w.Errorf("another request: %t, %v", ok, err)
		}
		other = key
		other.Key = "K"
		if _, ok, err := w.FindResponse(w.ctx, other); ok || err != nil {
			w.Errorf("another key: %t, %v", ok, err)
		}
		issued := must(w.IssueToken(w.ctx, w.ws, account.NewToken{Name: "ci", Scope: kernel.ScopeWrite}))(w)
		other = key
		other.TokenID = issued.ID
		if _, ok, err := w.FindResponse(w.ctx, other); ok || err != nil {
			w.Errorf("another token: %t, %v", ok, err)
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "two"}, nil, saveID(other)))(w)
	})
}

func TestFailedVerbSavesNoResponse(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		before := w.dump()
		_, err := w.PostUpdate(w.ctx, w.ws, "nowhere",
			statuspage.IncidentUpdate{Message: "x"}, nil, saveID(w.answerKey("k")))
		if !errors.Is(err, kernel.ErrNotFound) {
			w.Error(err)
		}
		_, err = w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: " "}, nil, saveID(w.answerKey("k")))
		if err == nil {
			w.Error("a blank message was taken")
		}
		failing := saveID(w.answerKey("k"))
		failing.Render = func(statuspage.IncidentUpdate) (store.Response, error) { return store.Response{}, errFault }
		_, err = w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "x"}, nil, failing)
		if !errors.Is(err, errFault) {
			w.Errorf("an answer that cannot be rendered: %v", err)
		}
		if w.dump() != before {
			w.Error("something was kept")
		}
	})
}

// TestConcurrentRepetitionsActOnce sends one request many times concurrently, to two replicas on PostgreSQL.
func TestConcurrentRepetitionsActOnce(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		stores := []*store.Store{w.Store}
		if !isSQLite(w.Store) {
			stores = append(stores, w.replica())
		}
		for round := range 5 {
			key := w.answerKey(fmt.Sprint(round))
			errs := make(chan error, 6)
			var sends []func()
			for n := range cap(errs) {
				sends = append(sends, func() {
					_, err := stores[n%len(stores)].PostUpdate(w.ctx, w.ws, i.ID,
						statuspage.IncidentUpdate{Message: "once"}, nil, saveID(key))
					errs <- err
				})
			}
			together(sends...)
			acted := 0
			for range cap(errs) {
				switch err := <-errs; {
				case err == nil:
					acted++
				case !errors.Is(err, kernel.ErrInProgress):
					w.Error(err)
				}
			}
			if n := len(w.incident().Updates); acted != 1 || n != round+1 {
				w.Errorf("round %d: %d acted, %d updates", round, acted, n)
			}
		}
	})
}
