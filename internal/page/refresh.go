package page

import (
	"context"
	"time"

	"github.com/allswell/allswell"
)

const (
	// refreshWait is how long a change waits at most, before it is acknowledged,
	// for its pages to be rendered. It is longer than the patience of a cell, so
	// that what takes longer than that is rendered all the same.
	refreshWait = patience + 250*time.Millisecond

	// maxRefreshes is how many pages are rendered at the same time because of
	// changes. Further ones wait, so that scripts that change many pages leave
	// processors and connections to pings and visitors.
	maxRefreshes = 1
)

// refresh renders pages that are in memory, and the list of pages, again. It is
// called after a change is committed and before it is acknowledged, so that the
// replica shows the change even if the database is gone from then on. If a page
// cannot be rendered within refreshWait, the change is acknowledged all the same.
//
// However many changes of one page wait, it is rendered at most twice for them: once
// by a loading that began before they were committed, and once by the next one.
func (s *Site) refresh(ctx context.Context, pageIDs []string) {
	d := s.directory.last()
	if d == nil {
		return
	}
	var held []string
	for _, id := range pageIDs {
		if e := d.byID[id]; e != nil && e.cell.last() != nil {
			held = append(held, id)
		}
	}
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	release, ok := s.refreshes.acquire(ctx, refreshWait)
	if !ok {
		return
	}
	defer release()
	for _, id := range held {
		// What goes wrong is in the log: see cell.told. A page that was deleted or
		// has another slug leaves the directory.
		_, _, _ = s.snapshotBy(ctx, func() (*entry, error) {
			if e := s.directory.last().byID[id]; e != nil {
				return e, nil
			}
			return nil, allswell.ErrNotFound
		}, func(allswell.Page) bool { return true })
	}
	if s.list.last() != nil {
		_, _ = s.list.get(ctx)
	}
}
