package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// TestFieldsOfTypes checks what every field of every type must satisfy, so that all surfaces can show it.
func TestFieldsOfTypes(t *testing.T) {
	for _, shared := range check.Fields() {
		allowed := make(map[string]bool)
		for _, owner := range shared.Of {
			f := owner.Field
			at := fmt.Sprintf("%s.%s", owner.Type, f.Name)
			if f.Kind != shared.Kind || f.Secret != shared.Secret {
				t.Errorf("%s differs from that of %s", at, shared.Of[0].Type)
			}
			if f.Label == "" || f.Help == "" || f.Name != strings.ToLower(f.Name) {
				t.Errorf("%s has no label, no help or capitals", at)
			}
			if allowed[at] {
				t.Errorf("%s exists twice", at)
			}
			allowed[at] = true
			if _, err := strconv.Atoi(f.Default); f.Kind == configfield.KindInteger && f.Default != "" && err != nil {
				t.Errorf("%s: the default is %q", at, f.Default)
			}
		}
	}
	if !slices.Contains(check.MonitorTypes(), monitor.MonitorHeartbeat) {
		t.Error("heartbeat is missing")
	}
}

// exampleChecks returns a new monitor of each type, with the fields that it must have.
func exampleChecks() (all []map[string]any) {
	for _, t := range check.Types {
		body := map[string]any{"type": string(t.Name), "name": t.Label}
		for _, f := range t.Fields {
			if !f.Required {
				continue
			}
			body[f.Name] = f.Example
			if n, err := strconv.Atoi(f.Example); f.Kind == configfield.KindInteger && err == nil {
				body[f.Name] = n
			}
		}
		all = append(all, body)
	}
	return all
}
