package docs

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the fields and parameters that openapi.json has to the routes of docs/api.md")

// openAPI is the part of the OpenAPI document that the routes of docs/api.md show.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas    map[string]schema
		Parameters map[string]parameter
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Required   []string
	Properties map[string]any
	AllOf      []schema
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
}

type operation struct {
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
	for name := range s.Properties {
		all = append(all, name)
	}
	for _, part := range s.AllOf {
		a, r := d.fields(part)
		all, required = append(all, a...), append(required, r...)
	}
	return all, required
}

// words returns what docs/api.md lists of an operation, sorted: the parameters of its query, and the fields of its
// body. Optional ones are marked if others are required. ok is false if there is no such operation.
func (d *openAPI) words(t *testing.T, method, path string) (words []string, ok bool) {
	raw, ok := d.Paths[path][strings.ToLower(method)]
	if !ok {
		return nil, false
	}
	var op operation
	if err := json.Unmarshal(raw, &op); err != nil {
		t.Fatal(err)
	}
	var shared []parameter
	if raw, ok := d.Paths[path]["parameters"]; ok {
		if err := json.Unmarshal(raw, &shared); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range append(shared, op.Parameters...) {
		if p.Ref != "" {
			p = d.Components.Parameters[filepath.Base(p.Ref)]
		}
		if p.In == "query" && p.Name != "page" && p.Name != "per_page" {
			words = append(words, "?"+p.Name)
		}
	}
	all, required := d.fields(op.RequestBody.Content["application/json"].Schema)
	for _, name := range all {
		if len(required) > 0 && !slices.Contains(required, name) {
			name += "?"
		}
		words = append(words, name)
	}
	slices.Sort(words)
	return slices.Compact(words), true
}

// TestRoutes compares the operations that docs/api.md lists with the OpenAPI document: all are listed, with the fields
// of their bodies and the parameters of their queries. A PUT or PATCH that lists none has those of the POST. With
// -update it adds what is missing at the end of a line, and removes what is gone.
func TestRoutes(t *testing.T) {
	var document openAPI
	if err := json.Unmarshal([]byte(read(t, "internal/api/openapi.json")), &document); err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, b := range blocksOf(t, "routes") {
		for line := range strings.Lines(b.text) {
			words := strings.Fields(line)
			method, path, got := words[0], "/api/v1"+words[1], words[2:]
			listed[method+" "+path] = true
			want, ok := document.words(t, method, path)
			if !ok {
				t.Errorf("%v: there is no %s %s", b, method, path)
				continue
			}
			if len(got) == 0 && (method == "PUT" || method == "PATCH") || slices.Equal(slices.Sorted(slices.Values(got)), want) {
				continue
			}
			if *update {
				rewrite(t, b.file, line, got, want)
				continue
			}
			t.Errorf("%v: %s %s has %q, listed are %q: run `go generate ./internal/api`", b, method, path, want, got)
		}
	}
	for path, methods := range document.Paths {
		for method := range methods {
			name := strings.ToUpper(method) + " " + path
			if method != "parameters" && !listed[name] && !strings.Contains(path, "/heartbeat/") && path != "/api/v1/openapi.json" {
				t.Errorf("docs/api.md does not list %s", name)
			}
		}
	}
}

// rewrite replaces the words of a route that a file lists by those that it has. Words that remain keep their order.
func rewrite(t *testing.T, file, line string, got, want []string) {
	t.Helper()
	route := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), strings.Join(got, " "))
	if len(got) == 0 {
		route += "  "
	}
	words := slices.DeleteFunc(slices.Clone(got), func(word string) bool { return !slices.Contains(want, word) })
	for _, word := range want {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	text := strings.Replace(read(t, file), "\n"+line, "\n"+strings.TrimRight(route+strings.Join(words, " "), " ")+"\n", 1)
	write(t, filepath.Join(root, file), text, 0o644)
}
