package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// onSQLite makes a world in a directory of its own.
func onSQLite(t *testing.T) (w *world, dir string) {
	t.Helper()
	dir = t.TempDir()
	return newWorld(t, "sqlite:"+filepath.Join(dir, "allswell.db"), ""), dir
}

func TestBackupAndRestore(t *testing.T) {
	w, dir := onSQLite(t)
	job := w.quick("job", w.component, "")
	w.goDown(job)
	w.recordJobs()
	backedUp, path := w.dump(), filepath.Join(dir, "backup.db")
	w.ok(store.Backup(w.ctx, w.dsn, path, nil))
	if err := store.Backup(w.ctx, w.dsn, path, nil); err == nil {
		t.Error("a backup was overwritten")
	}
	w.pinged(job)
	later := w.dump()
	w.ok(w.Store.Close())

	kept, err := store.Restore(w.ctx, w.dsn, path, nil)
	w.ok(err)
	w.Store = w.replica()
	if w.dump() != backedUp {
		t.Error("the restored database is not the one that was backed up")
	}
	w.consistent()
	w.ok(w.Store.Close())
	w.dsn = "sqlite:" + kept
	w.Store = w.replica()
	if w.dump() != later {
		t.Error("the replaced database was not kept as it was")
	}
	for _, name := range []string{"backup.db", "allswell.db", filepath.Base(kept)} {
		if info := must(os.Stat(filepath.Join(dir, name)))(t); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}
	if parts := must(filepath.Glob(filepath.Join(dir, "*.part*")))(t); len(parts) > 0 {
		t.Errorf("left behind: %v", parts)
	}
}

// recordJobs fills the tables of the history of pings, of ping keys, runs and warnings.
func (w *world) recordJobs() {
	w.Helper()
	access := monitor.PingAccessReadWrite
	must(w.ChangePingKey(w.ctx, w.ws, "acme", monitor.PingKeyChange{Access: &access}))(w)
	w.conditions(func(c *monitor.RunConditions) { c.NoOverlap = true }, time.Hour)
	w.send(start(aRun), start(otherRun))
	for range 40 {
		w.clock.move(time.Second)
		w.pinged()
	}
	w.monitor = must(w.RotateMonitor(w.ctx, w.ws, w.monitor.ID))(w)
	must(w.MergePings(w.ctx))(w)
	w.clock.move(time.Second)
	w.pinged()
	for _, table := range []string{
		"ping_blocks", "ping_segments", "ping_chunks", "past_ping_tokens", "ping_keys", "signals", "warnings",
	} {
		if w.value(`SELECT count(*) FROM `+table) == "0" {
			w.Errorf("%s is empty", table)
		}
	}
}

func TestRestoreWhereThereIsNothing(t *testing.T) {
	w, dir := onSQLite(t)
	path := filepath.Join(dir, "backup.db")
	w.ok(store.Backup(w.ctx, w.dsn, path, nil))
	want := w.dump()
	w.dsn = "sqlite:" + filepath.Join(dir, "new.db")
	if kept, err := store.Restore(w.ctx, w.dsn, path, nil); err != nil || kept != "" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	w.Store = w.replica()
	if w.dump() != want {
		t.Error("the restored database is not the one that was backed up")
	}
}

// TestEveryReplacedDatabaseIsKept restores again and again, faster than the
// clock's seconds.
func TestEveryReplacedDatabaseIsKept(t *testing.T) {
	w, dir := onSQLite(t)
	empty := filepath.Join(dir, "empty.db")
	w.ok(store.Backup(w.ctx, w.dsn, empty, nil))
	want := make(map[string]string) // kept file -> title of its incident
	for n := range 4 {
		title := fmt.Sprint("incident ", n)
		must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: title}, statuspage.IncidentUpdate{},
			nil))(w)
		w.ok(w.Store.Close())
		kept := must(store.Restore(w.ctx, w.dsn, empty, nil))(t)
		if other, taken := want[kept]; taken {
			t.Errorf("%s was kept as %s, which holds %s", title, kept, other)
		}
		want[kept] = title
		w.Store = w.replica()
	}
	w.ok(w.Store.Close())
	for kept, title := range want {
		w.dsn = "sqlite:" + kept
		w.Store = w.replica()
		if got := w.rows(`SELECT title FROM incidents`); !slices.Equal(got, []string{title}) {
			t.Errorf("%s holds %q, want %q", kept, got, title)
		}
		w.ok(w.Store.Close())
	}
	if found := must(filepath.Glob(filepath.Join(dir, "*.before-restore-*")))(t); len(found) < len(want) {
		t.Errorf("kept: %v", found)
	}
}

