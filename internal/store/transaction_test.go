package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestFullDiskIsBusy lets SQLite run out of pages.
func TestFullDiskIsBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sqlite:"+t.TempDir()+"/full.db", "")
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	w.run(`PRAGMA max_page_count = 1`) // that is, as many as there are
	before := w.dump()
	_, err := w.PostUpdate(w.ctx, w.ws, i.ID,
		statuspage.IncidentUpdate{Message: strings.Repeat("x", kernel.MaxMessageLength)}, nil)
	if !errors.Is(err, kernel.ErrBusy) || w.dump() != before {
		t.Errorf("error %v, want ErrBusy and nothing changed", err)
	}
	w.run(`PRAGMA max_page_count = 100000`)
	must(w.PostUpdate(w.ctx, w.ws, i.ID,
		statuspage.IncidentUpdate{Message: strings.Repeat("x", kernel.MaxMessageLength)}, nil))(w)
	w.consistent()
}

// TestLostConnectionIsBusy has the server end the connection under a verb.
func TestLostConnectionIsBusy(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		other := w.replica()
		db, _ := other.Pools()
		for _, at := range []string{"INSERT INTO incident_updates", "COMMIT"} {
			before := w.dump()
			w.SetFault(func(when, query string) error {
				if when == "before" && strings.HasPrefix(query, at) {
					must(db.Exec(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
						WHERE datname = current_database() AND state = 'idle in transaction'`))(w)
				}
				return nil
			})
			_, err := w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil)
			w.SetFault(nil)
			// Whether a COMMIT was sent before the loss was noticed differs.
			if !errors.Is(err, kernel.ErrBusy) && (at != "COMMIT" || !errors.Is(err, kernel.ErrUnknownOutcome)) ||
				w.dump() != before {
				w.Errorf("lost before %s: error %v, want ErrBusy and nothing changed", at, err)
			}
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))(w)
	})
}

// TestDeadlockIsRepeated crosses the locks of going down with the locks of a transaction that takes them the other way
// round.
func TestDeadlockIsRepeated(t *testing.T) {
	onPostgres(t, "&deadlock_timeout=50", func(w *world) {
		job := w.quick("job", w.component, "")
		going := faultTests["going down"]
		going.prepare(w, job)
		db, _ := w.Pools()
		conn := must(db.Conn(w.ctx))(w)
		defer conn.Close()
		must(conn.ExecContext(w.ctx, `SET deadlock_timeout = '20s'`))(w) // the verb is the one that gives way
		crossed := make(chan error, 1)
		attempts := 0
		w.SetFault(func(when, query string) error {
			if when != "before" || !strings.HasPrefix(query, "SELECT id FROM components") {
				return nil
			}
			if attempts++; attempts > 1 {
				return nil
			}
			tx, err := conn.BeginTx(w.ctx, nil)
			if err == nil {
				_, err = tx.Exec(`SELECT id FROM components WHERE id = $1 FOR UPDATE`, w.component.ID)
			}
			w.ok(err)
			go func() { // waits for the verb, which will wait for this
				_, err := tx.Exec(`SELECT id FROM monitors WHERE id = $1 FOR UPDATE`, job.ID)
				crossed <- errors.Join(err, tx.Rollback())
			}()
			return nil
		})
		w.ok(going.act(w, job))
		if attempts < 2 { // more, where the verb was quicker than the one it gave way to
			w.Fatalf("%d attempts, want one more at least", attempts)
		}
		w.ok(<-crossed)
		w.isDown(job)
	})
}

// TestSerialisationFailureIsRepeated has another transaction change the page
// first, under an isolation that refuses that.
func TestSerialisationFailureIsRepeated(t *testing.T) {
	onPostgres(t, "&default_transaction_isolation=repeatable%20read", func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		other := w.replica()
		attempts, conflicts := 0, 1
		w.SetFault(func(when, query string) error {
			if when == "before" && strings.HasPrefix(query, "UPDATE pages") {
				if attempts++; attempts <= conflicts {
					must(other.PostUpdate(w.ctx, w.ws, i.ID,
						statuspage.IncidentUpdate{Message: fmt.Sprintf("Other %d", attempts)}, nil))(w)
				}
			}
			return nil
		})
		u := must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Mine"}, nil))(w)
		if u.Number != 2 || attempts != 2 {
			w.Errorf("number %d after %d attempts, want 2 after 2", u.Number, attempts)
		}
		attempts, conflicts = 0, 100
		_, err := w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Mine"}, nil)
		if !errors.Is(err, kernel.ErrBusy) || attempts != 4 {
			w.Errorf("always in conflict: %v after %d attempts, want ErrBusy after the first and three more", err,
				attempts)
		}
		if n := len(w.incident().Updates); n != 6 {
			w.Errorf("%d updates, want 6", n)
		}
	})
}

// TestDeadlineIsBusy: a verb waits for a lock until its context ends.
func TestDeadlineIsBusy(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		db, _ := w.Pools()
		tx := must(db.Begin())(w)
		defer tx.Rollback()
		must(tx.Exec(`SELECT id FROM components FOR UPDATE`))(w)
		before := w.dump()
		ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
		defer cancel()
		_, err := w.Components().Change(ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusDegraded),
			kernel.Precondition{})
		if !errors.Is(err, kernel.ErrBusy) || w.dump() != before {
			w.Errorf("error %v, want ErrBusy and nothing changed", err)
		}
	})
}
