package api

import (
	"maps"
	"reflect"
	"strings"
)

// completeNullables replaces every "anyOf: [SCHEMA, {type: null}]" of a parsed openapi.yaml by a schema whose type is a list with
// "null", because generators of clients make a union of two types from the former, or fail. A reference to X becomes one to
// NullableX, which is added to the document.
func completeNullables(document map[string]any) {
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
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