func TestBackupToNowhere(t *testing.T) {
	w, dir := onSQLite(t)
	path := filepath.Join(dir, "nowhere", "b.db")
	want := "the backup " + path + " cannot be written: " + syscall.ENOENT.Error()
	err := store.Backup(w.ctx, w.dsn, path, nil)
	if err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("backup to a missing folder: %v, want %s", err, want)
	}
}

// TestRestoreKeepsWhatOnlyTheLogHolds replaces the files of a process that was
// killed.
func TestRestoreKeepsWhatOnlyTheLogHolds(t *testing.T) {
	w, dir := onSQLite(t)
	path := filepath.Join(dir, "backup.db")
	w.ok(store.Backup(w.ctx, w.dsn, path, nil))
	must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Only in the log"},
		statuspage.IncidentUpdate{}, nil))(w)
	want := w.dump()
	crashed := filepath.Join(t.TempDir(), "allswell.db")
	for _, suffix := range []string{"", "-wal"} {
		w.ok(os.WriteFile(crashed+suffix, must(os.ReadFile(filepath.Join(dir, "allswell.db")+suffix))(t), 0o600))
	}
	kept, err := store.Restore(w.ctx, "sqlite:"+crashed, path, nil)
	w.ok(err)
	w.dsn = "sqlite:" + kept
	w.Store = w.replica()
	if w.dump() != want {
		t.Error("what only the write-ahead log held was lost")
	}
}

// TestRestoredBackupRaisesNoAlarm: the pings since the backup are unknown to
// it, so the time since is a listening gap.
func TestRestoredBackupRaisesNoAlarm(t *testing.T) {
	w, dir := onSQLite(t)
	path := filepath.Join(dir, "backup.db")
	w.pinged()
	w.ok(store.Backup(w.ctx, w.dsn, path, nil))
	for range 4 {
		w.pass(4 * time.Minute)
		w.pinged()
	}
	w.ok(w.Store.Close())
	must(store.Restore(w.ctx, w.dsn, path, nil))(t)
	w.Store = w.replica()
	w.absent(time.Second)
	w.pass(5 * time.Minute)
	if m := w.now(); m.ConsecutiveFailures != 0 {
		t.Errorf("counted for pings that the backup does not know: %+v", m)
	}
	w.pass(4 * time.Minute)
	if m := w.now(); m.State != monitor.MonitorDown {
		t.Errorf("a job that is silent since: %+v", m)
	}
}

func TestBackupUnderWrites(t *testing.T) {
	w, dir := onSQLite(t)
	tokens := tokensOf(w.fill(200, time.Minute))
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Busy"}, statuspage.IncidentUpdate{},
		nil))(w)
	done := make(chan struct{})
	var posted []int // at least this many updates, when the n-th backup began
	together(func() {
		defer close(done)
		for n := range 5 {
			posted = append(posted, len(must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates))
			if err := store.Backup(w.ctx, w.dsn, filepath.Join(dir, fmt.Sprint(n)), nil); err != nil {
				t.Error(err)
			}
		}
	}, func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_, errPing := w.RecordPings(w.ctx, tokens, store.LivenessRecord{Replica: "a"}, store.PingOrigins{})
			_, errPost := w.PostUpdate(w.ctx, w.ws, i.ID,
				statuspage.IncidentUpdate{Message: strings.Repeat("more ", 1000)}, nil)
			if err := errors.Join(errPing, errPost); err != nil {
				t.Error(err)
			}
			info, err := os.Stat(filepath.Join(dir, "0.part"))
			if err == nil && info.Mode().Perm() != 0o600 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file being written: %v, %v", info, err)
			}
		}
	})
	for n := range posted {
		w.dsn = "sqlite:" + filepath.Join(dir, fmt.Sprint(n))
		w.Store = w.replica()
		w.consistent()
		if got := len(w.incident().Updates); got < posted[n] {
			t.Errorf("backup %d has %d updates; %d were acknowledged before it began", n, got, posted[n])
		}
	}
}

