package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// TestRecipientsAreOnScreensOfAdminsAlone looks for the addresses of subscribers on every screen that a member may
// open, and in its lists and searches: only admins find them.
func TestRecipientsAreOnScreensOfAdminsAlone(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		paths := owner.formPaths()
		const mail, hook = "grace.hopper@navy.example", "hooks.example.com/status" // of formPaths
		owner.subscribe("acme", mail)
		all, _, err := s.store.Subscribers(s.Context(), owner.actor(), "acme", store.SubscriberFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(all) != 2 {
			t.Fatalf("%v, %v", all, err)
		}
		s.reject("550 <" + mail + ">: no such mailbox")
		for _, sub := range all {
			if sub.Channel == audience.ChannelWebhook { // the mail was rejected
				if _, err := s.store.SendTestMessage(s.Context(), owner.actor(), "acme", sub.ID); err != nil {
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
				v = s.member(owner, role)
			}
			for _, path := range slices.Compact(paths) {
				a := v.get(path)
				if !strings.Contains(a.body, mail) && !strings.Contains(a.body, hook) {
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
