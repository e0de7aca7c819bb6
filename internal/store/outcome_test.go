package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// changedNothing runs a method that must return ErrBusy, not ErrUnknownOutcome, and must
// change no table.
func (w *world) changedNothing(how string, verb func() error) {
	w.Helper()
	before := w.dump()
	err := verb()
	if !errors.Is(err, kernel.ErrBusy) || errors.Is(err, kernel.ErrUnknownOutcome) {
		w.Errorf("%s: error %v, want ErrBusy alone", how, err)
	}
	if w.dump() != before {
		w.Errorf("%s: something was changed", how)
	}
}

// endsAt returns a context that is cancelled, or exceeds its deadline, when a writing
// transaction reaches the statement that begins with text.
func (w *world) endsAt(text string, byDeadline bool) context.Context {
	ctx, cancel := context.WithCancel(w.ctx)
	if byDeadline {
		ctx, cancel = context.WithTimeout(w.ctx, 100*time.Millisecond)
	}
	w.Cleanup(cancel)
	w.SetFault(func(when, query string) error {
		if when == "before" && strings.HasPrefix(query, text) {
			if !byDeadline {
				cancel()
			}
			<-ctx.Done()
			// A deadline ends the contexts that are derived from ctx, such as the transaction's, a moment after ctx.
			// Cause takes the lock that is held meanwhile.
			_ = context.Cause(ctx)
		}
		return nil
	})
	w.Cleanup(func() { w.SetFault(nil) })
	return ctx
}

// TestBusyChangedNothing makes methods fail in every way that certainly changes nothing, and
// checks that they return ErrBusy.
func TestBusyChangedNothing(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		post := func(ctx context.Context) func() error {
			return func() error {
				return second(w.PostUpdate(ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))
			}
		}
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		w.changedNothing("begin: the context has ended", post(ended))

		writer, _ := w.Pools()
		var held []*sql.Conn
		for range writer.Stats().MaxOpenConnections {
			held = append(held, must(writer.Conn(w.ctx))(w))
		}
		soon, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
		defer cancel()
		err := post(soon)()
		for _, conn := range held {
			w.ok(conn.Close())
		}
		w.changedNothing("begin: no connection is free in time", func() error { return err })

		for _, at := range []string{"UPDATE pages", "INSERT INTO incident_updates", "COMMIT"} {
			w.changedNothing("cancelled before "+at, post(w.endsAt(at, false)))
			w.changedNothing("too late before "+at, post(w.endsAt(at, true)))
		}
		w.SetFault(nil)
		ping := w.endsAt("COMMIT", false)
		w.changedNothing("pings, cancelled before COMMIT", func() error {
			results, err := w.RecordPings(ping, []string{w.monitor.Token}, store.LivenessRecord{Replica: "a"},
				store.PingOrigins{})
			if results != nil {
				w.Errorf("results %v beside the error", results)
			}
			return err
		})
		w.SetFault(nil)
		w.ok(post(w.ctx)())
	})
}

// TestBusyAfterARefusedCommit checks the error if PostgreSQL rejects the COMMIT.
func TestBusyAfterARefusedCommit(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		w.run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'`)
		w.run(`CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON incident_updates DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION refuse()`)
		w.changedNothing("refused", func() error {
			return second(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))
		})
		w.run(`DROP TRIGGER refuse ON incident_updates`)
	})
}

// TestUnknownOutcomeOfACommitThatTheServerEnds: PostgreSQL ends the session during the
// COMMIT, as at a shutdown. Its message does not say whether it committed.
func TestUnknownOutcomeOfACommitThatTheServerEnds(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		w.run(`CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM ` +
			`pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'`)
		w.run(`CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON incident_updates DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION leave()`)
		err := second(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))
		if !errors.Is(err, kernel.ErrUnknownOutcome) || errors.Is(err, kernel.ErrBusy) {
			w.Errorf("error %v, want ErrUnknownOutcome alone", err)
		}
		w.run(`DROP TRIGGER leave ON incident_updates`)
	})
}

