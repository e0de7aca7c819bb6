package allswell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

func TestTemplateVariables(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.FixedZone("CET", 3600))
	some := allswell.TemplateValues{Page: "Acme", Components: []string{"API", "Shop"}, At: at}
	none := allswell.TemplateValues{Page: "Acme", At: at}
	for _, c := range []struct {
		values     allswell.TemplateValues
		text, want string
	}{
		{some, "{{component}} of {{ page }} since {{time}}, {{date}}", "API, Shop of Acme since 14:05 CET, 2026-11-22"},
		{none, "{{component}}", "Acme"},
		{none, "{{nobody}} {page} {{}}", "{{nobody}} {page} {{}}"},
	} {
		if got := c.values.Fill(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	good := allswell.IncidentTemplate{Name: "Slow", Title: "{{component}} is slow", Message: "Since {{ time }}."}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := allswell.IncidentTemplate{Name: "Slow", Title: "{{name}}", Message: "{{ }}", Impact: "huge"}
	if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "{{component}}, {{date}}, {{page}}, {{time}}") {
		t.Errorf("unknown variables: %v", err)
	}
}
