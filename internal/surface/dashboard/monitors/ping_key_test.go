package monitors_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestPingKeyScreen makes, changes, replaces and removes the ping key of a page.
func TestPingKeyScreen(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		_, err := s.Store.CreatePage(s.Context(), v.Actor(),
			resource.Page.From(statuspage.Page{Name: "Jobs", Slug: "jobs"}))
		if err != nil {
			s.Fatal(err)
		}
		const path, given = "/admin/pages/jobs/ping-key", "0123456789_bcdefghij-l"
		now := func() monitor.PingKey {
			s.Helper()
			k, err := s.Store.PingKey(s.Context(), v.Actor(), "jobs")
			if err != nil {
				s.Fatal(err)
			}
			return k
		}
		v.Wants(v.Get(path), 200, "No ping key", "Create ping-only key")
		v.Wants(v.Post(path, "change", "ping_only", "key", "short"), 422, "must have 22 letters", `value="short"`)
		v.Wants(v.Post(path, "change", "nonsense"), 404)
		v.Wants(v.Post(path, "change", "rotate"), 404)
		v.Wants(v.Post(path, "change", "ping_only", "key", given), 303, path+"?saved")
		v.Wants(v.Get(path), 200, given, "Ping-only.", "/api/v1/heartbeat/"+given+"/SLUG")
		v.Wants(v.Post(path, "change", "read_write"), 303)
		v.Wants(v.Get(path), 200, given, "?create=1&amp;interval=25h")
		v.Wants(v.Post(path, "change", "rotate"), 303)
		a := v.Wants(v.Get(path), 200, now().Key, "The previous key keeps working until")
		if strings.Contains(a.Text, given) {
			t.Error("the screen shows the old key")
		}
		v.Wants(v.Post(path, "change", "off"), 303)
		if k := now(); k.Key != "" || k.Access != monitor.PingAccessOff {
			t.Errorf("the key is %+v", k)
		}
	})
}
