package api

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/allswell/allswell/internal/resource/rights"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// TestDocumentIsCurrent compares openapi.json with the document that is served.
func TestDocumentIsCurrent(t *testing.T) {
	text := served(t)
	if *update {
		if err := os.WriteFile("openapi.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Error("openapi.json is not the document that is served; run go generate ./internal/surface/api")
	}
}

// served returns the document that clients get.
func served(t testing.TB) []byte {
	t.Helper()
	text, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMistakesInDescriptions checks that mistakes are found before the first test.
func TestMistakesInDescriptions(t *testing.T) {
	fine := operation{id: "getX", summary: "Get x.", returns: one("Page", "X.")}
	for _, rt := range []route{
		{"GET", "/x", rights.PageRead, nil, operation{summary: "Get x.", returns: fine.returns}},
		{"GET", "/x", rights.PageRead, nil, operation{id: "getX", returns: fine.returns}},
		{"GET", "/x", rights.PageRead, nil, operation{id: "getX", summary: "Get x."}},
		{"GET", "/x/{xId}", rights.PageRead, nil, fine},
		{"GET", "/taken", rights.PageRead, nil, fine},
	} {
		if addOperation(object{"/taken": object{"get": object{}}}, &rt, "X", nil) == nil {
			t.Errorf("%+v is accepted", rt)
		}
	}
}

// strictDocument is the document that clients get, except that objects have only the properties that it names, so that
// tests find others in responses. Clients must accept what later versions add.
var strictDocument = sync.OnceValues(func() ([]byte, error) {
	d, err := newDocument()
	if err != nil {
		return nil, err
	}
	for path, item := range d["paths"].(object) {
		if path != "/api/v1/openapi.json" { // its schema names the three parts that all documents have
			closeObjects(item)
		}
	}
	closeObjects(d["components"])
	return json.Marshal(d)
})

// closeObjects forbids further properties in all objects of a part of the document that name their properties.
func closeObjects(value any) {
	switch v := value.(type) {
	case object:
		if v["properties"] != nil && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, child := range v {
			closeObjects(child)
		}
	case []any:
		for _, child := range v {
			closeObjects(child)
		}
	}
}

// spec is strictDocument, parsed.
var spec = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := strictDocument()
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

func loadSpec(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := spec()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// checkAgainstDocument fails the test if a response does not match the document's
// description of the route with the pattern.
func checkAgainstDocument(t testing.TB, r *http.Request, status int, header http.Header, body []byte) {
	t.Helper()
	if err := checkAnswer(loadSpec(t), r, status, header, body); err != nil {
		t.Errorf("%s %s: the answer %d is not as documented: %v\n%s", r.Method, r.URL, status, err, body)
	}
}

func checkAnswer(doc *openapi3.T, r *http.Request, status int, header http.Header, body []byte) error {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
		if len(body) > 0 {
			return fmt.Errorf("HEAD has a body")
		}
	}
	if status == http.StatusNoContent {
		if len(body) > 0 || header.Get("Content-Type") != "" {
			return fmt.Errorf("204 has a body or says so")
		}
	} else if got := header.Get("Content-Type"); got != "application/json" {
		return fmt.Errorf("the Content-Type is %q", got)
	}
	var op *openapi3.Operation
	if item := doc.Paths.Value(r.Pattern); item != nil {
		op = item.GetOperation(method)
	}
	if op == nil { // an unknown path, or a method that it does not have
		if status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			return fmt.Errorf("nothing is documented here")
		}
		if r.Method == http.MethodHead {
			return nil
		}
		schema := "Error"
		if status == http.StatusNotFound {
			schema = "Failure"
		}
		return checkBody("/components/schemas/"+schema, body)
	}
	if r.Method == http.MethodHead {
		if op.Responses.Status(status) == nil {
			return fmt.Errorf("the status is not documented")
		}
		return nil
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: doc, Path: r.Pattern, Method: method, Operation: op},
		},
		Status:  status,
		Header:  header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		return err
	}
	if status == http.StatusNoContent {
		return nil
	}
	at := "/paths/" + pointerEscaper.Replace(r.Pattern) + "/" + strings.ToLower(method) + "/responses/" +
		strconv.Itoa(status)
	if ref := op.Responses.Status(status).Ref; ref != "" {
		at = strings.TrimPrefix(ref, "#")
	}
	return checkBody(at+"/content/application~1json/schema", body)
}

