package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Marshal returns v as one line of JSON. Text is written as it is: "<", ">"
// and "&" need no escapes in an answer that is never read as HTML.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WriteJSON answers with a body that is JSON already. Answers may hold secrets
// and are never kept by caches, unless Cache-Control was set before. That the
// client has gone is not an error.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
