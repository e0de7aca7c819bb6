package api

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
)

// completeTypes writes what the tables of types say into a parsed openapi.yaml: x-check-types, x-channel-types and
// x-alert-events become lists, and x-check-fields and x-channel-fields further properties, the fields of types; "shown"
// leaves out secrets. The schema of such a property has x-types, the types that have the field.
func completeTypes(value any) {
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
		if _, ok := v["x-channel-types"]; ok {
			delete(v, "x-channel-types")
			v["enum"] = anyOf(alertchannel.Names())
		}
		if _, ok := v["x-alert-events"]; ok {
			delete(v, "x-alert-events")
			v["enum"] = anyOf(alert.Events)
		}
		for key, fields := range map[string][]configfield.Shared{"x-check-fields": check.Fields(), "x-channel-fields": alertchannel.Fields()} {
			if which, ok := v[key]; ok {
				delete(v, key)
				if _, ok := v["properties"]; !ok {
					v["properties"] = make(map[string]any)
				}
				maps.Copy(v["properties"].(map[string]any), fieldProperties(fields, which == "written"))
			}
		}
		for _, child := range v {
			completeTypes(child)
		}
	case []any:
		for _, child := range v {
			completeTypes(child)
		}
	}
}

// fieldProperties returns the schemas of fields by name. What is not written has no secrets.
func fieldProperties(fields []configfield.Shared, written bool) map[string]any {
	properties := make(map[string]any)
	for _, f := range fields {
		if written || !f.AlwaysSecret() {
			properties[f.Name] = fieldSchema(f, written)
		}
	}
	return properties
}

// fieldSchema returns the schema of a field. In requests, null stands for the default or for no secret.
func fieldSchema(f configfield.Shared, written bool) map[string]any {
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
		if !f.AlwaysSecret() {
			delete(schema, "writeOnly")
		}
	}
	schema["description"] = fieldDescription(f)
	var types []any
	for _, t := range f.Of {
		types = append(types, t.Type)
	}
	schema["x-types"] = types
	return schema
}

func anyOf[T any](values []T) (all []any) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// fieldDescription says to which types a field belongs, and what it means in them.
func fieldDescription(f configfield.Shared) string {
	var meanings []string
	types := make(map[string][]string)
	for _, t := range f.Of {
		own := t.Field
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
		types[text] = append(types[text], "`"+t.Type+"`")
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
