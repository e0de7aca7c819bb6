package api

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oasdiff/yaml"
)

// readNotation turns schemas in the notation of the YAML files into schemas of the document.
func readNotation(t *testing.T, text string) (object, error) {
	t.Helper()
	n := newNotation(parse(t, text), make(object))
	for _, name := range slices.Sorted(maps.Keys(n.written)) {
		n.named(name)
	}
	return n.schemas, errors.Join(n.problems...)
}

func parse(t *testing.T, text string) (o object) {
	t.Helper()
	if _, err := yaml.Unmarshal([]byte(text), &o, yaml.DecodeOpts{DisableTimestamps: true}); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNotation(t *testing.T) {
	got, err := readNotation(t, `
Time: { type: string, format: date-time }
Base:
  properties:
    id: GroupID
    ended_at: { type: Time | null, description: When. }
    note?: { type: string | null, maxLength: MaxNameLength }
  example: { id: grp_1, ended_at: null }
Full:
  extends: Base
  properties:
    scope: { enum: Scopes }
    worst: { type: string | null, enum: Scopes }
    lines: { items: Time }
  example: { scope: read }
`)
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
Time: { type: string, format: date-time }
Base:
  type: object
  required: [ended_at, id]
  properties: &base
    id: { type: string, pattern: "^grp_[0-9a-v]{20}$" }
    ended_at: { anyOf: [{ $ref: "#/components/schemas/Time" }, { type: "null" }], description: When. }
    note: { type: [string, "null"], maxLength: 255 }
  example: { id: grp_1, ended_at: null }
Full:
  type: object
  required: [ended_at, id, lines, scope, worst]
  properties:
    <<: *base
    scope: { type: string, enum: [read, write, admin] }
    worst: { type: [string, "null"], enum: [read, write, admin, null] }
    lines: { type: array, items: { $ref: "#/components/schemas/Time" } }
  example: { id: grp_1, ended_at: null, scope: read }
`)
	if got, want := indented(t, got), indented(t, want); got != want {
		t.Errorf("diff (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func indented(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMistakesInNotation(t *testing.T) {
	for name, schema := range map[string]string{
		"an unknown type":               `X: Nothing`,
		"no type":                       `X: { description: An x. }`,
		"an unknown type in a property": `X: { properties: { a: { properties: { b: strin } } } }`,
		"an unknown type of items":      `X: { items: Nothing | null }`,
		"an unknown keyword":            `X: { type: string, desciption: An x. }`,
		"an unknown list":               `X: { enum: Nothing }`,
		"an unknown limit":              `X: { type: string, maxLength: MaxNothing }`,
		"an unknown base":               `X: { extends: Nothing, properties: { a: string } }`,
		"a base that is not an object":  `{ X: { extends: Y, properties: { a: string } }, Y: { enum: Scopes } }`,
		"a base that extends it": `{ X: { extends: Y, properties: { a: string } }, Y: { extends: X, ` +
			`properties: { b: string } } }`,
		"a property of the base": `{ X: { extends: Y, properties: { a: string } }, Y: { properties: { a: ` +
			`string } } }`,
		"a property twice":              `X: { properties: { a: string, "a?": string } }`,
		"fields of unknown types":       `X: { typeFields: nothing, properties: { a: string } }`,
		"a number in place of a schema": `X: { properties: { a: 5 } }`,
		"text in place of properties":   `X: { properties: string }`,
		"properties of text":            `X: { type: string, properties: { a: string } }`,
		"text in place of an example":   `{ X: { extends: Y, example: x }, Y: { properties: { a: string } } }`,
	} {
		if got, err := readNotation(t, schema); err == nil {
			t.Errorf("%s is accepted: %v", name, got)
		}
	}
}

// TestMistakesInDocument checks what can be wrong with the document as a whole.
func TestMistakesInDocument(t *testing.T) {
	x := object{"X": object{"type": "string"}}
	for name, document := range map[string]object{
		"a schema that does not exist": {
			"paths": object{"a": refTo("schemas", "Y")}, "components": object{"schemas": object{}},
		},
		"a schema that nothing uses": {"components": object{"schemas": x}},
	} {
		if checkReferences(document) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if addAll(object{"X": 1}, object{"X": 2}) == nil {
		t.Error("a schema in two files is accepted")
	}
}

// TestDomainOfDocument checks that the YAML files use all that the code has for them.
func TestDomainOfDocument(t *testing.T) {
	var all strings.Builder
	files, err := writtenFiles.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := writtenFiles.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	text := all.String()
	names := slices.Concat(slices.Collect(maps.Keys(domainLists())), slices.Collect(maps.Keys(domainLimits())),
		slices.Collect(maps.Keys(domainTypes())), slices.Collect(maps.Keys(typeFields())))
	for _, name := range names {
		if !strings.Contains(text, ": "+name) {
			t.Errorf("no YAML file has %s", name)
		}
	}
}
