package workspace

import (
	"encoding/csv"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestDaysOfTheAuditLog reads filters with days. The last day is included.
func TestDaysOfTheAuditLog(t *testing.T) {
	day := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for typed, want := range map[[2]string][2]time.Time{
		{}:                           {},
		{"2026-11-24", ""}:           {day, {}},
		{"", "2026-11-24"}:           {{}, day.Add(24 * time.Hour)},
		{"2026-11-24", "2026-11-24"}: {day, day.Add(24 * time.Hour)},
	} {
		got, err := readAuditFilter(frame.NewForm(url.Values{"since": {typed[0]}, "until": {typed[1]}}))
		if err != nil || !got.Since.Equal(want[0]) || !got.Until.Equal(want[1]) {
			t.Errorf("from %q until %q: %v, %v, %v", typed[0], typed[1], got.Since, got.Until, err)
		}
	}
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
		t.Errorf("the changes: %q, want %q", got, want)
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
		rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || strings.ContainsAny(rows[0][0][:1], "=+-@\t\r") {
			t.Errorf("%q: %q, %v", cell, got, err)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}
