package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
)

// completeChecks writes what the table of types says into a parsed openapi.yaml: x-check-types becomes the list of types, and
// x-check-fields the properties of their fields; "shown" leaves out secrets.
func completeChecks(value any) {
	switch v := value.(type) {
	case map[string]any:
		if _, ok := v["x-check-types"]; ok {
			delete(v, "x-check-types")
			var types []any
			for _, t := range check.MonitorTypes() {
				types = append(types, string(t))
			}
			v["enum"] = types
		}
		if which, ok := v["x-check-fields"]; ok {
			delete(v, "x-check-fields")
			properties := make(map[string]any)
			for _, f := range check.Fields() {
				if which != "shown" || !f.Secret {
					properties[f.Name] = fieldSchema(f, which == "written")
				}
			}
			v["properties"] = properties
		}
		for _, child := range v {
			completeChecks(child)
		}
	case []any:
		for _, child := range v {
			completeChecks(child)
		}
	}
}

// fieldSchema returns the schema of a field. In requests, null stands for the default or for no secret.
func fieldSchema(f check.SharedField, written bool) map[string]any {
	var schema map[string]any
	text := map[string]any{"type": "string", "maxLength": f.Limit()}
	switch f.Kind {
	case configfield.KindInteger:
		schema = map[string]any{"type": "integer", "minimum": f.Min, "maximum": f.Limit()}
	case configfield.KindFlag:
		schema = map[string]any{"type": "boolean"}
	case configfield.KindList:
		schema = map[string]any{"type": "array", "items": text}
	case configfield.KindMap:
		schema = map[string]any{"type": "object", "additionalProperties": text}
	default:
		schema = text
		if f.Choices != nil {
			delete(schema, "maxLength")
			schema["enum"] = anyOf(f.Choices)
		}
	}
	if written {
		schema["type"] = []any{schema["type"], "null"}
		if choices, ok := schema["enum"].([]any); ok {
			schema["enum"] = append(choices, nil)
		}
		schema["writeOnly"] = true
		if !f.Secret {
			delete(schema, "writeOnly")
		}
	}
	schema["description"] = fieldDescription(f)
	return schema
}

func anyOf[T any](values []T) (all []any) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// fieldDescription says to which types a field belongs, and what it means in them.
func fieldDescription(f check.SharedField) string {
	var meanings []string
	types := make(map[string][]string)
	for _, t := range f.Types {
		own, _ := t.Field(f.Name)
		text := strings.TrimSuffix(own.Help, ".") + "."
		if own.Required {
			text += " Required."
		}
		if own.Default != "" && !own.Secret {
			text += " Default: `" + own.Default + "`."
		}
		if own.Secret {
			text += " A secret, which is never shown."
		}
		if !slices.Contains(meanings, text) {
			meanings = append(meanings, text)
		}
		types[text] = append(types[text], "`"+string(t.Name)+"`")
	}
	for i, text := range meanings {
		meanings[i] = "Of " + strings.Join(types[text], ", ") + ": " + text
	}
	return strings.Join(meanings, " ")
}

// TestFieldsOfTypes checks what every field of every type must satisfy, so that all surfaces can show it.
func TestFieldsOfTypes(t *testing.T) {
	for _, shared := range check.Fields() {
		taken := map[string]bool{"name": true, "slug": true, "unique_name": true}
		allowed := make(map[string]bool)
		for _, name := range slices.Concat(heartbeatFields, checkFields, namesOf[monitorJSON]()) {
			taken[name] = true
		}
		if taken[shared.Name] {
			t.Errorf("%s is a field of all monitors, or of heartbeats", shared.Name)
		}
		for _, kind := range shared.Types {
			f, _ := kind.Field(shared.Name)
			at := fmt.Sprintf("%s.%s", kind.Name, f.Name)
			if f.Kind != shared.Kind || f.Secret != shared.Secret {
				t.Errorf("%s differs from that of %s", at, shared.Types[0].Name)
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
	if !slices.Contains(check.MonitorTypes(), allswell.MonitorHeartbeat) {
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
