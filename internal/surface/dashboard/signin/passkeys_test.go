package signin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/signin/passkey"
	"github.com/descope/virtualwebauthn"
)

// device is an authenticator with one passkey.
type device struct {
	*dashboardtest.Site
	party virtualwebauthn.RelyingParty
	auth  virtualwebauthn.Authenticator
	key   virtualwebauthn.Credential
}

// usePasskeys gives the site an address for which browsers make passkeys.
func usePasskeys(s *dashboardtest.Site) {
	s.Dashboard.SignIn.Passkeys = passkey.New("https://status.example.com")
}

func newDevice(s *dashboardtest.Site, userID string) *device {
	d := &device{
		s,
		virtualwebauthn.RelyingParty{ID: "status.example.com", Name: "Allswell", Origin: "https://status.example.com"},
		virtualwebauthn.NewAuthenticator(), newKey(),
	}
	d.auth.Options.UserHandle = []byte(userID)
	return d
}

// newKey returns a new key. The library leaves out the zeros with which one of 128 keys begins, and no browser does.
func newKey() virtualwebauthn.Credential {
	const length = 77 // of two coordinates of 32 bytes each in COSE
	for {
		key := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		if len(key.Key.AttestationData()) == length {
			return key
		}
	}
}

// create answers the options of a registration.
func (d *device) create(v *dashboardtest.Visitor) string {
	d.Helper()
	a := v.Wants(v.Post("/admin/account/passkeys/options"), http.StatusOK, `"residentKey":"required"`,
		`"userVerification":"required"`)
	options, err := virtualwebauthn.ParseAttestationOptions(`{"publicKey":` + a.Text + `}`)
	if err != nil {
		d.Fatal(err)
	}
	return virtualwebauthn.CreateAttestationResponse(d.party, d.auth, d.key, *options)
}

// sign answers the options at path.
func (d *device) sign(v *dashboardtest.Visitor, path string) string {
	d.Helper()
	a := v.Wants(v.Post(path), http.StatusOK, `"userVerification":"required"`)
	options, err := virtualwebauthn.ParseAssertionOptions(`{"publicKey":` + a.Text + `}`)
	if err != nil {
		d.Fatal(err)
	}
	return virtualwebauthn.CreateAssertionResponse(d.party, d.auth, d.key, *options)
}

const (
	signInOptions  = "/admin/sign-in/passkey/options"
	confirmOptions = "/admin/account/passkeys/confirm-options"
)

// TestPasskeyIsAdded adds a passkey, and sends what cannot add one.
func TestPasskeyIsAdded(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/account"), http.StatusOK, "Passkeys need HTTPS and a domain.")
		owner.Wants(owner.Post(signInOptions), http.StatusNotFound)
		usePasskeys(s)
		owner.Wants(owner.Get("/admin/account"), http.StatusOK, "Add passkey")
		phone := newDevice(s, owner.Actor().ID)
		other := s.Visitor()
		other.Wants(other.Post("/admin/sign-in", "email", "ada@example.com", "password", dashboardtest.GoodPassword),
			http.StatusSeeOther)

		made := phone.create(owner)
		owner.Wants(owner.Post("/admin/account/passkeys", "credential", made, "name", "Phone"), http.StatusSeeOther,
			"/admin/account")
		owner.Wants(owner.Get("/admin/account"), http.StatusOK, "Phone", "never used", "added a passkey",
			"joined the workspace")
		other.Wants(other.Get("/admin"), http.StatusSeeOther, "/admin/sign-in") // the change has ended other sessions
		owner.Wants(owner.Post("/admin/account/passkeys", "credential", made, "name", "Phone"),
			http.StatusUnprocessableEntity, "was not accepted")
		owner.Wants(owner.Post("/admin/account/passkeys", "credential", phone.create(owner), "name", "Phone"),
			http.StatusUnprocessableEntity, "exists already")
		owner.Wants(owner.Post("/admin/account/passkeys", "credential", "", "name", "Phone"),
			http.StatusUnprocessableEntity, "need JavaScript")
		for range frame.SignInsPerAddress {
			owner.Post("/admin/account/passkeys/options")
		}
		owner.Wants(owner.Post("/admin/account/passkeys/options"), http.StatusTooManyRequests, "Too many attempts")
		s.Dashboard.SignIns = frame.NewSignInLimits()
	})
}

// addPhone adds a passkey of a phone to an account.
func addPhone(s *dashboardtest.Site, v *dashboardtest.Visitor) *device {
	s.Helper()
	phone := newDevice(s, v.Actor().ID)
	v.Wants(v.Post("/admin/account/passkeys", "credential", phone.create(v), "name", "Phone"), http.StatusSeeOther,
		"/admin/account")
	return phone
}

