package server

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/api"
	"github.com/allswell/allswell/internal/surface/page"
)

// TestImageURLs requests the logo and the icon of a page at the URLs that the API returns: below its slug,
// and at its own domain.
func TestImageURLs(t *testing.T) {
	const base = "https://status.example.org"
	options := func(*testing.T) store.Options {
		return store.Options{Hosts: statuspage.NewHosts("status.example.org")}
	}
	storetest.RunWith(t, options, func(t *testing.T, s *store.Store) {
		_, token := storetest.Workspace(t, s, account.DefaultWorkspace)
		rt := newTestRouter(t.Output(), 0)
		rt.api = api.New(api.Config{Store: s, BaseURL: base})
		rt.page = page.New(page.Config{Store: s, BaseURL: base}).Handler()
		ask := func(method, path, body string) (response struct{ Data struct{ Logo, Icon string } }) {
			t.Helper()
			r := httptest.NewRequest(method, base+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			rt.ServeHTTP(w, r)
			if w.Code/100 != 2 {
				t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
			if err := json.Unmarshal(w.Body.Bytes(), &response); err != nil {
				t.Fatal(err)
			}
			return response
		}
		logo, icon := `<svg xmlns="http://www.w3.org/2000/svg" id="logo"/>`,
			`<svg xmlns="http://www.w3.org/2000/svg" id="icon"/>`
		ask("POST", "/api/v1/pages", `{"name":"Acme","slug":"acme"}`)
		ask("PUT", "/api/v1/pages/acme/logo", logo)
		ask("PUT", "/api/v1/pages/acme/icon", icon)
		for change, at := range map[string]string{
			`{"domain":null}`:                  base + "/status/acme/",
			`{"domain":"status.acme.example"}`: "https://status.acme.example/",
		} {
			page := ask("PATCH", "/api/v1/pages/acme", change).Data
			for address, want := range map[string]string{page.Logo: logo, page.Icon: icon} {
				w := httptest.NewRecorder()
				rt.ServeHTTP(w, httptest.NewRequest("GET", address, nil))
				if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "image/svg+xml" ||
					!strings.HasPrefix(address, at) {
					t.Errorf("%s, which should be below %s: %d %s", address, at, w.Code, w.Body)
				}
			}
		}
	})
}
