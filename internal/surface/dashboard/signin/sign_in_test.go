package signin_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func TestSignIn(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		v := s.Visitor()
		v.Wants(v.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		v.Wants(v.Get("/admin/monitors/x/first-ping?a=b"), http.StatusSeeOther,
			"/admin/sign-in?next="+url.QueryEscape("/admin/monitors/x/first-ping?a=b"))
		wrong := v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", "not this one"),
			http.StatusUnprocessableEntity, "is wrong", `value="ada@example.com"`)
		nobody := v.Wants(v.Post("/admin/sign-in", "email", "eve@example.com", "password", "not this one"),
			http.StatusUnprocessableEntity)
		if strings.ReplaceAll(wrong.Text, "ada@", "eve@") != nobody.Text {
			s.Error("an unknown account can be told from a wrong password")
		}
		in := v.Wants(v.Post("/admin/sign-in", "email", " ADA@example.com ", "password", dashboardtest.GoodPassword),
			http.StatusSeeOther, "/admin")
		c := in.Cookies()[1] // after the cookie of the known browser
		if c.Name != "allswell" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" ||
			len(c.Value) < 50 {
			s.Errorf("cookie %+v", c)
		}
		v.Wants(v.Get("/admin"), http.StatusOK, "Ada Lovelace", "Owner")
		first := v.Actor()

		// Signing in again ends the session before it.
		v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
			http.StatusSeeOther)
		if v.Actor().SessionID == first.SessionID {
			s.Error("a sign-in continues the session that the browser had")
		}
		if all, err := s.Store.Sessions(s.Context(), v.Actor()); err != nil || len(all) != 2 {
			s.Errorf("%d sessions, %v; want that of the owner and the new one", len(all), err)
		}
		v.Wants(v.Post("/admin/sign-out"), http.StatusSeeOther, "/admin/sign-in")
		v.Wants(v.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		owner.Wants(owner.Get("/admin"), http.StatusOK)
	})
}

func TestAttemptsAreLimited(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Owner()
		v := s.Visitor()
		for range frame.SignInsPerAccount {
			v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", "not this one"),
				http.StatusUnprocessableEntity)
		}
		refused := v.Wants(v.Post("/admin/sign-in", "email", "Ada@example.com", "password", dashboardtest.GoodPassword),
			http.StatusTooManyRequests, "Too many attempts")
		if after, err := strconv.Atoi(refused.Header.Get("Retry-After")); err != nil || after < 60 || after > 601 {
			s.Errorf("Retry-After %d, %v; want seconds, up to ten minutes", after, err)
		}
		for i := range frame.SignInsPerAddress - frame.SignInsPerAccount {
			v.Wants(v.Post("/admin/sign-in", "email", fmt.Sprintf("nobody%d@example.com", i/5), "password", "x"),
				http.StatusUnprocessableEntity)
		}
		v.Wants(v.Post("/admin/sign-in", "email", "eve@example.com", "password", "x"), http.StatusTooManyRequests)
		v.Wants(v.Get("/admin/reset?code=x"), http.StatusTooManyRequests)
	})
}

// TestLinksEndThePreviousSession opens links in browsers in which somebody else is signed in.
func TestLinksEndThePreviousSession(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		at, err := url.Parse(s.Base)
		if err != nil {
			s.Fatal(err)
		}
		// A token can invite people before there is an owner.
		token, _ := storetest.Workspace(s.T, s.Store, account.DefaultWorkspace)
		use := func(email, path, code string, fields ...string) {
			s.Helper()
			issued, err := s.Store.Invite(s.Context(), token, account.NewInvitation{
				Email: email, Role: kernel.RoleViewer,
			})
			if err != nil {
				s.Fatal(err)
			}
			v := s.Visitor()
			v.Wants(v.Post("/admin/accept", "code", issued.Code, "name", "Eve", "password", dashboardtest.GoodPassword),
				http.StatusSeeOther, "/admin")
			secret := v.Client.Jar.Cookies(at)[0].Value
			v.Wants(v.Post(path, append(fields, "code", code)...), http.StatusSeeOther)
			v.Wants(v.Get("/admin"), http.StatusOK, "Ada Lovelace")
			if _, err := s.Store.FindSession(s.Context(), secret); !errors.Is(err, kernel.ErrUnauthenticated) {
				s.Errorf("the session before %s: %v", path, err)
			}
		}
		code, err := s.Store.IssueSetupCode(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		use("eve@example.com", "/admin/setup", code, "name", "Ada Lovelace", "email", "ada@example.com", "password",
			dashboardtest.GoodPassword)
		if code, err = s.Store.IssueResetCode(s.Context(), "ada@example.com"); err != nil {
			s.Fatal(err)
		}
		use("mallory@example.com", "/admin/reset", code, "password", "another set of words")
	})
}

func TestResetLink(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		code, err := s.Store.IssueResetCode(s.Context(), "ada@example.com")
		if err != nil {
			s.Fatal(err)
		}
		v := s.Visitor()
		v.Wants(v.Get("/admin/reset?code="+code), http.StatusOK, "ada@example.com")
		v.Wants(v.Post("/admin/reset", "code", code, "password", "lovelace ada"), http.StatusUnprocessableEntity,
			"your name")
		v.Wants(v.Post("/admin/reset", "code", code, "password", "another set of words"), http.StatusSeeOther, "/admin")
		v.Wants(v.Get("/admin"), http.StatusOK)
		owner.Wants(owner.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		v.Wants(v.Post("/admin/reset", "code", code, "password", "another set of words"), http.StatusNotFound)
		w := s.Visitor()
		w.Wants(w.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
			http.StatusUnprocessableEntity)
		w.Wants(w.Post("/admin/sign-in", "email", "ada@example.com", "password", "another set of words"),
			http.StatusSeeOther)
	})
}

// TestPasswordsAreNotNames chooses the own name as a password, in every way to choose one.
func TestPasswordsAreNotNames(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		code, err := s.Store.IssueSetupCode(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		const weak = "lovelace ada"
		v := s.Visitor()
		v.Wants(v.Post("/admin/setup", "code", code, "name", "Ada Lovelace", "email", "ada@example.com", "password",
			weak), http.StatusUnprocessableEntity, "your name")
		owner := s.Owner()
		owner.Wants(owner.Post("/admin/account/password", "current_password", dashboardtest.GoodPassword, "password",
			weak), http.StatusUnprocessableEntity, "your name")
		reset, err := s.Store.IssueResetCode(s.Context(), "ada@example.com")
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Post("/admin/reset", "code", reset, "password", weak), http.StatusUnprocessableEntity, "your name")
		issued, err := s.Store.Invite(s.Context(), owner.Actor(), account.NewInvitation{
			Email: "ada@example.org", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		v.Wants(v.Post("/admin/accept", "code", issued.Code, "name", "Ada Lovelace", "password", weak),
			http.StatusUnprocessableEntity, "must not be easy to guess")
		v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", weak), http.StatusUnprocessableEntity)
		v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
			http.StatusSeeOther)
	})
}
