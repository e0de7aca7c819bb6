package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestRecipientsAreOnScreensOfAdminsAlone looks for the addresses of subscribers on every screen that a member may
// open, and in its lists and searches: only admins find them.
func TestRecipientsAreOnScreensOfAdminsAlone(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		paths := formPaths(owner)
		const mail, hook = "grace.hopper@navy.example", "hooks.example.com/status" // of formPaths
		owner.Subscribe("acme", mail)
		all, _, err := s.Store.Subscribers(s.Context(), owner.Actor(), "acme", store.SubscriberFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 2 {
			t.Fatalf("the subscribers: %v, %v", all, err)
		}
		s.Reject("550 <" + mail + ">: no such mailbox")
		for _, sub := range all {
			if sub.Channel == audience.ChannelWebhook { // the mail was rejected
				if _, err := s.Store.SendTestMessage(s.Context(), owner.Actor(), "acme", sub.ID); err != nil {
					t.Fatal(err)
				}
			}
			paths = append(paths, "/admin/deliveries?page=acme&subscriber="+sub.ID)
		}
		paths = append(paths, "/admin", "/admin/deliveries?page=acme&state=failed", "/admin/search?q=grace",
			"/admin/search?q=hooks", "/admin/deliveries?page=acme&state=waiting")
		slices.Sort(paths)
		for _, role := range kernel.Roles {
			v, seen := owner, 0
			if role != kernel.RoleOwner {
				v = s.Member(owner, role)
			}
			for _, path := range slices.Compact(paths) {
				a := v.Get(path)
				if !strings.Contains(a.Text, mail) && !strings.Contains(a.Text, hook) {
					continue
				}
				if seen++; !role.Includes(kernel.RoleAdmin) {
					t.Errorf("%s shows a recipient to the role %s", path, role)
				}
				if a.StatusCode != http.StatusOK {
					t.Errorf("%s: status %d", path, a.StatusCode)
				}
			}
			if role.Includes(kernel.RoleAdmin) && seen < 4 {
				t.Errorf("the role %s sees recipients on %d screens", role, seen)
			}
		}
	})
}
