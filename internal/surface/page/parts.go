package page

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/checkchart"
	"github.com/allswell/allswell/internal/surface/page/picture"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// The forms of ids in paths. A path with another id gets 404 without a query.
var (
	incidentID    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	maintenanceID = regexp.MustCompile("^" + kernel.PrefixMaintenance + "[0-9a-v]{20}$")
	componentID   = regexp.MustCompile("^" + kernel.PrefixComponent + "[0-9a-v]{20}$")
)

// servePart answers with a part of a page that load loads from the store; see loadRendered. Above the limit of requests
// for what does not exist, a client gets only what is in memory.
func (s *Site) servePart(w http.ResponseWriter, r *http.Request, req pageRequest, k key, load partLoader) {
	if !s.rendered.Contains(k) && s.notFound.exceeded(r) {
		s.failForAt(w, r, req, errTooManyNotFound)
		return
	}
	page, err := loadRendered(r.Context(), s, k, func(ctx context.Context) (*renderedPage, time.Time, error) {
		return load(ctx, k)
	})
	if errors.Is(err, kernel.ErrNotFound) {
		err = s.notFound.take(r)
	}
	if err != nil {
		s.failForAt(w, r, req, err)
		return
	}
	s.servePage(w, r, k, page)
}

// partLoader loads and renders the part of a page that a key names.
type partLoader func(ctx context.Context, k key) (page *renderedPage, expires time.Time, err error)

// loadPart returns a page's snapshot, and the contents of a part of it that load loads from the store. The error is
// kernel.ErrNotFound if the slug now belongs to another page, or if the page's visibility has changed.
func (e *entry) loadPart(
	ctx context.Context, load func(*snapshot) (statuspage.PageContents, error),
) (*snapshot, statuspage.PageContents, error) {
	snap, err := e.snapshot.Get(ctx)
	if err != nil {
		return nil, statuspage.PageContents{}, err
	}
	contents, err := load(snap)
	if err == nil && !e.shows(contents.Page) {
		err = kernel.ErrNotFound
	}
	view.CleanNames(&contents)
	return snap, contents, err
}

// partLayout returns the layout of a part of a page.
func (s *Site) partLayout(snap *snapshot, page statuspage.Page, v view.Variant, asOf time.Time) view.Layout {
	l := view.NewLayout(s.presentation(page, v), page, snap.severity, asOf)
	l.Follow(snap.tag)
	l.Picture = l.At.Public + "/" + picture.Name + "?v=" + snap.picture.Version()
	return l
}

// serveHistory answers with one month of a page's incidents: ?month=2026-11, or the
// current month. A month before the first of the page, or in the future, gets 404.
func (s *Site) serveHistory(w http.ResponseWriter, r *http.Request, req pageRequest) {
	now, zone := s.now(), req.snap.sum.Zone
	start := view.MonthStart(now, zone)
	if query := r.URL.Query(); query.Has("month") {
		month, err := time.ParseInLocation(view.MonthFormat, query.Get("month"), zone)
		start = view.MonthStart(month.Add(12*time.Hour), zone) // midnight may not exist in the zone
		if err != nil || start.After(now) || start.Before(view.MonthStart(req.snap.first, zone)) {
			s.failAt(w, r, req, http.StatusNotFound)
			return
		}
	}
	k := key{entry: req.entry, kind: "history", name: start.Format(view.MonthFormat), variant: req.variant}
	s.servePart(w, r, req, k, s.loadHistory)
}

