package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/cache"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/view"
)

// serveHistory answers with one month of a page's incidents: ?month=2026-11,
// or this month. A month before the page's first or after this one is not
// there.
func (s *Site) serveHistory(w http.ResponseWriter, r *http.Request, v visit) {
	now, zone := s.now(), v.snap.sum.Zone
	start := view.MonthStart(now, zone)
	if query := r.URL.Query(); query.Has("month") {
		month, err := time.ParseInLocation(view.MonthFormat, query.Get("month"), zone)
		start = view.MonthStart(month.Add(12*time.Hour), zone) // which is in the month, wherever midnight is
		if err != nil || start.After(now) || start.Before(view.MonthStart(v.snap.first, zone)) {
			s.failAt(w, r, v, http.StatusNotFound)
			return
		}
	}
	e, f := v.entry, v.variant
	s.servePart(w, r, v, key{entry: e, kind: "history", name: start.Format(view.MonthFormat), variant: f},
		func(ctx context.Context) (*renderedPage, time.Time, error) { return s.loadHistory(ctx, e, f, start) })
}

// serveIncident answers with one incident and a part of its timeline: the newest,
// or the one that ?before= asks for.
func (s *Site) serveIncident(w http.ResponseWriter, r *http.Request, v visit, id string) {
	before, ok := beforeOf(r)
	if !ok || !isUUID(id) {
		s.failAt(w, r, v, http.StatusNotFound)
		return
	}
	e, f := v.entry, v.variant
	s.servePart(w, r, v, key{entry: e, kind: "incident", name: id, before: before, variant: f},
		func(ctx context.Context) (*renderedPage, time.Time, error) {
			return s.loadIncident(ctx, e, f, id, before)
		})
}

