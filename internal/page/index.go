package page

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/badge"
	"github.com/allswell/allswell/internal/cache"
	"github.com/allswell/allswell/internal/i18n"
	"github.com/allswell/allswell/internal/stream"
	"github.com/allswell/allswell/internal/view"
)

// index is all status pages. It is immutable.
type index struct {
	entries []*entry // in the order of the store
	bySlug  map[string]*entry
	byID    map[string]*entry
	byHost  map[string]*entry // pages with their own domain
}

// entry is one page under one slug. A page whose slug changes gets a new entry.
type entry struct {
	id, slug string
	version  atomic.Uint64 // moves with each commit that changed the page
	summary  cache.Value[*snapshot]
	topic    *stream.Topic // of its event streams
}

// snapshot is a page at one moment: what was loaded, and what its documents need
// to know of it.
type snapshot struct {
	model func(view.Variant) view.Model // of the status page

	tag    string // see tagOf
	until  time.Time
	sum    allswell.Summary
	page   allswell.Page
	status allswell.Status
	first  time.Time // when its history begins
	badges badge.Set
}

// How long a snapshot lasts without a commit: durations and uptimes change with
// time, and people watch those of what is not operational.
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

// loadIndex loads the index. Pages that keep their slugs keep their entries, and
// with them their snapshots.
func (s *Site) loadIndex(ctx context.Context) (*index, time.Time, error) {
	pages, err := s.store.PublicPages(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	old := s.index.Last()
	d := &index{bySlug: make(map[string]*entry, len(pages)), byID: make(map[string]*entry, len(pages)), byHost: make(map[string]*entry)}
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

// find returns the entry of a slug, or nil. A nil index has none.
func (d *index) find(slug string) *entry {
	if d == nil {
		return nil
	}
	return d.bySlug[slug]
}

// findHost returns the entry of a page's own domain, or nil. A nil index has none.
func (d *index) findHost(host string) *entry {
	if d == nil {
		return nil
	}
	return d.byHost[host]
}

func (s *Site) newEntry(p allswell.Page) *entry {
	e := &entry{id: p.ID, slug: p.Slug}
	e.topic = stream.NewTopic(func(ctx context.Context) (string, time.Time, error) { return s.state(ctx, e) })
	e.summary.Version, e.summary.Now = &e.version, s.now
	e.summary.Load = func(ctx context.Context) (*snapshot, time.Time, error) { return s.loadSnapshot(ctx, e) }
	e.summary.OnError = func(err error) { s.logError("loading a status page", e, err) }
	return e
}

// loadSnapshot loads a page and renders it once for its tag: a snapshot that
// cannot be rendered does not replace the one before. It expires by its age, and
// at midnight, when the days of the history move on.
func (s *Site) loadSnapshot(ctx context.Context, e *entry) (*snapshot, time.Time, error) {
	contents, err := s.store.LoadPage(ctx, e.slug)
	if err != nil {
		return nil, time.Time{}, err
	}
	if contents.Page.ID != e.id {
		return nil, time.Time{}, allswell.ErrNotFound // another page has the slug now
	}
	view.CleanNames(&contents)
	sum := contents.Summarize(contents.AsOf)
	snap := &snapshot{sum: sum, page: sum.Page, status: sum.Status, first: contents.Page.CreatedAt, badges: badge.NewSet(sum)}
	for _, inc := range contents.Incidents {
		if inc.CreatedAt.Before(snap.first) {
			snap.first = inc.CreatedAt
		}
	}
	snap.model = func(v view.Variant) view.Model {
		l := view.NewLayout(s.presentation(sum.Page, v), sum.Page, sum.Status, sum.AsOf)
		l.Follow(snap.tag)
		return view.Status(l, sum)
	}
	usual := view.Variant{Language: i18n.Or(sum.Page.Language), OwnDomain: sum.Page.Host != ""}
	if snap.tag, err = tagOf(ctx, snap.model(usual)); err != nil {
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

// lookUp returns the entry of a slug, or allswell.ErrNotFound. It uses the
// database only for an unknown slug, and only if something was committed since
// the index was loaded.
func (s *Site) lookUp(ctx context.Context, slug string) (*entry, error) {
	if !allswell.ValidSlug(slug) {
		return nil, allswell.ErrNotFound
	}
	if e := s.index.Last().find(slug); e != nil {
		return e, nil
	}
	d, err := s.index.Get(ctx)
	if e := d.find(slug); e != nil {
		return e, nil
	}
	if err != nil {
		return nil, err // the page may be newer than the index
	}
	return nil, allswell.ErrNotFound
}

// lookUpHost is lookUp for the host name of a page's own domain.
func (s *Site) lookUpHost(ctx context.Context, host string) (*entry, error) {
	if e := s.index.Last().findHost(host); e != nil {
		return e, nil
	}
	d, _ := s.index.Get(ctx) // an old index will do
	if e := d.findHost(host); e != nil {
		return e, nil
	}
	return nil, allswell.ErrNotFound
}

// snapshotOf returns the page under a slug. Like cache.Value.Get it may return an
// old snapshot together with an error.
func (s *Site) snapshotOf(ctx context.Context, slug string) (*entry, *snapshot, error) {
	return s.snapshotBy(ctx, func() (*entry, error) { return s.lookUp(ctx, slug) }, func(allswell.Page) bool { return true })
}

// snapshotBy is snapshotOf for the page that find returns. The index may be old:
// is reports whether the loaded page is still the one that is asked for.
func (s *Site) snapshotBy(ctx context.Context, find func() (*entry, error), is func(allswell.Page) bool) (*entry, *snapshot, error) {
	for range 3 {
		e, err := find()
		if err != nil {
			return nil, nil, err
		}
		snap, err := e.summary.Get(ctx)
		if !errors.Is(err, allswell.ErrNotFound) && (err != nil || is(snap.page)) {
			return e, snap, err
		}
		// The page was deleted, or its slug or domain has changed.
		s.changes.Add(1)
		if _, err := s.index.Get(ctx); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, allswell.ErrNotFound
}
