package dashboard

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestExportsAreBounded checks that one user's downloads leave room for those of others, and that a place is free again
// after a download.
func TestExportsAreBounded(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		other := s.member(owner, kernel.RoleAdmin)
		const export = "/admin/audit/export"
		for range 2 * maxExports {
			owner.wants(owner.get(export), http.StatusOK)
		}
		if s.dashboard.exports.Free() != maxExports {
			s.Errorf("%d places are free after all downloads", s.dashboard.exports.Free())
		}
		user := exportKeys(owner.actor().ID, "")[:1] // in any workspace
		for range exportsPerUser {
			if _, ok := s.dashboard.exports.TryAcquire(user...); !ok {
				s.Fatal("a user may not download as much as allowed")
			}
		}
		if _, ok := s.dashboard.exports.TryAcquire(user...); ok {
			s.Error("a user may download any number of lists at a time")
		}
		other.wants(other.get(export), http.StatusOK)
	})
}

// TestBrokenExportsBreakOff checks that a list that cannot be read to its end is no complete download.
func TestBrokenExportsBreakOff(t *testing.T) {
	v := &visit{
		Dashboard: &Dashboard{exports: newExports(), log: slog.New(slog.DiscardHandler)},
		w:         httptest.NewRecorder(), r: httptest.NewRequest("GET", "/", nil),
	}
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("recovered %v", cause)
		}
		if v.exports.Free() != maxExports {
			t.Error("the place is not free again")
		}
	}()
	err := sendCSV(v, csvExport[string]{
		name: "letters", file: "letters.csv", header: []string{"letter"},
		row: func(s string) []string { return []string{s} }, id: func(s string) string { return s },
		read: func(before string) ([]string, bool, error) {
			if before == "" {
				return []string{"a"}, true, nil
			}
			return nil, false, errors.New("the database has gone away")
		},
	})
	t.Errorf("a broken download ended with %v", err)
}

// TestFormsOfStrangersAreSmall checks that only somebody who is signed in may send a form as large as an image.
func TestFormsOfStrangersAreSmall(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner, stranger := s.owner(), s.visitor()
		large := string(make([]byte, 70<<10))
		stranger.wants(stranger.post("/admin/sign-in", "email", "a@example.com", "x", large),
			http.StatusRequestEntityTooLarge)
		// it was read
		owner.wants(owner.post("/admin/account", "name", "Ada", "x", large), http.StatusBadRequest, "only text")
	})
}
