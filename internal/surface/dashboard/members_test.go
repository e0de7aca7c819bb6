package dashboard

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
)

// codeIn returns the code of the invitation that a screen shows.
func (s *site) codeIn(body string) string {
	s.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(s.base) + `/admin/accept\?code=(\w+)`).FindStringSubmatch(body)
	if found == nil {
		s.Fatalf("no invitation in %s", body)
	}
	return found[1]
}

func TestInvitation(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		owner.wants(owner.post("/admin/members/invite", "email", "grace", "role", "king"),
			http.StatusUnprocessableEntity, "must be an e-mail address", "This must be viewer", `value="grace"`)
		owner.wants(owner.post("/admin/members/invite", "email", "ADA@example.com", "role", "viewer"),
			http.StatusUnprocessableEntity, "belongs to a member")
		first := s.codeIn(owner.wants(owner.post("/admin/members/invite", "email", "Grace@example.com", "role",
			"viewer"), http.StatusCreated, "grace@example.com").body)
		code := s.codeIn(owner.wants(owner.post("/admin/members/invite", "email", "grace@example.com", "role",
			"editor"), http.StatusCreated).body)
		if list := owner.wants(
			owner.get("/admin/members"), http.StatusOK, "Pending invitations", "grace@example.com",
		); strings.Contains(list.body, code) {
			s.Error("a code is shown again")
		}

		grace := s.visitor()
		grace.wants(grace.get("/admin/accept?code="+first), http.StatusNotFound, "not valid any more")
		grace.wants(grace.get("/admin/accept?code="+code), http.StatusOK, "Ada Lovelace", "grace@example.com", "editor",
			`name="name"`)
		grace.wants(grace.post("/admin/accept", "code", code, "name", " ", "password", "grace"),
			http.StatusUnprocessableEntity, "at least 12")
		grace.wants(grace.post("/admin/accept", "code", code, "name", "Grace", "password", goodPassword, "email",
			"eve@example.com", "role", "owner"), http.StatusSeeOther, "/admin")
		grace.wants(grace.get("/admin"), http.StatusOK, "Grace", "Editor")
		s.visitor().wants(s.visitor().post("/admin/accept", "code", code, "name", "Eve", "password", goodPassword),
			http.StatusNotFound)
		list := owner.wants(owner.get("/admin/members"), http.StatusOK, "grace@example.com")
		if strings.Contains(list.body, "Pending") || strings.Contains(list.body, "eve@") {
			s.Errorf("the list after the acceptance: %s", list.body)
		}

		withdrawn, err := s.store.Invite(s.Context(), owner.actor(), account.NewInvitation{
			Email: "eve@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.post("/admin/invitations/"+withdrawn.ID+"/withdraw"), http.StatusSeeOther, "/admin/members")
		s.visitor().wants(s.visitor().get("/admin/accept?code="+withdrawn.Code), http.StatusNotFound)
	})
}

// TestInvitationOfAnAccount removes a member and invites the address again: only its account can accept.
func TestInvitationOfAnAccount(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		grace := s.member(owner, kernel.RoleEditor)
		bob := s.member(owner, kernel.RoleViewer)
		owner.wants(owner.post("/admin/members/"+grace.actor().ID+"/remove"), http.StatusSeeOther)
		grace.wants(grace.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		grace.wants(grace.post("/admin/sign-in", "email", "editor@example.com", "password", goodPassword),
			http.StatusUnprocessableEntity)
		code := s.codeIn(owner.post("/admin/members/invite", "email", "editor@example.com", "role", "viewer").body)

		bob.wants(bob.get("/admin/accept?code="+code), http.StatusOK, "You are signed in as viewer@example.com")
		bob.wants(bob.post("/admin/accept", "code", code), http.StatusForbidden)
		thief := s.visitor()
		thief.wants(thief.get("/admin/accept?code="+code), http.StatusOK, "Of your account, or for a new account")
		for range signInsPerAccount {
			thief.wants(thief.post("/admin/accept", "code", code, "name", "Eve", "password", "a guess of words"),
				http.StatusUnprocessableEntity, "neither the password of your account")
		}
		thief.wants(thief.post("/admin/accept", "code", code, "password", goodPassword), http.StatusTooManyRequests,
			"Too many attempts")
		s.dashboard.signIns = newSignInLimits()
		grace.wants(grace.post("/admin/accept", "code", code, "password", goodPassword), http.StatusSeeOther, "/admin")
		grace.wants(grace.get("/admin"), http.StatusOK, "Viewer")
	})
}

