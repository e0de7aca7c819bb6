package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/resource/rights/rightstest"
	"github.com/google/go-cmp/cmp"
)

// validBody has a valid body for each route that reads one.
func validBody(t testing.TB, rt *route, w world) any {
	t.Helper()
	if d := descriptionOf(rt); d != nil {
		return describedBody(*d, rt, w)
	}
	switch rt.method + " " + rt.path {
	case "PUT /api/v1/pages/{pageSlug}/components/{componentId}":
		return map[string]any{"name": "New", "status": "operational"}
	case "PATCH /api/v1/pages/{pageSlug}/access":
		return map[string]any{"members": true, "networks": []string{"10.0.0.0/8"}, "link": "new"}
	case "PATCH /api/v1/pages/{pageSlug}/ping-key":
		return map[string]any{"access": "read_write"}
	case "POST /api/v1/pages/{pageSlug}/components", "PATCH /api/v1/components/{componentId}":
		return map[string]any{"name": "New"}
	case "PATCH /api/v1/pages/{pageSlug}/components/{componentId}":
		return map[string]any{"status": "major_outage"}
	case "PUT /api/v1/pages/{pageSlug}/logo", "PUT /api/v1/pages/{pageSlug}/logo_dark",
		"PUT /api/v1/pages/{pageSlug}/icon":
		return svg
	case "PUT /api/v1/incidents/{incidentId}/components":
		return map[string]any{"components": []map[string]any{{"id": w.component, "status": "degraded"}}}
	case "POST /api/v1/pages/{pageSlug}/incidents", "PATCH /api/v1/incidents/{incidentId}":
		return map[string]any{"title": "New"}
	case "POST /api/v1/incidents/{incidentId}/updates", "PATCH /api/v1/incidents/{incidentId}/updates/{updateId}":
		return map[string]any{"message": "New"}
	case "PUT /api/v1/incidents/{incidentId}/merged-into":
		return map[string]any{"incident_id": w.other}
	case "PUT /api/v1/incidents/{incidentId}/postmortem":
		return map[string]any{"body": "New"}
	case "POST /api/v1/monitors/test":
		return map[string]any{"type": "tcp", "host": "127.0.0.1", "port": openPort(t)}
	case "POST /api/v1/channels/test":
		return map[string]any{"type": "webhook", "url": sink()}
	case "POST /api/v1/alert-rules/test":
		return map[string]any{"event": "monitor.down"}
	case "POST /api/v1/tokens":
		return map[string]any{"name": "New", "scope": "read"}
	case "POST /api/v1/invitations":
		return map[string]any{"email": "new@example.com", "role": "viewer"}
	case "PATCH /api/v1/members/{memberId}":
		return map[string]any{"role": "viewer"}
	case "POST /api/v1/pages/{pageSlug}/subscribers/import":
		return map[string]any{"csv": "imported@example.com", "consent": "a form"}
	}
	if reads(rt) {
		t.Fatalf("no valid body is known for %s %s", rt.method, rt.path)
	}
	return nil
}

// openPort returns a port of this host that accepts connections.
func openPort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// names reports whether the path of a route names an object, which may belong to another workspace.
func names(rt *route) bool { return strings.Contains(rt.path, "{") }

// ofMonitors reports whether a route is for incidents that a monitor has opened, or for monitors that are checked. A
// world has neither.
func ofMonitors(rt *route) bool {
	return rt.id == "testMonitor" || strings.HasSuffix(rt.path, "/take-over") ||
		strings.HasSuffix(rt.path, "/give-back")
}

