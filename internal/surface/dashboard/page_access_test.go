package dashboard

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

var hiddenTag = regexp.MustCompile(`name="tag" value="([^"]*)"`)

// tagIn returns the version of the page in the forms of a screen.
func tagIn(t *testing.T, a answer) string {
	t.Helper()
	found := hiddenTag.FindStringSubmatch(a.body)
	if found == nil {
		t.Fatalf("no tag in %s", a.body)
	}
	return strings.ReplaceAll(found[1], "&#34;", `"`)
}

// TestPageAccess sets who can see a private page, in each way.
func TestPageAccess(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		page, err := s.store.CreatePage(s.Context(), v.actor(), resource.Page.From(statuspage.Page{
			Name: "Inside", Slug: "inside", Visibility: statuspage.VisibilityPrivate,
		}))
		if err != nil {
			s.Fatal(err)
		}
		const path = "/admin/pages/inside/access"
		now := func() statuspage.PageAccess {
			s.Helper()
			p, err := s.store.Page(s.Context(), v.actor(), page.Slug)
			if err != nil {
				s.Fatal(err)
			}
			return p.Access
		}
		first := v.wants(v.get(path), 200, "For everybody else it does not exist.", "There is no password.",
			"There is no link.")
		tag := tagIn(t, first)
		v.wants(v.post(path, "tag", tag, "change", "who", "members", "true", "networks", "10.0.0.0/8\r\nnonsense"), 422,
			"is neither an address nor a network", `value="true" selected`)
		v.wants(v.post(path, "tag", tag, "change", "who", "members", "true", "networks", "0.0.0.0/0"), 422,
			"contains all addresses")
		most := make([]string, statuspage.MaxAccessNetworks)
		for i := range most {
			most[i] = fmt.Sprintf("198.51.100.%d", i)
		}
		v.wants(v.post(path, "tag", tag, "change", "who", "members", "true", "networks",
			strings.Join(most, " ")+" 192.0.2.7"), 422, "at most 50 networks")
		v.wants(v.post(path, "tag", tag, "change", "who", "members", "true", "networks", strings.Join(most, " ")), 303,
			path+"?saved")
		tag = tagIn(t, v.get(path))
		v.wants(v.post(path, "tag", tag, "change", "who", "members", "true", "networks",
			"10.0.0.0/8\r\n2001:db8::1, 192.0.2.7"), 303, path+"?saved")
		if a := now(); !a.Members || len(a.Networks) != 3 {
			t.Errorf("the access is %+v", a)
		}
		v.wants(v.post(path, "tag", tag, "change", "who", "members", "false", "networks", ""), 409,
			"somebody else has changed this", "10.0.0.0/8")
		if a := now(); !a.Members {
			t.Error("an old form has changed the access")
		}
		tag = tagIn(t, v.wants(v.get(path), 200, "asked to sign in", "192.0.2.7/32"))
		v.wants(v.post(path, "tag", tag, "change", "password", "password", "short"), 422, "at least 12 characters",
			"192.0.2.7/32")
		v.wants(v.post(path, "tag", tag, "change", "password", "password", goodPassword), 303)
		if a := now(); a.PasswordHash == "" || strings.Contains(a.PasswordHash, goodPassword) {
			t.Errorf("the hash of the password is %q", a.PasswordHash)
		}
		a := v.wants(v.get(path), 200, "enter the password or to sign in", "Replace the password")
		if strings.Contains(a.body, goodPassword) || strings.Contains(a.body, "argon2") {
			t.Error("the screen shows the password")
		}
		made := v.wants(v.post(path, "tag", tagIn(t, a), "change", "link"), 200, "not shown again",
			"/status/inside?key=")
		if a := v.get(path); strings.Contains(a.body, "?key=") {
			t.Error("the link is shown again")
		}
		v.wants(v.post(path, "tag", tagIn(t, made), "change", "no_link"), 303)
		v.wants(v.post(path, "tag", tagIn(t, v.get(path)), "change", "no_password"), 303)
		if a := now(); a.PasswordHash != "" || a.LinkHash != "" {
			t.Errorf("the access is %+v", a)
		}
		v.wants(v.post(path, "tag", tag, "change", "dance"), 404)
		v.wants(v.get("/admin/visit/inside"), 303, "/status/inside")
		v.wants(v.get("/admin/visit/%2F%2Fevil.example"), 404)
		editor, viewer := s.member(v, kernel.RoleEditor), s.member(v, kernel.RoleViewer)
		if a := editor.wants(editor.get(path), 200, "10.0.0.0/8"); strings.Contains(a.body, `name="change"`) {
			t.Error("an editor can change the access")
		}
		if a := viewer.get("/admin/pages/inside"); viewer.get(path).StatusCode != 403 ||
			strings.Contains(a.body, path) {
			t.Error("a viewer sees the access, or a link to it")
		}
	})
}
