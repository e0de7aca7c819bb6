package signin_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
)

// codeIn returns the code of the invitation that a screen shows.
func codeIn(s *dashboardtest.Site, body string) string {
	s.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(s.Base) + `/admin/accept\?code=(\w+)`).FindStringSubmatch(body)
	if found == nil {
		s.Fatalf("no invitation in %s", body)
	}
	return found[1]
}

func TestInvitation(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Wants(owner.Post("/admin/members/invite", "email", "grace", "role", "king"),
			http.StatusUnprocessableEntity, "must be an email address", "This must be viewer", `value="grace"`)
		owner.Wants(owner.Post("/admin/members/invite", "email", "ADA@example.com", "role", "viewer"),
			http.StatusUnprocessableEntity, "belongs to a member")
		first := codeIn(s,
			owner.Wants(owner.Post("/admin/members/invite", "email", "Grace@example.com", "role", "viewer"),
				http.StatusCreated, "grace@example.com").Text)
		code := codeIn(s,
			owner.Wants(owner.Post("/admin/members/invite", "email", "grace@example.com", "role", "editor"),
				http.StatusCreated).Text)
		list := owner.Wants(owner.Get("/admin/members"), http.StatusOK, "Pending invitations", "grace@example.com")
		if strings.Contains(list.Text, code) {
			s.Error("a code is shown again")
		}

		grace := s.Visitor()
		grace.Wants(grace.Get("/admin/accept?code="+first), http.StatusNotFound, "no longer valid")
		grace.Wants(grace.Get("/admin/accept?code="+code), http.StatusOK, "Ada Lovelace", "grace@example.com", "editor",
			`name="name"`)
		grace.Wants(grace.Post("/admin/accept", "code", code, "name", " ", "password", "grace"),
			http.StatusUnprocessableEntity, "at least 12")
		grace.Wants(grace.Post("/admin/accept", "code", code, "name", "Grace", "password", dashboardtest.GoodPassword,
			"email", "eve@example.com", "role", "owner"), http.StatusSeeOther, "/admin")
		grace.Wants(grace.Get("/admin"), http.StatusOK, "Grace", "Editor")
		s.Visitor().Wants(s.Visitor().Post("/admin/accept", "code", code, "name", "Eve", "password",
			dashboardtest.GoodPassword), http.StatusNotFound)
		list = owner.Wants(owner.Get("/admin/members"), http.StatusOK, "grace@example.com")
		if strings.Contains(list.Text, "Pending") || strings.Contains(list.Text, "eve@") {
			s.Errorf("the list after the acceptance: %s", list.Text)
		}

		withdrawn, err := s.Store.Invite(s.Context(), owner.Actor(), account.NewInvitation{
			Email: "eve@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		owner.Wants(owner.Post("/admin/invitations/"+withdrawn.ID+"/withdraw"), http.StatusSeeOther, "/admin/members")
		s.Visitor().Wants(s.Visitor().Get("/admin/accept?code="+withdrawn.Code), http.StatusNotFound)
	})
}

// TestInvitationOfAnAccount removes a member and invites the address again: only its account can accept.
func TestInvitationOfAnAccount(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		grace := s.Member(owner, kernel.RoleEditor)
		bob := s.Member(owner, kernel.RoleViewer)
		owner.Wants(owner.Post("/admin/members/"+grace.Actor().ID+"/remove"), http.StatusSeeOther)
		grace.Wants(grace.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		grace.Wants(grace.Post("/admin/sign-in", "email", "editor@example.com", "password", dashboardtest.GoodPassword),
			http.StatusUnprocessableEntity)
		code := codeIn(s, owner.Post("/admin/members/invite", "email", "editor@example.com", "role", "viewer").Text)

		bob.Wants(bob.Get("/admin/accept?code="+code), http.StatusOK, "You are signed in as viewer@example.com")
		bob.Wants(bob.Post("/admin/accept", "code", code), http.StatusForbidden)
		thief := s.Visitor()
		thief.Wants(thief.Get("/admin/accept?code="+code), http.StatusOK, "Of your account, or for a new account")
		for range frame.SignInsPerAccount {
			thief.Wants(thief.Post("/admin/accept", "code", code, "name", "Eve", "password", "a guess of words"),
				http.StatusUnprocessableEntity, "neither the password of your account")
		}
		thief.Wants(thief.Post("/admin/accept", "code", code, "password", dashboardtest.GoodPassword),
			http.StatusTooManyRequests, "Too many attempts")
		s.Dashboard.SignIns = frame.NewSignInLimits()
		grace.Wants(grace.Post("/admin/accept", "code", code, "password", dashboardtest.GoodPassword),
			http.StatusSeeOther, "/admin")
		grace.Wants(grace.Get("/admin"), http.StatusOK, "Viewer")
	})
}

