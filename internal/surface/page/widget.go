package page

import (
	"context"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/web"
)

// refreshWidget makes a widget load itself again after a minute, without a script.
var refreshWidget = []string{"60"}

// serveWidget answers with the state of a page for a frame on any site, or with the script that adds the frame. Private
// pages have no widget.
func (s *Site) serveWidget(w http.ResponseWriter, r *http.Request, req pageRequest) {
	switch {
	case req.snap.page.Visibility == statuspage.VisibilityPrivate:
		s.failAt(w, r, req, http.StatusNotFound)
		return
	case req.part == view.WidgetScriptName:
		serveCrossOrigin(w, r, assets.WidgetScript())
		return
	}
	_, late := s.late()
	e, k := req.entry, key{entry: req.entry, kind: view.WidgetName, variant: req.variant}
	if late {
		k.name = "late"
	}
	doc, err := getRendered(r.Context(), s, k, &e.snapshot.Loads,
		func(context.Context) (*web.Document, time.Time, error) {
			snap := e.snapshot.Last()
			html, style, err := view.Widget(s.presentation(snap.page, k.variant), snap.sum, late)
			return web.NewDocument(html, web.DocumentHeader{
				ContentType: typeHTML, CacheControl: web.CacheRevalidate, Policy: web.PolicyWidget.WithStyle(style),
				ByLanguage: true,
			}), time.Time{}, err
		})
	if err != nil {
		s.failForAt(w, r, req, err)
		return
	}
	w.Header()["Refresh"] = refreshWidget
	serveCrossOrigin(w, r, doc)
}