// TestRemovalEndsOpenTabs removes a member who has a screen open.
func TestRemovalEndsOpenTabs(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		grace := s.member(owner, kernel.RoleEditor)
		at, err := url.Parse(s.base)
		if err != nil {
			s.Fatal(err)
		}
		open := httptest.NewRequest("GET", "/admin/live?of=/admin", nil)
		for _, c := range grace.client.Jar.Cookies(at) {
			open.AddCookie(c)
		}
		if tag, err := s.dashboard.tagOf(s.Context(), open, &url.URL{Path: Path}); err != nil || tag == "" {
			s.Fatalf("the tag of an open screen: %q, %v", tag, err)
		}
		owner.wants(owner.post("/admin/members/"+grace.actor().ID+"/remove"), http.StatusSeeOther)
		if _, err := s.dashboard.tagOf(s.Context(), open, &url.URL{Path: Path}); !errors.Is(err, errNoScreen) {
			s.Errorf("the open screen of a removed member: %v", err)
		}
		grace.wants(grace.post("/admin/account", "name", "Grace"), http.StatusSeeOther, "/admin/sign-in")
	})
}

// TestMembersOfOneRank checks what owners and admins can do to each other.
func TestMembersOfOneRank(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		admin, editor := s.member(owner, kernel.RoleAdmin), s.member(owner, kernel.RoleEditor)
		member := func(v *visitor) string { return "/admin/members/" + v.actor().ID }

		admin.wants(admin.post("/admin/members/invite", "email", "x@example.com", "role", "owner"),
			http.StatusUnprocessableEntity, "Only an owner")
		admin.wants(admin.post(member(editor)+"/role", "role", "owner"), http.StatusUnprocessableEntity,
			"Only an owner")
		admin.wants(admin.post(member(owner)+"/role", "role", "viewer"), http.StatusUnprocessableEntity,
			"Only an owner")
		admin.wants(admin.post(member(owner)+"/remove"), http.StatusUnprocessableEntity, "Only an owner")
		owner.wants(owner.post(member(owner)+"/role", "role", "admin"), http.StatusUnprocessableEntity,
			"needs an owner")
		owner.wants(owner.post(member(owner)+"/remove"), http.StatusUnprocessableEntity, "needs an owner")
		if body := admin.get("/admin/members").body; strings.Contains(body, `value="owner"`) {
			s.Error("an admin is offered the role of an owner")
		}

		// The second of two who change a role at once is refused.
		owner.wants(owner.post(member(editor)+"/role", "from", "editor", "role", "viewer"), http.StatusSeeOther)
		admin.wants(admin.post(member(editor)+"/role", "from", "editor", "role", "admin"), http.StatusConflict,
			"Somebody else has changed this role")
		editor.wants(editor.get("/admin"), http.StatusOK, "Viewer")
		owner.wants(owner.post("/admin/members/usr_nobody/role", "role", "viewer"), http.StatusNotFound)
	})
}