// TestRemovalEndsOpenTabs removes a member who has a screen open.
func TestRemovalEndsOpenTabs(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		grace := s.Member(owner, kernel.RoleEditor)
		at, err := url.Parse(s.Base)
		if err != nil {
			s.Fatal(err)
		}
		open := httptest.NewRequest("GET", "/admin/live?of=/admin", nil)
		for _, c := range grace.Client.Jar.Cookies(at) {
			open.AddCookie(c)
		}
		if tag, err := s.Dashboard.TagOf(s.Context(), open, &url.URL{Path: frame.Path}); err != nil || tag == "" {
			s.Fatalf("the tag of an open screen: %q, %v", tag, err)
		}
		owner.Wants(owner.Post("/admin/members/"+grace.Actor().ID+"/remove"), http.StatusSeeOther)
		_, err = s.Dashboard.TagOf(s.Context(), open, &url.URL{Path: frame.Path})
		if !errors.Is(err, frame.ErrNoScreen) {
			s.Errorf("the open screen of a removed member: %v", err)
		}
		grace.Wants(grace.Post("/admin/account", "name", "Grace"), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestMembersOfOneRank checks what owners and admins can do to each other.
func TestMembersOfOneRank(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		admin, editor := s.Member(owner, kernel.RoleAdmin), s.Member(owner, kernel.RoleEditor)
		member := func(v *dashboardtest.Visitor) string { return "/admin/members/" + v.Actor().ID }

		admin.Wants(admin.Post("/admin/members/invite", "email", "x@example.com", "role", "owner"),
			http.StatusUnprocessableEntity, "Only an owner")
		admin.Wants(admin.Post(member(editor)+"/role", "role", "owner"), http.StatusUnprocessableEntity,
			"Only an owner")
		admin.Wants(admin.Post(member(owner)+"/role", "role", "viewer"), http.StatusUnprocessableEntity,
			"Only an owner")
		admin.Wants(admin.Post(member(owner)+"/remove"), http.StatusUnprocessableEntity, "Only an owner")
		owner.Wants(owner.Post(member(owner)+"/role", "role", "admin"), http.StatusUnprocessableEntity,
			"needs an owner")
		owner.Wants(owner.Post(member(owner)+"/remove"), http.StatusUnprocessableEntity, "needs an owner")
		if body := admin.Get("/admin/members").Text; strings.Contains(body, `value="owner"`) {
			s.Error("an admin is offered the role of an owner")
		}

		// The second of two who change a role concurrently is refused.
		owner.Wants(owner.Post(member(editor)+"/role", "from", "editor", "role", "viewer"), http.StatusSeeOther)
		admin.Wants(admin.Post(member(editor)+"/role", "from", "editor", "role", "admin"), http.StatusConflict,
			"Someone else has changed this role")
		editor.Wants(editor.Get("/admin"), http.StatusOK, "Viewer")
		owner.Wants(owner.Post("/admin/members/usr_nobody/role", "role", "viewer"), http.StatusNotFound)
	})
}

func TestConfirmationContinuesTheForm(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		late := func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		s.Dashboard.Now = late
		invitations := func() int {
			_, total, err := s.Store.Invitations(s.Context(), owner.Actor(), store.Pagination{Page: 1, PerPage: 1})
			if err != nil {
				s.Fatal(err)
			}
			return total
		}
		form := []string{"email", "grace@example.com", "role", "viewer"}
		owner.Wants(owner.Post("/admin/members/invite", form...), http.StatusOK, "Confirm it’s you",
			`name="email" value="grace@example.com"`, `action="/admin/members/invite"`)
		wrong := owner.Wants(owner.Post("/admin/members/invite", append(form, signin.ConfirmField, "not this one")...),
			http.StatusUnprocessableEntity, "is wrong", `value="grace@example.com"`)
		if strings.Contains(wrong.Text, "not this one") || invitations() != 0 {
			s.Errorf("%d invitations after a wrong password: %s", invitations(), wrong.Text)
		}
		before, err := s.Store.Sessions(s.Context(), owner.Actor())
		if err != nil {
			s.Fatal(err)
		}
		owner.Wants(owner.Post("/admin/members/invite",
			append(form, signin.ConfirmField, dashboardtest.GoodPassword)...), http.StatusCreated,
			"/admin/accept?code=")
		after, err := s.Store.Sessions(s.Context(), owner.Actor())
		if err != nil || !after[0].ConfirmedAt.After(before[0].ConfirmedAt) || invitations() != 1 {
			s.Errorf("confirmed at %v, before at %v, %v", after[0].ConfirmedAt, before[0].ConfirmedAt, err)
		}
		for range frame.SignInsPerAccount - 2 {
			owner.Post("/admin/members/invite", append(form, signin.ConfirmField, "not this one")...)
		}
		owner.Wants(owner.Post("/admin/members/invite",
			append(form, signin.ConfirmField, dashboardtest.GoodPassword)...), http.StatusTooManyRequests)
		s.Dashboard.Now = time.Now
		owner.Wants(owner.Post("/admin/members/invite", form...), http.StatusCreated)
	})
}

