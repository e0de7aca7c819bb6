package store

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/store/database"
)

const (
	// pollInterval is how often a replica reads the number of changes, in case a notification was lost.
	pollInterval = 500 * time.Millisecond

	// notifyGrace is how long after a poll a notification may still arrive.
	notifyGrace = 100 * time.Millisecond

	// listenRetry is how long after a lost connection a replica listens again.
	listenRetry = time.Second
)

// WatchPages calls changed for each page that another replica changed, created or deleted, until ctx ends. changed must
// not use the store. On SQLite there is no other replica, and it returns immediately.
//
// Replicas notify each other (NOTIFY). To detect lost notifications, a replica reads the number of changes, which is
// one row, every pollInterval. Only if changes are missing, it compares the versions of all pages.
func (s *Store) WatchPages(ctx context.Context, changed func(pageID string)) {
	if !s.db.Shared() {
		return
	}
	go s.listenForChanges(ctx, changed)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.pollChanges(ctx, changed)
		}
	}
}

func (s *Store) listenForChanges(ctx context.Context, changed func(pageID string)) {
	for ctx.Err() == nil {
		began, err := s.db.Listen(ctx, pageChannel, func(payload string) {
			if c, ok := parsePageChange(payload); ok && c.replica != s.replica {
				s.pages.learn(c, changed)
			}
		})
		if began {
			s.pages.setUnsure(true) // some notifications of a transaction may be lost
		}
		if ctx.Err() == nil {
			s.log.Log(ctx, LogLevel(err, slog.LevelWarn), "listening for other replicas' changes was interrupted",
				"error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenRetry):
		}
	}
}

// pollChanges reports changes of other replicas whose notifications were lost. It ignores
// errors, because it is called again soon and pages show the age of the last contact.
func (s *Store) pollChanges(ctx context.Context, changed func(pageID string)) {
	number, err := s.pageChanges(ctx)
	if err != nil || s.pages.complete(number) {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(notifyGrace): // the change may have been committed just now
	}
	if s.pages.complete(number) {
		return
	}
	_ = s.readVersions(ctx, changed)
}

// ReadPageChanges calls changed for each page that another replica has changed, created or
// deleted before the call, also while the notification of the change is in transit. It reads
// one row if there is none. On SQLite there is no other replica.
func (s *Store) ReadPageChanges(ctx context.Context, changed func(pageID string)) error {
	if !s.db.Shared() {
		return nil
	}
	number, err := s.pageChanges(ctx)
	if err != nil || s.pages.complete(number) {
		return err
	}
	return s.readVersions(ctx, changed)
}

// pageChanges returns how many transactions changed pages.
func (s *Store) pageChanges(ctx context.Context) (int64, error) {
	return s.count(ctx, `SELECT changes FROM page_changes`)
}

// readVersions reads the versions of all pages, and calls changed for the pages whose versions were not known.
func (s *Store) readVersions(ctx context.Context, changed func(pageID string)) error {
	s.pages.setUnsure(false) // before reading, to detect notifications lost meanwhile
	type row struct {
		id      string
		version int64
	}
	var number int64
	rows, err := read(ctx, s, func(c *session) (rows []row, err error) {
		if number, err = database.One(c.Session, database.ScanInt, `SELECT changes FROM page_changes`); err != nil {
			return
		}
		return database.Query(c.Session, func(sc database.Row) (r row, err error) {
			err = sc.Scan(&r.id, &r.version)
			return
		}, `SELECT id, version FROM pages`)
	})
	if err != nil {
		s.pages.setUnsure(true)
		return err
	}
	versions := make(map[string]int64, len(rows))
	for _, r := range rows {
		versions[r.id] = r.version
	}
	s.pages.replace(number, versions, changed)
	return nil
}

// pageChange is the content of a notification: the change of one page.
type pageChange struct {
	replica string // that changed the page
	number  int64  // of the transaction: see page_changes
	pageID  string
	version int64 // of the page
}

// parsePageChange reads the payload that announcePages writes.
func parsePageChange(payload string) (c pageChange, ok bool) {
	n, err := fmt.Sscan(payload, &c.replica, &c.number, &c.pageID, &c.version)
	return c, n == 4 && err == nil
}

// knownPages contains the changes of pages that a replica knows: its own, and changes from notifications. Transactions
// that change pages are numbered without gaps in the order of their commits. A change is reported before it counts as
// known.
type knownPages struct {
	mu       sync.Mutex
	until    int64              // all changes up to this number are known
	after    map[int64]struct{} // known changes with higher numbers
	versions map[string]int64
	unsure   bool // notifications may be missing, whatever the numbers say
}

func newKnownPages() *knownPages {
	return &knownPages{after: make(map[int64]struct{}), versions: make(map[string]int64)}
}

// maxAfter bounds knownPages.after if WatchPages is not running.
const maxAfter = 10_000

// learn adds the change of a page, and calls changed if it was unknown.
func (k *knownPages) learn(c pageChange, changed func(pageID string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.versions[c.pageID]; known < c.version {
		k.versions[c.pageID] = c.version
		changed(c.pageID)
	}
	switch {
	case c.number <= k.until:
	case len(k.after) == maxAfter:
		k.unsure = true
	default:
		k.after[c.number] = struct{}{}
		k.advance()
	}
}

// advance moves until forward over the changes that are known.
func (k *knownPages) advance() {
	for {
		if _, known := k.after[k.until+1]; !known {
			return
		}
		k.until++
		delete(k.after, k.until)
	}
}

// complete reports whether all changes up to number are known.
func (k *knownPages) complete(number int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.unsure && k.until >= number
}

// setUnsure sets whether complete returns false regardless of the numbers.
func (k *knownPages) setUnsure(unsure bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unsure = unsure
}

// replace sets the versions that all pages have after change number, and calls changed for the
// pages whose versions were not known, including deleted pages.
func (k *knownPages) replace(number int64, versions map[string]int64, changed func(pageID string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, version := range versions {
		if k.versions[id] < version {
			changed(id)
		}
	}
	for id, version := range k.versions {
		if read, exists := versions[id]; !exists {
			changed(id)
		} else {
			versions[id] = max(read, version)
		}
	}
	k.versions = versions
	k.until = max(k.until, number)
	maps.DeleteFunc(k.after, func(n int64, _ struct{}) bool { return n <= k.until })
	k.advance()
}