func TestConfirmationContinuesTheForm(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		late := func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		s.dashboard.now = late
		invitations := func() int {
			_, total, err := s.store.Invitations(s.Context(), owner.actor(), store.Pagination{Page: 1, PerPage: 1})
			if err != nil {
				s.Fatal(err)
			}
			return total
		}
		form := []string{"email", "grace@example.com", "role", "viewer"}
		owner.wants(owner.post("/admin/members/invite", form...), http.StatusOK, "Confirm that it is you",
			`name="email" value="grace@example.com"`, `action="/admin/members/invite"`)
		wrong := owner.wants(owner.post("/admin/members/invite", append(form, confirmField, "not this one")...),
			http.StatusUnprocessableEntity, "is wrong", `value="grace@example.com"`)
		if strings.Contains(wrong.body, "not this one") || invitations() != 0 {
			s.Errorf("%d invitations after a wrong password: %s", invitations(), wrong.body)
		}
		before, err := s.store.Sessions(s.Context(), owner.actor())
		if err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.post("/admin/members/invite", append(form, confirmField, goodPassword)...),
			http.StatusCreated, "/admin/accept?code=")
		after, err := s.store.Sessions(s.Context(), owner.actor())
		if err != nil || !after[0].ConfirmedAt.After(before[0].ConfirmedAt) || invitations() != 1 {
			s.Errorf("confirmed at %v, before at %v, %v", after[0].ConfirmedAt, before[0].ConfirmedAt, err)
		}
		for range signInsPerAccount - 2 {
			owner.post("/admin/members/invite", append(form, confirmField, "not this one")...)
		}
		owner.wants(owner.post("/admin/members/invite", append(form, confirmField, goodPassword)...),
			http.StatusTooManyRequests)
		s.dashboard.now = time.Now
		owner.wants(owner.post("/admin/members/invite", form...), http.StatusCreated)
	})
}

func TestAccount(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		second, third := s.visitor(), s.visitor()
		for _, v := range []*visitor{second, third} {
			v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword), http.StatusSeeOther)
		}
		owner.wants(owner.get("/admin/account"), http.StatusOK, `value="Ada Lovelace"`, "This one", "Go-http-client",
			"End all other sessions")
		owner.wants(owner.post("/admin/account", "name", " "), http.StatusUnprocessableEntity,
			"This field is required.")
		owner.wants(owner.post("/admin/account", "name", "Ada King"), http.StatusSeeOther)
		owner.wants(owner.get("/admin"), http.StatusOK, "Ada King")

		stranger := s.member(owner, kernel.RoleAdmin)
		stranger.wants(stranger.post("/admin/account/sessions/"+second.actor().SessionID+"/end"), http.StatusSeeOther)
		second.wants(second.get("/admin"), http.StatusOK)
		owner.wants(owner.post("/admin/account/sessions/"+second.actor().SessionID+"/end"), http.StatusSeeOther,
			"/admin/account")
		second.wants(second.get("/admin"), http.StatusSeeOther, "/admin/sign-in")

		owner.wants(owner.post("/admin/account/password", "current_password", "not this one", "password",
			"another set of words"), http.StatusUnprocessableEntity, "The password is wrong")
		owner.wants(owner.post("/admin/account/password", "current_password", goodPassword, "password", "short"),
			http.StatusUnprocessableEntity, "at least 12")
		third.wants(third.get("/admin"), http.StatusOK)
		owner.wants(owner.post("/admin/account/password", "current_password", goodPassword, "password",
			"another set of words"), http.StatusSeeOther)
		owner.wants(owner.get("/admin"), http.StatusOK)
		third.wants(third.get("/admin"), http.StatusSeeOther, "/admin/sign-in")

		third.wants(third.post("/admin/sign-in", "email", "ada@example.com", "password", "another set of words"),
			http.StatusSeeOther)
		owner.wants(owner.post("/admin/account/end-other-sessions"), http.StatusSeeOther)
		third.wants(third.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		owner.wants(owner.post("/admin/account/sessions/"+owner.actor().SessionID+"/end"), http.StatusSeeOther,
			"/admin/sign-in")
	})
}

