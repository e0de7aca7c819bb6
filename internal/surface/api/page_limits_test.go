package api

import (
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/resource/rights"
)

// TestPageLimitedTokens sends requests to every route with a token that is limited to a page: for the objects of this
// page it is like any other token, and objects of other pages do not exist.
func TestPageLimitedTokens(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		own, other := c.build("own"), c.build("other")
		c.post("/api/v1/monitors", `{"name": "On no page", "interval": 60}`).is(201)
		issued := c.post("/api/v1/tokens", `{"name": "Limited", "scope": "write", "pages": ["own"]}`).is(201)
		limited := c.with(issued.data()["token"].(string))
		c.unchanged(func() {
			for _, rt := range routes() {
				body := validBody(t, rt, own)
				switch path := other.path(rt); {
				case rt.needs == rights.Anyone:
				case rt.needs.Reach == rights.Workspace, rt.id == "putPage": // which would create the page
					limited.do(rt.method, path, body).is(403)
				case names(rt):
					limited.do(rt.method, path, body).is(404).says("Not found.")
				case rt.method == "GET":
					for _, row := range limited.get(path).is(200).rows() {
						if row["slug"] != own.slug && row["page"] != own.slug {
							t.Errorf("%s shows %v", path, row)
						}
					}
				}
			}
			limited.post("/api/v1/monitors", map[string]any{"name": "x", "interval": 60}).complains("page")
			limited.post("/api/v1/monitors", map[string]any{
				"name": "x", "interval": 60, "page": "other",
			}).complains("page")
			limited.patch("/api/v1/monitors/"+own.monitor, map[string]any{"page": "other"}).complains("page")
			limited.patch("/api/v1/monitors/"+own.monitor, map[string]any{"page": nil}).complains("page")
		})
		for _, rt := range routes() {
			if rt.needs == rights.Anyone || rt.needs.Reach == rights.Workspace || rt.method == "DELETE" {
				continue
			}
			a := limited.do(rt.method, own.path(rt), validBody(t, rt, own))
			if a.status >= 300 && !(a.status == 422 && ofMonitors(rt)) {
				t.Errorf("%s for its own page = %d: %s", a.asked, a.status, a.body)
			}
		}
		c.patch("/api/v1/pages/other", `{"home": true}`).is(200)
		limited.patch("/api/v1/pages/own", `{"home": true}`).complains("home")

		c.post("/api/v1/tokens", `{"name": "x", "scope": "admin", "pages": ["own"]}`).complains("pages")
		c.post("/api/v1/tokens", `{"name": "x", "scope": "read", "pages": []}`).complains("pages")
		limited.delete("/api/v1/pages/own").is(204)
		if rows := limited.get("/api/v1/pages").is(200).rows(); len(rows) != 0 {
			t.Errorf("after its page was deleted it sees %v", rows)
		}
		rows := c.get("/api/v1/tokens").is(200).rows()
		at := slices.IndexFunc(rows, func(row map[string]any) bool { return row["id"] == issued.id() })
		if pages, ok := rows[at]["pages"].([]any); !ok || len(pages) != 0 {
			t.Errorf("the list shows the pages %v", rows[at]["pages"])
		}
	})
}
