package dashboard

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
)

// TestTheScreenThatConfirmsAnAddress opens the link of the mail, as a program that checks mail does, and then presses
// the button.
func TestTheScreenThatConfirmsAnAddress(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		v := s.owner()
		s.sendsTests(func(alert.Channel) string { return "" })
		create := v.wants(v.post("/admin/channels/new", "type", "email", "name", "Ops", "to", "ops@example.com"),
			http.StatusSeeOther)
		screen := create.Header.Get("Location")
		v.wants(v.get("/admin/channels"), http.StatusOK, "Waits for confirmation of ops@example.com")
		v.wants(v.post(screen+"/test"), http.StatusUnprocessableEntity, "waits for the confirmation of ops@example.com")
		v.wants(v.post("/admin/channels/new", "type", "email", "name", "X", "to", "x@example.com", "preview", "test"),
			http.StatusUnprocessableEntity, "has to confirm")
		due, err := s.store.TakeConfirmations(t.Context(), 10)
		if err != nil || len(due) != 1 || due[0].Address != "ops@example.com" {
			t.Fatal(due, err)
		}
		link := alert.ConfirmPath + "?code=" + due[0].Code
		stranger := s.visitor()
		for range 2 {
			stranger.wants(stranger.get(link), http.StatusOK, "ops@example.com", "Send me alerts")
		}
		v.wants(v.get(screen), http.StatusOK, "It waits for confirmation")
		stranger.wants(stranger.post(alert.ConfirmPath, "code", due[0].Code), http.StatusOK,
			"Your address is confirmed")
		v.lacks(v.get(screen), "It waits for confirmation")
		v.wants(v.post(screen+"/test"), http.StatusOK, "has accepted the test message")
		if a := stranger.post(alert.ConfirmPath, "code", due[0].Code); a.StatusCode == http.StatusOK {
			t.Error("the code works twice")
		}
		if a := stranger.get(alert.ConfirmPath + "?code=x"); a.StatusCode == http.StatusOK {
			t.Error("a code that is none works")
		}
	})
}