func TestInvalidBackups(t *testing.T) {
	w, dir := onSQLite(t)
	good := filepath.Join(dir, "good.db")
	w.ok(store.Backup(w.ctx, w.dsn, good, nil))
	want := w.dump()
	w.ok(w.Store.Close())
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		w.ok(os.WriteFile(path, content, 0o600))
		return path
	}
	whole := must(os.ReadFile(good))(t)
	damaged := append([]byte(nil), whole...)
	for at := 8 * 4096; at < 30*4096; at++ {
		damaged[at] = 0x5a
	}
	foreign := filepath.Join(dir, "foreign.db")
	db := must(sql.Open("sqlite", foreign))(t)
	must(db.Exec(`CREATE TABLE monitors (id TEXT)`))(t)
	w.ok(db.Close())
	_, err := store.Restore(w.ctx, w.dsn, write("cut.db", whole[:len(whole)/2]), nil)
	if err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("half of a backup: %v", err)
	}
	for name, path := range map[string]string{
		"missing":   filepath.Join(dir, "missing.db"),
		"empty":     write("empty.db", nil),
		"garbage":   write("garbage.db", []byte(strings.Repeat("no database ", 1000))),
		"truncated": write("truncated.db", whole[:len(whole)/2]),
		"damaged":   write("damaged.db", damaged),
		"foreign":   foreign,
		"directory": dir,
	} {
		if kept, err := store.Restore(w.ctx, w.dsn, path, nil); err == nil || kept != "" {
			t.Errorf("%s was restored (kept %q)", name, kept)
		}
		if err := store.Backup(w.ctx, "sqlite:"+path, filepath.Join(dir, "of-"+name), nil); err == nil {
			t.Errorf("%s was backed up", name)
		}
	}
	_, _, err = store.Migrate(w.ctx, "sqlite:"+foreign, nil)
	said := "the database " + foreign + " cannot be opened: it is a database of another program"
	if err == nil || err.Error() != said {
		t.Errorf("migrating a foreign database: %v", err)
	}
	w.Store = w.replica()
	if w.dump() != want {
		t.Error("a refused restore changed the database")
	}
}

// TestBackupWhoseIndexLies: every page of the file can be read, but an index
// does not hold what its table does. Only the result of the integrity check
// says so; the check itself does not fail.
func TestBackupWhoseIndexLies(t *testing.T) {
	w, dir := onSQLite(t)
	lies := filepath.Join(dir, "lies.db")
	w.ok(store.Backup(w.ctx, w.dsn, lies, nil))
	db := must(sql.Open("sqlite", lies))(t)
	db.SetMaxOpenConns(1)
	for _, text := range []string{
		`CREATE TABLE notes (id INTEGER PRIMARY KEY, name TEXT)`,
		`CREATE TABLE shelf (id INTEGER PRIMARY KEY, name TEXT)`,
		`CREATE INDEX by_name ON shelf (name)`,
		`INSERT INTO notes VALUES (1, 'a')`,
		`PRAGMA writable_schema = ON`,
		// The index moves to a table whose row it never saw.
		`UPDATE sqlite_schema SET tbl_name = 'notes', sql = 'CREATE INDEX by_name ON notes (name)'
			WHERE name = 'by_name'`,
	} {
		must(db.Exec(text))(t)
	}
	w.ok(db.Close())
	_, err := store.Restore(w.ctx, w.dsn, lies, nil)
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a database whose index lies was restored: %v", err)
	}
}

func TestBackupIsForSQLite(t *testing.T) {
	dsn := storetest.PostgreSQL(t)
	path := filepath.Join(t.TempDir(), "x.db")
	_, err := store.Restore(t.Context(), dsn, path, nil)
	for _, err := range []error{err, store.Backup(t.Context(), dsn, path, nil)} {
		if err == nil || !strings.Contains(err.Error(), "pg_dump") {
			t.Errorf("on PostgreSQL: %v", err)
		}
	}
}

