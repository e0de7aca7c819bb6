// Package frame is the part that the rooms of the dashboard share: requests with their session and rights, forms, the
// layout with its navigation, error screens, and event streams. It imports no room: package dashboard joins the rooms
// to it.
package frame

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/page/stream"
	"github.com/allswell/allswell/internal/surface/web"
)

// Path is the path of the dashboard. Its screens are below it.
const Path = "/admin"

// Frame is the state that the rooms of a dashboard share.
type Frame struct {
	Store         *store.Store
	Log           *slog.Logger
	Now           func() time.Time // the host's clock
	Base          string           // URL of the service, without a slash at its end
	SessionCookie Cookie
	SignIns       *SignInLimits
	Exports       *fair.Pool // of lists that are downloaded

	gate    Gate
	rooms   []Room
	live    *live
	handler http.Handler
	Polling *http.ServeMux // for the event streams of open screens
}

// Gate has the functions that the sign-in room provides to the other rooms.
type Gate struct {
	// AdmitByProxy signs in the person whom a reverse proxy names, and signs out a person whom it no longer names.
	AdmitByProxy func(*Request, Route) error
	// Confirm answers Request.Confirm.
	Confirm func(*Request) (bool, error)
}

// New returns a frame without rooms. base is the URL of the service. log and now may be nil.
func New(s *store.Store, base string, log *slog.Logger, now func() time.Time) *Frame {
	f := &Frame{
		Store: s, Log: log, Now: now, Base: strings.TrimRight(base, "/"), Exports: newExports(),
		SignIns: NewSignInLimits(),
	}
	if f.Log == nil {
		f.Log = slog.New(slog.DiscardHandler)
	}
	if f.Now == nil {
		f.Now = time.Now
	}
	at, err := url.Parse(f.Base)
	f.SessionCookie = newCookie(err == nil && at.Scheme == "https")
	f.live = newLive(stream.Config{Now: f.Now, MaxSubscribers: maxStreams})
	return f
}

// Join adds the rooms of the dashboard and their gate, and prepares the handlers.
func (f *Frame) Join(gate Gate, rooms ...Room) {
	own := Room{
		Routes:    []Route{On("GET /admin/live", rights.AccountChange, (*Request).serveLive)},
		Templates: ownTemplates,
	}
	f.gate, f.rooms = gate, append(rooms, own)
	// Browsers say where a request comes from, so that forms need no secret of their own.
	f.handler = http.NewCrossOriginProtection().Handler(f.newMux(false))
	f.Polling = f.newMux(true)
}

// Routes returns the routes of all rooms.
func (f *Frame) Routes() (all []Route) {
	for _, room := range f.rooms {
		all = append(all, room.Routes...)
	}
	return all
}

// newMux returns the handler of all routes, or with polled (see Request.Polled) only of screens that are kept current,
// so that an event stream cannot name the path of an export, for example.
func (f *Frame) newMux(polled bool) *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range f.Routes() {
		if !polled || route.Live {
			mux.Handle(route.Pattern, f.handle(route, polled))
		}
	}
	mux.Handle(Path+"/", f.handle(Route{Needs: rights.Anyone, Serve: (*Request).showUnknown}, polled))
	return mux
}

// Handler returns the handler of Path and everything below it.
func (f *Frame) Handler() http.Handler { return f.handler }

// WatchInterval is the time between two checks of an open screen.
const WatchInterval = 2 * time.Second

// Watch checks open screens for changes. It must be called once in every WatchInterval.
func (f *Frame) Watch(now time.Time) { f.live.poll(now) }

// EndStreams ends all event streams and refuses new ones.
func (f *Frame) EndStreams() { f.live.streams.Close() }

// policy is the Content-Security-Policy of all screens.
var policy = string(web.PolicyPage(web.PageContent{Form: true, Script: true}).WithFrames())

// showUnknown answers requests for URLs that do not exist. It redirects Path with a trailing slash to Path.
func (r *Request) showUnknown() error {
	if r.URL.Path == Path+"/" {
		return r.Redirect(Path)
	}
	return kernel.ErrNotFound
}