func TestAccount(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		second, third := s.Visitor(), s.Visitor()
		for _, v := range []*dashboardtest.Visitor{second, third} {
			v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
				http.StatusSeeOther)
		}
		owner.Wants(owner.Get("/admin/account"), http.StatusOK, `value="Ada Lovelace"`, "This one", "Go-http-client",
			"Sign out other sessions")
		owner.Wants(owner.Post("/admin/account", "name", " "), http.StatusUnprocessableEntity,
			"This field is required.")
		owner.Wants(owner.Post("/admin/account", "name", "Ada King"), http.StatusSeeOther)
		owner.Wants(owner.Get("/admin"), http.StatusOK, "Ada King")

		stranger := s.Member(owner, kernel.RoleAdmin)
		stranger.Wants(stranger.Post("/admin/account/sessions/"+second.Actor().SessionID+"/end"), http.StatusSeeOther)
		second.Wants(second.Get("/admin"), http.StatusOK)
		owner.Wants(owner.Post("/admin/account/sessions/"+second.Actor().SessionID+"/end"), http.StatusSeeOther,
			"/admin/account")
		second.Wants(second.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")

		owner.Wants(owner.Post("/admin/account/password", "current_password", "not this one", "password",
			"another set of words"), http.StatusUnprocessableEntity, "The password is wrong")
		owner.Wants(owner.Post("/admin/account/password", "current_password", dashboardtest.GoodPassword, "password",
			"short"), http.StatusUnprocessableEntity, "at least 12")
		third.Wants(third.Get("/admin"), http.StatusOK)
		owner.Wants(owner.Post("/admin/account/password", "current_password", dashboardtest.GoodPassword, "password",
			"another set of words"), http.StatusSeeOther)
		owner.Wants(owner.Get("/admin"), http.StatusOK)
		third.Wants(third.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")

		third.Wants(third.Post("/admin/sign-in", "email", "ada@example.com", "password", "another set of words"),
			http.StatusSeeOther)
		owner.Wants(owner.Post("/admin/account/end-other-sessions"), http.StatusSeeOther)
		third.Wants(third.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		owner.Wants(owner.Post("/admin/account/sessions/"+owner.Actor().SessionID+"/end"), http.StatusSeeOther,
			"/admin/sign-in")
	})
}

