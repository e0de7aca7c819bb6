package page

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

// directory is which pages there are. It is not changed once made.
type directory struct {
	entries []*entry // in the order of the store
	bySlug  map[string]*entry
	byID    map[string]*entry
	byHost  map[string]*entry // those with a domain of their own, by it
}

// entry is one page under one slug. A page that gets another slug gets another
// entry.
type entry struct {
	id, slug string
	gen      atomic.Uint64 // moves with each commit that changed the page
	cell     cell[snapshot]
	poke     chan struct{} // wakes the herald; see changed
}

// snapshot is a page as it was at one moment: its contents, how they are laid
// out, and what its other parts need to know of it.
type snapshot struct {
	number uint64 // of none else

	usual facet  // of most visitors
	sheet *sheet // for them
	lay   func(facet) screen

	tag    string // see tagOf
	until  time.Time
	sum    allswell.Summary
	page   allswell.Page
	status allswell.Status
	first  time.Time // the instant with which its history begins
	badges badgeFacts
}

// How long a snapshot lasts though nothing was committed: durations and uptimes
// move by themselves, and those of what is not well are looked at.
const (
	maxAge         = 10 * time.Minute
	maxTroubledAge = time.Minute
)

// ageOf returns how long a snapshot of sum lasts.
func ageOf(sum allswell.Summary) time.Duration {
	troubled := len(sum.Active) > 0
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			troubled = troubled || c.Status() != allswell.StatusOperational
		}
	}
	if troubled {
		return maxTroubledAge
	}
	return maxAge
}

// loadDirectory makes the directory anew; entries that stay keep their
// snapshots.
func (s *Site) loadDirectory(ctx context.Context) (*directory, time.Time, error) {
	pages, err := s.store.PublicPages(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	old := s.directory.last()
	d := &directory{bySlug: make(map[string]*entry, len(pages)), byID: make(map[string]*entry, len(pages)), byHost: make(map[string]*entry)}
	for _, p := range pages {
		e := old.find(p.Slug)
		if e == nil || e.id != p.ID {
			e = s.newEntry(p)
		}
		d.entries = append(d.entries, e)
		d.bySlug[p.Slug], d.byID[p.ID] = e, e
		if p.Host != "" {
			d.byHost[p.Host] = e
		}
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

// at returns the entry of a page's own domain, or nil; a nil directory has none.
func (d *directory) at(host string) *entry {
	if d == nil {
		return nil
	}
	return d.byHost[host]
}

func (s *Site) newEntry(p allswell.Page) *entry {
	e := &entry{id: p.ID, slug: p.Slug, poke: make(chan struct{}, 1)}
	e.cell.gen, e.cell.now = &e.gen, s.now
	e.cell.make = func(ctx context.Context) (*snapshot, time.Time, error) { return s.loadSnapshot(ctx, e) }
	e.cell.told = func(err error) { s.complain("a status page could not be rendered", e.slug, err) }
	return e
}

// loadSnapshot loads a page and renders it once, for those who wish for
// nothing, so that what cannot be rendered does not replace what was. It is
// good for its age, but not beyond midnight, when the past days move on.
func (s *Site) loadSnapshot(ctx context.Context, e *entry) (*snapshot, time.Time, error) {
	contents, err := s.store.LoadPage(ctx, e.slug)
	if err != nil {
		return nil, time.Time{}, err
	}
	if contents.Page.ID != e.id {
		return nil, time.Time{}, allswell.ErrNotFound // another page has the slug now
	}
	clean(&contents)
	sum := contents.Summarize(contents.AsOf)
	snap := &snapshot{number: s.snapshots.Add(1), sum: sum, page: sum.Page, status: sum.Status, first: contents.Page.CreatedAt, badges: badgeFactsOf(sum)}
	for _, inc := range contents.Incidents {
		if inc.CreatedAt.Before(snap.first) {
			snap.first = inc.CreatedAt
		}
	}
	lay := func(f facet) screen {
		sc := statusScreen(s.whereOf(sum.Page, f), sum)
		if s.mail {
			sc = withSubscribe(sc, sum.Blocks)
		}
		sc.Frame.follow(snap.tag)
		return sc
	}
	snap.usual, snap.lay = facet{lang: i18n.Or(sum.Page.Language), own: sum.Page.Host != ""}, lay
	if snap.tag, err = tagOf(lay(snap.usual)); err != nil {
		return nil, time.Time{}, err
	}
	if snap.sheet, err = newSheet(ctx, lay(snap.usual)); err != nil {
		return nil, time.Time{}, err
	}
	snap.until = contents.AsOf.Add(ageOf(sum))
	if midnight := tomorrow(contents.AsOf, sum.Zone); midnight.Before(snap.until) {
		snap.until = midnight
	}
	return snap, snap.until, nil
}

// tomorrow returns when the day of now is over.
func tomorrow(now time.Time, zone *time.Location) time.Time {
	return allswell.AddDays(allswell.Midnight(now, zone), 1)
}

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

// lookUpHost is lookUp for the host name of a page's own domain.
func (s *Site) lookUpHost(ctx context.Context, host string) (*entry, error) {
	if e := s.directory.last().at(host); e != nil {
		return e, nil
	}
	d, _ := s.directory.get(ctx) // an old one has to do
	if e := d.at(host); e != nil {
		return e, nil
	}
	return nil, allswell.ErrNotFound
}

// snapshotOf returns the page under a slug. Like cell.get it returns an old
// snapshot beside the error if there is one.
func (s *Site) snapshotOf(ctx context.Context, slug string) (*entry, *snapshot, error) {
	return s.snapshotBy(ctx, func() (*entry, error) { return s.lookUp(ctx, slug) }, func(allswell.Page) bool { return true })
}

// snapshotBy returns the page that find finds in what may be an old directory,
// if it is still the one; see snapshotOf.
func (s *Site) snapshotBy(ctx context.Context, find func() (*entry, error), is func(allswell.Page) bool) (*entry, *snapshot, error) {
	for range 3 {
		e, err := find()
		if err != nil {
			return nil, nil, err
		}
		snap, err := e.cell.get(ctx)
		if !errors.Is(err, allswell.ErrNotFound) && (err != nil || is(snap.page)) {
			return e, snap, err
		}
		// The page was deleted, or has another slug or domain: look again.
		s.changes.Add(1)
		if _, err := s.directory.get(ctx); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, allswell.ErrNotFound
}
