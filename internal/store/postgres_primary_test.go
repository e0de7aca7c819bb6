package store_test

import (
	"context"
	"errors"
	"io"
	"net"
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

// proxy forwards connections to a server. Existing sessions stay with their server when new
// ones are forwarded to another.
type proxy struct {
	dir    string // of the socket, as the host of an address
	target atomic.Pointer[storetest.Cluster]
}

func newProxy(t *testing.T, target *storetest.Cluster) *proxy {
	t.Helper()
	p := &proxy{dir: t.TempDir()}
	p.target.Store(target)
	const name = ".s.PGSQL.5432"
	listener, err := net.Listen("unix", filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(p.target.Load().Dir(), name))
			if err != nil {
				client.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					io.Copy(pair[0], pair[1])
					client.Close()
					server.Close()
				}()
			}
		}
	}()
	return p
}

// through returns the address with its hosts replaced.
func through(dsn string, dirs ...string) string {
	base, query, _ := strings.Cut(dsn, "?")
	_, rest, _ := strings.Cut(query, "&")
	return base + "?host=" + strings.Join(dirs, ",") + "&" + rest
}

// realReplica opens a store on the database's own clock.
func (w *world) realReplica(dsn string) *store.Store {
	w.Helper()
	return storetest.Open(w.T, dsn, store.Options{})
}

