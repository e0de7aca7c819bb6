package signin_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
	"github.com/pquerna/otp/totp"
)

var (
	shownSecret   = regexp.MustCompile(`name="secret" value="([A-Z2-7]{32})"`)
	shownPending  = regexp.MustCompile(`name="pending" value="([A-Z2-7]+)"`)
	shownRecovery = regexp.MustCompile(`[A-Z2-7]{4}(-[A-Z2-7]{4}){3}`)
)

func find(v *dashboardtest.Visitor, a dashboardtest.Answer, what *regexp.Regexp) string {
	v.Helper()
	found := what.FindStringSubmatch(a.Text)
	if found == nil {
		v.Fatalf("%s shows no %s:\n%s", a.Request.URL.Path, what, a.Text)
	}
	return found[len(found)-1]
}

// totpCode returns the code of an authenticator app some steps from now.
func totpCode(s *dashboardtest.Site, secret string, steps int) string {
	s.Helper()
	code, err := totp.GenerateCode(secret, s.Dashboard.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		s.Fatal(err)
	}
	return code
}

// TestSecondFactor sets up an authenticator app, signs in with it, with a recovery code, and removes it.
func TestSecondFactor(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		now := time.Now()
		s.Dashboard.Now = func() time.Time { return now } // a code is not of the next step while the test runs
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/account"), http.StatusOK, "Set up authenticator app")
		owner.Wants(owner.Post("/admin/account/authenticator/begin"), http.StatusSeeOther,
			"/admin/account/authenticator")
		secret, recovery := setUpApp(owner)
		user := owner.Wants(owner.Get("/admin/account"), http.StatusOK, "10 recovery codes left")
		removalNeedsCode(owner, secret)
		if strings.Contains(user.Text, secret) || strings.Contains(user.Text, recovery[0]) {
			t.Error("a factor is shown again")
		}
		owner.Wants(owner.Get("/admin/account/authenticator"), http.StatusSeeOther, "/admin/account")

		v := signsInWithCode(s, secret)
		lost := signsInWithRecoveryCode(s, recovery)
		renewed := lost.Wants(lost.Post("/admin/account/recovery-codes"), http.StatusCreated)
		again := shownRecovery.FindAllString(renewed.Text, -1)
		if len(again) != account.RecoveryCodeCount || again[0] == recovery[0] {
			t.Errorf("renewed recovery codes %q", again)
		}
		owner.Wants(owner.Get("/admin"), http.StatusSeeOther, "/admin/sign-in") // the change has ended other sessions

		lost.Wants(lost.Post("/admin/account/authenticator/remove"), http.StatusSeeOther, "/admin/account")
		v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
			http.StatusSeeOther, "/admin")
		lost.Wants(lost.Get("/admin/account"), http.StatusOK, "<strong>You (", "removed the authenticator app",
			"made new recovery codes")
		lost.Wants(lost.Get("/admin/audit?kind=user"), http.StatusOK, "recovery codes", "authenticator")
	})
}

// setUpApp sets up an authenticator app, and returns its secret and the recovery codes.
func setUpApp(owner *dashboardtest.Visitor) (secret string, recovery []string) {
	owner.Helper()
	screen := owner.Wants(owner.Get("/admin/account/authenticator"), http.StatusOK, `<path d="M4 4h7v1h-7z`,
		`href="otpauth://totp/Allswell%20127.0.0.1:ada@example.com?issuer=`)
	secret = find(owner, screen, shownSecret)
	wrong := owner.Wants(owner.Post("/admin/account/authenticator", "secret", secret, "code",
		totpCode(owner.Site, secret, 5)), http.StatusUnprocessableEntity, "The code is wrong")
	if find(owner, wrong, shownSecret) != secret {
		owner.Error("a wrong code changes the secret")
	}
	owner.Wants(owner.Post("/admin/account/authenticator", "secret", "AAAA", "code", "123456"), http.StatusSeeOther,
		"/admin/account/authenticator")
	set := owner.Wants(owner.Post("/admin/account/authenticator", "secret", secret, "code",
		totpCode(owner.Site, secret, -1)), http.StatusCreated)
	recovery = shownRecovery.FindAllString(set.Text, -1)
	if len(recovery) != account.RecoveryCodeCount {
		owner.Fatalf("recovery codes %q", recovery)
	}
	owner.Wants(owner.Post("/admin/account/authenticator", "secret", secret, "code", totpCode(owner.Site, secret, 0)),
		http.StatusSeeOther, "/admin/account")
	return secret, recovery
}

