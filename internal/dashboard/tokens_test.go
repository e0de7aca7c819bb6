package dashboard

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/allswell/allswell"
)

func TestTokens(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		owner.wants(owner.get("/admin/tokens"), http.StatusOK, "No tokens yet")
		owner.wants(owner.post("/admin/tokens", "name", " ", "scope", "root"), http.StatusUnprocessableEntity, "name field is required", "must be one of")
		created := owner.wants(owner.post("/admin/tokens", "name", hostile, "scope", "write"), http.StatusCreated, "not shown again", "&lt;script&gt;")
		secret := regexp.MustCompile(`aw_[0-9A-Za-z]{49}`).FindString(created.body)
		token, err := s.store.Authenticate(s.Context(), secret)
		if err != nil || token.Scope != allswell.ScopeWrite || token.Name != hostile {
			s.Fatalf("the token %+v, %v", token, err)
		}
		list := owner.wants(owner.get("/admin/tokens"), http.StatusOK, "last used", "Revoke")
		if strings.Contains(list.body, secret) || strings.Contains(list.body, "<script>alert") {
			s.Error("the list has a secret, or markup in a name")
		}
		owner.wants(owner.post("/admin/tokens/"+token.ID+"/revoke", "back", "/admin/tokens?p=1"), http.StatusSeeOther, "/admin/tokens?p=1")
		if _, err := s.store.Authenticate(s.Context(), secret); !errors.Is(err, allswell.ErrUnauthenticated) {
			s.Errorf("a revoked token: %v", err)
		}
		owner.wants(owner.get("/admin/tokens"), http.StatusOK, ">revoked<")
		owner.wants(owner.post("/admin/tokens/nothing/revoke"), http.StatusNotFound)
	})
}
