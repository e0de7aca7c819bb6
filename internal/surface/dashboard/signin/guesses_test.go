package signin_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

// TestGuessesAreLimited guesses every secret that strangers can send, as often as one address may, and once more. The
// answer above the limit says when the next attempt is answered, in seconds.
func TestGuessesAreLimited(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Owner()
		now := time.Now()
		s.Dashboard.Now = func() time.Time { return now }
		for name, guess := range map[string]func(v *dashboardtest.Visitor, i int) dashboardtest.Answer{
			"code of a new password": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Get("/admin/reset?code=x")
			},
			"new password": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Post("/admin/reset", "code", "x", "password", dashboardtest.GoodPassword)
			},
			"code of an invitation": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Get("/admin/accept?code=x")
			},
			"acceptance": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Post("/admin/accept", "code", "x")
			},
			"code of a link": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Get("/admin/enter?code=x")
			},
			"code of a pending sign-in": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Post("/admin/sign-in/code", "pending", "x", "code", "123456")
			},
			"recovery code of a sign-in": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Post("/admin/sign-in/code", "pending", "x", "recovery_code", "x")
			},
			"passkey": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Post("/admin/sign-in/passkey", signin.PasskeyField, "x")
			},
			"key of a calendar": func(v *dashboardtest.Visitor, _ int) dashboardtest.Answer {
				return v.Get(alert.CalendarPath + "?key=x")
			},
			"password": func(v *dashboardtest.Visitor, i int) dashboardtest.Answer {
				return signInAs(v, fmt.Sprintf("nobody%d@example.com", i/frame.SignInsPerAccount), "not this one")
			},
		} {
			s.Dashboard.SignIns = frame.NewSignInLimits()
			v := s.Visitor()
			for i := range frame.SignInsPerAddress {
				if a := guess(v, i); a.StatusCode == http.StatusTooManyRequests {
					s.Fatalf("%s: attempt %d is refused", name, i+1)
				}
			}
			a := guess(v, frame.SignInsPerAddress)
			if after := a.Header.Get("Retry-After"); a.StatusCode != http.StatusTooManyRequests || after != "601" {
				s.Errorf("%s: above the limit: status %d, Retry-After %q", name, a.StatusCode, after)
			}
		}
	})
}

// TestBusyPasswordsAreAnsweredAlike checks that each form answers 503, and not 429 or 422, while too many passwords are
// being checked, 429 above the limit of attempts, and when to try again.
func TestBusyPasswordsAreAnsweredAlike(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		issued, err := s.Store.Invite(s.Context(), owner.Actor(), account.NewInvitation{
			Email: "eve@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		s.Dashboard.Now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		for name, send := range map[string]func() dashboardtest.Answer{
			"sign-in": func() dashboardtest.Answer {
				return signInAs(s.Visitor(), "ada@example.com", dashboardtest.GoodPassword)
			},
			"acceptance": func() dashboardtest.Answer {
				return s.Visitor().Post("/admin/accept", "code", issued.Code, "password", "short")
			},
			"confirmation": func() dashboardtest.Answer {
				return owner.Post("/admin/members/invite", "email", "grace@example.com", "role", "viewer",
					signin.ConfirmField, dashboardtest.GoodPassword)
			},
			"new password": func() dashboardtest.Answer {
				return owner.Post("/admin/account/password", "current_password", dashboardtest.GoodPassword, "password",
					"another set of words")
			},
		} {
			for refusal, want := range map[error]struct {
				status int
				after  string
			}{
				password.ErrBusy: {http.StatusServiceUnavailable, frame.BusyRetryAfter},
				&frame.TooManyAttempts{Wait: time.Minute}: {http.StatusTooManyRequests, "61"},
			} {
				s.Dashboard.SignIn.RefusePasswords(refusal)
				a := send()
				if after := a.Header.Get("Retry-After"); a.StatusCode != want.status || after != want.after {
					s.Errorf("%s: %v: status %d, Retry-After %q", name, refusal, a.StatusCode, after)
				}
			}
		}
	})
}
