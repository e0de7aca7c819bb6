package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestOpenScreensKeepNoSessionAlive looks at a screen as its event stream does, an hour after the person's last
// request.
func TestOpenScreensKeepNoSessionAlive(t *testing.T) {
	dashboardtest.OnEachEngineInTime(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		at, err := url.Parse(owner.Base)
		if err != nil {
			s.Fatal(err)
		}
		used := func() (last time.Time) {
			s.Helper()
			for _, c := range owner.Client.Jar.Cookies(at) {
				if in, err := s.Store.FindSession(s.Context(), c.Value); err == nil {
					return in.LastUsedAt
				}
			}
			s.Fatal("the session has ended")
			return last
		}
		before := used()
		s.Advance(time.Hour)
		r := httptest.NewRequest("GET", frame.Path, nil)
		for _, c := range owner.Client.Jar.Cookies(at) {
			r.AddCookie(c)
		}
		rec := httptest.NewRecorder()
		s.Dashboard.Polling.ServeHTTP(rec, r)
		if rec.Code != http.StatusOK || !used().Equal(before) {
			s.Errorf("%d; used at %v, before at %v", rec.Code, used(), before)
		}
		owner.Wants(owner.Get(frame.Path), http.StatusOK)
		if !used().After(before) {
			s.Error("a request of the person is no use")
		}
	})
}

// TestOnlyScreensAreLive asks for paths as event streams do: all but the screens that show changes are unknown.
func TestOnlyScreensAreLive(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		for _, route := range s.Dashboard.Routes() {
			method, path, _ := strings.Cut(route.Pattern, " ")
			if method != http.MethodGet || route.Live {
				continue
			}
			for _, part := range []string{"page", "monitor", "incident", "alert", "channel"} {
				path = strings.ReplaceAll(path, "{"+part+"}", part)
			}
			_, pattern := s.Dashboard.Polling.Handler(httptest.NewRequest(method, path, nil))
			if pattern == route.Pattern {
				s.Errorf("an event stream can name %s", route.Pattern)
			}
		}
		for _, route := range s.Dashboard.Routes() {
			path := strings.TrimPrefix(route.Pattern, "GET ")
			if !route.Live || strings.Contains(path, "{") {
				continue
			}
			if body := owner.Wants(owner.Get(path), http.StatusOK).Text; !strings.Contains(body, "/admin/live?of=") {
				s.Errorf("%s is not kept current", path)
			}
		}
	})
}