// removalNeedsCode tries to remove the authenticator app without a code.
func removalNeedsCode(owner *dashboardtest.Visitor, secret string) {
	owner.Helper()
	s, signedIn := owner.Site, owner.Dashboard.Now
	s.Dashboard.Now = func() time.Time { return signedIn().Add(account.ConfirmationAge + time.Minute) }
	const remove = "/admin/account/authenticator/remove"
	owner.Wants(owner.Post(remove), http.StatusOK, "Enter your password and a code", signin.ConfirmCodeField)
	owner.Wants(owner.Post(remove, signin.ConfirmField, dashboardtest.GoodPassword), http.StatusUnprocessableEntity,
		"The code is wrong")
	owner.Wants(owner.Post(remove, signin.ConfirmField, dashboardtest.GoodPassword, signin.ConfirmCodeField,
		totpCode(s, secret, 5)), http.StatusUnprocessableEntity, "The code is wrong")
	s.Dashboard.Now, s.Dashboard.SignIns = signedIn, frame.NewSignInLimits()
}

// enterPassword signs in with the password, and returns what belongs to the form for the second factor.
func enterPassword(v *dashboardtest.Visitor) (pending string) {
	v.Helper()
	a := v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword,
		"next", "/admin/monitors"), http.StatusOK, "Second factor")
	if len(a.Cookies()) > 0 {
		v.Error("the password alone sets a cookie")
	}
	return find(v, a, shownPending)
}

