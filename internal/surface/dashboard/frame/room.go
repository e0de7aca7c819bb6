package frame

import (
	"embed"
	"html/template"
	"path"
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/resource/rights"
)

// Room is a part of the dashboard with its own screens.
type Room struct {
	Routes    []Route
	Templates Templates
	Failures  []FailureRow // of the errors that only this room returns
}

// RouteOf is a screen or an action, and the operation that a member's role must allow. R is the request of its room.
type RouteOf[R any] struct {
	Pattern string // of http.ServeMux
	Needs   rights.Operation
	Serve   func(R) error
	Live    bool // the screen is kept current while it is open, by an event stream
}

// Route is a route in the form that the frame serves.
type Route = RouteOf[*Request]

// On returns a route.
func On[R any](pattern string, needs rights.Operation, serve func(R) error) RouteOf[R] {
	return RouteOf[R]{Pattern: pattern, Needs: needs, Serve: serve}
}

// Live returns the route of a screen that is kept current while it is open.
func Live[R any](pattern string, needs rights.Operation, serve func(R) error) RouteOf[R] {
	return RouteOf[R]{Pattern: pattern, Needs: needs, Serve: serve, Live: true}
}

// Bind returns the routes of a room for the frame. enter returns the room's request for a request of the frame.
func Bind[R any](enter func(*Request) R, routes []RouteOf[R]) []Route {
	bound := make([]Route, len(routes))
	for i, route := range routes {
		serve := func(r *Request) error { return route.Serve(enter(r)) }
		bound[i] = Route{Pattern: route.Pattern, Needs: route.Needs, Serve: serve, Live: route.Live}
	}
	return bound
}

// Confirmed returns the handler of a dangerous change. It calls serve only if the visitor has proved their identity
// within account.ConfirmationAge.
func Confirmed[R interface{ Confirm() (bool, error) }](serve func(R) error) func(R) error {
	return func(r R) error {
		if ok, err := r.Confirm(); !ok || err != nil {
			return err
		}
		return serve(r)
	}
}

// Confirm reports whether the visitor has proved their identity recently, or proves it with this request. Otherwise it
// asks for the password.
func (r *Request) Confirm() (bool, error) { return r.gate.Confirm(r) }

// Templates returns the templates of the screens of a room by name. They are parsed when the first screen is shown.
type Templates func() map[string]*template.Template

//go:embed templates
var templateFiles embed.FS

// shared are the templates of the layout, and the parts that screens of several rooms use.
var shared = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("layout.html").Funcs(functions()).
		ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/icons.html"))
})

// ownTemplates are the templates of the screens of the frame itself.
var ownTemplates Templates = sync.OnceValue(func() map[string]*template.Template {
	failed := template.Must(template.Must(shared().Clone()).ParseFS(templateFiles, "templates/error.html"))
	return map[string]*template.Template{"error": failed}
})

// ParseTemplates returns the templates of a room. Each file in the folder templates is a screen, except parts.html,
// which has parts of several screens. functions are the functions that only this room uses.
func ParseTemplates(files embed.FS, functions template.FuncMap) Templates {
	return sync.OnceValue(func() map[string]*template.Template {
		base := template.Must(shared().Clone()).Funcs(functions)
		entries, err := files.ReadDir("templates")
		if err != nil {
			panic(err) // the files are embedded
		}
		all := make(map[string]*template.Template)
		for _, entry := range entries {
			if entry.Name() == "parts.html" {
				template.Must(base.ParseFS(files, "templates/parts.html"))
			}
		}
		for _, entry := range entries {
			if name := strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())); name != "parts" {
				all[name] = template.Must(template.Must(base.Clone()).ParseFS(files, "templates/"+entry.Name()))
			}
		}
		return all
	})
}
