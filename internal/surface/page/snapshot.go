package page

import (
	"context"
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/page/badge"
	"github.com/allswell/allswell/internal/surface/page/picture"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// snapshot is a page at one moment: what was loaded, and what its documents are rendered from.
type snapshot struct {
	model func(view.Variant) view.Model // of the status page

	tag      string // see tagOf
	until    time.Time
	sum      statuspage.Summary
	page     statuspage.Page
	severity kernel.Status // see statuspage.Summary
	first    time.Time     // when the page's history begins
	badges   badge.Set
	picture  picture.Picture
}

// The lifetime of a snapshot without a commit. Durations and uptimes change with time, and visitors watch the
// components that are not operational.
const (
	maxAge               = 10 * time.Minute
	maxAgeNonOperational = time.Minute
)

// lifetimeOf returns the lifetime of a snapshot of sum.
func lifetimeOf(sum statuspage.Summary) time.Duration {
	if len(sum.Active) > 0 {
		return maxAgeNonOperational
	}
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			if c.Status() != kernel.StatusOperational {
				return maxAgeNonOperational
			}
		}
	}
	return maxAge
}

// loadSnapshot loads a page and renders it once, for its tag: a snapshot that cannot be rendered does not replace the
// previous one. It expires after its lifetime, and at midnight, when a new day of the history begins, and when an
// announcement begins or ends.
func (s *Site) loadSnapshot(ctx context.Context, e *entry) (*snapshot, time.Time, error) {
	contents, err := s.store.LoadPage(ctx, e.slug)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !e.shows(contents.Page) {
		// the slug belongs to another page now, or the visibility has changed
		return nil, time.Time{}, kernel.ErrNotFound
	}
	view.CleanNames(&contents)
	sum := contents.Summarize(contents.AsOf)
	snap := &snapshot{
		sum: sum, page: sum.Page, severity: sum.Severity(), first: contents.Page.CreatedAt, badges: badge.NewSet(sum),
	}
	snap.picture = picture.New(sum, sum.Page.URL(s.base))
	for _, inc := range contents.Incidents {
		if inc.CreatedAt.Before(snap.first) {
			snap.first = inc.CreatedAt
		}
	}
	snap.model = func(v view.Variant) view.Model {
		return view.Status(s.partLayout(snap, sum.Page, v, sum.AsOf), sum)
	}
	usual := view.Variant{Language: i18n.Or(sum.Page.DefaultLanguage()), OwnDomain: sum.Page.Host != ""}
	if snap.tag, err = tagOf(ctx, snap.model(usual)); err != nil {
		return nil, time.Time{}, err
	}
	snap.until = contents.AsOf.Add(lifetimeOf(sum))
	if midnight := tomorrow(contents.AsOf, sum.Zone); midnight.Before(snap.until) {
		snap.until = midnight
	}
	change := statuspage.NextAnnouncementChange(contents.Announcements, contents.AsOf)
	if !change.IsZero() && change.Before(snap.until) {
		snap.until = change
	}
	return snap, snap.until, nil
}

// tomorrow returns when the day of now ends.
func tomorrow(now time.Time, zone *time.Location) time.Time {
	return statuspage.AddDays(statuspage.Midnight(now, zone), 1)
}

// snapshotOf returns the page under a slug. Like cache.Value.Get it may return an old snapshot together with an error.
func (s *Site) snapshotOf(ctx context.Context, slug string) (*entry, *snapshot, error) {
	return s.snapshotBy(ctx, func() (*entry, error) {
		return s.lookUp(ctx, slug)
	}, func(statuspage.Page) bool { return true })
}

// snapshotBy is snapshotOf for the page that find returns. Because the index may be outdated, matches reports whether
// the loaded page is still the requested one.
func (s *Site) snapshotBy(
	ctx context.Context, find func() (*entry, error), matches func(statuspage.Page) bool,
) (*entry, *snapshot, error) {
	for range 3 {
		e, err := find()
		if err != nil {
			return nil, nil, err
		}
		snap, err := e.snapshot.Get(ctx)
		if !errors.Is(err, kernel.ErrNotFound) && (err != nil || matches(snap.page)) {
			return e, snap, err
		}
		// The page was deleted, or its slug or domain has changed.
		s.changes.Add(1)
		if _, err := s.index.Get(ctx); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, kernel.ErrNotFound
}

const (
	// refreshWait is how long a change waits, before it is acknowledged, for its pages to be loaded. It is longer than
	// cache.WaitTimeout, after which a load continues while nobody waits for it.
	refreshWait = cache.WaitTimeout + 250*time.Millisecond

	// maxRefreshes is how many pages are loaded at the same time because of changes. Further ones wait, so that scripts
	// that change many pages leave processors and connections to pings and visitors. Workspaces take turns.
	maxRefreshes = 1
)

// refresh reloads the pages that are in memory, and the list of pages. It is called after a change is committed and
// before it is acknowledged, so that this replica shows the change even if the database becomes unavailable. If a page
// is not loaded within refreshWait, the change is acknowledged anyway.
//
// No matter how many changes of one page wait, it is loaded at most twice for them: by the load that began before they
// were committed, and by the next one.
func (s *Site) refresh(ctx context.Context, pageIDs []string) {
	idx := s.index.Last()
	if idx == nil {
		return
	}
	var loaded []string
	for _, id := range pageIDs {
		if e := idx.byID[id]; e != nil && e.snapshot.Last() != nil {
			loaded = append(loaded, id)
		}
	}
	if len(loaded) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	release, ok := s.refreshes.Within(ctx, refreshWait, fair.Workspace(idx.byID[loaded[0]].workspace))
	if !ok {
		return
	}
	defer release()
	for _, id := range loaded {
		// Errors are logged by OnError. A page that was deleted, or whose slug has changed, leaves the index.
		_, _, _ = s.snapshotBy(ctx, func() (*entry, error) {
			if e := s.index.Last().byID[id]; e != nil {
				return e, nil
			}
			return nil, kernel.ErrNotFound
		}, func(statuspage.Page) bool { return true })
	}
	if s.list.Last() != nil {
		_, _ = s.list.Get(ctx)
	}
}
