package page

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/cache"
	"github.com/allswell/allswell/internal/stream"
)

// index has all status pages. It is immutable.
type index struct {
	entries []*entry // in the order of the store
	bySlug  map[string]*entry
	byID    map[string]*entry
	byHost  map[string]*entry // pages with their own domain
}

// entry is one page under one slug. A page whose slug changes gets a new entry.
type entry struct {
	id, slug string
	version  atomic.Uint64 // increases with each commit that changed the page
	snapshot cache.Value[*snapshot]
	topic    *stream.Topic // of its event streams
}

// loadIndex loads the index. Pages that keep their slugs keep their entries, and
// with them their snapshots.
func (s *Site) loadIndex(ctx context.Context) (*index, time.Time, error) {
	pages, err := s.store.PublicPages(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	old := s.index.Last()
	idx := &index{bySlug: make(map[string]*entry, len(pages)), byID: make(map[string]*entry, len(pages)), byHost: make(map[string]*entry)}
	for _, p := range pages {
		e := old.find(p.Slug)
		if e == nil || e.id != p.ID {
			e = s.newEntry(p)
		}
		idx.entries = append(idx.entries, e)
		idx.bySlug[p.Slug], idx.byID[p.ID] = e, e
		if p.Host != "" {
			idx.byHost[p.Host] = e
		}
	}
	return idx, time.Time{}, nil
}

// find returns the entry of a slug, or nil. A nil index has none.
func (idx *index) find(slug string) *entry {
	if idx == nil {
		return nil
	}
	return idx.bySlug[slug]
}

// findHost returns the entry of a page's own domain, or nil. A nil index has none.
func (idx *index) findHost(host string) *entry {
	if idx == nil {
		return nil
	}
	return idx.byHost[host]
}

func (s *Site) newEntry(p allswell.Page) *entry {
	e := &entry{id: p.ID, slug: p.Slug}
	e.topic = stream.NewTopic(func(ctx context.Context) (string, time.Time, error) { return s.currentTag(ctx, e) })
	e.snapshot.Version, e.snapshot.Now = &e.version, s.now
	e.snapshot.Load = func(ctx context.Context) (*snapshot, time.Time, error) { return s.loadSnapshot(ctx, e) }
	e.snapshot.OnError = func(err error) { s.logError("loading a status page", e, err) }
	return e
}

// lookUp returns the entry of a slug, or allswell.ErrNotFound. It queries the
// database only for an unknown slug, and only if there was a commit since the index
// was loaded.
func (s *Site) lookUp(ctx context.Context, slug string) (*entry, error) {
	if !allswell.ValidSlug(slug) {
		return nil, allswell.ErrNotFound
	}
	if e := s.index.Last().find(slug); e != nil {
		return e, nil
	}
	idx, err := s.index.Get(ctx)
	if e := idx.find(slug); e != nil {
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
	idx, _ := s.index.Get(ctx) // after an error, the old index is used
	if e := idx.findHost(host); e != nil {
		return e, nil
	}
	return nil, allswell.ErrNotFound
}

// ServesHost reports whether a page is served at its own domain, host.
func (s *Site) ServesHost(ctx context.Context, host string) bool {
	_, err := s.lookUpHost(ctx, host)
	return err == nil
}
