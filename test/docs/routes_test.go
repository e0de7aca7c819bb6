package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/routes.txt")

// openAPI is the part of the OpenAPI document that docs/routes.txt shows.
type openAPI struct {
	Tags       []struct{ Name string }
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas    map[string]schema
		Parameters map[string]parameter
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Required   []string
	Properties map[string]struct {
		Types []string `json:"x-types"` // of checks or channels that have the field; none: it is in all
	}
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
}

type operation struct {
	Tags        []string
	Summary     string
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
}

// fields returns the fields of a schema.
func (d *openAPI) fields(s schema) (all, required []string) {
	if s.Ref != "" {
		s = d.Components.Schemas[filepath.Base(s.Ref)]
	}
	required = s.Required
	const ofType = "(fields of the type)"
	for name, property := range s.Properties {
		if len(property.Types) > 0 {
			name = ofType
			required = append(required, ofType)
		}
		all = append(all, name)
	}
	return all, required
}

// words returns the parameters of the query, the required fields and the optional fields of an operation, each sorted.
func (d *openAPI) words(op operation) []string {
	var query, required, optional []string
	for _, p := range op.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[filepath.Base(p.Ref)]
		}
		if p.In == "query" && p.Name != "page" && p.Name != "per_page" {
			query = append(query, "?"+p.Name)
		}
	}
	all, needed := d.fields(op.RequestBody.Content["application/json"].Schema)
	for _, name := range all {
		if slices.Contains(needed, name) {
			required = append(required, name)
		} else {
			optional = append(optional, name+"?")
		}
	}
	for _, words := range [][]string{query, required, optional} {
		slices.Sort(words)
	}
	return slices.Compact(slices.Concat(query, required, optional))
}

// routes returns the list of operations by tag: method, path, parameters of the query, fields of the body, summary.
func (d *openAPI) routes(t *testing.T) string {
	t.Helper()
	sections := make(map[string]string)
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		var shared []parameter
		if raw, ok := d.Paths[path]["parameters"]; ok {
			if err := json.Unmarshal(raw, &shared); err != nil {
				t.Fatal(err)
			}
		}
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			raw, ok := d.Paths[path][strings.ToLower(method)]
			if !ok {
				continue
			}
			var op operation
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}
			op.Parameters = append(op.Parameters, shared...)
			line := strings.Join(append([]string{method, strings.TrimPrefix(path, "/api/v1")}, d.words(op)...), " ")
			sections[op.Tags[0]] += fmt.Sprintf("%s\n    %s\n", line, op.Summary)
		}
	}
	text := "The operations of the API, below /api/v1. Generated from the routes in internal/surface/api by `go " +
		"generate ./internal/surface/api`.\n" +
		"After a path: the parameters of the query (?name) and the fields of the body (optional ones are name?).\n" +
		"Lists also take ?page and ?per_page.\n"
	for _, tag := range d.Tags {
		text += "\n" + tag.Name + "\n\n" + sections[tag.Name]
	}
	return text
}

// TestRoutes checks that docs/routes.txt has the operations of the OpenAPI document. With -update it writes them.
func TestRoutes(t *testing.T) {
	var document openAPI
	if err := json.Unmarshal([]byte(read(t, "internal/surface/api/openapi.json")), &document); err != nil {
		t.Fatal(err)
	}
	want := document.routes(t)
	if *update {
		write(t, filepath.Join(root, "docs/routes.txt"), want, 0o644)
	}
	if read(t, "docs/routes.txt") != want {
		t.Error("docs/routes.txt is not current: run `go generate ./internal/surface/api`")
	}
}