// signsInWith signs in with a passkey.
func signsInWith(s *dashboardtest.Site, phone *device) *dashboardtest.Visitor {
	s.Helper()
	v := s.Visitor()
	phone.key.Counter = 5
	v.Wants(v.Post("/admin/sign-in/passkey", "credential", phone.sign(v, signInOptions)), http.StatusSeeOther, "/admin")
	return v
}

func TestSignInWithPasskey(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		usePasskeys(s)
		phone := addPhone(s, s.Owner())
		v := s.Visitor()
		phone.key.Counter = 5
		v.Wants(v.Get("/admin/sign-in?next=/admin/monitors"), http.StatusOK, "Sign in with a passkey")
		signed := phone.sign(v, signInOptions)
		in := v.Wants(v.Post("/admin/sign-in/passkey", "credential", signed, "next", "/admin/monitors"),
			http.StatusSeeOther, "/admin/monitors")
		if len(in.Cookies()) != 1 {
			t.Error("the passkey starts no session")
		}
		v.Wants(v.Get("/admin/account"), http.StatusOK, "passkey, signed in", "last used")
		// A challenge works once.
		v.Wants(v.Post("/admin/sign-in/passkey", "credential", signed), http.StatusUnprocessableEntity,
			"was not accepted")
	})
}

// TestPasskeyConfirms confirms a change with a passkey.
func TestPasskeyConfirms(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		usePasskeys(s)
		phone := addPhone(s, s.Owner())
		v := signsInWith(s, phone)
		s.Dashboard.Now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		v.Wants(v.Post("/admin/tokens", "name", "ci", "scope", "read"), http.StatusOK, "or use a passkey", `value="ci"`)
		fields := []string{"name", "ci", "scope", "read", "confirm_passkey"}
		// The count has not increased.
		v.Wants(v.Post("/admin/tokens", append(fields, phone.sign(v, confirmOptions))...),
			http.StatusUnprocessableEntity, "was not accepted")
		phone.key.Counter++
		// The challenge is of a sign-in.
		v.Wants(v.Post("/admin/tokens", append(fields, phone.sign(v, signInOptions))...),
			http.StatusUnprocessableEntity, "was not accepted")
		v.Wants(v.Post("/admin/tokens", append(fields, phone.sign(v, confirmOptions))...), http.StatusCreated,
			"has been created")

		keys, err := s.Store.Passkeys(t.Context(), v.Actor())
		if err != nil || len(keys) != 1 || keys[0].SignCount != 6 {
			t.Errorf("the passkeys are %+v, %v; want one that was used 6 times", keys, err)
		}
	})
}

func TestPasskeyIsRenamedAndRemoved(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		usePasskeys(s)
		phone := addPhone(s, s.Owner())
		v := signsInWith(s, phone)
		keys, err := s.Store.Passkeys(t.Context(), v.Actor())
		if err != nil || len(keys) != 1 || keys[0].SignCount != 5 {
			t.Fatalf("passkeys %+v, %v", keys, err)
		}
		path := "/admin/account/passkeys/" + keys[0].ID
		v.Wants(v.Post(path+"/name", "name", " "), http.StatusUnprocessableEntity, "required", " open>")
		v.Wants(v.Post(path+"/name", "name", "Old phone"), http.StatusSeeOther)
		v.Wants(v.Get("/admin/account"), http.StatusOK, "Old phone")
		stranger := s.Member(v, kernel.RoleAdmin)
		stranger.Wants(stranger.Post(path+"/name", "name", "x"), http.StatusNotFound)
		stranger.Wants(stranger.Post(path+"/remove"), http.StatusSeeOther)
		phone.key.Counter++
		// The stranger has not removed it.
		stranger.Wants(stranger.Post("/admin/sign-in/passkey", "credential", phone.sign(stranger, signInOptions)),
			http.StatusSeeOther)
		v.Wants(v.Post(path+"/remove"), http.StatusSeeOther, "/admin/account")
		phone.key.Counter++
		v.Wants(v.Post("/admin/sign-in/passkey", "credential", phone.sign(v, signInOptions)),
			http.StatusUnprocessableEntity, "was not accepted")
		v.Wants(v.Get("/admin/audit?kind=passkey"), http.StatusOK, "Old phone", "deleted", "created")
	})
}

