// Package api is the JSON API. Each kind of resource has a file with its routes, its handlers and its JSON; routes.go
// lists these tables of routes. The OpenAPI document, the reference for clients, is built from them and from YAML files
// (openapi.go). Components, incidents and their updates have exactly the keys that the document lists.
//
// serve handles a request: it authenticates the caller (auth.go), checks that the token allows the operation, and
// checks the precondition (precondition.go). It returns the saved response of a repeated request (idempotency.go);
// otherwise it runs the route's action, which calls one method of the store.
package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

// Config is the configuration of the API.
type Config struct {
	Store *store.Store

	// BaseURL is the public address of this service; ping URLs begin with it. If it
	// is empty, the scheme and the Host header of each request are used.
	BaseURL string

	// VerifyDomain checks the domain of a workspace's page now and returns the page with its new domain status.
	VerifyDomain func(
		ctx context.Context, actor kernel.Actor, slug string, save ...store.SaveResponse[statuspage.Page],
	) (statuspage.Page, error)

	// CheckTarget returns a *kernel.ValidationError if messages must not be sent to a valid target. Nil: all targets
	// are accepted.
	CheckTarget func(ctx context.Context, channel audience.Channel, target string) error

	// Tests runs checks of monitors that are not saved yet, and tests of saved ones. Nil: such requests fail.
	Tests *web.CheckTester

	// ChannelTests sends test messages to channels. Nil: such requests fail.
	ChannelTests *web.ChannelTester

	Limits *limit.Tokens    // shared with the other surfaces; nil: none
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // the clock of rate limits; nil: time.Now
}

// maxPath is the maximum length of a path, in bytes. The paths of routes have less than 150.
const maxPath = 512

type api struct {
	store   *store.Store
	baseURL string
	verify  func(
		ctx context.Context, actor kernel.Actor, slug string, save ...store.SaveResponse[statuspage.Page],
	) (statuspage.Page, error)
	target       func(ctx context.Context, channel audience.Channel, target string) error
	tests        *web.CheckTester
	channelTests *web.ChannelTester
	log          *slog.Logger
	now          func() time.Time
	limits       *limit.Tokens
	inFlight     inFlight
	document     func() ([]byte, error)
}

// New returns the handler of all paths under /api except the heartbeat. It expects the client's address in
// Request.RemoteAddr, and paths as the client sent them: a ServeMux in front of it would redirect unclean ones.
func New(c Config) http.Handler {
	a := &api{
		store:        c.Store,
		baseURL:      strings.TrimRight(c.BaseURL, "/"),
		verify:       c.VerifyDomain,
		target:       c.CheckTarget,
		tests:        c.Tests,
		channelTests: c.ChannelTests,
		log:          c.Logger,
		now:          c.Now,
		limits:       c.Limits,
		document:     document,
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.limits == nil {
		a.limits = limit.NewTokens(0)
	}
	return a.handler()
}

// handler registers the routes by path. The mux does not match methods, so that the
// response to a wrong method is JSON too.
func (a *api) handler() http.Handler {
	byPath := make(map[string][]*route)
	for _, rt := range routes() {
		byPath[rt.path] = append(byPath[rt.path], rt)
	}
	mux := http.NewServeMux()
	for path, routes := range byPath {
		handler := web.Handle(a.log, a.methods(routes))
		if collection, ok := strings.CutSuffix(path, "/"+slugTest); ok {
			if object, parameter := objectPath(byPath, collection); object != "" {
				handler = withTest(handler, web.Handle(a.log, a.methods(byPath[object])), object, parameter)
			}
		}
		mux.Handle(path, handler)
	}
	notFound := web.Handle(a.log, func(http.ResponseWriter, *http.Request) error { return kernel.ErrNotFound })
	mux.Handle("/", notFound)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isPlainPath(r.URL.EscapedPath()) {
			notFound.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// slugTest is a valid slug of an object, but also the path segment of a POST that tests an object before it exists.
const slugTest = "test"

// objectPath returns the path of the objects in a collection, and the parameter of the path that identifies an object.
// Both are "" if the collection has no such path.
func objectPath(byPath map[string][]*route, collection string) (path, parameter string) {
	for path := range byPath {
		rest, _ := strings.CutPrefix(path, collection+"/{")
		if parameter, ok := strings.CutSuffix(rest, "}"); ok && rest != path && !strings.Contains(parameter, "/") {
			return path, parameter
		}
	}
	return "", ""
}

// withTest returns the handler of the path of an object with slugTest: POST is handled by test, and all other methods
// by object, the handler of the path with a parameter, as for any other slug.
func withTest(test, object http.Handler, path, parameter string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			test.ServeHTTP(w, r)
			return
		}
		r.SetPathValue(parameter, slugTest)
		r.Pattern = path
		object.ServeHTTP(w, r)
	})
}

