package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/allswell/allswell"
)

// TestStatusEnumerations checks that every enumeration of statuses in openapi.json has
// the domain's statuses.
func TestStatusEnumerations(t *testing.T) {
	var doc any
	if err := json.Unmarshal(served(t), &doc); err != nil {
		t.Fatal(err)
	}
	allowed := [][]allswell.Status{allswell.Statuses, allswell.RankedStatuses, allswell.AffectedStatuses, allswell.DownStatuses}
	found := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for i, item := range v {
				walk(fmt.Sprint(path, "/", i), item)
			}
		case map[string]any:
			for name, member := range v {
				walk(path+"/"+name, member)
			}
			for _, name := range []string{"enum", "required"} {
				list, _ := v[name].([]any)
				if !slices.Contains(list, any("major_outage")) {
					continue
				}
				found++
				var got []allswell.Status
				for _, value := range list {
					if text, ok := value.(string); ok { // not null
						got = append(got, allswell.Status(text))
					}
				}
				slices.Sort(got)
				if !slices.ContainsFunc(allowed, func(want []allswell.Status) bool { return slices.Equal(got, slices.Sorted(slices.Values(want))) }) {
					t.Errorf("openapi.json: %s/%s is %q, want one of %q", path, name, got, allowed)
				}
			}
		}
	}
	walk("", doc)
	if found < 6 {
		t.Errorf("%d enumerations of statuses", found)
	}
}

// TestAuditEnumerations checks that openapi.json names every kind of object and every action of the audit log.
func TestAuditEnumerations(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas struct {
				ObjectKind  struct{ Enum []allswell.ObjectKind }
				AuditAction struct{ Enum []allswell.AuditAction }
			}
		}
	}
	if err := json.Unmarshal(served(t), &doc); err != nil {
		t.Fatal(err)
	}
	if got := doc.Components.Schemas.ObjectKind.Enum; !slices.Equal(got, allswell.ObjectKinds) {
		t.Errorf("kinds %q, want %q", got, allswell.ObjectKinds)
	}
	if got := doc.Components.Schemas.AuditAction.Enum; !slices.Equal(got, allswell.AuditActions) {
		t.Errorf("actions %q, want %q", got, allswell.AuditActions)
	}
}
