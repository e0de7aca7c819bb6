package monitors_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// BenchmarkMonitors requests screens of a workspace with 2,000 monitors, each with three of 40 tags and a page with
// components. It reports how large the answer is when compressed.
func BenchmarkMonitors(b *testing.B) {
	s := storetest.Open(b, storetest.SQLite(b), store.Options{})
	d := dashboard.New(dashboard.Config{Store: s, BaseURL: "http://localhost"})
	b.Cleanup(d.EndStreams)
	code, err := s.IssueSetupCode(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var cookies []*http.Cookie
	request := func(method, path string, form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, r)
		return w
	}
	cookies = request("POST", "/admin/setup", url.Values{
		"code": {code}, "name": {"Ada"}, "email": {"ada@example.com"}, "password": {dashboardtest.GoodPassword},
	}).Result().Cookies()
	request("POST", "/admin/setup/page", url.Values{"name": {"Acme"}, "slug": {"acme"}})
	request("POST", "/admin/setup/acme/components", url.Values{"components": {"API"}})
	in, err := s.FindSession(b.Context(), cookies[0].Value)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 2000 {
		n := monitor.MonitorConfig{
			Name: fmt.Sprintf("Job %d of the night", i), Interval: time.Hour, PageSlug: "acme",
			Tags: []string{fmt.Sprint("team-", i%20), fmt.Sprint("zone-", i%15), fmt.Sprint("tier-", i%5)},
		}
		if _, err := s.CreateMonitor(b.Context(), in.Actor(""), monitor.MonitorOf(n)); err != nil {
			b.Fatal(err)
		}
	}
	for _, path := range []string{
		"/admin/monitors", "/admin/monitors?tag=team-7&sort=name", "/admin/search?q=night+team-7", "/admin",
	} {
		b.Run(path, func(b *testing.B) {
			var body string
			for b.Loop() {
				w := request("GET", path, nil)
				if body = w.Body.String(); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			var size counter
			w := gzip.NewWriter(&size)
			io.WriteString(w, body)
			w.Close()
			b.ReportMetric(float64(size), "compressed-bytes")
		})
	}
}

// counter counts bytes.
type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
