package page

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/cache"
)

// serveHistory answers with one month of a page's incidents: ?month=2026-11,
// or this month. A month before the page's first or after this one is not
// there.
func (s *Site) serveHistory(w http.ResponseWriter, r *http.Request, v visit) {
	now, zone := s.now(), v.snap.sum.Zone
	start := monthOf(now, zone)
	if query := r.URL.Query(); query.Has("month") {
		month, err := time.ParseInLocation(monthForm, query.Get("month"), zone)
		start = monthOf(month.Add(12*time.Hour), zone) // which is in the month, wherever midnight is
		if err != nil || start.After(now) || start.Before(monthOf(v.snap.first, zone)) {
			s.failAt(w, r, v, http.StatusNotFound)
			return
		}
	}
	e, f := v.entry, v.variant
	s.servePart(w, r, v, key{entry: e, kind: "history", name: start.Format(monthForm), variant: f},
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
	s.servePart(w, r, v, key{entry: e, kind: "incident", name: timelinePath(id, before), variant: f},
		func(ctx context.Context) (*renderedPage, time.Time, error) {
			return s.loadIncident(ctx, e, f, id, before)
		})
}

// loadHistory loads the month that in begins, by whichever clock. It is good
// until midnight, when a day begins.
func (s *Site) loadHistory(ctx context.Context, e *entry, f variant, in time.Time) (*renderedPage, time.Time, error) {
	snap, contents, err := e.load(ctx, func(slug string) (allswell.PageContents, error) {
		return s.store.LoadMonth(ctx, slug, in.Year(), in.Month())
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	now, zone := s.now(), contents.Page.Location() // which may be another than when the month was asked for
	start := allswell.Midnight(time.Date(in.Year(), in.Month(), 1, 12, 0, 0, 0, zone), zone)
	m := month{start: start, first: snap.first, now: now, contents: contents}
	sc := historyScreen(s.presentationOf(contents.Page, f), contents.Page, snap.status, m)
	sc.Layout.follow(snap.tag)
	sh, err := newRenderedPage(ctx, sc)
	return sh, tomorrow(now, zone), err
}

func (s *Site) loadIncident(ctx context.Context, e *entry, f variant, id string, before int) (*renderedPage, time.Time, error) {
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
	sc := incidentScreen(s.presentationOf(contents.Page, f), contents.Page, snap.status, incidentPart{asActive(snap.sum, inc), before}, s.now())
	sc.Layout.follow(snap.tag)
	sh, err := newRenderedPage(ctx, sc)
	return sh, time.Time{}, err
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
	cleanNames(&contents)
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
