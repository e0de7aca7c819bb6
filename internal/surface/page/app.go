package page

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/page/picture"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/web"
)

// appIconSizes are the widths of a page's app icons, in pixels.
var appIconSizes = []int{192, 512}

// manifest is a web application manifest (https://www.w3.org/TR/appmanifest/). Its URLs are relative to its own.
type manifest struct {
	Name       string         `json:"name"`
	ShortName  string         `json:"short_name"`
	Lang       string         `json:"lang"`
	Dir        string         `json:"dir"`
	StartURL   string         `json:"start_url"`
	Scope      string         `json:"scope"`
	Display    string         `json:"display"`
	Background string         `json:"background_color"`
	Theme      string         `json:"theme_color"`
	Icons      []manifestIcon `json:"icons"`
}

type manifestIcon struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type,omitempty"`
	Purpose string `json:"purpose"`
}

// serveApp answers with the manifest of a page, with its service worker, or with an icon.
func (s *Site) serveApp(w http.ResponseWriter, r *http.Request, req pageRequest) {
	if req.part == view.WorkerName {
		assets.Worker().ServeHTTP(w, r)
		return
	}
	k := key{entry: req.entry, kind: "app", name: req.part, variant: req.variant}
	doc, err := getRendered(r.Context(), s, k, &req.entry.snapshot.Loads,
		func(context.Context) (*web.Document, time.Time, error) {
			doc, err := s.appDocument(req)
			return doc, time.Time{}, err
		})
	if err != nil {
		s.failForAt(w, r, req, err)
		return
	}
	doc.ServeHTTP(w, r)
}

func (s *Site) appDocument(req pageRequest) (*web.Document, error) {
	if req.part == view.ManifestName {
		at := s.presentation(req.snap.page, req.variant)
		m := manifest{
			Name: req.snap.page.Name, ShortName: req.snap.page.Name, Lang: req.variant.Language.Tag,
			Dir: req.variant.Language.Dir, StartURL: at.Home(), Scope: at.Scope(),
			Display: "standalone", Background: "#f6f7f9", Theme: "#f6f7f9",
		}
		for _, size := range appIconSizes {
			text := strconv.Itoa(size)
			m.Icons = append(m.Icons, manifestIcon{"app/" + text + ".png", text + "x" + text, typePNG, "any maskable"})
		}
		if icon := req.snap.page.Icon; icon != "" {
			m.Icons = append([]manifestIcon{{Src: "look/" + icon, Sizes: "any", Purpose: "any"}}, m.Icons...)
		}
		body, err := json.Marshal(m)
		return web.NewDocument(body, web.DocumentHeader{
			ContentType: "application/manifest+json", CacheControl: web.CacheRevalidate, Policy: web.PolicyData,
			ByLanguage: true,
		}), err
	}
	for _, size := range appIconSizes {
		if req.part == "app/"+strconv.Itoa(size)+".png" {
			body, err := picture.AppIcon(size)
			return web.NewDocument(body, web.DocumentHeader{
				ContentType: typePNG, CacheControl: "public, max-age=86400", Policy: web.PolicyData,
			}), err
		}
	}
	return nil, kernel.ErrNotFound
}

// servePushKey answers with the public key that identifies this installation to push services. The first request
// creates it.
func (s *Site) servePushKey(w http.ResponseWriter, r *http.Request, req pageRequest) {
	var key store.PushKey
	err := runIn(r.Context(), s.forms.signUps, keysOf(r, req.entry), func() (err error) {
		key, err = s.store.PushKey(r.Context())
		return err
	})
	if err != nil {
		s.failForm(w, r, req, "reading the key for push services failed", err)
		return
	}
	h := web.DocumentHeader{
		ContentType: "text/plain; charset=utf-8", CacheControl: web.CacheNever, Policy: web.PolicyData,
	}
	web.NewDocument([]byte(key.Public), h).ServeHTTP(w, r)
}

// maxPush is the maximum size of a browser's request, in bytes.
const maxPush = 4 << 10

// servePush answers a GET with the key that browsers need to subscribe, and subscribes a browser to the end of an
// incident.
func (s *Site) servePush(w http.ResponseWriter, r *http.Request, req pageRequest, _ string) {
	if isRead(r) {
		s.servePushKey(w, r, req)
		return
	}
	if s.origins.Check(r) != nil {
		s.failAt(w, r, req, http.StatusForbidden)
		return
	}
	var asked struct {
		IncidentID string `json:"incident_id"`
		audience.PushTarget
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPush))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		s.failAt(w, r, req, http.StatusRequestEntityTooLarge)
		return
	}
	if errors.Is(err, web.ErrBodies) {
		s.failForAt(w, r, req, err)
		return
	}
	if err != nil || json.Unmarshal(body, &asked) != nil || !incidentID.MatchString(asked.IncidentID) {
		s.failAt(w, r, req, http.StatusBadRequest)
		return
	}
	now := s.now()
	if verdict := s.signUps.take(clientaddr.Of(r), audience.ChannelPush, "", now); !verdict.Allowed {
		s.rejectSignUp(w, r, req, verdict.Reset.Sub(now))
		return
	}
	sign := store.PushSignUp{
		Slug: req.entry.slug, IncidentID: asked.IncidentID, Target: asked.PushTarget, Admitted: req.entry.private,
	}
	err = runIn(r.Context(), s.forms.signUps, keysOf(r, req.entry), func() error {
		return s.store.SubscribeToEnd(r.Context(), sign)
	})
	switch invalid := (*kernel.ValidationError)(nil); {
	case err == nil:
		w.Header()["Cache-Control"] = []string{web.CacheNever}
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &invalid):
		s.failAt(w, r, req, http.StatusUnprocessableEntity)
	default:
		s.failForm(w, r, req, "subscribing a browser failed", err)
	}
}
