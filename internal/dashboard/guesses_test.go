package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/password"
)

// TestGuessesAreLimited guesses every secret that strangers can send, as often as one address may, and once more. The
// answer above the limit says when the next attempt is answered, in seconds.
func TestGuessesAreLimited(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.owner()
		now := time.Now()
		s.dashboard.now = func() time.Time { return now }
		for name, guess := range map[string]func(v *visitor, i int) answer{
			"code of a new password":    func(v *visitor, _ int) answer { return v.get("/admin/reset?code=x") },
			"new password":              func(v *visitor, _ int) answer { return v.post("/admin/reset", "code", "x", "password", goodPassword) },
			"code of an invitation":     func(v *visitor, _ int) answer { return v.get("/admin/accept?code=x") },
			"acceptance":                func(v *visitor, _ int) answer { return v.post("/admin/accept", "code", "x") },
			"code of a link":            func(v *visitor, _ int) answer { return v.get("/admin/enter?code=x") },
			"code of a pending sign-in": func(v *visitor, _ int) answer { return v.post("/admin/sign-in/code", "pending", "x", "code", "123456") },
			"recovery code of a sign-in": func(v *visitor, _ int) answer {
				return v.post("/admin/sign-in/code", "pending", "x", "recovery_code", "x")
			},
			"passkey":           func(v *visitor, _ int) answer { return v.post("/admin/sign-in/passkey", passkeyField, "x") },
			"key of a calendar": func(v *visitor, _ int) answer { return v.get(alert.CalendarPath + "?key=x") },
			"password": func(v *visitor, i int) answer {
				return v.signInAs(fmt.Sprintf("nobody%d@example.com", i/signInsPerAccount), "not this one")
			},
		} {
			s.dashboard.signIns = newSignInLimits()
			v := s.visitor()
			for i := range signInsPerAddress {
				if a := guess(v, i); a.StatusCode == http.StatusTooManyRequests {
					s.Fatalf("%s: attempt %d is refused", name, i+1)
				}
			}
			a := guess(v, signInsPerAddress)
			if after := a.Header.Get("Retry-After"); a.StatusCode != http.StatusTooManyRequests || after != "601" {
				s.Errorf("%s: above the limit: status %d, Retry-After %q", name, a.StatusCode, after)
			}
		}
	})
}

// TestBusyPasswordsAreAnsweredAlike checks that each form answers 503, and not 429, while too many passwords are checked.
func TestBusyPasswordsAreAnsweredAlike(t *testing.T) {
	for err, want := range map[error]int{password.ErrBusy: http.StatusServiceUnavailable, &tooManyAttempts{wait: time.Minute}: http.StatusTooManyRequests} {
		v, got := &visit{w: httptest.NewRecorder()}, 0
		_ = v.refuseAttempt(err, func(status int, _ string, _ ...any) error { got = status; return nil })
		if after := v.w.Header().Get("Retry-After"); got != want || v.refusedStatus != want || after == "" {
			t.Errorf("%v: %d at the sign-in, %d in other forms, Retry-After %q", err, got, v.refusedStatus, after)
		}
	}
}
