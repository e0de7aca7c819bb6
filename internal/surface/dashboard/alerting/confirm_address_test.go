package alerting_test

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

// TestTheScreenThatConfirmsAnAddress opens the link of the mail, as a program that checks mail does, and then presses
// the button.
func TestTheScreenThatConfirmsAnAddress(t *testing.T) {
	t.Parallel()
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		sendsTests(s, func(alert.Channel) string { return "" })
		create := v.Wants(v.Post("/admin/channels/new", "type", "email", "name", "Ops", "to", "ops@example.com"),
			http.StatusSeeOther)
		screen := create.Header.Get("Location")
		v.Wants(v.Get("/admin/channels"), http.StatusOK, "Waiting for confirmation of ops@example.com")
		v.Wants(v.Post(screen+"/test"), http.StatusUnprocessableEntity, "waits for the confirmation of ops@example.com")
		v.Wants(v.Post("/admin/channels/new", "type", "email", "name", "X", "to", "x@example.com", "preview", "test"),
			http.StatusUnprocessableEntity, "has to confirm")
		due, err := s.Store.TakeConfirmations(t.Context(), 10)
		if err != nil || len(due) != 1 || due[0].Address != "ops@example.com" {
			t.Fatal(due, err)
		}
		link := alert.ConfirmPath + "?code=" + due[0].Code
		stranger := s.Visitor()
		for range 2 {
			stranger.Wants(stranger.Get(link), http.StatusOK, "ops@example.com", "Send me alerts")
		}
		v.Wants(v.Get(screen), http.StatusOK, "Waiting for confirmation")
		stranger.Wants(stranger.Post(alert.ConfirmPath, "code", due[0].Code), http.StatusOK,
			"Your address is confirmed")
		v.Lacks(v.Get(screen), "Waiting for confirmation")
		v.Wants(v.Post(screen+"/test"), http.StatusOK, "Check that it arrived")
		if a := stranger.Post(alert.ConfirmPath, "code", due[0].Code); a.StatusCode == http.StatusOK {
			t.Error("the code works twice")
		}
		if a := stranger.Get(alert.ConfirmPath + "?code=x"); a.StatusCode == http.StatusOK {
			t.Error("a code that is none works")
		}
	})
}
