package page

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/allswell/allswell/internal/surface/page/stream"
)

// index has all status pages. It is immutable.
type index struct {
	visible, private directory
	entries          []*entry // of visible pages, in the order of the store
	byID             map[string]*entry
}

// directory finds pages by their addresses.
type directory struct {
	bySlug map[string]*entry
	byHost map[string]*entry // pages with their own domain
}

// entry is one page with one slug, which is either visible or private with fixed access settings. If one of these
// changes, the page gets a new entry, and with it a new topic and new cache keys, so that nothing rendered before the
// change is served.
type entry struct {
	id, slug, workspace string
	private             bool
	access              statuspage.PageAccess // of a private page
	withdrawn           atomic.Bool           // the page was made private; see Site.withdraw
	version             atomic.Uint64         // increases with each commit that changed the page
	snapshot            cache.Value[*snapshot]
	topic               *stream.Topic // of its event streams
}

// shows reports whether the entry matches a page as it was loaded.
func (e *entry) shows(p statuspage.Page) bool {
	return e.id == p.ID && e.slug == p.Slug && e.private == (p.Visibility == statuspage.VisibilityPrivate) &&
		(!e.private || e.access.Equal(p.Access))
}

// loadIndex loads the index. Pages whose slug, visibility and access settings are unchanged keep their entries, and
// with them their snapshots.
func (s *Site) loadIndex(ctx context.Context) (*index, time.Time, error) {
	pages, err := s.store.PublicPages(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	old := s.index.Last()
	idx := &index{
		visible: newDirectory(len(pages)), private: newDirectory(0), byID: make(map[string]*entry, len(pages)),
	}
	for _, p := range pages {
		var e *entry
		if old != nil {
			e = old.byID[p.ID]
		}
		if e == nil || !e.shows(p) || e.withdrawn.Load() && !e.private {
			e = s.newEntry(p)
		}
		idx.byID[p.ID] = e
		in := idx.visible
		if e.private {
			in = idx.private
		} else {
			idx.entries = append(idx.entries, e)
		}
		in.bySlug[p.Slug] = e
		if p.Host != "" {
			in.byHost[p.Host] = e
		}
	}
	return idx, time.Time{}, nil
}

func newDirectory(pages int) directory {
	return directory{bySlug: make(map[string]*entry, pages), byHost: make(map[string]*entry)}
}

// find returns the entry of the visible page with a slug, or nil. A nil index has none.
func (idx *index) find(slug string) *entry {
	if idx == nil {
		return nil
	}
	return idx.visible.bySlug[slug].unlessWithdrawn()
}

// findHost returns the entry of the visible page whose domain is host, or nil. A nil index has none.
func (idx *index) findHost(host string) *entry {
	if idx == nil {
		return nil
	}
	return idx.visible.byHost[host].unlessWithdrawn()
}

// workspaceOf returns the workspace of the page, visible or private, whose domain is host. A nil index has none.
func (idx *index) workspaceOf(host string) (id string, found bool) {
	if idx == nil {
		return "", false
	}
	if e := cmp.Or(idx.visible.byHost[host], idx.private.byHost[host]); e != nil {
		return e.workspace, true
	}
	return "", false
}

func (e *entry) unlessWithdrawn() *entry {
	if e == nil || e.withdrawn.Load() {
		return nil
	}
	return e
}

// current reports whether the entry is in the index. A nil index has none.
func (idx *index) current(e *entry) bool {
	return idx != nil && idx.byID[e.id] == e && e.unlessWithdrawn() != nil
}

func (s *Site) newEntry(p statuspage.Page) *entry {
	e := &entry{
		id: p.ID, slug: p.Slug, workspace: p.WorkspaceID, private: p.Visibility == statuspage.VisibilityPrivate,
		access: p.Access,
	}
	e.topic = stream.NewTopic(func(ctx context.Context) (string, time.Time, error) { return s.currentTag(ctx, e) })
	e.snapshot.Version, e.snapshot.Now = &e.version, s.now
	e.snapshot.Load = func(ctx context.Context) (*snapshot, time.Time, error) { return s.loadSnapshot(ctx, e) }
	e.snapshot.OnError = func(err error) { s.logError("loading a status page", e, err) }
	return e
}

// lookUp returns the entry of the visible page with a slug, or kernel.ErrNotFound. It queries the database only for an
// unknown slug, and only if there was a commit since the index was loaded.
func (s *Site) lookUp(ctx context.Context, slug string) (*entry, error) {
	if !kernel.ValidSlug(slug) {
		return nil, kernel.ErrNotFound
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
	return nil, kernel.ErrNotFound
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
	return nil, kernel.ErrNotFound
}

// WorkspaceOf returns the workspace of the page, visible or private, whose domain is host. A TLS handshake carries no
// token, so private pages are included. For an unknown host it asks the database whether another replica has changed a
// page, at most maxHostLookups times a second: the certificate authority may ask this replica about a domain
// immediately, and does not ask again.
func (s *Site) WorkspaceOf(ctx context.Context, host string) (workspaceID string, found bool) {
	if id, found := s.index.Last().workspaceOf(host); found {
		return id, true
	}
	idx, _ := s.index.Get(ctx) // after an error, the old index is used
	if id, found := idx.workspaceOf(host); found || !s.hostLookups.Take("", s.now()).Allowed {
		return id, found
	}
	lookup, cancel := context.WithTimeout(ctx, cache.WaitTimeout)
	defer cancel()
	if err := s.store.ReadPageChanges(lookup, s.markStale); err != nil {
		return "", false
	}
	idx, _ = s.index.Get(ctx)
	return idx.workspaceOf(host)
}
