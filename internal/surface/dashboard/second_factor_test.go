package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/pquerna/otp/totp"
)

var (
	shownSecret   = regexp.MustCompile(`name="secret" value="([A-Z2-7]{32})"`)
	shownPending  = regexp.MustCompile(`name="pending" value="([A-Z2-7]+)"`)
	shownRecovery = regexp.MustCompile(`[A-Z2-7]{4}(-[A-Z2-7]{4}){3}`)
)

func (v *visitor) find(a answer, what *regexp.Regexp) string {
	v.Helper()
	found := what.FindStringSubmatch(a.body)
	if found == nil {
		v.Fatalf("%s shows no %s:\n%s", a.Request.URL.Path, what, a.body)
	}
	return found[len(found)-1]
}

// code returns the code of an authenticator app some steps from now.
func (s *site) code(secret string, steps int) string {
	s.Helper()
	code, err := totp.GenerateCode(secret, s.dashboard.now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		s.Fatal(err)
	}
	return code
}

// TestSecondFactor sets up an authenticator app, signs in with it, with a recovery code, and removes it.
func TestSecondFactor(t *testing.T) {
	onEachEngine(t, func(s *site) {
		now := time.Now()
		s.dashboard.now = func() time.Time { return now } // a code is not of the next step while the test runs
		owner := s.owner()
		owner.wants(owner.get("/admin/account"), http.StatusOK, "Set up an authenticator app")
		owner.wants(owner.post("/admin/account/authenticator/begin"), http.StatusSeeOther,
			"/admin/account/authenticator")
		screen := owner.wants(owner.get("/admin/account/authenticator"), http.StatusOK, `<path d="M4 4h7v1h-7z`,
			`href="otpauth://totp/Allswell%20127.0.0.1:ada@example.com?issuer=`)
		secret := owner.find(screen, shownSecret)
		wrong := owner.wants(owner.post("/admin/account/authenticator", "secret", secret, "code", s.code(secret, 5)),
			http.StatusUnprocessableEntity, "The code is wrong")
		if owner.find(wrong, shownSecret) != secret {
			t.Error("a wrong code changes the secret")
		}
		owner.wants(owner.post("/admin/account/authenticator", "secret", "AAAA", "code", "123456"), http.StatusSeeOther,
			"/admin/account/authenticator")
		set := owner.wants(owner.post("/admin/account/authenticator", "secret", secret, "code", s.code(secret, -1)),
			http.StatusCreated)
		recovery := shownRecovery.FindAllString(set.body, -1)
		if len(recovery) != account.RecoveryCodeCount {
			t.Fatalf("recovery codes %q", recovery)
		}
		owner.wants(owner.post("/admin/account/authenticator", "secret", secret, "code", s.code(secret, 0)),
			http.StatusSeeOther, "/admin/account")
		user := owner.wants(owner.get("/admin/account"), http.StatusOK, "10 recovery codes left")
		signedIn := s.dashboard.now
		s.dashboard.now = func() time.Time { return now.Add(account.ConfirmationAge + time.Minute) }
		const remove = "/admin/account/authenticator/remove"
		owner.wants(owner.post(remove), http.StatusOK, "your password with a code", confirmCodeField)
		owner.wants(owner.post(remove, confirmField, goodPassword), http.StatusUnprocessableEntity, "The code is wrong")
		owner.wants(owner.post(remove, confirmField, goodPassword, confirmCodeField, s.code(secret, 5)),
			http.StatusUnprocessableEntity, "The code is wrong")
		s.dashboard.now, s.dashboard.signIns = signedIn, newSignInLimits()
		if strings.Contains(user.body, secret) || strings.Contains(user.body, recovery[0]) {
			t.Error("a factor is shown again")
		}
		owner.wants(owner.get("/admin/account/authenticator"), http.StatusSeeOther, "/admin/account")

		v := s.visitor()
		password := func(v *visitor) string {
			t.Helper()
			a := v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword, "next",
				"/admin/monitors"), http.StatusOK, "Second factor")
			if len(a.Cookies()) > 0 {
				t.Error("the password alone sets a cookie")
			}
			return v.find(a, shownPending)
		}
		v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", "not this one"),
			http.StatusUnprocessableEntity, "is wrong")
		pending := password(v)
		next := []string{"pending", pending, "next", "/admin/monitors"}
		v.wants(v.post("/admin/sign-in/code", append(next, "code", s.code(secret, -1))...),
			http.StatusUnprocessableEntity, "has been used already", pending)
		v.wants(v.post("/admin/sign-in/code", append(next, "code", s.code(secret, 2))...),
			http.StatusUnprocessableEntity, "The code is wrong")
		v.wants(v.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		typed := s.code(secret, 0)
		in := v.wants(v.post("/admin/sign-in/code", append(next, "code", typed[:3]+" "+typed[3:])...),
			http.StatusSeeOther, "/admin/monitors")
		if known(in) == "" {
			t.Error("the browser is not remembered")
		}
		v.wants(v.get("/admin"), http.StatusOK)
		v.wants(v.post("/admin/sign-in/code", append(next, "code", s.code(secret, 1))...),
			http.StatusUnprocessableEntity, "took too long")
		elsewhere := v.post("/admin/sign-in/code", "pending", password(v), "next", "https://evil.example/", "code",
			s.code(secret, 1))
		if v.wants(elsewhere, http.StatusSeeOther); elsewhere.Header.Get("Location") != Path {
			t.Errorf("the second factor leads to %s", elsewhere.Header.Get("Location"))
		}

		s.dashboard.signIns = newSignInLimits()
		lost := s.visitor()
		fields := []string{"pending", password(lost), "recovery_code", strings.ToLower(recovery[3])}
		lost.wants(lost.post("/admin/sign-in/code", fields...), http.StatusSeeOther, "/admin")
		lost.wants(lost.get("/admin/account"), http.StatusOK, "9 recovery codes left", "set up an authenticator app",
			"used a recovery code")
		fields[1] = password(lost)
		lost.wants(lost.post("/admin/sign-in/code", fields...), http.StatusUnprocessableEntity, "has been used already",
			"<details class=\"other-way\" data-key=\"recovery\" open>")
		renewed := lost.wants(lost.post("/admin/account/recovery-codes"), http.StatusCreated)
		if again := shownRecovery.FindAllString(renewed.body, -1); len(again) != account.RecoveryCodeCount ||
			again[0] == recovery[0] {
			t.Errorf("renewed recovery codes %q", again)
		}
		owner.wants(owner.get("/admin"), http.StatusSeeOther, "/admin/sign-in") // the change has ended other sessions

		lost.wants(lost.post("/admin/account/authenticator/remove"), http.StatusSeeOther, "/admin/account")
		v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword), http.StatusSeeOther,
			"/admin")
		lost.wants(lost.get("/admin/account"), http.StatusOK, "<strong>You (", "removed the authenticator app",
			"made new recovery codes")
		lost.wants(lost.get("/admin/audit?kind=user"), http.StatusOK, "recovery codes", "authenticator")
	})
}