// loadHistory loads the month that in begins, by whichever clock. It is good
// until midnight, when a day begins.
func (s *Site) loadHistory(ctx context.Context, e *entry, f view.Variant, in time.Time) (*renderedPage, time.Time, error) {
	snap, contents, err := e.load(ctx, func(slug string) (allswell.PageContents, error) {
		return s.store.LoadMonth(ctx, slug, in.Year(), in.Month())
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	now, zone := s.now(), contents.Page.Location() // which may be another than when the month was asked for
	start := allswell.Midnight(time.Date(in.Year(), in.Month(), 1, 12, 0, 0, 0, zone), zone)
	m := view.Month{Start: start, First: snap.first, Now: now, Contents: contents}
	sh, err := newRenderedPage(ctx, view.History(s.partLayout(snap, contents.Page, f), m))
	return sh, tomorrow(now, zone), err
}

func (s *Site) loadIncident(ctx context.Context, e *entry, f view.Variant, id string, before int) (*renderedPage, time.Time, error) {
	snap, contents, err := e.load(ctx, func(slug string) (allswell.PageContents, error) {
		return s.store.LoadIncident(ctx, slug, id, before)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	inc := contents.Incidents[0]
	if n := len(inc.Updates); before > 0 && (n == 0 || inc.Updates[n-1].Number != before-1) {
		return nil, time.Time{}, allswell.ErrNotFound
	}
	part := view.TimelinePart{Before: before, Max: store.TimelinePageSize}
	sh, err := newRenderedPage(ctx, view.Incident(s.partLayout(snap, contents.Page, f), asActive(snap.sum, inc), part))
	return sh, time.Time{}, err
}

// partLayout returns the layout of a part of a page that was loaded just now.
func (s *Site) partLayout(snap *snapshot, page allswell.Page, v view.Variant) view.Layout {
	l := view.NewLayout(s.presentation(page, v), page, snap.status, s.now())
	l.Follow(snap.tag)
	return l
}

// asActive returns an incident with the statuses that its components have now, if
// it is active.
func asActive(sum allswell.Summary, inc allswell.Incident) allswell.Incident {
	for _, active := range sum.Active {
		if active.ID == inc.ID {
			inc.Affected = active.Affected
		}
	}
	return inc
}

// load returns the page's snapshot and what a part of it is made of. It is
// allswell.ErrNotFound if another page has the slug now.
func (e *entry) load(ctx context.Context, part func(slug string) (allswell.PageContents, error)) (*snapshot, allswell.PageContents, error) {
	snap, err := e.summary.Get(ctx)
	if err != nil {
		return nil, allswell.PageContents{}, err
	}
	contents, err := part(e.slug)
	if err == nil && contents.Page.ID != e.id {
		err = allswell.ErrNotFound
	}
	view.CleanNames(&contents)
	return snap, contents, err
}

// servePart answers with a part of a page that is loaded from the store; see
// loadRendered. A client that has asked for too much that does not exist gets
// only what is in memory.
func (s *Site) servePart(w http.ResponseWriter, r *http.Request, v visit, k key, load cache.Loader[*renderedPage]) {
	if !s.rendered.Contains(k) && s.guesses.over(r) {
		s.failForAt(w, r, v, errTooManyGuesses)
		return
	}
	sh, err := loadRendered(r.Context(), s, k, load)
	if errors.Is(err, allswell.ErrNotFound) {
		err = s.guesses.missed(r)
	}
	if err != nil {
		s.failForAt(w, r, v, err)
		return
	}
	s.serveSheet(w, r, k, sh)
}

// isUUID reports whether id has the form of an incident's id.
func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// serveMaintenance answers with one planned maintenance and a part of its
// timeline: the newest, or the one that ?before= asks for.
func (s *Site) serveMaintenance(w http.ResponseWriter, r *http.Request, v visit, id string) {
	before, ok := beforeOf(r)
	if !ok || !isMaintenanceID(id) {
		s.failAt(w, r, v, http.StatusNotFound)
		return
	}
	e, f := v.entry, v.variant
	s.servePart(w, r, v, key{entry: e, kind: "maintenance", name: id, before: before, variant: f},
		func(ctx context.Context) (*renderedPage, time.Time, error) {
			return s.loadMaintenance(ctx, e, f, id, before)
		})
}

func (s *Site) loadMaintenance(ctx context.Context, e *entry, f view.Variant, id string, before int) (*renderedPage, time.Time, error) {
	snap, contents, err := e.load(ctx, func(slug string) (allswell.PageContents, error) {
		return s.store.LoadMaintenance(ctx, slug, id, before)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	m := contents.Maintenances[0]
	if n := len(m.Updates); before > 0 && (n == 0 || m.Updates[n-1].Number != before-1) {
		return nil, time.Time{}, allswell.ErrNotFound
	}
	part := view.TimelinePart{Before: before, Max: store.TimelinePageSize}
	sh, err := newRenderedPage(ctx, view.Maintenance(s.partLayout(snap, contents.Page, f), m, part))
	return sh, time.Time{}, err
}

// isMaintenanceID reports whether id has the form of a maintenance's id, which
// is that of all ids after their prefix.
func isMaintenanceID(id string) bool {
	rest, ok := strings.CutPrefix(id, allswell.PrefixMaintenance)
	return ok && isComponentID(allswell.PrefixComponent+rest)
}

// serveComponent answers with one component and its history.
func (s *Site) serveComponent(w http.ResponseWriter, r *http.Request, v visit, id string) {
	if !isComponentID(id) {
		s.failAt(w, r, v, http.StatusNotFound)
		return
	}
	e, f := v.entry, v.variant
	s.servePart(w, r, v, key{entry: e, kind: "component", name: id, variant: f},
		func(ctx context.Context) (*renderedPage, time.Time, error) { return s.loadComponent(ctx, e, f, id) })
}

// loadComponent is good for as long as the snapshot that it is made of.
func (s *Site) loadComponent(ctx context.Context, e *entry, f view.Variant, id string) (*renderedPage, time.Time, error) {
	snap, err := e.summary.Get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	c, ok := componentOf(snap.sum, id)
	if !ok {
		return nil, time.Time{}, allswell.ErrNotFound
	}
	contents, err := s.store.LoadNewest(ctx, e.slug, id)
	if err != nil {
		return nil, time.Time{}, err
	}
	if contents.Page.ID != e.id {
		return nil, time.Time{}, allswell.ErrNotFound // another page has the slug now
	}
	view.CleanNames(&contents)
	l := view.NewLayout(s.presentation(snap.page, f), snap.page, snap.status, snap.sum.AsOf)
	l.Follow(snap.tag)
	sh, err := newRenderedPage(ctx, view.Component(l, snap.sum, c, contents))
	return sh, snap.until, err
}

// componentOf returns a component of a summary.
func componentOf(sum allswell.Summary, id string) (allswell.Component, bool) {
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			if c.ID == id {
				return c, true
			}
		}
	}
	return allswell.Component{}, false
}

// maxBefore is more than a timeline has updates: what people can add, and what
// the service adds by itself.
const maxBefore = 9_999

// beforeOf returns the part of a timeline that a request asks for; 0: the newest.
// It reports false for one that cannot be there: the number of an update is
// written in one way, so that each part has one address.
func beforeOf(r *http.Request) (before int, ok bool) {
	query := r.URL.Query()
	if !query.Has(view.BeforeParam) {
		return 0, true
	}
	text := query.Get(view.BeforeParam)
	before, err := strconv.Atoi(text)
	return before, err == nil && before > 1 && before <= maxBefore && strconv.Itoa(before) == text
}
