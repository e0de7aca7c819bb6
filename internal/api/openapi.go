package api

import (
	_ "embed"
	"net/http"

	"github.com/allswell/allswell/internal/store"
)

// openapi.yaml is written by hand; openapi.json is made of it, and a test holds
// the two together.
//
//go:generate go test -run ^TestDocumentIsCurrent$ . -update
//go:embed openapi.json
var document []byte

// describe answers with the OpenAPI document. It is for everybody.
func (a *api) describe(*call) (store.StoredResponse, error) {
	return store.StoredResponse{Status: http.StatusOK, Body: document}, nil
}
