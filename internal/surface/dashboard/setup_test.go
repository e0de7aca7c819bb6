package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

func TestFirstStart(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		code, err := s.Store.IssueSetupCode(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		v := s.Visitor()
		v.Wants(v.Get("/admin/setup?code=WRONG"), http.StatusNotFound, "no longer valid")
		v.Wants(v.Get("/admin/setup?code="+code), http.StatusOK, `name="password"`, code)
		bad := v.Wants(v.Post("/admin/setup", "code", code, "name", "<Ada>", "email", "ada", "password", "short"),
			http.StatusUnprocessableEntity,
			`value="&lt;Ada&gt;"`, "must be an email address", "at least 12 characters")
		if strings.Contains(bad.Text, "short") {
			s.Error("a password is sent back")
		}
		v.Wants(v.Post("/admin/setup", "code", code, "name", "Ada", "email", "ada@example.com", "password",
			dashboardtest.GoodPassword), http.StatusSeeOther, "/admin/setup/page")
		other := s.Visitor()
		other.Wants(other.Post("/admin/setup", "code", code, "name", "Eve", "email", "eve@example.com", "password",
			dashboardtest.GoodPassword), http.StatusNotFound)

		components := setsUpPage(v)
		screen := setsUpHeartbeat(v, components[1].ID)
		awaitsFirstPing(v, screen)
		setsUpCheck(v, "/admin/setup/acme-cloud/monitor", components[0].ID)
	})
}

// setsUpPage creates the first page with the components Website and API.
func setsUpPage(v *dashboardtest.Visitor) []statuspage.Component {
	v.Helper()
	v.Wants(v.Get("/admin"), http.StatusOK, "No monitors yet")
	v.Wants(v.Get("/admin/setup/page"), http.StatusOK, "Your first page")
	v.Wants(v.Post("/admin/setup/page", "name", "Acme Cloud", "slug", ""), http.StatusSeeOther,
		"/admin/setup/acme-cloud/components")
	v.Wants(v.Get("/admin/setup/page"), http.StatusSeeOther, "/admin") // there is a page already
	v.Wants(v.Post("/admin/setup/page", "name", "Acme Cloud", "slug", "acme-cloud"), http.StatusUnprocessableEntity,
		`aria-invalid="true"`)
	v.Wants(v.Post("/admin/setup/acme-cloud/components", "components", " \n"), http.StatusUnprocessableEntity,
		"between 1 and 50")
	v.Wants(v.Post("/admin/setup/acme-cloud/components", "components", strings.Repeat("Website\n", 51)),
		http.StatusUnprocessableEntity, "between 1 and 50")
	v.Wants(v.Post("/admin/setup/acme-cloud/components", "components", strings.Repeat("Website\n", 50)),
		http.StatusSeeOther)
	for range 2 { // sent twice, it creates nothing twice
		v.Wants(v.Post("/admin/setup/acme-cloud/components", "components", "Website\r\n\r\nAPI\r\n"),
			http.StatusSeeOther, "/admin/setup/acme-cloud/monitor")
	}
	components, total, err := v.Store.Components().List(v.Context(), v.Actor(), "acme-cloud", store.Filter{},
		store.Pagination{Page: 1, PerPage: 10})
	if err != nil || total != 2 || components[0].Name != "Website" || components[1].Name != "API" {
		v.Fatalf("components %+v, %v", components, err)
	}
	return components
}

// setsUpHeartbeat creates the first monitor as a heartbeat, and returns the path of the screen that waits for its ping.
func setsUpHeartbeat(v *dashboardtest.Visitor, component string) string {
	v.Helper()
	v.Wants(v.Get("/admin/setup/acme-cloud/monitor"), http.StatusOK, "API</option>")
	v.Wants(v.Post("/admin/setup/acme-cloud/monitor", "name", "", "interval", "x", "component_id", ""),
		http.StatusUnprocessableEntity, "This field is required.")
	done := v.Wants(v.Post("/admin/setup/acme-cloud/monitor", "name", "Backup", "interval", "1h", "component_id",
		component), http.StatusSeeOther, "/first-ping")
	again := v.Wants(v.Post("/admin/setup/acme-cloud/monitor", "name", "Backup", "interval", "1h", "component_id",
		component), http.StatusSeeOther, "/first-ping")
	if first, second := done.Header.Get("Location"), again.Header.Get("Location"); first != second {
		v.Errorf("sent twice, the form made %s and %s", first, second)
	}
	return done.Header.Get("Location")
}

// awaitsFirstPing looks at the screen before and after the first ping.
func awaitsFirstPing(v *dashboardtest.Visitor, screen string) {
	v.Helper()
	waiting := v.Wants(v.Get(screen), http.StatusOK, "Waiting for the first ping",
		`<a class="plain-button" href="/admin">Go to overview</a>`, "curl -fsS", "CronJob", "ExecStartPost",
		"urlopen", "fetch(")
	m, err := v.Store.Monitor(v.Context(), v.Actor(), "backup")
	if err != nil || m.Interval.Minutes() != 75 {
		v.Fatalf("the monitor %+v, %v", m, err)
	}
	_, err = v.Store.RecordPings(v.Context(), []string{m.Token}, store.LivenessRecord{Replica: "r"},
		store.PingOrigins{})
	if err != nil {
		v.Fatal(err)
	}
	arrived := v.Wants(v.Get(screen), http.StatusOK, "First ping received")
	if waiting.Header.Get("ETag") == arrived.Header.Get("ETag") {
		v.Error("the tag of the screen does not change with the first ping")
	}
}

// setsUpCheck creates the first monitor as a check of a URL, after a test of it.
func setsUpCheck(v *dashboardtest.Visitor, path, component string) {
	v.Helper()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("hello"))
	}))
	defer target.Close()
	v.Wants(v.Get(path), http.StatusOK, `href="`+path+`?type=http"`)
	form := v.Wants(v.Get(path+"?type=http"), http.StatusOK, `name="url"`, "Test now",
		`<option value="`+component+`" selected>`, `<option value="1m" selected>minute`, ">day</option>")
	v.Lacks(form, ">week</option>") // a check is made at least once a day
	v.Wants(v.Get(path), http.StatusOK, ">week</option>")
	fields := func(name, url string, more ...string) []string {
		return append([]string{"type", "http", "name", name, "url", url, "interval", "5m", "component_id", component},
			more...)
	}
	v.Wants(v.Post(path, fields("", "ftp://x")...), http.StatusUnprocessableEntity, `id="e-name"`, `id="e-url"`,
		`value="ftp://x"`)
	v.Wants(v.Post(path, fields("", "", "preview", "test")...), http.StatusUnprocessableEntity, `id="e-url"`)
	v.Wants(v.Post(path, fields("", target.URL, "preview", "test")...), http.StatusOK, "OK</span>",
		`value="`+target.URL+`"`)
	v.Wants(v.Post(path, fields("", "http://127.0.0.1:1/", "preview", "test")...), http.StatusOK, "Failed")
	if _, err := v.Store.Monitor(v.Context(), v.Actor(), "website"); err == nil {
		v.Error("a test creates a monitor")
	}
	v.Wants(v.Post(path, fields("Website", target.URL)...), http.StatusSeeOther, "/admin/monitors/mon_")
	m, err := v.Store.Monitor(v.Context(), v.Actor(), "website")
	if err != nil || m.Type != "http" || m.Interval.Minutes() != 5 || m.ComponentID != component ||
		m.PageSlug != "acme-cloud" {
		v.Errorf("the monitor %+v, %v", m, err)
	}
}
