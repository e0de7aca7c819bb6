package api

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"

	"github.com/allswell/allswell/internal/resource"
)

// writtenFiles describe what does not follow from the code. schemas.yaml has what several families of routes share;
// each other file describes the family whose tag is its name.
//
//go:embed *.yaml
var writtenFiles embed.FS

// written is the contents of the YAML files. Requests and schemas are in short notation; see notation.
type written struct {
	Info            object            `json:"info"`
	SecuritySchemes object            `json:"securitySchemes"`
	Requests        map[string]object `json:"requests"` // by the id of the operation
	Schemas         object            `json:"schemas"`
}

// readWritten returns the YAML files, merged. The error names what two files define.
func readWritten() (written, error) {
	all := written{Requests: make(map[string]object), Schemas: make(object)}
	names, err := writtenFiles.ReadDir(".")
	if err != nil {
		return all, err
	}
	for _, name := range names {
		if err := all.read(name.Name()); err != nil {
			return all, fmt.Errorf("%s: %w", name.Name(), err)
		}
	}
	return all, nil
}

// read adds a file.
func (w *written) read(name string) error {
	text, err := writtenFiles.ReadFile(path.Clean(name))
	if err != nil {
		return err
	}
	var file written
	strict := func(d *json.Decoder) *json.Decoder { d.DisallowUnknownFields(); return d }
	if _, err := yaml.Unmarshal(text, &file, yaml.DecodeOpts{DisableTimestamps: true}, strict); err != nil {
		return err
	}
	if name == "schemas.yaml" {
		w.Info, w.SecuritySchemes = file.Info, file.SecuritySchemes
	}
	return errors.Join(addAll(w.Requests, file.Requests), addAll(w.Schemas, file.Schemas))
}

func addAll[V any](all, more map[string]V) error {
	for name := range more {
		if _, ok := all[name]; ok {
			return fmt.Errorf("%s is in another file, too", name)
		}
	}
	maps.Copy(all, more)
	return nil
}

// contents are the requests and the schemas of the document.
type contents struct {
	byHand   written
	requests map[string]object // by the id of the operation: a schema and examples
	schemas  object
}

// readContents returns the requests and schemas from the YAML files and from the descriptions of resources.
func readContents() (*contents, error) {
	byHand, err := readWritten()
	if err != nil {
		return nil, err
	}
	c := &contents{byHand: byHand, requests: make(map[string]object), schemas: make(object)}
	for _, d := range resource.Descriptions {
		if err := c.describe(d); err != nil {
			return nil, err
		}
	}
	for name := range byHand.Schemas {
		if _, ok := c.schemas[name]; ok {
			return nil, fmt.Errorf("the schema %s is described by hand, too", name)
		}
	}
	n := newNotation(c.byHand.Schemas, c.schemas)
	for _, name := range slices.Sorted(maps.Keys(c.byHand.Schemas)) {
		n.named(name)
	}
	for _, id := range slices.Sorted(maps.Keys(c.byHand.Requests)) {
		if _, ok := c.requests[id]; ok {
			return nil, fmt.Errorf("the request %s is described by hand, too", id)
		}
		c.requests[id] = n.request(id, c.byHand.Requests[id])
	}
	return c, errors.Join(n.problems...)
}

// takeExamples removes and returns the examples of a request that the YAML files give without a schema, because a
// resource describes the request; nil: there are none.
func (c *contents) takeExamples(id string) any {
	request := c.byHand.Requests[id]
	if len(request) != 1 || request["examples"] == nil {
		return nil
	}
	delete(c.byHand.Requests, id)
	return request["examples"]
}

// checkReferences checks that a document refers only to what it has, and to each of its schemas.
func checkReferences(document object) error {
	found := referencesIn(document)
	var problems []error
	components := document["components"].(object)
	for ref := range found {
		section, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
		if all, _ := components[section].(object); all[name] == nil {
			problems = append(problems, fmt.Errorf("%s does not exist", ref))
		}
	}
	for name := range components["schemas"].(object) {
		if !found["#/components/schemas/"+name] {
			problems = append(problems, fmt.Errorf("the schema %s is not used", name))
		}
	}
	return errors.Join(problems...)
}

// referencesIn returns what a document refers to.
func referencesIn(document object) map[string]bool {
	found := make(map[string]bool)
	var collect func(value any)
	collect = func(value any) {
		switch v := value.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok {
				found[ref] = true
			}
			for _, child := range v {
				collect(child)
			}
		case []any:
			for _, child := range v {
				collect(child)
			}
		}
	}
	collect(document)
	return found
}
