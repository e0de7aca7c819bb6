package page

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
)

// directory is which pages there are. It is not changed once made.
type directory struct {
	entries []*entry // in the order of the store
	bySlug  map[string]*entry
	byID    map[string]*entry
}

// entry is one page under one slug. A page that gets another slug gets another
// entry.
type entry struct {
	id, slug string
	gen      atomic.Uint64 // moves with each commit that changed the page
	cell     cell[snapshot]
	poke     chan struct{} // wakes the herald; see changed
}

// snapshot is a page as it was at one moment: its sheet, and what its history
// needs to know of it.
type snapshot struct {
	*sheet
	tag    string // see tagOf
	page   allswell.Page
	status allswell.Status
	blocks []blockView // what a subscriber may choose from
	first  time.Time   // the beginning of the month with which its history begins
}

// loadDirectory makes the directory anew; entries that stay keep their
// snapshots.
func (s *Site) loadDirectory(ctx context.Context) (*directory, time.Time, error) {
	pages, err := s.store.PublicPages(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	old := s.directory.last()
	d := &directory{bySlug: make(map[string]*entry, len(pages)), byID: make(map[string]*entry, len(pages))}
	for _, p := range pages {
		e := old.find(p.Slug)
		if e == nil || e.id != p.ID {
			e = s.newEntry(p)
		}
		d.entries = append(d.entries, e)
		d.bySlug[p.Slug], d.byID[p.ID] = e, e
	}
	return d, time.Time{}, nil
}

// find returns the entry of a slug, or nil; a nil directory has none.
func (d *directory) find(slug string) *entry {
	if d == nil {
		return nil
	}
	return d.bySlug[slug]
}

func (s *Site) newEntry(p allswell.Page) *entry {
	e := &entry{id: p.ID, slug: p.Slug, poke: make(chan struct{}, 1)}
	e.cell.gen, e.cell.now = &e.gen, s.now
	e.cell.make = func(ctx context.Context) (*snapshot, time.Time, error) { return s.loadSnapshot(ctx, e) }
	e.cell.told = func(err error) { s.complain("a status page could not be rendered", e.slug, err) }
	return e
}

// loadSnapshot loads and renders a page. It is good until midnight, when the
// past days move on.
func (s *Site) loadSnapshot(ctx context.Context, e *entry) (*snapshot, time.Time, error) {
	contents, err := s.store.LoadPage(ctx, e.slug)
	if err != nil {
		return nil, time.Time{}, err
	}
	if contents.Page.ID != e.id {
		return nil, time.Time{}, allswell.ErrNotFound // another page has the slug now
	}
	sum := contents.Summarize(contents.AsOf)
	sc := statusScreen(sum)
	blocks := sc.Body.(statusBody).Blocks
	if s.mail {
		sc = withSubscribe(sc, sum.Page)
	}
	tag, err := tagOf(sc)
	if err != nil {
		return nil, time.Time{}, err
	}
	sc.Frame.follow(tag)
	sh, err := newSheet(sc)
	if err != nil {
		return nil, time.Time{}, err
	}
	first := contents.Page.CreatedAt
	for _, inc := range contents.Incidents {
		if inc.CreatedAt.Before(first) {
			first = inc.CreatedAt
		}
	}
	return &snapshot{sh, tag, contents.Page, sum.Status, blocks, first.UTC()}, tomorrow(contents.AsOf), nil
}

func tomorrow(now time.Time) time.Time { return allswell.Midnight(now, time.UTC).AddDate(0, 0, 1) }

// lookUp returns the entry of a slug, or allswell.ErrNotFound. A slug that is
// known costs a look into memory. One that isn't costs no more either, unless
// something was committed since the directory was made.
func (s *Site) lookUp(ctx context.Context, slug string) (*entry, error) {
	if !allswell.ValidSlug(slug) {
		return nil, allswell.ErrNotFound
	}
	if e := s.directory.last().find(slug); e != nil {
		return e, nil
	}
	d, err := s.directory.get(ctx)
	if e := d.find(slug); e != nil {
		return e, nil
	}
	if err != nil {
		return nil, err // it may be one that we could not hear of
	}
	return nil, allswell.ErrNotFound
}

// snapshotOf returns the page under a slug. Like cell.get it returns an old
// snapshot beside the error if there is one.
func (s *Site) snapshotOf(ctx context.Context, slug string) (*entry, *snapshot, error) {
	for range 3 {
		e, err := s.lookUp(ctx, slug)
		if err != nil {
			return nil, nil, err
		}
		snap, err := e.cell.get(ctx)
		if !errors.Is(err, allswell.ErrNotFound) {
			return e, snap, err
		}
		// The page was deleted or has another slug: look again.
		s.changes.Add(1)
		if _, err := s.directory.get(ctx); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, allswell.ErrNotFound
}
