package jsonpath

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// go on asks nothing to stop.
func goOn() bool { return false }

// TestComplianceSuite runs the compliance suite of RFC 9535: each valid path selects what it should, and each invalid
// one is refused.
func TestComplianceSuite(t *testing.T) {
	text, err := os.ReadFile("testdata/jsonpath-compliance-suite.json")
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests []struct {
			Name, Selector  string
			InvalidSelector bool `json:"invalid_selector"`
			Document        json.RawMessage
			Result          []json.RawMessage
			Results         [][]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	if len(suite.Tests) < 700 {
		t.Fatalf("%d tests", len(suite.Tests))
	}
	for _, c := range suite.Tests {
		t.Run(c.Name, func(t *testing.T) {
			path, err := Parse(c.Selector)
			if (err != nil) != c.InvalidSelector {
				t.Fatalf("%q: error %v", c.Selector, err)
			}
			if err != nil {
				return
			}
			if c.Results == nil {
				c.Results = [][]json.RawMessage{c.Result}
			}
			got := selectAllOf(t, path, c.Document)
			if !slices.ContainsFunc(c.Results, func(want []json.RawMessage) bool {
				return slices.EqualFunc(got, want, sameText)
			}) {
				t.Errorf("%q selects %s of %s, want one of %s", c.Selector, got, c.Document, c.Results)
			}
		})
	}
}

func sameText(a, b json.RawMessage) bool {
	var x, y any
	return decodeJSON(a, &x) && decodeJSON(b, &y) && sameJSON(x, y)
}

// selectAllOf returns all values that a path selects.
func selectAllOf(t *testing.T, path *Path, document []byte) (all []json.RawMessage) {
	t.Helper()
	d, err := ParseDocument(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.Select(d, goOn, func(v Value) bool {
		all = append(all, v.JSON())
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
