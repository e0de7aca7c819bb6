package page

import (
	"context"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/cache"
)

const (
	// refreshWait is how long a change waits, before it is acknowledged, for its
	// pages to be loaded. It is longer than cache.WaitTimeout, after which a load
	// continues without those who wait for it.
	refreshWait = cache.WaitTimeout + 250*time.Millisecond

	// maxRefreshes is how many pages are loaded at the same time because of changes.
	// Further ones wait, so that scripts that change many pages leave processors and
	// connections to pings and visitors.
	maxRefreshes = 1
)

// refresh loads again those of the pages that are in memory, and the list of
// pages. It is called after a change is committed and before it is acknowledged,
// so that this replica shows the change even if the database is unavailable from
// then on. If a page is not loaded within refreshWait, the change is acknowledged
// all the same.
//
// However many changes of one page wait, it is loaded at most twice for them: by
// the load that began before they were committed, and by the next one.
func (s *Site) refresh(ctx context.Context, pageIDs []string) {
	d := s.index.Last()
	if d == nil {
		return
	}
	var loaded []string
	for _, id := range pageIDs {
		if e := d.byID[id]; e != nil && e.summary.Last() != nil {
			loaded = append(loaded, id)
		}
	}
	if len(loaded) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	release, ok := s.refreshes.acquire(ctx, refreshWait)
	if !ok {
		return
	}
	defer release()
	for _, id := range loaded {
		// Errors are logged by OnError. A page that was deleted, or whose slug has
		// changed, leaves the index.
		_, _, _ = s.snapshotBy(ctx, func() (*entry, error) {
			if e := s.index.Last().byID[id]; e != nil {
				return e, nil
			}
			return nil, allswell.ErrNotFound
		}, func(allswell.Page) bool { return true })
	}
	if s.list.Last() != nil {
		_, _ = s.list.Get(ctx)
	}
}
