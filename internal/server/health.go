package server

import (
	"io"
	"net/http"
)

// textHandler answers GET and HEAD in plain text.
func textHandler(answer func() (status int, text string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		status, text := http.StatusMethodNotAllowed, "method not allowed\n"
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			status, text = answer()
		} else {
			h.Set("Allow", "GET, HEAD")
		}
		w.WriteHeader(status)
		io.WriteString(w, text) // net/http omits the body of a HEAD response
	})
}

// healthHandler always reports success: it shows that the process is alive. A supervisor that restarts on failures
// must not do so because the database is unavailable.
func healthHandler() http.Handler {
	return textHandler(func() (int, string) { return http.StatusOK, "ok\n" })
}

// readinessHandler answers 200 if this replica can record pings, checks monitors and answers requests, and otherwise
// 503 with the reason.
func (s *Server) readinessHandler() http.Handler {
	return textHandler(func() (int, string) {
		if reason := s.notReadyReason(); reason != "" {
			return http.StatusServiceUnavailable, "not ready: " + reason + "\n"
		}
		return http.StatusOK, "ready\n"
	})
}

// Ready reports whether pings can be recorded, ticks run and requests are answered.
func (s *Server) Ready() bool { return s.notReadyReason() == "" }

// notReadyReason returns why this replica is not ready, or "".
func (s *Server) notReadyReason() string {
	switch {
	case !s.wired.Load():
		return "the service is starting, and waits for the database"
	case s.stopping.Load():
		return "the service is stopping"
	case !s.pings.Ready():
		return "cannot record pings"
	case !s.open.Load():
		return "the service is starting"
	case s.scheduler.Stalled():
		return "ticks have stalled"
	}
	return ""
}