func TestSwitchWorkspace(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		if body := owner.Get("/admin").Text; strings.Contains(body, "Switch workspace") {
			s.Error("a switcher of one workspace")
		}
		_, err := s.Store.IssueTokenFor(s.Context(), "Second", account.NewToken{Name: "x", Scope: kernel.ScopeAdmin})
		if err != nil {
			s.Fatal(err)
		}
		all, err := s.Store.AllTokens(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		second := all[len(all)-1].WorkspaceID
		home := owner.Actor().WorkspaceID
		owner.Wants(owner.Post("/admin/switch-workspace", "workspace_id", second), http.StatusNotFound)
		issued, err := s.Store.Invite(s.Context(), kernel.SystemActor("test", second), account.NewInvitation{
			Email: "ada@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		before := owner.Actor().SessionID
		s.Dashboard.Now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		owner.Wants(owner.Post("/admin/accept", "code", issued.Code), http.StatusOK, "Confirm it’s you",
			`name="code" value="`+issued.Code+`"`)
		s.Dashboard.Now = time.Now
		// one button, as she has signed in
		owner.Wants(owner.Post("/admin/accept", "code", issued.Code), http.StatusSeeOther, "/admin")
		if now := owner.Actor(); now.WorkspaceID != second || now.Role != kernel.RoleViewer || now.SessionID == before {
			s.Errorf("after the acceptance: %+v", now)
		}
		owner.Wants(owner.Get("/admin"), http.StatusOK, "Second", "Viewer", "Switch workspace",
			fmt.Sprintf(`value="%s"`, home))
		owner.Wants(owner.Get("/admin/members"), http.StatusForbidden)
		owner.Wants(owner.Post("/admin/switch-workspace", "workspace_id", home), http.StatusSeeOther, "/admin")
		owner.Wants(owner.Get("/admin/members"), http.StatusOK)
	})
}

// TestFormsActInTheirWorkspace sends forms after another tab has switched to another workspace.
func TestFormsActInTheirWorkspace(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		screens := map[string]dashboardtest.Answer{
			"/admin/setup/page": owner.Wants(owner.Get("/admin/setup/page"), http.StatusOK),
		}
		owner.Wants(owner.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		for path, action := range map[string]string{
			"/admin/members": "/admin/members/invite", "/admin/tokens": "/admin/tokens",
			"/admin/new-page":     "/admin/pages",
			"/admin/monitors/new": "/admin/monitors/new", "/admin/incidents/new": "/admin/incidents/new",
			"/admin/maintenances/new": "/admin/maintenances/new",
		} {
			screens[action] = owner.Wants(owner.Get(path), http.StatusOK)
		}
		home := owner.Actor().WorkspaceID
		_, err := s.Store.IssueTokenFor(s.Context(), "Second", account.NewToken{Name: "x", Scope: kernel.ScopeAdmin})
		if err != nil {
			s.Fatal(err)
		}
		all, err := s.Store.AllTokens(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		second := kernel.SystemActor("test", all[len(all)-1].WorkspaceID)
		issued, err := s.Store.Invite(s.Context(), second, account.NewInvitation{
			Email: "ada@example.com", Role: kernel.RoleAdmin,
		})
		if err != nil {
			s.Fatal(err)
		}
		owner.Wants(owner.Post("/admin/accept", "code", issued.Code), http.StatusSeeOther)
		for action, screen := range screens {
			owner.Wants(owner.Post(action, "workspace", screen.Hidden("workspace"), "name", "Typed"),
				http.StatusConflict, "another workspace")
		}
		owner.Wants(owner.Post("/admin/switch-workspace", "workspace_id", home), http.StatusSeeOther)
		owner.Wants(owner.Post("/admin/monitors/new", "workspace", screens["/admin/monitors/new"].Hidden("workspace"),
			"name", "Backup", "interval", "1h"), http.StatusSeeOther)
	})
}

// TestEditorOfSomePages limits an editor to a page, in the invitation and later.
func TestEditorOfSomePages(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		for _, slug := range []string{"acme", "beta"} {
			_, err := s.Store.CreatePage(s.Context(), owner.Actor(),
				resource.Page.From(statuspage.Page{Name: "Page " + slug, Slug: slug}))
			if err != nil {
				s.Fatal(err)
			}
		}
		owner.Wants(owner.Get("/admin/members"), http.StatusOK, `name="pages" value="acme"`)
		owner.Wants(owner.Post("/admin/members/invite", "email", "grace@example.com", "role", "admin", "reach", "some",
			"pages", "acme"), http.StatusUnprocessableEntity, "Admins and owners cannot be limited",
			`value="acme" checked`)
		owner.Wants(owner.Post("/admin/members/invite", "email", "grace@example.com", "role", "editor", "reach",
			"some"), http.StatusUnprocessableEntity, "1 to 100 slugs")
		code := codeIn(s,
			owner.Wants(owner.Post("/admin/members/invite", "email", "grace@example.com", "role", "editor", "reach",
				"some", "pages", "acme"), http.StatusCreated, "Only <code>acme</code>").Text)
		grace := s.Visitor()
		grace.Wants(grace.Post("/admin/accept", "code", code, "name", "Grace", "password", dashboardtest.GoodPassword),
			http.StatusSeeOther)
		for _, path := range []string{"/admin", "/admin/pages", "/admin/monitors", "/admin/incidents"} {
			if strings.Contains(grace.Wants(grace.Get(path), http.StatusOK).Text, "Page beta") {
				s.Errorf("%s shows the other page", path)
			}
		}
		for _, path := range screens(grace) {
			grace.Wants(grace.Get(path), http.StatusOK)
		}
		grace.Wants(grace.Get("/admin/pages/acme/components"), http.StatusOK)
		grace.Wants(grace.Get("/admin/pages/beta/components"), http.StatusNotFound)
		grace.Wants(grace.Post("/admin/pages/beta/components", "name", "API"), http.StatusNotFound)
		grace.Wants(grace.Post("/admin/monitors/new", "name", "Backup", "interval", "1h"),
			http.StatusUnprocessableEntity, "you can change only some pages")

		member := "/admin/members/" + grace.Actor().ID + "/role"
		owner.Wants(owner.Post(member, "from", "editor", "role", "editor", "reach", "some", "pages", "beta"),
			http.StatusSeeOther)
		grace.Wants(grace.Get("/admin/pages/beta/components"), http.StatusOK)
		grace.Wants(grace.Get("/admin/pages/acme/components"), http.StatusNotFound)
		owner.Wants(owner.Post(member, "from", "editor", "role", "editor", "reach", "all"), http.StatusSeeOther)
		grace.Wants(grace.Get("/admin/pages/acme/components"), http.StatusOK)
	})
}

