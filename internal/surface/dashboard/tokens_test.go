package dashboard

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

func TestTokens(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		owner.wants(owner.get("/admin/tokens"), http.StatusOK, "No tokens yet")
		owner.wants(owner.post("/admin/tokens", "name", " ", "scope", "root"), http.StatusUnprocessableEntity,
			"This field is required.", "must be one of")
		created := owner.wants(owner.post("/admin/tokens", "name", hostile, "scope", "write"), http.StatusCreated,
			"not shown again", "&lt;script&gt;")
		secret := regexp.MustCompile(`aw_[0-9A-Za-z]{49}`).FindString(created.body)
		token, err := s.store.Authenticate(s.Context(), secret)
		if err != nil || token.Scope != kernel.ScopeWrite || token.Name != hostile {
			s.Fatalf("the token %+v, %v", token, err)
		}
		list := owner.wants(owner.get("/admin/tokens"), http.StatusOK, "last used", "Revoke")
		if strings.Contains(list.body, secret) || strings.Contains(list.body, "<script>alert") {
			s.Error("the list has a secret, or markup in a name")
		}
		owner.wants(owner.post("/admin/tokens/"+token.ID+"/revoke", "back", "/admin/tokens?p=1"), http.StatusSeeOther,
			"/admin/tokens?p=1")
		if _, err := s.store.Authenticate(s.Context(), secret); !errors.Is(err, kernel.ErrUnauthenticated) {
			s.Errorf("a revoked token: %v", err)
		}
		owner.wants(owner.get("/admin/tokens"), http.StatusOK, ">revoked<")
		owner.wants(owner.post("/admin/tokens/nothing/revoke"), http.StatusNotFound)
	})
}

// TestLimitedTokens creates tokens that expire and are limited to a page.
func TestLimitedTokens(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		if _, err := s.store.CreatePage(
			s.Context(), owner.actor(), resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}),
		); err != nil {
			s.Fatal(err)
		}
		form := []string{"name", "pipeline", "scope", "write", "reach", "some", "pages", "acme", "expires_in"}
		owner.wants(owner.post("/admin/tokens", append(form, "soon")...), http.StatusUnprocessableEntity,
			"Choose one of the times", `value="acme" checked`)
		owner.wants(owner.post("/admin/tokens", "name", "x", "scope", "admin", "reach", "some", "pages", "acme"),
			http.StatusUnprocessableEntity, "cannot be limited to pages")
		owner.wants(owner.post("/admin/tokens", append(form, "720h")...), http.StatusCreated, "Only <code>acme</code>",
			"expires")
		s.dashboard.now = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) }
		if body := owner.get("/admin/tokens").body; !strings.Contains(body, "expired") {
			s.Errorf("an expired token is listed as valid: %s", body)
		}
	})
}
