package dashboard

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

func TestAuditLog(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		owner.page(hostile, "acme")
		c, err := s.store.Components().Create(s.Context(), owner.actor(), "acme",
			resource.Component.From(statuspage.Component{Name: "=1+1"}))
		if err != nil {
			s.Fatal(err)
		}
		list := owner.wants(owner.get("/admin/audit"), http.StatusOK, "Ada Lovelace", "created the component",
			"&lt;script&gt;", "=1&#43;1")
		if strings.Contains(list.body, "<script>alert") {
			s.Error("markup in a name")
		}
		only := owner.wants(owner.get("/admin/audit?object="+c.ID), http.StatusOK, "created the component",
			"Changes of one object")
		if strings.Contains(only.body, "the page") {
			s.Errorf("the filter by object lists others:\n%s", only.body)
		}
		owner.wants(owner.get("/admin/audit?kind=monitor&action=delete"), http.StatusOK, "No such changes",
			`value="monitor" selected`)
		owner.wants(owner.get("/admin/audit?since=2020-01-01&until=2020-01-02"), http.StatusOK, "No such changes",
			`value="2020-01-02"`)
		owner.wants(owner.get("/admin/audit?since=2020-01-01"), http.StatusOK, "created the component")
		owner.wants(owner.get("/admin/audit?since=yesterday"), http.StatusUnprocessableEntity, "must be a day",
			`value="yesterday"`)
		owner.wants(owner.get("/admin/audit?before=x"), http.StatusNotFound)
		owner.wants(owner.get("/admin/audit/export?since=x"), http.StatusNotFound)

		export := owner.wants(owner.get("/admin/audit/export?kind=component"), http.StatusOK)
		rows, err := csv.NewReader(strings.NewReader(export.body)).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][9] != "'=1+1" ||
			export.Header.Get("Content-Disposition") != `attachment; filename="audit.csv"` {
			s.Errorf("export %q, %v", rows, err)
		}
	})
}

// TestDaysOfTheAuditLog reads filters with days, of which the last one is included.
func TestDaysOfTheAuditLog(t *testing.T) {
	day := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for typed, want := range map[[2]string][2]time.Time{
		{}:                           {},
		{"2026-11-24", ""}:           {day, {}},
		{"", "2026-11-24"}:           {{}, day.Add(24 * time.Hour)},
		{"2026-11-24", "2026-11-24"}: {day, day.Add(24 * time.Hour)},
	} {
		got, err := readAuditFilter(newForm(url.Values{"since": {typed[0]}, "until": {typed[1]}}))
		if err != nil || !got.Since.Equal(want[0]) || !got.Until.Equal(want[1]) {
			t.Errorf("from %q until %q: %v, %v, %v", typed[0], typed[1], got.Since, got.Until, err)
		}
	}
}

func TestAuditLogHasPages(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		owner.page("Acme", "acme")
		for i := range perPage + 5 {
			if _, err := s.store.Components().Create(
				s.Context(), owner.actor(), "acme",
				resource.Component.From(statuspage.Component{Name: fmt.Sprintf("Component %02d", i)}),
			); err != nil {
				s.Fatal(err)
			}
		}
		seen := map[string]bool{}
		path := "/admin/audit?kind=component"
		for range 2 {
			list := owner.wants(owner.get(path), http.StatusOK)
			for _, name := range regexp.MustCompile(`Component \d\d`).FindAllString(list.body, -1) {
				seen[name] = true
			}
			if older := regexp.MustCompile(`href="([^"]*before=[^"]*)"`).FindStringSubmatch(list.body); older != nil {
				path = strings.ReplaceAll(older[1], "&amp;", "&")
			}
		}
		if len(seen) != perPage+5 {
			s.Errorf("two pages show %d components", len(seen))
		}
		owner.wants(owner.get(path), http.StatusOK, "Newest")
		export := owner.wants(owner.get("/admin/audit/export?kind=component"), http.StatusOK)
		if lines := strings.Count(export.body, "\n"); lines != perPage+6 {
			s.Errorf("the export has %d lines", lines)
		}
	})
}

func TestChangesOf(t *testing.T) {
	got := changesOf(kernel.AuditEntry{
		Before: []byte(`{"name":"Old","sort_order":1,"note":null}`),
		After:  []byte(`{"name":"New <b>","tags":["a","b"],"note":""}`),
	})
	want := []auditChange{
		{"name", "Old", "New <b>"}, {"note", "", ""}, {"sort order", "1", ""}, {"tags", "", `["a","b"]`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFormulasAreGuarded(t *testing.T) {
	for cell, want := range map[string]string{
		"=1": "'=1\n", "+1": "'+1\n", "-1": "'-1\n", "@a": "'@a\n", "\t=1": "'\t=1\n", "a=1": "a=1\n",
		`{"a":"=1"}`: `"{""a"":""=1""}"` + "\n", "ü": "ü\n",
	} {
		var written strings.Builder
		if err := kernel.WriteCSV(&written, [][]string{{cell}}); err != nil {
			t.Fatal(err)
		}
		got := written.String()
		if rows, err := csv.NewReader(strings.NewReader(got)).ReadAll(); err != nil ||
			strings.ContainsAny(rows[0][0][:1], "=+-@\t\r") {
			t.Errorf("%q: %q, %v", cell, got, err)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

func TestWith(t *testing.T) {
	query := url.Values{"a": {"1"}}
	if got := withParam(query, "b", "2").Encode() + " " + withParam(query, "a", "").Encode() + " " +
		query.Encode(); got != "a=1&b=2  a=1" {
		t.Error(got)
	}
}
