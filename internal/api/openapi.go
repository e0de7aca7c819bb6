package api

import (
	_ "embed"
	"net/http"

	"github.com/allswell/allswell/internal/store"
)

// openapi.json and docs/routes.txt are generated from openapi.yaml. Tests check that they are current.
//
//go:generate go test -run ^TestDocumentIsCurrent$ . -update
//go:generate go test -run ^TestRoutes$ ../../test/docs -update
//go:embed openapi.json
var document []byte

// getOpenAPI returns the OpenAPI document. It needs no token.
func (a *api) getOpenAPI(*call) (store.Response, error) {
	return store.Response{Status: http.StatusOK, Body: document}, nil
}
