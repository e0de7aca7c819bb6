package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// notation translates the schemas of the YAML files into JSON Schema. They use its keywords, with these abbreviations:
//
//   - A schema that is only a type can be written as text: "created_at: Timestamp".
//   - A type is one of JSON, the name of another schema, or one that domainTypes lists. "Timestamp | null" also allows
//     null. A schema with properties is an object, one with items an array, and one with an enumeration is text.
//   - All properties are required, except those whose name ends in a question mark, which is not part of the name.
//   - "extends: Incident" adds the properties of that schema, and the entries of its example.
//   - "enum: Impacts" are the values of a list of the domain, and "maxLength: MaxTitleLength" is one of its limits.
//   - "typeFields: check" adds the fields of all types of checks as a request has them; "channel" does so for channels.
type notation struct {
	written  object          // the schemas in this notation
	schemas  object          // the schemas of the document
	open     map[string]bool // schemas that are being translated
	types    map[string]object
	lists    map[string][]any
	limits   map[string]int
	problems []error
}

func newNotation(written, schemas object) *notation {
	return &notation{
		written: written, schemas: schemas, open: make(map[string]bool),
		types: domainTypes(), lists: domainLists(), limits: domainLimits(),
	}
}

// The keywords of JSON Schema whose values are copied, the keywords whose values may be the name of a limit, and the
// types of JSON.
var (
	ownKeywords   = []string{"description", "pattern", "format", "const", "default", "dependentRequired", "example"}
	limitKeywords = []string{"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"}
	jsonTypes     = []string{"string", "integer", "number", "boolean", "object", "array"}
)

func (n *notation) fail(at, format string, args ...any) {
	n.problems = append(n.problems, fmt.Errorf("%s "+format, append([]any{at}, args...)...))
}

// request returns the content of a request body, with its schema and its examples. In the YAML file, the examples are
// part of the schema.
func (n *notation) request(id string, written object) object {
	content, schema := make(object), maps.Clone(written)
	for _, key := range []string{"example", "examples"} {
		if value, ok := written[key]; ok {
			content[key] = value
			delete(schema, key)
		}
	}
	content["schema"] = n.schema("requests."+id, schema)
	return content
}

// named returns the schema of the document with the name, or nil if there is none.
func (n *notation) named(name string) object {
	written, byHand := n.written[name]
	if schema, ok := n.schemas[name].(object); ok || !byHand {
		return schema
	}
	at := "schemas." + name
	if n.open[name] {
		n.fail(at, "extends itself")
		return object{}
	}
	n.open[name] = true
	schema := n.schema(at, written)
	n.schemas[name] = schema
	return schema
}

// schema translates a schema. at is its position, for errors.
func (n *notation) schema(at string, written any) object {
	w, ok := written.(object)
	if name, isText := written.(string); isText {
		w = object{"type": name}
	} else if !ok {
		n.fail(at, "is not a schema")
		return object{}
	}
	s := n.typed(at, w)
	if name, ok := w["extends"]; ok {
		n.extend(at, s, fmt.Sprint(name))
	}
	if name, ok := w["typeFields"]; ok {
		n.addTypeFields(at, s, fmt.Sprint(name))
	}
	for _, key := range slices.Sorted(maps.Keys(w)) {
		value, at := w[key], at+"."+key
		switch {
		case key == "type", key == "extends", key == "typeFields":
		case key == "enum":
			s["enum"] = n.values(at, value, isNullable(s))
		case key == "items":
			s["items"] = n.schema(at, value)
		case key == "properties":
			n.addProperties(at, s, value)
		case key == "example" && w["extends"] != nil:
			n.extendExample(at, s, value)
		case slices.Contains(limitKeywords, key):
			s[key] = n.limit(at, value)
		case slices.Contains(ownKeywords, key):
			s[key] = value
		default:
			n.fail(at, "is not a keyword of the notation")
		}
	}
	return s
}

// typed returns a schema with the type that w gives or implies.
func (n *notation) typed(at string, w object) object {
	name, given := w["type"].(string)
	base, orNull := strings.CutSuffix(name, " | null")
	if !given {
		base = impliedType(w)
	}
	inline := n.types[base]
	if slices.Contains(jsonTypes, base) {
		inline = object{"type": base}
	}
	switch {
	case inline != nil && orNull:
		return nullable(inline)
	case inline != nil:
		return maps.Clone(inline)
	case n.written[base] == nil && n.schemas[base] == nil:
		n.fail(at, "has the type %q, which does not exist", base)
	case orNull:
		return object{"anyOf": []any{refTo("schemas", base), object{"type": "null"}}}
	}
	return refTo("schemas", base)
}

// impliedType returns the type of a schema that names none.
func impliedType(w object) string {
	switch {
	case w["properties"] != nil, w["extends"] != nil:
		return "object"
	case w["items"] != nil:
		return "array"
	case w["enum"] != nil:
		return "string"
	}
	return ""
}

// addProperties adds properties to the schema of an object.
func (n *notation) addProperties(at string, s object, written any) {
	properties, _ := s["properties"].(object)
	if properties == nil {
		properties = make(object)
		s["properties"] = properties
	}
	all, ok := written.(object)
	if !ok || s["type"] != "object" && !isNullable(s) {
		n.fail(at, "are not properties of an object")
	}
	required, _ := s["required"].([]string)
	for name, value := range all {
		name, optional := strings.CutSuffix(name, "?")
		if properties[name] != nil {
			n.fail(at, "have %s twice", name)
		}
		properties[name] = n.schema(at+"."+name, value)
		if !optional {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
}

// extend adds to an object the properties and the example of the schema that it extends.
func (n *notation) extend(at string, s object, name string) {
	base := n.named(name)
	properties, ok := base["properties"].(object)
	if !ok {
		n.fail(at, "extends %q, which is not an object with properties", name)
	}
	s["properties"] = maps.Clone(properties)
	if required, ok := base["required"].([]string); ok {
		s["required"] = slices.Clone(required)
	}
	if example, ok := base["example"]; ok {
		s["example"] = example
	}
}

// extendExample adds entries to the example of the schema that is extended.
func (n *notation) extendExample(at string, s object, written any) {
	entries, ok := written.(object)
	if !ok {
		n.fail(at, "is not an object")
	}
	example, _ := s["example"].(object)
	example = maps.Clone(example)
	if example == nil {
		example = make(object)
	}
	maps.Copy(example, entries)
	s["example"] = example
}

func (n *notation) addTypeFields(at string, s object, name string) {
	fields, ok := typeFields()[name]
	if !ok {
		n.fail(at, "has the fields of %q, which do not exist", name)
	}
	s["properties"] = fieldProperties(fields, true)
}

// values returns the values of an enumeration.
func (n *notation) values(at string, written any, orNull bool) []any {
	values, ok := written.([]any)
	if name, isText := written.(string); isText {
		values, ok = n.lists[name]
	}
	if !ok {
		n.fail(at, "is %v, which is not a list of the domain", written)
	}
	if orNull {
		values = append(values[:len(values):len(values)], nil)
	}
	return values
}

// limit returns a limit, which is a number or the name of one.
func (n *notation) limit(at string, written any) any {
	name, ok := written.(string)
	if !ok {
		return written
	}
	limit, ok := n.limits[name]
	if !ok {
		n.fail(at, "is %s, which is not a limit of the domain", name)
	}
	return limit
}

func isNullable(schema object) bool {
	_, ok := schema["type"].([]any)
	return ok
}