func TestEveryRouteWithItsOwnToken(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		shared := c.build("shared")
		for i, rt := range routes() {
			w := shared
			if rt.method == "DELETE" {
				w = c.build(fmt.Sprintf("page-%d", i))
			}
			a := c.do(rt.method, w.path(rt), validBody(t, rt, w))
			want := map[string]int{"GET": 200, "POST": 201, "PUT": 200, "PATCH": 200, "DELETE": 204}[rt.method]
			if rt.method == "POST" && rt.returns.shape != shapeCreated {
				want = 200
			}
			if ofMonitors(rt) {
				want = 422
			}
			a.is(want)
			if rt.method == "GET" {
				head := c.do("HEAD", w.path(rt), nil).is(200)
				if got, want := head.header.Get("Content-Length"), fmt.Sprint(len(a.body)); got != want {
					t.Errorf("HEAD %s: Content-Length %s, want %s", rt.path, got, want)
				}
			}
		}
	})
}

// TestWorkspacesAreIsolated requests objects of another workspace from every route.
func TestWorkspacesAreIsolated(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		stranger := c.stranger()
		theirs := stranger.build("theirs")
		c.unchanged(func() {
			for _, rt := range routes() {
				body := validBody(t, rt, theirs)
				if rt.method == "PUT" && rt.path == "/api/v1/pages/{pageSlug}" {
					stranger.do(rt.method, w.path(rt), `{"name":"x"}`).complains("slug") // it is taken
				} else if names(rt) {
					stranger.do(rt.method, w.path(rt), body).is(404).says("Not found.")
				} else if rt.method == "GET" && rt.needs != rights.Anyone {
					for _, row := range stranger.do(rt.method, rt.path, body).is(200).rows() {
						if slices.Contains([]any{w.slug, w.monitor, w.token}, row["id"]) || row["slug"] == w.slug ||
							row["page"] == w.slug {
							t.Errorf("%s shows %v", rt.path, row)
						}
					}
				}
			}
		})
	})
}

func TestObjectsOfOtherWorkspacesCannotBeNamed(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		stranger := c.stranger()
		theirs := stranger.build("theirs")
		c.unchanged(func() {
			own := "/api/v1/pages/theirs"
			stranger.get(own + "/components/" + w.component).is(404)
			stranger.patch(own+"/components/"+w.component, `{"status":"degraded"}`).is(404)
			stranger.delete(own + "/components/" + w.component).is(404)
			stranger.post(own+"/components", map[string]any{"name": "x", "group": w.group}).complains("group")
			stranger.get(own + "/subscribers/" + w.subscriber).is(404)
			stranger.post(own+"/subscribers/"+w.subscriber+"/rotate", nil).is(404)
			stranger.delete(own + "/subscribers/" + w.subscriber).is(404)
			stranger.post(own+"/subscribers", map[string]any{
				"channel": "email", "target": "x@example.com", "components": []string{theirs.component, w.component},
			}).complains("components")
			stranger.patch("/api/v1/components/"+theirs.component, map[string]any{"group": w.group}).complains("group")
			stranger.post("/api/v1/monitors", map[string]any{
				"name": "x", "interval": 60, "page": "acme",
			}).complains("page")
			stranger.post("/api/v1/monitors", map[string]any{
				"name": "x", "interval": 60, "page": "theirs", "component_id": w.component,
			}).complains("component_id")
			stranger.patch("/api/v1/monitors/"+theirs.monitor,
				map[string]any{"component_id": w.component}).complains("component_id")
			stranger.patch("/api/v1/monitors/"+theirs.monitor, map[string]any{"page": "acme"}).complains("page")
			stranger.post("/api/v1/pages", `{"name":"x","slug":"acme"}`).complains("slug")
			stranger.patch("/api/v1/pages/theirs", `{"slug":"acme"}`).complains("slug")
			affected := []map[string]any{
				{"id": theirs.component, "status": "degraded"}, {"id": w.component, "status": "degraded"},
			}
			stranger.post(own+"/incidents", map[string]any{
				"title": "x", "components": affected,
			}).complains("components.1.id")
			stranger.put("/api/v1/incidents/"+theirs.incident+"/components",
				map[string]any{"components": affected}).complains("components.1.id")
			stranger.patch("/api/v1/maintenances/"+theirs.maintenance, map[string]any{
				"components": []string{w.component},
			}).complains("components.0")
			stranger.post(own+"/maintenances", map[string]any{
				"title": "x", "scheduled_for": w.now, "scheduled_until": w.now.Add(time.Hour),
				"components": []string{w.component},
			}).complains("components.0")
		})
	})
}