// TestBusyBehindAWriter checks the error if another process holds SQLite's write lock.
func TestBusyBehindAWriter(t *testing.T) {
	t.Parallel()
	w, dir := onSQLite(t)
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	other := must(sqlOpen("sqlite", "file:"+filepath.Join(dir, "allswell.db")+"?_txlock=immediate"))(t)
	defer other.Close()
	tx := must(other.Begin())(t)
	ctx, cancel := context.WithTimeout(w.ctx, 100*time.Millisecond)
	defer cancel()
	w.changedNothing("locked", func() error {
		return second(w.PostUpdate(ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))
	})
	w.ok(tx.Rollback())
	must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil))(w)
}

// TestUnknownOutcomeOfAPartialDeletion makes the deletion of a page fail after its many
// subscribers have been deleted, and repeats it.
func TestUnknownOutcomeOfAPartialDeletion(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, 1200))
		ctx := w.endsAt("DELETE FROM pages", false)
		err := w.DeletePage(ctx, w.ws, "acme")
		w.SetFault(nil)
		if !errors.Is(err, kernel.ErrUnknownOutcome) || errors.Is(err, kernel.ErrBusy) {
			t.Errorf("error %v, want ErrUnknownOutcome alone", err)
		}
		if n := w.value(`SELECT count(*) FROM subscribers`); n != "0" {
			t.Errorf("%s subscribers are left", n)
		}
		must(w.Page(w.ctx, w.ws, "acme"))(w)
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
	})
}

// TestUnknownOutcomeBetweenStepsOfADeletion: the first step of the deletion of a page with
// many subscribers is committed, and the next one does not begin.
func TestUnknownOutcomeBetweenStepsOfADeletion(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, 1200))
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		w.interrupt("after", "COMMIT", cancel)
		err := w.DeletePage(ctx, w.ws, "acme")
		w.SetFault(nil)
		if !errors.Is(err, kernel.ErrUnknownOutcome) || errors.Is(err, kernel.ErrBusy) {
			w.Errorf("error %v, want ErrUnknownOutcome alone", err)
		}
		if n := w.value(`SELECT count(*) FROM subscribers`); n != "200" {
			w.Errorf("%s subscribers are left, want 200", n)
		}
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
	})
}

// TestUnknownOutcomeOfALostCommit loses the connection after the server has committed and
// before its answer arrives.
func TestUnknownOutcomeOfALostCommit(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
			nil))(w)
		p := newLossyProxy(t, w.dsn)
		s := storetest.Open(t, p.dsn, store.Options{Clock: w.clock.now})
		w.ok(second(s.Page(w.ctx, w.ws, "acme")))
		p.lost = func() bool { return w.value(`SELECT count(*) FROM incident_updates`) == "1" }
		p.losing.Store(true)
		_, err := s.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Found it."}, nil)
		p.losing.Store(false)
		if !errors.Is(err, kernel.ErrUnknownOutcome) || errors.Is(err, kernel.ErrBusy) {
			t.Errorf("error %v, want ErrUnknownOutcome alone", err)
		}
		if updates := w.incident().Updates; len(updates) != 1 {
			t.Errorf("%d updates, want the one that was committed", len(updates))
		}
		must(s.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "It is mended."}, nil))(w)
	})
}

// lossyProxy forwards connections to a PostgreSQL server on a Unix socket. While
// losing is set, it forwards a COMMIT, waits until lost reports that it took
// effect, and closes the connection without passing its answer on.
type lossyProxy struct {
	dsn    string // the address of the proxy
	server string // the server's socket
	losing atomic.Bool
	lost   func() bool
}

func newLossyProxy(t *testing.T, dsn string) *lossyProxy {
	t.Helper()
	const name = ".s.PGSQL.5432"
	u := must(url.Parse(dsn))(t)
	query, dir := u.Query(), t.TempDir()
	p := &lossyProxy{server: filepath.Join(query.Get("host"), name)}
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	p.dsn = u.String()
	listener := must(net.Listen("unix", filepath.Join(dir, name)))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(client)
		}
	}()
	return p
}

func (p *lossyProxy) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	var losing atomic.Bool
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		io.Copy(client, server)
		if !losing.Load() {
			client.Close()
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		lose := p.losing.Load() && bytes.Contains(buffer[:n], []byte("commit\x00"))
		if lose {
			losing.Store(true)
			server.SetReadDeadline(time.Now()) // ends the copying of answers
			<-answered
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		for lose && !p.lost() {
			time.Sleep(5 * time.Millisecond)
		}
		if lose { // the client may only notice the loss now
			return
		}
	}
}