// soon repeats a method until it succeeds. Before, it may return ErrBusy or
// ErrUnknownOutcome.
func (w *world) soon(verb func(context.Context) error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second)
	defer cancel()
	for {
		err := verb(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, kernel.ErrBusy) && !errors.Is(err, kernel.ErrUnknownOutcome) || ctx.Err() != nil {
			w.Fatalf("error %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// postTo returns a function that writes through one of the world's stores.
func (w *world) postTo(s *store.Store, incident string) func(context.Context) error {
	return func(ctx context.Context) error {
		return second(s.PostUpdate(ctx, w.ws, incident, statuspage.IncidentUpdate{Message: "Found it."}, nil))
	}
}

// TestSwitchoverThroughAProxyThatKeepsSessions makes the old primary read-only and promotes
// another server. Sessions with the old one must be closed.
func TestSwitchoverThroughAProxyThatKeepsSessions(t *testing.T) {
	t.Parallel()
	w, primary, standby := replicated(t)
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	p := newProxy(t, standby) // does not know yet who is the primary
	dsn := through(w.dsn, p.dir)
	if s, err := store.Open(w.ctx, dsn, store.Options{}); err == nil {
		s.Close()
		t.Error("a store was opened on a standby")
	}
	p.target.Store(primary)
	s := w.realReplica(dsn)
	post := w.postTo(s, i.ID)
	w.ok(post(w.ctx))

	standby.Promote()
	p.target.Store(standby)
	primary.Exec(`ALTER SYSTEM SET synchronous_standby_names = ''`) // the proxy is what is tested
	primary.Exec(`ALTER SYSTEM SET default_transaction_read_only = on`)
	primary.Exec(`SELECT pg_reload_conf()`)
	w.soon(func(ctx context.Context) error {
		if err := post(ctx); err != nil {
			return err
		}
		return post(ctx)
	})
	if n := countUpdates(w, standby); n < "3" {
		t.Errorf("the new primary has %s updates, want 3", n)
	}
}

// countUpdates counts the incident updates on a server.
func countUpdates(w *world, c *storetest.Cluster) string {
	w.Helper()
	s := w.realReplica(through(w.dsn, c.Dir()))
	db, _ := s.Pools()
	var n string
	w.ok(db.QueryRow(`SELECT count(*) FROM incident_updates`).Scan(&n))
	return n
}

// TestNothingIsReadFromAStandby checks that a standby, whose data may be stale, is not used
// even if the address allows any server.
func TestNothingIsReadFromAStandby(t *testing.T) {
	t.Parallel()
	w, primary, standby := replicated(t)
	p := newProxy(t, primary)
	s := w.realReplica(through(w.dsn, p.dir) + "&target_session_attrs=any")
	read := func(ctx context.Context) error { return second(s.Page(ctx, w.ws, "acme")) }
	w.ok(read(w.ctx))
	p.target.Store(standby)
	primary.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'allswell'
		AND pid <> pg_backend_pid()`)
	for range 3 { // on the session that has ended, and on new ones
		if err := read(w.ctx); !errors.Is(err, kernel.ErrBusy) {
			t.Errorf("from a standby: error %v, want ErrBusy", err)
		}
	}
	p.target.Store(primary)
	w.soon(read)
}

// TestPromotedElsewhere promotes another server while the primary continues to run. Commits
// on the old primary wait for a standby that is gone.
func TestPromotedElsewhere(t *testing.T) {
	t.Parallel()
	w, primary, standby := replicated(t)
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	s := w.realReplica(through(w.dsn, primary.Dir(), standby.Dir()))
	post := w.postTo(s, i.ID)
	w.ok(post(w.ctx))
	standby.Promote()
	if err := post(w.ctx); !errors.Is(err, kernel.ErrUnknownOutcome) {
		t.Errorf("on the old primary: error %v, want ErrUnknownOutcome", err)
	}
	w.soon(post)
	before := countUpdates(w, standby)
	for range 20 { // more than there are connections
		w.ok(post(w.ctx))
	}
	if after := countUpdates(w, standby); after == before {
		t.Errorf("%s updates on the new primary before and after", after)
	}
}

// TestSessionsOfAFormerPrimaryEnd checks that sessions with a former primary are closed when
// a new session shows that another server was promoted.
func TestSessionsOfAFormerPrimaryEnd(t *testing.T) {
	t.Parallel()
	w, primary, standby := replicated(t)
	p := newProxy(t, primary)
	s := w.realReplica(through(w.dsn, p.dir))
	pool, _ := s.Pools()
	ctx, cancel := context.WithTimeout(w.ctx, 60*time.Second)
	defer cancel()
	used, idle := must(pool.Conn(ctx))(w), must(pool.Conn(ctx))(w)
	standby.Promote()
	p.target.Store(standby)
	w.ok(must(pool.Conn(ctx))(w).Close())

	w.ok(idle.Close()) // the next to be used
	var timeline string
	w.ok(pool.QueryRowContext(ctx, `SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`).Scan(&timeline))
	if timeline != "00000002" {
		t.Errorf("a session on timeline %s was used after one on 00000002", timeline)
	}

	tx := must(used.BeginTx(ctx, nil))(w)
	must(tx.ExecContext(ctx, `UPDATE pages SET name = 'Former'`))(w)
	if err := tx.Commit(); err == nil || ctx.Err() != nil { // it waits for a standby that follows another primary
		t.Errorf("commit on the former primary: error %v, want a lost connection before %v", err, ctx.Err())
	}
}

// TestFrozenTransactionLosesItsLocks freezes a replica during a claim, and during a batch of
// pings.
func TestFrozenTransactionLosesItsLocks(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		w.ping(w.monitor.Token)
		frozen := w.replica()
		db, _ := frozen.Pools()
		for _, lock := range []string{
			`SELECT name FROM mutexes FOR UPDATE`, `SELECT token FROM last_pings FOR UPDATE`,
		} {
			tx := must(db.BeginTx(w.ctx, nil))(w)
			defer tx.Rollback()
			must(tx.Exec(lock))(w)
		}
		w.clock.move(time.Second)
		if got := w.ping(w.monitor.Token); got[0] != store.PingRecorded {
			t.Errorf("the ping's result is %v", got)
		}
		w.ok(w.SaveDeliveryResults(w.ctx, nil))
	})
}

// TestLockTimeoutIsBusy checks the error if another session keeps a lock.
func TestLockTimeoutIsBusy(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		db, _ := w.Pools()
		tx := must(db.BeginTx(w.ctx, nil))(w)
		defer tx.Rollback()
		must(tx.Exec(`SET LOCAL idle_in_transaction_session_timeout = 0`))(w)
		must(tx.Exec(`SELECT id FROM components FOR UPDATE`))(w)
		_, err := w.Components().Change(w.ctx, w.ws, "acme", w.component.ID, setStatus(kernel.StatusDegraded),
			kernel.Precondition{})
		if !errors.Is(err, kernel.ErrBusy) {
			t.Errorf("error %v, want ErrBusy", err)
		}
	})
}