// loadHistory loads the month that k names. It expires at midnight, when a day begins.
func (s *Site) loadHistory(ctx context.Context, k key) (*renderedPage, time.Time, error) {
	month, err := time.Parse(view.MonthFormat, k.name)
	if err != nil {
		return nil, time.Time{}, kernel.ErrNotFound
	}
	snap, contents, err := k.entry.loadPart(ctx, func(*snapshot) (statuspage.PageContents, error) {
		return s.store.LoadMonth(ctx, k.entry.slug, month.Year(), month.Month())
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	now, zone := s.now(), contents.Page.Location() // the zone may have changed since the request
	m := view.Month{
		Start: view.MonthStart(time.Date(month.Year(), month.Month(), 1, 12, 0, 0, 0, zone), zone),
		First: snap.first, Now: now, Contents: contents,
	}
	page, err := newRenderedPage(ctx, view.History(s.partLayout(snap, contents.Page, k.variant, now), m))
	return page, tomorrow(now, zone), err
}

// serveIncident answers with one incident and a part of its timeline: the newest, or the part that ?before= asks for.
func (s *Site) serveIncident(w http.ResponseWriter, r *http.Request, req pageRequest, id string) {
	s.serveTimeline(w, r, req, id, timeline{kind: "incident", id: incidentID, load: s.loadIncident})
}

// timeline is a kind of objects that have a timeline.
type timeline struct {
	kind string         // of the keys of rendered pages
	id   *regexp.Regexp // matches their ids
	load partLoader
}

// serveTimeline answers with the part that ?before= asks for of the timeline of an object.
func (s *Site) serveTimeline(w http.ResponseWriter, r *http.Request, req pageRequest, id string, t timeline) {
	before, ok := parseBefore(r)
	if !ok || !t.id.MatchString(id) {
		s.failAt(w, r, req, http.StatusNotFound)
		return
	}
	s.servePart(w, r, req, key{entry: req.entry, variant: req.variant, kind: t.kind, name: id, before: before}, t.load)
}

func (s *Site) loadIncident(ctx context.Context, k key) (*renderedPage, time.Time, error) {
	snap, contents, err := k.entry.loadPart(ctx, func(*snapshot) (statuspage.PageContents, error) {
		return s.store.LoadIncident(ctx, k.entry.slug, k.name, k.before)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	inc := contents.Incidents[0]
	if n := len(inc.Updates); k.before > 0 && (n == 0 || inc.Updates[n-1].Number != k.before-1) {
		return nil, time.Time{}, kernel.ErrNotFound
	}
	for _, active := range snap.sum.Active {
		if active.ID == inc.ID {
			inc.Affected = active.Affected // with the current statuses of the components
		}
	}
	l := s.partLayout(snap, contents.Page, k.variant, s.now())
	page, err := newRenderedPage(ctx, view.Incident(l, inc, k.timelinePart()))
	return page, time.Time{}, err
}

// serveMaintenance is serveIncident for a planned maintenance.
func (s *Site) serveMaintenance(w http.ResponseWriter, r *http.Request, req pageRequest, id string) {
	s.serveTimeline(w, r, req, id, timeline{kind: "maintenance", id: maintenanceID, load: s.loadMaintenance})
}

func (s *Site) loadMaintenance(ctx context.Context, k key) (*renderedPage, time.Time, error) {
	snap, contents, err := k.entry.loadPart(ctx, func(*snapshot) (statuspage.PageContents, error) {
		return s.store.LoadMaintenance(ctx, k.entry.slug, k.name, k.before)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	m := contents.Maintenances[0]
	if n := len(m.Updates); k.before > 0 && (n == 0 || m.Updates[n-1].Number != k.before-1) {
		return nil, time.Time{}, kernel.ErrNotFound
	}
	l := s.partLayout(snap, contents.Page, k.variant, s.now())
	page, err := newRenderedPage(ctx, view.Maintenance(l, m, k.timelinePart()))
	return page, time.Time{}, err
}

// timelinePart returns the part of a timeline that k names.
func (k key) timelinePart() view.TimelinePart {
	return view.TimelinePart{Before: k.before, Max: store.TimelinePageSize}
}

// maxBefore exceeds the number of updates that a timeline can have, including automatic ones.
const maxBefore = 9_999

// parseBefore returns the value of ?before=, or 0 if there is none. ok is false for a value that cannot exist. A number
// has one valid spelling, so that each part of a timeline has one URL.
func parseBefore(r *http.Request) (before int, ok bool) {
	query := r.URL.Query()
	if !query.Has(view.BeforeParam) {
		return 0, true
	}
	text := query.Get(view.BeforeParam)
	before, err := strconv.Atoi(text)
	return before, err == nil && before > 1 && before <= maxBefore && strconv.Itoa(before) == text
}

// serveComponent answers with one component and its history.
func (s *Site) serveComponent(w http.ResponseWriter, r *http.Request, req pageRequest, id string) {
	if !componentID.MatchString(id) {
		s.failAt(w, r, req, http.StatusNotFound)
		return
	}
	s.servePart(w, r, req, key{entry: req.entry, kind: "component", name: id, variant: req.variant}, s.loadComponent)
}

// loadComponent loads the component that k names. It expires with the snapshot of its page.
func (s *Site) loadComponent(ctx context.Context, k key) (*renderedPage, time.Time, error) {
	var c statuspage.Component
	snap, contents, err := k.entry.loadPart(ctx, func(snap *snapshot) (statuspage.PageContents, error) {
		var ok bool
		if c, ok = componentOf(snap.sum, k.name); !ok {
			return statuspage.PageContents{}, kernel.ErrNotFound
		}
		return s.store.LoadNewest(ctx, k.entry.slug, k.name)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	times, until, err := s.responseTimes(ctx, snap, c)
	if err != nil {
		return nil, time.Time{}, err
	}
	l := s.partLayout(snap, snap.page, k.variant, snap.sum.AsOf)
	page, err := newRenderedPage(ctx, view.Component(l, snap.sum, c, contents, times))
	return page, until, err
}

// The response times of a component that visitors see.
const (
	timesSpan     = 24 * time.Hour
	timesStep     = 30 * time.Minute
	timesLifetime = 5 * time.Minute // for which they are shown before they are loaded again
)

// responseTimes returns the chart of a component's response times, and until when it may be shown. It is nil if the
// page does not show them, or if no check belongs to the component.
func (s *Site) responseTimes(
	ctx context.Context, snap *snapshot, c statuspage.Component,
) (chart *checkchart.Chart, until time.Time, err error) {
	until = snap.until
	if !snap.page.ResponseTimes {
		return nil, until, nil
	}
	now, err := s.store.Clock(ctx)
	if err != nil {
		return nil, until, err
	}
	to := now.Truncate(timesStep).Add(timesStep)
	periods, checked, err := s.store.ComponentStatistics(ctx, c.ID, store.StatisticsRange{
		From: to.Add(-timesSpan), To: to, Step: timesStep,
	})
	if err != nil || !checked {
		return nil, until, err
	}
	if end := now.Add(timesLifetime); end.Before(until) {
		until = end
	}
	return checkchart.New(to.Add(-timesSpan), to, timesStep, periods), until, nil
}

// componentOf returns a component of a summary.
func componentOf(sum statuspage.Summary, id string) (statuspage.Component, bool) {
	for _, block := range sum.Blocks {
		for _, c := range block.Components {
			if c.ID == id {
				return c, true
			}
		}
	}
	return statuspage.Component{}, false
}