// isPlainPath reports whether an escaped path has no trailing slash, no empty or dot segment and no character that
// needs escaping. The paths of routes and ids are always plain. The mux would redirect other paths, and the database
// would get characters that no id has.
func isPlainPath(escaped string) bool {
	return len(escaped) <= maxPath && !strings.Contains(escaped, "%") && path.Clean(escaped) == escaped
}

// methods returns the handler of the routes of one path. HEAD is handled as GET; net/http omits the body.
func (a *api) methods(routes []*route) web.Handler {
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

// call is a request with what serve knows about it.
type call struct {
	*http.Request
	route  *route
	token  account.Token // zero on a route without authentication
	secret string        // of the token
	base   string        // the public address of this service
	body   []byte        // of a POST, PUT or PATCH
	key    *store.IdempotencyKey
	cond   kernel.Precondition // of a write of a resource with an entity tag
	etag   string              // of the resource in the response; "": none

	lenient bool               // unknown fields of the body are accepted
	parsed  *jsonobject.Object // the body, if lenient
}

func (a *api) serve(rt *route, w http.ResponseWriter, r *http.Request) error {
	c := &call{Request: r, route: rt, base: a.base(r), lenient: rt.contract}
	if rt.needs != rights.Anyone {
		if err := a.authenticate(c, w.Header()); err != nil {
			return err
		}
		if !rt.needs.AllowsScope(c.token.Scope) {
			return &web.Forbidden{Has: c.token.Scope, Needs: rt.needs.Scope}
		}
	}
	var err error
	if c.cond, err = readPrecondition(rt, r.Header); err != nil {
		return err
	}
	if most := rt.maxBodySize(); most > 0 {
		if c.body, err = web.ReadBody(w, r, most); err != nil {
			return err
		}
	}
	response, err := a.serveOnce(rt, c, w.Header())
	if ignored := cmp.Or(response.Ignored, c.ignored()); ignored != "" {
		w.Header().Set(ignoredHeader, ignored)
	}
	if err != nil {
		return err
	}
	if c.etag != "" {
		w.Header().Set("ETag", c.etag)
	}
	if response.Status == http.StatusNoContent {
		w.WriteHeader(response.Status)
		return nil
	}
	web.WriteJSON(w, response.Status, response.Body)
	return nil
}

// base returns the public address of this service for a client.
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

// actor returns the actor of the request. The audit log names the actor, and the request reaches only objects of the
// actor's workspace.
func (c *call) actor() kernel.Actor {
	address := ""
	if client := clientaddr.Of(c.Request); client.IsValid() {
		address = client.String()
	}
	return c.token.Actor(address)
}

// object parses the body. The routes of the contract (see docs/api.md) accept unknown fields.
func (c *call) object() (*jsonobject.Object, error) {
	o, err := jsonobject.Parse(c.body)
	if err == nil && c.lenient {
		o.AllowUnknown()
		c.parsed = o
	}
	return o, err
}

// ignoredHeader is the response header with the fields of the body that a route of the contract does not know.
const ignoredHeader = "Allswell-Ignored"

// maxIgnoredHeader is the maximum length of ignoredHeader.
const maxIgnoredHeader = 1000

// ignored returns the value of ignoredHeader, a list of strings (RFC 9651); "": the body has no unknown fields. If not
// all of them fit, the last one has the parameter more with the number of the omitted ones.
func (c *call) ignored() string {
	if c.parsed == nil {
		return ""
	}
	paths, more := c.parsed.Unknown()
	header := ""
	for i, path := range paths {
		next := `"` + path + `"`
		if i > 0 {
			next = ", " + next
		}
		if len(header)+len(next) > maxIgnoredHeader {
			more += len(paths) - i
			break
		}
		header += next
	}
	if more > 0 {
		header += fmt.Sprintf(";more=%d", more)
	}
	return header
}