// TestOperationsFitRoutes checks the operation that each route names.
func TestOperationsFitRoutes(t *testing.T) {
	for _, rt := range routes() {
		if rt.path == "/api/v1/openapi.json" {
			if rt.needs != rights.Anyone {
				t.Errorf("%s needs %s", rt.path, rt.needs.Name)
			}
			continue
		}
		rightstest.Check(t, rt.method, strings.TrimPrefix(rt.path, "/api/v1/"), rt.needs, rt.id == "testAlertRules")
		if rt.needs.Scope == "" {
			t.Errorf("%s %s: no token may do %s", rt.method, rt.path, rt.needs.Name)
		}
	}
}

// TestScopes sends a request with each scope to every route.
func TestScopes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		secrets := make(map[kernel.Scope]string)
		for _, scope := range kernel.Scopes {
			secrets[scope] = c.issue(scope)
		}
		shared := c.build("shared")
		// All tables are compared once, because that takes longer than the requests.
		c.unchanged(func() {
			for _, rt := range routes() {
				for _, scope := range kernel.Scopes {
					if rt.needs != rights.Anyone && !rt.needs.AllowsScope(scope) {
						c.with(secrets[scope]).do(rt.method, shared.path(rt), validBody(t, rt, shared)).
							is(403).says(fmt.Sprintf("This token has the scope %s; this call needs %s.", scope,
							rt.needs.Scope))
					}
				}
			}
		})
		for i, rt := range routes() {
			if rt.needs == rights.Anyone {
				c.with("").do(rt.method, rt.path, nil).is(200)
				continue
			}
			for _, scope := range kernel.Scopes {
				if !rt.needs.AllowsScope(scope) {
					continue
				}
				w := shared
				if rt.method == "DELETE" {
					w = c.build(fmt.Sprintf("p%d-%s", i, scope))
				}
				a := c.with(secrets[scope]).do(rt.method, w.path(rt), validBody(t, rt, w))
				if a.status >= 300 && !(a.status == 422 && ofMonitors(rt)) {
					t.Errorf("%s with scope %s = %d: %s", a.asked, scope, a.status, a.body)
				}
				switch rt.method + " " + rt.path { // there can be one of each
				case "POST /api/v1/pages":
					c.delete("/api/v1/pages/new-page").is(204)
				case "POST /api/v1/incident-templates", "POST /api/v1/on-call":
					c.delete(w.path(rt) + "/" + a.id()).is(204)
				case "POST /api/v1/pages/{pageSlug}/subscribers":
					c.delete(w.path(rt) + "/" + a.id()).is(204)
				case "POST /api/v1/pages/{pageSlug}/subscribers/{subscriberId}/test":
					c.clock.Advance(audience.TestMessageInterval)
				}
			}
		}
	})
}

// TestEveryRouteNeedsAToken checks that a request without a token gets 401, whatever else
// is wrong with it.
func TestEveryRouteNeedsAToken(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.unchanged(func() {
			for _, rt := range routes() {
				if rt.needs == rights.Anyone {
					continue
				}
				c.with("").do(rt.method, w.path(rt), validBody(t, rt, w)).is(401).says("Unauthenticated.")
				c.with("").do(rt.method, w.path(rt), "{").is(401)
				c.with("").do(rt.method, strings.ReplaceAll(w.path(rt), w.slug, "nowhere"), nil).is(401)
			}
		})
	})
}

