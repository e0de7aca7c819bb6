package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// TestGuessesAreLimited guesses every secret that strangers can send, as often as one address may, and once more. The
// answer above the limit says when the next attempt is answered, in seconds.
func TestGuessesAreLimited(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.owner()
		now := time.Now()
		s.dashboard.now = func() time.Time { return now }
		for name, guess := range map[string]func(v *visitor, i int) answer{
			"code of a new password": func(v *visitor, _ int) answer { return v.get("/admin/reset?code=x") },
			"new password": func(v *visitor, _ int) answer {
				return v.post("/admin/reset", "code", "x", "password", goodPassword)
			},
			"code of an invitation": func(v *visitor, _ int) answer { return v.get("/admin/accept?code=x") },
			"acceptance":            func(v *visitor, _ int) answer { return v.post("/admin/accept", "code", "x") },
			"code of a link":        func(v *visitor, _ int) answer { return v.get("/admin/enter?code=x") },
			"code of a pending sign-in": func(v *visitor, _ int) answer {
				return v.post("/admin/sign-in/code", "pending", "x", "code", "123456")
			},
			"recovery code of a sign-in": func(v *visitor, _ int) answer {
				return v.post("/admin/sign-in/code", "pending", "x", "recovery_code", "x")
			},
			"passkey": func(v *visitor, _ int) answer {
				return v.post("/admin/sign-in/passkey", passkeyField, "x")
			},
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

// TestBusyPasswordsAreAnsweredAlike checks that each form answers 503, and not 429 or 422, while too many passwords are
// being checked, 429 above the limit of attempts, and when to try again.
func TestBusyPasswordsAreAnsweredAlike(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		issued, err := s.store.Invite(s.Context(), owner.actor(), account.NewInvitation{
			Email: "eve@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		s.dashboard.now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		for name, send := range map[string]func() answer{
			"sign-in": func() answer { return s.visitor().signInAs("ada@example.com", goodPassword) },
			"acceptance": func() answer {
				return s.visitor().post("/admin/accept", "code", issued.Code, "password", "short")
			},
			"confirmation": func() answer {
				return owner.post("/admin/members/invite", "email", "grace@example.com", "role", "viewer", confirmField,
					goodPassword)
			},
			"new password": func() answer {
				return owner.post("/admin/account/password", "current_password", goodPassword, "password",
					"another set of words")
			},
		} {
			for refusal, want := range map[error]struct {
				status int
				after  string
			}{
				password.ErrBusy:                    {http.StatusServiceUnavailable, busyRetryAfter},
				&tooManyAttempts{wait: time.Minute}: {http.StatusTooManyRequests, "61"},
			} {
				s.dashboard.matches = func(context.Context, password.Asker, string, string) (bool, error) {
					return false, refusal
				}
				a := send()
				if after := a.Header.Get("Retry-After"); a.StatusCode != want.status || after != want.after {
					s.Errorf("%s: %v: status %d, Retry-After %q", name, refusal, a.StatusCode, after)
				}
			}
		}
	})
}
