package workspace_test

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
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

func TestTokens(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/tokens"), http.StatusOK, "No tokens yet")
		owner.Wants(owner.Post("/admin/tokens", "name", " ", "scope", "root"), http.StatusUnprocessableEntity,
			"This field is required.", "must be one of")
		created := owner.Wants(owner.Post("/admin/tokens", "name", dashboardtest.Hostile, "scope", "write"),
			http.StatusCreated, "not shown again", "&lt;script&gt;")
		secret := regexp.MustCompile(`aw_[0-9A-Za-z]{49}`).FindString(created.Text)
		token, err := s.Store.Authenticate(s.Context(), secret)
		if err != nil || token.Scope != kernel.ScopeWrite || token.Name != dashboardtest.Hostile {
			s.Fatalf("the token %+v, %v", token, err)
		}
		list := owner.Wants(owner.Get("/admin/tokens"), http.StatusOK, "last used", "Revoke")
		if strings.Contains(list.Text, secret) || strings.Contains(list.Text, "<script>alert") {
			s.Error("the list has a secret, or markup in a name")
		}
		owner.Wants(owner.Post("/admin/tokens/"+token.ID+"/revoke", "back", "/admin/tokens?p=1"), http.StatusSeeOther,
			"/admin/tokens?p=1")
		if _, err := s.Store.Authenticate(s.Context(), secret); !errors.Is(err, kernel.ErrUnauthenticated) {
			s.Errorf("a revoked token: %v", err)
		}
		owner.Wants(owner.Get("/admin/tokens"), http.StatusOK, ">revoked<")
		owner.Wants(owner.Post("/admin/tokens/nothing/revoke"), http.StatusNotFound)
	})
}

// TestLimitedTokens creates tokens that expire and are limited to a page.
func TestLimitedTokens(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		_, err := s.Store.CreatePage(s.Context(), owner.Actor(),
			resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
		if err != nil {
			s.Fatal(err)
		}
		form := []string{"name", "pipeline", "scope", "write", "reach", "some", "pages", "acme", "expires_in"}
		owner.Wants(owner.Post("/admin/tokens", append(form, "soon")...), http.StatusUnprocessableEntity,
			"Choose one of the times", `value="acme" checked`)
		owner.Wants(owner.Post("/admin/tokens", "name", "x", "scope", "admin", "reach", "some", "pages", "acme"),
			http.StatusUnprocessableEntity, "cannot be limited to pages")
		owner.Wants(owner.Post("/admin/tokens", append(form, "720h")...), http.StatusCreated, "Only <code>acme</code>",
			"expires")
		s.Dashboard.Now = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) }
		if body := owner.Get("/admin/tokens").Text; !strings.Contains(body, "expired") {
			s.Errorf("an expired token is listed as valid: %s", body)
		}
	})
}
