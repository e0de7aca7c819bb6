package page

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/allswell/allswell"
)

// serveHistory answers with one month of a page's incidents: ?month=2026-11,
// or this month. A month before the page's first or after this one is not
// there.
func (s *Site) serveHistory(w http.ResponseWriter, r *http.Request, slug string) {
	e, snap, err := s.snapshotOf(r.Context(), slug)
	if snap == nil {
		s.failFor(w, r, err)
		return
	}
	now := s.now().UTC()
	month := monthOfTime(now)
	if query := r.URL.Query(); query.Has("month") {
		month, err = time.Parse(monthForm, query.Get("month"))
		if err != nil || month.After(now) || month.Before(monthOfTime(snap.first)) {
			s.fail(w, r, http.StatusNotFound)
			return
		}
	}
	s.serveShelved(w, r, place{e, "history", month.Format(monthForm)},
		func(ctx context.Context) (*sheet, time.Time, error) { return s.loadHistory(ctx, e, month) })
}

// serveIncident answers with one incident and its full timeline.
func (s *Site) serveIncident(w http.ResponseWriter, r *http.Request, slug, id string) {
	e, err := s.lookUp(r.Context(), slug)
	if err == nil && !isUUID(id) {
		err = allswell.ErrNotFound
	}
	if err != nil {
		s.failFor(w, r, err)
		return
	}
	s.serveShelved(w, r, place{e, "incident", id},
		func(ctx context.Context) (*sheet, time.Time, error) { return s.loadIncident(ctx, e, id) })
}

// loadHistory is good until midnight, when a day begins.
func (s *Site) loadHistory(ctx context.Context, e *entry, month time.Time) (*sheet, time.Time, error) {
	snap, err := e.cell.get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	contents, err := s.store.LoadMonth(ctx, e.slug, month.Year(), month.Month())
	if err != nil {
		return nil, time.Time{}, err
	}
	now := s.now().UTC()
	sc := historyScreen(snap.page, snap.status, contents.Incidents, month, snap.first, now)
	sc.Frame.follow(snap.tag)
	sh, err := newSheet(sc)
	return sh, tomorrow(now), err
}

func (s *Site) loadIncident(ctx context.Context, e *entry, id string) (*sheet, time.Time, error) {
	snap, err := e.cell.get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	contents, err := s.store.LoadIncident(ctx, e.slug, id)
	if err != nil {
		return nil, time.Time{}, err
	}
	if contents.Page.ID != e.id {
		return nil, time.Time{}, allswell.ErrNotFound // another page has the slug now
	}
	sc := incidentScreen(contents.Page, snap.status, contents.Incidents[0], s.now())
	sc.Frame.follow(snap.tag)
	sh, err := newSheet(sc)
	return sh, time.Time{}, err
}

// serveShelved answers from the shelf. What is not there is made by at most
// maxLoads requests at a time, so that asking for incidents that never were
// cannot keep the database busy; the others wait as long as a stale page would.
func (s *Site) serveShelved(w http.ResponseWriter, r *http.Request, p place,
	load func(context.Context) (*sheet, time.Time, error)) {
	c := s.shelf.find(p)
	if c == nil {
		release, ok := s.admit(r.Context())
		if !ok {
			s.failFor(w, r, allswell.ErrBusy)
			return
		}
		defer release()
		c = s.shelf.begin(p, s.newShelved(p, load))
	}
	sh, err := c.get(r.Context())
	if sh == nil || errors.Is(err, allswell.ErrNotFound) {
		s.failFor(w, r, err)
		return
	}
	s.serveSheet(w, r, sh)
}

// newShelved returns a cell that takes its place on the shelf when it is made,
// and gives it back when there is nothing to show.
func (s *Site) newShelved(p place, load func(context.Context) (*sheet, time.Time, error)) *cell[sheet] {
	c := &cell[sheet]{gen: &p.entry.gen, now: s.now}
	c.make = func(ctx context.Context) (*sheet, time.Time, error) {
		sh, until, err := load(ctx)
		switch {
		case err == nil:
			s.shelf.put(p, c, sh.doc.size())
		case c.last() == nil, errors.Is(err, allswell.ErrNotFound):
			s.shelf.drop(p)
		}
		return sh, until, err
	}
	c.told = func(err error) { s.complain("a part of a status page could not be rendered", p.entry.slug, err) }
	return c
}

// admit waits for a place among the loads.
func (s *Site) admit(ctx context.Context) (release func(), ok bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s.loads <- struct{}{}:
		return func() { <-s.loads }, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, false
}

func monthOfTime(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
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
