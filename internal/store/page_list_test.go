package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestPageList compares the statuses of the short query with the rollup of the
// whole components, over random baselines and causes.
func TestPageList(t *testing.T) {
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, "")
		random := rand.New(rand.NewPCG(1, 2))
		status := func() string { return string(kernel.Statuses[random.IntN(len(kernel.Statuses))]) }
		var components []string
		for i := range 12 {
			w.clock.move(time.Second)
			must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{
				Name: fmt.Sprint("Page ", i), Slug: fmt.Sprint("page-", i),
			})))(w)
			for n := range i % 4 {
				c := must(w.Components().Create(w.ctx, w.ws, fmt.Sprint("page-", i),
					resource.Component.From(statuspage.Component{Name: fmt.Sprint(n)})))(w)
				components = append(components, c.ID)
				for k := range 3 {
					w.run(fmt.Sprintf(`INSERT INTO causes (source, component_id, status, acknowledged, started_at)
						VALUES ('%s-%d', '%s', 'operational', TRUE, 0)`, c.ID, k, c.ID))
				}
			}
		}
		for round := range 15 {
			for _, id := range components {
				w.run(fmt.Sprintf(`UPDATE components SET baseline = '%s' WHERE id = '%s'`, status(), id))
				for k := range 3 {
					acknowledged := []string{"TRUE", "FALSE"}[random.IntN(2)]
					w.run(fmt.Sprintf(`UPDATE causes SET status = '%s', acknowledged = %s WHERE source = '%s-%d'`,
						status(), acknowledged, id, k))
				}
			}
			want, total, err := w.Pages(w.ctx, w.ws, store.Filter{}, store.Pagination{Page: 1, PerPage: 100})
			w.ok(err)
			got := must(w.PageList(w.ctx, 100))(w)
			if got.Total != total || len(got.Pages) != len(want) || !got.AsOf.Equal(w.clock.now()) {
				t.Fatalf("round %d: %d pages of %d at %s, want %d", round, len(got.Pages), got.Total, got.AsOf, total)
			}
			for i, p := range want {
				e := got.Pages[i]
				if e.ID != p.ID || e.Slug != p.Slug || e.Name != p.Name || e.Status != p.Status || e.Lead.ID != "" {
					t.Errorf("round %d: %+v, want %s %s", round, e, p.Slug, p.Status)
				}
			}
		}
		// One page with a status that nobody knows is unknown, and no other is.
		w.run(`UPDATE causes SET acknowledged = TRUE`)
		w.run(`UPDATE components SET baseline = CASE WHEN page_id IN (SELECT id FROM pages
			WHERE slug = 'page-1') THEN 'broken' ELSE 'operational' END`)
		for _, p := range must(w.PageList(w.ctx, 100))(w).Pages {
			if (p.Status == kernel.StatusUnknown) != (p.Slug == "page-1") {
				t.Errorf("%s is %s", p.Slug, p.Status)
			}
		}
		got := must(w.PageList(w.ctx, 5))(w)
		if len(got.Pages) != 5 || got.Total != 13 || got.Pages[4].Slug != "page-3" {
			t.Errorf("the first five: %+v", got)
		}
	})
}

// TestPageListLeads compares the incidents that the list leads with to the incidents of the pages. The incidents are
// random; some are resolved or drafts.
func TestPageListLeads(t *testing.T) {
	storetest.EachParallel(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, "")
		random := rand.New(rand.NewPCG(3, 4))
		for i := range 8 {
			slug := fmt.Sprint("page-", i)
			w.clock.move(time.Second)
			must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: slug, Slug: slug})))(w)
			for n := range i {
				w.clock.move(time.Duration(random.IntN(2)) * time.Second)
				inc := must(w.CreateIncident(w.ctx, w.ws, slug,
					statuspage.Incident{
						Title: fmt.Sprint(slug, " ", n), Impact: kernel.Impacts[random.IntN(len(kernel.Impacts))],
					},
					statuspage.IncidentUpdate{}, nil))(w)
				if random.IntN(3) == 0 {
					column := []string{"resolved", "draft"}[random.IntN(2)]
					w.run(fmt.Sprintf(`UPDATE incidents SET %s = TRUE WHERE id = '%s'`, column, inc.ID))
				}
			}
		}
		found := 0
		for _, e := range must(w.PageList(w.ctx, 100))(w).Pages {
			lead, ok := must(w.Summary(w.ctx, w.ws, e.Slug))(w).LeadIncident()
			if e.Lead.ID != lead.ID || e.Lead.Title != lead.Title || e.Lead.Impact != lead.Impact {
				t.Errorf("%s leads with %q, want %q", e.Slug, e.Lead.Title, lead.Title)
			}
			if ok {
				found++
			}
		}
		if found < 3 {
			t.Errorf("only %d pages have such an incident", found)
		}
	})
}

// BenchmarkPageList lists 200 pages of 20 components each. Eight of them have 500, with 2,000 causes.
func BenchmarkPageList(b *testing.B) {
	for name, dsn := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(b.TempDir(), "bench.db"), "postgres": storetest.PostgreSQL(b),
	} {
		b.Run(name, func(b *testing.B) {
			s := storetest.Open(b, dsn, store.Options{})
			b.StopTimer()
			ws, _ := storetest.Workspace(b, s, "default")
			db, _ := s.Pools()
			numbers := `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) `
			for _, fill := range []struct {
				most int
				text string
			}{
				{199, `INSERT INTO pages (id, workspace_id, slug, name, created_at, updated_at)
					SELECT CAST(n AS TEXT), '` + ws.WorkspaceID + `', 'page-' || n, 'Page', n, n FROM numbers`},
				{7_839, `INSERT INTO components (id, page_id, name, baseline, position, created_at, updated_at)
					SELECT CAST(n AS TEXT), CAST(CASE WHEN n < 4000 THEN n % 200 ELSE n % 8
					END AS TEXT), 'Component', 'operational', n, n, n FROM numbers`},
				{2_000,
					`INSERT INTO causes (source, component_id, status, acknowledged, started_at)
						SELECT CAST(n AS TEXT), CAST(n AS TEXT), 'degraded', FALSE, n FROM numbers`},
			} {
				if _, err := db.ExecContext(b.Context(), numbers+fill.text, fill.most); err != nil {
					b.Fatal(err)
				}
			}
			b.StartTimer()
			for b.Loop() {
				must(s.PageList(b.Context(), 200))(b)
			}
		})
	}
}
