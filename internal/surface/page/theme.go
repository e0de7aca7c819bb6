package page

import (
	"context"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/cache"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/web"
)

// serveTheme answers with a style sheet or an image of the page. Their names change with their contents, so clients
// cache them for good.
func (s *Site) serveTheme(w http.ResponseWriter, r *http.Request, req pageRequest, name string) {
	var load cache.Loader[*web.Document]
	switch page := req.snap.page; name {
	case "": // a page without an image or style sheet has an empty name for it
	case assets.AccentName(page.Accent):
		accent := page.Accent
		load = func(context.Context) (*web.Document, time.Time, error) {
			return assets.AccentDocument(accent), time.Time{}, nil
		}
	case page.CustomCSSName():
		css := page.CustomCSS
		load = func(context.Context) (*web.Document, time.Time, error) {
			h := web.DocumentHeader{
				ContentType: "text/css; charset=utf-8", CacheControl: web.CacheForever,
				Policy: web.PolicyPage(web.PageContent{}),
			}
			return web.NewDocument([]byte(css), h), time.Time{}, nil
		}
	case page.Logo:
		load = s.loadImage(req.entry, statuspage.ImageLogo, name)
	case page.LogoDark:
		load = s.loadImage(req.entry, statuspage.ImageLogoDark, name)
	case page.Icon:
		load = s.loadImage(req.entry, statuspage.ImageIcon, name)
	}
	if load == nil {
		s.failAt(w, r, req, http.StatusNotFound)
		return
	}
	doc, err := loadRendered(r.Context(), s, key{entry: req.entry, kind: "theme", name: name}, load)
	if err != nil {
		s.failForAt(w, r, req, err)
		return
	}
	doc.ServeHTTP(w, r)
}

func (s *Site) loadImage(e *entry, kind statuspage.ImageKind, name string) cache.Loader[*web.Document] {
	return func(ctx context.Context) (*web.Document, time.Time, error) {
		image, err := s.store.LoadPageImage(ctx, e.slug, kind)
		if err != nil {
			return nil, time.Time{}, err
		}
		if image.Name != name {
			return nil, time.Time{}, kernel.ErrNotFound // it has just been changed
		}
		h := web.DocumentHeader{ContentType: image.Type, CacheControl: web.CacheForever, Policy: web.PolicyImage}
		return web.NewDocument(image.Body, h), time.Time{}, nil
	}
}
