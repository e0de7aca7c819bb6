package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/resource/configfield"
)

// fieldProperties returns the schemas of fields by name. written selects schemas for requests. Schemas for responses
// omit secrets.
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

// fieldDescription returns the types that have a field, and its meaning in them.
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

// completeNullables replaces every "anyOf: [SCHEMA, {type: null}]" of a document by a schema whose type is a list with
// "null": generators of clients make a union of two types from an anyOf, or fail. A reference to X becomes a reference
// to NullableX, which is added to the document. X is removed if nothing else refers to it.
func completeNullables(document object) {
	schemas := document["components"].(object)["schemas"].(object)
	var complete func(value any)
	complete = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, child := range v {
				complete(child)
			}
			choices, _ := v["anyOf"].([]any)
			if len(choices) != 2 || !reflect.DeepEqual(choices[1], map[string]any{"type": "null"}) {
				return
			}
			delete(v, "anyOf")
			choice := choices[0].(map[string]any)
			ref, ok := choice["$ref"].(string)
			if !ok {
				maps.Copy(v, nullable(choice))
				return
			}
			name := strings.TrimPrefix(ref, "#/components/schemas/")
			if _, ok := schemas["Nullable"+name]; !ok {
				schemas["Nullable"+name] = nullable(schemas[name].(map[string]any))
			}
			v["$ref"] = "#/components/schemas/Nullable" + name
		case []any:
			for _, child := range v {
				complete(child)
			}
		}
	}
	complete(document)
	used := referencesIn(document)
	for name := range maps.Clone(schemas) {
		if _, ok := schemas["Nullable"+name]; ok && !used["#/components/schemas/"+name] {
			delete(schemas, name)
		}
	}
}

// nullable returns a schema that also allows null.
func nullable(schema map[string]any) map[string]any {
	schema = maps.Clone(schema)
	schema["type"] = []any{schema["type"], "null"}
	if values, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(values[:len(values):len(values)], nil)
	}
	return schema
}
