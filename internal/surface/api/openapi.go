package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

// openapi.json is the document that clients get, and docs/routes.txt lists its routes, for readers and for other tests.
//
//go:generate go test -run ^TestDocumentIsCurrent$ . -update
//go:generate go test -run ^TestRoutes$ ../../../test/docs -update

var documentRoutes = []route{
	{"GET", "/api/v1/openapi.json", rights.Anyone, (*api).getOpenAPI, operation{
		id:      "describe",
		summary: "This document.",
		text:    "OpenAPI 3.1. No token is needed.",
	}},
}

// document returns the OpenAPI document that clients get. It is built at the first request.
var document = sync.OnceValues(func() ([]byte, error) {
	d, err := newDocument()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(d, "", " ")
	return append(text, '\n'), err
})

// newDocument returns the OpenAPI document, built from the routes, from the descriptions of resources, and from the
// YAML files. The error is a mistake in a description, which every test of this package finds.
func newDocument() (object, error) {
	c, err := readContents()
	if err != nil {
		return nil, err
	}
	paths := heartbeatPaths()
	var tags []any
	for _, f := range families {
		tags = append(tags, object{"name": f.tag, "description": f.text})
		for rt := range f.routes() {
			if err := addOperation(paths, rt, f.tag, c.requests[rt.id]); err != nil {
				return nil, err
			}
			delete(c.requests, rt.id)
		}
	}
	for id := range c.requests {
		return nil, fmt.Errorf("there is a request, but no operation %s", id)
	}
	d := object{
		"openapi":  "3.1.0",
		"info":     c.byHand.Info,
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"apiToken": []any{}}},
		"tags":     tags,
		"paths":    paths,
		"components": object{
			"securitySchemes": c.byHand.SecuritySchemes,
			"parameters":      parameterComponents(),
			"headers":         headerComponents(),
			"responses":       errorComponents(),
			"schemas":         c.schemas,
		},
	}
	completeNullables(d)
	return d, checkReferences(d)
}

// addOperation adds the operation of a route to the paths of the document.
func addOperation(paths object, rt *route, tag string, body object) error {
	if rt.id == "" || rt.summary == "" ||
		rt.returns.shape == shapeNothing && rt.method != http.MethodDelete && rt.needs != rights.Anyone {
		return fmt.Errorf("%s %s has no id, no summary or no result", rt.method, rt.path)
	}
	item, ok := paths[rt.path].(object)
	if !ok {
		item = make(object)
		paths[rt.path] = item
		parameters, err := parametersOf(rt.path)
		if err != nil {
			return err
		}
		if len(parameters) > 0 {
			item["parameters"] = parameters
		}
	}
	method := strings.ToLower(rt.method)
	if item[method] != nil {
		return fmt.Errorf("%s %s exists twice", rt.method, rt.path)
	}
	item[method] = rt.describe(tag, body)
	return nil
}

// getOpenAPI returns the OpenAPI document. It needs no token.
func (a *api) getOpenAPI(*call) (store.Response, error) {
	text, err := a.document()
	return store.Response{Status: http.StatusOK, Body: text}, err
}