func TestSwitchWorkspace(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		if body := owner.get("/admin").body; strings.Contains(body, "Switch workspace") {
			s.Error("a switcher of one workspace")
		}
		if _, err := s.store.IssueTokenFor(
			s.Context(), "Second", account.NewToken{Name: "x", Scope: kernel.ScopeAdmin},
		); err != nil {
			s.Fatal(err)
		}
		all, err := s.store.AllTokens(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		second := all[len(all)-1].WorkspaceID
		home := owner.actor().WorkspaceID
		owner.wants(owner.post("/admin/switch-workspace", "workspace_id", second), http.StatusNotFound)
		issued, err := s.store.Invite(s.Context(), kernel.SystemActor("test", second), account.NewInvitation{
			Email: "ada@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		before := owner.actor().SessionID
		s.dashboard.now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		owner.wants(owner.post("/admin/accept", "code", issued.Code), http.StatusOK, "Confirm that it is you",
			`name="code" value="`+issued.Code+`"`)
		s.dashboard.now = time.Now
		// one button, as she has signed in
		owner.wants(owner.post("/admin/accept", "code", issued.Code), http.StatusSeeOther, "/admin")
		if now := owner.actor(); now.WorkspaceID != second || now.Role != kernel.RoleViewer || now.SessionID == before {
			s.Errorf("after the acceptance: %+v", now)
		}
		owner.wants(owner.get("/admin"), http.StatusOK, "Second", "Viewer", "Switch workspace",
			fmt.Sprintf(`value="%s"`, home))
		owner.wants(owner.get("/admin/members"), http.StatusForbidden)
		owner.wants(owner.post("/admin/switch-workspace", "workspace_id", home), http.StatusSeeOther, "/admin")
		owner.wants(owner.get("/admin/members"), http.StatusOK)
	})
}

// TestFormsActInTheirWorkspace sends forms after another tab has switched to another workspace.
func TestFormsActInTheirWorkspace(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		screens := map[string]answer{"/admin/setup/page": owner.wants(owner.get("/admin/setup/page"), http.StatusOK)}
		owner.wants(owner.post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		for path, action := range map[string]string{
			"/admin/members": "/admin/members/invite", "/admin/tokens": "/admin/tokens",
			"/admin/new-page":     "/admin/pages",
			"/admin/monitors/new": "/admin/monitors/new", "/admin/incidents/new": "/admin/incidents/new",
			"/admin/maintenances/new": "/admin/maintenances/new",
		} {
			screens[action] = owner.wants(owner.get(path), http.StatusOK)
		}
		home := owner.actor().WorkspaceID
		if _, err := s.store.IssueTokenFor(
			s.Context(), "Second", account.NewToken{Name: "x", Scope: kernel.ScopeAdmin},
		); err != nil {
			s.Fatal(err)
		}
		all, err := s.store.AllTokens(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		second := kernel.SystemActor("test", all[len(all)-1].WorkspaceID)
		issued, err := s.store.Invite(s.Context(), second, account.NewInvitation{
			Email: "ada@example.com", Role: kernel.RoleAdmin,
		})
		if err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.post("/admin/accept", "code", issued.Code), http.StatusSeeOther)
		for action, screen := range screens {
			owner.wants(owner.post(action, "workspace", screen.hidden("workspace"), "name", "Typed"),
				http.StatusConflict, "another workspace")
		}
		owner.wants(owner.post("/admin/switch-workspace", "workspace_id", home), http.StatusSeeOther)
		owner.wants(owner.post("/admin/monitors/new", "workspace", screens["/admin/monitors/new"].hidden("workspace"),
			"name", "Backup", "interval", "1h"), http.StatusSeeOther)
	})
}

func TestBrowserName(t *testing.T) {
	for client, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0": "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 " +
			"Safari/537.36 Edg/126.0": "Edge on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/17.5 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36": "Chrome on Android",
		"curl/8.8": "curl", "": "Unknown browser", "<script>": "Unknown browser",
	} {
		if got := browserName(client); got != want {
			t.Errorf("%q: %q, want %q", client, got, want)
		}
	}
}

