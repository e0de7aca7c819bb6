package ping

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// document is the document that clients get, except that objects have only the fields that it names.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../surface/api/openapi.json")
	if err != nil {
		return nil, err
	}
	for path, item := range doc.Paths.Map() {
		if !strings.HasPrefix(path, Path) {
			continue
		}
		for _, response := range item.Post.Responses.Map() {
			if content := response.Value.Content.Get("application/json"); content != nil {
				content.Schema.Value.AdditionalProperties.Has = new(bool)
			}
		}
	}
	return doc, nil
})

// documentedPath returns the path in the document that describes a request path.
func documentedPath(path string) string {
	switch strings.Count(strings.TrimSuffix(strings.TrimPrefix(path, Path), "/"), "/") {
	case 0:
		return Path + "{token}"
	case 1:
		return Path + "{token}/{signal}"
	default:
		return Path + "{key}/{slug}/{signal}"
	}
}

// documented returns an error if an answer differs from the document.
func documented(method, path string, status int, body string) error {
	doc, err := document()
	if err != nil {
		return err
	}
	op := doc.Paths.Value(documentedPath(path)).GetOperation(method)
	if op == nil {
		if status == http.StatusMethodNotAllowed {
			return nil // documented for all methods that are not listed
		}
		return fmt.Errorf("the method %s is not documented", method)
	}
	answer := op.Responses.Status(status)
	if answer == nil {
		return fmt.Errorf("the status %d is not documented", status)
	}
	if method == http.MethodHead {
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return err
	}
	return answer.Value.Content.Get("application/json").Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
}

// TestDocumentRejectsWrongResponses checks that documented can fail.
func TestDocumentRejectsWrongResponses(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
		body   string
	}{
		{"POST", 200, `{"ok":false}`}, {"POST", 200, `{"ok":true,"more":1}`}, {"POST", 404, `{"error":"x"}`},
		{"POST", 418, `{}`}, {"PATCH", 200, okBody},
	} {
		for _, path := range []string{"token", "key/slug", "key/slug/start"} {
			if documented(c.method, Path+path, c.status, c.body) == nil {
				t.Errorf("%v passes as documented for %s", c, path)
			}
			if err := documented("POST", Path+path, 200, okBody); err != nil {
				t.Error(err)
			}
		}
	}
	if documented("POST", Path+"token", 201, okBody) == nil {
		t.Error("a ping by a token creates a monitor")
	}
}