// screens returns the paths of all screens to which the navigation and the search lead.
func screens(v *dashboardtest.Visitor) (paths []string) {
	v.Helper()
	for _, found := range regexp.MustCompile(`<a [^>]*href="(/admin[^"?#]*)"`).FindAllStringSubmatch(
		v.Wants(v.Get("/admin/search"), http.StatusOK).Text, -1,
	) {
		if !slices.Contains(paths, found[1]) {
			paths = append(paths, found[1])
		}
	}
	if len(paths) < 10 {
		v.Fatalf("the search finds %q", paths)
	}
	return paths
}

// TestLinksLeadToWhatIsAllowed opens every screen to which navigation and search lead the members with each role.
func TestLinksLeadToWhatIsAllowed(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		_, err := s.Store.CreatePage(s.Context(), owner.Actor(),
			resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
		if err != nil {
			s.Fatal(err)
		}
		last := 0
		for _, v := range []*dashboardtest.Visitor{
			s.Member(owner, kernel.RoleViewer), s.Member(owner, kernel.RoleEditor), s.Member(owner, kernel.RoleAdmin),
		} {
			screens := screens(v)
			for _, path := range screens {
				v.Wants(v.Get(path), http.StatusOK)
			}
			if len(screens) <= last {
				s.Errorf("a higher role finds no further screens: %q", screens)
			}
			last = len(screens)
		}
	})
}

// TestInvitationsDoNotSayWhetherThereIsAnAccount compares the screens of invitations of an address with an account and
// of one without, byte for byte, until there are too many attempts.
func TestInvitationsDoNotSayWhetherThereIsAnAccount(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		s.Member(owner, kernel.RoleEditor)
		owner.Wants(owner.Post("/admin/members/"+userID(s, "editor@example.com")+"/remove"), http.StatusSeeOther)
		type invited struct {
			v           *dashboardtest.Visitor
			email, code string
		}
		var both []invited
		for _, email := range []string{"editor@example.com", "nobody@example.com"} {
			code := codeIn(s, owner.Post("/admin/members/invite", "email", email, "role", "viewer").Text)
			both = append(both, invited{s.Visitor(), email, code})
		}
		same := func(what string, open func(invited) dashboardtest.Answer) {
			t.Helper()
			var seen []string
			for _, i := range both {
				a := open(i)
				text := fmt.Sprint(a.StatusCode, a.Header.Values("Retry-After"),
					strings.NewReplacer(i.email, "EMAIL", i.code, "CODE").Replace(a.Text))
				seen = append(seen, text)
			}
			if seen[0] != seen[1] {
				t.Errorf("%s: with an account\n%s\nand without\n%s", what, seen[0], seen[1])
			}
		}
		same("the link", func(i invited) dashboardtest.Answer { return i.v.Get("/admin/accept?code=" + i.code) })
		same("a long name", func(i invited) dashboardtest.Answer {
			return i.v.Post("/admin/accept", "code", i.code, "password", "x", "name", strings.Repeat("x", 300))
		})
		for n := range frame.SignInsPerAccount + 2 {
			same(fmt.Sprint("attempt ", n), func(i invited) dashboardtest.Answer {
				return i.v.Post("/admin/accept", "code", i.code, "password", []string{"", "x", "password1234"}[n%3],
					"second_factor", "123456")
			})
		}
	})
}
