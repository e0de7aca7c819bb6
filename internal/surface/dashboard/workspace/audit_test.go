package workspace_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

func TestAuditLog(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Page(dashboardtest.Hostile, "acme")
		c, err := s.Store.Components().Create(s.Context(), owner.Actor(), "acme",
			resource.Component.From(statuspage.Component{Name: "=1+1"}))
		if err != nil {
			s.Fatal(err)
		}
		list := owner.Wants(owner.Get("/admin/audit"), http.StatusOK, "Ada Lovelace", "created the component",
			"&lt;script&gt;", "=1&#43;1")
		if strings.Contains(list.Text, "<script>alert") {
			s.Error("markup in a name")
		}
		only := owner.Wants(owner.Get("/admin/audit?object="+c.ID), http.StatusOK, "created the component",
			"Changes of one object")
		if strings.Contains(only.Text, "the page") {
			s.Errorf("the filter by object lists others:\n%s", only.Text)
		}
		owner.Wants(owner.Get("/admin/audit?kind=monitor&action=delete"), http.StatusOK, "No such changes",
			`value="monitor" selected`)
		owner.Wants(owner.Get("/admin/audit?since=2020-01-01&until=2020-01-02"), http.StatusOK, "No such changes",
			`value="2020-01-02"`)
		owner.Wants(owner.Get("/admin/audit?since=2020-01-01"), http.StatusOK, "created the component")
		owner.Wants(owner.Get("/admin/audit?since=yesterday"), http.StatusUnprocessableEntity, "must be a day",
			`value="yesterday"`)
		owner.Wants(owner.Get("/admin/audit?before=x"), http.StatusNotFound)
		owner.Wants(owner.Get("/admin/audit/export?since=x"), http.StatusNotFound)

		export := owner.Wants(owner.Get("/admin/audit/export?kind=component"), http.StatusOK)
		rows, err := csv.NewReader(strings.NewReader(export.Text)).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][9] != "'=1+1" ||
			export.Header.Get("Content-Disposition") != `attachment; filename="audit.csv"` {
			s.Errorf("export %q, %v", rows, err)
		}
	})
}

func TestAuditLogHasPages(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Page("Acme", "acme")
		for i := range frame.PerPage + 5 {
			_, err := s.Store.Components().Create(s.Context(), owner.Actor(), "acme",
				resource.Component.From(statuspage.Component{Name: fmt.Sprintf("Component %02d", i)}))
			if err != nil {
				s.Fatal(err)
			}
		}
		seen := map[string]bool{}
		path := "/admin/audit?kind=component"
		for range 2 {
			list := owner.Wants(owner.Get(path), http.StatusOK)
			for _, name := range regexp.MustCompile(`Component \d\d`).FindAllString(list.Text, -1) {
				seen[name] = true
			}
			if older := regexp.MustCompile(`href="([^"]*before=[^"]*)"`).FindStringSubmatch(list.Text); older != nil {
				path = strings.ReplaceAll(older[1], "&amp;", "&")
			}
		}
		if len(seen) != frame.PerPage+5 {
			s.Errorf("two pages show %d components", len(seen))
		}
		owner.Wants(owner.Get(path), http.StatusOK, "Newest")
		export := owner.Wants(owner.Get("/admin/audit/export?kind=component"), http.StatusOK)
		if lines := strings.Count(export.Text, "\n"); lines != frame.PerPage+6 {
			s.Errorf("the export has %d lines", lines)
		}
	})
}
