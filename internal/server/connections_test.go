package server

import (
	"net/http/httptest"
	"testing"

	"github.com/allswell/allswell/internal/shared/connlimit"
)

// TestRefusedRequests checks that refusals have a code, except refusals of pings.
func TestRefusedRequests(t *testing.T) {
	const busy, tooMany = `{"message":"The service cannot do this right now. Please try again."`,
		`{"message":"Too many requests."`
	for _, c := range []struct {
		path   string
		reason connlimit.Reason
		status int
		body   string
	}{
		{"/api/v1/pages", connlimit.Full, 503, busy + `,"code":"busy"}`},
		{"/api/v1/pages", connlimit.AddressBusy, 429, tooMany + `,"code":"rate_limited"}`},
		{"/api/v1/heartbeat/x", connlimit.Full, 503, busy + "}"},
		{"/api/v1/heartbeat/x", connlimit.AddressBusy, 429, tooMany + "}"},
		{"/status/acme", connlimit.Full, 503, "The service cannot do this right now. Please try again.\n"},
	} {
		w := httptest.NewRecorder()
		refuseRequest(w, httptest.NewRequest("GET", c.path, nil), c.reason)
		if got := w.Body.String(); w.Code != c.status || got != c.body {
			t.Errorf("%s: %d %s, want %d %s", c.path, w.Code, got, c.status, c.body)
		}
	}
}
