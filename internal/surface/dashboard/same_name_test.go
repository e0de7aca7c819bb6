package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestNamesThatAreTaken checks that the forms create a second monitor, component or group with the same name only if
// that is confirmed.
func TestNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		v.Wants(v.Post("/admin/setup/page", "name", "Acme", "slug", "acme"), http.StatusSeeOther)
		for _, at := range []struct{ path, noun, list string }{
			{"/admin/pages/acme/components", "component", "/admin/pages/acme/components"},
			{"/admin/pages/acme/groups", "group", "/admin/pages/acme/components"},
			{"/admin/monitors/new", "monitor", "/admin/monitors"},
		} {
			input := []string{"name", "Nightly " + at.noun, "interval", "24h", "schedule.kind", "interval"}
			v.Wants(v.Post(at.path, input...), http.StatusSeeOther)
			again := v.Wants(v.Post(at.path, input...), http.StatusUnprocessableEntity,
				"There is a "+at.noun+" with this name already.", "Open it", `name="same_name"`, `aria-invalid="true"`)
			_, link, _ := strings.Cut(again.Text, `<p class="wrong"><a href="`)
			link, _, _ = strings.Cut(link, `"`)
			v.Wants(v.Get(link), http.StatusOK, "Nightly "+at.noun)
			v.Wants(v.Post(at.path, append(input, "same_name", "true")...), http.StatusSeeOther)
		}
	})
}