// checkBody compares a body with the schema at a JSON pointer into the document.
func checkBody(pointer string, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	schema, err := schemaAt(pointer)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")

// schemas has the compiled schemas of the document by JSON pointer. Compiling one takes longer than most requests, and
// openapi3filter compiles at every call.
var schemas struct {
	sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

func schemaAt(pointer string) (*jsonschema.Schema, error) {
	const url = "https://allswell.example/openapi.json"
	schemas.Lock()
	defer schemas.Unlock()
	if schemas.compiler == nil {
		text, err := strictDocument()
		if err != nil {
			return nil, err
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		schemas.compiler, schemas.compiled = jsonschema.NewCompiler(), make(map[string]*jsonschema.Schema)
		schemas.compiler.AssertFormat()
		if err := schemas.compiler.AddResource(url, value); err != nil {
			return nil, err
		}
	}
	if schema := schemas.compiled[pointer]; schema != nil {
		return schema, nil
	}
	schema, err := schemas.compiler.Compile(url + "#" + pointer)
	if err == nil {
		schemas.compiled[pointer] = schema
	}
	return schema, err
}

// changedComponent returns the response with a component after a change of it.
func changedComponent(t *testing.T, change func(map[string]any)) string {
	t.Helper()
	data := map[string]any{
		"id": "comp_068vq2r4b1ccu5a0d3e1", "name": "API", "description": nil, "status": "operational", "order": 0,
		"created_at": "2026-11-21T04:00:00.000Z", "updated_at": "2026-11-21T04:00:00.000Z",
	}
	change(data)
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestDocumentRejectsWrongResponses checks that the check above can fail.
func TestDocumentRejectsWrongResponses(t *testing.T) {
	doc := loadSpec(t)
	component := func(change func(map[string]any)) string { return changedComponent(t, change) }
	good := component(func(map[string]any) {})
	tests := []struct {
		name   string
		status int
		header map[string]string
		body   string
		wrong  bool
	}{
		{"as it should be", 200, nil, good, false},
		{"a key too many", 200, nil, component(func(d map[string]any) { d["group"] = nil }), true},
		{"a key too few", 200, nil, component(func(d map[string]any) { delete(d, "description") }), true},
		{"null where none may be", 200, nil, component(func(d map[string]any) { d["name"] = nil }), true},
		{"another type", 200, nil, component(func(d map[string]any) { d["order"] = "0" }), true},
		{"a status that there is not", 200, nil, component(func(d map[string]any) { d["status"] = "fine" }), true},
		{"a time without fractions", 200, nil, component(func(d map[string]any) {
			d["created_at"] = "2026-11-21T04:00:00Z"
		}), true},
		{"no data", 200, nil, `{}`, true},
		{"beside data", 200, nil, strings.Replace(good, `{"data"`, `{"meta":{},"data"`, 1), true},
		{"an undocumented status", 418, nil, good, true},
		{"another content type", 200, map[string]string{"Content-Type": "text/plain"}, good, true},
		{"a bad header", 200, map[string]string{"X-RateLimit-Limit": "many"}, good, true},
		{"401 as it should be", 401, map[string]string{"WWW-Authenticate": "Bearer"}, `{"message":"Unauthenticated."}`,
			false},
		{"401 without its header", 401, nil, `{"message":"Unauthenticated."}`, true},
		{"a failure with a key too many", 404, nil, `{"message":"Not found.","cause":"x"}`, true},
		{"422 without errors", 422, nil, `{"message":"x"}`, true},
		{"429 without its headers", 429, nil, `{"message":"x"}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequest("GET", "/api/v1/pages/acme/components/comp_068vq2r4b1ccu5a0d3e1", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Pattern = "/api/v1/pages/{pageSlug}/components/{componentId}"
			if tt.status == 422 {
				r.Method = "PATCH"
			}
			header := http.Header{"Content-Type": {"application/json"}}
			for name, value := range tt.header {
				header.Set(name, value)
			}
			if err := checkAnswer(doc, r, tt.status, header, []byte(tt.body)); (err != nil) != tt.wrong {
				t.Errorf("checkAnswer = %v", err)
			}
		})
	}
}