// TestForgedPasskeysAreRefused adds passkeys that an attacker could make.
func TestForgedPasskeysAreRefused(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		usePasskeys(s)
		owner := s.Owner()
		editor := s.Member(owner, kernel.RoleEditor)
		phone := newDevice(s, owner.Actor().ID)
		for what, forge := range map[string]func(d *device){
			"of another origin":     func(d *device) { d.party.Origin = "https://status.example.com.evil.example" },
			"of another subdomain":  func(d *device) { d.party.Origin = "https://www.status.example.com" },
			"of another port":       func(d *device) { d.party.Origin = "https://status.example.com:8443" },
			"over plain HTTP":       func(d *device) { d.party.Origin = "http://status.example.com" },
			"of another party":      func(d *device) { d.party.ID = "example.com" },
			"of an unverified user": func(d *device) { d.auth.Options.UserNotVerified = true },
			"of an absent user":     func(d *device) { d.auth.Options.UserNotPresent = true },
		} {
			forged := *phone
			forge(&forged)
			owner.Wants(owner.Post("/admin/account/passkeys", "credential", forged.create(owner), "name", what),
				http.StatusUnprocessableEntity, "was not accepted")
		}
		owner.Wants(owner.Post("/admin/account/passkeys", "credential", phone.create(editor), "name",
			"the challenge of another"), http.StatusUnprocessableEntity, "was not accepted")
		owner.Wants(owner.Post("/admin/account/passkeys", "credential", phone.create(owner), "name", "Phone"),
			http.StatusSeeOther)
	})
}

// TestForgedSignInsAreRefused signs in with what an attacker could make of a passkey.
func TestForgedSignInsAreRefused(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		usePasskeys(s)
		owner := s.Owner()
		editor := s.Member(owner, kernel.RoleEditor)
		phone := addPhone(s, owner)
		v, count := s.Visitor(), uint32(0)
		for what, forge := range map[string]func(d *device){
			"of another origin":     func(d *device) { d.party.Origin = "https://evil.example" },
			"of another party":      func(d *device) { d.party.ID = "example.com" },
			"of an unverified user": func(d *device) { d.auth.Options.UserNotVerified = true },
			"of another user":       func(d *device) { d.auth.Options.UserHandle = []byte(editor.Actor().ID) },
			"of no user":            func(d *device) { d.auth.Options.UserHandle = nil },
			"of another key": func(d *device) {
				id := d.key.ID
				d.key = newKey()
				d.key.ID = id
			},
			"of an unknown passkey":        func(d *device) { d.key = newKey() },
			"that is copied between users": func(d *device) { d.auth.Options.BackupEligible = true },
		} {
			s.Dashboard.SignIns = frame.NewSignInLimits()
			count++
			forged := *phone
			forged.key.Counter = count
			forge(&forged)
			a := v.Post("/admin/sign-in/passkey", "credential", forged.sign(v, signInOptions))
			if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.Text, "was not accepted") {
				t.Errorf("an assertion %s: status %d", what, a.StatusCode)
			}
		}
		for _, bad := range []string{
			"", "x", "{}", "null", `{"id":"x","type":"public-key","rawId":"eA","response":{}}`,
		} {
			a := v.Post("/admin/sign-in/passkey", "credential", bad)
			if a.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%q: status %d", bad, a.StatusCode)
			}
		}
		v.Wants(v.Get("/admin"), http.StatusSeeOther, "/admin/sign-in")
	})
}

func TestPasskeyOfAnotherConfirmsNothing(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		usePasskeys(s)
		owner := s.Owner()
		editor := s.Member(owner, kernel.RoleEditor)
		phone := addPhone(s, owner)
		s.Dashboard.Now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		editor.Wants(editor.Post("/admin/account/passkeys", "confirm_passkey", phone.sign(editor, confirmOptions)),
			http.StatusUnprocessableEntity, "Confirm it’s you")
	})
}

// TestGroupsDecideBeforePasskeys: a passkey does not keep a role that groups give and take away.
func TestGroupsDecideBeforePasskeys(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		usePasskeys(s)
		fake := provider(s)
		fake.Claims["groups"] = []string{"boss"}
		fake.Claims["auth_time"] = time.Now().Unix()
		s.Dashboard.SignIn.SingleSignOn.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"boss": kernel.RoleOwner}, CreateAccounts: true,
		}
		v, w := s.Visitor(), s.Visitor()
		v.Wants(through(v, "/admin/oidc/start"), http.StatusSeeOther, "/admin")
		phone := newDevice(s, v.Actor().ID)
		v.Wants(v.Post("/admin/account/passkeys", "credential", phone.create(v), "name", "Phone"), http.StatusSeeOther,
			"/admin/account")
		phone.key.Counter = 5
		w.Wants(w.Post("/admin/sign-in/passkey", "credential", phone.sign(w, signInOptions)), http.StatusForbidden,
			"please use single sign-on")
		s.Dashboard.SignIn.SingleSignOn.Rules = account.SignInRules{}
		w.Wants(w.Post("/admin/sign-in/passkey", "credential", phone.sign(w, signInOptions)), http.StatusSeeOther,
			"/admin")
	})
}