// signsInWithCode signs in with the password and a code of the authenticator app.
func signsInWithCode(s *dashboardtest.Site, secret string) *dashboardtest.Visitor {
	s.Helper()
	v := s.Visitor()
	v.Wants(v.Post("/admin/sign-in", "email", "ada@example.com", "password", "not this one"),
		http.StatusUnprocessableEntity, "is wrong")
	pending := enterPassword(v)
	next := []string{"pending", pending, "next", "/admin/monitors"}
	v.Wants(v.Post("/admin/sign-in/code", append(next, "code", totpCode(s, secret, -1))...),
		http.StatusUnprocessableEntity, "has been used already", pending)
	v.Wants(v.Post("/admin/sign-in/code", append(next, "code", totpCode(s, secret, 2))...),
		http.StatusUnprocessableEntity, "The code is wrong")
	v.Wants(v.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
	typed := totpCode(s, secret, 0)
	in := v.Wants(v.Post("/admin/sign-in/code", append(next, "code", typed[:3]+" "+typed[3:])...),
		http.StatusSeeOther, "/admin/monitors")
	if known(in) == "" {
		s.Error("the browser is not remembered")
	}
	v.Wants(v.Get("/admin"), http.StatusOK)
	v.Wants(v.Post("/admin/sign-in/code", append(next, "code", totpCode(s, secret, 1))...),
		http.StatusUnprocessableEntity, "took too long")
	elsewhere := v.Post("/admin/sign-in/code", "pending", enterPassword(v), "next", "https://evil.example/", "code",
		totpCode(s, secret, 1))
	if v.Wants(elsewhere, http.StatusSeeOther); elsewhere.Header.Get("Location") != frame.Path {
		s.Errorf("the second factor leads to %s", elsewhere.Header.Get("Location"))
	}
	return v
}

// signsInWithRecoveryCode signs in with the password and a recovery code, which works once.
func signsInWithRecoveryCode(s *dashboardtest.Site, recovery []string) *dashboardtest.Visitor {
	s.Helper()
	s.Dashboard.SignIns = frame.NewSignInLimits()
	lost := s.Visitor()
	fields := []string{"pending", enterPassword(lost), "recovery_code", strings.ToLower(recovery[3])}
	lost.Wants(lost.Post("/admin/sign-in/code", fields...), http.StatusSeeOther, "/admin")
	lost.Wants(lost.Get("/admin/account"), http.StatusOK, "9 recovery codes left", "set up an authenticator app",
		"used a recovery code")
	fields[1] = enterPassword(lost)
	lost.Wants(lost.Post("/admin/sign-in/code", fields...), http.StatusUnprocessableEntity, "has been used already",
		"<details class=\"other-way\" data-key=\"recovery\" open>")
	return lost
}

// TestSecondFactorHasNoWayAround tries what else proves or sets the password.
func TestSecondFactorHasNoWayAround(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		now := time.Now()
		s.Dashboard.Now = func() time.Time { return now }
		owner := s.Owner()
		editor := s.Member(owner, kernel.RoleEditor)
		secret := find(editor, editor.Get("/admin/account/authenticator"), shownSecret)
		editor.Wants(editor.Post("/admin/account/authenticator", "secret", secret, "code", totpCode(s, secret, -1)),
			http.StatusCreated)

		code, err := s.Store.IssueResetCode(s.Context(), "editor@example.com")
		if err != nil {
			t.Fatal(err)
		}
		v := s.Visitor()
		v.Wants(v.Post("/admin/reset", "code", code, "password", "another set of words"), http.StatusOK,
			"Second factor")
		v.Wants(v.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")

		// An invitation of somebody who has been removed.
		if err := s.Store.RemoveMember(s.Context(), owner.Actor(), userID(s, "editor@example.com")); err != nil {
			t.Fatal(err)
		}
		issued, err := s.Store.Invite(s.Context(), owner.Actor(), account.NewInvitation{
			Email: "editor@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			t.Fatal(err)
		}
		fields := []string{"code", issued.Code, "password", "another set of words"}
		v.Wants(v.Get("/admin/accept?code="+issued.Code), http.StatusOK, "Code from your authenticator app")
		v.Wants(v.Post("/admin/accept", fields...), http.StatusUnprocessableEntity, "The code is wrong")
		v.Wants(v.Post("/admin/accept", append(fields, "second_factor", totpCode(s, secret, 0))...),
			http.StatusSeeOther, "/admin")
		v.Wants(v.Get("/admin"), http.StatusOK)
	})
}

func userID(s *dashboardtest.Site, email string) string {
	s.Helper()
	c, err := s.Store.Credentials(s.Context(), email)
	if err != nil {
		s.Fatal(err)
	}
	return c.UserID
}

// TestCodesAreLimited guesses codes from many addresses, with the right password. A recovery code works all the same.
func TestCodesAreLimited(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		secret := find(owner, owner.Get("/admin/account/authenticator"), shownSecret)
		set := owner.Wants(owner.Post("/admin/account/authenticator", "secret", secret, "code", totpCode(s, secret, 0)),
			http.StatusCreated)
		v := s.Visitor()
		pending := find(v, v.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
			shownPending)
		for i := range frame.CodesPerUser + 1 {
			want := "The code is wrong"
			if i == frame.CodesPerUser {
				want = "Too many codes"
			}
			v.Wants(v.Post("/admin/sign-in/code", "pending", pending, "code", "x"), http.StatusUnprocessableEntity,
				want)
			// another address
			s.Dashboard.SignIns.Accounts, s.Dashboard.SignIns.Addresses = frame.NewSignInLimits().Accounts,
				frame.NewSignInLimits().Addresses
		}
		for range frame.SignInsPerAccount {
			v.Post("/admin/sign-in/code", "pending", pending, "recovery_code", "AAAA-AAAA-AAAA-AAAA")
		}
		v.Wants(v.Post("/admin/sign-in/code", "pending", pending, "recovery_code", shownRecovery.FindString(set.Text)),
			http.StatusTooManyRequests, "Too many attempts")
		s.Dashboard.SignIns = func() *frame.SignInLimits {
			l := frame.NewSignInLimits()
			l.Codes = s.Dashboard.SignIns.Codes
			return l
		}()
		v.Wants(v.Post("/admin/sign-in/code", "pending", pending, "recovery_code", shownRecovery.FindString(set.Text)),
			http.StatusSeeOther, "/admin")
	})
}

// TestConfirmationNeedsTheCode confirms a change with the password and a code, which works once.
func TestConfirmationNeedsTheCode(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		secret := find(owner, owner.Get("/admin/account/authenticator"), shownSecret)
		owner.Wants(owner.Post("/admin/account/authenticator", "secret", secret, "code", totpCode(s, secret, 0)),
			http.StatusCreated)
		later := time.Now().Add(account.ConfirmationAge + time.Minute)
		s.Dashboard.Now = func() time.Time { return later }
		fields := []string{
			"name", "ci", "scope", "read", signin.ConfirmField, dashboardtest.GoodPassword, signin.ConfirmCodeField,
			totpCode(s, secret, 0),
		}
		owner.Wants(owner.Post("/admin/tokens", fields...), http.StatusCreated, "has been created")
		owner.Wants(owner.Post("/admin/tokens", fields...), http.StatusUnprocessableEntity, "has been used already")
	})
}
