package store_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// following lets a store follow the changes of others until the test ends, and
// returns the ids of the pages that it reports.
func (w *world) following(s *store.Store) <-chan string {
	w.Helper()
	changed := make(chan string, 100)
	ctx, cancel := context.WithCancel(w.ctx)
	var following sync.WaitGroup
	following.Go(func() { s.WatchPages(ctx, func(id string) { changed <- id }) })
	w.Cleanup(func() {
		cancel()
		following.Wait()
	})
	return changed
}

// listening waits until a store's connection for notifications is open.
func (w *world) listening(stores string) {
	w.Helper()
	w.until(stores, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
}

// reports fails unless exactly the given page is reported within most.
func (w *world) reports(changed <-chan string, pageID, of string, most time.Duration) {
	w.Helper()
	select {
	case id := <-changed:
		if id != pageID {
			w.Fatalf("%s: reported %s, want %s", of, id, pageID)
		}
	case <-time.After(most):
		w.Fatalf("not reported within %v: %s", most, of)
	}
}

// reportsNothing fails if anything is reported in the time of three polls.
func (w *world) reportsNothing(changed <-chan string, what string) {
	w.Helper()
	select {
	case id := <-changed:
		w.Errorf("%s: reported %s", what, id)
	case <-time.After(1500 * time.Millisecond):
	}
}

// notifiedWithin is how soon a replica sees a change of another one by its
// notification, and polledWithin without it.
const (
	notifiedWithin = time.Second
	polledWithin   = 5 * time.Second // 0.6 s on a machine with nothing else to do
)

// TestReplicasNotifyEachOther: each change is reported once, to the others only.
func TestReplicasNotifyEachOther(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		other := w.replica()
		ours, theirs := w.following(w.Store), w.following(other)
		w.listening("2")
		i := must(other.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "x"},
			statuspage.IncidentUpdate{}, nil))(w)
		w.reports(ours, w.page.ID, "another replica's incident", notifiedWithin)
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "one"}, nil))(w)
		w.reports(theirs, w.page.ID, "an update", notifiedWithin)
		p := must(other.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		w.reports(ours, p.ID, "a page made", notifiedWithin)
		w.ok(other.DeletePage(w.ctx, w.ws, "acme"))
		w.reports(ours, w.page.ID, "a page deleted", notifiedWithin)
		w.reportsNothing(ours, "changes that were reported, or made here")
		w.reportsNothing(theirs, "changes that were reported, or made there")
	})
	t.Run("not on SQLite", func(t *testing.T) {
		w, _ := onSQLite(t)
		w.WatchPages(w.ctx, func(string) { t.Error("there is no other replica") })
	})
}

// TestLostNotifications: the poll alone reports others' changes, each page once.
func TestLostNotifications(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		other := w.replica()
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Quiet", Slug: "quiet"})))(w)
		store.BreakListen(w.Store)
		must(other.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "early"}, statuspage.IncidentUpdate{},
			nil))(w)
		changed := w.following(w.Store)
		w.reports(changed, w.page.ID, "changed between opening and following", polledWithin)
		for range 2 {
			must(other.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "x"}, statuspage.IncidentUpdate{},
				nil))(w)
			w.reports(changed, w.page.ID, "another replica's incident", polledWithin)
			must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "ours"}, statuspage.IncidentUpdate{},
				nil))(w)
		}
		w.reportsNothing(changed, "our own incident")
		w.ok(other.DeletePage(w.ctx, w.ws, "acme"))
		w.reports(changed, w.page.ID, "the deletion", polledWithin)
		w.reportsNothing(changed, "nothing")
	})
}

// TestListenerReconnects: what was committed while nobody listened is reported.
func TestListenerReconnects(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		other := w.replica()
		changed := w.following(w.Store)
		w.listening("1")
		for range 2 {
			w.run(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()
				AND query LIKE 'LISTEN%'`)
			must(other.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "x"}, statuspage.IncidentUpdate{},
				nil))(w)
			w.reports(changed, w.page.ID, "a change while nobody listened", polledWithin)
			w.listening("1")
		}
		must(other.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "x"}, statuspage.IncidentUpdate{},
			nil))(w)
		w.reports(changed, w.page.ID, "a change after it", notifiedWithin)
	})
}

// TestIdleReplicaReadsOneRow counts the statements of a replica that follows
// others while nothing happens, and after a commit of its own.
func TestIdleReplicaReadsOneRow(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		statements := make(chan string, 1000)
		store.TraceStatements(w.Store, func(text string) {
			select {
			case statements <- strings.Join(strings.Fields(text), " "):
			default: // nobody reads them any more
			}
		})
		changed := w.following(w.Store)
		w.listening("1")
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "ours"}, statuspage.IncidentUpdate{},
			nil))(w)
		w.reportsNothing(changed, "our own incident") // and meanwhile what its commit begins is over
		for len(statements) > 0 {
			<-statements
		}
		idle := time.Now()
		for range 4 {
			if text := <-statements; text != `SELECT changes FROM page_changes` {
				t.Errorf("an idle replica executes %s", text)
			}
		}
		if took := time.Since(idle); took < 3*400*time.Millisecond {
			t.Errorf("4 polls within %v", took)
		}
	})
}
