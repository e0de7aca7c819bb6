package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestDocumentSuitsGenerators checks what generators of clients need of openapi.json, without them: a name stands for
// one thing, and there are no keywords that one of them cannot read. test/clients runs the generators.
func TestDocumentSuitsGenerators(t *testing.T) {
	var doc struct {
		Components map[string]map[string]any
		Tags       []struct{ Name, Description string }
	}
	if err := json.Unmarshal(served(t), &doc); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]string)
	for kind, named := range doc.Components {
		for name := range named {
			name = strings.ToLower(name)
			if other, ok := kinds[name]; ok {
				t.Errorf("%s is one of the %s and one of the %s", name, kind, other)
			}
			kinds[name] = kind
		}
	}
	for _, tag := range doc.Tags {
		if tag.Description == "" {
			t.Errorf("the tag %s has no description", tag.Name)
		}
	}
	var whole any
	if err := json.Unmarshal(served(t), &whole); err != nil {
		t.Fatal(err)
	}
	checkKeywords(t, "", whole)
}

// checkKeywords checks the keywords of all schemas in a part of the document.
func checkKeywords(t *testing.T, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, keyword := range []string{
			"anyOf", "oneOf", "unevaluatedProperties", "exclusiveMinimum", "exclusiveMaximum",
		} {
			if _, ok := v[keyword]; ok {
				t.Errorf("the document at %s has %s", path, keyword)
			}
		}
		if all, ok := v["allOf"].([]any); ok && len(all) < 2 {
			t.Errorf("%s has allOf with one schema", path)
		}
		for _, keyword := range []string{"enum", "const"} {
			if _, ok := v[keyword]; ok && v["type"] == nil && !strings.HasSuffix(path, "/if/properties/channel") {
				t.Errorf("%s has %s without a type", path, keyword)
			}
		}
		for name, child := range v {
			if name != "example" && name != "examples" {
				checkKeywords(t, path+"/"+name, child)
			}
		}
	case []any:
		for i, child := range v {
			checkKeywords(t, fmt.Sprint(path, "/", i), child)
		}
	}
}
