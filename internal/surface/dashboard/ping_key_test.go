package dashboard

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestPingKeyScreen makes, changes, replaces and removes the ping key of a page.
func TestPingKeyScreen(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		if _, err := s.store.CreatePage(
			s.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: "Jobs", Slug: "jobs"}),
		); err != nil {
			s.Fatal(err)
		}
		const path, given = "/admin/pages/jobs/ping-key", "0123456789_bcdefghij-l"
		now := func() monitor.PingKey {
			s.Helper()
			k, err := s.store.PingKey(s.Context(), v.actor(), "jobs")
			if err != nil {
				s.Fatal(err)
			}
			return k
		}
		v.wants(v.get(path), 200, "No ping key", "Make a key that can only ping")
		v.wants(v.post(path, "change", "ping_only", "key", "short"), 422, "must have 22 letters", `value="short"`)
		v.wants(v.post(path, "change", "nonsense"), 404)
		v.wants(v.post(path, "change", "rotate"), 404)
		v.wants(v.post(path, "change", "ping_only", "key", given), 303, path+"?saved")
		v.wants(v.get(path), 200, given, "It can ping, and not create monitors.", "/api/v1/heartbeat/"+given+"/SLUG")
		v.wants(v.post(path, "change", "read_write"), 303)
		v.wants(v.get(path), 200, given, "?create=1&amp;interval=25h")
		v.wants(v.post(path, "change", "rotate"), 303)
		if a := v.wants(v.get(path), 200, now().Key, "The key before works until"); strings.Contains(a.body, given) {
			t.Error("the screen shows the old key")
		}
		v.wants(v.post(path, "change", "off"), 303)
		if k := now(); k.Key != "" || k.Access != monitor.PingAccessOff {
			t.Errorf("the key is %+v", k)
		}
	})
}
