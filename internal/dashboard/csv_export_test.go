package dashboard

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/fair"
)

// TestExportsAreBounded checks that one user's downloads leave room for those of others, and that a place is free again
// after a download.
func TestExportsAreBounded(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		other := s.member(owner, allswell.RoleAdmin)
		const export = "/admin/audit/export"
		for range 2 * maxExports {
			owner.wants(owner.get(export), http.StatusOK)
		}
		if s.dashboard.exports.Free() != maxExports {
			s.Errorf("%d places are free after all downloads", s.dashboard.exports.Free())
		}
		user := fair.User(owner.actor().ID).AtMost(exportsPerUser)
		for range exportsPerUser {
			if _, ok := s.dashboard.exports.TryAcquire(user); !ok {
				s.Fatal("a user may not download as much as allowed")
			}
		}
		if _, ok := s.dashboard.exports.TryAcquire(user); ok {
			s.Error("a user may download any number of lists at a time")
		}
		other.wants(other.get(export), http.StatusOK)
	})
}

// TestFormsOfStrangersAreSmall checks that only somebody who is signed in may send a form as large as an image.
func TestFormsOfStrangersAreSmall(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner, stranger := s.owner(), s.visitor()
		large := string(make([]byte, 70<<10))
		stranger.wants(stranger.post("/admin/sign-in", "email", "a@example.com", "x", large), http.StatusRequestEntityTooLarge)
		owner.wants(owner.post("/admin/account", "name", "Ada", "x", large), http.StatusBadRequest, "only text") // it was read
	})
}
