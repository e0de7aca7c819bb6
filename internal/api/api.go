// Package api is the JSON API. routes.go has all of it on one screen; there is
// one file per noun, present.go turns what the domain has into JSON, and
// openapi.yaml describes everything for clients.
//
// A request goes through serve: who asks (auth.go), may they ask that, was it
// asked before (idempotency.go), and then the route's action, which is one
// verb of the store.
package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// Config is what the API needs.
type Config struct {
	Store *store.Store

	// BaseURL is the address under which the world reaches this service,
	// without a path of the API; ping URLs begin with it. Empty means what each
	// request names: its scheme and its Host header.
	BaseURL string

	// Languages are the primary tags of those that a page may have: "de". Nil: of
	// all that there are.
	Languages []string

	// VerifyDomain checks the domain of a workspace's page now and returns the
	// page with its status.
	VerifyDomain func(ctx context.Context, actor allswell.Actor, slug string, save ...store.SaveResponse[allswell.Page]) (allswell.Page, error)

	// RateLimit is how many requests a token may make in any minute. 0 means
	// that neither these nor failed authentications are limited.
	RateLimit int

	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // what rate limits are counted by; nil: time.Now
}

// FailedAuthLimit is how many requests without a valid token are answered with
// 401 in any minute, per client address, and ten times as many per IPv6
// network of 64 bits; further ones get 429.
const FailedAuthLimit = 100

const limitWindow = time.Minute

// maxPath is the most bytes of a path that is looked at; the longest real one
// has less than 150.
const maxPath = 512

type api struct {
	store     *store.Store
	baseURL   string
	languages []string
	verify    func(ctx context.Context, actor allswell.Actor, slug string, save ...store.SaveResponse[allswell.Page]) (allswell.Page, error)
	log       *slog.Logger
	now       func() time.Time
	calls     *limit.Limiter   // by token id
	failed    *limit.Addresses // authentications that failed
	running   inFlight
}

// New returns the handler of everything under /api but the heartbeat. It
// expects the client's true address in Request.RemoteAddr, and paths as the
// client sent them: a ServeMux in front of it would answer odd ones itself, by
// a redirect.
func New(c Config) http.Handler {
	a := &api{
		store:     c.Store,
		baseURL:   strings.TrimRight(c.BaseURL, "/"),
		languages: c.Languages,
		verify:    c.VerifyDomain,
		log:       c.Logger,
		now:       c.Now,
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.now == nil {
		a.now = time.Now
	}
	failures := FailedAuthLimit
	if c.RateLimit == 0 {
		failures = 0
	}
	a.calls = limit.New(c.RateLimit, limitWindow)
	a.failed = limit.NewAddresses(failures, limitWindow)
	return a.handler()
}

// handler mounts the routes by path. Methods are told apart here and not by
// the mux, so that a wrong one is answered like everything else.
func (a *api) handler() http.Handler {
	byPath := make(map[string][]route)
	for _, rt := range a.routes() {
		byPath[rt.path] = append(byPath[rt.path], rt)
	}
	mux := http.NewServeMux()
	for path, routes := range byPath {
		mux.Handle(path, web.Handle(a.log, a.methods(routes)))
	}
	notFound := web.Handle(a.log, func(http.ResponseWriter, *http.Request) error { return allswell.ErrNotFound })
	mux.Handle("/", notFound)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !plain(r.URL.EscapedPath()) {
			notFound.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// plain reports whether an escaped path can be one of ours: none of them has a
// trailing slash, an empty or dot segment, or a character that needs escaping.
// It keeps from the mux what that would redirect, and from the database what
// no id can hold.
func plain(escaped string) bool {
	return len(escaped) <= maxPath && !strings.Contains(escaped, "%") && path.Clean(escaped) == escaped
}

// methods answers a path by the method. HEAD is GET; net/http leaves out the
// body.
func (a *api) methods(routes []route) web.Handler {
	var allow []string
	for _, rt := range routes {
		allow = append(allow, rt.method)
		if rt.method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return func(w http.ResponseWriter, r *http.Request) error {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		for _, rt := range routes {
			if rt.method == method {
				return a.serve(rt, w, r)
			}
		}
		return &web.MethodNotAllowed{Allow: allow}
	}
}

// call is one request on its way to an action.
type call struct {
	*http.Request
	by     allswell.Token // who asks; zero on an open route
	secret string         // the token itself
	base   string         // what addresses of ours begin with
	body   []byte         // of a POST, PUT or PATCH
	key    *store.IdempotencyKey
}

// action answers a call. An error of it is answered by web.Fail.
type action func(*call) (store.StoredResponse, error)

func (a *api) serve(rt route, w http.ResponseWriter, r *http.Request) error {
	c := &call{Request: r, base: a.base(r)}
	if rt.scope != open {
		if err := a.authenticate(c, w.Header()); err != nil {
			return err
		}
		if !c.by.Scope.Allows(rt.scope) {
			return &web.Forbidden{Has: c.by.Scope, Needs: rt.scope}
		}
	}
	if most := rt.mostBody(); most > 0 {
		var err error
		if c.body, err = web.ReadBody(w, r, most); err != nil {
			return err
		}
	}
	answer, err := a.once(rt, c, w.Header())
	if err != nil {
		return err
	}
	if answer.Status == http.StatusNoContent {
		w.WriteHeader(answer.Status)
		return nil
	}
	web.WriteJSON(w, answer.Status, answer.Body)
	return nil
}

// base returns what addresses of this service begin with, for this client.
func (a *api) base(r *http.Request) string {
	switch {
	case a.baseURL != "":
		return a.baseURL
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// actor returns who makes the request. The audit log names the actor, and the
// request reaches the objects of the actor's workspace only.
func (c *call) actor() allswell.Actor {
	host, _, err := net.SplitHostPort(c.RemoteAddr)
	if err != nil {
		host = c.RemoteAddr
	}
	return c.by.Actor(host)
}

// object reads the body.
func (c *call) object() (*web.Object, error) { return web.ParseObject(c.body) }
