package store_test

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

// interrupt runs f once: before or after the next statement of the world's store that
// contains statement. "COMMIT" is one, and after it no transaction is open.
func (w *world) interrupt(when, statement string, f func()) {
	var done atomic.Bool
	w.SetFault(func(at, text string) error {
		if at == when && strings.Contains(text, statement) && done.CompareAndSwap(false, true) {
			f()
		}
		return nil
	})
	w.Cleanup(func() {
		w.SetFault(nil)
		if !done.Load() {
			w.Errorf("nothing happened %s %q", when, statement)
		}
	})
}

// meanwhile is interrupt with another replica, in the middle of a transaction. SQLite has
// one writer, so that f runs at once.
func (w *world) meanwhile(when, statement string, f func(other *store.Store)) {
	if !w.Shared() {
		f(w.Store)
		return
	}
	other := w.replica()
	w.interrupt(when, statement, func() { f(other) })
}

// TestDeletionOfALargePageFollowsARename: the page is renamed after a part of it is
// deleted, and another page gets its slug.
func TestDeletionOfALargePageFollowsARename(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, 1200))
		var other allswell.Page
		w.interrupt("after", "COMMIT", func() {
			must(w.ChangePage(w.ctx, w.ws, "acme", allswell.PageChange{Slug: ptr("acme-2")}))(w)
			other = must(w.CreatePage(w.ctx, w.ws, allswell.NewPage{Name: "Other", Slug: "acme"}))(w)
		})
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
		if got := w.rows(`SELECT id FROM pages`); len(got) != 1 || got[0] != other.ID {
			w.Errorf("pages %q are left, want %s", got, other.ID)
		}
		w.SetFault(nil)
		if log := strings.Join(w.audited(), "\n"); !strings.Contains(log, `delete page {"name":"Acme","slug":"acme-2"`) {
			w.Errorf("audited\n%s", log)
		}
	})
}

// TestRenamedPageIsNotDeletedByItsFormerSlug: the page is renamed before its deletion
// locks it. Nothing is deleted, whatever the size of the page.
func TestRenamedPageIsNotDeletedByItsFormerSlug(t *testing.T) {
	for _, subscribers := range []string{"10", "1200"} {
		t.Run(subscribers, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.ok(store.FillSubscribers(w.ctx, w.Store, w.page.ID, must(strconv.Atoi(subscribers))(w)))
				w.meanwhile("after", "WHERE slug = $1", func(other *store.Store) {
					must(other.ChangePage(w.ctx, w.ws, "acme", allswell.PageChange{Slug: ptr("acme-2")}))(w)
				})
				if err := w.DeletePage(w.ctx, w.ws, "acme"); !errors.Is(err, allswell.ErrNotFound) {
					w.Errorf("error %v, want ErrNotFound", err)
				}
				must(w.Page(w.ctx, w.ws, "acme-2"))(w)
				if n := w.value(`SELECT count(*) FROM subscribers`); n != subscribers {
					w.Errorf("%s of %s subscribers are left", n, subscribers)
				}
			})
		})
	}
}
