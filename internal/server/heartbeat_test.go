package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHeartbeat checks that the URL is requested only while the service works, and that no error contains it.
func TestHeartbeat(t *testing.T) {
	requests, status := 0, http.StatusOK
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.WriteHeader(status)
	}))
	defer target.Close()
	s := newTestServer(t)
	s.cfg.HeartbeatURL = target.URL + "/secret"
	send := func(wanted int, problem string) {
		t.Helper()
		err := s.sendHeartbeat(t.Context(), target.Client())
		if (err == nil) != (problem == "") ||
			err != nil && (!strings.Contains(err.Error(), problem) || strings.Contains(err.Error(), "secret")) ||
			requests != wanted {
			t.Errorf("%v after %d requests, want %q after %d", err, requests, problem, wanted)
		}
	}
	send(0, "cannot record pings")
	if err := s.pings.Start(t.Context(), s.store); err != nil {
		t.Fatal(err)
	}
	s.openHandlers()
	send(1, "")
	status = http.StatusNotFound
	send(2, "404")
	target.Close()
	send(2, "no answer")
}
