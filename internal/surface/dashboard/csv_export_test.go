package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestExportsAreBounded checks that one user's downloads leave room for the downloads of others, and that a place is
// free again after a download.
func TestExportsAreBounded(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		other := s.Member(owner, kernel.RoleAdmin)
		const export = "/admin/audit/export"
		for range 2 * frame.MaxExports {
			owner.Wants(owner.Get(export), http.StatusOK)
		}
		if s.Dashboard.Exports.Free() != frame.MaxExports {
			s.Errorf("%d places are free after all downloads", s.Dashboard.Exports.Free())
		}
		user := frame.ExportKeys(owner.Actor().ID, "")[:1] // in any workspace
		for range frame.ExportsPerUser {
			if _, ok := s.Dashboard.Exports.TryAcquire(user...); !ok {
				s.Fatal("a user may not download as much as allowed")
			}
		}
		if _, ok := s.Dashboard.Exports.TryAcquire(user...); ok {
			s.Error("a user may download any number of lists at a time")
		}
		other.Wants(other.Get(export), http.StatusOK)
	})
}

// TestFormsOfStrangersAreSmall checks that only somebody who is signed in may send a form as large as an image.
func TestFormsOfStrangersAreSmall(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner, stranger := s.Owner(), s.Visitor()
		large := string(make([]byte, 70<<10))
		stranger.Wants(stranger.Post("/admin/sign-in", "email", "a@example.com", "x", large),
			http.StatusRequestEntityTooLarge)
		// it was read
		owner.Wants(owner.Post("/admin/account", "name", "Ada", "x", large), http.StatusBadRequest, "only text")
	})
}