func TestInterruptedBackupLeavesNothing(t *testing.T) {
	w, dir := onSQLite(t)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	path := filepath.Join(dir, "backup.db")
	if err := store.Backup(ctx, w.dsn, path, nil); err == nil {
		t.Error("an interrupted backup succeeded")
	}
	if found := must(filepath.Glob(path + "*"))(t); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
}

// TestDownloadedBackup: the copy has no saved responses, not even in its free pages, and one that a crash left is
// removed.
func TestDownloadedBackup(t *testing.T) {
	w, dir := onSQLite(t)
	i := must(w.CreateIncident(w.ctx, w.ws, "acme", statuspage.Incident{Title: "Slow"}, statuspage.IncidentUpdate{},
		nil))(w)
	for n := range 3 {
		save := saveID(w.answerKey(fmt.Sprint("key", n)))
		save.Render = func(statuspage.IncidentUpdate) (store.Response, error) {
			return store.Response{Status: 201, Body: []byte(strings.Repeat("whsec_saved", 1000))}, nil
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "one"}, nil, save))(w)
	}
	f, remove, err := w.OpenBackup(w.ctx, w.ws)
	w.ok(err)
	copied := must(os.ReadFile(f.Name()))(t)
	remove()
	if n := strings.Count(string(copied), "saved"); n > 0 {
		t.Errorf("the copy has %d saved responses", n)
	}
	if n := w.value(`SELECT count(*) FROM idempotency_keys`); n != "3" {
		t.Errorf("the served database has %s saved responses", n)
	}
	path := filepath.Join(dir, "downloaded.db")
	w.ok(os.WriteFile(path, copied, 0o600))
	left := []string{"allswell.db.download", "allswell.db.download.part"}
	for _, name := range left {
		w.ok(os.WriteFile(filepath.Join(dir, name), copied, 0o600))
	}
	w.ok(w.Store.Close())
	w.Store = w.replica()
	if found := must(filepath.Glob(filepath.Join(dir, "allswell.db.download*")))(t); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
	w.ok(w.Store.Close())
	must(store.Restore(w.ctx, w.dsn, path, nil))(t)
	w.Store = w.replica()
	w.consistent()
}

// TestProgress checks the steps of long work, and that they can be measured meanwhile and afterwards.
func TestProgress(t *testing.T) {
	w, dir := onSQLite(t)
	path := filepath.Join(dir, "backup.db")
	var steps []string
	var measured func() (done, total int64)
	progress := func(step string, measure func() (done, total int64)) {
		steps, measured = append(steps, step), measure
		if measure != nil {
			if done, total := measure(); done != 0 || total <= 0 {
				t.Errorf("%s begins with %d of %d", step, done, total)
			}
		}
	}
	expect := func(want ...string) {
		t.Helper()
		if !slices.Equal(steps, want) {
			t.Errorf("steps: %q, want %q", steps, want)
		}
		steps = nil
		measured()
	}
	w.ok(store.Backup(w.ctx, w.dsn, path, progress))
	expect("Checking the database", "Copying the database")
	w.ok(w.Store.Close())
	must(store.Restore(w.ctx, w.dsn, path, progress))(t)
	expect("Checking the backup", "Copying the backup")
	_, _, err := store.Migrate(w.ctx, "sqlite:"+filepath.Join(dir, "new.db"), progress)
	w.ok(err)
	expect("Migrating the database")
	w.Store = w.replica()
}

// TestRestoreOfNewerVersion checks that a backup that this program cannot serve replaces nothing.
func TestRestoreOfNewerVersion(t *testing.T) {
	w, dir := onSQLite(t)
	path := filepath.Join(dir, "newer.db")
	w.ok(store.Backup(w.ctx, w.dsn, path, nil))
	before := w.dump()
	db := must(sql.Open("sqlite", path))(t)
	must(db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`))(t)
	w.ok(db.Close())
	w.ok(w.Store.Close())
	kept, err := store.Restore(w.ctx, w.dsn, path, nil)
	if kept != "" || err == nil || !strings.Contains(err.Error(), "use a newer allswell") {
		t.Errorf("kept %q, %v", kept, err)
	}
	w.Store = w.replica()
	if w.dump() != before {
		t.Error("the database has changed")
	}
}