func TestEveryMethodOnEveryPath(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		allowed := make(map[string][]string)
		for _, rt := range routes() {
			path := w.path(rt)
			allowed[path] = append(allowed[path], rt.method)
			if rt.method == "GET" {
				allowed[path] = append(allowed[path], "HEAD")
			}
		}
		for _, path := range []string{testPath, "/api/v1/channels/test", "/api/v1/alert-rules/test"} {
			delete(allowed, path) // see TestObjectsWithTheSlugTest
		}
		c.unchanged(func() {
			for path, methods := range allowed {
				slices.Sort(methods)
				for _, method := range []string{
					"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get",
				} {
					if slices.Contains(methods, method) {
						continue
					}
					a := c.do(method, path, nil).is(405)
					if got, want := a.header.Get("Allow"), strings.Join(methods, ", "); got != want {
						t.Errorf("%s %s: Allow is %q, want %q", method, path, got, want)
					}
					if method != "HEAD" {
						a.says("Method not allowed.")
					}
					c.with("").do(method, path, nil).is(405)
				}
			}
		})
	})
}

// TestUnknownPathsAreJSON sends paths to a real server without normalising them.
func TestUnknownPathsAreJSON(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		server := httptest.NewServer(c)
		defer server.Close()
		for _, path := range []string{
			"/", "/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/pages", "/api/v1/nothing", "/API/v1/pages",
			"/api/v1/pages/", "/api/v1/pages/acme/", "/api/v1/pages//components", "//api/v1/pages", "/api//v1/pages",
			"/api/v1/./pages", "/api/v1/pages/../pages", "/api/v1/pages/acme/..", "/api/v1/%70ages",
			"/api/v1/pages/%61cme",
			"/api/v1/pages/acme%2Fcomponents", "/api/v1/pages/acme%00", "/api/v1/pages/%ff", "/api/v1/pages/acme%20",
			"/api/v1/pages/acme/components/" + w.component + "/", "/api/v1/pages/acme%2f", "/api/v1/pages/%2e%2e/pages",
			"/api/v1/pages/é", "/api/v1/pages/\xff", "/api/v1/pages/ACME", "/api/v1/pages/" + strings.Repeat("a", 600),
			"/api/v1/incidents/" + w.component, "/api/v1/heartbeat/x", "/api/v1/pages/acme;x=1", "/api/v1/pages/acme\\",
		} {
			for _, method := range []string{"GET", "POST"} {
				status, header, body := raw(t, server.Listener.Addr().String(), method, path, c.token)
				if status != 404 && (method != "POST" || status != 405) ||
					header.Get("Content-Type") != "application/json" ||
					header.Get("Location") != "" || !strings.HasPrefix(body, `{"message":"`) {
					t.Errorf("%s %q = %d %v %s", method, path, status, header, body)
				}
			}
		}
		status, _, body := raw(t, server.Listener.Addr().String(), "GET", "/api/v1/pages/acme?x=%2F", c.token)
		if status != 200 {
			t.Errorf("a query that nobody reads: %d %s", status, body)
		}
	})
}

// raw sends a request line unchanged.
func raw(t *testing.T, addr, method, path, token string) (int, http.Header, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
		method, path, token)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s %q: %v", method, path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func TestResponseHeaders(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.build("acme")
		for _, a := range []answer{
			c.get("/api/v1/monitors").is(200), c.get("/api/v1/pages/x").is(404),
			c.with("").get("/api/v1/pages").is(401),
		} {
			got := []string{a.header.Get("Cache-Control"), a.header.Get("X-Content-Type-Options")}
			if diff := cmp.Diff([]string{"no-store", "nosniff"}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", a.asked, diff)
			}
		}
	})
}

func TestDocumentNeedsNoToken(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		a := c.with("").get("/api/v1/openapi.json").is(200)
		if a.object()["openapi"] != "3.1.0" {
			t.Errorf("openapi is %v", a.object()["openapi"])
		}
	})
}
