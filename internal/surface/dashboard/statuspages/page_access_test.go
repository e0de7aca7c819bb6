package statuspages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestPageAccess sets who can see a private page, in each way.
func TestPageAccess(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		now := createPrivatePage(v)
		const path = "/admin/pages/inside/access"
		first := v.Wants(v.Get(path), 200, "Everyone else gets a 404.", "No password set.",
			"No link yet.")
		tag := dashboardtest.TagIn(t, first)
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "true", "networks", "10.0.0.0/8\r\nnonsense"), 422,
			"is neither an address nor a network", `value="true" selected`)
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "true", "networks", "0.0.0.0/0"), 422,
			"contains all addresses")
		most := make([]string, statuspage.MaxAccessNetworks)
		for i := range most {
			most[i] = fmt.Sprintf("198.51.100.%d", i)
		}
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "true", "networks",
			strings.Join(most, " ")+" 192.0.2.7"), 422, "at most 50 networks")
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "true", "networks", strings.Join(most, " ")), 303,
			path+"?saved")
		tag = dashboardtest.TagIn(t, v.Get(path))
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "true", "networks",
			"10.0.0.0/8\r\n2001:db8::1, 192.0.2.7"), 303, path+"?saved")
		if a := now(); !a.Members || len(a.Networks) != 3 {
			t.Errorf("the access is %+v", a)
		}
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "false", "networks", ""), 409,
			"someone else has changed this", "10.0.0.0/8")
		if a := now(); !a.Members {
			t.Error("an old form has changed the access")
		}
		v.Wants(v.Post(path, "tag", tag, "change", "dance"), 404)
	})
}

// createPrivatePage creates the page inside, and returns a function that returns its access.
func createPrivatePage(v *dashboardtest.Visitor) (access func() statuspage.PageAccess) {
	v.Helper()
	page, err := v.Store.CreatePage(v.Context(), v.Actor(), resource.Page.From(statuspage.Page{
		Name: "Inside", Slug: "inside", Visibility: statuspage.VisibilityPrivate,
	}))
	if err != nil {
		v.Fatal(err)
	}
	return func() statuspage.PageAccess {
		v.Helper()
		p, err := v.Store.Page(v.Context(), v.Actor(), page.Slug)
		if err != nil {
			v.Fatal(err)
		}
		return p.Access
	}
}

func TestPasswordAndLinkOfPage(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		now := createPrivatePage(v)
		const path = "/admin/pages/inside/access"
		tag := dashboardtest.TagIn(t, v.Get(path))
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "true", "networks", "192.0.2.7"), 303)
		tag = dashboardtest.TagIn(t, v.Wants(v.Get(path), 200, "asked to sign in", "192.0.2.7/32"))
		v.Wants(v.Post(path, "tag", tag, "change", "password", "password", "short"), 422, "at least 12 characters",
			"192.0.2.7/32")
		v.Wants(v.Post(path, "tag", tag, "change", "password", "password", dashboardtest.GoodPassword), 303)
		if a := now(); a.PasswordHash == "" || strings.Contains(a.PasswordHash, dashboardtest.GoodPassword) {
			t.Errorf("the hash of the password is %q", a.PasswordHash)
		}
		a := v.Wants(v.Get(path), 200, "enter the password or to sign in", "Replace password")
		if strings.Contains(a.Text, dashboardtest.GoodPassword) || strings.Contains(a.Text, "argon2") {
			t.Error("the screen shows the password")
		}
		made := v.Wants(v.Post(path, "tag", dashboardtest.TagIn(t, a), "change", "link"), 200, "not shown again",
			"/status/inside?key=")
		if a := v.Get(path); strings.Contains(a.Text, "?key=") {
			t.Error("the link is shown again")
		}
		v.Wants(v.Post(path, "tag", dashboardtest.TagIn(t, made), "change", "no_link"), 303)
		v.Wants(v.Post(path, "tag", dashboardtest.TagIn(t, v.Get(path)), "change", "no_password"), 303)
		if a := now(); a.PasswordHash != "" || a.LinkHash != "" {
			t.Errorf("the access is %+v", a)
		}
	})
}

func TestWhoSeesPageAccess(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		createPrivatePage(v)
		const path = "/admin/pages/inside/access"
		tag := dashboardtest.TagIn(t, v.Get(path))
		v.Wants(v.Post(path, "tag", tag, "change", "who", "members", "true", "networks", "10.0.0.0/8"), 303)
		v.Wants(v.Get("/admin/visit/inside"), 303, "/status/inside")
		v.Wants(v.Get("/admin/visit/%2F%2Fevil.example"), 404)
		editor, viewer := s.Member(v, kernel.RoleEditor), s.Member(v, kernel.RoleViewer)
		if a := editor.Wants(editor.Get(path), 200, "10.0.0.0/8"); strings.Contains(a.Text, `name="change"`) {
			t.Error("an editor can change the access")
		}
		a := viewer.Get("/admin/pages/inside")
		if viewer.Get(path).StatusCode != 403 || strings.Contains(a.Text, path) {
			t.Error("a viewer sees the access, or a link to it")
		}
	})
}
