package statuspage_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

func TestTemplateVariables(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.FixedZone("CET", 3600))
	some := statuspage.TemplateValues{Page: "Acme", Components: []string{"API", "Shop"}, At: at}
	none := statuspage.TemplateValues{Page: "Acme", At: at}
	for _, c := range []struct {
		values     statuspage.TemplateValues
		text, want string
	}{
		{some, "{{component}} of {{ page }} since {{time}}, {{date}}", "API, Shop of Acme since 14:05 CET, 2026-11-22"},
		{none, "{{component}}", "Acme"},
		{none, "{{nobody}} {page} {{}}", "{{nobody}} {page} {{}}"},
	} {
		if got := c.values.Fill(c.text, 100); got != c.want {
			t.Errorf("Fill(%q) = %q, want %q", c.text, got, c.want)
		}
	}
	good := statuspage.IncidentTemplate{Name: "Slow", Title: "{{component}} is slow", Message: "Since {{ time }}."}
	if err := domaintest.CheckNew(resource.IncidentTemplate, good); err != nil {
		t.Error(err)
	}
	bad := statuspage.IncidentTemplate{Name: "Slow", Title: "{{name}}", Message: "{{ }}", Impact: "huge"}
	err := domaintest.CheckNew(resource.IncidentTemplate, bad)
	if err == nil || !strings.Contains(err.Error(), "{{component}}, {{date}}, {{page}}, {{time}}") {
		t.Errorf("unknown variables: %v", err)
	}
}

// TestFilledTemplateEndsWhenTooLong fills a message with the names of many components, again and again.
func TestFilledTemplateEndsWhenTooLong(t *testing.T) {
	values := statuspage.TemplateValues{
		Page: "Acme", Components: slices.Repeat([]string{strings.Repeat("ä", kernel.MaxNameLength)}, 500),
	}
	template := statuspage.IncidentTemplate{Title: "Slow", Message: strings.Repeat("{{component}}", 1900)}
	var (
		i     statuspage.Incident
		first statuspage.IncidentUpdate
	)
	template.Begin(&i, &first, values)
	if names := strings.Join(values.Components, ", "); len(first.Message) != len(names) {
		t.Errorf("a message of %d bytes, want %d", len(first.Message), len(names))
	}
	if err := i.CheckNew(first); err == nil || !strings.Contains(err.Error(), "may not be longer") {
		t.Errorf("CheckNew of a title that is too long: %v", err)
	}
}