// TestEditorOfSomePages limits an editor to a page, in the invitation and later.
func TestEditorOfSomePages(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		for _, slug := range []string{"acme", "beta"} {
			if _, err := s.store.CreatePage(
				s.Context(), owner.actor(), resource.Page.From(statuspage.Page{Name: "Page " + slug, Slug: slug}),
			); err != nil {
				s.Fatal(err)
			}
		}
		owner.wants(owner.get("/admin/members"), http.StatusOK, `name="pages" value="acme"`)
		owner.wants(owner.post("/admin/members/invite", "email", "grace@example.com", "role", "admin", "reach", "some",
			"pages", "acme"), http.StatusUnprocessableEntity, "Admins and owners cannot be limited",
			`value="acme" checked`)
		owner.wants(owner.post("/admin/members/invite", "email", "grace@example.com", "role", "editor", "reach",
			"some"), http.StatusUnprocessableEntity, "1 to 100 slugs")
		code := s.codeIn(owner.wants(owner.post("/admin/members/invite", "email", "grace@example.com", "role", "editor",
			"reach", "some", "pages", "acme"), http.StatusCreated, "Only <code>acme</code>").body)
		grace := s.visitor()
		grace.wants(grace.post("/admin/accept", "code", code, "name", "Grace", "password", goodPassword),
			http.StatusSeeOther)
		for _, path := range []string{"/admin", "/admin/pages", "/admin/monitors", "/admin/incidents"} {
			if strings.Contains(grace.wants(grace.get(path), http.StatusOK).body, "Page beta") {
				s.Errorf("%s shows the other page", path)
			}
		}
		for _, path := range grace.screens() {
			grace.wants(grace.get(path), http.StatusOK)
		}
		grace.wants(grace.get("/admin/pages/acme/components"), http.StatusOK)
		grace.wants(grace.get("/admin/pages/beta/components"), http.StatusNotFound)
		grace.wants(grace.post("/admin/pages/beta/components", "name", "API"), http.StatusNotFound)
		grace.wants(grace.post("/admin/monitors/new", "name", "Backup", "interval", "1h"),
			http.StatusUnprocessableEntity, "you can change only some pages")

		member := "/admin/members/" + grace.actor().ID + "/role"
		owner.wants(owner.post(member, "from", "editor", "role", "editor", "reach", "some", "pages", "beta"),
			http.StatusSeeOther)
		grace.wants(grace.get("/admin/pages/beta/components"), http.StatusOK)
		grace.wants(grace.get("/admin/pages/acme/components"), http.StatusNotFound)
		owner.wants(owner.post(member, "from", "editor", "role", "editor", "reach", "all"), http.StatusSeeOther)
		grace.wants(grace.get("/admin/pages/acme/components"), http.StatusOK)
	})
}

// screens returns the paths of all screens to which the navigation and the search lead.
func (v *visitor) screens() (paths []string) {
	v.Helper()
	for _, found := range regexp.MustCompile(`<a [^>]*href="(/admin[^"?#]*)"`).FindAllStringSubmatch(
		v.wants(v.get("/admin/search"), http.StatusOK).body, -1,
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
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		if _, err := s.store.CreatePage(
			s.Context(), owner.actor(), resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}),
		); err != nil {
			s.Fatal(err)
		}
		last := 0
		for _, v := range []*visitor{
			s.member(owner, kernel.RoleViewer), s.member(owner, kernel.RoleEditor), s.member(owner, kernel.RoleAdmin),
		} {
			screens := v.screens()
			for _, path := range screens {
				v.wants(v.get(path), http.StatusOK)
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
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		s.member(owner, kernel.RoleEditor)
		owner.wants(owner.post("/admin/members/"+s.userID("editor@example.com")+"/remove"), http.StatusSeeOther)
		type invited struct {
			v           *visitor
			email, code string
		}
		var both []invited
		for _, email := range []string{"editor@example.com", "nobody@example.com"} {
			code := s.codeIn(owner.post("/admin/members/invite", "email", email, "role", "viewer").body)
			both = append(both, invited{s.visitor(), email, code})
		}
		same := func(what string, open func(invited) answer) {
			t.Helper()
			var seen []string
			for _, i := range both {
				a := open(i)
				text := fmt.Sprint(a.StatusCode, a.Header.Values("Retry-After"),
					strings.NewReplacer(i.email, "EMAIL", i.code, "CODE").Replace(a.body))
				seen = append(seen, text)
			}
			if seen[0] != seen[1] {
				t.Errorf("%s: with an account\n%s\nand without\n%s", what, seen[0], seen[1])
			}
		}
		same("the link", func(i invited) answer { return i.v.get("/admin/accept?code=" + i.code) })
		same("a long name", func(i invited) answer {
			return i.v.post("/admin/accept", "code", i.code, "password", "x", "name", strings.Repeat("x", 300))
		})
		for n := range signInsPerAccount + 2 {
			same(fmt.Sprint("attempt ", n), func(i invited) answer {
				return i.v.post("/admin/accept", "code", i.code, "password", []string{"", "x", "password1234"}[n%3],
					"second_factor", "123456")
			})
		}
	})
}