// TestSecondFactorHasNoWayAround tries what else proves or sets the password.
func TestSecondFactorHasNoWayAround(t *testing.T) {
	onEachEngine(t, func(s *site) {
		now := time.Now()
		s.dashboard.now = func() time.Time { return now }
		owner := s.owner()
		editor := s.member(owner, kernel.RoleEditor)
		secret := editor.find(editor.get("/admin/account/authenticator"), shownSecret)
		editor.wants(editor.post("/admin/account/authenticator", "secret", secret, "code", s.code(secret, -1)),
			http.StatusCreated)

		code, err := s.store.IssueResetCode(s.Context(), "editor@example.com")
		if err != nil {
			t.Fatal(err)
		}
		v := s.visitor()
		v.wants(v.post("/admin/reset", "code", code, "password", "another set of words"), http.StatusOK,
			"Second factor")
		v.wants(v.get("/admin"), http.StatusSeeOther, "/admin/sign-in")

		// An invitation of somebody who has been removed.
		if err := s.store.RemoveMember(s.Context(), owner.actor(), s.userID("editor@example.com")); err != nil {
			t.Fatal(err)
		}
		issued, err := s.store.Invite(s.Context(), owner.actor(), account.NewInvitation{
			Email: "editor@example.com", Role: kernel.RoleViewer,
		})
		if err != nil {
			t.Fatal(err)
		}
		fields := []string{"code", issued.Code, "password", "another set of words"}
		v.wants(v.get("/admin/accept?code="+issued.Code), http.StatusOK, "Code of your authenticator app")
		v.wants(v.post("/admin/accept", fields...), http.StatusUnprocessableEntity, "The code is wrong")
		v.wants(v.post("/admin/accept", append(fields, "second_factor", s.code(secret, 0))...), http.StatusSeeOther,
			"/admin")
		v.wants(v.get("/admin"), http.StatusOK)
	})
}

func (s *site) userID(email string) string {
	s.Helper()
	c, err := s.store.Credentials(s.Context(), email)
	if err != nil {
		s.Fatal(err)
	}
	return c.UserID
}

// TestCodesAreLimited guesses codes from many addresses, with the right password. A recovery code works all the same.
func TestCodesAreLimited(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		secret := owner.find(owner.get("/admin/account/authenticator"), shownSecret)
		set := owner.wants(owner.post("/admin/account/authenticator", "secret", secret, "code", s.code(secret, 0)),
			http.StatusCreated)
		v := s.visitor()
		pending := v.find(v.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword), shownPending)
		for i := range codesPerUser + 1 {
			want := "The code is wrong"
			if i == codesPerUser {
				want = "Too many codes"
			}
			v.wants(v.post("/admin/sign-in/code", "pending", pending, "code", "x"), http.StatusUnprocessableEntity,
				want)
			// another address
			s.dashboard.signIns.accounts, s.dashboard.signIns.addresses = newSignInLimits().accounts,
				newSignInLimits().addresses
		}
		for range signInsPerAccount {
			v.post("/admin/sign-in/code", "pending", pending, "recovery_code", "AAAA-AAAA-AAAA-AAAA")
		}
		v.wants(v.post("/admin/sign-in/code", "pending", pending, "recovery_code", shownRecovery.FindString(set.body)),
			http.StatusTooManyRequests, "Too many attempts")
		s.dashboard.signIns = func() *signInLimits {
			l := newSignInLimits()
			l.codes = s.dashboard.signIns.codes
			return l
		}()
		v.wants(v.post("/admin/sign-in/code", "pending", pending, "recovery_code", shownRecovery.FindString(set.body)),
			http.StatusSeeOther, "/admin")
	})
}

// TestConfirmationNeedsTheCode confirms a change with the password and a code, which works once.
func TestConfirmationNeedsTheCode(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		secret := owner.find(owner.get("/admin/account/authenticator"), shownSecret)
		owner.wants(owner.post("/admin/account/authenticator", "secret", secret, "code", s.code(secret, 0)),
			http.StatusCreated)
		later := time.Now().Add(account.ConfirmationAge + time.Minute)
		s.dashboard.now = func() time.Time { return later }
		fields := []string{
			"name", "ci", "scope", "read", confirmField, goodPassword, confirmCodeField, s.code(secret, 0),
		}
		owner.wants(owner.post("/admin/tokens", fields...), http.StatusCreated, "has been created")
		owner.wants(owner.post("/admin/tokens", fields...), http.StatusUnprocessableEntity, "has been used already")
	})
}
